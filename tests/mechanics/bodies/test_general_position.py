"""Ranks of formulas by one place in general position."""

import numpy as np
import pytest

from timefem.mechanics.bodies.generalized_body import general_position


@pytest.mark.parametrize("n", [0, 1, 2, 6, 100, 5000])
def test_roots_of_primes(n):
    place = general_position(n)
    assert place.shape == (n,) and np.all((place >= 0.1) & (place < 1))
    roots = (place - 0.1) / 0.9
    np.testing.assert_allclose(roots[:6], (np.sqrt([2, 3, 5, 7, 11, 13]) % 1)[:n], rtol=0, atol=1e-15)
    assert len(np.unique(place)) == n


def test_shape():
    np.testing.assert_array_equal(general_position(2, 3).ravel(), general_position(6))


def test_determinants_vanish_there_where_they_vanish_everywhere():
    """Of arms of two point masses, the inner one without mass: singular where the arm is straight, and not there."""
    a, b = general_position(2)
    columns = np.array([[-np.sin(a) - np.sin(a + b), -np.sin(a + b)], [np.cos(a) + np.cos(a + b), np.cos(a + b)]])
    assert np.linalg.eigvalsh(columns.T @ columns)[0] > 0.01
    one_axis = np.array([[np.cos(a), np.cos(a)], [np.sin(a), np.sin(a)]])
    assert abs(np.linalg.eigvalsh(one_axis.T @ one_axis)[0]) < 1e-15
