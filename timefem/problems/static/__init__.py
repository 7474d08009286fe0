"""Static equilibria: solved at a time of the loads, and followed along it."""

from .at_rest import Equilibrium
from .equilibrium import equilibrium
from .path import StaticPath, equilibrium_path

__all__ = ["Equilibrium", "StaticPath", "equilibrium", "equilibrium_path"]
