"""Compiled loops: Numba's, kept on disk with the kernels, and compiled by one process while others wait.

Numba's own cache needs a place beside the source or in the user's home and fails without one, takes what it reads on
trust, does not notice changes in functions that a loop calls, and lets every rank compile the same.
"""

import contextlib
import pickle
import sys
import time

from numba import njit
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.serialize import dumps

from .store import digest, sources, store

__all__ = ["compiled"]

# where loops are, and what they take constants from: a change there makes all of them anew, as they call each other
_SOURCES = ("kernels", "elements/evaluation", "assembly/assembly_loop.py", "mechanics/measures.py",
            "mechanics/one_state_loop.py", "solution/glance_loop.py", "solvers/march", "solvers/linear/element",
            "solvers/linear/time_chain", "solvers/linear/norms.py", "solvers/nonlinear/newton.py",
            "solvers/nonlinear/products.py", "solvers/nonlinear/block_ldl_loops.py")


def compiled(**options):
    """Decorator: a function compiled by ``numba.njit(**options)`` when it is first called with arguments of new types.

    The code is kept in the `Store` of the user, under a name that depends on the sources of all loops.
    """
    def decorate(function):
        dispatcher = njit(no_cfunc_wrapper=True, **options)(function)
        dispatcher._cache = _LoopCache(function, options)
        own = dispatcher.compile

        def compile_or_load(signature):
            with _turn:
                return own(signature)

        dispatcher.compile = compile_or_load
        return dispatcher

    return decorate


class _Turn:
    """The compilation of one loop with all that it calls: one process at a time, and one line about it."""

    def __init__(self):
        self.depth, self.locked, self.begin, self.line = 0, None, None, ""

    def __enter__(self):
        self.depth += 1

    def __exit__(self, *exception):
        self.depth -= 1
        if self.depth == 0 and self.locked is not None:
            self.locked.close()
            self.locked = None
            if self.begin is not None:
                line = "" if sys.stderr.isatty() else self.line  # in a file in one piece: others write lines, too
                print(f"{line} {time.perf_counter() - self.begin:.1f} s", file=sys.stderr, flush=True)
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
            self.line = f"timefem: compiling {name.strip('_')}, once for this machine ..."
            if sys.stderr.isatty():
                print(self.line, end="", file=sys.stderr, flush=True)


_turn = _Turn()


class _LoopCache(_Cache):
    """The cache of one dispatcher, in the form that Numba asks for."""

    def __init__(self, function, options):
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._title = function.__name__
        # sets have another order in each process
        self._options = repr(sorted((key, sorted(v) if isinstance(v, set) else v) for key, v in options.items()))
        self._impl = CompileResultCacheImpl.__new__(CompileResultCacheImpl)  # its place on disk is not used

    @property
    def cache_path(self):
        return str(store().folder)

    def _entry(self, signature, codegen):
        return digest("loop", self._name, self._options, signature, codegen.magic_tuple(), sources(*_SOURCES))

    def load_overload(self, signature, target_context):
        target_context.refresh()
        entry = self._entry(signature, target_context.codegen())
        found = self._load(entry, target_context)
        if found is None and _turn.lock():
            found = self._load(entry, target_context)  # another process may have made it meanwhile
        if found is None:
            _turn.announce(self._title)
        return found

    def _load(self, entry, target_context):
        data = store().read(entry)
        if data is None:
            return None
        try:
            return self._impl.rebuild(target_context, pickle.loads(data))
        except Exception:  # of another version of Numba's own formats: made anew
            return None

    def save_overload(self, signature, result):
        if self._impl.check_cachable(result):
            store().write(self._entry(signature, result.codegen), dumps(self._impl.reduce(result)))

    def enable(self):
        pass

    def disable(self):
        pass

    def flush(self):
        pass
