"""Tangents in groups of elements, against those that are there as a whole."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.errors import SingularMatrix
from timefem.problems.boundary.solver import BoundarySolver
from timefem.solvers.equations import distributed as grouped
from timefem.solvers.equations.distributed import GroupedEquations, Limits
from timefem.solvers.linear.time_chain import condensed_lu as condensation

WHOLE, IN_GROUPS = Limits(entries=10**12), Limits(entries=0, elements=20)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def equations(monkeypatch, limits, case, k, n=70):
    """The equations on n elements, and unknowns near a solution."""
    monkeypatch.setattr(grouped, "LIMITS", limits)
    problem = find_case(case).make()
    mesh = tf.TimeMesh(np.linspace(*problem.t_span, n + 1))
    solver = BoundarySolver(problem, tf.MixedGalerkin(k))
    x = solver.from_guess(mesh, solver._default_guess())
    made = solver.form.equations(mesh, x)
    assert isinstance(made, GroupedEquations) is (limits is IN_GROUPS)
    return made, made.take(x)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("case, k", [("reorientation", 2), ("pendulum-boundary", 1), ("pendulum-boundary", 3),
                                     ("pendulum-periodic", 2)])
def test_linear_algebra(case, k, inside, rng, monkeypatch):
    monkeypatch.setattr(condensation, "LIMITS", condensation.Limits(pays_from=0, most_plans=12 if inside else 0))
    whole, x = equations(monkeypatch, WHOLE, case, k)
    own, _ = equations(monkeypatch, IN_GROUPS, case, k)
    residual = whole.evaluate(x)
    np.testing.assert_allclose(own.evaluate(x), residual, rtol=0, atol=1e-14 * np.abs(residual).max())
    whole.factor()
    own.factor()
    n = whole.n_unknowns
    assert own.n_unknowns == n and len(own.pattern.groups) == 3
    for _ in range(2):
        b = rng.standard_normal(n)
        for transposed in (False, True):
            x, error = own.linear.solve_checked(b, transposed)
            expected, _ = whole.linear.solve_checked(b, transposed)
            assert error < 1e-13 and np.abs(x - expected).max() < 1e-11 * np.abs(expected).max()
        for name in ("multiply", "multiply_transposed"):
            expected = getattr(whole.linear, name)(b)
            assert np.abs(getattr(own.linear, name)(b) - expected).max() < 1e-14 * np.abs(expected).max()
    for transposed in (False, True):
        assert own.linear.norm(transposed) == pytest.approx(whole.linear.norm(transposed), rel=1e-14)


@pytest.mark.parametrize("case, k", [("reorientation", 2), ("pendulum-boundary", 2)])
def test_solutions_are_the_same(case, k, monkeypatch):
    found = []
    for limits in (WHOLE, IN_GROUPS):
        monkeypatch.setattr(grouped, "LIMITS", limits)
        sol = tf.solve(find_case(case).make(), tf.MixedGalerkin(k), 90, progress=False)
        assert sol.success and sol.statistics["backward_error"] < 1e-13
        found.append(sol.nodal.state)
    assert np.abs(found[0] - found[1]).max() < 1e-12 * np.abs(found[0]).max()


def test_unknown_numbers(monkeypatch):
    ball, found = tf.PointMass(1.0, dimension=1), []
    system = tf.System([ball, tf.Spring(ball, None, stiffness=1.0)])
    for limits in (WHOLE, IN_GROUPS):
        monkeypatch.setattr(grouped, "LIMITS", limits)
        problem = tf.BoundaryValueProblem(system, (0, 1.0), {ball: tf.EndState((0, 0, 0), velocity=(1, 0, 0))},
                                          {ball: tf.Pose((0.5, 0, 0))}, free_time=True)
        found.append(tf.solve(problem, tf.MixedGalerkin(3), 50, progress=False))
        assert found[-1].parameters["duration"] == pytest.approx(np.pi / 6, rel=1e-12)
    assert [sol.statistics["ordering"] for sol in found] == ["time", "time, in groups"]
    first, second = (sol.nodal.state for sol in found)
    assert np.abs(first - second).max() < 1e-12 * np.abs(first).max()


def test_singular(monkeypatch):
    own, x = equations(monkeypatch, IN_GROUPS, "pendulum-boundary", 2)
    own.evaluate(np.full_like(x, 0.0))
    with pytest.raises(SingularMatrix):
        own.factor()
