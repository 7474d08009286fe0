"""What a driver is asked to do, and what it returns."""

from dataclasses import dataclass, field

import numpy as np

from ... import interrupts
from ...assembly import Scaling, TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...solvers.equations.outcome import ValuesOfDofs
from ...solvers.nonlinear.newton import Newton
from .. import statistics
from ..kept import Kept

DEFAULT = Newton()


@dataclass
class DriverInput:
    """What a driver is asked to do.

    Attributes
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    z0 : ndarray, shape (n_z,)
        State at the start.
    driver : Driver
    guess, settings, show
        `guess`, `newton` and `progress` of `timefem.solve`.
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
    kept : Kept
        Of earlier solves.
    scale : Scaling
        Of unknowns and rows at the state at the start.
    """

    plan: ElementPlan
    mesh: TimeMesh
    z0: np.ndarray
    driver: object
    guess: object = "march"
    settings: Newton = DEFAULT
    show: bool | None = None
    comm: object = None
    gather: bool = True
    recorder: object = None
    saved: object = None
    where: str = ""
    kept: Kept = field(default_factory=Kept)

    def __post_init__(self):
        self.scale = Scaling.of(self.driver.scaling, self.plan.system, self.plan.element, self.mesh.nodes[0], self.z0)

    @property
    def reference(self):
        """Size of the scaled state, by which tolerances are multiplied."""
        return self.scale.reference

    def visit(self, steps, what):
        """Write a checkpoint if one is due; whether to stop. `what()` gives the arguments of `Recorder.write`."""
        statistics.show(self, what)
        if self.recorder is not None:
            return self.recorder.visit(steps, what)
        stop = interrupts.asked() is not None
        if self.comm is not None and interrupts.active():
            stop = any(self.comm.allgather(stop))
        if stop:
            interrupts.answer()
        return stop

    def nothing(self):
        """Nodal values of no element."""
        multipliers = np.zeros(self.plan.system.n_multipliers)
        return ValuesOfDofs(self.plan, self.plan.first_element(self.mesh, self.z0, multipliers), 0)
