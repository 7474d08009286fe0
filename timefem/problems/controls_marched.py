"""Solutions of optimal control, and their controls marched on a finer mesh: how far that motion is from theirs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..assembly import TimeMesh
from ..elements.evaluation.elements_in_lanes import evaluate_batch
from ..errors import InputError, UnderResolved, named_arguments, warn
from ..memory import Late
from ..records import frozen
from ..solution.solution import Solution
from ..solvers.equations.outcome import NodalValues
from ..sparse import sparse_lu
from .optimal.guesses.guess import from_solution, stretched
from .optimal.strategies.mesh_sequence import optimality_plan
from .optimal.transcription.equations import OptimalityEquations, end_cost_of, functional_of
from .optimal.transcription.nonlinear_program import OptimalProgram
from .optimal.transcription.optimal_end import taking_part
from .optimal.transcription.sizes import has_contacts, scaling_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .optimal.problem import OptimalControl

scipy = Late("scipy")


@frozen
class Simulation:
    """What `simulate` found.

    Attributes
    ----------
    t : ndarray, shape (n_elements + 1,)
        Ends of the elements of the solution [s].
    z : ndarray, shape (n_elements + 1, n_z)
        States there of the motion that the controls make; NaN from where the march fails.
    distance : ndarray, shape (n_elements + 1,)
        Of these states from those of the solution: the largest component relative to its size in the problem, that of
        the displacement or of the momentum of its mass.
    defects : ndarray, shape (n_elements,)
        The same at the end of each element where the march of that element alone begins with the state of the solution.
    objective : float
        Cost of the motion that the controls make.
    far : float
        Distance from which on the motion is far from that of the solution.
    """

    t: np.ndarray
    z: np.ndarray
    distance: np.ndarray
    defects: np.ndarray
    objective: float
    far: float

    def __repr__(self):
        return (f"Simulation({len(self.defects)} elements, largest distance {self.largest:.2g}, growth "
                f"{self.growth:.2g}, objective {self.objective:.6g})")

    @property
    def largest(self) -> float:
        """Largest distance; infinite where the march fails."""
        return float(self.distance.max()) if np.isfinite(self.distance).all() else np.inf

    @property
    def growth(self) -> float:
        """Largest distance over the sum of all defects: far above one where the motion is unstable."""
        total = float(self.defects.sum())
        return self.largest / total if total > 0 else 1.0

    @property
    def resolved(self) -> bool:
        """Whether the elements miss the motion by little, all together: then what is left is its instability."""
        return bool(self.defects.sum() <= self.far)

    @property
    def reason(self) -> str:
        """Why the motion is far from that of the solution, in words; empty where it is not."""
        if self.largest <= self.far:
            return ""
        worst = int(np.argmax(self.defects))
        if self.resolved:
            return (f"the motion is unstable: what the elements miss, {self.defects.sum():.1e} of its size together, "
                    f"grows to {self.largest:.3g}, {self.growth:.0f} times as much; such controls need a feedback")
        return (f"the elements do not resolve the motion: element {worst}, at t = {self.t[worst]:.6g}, alone misses it "
                f"by {self.defects[worst]:.2g} of its size; take more elements, or a tolerance")


@named_arguments
def simulate(problem: OptimalControl, solution: Solution, *, finer: int = 4, far: float = 1e-2) -> Simulation:
    """March the controls of a solution on a finer mesh, and measure how far that motion is from the solution.

    Warns (`UnderResolved`) where it is far, and why: elements that do not resolve the motion, or one that is unstable,
    in which what they miss grows.

    Parameters
    ----------
    problem : OptimalControl
    solution : Solution
        Of this problem, also a loaded one; start and unknown numbers are those that were found.
    finer : int
        Elements of the march in each of the solution, of the same kind.
    far : float
        Distance relative to the size of the motion, beyond which a warning is given.

    Returns
    -------
    Simulation

    Raises
    ------
    InputError
        For contacts, whose forces are controls.
    """
    finer = validate.integer("finer", finer, minimum=2)
    validate.real("far", far, positive=True)
    if has_contacts(problem):
        raise InputError("simulate: forces of contacts are controls here, and would act where nothing touches; solve "
                         "again on a finer mesh, with this solution as a guess")
    if "controls" not in solution.fields and problem.n_controls:
        raise InputError("simulate takes a solution of the problem, with its controls")
    again = Replay(problem, solution, np.arange(finer) / finer)
    z = np.full((len(solution.t), len(again.sizes)), np.nan)
    z[0], objective = solution.z[0], np.nan
    v = again.program.marched(np.zeros(again.program.n))
    if v is not None:
        made, x = again.states(v)
        z[1:], objective = made[finer - 1::finer], again.chain.objective(x)
    distance = np.abs((z - solution.z) / again.sizes).max(axis=1)
    result = Simulation(solution.t, z, distance, again.defects(), float(objective), far)
    if result.reason:
        warn(f"simulate: {result.reason}", UnderResolved)
    return result


class Replay:
    """The controls of a solution, its state and its cost on a finer mesh.

    Parameters
    ----------
    problem : OptimalControl
    solution : Solution
    shares : sequence of float
        Where the elements in each of the solution begin, as shares of it, zero first.

    Attributes
    ----------
    sizes : ndarray, shape (n_z,)
    """

    def __init__(self, problem: OptimalControl, solution: Solution, shares: Sequence[float]) -> None:
        element = solution.element
        while hasattr(element, "element"):
            element = element.element
        self._problem, self.plan, self.finer = problem, optimality_plan(problem, element), len(shares)
        coarse = stretched(solution.t, problem.t_span)
        nodes = np.append((coarse[:-1, None] + np.diff(coarse)[:, None] * np.asarray(shares)).ravel(), coarse[-1])
        self.mesh = TimeMesh(nodes)
        self._scale = scale = scaling_of("full", problem, self.plan, nodes[0])
        self._x = from_solution(problem, self.plan, self.mesh, solution)
        self.sizes = scale.state * np.repeat(scale.lifts, len(scale.state) // 2)

    @cached_property
    def chain(self) -> OptimalityEquations:
        return OptimalityEquations(self._problem.of_motion(), self.plan, self.mesh, self._scale, "chain")

    @cached_property
    def program(self) -> OptimalProgram:
        """Its variables are changes of the solution."""
        return OptimalProgram(self.chain, self._x)

    def states(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at the ends of all elements, and all unknowns, after changes v."""
        x = self.program.place(v, np.zeros(self.program.n_equations))
        return self._ends(self.chain.dofs(x)), x

    def _ends(self, dofs):
        return NodalValues(*self.plan.unpack(dofs)).state[:, -1]

    @cached_property
    def _dofs(self):
        """Those of the solution, with costates of zero, and which of an element's are costates."""
        c, n_e = self.plan.columns, self.mesh.n_elements
        dual = np.zeros(c.n_local, bool)
        for field, space in zip(c.fields, c.spaces, strict=True):
            dual[field] = space.dual
        dofs = self._x[:c.n_node + n_e * c.step].copy()
        every = np.append(dual[:c.n_node], np.tile(dual[c.n_node:], n_e))
        dofs[every] = 0.0
        return dofs, every

    def defects(self) -> np.ndarray:
        """What each element of the solution alone misses at its end, in sizes of states: by a step of Newton's method
        for its elements, with what is before them as it is; infinite where none is determined."""
        told, made = (None if dofs is None else self._ends(dofs)[self.finer - 1::self.finer]
                      for dofs in (self._dofs[0], self._stepped()))
        return np.full(len(told), np.inf) if made is None else np.abs((made - told) / self.sizes).max(axis=1)

    def _stepped(self):
        """All dofs after that step; None where one is singular, or not finite."""
        (dofs, dual), c, n_e = self._dofs, self.plan.columns, self.mesh.n_elements
        block = self._blocks()
        free = [np.concatenate([mask, rest]) if first else np.concatenate([rest, mask]) for first, mask, rest in zip(
            (True, False), taking_part(self.plan, False, self._problem.free_start),
            2 * [np.ones(len(dofs) - c.n_node, bool)], strict=True)]
        given = np.zeros(c.n_local, bool)
        given[c.fields[list(self.plan.element.trial).index("controls")]] = True
        given = np.append(np.ones(c.n_node, bool), np.tile(given[c.n_node:], n_e))
        rows, columns = dual & free[0] & free[1], ~dual & ~given & free[1]
        if not np.array_equal(*(np.bincount(block[which], minlength=n_e) for which in (rows, columns))):
            return None
        first, window = c.step * np.arange(n_e)[:, None], block // self.finer
        residuals, entries = self._evaluated(self.plan)
        residual, i, j = np.zeros(len(dofs)), first + self.plan.tangent_rows, first + self.plan.tangent_columns
        np.add.at(residual, first + np.arange(c.n_local), residuals)
        own = rows[i] & columns[j] & (window[i] == window[j])
        if not (np.isfinite(residual[rows]).all() and np.isfinite(entries[own]).all()):
            return None
        at, of = (np.flatnonzero(which)[np.argsort(block[which], kind="stable")] for which in (rows, columns))
        number = np.empty((2, len(dofs)), int)
        number[0, at] = number[1, of] = np.arange(len(at))
        matrix = scipy.sparse.csc_matrix((entries[own], (number[0, i[own]], number[1, j[own]])), (len(at),) * 2)
        try:
            change = sparse_lu(matrix, "NATURAL").solve(residual[at])
        except RuntimeError:  # singular
            return None
        made = dofs.copy()
        made[of] -= change
        return made

    def _evaluated(self, plan):
        """Residuals and tangents of all elements, by a plan, unscaled."""
        c, n_e = self.plan.columns, self.mesh.n_elements
        local = self._dofs[0][c.step * np.arange(n_e)[:, None] + np.arange(c.n_local)]
        found = np.empty((n_e, plan.rows.n_local)), np.empty((n_e, len(plan.tangent_rows)))
        evaluate_batch(plan.arrays, local, self.mesh.nodes[:-1].copy(), self.mesh.lengths, *found)
        return found

    def _blocks(self):
        """The elements, or blocks of them, that dofs and tests are solved for with, rising from 0."""
        c, element, n_e = self.plan.columns, self.plan.element, self.mesh.n_elements
        elements = np.maximum((np.arange(c.n_node + n_e * c.step) - c.n_node) // c.step, 0)
        if element.drop == "end":
            for (name, space), field in zip(element.trial.items(), c.fields, strict=True):
                if name.startswith("costate") and space.continuous:
                    elements[(c.step * np.arange(1, n_e)[:, None] + field[0]).ravel()] += 1
        return elements // element.elements_per_block

    @cached_property
    def costs(self) -> np.ndarray:
        """Integral of the cost over each element of the solution, by the points of the finer mesh."""
        return self._evaluated(functional_of(self.plan))[0].reshape(-1, self.finer).sum(axis=1)

    @property
    def objective(self) -> float:
        """Cost of the state of the solution, by the points of the finer mesh."""
        dofs, c = self._dofs[0], self.plan.columns
        if self._problem.end_cost is None:
            return float(self.costs.sum())
        end, fields = dofs[len(dofs) - c.n_node:], dict(zip(self.plan.element.trial, c.fields, strict=True))
        numbers = end[fields["constants"][0]] * self._problem.units if "constants" in fields else np.zeros(0)
        n_z = self.plan.system.n_z
        return float(self.costs.sum() + end_cost_of(self._problem, n_z)(end[:n_z], numbers)[0][0])

    @property
    def size_of_objective(self) -> float:
        """What changes of size one make of the cost."""
        return float(self.chain.size_of_objective(self.chain.with_costates(self._x, 0)))


# ---- Solutions of optimal control, which know the problem that they solve



class OptimalSolution(Solution):
    """A `Solution` of optimal control."""

    def of_problem(self, problem: OptimalControl) -> OptimalSolution:
        """The same, of a problem."""
        self._problem = problem
        return self

    def simulate(self, *, finer: int = 4, far: float = 1e-2) -> Simulation:
        """March the controls on a finer mesh, and tell how far that motion is from this one, and why.

        Warns (`UnderResolved`) where it is far: see `timefem.simulate`, which takes a problem and also a loaded
        solution.

        Parameters
        ----------
        finer : int
            Elements of the march in each of the solution, of the same kind.
        far : float
            Distance relative to the size of the motion, beyond which a warning is given.

        Raises
        ------
        InputError
            For contacts, and for copies that know no problem.
        """
        if self._problem is None:
            raise InputError("this solution does not know its problem; use timefem.simulate(problem, solution)")
        return simulate(self._problem, self, finer=finer, far=far)
