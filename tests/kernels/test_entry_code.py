"""Calls of compiled loops from Python: the same as those of the functions themselves."""

import sys
import threading

import numpy as np
import pytest
from numba import typeof

from timefem.kernels.loading.arguments import described
from timefem.kernels.loops import compiled
from timefem.kernels.record import Record


class Pair(Record):
    x: np.ndarray
    n: int


@compiled()
def total(x, factor, flag, pair, record, nothing):
    value = pair[1] + record.n + record.x[0]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            value += (i + 2 * j) * x[i, j] * factor
    return value if flag else -value


@compiled()
def doubled(x):
    for i in range(len(x)):
        x[i] *= 2
    return len(x)


@compiled()
def made(x, n):
    out = x.copy()
    out[0] += n
    return out, n, n > 2, out.sum(), np.zeros((2, n), np.int32)


@compiled()
def nested(n):
    return (n, (2.5, (np.ones(n), n > 2)), ()), (n,)


@compiled()
def alone(n):
    return np.arange(n)


@compiled()
def number_or_none(n):
    return n if n > 0 else None


@compiled()
def behind_first(x):
    return x[1:]


@compiled()
def inverse(n):
    return 1 / n


@compiled(nogil=True, error_model="numpy")
def long_sum(n):
    value = 0.0
    for k in range(n):
        value = value / 3 + k
    return value


def frozen(x):
    x.flags.writeable = False
    return x


C = np.arange(6.0).reshape(2, 3)
MATRICES = [C, C.T, C[:, ::2], frozen(C.copy()), C.astype(np.float32), C.astype(int), C[:0], C > 2, C.view(np.recarray)]
RECORD = Pair(np.array([0.5]), 3)
NAMED = [*MATRICES[:-1], 1, 2.5, True, None, RECORD, (C, C), (1, 2.0), (C, (1, None))]


@pytest.mark.parametrize("x", MATRICES, ids=range(len(MATRICES)))
def test_arguments_of_every_type(x):
    for factor in (2.5, np.float64(2.5), np.float32(0.5), 3, np.int32(3), True):
        for flag in (True, np.bool_(False)):
            given = x, factor, flag, (C, 7), RECORD, None
            assert total(*given) == total.py_func(*given)


@pytest.mark.parametrize("x", NAMED, ids=range(len(NAMED)))
def test_types_have_the_names_that_numba_has(x):
    """By which those that call a loop find what was compiled for Python, and the other way round."""
    assert described(x)[1] == str(typeof(x))


def test_arrays_are_those_of_the_caller():
    for x in (np.arange(3.0), np.arange(6)[::2], np.arange(3, dtype=np.dtype(float).newbyteorder("=")), np.ones(0)):
        expected = 2 * x
        assert doubled(x) == len(x)
        np.testing.assert_array_equal(x, expected)


def test_results():
    x = np.arange(3.0)
    for n in (1, 4):
        got, expected = made(x, n), made.py_func(x, n)
        assert [type(value) for value in got[1:4]] == [int, bool, float]
        assert got[1:4] == expected[1:4]
        for one, other in zip(got[::4], expected[::4], strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
            assert one.flags.owndata
            counts = [sys.getrefcount(x) for x in (one, other)]
            assert counts[0] == counts[1]
    assert str(nested(3)) == str(nested.py_func(3)) == "((3, (2.5, (array([1., 1., 1.]), True)), ()), (3,))"
    np.testing.assert_array_equal(alone(4), np.arange(4))
    assert alone(0).shape == (0,)


def test_nothing_is_kept():
    given = C, 2.5, True, (C, 7), RECORD, None
    things = [*given, given[3], RECORD.kind, RECORD.address, C.dtype]
    total(*given), made(C[0], 3)
    before = [sys.getrefcount(thing) for thing in things]
    for _ in range(1000):
        total(*given), made(C[0], 3)
    assert np.all(np.abs(np.subtract([sys.getrefcount(thing) for thing in things], before)) < 100)


def test_what_cannot_be_taken():
    with pytest.raises(TypeError, match="not str"):
        doubled("x")
    with pytest.raises(TypeError):
        doubled()
    assert inverse(4) == 0.25
    with pytest.raises(OverflowError):
        inverse(2**70)
    with pytest.raises(TypeError, match="number_or_none cannot be called from Python"):
        number_or_none(1)
    with pytest.raises(RuntimeError, match="a part of one"):
        behind_first(C[0])
    with pytest.raises(RuntimeError, match="inverse failed"):
        inverse(0)


@pytest.mark.long
def test_others_run_meanwhile():
    long_sum(1)
    thread = threading.Thread(target=long_sum, args=(100_000_000,))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert turns > 100
