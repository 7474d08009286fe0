"""Residual and tangent of time elements on their own, without assembly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import validate
from ...errors import NamedArguments
from ...types import Floats, Matrix
from .elements_in_lanes import evaluate_batch
from .plan import ElementPlan

if TYPE_CHECKING:
    from ...mechanics.system import System
    from ..element import TimeElement


class ElementBatch(NamedArguments):
    """Element residuals and tangents of a system, for many elements at once.

    Dofs of an element stand in time order, `[left node | interior | right node]`: see `columns.fields`, whose arrays
    of shape (n_shapes, n_components) give the place of every nodal value of the state `(q, p)` and of the multipliers
    `(gamma, mu)`; `rows.fields` does the same for the tests.

    Parameters
    ----------
    system : System
    element : TimeElement

    Attributes
    ----------
    columns, rows : Numbering
    n_columns, n_rows : int
    pattern : (ndarray, ndarray)
        Row and column of each entry of the sparse element tangent.
    """

    def __init__(self, system: System, element: TimeElement) -> None:
        self.plan = ElementPlan(system, element)
        self.columns, self.rows = self.plan.columns, self.plan.rows
        self.n_columns, self.n_rows = self.columns.n_local, self.rows.n_local
        self.pattern = self.plan.tangent_rows, self.plan.tangent_columns

    def __call__(self, x: Matrix, h: Floats, t: Floats = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate residual and tangent entries.

        Parameters
        ----------
        x : array_like, shape (n_e, n_columns)
            Dofs per element.
        h : float or array_like, shape (n_e,)
            Lengths of the elements [s].
        t : float or array_like, shape (n_e,)
            Their start times [s].

        Returns
        -------
        residual : ndarray, shape (n_e, n_rows)
        tangent : ndarray, shape (n_e, n_entries)
            Entries d residual / d x at `pattern`; `dense` makes matrices of them.
        """
        x = np.ascontiguousarray(validate.array("x", x, (None, self.n_columns)))
        t, h = (np.ascontiguousarray(np.broadcast_to(np.asarray(v, float), len(x))) for v in (t, h))
        if not np.all(h > 0):
            raise validate.InputError("h must be positive")
        residual, tangent = np.empty((len(x), self.n_rows)), np.empty((len(x), len(self.pattern[0])))
        evaluate_batch(self.plan.arrays, x, t, h, residual, tangent)
        return residual, tangent

    def dense(self, tangent: np.ndarray) -> np.ndarray:
        """Dense tangents, shape (n_e, n_rows, n_columns), from the entries."""
        matrices = np.zeros((len(tangent), self.n_rows, self.n_columns))
        np.add.at(matrices, (slice(None), *self.pattern), tangent)  # values and end values of one field share places
        return matrices
