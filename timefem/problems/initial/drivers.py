"""The three drivers: nodal values and a status from a system, an element, a mesh and an initial state."""

import time

from ... import validate
from ...elements.evaluation.plan import ElementPlan
from ...parallel import end_together, own_world
from ...solvers.linear import linear_options
from .checkpoint import EVERY, Checkpoint, Identity, Recorder
from .global_driver import solve_together
from .job import Job
from .march_driver import solve_one_by_one
from .windows_driver import solve_in_windows

DRIVERS = {"march": solve_one_by_one, "windows": solve_in_windows, "global": solve_together}
GATHER_BELOW = 2**30  # bytes of nodal values up to which every rank of a distributed solve gets all


def run_driver(driver, system, element, mesh, z0, *, backend, window, scaling, gather=None, checkpoint=None,
               checkpoint_every=EVERY, restart=None, **arguments):
    """Solve an initial-value problem by the named driver (see `timefem.solve` and `Job` for the arguments).

    Returns
    -------
    Outcome
    """
    validate.choice("driver", driver, tuple(DRIVERS))
    linear_options(backend)
    start = time.perf_counter()
    if driver == "march" and not element.can_march:
        raise validate.InputError(f"{element!r} couples its elements and cannot be marched: "
                                  "use driver='windows' or driver='global'")
    plan = ElementPlan(system, element)
    comm = own_world() if backend == "petsc" and driver != "march" else None
    if gather is None:
        gather = 8 * mesh.n_elements * plan.columns.n_local <= GATHER_BELOW
    job = Job(plan, mesh, z0, backend, window=window, scaling=scaling, comm=comm, gather=gather, **arguments)
    if checkpoint is not None or restart is not None:
        window = {"window": window} if driver == "windows" else {}
        identity = Identity(plan, mesh, z0, {"driver": driver, "scaling": scaling, **window})
        if restart is not None:
            job.saved = Checkpoint(restart)
            job.saved.check(identity)
        if checkpoint is not None:
            job.recorder = Recorder(checkpoint, checkpoint_every, identity, comm)
    try:
        outcome = DRIVERS[driver](job)
    except Exception as error:
        if comm is not None:
            end_together(error, job.where)
        raise
    finally:
        if job.recorder is not None:
            job.recorder.close()
    outcome.n_ranks = comm.size if comm is not None else 1
    total = time.perf_counter() - start
    known = {k: outcome.seconds.get(k, 0.0) for k in ("assemble", "solve")}
    outcome.seconds = {"setup": total - sum(known.values()), **known, "total": total}
    return outcome
