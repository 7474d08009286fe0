"""Functions given by the user, as they were when they were first called on symbols."""

from __future__ import annotations

import functools
import hashlib
import pickle
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from ...errors import InputError
from .stored import StoredFormula

CHANGED = ("an outer variable of the function has changed since it was given; rebuild what has it, or give that "
           "number as a parameter")
NUMBERS = ca.SX, ca.DM, float, int, np.floating, np.integer


class CapturedFormula:
    """A function of CasADi symbols that always states what it stated at first, whatever becomes of outer variables.

    It is called once for arguments of the same shapes, on symbols of its own: vectors, matrices and numbers, in lists,
    tuples and named tuples such as `Frame`. What takes other objects, such as a time of a motion, or has symbols of
    others, is called each time, and refused when it states something else on its first arguments by then.

    Parameters
    ----------
    function : callable
    names : sequence of str
        What texts in its place call its arguments, for messages.
    """

    def __init__(self, function: Callable[..., Any], names: Sequence[str] = ()) -> None:
        self.function, self.names = function, tuple(names)
        self._known: dict[Hashable, tuple[ca.Function, Any] | None] = {}
        self._first: tuple[Any, bytes] | None = None
        self._digests: dict[Hashable, bytes] = {}
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return repr(self.function)

    def __call__(self, *arguments: Any) -> Any:
        shape, leaves = _taken_apart(arguments)
        if shape is not None and shape not in self._known:
            for known, traced in self._known.items():
                if traced is not None and not _same(_traced(self.function, known), traced):
                    raise InputError(CHANGED)
            self._known[shape] = _traced(self.function, shape)
        if shape is None or self._known[shape] is None:
            return self._called(arguments)
        traced, returned = self._known[shape]
        return _put_together(returned, iter(traced.call([ca.SX(x) for x in leaves])))

    def _called(self, arguments):
        value = self.function(*arguments)
        if not _sees_others(self.function):
            return value
        if self._first is None:
            self._first = arguments, _digest_of_value(value)
        elif _digest_of_value(self.function(*self._first[0])) != self._first[1]:
            raise InputError(CHANGED)
        return value

    def __getstate__(self) -> dict[str, Any]:
        """Functions that other processes cannot import, such as lambdas, go there as what they state."""
        state = {"function": self.function, "names": self.names, "_known": self._known, "_first": None,
                 "_digests": self._digests}
        if _can_be_imported(self.function):
            return state
        if not self._known or None in self._known.values():
            raise InputError(f"{self.function!r} cannot be sent to another process, or deep-copied: define it in a "
                             "module, or give a text")
        return state | {"function": _Stated(getattr(self.function, "__name__", "function"))}

    def digest(self, sizes: Hashable, stated: Callable[[], ca.Function]) -> bytes:
        """Of what it states, `stated()`, where its arguments have those `sizes`."""
        if sizes not in self._digests:
            self._digests[sizes] = digest_of(stated())
        return self._digests[sizes]


class _Stated:
    """In the place of a function that has stayed in another process."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any) -> Any:
        raise InputError(f"the function {self.name!r} came from another process as the formula that it was there, and "
                         "is called with arguments of other shapes: define it in a module, or give a text")


def _can_be_imported(function):
    try:
        return pickle.loads(pickle.dumps(function)) is function
    except Exception:  # whatever the function has around it
        return False


def digest_of(function: ca.Function) -> bytes:
    """By which functions that state the same are known."""
    return hashlib.blake2b(function.serialize().encode(), digest_size=16).digest()


def _digest_of_value(value):
    """Of what a function returned, b"" where that is not an expression."""
    shape, leaves = _taken_apart(value)
    if shape is None:
        return b""
    values = [ca.SX(x) for x in leaves]
    return digest_of(ca.Function("f", ca.symvar(ca.veccat(*values)), values))


def _sees_others(function):
    """Whether a function sees variables beside its arguments, that may change."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_freevars:
        return True
    outer = (function.__globals__[name] for name in code.co_names if name in function.__globals__)
    return any(not isinstance(value, types.ModuleType | type | types.BuiltinFunctionType) for value in outer)


def captured(function: Any, names: Sequence[str] = ()) -> Any:
    """A function of the user as a `CapturedFormula`; formulas that cannot change as they are."""
    plain = isinstance(function, CapturedFormula | StoredFormula | ca.Function)
    return function if plain or hasattr(function, "text") else CapturedFormula(function, names)


def _same(one, other):
    return one is not None and one[1] == other[1] and one[0].serialize() == other[0].serialize()


def _traced(function, shape):
    """The function as a casadi.Function of the leaves, and how its results make up what it returns; None where it has
    symbols of others, or results of other kinds."""
    leaves = []
    arguments = _put_together(shape, _symbols(shape, leaves))
    returned, results = _taken_apart(function(*arguments))
    if returned is None:
        return None
    results = [ca.SX(x) for x in results]
    if ca.Function("f", leaves, results, {"allow_free": True}).free_sx():
        return None
    return ca.Function("f", leaves, results), returned


def _symbols(shape, leaves):
    """Symbols for the leaves of a shape, in order."""
    kind, items = shape
    if kind == "leaf":
        leaves.append(ca.SX.sym("x", *items))
        yield leaves[-1]
    elif kind is not None:
        for item in items:
            yield from _symbols(item, leaves)


def _taken_apart(thing):
    """Shape of nested arguments, hashable, and their leaves in order; (None, []) where they hold other things."""
    if thing is None:
        return (None, ()), []
    if isinstance(thing, NUMBERS):
        return ("leaf", ca.SX(thing).shape), [thing]
    if isinstance(thing, np.ndarray) and thing.ndim <= 2:
        if thing.dtype == object:
            return _taken_apart(thing.tolist())
        return ("leaf", ca.SX(thing).shape), [thing]
    if not isinstance(thing, list | tuple):
        return None, []
    parts = [_taken_apart(item) for item in thing]
    if any(shape is None for shape, _ in parts):
        return None, []
    return (type(thing), tuple(shape for shape, _ in parts)), [leaf for _, leaves in parts for leaf in leaves]


def _put_together(shape, leaves):
    """What has a shape, of an iterator over its leaves."""
    kind, items = shape
    if kind is None:
        return None
    if kind == "leaf":
        return next(leaves)
    values = [_put_together(item, leaves) for item in items]
    return kind(*values) if hasattr(kind, "_fields") else kind(values)
