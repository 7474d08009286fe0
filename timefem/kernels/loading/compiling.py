"""Loops compiled by Numba, by one process while others wait, and kept on disk with the kernels."""

import contextlib
import pickle
import sys
import time

from numba import njit, types
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.typeof import typeof

from ...memory import uncollected
from ..store import Store, store
from .linked_loop import LinkedLoops
from .loaded_loop import loaded

__all__ = ["compile_loop", "loop_type"]

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
