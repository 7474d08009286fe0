"""Angles of joints beyond half a turn at the start and at the end of a motion of bodies."""

import numpy as np
import pytest

import timefem as tf

INERTIA = 0.3


def bar_on_hinge(rotation="quaternion"):
    bar = tf.RigidBody(1.0, (INERTIA,) * 3, name="bar", rotation=rotation)
    return bar, tf.Revolute(bar, name="hinge", point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1),
                            axis_b=(0, 0, 1))


@pytest.mark.parametrize("by_state", [False, True])
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("angle", [2 * np.pi + 0.1, -20.0, 3.5])
def test_springs_know_the_turns_at_the_start(coordinates, by_state, angle):
    bar, hinge = bar_on_hinge()
    system = tf.System([bar, hinge, tf.JointSpring(hinge, stiffness=2.0)], coordinates=coordinates)
    start = system.state({hinge: angle}) if by_state else {hinge: angle}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 0.5)), tf.MixedGalerkin(3), 40, progress=False)
    np.testing.assert_allclose(sol.joint(hinge).angle(0.5), angle * np.cos(0.5 * np.sqrt(2.0 / INERTIA)), rtol=1e-6)


@pytest.mark.parametrize("first, last", [(3.0, 3.5), (0.0, 4.0), (-3.0, 3.0), (1.0, -4.0)])
def test_turns_to_the_end_go_the_way_of_the_angle(first, last):
    bar, hinge = bar_on_hinge()
    motor = tf.JointControl(hinge)
    problem = tf.OptimalControl(tf.System([bar, hinge, motor]), {hinge: first}, {hinge: last}, (0, 1),
                                cost=tf.Effort(motor))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 24, progress=False)
    np.testing.assert_allclose(sol.objective, 6 * INERTIA**2 * (last - first) ** 2, rtol=1e-4)
    problem = tf.BoundaryValueProblem(tf.System([bar, hinge]), (0, 1), start={hinge: first}, end={hinge: last})
    rate = tf.solve(problem, tf.MixedGalerkin(2), 24, progress=False).joint(hinge).rate(0.5)
    np.testing.assert_allclose(rate, last - first, rtol=1e-4)


def test_short_turns_of_a_hinge_that_is_turned_at_zero():
    """Signs of quaternions go on where the angle does, whatever the orientation at zero."""
    bar = tf.RigidBody(1.0, (INERTIA,) * 3, name="bar")
    hinge = tf.Revolute(bar, name="hinge", point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                        direction_a=(1, 0, 0), direction_b=(np.cos(3.0), np.sin(3.0), 0))
    problem = tf.BoundaryValueProblem(tf.System([bar, hinge]), (0, 1), start={hinge: 1.5}, end={hinge: 1.6})
    rate = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False).joint(hinge).rate(0.5)
    np.testing.assert_allclose(rate, 0.1, rtol=1e-9)


@pytest.mark.parametrize("rotation, turn", [("quaternion", 2 * np.pi), ("directors", 4.0)])
def test_turns_that_orientations_do_not_tell_are_refused(rotation, turn):
    bar, hinge = bar_on_hinge(rotation)
    motor = tf.JointControl(hinge)
    with pytest.raises(tf.InputError, match=r"hinge: angle goes by .* rad .* coordinates='joint'"):
        tf.OptimalControl(tf.System([bar, hinge, motor]), {hinge: 0.0}, {hinge: turn}, (0, 1), cost=tf.Effort(motor))
    with pytest.raises(tf.InputError, match="hinge: angle goes by"):
        tf.BoundaryValueProblem(tf.System([bar, hinge]), (0, 1), start={hinge: 0.0}, end={"hinge": turn})
