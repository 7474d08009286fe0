"""Kinetic energy T(q, v): the Legendre transform of the Hamiltonian, for all bodies and for parts that couple them."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.part import Part
from timefem.mechanics.values.of_parts import generalized_energy, kinetic_energy

INERTIA = ((2.0, 0.3, -0.1), (0.3, 2.5, 0.2), (-0.1, 0.2, 1.5))


def varying(q, v, c):
    return c[0] / 2 * ((1 + q[1] ** 2) * v[0] ** 2 + v[1] ** 2 + 2 * ca.sin(q[0]) * v[0] * v[1] / 3)


def constant(q, v, c):
    return v[0] ** 2 + 2 * v[1] ** 2 + v[0] * v[1] / 2


BODIES = {
    "quaternion": lambda: tf.RigidBody(2.0, INERTIA),
    "exact inverse": lambda: tf.RigidBody(2.0, (2.0, 2.5, 1.5), inverse_mass="exact"),
    "directors": lambda: tf.RigidBody(2.0, INERTIA, rotation="directors"),
    "point mass": lambda: tf.PointMass(3.0, dimension=2),
    "generalized": lambda: tf.GeneralizedBody(2, constant),
    "mass matrix that varies": lambda: tf.GeneralizedBody(2, varying, parameters=[1.5]),
}


def states(body, n=4):
    """Consistent states of a body, shape (n, 2 n_q)."""
    random, z = np.random.default_rng(3), []
    for _ in range(n):
        a, b, c = random.normal(size=(3, 3))
        q = random.normal(size=4)
        if isinstance(body, tf.GeneralizedBody):
            state = body.state(tf.Coordinates(a[:2], b[:2]))
        elif isinstance(body, tf.PointMass):
            state = body.state(tf.Pose(position=[*a[:2], 0], velocity=[*b[:2], 0]))
        else:
            state = body.state(tf.Pose(a, q / np.linalg.norm(q), b, c))
        z.append(np.concatenate(state))
    return np.array(z)


@pytest.mark.parametrize("name", BODIES)
def test_is_the_legendre_transform_of_the_hamiltonian(name):
    """p.v - T(q, v) = H(q, p) where v = dH/dp, and p = dT/dv; T(q, v) = T(q, p), quadratic in v."""
    body = BODIES[name]()
    system = tf.System([body])
    z = states(body)
    v, p, h = system.velocity(0, z), z[:, system.n_q:], system.hamiltonian(0, z)
    assert (h > 0.01).all()
    np.testing.assert_allclose(kinetic_energy(system, 0, z, v), h, rtol=1e-13)
    np.testing.assert_allclose(generalized_energy(system, 0, z, v), h, rtol=1e-13)
    np.testing.assert_allclose(system.momentum(0, z, v), p, rtol=0, atol=1e-13 * abs(p).max())
    np.testing.assert_allclose(kinetic_energy(system, 0, z, 3 * v), 9 * h, rtol=1e-13)


class Coupling(Part):
    """T = c/6 v_a.v_b, the off-diagonal part of the consistent mass of a bar."""

    couples_inertia = True
    kind = "coupling of two point masses"

    def __init__(self, a, b, mass):
        self.bodies, self.own_parameters = (a, b), np.array([mass])

    def kinetic(self, s, v):
        return s.own[0] / 6 * ca.dot(*v)


def bar():
    a, b = tf.PointMass(2.0), tf.PointMass(2.0)
    return tf.System([a, b, Coupling(a, b, 6.0)])  # consistent mass of a bar of mass 6, by blocks of 2 and 1


def test_a_part_can_couple_the_inertia_of_its_bodies():
    system, random = bar(), np.random.default_rng(0)
    z, v = random.normal(size=(5, 12)), random.normal(size=(5, 6))
    mass = np.kron([[2, 1], [1, 2]], np.eye(3))
    np.testing.assert_allclose(kinetic_energy(system, 0, z, v), (v @ mass * v).sum(axis=1) / 2, rtol=1e-13)
    np.testing.assert_allclose(system.momentum(0, z, v), v @ mass, rtol=0, atol=1e-14)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(1), tf.EML()])
def test_elements_that_do_not_take_coupled_inertia_refuse_it(element):
    problem = tf.InitialValueProblem(bar(), {}, (0, 1))
    with pytest.raises(tf.InputError, match="Coupling 1 couples the inertia of its bodies"):
        tf.solve(problem, element, 4)
