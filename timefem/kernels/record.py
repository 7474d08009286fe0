"""Records: named arrays and numbers that compiled loops take by one address.

Numba passes a tuple of arrays by value, field by field, through every call; with a hundred fields that takes most of
its time to compile. A record is a block of memory in which the fields stand, and one address.
"""

import functools
import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, register_model, unbox
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

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
                kinds.append((name, _array(value.dtype, value.ndim)))
            elif isinstance(value, Record):
                words.append(value.address)
                kinds.append((name, value._numba_type_))
            elif value is None:
                kinds.append((name, types.none))
            elif isinstance(value, int | np.integer):
                value = int(value)
                words.append(value)
                kinds.append((name, types.int64))
            else:
                value = float(value)
                words.append(np.float64(value).view(np.int64))
                kinds.append((name, types.float64))
            self.__dict__[name] = value
        memory = np.array(words, np.int64)
        self.__dict__.update({"_memory": memory, "address": memory.ctypes.data,
                              "_numba_type_": _record_type(type(self).__name__, tuple(kinds))})

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__} cannot be changed; `replaced` makes another")

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self.fields)

    def replaced(self, **changes):
        """The same record with other values of some fields."""
        return type(self)(**{name: getattr(self, name) for name in self.fields} | changes)


class RecordType(types.Type):
    """Type of a record in Numba."""

    def __init__(self, title, fields):
        self.kinds, self.places = dict(fields), {}
        place = 0
        for name, kind in fields:
            self.places[name] = place
            place += 1 + kind.ndim if isinstance(kind, types.Array) else int(kind is not types.none)
        super().__init__(name=f"{title}({', '.join(f'{name}: {kind}' for name, kind in fields)})")


@functools.cache
def _array(dtype, ndim):
    return types.Array(from_dtype(dtype), ndim, "C")


@functools.cache
def _record_type(title, fields):
    return RecordType(title, fields)


@register_model(RecordType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@unbox(RecordType)
def _unbox(kind, thing, context):
    address = context.pyapi.object_getattr_string(thing, "address")
    number = context.pyapi.long_as_longlong(address)
    context.pyapi.decref(address)
    return NativeValue(context.builder.inttoptr(number, ir.IntType(64).as_pointer()),
                       is_error=cgutils.is_not_null(context.builder, context.pyapi.err_occurred()))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record, name):
        return record.kinds.get(name)


@lower_getattr_generic(RecordType)
def _field(context, builder, record, value, name):
    kind, place = record.kinds[name], record.places[name]
    if kind is types.none:
        return context.get_dummy_value()
    word = ir.IntType(64)

    def load(k, as_type=word):
        pointer = builder.gep(value, [ir.Constant(word, k)])
        loaded = builder.load(builder.bitcast(pointer, as_type.as_pointer()))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))  # fields never change
        return loaded

    if not isinstance(kind, types.Array):
        return load(place, context.get_value_type(kind))
    array = context.make_array(kind)(context, builder)
    shape = [load(place + 1 + axis) for axis in range(kind.ndim)]
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [ir.Constant(word, itemsize)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(array, load(place, context.get_data_type(kind.dtype).as_pointer()), shape, strides, itemsize, None)
    return array._getvalue()
