"""What Python functions return in CasADi symbols, written as text that `TextFormula` reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import casadi as ca

from .stored_formula import StoredFormula

SCALARS = re.compile(r"(.*\.)?(t|l)|.*parameters\['.*'\]")  # arguments that are numbers
INLINE = 60  # characters up to which an operation is written where it is used
SPELT = {"ADD": "{} + {}", "SUB": "{} - {}", "MUL": "{} * {}", "DIV": "{} / {}", "POW": "{} ** {}",
         "CONSTPOW": "{} ** {}", "LT": "{} < {}", "LE": "{} <= {}", "EQ": "{} == {}", "NE": "{} != {}",
         "AND": "{} and {}", "OR": "{} or {}", "NEG": "-{}", "SQ": "{} ** 2", "TWICE": "2 * {}", "INV": "1 / {}",
         "NOT": "not {}"}
CALLED = {"FABS": "abs({})", "FMIN": "min({}, {})", "FMAX": "max({}, {})", "IF_ELSE_ZERO": "if_else({}, {}, 0)"}


def text_of(title: str, value: Any, symbols: Mapping[str, ca.SX]) -> str:
    """A value in CasADi symbols, or a nested list of such, as text.

    Parameters
    ----------
    title : str
        Starts the messages.
    value : SX or list
    symbols : dict
        How an argument is called -> its symbols; numbers are in `SCALARS`, others are vectors or matrices.

    Raises
    ------
    InputError
        For operations and numbers that a text cannot have.
    """
    names = [name if SCALARS.fullmatch(name) else f"{name}[{i}, {j}]" if symbol.shape[1] > 1 else f"{name}[{i}]"
             for name, symbol in symbols.items() for j in range(symbol.shape[1]) for i in range(symbol.shape[0])]
    flat = _leaves(value)
    function = ca.Function("formula", [ca.vertcat(ca.SX(0, 1), *map(ca.vec, symbols.values()))],
                           [ca.densify(ca.vertcat(*flat))])
    stored = StoredFormula.of(title, function)
    lines, spelt = [], []
    uses = [0] * len(stored.steps)
    for name, *operands in stored.steps:
        for i in operands if name not in ("INPUT", "CONST") else ():
            uses[i] += 1
    for i, (name, *operands) in enumerate(stored.steps):
        if name == "INPUT":
            text = names[operands[1]]
        elif name == "CONST":
            text = repr(operands[0]) if operands[0] >= 0 else f"({operands[0]!r})"
        else:
            text = _spelt(name, *(spelt[j] for j in operands))
            if name != "ASSIGN" and (uses[i] > 1 or len(text) > INLINE):
                lines.append(f"s{i} = {text}")
                text = f"s{i}"
        spelt.append(text)
    results = iter(spelt[i] for i in stored.results)
    return "\n".join([*lines, _nested(value, results)])


def _spelt(name, *operands):
    if name == "ASSIGN":
        return operands[0]
    if name in SPELT:
        return f"({SPELT[name].format(*operands)})"
    return CALLED.get(name, f"{name.lower()}({', '.join(['{}'] * len(operands))})").format(*operands)


def _leaves(value):
    return [leaf for entry in value for leaf in _leaves(entry)] if isinstance(value, list) else [ca.SX(value)]


def _nested(value, texts):
    if isinstance(value, list):
        return f"[{', '.join(_nested(entry, texts) for entry in value)}]"
    return next(texts)
