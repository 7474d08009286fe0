"""The discrete equations of a solution, linearised there: one factorisation for all gradients."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..argument_names import NamedArguments
from ..assembly import Scaling, TimeMesh
from ..assembly.pattern import taking_part
from ..elements.augmented.extended import Extended
from ..elements.augmented.optimality import costate
from ..elements.augmented.part_numbers import Contracted, Numbered, NumberPlaces, Numbers
from ..elements.evaluation.batch import ElementBatch
from ..elements.evaluation.plan import ElementPlan
from ..errors import InputError
from ..mechanics.contacts.rigid import refuse_rigid_contacts
from ..parallel import own_world
from ..solution.solution import Solution
from ..solvers.equations.ends import Ends
from ..solvers.equations.make import make_equations
from ..solvers.linear.table import linear_options
from .functionals import Evaluated
from .initial_state import Start
from .parameters import directions, with_parameters_of_trees
from .sampled_feedback import SampledFeedback

if TYPE_CHECKING:
    from ..solvers.linear.base import LinearOptions
    from .functionals import Functional
    from .parameters import Directions

BATCH = 512  # elements whose derivatives by numbers are in memory at once
LARGEST_RESIDUAL = 1e-6  # scaled, relative to the state: what a solution has at most


class Linearization(NamedArguments):
    """The equations `R(x, c) = 0` of an initial-value problem at its solution: factors of `A = dR/dx`.

    Assembled and factored once, all elements together, however the solution was found: a march solves the same
    equations one element after the other. Then a gradient costs one transposed solve with A, and one evaluation of
    the elements, however many parameters there are; a forward sensitivity costs one solve per parameter.

    Parameters
    ----------
    solution : Solution
    linear : LinearOptions or str, optional
        The linear solver, or its shorthand; default: the time-chain LU. Under mpirun one that is distributed shares A
        and its factors among the ranks; every rank calls everything, and has all values and gradients.

    Raises
    ------
    InputError
        For a solution that failed, or is not one of an initial-value problem in one piece, and for a linear solver
        without transposed solves, which gradients need, when one is asked for.
    """

    def __init__(self, solution: Solution, linear: LinearOptions | str | None = None) -> None:
        if isinstance(solution, Solution):
            refuse_rigid_contacts(solution.system, "a derivative of a solution")
        _check(solution)
        self._solution, self._linear = solution, linear
        linear = linear_options(linear)
        self.system, self.element = solution.system, solution.element
        self.plan, self.mesh = ElementPlan(self.system, self.element), TimeMesh(solution.t)
        self.x = self.plan.columns.pack(*_nodal_values(self.plan, solution))
        self.places = NumberPlaces(self.system)
        t0, z0 = self.mesh.nodes[0], solution.z[0]
        scaling = Scaling.of("full", self.system, self.element, t0, z0)
        self.equations = make_equations(self.plan, self.mesh, scaling, linear=linear,
                                        comm=own_world() if linear.distributed else None)
        residual = self.equations.norm(self.equations.evaluate(self.equations.take(self.x))) / scaling.size(solution.z)
        if not residual <= LARGEST_RESIDUAL:
            raise InputError(f"the solution does not satisfy the equations of all its elements together (residual "
                             f"{residual:.1e}): of {self.element!r} give one with driver='global'")
        self.equations.factor()
        self._scales = _scales(self.plan, self.mesh, scaling)
        self.start = Start(self.plan, t0, z0)
        batch = ElementBatch(self.system, self.element)
        _, tangent = batch(self.x[None, :batch.n_columns], self.mesh.lengths[:1], t0)
        # of the rows of the first element by the dofs of the first node
        self._first_tangent = batch.dense(tangent)[0, :, :self.plan.columns.n_node]
        self._wrapped, self._values = {}, {}
        held = [part for part in self.system.parts if part.period is not None and part.n_held > 1]
        self._feedback = SampledFeedback(self, held) if held else None

    # ---- what users ask for

    def value(self, functional: Functional) -> np.ndarray:
        """Values of a functional, shape (m,)."""
        return self._evaluated(functional).values

    def gradient(self, functional: Functional, parameters: Any) -> np.ndarray:
        """Gradient of a scalar functional by one transposed solve; see `timefem.gradient`."""
        given = self._directions(parameters)
        at = self._evaluated(functional)
        if at.values.shape != (1,):
            raise InputError(f"a gradient needs a functional with one value, not {len(at.values)}; use sensitivities, "
                             "or one component")
        by_x, by_numbers = at.backward(np.ones(1), len(self.x), self.places.size)
        if self._feedback is not None:
            by_x, by_numbers = self._feedback.back(by_x, by_numbers)
        costates = self.transposed_solve(by_x)
        wanted = np.unique(given.numbers.indices)
        by_numbers -= self.residual_by_numbers(costates, wanted)
        first = by_x[:self.plan.columns.n_node] - self.residual_by_first_node(costates)
        return given.numbers.T @ by_numbers + self._start_changes(first[None], given)[0]

    def sensitivities(self, functional: Functional | Sequence[Functional], parameters: Any) -> np.ndarray:
        """Derivatives of all values of a functional by one solve per parameter; see `timefem.sensitivities`."""
        given = self._directions(parameters)
        functionals = functional if isinstance(functional, list | tuple) else [functional]
        every, numbers = [self._evaluated(f) for f in functionals], given.numbers.toarray()
        tangents = self.motion_of_equations(given)
        if self._feedback is not None:
            tangents, numbers = self._feedback.follow(tangents, numbers)
        return np.concatenate([at.forward(tangents, numbers) for at in every])

    def labels(self, parameters: Any) -> list[str]:
        """Names of the parameters, one per entry, list of str."""
        return self._directions(parameters).labels

    # ---- the equations

    def transposed_solve(self, gradient: np.ndarray) -> np.ndarray:
        """Costates w of all rows, `A^T w = gradient`, shape (n_rows_full,); zero for rows that are left out."""
        (columns, sizes), (rows, weights) = self._scales
        out = np.zeros(len(weights))
        out[rows] = self.equations.solve_whole(gradient[columns] * sizes[columns], transposed=True) * weights[rows]
        return out

    def tangents(self, given: Directions) -> np.ndarray:
        """Changes of all dofs with parameters, given as `Directions`, shape (n_dofs, n_parameters)."""
        tangents = self.motion_of_equations(given)
        return tangents if self._feedback is None else self._feedback.follow(tangents, given.numbers.toarray())[0]

    def motion_of_equations(self, given: Directions) -> np.ndarray:
        """The same where sampled controllers go on holding what they held."""
        (columns, sizes), (rows, weights) = self._scales
        n_node = self.plan.columns.n_node
        first = self._start_changes(np.eye(n_node), given)
        changed = self._change_of_residual(given.numbers)
        changed[:self.plan.rows.n_local] += self._first_tangent @ first
        out = np.zeros((len(self.x), first.shape[1]))
        out[:n_node] = first
        for column, change in zip(out.T, changed.T, strict=True):
            column[columns] += self.equations.solve_whole(-change[rows] * weights[rows]) * sizes[columns]
        return out

    def residual_by_numbers(self, costates: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Gradient of `costates . residual` by the numbers of the parts `wanted`, shape (n_numbers,)."""
        out = np.zeros(self.places.size)
        if len(wanted):
            numbers, batch = self._with_numbers(Contracted, wanted)
            values = dict(zip(map(costate, self.element.test), self.plan.rows.unpack(costates), strict=True))
            total = sum(rows.sum(axis=0) for _, rows, _ in self._batches(batch, values))
            out[numbers.places] = total[batch.rows.first[0]]
        return out

    def _with_numbers(self, wrapper, wanted):
        """Numbers, and elements of the kind `wrapper` that see them, made once."""
        key = wrapper, wanted.tobytes()
        if key not in self._wrapped:
            numbers = Numbers(self.system, wanted)
            self._wrapped[key] = numbers, ElementBatch(self.system, wrapper(self.element, numbers))
        return self._wrapped[key]

    def _change_of_residual(self, changes):
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

    def _start_changes(self, x, given):
        """Changes with parameters of values that depend on the first node by gradients `x` (K, n_node), (K, n)."""
        by_z, by_numbers = self.start.backward(x)
        by_kept, by_q, by_v = self.start.follow(by_z)
        pairs = ((by_numbers, given.numbers), (by_z, given.z), (by_kept, given.kept), (by_q, given.q), (by_v, given.v))
        return sum((change.T @ by.T).T for by, change in pairs)

    def residual_by_first_node(self, costates: np.ndarray) -> np.ndarray:
        """Gradient of `costates . residual` by the dofs of the first node, shape (n_node,)."""
        return costates[:self.plan.rows.n_local] @ self._first_tangent

    def _directions(self, parameters):
        system = with_parameters_of_trees(self.system, parameters)
        if system is not self.system:  # the same motion, of formulas with more numbers
            solution = copy(self._solution)
            object.__setattr__(solution, "system", system)
            self.__init__(solution, self._linear)
        return directions(self.system, self.start.z, parameters)

    def _evaluated(self, functional):
        if functional not in self._values:
            self._values[functional] = Evaluated(functional, self.plan, self.mesh, self.x, self.places)
        return self._values[functional]


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


def _check(solution):
    if type(solution) is not Solution:
        raise InputError(f"solution must be a Solution with all its elements, such as solve returns with gather=True, "
                         f"not {solution!r}")
    if not solution.success:
        raise InputError(f"the solution failed, and has no sensitivities: {solution.status.message}")
    if isinstance(solution.element, Extended) or "parameters" in solution.statistics:
        raise InputError("sensitivities are those of initial-value problems; this solution is one of another problem, "
                         "whose conditions and unknowns they would leave out")


def _nodal_values(plan, solution):
    """Nodal values of all trial fields, in their order."""
    kept = plan.element.kept_multipliers(plan.system)
    given = {"state": solution.nodal_state, "multipliers": solution.nodal_multipliers[..., kept], **solution.fields}
    n = len(solution.nodal_state)
    return [given.get(name, np.zeros((n, *field.shape)))
            for name, field in zip(plan.element.trial, plan.columns.fields, strict=True)]
