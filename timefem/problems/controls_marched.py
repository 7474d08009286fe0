"""Solutions of optimal control, and their controls marched on a finer mesh: how far that motion is from theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..assembly import TimeMesh
from ..errors import InputError, UnderResolved, named_arguments, warn
from ..solution.solution import Solution
from ..solvers.equations.outcome import NodalValues
from .optimal.guesses.guess import from_solution, stretched
from .optimal.strategies.mesh_sequence import optimality_plan
from .optimal.transcription.equations import OptimalityEquations
from .optimal.transcription.nonlinear_program import OptimalProgram
from .optimal.transcription.sizes import has_contacts, scaling_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .optimal.problem import OptimalControl


@dataclass(frozen=True)
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
    chain : OptimalityEquations
    program : OptimalProgram
        Its variables are changes of the solution.
    sizes : ndarray, shape (n_z,)
    """

    def __init__(self, problem: OptimalControl, solution: Solution, shares: Sequence[float]) -> None:
        element = solution.element
        while hasattr(element, "element"):
            element = element.element
        self.plan, self.finer = optimality_plan(problem, element), len(shares)
        coarse = stretched(solution.t, problem.t_span)
        nodes = np.append((coarse[:-1, None] + np.diff(coarse)[:, None] * np.asarray(shares)).ravel(), coarse[-1])
        mesh = TimeMesh(nodes)
        scale = scaling_of("full", problem, self.plan, nodes[0])
        self.chain = OptimalityEquations(problem.of_motion(), self.plan, mesh, scale, "chain")
        self.program = OptimalProgram(self.chain, from_solution(problem, self.plan, mesh, solution))
        self.sizes = scale.state * np.repeat(scale.lifts, len(scale.state) // 2)

    def states(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at the ends of all elements, and all unknowns, after changes v."""
        x = self.program.place(v, np.zeros(self.program.n_equations))
        return NodalValues(*self.plan.unpack(self.chain.dofs(x))).state[:, -1], x

    def defects(self) -> np.ndarray:
        """What each element of the solution alone misses at its end, in sizes of states: by a step of Newton's method.
        """
        none = np.zeros(self.program.n)
        found, last = self.program.stepped_alone(none, self.finer), slice(self.finer - 1, None, self.finer)
        told = self.states(none)[0][last]
        if found is None:
            return np.full(len(told), np.inf)
        return np.abs((self.states(found)[0][last] - told) / self.sizes).max(axis=1)

    @property
    def objective(self) -> float:
        """Cost of the state of the solution, by the points of the finer mesh."""
        return float(self.chain.objective(self.states(np.zeros(self.program.n))[1]))

    @property
    def size_of_objective(self) -> float:
        """What changes of size one make of the cost."""
        return float(self.chain.size_of_objective(self.states(np.zeros(self.program.n))[1]))


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
