"""Forces given by a formula."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import casadi as ca

from ... import validate
from ...errors import InputError
from ...types import UserFunction, Vector
from ..formula import Same, check_symbols
from ..joints.formula_part import FormulaPart
from ..joints.nonholonomic import MovingFrame
from ..part import Symbols
from .actuators import Actuator
from .between import force_at

if TYPE_CHECKING:
    from ..part import Body, Part


class FormulaForce(FormulaPart, Actuator):
    """Forces and torques on one or more bodies, by a formula of places, velocities, time and controls.

    Parameters
    ----------
    bodies : Body or sequence of Body
    formula : callable
        `formula(frames, t, c)`, or `formula(frames, t, c, u)` with controls u, which it must be affine in: so B(q, v) u
        is taken. `frames` holds per body a `MovingFrame` with `position`, `velocity`, `rotation`, `angular_velocity`,
        `q`, `rate`, `direction(a)` and `velocity_at(arm)`; `t` is the time [s], `c` the parameters. It returns one
        vector per body (the vector alone for one body): the force in space axes [N] at the centre of mass, shape (3,),
        or force and torque, shape (6,); of bodies without a place in space the generalized force, shape (n_q,). Zero
        stands for none. Forces with the very same function share a kernel; each new function is compiled.
    parameters : array_like, shape (n_parameters,), optional
    n_controls : int
        Of u; without controls it is a force like any other.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers; for a formula that fails, returns other shapes, or is not affine in u.

    Examples
    --------
    >>> import casadi, timefem as tf
    >>> bead = tf.PointMass(1.0)
    >>> swirl = tf.FormulaForce(bead, lambda f, t, c: c[0] * casadi.cross(casadi.SX([0, 0, 1]), f[0].velocity),
    ...                         parameters=[2.0])
    """

    def __init__(self, bodies: Body | Sequence[Body], formula: UserFunction, parameters: Vector | None = None,
                 n_controls: int = 0, name: str | None = None) -> None:
        super().__init__(bodies, formula, 1, parameters, name)
        self.n_controls = validate.integer(f"{self._title}: n_controls", n_controls, minimum=0)
        self.table = "actuators" if self.n_controls else "forces"
        self._check()

    @property
    def controls(self) -> tuple[Part, ...]:
        return (self,) if self.n_controls else ()

    @property
    def kind(self) -> Hashable:
        sizes = self.n_controls, len(self.own_parameters)
        return (type(self), Same(self.formula), *sizes, *(b.kind for b in self.bodies))

    def __repr__(self):
        return f"{self._title} on {' and '.join(map(repr, self.bodies))}"

    def _force(self, s, u):
        frames = [MovingFrame.of(*x) for x in zip(self.bodies, s.q, s.velocity, strict=True)]
        arguments = (frames, s.t, s.own, u) if self.n_controls else (frames, s.t, s.own)
        if not callable(self.formula):
            raise InputError(f"{self._formula_title} must be a function that returns CasADi symbols, not "
                             f"{self.formula!r}")
        try:
            values = self.formula(*arguments)
            values = list(values) if isinstance(values, list | tuple) else [values]
            values = [ca.densify(ca.SX(ca.vertcat(*v) if isinstance(v, list | tuple) else v)) for v in values]
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(f"{self._formula_title} failed on CasADi symbols ({reason}); write it with "
                             "casadi.vertcat, casadi.sin, casadi.dot, ...") from error
        if len(values) != len(self.bodies):
            raise InputError(f"{self._formula_title} must return one vector for each of {len(self.bodies)} bodies, not "
                             f"{len(values)}")
        return ca.vertcat(*(self._on(i, value, frames[i], s) for i, value in enumerate(values)))

    def _on(self, i, value, frame, s):
        body, n = self.bodies[i], value.numel()
        if n == 1 and value.is_zero():
            return ca.SX(body.n_q, 1)
        wanted = (3, 6) if body.has_orientation else (3,) if body.has_position else (body.n_q,)
        if n not in wanted:
            raise InputError(f"{self._formula_title} must return a vector of {' or '.join(map(str, wanted))} values "
                             f"for {body!r}, not of {n}")
        value = ca.reshape(value, n, 1)
        if not body.has_position:
            return value
        return force_at(body, s.q[i], frame.position, value[:3], value[3:] if n == 6 else None)

    def force(self, s: Symbols) -> ca.SX:
        return self._force(s, ca.SX.zeros(self.n_controls))

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        return self._force(s, u) - self.force(s)

    def _check(self):
        s, u = Symbols(self), ca.SX.sym("u", self.n_controls)
        s.velocity = [ca.SX.sym("v", b.n_q) for b in self.bodies]
        value = self._force(s, u)
        check_symbols(self._formula_title, value, *s.q, *s.velocity, s.t, s.own, u)
        if self.n_controls and ca.depends_on(ca.jacobian(value, u), u):
            raise InputError(f"{self._formula_title} must be affine in the controls u")
