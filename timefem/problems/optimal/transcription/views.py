"""What formulas of a nonlinear program see of its variables: values at points, linear in the variables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class View(NamedTuple):
    """Values w at points as linear functions of the variables v of a program: `w = start + sum over s of factors v`.

    Attributes
    ----------
    start : ndarray, shape (n_points, n_w)
    columns : ndarray of int, shape (n_points, n_w, n_shapes)
        Variables, -1 where there is none, and -2 - i for the dof i of a first node that is given: what changes with
        that, its factor is not of a scaled variable.
    factors : ndarray, shape (n_points, n_w, n_shapes)
    """

    start: np.ndarray
    columns: np.ndarray
    factors: np.ndarray

    @classmethod
    def joined(cls, *views):
        """Components one behind the other."""
        most = max(v.columns.shape[2] for v in views)

        def padded(x, fill):
            return np.pad(x, ((0, 0), (0, 0), (0, most - x.shape[2])), constant_values=fill)

        return cls(np.concatenate([v.start for v in views], axis=1),
                   np.concatenate([padded(v.columns, -1) for v in views], axis=1),
                   np.concatenate([padded(v.factors, 0.0) for v in views], axis=1))

    @classmethod
    def variables(cls, columns, size=1.0):
        """Variables of the program themselves; columns of shape (n_points, n_w), -1 for zero."""
        columns = np.asarray(columns)[:, :, None]
        return cls(np.zeros(columns.shape[:2]), columns, np.where(columns < 0, 0.0, size))

    def minus(self, other):
        """The differences to the values of another view."""
        return View(self.start - other.start, np.concatenate([self.columns, other.columns], axis=2),
                    np.concatenate([self.factors, -other.factors], axis=2))

    def shifted(self, n):
        """With variables that are numbered from n on."""
        return self._replace(columns=np.where(self.columns < 0, self.columns, self.columns + n))

    def grouped(self, n):
        """Each n points that follow each other as one, their components one behind the other."""
        return View(*(x.reshape(len(x) // n, n * x.shape[1], *x.shape[2:]) for x in self))


class ChainView:
    """Fields of a chain of elements as functions of the variables of its program.

    Parameters
    ----------
    chain : OptimalityEquations
    base : ndarray
        Unknowns where the variables are zero.
    number : ndarray of int
        Variable of each unknown of the chain, -1 for costates.
    """

    def __init__(self, chain, base, number):
        self.chain, self._base, self._number = chain, base, number

    def __call__(self, name, elements, points, rate=False):
        """A field, or its derivative by the place, at points (0 to 1) of elements, arrays of the same length."""
        chain, basis = self.chain, self.chain.plan.element.trial[name].basis
        shapes = (basis.derivatives if rate else basis.values)(np.asarray(points, float))
        unknown = chain.columns_of(name)[elements].transpose(0, 2, 1)
        factors = np.broadcast_to(shapes[:, None, :], unknown.shape)
        used = (unknown >= 0) & (np.abs(factors) > 1e-14)
        start = np.einsum("ps,psa->pa", shapes, chain.nodal(self._base, name)[elements])
        dofs = chain.places_of(name)[elements].transpose(0, 2, 1)
        given = (unknown < 0) & (dofs < chain.plan.columns.n_node) & (np.abs(factors) > 1e-14)
        return View(start, np.where(used, self._number[unknown], np.where(given, -2 - dofs, -1)),
                    np.where(used, factors * chain.sizes[unknown], np.where(given, factors, 0)))

    def constants(self, elements, point=0.0):
        """Unknown constants, where there are some, by the variables at a point (0 to 1) of elements."""
        if "constants" not in self.chain.plan.element.trial:
            shape = len(elements), 0, 1
            return View(np.zeros(shape[:2]), np.zeros(shape, int), np.zeros(shape))
        return self("constants", elements, np.full(len(elements), point))
