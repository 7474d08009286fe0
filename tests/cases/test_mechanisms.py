"""Cases of several bodies: published states, energy after the load, long runs."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from tests.example_systems import ROTATIONS, reference
from timefem.cases import find_case
from timefem.cases.mechanisms import ring
from timefem.mechanics.bodies import rotations
from timefem.mechanics.states.redundancy import redundant_constraints
from timefem.models import load_model


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


# ---- A six-axis arm in joint coordinates in least time, with limits of torques, rates and angles

TORQUES, RATE, ANGLE = np.array([60, 80, 50, 15, 10, 5.0]), 3.0, 2.5


@pytest.mark.long
def test_least_time_with_torque_rate_and_joint_limits():
    model = load_model(find_case("six-axis-arm").path)
    own = model.solve(progress=False)
    assert own.success
    share = np.abs(own.controls(own.t)) / TORQUES
    assert share.max() == pytest.approx(1, abs=1e-6)
    assert (share.max(axis=1) > 0.999).mean() > 0.8  # nearly always one motor is at its limit
    assert np.abs(own.z[:, :6]).max() <= ANGLE + 1e-6
    rates = np.stack([own.joint(f"joint {i}").rate(own.t) for i in range(6)])
    assert np.abs(rates).max() <= RATE + 1e-6


# ---- the slider-crank against an ordinary differential equation in the angle of the crank

CRANK, ROD, RADIUS, DENSITY, G = 0.3, 0.5, 0.02, 7850.0, 9.81


def slider(x):
    """Place of the slider at the crank angle x, measured from the vertical about e1."""
    return -CRANK * np.sin(x) + np.sqrt(ROD**2 - (CRANK * np.cos(x)) ** 2)


def inertia(x):
    """M(x) of T = 1/2 M xdot^2, of complex x as well."""
    def mass(length):
        return DENSITY * np.pi * RADIUS**2 * length

    def across(length):
        return mass(length) * (3 * RADIUS**2 + length**2) / 12

    s, c = np.sin(x), np.cos(x)
    root = np.sqrt(ROD**2 - (CRANK * c) ** 2)
    of_slider = -CRANK * c + CRANK**2 * s * c / root
    of_rod = np.array([(-CRANK * c + of_slider) / 2, -CRANK * s / 2])
    turn = CRANK * s / root  # of the rod, sin(angle) = CRANK / ROD cos(x)
    return (across(CRANK) + mass(CRANK) * CRANK**2 / 4 + mass(ROD) * (of_rod**2).sum() + across(ROD) * turn**2
            + DENSITY * 0.1 * 0.1 * 0.05 * of_slider**2)


def rate(t, y):
    """Lagrange's equation; M' by a complex step."""
    x, v = y
    slope = inertia(x + 1e-30j).imag / 1e-30
    weight = DENSITY * np.pi * RADIUS**2 * (CRANK + ROD) * G * CRANK / 2  # times cos(x): both centres at half height
    return [v, (-40 * t + weight * np.sin(x) - slope * v**2 / 2) / inertia(x)]


def test_slider_crank_against_the_equation_of_its_crank():
    times = np.linspace(0, 1, 11)
    expected = solve_ivp(rate, (0, 1), [0.0, 0.0], "DOP853", times, rtol=1e-13, atol=1e-13).y
    assert expected[0, -1] < -4 * np.pi  # two turns
    problem = find_case("slider-crank").make()
    sol = tf.solve(problem, tf.MixedGalerkin(4), 400)
    np.testing.assert_allclose(sol.position("slider", times)[:, 1], slider(expected[0]), rtol=0, atol=1e-8)
    r = sol.rotation_matrix("crank", times)
    np.testing.assert_allclose(r[:, 2, 2], np.cos(expected[0]), rtol=0, atol=1e-8)
    np.testing.assert_allclose(r[:, 2, 1], np.sin(expected[0]), rtol=0, atol=1e-8)
    np.testing.assert_allclose(sol.angular_velocity("crank", times)[:, 0], expected[1], rtol=0, atol=1e-7)
    assert sol.errors()["energy"] < 1e-11
