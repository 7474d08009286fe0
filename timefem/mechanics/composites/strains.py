"""Strains of a geometrically exact beam (Simo-Reissner) at a point, from the nodes of its element.

`Gamma = R^T x' - Gamma_0` and `kappa = axial(R^T R') - kappa_0` in the axes of the section, with x and the rotation
interpolated by Lagrange polynomials: unit quaternions as `p = sum N_a q_a`, `R = R(p) / |p|^2`,
`kappa = 2 (p* o p')_v / |p|^2`; directors as `d_i = sum N_a d_ia`, `kappa_i = 1/2 (d_k.d_j' - d_j.d_k')`, (i, j, k)
cyclic (Romero & Armero 2002). Both give the same strains to all rigid motions.
"""

from functools import cache

import casadi as ca
import numpy as np

from ..bodies.rotations import symbolic_product
from ..forces.springs import dissipative_force
from ..part import Part
from ..symmetry import ALL


def strains_of_quaternions(q, turned, n, dn):
    """Gamma and kappa without those of the rest shape, SX (6,).

    Parameters
    ----------
    q : list of SX, shape (7,)
        Coordinates of the nodes, (position, unit quaternion).
    turned : list of SX, shape (4,), or None
        Quaternion of the section in the axes of each node; None where they are the same.
    n, dn : SX, shape (n_nodes,)
        Shape functions and their derivatives by the arc length.
    """
    return strains_of_section(section_of_quaternions(q, turned, n, dn))


def section_of_quaternions(q, turned, n, dn):
    """What the strains are functions of, linear in the coordinates: `(x', p, p')`, SX (11,)."""
    own = _alike([_section(x[3:], turned and turned[a]) for a, x in enumerate(q)])
    return ca.vertcat(sum(dn[a] * x[:3] for a, x in enumerate(q)), sum(n[a] * x for a, x in enumerate(own)),
                      sum(dn[a] * x for a, x in enumerate(own)))


def strains_of_section(section):
    """Gamma and kappa of `section_of_quaternions`."""
    slope, p, dp = ca.vertsplit(section, [0, 3, 7, 11])
    square, (s, v) = ca.sumsqr(p), (p[0], p[1:])
    # R(p)^T x' = (s^2 - v.v) x' + 2 (v.x') v - 2 s v x x'
    gamma = ((s**2 - ca.sumsqr(v)) * slope + 2 * ca.dot(v, slope) * v - 2 * s * ca.cross(v, slope)) / square
    kappa = 2 * (s * dp[1:] - dp[0] * v - ca.cross(v, dp[1:])) / square
    return ca.vertcat(gamma, kappa)


def strains_of_directors(q, turned, n, dn):
    """As `strains_of_quaternions`; coordinates (position, d1, d2, d3), `turned` rotation matrices by columns, (9,)."""
    slope = sum(dn[a] * x[:3] for a, x in enumerate(q))
    own = [_directors(x[3:], turned and turned[a]) for a, x in enumerate(q)]
    d = sum(n[a] * x for a, x in enumerate(own))
    dd = sum(dn[a] * x for a, x in enumerate(own))
    kappa = [(ca.dot(d[:, k], dd[:, j]) - ca.dot(d[:, j], dd[:, k])) / 2 for j, k in ((1, 2), (2, 0), (0, 1))]
    return ca.vertcat(d.T @ slope, *kappa)


def frame_of_quaternions(q, turned, n):
    """Position (3,), section axes (3, 3) and the map A(q), (3, n_q), of the angular velocity A(q) qdot in space axes.

    Arguments as for `strains_of_quaternions`.
    """
    rates = [ca.SX.sym("v", 4) for _ in q]
    nodes = [_section(x[3:], turned and turned[a]) for a, x in enumerate(q)]
    turning = [_section(v, turned and turned[a]) for a, v in enumerate(rates)]
    signs = [1, *(ca.if_else(ca.dot(nodes[0], x) < 0, -1, 1) for x in nodes[1:])]
    p = sum(n[a] * sign * x for a, (sign, x) in enumerate(zip(signs, nodes, strict=True)))
    dp = sum(n[a] * sign * x for a, (sign, x) in enumerate(zip(signs, turning, strict=True)))
    square, (s, v) = ca.sumsqr(p), (p[0], p[1:])
    rotation = ((s**2 - ca.sumsqr(v)) * ca.SX.eye(3) + 2 * v @ v.T + 2 * s * ca.skew(v)) / square
    omega = 2 * (s * dp[1:] - dp[0] * v + ca.cross(v, dp[1:])) / square
    return sum(n[a] * x[:3] for a, x in enumerate(q)), rotation, _map(omega, rates)


def frame_of_directors(q, turned, n):
    """As `frame_of_quaternions`; `omega = (sum |d_i|^2 - d_i d_i^T)^-1 sum d_i x d_i'`, that of every rigid motion."""
    rates = [ca.SX.sym("v", 9) for _ in q]
    d = sum(n[a] * _directors(x[3:], turned and turned[a]) for a, x in enumerate(q))
    dd = sum(n[a] * _directors(v, turned and turned[a]) for a, v in enumerate(rates))
    spin = sum(ca.cross(d[:, i], dd[:, i]) for i in range(3))
    omega = ca.inv(ca.sumsqr(d) * ca.SX.eye(3) - d @ d.T) @ spin
    return sum(n[a] * x[:3] for a, x in enumerate(q)), d, _map(omega, rates)


def _section(x, turned):
    return x if turned is None else symbolic_product(x, turned)


def _directors(x, turned):
    d = ca.reshape(x, 3, 3)
    return d if turned is None else d @ ca.reshape(turned, 3, 3)


def _alike(quaternions):
    """With signs as the first, for q and -q are one rotation."""
    first = quaternions[0]
    return [first, *(ca.if_else(ca.dot(first, x) < 0, -x, x) for x in quaternions[1:])]


def _map(omega, rates):
    return ca.horzcat(*(m for v in rates for m in (ca.SX(3, 3), ca.jacobian(omega, v))))


FRAMES = {"quaternion": frame_of_quaternions, "directors": frame_of_directors}
STRAINS = {"quaternion": strains_of_quaternions, "directors": strains_of_directors}


# ---- The strain energy of a beam at one quadrature point along it

class StrainPoint(Part):
    """Energy `w/2 (C e).e` of the strains e = (Gamma, kappa) at a quadrature point of weight w, and their damping.

    Own parameters: shape functions and their slopes (n_nodes each), w C (6), strains of the rest shape (6), the
    retardation time, and where sections are turned against the nodes their rotation per node.

    Parameters
    ----------
    nodes : sequence of RigidBody
        Of the beam's element.
    shapes, slopes : array_like, shape (n_nodes,)
        N_a and dN_a/ds [1/m] at the point.
    stiffness : array_like, shape (6,)
        w C [N m, N m^3].
    rest : sequence of ndarray
        Coordinates of the nodes at rest.
    turned : ndarray, shape (n_nodes, 4 or 9), optional
        Section axes in those of the nodes, see `strains`.
    damping : float
        Retardation time [s].
    """

    def __init__(self, nodes, shapes, slopes, stiffness, rest, turned=None, damping=0.0):
        self.bodies = tuple(nodes)
        self.turned = turned is not None
        self.damped = damping > 0
        self.places = np.concatenate([shapes, slopes])
        self.turns = np.zeros(0) if turned is None else np.ravel(turned)
        self.section_stiffness, self.damping = stiffness, damping
        self.rest_strains = self._strains_of(rest)
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"places": c.places, "stiffness": c.section_stiffness, "rest": c.rest_strains, "damping": c.damping,
                "turns": c.turns}

    def workless_motions(self):
        return ALL

    def __repr__(self):
        return f"strain energy of {self.bodies[0]!r} to {self.bodies[-1]!r}"

    @property
    def kind(self):
        return (type(self), self.turned, self.damped, *(body.kind for body in self.bodies))

    def _strains_of(self, q):
        """Strains of the shape with these coordinates of the nodes, ndarray (6,)."""
        own = np.concatenate([self.places, np.zeros(13), self.turns])
        return np.array(_strains(self.bodies[0].rotation, len(q), self.turned)(np.concatenate(q), own)).ravel()

    def _total(self, q, own):
        """Strains of the deformed shape."""
        return STRAINS[self.bodies[0].rotation](q, *self._numbers(own))

    def _numbers(self, own):
        """Rotations of the section against the nodes or None, shape functions and their slopes."""
        return _split(self.bodies[0].rotation, len(self.bodies), self.turned, own)

    @property
    def strains_are_quadratic(self):
        return self.bodies[0].rotation == "directors"

    def symmetry(self, s):
        return ca.SX.eye(6)

    def strains(self, s):
        """Gamma and kappa, SX (6,)."""
        n = len(self.bodies)
        return self._total(s.q, s.own) - s.own[2 * n + 6:2 * n + 12]

    def stiffness(self, s):
        """w C on the diagonal, SX (6,)."""
        n = len(self.bodies)
        return s.own[2 * n:2 * n + 6]

    def stress(self, s, e, rate):
        """w C (e + tau edot), SX (6,)."""
        return self.stiffness(s) * (e + s.own[2 * len(self.bodies) + 12] * rate)

    def stored_energy(self, s, e):
        return ca.dot(self.stiffness(s), e**2) / 2

    def lift(self, s):
        """The strains, or where these are not polynomials what they are made of, which is linear in the coordinates."""
        if self.strains_are_quadratic:
            return self.strains(s)
        return section_of_quaternions(s.q, *self._numbers(s.own))

    def lifted_energy(self, s, e):
        n = len(self.bodies)
        return self.stored_energy(s, e if self.strains_are_quadratic else
                                  strains_of_section(e) - s.own[2 * n + 6:2 * n + 12])

    def force(self, s):
        if not self.damped:
            return super().force(s)
        n, q = len(self.bodies), ca.vertcat(*s.q)
        rates = [r.T for r in ca.vertsplit(ca.jacobian(self.strains(s), q))]
        return dissipative_force(s, rates, ca.vertsplit(s.own[2 * n + 12] * self.stiffness(s)))


SIZES = {"quaternion": 4, "directors": 9}  # of the coordinates of a rotation


def _split(rotation, n, turned, own):
    size, start = SIZES[rotation], 2 * n + 13
    turns = [own[start + size * a:start + size * (a + 1)] for a in range(n)] if turned else None
    return turns, own[:n], own[n:2 * n]


@cache
def _strains(rotation, n, turned):
    """Strains of n nodes as a function of their coordinates and the numbers of a point."""
    size = 3 + SIZES[rotation]
    q, own = ca.SX.sym("q", n * size), ca.SX.sym("c", 2 * n + 13 + n * SIZES[rotation] * turned)
    return ca.Function("e", [q, own], [STRAINS[rotation](ca.vertsplit(q, size), *_split(rotation, n, turned, own))])
