"""Sensitivities of solutions, and parameters identified from measurements."""

from .functionals import EndValue, Functional, Integral, Objective, Peak, UnknownNumber, Values
from .gradient import Identification, Measurement, gradient, identify, sensitivities
from .linearization import Linearization
from .optimum import OptimumLinearization
from .optimum_changes import Bound, Final, InPhase
from .parameters import Family, Initial, Parameter

__all__ = ["Bound", "EndValue", "Family", "Final", "Functional", "Identification", "InPhase", "Initial",
           "Integral", "Linearization", "Measurement", "Objective", "OptimumLinearization", "Parameter", "Peak",
           "UnknownNumber", "Values", "gradient", "identify", "sensitivities"]
