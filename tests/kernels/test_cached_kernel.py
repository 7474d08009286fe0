"""One kernel per kind."""

import gc
import weakref

import casadi as ca
import pytest

from timefem.kernels import cached_kernel, compile_count
from timefem.uncollected import Recent


def build():
    x = ca.SX.sym("x", 2)
    return ca.Function("f", [x], [x * x])


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    monkeypatch.setattr("timefem.kernels.cache._kernels", weakref.WeakValueDictionary())
    monkeypatch.setattr("timefem.kernels.cache._recent", Recent(3))
    monkeypatch.setattr("timefem.kernels.cache._n_made", 0)


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
