"""Initial-value problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError, NamedArguments, check_class
from ...mechanics.bodies.states import Pose
from ...mechanics.parts import is_joint
from ...mechanics.states.assemble import assemble as assembled
from ...mechanics.states.closing import warn_of_other_side
from ...mechanics.states.given import (
    GivenStates,
    by_joints_of_trees,
    canonical_states,
    given_states,
    plain_state,
    resolved_states,
)
from ...mechanics.system import System
from ...mechanics.time_formulas import check_integrable
from ...mechanics.values.at_start import at_start, constraint_sizes, constraints_at
from ...mechanics.values.of_parts import couples_inertia, nonholonomic_off, not_finite, remedy_of
from ...memory import Late
from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class InitialValueOptions(Options):
    """Thresholds of initial-value problems."""

    # ---- checkpoint
    copied_at_once: int = option(65536, "elements of a checkpoint that are copied at once")

    # ---- drivers
    gather_below: int = option(2**30, "bytes of nodal values up to which every rank of a distributed solve gets all")

    # ---- faults
    held: float = option(1e-9, "residual of constraints that hold at the start, relative to the size of their terms")

    # ---- identity
    fingerprint_times: int = option(5, "times at which a fingerprint looks at functions")

    # ---- windows driver
    first_window: int = option(64, "elements of the first window where the size is chosen here")
    few_iterations: int = option(5, "iterations of Newton's method up to which the next window is twice as long")
    many_iterations: int = option(9, "iterations from which on it is half as long")


OPTIONS = InitialValueOptions()


redundancy = Late("timefem.mechanics.states.redundancy")

OF_A_MOTION = "; a motion keeps it as well as its elements resolve it: take a state of one with assemble=True"
ASSEMBLED = ", or those of tf.assemble(system, state); assemble=True of an InitialValueProblem does the same"


class InitialValueProblem(NamedArguments):
    """A system, its state at the start and the time span.

    Parameters
    ----------
    system : System
    state : dict, Equilibrium or ndarray, shape (n_z,)
        Body (or its name) -> `Pose`, or `CanonicalState` for coordinates and momenta as they are. Bodies left out
        rest at the origin in the reference orientation. A `GeneralizedBody` takes `Coordinates` or a `CanonicalState`
        and cannot be left out; these may stand for the dict when there is no other body. With joints among the keys,
        `{shoulder: 0.3, elbow: (0.5, rate)}`, bodies follow from the coordinates of joints (see `System.state`).
        As an array the whole state (q, p): with `solution.z[-1]` a motion goes on where another one of the same system
        ends, also a loaded one.
    t_span : (float, float)
        Start and end time [s].
    assemble : bool
        Take the state as approximate, and assemble the mechanism from it (see `assemble`).

    Attributes
    ----------
    system : System
        The given one; with `redundant="drop"` without its redundant constraints, which it then names as `dropped`.
    z0 : ndarray, shape (n_z,)
        Initial `(q, p)`, consistent with the constraints on both levels.

    Raises
    ------
    InputError
        When the state violates a constraint (named, with its size), a part is not finite there or grows without bound
        at a time, or `t_span` does not go forward.
    """

    tolerance = OPTIONS.held

    def __init__(self, system: System, state: GivenStates, t_span: Sequence[float], *, assemble: bool = False) -> None:
        check_class("system", system, "System")
        self._assemble = validate.flag("assemble", assemble)
        self._take(system, state, checked_span(system, t_span))
        if not self._assemble:  # which has told it
            warn_of_other_side(system, self.t_span[0], self.z0[:system.n_q],
                               "give poses that differ by that turn, or turn its axes")
        check_integrable(system, self.t_span, self.z0)
        if system.redundant == "drop":
            self.system = redundancy.drop_redundant(system, self.t_span[0], self.z0)

    _state = _poses = None

    def _take(self, system, state, t_span):
        poses = self._poses if state is self._state else None
        self.system, self._state, self.t_span, self._poses = system, plain_state(state), t_span, None
        if isinstance(state, np.ndarray) and not self._assemble:
            self.z0 = validate.array("start", state, (system.n_z,))
        elif poses is not None and len(poses) == len(system.bodies):  # of bodies with other numbers
            q, p = zip(*(body.state(pose or body.reference) for body, pose in zip(system.bodies, poses, strict=True)),
                       strict=True)
            self.z0, self._poses = validate.array("start", np.concatenate([*q, *p]), (system.n_z,)), poses
        else:
            state = canonical_states(system, state, t_span[0], approximate=self._assemble)
            if self._assemble:
                state = assembled(system, state, t_span[0])
            given = given_states(system, state)
            self.z0 = np.concatenate([*(s.q for _, s in given.values()), *(s.p for _, s in given.values())])
            if all(isinstance(value, Pose) for value, _ in given.values()):
                if couples_inertia(system):
                    velocity = system.velocity(t_span[0], self.z0)
                    self.z0[system.n_q:] = system.momentum(t_span[0], self.z0, velocity)
                elif not (self._assemble or any(body.helper for body in system.bodies)
                          or any(value.relative_to is not None for value in state.values())):
                    self._poses = [state.get(body) for body in given]  # others are where their numbers put them
        wrong = fault(system.complete or system, t_span[0], self.z0, self.tolerance)
        if wrong is not None:
            whole = isinstance(state, np.ndarray) and wrong.endswith(ASSEMBLED)
            raise InputError(wrong + OF_A_MOTION * whole)

    def changed(self, system: System | None = None, start: Any = None,
                t_span: Sequence[float] | None = None) -> InitialValueProblem:
        """The same problem with other numbers: constraints that were dropped as redundant stay so.

        Parameters
        ----------
        system : System, optional
            By `System.with_numbers`.
        start : dict or ndarray, optional
            As `state`, of the bodies and joints that change; or the whole state `(q, p)`, shape (n_z,).
        t_span : (float, float), optional
        """
        other, system = object.__new__(type(self)), self.system if system is None else system
        other.__dict__.update(self.__dict__)
        state = self._state if start is None else merged(system, self._state, start)
        if t_span is not None:
            t_span = checked_span(system, t_span)
        elif system is not self.system:
            check_known(system, self.t_span)
        other._take(system, state, t_span or self.t_span)
        if t_span is not None or system is not self.system:
            check_integrable(system, other.t_span, other.z0)
        return other

    def __repr__(self):
        return f"InitialValueProblem({self.system!r}, t_span={self.t_span})"


def merged(system, state, other):
    """States of some bodies and joints instead of those given before: what `other` does not name stays.

    Joints between bodies settle the states of all bodies: where only one of both is given by them, `other` is all.
    """
    if not (isinstance(state, dict) and isinstance(other, dict)):
        return other
    if not other:
        return state
    if all(key in system.bodies and not isinstance(value, dict) for key, value in (*state.items(), *other.items())):
        return state | other
    before, after = (resolved_states(system, given) for given in (state, other))
    if any(is_joint(system, key) for key in before) != any(is_joint(system, key) for key in after):
        return other
    before, after = ({_key(system, key): value for key, value in s.items()} for s in (before, after))
    found = before | after
    for tree in (body for body in after if isinstance(before.get(body), dict) and isinstance(after[body], dict)):
        if hasattr(tree, "by_joint"):
            found[tree] = before[tree] | after[tree]
    return found | by_joints_of_trees(system, found, (*state, *other))


def _key(system, key):
    if not is_joint(system, key):
        return system.find(key)
    return system[key]


def checked_span(system, t_span):
    """Start and end of a time span as floats.

    Raises
    ------
    InputError
        When it is not a pair of numbers, does not go forward, or leaves the time for which a part is known.
    """
    try:
        t0, t1 = t_span
    except (TypeError, ValueError):
        raise InputError(f"t_span must be a pair (start, end), not {t_span!r}") from None
    t0, t1 = validate.real("t_span[0]", t0), validate.real("t_span[1]", t1)
    if t1 <= t0:
        raise InputError(f"t_span must go forward: the end {digits(t1)} is not after the start {digits(t0)}")
    check_known(system, (t0, t1))
    return t0, t1


def check_known(system, t_span):
    """Refuse time spans that leave the time for which a part is known."""
    for part in system.parts:
        if fault := uncovered(part, t_span):
            raise InputError(f"{system.label(part)}: {fault}")


def uncovered(part, t_span):
    """What is wrong with a part that is known for a shorter time than the time span; None when nothing is."""
    start, end = part.t_span
    slack = 1e-12 * max(map(abs, t_span))
    if start <= t_span[0] + slack and end >= t_span[1] - slack:
        return None
    return (f"its motion is given from {digits(start, *t_span)} to {digits(end, *t_span)} s, but the time span is "
            f"{digits(t_span[0], start)} to {digits(t_span[1], end)} s; extend its table, or shorten the span")


def fault(system, t, z, tolerance=OPTIONS.held):
    """What is wrong with a state, in words, or None.

    That a part is not finite there, that a constraint has no direction, or that one is violated, on configuration or
    velocity level.

    Parameters
    ----------
    system : System
    t : float
    z : ndarray, shape (n_z,)
    tolerance : float

    Returns
    -------
    str or None
    """
    if at_start(system, t, z).fine(tolerance) and not system.n_nonholonomic:
        return None
    for part in not_finite(system, t, z):
        if not getattr(part, "is_affine", True):  # of controls that are not zero
            continue
        return f"{system.label(part)} is not finite at the initial state, t = {t:g}: {remedy_of(system, part, t, z)}"
    return _of_constraints(system, t, z, tolerance) or _of_nonholonomic(system, t, z, tolerance)


def _of_constraints(system, t, z, tolerance):
    theta, jacobian, _ = constraints_at(system, t, z)
    # a violation counts against the size of the terms that make up the constraint
    size = constraint_sizes(system, t, z)
    worst = np.argmax(np.abs(theta) / size) if len(theta) else None
    if worst is None or abs(theta[worst]) <= tolerance * size[worst]:
        return None
    names, m = system.constraint_names, system.n_constraints
    if not abs(jacobian[[worst % m], :system.n_q]).sum():
        return (f"the constraint '{names[worst % m]}' has no direction at the initial state, where its "
                "points coincide; set them apart, or use a Spherical joint")
    level = "configuration" if worst < len(names) else "velocity"
    what = "position and orientation" if level == "configuration" else "velocities (momenta)"
    owner = next(part for part in system.parts if system.label(part) == names[worst % m].rpartition(": ")[0])
    if owner.whole.coordinates:
        what = f"coordinates of joints, as {{{system.label(owner)!r}: 0.0}}, or {what} of bodies"
    return (f"the initial state violates the constraint '{names[worst % len(names)]}' on {level} level "
            f"by {abs(theta[worst]):.3g}; give {what} that satisfy it{ASSEMBLED}")


def _of_nonholonomic(system, t, z, tolerance):
    if not system.n_nonholonomic:
        return None
    off, size = nonholonomic_off(system, t, z)
    worst = np.argmax(off / size)
    if off[worst] <= tolerance * size[worst]:
        return None
    return (f"the initial state violates the nonholonomic constraint '{system.nonholonomic_names[worst]}' by "
            f"{off[worst]:.3g}; give velocities (momenta) that satisfy it{ASSEMBLED}")
