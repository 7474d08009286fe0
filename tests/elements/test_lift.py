"""Lifted gradients: energy, momenta and constraints, to round-off with k points."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import assert_tangent_is_derivative, slope
from timefem.elements.evaluation.elements_in_lanes import ElementBatch
from timefem.mechanics.part import Part
from timefem.mechanics.symbols import Symbols

pytestmark = pytest.mark.long


class Bar(Part):
    """Bar between two point masses with Green strain e = (l^2 - l0^2) / (2 l0^2) and energy EA l0 e^2 / 2."""

    def __init__(self, a, b, length, stiffness):
        self.bodies, self.own_parameters = (a, b), np.array([length, stiffness])

    kind = "test bar with Green strain"

    def strains(self, s):
        return (ca.sumsqr(s.q[1] - s.q[0]) / s.own[0]**2 - 1) / 2

    def stored_energy(self, s, e):
        return s.own[1] * s.own[0] * e[0]**2 / 2


def net(t_end=2.0):
    """Four masses, not in a plane, with six bars, thrown and spinning."""
    places = np.array([[0, 0, 0], [1, 0, 0], [0.2, 1.1, 0], [0.3, 0.2, 0.9]])
    masses = [tf.PointMass(1.0 + 0.3 * i, name=f"m{i}") for i in range(4)]
    bars = [Bar(masses[i], masses[j], 1.05 * np.linalg.norm(places[i] - places[j]), 40.0)
            for i in range(4) for j in range(i)]
    spin = np.array([0.7, -1.1, 2.0])
    state = {m: tf.Pose(position=x, velocity=np.cross(spin, x) + [0.4, 0, 0.1 * i])
             for i, (m, x) in enumerate(zip(masses, places, strict=True))}
    return tf.InitialValueProblem(tf.System([*masses, *bars]), state, (0, t_end))


def drifts(problem, element, n=40):
    sol = tf.solve(problem, element, n, progress=False)
    assert sol.success
    energy, momentum = sol.energy(), sol.angular_momentum()
    return np.abs(energy - energy[0]).max(), np.abs(momentum - momentum[0]).max(), energy[0]


@pytest.mark.parametrize("form", ["hamilton", "energy"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_energy_and_angular_momentum(form, k):
    energy, momentum, size = drifts(net(), tf.MixedGalerkin(k, form=form, keep="all"))
    assert energy < 2e-14 * size and momentum < 2e-14 * size


@pytest.mark.parametrize("k", [1, 2])
def test_neither_number_of_points_keeps_both_without(k):
    energy, momentum, size = drifts(net(), tf.MixedGalerkin(k, k))
    assert momentum < 2e-14 * size and energy > 1e-6 * size
    energy, momentum, size = drifts(net(), tf.MixedGalerkin(k, 2 * k))
    assert energy < 2e-14 * size and momentum > 1e-7 * size


@pytest.mark.parametrize("form", ["hamilton", "lagrange", "impulse", "energy"])
@pytest.mark.parametrize("k, n_elements, cap", [(1, (40, 80, 160), 2.3e-4), (2, (20, 40, 80), 7.2e-8),
                                                (3, (10, 20, 40), 1.8e-10)])
def test_order(form, k, n_elements, cap):
    problem = net(0.5)
    exact = tf.solve(problem, tf.MixedGalerkin(4), 60, progress=False).z[-1]
    element = tf.MixedGalerkin(k, form=form, keep="all")
    errors = [np.abs(tf.solve(problem, element, n, progress=False).z[-1] - exact).max() for n in n_elements]
    assert slope(1 / np.array(n_elements), errors) == pytest.approx(2 * k, abs=0.2) and errors[-1] < cap


def hinged():
    """Two bodies in quaternions: a hinge between them, a spring off their centres, and one to a fixed point."""
    a, b = tf.RigidBody(1.0, (0.1, 0.2, 0.25), name="a"), tf.RigidBody(2.0, (0.3, 0.3, 0.4), name="b")
    hinge = tf.Revolute(a, b, point_a=(0.5, 0, 0.1), point_b=(-0.5, 0.2, 0), axis_a=(0, 1, 2), axis_b=(0, 1, 2))
    springs = [tf.Spring(a, b, point_a=(0, 1, 0), point_b=(0, -1, 0), stiffness=3.0, length=0.5),
               tf.Spring(a, None, point_b=(2, 0, 0), stiffness=3.0, length=0.5)]
    return tf.System([a, b, hinge, *springs], gravity=(0, 0, -9.81))


def bent():
    section = tf.Section(EA=4.0, GA=3.0, GJ=2.0, EI=(1.5, 2.0), mass=1.2, inertia=(0.35, 0.2, 0.3))
    return tf.System([tf.Beam(1.0, section, 1, 1, "quaternion", name="beam")])


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("make", [hinged, bent])
def test_tangents_by_products(make, k):
    batch = ElementBatch(make(), tf.MixedGalerkin(k, keep="all"))
    assert_tangent_is_derivative(batch, 0.1, step=1e-6, atol=2e-8)


def test_hinges_turn_with_their_bodies():
    """What a hinge of bodies in quaternions states of its axis is lifted by the relative quaternion: no moment."""
    system = hinged()
    hinge, s = system.parts[2], Symbols(system.parts[2])
    z = ca.vertcat(*s.q, *s.p)
    stated = ca.vertcat(hinge.constraints(s), hinge.velocity_constraints(s))
    lifted = hinge.lifted_constraints(s, hinge.constraint_lift(s), s.t)
    both = ca.Function("both", [z, s.parameters], [stated, lifted])
    q, p = np.random.default_rng(5).normal(size=(2, 2, 7))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    p[:, 3:] -= q[:, 3:] * (q * p)[:, 3:].sum(axis=1, keepdims=True)
    a, b = both(np.concatenate([q, p], axis=None), hinge.parameters)
    np.testing.assert_allclose(np.array(a), np.array(b), rtol=0, atol=1e-13)
    e = ca.SX.sym("e", hinge.constraint_lift(s).numel())
    of_axis = hinge.lifted_constraints(s, e, s.t)[[3, 4, 8, 9]]
    assert not ca.depends_on(of_axis, e[:12])  # place and rotation matrix of one body alone


@pytest.mark.parametrize("form", ["hamilton", "impulse"])
def test_tangent_and_drivers(form):
    problem, element = net(0.5), tf.MixedGalerkin(2, form=form, keep="all")
    assert_tangent_is_derivative(ElementBatch(problem.system, element), 0.1, step=1e-6, atol=1e-8)
    z = [tf.solve(problem, element, 10, driver=driver, progress=False).z for driver in ("march", "global")]
    np.testing.assert_allclose(z[1], z[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("rotation", ["directors", "quaternion"])
def test_what_is_linear_in_places_may_depend_on_time(rotation):
    """Its gradient has no nodes in it: `m x'' = -sin(3 t)` from rest, and a wall that moves by t^2."""
    ends = []
    for part in (lambda body: tf.FormulaEnergy(body, "sin(3 * t) * f[0].position[0]"),
                 lambda body: tf.Constraint(body, "f[0].position[0] - t**2", n=1)):
        body = tf.RigidBody(2.0, (0.1, 0.2, 0.25), rotation, name="body")
        problem = tf.InitialValueProblem(tf.System([body, part(body)]), {body: tf.Pose((0, 0, 0))}, (0, 1))
        ends.append(tf.solve(problem, tf.MixedGalerkin(2, keep="all"), 20, progress=False).position(body, 1.0)[0])
    np.testing.assert_allclose(ends, [(np.sin(3) / 9 - 1 / 3) / 2, 1.0], rtol=0, atol=1e-7)
