"""Model files: a problem and its solver settings stated in TOML. Nothing in a file is ever executed."""

from .build import load_model, read_model
from .check import inspect
from .model import Model

__all__ = ["Model", "inspect", "load_model", "read_model"]
