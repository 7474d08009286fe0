"""The dynamics of a tree at given states, in numbers; springs, dampers and dry friction in its joints, in symbols."""

from __future__ import annotations

import casadi as ca
import numpy as np

from .... import validate
from ....types import Floats, Vector
from ..states import Pose
from .motions import is_there, told
from .recursion import joint_values


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
