"""The strain energy of a beam at one quadrature point along it."""

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
    turned : ndarray, shape (n_nodes, 4 or 9), optional
        Section axes in those of the nodes, see `strains`.
    damping : float
        Retardation time [s].
    """

    def __init__(self, nodes, shapes, slopes, stiffness, turned=None, damping=0.0):
        self.bodies = tuple(nodes)
        self.turned = turned is not None
        self.damped = damping > 0
        numbers = [shapes, slopes, stiffness, np.zeros(6), [damping], *([] if turned is None else [np.ravel(turned)])]
        self.own_parameters = np.concatenate([np.asarray(v, float) for v in numbers])

    def workless_motions(self):
        return ALL

    def __repr__(self):
        return f"strain energy of {self.bodies[0]!r} to {self.bodies[-1]!r}"

    @property
    def kind(self):
        return (type(self), self.turned, self.damped, *(body.kind for body in self.bodies))

    def rest(self, q):
        """Take the coordinates q (list of (n_q,)) as those of the rest shape."""
        n = len(self.bodies)
        own, symbols = ca.DM(self.own_parameters), [ca.SX.sym("q", len(x)) for x in q]
        value = ca.Function("e", symbols, [self._total(symbols, ca.SX(own))])(*q)
        self.own_parameters[2 * n + 6:2 * n + 12] = np.array(value).ravel()

    def _total(self, q, own):
        """Strains of the deformed shape."""
        return STRAINS[self.bodies[0].rotation](q, *self._numbers(own))

    def _numbers(self, own):
        """Rotations of the section against the nodes or None, shape functions and their slopes."""
        n = len(self.bodies)
        size = {"quaternion": 4, "directors": 9}[self.bodies[0].rotation]
        turned = [own[2 * n + 13 + size * a:2 * n + 13 + size * (a + 1)] for a in range(n)] if self.turned else None
        return turned, own[:n], own[n:2 * n]

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
        """The strains, or where these are no polynomials what they are made of, which is linear in the coordinates."""
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
