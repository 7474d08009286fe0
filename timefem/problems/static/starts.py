"""Where a search of an equilibrium begins."""

import numpy as np

from ...errors import InputError
from ...mechanics.bodies.generalized_body import general_position
from ...mechanics.forces.loads import Gravity
from ...mechanics.states.consistent import assembled
from ...mechanics.states.given import canonical_states, given_states, states_at_zero
from ...mechanics.states.redundancy import drop_redundant
from ...mechanics.values.of_parts import not_finite, remedy_of
from ...status import Reason, Status
from .equations import StaticEquations, worst_gap
from .options import OPTIONS


def rest_coordinates(system, guess, t):
    """Coordinates (n_q,) of a guess, or of the shapes at rest."""
    guess = {} if guess is None else guess
    if isinstance(guess, dict):
        guess = guess | states_at_zero(system, guess)
    given = given_states(system, canonical_states(system, guess, t))
    return np.concatenate([s.q for _, s in given.values()])


def without_redundant(system, q, t):
    """The system without constraints that are redundant, where it is to be, and the coordinates where that was settled.
    """
    if system.redundant != "drop":
        return system, q
    q = assembled(system, t, q, np.ones(system.n_q))
    return drop_redundant(system, t, np.append(q, np.zeros(system.n_q))), q


def starting(system, q, t):
    """The equations of a system at rest, and the unknowns near the coordinates q (n_q,)."""
    equations, x = StaticEquations(system), np.append(q, np.zeros(system.n_constraints))
    return equations, x if _is_finite(equations, x, t) else _apart(equations, x, t)


def _is_finite(equations, x, t):
    with np.errstate(all="ignore"):
        residual, tangent, _ = equations.evaluate(x, t)
    return bool(np.isfinite(residual).all() and np.isfinite(tangent.data).all())


def _apart(equations, x, t):
    """x with bodies a little apart whose points coincide, where the force of a spring has no direction.

    Along the weight, which is the way that they hang.
    """
    system, moved = equations.system, x.copy()
    z = np.append(x[:equations.n_q], np.zeros(equations.n_q))
    parts, sizes = list(not_finite(system, t, z)), equations.sizes(x[:equations.n_q])
    pull = next((part.acceleration for part in system.parts if isinstance(part, Gravity)), np.zeros(3))
    for i, body in enumerate(dict.fromkeys(frame.body for part in parts for frame in part.frames), 1):
        if body is not None and body.has_position:
            places = np.arange(equations.n_q)[system.coordinates(body)][:3]
            way = pull[:len(places)] if np.any(pull[:len(places)]) else general_position(len(places))
            moved[places] += i * OPTIONS.coincide * sizes[places].max() * way / np.linalg.norm(way)
    if not _is_finite(equations, moved, t):
        for part in parts:
            raise InputError(f"{system.label(part)} is not finite at the guess, t = {t:g}: "
                             f"{remedy_of(system, part, t, z)}")
    return moved


def unmet_fault(equations, t, x):
    """The `Status` where no coordinates near x (n,) hold the constraints, without which nothing is at rest; or None."""
    try:
        assembled(equations.system, t, x[:equations.n_q], np.ones(equations.n_q))
    except InputError as error:
        gap = worst_gap(equations, *equations.evaluate(x, t)[:2], x)
        message = f"{Reason.NOT_CONVERGED} at the load of t = {t:g}: {gap + '; ' if gap else ''}{error}"
        return Status(False, Reason.NOT_CONVERGED, message, None, t)
    return None
