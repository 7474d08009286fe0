import numpy as np
import pytest

import timefem as tf
from tests.models import ROTATIONS, pendulum, spinning_box


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_violated_constraints_are_named(rotation):
    system = pendulum(rotation).system
    with pytest.raises(tf.InputError, match="'support: fixed point, y' on configuration level by 1"):
        tf.InitialValueProblem(system, {"pendulum": tf.Pose(position=[0, 6, 0])}, (0, 1))
    with pytest.raises(tf.InputError, match="'support: fixed point, z' on velocity level by 5"):
        tf.InitialValueProblem(system, {"pendulum": tf.Pose(position=[0, 5, 0], angular_velocity=[1, 0, 0])}, (0, 1))
    tf.InitialValueProblem(system, {"pendulum": tf.Pose(position=[0, 5, 0], velocity=[0, 0, 5],
                                                        angular_velocity=[1, 0, 0])}, (0, 1))


def test_inconsistent_momenta_are_refused():
    problem = spinning_box()
    q, p = problem.z0[:7], problem.z0[7:].copy()
    p[3] += 0.5  # a part along q
    with pytest.raises(tf.InputError, match=r"'box: unit length of the quaternion' on velocity level by 0\.5"):
        tf.InitialValueProblem(problem.system, {"box": tf.CanonicalState(q, p)}, (0, 1))


def test_bodies_left_out_rest_at_the_origin():
    body = tf.RigidBody(1, [1, 1, 1])
    problem = tf.InitialValueProblem(tf.System([body]), {}, (0, 1))
    np.testing.assert_array_equal(problem.z0, [0, 0, 0, 1, *[0] * 10])


@pytest.mark.parametrize("t_span, message", [((1, 0), "forward"), ((0, 0), "forward"), ((0, np.nan), "finite"),
                                             (3, "pair"), ((0, 1, 2), "pair")])
def test_bad_time_spans(t_span, message):
    with pytest.raises(tf.InputError, match=message):
        tf.InitialValueProblem(spinning_box().system, {}, t_span)


@pytest.mark.parametrize("state, message", [
    ({"wheel": tf.Pose()}, "no body 'wheel' in the system; it has box"), ({"box": 3}, "must be a Pose"), (3, "dict"),
    ({"box": tf.CanonicalState([1.0], [2.0])}, "length 7")])
def test_bad_states(state, message):
    with pytest.raises(tf.InputError, match=message):
        tf.InitialValueProblem(spinning_box().system, state, (0, 1))
