"""Compiled loops: machine code that is kept on disk, and made by Numba where it is not there yet.

Numba's own cache needs a place beside the source or in the user's home and fails without one, takes what it reads on
trust, does not notice changes in functions that a loop calls, and lets every rank compile the same. Its import alone
takes as long as a short solve: what is on disk is loaded without it.
"""

import contextlib
import functools
import os
import sys
import time

import numpy as np

from .loading.arguments import described
from .loading.late import compiling
from .loading.loaded_loop import NOT_CALLED, compilers, loaded
from .machine import common_name, common_processor, fingerprint
from .record import Record
from .store import digest, sources, store

__all__ = ["Loop", "all_compiled", "compiled", "for_common_processors", "nothing_interpreted"]

ENOUGH = 0.5  # seconds for which a loop is interpreted at most: about what it takes to compile one
LARGE = 500_000  # numbers in the arguments, from which on it is not

# where loops are, and what they take constants from: a change there makes all of them anew, as they call each other
_SOURCES = ("kernels", "elements/evaluation", "assembly/assembler.py", "mechanics/values/measures.py",
            "mechanics/values/evaluate.py", "mechanics/values/at_start.py",
            "problems/boundary/conditions.py", "problems/estimation/kinematic/block_chain.py",
            "problems/estimation/kinematic/frame_loops.py", "solvers/march", "solvers/linear/element",
            "solvers/linear/time_chain", "sparse.py", "solvers/nonlinear/newton.py",
            "solvers/interior_point/bounds_loops.py", "solvers/interior_point/block_ldl.py",
            "solvers/interior_point/ldl_inside_loops.py", "solvers/interior_point/ldl_loops.py", "solvers/nonsmooth")


VARIABLES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"  # of Numba: another processor than that at hand


def for_common_processors():
    """Compile for all common processors of this architecture from now on; to be called before any loop is."""
    os.environ |= dict(zip(VARIABLES, (common_name(), ""), strict=True))


@functools.cache
def _targets():
    """What loops are compiled for, and by what: this processor, then all common ones, whichever version compiled.

    What is compiled is compiled for the first.
    """
    tag, named = sys.implementation.cache_tag, tuple(map(os.environ.get, VARIABLES))
    own, common = (compilers(), tag, fingerprint(), *named), (tag, common_processor())
    if named == (common_name(), ""):
        return [common]
    return [own] if named != (None, None) or common_processor() is None else [own, common]


def compiled(interpreted=False, **options):
    """Decorator: a function compiled by ``numba.njit(**options)`` when it is first called with arguments of new types.

    The code is kept in the `Store` of the user, under a name that depends on the sources of all loops. What is not
    there and has little to do is `interpreted` where that is allowed: plain arithmetic gives the same bits. Python gets
    numbers, arrays that a loop made, which are copied, and tuples of them.
    """
    def decorate(function):
        return (_Interpreted if interpreted else Loop)(function, options)

    return decorate


class Loop:
    """A compiled function: called from Python by machine code that takes arguments as they are."""

    def __init__(self, function, options):
        functools.update_wrapper(self, function)
        self.py_func, self.options = function, options
        self.codes, self._code = {}, self._first  # by types; the latest, which passes on what it does not take
        self._entries = {}

    def __call__(self, *arguments):
        return self._code(*arguments)

    @functools.cached_property
    def _numba_type_(self):  # what compiled loops see
        return compiling.loop_type(self)

    def entries(self, names):
        """Names on disk of what is compiled for arguments of these types, by `_targets`."""
        if names not in self._entries:  # sets have another order in each process
            options = sorted((key, sorted(v) if isinstance(v, set) else v) for key, v in self.options.items())
            self._entries[names] = [digest("loop", self.__module__, self.__qualname__, options, names, *target,
                                           sources(*_SOURCES)) for target in _targets()]
        return self._entries[names]

    def is_kept(self, names):
        """Whether there is machine code for arguments of these types on disk."""
        return any(map(store().has, self.entries(names)))

    def _first(self, *arguments):
        """Where no machine code takes the arguments as they are."""
        found = [described(argument) for argument in arguments]
        names = tuple([name for _, name, _ in found])
        values = [value for value, _, _ in found]
        if names not in self.codes:
            if self.is_cheap(names, values):
                return self.interpret(values)
            entry = next(filter(self._is_called, self.entries(names)), None) or compiling.compile_loop(self, values)
            if loaded.codes[entry].entry_code is None:
                raise TypeError(f"{self.__qualname__} cannot be called from Python: compiled loops return numbers, "
                                "arrays that they made, in C order, tuples of these, or None")
            self.codes[names] = self._code = loaded.function(entry, [slot for _, _, slot in found], self._code)
        return self.codes[names](*values)

    @staticmethod
    def _is_called(entry):
        """Whether there is machine code that Python has called before, or cannot call."""
        code = loaded.load(entry, store().read)
        return code is not None and code.entry_code != NOT_CALLED

    def is_cheap(self, names, arguments):
        return False

    def at_hand(self, *arguments):
        """Whether a call with arguments of these types compiles nothing."""
        names = tuple([name for _, name, _ in map(described, arguments)])
        return names in self.codes or self.is_kept(names)


class _Interpreted(Loop):
    """A loop that Python runs itself until compiling it pays: a first short run spends more on that than on its work.

    All loops that it calls, and that are interpreted with it, have to be of this kind.
    """

    inside = always = 0  # whether another loop is being interpreted; whether all are to be compiled
    seconds = 0.0

    def __init__(self, function, options):
        super().__init__(function, options)
        self._not_kept = set()  # by types: to look on disk takes longer than many calls

    def _first(self, *arguments):
        return self.py_func(*arguments) if _Interpreted.inside else super()._first(*arguments)

    def is_cheap(self, names, arguments):
        """Whether to interpret: there is no code, on disk neither, and not much to do."""
        if _Interpreted.always or self.seconds > ENOUGH or sum(map(_size, arguments)) > LARGE:
            return False
        kept = names not in self._not_kept and self.is_kept(names)
        if not kept:
            self._not_kept.add(names)
        return not kept

    def interpret(self, arguments):
        begin = time.perf_counter()
        _Interpreted.inside += 1
        try:
            with np.errstate(all="ignore"):
                return self.py_func(*arguments)
        finally:
            _Interpreted.inside -= 1
            self.seconds += time.perf_counter() - begin


def all_compiled():
    """Whether all loops are to be compiled, so that they are there for later runs."""
    return _Interpreted.always > 0


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
