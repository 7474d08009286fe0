"""The discrete equations of elements in a row, linearised at their solution: one factorisation for all derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..assembly import Scaling
from ..assembly.pattern import taking_part
from ..elements.augmented.constants import AS_IT_IS, LENGTH, Clocked
from ..elements.augmented.constants import START as LATER
from ..elements.augmented.optimality import costate
from ..elements.augmented.part_numbers import Contracted, Numbered, NumberPlaces, Numbers
from ..elements.evaluation.batch import ElementBatch
from ..errors import InputError
from ..parallel import own_world
from ..solvers.equations.ends import Ends
from ..solvers.equations.make import make_equations
from ..solvers.linear.table import linear_options

if TYPE_CHECKING:
    from ..assembly import TimeMesh
    from ..elements.evaluation.plan import ElementPlan
    from ..solvers.linear.base import LinearOptions

BATCH = 512  # elements whose derivatives by numbers are in memory at once
LARGEST_STEP = 1e-9  # by which states of a solution that satisfies its equations change, relative to their size
LARGEST_RESIDUAL = 1e-6  # scaled, relative to the state: what a solution has at most


class Stretch:
    """The equations `R(x, c) = 0` of elements in a row, with their first node given: factors of `A = dR/dx`.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    x : ndarray
        All dofs in time order.
    linear : LinearOptions or str, optional
    wrapped : dict, optional
        Of earlier stretches of the same plan, which they share: elements that see numbers, or their clocks.
    """

    def __init__(self, plan: ElementPlan, mesh: TimeMesh, x: np.ndarray, linear: LinearOptions | str | None = None,
                 wrapped: dict[Any, Any] | None = None) -> None:
        linear = linear_options(linear)
        self.plan, self.mesh, self.x = plan, mesh, x
        self.system, self.element = plan.system, plan.element
        self.places = NumberPlaces(self.system)
        states = plan.columns.unpack(x)[0]
        scaling = Scaling.of("full", self.system, self.element, mesh.nodes[0], states[0, 0])
        self.equations = make_equations(plan, mesh, scaling, linear=linear,
                                        comm=own_world() if linear.distributed else None)
        values = self.equations.evaluate(self.equations.take(x))
        size = scaling.size(np.concatenate([states[:1, 0], states[:, -1]]))
        residual = self.equations.norm(values) / size
        self.equations.factor()
        self._scales = _scales(plan, mesh, scaling)
        if not (residual <= LARGEST_RESIDUAL or self._of_rounding(values, scaling, size)):
            raise InputError(f"the solution does not satisfy the equations of all its elements together (residual "
                             f"{residual:.1e}): of {self.element!r} give one of more elements, or, without rigid "
                             "contact, with driver='global'")
        batch = ElementBatch(self.system, self.element)
        _, tangent = batch(x[None, :batch.n_columns], mesh.lengths[:1], mesh.nodes[0])
        # of the rows of the first element by the dofs of the first node
        self._first_tangent = batch.dense(tangent)[0, :, :plan.columns.n_node]
        self._wrapped = {} if wrapped is None else wrapped

    def _of_rounding(self, values, scaling, size):
        """Whether it moves no state to satisfy the rows: those of elements that end at an event close to a node hold
        states over their lengths, with their rounding."""
        if self.equations.comm is not None or not np.isfinite(values).all():
            return False
        (columns, sizes), _ = self._scales
        step = np.zeros(len(self.x))
        step[columns] = self.equations.solve_whole(values) * sizes[columns]
        moved = np.abs(self.plan.columns.unpack(step)[0] / scaling.state).max(initial=0.0)
        return moved <= LARGEST_STEP * size

    def transposed_solve(self, gradient: np.ndarray) -> np.ndarray:
        """Costates w of all rows, `A^T w = gradient`, shape (n_rows_full,); zero for rows that are left out."""
        (columns, sizes), (rows, weights) = self._scales
        out = np.zeros(len(weights))
        out[rows] = self.equations.solve_whole(gradient[columns] * sizes[columns], transposed=True) * weights[rows]
        return out

    def motion(self, first: np.ndarray, changed: np.ndarray) -> np.ndarray:
        """Changes of all dofs with those of the first node (n_node, n) and of all rows (n_rows_full, n), columns."""
        (columns, sizes), (rows, weights) = self._scales
        changed = changed.copy()
        changed[:self.plan.rows.n_local] += self._first_tangent @ first
        out = np.zeros((len(self.x), first.shape[1]))
        out[:self.plan.columns.n_node] = first
        for column, change in zip(out.T, changed.T, strict=True):
            column[columns] += self.equations.solve_whole(-change[rows] * weights[rows]) * sizes[columns]
        return out

    def residual_by_first_node(self, costates: np.ndarray) -> np.ndarray:
        """Gradient of `costates . residual` by the dofs of the first node, shape (n_node,)."""
        return costates[:self.plan.rows.n_local] @ self._first_tangent

    def residual_by_numbers(self, costates: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Gradient of `costates . residual` by the numbers of the parts `wanted`, shape (n_numbers,)."""
        out = np.zeros(self.places.size)
        if len(wanted):
            numbers, batch = self._with_numbers(Contracted, wanted)
            values = dict(zip(map(costate, self.element.test), self.plan.rows.unpack(costates), strict=True))
            total = sum(rows.sum(axis=0) for _, rows, _ in self._batches(batch, values))
            out[numbers.places] = total[batch.rows.first[0]]
        return out

    def residual_by_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the rows of the first element by the time of its start, and of those of the last one by that
        of its end, shapes (n_rows_full,), [1/s]; the other ends of these elements stay."""
        if Clocked not in self._wrapped:
            self._wrapped[Clocked] = ElementBatch(self.system, Clocked(self.element))
        batch, r, n = self._wrapped[Clocked], self.plan.rows, self.mesh.n_elements
        e = np.array([0, n - 1])
        x = np.zeros((2, batch.n_columns))
        for name, value in zip(self.element.trial, self.plan.columns.unpack(self.x), strict=True):
            x[:, _field(batch, name)] = value[e]
        clock = _field(batch, "clock")[0]
        x[:, clock] = AS_IT_IS
        tangents = batch.dense(batch(x, self.mesh.lengths[e], self.mesh.nodes[e])[1])[:, :, clock]
        longer = tangents[:, :, LENGTH] / self.mesh.lengths[e, None]
        start, end = np.zeros((2, r.n_node + n * r.step))
        start[:r.n_local] = tangents[0, :, LATER] - longer[0]
        end[(n - 1) * r.step:][:r.n_local] = longer[1]
        return start, end

    def _with_numbers(self, wrapper, wanted):
        """Numbers, and elements of the kind `wrapper` that see them, made once."""
        key = wrapper, wanted.tobytes()
        if key not in self._wrapped:
            numbers = Numbers(self.system, wanted)
            self._wrapped[key] = numbers, ElementBatch(self.system, wrapper(self.element, numbers))
        return self._wrapped[key]

    def change_of_residual(self, changes: scipy.sparse.csc_array) -> np.ndarray:
        """Changes of all rows with those of the numbers (n_numbers, n), shape (n_rows_full, n)."""
        r = self.plan.rows
        out = np.zeros((r.n_node + self.mesh.n_elements * r.step, changes.shape[1]))
        wanted = np.unique(changes.indices)
        if not len(wanted):
            return out
        numbers, batch = self._with_numbers(Numbered, wanted)
        component, mine = _numbers_of_entries(batch)
        changes = scipy.sparse.csr_array(changes)[numbers.places].toarray()
        maps = [scipy.sparse.csr_array((c[component], (batch.pattern[0][mine], np.arange(len(mine)))),
                             shape=(r.n_local, len(mine))) for c in changes.T]
        values = np.broadcast_to(numbers.values, (self.mesh.n_elements, 1, len(numbers.values)))
        for e, _, tangent in self._batches(batch, {"numbers": values}):
            entries = np.ascontiguousarray(tangent[:, mine].T)
            index = (e[:, None] * r.step + np.arange(r.n_local)).ravel()
            for column, matrix in zip(out.T, maps, strict=True):
                column += np.bincount(index, (matrix @ entries).T.ravel(), len(column))
        return out

    def _batches(self, batch, more):
        """Elements, residuals and tangents of an element with more fields, some elements at a time."""
        names = list(self.element.trial)
        values = dict(zip(names, self.plan.columns.unpack(self.x), strict=True)) | more
        for start in range(0, self.mesh.n_elements, BATCH):
            e = np.arange(start, min(start + BATCH, self.mesh.n_elements))
            x = np.zeros((len(e), batch.n_columns))
            for name, value in values.items():
                x[:, _field(batch, name)] = value[e]
            yield e, *batch(x, self.mesh.lengths[e], self.mesh.nodes[e])


def _scales(plan, mesh, scaling):
    """Of columns and rows: which take part, an index, and the scales of all."""
    ends, out = Ends.initial_value(plan), []
    for numbering, which, scale in ((plan.columns, ends.free, scaling.columns), (plan.rows, ends.kept, scaling.rows)):
        _, _, index = taking_part(numbering, mesh.n_elements, which)
        out.append((index, scale(numbering, mesh.lengths)))
    return out


def _field(batch, name):
    return batch.columns.fields[list(batch.plan.element.trial).index(name)]


def _numbers_of_entries(batch):
    """Of the tangent entries by numbers: which number, and which entry."""
    field = _field(batch, "numbers")[0]
    place = np.full(batch.n_columns, -1)
    place[field] = np.arange(len(field))
    place = place[batch.pattern[1]]
    return place[place >= 0], np.flatnonzero(place >= 0)
