"""The function by which Python calls a compiled loop, in LLVM's language: ``PyObject *call(self, arguments)``.

`self` is a tuple, of what it needs from Python and of what stands for the type of each argument. Where an argument is
of another type, it calls the first thing in there instead. Arrays are read as their C structure, which NumPy keeps the
same over its versions, since to ask for each number takes as long as a short loop.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.runtime import rtsys
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype

from .loaded_loop import SLOTS
from .record_type import RecordType

__all__ = ["entry_code"]

POINTER, WORD, INT = ir.IntType(8).as_pointer(), ir.IntType(64), ir.IntType(32)
OBJECT, ITEMS = object.__basicsize__, tuple.__basicsize__  # sizes of what is before an object's own, and before items
TYPE, COUNT = OBJECT - 8, OBJECT
DATA, NDIM, SHAPE, STRIDES, DTYPE, FLAGS = (OBJECT + k for k in (0, 8, 16, 24, 40, 48))  # of an array
C_ORDER, F_ORDER, WRITEABLE = 1, 2, 0x400
SCALARS = {types.int64: int, types.float64: float, types.boolean: bool}
LETTERS = {types.Integer: "L", types.Float: "d", types.Boolean: "N", types.Array: "N"}


def entry_code(result, name, release):
    """Object code of the entry of what was compiled, and dtypes of arrays that it returns; None and nothing where
    Python has no such arguments or results.

    Parameters
    ----------
    result : numba.core.compiler.CompileResult
    name : str
        Of the entry.
    release : bool
        Whether other threads run Python meanwhile.
    """
    fndesc = result.fndesc
    if not all(map(_is_taken, fndesc.argtypes)) or not _is_returned(fndesc.restype):
        return None, []
    library = result.target_context.codegen().create_library(name)
    library.enable_object_caching()
    module = library.create_ir_module(name)
    dtypes = _Entry(result.target_context, module, name).write(fndesc, release)
    library.add_ir_module(module)
    if result.target_context.enable_nrt:
        library.add_linking_library(rtsys.library)
    library.finalize()
    return library._get_compiled_object(), dtypes


def _is_taken(kind):
    return (kind in SCALARS or kind is types.none or isinstance(kind, RecordType) or _is_plain_array(kind)
            or (isinstance(kind, types.BaseTuple) and len(kind) > 0 and all(map(_is_taken, kind.types))))


def _is_returned(kind):
    if isinstance(kind, types.BaseTuple):
        return types.none not in kind.types and all(map(_is_returned, kind.types))
    if isinstance(kind, types.Array):
        return _is_plain_array(kind) and kind.layout == "C"
    return kind is types.none or isinstance(kind, tuple(LETTERS))


def _is_plain_array(kind):
    return isinstance(kind, types.Array) and not isinstance(kind.dtype, types.Record)


class _Entry:
    """Writes the function."""

    def __init__(self, context, module, name):
        self.context, self.module = context, module
        self.function = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER]), name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("types"))
        self.other, self.failed = map(self.function.append_basic_block, ("other", "failed"))

    def write(self, fndesc, release):
        builder, (slots, arguments) = self.builder, self.function.args
        self.slots, self.first_dtype, self.dtypes = slots, len(SLOTS) + len(fndesc.argtypes), []
        self.demand(builder.icmp_signed("==", self.at(arguments, COUNT, WORD), WORD(len(fndesc.argtypes))))
        objects = [self.at(arguments, ITEMS + 8 * k) for k in range(len(fndesc.argtypes))]
        for k, (thing, kind) in enumerate(zip(objects, fndesc.argtypes, strict=True)):
            self.check(thing, kind, self.slot(len(SLOTS) + k))
        values = [self.value(thing, kind) for thing, kind in zip(objects, fndesc.argtypes, strict=True)]
        self.demand(self.is_null(self.call("PyErr_Occurred", POINTER)), self.failed)  # integers may be too large
        loop = ir.Function(self.module, self.context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes),
                           fndesc.llvm_func_name)
        thread = self.call("PyEval_SaveThread", POINTER) if release else None
        status, result = self.context.call_conv.call_function(builder, loop, fndesc.restype, fndesc.argtypes, values)
        if release:
            self.call("PyEval_RestoreThread", ir.VoidType(), thread)
        with builder.if_then(status.is_error, likely=False):
            self.fail(f"{fndesc.qualname} failed")
        builder.ret(self.boxed(result, fndesc.restype))
        builder.position_at_end(self.failed)
        builder.ret(POINTER(None))
        builder.position_at_end(self.other)
        builder.ret(self.call("PyObject_Call", POINTER, self.slot(0), arguments, POINTER(None)))
        return self.dtypes

    def at(self, pointer, offset, kind=POINTER):
        address = self.builder.gep(pointer, [WORD(offset)])
        return self.builder.load(self.builder.bitcast(address, kind.as_pointer()))

    def slot(self, k):
        return self.at(self.slots, ITEMS + 8 * k)

    def call(self, name, kind, *arguments, more=()):
        kind = ir.FunctionType(kind, [a.type for a in arguments], var_arg=bool(more))
        return self.builder.call(cgutils.get_or_insert_function(self.module, kind, name), [*arguments, *more])

    def text(self, text):
        return self.context.insert_const_string(self.module, text)

    def fail(self, text):
        self.call("PyErr_SetString", ir.VoidType(), self.slot(SLOTS.index(RuntimeError)), self.text(text))
        self.builder.branch(self.failed)

    def is_null(self, pointer):
        return cgutils.is_null(self.builder, pointer)

    def demand(self, condition, otherwise=None):
        following = self.function.append_basic_block()
        self.builder.cbranch(condition, following, otherwise or self.other)
        self.builder.position_at_end(following)

    def is_same(self, a, b):
        return self.builder.icmp_unsigned("==", a, b)

    def check(self, thing, kind, slot):
        """Demand that an object is of the type of an argument, for which the slot stands."""
        builder, own = self.builder, self.at(thing, TYPE)
        if kind is types.none:
            self.demand(self.is_same(thing, slot))
        elif kind in SCALARS:
            plain = self.slot(SLOTS.index(SCALARS[kind]))
            self.demand(builder.or_(self.is_same(own, plain), self.is_same(own, slot)))
        elif isinstance(kind, types.BaseTuple):
            self.demand(self.is_same(own, self.slot(SLOTS.index(tuple))))
            self.demand(builder.icmp_signed("==", self.at(thing, COUNT, WORD), WORD(len(kind))))
            for k, item in enumerate(kind.types):
                self.check(self.at(thing, ITEMS + 8 * k), item, self.at(slot, ITEMS + 8 * k))
        elif isinstance(kind, RecordType):
            found = self.call("PyObject_GetAttr", POINTER, thing, self.slot(SLOTS.index("kind")))
            with builder.if_then(self.is_null(found), likely=False):
                self.call("PyErr_Clear", ir.VoidType())
                builder.branch(self.other)
            self.call("Py_DecRef", ir.VoidType(), found)  # the record has it still
            self.demand(self.is_same(found, slot))
        else:
            self.demand(self.is_same(own, self.slot(SLOTS.index(np.ndarray))))
            self.demand(self.is_same(self.at(thing, DTYPE), slot))
            self.demand(builder.icmp_signed("==", self.at(thing, NDIM, INT), INT(kind.ndim)))
            order = {"C": C_ORDER, "F": F_ORDER, "A": 0}[kind.layout]
            looked_at = WRITEABLE | (C_ORDER if kind.layout == "C" else C_ORDER | F_ORDER)
            flags = builder.and_(self.at(thing, FLAGS, INT), INT(looked_at))
            self.demand(builder.icmp_signed("==", flags, INT(order | (WRITEABLE if kind.mutable else 0))))

    def value(self, thing, kind):
        """What the loop takes for an object."""
        if kind is types.none:
            return self.context.get_dummy_value()
        if kind is types.int64:
            return self.call("PyLong_AsLongLong", WORD, thing)
        if kind is types.float64:
            return self.call("PyFloat_AsDouble", ir.DoubleType(), thing)
        if kind is types.boolean:
            return self.builder.icmp_signed("!=", self.call("PyObject_IsTrue", INT, thing), INT(0))
        if isinstance(kind, RecordType):
            found = self.call("PyObject_GetAttr", POINTER, thing, self.slot(SLOTS.index("address")))
            number = self.call("PyLong_AsLongLong", WORD, found)
            self.call("Py_DecRef", ir.VoidType(), found)
            return self.builder.inttoptr(number, WORD.as_pointer())
        if isinstance(kind, types.BaseTuple):
            items = [self.value(self.at(thing, ITEMS + 8 * k), item) for k, item in enumerate(kind.types)]
            return self.context.make_tuple(self.builder, kind, items)
        item = self.context.get_data_type(kind.dtype)
        array = self.context.make_array(kind)(self.context, self.builder)
        shape, strides = ([self.at(self.at(thing, place), 8 * axis, WORD) for axis in range(kind.ndim)]
                          for place in (SHAPE, STRIDES))
        data = self.builder.bitcast(self.at(thing, DATA), item.as_pointer())
        populate_array(array, data, shape, strides, self.context.get_abi_sizeof(item), None)
        return array._getvalue()

    def boxed(self, result, kind):
        """The object that Python gets."""
        values = [self.widened(*pair) for pair in self.parts(result, kind)]
        return self.call("Py_BuildValue", POINTER, self.text(_letters(kind)), more=values or [WORD(0)])

    def parts(self, value, kind):
        """What a result consists of: values and their types."""
        if isinstance(kind, types.BaseTuple):
            values = cgutils.unpack_tuple(self.builder, value)
            return [part for pair in zip(values, kind.types, strict=True) for part in self.parts(*pair)]
        return [] if kind is types.none else [(value, kind)]

    def widened(self, value, kind):
        if isinstance(kind, types.Boolean):
            return self.call("PyBool_FromLong", POINTER, self.builder.zext(value, WORD))
        if isinstance(kind, types.Array):
            return self.copied(value, kind)
        return self.context.cast(self.builder, value, kind,
                                 types.float64 if isinstance(kind, types.Float) else types.int64)

    def copied(self, value, kind):
        """NumPy's copy of an array that the loop made."""
        builder, array = self.builder, self.context.make_array(kind)(self.context, self.builder, value)
        with builder.if_then(self.is_null(array.meminfo), likely=False):
            self.fail("a loop returned an argument, or a part of one, which would be copied")
        dtype = self.slot(self.first_dtype + len(self.dtypes))
        self.dtypes.append(as_dtype(kind.dtype).name)
        shape = cgutils.unpack_tuple(builder, array.shape)
        made = self.call("PyObject_CallFunction", POINTER, self.slot(SLOTS.index(np.empty)),
                         self.text(f"(({'L' * kind.ndim})O)"), more=[*shape, dtype])
        with builder.if_then(builder.not_(self.is_null(made)), likely=True):
            size = builder.mul(array.nitems, array.itemsize)
            cgutils.raw_memcpy(builder, self.at(made, DATA), array.data, size, 1)
        self.context.nrt.decref(builder, kind, value)
        return made


def _letters(kind):
    """Of ``Py_BuildValue``; nothing for None."""
    if isinstance(kind, types.BaseTuple):
        return f"({''.join(map(_letters, kind.types))})"
    return next((letter for of, letter in LETTERS.items() if isinstance(kind, of)), "")
