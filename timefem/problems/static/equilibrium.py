"""`equilibrium`: a system at rest under its loads at one time."""

from __future__ import annotations

import numpy as np
import scipy

from ... import validate
from ...errors import InputError, named_arguments
from ...mechanics.bodies.generalized_body import general_position
from ...mechanics.forces.loads import Gravity
from ...mechanics.states.closing import warn_of_other_side
from ...mechanics.states.consistent import assembled
from ...mechanics.states.consistent_multipliers import redundant_names
from ...mechanics.states.given import canonical_states, given_states, states_at_zero
from ...mechanics.states.redundancy import drop_redundant
from ...mechanics.system import System
from ...mechanics.values.of_parts import not_finite, remedy_of
from ...progress import progress as progress_bar
from ...progress import showing
from ...records import frozen
from ...solution.audit import warn_of_bends
from ...solution.motion_checks import first_violated
from ...status import RETRY, Reason, Status
from ...types import States
from .at_rest import Equilibrium, warn_where_driven, warn_where_unstable
from .equations import (
    OPTIONS,
    FromGuess,
    StaticEquations,
    furthest_of,
    most_free,
    moved_most,
    or_where_rounding,
    solve,
    with_inertia,
    worst_gap,
)


@named_arguments
def equilibrium(system: System, guess: States | None = None, t: float = 0.0, *, n_steps: int = 1,
                start: float | None = None, progress: bool | None = None) -> Equilibrium:
    """Solve `dV/dq - Q(q, t) + G^T gamma = 0`, `Phi(q, t) = 0` by Newton's method with load steps.

    Loads are taken at the time t, and what is prescribed stands where it is then, at rest: forces of inertia, such as
    those of a drive that turns, are none of them (see "Steady turning" in the how-to on analysis). With `n_steps` the
    load is raised from that of `start` in steps, halved where Newton's method fails and doubled again after quick ones.
    Where t is `start`, what the guess leaves unbalanced is let go in steps. Steps are at right angles to rigid motions
    that nothing resists, by the mass: a structure that floats without loads stays where the guess has it. Of an
    unstable equilibrium and one that the system falls to from the guess, the nearer is taken; of a family of
    equilibria, such as those of a body whose spin nothing resists, the one nearest to the guess: changes are at right
    angles to that motion by the kinetic energy.

    Parameters
    ----------
    system : System
    guess : dict, optional
        Body -> `Pose` (or `CanonicalState`, whose momenta do not count) near the equilibrium at the first load;
        default: the pose at rest of beams, the origin for other bodies.
    t : float
        Time at which the loads are taken [s].
    n_steps : int
        Load steps at first.
    start : float, optional
        Time of no load, or of the equilibrium that the guess is; default 0.
    progress : bool, optional
        As for `solve`.

    Returns
    -------
    Equilibrium
        Where no equilibrium was reached, `status` says so, and the last one reached is kept.

    Raises
    ------
    InputError
        For input that cannot be used.

    Warns
    -----
    OtherSide
        Names a joint that stands half a turn away from where it is meant to be.
    UnderResolved
        Names a beam whose elements do not resolve how it bends or twists.
    Unstable
        Of an equilibrium such as that of a top on its tip: says in how many directions, and what falls.
    UserWarning
        Names a drive that turns with forces of inertia, unless the load is raised in steps.
    """
    with showing(progress, "equilibrium"):
        found = at_rest(system, guess, t, n_steps, start)
    if found.success:
        warn_of_other_side(found.system, found.t, found.q, "give a guess that is closer, or turn its axes")
        warn_of_bends(system, found.q[None])
        warn_where_unstable(found)
        if n_steps == 1:  # else what is prescribed is a load that is raised
            warn_where_driven(found)
    return found


def at_rest(system, guess=None, t=0.0, n_steps=1, start=None):
    """What `equilibrium` finds, and warns of."""
    t = validate.real("t", t)
    n_steps = validate.integer("n_steps", n_steps, minimum=1)
    start = 0.0 if start is None else validate.real("start", start)
    system, q = without_redundant(system, rest_coordinates(system, guess, start), start)
    equations, x, found = *starting(system, q, start), None
    if n_steps == 1:
        with progress_bar("equilibrium", OPTIONS.iterations, goal=OPTIONS.tolerance) as bar:
            found = from_guess(equations, x, t, bar.iteration)
    if found is None or not found.success:
        with progress_bar("equilibrium, per cent of the load", 100) as bar:
            if t != start:
                found = _in_steps(equations, x, start, t, n_steps, bar)
            elif found is None or found.status.reason in RETRY:
                other = _let_go(equations, x, t, n_steps, bar)
                found = other if other.success else found or from_guess(equations, x, t)
    fault = dropped_fault(system, np.array([found.t]), found.q[None]) if found.success else unmet_fault(equations, t, x)
    if fault is not None:
        found.status = fault
    return found


def from_guess(equations, x, t, on_iteration=lambda iteration, norm: None):
    """Newton's method from x with balanced multipliers, then with its own, then from where loads are carried.

    Of an unstable equilibrium and one that the system falls to, that which is nearer.
    """
    found = newton(equations, equations.with_multipliers(x, t), t, on_iteration)

    def again(start):
        other = newton(equations, start, t, on_iteration, near=x)
        other.iterations += found.iterations
        return other

    if not found.success:
        if found.status.reason not in RETRY:
            return found
        if equations.m and (other := again(x)).success:
            found = other
    if found.success and found.n_unstable <= 0:
        return found
    within = furthest_of(equations, found.q - x[:equations.n_q]) if found.success else np.inf
    start, fallen = _relaxed(equations, x, t, within)
    if start is not None and (other := again(start)).success:
        return other
    if fallen is not None and found.status.reason == Reason.NOT_CONVERGED:
        found.status.message = f"{found.status.reason} at the load of t = {t:g}: " \
            f"{equations.system.label(moved_most(equations, fallen))} falls without end, and no force grows to hold " \
            "it: hold it by a joint or a spring"
    return found


def dropped_fault(system, t, q):
    """The `Status` of the first state at rest, shapes (n,), (n, n_q), that violates what was dropped; or None."""
    if not system.dropped:
        return None
    found = first_violated(system, t, np.hstack([q, np.zeros_like(q)]))
    return None if found is None else Status.failure(
        found[4], None, found[1], [], f"'{found[2]}' is violated by {found[3]:.3g}")


def _in_steps(equations, x, start, t, n_steps, bar, least=OPTIONS.least_step):
    step, at, last, total = (t - start) / n_steps, start, None, 0
    while abs(at - t) > 1e-14 * abs(t - start):
        goal = at + step if abs(step) < abs(t - at) else t
        found = newton(equations, x, goal)
        total += found.iterations
        if found.success:
            bar.advance(100 * (goal - at) / (t - start))
            at, x, last = goal, np.concatenate([found.q, found.multipliers]), found
            step *= 2 if found.iterations <= 5 else 1
        elif abs(step) <= least * abs(t - start):
            found.status.message += f"; the last load that is carried is that of t = {at:g}"
            if last is not None:
                found.q, found.multipliers, found.t, found.n_unstable = last.q, last.multipliers, at, last.n_unstable
            return found
        else:
            step /= 2
    last.iterations = total
    return last


def _let_go(equations, x, t, n_steps, bar):
    """The same of loads that do not change: by shares of what is not balanced at the guess."""
    x = equations.with_multipliers(x, t)
    found = _in_steps(FromGuess(equations, x, t), x, 0.0, 1.0, n_steps, bar, OPTIONS.least_share)
    found.t = t
    return found


def newton(equations, x, t, on_iteration=lambda iteration, norm: None, near=None):
    """Newton's method from x at the load of t; an `Equilibrium`, of a family of them that nearest to `near`, or x."""
    history, system, n, change = [], equations.system, equations.n_q, np.inf
    residual, tangent, _ = equations.evaluate(x, t)
    first, ways, rest, near = x, equations.ways(residual, tangent), None, x if near is None else near
    for iteration in range(OPTIONS.iterations):
        history.append(equations.error(residual, tangent, x))
        on_iteration(iteration, history[-1])
        held, balanced = equations.held(tangent, x), history[-1] <= OPTIONS.tolerance
        if balanced and (change <= OPTIONS.increment or history[-1] == 0):
            return _nearest(equations, near, (x, held, history[-1]), t, history) or \
                _found(equations, x, t, held, history, tangent)
        if rest is not None and history[-1] >= history[-2]:
            break  # forces were balanced, and it goes on: along what nothing resists, or next to nothing
        rest = (x, held, history[-1]) if history[-1] <= OPTIONS.unbalanced * OPTIONS.singular else None
        try:
            step = solve(equations, held, residual)
            change = equations.change(x, step)
        except RuntimeError:  # such as of a rope before it is tight
            if balanced:
                rest = x, held, history[-1]
                break
            step = None if iteration >= OPTIONS.most_singular else _long_step(equations, tangent, x, t, residual)
            if step is None:
                return _failed(equations, x, t, history, Reason.SINGULAR_TANGENT,
                               undetermined(equations, tangent, x, t))
            change = np.inf
        furthest, x = OPTIONS.furthest * or_where_rounding(equations.sizes(x[:n]), ways), x - step
        if not (np.isfinite(x).all() and np.all(np.abs(x[:n]) <= furthest)):  # multipliers may have any size
            break
        x = equations.counted(x)
        residual, tangent, _ = equations.evaluate(x, t)
        if not np.isfinite(residual).all():
            break
    if rest is not None and (found := _nearest(equations, near, rest, t, history)) is not None:
        return found
    remedy = "take more load steps (n_steps), or a nearer guess"
    # directors resist turns by their forces
    residual, tangent, _ = equations.evaluate(equations.with_multipliers(first, t), t)
    body = most_free(equations, tangent, OPTIONS.singular) if np.isfinite(tangent.data).all() else None
    if gap := worst_gap(equations, residual, tangent, first):
        remedy += f"; {gap}"
    if body is not None:
        remedy = f"where it starts nothing holds {system.label(body)}, which is free to move as a whole: hold it by " \
                 "a joint or a spring, or give a nearer guess"
    return _failed(equations, x, t, history, Reason.NOT_CONVERGED,
                   f"Newton's method for the equilibrium diverged; {remedy}")


def _found(equations, x, t, held, history, tangent):
    n = equations.n_q
    return Equilibrium(equations.system, t, x[:n].copy(), x[n:].copy(), equations.n_unstable(held),
                       Status(True, residual_history=history), len(history) - 1, tangent)


def _nearest(equations, start, rest, t, history):
    """From x, where forces are balanced, the equilibrium nearest to the start, or else to x, of those with different
    places of what nothing resists, such as the spin of a body that hangs on a ball; None where nothing is free. `rest`
    is x, the tangent there with rigid motions held, and the error."""
    x, held, error = rest
    n_free = equations.n_free(held, error)
    places = (start, x) if n_free else ()
    return next(filter(None, (_held_near(equations, n_free, near, x, t, history) for near in places)), None)


def _held_near(equations, n_free, start, x, t, history):
    for _ in range(OPTIONS.iterations):
        residual, tangent, _ = equations.evaluate(x, t)
        error = equations.error(residual, tangent, x)
        try:
            held, counted, pull = equations.with_free_held(n_free, equations.held(tangent, x), residual, x, t, start)
            step = solve(equations, held, pull)
        except (RuntimeError, np.linalg.LinAlgError):  # also where it went to what is not finite
            return None
        if error <= OPTIONS.tolerance and equations.change(x, step) <= OPTIONS.increment:
            return _found(equations, x, t, counted, [*history, error], tangent)
        x = equations.counted(x - step)
    return None


def _long_step(equations, tangent, x, t, residual):
    try:
        return solve(equations, with_inertia(equations, tangent, x, t), residual)
    except RuntimeError:  # constraints that repeat each other
        return None


def undetermined(equations, tangent, x, t):
    """Constraints that repeat others, or the body that an equilibrium leaves free, in words."""
    names = redundant_names(equations.system, t, np.append(x[:equations.n_q], np.zeros(equations.n_q)))
    if names:
        shown = ", ".join(f"'{name}'" for name in names[:6]) + f" and {len(names) - 6} more" * (len(names) > 6)
        return f"constraints are redundant there: {shown} can be left out, because other constraints imply them; do " \
               "so, or give System(..., redundant='drop')"
    return f"the equilibrium leaves {equations.system.label(most_free(equations, tangent))} free; hold it by a " \
           "joint or a spring"


def _failed(equations, x, t, history, reason, detail):
    n = equations.n_q
    trail = ", ".join(f"{r:.2e}" for r in history[-6:])
    status = Status(False, reason, f"{reason} at the load of t = {t:g} (residuals {trail}): {detail}", None, t, history)
    return Equilibrium(equations.system, t, x[:n].copy(), x[n:].copy(), -1, status, len(history))


# ---- from afar: long implicit steps in time with what inertia there is, until loads are carried
#
# Pseudo-transient continuation (Kelley & Keyes, SIAM J. Numer. Anal. 35, 1998): `(M / s + K) dq = -R` with the mass
# matrix M goes down a fall where nothing resists, as of a slack rope, and becomes Newton's method as s grows.

@frozen
class RelaxationOptions:
    """How far and how often statics go in long implicit steps in time."""

    most_steps: int = 400
    first: float = 0.02  # of the size of the system, that it falls in the first step
    furthest: float = 0.1  # of that size, or of the way so far, that a step may go
    endless: float = 1e3  # of that size: what falls so far is held by nothing
    growth: float = 2.0  # of s after a step that is short enough
    near: float = 1e-7  # of the forces, residual from which on Newton's method goes on


RELAXATION = RelaxationOptions()


def _relaxed(equations, x, t, within=np.inf):
    """Unknowns near an equilibrium, from far, None where none is reached; and how far coordinates fell without end.

    Parameters
    ----------
    equations : StaticEquations
    x : ndarray, shape (n,)
    t : float
        Time of the loads.
    within : float
        How far to go, as `furthest_of` measures it.

    Returns
    -------
    x : ndarray or None
    fallen : ndarray, shape (n_q,), or None
        Changes of coordinates that go on without end.
    """
    options, n, system = RELAXATION, equations.n_q, equations.system
    x = equations.with_multipliers(x, t)
    residual, tangent, _ = equations.evaluate(x, t)
    if not np.isfinite(residual).all():
        return None, None
    start, root = x[:n], equations.root
    fall = np.abs(residual[:n] / np.sqrt(system.mass_scale)).max()
    size = _size(equations, start, root, root * equations.ways(residual, tangent))
    s = options.first * size / fall if fall > 0 else 1.0
    none, forces = scipy.sparse.csc_array((equations.m, equations.m)), np.arange(equations.n) < n
    for _ in range(options.most_steps):
        matrix = scipy.sparse.csc_array(tangent + scipy.sparse.block_diag([equations.mass(x, t) / s, none]))
        try:
            step, onto = solve(equations, matrix, np.column_stack([residual * forces, residual * ~forces])).T
        except RuntimeError:
            s /= 4
            continue
        if furthest_of(equations, x[:n] - start) > within:
            return None, None
        gone = np.abs((x[:n] - start) * root).max()
        if gone > options.endless * size:
            return None, x[:n] - start
        # what joints are apart, as supports of a rope that is longer, does not shrink with s: a part of it at a time
        furthest, far = options.furthest * max(size, gone), np.abs(onto[:n] * root).max()
        step = step + onto * min(1.0, furthest / (2 * far) if far > 0 else 1.0)
        way = np.abs(step[:n] * root).max()
        trial = equations.counted(x - step)
        if not way <= furthest:
            s /= 2
            continue
        found = equations.evaluate(trial, t)
        if not np.isfinite(found[0]).all():
            s /= 4
            continue
        x, (residual, tangent, _) = trial, found
        if equations.error(residual, tangent, x) <= options.near:
            return x, None
        s *= options.growth
    return None, None


def _size(equations, q, root, ways):
    """By which steps are measured, by the root of the mass: distances of places from their middle, and rotations; where
    these are rounding the `ways` that forces lead to."""
    system, places, size = equations.system, [], np.abs(q)
    for body in system.bodies:
        if body.has_position and not body.helper:
            places.append(np.arange(system.n_q)[system.coordinates(body)][:3])
    if len({len(p) for p in places}) == 1:
        size[places] = np.abs(q[places] - np.mean(q[places], axis=0))
    largest = float(or_where_rounding((np.maximum(size, equations.reach) * root).max(), ways.max()))
    return largest or np.abs(q * root).max() or root.max()


# ---- where a search begins

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
