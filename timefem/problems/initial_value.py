"""Initial-value problems."""

import numpy as np

from .. import validate
from ..errors import InputError
from ..mechanics import CanonicalState, Pose, System


class InitialValueProblem:
    """A system, its state at the start and the time span.

    Parameters
    ----------
    system : System
    state : dict
        Body (or its name) -> `Pose`, or `CanonicalState` for coordinates and momenta as they are. Bodies left out
        rest at the origin in the reference orientation.
    t_span : (float, float)
        Start and end time [s].

    Attributes
    ----------
    z0 : ndarray, shape (n_z,)
        Initial `(q, p)`, consistent with the constraints on both levels.

    Raises
    ------
    InputError
        When the state violates a constraint (named, with its size), or `t_span` does not go forward.
    """

    tolerance = 1e-9

    def __init__(self, system, state, t_span):
        if not isinstance(system, System):
            raise InputError(f"system must be a System, not {system!r}")
        self.system = system
        try:
            t0, t1 = t_span
        except (TypeError, ValueError):
            raise InputError(f"t_span must be a pair (start, end), not {t_span!r}") from None
        self.t_span = validate.real("t_span[0]", t0), validate.real("t_span[1]", t1)
        if self.t_span[1] <= self.t_span[0]:
            raise InputError(f"t_span must go forward: the end {self.t_span[1]:g} is not after the start "
                             f"{self.t_span[0]:g}")
        if not isinstance(state, dict):
            raise InputError(f"state must be a dict from body to Pose, not {state!r}")
        given = {id(system.find(body)): value for body, value in state.items()}
        q, p = zip(*(self._body_state(body, given.get(id(body), Pose())) for body in system.bodies), strict=True)
        self.z0 = np.concatenate([*q, *p])
        self._check_constraints()

    def _body_state(self, body, value):
        if isinstance(value, Pose):
            return body.state(value)
        if isinstance(value, CanonicalState):
            if len(value.q) != body.n_q:
                raise InputError(f"state of {self.system.label(body)}: q and p must have length {body.n_q}, "
                                 f"not {len(value.q)}")
            return value.q, value.p
        raise InputError(f"state of {self.system.label(body)} must be a Pose or CanonicalState, not {value!r}")

    def _check_constraints(self):
        theta = self.system.constraints(self.t_span[0], self.z0)
        _, jacobian, _ = self.system.derivatives(self.t_span[0], self.z0)
        # a violation counts against the size of the terms that make up the constraint
        size = np.maximum(1.0, abs(jacobian) @ np.abs(self.z0))
        worst = np.argmax(np.abs(theta) / size) if len(theta) else None
        if worst is None or abs(theta[worst]) <= self.tolerance * size[worst]:
            return
        names = self.system.constraint_names
        level = "configuration" if worst < len(names) else "velocity"
        what = "position and orientation" if level == "configuration" else "velocities (momenta)"
        raise InputError(f"the initial state violates the constraint '{names[worst % len(names)]}' on {level} level "
                         f"by {abs(theta[worst]):.3g}; give {what} that satisfy it")

    def __repr__(self):
        return f"InitialValueProblem({self.system!r}, t_span={self.t_span})"
