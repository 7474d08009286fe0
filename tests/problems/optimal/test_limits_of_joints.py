"""Limits of angles beyond half a turn: bodies that do not count turns, and joint coordinates, which do."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

Z = (0, 0, 1)
INERTIA = 0.3


def rotor(coordinates):
    wheel = tf.RigidBody(1.0, (0.1, 0.2, INERTIA), name="wheel")
    hinge = tf.Revolute(wheel, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="hinge")
    motor = tf.JointControl(hinge, name="motor")
    more = {} if coordinates is None else {"coordinates": coordinates}
    return hinge, motor, tf.System([wheel, hinge, motor], **more)


@pytest.mark.parametrize("coordinates", [None, "joint"])
@pytest.mark.parametrize("highest", [4.0, 3.4])
def test_limit_across_half_a_turn(coordinates, highest):
    """Bryson and Denham's problem in an angle, from 2.5 at 2 rad/s back to 2.5 in 2 s, at most 0.9 rad on."""
    hinge, motor, system = rotor(coordinates)
    problem = tf.OptimalControl(system, {hinge: (2.5, 2.0)}, {hinge: (2.5, -2.0)}, (0, 2), tf.Effort(motor),
                                limits=tf.Limit(hinge, 2.0, highest))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60, strategies=[], progress=False)
    free = 2 * INERTIA**2 * 2.0**2 / 2
    exact = free if highest == 4 else free / 2 * (2 + 6 * (1 - 4 * 0.9 / (2 * 2))**2)
    assert sol.success and abs(sol.objective - exact) < 1e-6 * exact
    assert abs(sol.joint(hinge).angle().max() - min(3.5, highest)) < 1e-6


@pytest.mark.parametrize("bounds", [(-2.0, 10.0), (-3.0, 9.0)])
def test_limits_over_whole_turns(bounds):
    """Rest to rest by 9 rad: `6 J^2 d^2 / T^3`, and bounds of the joint that the motion never reaches."""
    hinge, motor, system = rotor("joint")
    problem = tf.OptimalControl(system, {hinge: -1.0}, {hinge: 8.0}, (0, 3), tf.Effort(motor),
                                limits=tf.Limit(hinge, *bounds))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, strategies=[], progress=False)
    exact = 6 * INERTIA**2 * 81 / 27
    assert sol.success and abs(sol.objective - exact) < 1e-9 * exact
    assert np.abs(sol.joint(hinge).angle() + 1 - 9 * (3 * (sol.t / 3)**2 - 2 * (sol.t / 3)**3)).max() < 1e-6


def turned_on(angle, limits=(), coordinates=None, **options):
    """Rest to rest from 2.5 to an angle in 1 s: `6 J^2 d^2 / T^3`."""
    hinge, motor, system = rotor(coordinates)
    problem = tf.OptimalControl(system, {hinge: 2.5}, {hinge: angle}, (0, 1), limits=limits, **{
        "cost": tf.Effort(motor), **options})
    return hinge, motor, tf.solve(problem, tf.MixedGalerkin(2), 20, strategies=[], progress=False)


EFFORT = 6 * INERTIA**2


@pytest.mark.parametrize("angle", [3.0, 4.0])
@pytest.mark.parametrize("stated", [
    {"limits": tf.Limit("now.joint('hinge')", None, 3.5)}, {"end_cost": "end.joint('hinge')"},
    {"cost": ["now.control('motor')[0]**2 / 2", "1e-3 * now.joint('hinge')"]}])
def test_formulas_of_angles_that_are_not_counted(stated, angle):
    """Beyond half a turn, where the angle jumps, they give no answer; joint coordinates count on."""
    *_, sol = turned_on(angle, **stated)
    assert sol.success == (angle < np.pi)
    if not sol.success:
        assert sol.status.reason == "turns not counted" and "hinge angle" in sol.status.message
        assert "coordinates='joint'" in sol.status.message
    if "limits" in stated:  # which the right answer breaks as well
        return
    hinge, _, counted = turned_on(angle, coordinates="joint", **stated)
    assert counted.success and abs(counted.joint(hinge).angle()[-1] - angle) < 1e-9


@pytest.mark.parametrize("limit", [
    tf.Limit("cos(now.joint('hinge'))", -1.5, 1), tf.Limit("now.joint('hinge')", -100, None),
    tf.Limit("now.joint_rate('hinge')", None, 3)])
def test_formulas_that_do_not_mind_whole_turns(limit):
    *_, sol = turned_on(4.0, limit)
    assert sol.success and abs(sol.objective - EFFORT * 1.5**2) < 1e-5


@pytest.mark.parametrize("end_cost, fails", [("end.joint('hinge')", True), ("cos(end.joint('hinge'))", False)])
def test_prepared_solvers_see_turns_that_are_not_counted(end_cost, fails):
    hinge, motor, system = rotor(None)
    problem = tf.OptimalControl(system, {hinge: 2.5}, {hinge: 3.0}, (0, 1), tf.Effort(motor), end_cost=end_cost)
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 10, strategies=[], progress=False)
    assert solver.solve().success and solver.solve(end={hinge: 4.0}).success != fails
    assert solver.solve(end={hinge: 2.0}).success
