"""Constraints given by a formula: nonholonomic ones, on velocities alone, and holonomic ones."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import casadi as ca

from ...errors import InputError
from ..body_frame import BodyFrame
from ..declared import Formula, Integer, Numbers, SeveralBodies, Texts
from ..formulas.formula import call, check_symbols, checked_names, idle_rows
from ..part import Part
from ..symbols import Symbols
from .frame import Frame

# ---- What constraints and forces given by a formula share, holonomic or not

class FormulaPart(Part, abstract=True):
    """Equations or forces of one or more bodies, by `formula(frames, t, c)` with the parameters c."""

    bodies = SeveralBodies()

    def _checked_bodies(self, bodies):
        given, = bodies
        found = (given,) if isinstance(given, BodyFrame) else tuple(given) if isinstance(given, list | tuple) else ()
        if not found or not all(isinstance(b, BodyFrame) for b in found):
            raise InputError(f"{self._title}: bodies must be a body or a list of bodies, not {given!r}")
        if len({id(b) for b in found}) < len(found):
            raise InputError(f"{self._title}: a body is given twice in bodies; give each one once")
        return found

    @property
    def _formula_title(self):
        return f"{self._title}: the formula"

    def __repr__(self):
        return f"{self._title} of {' and '.join(map(repr, self.bodies))}"

    def _symbols(self):
        """Symbols before the numbers are settled."""
        self.own_parameters = self.declared_numbers()
        s = Symbols(self)
        s.velocity = [ca.SX.sym("v", b.n_q) for b in self.bodies]
        return s

    def _traced_frames(self, kind):
        """Frames of their own symbols, and these by the names of a text."""
        symbols, frames = {}, []
        for i, body in enumerate(self.bodies):
            shapes = {"position": (3, 1), "velocity": (3, 1), "rotation": (3, 3), "angular_velocity": (3, 1)}
            own = {name: ca.SX.sym(name, *shape) for name, shape in shapes.items() if name in kind._fields and
                   body.has_position and (name != "angular_velocity" or body.has_orientation)}
            own |= {name: ca.SX.sym(name, body.n_q) for name in ("q", "rate") if name in kind._fields}
            frames.append(kind(**{name: own.get(name) for name in kind._fields}))
            symbols |= {f"f[{i}].{name}": x for name, x in own.items()}
        return frames, symbols

    def _traced(self, kind):
        """The same with time and parameters: frames, t, c, and all symbols by the names of a text."""
        frames, symbols = self._traced_frames(kind)
        t, c = ca.SX.sym("t"), ca.SX.sym("c", len(self.formula_parameters))
        return frames, t, c, symbols | {"t": t, "c": c}


class FormulaEquations(FormulaPart, abstract=True):
    """`n` equations, which the formula states in what `frame` shows of a body."""

    table = "joints"
    frame: ClassVar[type] = Frame
    formula = Formula("see above", "f", "t", "c")
    n = Integer("how many constraints", least=1, most=1000)
    formula_parameters = Numbers("c of the formula", (), argument="parameters")
    names = Texts("one per constraint, for messages")

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What the formula returns, and its symbols by their names in a text."""
        *arguments, symbols = self._traced(self.frame)
        return ca.vertsplit(self._values(*arguments)), symbols

    def _values(self, frames, t, c):
        return call(self._formula_title, self.formula, self.n, frames, t, c)


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
    _methods = "direction", "velocity_at"

    @classmethod
    def of(cls, body, q, rate):
        position, rotation, _ = Frame.of(body, q)
        velocity = None if position is None else ca.jtimes(position, q, rate)
        turning = body.angular_velocity_map(q) @ rate if body.has_orientation else None
        return cls(position, velocity, rotation, turning, q, rate)

    def direction(self, a):
        """A vector given in body axes, in space axes, shape (3,)."""
        return self.rotation @ a

    def velocity_at(self, arm):
        """Velocity of the point of the body that is at `arm` from its centre of mass, in space axes, shape (3,)."""
        return self.velocity + ca.cross(self.angular_velocity, arm)


class NonholonomicConstraint(FormulaEquations):
    """Constraint on velocities `A(q, t) qdot + a(q, t) = 0` of one or more bodies, given by a formula.

    Its force on the coordinates is `-A^T gamma`, which does no work where a is zero.

    The formula is `formula(frames, t, c)` and returns `n` expressions (SX, or a sequence) that are affine in the
    velocities. `frames` holds per body a `MovingFrame` with `position`, `velocity`, `rotation`, `angular_velocity`,
    `q`, `rate`, `direction(a)` and `velocity_at(arm)`; `t` is the time [s], `c` the parameters, SX of shape
    (n_parameters,). Constraints whose formulas state the same share a kernel; numbers that differ belong into
    `parameters`. As text the frames are `f`: `"dot(f[0].direction([0, 1, 0]), f[0].velocity)"`.

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

    frame = MovingFrame

    def _complete(self):
        self.nonholonomic_names = checked_names(self._title, self.names, self.n)
        self._check()

    def velocity_form(self, s: Symbols) -> ca.SX:
        frames = [MovingFrame.of(*x) for x in zip(self.bodies, s.q, s.velocity, strict=True)]
        return self._values(frames, s.t, s.own)

    def _check(self):
        s = self._symbols()
        form, v = self.velocity_form(s), ca.vertcat(*s.velocity)
        check_symbols(self._formula_title, form, *s.q, *s.velocity, s.t, s.own)
        matrix = ca.jacobian(form, v)
        if ca.depends_on(matrix, v):
            raise InputError(f"{self._formula_title} must be affine in the velocities: A(q, t) qdot + a(q, t)")
        idle = idle_rows(matrix)
        if idle:
            raise InputError(f"{self._formula_title} does not depend on the velocities in "
                             f"'{self.nonholonomic_names[idle[0]]}'; use a Constraint for it")


# ---- A constraint given by a formula

class Constraint(FormulaEquations):
    """Holonomic constraint Phi(q, t) = 0 of one or more bodies, given by a formula in CasADi symbols.

    Rheonomic when the formula contains the time. Its velocity level is derived. Scalar products of vectors between
    bodies conserve momentum exactly, vectors in space axes do not.

    The formula is `formula(frames, t, c)` and returns `n` expressions (SX, or a sequence). `frames` holds per body a
    `Frame` with `position`, `rotation`, `q`, `point(x)` and `direction(a)`; `t` is the time [s], `c` the parameters, SX
    of shape (n_parameters,). It stays what it is when it is given, whatever becomes of outer variables; numbers that
    differ between constraints belong into `parameters`. Constraints whose formulas state the same share a kernel; each
    new one is compiled. As text the frames are `f`: `"sumsqr(f[0].position) - c[0]"`.

    Raises
    ------
    InputError
        For wrong bodies and numbers; for a formula that fails, returns another number of values, contains foreign
        symbols, or has a row that depends on no coordinate.

    Examples
    --------
    >>> import casadi, timefem as tf
    >>> bead = tf.PointMass(1.0)
    >>> ellipsoid = tf.Constraint(bead, lambda f, t, c: casadi.sumsqr(f[0].position / c) - 1, 1, parameters=[1, 2, 3])
    """

    def _complete(self):
        self.constraint_names = checked_names(self._title, self.names, self.n)
        self._check()

    def constraints(self, s: Symbols) -> ca.SX:
        frames = [Frame.of(body, q) for body, q in zip(self.bodies, s.q)]
        return self._values(frames, s.t, s.own)

    def _check(self):
        s = self._symbols()
        phi, q = self.constraints(s), ca.vertcat(*s.q)
        check_symbols(self._formula_title, phi, *s.q, s.t, s.own)
        function = ca.Function("constraints", [*s.q, s.t, s.own], [ca.densify(phi)])
        numbers = [abs(function.instruction_constant(k)) for k in range(function.n_instructions())
                   if function.instruction_id(k) == ca.OP_CONST]
        self.largest_constant = max(filter(math.isfinite, numbers), default=0.0)
        idle = idle_rows(ca.jacobian(phi, q))
        if idle:
            raise InputError(f"{self._formula_title} does not depend on the coordinates in "
                             f"'{self.constraint_names[idle[0]]}'; remove this equation")
