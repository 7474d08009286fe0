"""Functions of time for loads, as value objects: usable in CasADi symbols and in NumPy.

Their numbers enter kernels as parameters, so that loads which differ only in numbers share a kernel.
"""

from .base import TimeFunction
from .elementary import Constant, Ramp, Sine, Step, TrianglePulse
from .formula import Formula, as_time_function, as_vector_function
from .table import Table

__all__ = ["Constant", "Formula", "Ramp", "Sine", "Step", "Table", "TimeFunction", "TrianglePulse",
           "as_time_function", "as_vector_function"]
