"""Records in compiled code: the same numbers as their fields in Python."""

import pickle

import numpy as np
import pytest
from numba import njit

from timefem.kernels.record import Record, aligned

ITEM = np.dtype([("place", np.int64), ("weight", np.float64)])


class Inner(Record):
    values: np.ndarray


class Outer(Record):
    x: np.ndarray
    n: int
    factor: float
    matrix: np.ndarray
    inner: Inner
    items: np.ndarray
    nothing: object


@njit
def total(record):
    record.x[1] += record.factor
    rows, columns = record.matrix.shape
    item = record.items[1]
    return (record.x.sum() + record.n + record.matrix[1, 2] + record.inner.values[0] + item.place * item.weight
            + 100 * rows + 10 * columns)


def make():
    return Outer(np.arange(4.0), 3, 2.5, np.arange(6, dtype=np.int32).reshape(2, 3), Inner(np.array([7.0])),
                 np.array([(1, 2.0), (3, 4.0)], ITEM), None)


def test_fields_in_compiled_code():
    record = make()
    assert total(record) == (6 + 2.5) + 3 + 5 + 7 + 12 + 230
    assert record.x[1] == 3.5  # entries can be changed
    assert total(record) == (6 + 5) + 3 + 5 + 7 + 12 + 230


def test_one_type_for_all_sizes():
    n = len(total.overloads)
    total(make())
    total(make().replaced(x=np.arange(9.0), matrix=np.ones((4, 5), np.int32)))
    assert len(total.overloads) == max(n, 1)


def test_fields_stay():
    record = make()
    with pytest.raises(AttributeError, match="cannot be changed"):
        record.n = 4
    with pytest.raises(TypeError, match="has the fields x, n"):
        Outer(np.zeros(3), 2)
    with pytest.raises(TypeError, match="has the fields values"):
        Inner(np.zeros(3), other=1)


def test_pickled():
    other = pickle.loads(pickle.dumps(make()))
    assert total(other) == total(make()) and other.address != make().address


def test_arrays_on_cache_lines():
    for shape in ((1,), (3, 8), (100,)):
        array = aligned(*shape)
        assert array.shape == shape and array.ctypes.data % 64 == 0 and not array.any()
