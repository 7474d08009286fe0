"""Sensitivities of solutions, and parameters identified from measurements."""

from .functionals import EndValue, Functional, Integral, Peak, Values
from .gradient import gradient, sensitivities
from .identify import Identification, Measurement, identify
from .linearization import Linearization
from .parameters import Family, Initial, Parameter

__all__ = ["EndValue", "Family", "Functional", "Identification", "Initial", "Integral", "Linearization", "Measurement",
           "Parameter", "Peak", "Values", "gradient", "identify", "sensitivities"]
