"""Sizes of the terms that make up values: by a formula, and at numbers, are the same."""

import casadi as ca
import numpy as np
import pytest

from timefem.cases import find_case
from timefem.mechanics.formulas.stored import sizes_at, terms_of
from timefem.mechanics.states.consistent_multipliers import norms_of_terms
from timefem.mechanics.values.evaluate import quantities_at

FORMULAS = {
    "sums": lambda x, y: [x + y, x - y - 3, -x, 2 - 2 * x],
    "products": lambda x, y: [x * y, x**2 * y - x, x / y, 1 / (x - y), x**3.5],
    "functions": lambda x, y: [ca.sin(x) - ca.cos(y), ca.sqrt(x * x + y * y) - x, ca.atan2(x - y, y), ca.exp(x) - 1,
                               ca.fmax(x, y) - y, ca.if_else(x > y, x, 2 * y), ca.log1p(y)],
    "constants": lambda x, y: [ca.SX(3.0), ca.SX(0.0), x],
}


@pytest.mark.parametrize("which", FORMULAS)
def test_at_numbers_as_by_a_formula(which):
    z, c = ca.SX.sym("z", 1), ca.SX.sym("c", 1)
    values = ca.densify(ca.vertcat(*FORMULAS[which](z, c)))
    numbers = np.array([[1.5, 0.25], [1.0, 3.0], [2.0, 2.0], [0.0, 1.0]])
    found = sizes_at(ca.Function("f", [z, c], [values]), numbers[:, :1], numbers[:, 1:])
    by_formula = ca.Function("terms", [z, c], [ca.densify(terms_of(values))])
    expected = np.hstack([np.asarray(by_formula(*row)) for row in numbers]).T
    assert found.shape == (4, values.numel())
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    at_numbers = np.hstack([np.asarray(ca.Function("f", [z, c], [values])(*row)) for row in numbers]).T
    finite = np.isfinite(at_numbers)
    assert np.all(found[finite] >= np.abs(at_numbers[finite]))


def test_of_gradients_of_constraints():
    """Terms of a row are no smaller than the row, and zero where it has none."""
    problem = find_case("four-bar").make()
    system, z = problem.system, problem.z0
    gradient, = quantities_at(system, np.zeros(1), z[None], "position gradient")
    rows = np.linalg.norm(gradient.dense()[0], axis=1)
    sizes = norms_of_terms(system, 0.0, z, np.ones(system.n_q))
    assert len(rows) == len(sizes) == system.n_constraints
    assert np.all(sizes >= rows * (1 - 1e-15)) and np.all(sizes < 100 * rows)
    again = norms_of_terms(system, 0.0, z, np.ones(system.n_q))  # by formulas
    np.testing.assert_allclose(again, sizes, rtol=1e-14)
