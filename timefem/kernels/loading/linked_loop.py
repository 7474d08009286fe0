"""Compiled loops as Numba takes them into those that call them.

Numba's own loading parses the code of each loop for the linker; here that waits until another is compiled that calls
it.
"""

import pickle
import zlib
from types import SimpleNamespace

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from .entry_code import entry_code
from .loaded_loop import NOT_CALLED, PROVIDED, Code, compilers

__all__ = ["LinkedLoops"]

LONG = 300  # instructions: what is shorter may be put in line


class _Library(JITCodeLibrary):
    """Machine code, and the code for the linker."""

    @classmethod
    def of(cls, codegen, name, machine_code, bitcode, symbols):
        self = cls(codegen, name)
        self._bitcode = bitcode
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)
        return self

    def _get_module_for_linking(self):
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
        return self._shared_module


class LinkedLoops:
    """Results of compilations of this process, by the names of their entries on disk.

    Loops that are long are not taken into those that call them: each would be optimised once more in every caller, and
    again in the callers of these. Their machine code is linked.

    Parameters
    ----------
    loaded : Loops
        Machine code of the same.
    """

    def __init__(self, loaded):
        self.loaded, self.results, self.apart = loaded, {}, {}  # the last: entry of each function that is linked

    def add(self, entry, result):
        """Note what was just compiled; returns the `Code` that is to be kept of it."""
        library = result.library
        functions = [f for f in library._final_module.functions if not f.is_declaration]
        symbols = {f.name for f in functions} | {
            v.name for v in library._final_module.global_variables if not v.is_declaration}
        name = result.fndesc.llvm_func_name
        called = [f.name for f in library._final_module.functions if f.is_declaration]
        needed = {other: self.apart[other] for other in called if other in self.apart}
        if lacking := [other for other in called if other.startswith(("NRT_", "numba_")) and other not in PROVIDED]:
            raise TypeError(f"{result.fndesc.qualname} cannot be kept: it needs Numba's own {', '.join(lacking)}")
        if sum(str(f).count("\n  ") for f in functions if f.name == name) > LONG:  # lines of instructions
            self.apart[name] = entry
            library._shared_module = llvm.parse_assembly(str(library.codegen._create_empty_module(library.name)))
        self.results[entry] = result._replace(metadata=None)  # as of what is loaded, of which Numba does not take times
        (title, _, (machine_code, bitcode)), *others = result._reduce()
        code = Code(name, name in self.apart, needed, machine_code, NOT_CALLED, [], compilers(),
                    zlib.compress(dumps((title, bitcode, symbols, result.target_context.enable_nrt, others)), 1))
        self.loaded.codes[entry] = code
        return code

    def enter(self, entry, release):
        """The `Code` of one of the results with what Python calls, which loops that others call do without."""
        machine_code, dtypes = entry_code(self.results[entry], f"call_{entry}", release)
        code = self.loaded.codes[entry]._replace(entry_code=machine_code, dtypes=dtypes)
        self.loaded.codes[entry] = code
        return code

    def load(self, entry, read, context):
        """The result of a compilation as it was kept; None if it was not, or what it calls, or by another Numba.

        Parameters
        ----------
        entry : str
        read : callable
            ``read(entry)`` returns the bytes of an entry, or None.
        context : Numba's target context
        """
        if entry in self.results:
            return self.results[entry]
        code = self.loaded.load(entry, read)
        if code is None or code.compilers != compilers() or not all(
                [self.load(other, read, context) for other in code.needed.values()]):
            return None
        rtsys.initialize(context)  # machine code that is linked here calls it
        title, bitcode, symbols, counts, others = pickle.loads(zlib.decompress(code.rest))
        library = _Library.of(context.codegen(), title, code.machine_code, bitcode, symbols)
        around = SimpleNamespace(codegen=lambda: SimpleNamespace(unserialize_library=lambda state: library,
                                                                 set_env=context.codegen().set_env),
                                 get_executable=context.get_executable, typing_context=context.typing_context)
        result = CompileResult._rebuild(around, None, *others)._replace(
            target_context=context.subtarget(enable_nrt=counts))  # of arrays that it returns, `enter` counts references
        if code.apart:
            self.apart[code.name] = entry
        self.results[entry] = result
        return result
