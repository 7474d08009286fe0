"""Calling kernels by address from Numba code."""

import gc
import os
import subprocess
import sys
import textwrap
import weakref

import casadi as ca
import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from timefem.kernels import LANES, cached_kernel, compile_count, compile_kernel
from timefem.kernels.lanes import call_kernel
from timefem.memory import Recent


@njit
def every_point(address, n_in, n_out, n_points, x, y):
    for i in range(n_points):
        call_kernel(address, x, i * n_in, y, i * n_out)


def product(n):
    x = ca.SX.sym("x", n)
    return ca.Function("product", [x], [ca.vertcat(ca.sin(x[0]) * x[-1], x[0] + n)])


@pytest.mark.parametrize("backend", ["llvm", "vm"])
def test_one_loop_serves_every_kernel(backend):
    for n in (2, 3):
        kernel = compile_kernel(product(n), backend)
        x = np.random.default_rng(n).normal(size=(6, n))
        y = np.empty((6, 2))
        every_point(kernel.address, n, 2, 6, x.ravel(), y.ravel())
        np.testing.assert_array_equal(y, kernel(x))
    assert len(every_point.signatures) == 1


@pytest.mark.parametrize("backend", ["llvm", "vm"])
def test_lanes(backend):
    kernel = compile_kernel(product(2), backend)
    x = np.random.default_rng(0).normal(size=(3, 2, LANES))  # 3 blocks, arrays of structures of 8
    y = np.empty((3, 2, LANES))
    every_point(kernel.address_lanes, 2 * LANES, 2 * LANES, 3, x.ravel(), y.ravel())
    np.testing.assert_array_equal(y.swapaxes(1, 2), kernel(x.swapaxes(1, 2), lanes=True))


def test_stores_of_the_kernel_are_seen_by_the_loop():
    @njit
    def iterate(address, x, n):
        y = np.zeros(2)
        for _ in range(n):
            call_kernel(address, x, 0, y, 0)
            x[0], x[1] = y[1], y[0]
        return y

    kernel = compile_kernel(product(2))
    x = np.array([0.3, 0.7])
    for _ in range(4):
        y = kernel(x)
        x = y[::-1]
    np.testing.assert_array_equal(iterate(kernel.address, np.array([0.3, 0.7]), 4), y)


@pytest.mark.parametrize("x", [np.zeros((2, 2)), np.zeros(4)[::2], np.zeros(4, np.float32), 1.0])
def test_arrays_that_a_kernel_cannot_read_are_refused(x):
    with pytest.raises(TypingError, match="C-contiguous one-dimensional float64"):
        every_point(0, 1, 1, 0, x, np.zeros(4))


def test_other_types_are_refused():
    x, frozen = np.zeros(4), np.zeros(4)
    frozen.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        every_point(0, 1, 1, 0, x, frozen)
    with pytest.raises(TypingError, match="integer address"):
        every_point(0.5, 1, 1, 0, x, x)


def test_a_loop_is_cached_on_disk_and_serves_another_process(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text(textwrap.dedent("""
        import sys
        import casadi as ca
        import numpy as np
        from numba import njit
        from timefem.kernels import compile_kernel
        from timefem.kernels.lanes import call_kernel

        @njit(cache=True)
        def once(address, x, y):
            call_kernel(address, x, 0, y, 0)

        s = ca.SX.sym("s", 2)
        kernel = compile_kernel(ca.Function("f", [s], [float(sys.argv[1]) * s]))
        y = np.zeros(2)
        once(kernel.address, np.array([1.0, 2.0]), y)
        print(y.tolist(), sum(once.stats.cache_hits.values()))
    """))
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}
    for factor, hits in ((3, 0), (5, 1)):
        done = subprocess.run([sys.executable, str(script), str(factor)], env=environment, check=True,
                              capture_output=True, text=True)
        assert done.stdout.split("\n")[0] == f"[{factor}.0, {2 * factor}.0] {hits}"


# ---- one kernel per kind

def build():
    x = ca.SX.sym("x", 2)
    return ca.Function("f", [x], [x * x])


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    monkeypatch.setattr("timefem.kernels.compile._kernels", weakref.WeakValueDictionary())
    monkeypatch.setattr("timefem.kernels.compile._recent", Recent(3))
    monkeypatch.setattr("timefem.kernels.compile._n_made", 0)


def test_two_of_one_kind_compile_one_kernel():
    first = cached_kernel(("square", 2), build)
    second = cached_kernel(("square", 2), lambda: pytest.fail("built twice"))
    assert first is second and compile_count() == 1
    assert cached_kernel(("square", 3), build) is not first and compile_count() == 2


def test_the_backend_is_part_of_the_key(monkeypatch):
    monkeypatch.setenv("TIMEFEM_KERNELS", "llvm")
    first = cached_kernel("square", build)
    monkeypatch.setenv("TIMEFEM_KERNELS", "vm")
    assert cached_kernel("square", build).backend == "vm" and first.backend == "llvm"


def test_a_failure_is_not_kept():
    def wrong():
        raise RuntimeError("no such part")

    with pytest.raises(RuntimeError):
        cached_kernel("square", wrong)
    assert compile_count() == 0


@pytest.mark.long
def test_kernels_that_nobody_has_are_forgotten():
    """But for those used last, and those in use: a process that solves many systems does not grow by them."""
    held = cached_kernel(0, build)
    for key in range(1, 9):
        cached_kernel(key, build)
    cached_kernel(6, lambda: pytest.fail("built twice"))
    gc.collect()
    assert cached_kernel(0, build) is held and compile_count() == 9
    cached_kernel(6, lambda: pytest.fail("built twice"))
    cached_kernel(1, build)
    assert compile_count() == 10
    assert held([1.0, 3.0]).tolist() == [1.0, 9.0]


def test_a_function_that_was_forgotten_is_built_again(monkeypatch):
    monkeypatch.setattr("timefem.kernels.compile._FUNCTIONS", Recent(1))
    kernels = [cached_kernel(key, build) for key in range(2)]
    for kernel in (*kernels, *kernels):
        assert kernel.function([2.0, 3.0]).full().ravel().tolist() == [4.0, 9.0]


def test_what_was_used_last_is_kept():
    store = Recent(2)
    for key in "aba":
        store.of(key, lambda key=key: 2 * key)
    store["c"] = "cc"
    assert dict(store) == {"a": "aa", "c": "cc"} and "b" not in store
    with pytest.raises(KeyError):
        store["b"]
