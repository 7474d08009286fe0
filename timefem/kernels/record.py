"""Records: named arrays and numbers that compiled loops take by one address.

Numba passes a tuple of arrays by value, field by field, through every call; with a hundred fields that takes most of
its time to compile. A record is a block of memory in which the fields stand, and one address.
"""

import math

import numpy as np

from .loading.arguments import kind_of
from .loading.late import record_type

__all__ = ["Record", "aligned"]


def aligned(*shape):
    """Zeros on a boundary of 64 bytes: vectors that straddle cache lines cost twice."""
    n = math.prod(shape)
    memory = np.zeros(n + 8)
    skip = (-memory.__array_interface__["data"][0] % 64) // 8
    return memory[skip:skip + n].reshape(shape)


class Record:
    """Base of records; a subclass names its fields by annotations, in order.

    Fields are C-contiguous arrays (also of structured dtypes), integers, floats, other records, or None. The fields
    cannot be changed, the entries of the arrays can. In compiled code a record is an argument, and its fields are
    attributes.
    """

    def __init_subclass__(cls):
        cls.fields = tuple(cls.__annotations__)

    def __init__(self, *values, **named):
        given = dict(zip(self.fields, values, strict=False), **named)
        if len(values) > len(self.fields) or given.keys() != set(self.fields):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self.fields)}")
        kinds, words = [], []
        for name in self.fields:
            value = given[name]
            if isinstance(value, np.ndarray):
                if not value.flags.carray:
                    value = np.require(value, requirements=["C", "A", "W"])
                words += [value.ctypes.data, *value.shape]
                kinds.append((name, (value.dtype, value.ndim)))
            elif isinstance(value, Record):
                words.append(value.address)
                kinds.append((name, value.kind))
            elif value is None:
                kinds.append((name, None))
            elif isinstance(value, int | np.integer):
                value = int(value)
                words.append(value)
                kinds.append((name, int))
            else:
                value = float(value)
                words.append(np.float64(value).view(np.int64))
                kinds.append((name, float))
            self.__dict__[name] = value
        memory = np.array(words, np.int64)
        self.__dict__.update({"_memory": memory, "address": memory.ctypes.data,
                              "kind": kind_of(type(self).__name__, tuple(kinds))})

    @property
    def _numba_type_(self):  # what Numba asks for where it compiles
        return record_type.numba_type(self.kind)

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__} cannot be changed; `replaced` makes another")

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self.fields)

    def replaced(self, **changes):
        """The same record with other values of some fields."""
        return type(self)(**{name: getattr(self, name) for name in self.fields} | changes)
