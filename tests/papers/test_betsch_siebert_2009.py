"""Claims of Betsch & Siebert (2009): QUAT_EM, QUAT_VI, DIR_EM, ALGO_C1; numerics.md section 2."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import slope
from tests.papers.one_step import drift, free_body, free_body_error, top, top_error

pytestmark = pytest.mark.long

# element, rotation, errors of the free body at h = 0.005 and 0.0025, of the top at h = 0.00125
TABLE = [(tf.EMH(), "quaternion", 0.036316, 0.0090858, 2.558e-2),
         (tf.NullEMH(), "quaternion", 0.036316, 0.0090858, 2.558e-2),
         (tf.QuatVI(), "quaternion", 0.14587, 0.036397, 9.76e-3),
         (tf.DirEM(), "directors", 0.072784, 0.018187, 1.322e-3),
         (tf.AlgoC1(), "quaternion", 0.027905, 0.0069887, 1.292e-2)]
CASES = pytest.mark.parametrize("element, rotation, coarse, fine, top_size", TABLE, ids=[e.name for e, *_ in TABLE])


@CASES
def test_free_body_errors_and_order(element, rotation, coarse, fine, top_size):
    h = (0.005, 0.0025, 0.00125)
    errors = [free_body_error(element, step, rotation)[0] for step in h]
    assert errors[:2] == pytest.approx([coarse, fine], rel=0.05)
    assert slope(h, errors) == pytest.approx(2, abs=0.03)


@CASES
def test_top_errors_and_order(element, rotation, coarse, fine, top_size):
    h = (0.00125, 0.000625, 0.0003125)
    errors = [top_error(element, step, rotation)[0] for step in h]
    assert errors[0] == pytest.approx(top_size, rel=0.05)
    assert slope(h, errors) == pytest.approx(2, abs=0.05)


@CASES
def test_invariants_of_the_free_body(element, rotation, coarse, fine, top_size):
    """Energy, angular momentum and constraints with the fairly large step of Fig. 1, for a long time."""
    h = 0.02 if element.name == "quat-vi" else 0.05
    solution = tf.solve(free_body(rotation, t_end=10), element, round(10 / h))
    assert solution.success, solution.status.message
    assert drift(solution.angular_momentum()) <= 1e-11
    assert drift(solution.energy()) <= 1e-11  # of QUAT_VI for the free body only
    errors = solution.errors()
    assert errors["configuration"] <= 1e-12
    if rotation == "quaternion":
        assert errors["velocity"] <= 1e-8  # q.p = 0, where |p| is 600


@CASES
def test_invariants_of_the_top(element, rotation, coarse, fine, top_size):
    _, solution = top_error(element, 0.00125, rotation)
    assert drift(solution.angular_momentum()[:, 2:]) <= 1e-11
    energies = element.name in ("emh", "null-emh", "dir-em")
    assert drift(solution.energy()) <= 1e-11 if energies else 1e-8 < drift(solution.energy()) < 1e-4


def test_the_null_space_reduction_is_the_same_scheme():
    for problem in (free_body(), top(), free_body("directors"), top("directors")):
        a, b = (tf.solve(problem, element, 400) for element in (tf.EMH(), tf.NullEMH()))
        np.testing.assert_allclose(b.z, a.z, rtol=0, atol=1e-11 * np.abs(a.z).max())


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_algo_c1_does_not_depend_on_the_coordinates(rotation):
    problem = top(rotation)
    solution = tf.solve(problem, tf.AlgoC1(), 400)
    expected = tf.solve(top(), tf.AlgoC1(), 400)
    for name in ("rotation_matrix", "angular_velocity"):
        np.testing.assert_allclose(getattr(solution, name)("body", solution.t),
                                   getattr(expected, name)("body", expected.t), rtol=0, atol=1e-9)


@pytest.mark.parametrize("h, success", [(0.03, True), (0.04, False)])
def test_quat_vi_has_no_solution_above_one_radian_or_so(h, success):
    """|Omega| is 30 at the start."""
    solution = tf.solve(free_body(t_end=24 * h), tf.QuatVI(), 24, driver=tf.March(keep_mesh=True))
    assert solution.success == success
    if not success:
        assert "not converged" in solution.status.message
        assert tf.solve(free_body(t_end=24 * h), tf.EMH(), 24).success
