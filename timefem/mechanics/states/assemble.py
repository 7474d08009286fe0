"""Assembly of a mechanism from approximate poses: states that satisfy the constraints, near given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import validate
from ...errors import InputError, named_arguments
from ..bodies.states import CanonicalState
from ..body_frame import is_on_tree
from ..values.state_values import StateValues
from .closing import Closing, how_far, on_other_side, warn_of_far, warn_of_other_side
from .consistent import assembled, carried_momenta, projected, states_by_body
from .given import canonical_states, given_states

if TYPE_CHECKING:
    from ..part import Body
    from .given import GivenStates


@named_arguments
def assemble(system: StateValues, state: GivenStates, t: float = 0.0, *,
             fix: Sequence[Any] = ()) -> dict[Body, CanonicalState]:
    """A state that satisfies the constraints, near a given one.

    Positions: Gauss-Newton on `Phi(q, t) = 0`; each step is the smallest one in the metric of the mass,
    `dq = -M^-1 G^T (G M^-1 G^T)^+ Phi` with `G = dPhi/dq`, where moments of inertia count as a tenth of the largest one
    of the body at least. Far from the solution, and where constraints are redundant, the matrix is damped with the
    square of the residual (Levenberg-Marquardt), which keeps the convergence quadratic. A step whose end asks for more
    than half of it once more, besides what is linear, is damped more: it could end on another branch.
    Bodies stay rigid in each step.

    Velocities: orthogonal projection in the metric of the mass onto `G v + dPhi/dt = 0`, from the given velocities of
    centres of mass and angular velocities, turned with the bodies when they are given in body axes; of generalized
    coordinates from the given rates.

    Parameters
    ----------
    system : System
    state : dict
        Body (or its name) -> approximate state, as for an `InitialValueProblem`.
    t : float
        Time [s].
    fix : list or tuple of Body or str, or one of them
        Bodies that keep their pose and velocity as given; the others follow.

    Returns
    -------
    dict
        Body -> `CanonicalState`, for all bodies; to be given to an `InitialValueProblem`.

    Raises
    ------
    InputError
        When no such state is found: names the worst constraint, its residual, and what to try.

    Notes
    -----
    Of several solutions (a four-bar linkage has two) the one near the given poses is found. Where axes of joints end
    opposite to each other, or a `Weld` half a turn away, which their scalar products allow, joints close by their
    angles instead; what stays on the other side warns `OtherSide`. Where joints close far from the given poses a
    warning says how far, for of several solutions it may be another one than is meant. CHOLMOD solves the systems when
    scikit-sparse is installed (`pip install timefem[sparse]`).
    """
    if not isinstance(system, StateValues):
        raise InputError(f"system must be a System, not {system!r}")
    return consistent_states(system, state, validate.real("t", t), fix, sides=True)


def consistent_states(system, state, t, fix=(), sides=False):
    """What `assemble` finds; without `sides` joints may stay, or end, on the other side."""
    given = given_states(system, canonical_states(system, state, t, approximate=True))
    fix = [system.find(body) for body in (fix if isinstance(fix, list | tuple) else [fix])]
    for body in fix:
        if is_on_tree(body):
            raise InputError(f"fix: {system.label(body)} cannot be kept alone, its tree moves as a whole; "
                             "system.state({joint: value}) keeps the joints given, and lets the others close loops")
    moves = np.ones(system.n_q)
    for body in fix:
        moves[system.coordinates(body)] = 0
    given_q = np.concatenate([s.q for _, s in given.values()])
    with np.errstate(over="ignore", invalid="ignore"):  # of steps that lead nowhere, which are refused
        q = _closed(system, t, given_q, moves, fix) if sides else assembled(system, t, given_q, moves)
    if sides and (how := how_far(system, given_q, q)):
        warn_of_far(system, t, given_q, how, "the given poses", "poses that are closer")
    p = projected(system, t, q, carried_momenta(system, given, t, q, fix), moves)
    return states_by_body(system, q, p)


def _closed(system, t, start, moves, fix):
    """Coordinates near a start that hold the constraints, with joints on the side where they are meant to be."""
    error = None
    try:
        q = assembled(system, t, start, moves)
        if not on_other_side(system, t, q):
            return q
    except InputError as found:
        q, error = None, found
    closing = Closing(system, [], fix, t)
    if not (error is None and closing.formulas_hold(start)) and closing.holds(by_angles := closing.near(start)):
        q = assembled(system, t, by_angles, moves)
    elif error is not None:
        raise error
    warn_of_other_side(system, t, q, "give poses that are closer, or turn its axes")
    return q
