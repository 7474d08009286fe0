"""Functions given by the user, as they were when they were first called on symbols; formulas as plain data: lists of
known operations, of which none is code that a file could run."""

from __future__ import annotations

import functools
import hashlib
import math
import pickle
import types
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from ...errors import InputError

BINARY: dict[str, Callable[[Any, Any], Any]]
UNARY: dict[str, Callable[[Any], Any]]
# declared: to find a common type of CasADi's overloads takes a type checker minutes
BINARY = {"ADD": lambda x, y: x + y, "SUB": lambda x, y: x - y, "MUL": lambda x, y: x * y, "DIV": lambda x, y: x / y,
          "POW": ca.power, "CONSTPOW": ca.power, "LT": ca.lt, "LE": ca.le, "EQ": ca.eq, "NE": ca.ne,
          "AND": ca.logic_and, "OR": ca.logic_or, "FMIN": ca.fmin, "FMAX": ca.fmax, "ATAN2": ca.atan2,
          "IF_ELSE_ZERO": lambda x, y: ca.if_else(x, y, 0), "COPYSIGN": ca.copysign, "FMOD": ca.fmod,
          "HYPOT": ca.hypot}
UNARY = {"ASSIGN": lambda x: x, "NEG": lambda x: -x, "SQ": lambda x: x * x, "TWICE": lambda x: 2 * x,
         "INV": lambda x: 1 / x, "NOT": ca.logic_not, "SIGN": ca.sign, "SQRT": ca.sqrt, "FABS": ca.fabs,
         "FLOOR": ca.floor, "CEIL": ca.ceil, "EXP": ca.exp, "LOG": ca.log, "SIN": ca.sin, "COS": ca.cos, "TAN": ca.tan,
         "ASIN": ca.asin, "ACOS": ca.acos, "ATAN": ca.atan, "SINH": ca.sinh, "COSH": ca.cosh, "TANH": ca.tanh,
         "ASINH": ca.asinh, "ACOSH": ca.acosh, "ATANH": ca.atanh, "ERF": ca.erf, "LOG1P": ca.log1p,
         "EXPM1": ca.expm1}


@dataclass(eq=False)
class StoredFormula:
    """A formula of vectors, as it was when it was stored.

    Parameters
    ----------
    sizes : sequence of int
        Of its arguments.
    steps : sequence
        `[operation, operands ...]` in order, operands by the number of an earlier step; "INPUT" takes the number of an
        argument and a place in it, "CONST" a number.
    results : sequence of int
        Numbers of what it returns.

    Raises
    ------
    InputError
        For unknown operations, and for numbers that are out of range.
    """

    sizes: Sequence[int]
    steps: Sequence[Sequence[Any]]
    results: Sequence[int]

    def __post_init__(self) -> None:
        self.sizes, self.steps, self.results = list(self.sizes), [list(step) for step in self.steps], list(self.results)
        try:
            self.at(*(ca.SX.sym("x", int(n)) for n in self.sizes))
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"a formula in the file is damaged: {error!r}") from None

    @classmethod
    def of(cls, title: str, function: ca.Function) -> StoredFormula:
        """Of the first result of an SX function of dense arguments.

        Raises
        ------
        InputError
            For an operation that files do not have.
        """
        steps, results = [], {}
        for k in range(function.n_instructions()):
            name, given, out = (_names()[function.instruction_id(k)], function.instruction_input(k),
                                function.instruction_output(k))
            if name == "OUTPUT":
                if out[0] == 0:
                    results[out[1]] = len(steps)
                    steps.append(["ASSIGN", given[0]])
            elif name == "CONST":
                value = float(function.instruction_constant(k))
                if not math.isfinite(value):
                    raise InputError(f"{title} has the constant {value}, which files cannot hold")
                steps.append([name, value, out[0]])
            elif name == "INPUT" or name in BINARY or name in UNARY:
                steps.append([name, *given[:1 if name in UNARY else 2], out[0]])
            else:
                raise InputError(f"{title} has the operation {name.lower()}, which files cannot hold")
        return cls([function.numel_in(i) for i in range(function.n_in())], *_numbered(steps, results))

    def data(self) -> dict[str, Any]:
        return {"sizes": self.sizes, "steps": self.steps, "results": self.results}

    def __call__(self, first: ca.SX, second: ca.SX, third: ca.SX) -> ca.SX:
        return self.at(first, second, third)

    def at(self, *arguments: ca.SX) -> ca.SX:
        """Its values at any number of arguments, SX (n,)."""
        values: list[ca.SX] = []
        for step in self.steps:
            values.append(computed(step, values, arguments))
        return ca.vertcat(ca.SX(0, 1), *(values[i] for i in self.results))


def computed(step: Sequence[Any], values: Sequence[ca.SX], arguments: Sequence[ca.SX]) -> ca.SX:
    """The value of a step, of those before and of the arguments."""
    name, *operands = step
    if name == "INPUT":
        return arguments[operands[0]][operands[1]]
    if name == "CONST":
        return ca.SX(float(operands[0]))
    if name in UNARY:
        return UNARY[name](values[operands[0]])
    return BINARY[name](values[operands[0]], values[operands[1]])


def terms_of(values: ca.SX) -> ca.SX:
    """Sizes of the terms that make up values, constants among them, in the pattern of the values: rounding of a value
    is some units in the last place of it.

    To first order, by the formula alone, in the units of the values: `x + y` has the sizes of both together, `f(x)`
    has `|f'(x)|` times that of x, at least `|f(x)|`.
    """
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(values))
    function = ca.Function("values", [symbols], [ca.vertcat(ca.SX(0, 1), *values.nonzeros())])
    sizes = _sizes(function, lambda _, place: symbols[place], ca.SX, ca.fmax, ca.Function.call)
    return ca.SX(values.sparsity(), ca.vertcat(ca.SX(0, 1), *sizes))


def sizes_at(function: ca.Function, *arguments: np.ndarray) -> np.ndarray:
    """The same of what a function returns, at numbers: where these are few, ten times as fast as to make a formula.

    Parameters
    ----------
    function : casadi.Function
        Of dense columns, with one of these as its result, of length n_out.
    *arguments : ndarray, shapes (n, length)

    Returns
    -------
    ndarray, shape (n, n_out)
    """
    def called(derived, terms):
        return [np.asarray(found)[0] for found in derived.call([ca.DM(np.atleast_2d(term)) for term in terms])]

    with np.errstate(all="ignore"):
        sizes = _sizes(function, lambda argument, place: arguments[argument][:, place],
                       lambda number: np.full(len(arguments[0]), float(number)), np.fmax, called)
    return np.array(sizes, float).reshape(len(sizes), len(arguments[0])).T


def _sizes(function, leaf, constant, largest, called):
    """Sizes of terms of each result, in an arithmetic: with its inputs, constants, `fmax`, and calls of functions."""
    memory: dict[int, tuple[Any, Any]] = {}  # by slot: a value, and its size
    sizes = [constant(0)] * function.numel_out(0)
    for k in range(function.n_instructions()):
        operation, given = function.instruction_id(k), function.instruction_input(k)
        out = function.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            sizes[out[1]] = memory[given[0]][1]
        elif operation in (ca.OP_INPUT, ca.OP_CONST):
            value = leaf(*given) if operation == ca.OP_INPUT else constant(function.instruction_constant(k))
            memory[out[0]] = value, abs(value)
        else:
            terms, own = zip(*(memory[i] for i in given), strict=True)
            if operation in PLAIN:
                memory[out[0]] = PLAIN[operation](*terms, *own)
                continue
            value, slopes = _derived(operation, len(terms))
            size = sum(abs(slope) * size for slope, size in zip(called(slopes, terms), own, strict=True))
            value, = called(value, terms)
            memory[out[0]] = value, largest(abs(value), size)
    return sizes


# by operation, of its terms and their sizes: its value and the size of that, faster than by `_derived`
PLAIN = {
    ca.OP_ADD: lambda a, b, of_a, of_b: (a + b, of_a + of_b),
    ca.OP_SUB: lambda a, b, of_a, of_b: (a - b, of_a + of_b),
    ca.OP_MUL: lambda a, b, of_a, of_b: (a * b, abs(b) * of_a + abs(a) * of_b),
    ca.OP_SQ: lambda a, of_a: (a * a, 2 * abs(a) * of_a),
    ca.OP_NEG: lambda a, of_a: (-a, of_a),
}


@cache
def _derived(operation, n):
    """Functions of the `n` terms of an operation: its value, and its slopes by them."""
    terms = [ca.SX.sym("x") for _ in range(n)]
    value = (ca.SX.unary if n == 1 else ca.SX.binary)(operation, *terms)
    return (ca.Function("value", terms, [value]),
            ca.Function("slopes", terms, [ca.densify(ca.gradient(value, term)) for term in terms]))


def _numbered(steps, results):
    """Steps whose operands are numbers of earlier steps, instead of places in memory that are used again."""
    at, out = {}, []
    for number, (name, *numbers) in enumerate(steps):
        if name in ("INPUT", "CONST"):
            out.append([name, *numbers[:-1]])
            at[numbers[-1]] = number
        elif name == "ASSIGN" and len(numbers) == 1:  # a result
            out.append([name, at[numbers[0]]])
        else:
            out.append([name, *(at[i] for i in numbers[:-1])])
            at[numbers[-1]] = number
    return out, [results[i] for i in sorted(results)]


@cache
def _names():
    return {getattr(ca, name): name[3:] for name in dir(ca) if name.startswith("OP_")}


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
