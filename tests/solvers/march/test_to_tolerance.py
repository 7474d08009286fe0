"""Step-size control: the tolerance is met, and the result is an ordinary solution on its mesh."""

import ast
from dataclasses import fields
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES, find_case
from timefem.elements.energy_momentum import EML
from timefem.elements.rotation_schemes import NewmarkSO3, Zupan3
from timefem.solvers.march import step_control
from timefem.solvers.march.pilot import Pilot
from timefem.solvers.march.step_control import StepControl
from timefem.solvers.march.to_tolerance import _counts

pytestmark = pytest.mark.long

MANY_STEPS = ("nontwisting-2", "nontwisting-3")
WAVES = ("flexible-pendulum",)  # whose velocities are those of waves, which take 1e6 elements to resolve
UNRESOLVED = {("flying-beam", 3): 20}  # waves after the kink of the load, not resolved
LARGE = ("closed-chain", "closed-chain-10", "closed-chain-100", "right-angle-cantilever")


def relative_error(sol, exact):
    """Largest error of a solution at its nodes, relative to the size of the motion as `StepControl` defines it."""
    system, n = sol.system, sol.system.n_q
    root = np.sqrt(system.mass_scale)
    turns = np.concatenate([(np.arange(b.n_q) >= 3) & (b.n_q > 3) for b in system.bodies])
    velocity = exact[:, n:] / root
    change = np.abs(velocity - velocity[0])
    rate = np.abs(np.diff(velocity, axis=0)) / np.diff(sol.t)[:, None]
    v, a = (np.array([x[:, turns == b].max(initial=0) for b in (False, True)]) for x in (change, rate))
    v, a = np.maximum(v, 1e-3 * v.max()), np.maximum(a, 1e-3 * a.max())
    path, speed, d = (v**2 / a)[turns.astype(int)], v[turns.astype(int)], np.abs(sol.z - exact)
    return max((d[:, :n] * root / path).max(), (d[:, n:] / root / speed).max())


def reference(problem, sol, degree=4):
    """State at the nodes of a solution, on a mesh twice as fine."""
    middles = (sol.t[1:] + sol.t[:-1]) / 2
    return tf.solve(problem, tf.MixedGalerkin(degree), mesh=np.sort(np.concatenate([sol.t, middles]))).z[::2]


@pytest.mark.parametrize("name", ["spinning-box", "free-body", "physical-pendulum", "heavy-top", "nutating-top",
                                  "mass-spring", "spring-pendulum", "four-bar", "double-pendulum", "slider-crank",
                                  "rotation-ii"])
@pytest.mark.parametrize("degree, tolerance", [(2, 1e-4), (3, 1e-7)])
def test_tolerance_is_met(name, degree, tolerance):
    problem = find_case(name).make()
    sol = tf.solve(problem, tf.MixedGalerkin(degree), tolerance=tolerance)
    assert sol.success and sol.t[-1] == problem.t_span[1]
    assert relative_error(sol, reference(problem, sol)) < 10 * tolerance
    assert sol.statistics["n_elements"] == len(sol.t) - 1
    errors = sol.errors()
    assert max(errors["configuration"], errors["velocity"]) < 1e-9


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("place", [(0, 0, 0), (0.3, 0.2, 0.1), (1e3, 0, 2)])
def test_what_does_not_move_at_all(place, rotation):
    """Held by a weld, with forces that it carries: what moves is round-off, which has no error to be made small."""
    body = tf.RigidBody(1.1, (0.1, 0.2, 0.15), rotation, name="body")
    weld = tf.Weld(body, point_a=(0, 0, 0), point_b=place)
    spring = tf.Spring(body, point_a=(0.1, 0.2, 0.3), point_b=(-0.8, 1.1, 1.0), stiffness=1.6, length=0.27)
    system = tf.System([body, weld, spring], gravity=(1, 2, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, {body: tf.Pose(place)}, (0, 1)), tf.MixedGalerkin(2), tolerance=1e-6)
    assert sol.success and len(sol.t) < 50
    assert np.abs(sol.position(body, 1.0) - place).max() < 1e-15 * (1 + np.abs(place).max())


def test_what_moves_at_first_may_be_less_than_round_off():
    problem = find_case("right-angle-cantilever").make(t_end=0.02)  # a load that rises from zero, at a far node
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-2)
    assert sol.success and len(sol.t) < 1000
    assert relative_error(sol, reference(problem, sol, 3)) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("degree, tolerance", [(1, 1e-2), (2, 1e-3), (3, 1e-6)])
@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.kind == "initial"])
def test_tolerance_is_met_on_all_cases(name, degree, tolerance):
    if name in WAVES or (name in MANY_STEPS and degree == 1) or (name in LARGE and degree != 2):
        pytest.skip("minutes")
    problem = find_case(name).make()
    sol = tf.solve(problem, tf.MixedGalerkin(degree), tolerance=tolerance)
    exact = reference(problem, sol, degree + 1 if name in LARGE else 4)
    assert sol.success and relative_error(sol, exact) < UNRESOLVED.get((name, degree), 10) * tolerance


@pytest.mark.parametrize("degree, tolerance", [(1, 1e-2), (2, 1e-4), (3, 1e-7)])
def test_estimated_error_is_the_error(degree, tolerance):
    problem = find_case("spring-pendulum").make()
    sol = tf.solve(problem, tf.MixedGalerkin(degree), tolerance=tolerance)
    assert sol.statistics["estimated_error"] == pytest.approx(relative_error(sol, reference(problem, sol)), rel=0.5)


@pytest.mark.parametrize("name", ["four-bar", "slider-crank"])
def test_starts_from_rest(name):
    """mG(1) is in error by a tenth of a small motion from rest, however short its first elements are."""
    problem = find_case(name).make(t_end=0.05)
    sol = tf.solve(problem, tf.MixedGalerkin(1), tolerance=1e-2)
    assert sol.success and relative_error(sol, reference(problem, sol, degree=2)) < 0.1


def test_a_pilot_that_is_wrong_is_found_out(monkeypatch):
    problem = find_case("spring-pendulum").make()
    right = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-6)
    error = Pilot.error
    monkeypatch.setattr(Pilot, "error", lambda *arguments: error(*arguments) / 100)
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-6)
    assert len(right.statistics["meshes"]) == 1 and len(sol.statistics["meshes"]) == 2
    assert sol.statistics["estimated_error"] < 1e-6 and relative_error(sol, reference(problem, sol)) < 1e-5


@pytest.mark.parametrize("goal", [0.9, 1e-3, 1e-6])
def test_counts_are_enough_and_no_more(goal):
    shares = np.random.default_rng(5).exponential(size=50)
    shares /= shares.sum()
    counts, left = _counts(shares, goal, 4, 1e7)
    assert left == pytest.approx((shares * (2 / counts) ** 4).sum(), rel=1e-12) and left <= goal
    assert left > 0.5 * goal and counts.min() >= 2


@pytest.mark.parametrize("element, tolerance", [(Zupan3(), 1e-3), (Zupan3(), 1e-5), (NewmarkSO3(), 1e-2)])
def test_one_step_schemes(element, tolerance):
    problem = find_case("rotation-ii").make()
    sol = tf.solve(problem, element, tolerance=tolerance)
    error = relative_error(sol, reference(problem, sol))
    assert sol.success and tolerance / 100 < error < 10 * tolerance


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), Zupan3()])
def test_equals_a_march_on_its_mesh(element):
    problem = find_case("rotation-ii").make(t_end=5.0)
    sol = tf.solve(problem, element, tolerance=1e-4)
    again = tf.solve(problem, element, mesh=sol.t)
    np.testing.assert_allclose(sol.z, again.z, rtol=0, atol=1e-10)
    lengths = np.diff(sol.t)
    assert lengths.max() > 1.5 * lengths.min()


def drifting(velocity, position):
    body = tf.RigidBody(1, (6, 8, 3))
    state = {body: tf.Pose(position=position, velocity=velocity, angular_velocity=(1, 2, 2))}
    return tf.InitialValueProblem(tf.System([body]), state, (0, 5))


def test_drift_changes_no_step():
    at_rest, far_away = (tf.solve(drifting(v, x), tf.MixedGalerkin(2), tolerance=1e-6)
                         for v, x in (((0, 0, 0), (0, 0, 0)), ((100, 0, 0), (1e6, 0, 0))))
    assert len(at_rest.t) == pytest.approx(len(far_away.t), rel=0.1)
    rotations = [sol.z[-1, 3:7] for sol in (at_rest, far_away)]
    np.testing.assert_allclose(*rotations, rtol=0, atol=1e-5)


def test_nodes_at_kinks():
    body = tf.RigidBody(2, (5, 4, 2))
    system = tf.System([body, tf.Torque(body, (1, 2, 0), time=tf.TrianglePulse(0.71, 1.03, 1.37, 30.0))])
    problem = tf.InitialValueProblem(system, {body: tf.Pose()}, (0, 3))
    sol = tf.solve(problem, tf.MixedGalerkin(3), tolerance=1e-8)
    assert sol.success and set(system.kinks) <= set(sol.t)
    assert relative_error(sol, reference(problem, sol)) < 1e-7
    pulse = (sol.t[:-1] >= 0.71) & (sol.t[:-1] < 1.37)
    lengths = np.diff(sol.t)
    assert lengths[pulse].max() < 0.5 * lengths[~pulse].max()  # the body is at rest before the pulse


def test_limits_of_the_step():
    problem = find_case("free-body").make()
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=StepControl(1e-3, max_step=0.004))
    assert sol.success and np.diff(sol.t).max() < 0.004 * (1 + 1e-9)
    failed = tf.solve(problem, tf.MixedGalerkin(1), tolerance=StepControl(1e-8, min_step=0.02))
    assert not failed.success and failed.status.reason == "step too small"
    assert "would be needed" in failed.status.message and len(failed.t) == failed.status.element + 1


@pytest.mark.parametrize("arguments, message", [
    ({"tolerance": 1e-6, "n_elements": 5}, "n_elements is given"), ({"tolerance": -1.0}, "tolerance"),
    ({"tolerance": 1e-15}, "between"), ({"tolerance": 1e-6, "driver": "windows"}, "driver is given")])
def test_input_is_checked(arguments, message):
    with pytest.raises(tf.InputError, match=message):
        tf.solve(find_case("free-body").make(), tf.MixedGalerkin(2), **arguments)


def test_elements_without_an_estimate():
    with pytest.raises(tf.InputError, match="cannot be marched"):
        tf.solve(find_case("free-body").make(), tf.BubnovGalerkin(3), tolerance=1e-6)
    with pytest.raises(tf.InputError, match="local error is not known"):
        tf.solve(find_case("heavy-top").make(), EML(), tolerance=1e-3)
    with pytest.raises(tf.InputError, match="larger than max_step"):
        StepControl(1e-6, min_step=1.0, max_step=0.1)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
@pytest.mark.parametrize("place, power", [(0.5, 2), (0.41, 2), (0.41, 1), (0.41, 1.5)])
def test_singular_loads_end_soon(place, power, tolerance, monkeypatch):
    """Where no mesh is fine enough, the place is named, and what was solved before is kept."""
    monkeypatch.setattr("timefem.problems.initial.problem.check_integrable", lambda *_: None)
    body = tf.PointMass(1.0)
    load = tf.Force(body, [1, 0, 0], time=tf.Formula(lambda t: 1 / ca.fabs(t - place) ** power))
    problem = tf.InitialValueProblem(tf.System([body, load]), {body: tf.Pose()}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=tolerance, progress=False)
    assert sol.status.reason == "step too small"
    assert max(sol.statistics["meshes"], default=0) < 1_000_000
    assert len(sol.t) == sol.status.element + 1
    assert place - 0.11 < sol.status.time < place + 1e-3  # a pair may end a little behind it
    assert f"at t = {sol.status.time:g} " in sol.status.message


def test_not_accurate_on_the_last_mesh():
    control = StepControl(1e-4, options={"most_meshes": 1, "aim": 100.0})
    sol = tf.solve(find_case("spring-pendulum").make(), tf.MixedGalerkin(1), tolerance=control)
    assert sol.status.reason == "not accurate"
    assert "the estimated error is" in sol.status.message


def test_options_of_the_march():
    """They change the meshes, not the accuracy; each is read, and what is none is refused."""
    problem = find_case("physical-pendulum").make()
    swing = [tf.solve(problem, tf.MixedGalerkin(2), progress=False, tolerance=StepControl(1e-6, options=options))
             for options in ({}, {"aim": 0.05})]
    assert [sol.statistics["estimated_error"] <= 1e-6 for sol in swing] == [True, True]
    assert swing[1].statistics["n_elements"] > 1.2 * swing[0].statistics["n_elements"]
    folder = Path(step_control.__file__).parent
    read = {node.attr for name in ("pilot", "to_tolerance") for node in ast.walk(ast.parse(
        (folder / f"{name}.py").read_text())) if isinstance(node, ast.Attribute)}
    assert [f.name for f in fields(tf.MarchOptions) if f.name not in read] == []
    with pytest.raises(TypeError, match="did you mean 'aim'"):
        StepControl(1e-6, options={"aims": 0.1})
    with pytest.raises(tf.InputError, match="MarchOptions or a dict"):
        StepControl(1e-6, options=0.1)
