"""`equilibrium`: a system at rest under its loads at one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import validate
from ...errors import known_names, named_arguments
from ...mechanics.bodies.states import CanonicalState
from ...mechanics.composites.along import along
from ...mechanics.part import Part
from ...mechanics.states.closing import warn_of_other_side
from ...mechanics.states.consistent_multipliers import redundant_names
from ...mechanics.system import System
from ...progress import progress as progress_bar
from ...progress import showing
from ...solution.audit import warn_of_bends
from ...solution.invariants import consistent_multipliers
from ...solution.joint_motion import joint_motion
from ...solution.motion_checks import first_violated
from ...solution.tree_joint_motion import public_names
from ...status import RETRY, Answer, Reason, Status
from ...types import Floats, States
from .equations import (
    FromGuess,
    furthest_of,
    most_free,
    moved_most,
    or_where_rounding,
    relaxed,
    solve,
    with_inertia,
    worst_gap,
)
from .options import OPTIONS
from .stability import warn_where_driven, warn_where_unstable
from .starts import rest_coordinates, starting, unmet_fault, without_redundant

if TYPE_CHECKING:
    from ...mechanics.body_frame import BodyFrame
    from ...mechanics.composites.along import Along
    from ...mechanics.composites.mesh import CurveMesh
    from ...mechanics.part import Body, Part

@dataclass(eq=False, repr=False)
class Equilibrium(Answer):
    """A system at rest.

    Attributes
    ----------
    system : System
    t : float
        Time at which loads are taken [s].
    q : ndarray, shape (n_q,)
    multipliers : ndarray, shape (n_constraints,)
        Of the constraints on configuration level, whose forces on the coordinates are `-G^T gamma`; `joint` gives
        forces and torques of joints.
    n_unstable : int
        Directions in which the energy falls: 0 is stable.
    status : Status
        Of a failure: the coordinates are the last ones reached, and `t` the last load; they warn (`NotSolved`).
    """

    system: System
    t: float
    q: np.ndarray
    multipliers: np.ndarray
    n_unstable: int
    status: Status
    iterations: int = 0
    tangent: Any = None

    numbers = frozenset({"q", "multipliers", "position", "rotation_matrix", "along", "joint"})

    def __repr__(self):
        unstable = f", {self.n_unstable} unstable directions" if self.success else ""
        return f"Equilibrium({self.system!r}, t={self.t:g}, {self.status.message}{unstable})"

    @property
    def state(self) -> dict[Body, CanonicalState]:
        """Dict body -> `CanonicalState` at rest: the start of an initial-value problem, or a guess.

        Raises
        ------
        InputError
            Where no equilibrium was found.
        """
        self.refuse_if_failed("the equilibrium")
        return {b: CanonicalState(vars(self)["q"][c], np.zeros(b.n_q))
                for b in self.system.bodies for c in [self.system.coordinates(b)]}

    def position(self, body: BodyFrame | str) -> np.ndarray:
        """Centre of mass of a body or node [m], shape (3,)."""
        body = self.system.find(body)
        return body.position(vars(self)["q"][self.system.coordinates(body)])

    def rotation_matrix(self, body: BodyFrame | str) -> np.ndarray:
        """Rotation matrix of a body or node, shape (3, 3)."""
        body = self.system.find(body)
        return body.rotation_matrix(vars(self)["q"][self.system.coordinates(body)])

    def joint(self, joint: Part | str) -> JointAtRest:
        """Coordinates and reactions of a joint."""
        values = vars(self)
        return JointAtRest(self.system, joint, self.t, values["q"], values["multipliers"])

    def along(self, beam: CurveMesh | str, s: Floats | None = None) -> Along:
        """Positions, rotations, strains, section forces and moments along a beam or rope, at the places `s`.

        Parameters
        ----------
        beam : Beam, Rope or str
        s : array_like, shape (n,), optional
            Places, as `beam.at` takes them; default: four intervals per element.

        Returns
        -------
        Along
            Arrays of shape (n, ...), see `timefem.mechanics.composites.along.Along`.

        Raises
        ------
        InputError
            When the beam is not in the system.
        """
        return along(self.system, beam, s, (self.t, vars(self)["q"], None))


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
    start, fallen = relaxed(equations, x, t, within)
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


# ---- what a joint of a system at rest carries, and how it stands

class JointAtRest:
    """Coordinates and reactions of a joint of an `Equilibrium`, as `JointMotion` tells them of a motion.

    `angle()`, `displacement()`, ... are its coordinates by their names.

    Attributes
    ----------
    name : str
    coordinates : tuple of str
        Names of its coordinates.
    """

    def __init__(self, system: System, joint: Part | str, t: float, q: np.ndarray, multipliers: np.ndarray) -> None:
        self._motion = joint_motion(_Still(system, t, q, multipliers), joint)
        self.name, self.coordinates = self._motion.name, self._motion.coordinates

    def __repr__(self):
        return f"JointAtRest({self.name!r}, {', '.join(self.coordinates) or 'no coordinates'})"

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("coordinates", ()):
            return lambda: self.coordinate(name)
        raise AttributeError(f"the joint {self.__dict__.get('name')!r} has no {name!r}{known_names(name, dir(self))}")

    def __dir__(self):
        return public_names(self)

    def coordinate(self, name: str | None = None) -> float:
        """Its coordinate of that name, the first unless given [rad or m]."""
        return float(self._motion.coordinate(None, name)[0])

    def force(self, axes: str = "space") -> np.ndarray:
        """Force of the joint on body a, shape (3,) [N], in axes of space, of body "a" or of body "b"."""
        return self._motion.force(None, axes)[0]

    def torque(self, axes: str = "space") -> np.ndarray:
        """Torque of the joint on body a about the point of the joint in a, shape (3,) [N m]; axes as for `force`."""
        return self._motion.torque(None, axes)[0]

    def drive(self, name: str | None = None) -> float:
        """Force or torque along a coordinate [N or N m] of all that acts on it."""
        return float(self._motion.drive(None, name)[0])


class _Still:
    """The one state of a system at rest, as joints look at solutions."""

    def __init__(self, system, t, q, multipliers):
        self.system, self.t, self.fields = system, np.array([float(t)]), {}
        self.z = np.concatenate([q, np.zeros(system.n_q)])[None]
        self._multipliers = np.concatenate([multipliers, np.zeros(len(multipliers))])

    def __call__(self, t, *, side="right"):
        return np.broadcast_to(self.z[0], (*np.shape(t), self.z.shape[1]))

    def _constraint_forces(self, t):
        return consistent_multipliers(self, t)

    def _pressed_forces(self, t):
        return {}

    def multipliers(self, t, kind=None):
        return np.broadcast_to(self._multipliers, (*np.shape(t), len(self._multipliers)))
