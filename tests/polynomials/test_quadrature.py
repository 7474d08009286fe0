import numpy as np
import pytest

import timefem as tf


@pytest.mark.parametrize("n_points", [*range(1, 13), 40])
def test_exact_up_to_the_degree_and_not_beyond(n_points):
    x, w = tf.gauss_legendre(n_points)
    for power in range(2 * n_points):
        assert w @ x**power == pytest.approx(1 / (power + 1), rel=0, abs=1e-14)
    if n_points <= 12:
        beyond = np.polynomial.Legendre.basis(n_points, domain=[0, 1]) ** 2
        assert abs(w @ beyond(x)) < 1e-12 < beyond.integ()(1) - beyond.integ()(0)


@pytest.mark.parametrize("n_points", [0, -1, 2.5, "two"])
def test_bad_input(n_points):
    with pytest.raises(tf.InputError, match="n_points"):
        tf.gauss_legendre(n_points)
