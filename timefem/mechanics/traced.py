"""Numbers that stand for CasADi symbols in NumPy arrays of objects: what is worked out of them becomes a formula."""

from copy import copy

import casadi as ca
import numpy as np


class Traced:
    """A scalar expression that NumPy takes as one object, for it does not do so with an SX.

    Parameters
    ----------
    x : SX
    value : float, optional
        What it is at present, where formulas choose by it.
    """

    __slots__ = ("value", "x")

    def __init__(self, x, value=None):
        self.x, self.value = ca.SX(x), value

    def __repr__(self):
        return f"Traced({self.x})"

    def __neg__(self):
        return self * -1.0

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other):
        return self._with(other, lambda a, b: b / a)

    def __pow__(self, other):
        return self._with(other, lambda a, b: a**b)

    def sqrt(self):  # np.sqrt of an array of objects calls it
        return Traced(ca.sqrt(self.x), None if self.value is None else np.sqrt(self.value))

    def _with(self, other, operation):
        if isinstance(other, np.ndarray):
            return NotImplemented
        x, value = (other.x, other.value) if isinstance(other, Traced) else (other, other)
        known = self.value is not None and value is not None
        return Traced(operation(self.x, x), operation(self.value, value) if known else None)

    __radd__, __rmul__ = __add__, __mul__


def at_present(values):
    """Numbers, some of them traced, as they are at present, ndarray of float."""
    return np.array([v.value if isinstance(v, Traced) else v for v in np.ravel(values)], float)


def length(vector):
    """Euclidean norm of a vector of numbers, some of them perhaps traced."""
    return np.sqrt(vector @ vector) if is_traced(vector) else np.linalg.norm(vector)


def is_traced(values):
    """Whether there are such among the entries of an array."""
    return np.asarray(values).dtype == object


def as_symbols(values):
    """Numbers, some of them traced, as SX (n,)."""
    return ca.vertcat(ca.SX(0, 1), *(v.x if isinstance(v, Traced) else ca.SX(float(v)) for v in np.ravel(values)))


def unchecked(thing, **values):
    """A copy of a frozen object with other attributes, as they are."""
    other = copy(thing)
    for name, value in values.items():
        object.__setattr__(other, name, value)
    return other


def inverse(matrix):
    """The inverse of a matrix; in symbols the one by cofactors, of at most three rows."""
    return np.linalg.inv(matrix) if not is_traced(matrix) else traced_matrix(ca.inv_minor(symbols_of_matrix(matrix)))


def symbols_of_matrix(matrix):
    """A matrix of numbers, some of them traced, as SX."""
    return ca.reshape(as_symbols(np.transpose(matrix)), *matrix.shape)


def traced_matrix(matrix):
    """An SX matrix as an array of objects."""
    values = np.empty(matrix.shape, object)
    for place in np.ndindex(matrix.shape):
        values[place] = Traced(matrix[place])
    return values


def put(present, steps, value):
    """A number inside of an attribute replaced, unchecked: of a function of time, a link, an array, a tuple of these.

    Parameters
    ----------
    present : object
        The attribute as it is.
    steps : sequence of int, tuple or str
        Into it: entries of arrays and tuples, attributes of what stands there; see `symmetric`.
    value : float or Traced
    """
    if not steps:
        return unchecked(present, value=value) if hasattr(present, "formula") else value  # a constant in time
    step, *further = steps
    if isinstance(step, str):
        own = getattr(present, step)
        return unchecked(present, **{step: put(own, further if np.ndim(own) == 1 else symmetric(step, further), value)})
    if isinstance(present, tuple | list):
        rows = list(present)
        rows[step] = put(rows[step], further, value)
        return tuple(rows)
    entries = np.array(present, object if isinstance(value, Traced) else float)
    for place in step if isinstance(step, frozenset) else (step,):
        entries[place] = value
    return entries


def symmetric(name, steps):
    """Steps into an attribute of that name; of an inertia to both entries that mirror each other, or to a principal
    value."""
    if name != "inertia" or not steps or isinstance(steps[0], frozenset):
        return steps
    i, j = steps[0] if isinstance(steps[0], tuple) else (steps[0], steps[0])
    return [frozenset({(i, j), (j, i)}), *steps[1:]]


def inside(present, steps):
    """The number to which `put` leads."""
    for i, step in enumerate(steps):
        if isinstance(step, str):
            own, further = getattr(present, step), steps[i + 1:]
            return inside(own, further if np.ndim(own) == 1 else symmetric(step, further))
        present = present[min(step) if isinstance(step, frozenset) else step]
    return getattr(present, "value", present)
