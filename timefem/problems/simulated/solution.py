"""Solutions of optimal control, which know the problem that they solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...late import Late
from ...solution.solution import Solution

if TYPE_CHECKING:
    from ..optimal.problem import OptimalControl
    from .controls_marched import Simulation

controls_marched = Late(f"{__package__}.controls_marched")


class OptimalSolution(Solution):
    """A `Solution` of optimal control."""

    _problem: OptimalControl | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies in other processes know no problem."""
        return {name: value for name, value in vars(self).items() if name != "_problem"}

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
        return controls_marched.simulate(self._problem, self, finer=finer, far=far)
