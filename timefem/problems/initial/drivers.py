"""How an initial-value problem is solved: its driver, which makes nodal values and a status of a system, an element, a
mesh and a state, and checkpoints, where a solve is written now and then, and goes on from."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from ... import validate
from ...assembly import TimeMesh
from ...atomic_write import check_writable
from ...errors import InputError, NamedArguments
from ...memory import Late, LateTable
from ...parallel import end_together, own_world
from ...records import frozen
from ...validate import check_memory
from ..task import Driver, DriverInput
from .problem import OPTIONS

checkpoint = Late(f"{__package__}.checkpoint")


@frozen
class Checkpoint(NamedArguments):
    """Checkpoints of a solve of an initial-value problem.

    Parameters
    ----------
    path : str or Path, optional
        File that is written from time to time, complete at any moment, and on SIGTERM, which then ends the solve
        ("stopped"). It holds the solved elements and the Newton iterate of all that are being solved.
    every : str or int
        "60s", or "5it", or a number of iterations: Newton's, or elements of a march.
    restart : str or Path, optional
        Checkpoint to continue from, of the same problem, element, mesh, driver, window and scaling, on any number of
        ranks. See also `timefem.restart`, which takes all of these from the file.
    """

    path: str | os.PathLike | None = None
    every: str | int = "60s"
    restart: str | os.PathLike | None = None

    def __post_init__(self):
        if self.path is None and self.restart is None:
            raise InputError("a Checkpoint needs a path to write to, or restart, one to continue from")
        checkpoint.parse_every(self.every)

    def check(self) -> None:
        """InputError when the file cannot be written, before work starts."""
        if self.path is not None:
            check_writable(self.path)

    def open(self, plan: Any, mesh: TimeMesh, z0: np.ndarray, settings: dict[str, Any],
             comm: Any = None) -> tuple[Any, Any, TimeMesh]:
        """The checkpoint to go on from, the recorder of a solve, each of which may be None, and the mesh.

        That is the one of the checkpoint where a march has halved elements of the given one.
        """
        saved, recorder = None, None
        if self.restart is not None:
            saved = checkpoint.Checkpoint(self.restart)
            t = saved.arrays["t"]
            if settings["driver"] == "march" and mesh.nodes[-1] == t[-1] and np.isin(mesh.nodes, t).all():
                mesh = TimeMesh(t)
        own = checkpoint.Identity(plan, mesh, z0, settings)
        if saved is not None:
            saved.check(own)
        if self.path is not None:
            recorder = checkpoint.Recorder(self.path, self.every, own, comm)
        return saved, recorder, mesh


def checkpoint_of(choice):
    """The `Checkpoint` of a path; None where there is none."""
    return choice if choice is None or isinstance(choice, Checkpoint) else Checkpoint(choice)


DRIVERS = LateTable(__package__, {"march": ".march_driver.March", "windows": ".global_driver.Windows",
                                  "global": ".global_driver.Global"})


def named_driver(name):
    """Class of a driver by its shorthand."""
    if not isinstance(name, str):
        raise InputError(f"driver must be {', '.join(f'tf.{cls.__name__}()' for cls in DRIVERS.values())} or one of "
                         f"{', '.join(map(repr, DRIVERS))}, not {name!r}")
    return DRIVERS[validate.choice("driver", name, tuple(DRIVERS))]


def is_driver(value):
    return isinstance(value, Driver)


def run_driver(task, mesh):
    """Solve the initial-value problem of a `Task` on a mesh, by its driver; returns an `Outcome`."""
    start = time.perf_counter()
    driver, z0 = task.driver, task.problem.z0
    plan = task.kept.plan(task.problem.system, task.element)
    comm = own_world() if driver.distributed else None
    n_ranks = 1 if comm is None else comm.size
    # dofs, and the nodal values made of them
    n_bytes = 2 * 8 * mesh.n_elements * plan.columns.n_local / n_ranks
    check_memory(f"the solution on {mesh.n_elements} elements", n_bytes)
    gather = getattr(driver, "gather", None)
    if gather is None:
        gather = 8 * mesh.n_elements * plan.columns.n_local <= OPTIONS.gather_below
    settings = {} if task.newton is None else {"settings": task.newton}
    guess = "march" if task.guess is None else task.guess
    job = DriverInput(plan, mesh, z0, driver, guess, show=task.progress, comm=comm, gather=gather,
                      kept=task.kept, **settings)
    if task.checkpoint is not None:
        job.saved, job.recorder, job.mesh = task.checkpoint.open(plan, mesh, z0, driver.identity(), comm)
    try:
        outcome = driver.solve(job)
    except Exception as error:
        if comm is not None:
            end_together(error, job.where)
        raise
    finally:
        if job.recorder is not None:
            job.recorder.close()
    outcome.n_ranks = comm.size if comm is not None else 1
    total, assemble, solve = time.perf_counter() - start, outcome.seconds.get("assemble", 0.0), outcome.seconds["solve"]
    outcome.seconds = {"setup": total - assemble - solve, "assemble": assemble, "solve": solve, "total": total}
    return outcome
