"""Formulas as text: the values of the same formula in CasADi, what is written of a function, and what is refused."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError
from timefem.mechanics.formulas.stored import PLAIN, StoredFormula, _derived
from timefem.mechanics.formulas.text import TextFormula, as_formula, text_of

X, V, T, C = ca.SX.sym("x", 3), ca.SX.sym("v", 3), ca.SX.sym("t"), ca.SX.sym("c", 2)
NAMES = "x", "v", "t", "c"
PAIRS = [
    ("-c[0] * (x[0] - 0.5) - c[1] * v[0]", lambda x, v, t, c: -c[0] * (x[0] - 0.5) - c[1] * v[0]),
    ("c[0] * x + v**2 / 3", lambda x, v, t, c: c[0] * x + v**2 / 3),
    ("dot(cross(x, v), [1, 2, 3]) @ pi", lambda x, v, t, c: ca.dot(ca.cross(x, v), ca.DM([1, 2, 3])) * ca.pi),
    ("a = sin(x[0])\n b = a * t\n [b, a**c[1] if a > 0 and not t < 0 else -a, max(a, b)]",
     lambda x, v, t, c: ca.vertcat(ca.sin(x[0]) * t, ca.if_else(ca.sin(x[0]) > 0, ca.sin(x[0])**c[1], -ca.sin(x[0])),
                                   ca.fmax(ca.sin(x[0]), ca.sin(x[0]) * t))),
    ("norm(x[:2]) + sumsqr(v[1:]) + sum(x) + x.T @ v", lambda x, v, t, c: ca.norm_2(x[:2]) + ca.sumsqr(v[1:]) +
     ca.sum1(x) + ca.dot(x, v)),
    ("if_else(x[-1] <= v[0], tanh(t), atan2(x[0], 1e-3)) + abs(min(x[0], v[0]))",
     lambda x, v, t, c: ca.if_else(x[2] <= v[0], ca.tanh(t), ca.atan2(x[0], 1e-3)) + ca.fabs(ca.fmin(x[0], v[0]))),
]


def values(f, seed):
    value = f(X, V, T, C)
    value = ca.vertcat(*value) if isinstance(value, list) else value
    rng = np.random.default_rng(seed)
    at = rng.normal(size=3), rng.normal(size=3), rng.uniform(0, 1), rng.uniform(1, 2, 2)
    return np.array(ca.Function("f", [X, V, T, C], [ca.densify(value)])(*at)).ravel()


@pytest.mark.parametrize(("text", "function"), PAIRS)
def test_values_and_what_is_written(text, function):
    read = TextFormula(text, NAMES)
    entries = ca.vertsplit(ca.SX(function(X, V, T, C)))
    again = TextFormula(text_of("f", entries, {"x": X, "v": V, "t": T, "c": C}), NAMES)
    for seed in range(5):
        expected = values(function, seed)
        np.testing.assert_allclose(values(read, seed), expected, rtol=1e-15)
        np.testing.assert_allclose(values(again, seed), expected, rtol=1e-15)


@pytest.mark.parametrize(("text", "message"), [
    ("__import__('os')", "unknown name '__import__'"), ("x.__class__", "has no '__class__'"),
    ("(lambda: 1)()", "is not a function"), ("[i for i in x]", "unknown name"), ("x[9]", "out of bounds"),
    ("x[t]", "is not an integer"), ("x[0", "cannot be read"),
    ("a = 1\nb", "unknown name 'b'"), ("a = 1", "must end with"),
    ("import os\nx", "must be name = expression"), ("'a' + x", "is not a number"), ("sinn(x)", "did you mean 'sin'"),
    ("sin(x, v, t)", "cannot be evaluated"), ("sin(z=x)", "unknown name 'z'|take no keyword"),
    ("x if", "cannot be read"), ("(" * 300 + "1" + ")" * 300, "cannot be read"), ("x // v", "not allowed in formulas"),
    ("1 < x < 2", "not a comparison"),
    ("x.position", "has no 'position'"), ("f'{x}'", "not allowed in formulas"),
    ("x[0:1:0]", "cannot be evaluated|zero"),
])
def test_what_is_refused(text, message):
    with pytest.raises(tf.InputError, match=message):
        TextFormula(text, NAMES)(X, V, T, C)


def test_other_things_are_no_formulas():
    for wrong in (3, None, ["x[0]", None], []):
        with pytest.raises(tf.InputError, match=r"it: |it must be"):
            as_formula("it", wrong, NAMES)


def test_equal_texts_share_their_kernels():
    bead = tf.PointMass(1.0)
    first, second, other = (tf.FormulaForce(bead, text, [1.0]) for text in ("c[0] * f[0].velocity",) * 2 +
                            ("-c[0] * f[0].velocity",))
    assert first.kind == second.kind != other.kind


def test_infinite_numbers_have_no_text():
    with pytest.raises(tf.InputError, match="has the constant inf"):
        text_of("it", [X[0] * ca.inf], {"x": X})


# ---- formulas of bodies as plain data: the same values and derivatives, and refusals

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


@pytest.mark.parametrize("operation", PLAIN)
def test_sizes_of_sums_and_products_are_those_by_slopes(operation):
    given = [ca.SX.sym("x") for _ in range(1 if operation in (ca.OP_SQ, ca.OP_NEG) else 2)]
    sizes = [ca.SX.sym("size") for _ in given]
    value, slopes = _derived(operation, len(given))
    size = sum(ca.fabs(slope) * own for slope, own in zip(slopes.call(given), sizes, strict=True))
    both = ca.Function("both", [*given, *sizes], [*PLAIN[operation](*given, *sizes), *value.call(given), size])
    found, of_found, expected, of_expected = both(*[-1.5, 0.7][:len(given)], *[2.0, 3.0][:len(given)])
    assert float(found) == float(expected) and float(of_found) == pytest.approx(float(of_expected), rel=1e-15)
