"""Costates against a closed form: those of Bubnov-Galerkin elements have to be recovered from the multipliers."""

import numpy as np
import pytest
import scipy

import timefem as tf

pytestmark = pytest.mark.long

# q' = p, p' = u, cost u^2/2 + q^2/2: rates of q, p and of their costates
RATES, T = np.array([[0, 1, 0, 0], [0, 0, 0, -1], [-1, 0, 0, 0], [0, 0, -1, 0]], float), 2.0
ELEMENTS = [*(tf.BubnovGalerkin(k) for k in (1, 2, 3)), *(tf.BubnovGalerkin(k, drop="end") for k in (1, 2))]


def closed_form(t):
    """Multipliers of the rows of p and of q, from 1 m to rest at 0 m: shape (len(t), 2)."""
    over_all = scipy.linalg.expm(RATES * T)
    start = np.linalg.solve(over_all[:2, 2:], -over_all[:2, :2] @ [1, 0])
    states = np.array([scipy.linalg.expm(RATES * s) @ [1, 0, *start] for s in t])
    return states[:, [3, 2]] * [1, -1]


def solved(element, n):
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    far = tf.Cost(lambda u, q, v, t: 0.5 * q[0]**2, bodies=[body], name="distance")
    end = {body: tf.EndState(position=[0, None, None], velocity=[0, None, None])}
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose((1, 0, 0))}, end, (0, T), [tf.Effort(push), far])
    sol = tf.solve(problem, element, n, progress=False)
    assert sol.success
    return sol


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_recovered_costates_are_of_second_order(element):
    t, errors = np.linspace(0, T, 41), []
    for n in (16, 32, 64, 128):
        errors.append(np.abs(solved(element, n).field("costates", t) - closed_form(t)).max())
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((1.7 < slopes) & (slopes < 2.6)), errors
    assert errors[-1] < 2e-3


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_multipliers_of_continuous_tests_do_not_converge(element):
    """They are zero where tests are left out, and at all nodes as far from the costate as there, on all meshes."""
    end = 0 if element.drop == "start" else -1
    off = np.abs(closed_form([0.0, T])[end, 1])
    for n in (32, 64, 128):
        sol = solved(element, n)
        nodes = sol.field("costate of state")
        assert np.abs(nodes[end]).max() == 0
        wrong = np.abs(nodes - closed_form(sol.t))[:, 1]
        np.testing.assert_allclose(wrong, off, rtol=0, atol=12 / n)


def test_costates_of_mixed_galerkin_elements_are_multipliers():
    sol = solved(tf.MixedGalerkin(2), 16)
    t = np.linspace(0, T, 9)
    np.testing.assert_array_equal(sol.field("costates", t), sol.field("costate of state", t))
    assert np.abs(sol.field("costates", t) - closed_form(t)).max() < 2e-3


@pytest.mark.parametrize("n", [2, 3])
def test_few_elements(n):
    assert np.abs(solved(tf.BubnovGalerkin(2), n).field("costates", [0.0, T]) - closed_form([0.0, T])).max() < 0.6
