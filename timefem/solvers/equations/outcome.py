"""What a solve of elements gives."""

from dataclasses import dataclass, field

import numpy as np

from ...elements.evaluation.nodal_values import NodalValues
from ...status import Status


@dataclass
class Outcome:
    """What a driver returns.

    Attributes
    ----------
    values : NodalValues
        Of the solved elements.
    status : Status
    iterations : ndarray of int
        Newton iterations per element (march), window or solve.
    n_unknowns : int
        Of one nonlinear system.
    seconds : dict
        "setup", "assemble", "solve", "total".
    n_ranks : int
    backward_error : float
        Largest of all linear solves; NaN where it is not looked at (march).
    ordering : str
        In which order the linear solver eliminates, where it has a choice.
    per_rank : dict
        Numbers of all ranks by name, where ranks share one system.
    first : int or None
        First of the elements that this rank has the values of; None: it has all.
    mesh : TimeMesh or None
        Where it is another one than was given.
    attempts : list of dict
        Fields of each `Attempt`, of optimal control.
    stopped : bool
        Whether it was asked to stop, perhaps at its end.
    """

    values: NodalValues
    status: Status
    iterations: np.ndarray
    n_unknowns: int
    seconds: dict = field(default_factory=dict)
    n_ranks: int = 1
    backward_error: float = float("nan")
    ordering: str = ""
    per_rank: dict = field(default_factory=dict)
    first: int | None = None
    mesh: object = None
    attempts: list = field(default_factory=list)
    stopped: bool = False

    @property
    def n_solved(self) -> int:
        """Number of elements."""
        return len(self.values)

    @property
    def state(self) -> np.ndarray:
        """Nodal values of `(q, p)`, shape (n_solved, n_shapes, n_z)."""
        return self.values.state


def joined(values):
    """`NodalValues` of several sequences of elements one after the other."""
    state, multipliers, others = zip(*(v.arrays for v in values), strict=True)
    return NodalValues(np.concatenate(state), np.concatenate(multipliers),
                       {name: np.concatenate([o[name] for o in others]) for name in others[0]})
