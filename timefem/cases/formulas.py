"""Cases given by formulas in generalized coordinates; parameters of the public code plkinon/metis."""

import casadi as ca
import numpy as np

from timefem import Coordinates, GeneralizedSystem

from .table import define_case


@define_case("mass-spring", "Two masses in redundant coordinates", t_end=10.0, n_elements=200, conserved_axes=())
def mass_spring():
    """Two masses in a row on nonlinear springs, in three coordinates with one constraint and a singular mass matrix
    (Kinon & Betsch, MUBO 2024, 5.1)."""
    m1, m2, k1, k2, gap = 2, 1, 1, 3, 1.1  # gap: rest length of the first spring and width of the first mass
    system = GeneralizedSystem(3, _two_masses, _two_springs, _attached, parameters=(m1, m2, k1, k2, gap),
                               names=["attached"], regularize=True, name="masses")
    return system, Coordinates(q=(0, gap, 0), v=(1, 1, -1))


def _two_masses(q, v, c):
    return c[0] / 2 * v[0] ** 2 + c[1] / 2 * (v[1] + v[2]) ** 2


def _two_springs(q, c):
    return c[2] / 4 * (q[0] ** 2 + q[0] ** 4) + c[3] / 4 * (q[2] ** 2 + q[2] ** 4)


def _attached(q, c):
    return q[1] - q[0] - c[4]


@define_case("spring-pendulum", "Nonlinear spring pendulum", t_end=1.0, n_elements=100, conserved_axes=())
def spring_pendulum():
    """A mass on a stiff nonlinear spring without gravity, in spherical coordinates (distance, polar angle, azimuth),
    so that the mass matrix varies (Kinon & Betsch, MUBO 2024, 5.2)."""
    mass, stiffness, length = 1, 300, 1  # [kg], E A [N], of the spring without load [m]
    system = GeneralizedSystem(3, _spherical, _stretch, parameters=(mass, stiffness, length), name="pendulum")
    return system, Coordinates(q=(1.05, np.pi / 2, 0), v=(0, 1, 1))


def _spherical(q, v, c):
    r, polar = q[0], q[1]
    return c[0] / 2 * (v[0] ** 2 + (r * v[1]) ** 2 + (r * ca.sin(polar) * v[2]) ** 2)


def _stretch(q, c):
    return c[1] / 2 * ((q[0] ** 2 - c[2] ** 2) / (2 * c[2] ** 2)) ** 2  # of the Green strain
