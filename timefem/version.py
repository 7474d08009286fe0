"""The version of timefem."""

__version__ = "0.2.0"
