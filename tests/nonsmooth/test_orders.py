"""Orders through events in motions without a reference of others: against mG(4) on a fine mesh."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf


def belt():
    """Mass on a belt and a spring: sticks, slips, sticks."""
    mass = tf.PointMass(1.0, 2, name="mass")
    spring = tf.Spring(mass, None, point_b=(-10.0, 0, 0), stiffness=10.0, length=10.0)
    contact = tf.PlaneContact(mass, normal=(0, 1, 0), friction=0.3, surface_velocity=(0.5, 0, 0), name="belt")
    return tf.System([mass, spring, contact], gravity=(0, -9.81, 0)), {mass: tf.Pose((0.6, 0, 0))}, (0, 3)


def pendulum():
    """A rod on a hinge that meets a wall twice."""
    rod = tf.RigidBody(1.0, (1 / 12,) * 3, rotation="directors", name="rod")
    hinge = tf.Revolute(rod, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    wall = tf.PlaneContact(rod, normal=(1, 0, 0), plane_point=(-0.3, 0, 0), points=[[0, 0, -0.5]], restitution=0.5)
    system = tf.System([rod, hinge, wall], gravity=(0, 0, -9.81))
    return system, system.state({hinge: (-1.0, 0.0)}), (0, 2)


def puck():
    """Slides in a curve, stops and sticks; not smooth at the stop, which costs order beyond 4."""
    mass = tf.PointMass(1.0, 3, name="puck")
    ice, wind = tf.PlaneContact(mass, friction=0.35, name="ice"), tf.Force(mass, (1.0, 0.5, 0))
    return tf.System([mass, ice, wind], gravity=(0, 0, -9.81)), {mass: tf.Pose(velocity=(0.3, 1.2, 0))}, (0, 1)


@pytest.mark.parametrize(("degree", "n"), [(1, 20), (2, 10)])
def test_energy_on_a_belt_that_swings_balances_with_the_order(degree, n):
    """What sticks has the velocity of the belt at the ends of elements, and not between."""
    mass = tf.PointMass(1.0, 2, name="mass")
    spring = tf.Spring(mass, None, point_b=(-10.0, 0, 0), stiffness=10.0, length=10.0)
    contact = tf.PlaneContact(mass, normal=(0, 1, 0), friction=0.3, name="belt",
                              surface_velocity=(lambda t: 0.5 * ca.sin(3 * t), 0, 0))
    problem = tf.InitialValueProblem(tf.System([mass, spring, contact], gravity=(0, -9.81, 0)),
                                     {mass: tf.Pose((0.6, 0, 0))}, (0, 3))
    left = []
    for m in (n, 2 * n, 4 * n):
        sol = tf.solve(problem, tf.MixedGalerkin(degree), m, progress=False)
        assert [event.kind for event in sol.events] == ["sticks"]
        left.append(np.abs(sol.energy.balance()).max())
    assert left[-1] < 2e-4
    assert 2 * degree - 0.3 < -np.polyfit(np.log([1, 2, 4]), np.log(left), 1)[0] < 2 * degree + 0.5


@pytest.mark.long
@pytest.mark.parametrize(("make", "degrees", "kinds"), [
    (belt, {1: 40, 2: 20, 3: 10}, {"sticks": 1, "slips": 1}), (pendulum, {1: 40, 2: 20}, {"impact": 2}),
    (puck, {1: 40}, {"sticks": 1})])
def test_orders(make, degrees, kinds):
    problem = tf.InitialValueProblem(*make())
    reference = tf.solve(problem, tf.MixedGalerkin(4), 160).z[-1]
    for degree, n in degrees.items():
        errors = []
        for m in (n, 2 * n, 4 * n):
            sol = tf.solve(problem, tf.MixedGalerkin(degree), m)
            assert sol.success and sol.statistics["contact_events"] == kinds
            assert sol.contact_gaps().min() > -1e-12
            assert np.abs(sol.energy.balance()).max() < 1e-12 * max(1.0, np.abs(sol.energy()).max())
            errors.append(np.abs(sol.z[-1] - reference).max())
        assert errors[-1] < 1e-3
        assert 2 * degree - 0.2 < -np.polyfit(np.log([1, 2, 4]), np.log(errors), 1)[0] < 2 * degree + 0.3


def test_joint_coordinates_agree_with_bodies():
    ends = []
    for coordinates in ("bodies", "joint"):
        rod = tf.RigidBody(1.0, (1 / 12,) * 3, rotation="directors", name="rod")
        hinge = tf.Revolute(rod, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                            name="hinge")
        wall = tf.PlaneContact(rod, normal=(1, 0, 0), plane_point=(-0.3, 0, 0), points=[[0, 0, -0.5]],
                               restitution=0.5, friction=0.2, name="wall")
        system = tf.System([rod, hinge, wall], gravity=(0, 0, -9.81), coordinates=coordinates)
        sol = tf.solve(tf.InitialValueProblem(system, {hinge: (-1.0, 0.0)}, (0, 2)), tf.MixedGalerkin(3), 120)
        ends.append([sol.joint("hinge").angle(2.0), *(event.t for event in sol.events)])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9)


@pytest.mark.long
def test_what_joints_block_does_not_slip():
    """An arm in a plane whose hand lands, slides and sticks: hinges block its slip across the plane."""
    ends = []
    for coordinates in ("bodies", "joint"):
        upper, lower = (tf.RigidBody(1.0, (1 / 12, 1 / 12, 0.01), rotation="directors", name=name)
                        for name in ("upper", "lower"))
        shoulder = tf.Revolute(upper, None, point_a=(0, 0, 0.5), point_b=(0, 0, 1.2), axis_a=(0, 1, 0),
                               axis_b=(0, 1, 0), name="shoulder")
        elbow = tf.Revolute(lower, upper, point_a=(0, 0, 0.5), point_b=(0, 0, -0.5), axis_a=(0, 1, 0),
                            axis_b=(0, 1, 0), name="elbow")
        hand = tf.PlaneContact(lower, points=[[0, 0, -0.5]], friction=2.0, name="hand")
        system = tf.System([upper, lower, shoulder, elbow, hand], gravity=(0, 0, -9.81), coordinates=coordinates)
        problem = tf.InitialValueProblem(system, {shoulder: (1.2, 0.0), elbow: (0.6, 0.0)}, (0, 1.0))
        sol = tf.solve(problem, tf.MixedGalerkin(2), 100)
        assert sol.success and [event.kind for event in sol.events] == ["impact", "sticks"]
        ends.append([sol.joint("shoulder").angle(1.0), *(event.t for event in sol.events)])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-7)
