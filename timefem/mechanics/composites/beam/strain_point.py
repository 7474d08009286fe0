"""The strain energy of a beam at one quadrature point along it."""

from functools import cache

import casadi as ca
import numpy as np

from ...forces.between import dissipative_force
from ...part import Part
from ...symmetry import ALL
from .strains import STRAINS, section_of_quaternions, strains_of_section


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
