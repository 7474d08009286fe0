"""Model files: a problem and its solver settings stated in TOML; robots in URDF and MJCF. No code in files."""

from .build import load_model, read_model
from .check import inspect
from .mjcf import read_mjcf
from .model import Model
from .robot import Robot
from .urdf import read_urdf

__all__ = ["Model", "Robot", "inspect", "load_model", "read_mjcf", "read_model", "read_urdf"]
