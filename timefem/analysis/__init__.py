"""Analysis around a state or a motion: linear equations, modes, critical values, periodic motions, stability."""

from .floquet import Floquet, Lyapunov, floquet, lyapunov
from .linear_model import LinearModel, Mode, Modes
from .linearize import linearize, modes
from .parameter_study import CriticalValue, RootLocus, critical_values, root_locus
from .periodic import Periodic, periodic
from .reduction import Symmetry

__all__ = ["CriticalValue", "Floquet", "LinearModel", "Lyapunov", "Mode", "Modes", "Periodic", "RootLocus", "Symmetry",
           "critical_values", "floquet", "linearize", "lyapunov", "modes", "periodic", "root_locus"]
