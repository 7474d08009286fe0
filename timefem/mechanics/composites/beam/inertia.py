"""The consistent mass of director beams, where nodes have lumped masses."""

import casadi as ca
import numpy as np

from ...part import Part


class ConsistentInertia(Part):
    """Kinetic energy of a finite element of a beam in directors, less that of the masses at its nodes.

    `T = 1/2 sum_ab (m_ab - w_a delta_ab) (rho A x_a'.x_b' + sum_i E_i d_ia'.d_ib')` with `m_ab = int N_a N_b ds`, the
    weights w_a of the Lobatto rule, and the section's Euler tensor E: constant, and singular for thin sections.

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

    couples_inertia = True

    def __init__(self, nodes, masses, section, turned=None):
        self.bodies, self.turned = tuple(nodes), turned is not None
        euler = sum(section.inertia) / 2 - np.array(section.inertia)
        self.own_parameters = np.concatenate([masses.ravel(), [section.mass], euler,
                                              [] if turned is None else turned.ravel()])

    def __repr__(self):
        return f"consistent inertia of {self.bodies[0]!r} to {self.bodies[-1]!r}"

    @property
    def kind(self):
        return (type(self), self.turned, *(body.kind for body in self.bodies))

    def kinetic(self, s, v):
        n = len(self.bodies)
        start = n * n + 4
        masses, mass, euler = ca.reshape(s.own[:n * n], n, n), s.own[n * n], s.own[n * n + 1:start]
        places = ca.horzcat(*(x[:3] for x in v))
        turns = ca.vertsplit(s.own[start:], 9) if self.turned else [None] * n
        rates = [ca.reshape(x[3:], 3, 3) if t is None else ca.reshape(x[3:], 3, 3) @ ca.reshape(t, 3, 3)
                 for x, t in zip(v, turns, strict=True)]
        total = mass * ca.trace(places @ masses @ places.T)
        for i in range(3):
            directors = ca.horzcat(*(r[:, i] for r in rates))
            total += euler[i] * ca.trace(directors @ masses @ directors.T)
        return total / 2
