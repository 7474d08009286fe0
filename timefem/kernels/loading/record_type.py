"""Records in Numba: their type, and how compiled loops read their fields."""

import functools

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, register_model, unbox
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

from .arguments import Kind

__all__ = ["RecordType", "numba_type"]


class RecordType(types.Type):
    """Type of a record in Numba."""

    def __init__(self, kind):
        self.kinds, self.places = {name: numba_type(field) for name, field in kind.fields}, {}
        place = 0
        for name, field in self.kinds.items():
            self.places[name] = place
            place += 1 + field.ndim if isinstance(field, types.Array) else int(field is not types.none)
        super().__init__(name=kind.name)


@functools.cache
def numba_type(kind):
    """The type of a field of a record, or of a record, by its kind."""
    if isinstance(kind, Kind):
        return RecordType(kind)
    if kind is None:
        return types.none
    if isinstance(kind, tuple):
        dtype, ndim = kind
        return types.Array(from_dtype(dtype), ndim, "C")
    return from_dtype(np.dtype(kind))


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
