"""Springs and dampers, and what all forces between two points or two sets of axes have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression
from ..body_frame import BodyFrame
from ..declared import Choice, Direction, Flag, Formula, Numbers, On, Orientation, Point, Real, Term, Vector
from ..formulas.formula import call, check_symbols, polynomial_degree
from ..formulas.text import TextFormula
from ..joints.bound import BoundCoordinate
from ..joints.frame import Twist, nearest
from ..numbers.arguments import joined
from ..part import CONSTRAINTS, ENERGIES, FORCES, Part, restated
from ..shapes import Stroke
from ..symmetry import ALL, translations, turns

if TYPE_CHECKING:
    from ..part import Part
    from ..symbols import Symbols


class ForcePart(Part, abstract=True):
    """Checks of the bodies, which may or may not need an orientation."""

    needs_rotation = False

    def _checked_bodies(self, bodies):
        if len(bodies) == 2 and bodies[1] is None:
            bodies = bodies[:1]
        for body in bodies:
            fits = "has_orientation" if self.needs_rotation else "has_position"
            if not (isinstance(body, BodyFrame) and getattr(body, fits)):
                what = "a rigid body" if self.needs_rotation else "a body"
                raise InputError(f"{self._title} must act on {what}, not on {body!r}"
                                 f"{'; the ground is body_b=None' if body is None else ''}")
        if len(bodies) == 2 and bodies[0] is bodies[1]:
            raise InputError(f"{self._title} needs two different bodies, or body_b=None for the ground")
        return tuple(bodies)

    def __repr__(self):
        to_ground = "body_b" in self.fields
        ground = " and ground" * (to_ground and len(self.given_bodies) == 1)
        return f"{self._title} on {' and '.join(map(repr, self.given_bodies))}{ground}"

    def _place(self, s, i, x):
        """Place in space of the point `x` in the axes of body `i`; beyond the last body is the ground."""
        if i == len(self.bodies):
            return x
        position, rotation = self.bodies[i].frame(s.q[i])
        return position + rotation @ x


class PointForce(ForcePart, abstract=True):
    """Along the line between a point of body a and a point of body b or of the ground: the first six parameters.

    A subclass states its energy by `energy_of_square`. One that overrides `energy` or a force has no motions without
    work unless it says so: `line_motions` where its force is along the line.
    """

    body_a = On()
    body_b = On(ground=True)
    point_a = Point("in body axes, from the centre of mass, of a link from its origin", (0, 0, 0), of=0)
    point_b = Point("in body axes, from the centre of mass, of a link from its origin; of the ground in space",
                    (0, 0, 0), of=1)

    line = "spring"

    def workless_motions(self) -> np.ndarray | None:
        return None if restated(type(self), PointForce, *ENERGIES, *CONSTRAINTS, *FORCES) else self.line_motions()

    def line_motions(self) -> np.ndarray:
        """The `workless_motions` of forces along the line."""
        return ALL if len(self.bodies) == 2 else turns(self.point_b)

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke(self.line, ((self.bodies[0], self.point_a), ((*self.bodies, None)[1], self.point_b)))]

    def _gap(self, s):
        """Point a minus point b."""
        return self._place(s, 0, s.own[:3]) - self._place(s, 1, s.own[3:6])

    def _square(self, s):
        """Squared distance of the points."""
        return ca.sumsqr(self._gap(s))

    def lift(self, s: Symbols) -> ca.SX | None:
        """The squared distance, which rigid motions leave as it is; where points are quadratic in the coordinates, as
        of bodies in quaternions, their difference; None of links of trees, and of an energy of another form."""
        if restated(type(self), PointForce, *ENERGIES):
            return None
        gap = self._gap(s)
        degree = polynomial_degree(gap, ca.vertcat(*s.q))
        return None if degree > 2 else ca.sumsqr(gap) if degree <= 1 else gap

    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression:
        return self.energy_of_square(s, e if e.numel() == 1 else ca.sumsqr(e))

    def energy(self, s: Symbols) -> Expression:
        return self.energy_of_square(s, self._square(s))

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        """Energy as a function of the squared distance of the points; none of those that push without a potential."""
        return 0

    def symmetry(self, s: Symbols) -> ca.SX:
        if restated(type(self), PointForce, *ENERGIES, *CONSTRAINTS):
            return super().symmetry(s)
        return self.rigid_motions(s.own[3:6])


def force_at(body, q, place, force, torque=None):
    """Generalized force of a force at a place in space, and of a torque, on a body with coordinates q."""
    position, _ = body.frame(q)
    pulled = ca.jtimes(position, q, force, True)
    if not body.has_orientation:
        return pulled
    moment = ca.cross(place - position, force) + (0 if torque is None else torque)
    return pulled + body.angular_velocity_map(q).T @ moment


def damping_of_penalty(c: Any, depth: ca.SX, closing: ca.SX) -> ca.SX:
    """What the damping a adds to a penalty `k delta` as delta grows at the rate `closing`: `k delta a ddelta/dt`, of
    Hunt & Crossley (1975), and so much at least that both together never pull."""
    return c.stiffness * depth * ca.fmax(c.damping * closing, -1)


def relative_rotation(part, s, reference):
    """Rotation matrix of body a relative to body b or the ground, from the reference: `S^T R_b^T R_a`, (3, 3)."""
    turned = part.bodies[0].frame(s.q[0])[1]
    if len(part.bodies) == 2:
        turned = part.bodies[1].frame(s.q[1])[1].T @ turned
    return reference.T @ turned


def dissipative_force(s, rates, damping):
    """Q = -dD/d(qdot) of the dissipation function D = 1/2 sum_i c_i rate_i^2.

    `rates` are linear in the velocities: `rate_i = b_i(q) . qdot`; each b_i is given, SX of shape (n_q,).
    """
    velocity = ca.vertcat(*s.velocity)
    return -sum(c * ca.dot(b, velocity) * b for b, c in zip(rates, damping, strict=True))


SMALL = 1e-3  # squares of the sine of half an angle below which eight terms of a power series have every digit


class Spring(PointForce):
    """Linear spring, V = 1/2 k (l - l0)^2 with the distance l of two points.

    With `length=0` the potential is 1/2 k |r|^2, which is smooth everywhere; otherwise the direction of the force
    is not defined where the points coincide.

    Raises
    ------
    InputError
        For numbers out of range, or bodies that are the same.
    """

    stiffness = Real("k", "N/m", None, least=0)
    length = Term("l0", "m", 0.0, least=0)

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        c = self.named(s.own)
        return c.stiffness / 2 * ((ca.sqrt(square) - c.length) ** 2 if self.has("length") else square)


class NonlinearSpring(PointForce):
    """Spring with any potential V(l) of the distance l of two points.

    The points must not coincide, where the direction of the force is not defined. `potential(l, *parameters)` [J] is
    written in CasADi symbols, for instance `lambda l, k: k * (l - 1)**4`, or as text `"c[0] * (l - 1)**4"`. Each new
    formula is compiled; springs whose functions state the same share a kernel, whatever their parameters.

    Raises
    ------
    InputError
        Also when the function fails, or returns something else than a scalar of its arguments.
    """

    potential = Formula("V(l), see above", "l", "c", default=None)
    parameters_of_potential = Numbers("of the potential", (), argument="parameters")

    def _complete(self):
        value, symbols = self.traced("potential")
        check_symbols(f"{self._title}: potential", value, *symbols.values())

    def traced(self, name: str) -> tuple[ca.SX, dict[str, ca.SX]]:
        """The potential, and its symbols by their names in a text."""
        length, c = ca.SX.sym("l"), ca.SX.sym("c", len(self.parameters_of_potential))
        return self._potential(length, c), {"l": length, "c": c}

    def _potential(self, length, c):
        own = [c] if isinstance(self.potential, TextFormula) else ca.vertsplit(c)
        return call(f"{self._title}: potential", self.potential, 1, length, *own)

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        return self._potential(ca.sqrt(square), s.own[6:])


class TorsionalSpring(ForcePart):
    """Torsional spring about an axis, V = 1/2 k (angle - rest)^2.

    The angle is that of body a relative to body b (or the ground) about the axis: of the rotation `R_b^T R_a`, zero
    at `orientation`, the part about the axis (its twist). When a joint holds the axis it is the angle of the joint. At
    the start of a motion it is within half a turn of the rest angle, that one taken in (-pi, pi]; from there it goes on
    over whole turns. A spring along the angle of a joint is a `JointSpring`.
    """

    body_a = On(rotating=True)
    body_b = On(rotating=True, ground=True)
    axis = Direction("in the axes of body a, of any length", default=(0, 0, 1))
    stiffness = Real("k", "N m/rad", None, least=0)
    rest = Real("angle where the torque vanishes", "rad", 0.0)
    orientation = Orientation("of a seen from b (the ground) at angle zero, as quaternion or matrix",
                              default=(1, 0, 0, 0))
    turns = Flag("the angle continues over full turns (by one more coordinate of the system); otherwise it is in (-pi, "
                 "pi] from the rest angle, where the torque jumps", default=True)
    needs_rotation = True

    def _complete(self):
        self.bound = BoundCoordinate(self, self.given_bodies, Twist("angle", self.coordinate_numbers(self)["angle"]))
        if self.turns:
            self.bodies = (*self.given_bodies, self.bound.counter)

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        """Those of its angle, see `Joint.coordinate_numbers`."""
        return {"angle": joined(self.number("axis", c), self.number("orientation", c))}

    @property
    def members(self) -> tuple[Part, ...]:
        return (*self.bound.counting, self) if self.turns else (self,)

    @property
    def first_turn(self) -> float:
        """Within half a turn of which the angle starts [rad]."""
        return nearest(self.rest, 0.0)

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions()

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.given_bodies) == 2 else translations()

    def energy(self, s: Symbols) -> Expression:
        c = self.named(s.own)
        numbers = ca.vertcat(c.axis, c.orientation)
        if self.turns:
            return c.stiffness / 2 * (self.bound.counted(s.q, numbers) - c.rest) ** 2
        return c.stiffness / 2 * self.bound.deviation(s.q, numbers, c.rest) ** 2


class RotationalSpring(ForcePart):
    """Spring against any relative rotation, V = k (1 - cos(angle)), smooth at all angles up to half a turn.

    The angle is that of the rotation `R_b^T R_a` from `orientation`; V = 1/2 k angle^2 for small ones, or for all of
    them by `law="angle"`, with a kink at half a turn.
    """

    body_a = On(rotating=True)
    body_b = On(rotating=True, ground=True)
    stiffness = Real("k", "N m/rad", None, least=0)
    orientation = Orientation("of a seen from b (the ground) at rest, as quaternion or matrix",
                              default=(1, 0, 0, 0))
    law = Choice("of the energy: k (1 - cos(angle)), or 1/2 k angle^2", ("cosine", "angle"), "cosine")
    needs_rotation = True

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions()

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.given_bodies) == 2 else translations()

    def energy(self, s: Symbols) -> Expression:
        # tr R = 1 + 2 cos(angle)
        rest = 3 - ca.trace(relative_rotation(self, s, ca.reshape(s.own[1:], 3, 3)))
        return s.own[0] / 2 * (rest if self.law == "cosine" else _square_of_angle(rest / 4))


def _square_of_angle(u):
    """The square of an angle, of `u = sin(angle / 2)^2`; smooth at zero, where it is its power series."""
    series = sum(2.0 * 4**n / (n**2 * math.comb(2 * n, n)) * u**n for n in range(1, 9))
    some = ca.fmin(ca.fmax(u, SMALL), 1.0)  # so that no branch has an infinite slope at zero
    return ca.if_else(u < SMALL, series, 4 * ca.atan2(ca.sqrt(some), ca.sqrt(1 - some)) ** 2)


# ---- Dampers: forces from a dissipation function D of the velocities, Q = -dD/d(qdot)

class Damper(PointForce):
    """Linear damper along the line of two points: force -c d/dt l with their distance l, D = 1/2 c (dl/dt)^2.

    The points must not coincide, where the line is not defined.
    """

    damping = Real("c", "N s/m", None, least=0)

    line = "damper"

    def workless_motions(self) -> np.ndarray:
        return self.line_motions()

    def force(self, s: Symbols) -> ca.SX:
        along = ca.gradient(ca.sqrt(self._square(s)), ca.vertcat(*s.q))
        return dissipative_force(s, [along], [self.named(s.own).damping])


class TorsionalDamper(ForcePart):
    """Torsional damper about an axis fixed in body a: torque -c (omega_a - omega_b).axis on a, the opposite on b."""

    body_a = On(rotating=True)
    body_b = On(rotating=True, ground=True)
    axis = Direction("in the axes of body a, of any length", default=(0, 0, 1))
    damping = Real("c", "N m s/rad", None, least=0)
    needs_rotation = True

    def workless_motions(self) -> np.ndarray:
        return ALL if len(self.given_bodies) == 2 else translations()

    def force(self, s: Symbols) -> ca.SX:
        axis = self.bodies[0].frame(s.q[0])[1] @ s.own[:3]
        maps = [body.angular_velocity_map(q) for body, q in zip(self.bodies, s.q, strict=True)]
        rate = ca.vertcat(*(sign * m.T @ axis for sign, m in zip((1, -1), maps, strict=False)))
        return dissipative_force(s, [rate], [s.own[3]])


class RayleighDissipation(ForcePart):
    """Resistance of the surroundings to all motion of a body, D = 1/2 c_l |v|^2 + 1/2 c_a |omega|^2.

    The force on the centre of mass is -c_l v, the torque -c_a omega.
    """

    body = On()
    linear = Real("c_l", "N s/m", 0.0, least=0)
    angular = Real("c_a, zero for a point mass", "N m s/rad", 0.0, least=0)

    def _complete(self):
        if self.angular and not self.bodies[0].has_orientation:
            raise InputError(f"{self._title} must act on a rigid body, not on {self.bodies[0]!r}")

    def force(self, s: Symbols) -> ca.SX:
        body, q = self.bodies[0], s.q[0]
        rates = ca.vertsplit(ca.jacobian(body.frame(q)[0], q))
        damping = [s.own[0]] * 3
        if body.has_orientation:
            rates += ca.vertsplit(body.angular_velocity_map(q))
            damping += [s.own[1]] * 3
        return dissipative_force(s, [rate.T for rate in rates], damping)


# ---- Ropes that go slack, and the drag of the air

STILL = 1e-150  # speed, below any in whatever unit, below which drag is smoothed: it has no direction there


class SlackRope(PointForce):
    """An elastic rope without mass between two points: it pulls where they are further apart than its length L.

    With the strain delta = l - L >= 0 it pulls with `k delta (1 + a ddelta/dt)`, and never pushes.
    """

    length = Real("L", "m", None, above=0)
    stiffness = Real("k", "N/m", None, above=0)
    damping = Term("a", "s/m", 0.0, least=0)
    line = "rod"

    def _stretch(self, s, square):
        """Of a slack rope zero, and smooth where its points coincide."""
        c = self.named(s.own)
        return c, ca.sqrt(ca.fmax(square, c.length**2)) - c.length

    def energy_of_square(self, s: Symbols, square: ca.SX) -> Expression:
        c, stretch = self._stretch(s, square)
        return c.stiffness / 2 * stretch**2

    def workless_motions(self) -> np.ndarray:
        return self.line_motions()

    def force(self, s: Symbols) -> ca.SX:
        if not self.has("damping"):
            return super().force(s)
        c, stretch = self._stretch(s, self._square(s))
        along = ca.gradient(stretch, ca.vertcat(*s.q))
        rate = ca.dot(along, ca.vertcat(*s.velocity))
        return -damping_of_penalty(c, stretch, rate) * along


class Drag(ForcePart):
    """Resistance of a fluid, quadratic in the velocity v of a point against it: force `-c |v| v`.

    c is density times area times coefficient of drag, divided by two.
    """

    body = On()
    coefficient = Real("c", "N s^2/m^2", None, least=0)
    point = Point("where it acts, in body axes from the centre of mass, of a link from its origin", (0.0, 0.0, 0.0))
    wind = Vector("velocity of the fluid, in space", "m/s", (0.0, 0.0, 0.0))

    def force(self, s: Symbols) -> ca.SX:
        c, q = self.named(s.own), s.q[0]
        place = self._place(s, 0, c.point)
        v = ca.jtimes(place, q, s.velocity[0]) - c.wind
        return ca.jtimes(place, q, -c.coefficient * ca.sqrt(ca.sumsqr(v) + STILL**2) * v, True)
