"""Functions given by the user, in CasADi symbols: checked when they are given, and distinguished by what they state;
what they divide by, where they have poles."""

import math
from collections.abc import Mapping
from functools import cached_property
from inspect import signature
from types import MappingProxyType
from typing import NamedTuple

import casadi as ca
import numpy as np

from ...errors import InputError
from ...kernels.operations import operation_names
from .stored import CapturedFormula, digest_of
from .text import TextFormula


class Same:
    """Stands for a formula in a `kind`: equal to those that state the same, and of an object to the very same one.

    A bare `id` could be given to another object once the first one is gone, which would then get its kernel.

    Parameters
    ----------
    thing : object
    stated : callable, optional
        `stated()` -> casadi.Function, all that a formula states; without it the object itself counts.
    sizes : hashable
        Of the arguments that the formula has there.
    """

    def __init__(self, thing, stated=None, sizes=None):
        self.thing, self.stated, self.sizes = thing, stated, sizes

    @cached_property
    def _key(self):
        if isinstance(self.thing, TextFormula):
            return self.thing
        if self.stated is None:
            return id(self.thing)
        if isinstance(self.thing, CapturedFormula):
            return self.thing.digest(self.sizes, self.stated)
        return digest_of(self.stated())

    def __eq__(self, other):
        return isinstance(other, Same) and self._key == other._key

    def __hash__(self):
        return hash(self._key)


def call(title, function, n, *arguments):
    """The `n` values of a function given by the user, as SX of shape (n, 1).

    Parameters
    ----------
    title : str
        Starts the messages.
    function : callable
        Of the arguments; returns an SX, a number, or a sequence of these.
    n : int
    arguments : SX, or sequences of objects that hold SX

    Raises
    ------
    InputError
        When the function cannot be called, fails, or returns something else.
    """
    if not callable(function):
        raise InputError(f"{title} must be a function that returns CasADi symbols, not {function!r}")
    check_takes(title, function, arguments)
    try:
        value = function(*arguments)
        value = ca.vertcat(*value) if isinstance(value, list | tuple | np.ndarray) else ca.SX(value)
        value = ca.densify(ca.SX(value))
    except Exception as error:
        if isinstance(error, InputError):
            raise InputError(f"{title}: {error}") from None
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{title} failed on CasADi symbols ({reason}); write it with casadi.vertcat, "
                         "casadi.sin, casadi.dot, ...") \
            from error
    if value.shape not in ((n, 1), (1, n)):
        raise InputError(f"{title} must return {n} value{'s' * (n > 1)}, not shape {value.shape}")
    value = value.reshape((n, 1))
    if not all(np.isfinite(float(e)) for e in ca.vertsplit(value) if e.is_constant()):
        # also what math.sin makes of a symbol
        raise InputError(f"{title} must return finite values; write it with casadi.sin, casadi.dot, ...")
    return value


def check_takes(title, function, arguments, names=()):
    """InputError for a function of more or fewer arguments; names those that it must have where texts do."""
    try:
        takes = signature(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return
    try:
        takes.bind(*arguments)
    except TypeError:
        n, names = len(arguments), names or getattr(function, "names", ())
        wanted = f"({', '.join(names[:n])})" if len(names) >= n else f"{n} argument{'s' * (n != 1)}"
        raise InputError(f"{title} must be a function of {wanted}, not of {takes}") from None


def check_symbols(title, value, *known):
    """Refuse an SX that contains other symbols than the known ones.

    Raises
    ------
    InputError
        Names the strangers.
    """
    # by identity, not by name: a symbol of the user may be called t as well
    strangers = ca.Function("f", list(known), [value], {"allow_free": True}).free_sx()
    if strangers:
        raise InputError(f"{title} contains the symbols {', '.join(map(str, strangers))}, which are not its arguments")


def with_time(function, q, c, t):
    """Arguments of a function given by the user: `(q, c)`, or `(q, c, t)` when it needs three; texts name all."""
    if isinstance(function, TextFormula):
        return q, c, t
    try:
        signature(function).bind(q, c)
    except TypeError:
        return q, c, t
    except ValueError:  # a builtin without a signature
        pass
    return q, c


def needs_two(function, *arguments):
    """Whether a function given by the user takes two arguments, and not one alone."""
    try:
        signature(function).bind(arguments[0])
    except TypeError:
        return True
    except ValueError:  # a builtin without a signature
        pass
    return False


def call_vector(title, function, *arguments):
    """The values of a function given by the user, as many as it returns, as SX of shape (n, 1); see `call`."""
    if not callable(function):
        raise InputError(f"{title} must be a function that returns CasADi symbols, not {function!r}")
    check_takes(title, function, arguments)
    values = []

    def first(*arguments):
        value = function(*arguments)
        values.append(ca.SX(ca.vertcat(*value) if isinstance(value, list | tuple | np.ndarray) else value))
        return 0

    call(title, first, 1, *arguments)
    if not values[0].numel():
        raise InputError(f"{title} returned no expression; leave constraints out instead")
    return call(title, lambda: values[0], values[0].numel())


def idle_rows(jacobian):
    """Numbers of the rows of an SX matrix that are zero whatever its symbols, list of int."""
    return np.flatnonzero(~np.array(ca.DM(jacobian.sparsity(), 1)).any(axis=1)).tolist()


def checked_names(title, names, n):
    """Names of `n` constraints that a formula gives, tuple of str; numbers when `names` is None."""
    if names is None:
        return tuple(f"constraint {i + 1}" for i in range(n))
    if not isinstance(names, list | tuple) or len(names) != n or not all(isinstance(x, str) for x in names):
        raise InputError(f"{title}: names must be a list of {n} texts, one per constraint, not {names!r}")
    return tuple(names)


def polynomial_degree(formula: ca.SX, variables: ca.SX) -> float:
    """Degree of `formula` as a polynomial of `variables`, that its operations show; inf where they are not polynomials.

    Terms that cancel count, so that it is the degree or more.
    """
    function = ca.Function("formula", [variables], [formula], {"allow_free": True})
    work, most = [0.0] * function.sz_w(), 0.0
    for k in range(function.n_instructions()):
        operation, inputs = function.instruction_id(k), function.instruction_input(k)
        if operation == ca.OP_OUTPUT:
            most = max(most, work[inputs[0]])
            continue
        given = [work[i] for i in inputs] if operation not in _LEAVES else [_LEAVES[operation]]
        work[function.instruction_output(k)[0]] = _DEGREES.get(operation, _of_others)(*given)
    return most


def _of_others(*given):
    return math.inf if any(given) else 0.0


_LEAVES = {ca.OP_INPUT: 1.0, ca.OP_CONST: 0.0, ca.OP_PARAMETER: 0.0}
_DEGREES = {ca.OP_ADD: max, ca.OP_SUB: max, ca.OP_MUL: lambda a, b: a + b, ca.OP_SQ: lambda a: 2 * a,
            ca.OP_DIV: lambda a, b: math.inf if b else a} | dict.fromkeys(
                (ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN, *_LEAVES), lambda a: a)


# by operation of CasADi: what of its operands vanishes where it is not smooth
ROUNDED = dict.fromkeys(("FLOOR", "CEIL"), lambda x: ca.sin(np.pi * x))
SWITCHES = {**dict.fromkeys(("FMAX", "FMIN", "LT", "LE"), lambda x, y: x - y),
            **dict.fromkeys(("FABS", "SIGN"), lambda x: x), **ROUNDED}
# smooth, and in place of a jump where an operand vanishes; `_Sum` has more of these
STEEP = dict.fromkeys(("TANH", "ERF", "ATAN"), lambda x: x)


class Switches(NamedTuple):
    switching: ca.Function | None  # of (state, t, parameters)
    of_time: ca.Function | None  # of (t, parameters), what depends on the time alone
    in_time: ca.Function | None = None
    linear: ca.Function | None = None  # of parameters: what is linear `in_time` at time zero, and its slopes


def switches_in(function, timed, switches=SWITCHES):
    """The `Switches` of one kind, by following the instructions of its formula."""
    names = operation_names()
    operations = [names.get(i) for i in map(function.instruction_id, range(function.n_instructions()))]
    steep = STEEP.keys() <= switches.keys()
    if not (timed or (steep and _STEEP_SUMS & set(operations))) and switches.keys().isdisjoint(operations):
        return Switches(None, None)
    arguments = [ca.SX.sym("x", function.size1_in(i)) for i in range(function.n_in())]
    state, t, parameters = arguments
    memory, found, of_time = {}, {}, {}  # by slot: symbol, number of the value, whether it sees the state and the time
    numbers, sums = {}, {}
    for k, name in enumerate(operations):
        inputs, outputs = function.instruction_input(k), function.instruction_output(k)
        if name == "OUTPUT":
            of_time |= _of_time_alone([memory[inputs[0]]])
            continue
        if name == "INPUT":
            value, key = arguments[inputs[0]][inputs[1]], tuple(inputs)
            sees = inputs[0] == 0, inputs[0] == 1
        elif name == "CONST":
            value, key, sees = ca.SX(function.instruction_constant(k)), function.instruction_constant(k), (False, False)
        else:
            given, operation = [memory[i] for i in inputs], function.instruction_id(k)
            values, key = [value for value, *_ in given], tuple(number for _, number, _ in given)
            sees = tuple(any(own[j] for *_, own in given) for j in range(2))
            value = ca.SX.unary(operation, *values) if len(values) == 1 else ca.SX.binary(operation, *values)
            if any(sees) and name in switches:
                found.setdefault(frozenset(key), switches[name](*values))
            if steep and sees[0]:
                terms = [sums.get(number, _Sum()) if own[0] else _FREE for _, number, own in given]
                sums[numbers.setdefault((name, key), len(numbers))] = _sum_of(name, terms, key, values)
                found |= {frozenset([n]): x for n, x in _steep_in(name, terms, key, values).items()}
            if sees[0]:
                of_time |= _of_time_alone(given)
        memory[outputs[0]] = value, numbers.setdefault((name, key), len(numbers)), sees
    moving = [value for value in found.values() if ca.depends_on(value, state)]
    switching = ca.Function("switching", arguments, [ca.densify(ca.vertcat(*moving))]) if moving else None
    in_time = [value for value in found.values() if not ca.depends_on(value, state)]
    return Switches(switching, *(ca.Function("of_time", [t, parameters], [ca.densify(ca.vertcat(*values))])
                                   if values else None for values in (of_time.values(), in_time)),
                    _linear(in_time, t, parameters) if in_time else None)


class _Sum(NamedTuple):
    """What is known of a value as a sum: whether it has a term without states, of what it has squares or exponentials,
    by number of the value, and whether all of these are exponentials."""

    free: bool = False
    of: Mapping[int, ca.SX] = MappingProxyType({})
    rises: bool = True


_FREE, _ROOTS = _Sum(True), {"SQRT", "POW", "CONSTPOW"}
_STEEP_SUMS = {*_ROOTS, "INV", "DIV", "HYPOT", "ATAN2"}


def _sum_of(name, terms, numbers, values):
    """The `_Sum` of a value that depends on the state, from those of its operands."""
    if name in ("SQ", "EXP"):  # of a square as well
        return _Sum(False, terms[0].of or {numbers[0]: values[0]}, name == "EXP")
    if name == "ADD" and all(term.free or term.of for term in terms):
        one, other = terms
        return _Sum(one.free or other.free, {**one.of, **other.of}, one.rises and other.rises)
    if (name == "MUL" and _FREE in terms) or (name == "DIV" and terms[1] is _FREE):
        return terms[1] if terms[0] is _FREE else terms[0]
    return _Sum()


def _steep_in(name, terms, numbers, values):
    """What vanishes where a root, or a quotient, of a sum is steep, such as v of v / sqrt(v^2 + w^2), or of
    1 / (1 + exp(-v / w)), by number of the value."""
    if name in ("HYPOT", "ATAN2") and _FREE in terms:
        return {n: x for n, x, term in zip(numbers, values, terms, strict=True) if term is not _FREE}
    inside = terms[1] if name == "DIV" else terms[0] if name in _STEEP_SUMS else _Sum()
    return inside.of if inside.free or (inside.rises and len(inside.of) > 1 and name not in _ROOTS) else {}


def _of_time_alone(given):
    return {number: value for value, number, sees in given if sees == (False, True)}


def _linear(values, t, parameters):
    slopes = [ca.jacobian(value, t) for value in values]
    linear = [(ca.substitute(value, t, 0), slope) for value, slope in zip(values, slopes, strict=True)
              if not ca.depends_on(slope, t)]
    return ca.Function("linear", [parameters], [ca.densify(ca.vertcat(*x)) for x in zip(*linear, strict=True)]) \
        if linear else None


def linear_zeros(switches, rows):
    """Zeros of what `Switches` compare in time that are linear in it, list of float.

    Parameters
    ----------
    switches : Switches
    rows : array_like, shape (n, n_parameters)
        Parameters, of all of which the zeros are wanted.
    """
    found = []
    for parameters in rows if switches.linear is not None else ():
        first, slope = (np.array(x).ravel() for x in switches.linear(parameters))
        found += (-first[slope != 0] / slope[slope != 0]).tolist()
    return found


_EVEN = ca.OP_SQ, ca.OP_EXP, ca.OP_SQRT, ca.OP_FABS, ca.OP_COSH
_LIKE = ca.OP_TWICE, ca.OP_INV


def divisors(formula: ca.SX, symbols: ca.SX) -> ca.SX:
    """Divisors in a formula, and what it takes roots, logarithms and broken powers of, as far as they depend on symbols
    and may change their signs, SX (n,).

    Sums of squares, roots and the like keep theirs, and are left out.
    """
    signs, found = {}, {}
    for x in _terms(formula):
        operands = [x.dep(i) for i in range(x.n_dep())]
        known = [signs[y.element_hash()] for y in operands]
        signs[x.element_hash()] = _sign(x, operands, known)
        for divisor in _divided_by(x, operands):
            if not signs.get(divisor.element_hash(), 0):
                found[divisor.element_hash()] = divisor
    return ca.vertcat(ca.SX(0, 1), *(x for x in found.values() if ca.depends_on(x, symbols)))


def _terms(formula):
    """All terms of a formula, each once, behind those that it is made of."""
    seen, left = set(), [(x, False) for x in ca.SX(formula).nonzeros()]
    while left:
        x, done = left.pop()
        if done:
            yield x
        elif x.element_hash() not in seen:
            seen.add(x.element_hash())
            left.append((x, True))
            left += [(x.dep(i), False) for i in range(x.n_dep())]


def _divided_by(x, operands):
    op = x.op() if operands else None
    if op == ca.OP_DIV:
        return operands[1:]
    if op == ca.OP_INV:
        return operands
    if op == ca.OP_TAN:
        return [ca.cos(operands[0])]
    if op in (ca.OP_SQRT, ca.OP_LOG):
        return operands
    power = operands[1] if op in (ca.OP_POW, ca.OP_CONSTPOW) else None
    return [] if power is None or (_constant(power) >= 0 and _constant(power).is_integer()) else operands[:1]


def _sign(x, operands, known):
    """1 for terms that are not negative whatever the symbols are, -1 for those that are not positive, else 0."""
    if x.is_constant():
        return 1 if float(x) >= 0 else -1
    op = x.op() if operands else None
    if op in _EVEN:
        return 1
    if op in _LIKE:
        return known[0]
    if op == ca.OP_NEG:
        return -known[0]
    if op in (ca.OP_MUL, ca.OP_DIV):
        return known[0] * known[1]
    if op in (ca.OP_ADD, ca.OP_SUB):
        return known[0] if known[0] == (known[1] if op == ca.OP_ADD else -known[1]) else 0
    return 0


def _constant(x):
    return float(x) if x.is_constant() else 0.5
