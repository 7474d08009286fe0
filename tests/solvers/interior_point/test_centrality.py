"""Centrality corrections: which products are moved, and fewer iterations by longer steps."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES
from timefem.solvers.interior_point import bounds_loops as loops

MU = 1e-3


def test_products_far_from_mu_are_moved_towards_it():
    rng = np.random.default_rng(0)
    n = 200
    at, sign = rng.permutation(n), rng.choice([-1.0, 1.0], n)
    slack, z, dw, dz, products = (10.0**rng.uniform(-3, 0, n), 10.0**rng.uniform(-3, 0, n),
                                  *(1e-2 * rng.standard_normal((3, n))))
    moved = loops.closer_to_mu(at, sign, slack, z, (dw, dz), (0.7, 0.9), MU, products)
    after = (slack + 0.7 * sign * dw[at]) * (z + 0.9 * dz)
    small, large = after < 0.1 * MU, after > 10 * MU
    assert min(small.sum(), large.sum(), n - small.sum() - large.sum()) > 10
    near = ~small & ~large
    np.testing.assert_array_equal(moved[near], products[near])
    # products of changes that are taken to be smaller leave larger `slack z`
    np.testing.assert_allclose((products - moved)[small], (0.1 * MU - after)[small], rtol=1e-9)
    assert np.all((moved - products)[large] > 0) and np.all((moved - products)[large] <= 10 * MU * (1 + 1e-9))


@pytest.mark.long
def test_iterations_of_a_crane():
    problem, found = CASES["container-crane"].make(), []
    for options in {}, {"corrected_above": 1e6}:  # none by the last
        sols = [tf.solve(problem, tf.MixedGalerkin(k, n_points=k), n, progress=False,
                         method=tf.InteriorPoint(options=options))
                for k, n in ((2, 20), (2, 40), (3, 20), (3, 24), (4, 15))]
        assert all(sol.success for sol in sols)
        found.append(sum(int(sol.statistics["newton_iterations"]["max"]) for sol in sols))
    assert found[0] <= found[1]
