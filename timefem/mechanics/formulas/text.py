"""Formulas as text: arithmetic and a few functions, read by a parser of their own. Nothing in a text is executed.

`"-c[0] * (x[0] - 0.5) - c[1] * v[0]"`; lines before the last one give names to what is used more than once.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca

from ...errors import InputError, known_names
from .stored import StoredFormula, captured

LONGEST = 2_000_000  # characters
TIMES = "now", "start", "end", "before"  # arguments that are times of a motion, see `End`
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
              ast.Pow: ca.power, ast.MatMult: ca.mtimes}
COMPARISONS = {ast.Lt: ca.lt, ast.LtE: ca.le, ast.Gt: ca.gt, ast.GtE: ca.ge, ast.Eq: ca.eq, ast.NotEq: ca.ne}
FUNCTIONS: dict[str, Callable[..., Any]]
FUNCTIONS = {name: getattr(ca, name) for name in (
    "sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf log1p expm1 sign floor ceil "
    "copysign fmod hypot dot cross sumsqr").split()}
FUNCTIONS |= {"abs": ca.fabs, "min": ca.fmin, "max": ca.fmax, "norm": ca.norm_2, "sum": ca.sum1,
              "if_else": ca.if_else}


class TextFormula:
    """A formula given as text, to be called as a Python function of the same arguments.

    Parameters
    ----------
    text : str
        An expression, after lines of the form `name = expression` if any. With the arguments, `pi`, numbers, `+ - * /
        ** @`, comparisons, `and`, `or`, `not`, `a if b else c`, `[a, b]`, entries `x[0]` and `x[:3]`, and the functions
        of `FUNCTIONS`; of frames also `position`, `velocity`, `rotation`, `angular_velocity`, `q`, `rate`,
        `direction(a)`, `point(a)`, `velocity_at(a)`; of a time of a motion what `End` tells, names in quotes:
        `now.position('ball')[2]`.
    names : sequence of str
        Of the arguments.

    Attributes
    ----------
    used : set of str
        Those of the arguments that it has.
    compares : bool
        Whether it is a comparison, and its value 0 or 1; or a list with such.

    Raises
    ------
    InputError
        For anything else; names it.
    """

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text, self.names = text, tuple(names)
        if len(text) > LONGEST:
            raise InputError(f"a formula has {len(text)} characters; at most {LONGEST} are allowed")
        try:
            body = ast.parse(text.strip() if "\n" not in text.strip() else _dedented(text)).body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise InputError(f"{_short(text)} cannot be read: {str(error) or 'it is nested too deeply'}") \
                from None
        if not body or not isinstance(body[-1], ast.Expr):
            raise InputError(f"{_short(text)} must end with an expression, its value")
        self._lines, known = [], [*self.names, "pi"]
        self.used = {node.id for line in body for node in ast.walk(line) if isinstance(node, ast.Name)} & {*names}
        for line in body[:-1]:
            if not (isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name)):
                raise InputError(f"{_short(text)}: lines before the last one must be name = expression")
            self._check_names(line.value, known)
            known.append(line.targets[0].id)
            self._lines.append((line.targets[0].id, line.value))
        self._check_names(body[-1].value, known)
        self._value = body[-1].value
        entries = self._value.elts if isinstance(self._value, ast.List | ast.Tuple) else [self._value]
        self.compares = any(isinstance(entry, ast.Compare) for entry in entries)

    def _check_names(self, tree, known):
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            words = FUNCTIONS if id(node) in called else known
            if isinstance(node, ast.Name) and node.id not in words:
                raise InputError(f"{_short(self.text)} has the unknown name "
                                 f"{node.id!r}{known_names(node.id, words)}{self._hint(node.id, words)}")

    def _hint(self, name, words):
        """What an unknown name may stand for, where there are times of a motion."""
        at = next((time for time in self.names if time in TIMES), None)
        if at is None:
            return ""
        return f"; of a motion it is {at}.{name}(...)" if words is FUNCTIONS else \
            f"; bodies, joints and actuators have their names in quotes, {at}.q('body')"

    def __call__(self, *arguments: Any) -> Any:
        values = dict(zip(self.names, arguments, strict=True)) | {"pi": ca.SX(ca.pi)}
        try:
            for name, tree in self._lines:
                values[name] = _value_of(tree, values)
            return _value_of(self._value, values)
        except InputError as error:
            raise InputError(f"{_short(self.text)}: {error}") from None
        except (RecursionError, ArithmeticError, LookupError, TypeError, ValueError, RuntimeError,
                NotImplementedError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
            raise InputError(f"{_short(self.text)} cannot be evaluated: {reason}") from None

    def __eq__(self, other):
        return isinstance(other, TextFormula) and (self.text, self.names) == (other.text, other.names)

    def __hash__(self):
        return hash((self.text, self.names))

    def __repr__(self):
        return f"TextFormula({_short(self.text)})"


def as_formula(title: str, value: Any, names: Sequence[str]) -> Any:
    """A text, or a list of texts and numbers, as `TextFormula`; a function as `CapturedFormula`.

    Raises
    ------
    InputError
        For anything else, and for texts that are not formulas.
    """
    if callable(value):
        return captured(value, names)
    try:
        if isinstance(value, str | list | tuple):
            return TextFormula(_joined(value), names)
    except InputError as error:
        raise InputError(f"{title}: {error}") from None
    raise InputError(f"{title} must be a function that returns CasADi symbols, or a formula as text, not {value!r}")


def refuse_comparison(title: str, formula: Any, right: str = "limited, such as a difference, and give lower and upper",
                      ) -> None:
    """Refuse a text that compares, and is 0 or 1, where bounds are given besides; or where it is to be `right`."""
    if getattr(formula, "compares", False):
        raise InputError(f"{title}: {_short(formula.text)} is a comparison, which is 0 or 1; write what is {right}")


def _joined(value):
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value))
    if isinstance(value, list | tuple) and value:
        return f"[{', '.join(map(_joined, value))}]"
    raise InputError(f"a formula is a text, or a list of such and of numbers, not {value!r}")


def _dedented(text):
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _short(text):
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


# ---- the value of a tree of syntax

def _unknown(tree):
    return InputError(f"{ast.unparse(tree)!r} is not allowed in formulas, which are made of numbers, their symbols, "
                      "operators such as + - * / **, comparisons, and functions such as sin(x)")


def _value_of(tree, values):
    if type(tree) not in VALUES:
        raise _unknown(tree)
    return VALUES[type(tree)](tree, values)


def _symbol(tree, values):
    """A value as SX; lists become vectors."""
    value = _value_of(tree, values)
    if isinstance(value, list):
        return ca.vertcat(*value)
    if not isinstance(value, ca.SX | ca.DM | float):
        raise InputError(f"{ast.unparse(tree)!r} is not a number or a vector")
    return value


def _constant(tree, values):
    if isinstance(tree.value, bool) or not isinstance(tree.value, int | float):
        raise InputError(f"{tree.value!r} is not a number")
    return ca.SX(float(tree.value))


def _call(tree, values):
    if tree.keywords:
        raise InputError(f"{ast.unparse(tree)!r}: functions take no keyword arguments")
    if isinstance(tree.func, ast.Name):
        return FUNCTIONS[tree.func.id](*(_symbol(a, values) for a in tree.args))
    return _of_frame(tree.func, values, True)(*(_name(a) or _symbol(a, values) for a in tree.args))


def _name(tree):
    """A name in quotes; None for anything else."""
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else None


def _attribute(tree, values):
    if tree.attr == "T" and not hasattr(_value_of(tree.value, values), "_fields"):
        return _symbol(tree.value, values).T
    return _of_frame(tree, values, False)


def _of_frame(tree, values, method):
    if not isinstance(tree, ast.Attribute):
        raise InputError(f"{ast.unparse(tree)!r} is not a function")
    frame, name = _value_of(tree.value, values), tree.attr
    fields, methods = getattr(frame, "_fields", ()), getattr(frame, "_methods", ())
    if name in (fields if method else methods):
        raise InputError(f"{ast.unparse(tree)!r} is {'no function' if method else 'a function, not a value'}; "
                         f"write {ast.unparse(tree)}{'' if method else '(...)'}")
    if name not in (methods if method else fields):
        raise InputError(f"{ast.unparse(tree.value)!r} has no {name!r}{known_names(name, [*fields, *methods])}")
    value = getattr(frame, name)
    if value is None:
        raise InputError(f"{ast.unparse(tree.value)!r} has no {name}, being of a body without one")
    return value


def _entry(tree, values):
    value = _value_of(tree.value, values)
    if isinstance(value, dict):
        name = _name(tree.slice)
        if name not in value:
            raise InputError(f"{ast.unparse(tree.value)!r} has no {ast.unparse(tree.slice)}; known are "
                             f"{', '.join(map(repr, value)) or 'none'}")
        return value[name]
    if hasattr(value, "_fields"):
        own = [*value._fields, *value._methods]
        raise InputError(f"{ast.unparse(tree.value)!r} is not a vector; take {ast.unparse(tree.value)}.{own[0]} or the "
                         "like")
    index = tuple(map(_index, tree.slice.elts)) if isinstance(tree.slice, ast.Tuple) else _index(tree.slice)
    try:
        return value[index]
    except (RuntimeError, IndexError) as error:
        if "out of" not in str(error):
            raise
        size = value.numel() if hasattr(value, "numel") else len(value)
        none = "; give actuators" if ast.unparse(tree.value) == "u" and not size else ""
        raise InputError(f"{ast.unparse(tree)!r} is out of bounds: {ast.unparse(tree.value)!r} has {size or 'no'} "
                         f"entries{none}") from None


def _index(tree):
    if isinstance(tree, ast.Slice):
        return slice(*(None if part is None else _index(part) for part in (tree.lower, tree.upper, tree.step)))
    try:
        value = ast.literal_eval(tree)
    except ValueError:
        value = None
    if type(value) is not int or abs(value) > 10**6:
        raise InputError(f"the index {ast.unparse(tree)!r} is not an integer")
    return value


def _compared(tree, values):
    if len(tree.ops) > 1 or type(tree.ops[0]) not in COMPARISONS:
        raise InputError(f"{ast.unparse(tree)!r} is not a comparison of two numbers")
    return COMPARISONS[type(tree.ops[0])](_symbol(tree.left, values), _symbol(tree.comparators[0], values))


def _logical(tree, values):
    join = ca.logic_and if isinstance(tree.op, ast.And) else ca.logic_or
    first, *others = (_symbol(v, values) for v in tree.values)
    for other in others:
        first = join(first, other)
    return first


def _unary(tree, values):
    known = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: ca.logic_not}
    if type(tree.op) not in known:
        raise _unknown(tree)
    return known[type(tree.op)](_symbol(tree.operand, values))


def _binary(tree, values):
    if type(tree.op) not in ARITHMETIC:
        raise _unknown(tree)
    return ARITHMETIC[type(tree.op)](_symbol(tree.left, values), _symbol(tree.right, values))


VALUES = {ast.Constant: _constant, ast.Name: lambda tree, values: values[tree.id], ast.Call: _call,
          ast.Attribute: _attribute, ast.Subscript: _entry, ast.Compare: _compared, ast.BoolOp: _logical,
          ast.UnaryOp: _unary, ast.BinOp: _binary,
          ast.IfExp: lambda tree, values: ca.if_else(*(_symbol(x, values) for x in (tree.test, tree.body,
                                                                                     tree.orelse))),
          ast.List: lambda tree, values: [_value_of(x, values) for x in tree.elts],
          ast.Tuple: lambda tree, values: [_value_of(x, values) for x in tree.elts]}


# ---- What Python functions return in CasADi symbols, written as text that `TextFormula` reads

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
