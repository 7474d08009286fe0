"""Gebhardt & Romero: the non-twisting frame, by the energy-momentum scheme and by discrete Lagrange-d'Alembert."""

import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem import DLA, NonTwistingEM
from timefem.cases import find_case
from timefem.cases.nonholonomic import non_twisting
from timefem.studies import quotient_of_precision

pytestmark = pytest.mark.long

DATA = Path(__file__).parents[1] / "data"
SCHEMES = [NonTwistingEM(), DLA()]
MOMENTUM = 20.571428571428573, -72.85714285714286, 0.0
ENERGY = 717.4285714285714


def reference_states(number, t_end):
    states = json.loads((DATA / f"nontwisting_{number}.json").read_text())["states"]
    return [s for s in states if 0 < s["t"] <= t_end]


def case_1(a=0.5, t_end=5.0, rotation="directors"):
    return tf.InitialValueProblem(*non_twisting((6, -18), a=a, rotation=rotation), (0, t_end))


def body_momentum(sol):
    """Angular momentum in body axes at the nodes."""
    return np.einsum("tij,ti->tj", sol.rotation_matrix("frame", sol.t), sol.angular_momentum())


@pytest.mark.parametrize("rotation", ["directors", "quaternion"])
@pytest.mark.parametrize("a", [0.0, 0.5, 1.0])
def test_case_1_conserves_energy_and_two_momenta(a, rotation):
    sol = tf.solve(case_1(a, rotation=rotation), NonTwistingEM(), 1000)
    momentum = body_momentum(sol)
    assert momentum[0] == pytest.approx(MOMENTUM, rel=0, abs=1e-12)
    # the constraint holds for means of neighbouring nodes: rounding of a step, 2e-13, stays with alternating sign, and
    # that of all steps adds up at random
    error = momentum - momentum[0]
    assert np.abs(error[1:, 2] + error[:-1, 2]).max() < 5e-15 * np.abs(MOMENTUM).max()
    assert np.abs(error).max() < 1e-13 * np.abs(MOMENTUM).max()
    assert sol.energy()[0] == pytest.approx(ENERGY, rel=0, abs=1e-11)
    assert np.abs(sol.energy() - ENERGY).max() < 2e-11  # 3e-14 of it
    # the momentum in space is not conserved: this is no standard rigid body
    assert np.abs(np.diff(sol.angular_momentum(), axis=0)).max() > 1e-2


def test_a_does_not_change_the_motion():
    ends = [tf.solve(case_1(a, 1.0), NonTwistingEM(), 200).z[-1] for a in (0, 0.5, 1)]
    assert np.abs(np.subtract(ends[1:], ends[0])).max() < 1e-10


def test_lagrange_dalembert():
    problem = case_1(t_end=5.0)
    sol = tf.solve(problem, DLA(), 1000)
    assert np.abs(body_momentum(sol) - MOMENTUM).max() < 5e-12
    frame, = problem.system.bodies
    rate = np.diff(sol.z[:, 3:12], axis=0) / 0.005
    d = rate.reshape(-1, 3, 3)
    energy = np.einsum("ij,nia,nja->n", frame.euler_tensor, d, d) / 2
    assert energy == pytest.approx(719.050, rel=0, abs=5e-4)
    assert np.ptp(energy) < 1e-9  # hundreds of steps repeat the same turn
    # at the nodes the momenta hold both kinds of constraints, and the energy is that of the motion
    assert np.abs(sol.energy() - ENERGY).max() < 1e-10
    assert np.abs(sol.system.nonholonomic(sol.t, sol.z)).max() < 1e-12


@pytest.mark.parametrize("element, quotient", [(NonTwistingEM(), 3.995), (DLA(), 4.015)])
def test_quotient_of_precision_of_case_1(element, quotient):
    study = quotient_of_precision(case_1(), element, 1000)
    assert study.h == pytest.approx(0.005)
    assert np.median(study.quotients) == pytest.approx(quotient, abs=1e-3)
    assert study.quotient == pytest.approx(quotient, abs=1.5e-3)
    assert study.order == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize("element", SCHEMES, ids=lambda e: e.name)
@pytest.mark.parametrize("number", [2, 3])
def test_quotient_of_precision_under_load(number, element):
    problem = find_case(f"nontwisting-{number}").make(t_end=1.0)
    study = quotient_of_precision(problem, element, 4000)
    assert study.h == pytest.approx(2.5e-4)
    assert study.quotient == pytest.approx(4, rel=0.02)
    assert study.quotients == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize("number, n_elements, caps", [(1, 800, (2e-12, 1e-12)), (2, 10000, (2e-10, 2e-12)),
                                                     (3, 10000, (4e-12, 2e-12))])  # 2.4e-12 on some processors
def test_reference_states(number, n_elements, caps):
    """mG(3) on the nonholonomic system reaches the exact motion."""
    problem = find_case(f"nontwisting-{number}").make(t_end=1.0)
    sol = tf.solve(problem, tf.MixedGalerkin(3), n_elements)
    states = reference_states(number, 1.0)
    assert len(states) >= 1
    for s in states:
        assert np.abs(sol.rotation_matrix("frame", s["t"]) - s["R"]).max() < caps[0]
        omega = np.array(s["W"])
        assert np.abs(sol.angular_velocity("frame", s["t"]) - omega).max() < caps[1] * max(1, np.abs(omega).max())
    assert np.abs(sol.energy.balance()).max() < 1e-11 * sol.energy().max()


@pytest.mark.parametrize("element", SCHEMES, ids=lambda e: e.name)
def test_reference_states_by_the_schemes(element):
    """Second order towards the exact motion of case 1."""
    s, = (s for s in reference_states(1, 0.5) if s["t"] == 0.5)
    errors = [np.abs(tf.solve(case_1(t_end=0.5), element, n).rotation_matrix("frame", 0.5) - s["R"]).max()
              for n in (100, 200, 400)]
    assert errors[0] < 0.02
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("element", SCHEMES, ids=lambda e: e.name)
def test_marched_windowed_and_global_are_equal(element):
    problem = find_case("nontwisting-3").make(t_end=0.2)
    marched = tf.solve(problem, element, 200)
    for driver in ("windows", "global"):
        other = tf.solve(problem, element, 200, driver=driver)
        assert other.success
        assert np.abs(other.z - marched.z).max() < 1e-9 * np.abs(marched.z).max()
        times = marched.t[:-1] + 0.0005
        assert other.field("nonholonomic", times) == pytest.approx(marched.field("nonholonomic", times), rel=1e-7,
                                                                   abs=1e-5)
