"""A problem that is solved again keeps its plan."""

import pytest

import timefem as tf
from timefem.problems.optimal.mesh_sequence import optimality_plan

ELEMENT = tf.MixedGalerkin(2, n_points=2)


def test_solved_again():
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push, load = tf.ControlForce(body, [(1, 0, 0)], name="push"), tf.Force(body, (0.5, 0, 0), name="load")
    problem = tf.OptimalControl(tf.System([body, load]), {body: tf.Pose()}, {body: tf.EndState(
        position=[1, None, None], velocity=[0, None, None])}, (0, 1), tf.Effort(push), bounds={push: (-50, 50)})
    first = tf.solve(problem, ELEMENT, 8)
    plan = optimality_plan(problem, ELEMENT)
    again = tf.solve(problem, ELEMENT, 8)
    assert optimality_plan(problem, ELEMENT) is plan and again.objective == first.objective
    assert first.objective == pytest.approx(6 + 0.125, rel=1e-6)  # of u = 6 - 12 t less the load
    assert tf.solve(problem, ELEMENT, 16).objective == pytest.approx(first.objective, rel=1e-7)
    with pytest.raises(ValueError, match="read-only"):  # which is why plans can be kept
        load.own_parameters[0] = 0.25
