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

__all__ = ["load", "loop_as_bytes"]


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


def loop_as_bytes(result):
    """What is kept of Numba's result of a compilation."""
    reduced = result._reduce()
    module = result.library._get_module_for_linking()
    symbols = {value.name for values in (module.functions, module.global_variables) for value in values
               if not value.is_declaration}
    return dumps((symbols, reduced))


def load(data, context):
    """The result of a compilation for Numba's target context."""
    rtsys.initialize(context)
    symbols, reduced = pickle.loads(data)
    library = _Library.of(context.codegen(), symbols, reduced[0])
    around = SimpleNamespace(codegen=lambda: SimpleNamespace(unserialize_library=lambda state: library,
                                                             set_env=context.codegen().set_env),
                             get_executable=context.get_executable, typing_context=context.typing_context)
    return CompileResult._rebuild(around, *reduced)._replace(target_context=context)
