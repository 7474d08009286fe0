"""Initial-value problems."""

import numpy as np

from ... import validate
from ...argument_names import NamedArguments
from ...errors import InputError
from ...mechanics import Pose, System
from ...mechanics.consistent_state import assemble as assembled
from ...mechanics.given_states import canonical_states, given_states
from ...mechanics.redundancy.redundancy import drop_redundant
from ...mechanics.singular_in_time import check_integrable


class InitialValueProblem(NamedArguments):
    """A system, its state at the start and the time span.

    Parameters
    ----------
    system : System
    state : dict
        Body (or its name) -> `Pose`, or `CanonicalState` for coordinates and momenta as they are. Bodies left out
        rest at the origin in the reference orientation. A `GeneralizedBody` takes `Coordinates` or a `CanonicalState`
        and cannot be left out; these may stand for the dict when there is no other body. With joints among the keys,
        `{shoulder: 0.3, elbow: (0.5, rate)}`, bodies follow from the coordinates of joints (see `System.state`).
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

    tolerance = 1e-9

    def __init__(self, system, state, t_span, *, assemble=False):
        if not isinstance(system, System):
            raise InputError(f"system must be a System, not {system!r}")
        self.system = system
        self.t_span = checked_span(system, t_span)
        state = canonical_states(system, state, self.t_span[0])
        if validate.flag("assemble", assemble):
            state = assembled(system, state, self.t_span[0])
        given = given_states(system, state)
        self.z0 = np.concatenate([np.concatenate([s.q for _, s in given.values()]),
                                  np.concatenate([s.p for _, s in given.values()])])
        if system.couples_inertia and all(isinstance(value, Pose) for value, _ in given.values()):
            velocity = system.velocity(self.t_span[0], self.z0)
            self.z0[system.n_q:] = system.momentum(self.t_span[0], self.z0, velocity)
        self._check_constraints()
        self._check_nonholonomic()
        check_integrable(system, self.t_span, self.z0)
        if system.redundant == "drop":
            self.system = drop_redundant(system, self.t_span[0], self.z0)

    def _check_constraints(self):
        for part in self.system.not_finite(self.t_span[0], self.z0):
            raise InputError(f"{self.system.label(part)} is not finite at the initial state, t = {self.t_span[0]:g}: "
                             "set points apart that coincide, or mend its formula")
        theta = self.system.constraints(self.t_span[0], self.z0)
        _, jacobian, _ = self.system.derivatives(self.t_span[0], self.z0)
        # a violation counts against the size of the terms that make up the constraint
        size = np.maximum(1.0, abs(jacobian) @ np.abs(self.z0))
        worst = np.argmax(np.abs(theta) / size) if len(theta) else None
        if worst is None or abs(theta[worst]) <= self.tolerance * size[worst]:
            return
        names, m = self.system.constraint_names, self.system.n_constraints
        if not abs(jacobian[[worst % m], :self.system.n_q]).sum():
            raise InputError(f"the constraint '{names[worst % m]}' has no direction at the initial state, where its "
                             "points coincide; set them apart, or use a Spherical joint")
        level = "configuration" if worst < len(names) else "velocity"
        what = "position and orientation" if level == "configuration" else "velocities (momenta)"
        raise InputError(f"the initial state violates the constraint '{names[worst % len(names)]}' on {level} level "
                         f"by {abs(theta[worst]):.3g}; give {what} that satisfy it, or assemble=True")

    def _check_nonholonomic(self):
        if not self.system.n_nonholonomic:
            return
        form = self.system.nonholonomic(self.t_span[0], self.z0)
        _, jacobian, _, _ = self.system.nonholonomic_derivatives(self.t_span[0], self.z0)
        size = np.maximum(1.0, abs(jacobian) @ np.abs(self.z0))
        worst = np.argmax(np.abs(form) / size)
        if not abs(form[worst]) <= self.tolerance * size[worst]:
            raise InputError(f"the initial state violates the nonholonomic constraint "
                             f"'{self.system.nonholonomic_names[worst]}' by {abs(form[worst]):.3g}; give velocities "
                             "(momenta) that satisfy it, or assemble=True")

    def __repr__(self):
        return f"InitialValueProblem({self.system!r}, t_span={self.t_span})"


def checked_span(system, t_span):
    """Start and end of a time span as floats.

    Raises
    ------
    InputError
        When it is no pair of numbers, does not go forward, or leaves the time for which a part is known.
    """
    try:
        t0, t1 = t_span
    except (TypeError, ValueError):
        raise InputError(f"t_span must be a pair (start, end), not {t_span!r}") from None
    t0, t1 = validate.real("t_span[0]", t0), validate.real("t_span[1]", t1)
    if t1 <= t0:
        raise InputError(f"t_span must go forward: the end {t1:g} is not after the start {t0:g}")
    for part in system.parts:
        fault = uncovered(part, (t0, t1))
        if fault:
            raise InputError(f"{system.label(part)}: {fault}")
    return t0, t1


def uncovered(part, t_span):
    """What is wrong with a part that is known for a shorter time than the time span; None when nothing is."""
    start, end = part.t_span
    slack = 1e-12 * max(map(abs, t_span))
    if start <= t_span[0] + slack and end >= t_span[1] - slack:
        return None
    return (f"its motion is given from {start:g} to {end:g} s, but the time span is {t_span[0]:g} to {t_span[1]:g} s; "
            "extend its table, or shorten the span")
