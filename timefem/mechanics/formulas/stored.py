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


def terms_of(value: ca.SX, symbols: Sequence[ca.SX], at: Sequence[Any]) -> float:
    """Size of the terms that make up a formula, constants among them: of its changes, to first order, where each step
    of it changes by its own value; zero where one of its operations has no text."""
    try:
        stored = StoredFormula.of("formula", ca.Function("formula", symbols, [ca.densify(value)]))
    except InputError:
        return 0.0
    values: list[ca.SX] = []
    changes = ca.SX.sym("changes", len(stored.steps))
    for step, change in zip(stored.steps, ca.vertsplit(changes), strict=True):
        values.append(computed(step, values, symbols) * (1 + change))
    slopes = ca.densify(ca.jacobian(values[stored.results[0]], changes))
    return float(np.nansum(np.abs(ca.Function("terms", [*symbols, changes], [slopes])(*at, 0).full())))


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
