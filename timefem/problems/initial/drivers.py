"""The drivers of initial-value problems: nodal values and a status from a system, an element, a mesh and a state."""

import time

from ... import validate
from ...errors import InputError
from ...memory import Late, LateTable
from ...parallel import end_together, own_world
from ...validate import check_memory
from ..task import Driver
from .options import OPTIONS

DRIVERS = LateTable(__package__, {"march": ".march_driver.March", "windows": ".global_driver.Windows",
                                  "global": ".global_driver.Global"})
jobs = Late(f"{__package__}.driver_input")


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
    job = jobs.DriverInput(plan, mesh, z0, driver, guess, show=task.progress, comm=comm, gather=gather,
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
