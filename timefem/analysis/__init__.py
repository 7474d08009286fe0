"""Analysis around a state or a motion: linear equations, modes, critical values, periodic motions, stability."""

from .floquet import Floquet, floquet
from .linear_model import LinearModel
from .linearize import linearize
from .lyapunov import Lyapunov, lyapunov
from .modes import Mode, Modes
from .parameter_study import CriticalValue, RootLocus, critical_values, root_locus
from .periodic import Periodic, periodic

__all__ = ["CriticalValue", "Floquet", "LinearModel", "Lyapunov", "Mode", "Modes", "Periodic", "RootLocus",
           "critical_values", "floquet", "linearize", "lyapunov", "modes", "periodic", "root_locus"]


def modes(system, state=None, t=None):
    """Natural modes around a state, those of `linearize(system, state, t)`; see `Modes`."""
    return linearize(system, state, t, inputs=()).modes()
