"""A coordinate of two given bodies: its value, its rate, the counter of its turns, and what acts on it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Expression, Floats
from ..bodies.generalized_body import general_position
from ..body_frame import is_on_tree
from ..declared import CoordinateName, OnJoint
from ..part import Body, Part
from ..symmetry import ALL, NONE
from .frame import Frame, frames_of

if TYPE_CHECKING:
    from ..symbols import Symbols
    from .frame import JointCoordinate


class BoundCoordinate:
    """A `JointCoordinate` x(q) of body a against body b, or the ground.

    Parameters
    ----------
    owner : Part
        Joint or force, for labels.
    bodies : tuple of Body
    coordinate : JointCoordinate
    """

    refers_to_parts = True

    def __init__(self, owner: Part, bodies: tuple[Body, ...], coordinate: JointCoordinate) -> None:
        self.owner, self.bodies, self.coordinate = owner, bodies, coordinate

    @property
    def form(self) -> Hashable:
        """What tells its formula from others, hashable."""
        return self.coordinate.form

    def numbers(self, c: Any) -> Any:
        """Those of the coordinate as a formula of the arguments of its owner, `c.owner`."""
        return self.coordinate.numbers if c is self else self.numbers_of_owner(c)

    def numbers_of_owner(self, c: Any) -> Any:
        """The same, worked out anew."""
        found = self.owner.coordinate_numbers(c.owner)
        if self.coordinate.name in found:
            return found[self.coordinate.name]
        if vars(c.owner).get("_values"):
            raise InputError(f"{self.owner!r} has no coordinate_numbers, which state how its coordinates follow from "
                             "its arguments")
        return next((x.numbers for x in c.owner.coordinates if x.name == self.coordinate.name), self.coordinate.numbers)

    def value(self, q: Sequence[ca.SX], c: Any) -> ca.SX:
        """x in CasADi symbols of the coordinates of each body and of its numbers; an angle in (-pi, pi]."""
        return self.coordinate.value(*frames_of(self.bodies, q), c)

    def deviation(self, q: Sequence[ca.SX], c: Any, target: Any) -> ca.SX:
        """x from a target; of an angle in (-pi, pi]."""
        return self.coordinate.deviation(*frames_of(self.bodies, q), c, target)

    def rate(self, q: Sequence[ca.SX], v: Sequence[ca.SX], c: Any) -> ca.SX:
        """dx/dt at the velocities v."""
        q, v = q[:len(self.bodies)], v[:len(self.bodies)]
        return ca.jtimes(self.value(q, c), ca.vertcat(*q), ca.vertcat(*v))

    def direction(self, q: Sequence[ca.SX], c: Any) -> tuple[ca.SX, ca.SX]:
        """Derivatives of x by shifts and by small rotations of body a about its centre of mass, two SX (3,)."""
        a, b = frames_of(self.bodies, q)
        shift, turn = ca.SX.sym("shift", 3), ca.SX.sym("turn", 3)
        moved = Frame(a.position + shift, a.rotation + ca.skew(turn) @ a.rotation, a.q)
        slope = ca.gradient(self.coordinate.value(moved, b, c), ca.vertcat(shift, turn))
        slope = ca.substitute(slope, ca.vertcat(shift, turn), ca.SX.zeros(6))
        return slope[:3], slope[3:]

    def counted(self, q: Sequence[ca.SX], c: Any) -> ca.SX:
        """x with its whole turns, which the last of the coordinates q counts; its derivative is that of `value`."""
        value = self.value(q[:-1], c)
        return value + 2 * np.pi * ca.floor((q[-1] - value) / (2 * np.pi) + 0.5)

    @cached_property
    def counter(self) -> TurnCounter:
        return TurnCounter(self)

    @cached_property
    def counting(self) -> tuple[Part, ...]:
        """The helpers that a system needs to count turns."""
        return self.counter, TurnRate(self)

    def value_and_rate(self, q: Sequence[np.ndarray], p: Sequence[np.ndarray], c: Any) -> tuple[ca.SX, ca.SX]:
        """x and dx/dt of local states in floats, and numbers in symbols."""
        symbols = [ca.SX.sym("q", b.n_q) for b in self.bodies]
        q, p = ([ca.SX(ca.DM(x)) for x in values] for values in (q, p))
        v = [y if b.velocity_by_solve else b.velocity_of_momenta(x, y, ca.SX(ca.DM(b.own_parameters)))
             for b, x, y in zip(self.bodies, q, p, strict=True)]
        both = ca.vertcat(self.value(symbols, c), self.rate(symbols, v, c))
        values = ca.substitute(both, ca.vertcat(*symbols), ca.vertcat(*q))
        return values[0], values[1]

    @cached_property
    def _numeric(self):
        symbols = [ca.SX.sym("q", b.n_q) for b in self.bodies]
        momenta = [ca.SX.sym("p", b.n_q) for b in self.bodies]
        own = [ca.SX.sym("c", len(b.own_parameters)) for b in self.bodies]
        # of links of trees velocities replace momenta
        velocities = [p if b.velocity_by_solve else b.velocity_of_momenta(q, p, c)
                      for b, q, p, c in zip(self.bodies, symbols, momenta, own, strict=True)]
        numbers = ca.SX(self.coordinate.numbers)
        values = ca.densify(ca.vertcat(self.value(symbols, numbers), self.rate(symbols, velocities, numbers)))
        return ca.Function("coordinate", [*symbols, *momenta, *own], [values])

    def at(self, bodies: Sequence[Body], q: Sequence[np.ndarray],
           p: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """x and dx/dt of local states: lists with an array (..., n_q) per body -> two arrays (...).

        The `bodies` are those of the coordinate, or stand for them with other masses.
        """
        if any(len(a.own_parameters) != len(b.own_parameters) for a, b in zip(bodies, self.bodies, strict=True)):
            return BoundCoordinate(self.owner, tuple(bodies), self.coordinate).at(bodies, q, p)
        shape = np.shape(q[0])[:-1]
        flat = [np.reshape(x, (-1, np.shape(x)[-1])).T for x in (*q, *p)]
        n = flat[0].shape[1]
        own = [np.tile(b.own_parameters[:, None], n) for b in bodies]
        values = np.array(self._numeric.map(n)(*flat, *own)) if n else np.zeros((2, 0))
        return values[0].reshape(shape), values[1].reshape(shape)

    @cached_property
    def _slope(self):
        q = [ca.SX.sym("q", b.n_q) for b in self.bodies]
        value = self.value(q, ca.SX(self.coordinate.numbers))
        return ca.Function("slope", q, [ca.densify(ca.gradient(value, ca.vertcat(*q)))])

    @cached_property
    def inertia(self) -> float:
        """With which x moves where nothing else does [kg m^2 or kg], by the sizes of masses: `1 / (dx/dq M^-1 dx/dq^T)`
        in a general position; 1 where no mass moves it."""
        masses = np.concatenate([b.body.mass_scale[b.dofs] if is_on_tree(b) else
                                 np.concatenate([frame.mass_scale for frame in b.frames]) for b in self.bodies])
        slope = self.gradient([general_position(1, b.n_q) for b in self.bodies])[0]
        return float(1 / ((slope**2 / masses).sum() or 1.0))

    def gradient(self, q: Sequence[np.ndarray]) -> np.ndarray:
        """dx/dq at coordinates, a list with an array (n, n_q) per body -> (n, n_q_local)."""
        return np.array(self._slope.map(len(q[0]))(*(x.T for x in q))).T if len(q[0]) else np.zeros((0, 0))

    def local(self, states: Mapping[Any, Any], own: Callable[[Body], Body] = lambda body: body) -> tuple[float, float]:
        """x and dx/dt from the states of bodies, dict body -> (q, p): two floats; `own(body)` stands for a body."""
        bodies = [own(body) for body in self.bodies]
        return tuple(float(x) for x in self.at(bodies, *zip(*(_local(body, states) for body in bodies), strict=True)))


class Follower(Body, abstract=True):
    """A body with one coordinate that starts where the bodies of a `BoundCoordinate` put it."""

    n_q, helper, n_increments = 1, True, 1
    counts_turns = False
    dimension = 0

    def __init__(self, bound: BoundCoordinate, place: str) -> None:
        self.bound, self.owner, self.place = bound, bound.owner, place

    def start(self, states: Mapping[Any, Any], own: Callable[[Body], Body]) -> tuple[np.ndarray, np.ndarray]:
        """Coordinate and momentum, two arrays (1,), from those of the other bodies: dict body -> (q, p).

        `own(body)` is what stands for a body in the system.
        """
        raise NotImplementedError

    @property
    def mass_scale(self) -> np.ndarray:
        return self.own_parameters

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        return p[0] ** 2 / (2 * c[0])

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        return c[0] * v[0] ** 2 / 2

    def rigid_motion(self, q: ca.SX) -> ca.SX:
        return ca.SX(1, 6)  # no momentum

    def mass_matrix(self, q: Floats) -> np.ndarray:
        """Shape (..., 1) -> (..., 1, 1)."""
        return np.broadcast_to(np.diag(self.mass_scale), (*np.shape(q), 1))

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Rate of the coordinate by its own momentum, shape (..., 1)."""
        return np.asarray(p, float) / self.mass_scale

    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Zero, shape (..., 3)."""
        return np.zeros((*np.shape(p)[:-1], 3))

    angular_momentum = linear_momentum


def _local(body, states):
    """Coordinates and momenta of a body, or of the nodes of a point of a beam; of a link of a tree coordinates and
    rates."""
    if not is_on_tree(body):
        of_nodes = zip(*(states[node] for node in body.frames), strict=True)
        return tuple(map(np.concatenate, of_nodes))
    q, p = states[body.body]
    return q[body.dofs], body.body.velocity(q, p)[body.dofs]


class TurnCounter(Follower):
    """A coordinate phi that follows an angle over whole turns.

    `H = p_phi dx/dt(q, p)`, so that dphi/dt is the rate of the angle; p_phi = 0 from the start, so that it acts on
    nothing. The turns are those of phi, the angle itself comes from the bodies, so that phi need not be accurate.
    One-step schemes let it rest; the audit of a solution finds angles that leave it by half a turn.

    It has no mass. The one in its formulas, which drops out of the motion, is the inertia of the angle: what is
    measured by masses is then the same in all units.
    """

    def __init__(self, bound: BoundCoordinate) -> None:
        super().__init__(bound, f"turns of {bound.coordinate.name}")

    @cached_property
    def own_parameters(self) -> np.ndarray:
        return np.array([self.bound.inertia])

    def __repr__(self):
        return f"TurnCounter({self.owner!r})"

    @property
    def kind(self) -> Hashable:
        return (TurnCounter,)

    counts_turns = is_counter = True

    def start(self, states: Mapping[Any, Any], own: Callable[[Body], Body]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([float(self._first(self.bound.local(states, own)[0]))]), np.zeros(1)

    def conditions_at_start(self, q: ca.SX, p: ca.SX, of: Callable[[Any], ca.SX], near: float | None = None) -> ca.SX:
        """What vanishes at the start of a motion, SX (2,), from the own coordinate and momentum and those of others.

        The angle is within half a turn of `near`, or of that of the owner.
        """
        value = self.bound.value([of(body) for body in self.bound.bodies], ca.SX(self.bound.coordinate.numbers))
        return ca.vertcat(q - self._first(value, near), p)

    def _first(self, value, near=None):
        near = self.owner.first_turn if near is None else near
        return value + 2 * np.pi * ca.floor((near - value) / (2 * np.pi) + 0.5)


class TurnRate(Part):
    """What drives a `TurnCounter`."""

    helper = is_counter = True

    def __init__(self, bound):
        self.bound, self.owner, self.place = bound, bound.owner, f"rate of {bound.coordinate.name}"
        self.bodies = (*bound.bodies, bound.counter)
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"axes": self.bound.numbers(c.bound)}

    def __repr__(self):
        return f"TurnRate({self.owner!r})"

    @property
    def kind(self):
        return (TurnRate, self.bound.form, *(body.kind for body in self.bodies))

    has_velocity = True

    def potential_energy(self, s):
        return ca.SX(0)

    def energy(self, s):
        return s.p[-1][0] * self.bound.rate(s.q, s.velocity, s.own)

    def kinetic(self, s, v):
        """For elements with velocities of their own: `m (v_phi - rate)^2 / 2` in all, whose momentum is zero."""
        rate = self.bound.rate(s.q, v, s.own)
        return s.bodies[-1][0] * rate * (rate / 2 - v[-1][0])


# ---- What acts on a coordinate of a joint

class JointPart(Part, abstract=True):
    """A part that sees one coordinate x of a joint, its angle or displacement, and the rate of x.

    A subclass declares its arguments, and states its formulas in `self.coordinate_of(s)` and `self.rate_of(s)`. Where
    it `counts_turns` angles go on over whole turns.
    """

    joint = OnJoint("whose coordinate it acts on")
    coordinate = CoordinateName()
    keyword_only = ("joint",)
    counts_turns = False

    def _complete(self):
        super()._complete()
        self.bound = self.joint.bound(self.coordinate)
        self._counts = self.counts_turns and self.bound.coordinate.turns
        self.bodies = (*self.bound.bodies, self.bound.counter) if self._counts else self.bound.bodies

    def symmetry(self, s: Symbols) -> ca.SX:
        """All rigid motions, of a joint between two bodies."""
        return ca.SX.eye(6) if len(self.bound.bodies) == 2 else ca.SX(6, 0)

    @property
    def members(self) -> tuple[Part, ...]:
        return (*self.bound.counting, self) if self._counts else (self,)

    def numbers(self, c: Any) -> dict[str, Any]:
        return {**super().numbers(c), "axes": self.bound.numbers(c.bound)}

    @property
    def _form(self):
        return (*super()._form, self.bound.form)

    def workless_motions(self) -> np.ndarray:
        return ALL if is_on_tree(self.joint) or len(self.bound.bodies) == 2 else NONE

    def coordinate_of(self, s: Symbols) -> ca.SX:
        c = self.named(s.own).axes
        return self.bound.counted(s.q, c) if self._counts else self.bound.value(s.q, c)

    def rate_of(self, s: Symbols) -> ca.SX:
        return self.bound.rate(s.q, s.velocity, self.named(s.own).axes)

    def along(self, s: Symbols, force: Expression) -> ca.SX:
        """Generalized force of a force or torque along the coordinate: `Q = dx/dq^T force`."""
        q = s.q[:len(self.bound.bodies)]
        pulled = ca.jtimes(self.bound.value(q, self.named(s.own).axes), ca.vertcat(*q), ca.SX(force), True)
        return ca.vertcat(pulled, ca.SX(len(s.q) - len(q), 1))

    def __repr__(self):
        return f"{self._title} on {self.coordinate} of {self.joint!r}"
