"""Mass of finite elements that couples their nodes: consistent, or by a few Gauss points; nodes have lumped masses."""

import casadi as ca
import numpy as np

from ....polynomials import gauss_legendre
from ...numbers.arithmetic import joined
from ...part import Part

KINDS = "lumped", "consistent", "gauss"
MEANING = ("lumped at the nodes; or coupled over each finite element, by exact quadrature or by p Gauss points, for "
           "time elements without the inverse of the mass matrix")


def coupled_less_lumped(mesh):
    """`m_ab - w_a delta_ab` of a finite element of length one of a `CurveMesh`, shape (n_nodes, n_nodes)."""
    x, w = gauss_legendre(mesh.degree + (mesh.mass == "consistent"))
    values = mesh.basis.values(x)
    return values.T @ (w[:, None] * values) - np.diag(mesh.lobatto)


class CoupledMass(Part):
    """Kinetic energy of a finite element of a rope, less that of the masses at its nodes.

    `T = 1/2 sum_ab (m_ab - w_a delta_ab) rho A x_a'.x_b'` with `m_ab = int N_a N_b ds` and the weights w_a of the
    Lobatto rule. By p Gauss points the mass matrix of a rope is singular: an oscillation from node to node has no mass.

    Own parameters: m_ab - w_a delta_ab (n_nodes^2) [m], mass per length.

    Parameters
    ----------
    nodes : sequence of PointMass
    masses : ndarray, shape (n_nodes, n_nodes)
        m_ab - w_a delta_ab [m].
    section : RopeSection
    """

    couples_inertia = True

    def __init__(self, nodes, masses, section):
        self.bodies, self.masses, self.mass_per_length = tuple(nodes), masses, section.mass
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"masses": c.masses, "mass_per_length": c.mass_per_length}

    def __repr__(self):
        return f"mass of {self.bodies[0]!r} to {self.bodies[-1]!r}"

    @property
    def kind(self):
        return (type(self), *(body.kind for body in self.bodies))

    def kinetic(self, s, v):
        n = len(self.bodies)
        masses, places = ca.reshape(s.own[:n * n], n, n), ca.horzcat(*v)
        return s.own[n * n] * ca.trace(places @ masses @ places.T) / 2


class CoupledInertia(CoupledMass):
    """The same of a beam in directors: with the section's Euler tensor E, `rho A x_a'.x_b' + sum_i E_i d_ia'.d_ib'`.

    Constant, and singular for thin sections.

    Own parameters: m_ab - w_a delta_ab (n_nodes^2) [m], mass per length, E (3), and where sections are turned against
    the nodes their rotation per node.

    Parameters
    ----------
    nodes : sequence of DirectorBody
    masses : ndarray, shape (n_nodes, n_nodes)
        m_ab - w_a delta_ab [m].
    section : Section
    turned : ndarray, shape (n_nodes, 9), optional
        See `strains`.
    """

    def __init__(self, nodes, masses, section, turned=None):
        self.turned, self.turns = turned is not None, np.zeros(0) if turned is None else turned.ravel()
        self.euler = joined(*(sum(section.inertia) / 2 - j for j in section.inertia))
        super().__init__(nodes, masses, section)

    def numbers(self, c):
        return {**super().numbers(c), "euler": c.euler, "turns": c.turns}

    @property
    def kind(self):
        return (type(self), self.turned, *(body.kind for body in self.bodies))

    def kinetic(self, s, v):
        n = len(self.bodies)
        start = n * n + 4
        masses, euler = ca.reshape(s.own[:n * n], n, n), s.own[n * n + 1:start]
        turns = ca.vertsplit(s.own[start:], 9) if self.turned else [None] * n
        rates = [ca.reshape(x[3:], 3, 3) if t is None else ca.reshape(x[3:], 3, 3) @ ca.reshape(t, 3, 3)
                 for x, t in zip(v, turns, strict=True)]
        total = super().kinetic(s, [x[:3] for x in v])
        for i in range(3):
            directors = ca.horzcat(*(r[:, i] for r in rates))
            total += euler[i] * ca.trace(directors @ masses @ directors.T) / 2
        return total
