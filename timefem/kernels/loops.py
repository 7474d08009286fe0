"""Compiled loops: Numba's, kept on disk with the kernels, and compiled by one process while others wait.

Numba's own cache needs a place beside the source or in the user's home and fails without one, takes what it reads on
trust, does not notice changes in functions that a loop calls, and lets every rank compile the same.
"""

import contextlib
import functools
import sys
import time

import llvmlite
import numba
import numpy as np
from numba import njit, types
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.registry import cpu_target

from .loaded_loop import Loops
from .record import Record
from .store import Store, digest, sources, store
from .uncollected import uncollected

__all__ = ["compiled", "nothing_interpreted"]

_VERSIONS = numba.__version__, llvmlite.__version__, sys.implementation.cache_tag
ENOUGH = 0.5  # seconds for which a loop is interpreted at most: about what it takes to compile one
LARGE = 500_000  # numbers in the arguments, from which on it is not

# where loops are, and what they take constants from: a change there makes all of them anew, as they call each other
_SOURCES = ("kernels", "elements/evaluation", "assembly/assembly_loop.py", "mechanics/measures.py",
            "mechanics/one_state_loop.py", "solution/glance_loop.py", "solvers/march", "solvers/linear/element",
            "solvers/linear/time_chain", "solvers/linear/norms.py", "solvers/nonlinear/newton.py",
            "solvers/nonlinear/products.py", "solvers/nonlinear/block_ldl_loops.py",
            "solvers/nonlinear/block_ldl_solves.py", "solvers/nonlinear/bounds_loops.py")


def compiled(interpreted=False, **options):
    """Decorator: a function compiled by ``numba.njit(**options)`` when it is first called with arguments of new types.

    The code is kept in the `Store` of the user, under a name that depends on the sources of all loops. What is not
    there and has little to do is `interpreted` where that is allowed: plain arithmetic gives the same bits.
    """
    def decorate(function):
        dispatcher = njit(no_cfunc_wrapper=True, **options)(function)
        dispatcher._cache = _LoopCache(function, options)
        own = dispatcher.compile

        def compile_or_load(signature):
            with _turn, uncollected():  # once for the number 0 and all other integers
                return own(tuple(map(types.unliteral, signature)))

        dispatcher.compile = compile_or_load
        return _Interpreted(dispatcher) if interpreted else dispatcher

    return decorate


class _Interpreted:
    """A loop that Python runs itself until compiling it pays: a first short run spends more on that than on its work.

    All loops that it calls, and that are interpreted with it, have to be of this kind.
    """

    inside = always = 0  # whether another loop is being interpreted; whether all are to be compiled

    def __init__(self, loop):
        functools.update_wrapper(self, loop.py_func)
        self.loop, self.seconds, self.at_hand = loop, 0.0, False
        self._numba_type_ = types.Dispatcher(loop)  # what other compiled loops see

    def __call__(self, *arguments):
        if self.at_hand:
            return self.loop(*arguments)
        begin = time.perf_counter()
        if not (_Interpreted.inside or self.is_cheap(arguments)):
            return self.loop(*arguments)
        _Interpreted.inside += 1
        try:
            with np.errstate(all="ignore"):
                return self.loop.py_func(*arguments)
        finally:
            _Interpreted.inside -= 1
            self.seconds += time.perf_counter() - begin

    def is_cheap(self, arguments):
        """Whether to interpret: there is no code, on disk neither, and not much to do."""
        signature = tuple(map(self.loop.typeof_pyval, arguments))
        self.at_hand = (_Interpreted.always or self.seconds > ENOUGH or sum(map(_size, arguments)) > LARGE
                        or signature in self.loop.overloads or self.loop._cache.has(signature))
        return not self.at_hand


@contextlib.contextmanager
def nothing_interpreted():
    """Context in which all loops are compiled."""
    _Interpreted.always += 1
    try:
        yield
    finally:
        _Interpreted.always -= 1


def _size(thing):
    if isinstance(thing, Record):
        return sum(_size(getattr(thing, name)) for name in thing.fields)
    return getattr(thing, "size", 0)


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


_turn, _loops = _Turn(), Loops()


class _LoopCache(_Cache):
    """The cache of one dispatcher, in the form that Numba asks for."""

    def __init__(self, function, options):
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._title, self._looked_for = function.__name__, {}
        # sets have another order in each process
        self._options = repr(sorted((key, sorted(v) if isinstance(v, set) else v) for key, v in options.items()))
        self._impl = CompileResultCacheImpl.__new__(CompileResultCacheImpl)  # its place on disk is not used

    @property
    def cache_path(self):
        return str(store().folder)

    def _entry(self, signature, codegen):
        return digest("loop", self._name, self._options, signature, codegen.magic_tuple(), *_VERSIONS,
                      sources(*_SOURCES))

    def has(self, signature):
        """Whether there is an entry, as far as can be told without reading it."""
        if signature not in self._looked_for:
            self._looked_for[signature] = self._entry(signature, cpu_target.target_context.codegen())
        return store().has(self._looked_for[signature])

    def load_overload(self, signature, target_context):
        entry = self._entry(signature, target_context.codegen())
        found = self._load(entry, target_context)
        if found is None and _turn.lock():
            found = self._load(entry, target_context)  # another process may have made it meanwhile
        if found is None:
            _turn.announce(self._title)
        return found

    def _load(self, entry, target_context):
        try:
            return _loops.load(entry, store().read, target_context)
        except Exception:  # of another version of Numba's own formats: made anew
            return None

    def save_overload(self, signature, result):
        if self._impl.check_cachable(result):
            entry = self._entry(signature, result.codegen)
            store().write(entry, _loops.add(entry, result))

    def enable(self):
        pass

    def disable(self):
        pass

    def flush(self):
        pass
