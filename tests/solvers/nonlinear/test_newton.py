"""Newton's method: tolerances of tiny initial states, and what a failure is called."""

import numpy as np
import pytest

import timefem as tf
from timefem.status import Status


def hanging(x):
    mass = tf.PointMass(2.0, name="m")
    system = tf.System([mass, tf.Spring(mass, stiffness=50.0, point_b=(0.3, 0, 1))], gravity=(0, 0, -9.81))
    return tf.InitialValueProblem(system, {mass: tf.Pose(position=(x, 0, 0))}, (0, 2))


@pytest.mark.parametrize("driver", ["march", "global", "windows"])
@pytest.mark.parametrize("x", [1e-13, 1e-9])
def test_tiny_initial_states(x, driver):
    """They grow at once, so that tolerances relative to them are below rounding."""
    sol, wanted = (tf.solve(hanging(at), tf.MixedGalerkin(2), 60, driver=driver, progress=False) for at in (x, 0))
    assert sol.success, sol.status.message
    np.testing.assert_allclose(sol.z, wanted.z, rtol=0, atol=1e-6 * np.abs(wanted.z).max())


def test_tiny_initial_state_to_a_tolerance():
    sol = tf.solve(hanging(1e-13), tf.MixedGalerkin(2), tolerance=1e-6, progress=False)
    assert sol.success and len(sol.t) < 300


def test_a_small_motion_is_solved_as_well_as_a_large_one():
    motions = []
    for size in (1.0, 1e-9):
        mass = tf.PointMass(2.0, name="m")
        problem = tf.InitialValueProblem(tf.System([mass, tf.Spring(mass, stiffness=50.0)]),
                                         {mass: tf.Pose(position=(size, 0, 0))}, (0, 2))
        motions.append(tf.solve(problem, tf.MixedGalerkin(2), 60, progress=False).z / size)
    np.testing.assert_allclose(*motions, rtol=0, atol=1e-11 * np.abs(motions[0]).max())


# ---- reasons

@pytest.mark.parametrize("reason, words", [("singular tangent", "until the tangent was singular"),
                                           ("not finite", "beyond all bounds")])
def test_divergence_is_no_fault_of_the_model(reason, words):
    status = Status.failure(reason, 3, 0.5, [1.0, 30.0, 1e7], "no pivot")
    assert status.reason == "not converged" and words in status.message and "more elements" in status.message
    assert "constraints" not in status.message and "no pivot" not in status.message
    for history in ([1.0], [1.0, 1e-3], [1.0, np.nan]):
        status = Status.failure(reason, 3, 0.5, history, "no pivot")
        assert status.reason == reason and "no pivot" in status.message


def test_a_solve_that_diverges():
    """Until its tangent is singular; its constraints are independent."""
    from timefem.cases import find_case

    sol = tf.solve(find_case("bricard").make(), tf.MixedGalerkin(2), 3, driver="global", progress=False)
    assert not sol.success and sol.status.reason == "not converged" and "redundant" not in sol.status.message
