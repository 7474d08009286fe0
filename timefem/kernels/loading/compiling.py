"""Loops compiled by Numba, by one process while others wait, and kept on disk with the kernels.

Numba's own loading parses the code of each loop for the linker; here that waits until another is compiled that calls
it.
"""

import contextlib
import pickle
import sys
import time
import zlib
from types import SimpleNamespace

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.typing.typeof import typeof

from ...memory import uncollected
from ..store import Store, store
from .entry_code import entry_code
from .loaded_loop import NOT_CALLED, PROVIDED, Code, compilers, loaded

__all__ = ["compile_loop", "loop_type"]

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


_linked, _dispatchers = LinkedLoops(loaded), {}  # Numba refers to the latter weakly


def loop_type(loop):
    """The type of a loop in Numba."""
    return types.Dispatcher(_dispatcher(loop))


def compile_loop(loop, arguments):
    """Machine code of a loop for arguments of these types, and what Python calls, in `loaded_loop.loaded`.

    Returns
    -------
    str
        Its entry.
    """
    signature = tuple(map(typeof, arguments))
    with _turn, uncollected(), global_compiler_lock:
        _dispatcher(loop).compile(signature)
        entry = next(entry for entry in loop.entries(tuple(map(str, signature))) if entry in _linked.results)
        code = _linked.enter(entry, loop.options.get("nogil", False))
    store().write(entry, pickle.dumps(tuple(code)))
    return entry


def _dispatcher(loop):
    if loop not in _dispatchers:
        dispatcher = njit(no_cfunc_wrapper=True, no_cpython_wrapper=True, **loop.options)(loop.py_func)
        dispatcher._cache = _LoopCache(loop)
        own = dispatcher.compile

        def compile_or_load(signature):
            with _turn, uncollected():  # once for the number 0 and all other integers
                return own(tuple(map(types.unliteral, signature)))

        dispatcher.compile = compile_or_load
        _dispatchers[loop] = dispatcher
    return _dispatchers[loop]


class _Turn:
    """The compilation of one loop with all that it calls: one process at a time, and one line about it."""

    def __init__(self):
        self.depth, self.locked, self.begin, self.line, self.lost = 0, None, None, "", 0

    def __enter__(self):
        self.depth += 1

    def __exit__(self, *exception):
        self.depth -= 1
        if self.depth == 0 and self.locked is not None:
            self.locked.close()
            self.locked = None
            if self.begin is not None:
                line = "" if sys.stderr.isatty() else self.line  # in a file in one piece: others write lines, too
                end = f"; there is no room to keep it in {store().folder}" if Store.lost > self.lost else ""
                print(f"{line} {time.perf_counter() - self.begin:.1f} s{end}", file=sys.stderr, flush=True)
                self.begin = None

    def lock(self):
        """Wait until no other process compiles; False if this one has the lock already."""
        if self.locked is not None:
            return False
        self.locked = contextlib.ExitStack()
        self.locked.enter_context(store().lock("loops"))
        return True

    def announce(self, name):
        if self.begin is None:
            self.begin = time.perf_counter()
            keeps = store().can_write()
            nowhere = f"which cannot be kept in {store().folder}" if store().folder else "which is kept nowhere"
            once = "once for this machine" if keeps else nowhere
            self.lost = Store.lost if keeps else sys.maxsize
            self.line = f"timefem: compiling {name.strip('_')}, {once} ..."
            if sys.stderr.isatty():
                print(self.line, end="", file=sys.stderr, flush=True)


_turn = _Turn()


class _LoopCache(_Cache):
    """The cache of one dispatcher, in the form that Numba asks for."""

    def __init__(self, loop):
        self._loop = loop
        self._impl = CompileResultCacheImpl.__new__(CompileResultCacheImpl)  # its place on disk is not used

    @property
    def cache_path(self):
        return str(store().folder)

    def _entries(self, signature):
        return self._loop.entries(tuple(map(str, signature)))

    def load_overload(self, signature, target_context):
        entries = self._entries(signature)
        found = self._load(entries, target_context)
        if found is None and _turn.lock():
            found = self._load(entries, target_context)  # another process may have made it meanwhile
        if found is None:
            _turn.announce(self._loop.__name__)
        return found

    def _load(self, entries, target_context):
        for entry in entries:
            with contextlib.suppress(Exception):  # what cannot be read is rebuilt
                if (found := _linked.load(entry, store().read, target_context)) is not None:
                    return found
        return None

    def save_overload(self, signature, result):
        if not self._impl.check_cachable(result):
            raise TypeError(f"{self._loop.__qualname__} cannot be kept as machine code")
        entry = self._entries(signature)[0]
        store().write(entry, pickle.dumps(tuple(_linked.add(entry, result))))

    def enable(self):
        pass

    def disable(self):
        pass

    def flush(self):
        pass
