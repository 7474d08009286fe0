"""What both ends of boundary-value problems and optimal control take, and what they refuse in the same words."""

import numpy as np
import pytest

import timefem as tf
from timefem.problems.end import null_space, reduced, search, unit_rows

BALL, BOX = tf.PointMass(1.0, name="ball"), tf.RigidBody(1.0, [1, 2, 3], name="box")
SYSTEM = tf.System([BALL, BOX])
REST = {BALL: tf.Pose(), BOX: tf.Pose((1, 0, 0))}


def boundary(end):
    return tf.BoundaryValueProblem(SYSTEM, (0, 1), REST, end)


def optimal(end, start=REST):
    cost = [tf.Effort(actuator) for actuator in (tf.ControlForce(BALL), tf.ControlTorque(BOX))]
    return tf.OptimalControl(SYSTEM, start, end, (0, 1), cost)


@pytest.mark.parametrize("problem", [boundary, optimal])
@pytest.mark.parametrize("end, message", [
    ({BALL: tf.EndState(orientation=(1, 0, 0, 0))}, "end of ball: .* has no orientation"),
    ({BALL: tf.EndState(angular_velocity=(0, 0, 0))}, "end of ball: .* has no angular velocity"),
    ({BALL: tf.Pose(orientation=(0, 1, 0, 0))}, "a point mass does not rotate"),
    ({BALL: tf.EndState(q=[0.0] * 3)}, "end of ball: .* has no q"),
    ({BOX: 3}, "end of box must be given as Pose or EndState or CanonicalState, not 3"),
    (tf.Pose(), "end must be a dict from body to Pose, EndState or Coordinates"),
    ({BALL: tf.Pose(relative_to=BOX)}, "end of ball: its pose is relative to box, whose pose is not given"),
    ({BALL: tf.Pose(relative_to="box"), BOX: tf.EndState((0, 0, 0))}, "relative to box, whose pose is not given"),
])
def test_refused(problem, end, message):
    with pytest.raises(tf.InputError, match=message):
        problem(end)


def test_poses_relative_to_another_body():
    """At R (0, 2, 0) from (1, 0, 0), where R turns by 90 degrees about z; control asks for the velocity, too."""
    turned, ball = ((1, 0, 0), (np.sqrt(0.5), 0, 0, np.sqrt(0.5))), tf.Pose((0, 2, 0), relative_to=BOX)
    end = {BALL: ball, BOX: tf.Pose(*turned, angular_velocity=(0, 0, 3.0))}
    target, state = boundary({BALL: ball, BOX: tf.Pose(*turned)}).end[BALL], optimal(end).conditions.state
    np.testing.assert_allclose(tf.InitialValueProblem(SYSTEM, end, (0, 1)).z0, state, rtol=0, atol=1e-12)
    assert target.velocity is None
    np.testing.assert_allclose([*target.position, *state[:3]], [-1, 0, 0] * 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state[SYSTEM.n_q:][:3], (0, -6, 0), rtol=0, atol=1e-12)  # momentum of 1 kg


def test_the_only_body_needs_no_dict():
    problem = tf.OptimalControl(tf.System([BALL]), {BALL: tf.Pose()}, tf.EndState((1, None, None)), (0, 1),
                                tf.Effort(tf.ControlForce(BALL)))
    assert problem.conditions.names == ["position of ball"]
    assert problem.changed(end=tf.EndState((2, None, None))).conditions.wanted == [2.0]


# ---- conditions at ends: states that satisfy them, and combinations that are independent

def test_one_condition_of_two_that_constraints_make_the_same():
    """A point on a circle, at its lowest place: of its two coordinates one is free, and the other one follows."""
    constraints, rows = np.array([[0.0, 2.0]]), np.eye(2)
    (combinations,), along = reduced(rows, constraints, [null_space(constraints)], [np.arange(2)])
    np.testing.assert_allclose(np.abs(combinations), [[1, 0]], atol=1e-15)
    np.testing.assert_allclose(np.abs(along), [[1], [0]], atol=1e-15)


def test_couplings_are_asked_for_what_both_ends_leave_open():
    """Of two numbers at two ends: one is given at the start, one at the end; of two couplings one is left."""
    rows = np.array([[3.0, 0, 0, 0], [0, 0, 0, 2], [1, 0, 0, 1], [0, 1, 1, 0]])
    groups = [np.array([0]), np.array([1]), np.array([2, 3])]
    found, _ = reduced(rows, np.zeros((0, 4)), [np.eye(2), np.eye(2)], groups)
    assert [len(combinations) for combinations in found] == [1, 1, 1]
    np.testing.assert_allclose(np.abs(found[2]), [[0, np.sqrt(0.5)]], atol=1e-15)


def test_constraints_that_depend_on_numbers():
    """What a constraint implies for one value of a number only is asked for still."""
    constraints, rows = np.array([[0.0, 1.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])
    (combinations,), _ = reduced(rows, constraints, [null_space(constraints[:, :2])], [np.arange(1)])
    assert len(combinations) == 1
    (combinations,), _ = reduced(rows, constraints * [0, 1, 0], [null_space(constraints[:, :2])], [np.arange(1)])
    assert not len(combinations)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_search_of_the_nearest_point(scale):
    """On a circle, whatever the unit of length."""
    def evaluate(x):
        return np.array([x @ x / scale**2 - 1]), 2 * x[None] / scale

    x, violated, (values, _) = search(evaluate, scale * np.array([3.0, 4.0]), scale * np.ones(2), lambda x: 1.0)
    assert violated is None and abs(values[0]) < 1e-9
    np.testing.assert_allclose(x / scale, [0.6, 0.8], rtol=0, atol=1e-9)


def test_search_names_what_is_violated():
    def evaluate(x):
        return np.array([x[0], x[0] - 1]), np.array([[1.0], [1.0]])

    _, (worst, by), _ = search(evaluate, np.zeros(1), np.ones(1), lambda x: 1.0)
    assert worst in (0, 1) and by == pytest.approx(0.5)


def test_unit_rows():
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0, 0]])
