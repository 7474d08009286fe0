"""Constraints given by a formula: nonholonomic ones, on velocities alone, and holonomic ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import casadi as ca

from ...errors import InputError
from ..body_frame import BodyFrame
from ..declared import Direction, Formula, Integer, Numbers, On, Real, SeveralBodies, Texts, Vector
from ..formulas.formula import call, check_symbols, checked_names, idle_rows
from ..numbers.arguments import joined
from ..part import Part
from ..symbols import Symbols
from .frame import Frame
from .joint import across

if TYPE_CHECKING:
    from ..symbols import Symbols


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
        idle = idle_rows(ca.jacobian(phi, q))
        if idle:
            raise InputError(f"{self._formula_title} does not depend on the coordinates in "
                             f"'{self.constraint_names[idle[0]]}'; remove this equation")


class _OnBody(Part):
    """Constraint of one rigid body."""

    body = On(rotating=True)
    table = "joints"

    def _checked_bodies(self, bodies):
        if not getattr(bodies[0], "has_orientation", False):
            raise InputError(f"{self._title} must act on a RigidBody, not on {bodies[0]!r}")
        return tuple(bodies)

    def __repr__(self):
        return f"{self._title} of {self.bodies[0]!r}"

    def _frame(self, s):
        return MovingFrame.of(self.bodies[0], s.q[0], s.velocity[0])


class _Rolling(_OnBody):
    """Rolling without slip on a plane at rest. The plane's point, its normal, two directions in it, and the radius are
    the first 13 parameters.

    The contact is a holonomic constraint, whose multiplier is the normal force of the plane [N]; the multipliers of
    the nonholonomic constraints are the friction [N] along the two directions of `directions`.
    """

    radius = Real("of what rolls", "m", above=0)
    normal = Direction("of the plane, in space; the body is on its side", default=(0, 0, 1))
    plane_point = Vector("of the plane, in space", "m", (0, 0, 0))
    keyword_only = True
    constraint_names = ("contact",)
    nonholonomic_names = ("rolling, first direction", "rolling, second direction")

    def _complete(self):
        self.directions = across(self.number("normal", self))

    def numbers(self, c: Any) -> dict[str, Any]:
        given = super().numbers(c)
        first = {"plane_point": given.pop("plane_point"), "normal": given.pop("normal")}
        return first | {"directions": joined(*across(first["normal"])), "radius": given.pop("radius")} | given

    def _arm(self, s):
        """From the centre of mass to the point of contact, in space axes; and how high the centre is above it."""
        raise NotImplementedError

    def constraints(self, s: Symbols) -> ca.SX:
        position, _ = self.bodies[0].frame(s.q[0])
        # the plane minus the body: the multiplier is the force of the plane
        return self._arm(s)[1] - ca.dot(s.own[3:6], position - s.own[:3])

    def velocity_form(self, s: Symbols) -> ca.SX:
        velocity = self._frame(s).velocity_at(self._arm(s)[0])
        return -ca.vertcat(ca.dot(s.own[6:9], velocity), ca.dot(s.own[9:12], velocity))


class RollingSphere(_Rolling):
    """A sphere, with its centre in the centre of mass, that rolls on a plane.

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    def _arm(self, s):
        return -s.own[12] * s.own[3:6], s.own[12]


class RollingDisc(_Rolling):
    """A thin disc, with its centre in the centre of mass, that rolls with its edge on a plane, upright or tilted.

    It must not lie flat.

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    axis = Direction("of the disc, in body axes", default=(0, 0, 1))

    def _arm(self, s):
        normal, axis = s.own[3:6], self._frame(s).direction(s.own[13:])
        down = ca.dot(normal, axis) * axis - normal  # steepest descent in the plane of the disc
        length = ca.sqrt(ca.sumsqr(down))
        return s.own[12] / length * down, s.own[12] * length


class KnifeEdge(_OnBody):
    """A blade, skate or wheel: the velocity of a point of the body has no component along a direction of the body.

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    point = Vector("in body axes, from the centre of mass, of a link from its origin", "m", (0, 0, 0))
    across = Direction("the direction without velocity, in body axes; the multiplier is the force along it [N]",
                       default=(0, 1, 0))
    keyword_only = True
    nonholonomic_names = ("velocity across the edge",)

    def velocity_form(self, s: Symbols) -> ca.SX:
        frame = self._frame(s)
        return -ca.dot(frame.direction(s.own[3:]), frame.velocity_at(frame.direction(s.own[:3])))


class NonTwisting(_OnBody):
    """The body does not turn about its third axis, Gebhardt & Romero (80): `(1 - a) d1'.d2 - a d2'.d1 = 0`.

    Its directors are then a non-twisting (Bishop) frame of the path of d3 on the sphere.

    Raises
    ------
    InputError
        For a body that is not rigid, or a outside of [0, 1].
    """

    a = Real("the constraint force acts on d1 (a = 0), on d2 (a = 1) or on both; on orthonormal directors all are the "
             "same constraint", "", 0.5, least=0, most=1)
    nonholonomic_names = ("twist about d3",)

    def velocity_form(self, s: Symbols) -> ca.SX:
        _, rotation = self.bodies[0].frame(s.q[0])
        d1, d2 = rotation[:, 0], rotation[:, 1]
        d1_rate, d2_rate = (ca.jtimes(d, s.q[0], s.velocity[0]) for d in (d1, d2))
        return (1 - s.own[0]) * ca.dot(d1_rate, d2) - s.own[0] * ca.dot(d2_rate, d1)
