"""What a driver is asked to do, and what it returns."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..assembly import Scaling, TimeMesh
from ..elements import ElementPlan
from .newton import Newton
from .status import Status


@dataclass
class Job:
    """An initial-value problem and how to solve it (see `timefem.solve` for the arguments).

    Attributes
    ----------
    comm : mpi4py communicator or None
        Of the ranks that share the work.
    gather : bool
        Whether every rank gets all nodal values.
    recorder : Recorder or None
        Writes checkpoints.
    saved : Checkpoint or None
        To go on from.
    where : str
        What this rank works on, in words, for messages.
    """

    plan: ElementPlan
    mesh: TimeMesh
    z0: np.ndarray
    backend: str
    options: dict
    window: int | str
    guess: object
    settings: Newton
    scaling: str
    show: bool | None
    comm: object = None
    gather: bool = True
    recorder: object = None
    saved: object = None
    where: str = ""

    @cached_property
    def scale(self):
        """Scaling of unknowns and rows at the initial state."""
        return Scaling.of(self.scaling, self.plan.system, self.plan.element, self.mesh.nodes[0], self.z0)

    @property
    def reference(self):
        """Size of the scaled state, by which tolerances are multiplied."""
        return self.scale.size(self.z0)

    def visit(self, steps, what):
        """Write a checkpoint if one is due; whether to stop. `what()` gives the arguments of `Recorder.write`."""
        return self.recorder is not None and self.recorder.visit(steps, what)

    def nothing(self):
        """Nodal values of no element."""
        multipliers = np.zeros(self.plan.system.n_multipliers)
        return first_elements(self.plan.unpack(self.plan.constant(self.mesh.part(0, 1), self.z0, multipliers)), 0)


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
    first : int or None
        First of the elements that this rank has the values of; None: it has all.
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
    first: int | None = None


def first_elements(values, n):
    """Nodal values of the first n elements, as from `ElementPlan.unpack`."""
    state, multipliers, others = values
    return state[:n], multipliers[:n], {name: v[:n] for name, v in others.items()}


def joined(values):
    """Nodal values as from `ElementPlan.unpack`, of several chains of elements one after the other."""
    state, multipliers, others = zip(*values, strict=True)
    return (np.concatenate(state), np.concatenate(multipliers),
            {name: np.concatenate([o[name] for o in others]) for name in others[0]})
