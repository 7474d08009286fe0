"""Arguments of parts with other numbers, or expressions, instead of some; formulas that are stated once for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any

import casadi as ca
import numpy as np

NUMBER = int | float | np.number | ca.SX
INERTIA = "inertia"  # of which an entry and the one that mirrors it are one number


class Arguments:
    """Attributes of a part, or of what parts refer to, as formulas of numbers take them (`Declared.numbers`).

    Parameters
    ----------
    thing : object
    values : dict
        Attributes that differ from those of the thing.
    of : callable
        `of(part)` -> its arguments, for what the thing refers to.
    symbolic : bool
        Whether arrays are expressions.
    """

    def __init__(self, thing: Any, values: Mapping[str, Any], of: Callable[[Any], Any], symbolic: bool = True) -> None:
        vars(self).update(_thing=thing, _values=values, _of=of, _symbolic=symbolic)

    def __getattr__(self, name):
        value = self._values[name] if name in self._values else getattr(self._thing, name)
        return self._seen(value)

    def _seen(self, value):
        if isinstance(value, tuple | list):
            return tuple(map(self._seen, value))
        if hasattr(value, "own_parameters"):
            return self._of(value)
        if hasattr(value, "coordinate") and hasattr(value, "owner"):  # of a joint, with that as its owner
            return Arguments(value, {}, self._of, self._symbolic)
        return as_symbols(value) if self._symbolic else value


def own_parameters(part: Any, c: Any) -> Any:
    """All of `numbers` of a part, ndarray or SX (n_own,), of its arguments `c`."""
    given = vars(c).get("_values", {})  # those that are meant by their place
    return given["own_parameters"] if "own_parameters" in given else joined(*part.numbers(c).values())


# ---- entries of arguments

def _is_constant(value):
    """Whether it is a function of time that is constant, or the formula of one."""
    return hasattr(value, "formula") and [f.name for f in fields(value)] == ["value"]


def unchecked(thing, **values):
    """A copy of a frozen object with other attributes, as they are."""
    other = copy(thing)
    for name, value in values.items():
        object.__setattr__(other, name, value)
    return other


def symmetric(name: str, steps: Sequence[Any]) -> Sequence[Any]:
    """Steps into an attribute of that name; of an inertia to both entries that mirror each other, or to a principal
    value."""
    if name != INERTIA or not steps or isinstance(steps[0], frozenset):
        return steps
    i, j = steps[0] if isinstance(steps[0], tuple) else (steps[0], steps[0])
    return [frozenset({(i, j), (j, i)}), *steps[1:]]


def put(present: Any, steps: Sequence[Any], value: Any) -> Any:
    """An argument with a number inside of it replaced, unchecked.

    Parameters
    ----------
    present : object
        A number, an array, a function of time, a section, a link, a tuple of these.
    steps : sequence of int, tuple or str
        Into it: entries of arrays and tuples, attributes of what stands there; see `symmetric`.
    value : float or SX
    """
    if not steps:
        return unchecked(present, value=value) if _is_constant(present) and isinstance(value, NUMBER) else value
    step, *further = steps
    if isinstance(step, str):
        own = getattr(present, step)
        return unchecked(present, **{step: put(own, _steps_into(own, step, further), value)})
    if isinstance(present, tuple | list):
        rows = list(present)
        rows[step] = put(rows[step], further, value)
        return tuple(rows)
    entries = ca.SX(as_symbols(present)) if isinstance(value, ca.SX) else np.array(present)
    for place in step if isinstance(step, frozenset) else (step,):
        entries[place] = value
    return entries


def _steps_into(own, name, steps):
    """The same of an attribute inside of another value: principal values as a vector are its entries."""
    if name != INERTIA:  # which a thousand expressions would be made an array to see
        return steps
    is_vector = 1 in own.shape if isinstance(own, ca.SX) else np.ndim(own) == 1
    return steps if is_vector else symmetric(name, steps)


def inside(present: Any, steps: Sequence[Any]) -> Any:
    """The number to which `put` leads."""
    for i, step in enumerate(steps):
        if isinstance(step, str):
            own, further = getattr(present, step), steps[i + 1:]
            return inside(own, _steps_into(own, step, further))
        present = present[min(step) if isinstance(step, frozenset) else step]
    return getattr(present, "value", present)


def number_at(part: Any, name: str, *steps: Any) -> Any:
    """The number that an argument of a part is, or that steps into it lead to."""
    return inside(getattr(part, name), symmetric(name, steps))


def entries(name: str, value: Any) -> list[tuple[Any, ...]]:
    """Steps to all numbers inside of an argument of that name; none for what is not a number."""
    if isinstance(value, float | np.floating):
        return [()]
    if isinstance(value, np.ndarray):
        if name == INERTIA and value.ndim == 2:
            return [((i, j),) for i in range(3) for j in range(i, 3)]
        return [(i[0] if value.ndim == 1 else i,) for i in np.ndindex(value.shape)]
    if isinstance(value, tuple | list):
        return [(i, *steps) for i, one in enumerate(value) for steps in entries(name, one)]
    if is_dataclass(value):
        if _is_constant(value):
            return [()]
        names = getattr(value, "varied", [f.name for f in fields(value)])
        return [(own, *steps) for own in names for steps in entries(own, getattr(value, own))]
    return []


# ---- Vectors and matrices of floats (NumPy) or of expressions (CasADi), in formulas that are stated once for both
#
# Vectors are ndarray (n,) or SX (n, 1), matrices ndarray (m, n) or SX. Sums, products with numbers and products by
# `@` of matrices need nothing of this; what differs does.

def is_symbolic(*values):
    """Whether there are expressions among the values, or in a list or tuple among them."""
    return any(isinstance(x, ca.SX) or (isinstance(x, list | tuple) and is_symbolic(*x)) for x in values)


def as_symbols(value):
    """An array of floats, shape (n,) or (m, n), or expressions, as SX; zeros are structural."""
    return ca.sparsify(ca.SX(ca.DM(value))) if isinstance(value, np.ndarray) else value


def size(value):
    """How many numbers a value has."""
    if isinstance(value, ca.SX):
        return value.numel()
    return sum(map(size, value)) if is_symbolic(value) else np.size(value)


def cross(a, b):
    if is_symbolic(a, b):
        return ca.cross(a, b)
    (x, y, z), (u, v, w) = np.asarray(a, float).tolist(), np.asarray(b, float).tolist()
    return np.array((y * w - z * v, z * u - x * w, x * v - y * u))  # in a tenth of NumPy's time


def dot(a, b):
    return ca.dot(a, b) if is_symbolic(a, b) else a @ b


def sqrt(x):
    return ca.sqrt(x) if is_symbolic(x) else np.sqrt(x)


def unit(a):
    """A vector over its length."""
    return a / sqrt(dot(a, a))


def outer(a, b):
    return a @ b.T if is_symbolic(a, b) else np.outer(a, b)


def trace(matrix):
    """Of a matrix (3, 3)."""
    return matrix[0, 0] + matrix[1, 1] + matrix[2, 2]


def inverse(matrix):
    """Of a matrix (3, 3)."""
    return ca.inv_minor(ca.densify(matrix)) if is_symbolic(matrix) else np.linalg.inv(matrix)


def matrix_of(*rows):
    """The matrix of rows of numbers, tuples."""
    return ca.vertcat(*(ca.horzcat(*row) for row in rows)) if is_symbolic(*rows) else np.array(rows)


def columns(*vectors):
    """The matrix of some columns."""
    return ca.horzcat(*vectors) if is_symbolic(*vectors) else np.column_stack(vectors)


def diagonal(matrix):
    return ca.diag(matrix) if is_symbolic(matrix) else np.diag(matrix)


def upper_triangle(matrix):
    """Entries of a matrix on and above the diagonal, row by row."""
    if not is_symbolic(matrix):
        return matrix[np.triu_indices(len(matrix))]
    n = matrix.shape[0]
    return ca.vertcat(*(matrix[i, j] for i in range(n) for j in range(i, n)))


def by_rows(value):
    """All entries of a number, vector or matrix, row by row."""
    if isinstance(value, ca.SX):
        return value if value.shape[1] == 1 else ca.vec(value.T)
    return ca.vertcat(*map(by_rows, value)) if is_symbolic(value) else np.ravel(value)


def joined(*values):
    """One vector of numbers, vectors and matrices (row by row), and lists of these."""
    if is_symbolic(*values):
        return ca.vertcat(ca.SX(0, 1), *(ca.densify(ca.SX(by_rows(x))) for x in values))
    return np.concatenate([np.zeros(0), *map(np.ravel, values)])


def chosen(condition, value, otherwise):
    """One of two vectors or numbers. Both are worked out for expressions, and have to be finite."""
    return ca.if_else(condition, value, otherwise) if is_symbolic(condition) else value if condition else otherwise


def least_axis(a):
    """Unit vector of the axis that is least along a vector (3,), the first of several."""
    if not is_symbolic(a):
        return np.eye(3)[np.argmin(np.abs(a))]
    x, y, z = (ca.fabs(a[i]) for i in range(3))
    first = ca.logic_and(x <= y, x <= z)
    second = ca.logic_and(ca.logic_not(first), y <= z)
    return ca.vertcat(first, second, 1 - first - second)


def rotation_matrix(quaternion):
    """Of a quaternion of any length, scalar first."""
    q = unit(quaternion)
    a, x, y, z = (q[i] for i in range(4))
    return matrix_of((a * a + x * x - y * y - z * z, 2 * (x * y - a * z), 2 * (x * z + a * y)),
                     (2 * (x * y + a * z), a * a - x * x + y * y - z * z, 2 * (y * z - a * x)),
                     (2 * (x * z - a * y), 2 * (y * z + a * x), a * a - x * x - y * y + z * z))
