"""The dynamics of a tree at given states, in numbers; springs, dampers and dry friction in its joints, in symbols."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from .... import validate
from ....errors import InputError
from ....types import Floats, Vector
from ...values.evaluate import evaluate
from ..states import Pose
from .links import is_there, length_energy, told
from .structure import with_symbols


def _numbers(value):
    return value if isinstance(value, ca.SX) else ca.DM(value)


def joint_values(body, q, v=None):
    """Coordinates of the joint of a body, or with `v` their rates, SX of its own length."""
    if v is not None:
        return body.factor * v[body.first:body.first + body.motion.n]
    return body.factor * q[body.first:body.first + body.motion.n] + body.offset


def _relative(body, x):
    """Rotation and place of a body in the frame of its parent, with the joint at `x`."""
    turn, place = ca.SX(ca.sparsify(_numbers(body.turn))), ca.SX(_numbers(body.place))
    rotation, shift = body.motion.relative(x)
    return turn @ rotation, place + turn @ shift


def placements(bodies, q):
    """Place (3,) and rotation matrix (3, 3) of each body in space, list of pairs of SX."""
    found = []
    for body in bodies:
        turn, place = _relative(body, joint_values(body, q))
        if body.parent >= 0:
            above, rotation = found[body.parent]
            place, turn = above + rotation @ place, rotation @ turn
        found.append((place, turn))
    return found


def mass_moment(bodies, q):
    """Sum of mass times centre of mass in space, SX (3,)."""
    return sum((body.mass * place + turn @ _numbers(body.moment)
                for body, (place, turn) in zip(bodies, placements(bodies, q), strict=True)), ca.SX(3, 1))


def weight_moment(bodies, q):
    """The same without what is balanced, see `Link.gravity_compensation`."""
    balanced = sum((body.balanced * place + turn @ _numbers(body.balanced_moment)
                    for body, (place, turn) in zip(bodies, placements(bodies, q), strict=True)
                    if is_there(body.balanced)), ca.SX(3, 1))
    return mass_moment(bodies, q) - balanced


def twists(bodies, q, v):
    """Angular velocity and velocity of the origin of each body, in its own axes: list of pairs of SX (3,).

    `omega_i = R_i^T omega_parent + omega_joint`, `u_i = R_i^T (u_parent + omega_parent x r_i) + u_joint`.
    """
    found = []
    for body in bodies:
        x = joint_values(body, q)
        turn, place = _relative(body, x)
        spin, slide = body.motion.rates(x, joint_values(body, q, v))
        if body.parent >= 0:
            w, u = found[body.parent]
            w, u = turn.T @ w, turn.T @ (u + ca.cross(w, place))
            spin, slide = w + spin, u + slide
        found.append((spin, slide))
    return found


def kinetic(bodies, q, v):
    """T(q, v) = sum of 1/2 m |u|^2 + u.(omega x m c) + 1/2 omega.J omega, with u at the origin of each body's frame.

    O(n) operations (Featherstone, Rigid Body Dynamics Algorithms, 2008). With the inertia of rotors, and that of the
    lengths of quaternions.
    """
    energy = ca.SX(0)
    for body, (w, u) in zip(bodies, twists(bodies, q, v), strict=True):
        energy += (body.mass * ca.dot(u, u) + ca.dot(w, _numbers(body.inertia) @ w)) / 2
        energy += ca.dot(u, ca.cross(w, _numbers(body.moment)))
        if is_there(body.armature):
            rates = body.motion.rates(joint_values(body, q), joint_values(body, q, v))
            energy += body.armature * ca.sumsqr(ca.vertcat(*rates)) / 2
        if body.motion.turns:
            first = body.first + body.motion.first
            energy += body.radial * length_energy(q[first:first + 4], v[first:first + 4])
    return energy


def momenta_in_space(bodies, q, v):
    """Linear momentum, and angular momentum about the origin of space, of each body: list of SX (6,)."""
    found = []
    for body, (place, turn), (w, u) in zip(bodies, placements(bodies, q), twists(bodies, q, v), strict=True):
        moment = _numbers(body.moment)
        push = turn @ (body.mass * u + ca.cross(w, moment))
        turning = ca.cross(place, push) + turn @ (_numbers(body.inertia) @ w + ca.cross(moment, u))
        found.append(ca.vertcat(push, turning))
    return found


def path(bodies, number):
    """Numbers of the bodies from the base to one, in order."""
    found = []
    while number >= 0:
        found.append(number)
        number = bodies[number].parent
    return found[::-1]


def spring_energy(bodies, q):
    """`sum k_i (q_i - x_i)^2 / 2` over the joints, SX scalar."""
    return sum((b.stiffness / 2 * (joint_values(b, q) - b.rest) ** 2 for b in bodies if is_there(b.stiffness)),
               ca.SX(0))


def resistance(bodies, s, width):
    """Force on the coordinates against the rates of the joints, `-d_i qdot_i - f_i tanh(qdot_i / w)`, SX (n_q,).

    Parameters
    ----------
    bodies : list of Moving
        With numbers or symbols.
    s : Symbols
    width : SX
        w of dry friction [rad/s or m/s].
    """
    q, n = s.q[0], s.q[0].numel()
    resisting = [b for b in bodies if is_there(b.damping) or is_there(b.friction)]
    if not resisting:
        return ca.SX(n, 1)
    w, force = ca.SX.sym("v", n), ca.SX(n, 1)
    for body in resisting:
        rates = ca.vertcat(*body.motion.rates(joint_values(body, q), joint_values(body, q, w)))
        if body.motion.n == 1:
            rates = ca.sum1(rates)
        against = body.damping * rates
        if is_there(body.friction):
            against += body.friction * ca.tanh(rates / width)
        force -= ca.substitute(ca.jtimes(rates, w, against, True), w, s.velocity[0])
    return force


# ---- The dynamics of a tree at given states, in numbers

class TreeDynamics:
    """Base of `Tree`, which has `moving` and the functions of its recursions; arrays have any leading axes."""

    def mass_matrix(self, q: Floats) -> np.ndarray:
        """Mass matrix M(q), shape (..., n) -> (..., n, n)."""
        return self._functions.mass(q)

    def inverse_dynamics(self, q: Floats, v: Floats, a: Floats, gravity: Vector = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Forces on the coordinates that make them move with qddot = a, shapes (..., n).

        `d/dt T_v - T_q - m g.c_q`, without those of dampers, friction and springs; with `gravity` g [m/s^2]. Derived
        from the recursion for T, in O(n) operations each.
        """
        return self._functions.inverse(q, v, a, validate.array("gravity", gravity, (3,)))

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Rates of the coordinates, `qdot = M^-1 p`, shape (..., n)."""
        return np.linalg.solve(self.mass_matrix(q), np.asarray(p, float)[..., None])[..., 0]

    def momenta(self, q: Floats, v: Floats) -> np.ndarray:
        """Momenta p = dT/dv, shape (..., n)."""
        return self._functions.momenta(q, v)

    def rigid_motion(self, q: ca.SX) -> ca.SX | None:
        """See `Body`; of a free base, which takes the other links along."""
        if self.base_joint is None:
            return None
        place, a, v = q[:3], q[3], q[4:7]
        turning = ca.vertcat(-v.T, a * ca.SX.eye(3) - ca.skew(v)) / 2
        return ca.vertcat(ca.horzcat(ca.SX.eye(3), -ca.skew(place)), ca.horzcat(ca.SX(4, 3), turning),
                          ca.SX(q.numel() - 7, 6))

    def momentum_rate(self, q: Floats, v: Floats, a: Floats) -> np.ndarray:
        """Rates of the momenta of a motion with qddot = a, shape (..., n)."""
        return self._functions.momentum_rate(q, v, a)

    def linear_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Of all links that move, in space, shape (..., 3) [kg m/s]."""
        return self._functions.in_space(q, self.velocity(q, p))[..., :3]

    def angular_momentum(self, q: Floats, p: Floats) -> np.ndarray:
        """Of all links that move, about the origin in space axes, shape (..., 3) [kg m^2/s]."""
        return self._functions.in_space(q, self.velocity(q, p))[..., 3:]

    def joint_states(self, q: Floats, p: Floats) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Position and rate of every joint that moves, mimic joints too: name -> two arrays, see `motions.told`."""
        q, v = np.asarray(q, float), self.velocity(q, p)
        return {b.joint.name: told(b.joint.kind, b.factor * q[..., b.places] + b.offset, b.factor * v[..., b.places])
                for b in self.moving}

    def base_state(self, q: Floats, p: Floats) -> Pose:
        """`Pose` of the link of a free base at one state: of the frame of that link, not of its centre of mass."""
        (place, rate) = self.joint_states(q, p)[self.base_joint]
        return Pose(place[:3], place[3:], rate[:3], rate[3:])

    def rates_in_space(self, q: Floats, v: Floats, a: Floats) -> tuple[np.ndarray, ...]:
        """Rates of the momenta of what moves, and its frames; see `TreeFunctions.rates_in_space`."""
        return self._functions.rates_in_space(q, v, a)


# ---- Functions of a tree in numbers, made when they are first asked for

class TreeFunctions:
    """Of the moving bodies of a tree and its n coordinates; arrays have any leading axes."""

    def __init__(self, bodies, pattern, numbers, n):
        self._bodies, self._pattern, self._numbers, self.n = bodies, pattern, numbers, n

    @cached_property
    def parametric(self):
        """T(q, v, c) with the parameters c (see `numbers`), casadi.Function."""
        q, v = self._symbols("qv")
        c = ca.SX.sym("c", len(self._pattern))
        return ca.Function("kinetic", [q, v, c], [kinetic(with_symbols(self._bodies, self._pattern, c), q, v)])

    def kinetic(self, q, v):
        """T(q, v) in symbols."""
        return self.parametric(q, v, self._numbers)

    def momenta(self, q, v):
        """dT/dv, shape (..., n)."""
        return self._values(self._momenta, q, v)

    def mass(self, q):
        """M(q), shape (..., n, n)."""
        return self._values(self._mass, q).reshape(*np.shape(q), self.n)

    def momentum_rate(self, q, v, a):
        """`d/dt T_v` of accelerations a, shape (..., n)."""
        return self._values(self._momentum_rate, q, v, a)

    def in_space(self, q, v):
        """Linear and angular momentum in space, shape (..., 6)."""
        return self._values(self._in_space, q, v)

    def rates_in_space(self, q, v, a):
        """Of each of the m bodies: rates of its momenta, place, rotation matrix, and mass times centre of mass.

        Shapes (..., m, 6), (..., m, 3), (..., m, 3, 3), (..., m, 3); momenta as `momenta_in_space`.
        """
        values, m = self._values(self._rates_in_space, q, v, a), len(self._bodies)
        frames = values[..., 6 * m:].reshape(*values.shape[:-1], m, 15)
        turns = frames[..., 3:12].reshape(*frames.shape[:-1], 3, 3).swapaxes(-1, -2)
        return values[..., :6 * m].reshape(*values.shape[:-1], m, 6), frames[..., :3], turns, frames[..., 12:]

    def inverse(self, q, v, a, gravity):
        """`d/dt T_v - T_q - m g.c_q`, shape (..., n)."""
        return self._values(self._inverse, q, v, a, parameters=gravity)

    def _symbols(self, names):
        return [ca.SX.sym(name, self.n) for name in names]

    def _values(self, function, *arguments, parameters=()):
        both = np.concatenate(np.broadcast_arrays(*(np.asarray(x, float) for x in arguments)), axis=-1)
        if both.shape[-1] != len(arguments) * self.n:
            raise InputError(f"coordinates of this tree have length {self.n}, not {both.shape[-1] // len(arguments)}")
        n = int(np.prod(both.shape[:-1]))
        local, parameters = both.reshape(n, 1, both.shape[-1]), np.array(parameters, float)[None]
        values = evaluate(function, local, np.zeros((n, 0)), parameters)
        return values.reshape(*both.shape[:-1], function.size1_out(0))

    @cached_property
    def _momenta(self):
        q, v = self._symbols("qv")
        return _function([q, v], ca.gradient(self.kinetic(q, v), v))

    @cached_property
    def _momentum_rate(self):
        q, v, a = self._symbols("qva")
        return _function([q, v, a], ca.jtimes(ca.gradient(self.kinetic(q, v), v), ca.vertcat(q, v), ca.vertcat(v, a)))

    @cached_property
    def _mass(self):
        q, v = self._symbols("qv")
        return _function([q], ca.vec(ca.densify(ca.jacobian(ca.gradient(self.kinetic(q, v), v), v))))

    @cached_property
    def symbolic_mass(self):
        """M(q, c), sparse, casadi.Function."""
        q, v, c = ca.SX.sym("q", self.n), ca.SX.sym("v", self.n), ca.SX.sym("c", self.parametric.numel_in(2))
        mass = ca.jacobian(ca.gradient(self.parametric(q, v, c), v), v)
        return ca.Function("mass", [q, c], [ca.sparsify(mass)])

    @cached_property
    def _in_space(self):
        q, v = self._symbols("qv")
        return _function([q, v], sum(momenta_in_space(self._bodies, q, v), ca.SX(6, 1)))

    @cached_property
    def _rates_in_space(self):
        q, v, a = self._symbols("qva")
        rates = ca.jtimes(ca.vertcat(*momenta_in_space(self._bodies, q, v)), ca.vertcat(q, v), ca.vertcat(v, a))
        frames = [ca.vertcat(place, ca.vec(turn), place * body.mass + turn @ ca.DM(body.moment))
                  for body, (place, turn) in zip(self._bodies, placements(self._bodies, q), strict=True)]
        return _function([q, v, a], ca.vertcat(rates, *frames))

    @cached_property
    def _inverse(self):
        q, v, a = self._symbols("qva")
        g, energy = ca.SX.sym("g", 3), self.kinetic(q, v)
        force = ca.jtimes(ca.gradient(energy, v), ca.vertcat(q, v), ca.vertcat(v, a))
        return _function([q, v, a], force - ca.gradient(energy + ca.dot(g, weight_moment(self._bodies, q)), q), g)


def _function(variables, values, parameters=None):
    none = ca.SX(0, 1)
    return ca.Function("f", [ca.vertcat(*variables), none, none if parameters is None else parameters],
                       [ca.densify(values)])
