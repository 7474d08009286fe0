"""What a solve of elements gives."""

from dataclasses import dataclass, field

import numpy as np

from ...status import Status


@dataclass
class Outcome:
    """What a driver returns.

    Attributes
    ----------
    state, multipliers : ndarray
        Nodal values of the solved elements, shapes (n_solved, n_shapes, n_z) and (n_solved, n, n_multipliers).
    others : dict
        Nodal values of the further fields of the element.
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
    first : int or None
        First of the elements that this rank has the values of; None: it has all.
    mesh : TimeMesh or None
        Where it is another one than was given.
    """

    state: np.ndarray
    multipliers: np.ndarray
    others: dict
    status: Status
    iterations: np.ndarray
    n_unknowns: int
    seconds: dict = field(default_factory=dict)
    n_ranks: int = 1
    backward_error: float = float("nan")
    ordering: str = ""
    first: int | None = None
    mesh: object = None


def first_elements(values, n):
    """Nodal values of the first n elements, as from `ElementPlan.unpack`."""
    state, multipliers, others = values
    return state[:n], multipliers[:n], {name: v[:n] for name, v in others.items()}


def joined(values):
    """Nodal values as from `ElementPlan.unpack`, of several sequences of elements one after the other."""
    state, multipliers, others = zip(*values, strict=True)
    return (np.concatenate(state), np.concatenate(multipliers),
            {name: np.concatenate([o[name] for o in others]) for name in others[0]})
