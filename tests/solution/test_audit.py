"""What converges on the discrete equations and is wrong all the same is told: constraints that part, coarse meshes."""

import warnings

import numpy as np
import pytest

import timefem as tf
from timefem.errors import UnderResolved


def two_rods():
    """A point at (1, 0, 0) on rods to (0, 0, 0) and (-1, 0, 0), which repeat each other at the start only."""
    point = tf.PointMass(1.0, name="point")
    rods = [tf.RigidDistance(point, point_b=at, length=length, name=name)
            for name, at, length in (("inner", (0, 0, 0), 1.0), ("outer", (-1, 0, 0), 2.0))]
    system = tf.System([point, *rods], [0, -9.81, 0], redundant="drop")
    return tf.InitialValueProblem(system, {point: tf.Pose([1, 0, 0])}, (0, 1))


def two_motions():
    """A point that is to be at t and at t + t^3."""
    point = tf.PointMass(1.0, name="point")
    given = [tf.PrescribedPosition(point, [tf.Polynomial([0, *more]), 0, 0], name=name)
             for name, more in (("first", [1.0]), ("second", [1.0, 0, 1.0]))]
    system = tf.System([point, *given], redundant="drop")
    return tf.InitialValueProblem(system, {point: tf.Pose(velocity=[1, 0, 0])}, (0, 1))


@pytest.mark.parametrize("make, name", [(two_rods, "outer"), (two_motions, "second")])
def test_dropped_constraints_are_watched(make, name):
    sol = tf.solve(make(), tf.MixedGalerkin(2), 50, progress=False)
    assert not sol.success and sol.status.reason == "constraints not redundant"
    assert name in sol.status.message and 0 < sol.status.time < 0.5 and len(sol.t) < 25
    assert sol.errors()["configuration"] < 1e-5  # of the complete system, before that time


def test_a_prescribed_motion_that_the_mesh_does_not_resolve():
    body = tf.RigidBody(1, [1, 1, 1], name="rotor")
    hinge = tf.Revolute(body, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_a=[0, 0, 1], axis_b=[0, 0, 1])
    system = tf.System([body, hinge,
                        tf.PrescribedAngle(body, angle=tf.Polynomial([0, 62.8]), axis_b=[0, 0, 1],
                                           direction_a=[1, 0, 0], direction_b=[1, 0, 0], name="drive")])
    problem = tf.InitialValueProblem(system, {body: tf.Pose(angular_velocity=[0, 0, 62.8])}, (0, 1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    assert not sol.success or any(w.category is UnderResolved for w in told)


def test_a_body_that_turns_too_far_in_an_element():
    body = tf.RigidBody(1, [1, 2, 3], name="rotor")
    problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=[0, 0, 1000])}, (0, 0.1))
    with pytest.warns(UnderResolved, match=r"rotor turns by up to 10 rad in an element.*take 34 elements or more"):
        tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = tf.solve(problem, tf.MixedGalerkin(2), 34, progress=False)
    assert sol.success


def test_what_stays_redundant_is_no_fault():
    body = tf.RigidBody(2.0, [3, 2, 4], name="door")
    hinges = [tf.Revolute(body, point_a=[-0.5, 0, z], point_b=[0, 0, z], axis_a=[0, 0, 1], axis_b=[0, 0, 1], name=name)
              for name, z in (("upper", 0.8), ("lower", -0.8))]
    system = tf.System([body, *hinges], [0, 0, -9.81], redundant="drop")
    state = {body: tf.Pose([0.5, 0, 0], velocity=[0, 1.0, 0], angular_velocity=[0, 0, 2.0])}
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 3)), tf.MixedGalerkin(2), 100, progress=False)
    assert sol.success and len(sol.system.dropped) == 5
    assert sol.errors()["configuration"] < 1e-9
    assert np.abs(sol.system.complete.constraints(sol.t, sol.z)).max() < 1e-8
