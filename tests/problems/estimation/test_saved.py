"""Estimates from files: the same answers, also of what nobody asked before they were saved."""

import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError

from .references import four_bar, three_stars
from .test_bounds import damped
from .test_kinematic import arm, closed_chain, markers, measured_arm, points, solve


def loaded(sol, folder):
    sol.save(folder / "estimate.h5")
    found = tf.load(folder / "estimate.h5")
    assert type(found) is type(sol) and found.fit.verdict == sol.fit.verdict and found.at_bounds == sol.at_bounds
    np.testing.assert_array_equal(found.numbers, sol.numbers)
    np.testing.assert_array_equal(found.z, sol.z)
    if sol.problem.n_constants:
        np.testing.assert_allclose(found.number_covariance, sol.number_covariance, rtol=1e-12, atol=1e-300)
    with pytest.raises(InputError, match="read from a file, which has no measurements"):
        found.residuals(sol.problem.measurements[0])
    with pytest.raises(InputError, match="read from a file, which has no factors"):
        found.draws(2)
    return found


def assert_same(found, sol, *asked, t=None):
    for what in asked:
        value, right = found.value(what, t), sol.value(what, t)
        np.testing.assert_allclose(value, right, rtol=0, atol=1e-12 * max(1, np.abs(right).max()))
        right = sol.std(what, t)
        np.testing.assert_allclose(found.std(what, t), right, rtol=1e-9, atol=1e-9 * right.max())
        np.testing.assert_allclose(found.interval(what, t)[1], sol.interval(what, t)[1], rtol=1e-9, atol=1e-9)


@pytest.mark.long
def test_a_loop_with_biases(tmp_path):
    sol = tf.solve(four_bar(), tf.MixedGalerkin(2), 60, progress=False)
    found, t = loaded(sol, tmp_path), [0.0, 0.31, 3.0]
    assert_same(found, sol, "motor", lambda now: now.q("hinges"), lambda now: now.energy(), t=t)
    assert_same(found, sol, "bias of crank")
    np.testing.assert_allclose(found.state_covariance(7), sol.state_covariance(7), rtol=0, atol=1e-14)
    assert found.log_evidence == sol.log_evidence


@pytest.mark.long
def test_an_unknown_inertia(tmp_path):
    sol = tf.solve(three_stars(unknown=True), tf.MixedGalerkin(2), 24, progress=False)
    found = loaded(sol, tmp_path)
    assert_same(found, sol, "body", lambda now: now.kinetic_energy(), t=[0.4, 3.0])  # which depends on the number
    assert_same(found, sol, "J3")


@pytest.mark.long
def test_a_bound_and_a_gap_in_time(tmp_path):
    sol = tf.solve(damped(0.1, tf.Prior(0.1, 0.2, lower=0.09, upper=0.11)), tf.MixedGalerkin(2), 12, progress=False)
    found = loaded(sol, tmp_path)
    assert found.at_bounds and np.isnan(found.std("damping"))
    assert_same(found, sol, "hinge", t=[0.5])


@pytest.mark.long
@pytest.mark.parametrize("k", [2, 3])
def test_without_dynamics(tmp_path, k):
    tree, system, t, q = closed_chain(12)
    places = points(tree, q) + 0.003 * np.random.default_rng(1).standard_normal((4, 12, 3))
    sol = solve(system, markers(tree, t, places), 50.0, k, numbers={"length": (tree, "joints[1].position[0]",
                                                                                   tf.Prior(0.97, 0.05))},
                prior={tree: dict(zip(tree.joint_names, q[0], strict=True))})
    found = loaded(sol, tmp_path)
    assert_same(found, sol, "joint2", lambda now: now.position("arm.link2", (1, 0, 0)))
    assert_same(found, sol, "length")
    np.testing.assert_allclose(found.rates, sol.rates, rtol=0, atol=0)
    np.testing.assert_allclose(found.state_covariance(3), sol.state_covariance(3), rtol=1e-9, atol=1e-12)
    if k == 3:
        heavy = [one.inverse_dynamics() for one in (found, sol)]
        np.testing.assert_allclose(heavy[0].controls_std, heavy[1].controls_std, rtol=1e-8)


def test_what_cannot_be_saved(tmp_path):
    tree, t, _, places = measured_arm(2, 9)
    sol = solve(tf.System([tree]), markers(tree, t, places), 5.0, numbers={"size": tf.Prior(0.9, 0.2)},
                follows={"arm.joints[1].position[0]": lambda parameters: parameters["size"]})
    with pytest.raises(InputError, match="write number and formula as texts"):
        sol.save(tmp_path / "estimate.h5")
    assert not (tmp_path / "estimate.h5").exists() and arm(2).n_q == 2
