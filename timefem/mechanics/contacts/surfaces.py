"""Contact with surfaces and of bodies that formulas state: gap, slip, and the law of penalties, from where the surfaces
are closest."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression
from ..declared import Formula, Integer, Numbers, On, Point, Real, Term
from ..forces.springs import ForcePart, damping_of_penalty, force_at
from ..formulas.formula import call, check_symbols
from ..joints.frame import Frame
from ..joints.nonholonomic import FormulaPart, MovingFrame
from ..symbols import Symbols
from ..symmetry import ALL
from .geometry import AWAY, Touch, across
from .rigid import RigidContact


class Touching(RigidContact, ForcePart, abstract=True):
    """Surfaces of a body and of another one, or of the ground, in one or more places.

    A subclass states `touches`. Without a stiffness the contact is rigid. With one it is a penalty with the depth
    delta: `F = k delta (1 + a ddelta/dt)`, Hunt & Crossley (1975), and never a pull, so that the force has no jump.
    Besides F a friction `-mu F v / sqrt(|v|^2 + w^2)` acts against the velocity v of sliding.
    """

    stiffness = Real("k of a penalty; rigid unless given", "N/m", None, above=0, optional=True)
    damping = Term("a, with a stiffness: at a speed v of impact a share of about 2/3 a v of it is lost", "s/m", 0.0,
                   least=0)
    friction_width = Real("w, with a stiffness: speed below which friction is regularised", "m/s", 0.0, least=0)
    keyword_only = True

    n_touches = 1

    @property
    def is_rigid(self) -> bool:
        return self.stiffness is None

    @property
    def n_contacts(self) -> int:
        return self.n_touches if self.is_rigid else 0

    @property
    def n_slip(self) -> int:
        return self.n_directions if self.is_rigid and self.has("friction") else 0

    @property
    def n_directions(self) -> int:
        """Of sliding: one of bodies in a plane."""
        return min(2, max(body.dimension for body in self.bodies) - 1)

    def _complete(self):
        if self.is_rigid:
            if self.damping or self.friction_width:
                raise InputError(f"{self._title}: damping and friction_width belong to a penalty; without a stiffness "
                                 "the contact is rigid, with restitution and friction")
        elif self.restitution:
            raise InputError(f"{self._title}: restitution belongs to a rigid contact, without a stiffness; a penalty "
                             "loses energy by its damping")
        elif self.friction and not self.friction_width:
            raise InputError(f"{self._title}: friction needs a friction_width [m/s], the speed below which it is "
                             "regularised")

    # ---- what a subclass states

    @abstractmethod
    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        """Where the surfaces are closest, `n_touches` of them, by the numbers `c` as from `named`."""

    def directions(self, touch: Touch, s: Symbols, c: Any) -> ca.SX:
        """Orthonormal directions of sliding, SX (3, n_directions)."""
        if self.n_directions == 2:
            return across(touch.normal)
        return ca.vertcat(touch.normal[1], -touch.normal[0], 0)

    def velocity_of_surface(self, s: Symbols, c: Any) -> ca.SX:
        """Of the surface of b, in space, besides that of the body b."""
        return ca.SX(3, 1)

    # ---- what follows

    def _frame(self, s, i):
        """Frame of body a or b; of the ground where there is no body b."""
        return Frame.of(self.bodies[i], s.q[i]) if i < len(self.given_bodies) else Frame.ground()

    def _twist(self, s, i):
        """Place, velocity and angular velocity of body a or b; None of the ground."""
        if i >= len(self.given_bodies):
            return None
        body, q, v = self.bodies[i], s.q[i], s.velocity[i]
        position, _ = body.frame(q)
        return position, ca.jtimes(position, q, v), body.angular_velocity_map(q) @ v if body.has_orientation else None

    def _approaches(self, touches, s, c):
        """Velocity of the surface of a against that of b at each touch; twists are formed once for all of them."""
        a, b, own = self._twist(s, 0), self._twist(s, 1), self.velocity_of_surface(s, c)
        return [_velocity_at(a, touch.at_a) - _velocity_at(b, touch.at_b) - own for touch in touches]

    def gap(self, s: Symbols) -> ca.SX:
        return ca.vertcat(*(touch.gap for touch in self.touches(s, self.named(s.own))))

    def closed_gap(self, s: Symbols) -> ca.SX:
        return ca.vertcat(*(touch.gap for touch in _further(self.touches(s, self.named(s.own)))))

    def reach(self, s: Symbols) -> ca.SX:
        return ca.vertcat(*(touch.reach for touch in self.touches(s, self.named(s.own)))) if self.has_ends else (
            super().reach(s))

    def slip(self, s: Symbols) -> ca.SX:
        return self._slips(s, self.touches(s, self.named(s.own)))

    def closed_slip(self, s: Symbols) -> ca.SX:
        return self._slips(s, _further(self.touches(s, self.named(s.own))))

    def _slips(self, s, touches):
        if not self.n_slip:
            return super().slip(s)
        c = self.named(s.own)
        return ca.vertcat(*(v.T @ self.directions(touch, s, c)
                            for touch, v in zip(touches, self._approaches(touches, s, c), strict=True)))

    def contact_frames(self, s: Symbols) -> ca.SX:
        c, rows = self.named(s.own), []
        for touch in self.touches(s, c):
            along = [*ca.horzsplit(self.directions(touch, s, c))] if self.n_slip else []
            along += [ca.SX.zeros(3)] * (2 - len(along))
            rows.append(ca.horzcat(*(x.T for x in (touch.at_b, touch.normal, *along))))
        return ca.vertcat(*rows)

    def energy(self, s: Symbols) -> Expression:
        if self.is_rigid:
            return 0
        stiffness = self.named(s.own).stiffness
        return sum(stiffness / 2 * ca.fmax(-gap, 0) ** 2 for gap in ca.vertsplit(self.gap(s)))

    def force(self, s: Symbols) -> ca.SX:
        total = super().force(s)
        if self.is_rigid or not (self.has("friction") or self.has("damping")):
            return total
        c = self.named(s.own)
        touches = self.touches(s, c)
        for touch, v in zip(touches, self._approaches(touches, s, c), strict=True):
            depth = ca.fmax(-touch.gap, 0)
            rate = ca.dot(touch.normal, v)
            extra = damping_of_penalty(c, depth, -rate) if self.has("damping") else 0
            force = extra * touch.normal
            if self.has("friction"):
                sliding = v - rate * touch.normal
                pressed = c.stiffness * depth + extra
                force -= c.friction * pressed * sliding / ca.sqrt(ca.sumsqr(sliding) + c.friction_width**2)
            total += ca.vertcat(*(force_at(body, q, touch.at_a, sign * force)
                                  for body, q, sign in zip(self.given_bodies, s.q, (1, -1), strict=False)))
        return total

    def symmetry(self, s: Symbols) -> ca.SX:
        return self.rigid_motions()

    def workless_motions(self) -> np.ndarray | None:
        return ALL if len(self.given_bodies) == 2 else None


def _further(touches):
    return [touch.further or touch for touch in touches]


def _velocity_at(twist, place):
    """Of the material point of a body at a place."""
    if twist is None:
        return ca.SX(3, 1)
    position, velocity, spin = twist
    return velocity if spin is None else velocity + ca.cross(spin, place - position)


class Flatness(NamedTuple):
    """Where formulas are flat: `level` is the square of a slope that is none, of value and curvature, `turns` the bend
    from which on the direction of a slope says little. A gap is wrong whose share `nearer` is beyond the surface."""

    level: float = 1e-20
    turns: float = 100.0
    nearer: float = 1 / 8


FLAT = Flatness()


class SurfaceContact(Touching):
    """A point of a body that stays where F(x, t) >= 0: above a surface, in a tube, outside of a ball.

    F is `formula(x, t, c)` in CasADi symbols of the place x, shape (3,), in space or in the axes of the body `on`, the
    time t [s] and the parameters c; as text `"x[2] - c[0] * sin(x[0])"`. Where F vanishes its gradient must not. The
    gap is `F / |dF/dx|` near the surface; farther away the curvature of F along its gradient counts too, so that the
    gap is finite where the gradient vanishes, as in the middle of an ellipsoid. Where the curvature vanishes as well,
    as in the middle of `1 - x**4 - y**4`, neither says how far the surface is: with a `size` L the gap is
    `F / (|dF/dx|^4 + (F/L)^4)^(1/4)`, at most L. Laws are those of `PlaneContact`; a surface that moves does so along
    its normal.

    Raises
    ------
    InputError
        For wrong bodies and numbers; for a formula that fails, or does not depend on the place.

    Examples
    --------
    A bead in a tube of radius 5 cm about the z-axis:

    >>> import timefem as tf
    >>> bead = tf.PointMass(0.1)
    >>> tube = tf.SurfaceContact(bead, formula="c[0] - sqrt(x[0]**2 + x[1]**2)", parameters=[0.05], restitution=0.8)
    """

    body = On()
    on = On("in which the surface is fixed", ground=True, key="on")
    formula = Formula("F, see above", "x", "t", "c", default=None)
    formula_parameters = Numbers("c of the formula", (), argument="parameters")
    point = Point("of the body, in its axes from the centre of mass, of a link from its origin", (0.0, 0.0, 0.0))
    size = Real("L, about how far the surface is where F is flat to second order; needed by such formulas alone", "m",
                None, above=0, optional=True)
    refuses_arms = True

    @property
    def where_infinite(self) -> str:
        """What to do where the gap is not finite."""
        return "" if self.size else "its formula is flat there; give size=, about how far away the surface is"

    @property
    def _formula_title(self):
        return f"{self._title}: the formula"

    def _complete(self):
        super()._complete()
        value, symbols = self.traced("formula")
        check_symbols(self._formula_title, value, *symbols.values())
        if not ca.depends_on(value, symbols["x"]):
            raise InputError(f"{self._formula_title} does not depend on the place x")

    def _value(self, x, t, c):
        return call(self._formula_title, self.formula, 1, x, t, c)

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What the formula returns, and its symbols by their names in a text."""
        x, t, c = ca.SX.sym("x", 3), ca.SX.sym("t"), ca.SX.sym("c", len(self.formula_parameters))
        return self._value(x, t, c), {"x": x, "t": t, "c": c}

    def _surface(self, s, c, at):
        """Normal, gap and speed of the surface along the normal, in its own axes, at a place there."""
        x, t = ca.SX.sym("x", 3), ca.SX.sym("t")
        value = self._value(x, t, getattr(c, "formula_parameters", ca.SX(0, 1)))
        slope = ca.gradient(value, x)
        if self.size is None:
            steep, normal, gap = self._by_curvature(value, slope, x)
        else:
            steep = (ca.sumsqr(slope)**2 + (value / c.size)**4)**0.25
            normal, gap = slope / steep, value / steep
        found = [normal, gap, -ca.gradient(value, t) / steep]
        return ca.substitute([ca.SX(x) for x in found], [x, t], [at, s.t])

    def _by_curvature(self, value, slope, x):
        """Slope, normal and gap where F is flat to first order at most; infinite where it is flatter."""
        curvature = ca.jacobian(slope, x)
        none = FLAT.level * ca.fabs(value) * ca.norm_1(ca.vec(curvature))
        square = ca.fmax(ca.sumsqr(slope), none)
        steep = ca.sqrt(square)
        normal = ca.if_else(ca.sumsqr(slope) > none, slope / steep, ca.DM(AWAY))
        # of a parabola along the normal, F (1 + sqrt(1 + bend)) / 2 would be its distance: smooth for all bends
        bend = -2 * value * (normal.T @ curvature @ normal) / square
        # beside a place where the slope vanishes normals turn at once: there it is the same in all directions
        share = bend**2 / (bend**2 + FLAT.turns**2)
        bend += share * (2 * ca.fabs(value) * ca.norm_fro(curvature) / square - bend)
        gap = 2 * value / (steep * (1 + ca.exp(ca.asinh(bend / 2) / 2)))
        ahead = ca.substitute(value, x, x - FLAT.nearer * gap * normal)
        return steep, normal, gap + ca.if_else(ca.logic_and(value > 0, ahead < 0), ca.inf, 0)

    def _at(self, s, c):
        """Place of the point in the axes of the surface, and frames of both bodies."""
        frame, ground = self._frame(s, 0), self._frame(s, 1)
        place = frame.point(c.point)
        return ground.rotation.T @ (place - ground.position), place, ground

    def touches(self, s: Symbols, c: Any) -> list[Touch]:
        at, place, ground = self._at(s, c)
        normal, gap, _ = self._surface(s, c, at)
        normal = ground.direction(normal)
        return [Touch(gap, normal, place, place - gap * normal)]

    def velocity_of_surface(self, s: Symbols, c: Any) -> ca.SX:
        at, _, ground = self._at(s, c)
        normal, _, speed = self._surface(s, c, at)
        return speed * ground.direction(normal)


class FormulaContact(RigidContact, FormulaPart):
    """Rigid contact of one or more bodies by gaps g >= 0 that a formula states.

    The formula is `formula(frames, t, c)` and returns `n` gaps [m], whose rates should be those of a distance: the
    force of contact on body i is `(dg/dr_i)^T lambda`. `frames` holds per body a `Frame` with `position`, `rotation`,
    `q`, `point(x)` and `direction(a)`; `t` is the time [s], `c` the parameters. With friction `slip(frames, t, c)`
    returns for each gap its `n_slip` velocities of sliding along orthonormal directions, one gap after the other,
    affine in the velocities, from a `MovingFrame` of each body with `velocity`, `angular_velocity` and
    `velocity_at(arm)` besides. As text the frames are `f`: `"f[0].position[2] - c[0]"`.

    Raises
    ------
    InputError
        For wrong bodies and numbers; for formulas that fail, or return another number of values; for gaps that depend
        on no coordinate, and slips that are not affine in the velocities.

    Examples
    --------
    >>> import timefem as tf
    >>> a, b = tf.PointMass(1.0), tf.PointMass(1.0)
    >>> row = tf.FormulaContact([a, b], formula="f[1].position[0] - f[0].position[0] - c[0]", parameters=[0.1],
    ...                         restitution=1)
    """

    keyword_only = True
    formula = Formula("g [m], see above", "f", "t", "c", default=None)
    formula_parameters = Numbers("c of the formulas", (), argument="parameters")
    n = Integer("how many gaps", 1, least=1, most=1000)
    slip_formula = Formula("velocities of sliding [m/s], see above", "f", "t", "c", default=None, optional=True,
                           argument="slip")
    n_slip = Integer("velocities of sliding per gap, in a plane 1, in space 2", 0, least=0, most=2)

    @property
    def n_contacts(self) -> int:
        return self.n

    def _complete(self):
        if bool(self.n_slip) != (self.slip_formula is not None):
            raise InputError(f"{self._title}: give slip and n_slip together")
        if self.friction and not self.n_slip:
            raise InputError(f"{self._title}: friction needs slip= and n_slip=, the velocities of sliding")
        s = self._symbols()
        q, v = ca.vertcat(*s.q), ca.vertcat(*s.velocity)
        gap = self.gap(s)
        check_symbols(self._formula_title, gap, *s.q, s.t, s.own)
        for i in range(self.n):
            if not ca.depends_on(gap[i], q):
                raise InputError(f"{self._formula_title}: gap {i} depends on no coordinate")
        if self.n_slip:
            slip = self.slip(s)
            check_symbols(f"{self._title}: slip", slip, *s.q, *s.velocity, s.t, s.own)
            if ca.depends_on(ca.jacobian(ca.vec(slip), v), v):
                raise InputError(f"{self._title}: slip must be affine in the velocities")

    def _gap(self, frames, t, c):
        return call(self._formula_title, self.formula, self.n, frames, t, c)

    def _slip(self, frames, t, c):
        return call(f"{self._title}: slip", self.slip_formula, self.n * self.n_slip, frames, t, c)

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What a formula returns, and its symbols by their names in a text."""
        slips = name == "slip_formula"
        *arguments, symbols = self._traced(MovingFrame if slips else Frame)
        return ca.vertsplit((self._slip if slips else self._gap)(*arguments)), symbols

    def _parameters(self, s):
        return getattr(self.named(s.own), "formula_parameters", ca.SX(0, 1))

    def gap(self, s: Symbols) -> ca.SX:
        return self._gap([Frame.of(body, q) for body, q in zip(self.bodies, s.q, strict=True)], s.t,
                         self._parameters(s))

    def slip(self, s: Symbols) -> ca.SX:
        if not self.n_slip:
            return super().slip(s)
        frames = [MovingFrame.of(*x) for x in zip(self.bodies, s.q, s.velocity, strict=True)]
        return ca.reshape(self._slip(frames, s.t, self._parameters(s)), self.n_slip, self.n).T
