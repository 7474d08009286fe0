"""Methods for nonlinear programs, on small programs with known solutions."""

import numpy as np
import pytest

from timefem.errors import InputError
from timefem.solvers.nonlinear.callbacks import Centred
from timefem.solvers.nonlinear.ipopt import Ipopt
from timefem.solvers.nonlinear.program import (
    CARRIER,
    LIMIT,
    METHODS,
    MOTION,
    NonlinearProgram,
    Row,
    method_for_inequalities,
    optimality_error,
)


class Hs071(NonlinearProgram):
    """Hock & Schittkowski's problem 71: `min a d (a + b + c) + c`, `a b c d >= 25`, `|v|^2 = 40`, `1 <= v <= 5`."""

    n, n_rows = 4, 2
    row_bounds = np.array([25.0, 40.0]), np.array([np.inf, 40.0])
    variable_blocks, row_blocks = np.zeros(4, int), np.zeros(2, int)
    jacobian_places = np.repeat([0, 1], 4), np.tile(np.arange(4), 2)
    hessian_places = np.triu_indices(4)

    def __init__(self, start=(1.0, 5, 5, 1), upper=5.0):
        self.start, self.bounds, self.iterations = np.array(start), (np.full(4, 1.0), np.full(4, upper)), 0

    def objective(self, v):
        return v[0] * v[3] * v[:3].sum() + v[2]

    def gradient(self, v):
        a, b, c, d = v
        return np.array([d * (2 * a + b + c), a * d, a * d + 1, a * (a + b + c)])

    def rows(self, v):
        return np.array([v.prod(), v @ v])

    def jacobian(self, v):
        return np.concatenate([v.prod() / v, 2 * v])

    def hessian(self, v, factor, multipliers):
        a, b, c, d = v
        of_cost = np.zeros((4, 4))
        of_cost[0] = 2 * d, d, d, 2 * a + b + c
        of_cost[1:3, 3] = a
        of_product = v.prod() / np.outer(v, v)
        np.fill_diagonal(of_product, 0)
        return (factor * of_cost + multipliers[0] * of_product + multipliers[1] * 2 * np.eye(4))[self.hessian_places]

    def describe(self, i):
        return Row(("the product", "the length")[i], 0, 0.5)

    def on_iteration(self, residual=None):
        self.iterations += 1
        self.told = residual


@pytest.mark.parametrize("name", [name for name, cls in METHODS.items() if not getattr(cls, "needs_chain", False)])
def test_a_program_with_known_solution(name):
    program = Hs071()
    answer = METHODS[name]().solve(program)
    assert answer.status.success and answer.iterations <= program.iterations + 1 <= 30
    np.testing.assert_allclose(answer.v, [1, 4.742999643, 3.821149978, 1.379408293], rtol=0, atol=1e-7)
    assert program.objective(answer.v) == pytest.approx(17.0140172891, rel=2e-8)  # bounds are relaxed by 1e-8
    matrix = np.zeros((2, 4))
    matrix[program.jacobian_places] = program.jacobian(answer.v)
    stationary = program.gradient(answer.v) + matrix.T @ answer.multipliers - answer.bound_multipliers
    np.testing.assert_allclose(stationary, 0, rtol=0, atol=1e-6)
    assert answer.bound_multipliers[0] > 1 and np.abs(answer.bound_multipliers[1:]).max() < 1e-6


@pytest.mark.parametrize("name", [name for name, cls in METHODS.items() if not getattr(cls, "needs_chain", False)])
def test_an_infeasible_program_names_the_row(name):
    """|v|^2 = 40 cannot be with v <= 3."""
    answer = METHODS[name]().solve(Hs071((1.5, 2, 2, 1.5), upper=3.0))
    assert not answer.status.success and answer.status.reason == "not found"
    assert "the length at t = 0.5 stays violated by 4" in answer.status.message


def test_no_step_leads_to_where_rows_are_no_numbers():
    """The sum of violations that are no numbers was none, and so the best there is."""
    class WithAnEdge(Hs071):
        refused = 0

        def rows(self, v):
            outside = v @ v > 60
            self.refused += outside
            return super().rows(v) + (np.nan if outside else 0.0)

    program = WithAnEdge((1.2, 1.2, 1.2, 1.2), upper=50.0)
    answer = METHODS["interior-point"]().solve(program)
    assert answer.status.success and program.refused
    np.testing.assert_allclose(answer.v, [1, 4.742999643, 3.821149978, 1.379408293], rtol=0, atol=1e-7)


@pytest.mark.parametrize("role, told", [
    (LIMIT, "; the length at t = 0.5 stays violated by 4"),
    (MOTION, "; the length at t = 0.5 stays violated by 4 of its size; the prescribed conditions hold, but not the"),
    (CARRIER, "[interior point; the prescribed conditions hold, but not the motion with these bounds; the "),
])
def test_equations_that_only_pass_a_number_on_are_not_named(role, told):
    class WithRoles(Hs071):
        roles = np.array([LIMIT, role])

    program = WithRoles((1.5, 2, 2, 1.5), upper=3.0)
    message = METHODS["interior-point"]().solve(program).status.message
    assert told in message and ("the length" in message) == (role != CARRIER)


def test_how_far_from_optimal():
    """By multipliers of rows alone: nothing at the solution, and at the point of a barrier about its parameter."""
    program = Hs071()
    answer = Ipopt().solve(program)
    assert optimality_error(program, answer.v, 1.0, answer.multipliers) < 1e-6
    assert program.told < 1e-4  # the last that progress heard of
    for size in (1e-1, 1e-3):
        assert optimality_error(program, answer.v + [0, size, 0, 0], 1.0, answer.multipliers) > size / 10
    for mu in (1e-2, 1e-4):
        loose = Ipopt(options={"mu_strategy": "monotone", "mu_target": mu}).solve(Hs071())
        assert mu / 2 < optimality_error(program, loose.v, 1.0, loose.multipliers) < 2 * mu


def test_a_program_around_a_point_near_its_solution():
    """On the central path all slacks and multipliers of bounds are 1; derivatives by differences; the way back."""
    mu, program = 1e-5, Hs071()
    near = Ipopt(options={"mu_strategy": "monotone", "mu_target": mu, "bound_relax_factor": 0.0}).solve(program)
    centred = Centred(program, near.v, near.multipliers, near.bound_multipliers, mu)
    assert centred.n == 5 and centred.factor == pytest.approx(1 / mu)
    size = np.abs(centred.start[[0, 4]])  # of the bound of a, and of the product, which hold them
    np.testing.assert_allclose(size, 1, rtol=0, atol=0.1)
    w, y, (i, j) = centred.start + 0.1, np.array([0.3, -0.7]), centred.hessian_places
    jacobian, step = np.zeros((2, 5)), 1e-6 * np.eye(5)
    jacobian[centred.jacobian_places] = centred.jacobian(w)
    hessian = np.zeros((5, 5))
    hessian[i, j] = hessian[j, i] = centred.hessian(w, 1.0, y)

    def slopes(function):
        return np.array([(function(w + h) - function(w - h)) / 2e-6 for h in step])

    def lagrangian(w):
        matrix = np.zeros((2, 5))
        matrix[centred.jacobian_places] = centred.jacobian(w)
        return centred.gradient(w) + matrix.T @ y

    np.testing.assert_allclose(slopes(centred.objective), centred.gradient(w), rtol=1e-6, atol=1e-2)
    np.testing.assert_allclose(slopes(centred.rows).T, jacobian, rtol=0, atol=1e-7)
    np.testing.assert_allclose(slopes(lagrangian), hessian, rtol=1e-5, atol=1e-3)
    found = Ipopt(1e-8).solve(centred)
    answer = centred.answer(found)
    assert answer.v == pytest.approx([1, 4.742999643, 3.821149978, 1.379408293], abs=1e-6)
    assert optimality_error(program, answer.v, 1.0, answer.multipliers) < 1e-6
    assert answer.bound_multipliers[0] > 1 and np.abs(answer.bound_multipliers[1:]).max() < 1e-6


def test_methods_by_name():
    assert [method_for_inequalities(name).name for name in METHODS] == list(METHODS)
    assert method_for_inequalities("ipopt") == Ipopt() and method_for_inequalities(Ipopt(1e-6)).tolerance == 1e-6
    with pytest.raises(InputError, match="'ipopt' or Ipopt"):
        method_for_inequalities("simplex")
    with pytest.raises(InputError, match="max_iterations"):
        Ipopt(max_iterations=0)
