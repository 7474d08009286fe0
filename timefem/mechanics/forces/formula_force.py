"""Forces given by a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ...errors import InputError
from ..declared import Formula, Integer, Numbers
from ..formula import check_symbols
from ..formula_text import TextFormula
from ..joints.formula_part import FormulaPart
from ..joints.nonholonomic import MovingFrame
from .actuators import Actuator
from .between import force_at

if TYPE_CHECKING:
    from ..part import Part
    from ..symbols import Symbols


class FormulaForce(FormulaPart, Actuator):
    """Forces and torques on one or more bodies, by a formula of places, velocities, time and controls.

    The formula is `formula(frames, t, c)`, or `formula(frames, t, c, u)` with controls u, which it must be affine in:
    so B(q, v) u is taken. `frames` holds per body a `MovingFrame` with `position`, `velocity`, `rotation`,
    `angular_velocity`, `q`, `rate`, `direction(a)` and `velocity_at(arm)`; `t` is the time [s], `c` the parameters. It
    returns one vector per body (the vector alone for one body): the force in space axes [N] at the centre of mass,
    shape (3,), or force and torque, shape (6,); of bodies without a place in space the generalized force, shape (n_q,).
    Zero stands for none. Forces whose formulas state the same share a kernel; each new one is compiled. As text
    the frames are `f`: `"c[0] * cross([0, 0, 1], f[0].velocity)"`.

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

    table = "forces"
    formula = Formula("see above", "f", "t", "c", "u")
    formula_parameters = Numbers("c of the formula", (), argument="parameters")
    n_controls = Integer("of u; without controls it is a force like any other", 0, least=0, most=1000)

    def _complete(self):
        self._check()

    @property
    def controls(self) -> tuple[Part, ...]:
        return (self,) if self.n_controls else ()

    def __repr__(self):
        return f"{self._title} on {' and '.join(map(repr, self.bodies))}"

    def _values(self, frames, t, c, u):
        """One vector for each body, list of SX."""
        arguments = (frames, t, c, u) if self.n_controls or isinstance(self.formula, TextFormula) else (frames, t, c)
        try:
            values = self.formula(*arguments)
            values = list(values) if isinstance(values, list | tuple) else [values]
            if len(self.bodies) == 1 < len(values):  # a vector by its entries
                values = [values]
            return [ca.densify(ca.SX(ca.vertcat(*v) if isinstance(v, list | tuple) else v)) for v in values]
        except InputError as error:
            raise InputError(f"{self._formula_title}: {error}") from None
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(f"{self._formula_title} failed on CasADi symbols ({reason}); write it with "
                             "casadi.vertcat, casadi.sin, casadi.dot, ...") from error

    def _force(self, s, u):
        frames = [MovingFrame.of(*x) for x in zip(self.bodies, s.q, s.velocity, strict=True)]
        values = self._values(frames, s.t, s.own, u)
        if len(values) != len(self.bodies):
            raise InputError(f"{self._formula_title} must return one vector for each of {len(self.bodies)} bodies, not "
                             f"{len(values)}")
        return ca.vertcat(*(self._on(i, value, frames[i], s) for i, value in enumerate(values)))

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What the formula returns, and its symbols by their names in a text."""
        *arguments, symbols = self._traced(MovingFrame)
        u = ca.SX.sym("u", self.n_controls)
        return [ca.vertsplit(ca.vec(v)) for v in self._values(*arguments, u)], symbols | {"u": u}

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
        s, u = self._symbols(), ca.SX.sym("u", self.n_controls)
        value = self._force(s, u)
        check_symbols(self._formula_title, value, *s.q, *s.velocity, s.t, s.own, u)
        if self.n_controls and ca.depends_on(ca.jacobian(value, u), u):
            raise InputError(f"{self._formula_title} must be affine in the controls u")
