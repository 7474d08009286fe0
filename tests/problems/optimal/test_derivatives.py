"""Derivatives of a program, assembled straight to their places, against the tangent that they are parts of."""

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling, TimeMesh
from timefem.cases import CASES
from timefem.elements.evaluation.plan import ElementPlan
from timefem.problems.optimal.guesses.guess import first_guess
from timefem.problems.optimal.strategies.mesh_sequence import optimality_element
from timefem.problems.optimal.transcription.equations import OptimalityEquations
from timefem.problems.optimal.transcription.nonlinear_program import OptimalProgram


def program_of(name, element, n):
    """On elements of different lengths."""
    problem = CASES[name].make()
    optimality, system = optimality_element(problem, element)
    nodes = problem.t_span[0] + (problem.t_span[1] - problem.t_span[0]) * np.linspace(0, 1, n + 1)**1.3
    plan, mesh = ElementPlan(system, optimality), TimeMesh(nodes)
    chain = OptimalityEquations(problem, plan, mesh, Scaling.of("full", system, optimality, 0, problem.z0), "chain")
    return OptimalProgram(chain, first_guess(problem, plan, mesh, None))


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 8, 13])
@pytest.mark.parametrize("name, element", [
    ("cart-pole-limited", tf.MixedGalerkin(2)), ("cart-pole-limited", tf.BubnovGalerkin(1, drop="end")),
    ("robot-arm-time", tf.MixedGalerkin(1))], ids=["pole-mG", "pole-BG", "arm"])
def test_parts_of_the_tangent(name, element, n):
    program, rng = program_of(name, element, n), np.random.default_rng(n)
    chain, v, y = program.chain, *(rng.uniform(-0.3, 0.3, k) for k in (program.n, program.n_rows))
    y[program.n_equations:] = 0.0  # limits are not in the tangent
    program._derivatives._last[:] = program._derivatives._used[:] = np.nan
    hessian, jacobian = program.hessian(v, 1.0, y), program.jacobian(v)
    kept, elsewhere = (hessian.copy(), jacobian.copy()), v + 0.1
    program.expect(elsewhere, 1.0, 2 * y)
    residual, other = program.objective(elsewhere), program.rows(elsewhere)
    assert np.isfinite(residual) and np.abs(other).max() > 0
    assert np.array_equal(hessian, kept[0]) and np.array_equal(jacobian, kept[1])  # which last until others are used

    x = program.place(v, y[:program.n_equations])
    rows = chain.evaluate(x)
    assert np.array_equal(program.rows(v)[:program.n_equations], rows[program.dual])
    matrix, p = np.zeros((chain.n_unknowns, chain.n_unknowns)), chain.pattern
    matrix[np.repeat(np.arange(p.n_rows), np.diff(p.indptr)), p.indices] = chain.data
    first = len(program._equation_places[0])
    (a, b), (i, j) = program.hessian_places, program.jacobian_places
    in_chain = (a < program.n_chain) & (b < program.n_chain)
    np.testing.assert_array_equal(hessian[in_chain], matrix[program.primal[a[in_chain]], program.primal[b[in_chain]]])
    np.testing.assert_array_equal(jacobian[:first], matrix[program.dual[i[:first]], program.primal[j[:first]]])
    assert np.count_nonzero(hessian) > program.n_chain / 2 and np.count_nonzero(jacobian) > program.n_equations

    again = program.hessian(v, 2.0, 2 * y)  # asked for once more, and with another factor
    np.testing.assert_array_equal(again, 2 * kept[0])
    np.testing.assert_array_equal(program.hessian(v, 2.0, 2 * y), 2 * kept[0])
