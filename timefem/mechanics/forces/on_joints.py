"""Forces along a coordinate of a joint: torques about its axis, or forces along it; motors with gears."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...display import digits
from ...errors import InputError
from ...types import Expression
from ..body_frame import is_on_tree
from ..contacts.rigid import RigidContact
from ..declared import Flag, Function, Real, Term
from ..joints.bound import Follower, JointPart
from ..joints.frame import frames_of
from ..part import Part
from .actuators import Actuator
from .springs import damping_of_penalty

if TYPE_CHECKING:
    from ..symbols import Symbols

__all__ = ["EndStop", "JointDamper", "JointForce", "JointFriction", "JointSpring"]

TURNS = "an angle continues over full turns (by one more coordinate of the system); otherwise it is in (-pi, pi]"


class JointSpring(JointPart):
    """Spring along a coordinate x of a joint, V = 1/2 k (x - rest)^2; angles go on over whole turns.

    At the start of a motion an angle is in (-pi, pi], unless the angle of the joint is given: `{hinge: 7.0}`.
    """

    stiffness = Real("k", "N m/rad or N/m", least=0)
    rest = Real("coordinate where the force vanishes", "rad or m", 0.0)
    turns = Flag(TURNS, default=True)

    @property
    def counts_turns(self) -> bool:
        return self.turns

    def energy(self, s: Symbols) -> Expression:
        c = self.named(s.own)
        return c.stiffness / 2 * (self.coordinate_of(s) - c.rest) ** 2


class JointDamper(JointPart):
    """Damper along a coordinate x of a joint: force -c dx/dt."""

    damping = Real("c", "N m s/rad or N s/m", least=0)

    def force(self, s: Symbols) -> ca.SX:
        return self.along(s, -self.named(s.own).damping * self.rate_of(s))


class JointForce(JointPart):
    """Torque or force along a coordinate of a joint, as a function of time: an ideal drive between its bodies."""

    value = Function("positive where it makes the coordinate grow", "N m or N")

    def force(self, s: Symbols) -> ca.SX:
        value, = self.values_at("value", s.t, self.named(s.own))
        return self.along(s, value)


def dry_friction(part: Any, c: Any, v: ca.SX) -> ca.SX:
    """`(f_c + (f_s - f_c) exp(-(v/v_s)^2)) tanh(v/w)` of the rate v, regularised; f_s = f_c without a breakaway."""
    size = c.friction
    if part.breakaway:
        size = size + (c.breakaway - c.friction) * ca.exp(-(v / c.stribeck) ** 2)
    return size * ca.tanh(v / c.friction_width)


class DryFriction(RigidContact, JointPart, abstract=True):
    """Base of frictions along a coordinate of a joint, which are set-valued unless they have a friction_width.

    A subclass declares `friction`, `friction_width`, `breakaway` and `stribeck`.
    """

    restitution = None
    persistent = True
    made_soft_by = "a friction_width"

    @property
    def is_rigid(self) -> bool:
        return self.friction_width is None

    @property
    def n_contacts(self) -> int:
        return int(self.is_rigid)

    @property
    def n_slip(self) -> int:
        return self.n_contacts

    def _complete(self):
        super()._complete()
        if bool(self.breakaway) != bool(self.stribeck):
            raise InputError(f"{self._title}: breakaway and stribeck belong together; give both, or neither")
        if self.breakaway and self.breakaway < self.friction:
            raise InputError(f"{self._title}: breakaway must be at least friction, {digits(self.friction)}, not "
                             f"{digits(self.breakaway, self.friction)}")
        if self.breakaway and self.is_rigid:
            raise InputError(f"{self._title}: breakaway and stribeck belong to regularised friction; give a "
                             "friction_width")

    def gap(self, s: Symbols) -> ca.SX:
        return ca.SX(1, 1)

    def slip(self, s: Symbols) -> ca.SX:
        return self.rate_of(s)

    def restitutions(self, s: Symbols) -> ca.SX:
        return ca.SX.zeros(1)

    def frictions(self, s: Symbols) -> ca.SX:
        return ca.SX.ones(1)


class JointFriction(DryFriction):
    """Dry and viscous friction in a joint.

    Without a friction_width it is Coulomb's, set-valued: the joint sticks while what drives it is below f_c, and slides
    against f_c. With one it is regularised: with the rate v of the coordinate the force is
    `-(f_c + (f_s - f_c) exp(-(v/v_s)^2)) tanh(v/w) - d v`. f_c is the sliding (Coulomb) friction, f_s the breakaway
    friction and v_s the rate of Stribeck, f_s = f_c unless given. The joint creeps instead of sticking: a small force F
    moves it at the rate `w F / f_s`. Friction by what the joint carries is `BearingFriction`.
    """

    friction = Real("f_c", "N m or N", least=0)
    friction_width = Real("w, rate below which friction is regularised; set-valued unless given", "rad/s or m/s", None,
                          above=0, optional=True)
    breakaway = Term("f_s at rest, with a friction_width; f_c where zero", "N m or N", 0.0, least=0, vanishes=False)
    stribeck = Term("v_s", "rad/s or m/s", 0.0, least=0, vanishes=False)
    damping = Real("d", "N m s/rad or N s/m", 0.0, least=0)

    def load(self, s: Symbols) -> ca.SX:
        return self.named(s.own).friction

    def force(self, s: Symbols) -> ca.SX:
        c, v = self.named(s.own), self.rate_of(s)
        if self.is_rigid:
            return self.along(s, -c.damping * v)
        return self.along(s, -dry_friction(self, c, v) - c.damping * v)


class EndStop(RigidContact, JointPart):
    """Stops of a joint at lowest <= x <= highest, from both sides or one.

    Without a stiffness they are rigid: a joint that meets one returns with the restitution e. With one they are
    elastic: beyond a stop by delta it pushes back with `k delta (1 + a ddelta/dt)`, Hunt & Crossley (1975), and never
    pulls: the force has no jump where the stop is met. A part of the energy is lost, about `2/3 a v^3 m` at the speed v
    of impact where that is small: the coefficient of restitution is about `1 - 2/3 a v`. Angles go on over whole turns,
    and are zero where direction_a of the joint stands at its direction_b.
    """

    lowest = Real("where the lowest stop is; none unless given", "rad or m", None, optional=True)
    highest = Real("where the highest stop is; none unless given", "rad or m", None, optional=True)
    stiffness = Real("k; rigid unless given", "N m/rad or N/m", None, above=0, optional=True)
    damping = Term("a, with a stiffness", "s/rad or s/m", 0.0, least=0)
    turns = Flag(TURNS, default=True)
    friction = None

    @property
    def is_rigid(self) -> bool:
        return self.stiffness is None

    @property
    def n_contacts(self) -> int:
        return len(self.contact_names) if self.is_rigid else 0

    @property
    def contact_names(self) -> tuple[str, ...]:
        return tuple(side for side in ("lowest", "highest") if getattr(self, side) is not None)

    def _complete(self):
        super()._complete()
        if self.lowest is None and self.highest is None:
            raise InputError(f"{self._title}: give lowest, highest or both")
        if self.lowest is not None and self.highest is not None and self.lowest >= self.highest:
            raise InputError(f"{self._title}: lowest must be below highest, {digits(self.highest)}, not "
                             f"{digits(self.lowest)}")
        if self.is_rigid and self.damping:
            raise InputError(f"{self._title}: damping belongs to elastic stops; without a stiffness they are rigid, "
                             "with a restitution")
        if self.restitution and not self.is_rigid:
            raise InputError(f"{self._title}: restitution belongs to rigid stops, without a stiffness; elastic ones "
                             "lose energy by their damping")

    @property
    def counts_turns(self) -> bool:
        return self.turns

    @property
    def where_overlapping(self) -> str:
        if not self.bound.coordinate.turns or getattr(self.joint, "direction_b", self) is not None:
            return ""
        other = "its other body" if len(self.joint.bodies) > 1 else "space"
        return (f"; its angle is zero where body a has the axes of {other}: give the joint a direction_a and "
                "direction_b that meet where it is to be zero")

    def _gaps(self, s, c):
        """Way to each stop, and the sense of x in which it is met."""
        x = self.coordinate_of(s)
        if self.lowest is not None:
            yield x - c.lowest, -1
        if self.highest is not None:
            yield c.highest - x, 1

    def gap(self, s: Symbols) -> ca.SX:
        return ca.vertcat(*(gap for gap, _ in self._gaps(s, self.named(s.own))))

    def energy(self, s: Symbols) -> Expression:
        if self.is_rigid:
            return 0
        c = self.named(s.own)
        return sum(c.stiffness / 2 * ca.fmax(-gap, 0) ** 2 for gap, _ in self._gaps(s, c))

    def force(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        if not self.has("damping"):
            return super().force(s)
        v = self.rate_of(s)
        return self.along(s, -sum(sense * damping_of_penalty(c, ca.fmax(-gap, 0), sense * v)
                                  for gap, sense in self._gaps(s, c)))


# ---- Motors with gears

class Rotor(Follower):
    """The rotor of a motor: its angle phi, `T = 1/2 J (dphi/dt)^2`, which starts at gear times the coordinate."""

    def __init__(self, motor):
        super().__init__(motor.bound, "rotor")
        self.owner, self.motor = motor, motor
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"inertia": c.motor.rotor_inertia}

    def __repr__(self):
        return f"Rotor({self.owner!r})"

    @property
    def kind(self):
        return (Rotor,)

    def start(self, states, own):
        value, rate = self.bound.local(states, own)
        return np.array([self.motor.gear * value]), np.array([self.own_parameters[0] * self.motor.gear * rate])


class Gear(Part):
    """Holds the rotor of a motor at gear times the coordinate: `x - phi / gear = 0`, over any number of turns.

    Its multiplier is the torque [N m] or force [N] that the rotor exerts along the coordinate.
    """

    constraint_names = ("gear",)
    table = "joints"
    helper = True

    def __init__(self, motor):
        self.bound, self.owner, self.place = motor.bound, motor, "gear"
        self.bodies, self.motor = motor.bodies, motor
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"axes": self.bound.numbers(c.bound), "gear": c.motor.gear}

    def __repr__(self):
        return f"Gear({self.owner!r})"

    @property
    def kind(self):
        return (Gear, self.bound.form, *(body.kind for body in self.bodies))

    def start_by_numbers(self, q, p):
        """Derivatives of angle and rate of the rotor at the start by `own_parameters`, shape (2, n_own), of states of
        the bodies of the coordinate."""
        c = ca.SX.sym("c", len(self.own_parameters))
        start = c[-1] * ca.vertcat(*self.bound.value_and_rate(q, p, c[:-1]))
        return np.array(ca.Function("start", [c], [ca.densify(ca.jacobian(start, c))])(self.own_parameters))

    def workless_motions(self):
        return self.motor.workless_motions()

    def constraints(self, s):
        numbers, gear = s.own[:-1], s.own[-1]
        frames = frames_of(self.bound.bodies, s.q[:-1])
        return -self.bound.coordinate.gap(*frames, numbers, s.q[-1][0] / gear)


class Motor(JointPart, Actuator):
    """A motor that drives a coordinate x of a joint through a gear: its rotor turns by phi = gear x.

    On the rotor act the torque tau(t) + u, with the control u of problems that determine it, and -c dphi/dt of its
    bearings. The rotor has the energy `1/2 J (dphi/dt)^2`, by one coordinate and one constraint more; its gyroscopic
    effects on the bodies are left out. Without inertia the torque acts on the joint at once. On a joint inside of a
    tree the inertia J gear^2 is added to the `armature` of that joint, by the system, and there is no constraint.
    """

    unit, n_controls = "N m", 1
    gear = Real("turns of the rotor per turn of the joint, or radians per metre", "", 1.0)
    rotor_inertia = Term("J, about the axis of the rotor", "kg m^2", 0.0, least=0, vanishes=False)
    damping = Real("c, of the bearings of the rotor", "N m s/rad", 0.0, least=0)
    torque = Function("tau, a given torque", "N m", 0.0)

    def _complete(self):
        super()._complete()
        if self.gear == 0:
            raise InputError(f"{self._title}: gear must not be zero")
        self.helpers = ()
        if self.rotor_inertia and not self.on_tree:
            rotor = Rotor(self)
            self.bodies = (*self.bound.bodies, rotor)
            self.helpers = rotor, Gear(self)

    @property
    def on_tree(self) -> bool:
        """Whether it drives a joint inside of a tree, with one coordinate."""
        return is_on_tree(self.joint) and self.joint.n_q == 1

    @property
    def members(self) -> tuple[Part, ...]:
        return (*self.helpers, self)

    @property
    def _form(self):
        return (*super()._form, bool(self.helpers))

    def _on_rotor(self, s, torque):
        """Generalized force of a torque on the rotor."""
        if self.helpers:
            return ca.vertcat(ca.SX(sum(b.n_q for b in self.bodies[:-1]), 1), torque)
        return self.along(s, self.named(s.own).gear * torque)

    def force(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        given, = self.values_at("torque", s.t, c)
        speed = s.velocity[-1][0] if self.helpers else c.gear * self.rate_of(s)
        return self._on_rotor(s, given - c.damping * speed)

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        return self._on_rotor(s, u)
