"""Every operation, and random programs of them, against CasADi's virtual machine: scalar form and 8 lanes."""

import itertools
import operator
import re

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timefem.kernels import compile_kernel, emit_ir
from timefem.kernels import operations as operations_module

ULP = np.finfo(float).eps
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 2.0, -3.0, 0.5, -0.5, 1e-310, 1e300, -1e300]

# operation -> an expression that CasADi writes with it
UNARY = {
    "ASSIGN": lambda x: x, "NEG": lambda x: -x, "SQ": lambda x: x * x, "TWICE": lambda x: 2 * x,
    "INV": lambda x: 1 / x, "CONSTPOW": lambda x: ca.constpow(x, 2.5), "NOT": ca.logic_not, "SQRT": ca.sqrt,
    "EXP": ca.exp, "LOG": ca.log, "LOG1P": ca.log1p, "EXPM1": ca.expm1, "ERF": ca.erf, "SIGN": ca.sign,
    "FLOOR": ca.floor, "CEIL": ca.ceil, "FABS": ca.fabs, "SIN": ca.sin, "COS": ca.cos, "TAN": ca.tan,
    "ASIN": ca.asin, "ACOS": ca.acos, "ATAN": ca.atan, "SINH": ca.sinh, "COSH": ca.cosh, "TANH": ca.tanh,
    "ASINH": ca.asinh, "ACOSH": ca.acosh, "ATANH": ca.atanh,
}
BINARY = {
    "ADD": operator.add, "SUB": operator.sub, "MUL": operator.mul, "DIV": operator.truediv,
    "POW": operator.pow, "LT": operator.lt, "LE": operator.le, "EQ": operator.eq, "NE": operator.ne,
    "AND": ca.logic_and, "OR": ca.logic_or, "FMIN": ca.fmin, "FMAX": ca.fmax,
    "IF_ELSE_ZERO": lambda x, y: ca.if_else(x, y, 0), "COPYSIGN": ca.copysign, "FMOD": ca.fmod,
    "REMAINDER": ca.remainder, "ATAN2": ca.atan2, "HYPOT": ca.hypot,
}


def same(got, wanted, ulps, scale=0.0):
    """Equal to some ulp of the value (or of `scale`, where terms cancel); NaN and infinity exactly."""
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(got[~finite], wanted[~finite])
    allowed = ulps * ULP * np.maximum(np.abs(wanted[finite]), scale) + np.finfo(float).tiny
    assert np.all(np.abs(got[finite] - wanted[finite]) <= allowed)


def reference(function, x):
    return np.array(function.map(len(x))(x.T)).T  # x: shape (n_points, n_in)


def operations_of(function):
    names = {getattr(ca, name): name[3:] for name in dir(ca) if name.startswith("OP_")}
    return {names[function.instruction_id(k)] for k in range(function.n_instructions())}


def test_every_supported_operation_is_tested():
    # LIFT cannot be written from Python; CONST, INPUT and OUTPUT occur in the others
    assert operations_module.SUPPORTED == UNARY.keys() | BINARY.keys() | {"LIFT", "CONST", "INPUT", "OUTPUT"}


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_operation(name, lanes):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function("f", [ca.vertcat(x, y)], [UNARY[name](x) if name in UNARY else BINARY[name](x, y)])
    assert name == "ASSIGN" or name in operations_of(function)
    rng = np.random.default_rng(0)
    points = np.concatenate([list(itertools.product(SPECIAL, SPECIAL)), 3 * rng.standard_normal((60, 2)),
                             rng.integers(-5, 6, (30, 2)), rng.uniform(0, 1, (30, 2))])
    wanted = reference(function, points)
    got = compile_kernel(function, "llvm")(points, lanes)
    same(got, wanted, ulps=2)
    zero = wanted == 0
    if name not in ("FMIN", "FMAX"):  # which zero is the smaller one is left open by C
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize("lanes", [False, True])
def test_not_a_number_does_not_leak_from_the_branch_not_taken(lanes):
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [ca.if_else(x > 0, ca.log(x), -1)])
    got = compile_kernel(function, "llvm")([[-2.0], [0.0], [1.0]], lanes)
    np.testing.assert_array_equal(got, [[-1.0], [-1.0], [0.0]])


def test_fast_math_flags():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    outputs = [write(x) for write in UNARY.values()] + [write(x, y) for write in BINARY.values()]
    text = emit_ir(ca.Function("f", [ca.vertcat(x, y)], [ca.vertcat(*outputs)]), "f", 1)
    flags = re.findall(r" = f(?:add|sub|mul|div|neg)((?: [a-z]+)*) double", text)
    assert set(flags) == {"", " contract", " arcp"}


STEP = st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 30), st.integers(0, 30))


def program(steps):
    """A function of 3 variables and of a constant, step by step; it returns every value on the way."""
    x = ca.SX.sym("x", 3)
    values = [*ca.vertsplit(x), ca.SX(2.5)]
    for name, i, j in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        value = UNARY[name](a) if name in UNARY else BINARY[name](a, b)
        if name in ("FMIN", "FMAX"):
            value = ca.if_else(value, value, 0)  # makes -0 and 0 one, see test_operation
        values.append(value)
    return ca.Function("program", [x], [ca.densify(ca.vertcat(*values[::-1]))])


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(STEP, min_size=1, max_size=30))
def test_random_programs_without_fused_multiply_add(unfused, steps):
    """Bit by bit: a rounding would grow without bound through these programs, so none may differ."""
    function = program(steps)
    points = np.concatenate([np.random.default_rng(1).normal(size=(10, 3)), [[0, -0.0, 1], [-2, 3, np.inf]]])
    wanted = reference(function, points)
    kernel = compile_kernel(function, "llvm")
    for lanes in (False, True):
        np.testing.assert_array_equal(kernel(points, lanes), wanted)


@pytest.fixture(scope="module")
def unfused():
    """Take the fast-math flags out of what is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timefem.kernels.compile.emit_ir",
                      lambda *a: emit_ir(*a).replace(" contract", "").replace(" arcp", ""))
        yield


POLYNOMIAL = ["ADD", "MUL", "SQ", "SUB", "TWICE", "NEG"]


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.sampled_from(POLYNOMIAL), st.integers(0, 20), st.integers(0, 20)), min_size=1,
                max_size=12))
def test_random_polynomials_with_fused_multiply_add(steps):
    """Against the rounding bound: the same polynomial with all signs plus, of the absolute values."""
    positive = {"SUB": "ADD", "NEG": "ASSIGN"}
    function = program(steps)
    bound = program([(positive.get(name, name), i, j) for name, i, j in steps])
    points = np.random.default_rng(2).normal(size=(11, 3))
    wanted, scale = reference(function, points), reference(bound, np.abs(points))
    keep = np.isfinite(scale)
    kernel = compile_kernel(function, "llvm")
    for lanes in (False, True):
        got = kernel(points, lanes)
        # each step rounds once, and a product at most doubles the relative error
        same(got[keep], wanted[keep], ulps=2.0 ** len(steps) * 4, scale=scale[keep])
