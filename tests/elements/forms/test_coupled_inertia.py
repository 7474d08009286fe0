"""Kinetic energies of parts over several bodies."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import assert_tangent_is_derivative
from timefem.elements.evaluation.elements_in_lanes import ElementBatch
from timefem.mechanics.part import Part
from timefem.mechanics.values.of_parts import consistent_velocity

pytestmark = pytest.mark.long

MASS, STIFFNESS = 2.4, 30.0


class Rope(Part):
    """Elastic piece between two points, with consistent mass."""

    couples_inertia = True
    kind = "test rope"

    def __init__(self, a, b):
        self.bodies, self.own_parameters = (a, b), np.array([MASS, STIFFNESS])

    def kinetic(self, s, v):
        return s.own[0] * (ca.sumsqr(v[0]) + ca.dot(*v) + ca.sumsqr(v[1])) / 6

    def energy(self, s):
        return s.own[1] / 8 * (ca.sumsqr(s.q[1] - s.q[0]) - 1)**2


def kinetic(q, v, c):
    pieces = MASS * sum(ca.sumsqr(a) + ca.dot(a, b) + ca.sumsqr(b) for a, b in ((v[:2], v[2:4]), (v[2:4], v[4:]))) / 6
    return (0.5 * ca.sumsqr(v[:2]) + 0.3 * ca.sumsqr(v[2:4]) + 0.8 * ca.sumsqr(v[4:])) / 2 + pieces


def potential(q, c):
    return sum(STIFFNESS / 8 * (ca.sumsqr(q[i + 2:i + 4] - q[i:i + 2]) - 1)**2 for i in (0, 2))


Q, V = np.array([0, 0, 1, 0.2, 1.9, -0.3]), np.array([0, 0, 0.5, -1, 0.3, 1.2])


def distance(q, c):
    return ca.sumsqr(q[:2] - [0, 1]) - 1


def by_parts(t_end=0.5, fixed=True):
    masses = [tf.PointMass(m, dimension=2, name=name) for m, name in zip((0.5, 0.3, 0.8), "abc", strict=True)]
    rod = [tf.RigidDistance(masses[0], None, point_b=(0, 1, 0), length=1.0)] if fixed else []
    system = tf.System([*masses, Rope(*masses[:2]), Rope(*masses[1:]), *rod])
    p = system.momentum(0.0, np.concatenate([Q, V]), V)
    state = {m: tf.CanonicalState(Q[2 * i:2 * i + 2], p[2 * i:2 * i + 2]) for i, m in enumerate(masses)}
    return system, state, (0, t_end)


def by_formula(t_end=0.5, fixed=True):
    system = tf.GeneralizedSystem(6, kinetic, potential, distance if fixed else None)
    return tf.InitialValueProblem(system, tf.Coordinates(Q, V), (0, t_end))


@pytest.mark.parametrize("form, fixed", [("lagrange", False), ("impulse", False), ("energy", False)])
def test_as_by_formulas(form, fixed):
    problem = tf.InitialValueProblem(*by_parts(fixed=fixed))
    element = tf.MixedGalerkin(2, form=form)
    assert_tangent_is_derivative(ElementBatch(problem.system, element), 0.1, step=1e-6, atol=1e-8)
    ours = tf.solve(problem, element, 20, progress=False)
    other = tf.solve(by_formula(fixed=fixed), element, 20, progress=False)
    np.testing.assert_allclose(ours.z, other.z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.energy(), other.energy(), rtol=0, atol=1e-12)
    together = tf.solve(problem, element, 20, driver="global", progress=False)
    np.testing.assert_allclose(together.z, ours.z, rtol=0, atol=1e-12)
    if form == "energy":
        np.testing.assert_allclose(ours.energy(), ours.energy()[0], rtol=0, atol=1e-12)


def test_velocities_of_momenta():
    system, state, _ = by_parts()
    z = np.concatenate([Q, *(s.p for s in state.values())])
    np.testing.assert_allclose(system.mass_matrix(0.0, z) @ V, z[6:], rtol=0, atol=1e-14)
    v = consistent_velocity(system, 0.0, z)
    gradient = system.derivatives(0.0, z)[1][:1, :6]
    np.testing.assert_allclose(v, V, rtol=0, atol=1e-13)
    p = z + np.concatenate([np.zeros(6), 3 * gradient.toarray()[0]])  # an impulse of the constraint changes nothing
    np.testing.assert_allclose(consistent_velocity(system, 0.0, p), V, rtol=0, atol=1e-13)


def test_refused_without_velocities():
    with pytest.raises(tf.InputError, match=r"couples the inertia .*use MixedGalerkin\(k, form='energy'\)"):
        tf.solve(tf.InitialValueProblem(*by_parts(fixed=False)), tf.MixedGalerkin(2), 5)


def test_velocities_of_singular_mass_matrices():
    system = tf.GeneralizedSystem(2, lambda q, v, c: v[0]**2 / 2, None, lambda q, c: q[1] - q[0])
    assert np.allclose(consistent_velocity(system, 0.0, [0.0, 0.0, 2.0, 0.0]), [2.0, 2.0], rtol=0, atol=1e-15)
    twice = tf.GeneralizedSystem(2, lambda q, v, c: v[0]**2 / 2, None, lambda q, c: [q[1] - q[0], 2 * (q[1] - q[0])])
    with pytest.raises(tf.InputError, match="velocities at the start are not determined"):
        consistent_velocity(twice, 0.0, [0.0, 0.0, 2.0, 0.0])
