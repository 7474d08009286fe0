"""Kernels: both backends, both forms, the body in quaternions, degenerate sizes, errors."""

import ctypes
import subprocess
import sys
import time

import casadi as ca
import numpy as np
import pytest

from timefem.errors import InputError
from timefem.kernels import LANES, UnsupportedOperation, compile_kernel

BACKENDS = ["llvm", "vm"]
FORMS = [False, True]


def quaternion_body():
    """Gradient and Hessian of the kinetic energy 1/8 p.Q(q) J^-1 Q(q)^T p with respect to q and p.

    The inverse inertia J^-1 (diagonal, 4 entries) is the last part of the input.
    """
    x = ca.SX.sym("x", 12)
    q, p, inverse_inertia = x[:4], x[4:8], x[8:]
    left = ca.vertcat(ca.horzcat(q[0], -q[1], -q[2], -q[3]), ca.horzcat(q[1], q[0], -q[3], q[2]),
                      ca.horzcat(q[2], q[3], q[0], -q[1]), ca.horzcat(q[3], -q[2], q[1], q[0]))
    spin = left.T @ p
    hessian, gradient = ca.hessian(ca.dot(spin, inverse_inertia * spin) / 8, x[:8])
    return ca.Function("body", [x], [ca.densify(ca.vertcat(gradient, ca.vec(hessian)))])


def pendulum():
    x = ca.SX.sym("x", 3)
    energy = x[1] ** 2 / (2 * x[2]) - x[2] * ca.cos(x[0]) + ca.if_else(x[0] > 0, ca.sqrt(ca.fabs(x[0])), 0)
    return ca.Function("pendulum", [x], [ca.densify(ca.vertcat(energy, ca.gradient(energy, x[:2])))])


def reference(function, x):
    return np.array(function.map(len(x))(x.T)).T


@pytest.mark.parametrize("lanes", FORMS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("build", [pendulum, quaternion_body])
def test_values(build, backend, lanes):
    function = build()
    kernel = compile_kernel(function, backend)
    points = np.random.default_rng(0).uniform(0.5, 2, (3 * LANES + 1, kernel.n_in))
    got, wanted = kernel(points, lanes), reference(function, points)
    assert got.shape == (3 * LANES + 1, kernel.n_out)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-14 * np.abs(wanted).max())


def test_gradient_and_hessian_of_the_body_against_differences_and_symmetry():
    kernel = compile_kernel(quaternion_body(), "llvm")
    x = np.random.default_rng(3).uniform(0.5, 1, 12)
    step = 1e-6 * np.eye(12)[:8]
    hessian = kernel(x)[8:].reshape(8, 8)
    np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=1e-15)
    differences = (kernel(x + step) - kernel(x - step))[:, :8] / 2e-6
    np.testing.assert_allclose(hessian, differences, rtol=0, atol=1e-9)


@pytest.mark.parametrize("lanes", FORMS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_of_the_input_unused_or_empty_and_constant_outputs(backend, lanes):
    empty = ca.SX.sym("empty", 0)
    x = ca.vertcat(ca.SX.sym("q", 2), empty, ca.SX.sym("unused", 3))
    function = ca.Function("f", [x], [ca.densify(ca.vertcat(ca.SX(1, 1), x[1], -2.5, ca.inf))])
    kernel = compile_kernel(function, backend)
    np.testing.assert_array_equal(kernel(np.arange(5.0), lanes), [0, 1, -2.5, np.inf])
    nothing = compile_kernel(ca.Function("g", [empty], [ca.SX([7, 8])]), backend)
    np.testing.assert_array_equal(nothing(np.zeros((2, 0)), lanes), [[7, 8], [7, 8]])
    silent = compile_kernel(ca.Function("h", [x], [ca.SX(0, 1)]), backend)
    assert silent(np.zeros((3, 5)), lanes).shape == (3, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_shapes_of_the_points(backend):
    kernel = compile_kernel(pendulum(), backend)
    x = np.random.default_rng(1).uniform(1, 2, (2, 5, 3))
    assert kernel(x).shape == (2, 5, kernel.n_out) and kernel(x[:0], lanes=True).shape == (0, 5, kernel.n_out)
    np.testing.assert_array_equal(kernel(x)[1, 2], kernel(x[1, 2]))
    np.testing.assert_array_equal(kernel(np.asfortranarray(x)), kernel(x))
    with pytest.raises(InputError, match=r"\(\.\.\., 3\), not \(2,\)"):
        kernel([1.0, 2.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_addresses_write_what_they_own_and_need_no_alignment(backend):
    kernel = compile_kernel(pendulum(), backend)
    for address, width in ((kernel.address, 1), (kernel.address_lanes, LANES)):
        for offset in range(LANES):
            given = np.ones(kernel.n_in * width + LANES)
            out = np.full(kernel.n_out * width + 2 * LANES, -7.0)
            call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
            call(given[offset:].ctypes.data, out[offset:].ctypes.data)
            written = slice(offset, offset + kernel.n_out * width)
            np.testing.assert_array_equal(np.delete(out, written), -7.0)
            expected = np.repeat(kernel(np.ones(3), lanes=width > 1), width)
            np.testing.assert_array_equal(out[written], expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_lanes_alone_are_as_all(backend):
    kernel, outs = compile_kernel(pendulum(), backend), []
    given = np.random.default_rng(0).uniform(0.5, 2, kernel.n_in * LANES)
    for address in (kernel.address_lanes, kernel.address_first):
        outs.append(np.full((kernel.n_out, LANES), -7.0))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(given.ctypes.data, outs[-1].ctypes.data)
    np.testing.assert_array_equal(*(out[:, :4] for out in outs))
    for column in (outs[1] == np.where(outs[1] == -7.0, -7.0, outs[0])).T[4:]:  # worked on, or left alone
        assert column.all()


def test_forms_are_compiled_when_asked_for():
    kernel = compile_kernel(pendulum(), "llvm")
    assert "address" not in vars(kernel) and "address_lanes" not in vars(kernel)
    assert kernel.address == kernel.address
    assert "address_lanes" not in vars(kernel)
    assert kernel.n_instructions == kernel.function.n_instructions()


def test_backend_is_taken_from_the_environment(monkeypatch):
    for name in BACKENDS:
        monkeypatch.setenv("TIMEFEM_KERNELS", name)
        assert compile_kernel(pendulum()).backend == name
    monkeypatch.delenv("TIMEFEM_KERNELS")
    assert compile_kernel(pendulum()).backend == "llvm"
    monkeypatch.setenv("TIMEFEM_KERNELS", "gcc")
    with pytest.raises(ValueError, match="TIMEFEM_KERNELS must be one of 'llvm', 'vm', not 'gcc'"):
        compile_kernel(pendulum())
    with pytest.raises(ValueError, match="backend must be one of"):
        compile_kernel(pendulum(), "gcc")


def test_an_operation_without_template_is_named_and_runs_in_the_virtual_machine():
    x = ca.SX.sym("x", 2)
    function = ca.Function("f", [x], [ca.erfinv(x[0]) + x[1]])
    with pytest.raises(UnsupportedOperation, match=r"ERFINV.*TIMEFEM_KERNELS=vm"):
        compile_kernel(function, "llvm")
    kernel = compile_kernel(function, "vm")
    np.testing.assert_array_equal(kernel([0.5, 1.0]), np.array(function([0.5, 1.0])).ravel())


def test_signature_errors():
    x, y, matrix = ca.SX.sym("x", 2), ca.SX.sym("y"), ca.SX.sym("m", 2, 2)
    symbol = ca.MX.sym("x", 2)
    for function, message in [
        (ca.Function("f", [x, y], [x]), "2 inputs and 1 outputs; concatenate"),
        (ca.Function("f", [matrix], [matrix[:, 0]]), r"the input .* casadi.vec"),
        (ca.Function("f", [x], [ca.vertcat(x[0], ca.SX(1, 1))]), r"the output .* casadi.densify"),
        (ca.Function("f", [x], [x + y], {"allow_free": True}), r"free variables.*y"),
        (ca.Function("f", [symbol], [ca.sin(symbol)]), r"MXFunction.*expand"),
    ]:
        with pytest.raises(InputError, match=message):
            compile_kernel(function, "llvm")
    compile_kernel(ca.Function("f", [symbol], [ca.sin(symbol)]), "vm")


def test_import_is_cheap():
    heavy = "{'casadi', 'numba', 'llvmlite'}"
    code = f"import sys, timefem.kernels; assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_report_the_cost_of_the_body_kernel():
    """For information only (pytest -s): nothing is asserted about time."""
    from numba import njit

    from timefem.kernels.lanes import call_kernel

    @njit
    def loop(address, x, y, n):
        for _ in range(n):
            call_kernel(address, x, 0, y, 0)

    compile_kernel(pendulum(), "llvm")(np.ones(3))  # starts LLVM
    kernel = compile_kernel(quaternion_body(), "llvm")
    x, y = np.ones(kernel.n_in * LANES), np.empty(kernel.n_out * LANES)
    for form, width in (("address", 1), ("address_lanes", LANES)):
        start = time.perf_counter()
        address = getattr(kernel, form)
        compiled = time.perf_counter()
        loop(address, x, y, 1)
        n_calls = 100_000
        begin = time.perf_counter()
        loop(address, x, y, n_calls)
        cost = (time.perf_counter() - begin) / n_calls * 1e9
        print(f"{kernel.n_instructions} instructions, {width} lanes: compiled in "
              f"{1e3 * (compiled - start):.1f} ms, {cost:.0f} ns per call, {cost / width:.0f} per evaluation")
