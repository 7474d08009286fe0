"""Kernels with and without assembly: the same numbers, whatever the width and the number of registers."""

import itertools

import casadi as ca
import numpy as np
import pytest

from timefem.kernels import compile as compile_module
from timefem.kernels import emit_ir
from timefem.kernels.machine import fingerprint, has_assembly

FORMS = [(1, 40, 14, False), (2, 40, 2, False), (4, 1000, 7, False), (8, 40, 30, False)]
if has_assembly():
    FORMS += [(width, 40, 14, True) for width in (1, 4, 8) if width < 8 or "+avx512f" in fingerprint()]


@pytest.fixture(params=FORMS, ids=str)
def compiled(request, monkeypatch):
    """A function's kernel: vectors of a width, operations per piece, registers, and whether in assembly."""
    width, piece, registers, assembly = request.param
    monkeypatch.setattr("timefem.kernels.emit.PIECE", piece)
    monkeypatch.setattr("timefem.kernels.emit.SHORT", 0)
    for name, value in (("vector_width", width), ("registers", registers), ("has_assembly", assembly)):
        monkeypatch.setattr(compile_module, name, lambda value=value: value)
    return lambda function: compile_module.compile_kernel(function, "llvm")


@pytest.mark.long
def test_long_kernels(compiled):
    """Values that pieces share, or that have no register, go through memory: the same numbers, up to the fused
    operations."""
    x = ca.SX.sym("x", 3)
    values = [x[0], x[1], x[2], ca.SX(0.25)]
    rng = np.random.default_rng(3)
    for _ in range(600):
        a, b = (values[int(i)] for i in rng.integers(0, len(values), 2))
        values.append([a * b / 4, a + b / 2, ca.sin(a) - b, ca.fmax(a, b), b - a * (b / 8), (a - b) / (2 + a * a), -a,
                       ca.sqrt(1 + a * a), ca.if_else(ca.floor(a), b, 0)][rng.integers(9)])
    function = ca.Function("f", [x], [ca.densify(ca.vertcat(*values[::3], 0.5, x[1]))])
    points = rng.normal(size=(20, 3))
    wanted = np.array(function(points.T)).T
    kernel = compiled(function)
    for lanes in (False, True):
        np.testing.assert_allclose(kernel(points, lanes), wanted, rtol=1e-12, atol=1e-12)


def test_products_in_sums(compiled):
    """Each sign, with operands that are needed again or not, that stand in memory, and that are the same."""
    x = ca.SX.sym("x", 4)
    outputs = []
    for a, b, c in itertools.product([x[0], x[1], x[2] + x[3]], repeat=3):
        outputs += [a * b + c, c + a * b, a * b - c, c - a * b, a * a - b * c, a * b + b * c]
    points = np.random.default_rng(4).normal(size=(9, 4))
    for chosen in (outputs, outputs[::-1], *([o] for o in outputs[::7])):
        function = ca.Function("f", [x], [ca.vertcat(*chosen)])
        wanted = np.array(function(points.T)).T
        scale = 1e-15 * (1 + np.abs(points).sum(axis=1)[:, None]) ** 2
        kernel = compiled(function)
        for lanes in (False, True):
            assert np.all(np.abs(kernel(points, lanes) - wanted) <= scale)


def test_products_are_fused_where_they_are_used_once(monkeypatch):
    monkeypatch.setattr("timefem.kernels.emit.SHORT", 0)
    x = ca.SX.sym("x", 3)
    once = ca.Function("f", [x], [ca.vertcat(x[0] * x[1] + x[2], x[0] - x[1] ** 2, x[1] * x[2] - x[0])])
    text = emit_ir(once, "f", 8, 4, assembly=True)
    assert [text.count(name) for name in ("vfmadd", "vfnmadd", "vfmsub", "vmul", "vadd", "vsub")] == [1, 1, 1, 0, 0, 0]
    product = x[0] * x[1]
    twice = emit_ir(ca.Function("f", [x], [ca.vertcat(product + x[2], product)]), "f", 8, 4, assembly=True)
    assert "vfmadd" not in twice and twice.count("vmul") == 1


def test_conditions(compiled):
    """y where x is not zero, of either sign, and NaN counts as true; operands in memory, needed again or not."""
    x = ca.SX.sym("x", 3)
    where = ca.if_else(x[0], x[1], 0, True)
    again = ca.if_else(x[2] + x[0], x[1] * x[2], 0, True)
    function = ca.Function("f", [x], [ca.vertcat(where, where + x[1], again, x[0])])
    points = np.array([[0, 2, 3], [-0.0, 2, -0.0], [1e-300, -2, 1], [np.nan, 5, 1], [-1, np.inf, 1]])
    wanted = np.array([[0.0, 2.0, 6.0, 0.0], [0.0, 2.0, 0.0, 0.0], [-2.0, -4.0, -2.0, 0.0], [5.0, 10.0, 5.0, np.nan],
                       [np.inf, np.inf, 0.0, -1.0]])
    for lanes in (False, True):
        np.testing.assert_allclose(compiled(function)(points, lanes), wanted, rtol=0, atol=1e-299)


def test_short_runs_are_left_to_llvm():
    x = ca.SX.sym("x", 2)
    value = x[0]
    for _ in range(20):
        value = ca.sin(value * x[1] + x[0])
    assert "module asm" not in emit_ir(ca.Function("f", [x], [value]), "f", 8, 8, assembly=True)


@pytest.mark.parametrize("assembly", [False, True])
def test_divisions_by_one_value_share_its_inverse(monkeypatch, assembly):
    monkeypatch.setattr("timefem.kernels.emit.SHORT", 0)
    x = ca.SX.sym("x", 3)
    shared = ca.Function("f", [x], [ca.vertcat(x[0] / x[2], x[1] / x[2], 1 / x[2])])
    single = ca.Function("f", [x], [ca.vertcat(x[0] / x[2], x[1] / x[0], x[2] / x[1])])
    word = "vdiv" if assembly else "fdiv"
    assert [emit_ir(f, "f", 8, 4, assembly=assembly).count(word) for f in (shared, single)] == [1, 3]


def test_values_of_shared_inverses(compiled):
    x = ca.SX.sym("x", 3)
    square = ca.sumsqr(x)
    function = ca.Function("f", [x], [ca.vertcat(x / square, 1 / square, ca.sin(x[0]) / square, x[0] / x[1])])
    points = np.array([[1.0, 2.0, -3.0], [1e-8, 3e5, 0.7], [-0.0, 4.0, 1e9]])
    for lanes in (False, True):
        np.testing.assert_allclose(compiled(function)(points, lanes), [np.ravel(function(p)) for p in points],
                                   rtol=5e-16, atol=0)
