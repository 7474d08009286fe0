"""Nonholonomic constraints, on velocities alone, given by a formula."""

from typing import Any, NamedTuple

import numpy as np

from .. import validate
from ..errors import InputError
from .formula import Same, call, check_symbols
from .joints.joint import Frame
from .part import Body, Part, Symbols


class MovingFrame(NamedTuple):
    """What a nonholonomic constraint sees of a body, in CasADi symbols.

    Attributes
    ----------
    position, velocity : SX, shape (3,)
        Of the centre of mass [m], [m/s].
    rotation : SX, shape (3, 3)
        Rotation matrix, body to space; the identity for point masses.
    angular_velocity : SX, shape (3,)
        In space axes [rad/s]; None for point masses.
    q, rate : SX, shape (n_q,)
        Coordinates and their rates; bodies of other classes, without a frame, have only these.
    """

    position: Any
    velocity: Any
    rotation: Any
    angular_velocity: Any
    q: Any
    rate: Any

    @classmethod
    def of(cls, body, q, rate):
        import casadi as ca

        position, rotation, _ = Frame.of(body, q)
        velocity = None if position is None else ca.jtimes(position, q, rate)
        turning = body.angular_velocity_map(q) @ rate if hasattr(body, "angular_velocity_map") else None
        return cls(position, velocity, rotation, turning, q, rate)

    def direction(self, a):
        """A vector given in body axes, in space axes, shape (3,)."""
        return self.rotation @ a

    def velocity_at(self, arm):
        """Velocity of the point of the body that is at `arm` from its centre of mass, in space axes, shape (3,)."""
        import casadi as ca

        return self.velocity + ca.cross(self.angular_velocity, arm)


class NonholonomicConstraint(Part):
    """Constraint on velocities `A(q, t) qdot + a(q, t) = 0` of one or more bodies, given by a formula.

    Its force on the coordinates is `-A^T gamma`, which does no work where a is zero.

    Parameters
    ----------
    bodies : Body or sequence of Body
    formula : callable
        `formula(frames, t, c)` returns `n` expressions (SX, or a sequence) that are affine in the velocities. `frames`
        holds per body a `MovingFrame` with `position`, `velocity`, `rotation`, `angular_velocity`, `q`, `rate`,
        `direction(a)` and `velocity_at(arm)`; `t` is the time [s], `c` the parameters, SX of shape (n_parameters,).
        Constraints with the very same function share a kernel; numbers that differ belong into `parameters`.
    n : int
        Number of constraints.
    parameters : array_like, shape (n_parameters,), optional
    names : sequence of str, optional
        One per constraint, for messages.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers; for a formula that fails, is not affine in the velocities, or has a row without
        them.

    Examples
    --------
    >>> import timefem as tf
    >>> skate = tf.RigidBody(1.0, (1, 1, 1))
    >>> edge = tf.NonholonomicConstraint(skate, lambda f, t, c: f[0].direction([0, 1, 0]).T @ f[0].velocity, 1)
    """

    def __init__(self, bodies, formula, n, parameters=None, names=None, name=None):
        self.name = name
        title = "NonholonomicConstraint" + (f" {name!r}" if name else "")
        self.bodies = (bodies,) if isinstance(bodies, Body) else tuple(bodies) if isinstance(bodies, list | tuple) \
            else ()
        if not self.bodies or not all(isinstance(b, Body) for b in self.bodies):
            raise InputError(f"{title}: bodies must be a body or a list of bodies, not {bodies!r}")
        if len({id(b) for b in self.bodies}) < len(self.bodies):
            raise InputError(f"{title}: a body is given twice in bodies; give each one once")
        self.n = validate.integer(f"{title}: n", n, minimum=1)
        self.own_parameters = validate.array(f"{title}: parameters", () if parameters is None else parameters, (None,))
        names = [f"constraint {i + 1}" for i in range(self.n)] if names is None else names
        if not isinstance(names, list | tuple) or len(names) != self.n or not all(isinstance(x, str) for x in names):
            raise InputError(f"{title}: names must be a list of {self.n} texts, not {names!r}")
        self.nonholonomic_names = tuple(names)
        self.formula, self._title = formula, f"{title}: the formula"
        self._check()

    def __repr__(self):
        name = f", name={self.name!r}" * bool(self.name)
        return f"NonholonomicConstraint({len(self.bodies)} bodies, {self.n} equations{name})"

    @property
    def kind(self):
        return (type(self), Same(self.formula), self.n, len(self.own_parameters), *(b.kind for b in self.bodies))

    def velocity_form(self, s):
        frames = [MovingFrame.of(*x) for x in zip(self.bodies, s.q, s.velocity, strict=True)]
        return call(self._title, self.formula, self.n, frames, s.t, s.own)

    def _check(self):
        import casadi as ca

        s = Symbols(self)
        s.velocity = [ca.SX.sym("v", b.n_q) for b in self.bodies]
        form, v = self.velocity_form(s), ca.vertcat(*s.velocity)
        check_symbols(self._title, form, *s.q, *s.velocity, s.t, s.own)
        matrix = ca.jacobian(form, v)
        if ca.depends_on(matrix, v):
            raise InputError(f"{self._title} must be affine in the velocities: A(q, t) qdot + a(q, t)")
        rows = np.array(ca.DM(matrix.sparsity(), 1)).any(axis=1)
        if not rows.all():
            idle = self.nonholonomic_names[np.argmin(rows)]
            raise InputError(f"{self._title} does not depend on the velocities in '{idle}'; use a Constraint for it")
