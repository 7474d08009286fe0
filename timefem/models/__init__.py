"""Model files: a problem and its solver settings stated in TOML; robots in URDF. Nothing in a file is ever executed."""

from .build import load_model, read_model
from .check import inspect
from .model import Model
from .urdf import Robot, read_urdf

__all__ = ["Model", "Robot", "inspect", "load_model", "read_model", "read_urdf"]
