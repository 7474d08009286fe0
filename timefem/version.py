"""The version of timefem."""

__version__ = "0.1.0"
