"""Compiled loops as they are kept on disk, and loaded without what only compilation needs.

Numba's own loading imports all that it can compile, SciPy included, and parses the code of each loop for the linker:
together a fifth of the time of a process that solves once.
"""

import pickle
from types import SimpleNamespace

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

__all__ = ["Loops"]

LONG = 300  # instructions: what is shorter may be put in line


class _Library(JITCodeLibrary):
    """Machine code; the code for the linker is parsed when another loop that calls this one is compiled."""

    @classmethod
    def of(cls, codegen, symbols, state):
        name, _, (machine_code, bitcode) = state
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


class Loops:
    """Compiled loops of this process, by the name of their entries on disk.

    Loops that are long are not taken into those that call them: each would be optimised once more in every caller, and
    again in the callers of these. Their machine code is linked.
    """

    def __init__(self):
        self.results, self.apart = {}, {}  # by entry; entry of each function that is linked

    def add(self, entry, result):
        """Note what was just compiled; returns what is to be kept of it."""
        library = result.library
        functions = [f for f in library._final_module.functions if not f.is_declaration]
        symbols = {f.name for f in functions} | {
            v.name for v in library._final_module.global_variables if not v.is_declaration}
        name = result.fndesc.llvm_func_name
        needed = {f.name: self.apart[f.name] for f in library._final_module.functions
                  if f.is_declaration and f.name in self.apart}
        if sum(len(list(block.instructions)) for f in functions if f.name == name for block in f.blocks) > LONG:
            self.apart[name] = entry
            library._shared_module = llvm.parse_assembly(str(library.codegen._create_empty_module(library.name)))
        self.results[entry] = result._replace(metadata=None)  # as of what is loaded, of which Numba does not take times
        return dumps((symbols, name if name in self.apart else None, needed, result._reduce()))

    def load(self, entry, read, context):
        """The result of a compilation as it was kept; None if it was not, or what it calls.

        Parameters
        ----------
        entry : str
        read : callable
            ``read(entry)`` returns the bytes of an entry, or None.
        context : Numba's target context
        """
        if entry in self.results:
            return self.results[entry]
        data = read(entry)
        if data is None:
            return None
        rtsys.initialize(context)
        symbols, apart, needed, reduced = pickle.loads(data)
        for symbol, other in needed.items():
            if self.load(other, read, context) is None or symbol not in self.apart:
                return None  # the latter where it was compiled anew, under another name
        library = _Library.of(context.codegen(), symbols, reduced[0])
        around = SimpleNamespace(codegen=lambda: SimpleNamespace(unserialize_library=lambda state: library,
                                                                 set_env=context.codegen().set_env),
                                 get_executable=context.get_executable, typing_context=context.typing_context)
        result = CompileResult._rebuild(around, *reduced)._replace(target_context=context)
        if apart:
            self.apart[apart] = entry
        self.results[entry] = result
        return result
