"""`modes`: natural modes around a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..argument_names import named_arguments
from ..types import Floats
from .linearize import linearize

if TYPE_CHECKING:
    from ..mechanics.given_states import GivenStates
    from ..mechanics.system import System
    from ..problems.static.equilibrium import Equilibrium
    from ..solution.solution import Solution
    from .modes import Modes


@named_arguments
def modes(system: System, state: GivenStates | Equilibrium | Solution | None = None, t: float | None = None, *,
          controls: Floats | Mapping[Any, Any] | None = None) -> Modes:
    """Natural modes around a state: those of `linearize(system, state, t, controls=controls)`.

    Returns
    -------
    Modes
        A sequence that prints as a table.

    Raises
    ------
    InputError
        As `linearize`.
    """
    return linearize(system, state, t, inputs=(), controls=controls).modes()
