"""Cases of several bodies: published states, energy after the load, long runs."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, reference
from timefem.cases import find_case
from timefem.cases.mechanisms import ring
from timefem.mechanics.bodies import rotations
from timefem.mechanics.redundancy.redundancy import redundant_constraints


@pytest.mark.long
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_four_bar_reaches_the_reference(rotation):
    problem = find_case("four-bar").make(rotation)
    solution = tf.solve(problem, tf.MixedGalerkin(3), 400)  # the kinks of the pulse are nodes
    for state in reference("closed_loop")["states"]:
        for body, expected in zip(problem.system.bodies, state["bodies"], strict=True):
            t = state["t"]
            np.testing.assert_allclose(solution.position(body, t), expected["phi"], rtol=0, atol=1e-8)
            np.testing.assert_allclose(solution.velocity(body, t), expected["v"], rtol=0, atol=1e-7)
            r = rotations.matrix_from_quaternion(np.array(expected["q"]))
            np.testing.assert_allclose(solution.rotation_matrix(body, t), r, rtol=0, atol=1e-8)
            np.testing.assert_allclose(solution.angular_velocity(body, t), expected["Omega"], rtol=0, atol=1e-7)
    errors = solution.errors()
    assert max(errors["configuration"], errors["velocity"]) <= 1e-10
    after = solution.energy()[solution.t > 1 + 1e-9]
    assert np.abs(after - after[0]).max() <= 1e-10 * after[0]
    assert errors["energy"] <= 1e-9 * after[0]  # the balance with the work of the load


@pytest.mark.long
@pytest.mark.parametrize("name", ["double-pendulum", "closed-chain"])
def test_rotations_agree(name):
    finals = []
    for rotation in ROTATIONS:
        problem = find_case(name).make(rotation, t_end=0.5)
        solution = tf.solve(problem, tf.MixedGalerkin(4), 60)
        assert solution.errors()["energy"] < 1e-9
        finals.append([solution.position(b, 0.5) for b in problem.system.bodies])
    np.testing.assert_allclose(*finals, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["closed-chain-4", "closed-chain-10"])
def test_rings_of_other_lengths(name):
    problem = find_case(name).make(t_end=0.5)
    assert redundant_constraints(problem.system, 0.0, problem.z0) == []
    solution = tf.solve(problem, tf.MixedGalerkin(2), 50)
    assert solution.success
    errors = solution.errors()
    assert errors["energy"] < 1e-6 and max(errors["configuration"], errors["velocity"]) < 1e-10


def test_a_ring_in_one_line_is_singular():
    """Along the line the bars can only stretch, which the joints around the ring forbid once too often."""
    system, state = ring(4)
    folded, corner = {}, 0.0
    for bar, step in zip(state, (1, 1, -1, -1), strict=True):
        folded[bar] = tf.Pose(position=(0, corner + step / 2, 0), orientation=np.diag([1.0, step, step]))
        corner += step
    problem = tf.InitialValueProblem(system, folded, (0, 1))
    assert len(redundant_constraints(system, 0.0, problem.z0)) == 1


@pytest.mark.slow
def test_closed_chain_runs_long_without_drift():
    """100 s with the case's own element length and degree."""
    case = find_case("closed-chain")
    solution = tf.solve(case.make(t_end=100.0), tf.MixedGalerkin(2), 10 * case.n_elements)
    assert solution.success
    errors = solution.errors()
    assert max(errors["configuration"], errors["velocity"]) <= 1e-10
    assert errors["energy"] < 1e-10


@pytest.mark.slow
def test_ring_of_a_hundred():
    case = find_case("closed-chain-100")
    solution = tf.solve(case.make(), tf.MixedGalerkin(2), case.n_elements)
    assert solution.success
    errors = solution.errors()
    assert errors["energy"] < 1e-8 and max(errors["configuration"], errors["velocity"]) < 1e-10
