"""Formulas in CasADi symbols as plain data: lists of known operations, of which none is code that a file could run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
