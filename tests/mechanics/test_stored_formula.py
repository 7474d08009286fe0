"""Formulas of bodies as plain data: the same values and derivatives, and refusals."""

import casadi as ca
import numpy as np
import pytest

from timefem.errors import InputError
from timefem.mechanics.formulas.stored import StoredFormula


def formula(q, v, c):
    return ca.vertcat(ca.sin(q[0]) * ca.exp(v[1]) / (1 + q[1]**2) + ca.fmax(q[0], c[0]) ** 3 - ca.sqrt(c[0] + 2),
                      ca.if_else(q[0] > v[0], ca.atan2(q[1], v[1]), 2 * v[0]), 3, q[1] ** c[0])


def stored():
    q, v, c = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("c", 1)
    return StoredFormula.of("it", ca.Function("f", [q, v, c], [formula(q, v, c)])), (q, v, c)


def test_the_same_values_and_derivatives():
    found, symbols = stored()
    again = StoredFormula(**found.data())
    for make in (lambda f: f, lambda f: ca.jacobian(f, ca.vertcat(*symbols))):
        expected, got = (ca.Function("f", list(symbols), [make(f(*symbols))]) for f in (formula, again))
        for x in np.random.default_rng(1).uniform(0.1, 2, (5, 5)):
            arguments = x[:2], x[2:4], x[4:]
            np.testing.assert_allclose(np.array(got(*arguments)), np.array(expected(*arguments)), rtol=1e-14, atol=0)


@pytest.mark.parametrize("change", [{"steps": [["SYSTEM", 0]]}, {"steps": [["INPUT", 5, 0]]}, {"results": [999]},
                                    {"steps": [["ADD", 0]]}, {"sizes": [2, 2, "a"]}])
def test_damaged_formulas(change):
    with pytest.raises(InputError, match="a formula in the file is damaged"):
        StoredFormula(**{**stored()[0].data(), **change})


def test_what_files_do_not_have():
    x = ca.SX.sym("x", 1)
    with pytest.raises(InputError, match="it has the operation remainder, which files cannot hold"):
        StoredFormula.of("it", ca.Function("f", [x], [ca.remainder(x, 2)]))
    with pytest.raises(InputError, match="it has the constant inf"):
        StoredFormula.of("it", ca.Function("f", [x], [x * ca.inf]))
