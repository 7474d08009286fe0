"""Cases of several bodies: published states, energy after the load, long runs."""

import numpy as np
import pytest

import timefem as tf
from tests.models import ROTATIONS, reference
from timefem.cases import find_case
from timefem.cases.mechanisms import ring


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_four_bar_reaches_the_reference(rotation):
    problem = find_case("four-bar").make(rotation)
    solution = tf.solve(problem, tf.MixedGalerkin(3), 400)  # the kinks of the pulse are nodes
    for state in reference("closed_loop")["states"]:
        for body, expected in zip(problem.system.bodies, state["bodies"], strict=True):
            t = state["t"]
            np.testing.assert_allclose(solution.position(body, t), expected["phi"], rtol=0, atol=1e-8)
            np.testing.assert_allclose(solution.velocity(body, t), expected["v"], rtol=0, atol=1e-7)
            r = tf.mechanics.rotations.matrix_from_quaternion(np.array(expected["q"]))
            np.testing.assert_allclose(solution.rotation_matrix(body, t), r, rtol=0, atol=1e-8)
            np.testing.assert_allclose(solution.angular_velocity(body, t), expected["Omega"], rtol=0, atol=1e-7)
    errors = solution.errors()
    assert max(errors["configuration"], errors["velocity"]) <= 1e-10
    after = solution.energy()[solution.t > 1 + 1e-9]
    assert np.abs(after - after[0]).max() <= 1e-10 * after[0]
    assert errors["energy"] <= 1e-9 * after[0]  # the balance with the work of the load


@pytest.mark.parametrize("name", ["double-pendulum", "closed-chain"])
def test_rotations_agree(name):
    finals = []
    for rotation in ROTATIONS:
        problem = find_case(name).make(rotation, t_end=0.5)
        solution = tf.solve(problem, tf.MixedGalerkin(4), 60)
        assert solution.errors()["energy"] < 1e-9
        finals.append([solution.position(b, 0.5) for b in problem.system.bodies])
    np.testing.assert_allclose(*finals, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [4, 10])
def test_rings_of_other_lengths(n):
    system, state = ring(n)
    solution = tf.solve(tf.InitialValueProblem(system, state, (0, 0.5)), tf.MixedGalerkin(2), 50)
    assert solution.success
    errors = solution.errors()
    assert errors["energy"] < 1e-6 and max(errors["configuration"], errors["velocity"]) < 1e-10


@pytest.mark.slow
def test_closed_chain_runs_long_without_drift():
    solution = tf.solve(find_case("closed-chain").make(t_end=100.0), tf.MixedGalerkin(2), 10_000)
    assert solution.success
    errors = solution.errors()
    assert errors["energy"] < 1e-4 and max(errors["configuration"], errors["velocity"]) < 1e-9


@pytest.mark.slow
def test_ring_of_a_hundred():
    system, state = ring(100)
    solution = tf.solve(tf.InitialValueProblem(system, state, (0, 0.2)), tf.MixedGalerkin(1), 40)
    assert solution.success and solution.errors()["configuration"] < 1e-9
