"""One kernel per kind."""

import casadi as ca
import pytest

from timefem.kernels import cached_kernel, compile_count


def build():
    x = ca.SX.sym("x", 2)
    return ca.Function("f", [x], [x * x])


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    monkeypatch.setattr("timefem.kernels.cache._kernels", {})


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
