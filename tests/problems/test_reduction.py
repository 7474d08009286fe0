"""Conditions at ends: states that satisfy them, and combinations that are independent."""

import numpy as np
import pytest

from timefem.problems.ends.reduction import null_space, reduced, search, unit_rows


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
