"""Compiled loops as they are kept on disk, loaded by LLVM alone, and called from Python."""

import ctypes
import functools
import importlib.util
import pickle
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numpy as np

from ..machine import address_of, fingerprint, load_objects, name_address, object_code
from ..store import digest, store

__all__ = ["NOT_CALLED", "PROVIDED", "SLOTS", "Code", "Loops", "compilers", "loaded"]

# what the code of an entry finds at hand, before what stands for the type of each argument
SLOTS = "other", int, float, bool, tuple, np.ndarray, "kind", "address", RuntimeError, np.empty  # the first varies
API = ("PyBool_FromLong", "PyErr_Clear", "PyErr_Occurred", "PyErr_SetString", "PyEval_RestoreThread",
       "PyEval_SaveThread", "PyFloat_AsDouble", "PyLong_AsLongLong", "PyObject_Call", "PyObject_CallFunction",
       "PyObject_GetAttr", "PyObject_IsTrue", "Py_BuildValue", "Py_DecRef")
METH_VARARGS = 1

# Numba counts references to the memory of arrays by a word in front of their address, which is the fourth word there;
# it calls these two for new memory and for memory that nothing refers to
MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %all = add i64 %size, 127
  %block = call ptr @malloc(i64 %all)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %end, label %fill
fill:
  %number = ptrtoint ptr %block to i64
  %behind = add i64 %number, 127
  %start = and i64 %behind, -64
  %data = inttoptr i64 %start to ptr
  store i64 1, ptr %block
  %place = getelementptr i64, ptr %block, i64 3
  store ptr %data, ptr %place
  br label %end
end:
  ret ptr %block
}
define void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}
"""
PROVIDED = "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor"


@functools.cache
def compilers():
    """Digest of the versions of Numba and llvmlite, without Numba's import.

    Where all packages say theirs takes half as long as that.
    """
    try:
        numba = Path(importlib.util.find_spec("numba").origin).with_name("_version.py").read_bytes()
    except (AttributeError, OSError):
        numba = importlib.import_module("importlib.metadata").version("numba")
    return digest(numba, llvmlite.__version__)


NOT_CALLED = b""  # in place of `Code.entry_code`, until Python calls the loop


class Code(NamedTuple):
    """What is kept of a loop."""

    name: str  # of the function in the machine code
    apart: bool  # whether machine code of others calls it
    needed: dict  # entries of the functions that its machine code calls, by their names
    machine_code: bytes
    entry_code: bytes  # of the function that Python calls; None where it has arguments that Python does not
    dtypes: list  # names of those of the arrays that Python gets
    compilers: str  # of which versions the rest is
    rest: bytes  # for Numba, compressed: most processes read it for nothing


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


class Loops:
    """Compiled loops of this process, by the names of their entries on disk."""

    def __init__(self):
        self.codes, self._linked, self._entered, self._methods = {}, set(), set(), []

    def load(self, entry, read):
        """The `Code` as it was kept; None if it was not, or what it calls.

        Parameters
        ----------
        entry : str
        read : callable
            ``read(entry)`` returns the bytes of an entry, or None.
        """
        if entry not in self.codes:
            data = read(entry)
            if data is None:
                return None
            code = Code(*pickle.loads(data))
            for name, other in code.needed.items():
                found = self.load(other, read)
                if found is None or not found.apart or found.name != name:
                    return None  # it was compiled anew, under another name
            self.codes[entry] = code
        return self.codes[entry]

    def function(self, entry, slots, other):
        """What calls a loop that was loaded.

        Parameters
        ----------
        entry : str
        slots : list
            What stands for the type of each argument: see `arguments.described`.
        other : callable
            Called where arguments are of other types.
        """
        self._link(entry)
        code = self.codes[entry]
        if entry not in self._entered:
            load_objects(code.entry_code)
            self._entered.add(entry)
        method = _Method(b"loop", address_of(f"call_{entry}"), METH_VARARGS, None)
        self._methods.append(method)  # functions refer to it
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
        return make(ctypes.byref(method), (other, *SLOTS[1:], *slots, *map(np.dtype, code.dtypes)), None)

    def _link(self, entry):
        if entry in self._linked:
            return
        if not self._linked:
            for name in API:
                name_address(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
            load_objects(store().once(digest("memory", MEMORY, fingerprint()), lambda: object_code(MEMORY)))
        code = self.codes[entry]
        for other in code.needed.values():
            self._link(other)
        load_objects(code.machine_code)
        if code.apart:
            name_address(code.name, address_of(code.name))
        self._linked.add(entry)


loaded = Loops()  # of this process
