"""Driver "global": all elements at once."""

import numpy as np

from ...progress import progress
from ...solvers.equations.distributed import DistributedChainSystem
from ...solvers.equations.outcome import Outcome
from ...solvers.equations.system import ChainSystem
from ...solvers.nonlinear.newton import newton
from .guess import first_iterate


def make_chain(job, mesh):
    """The system of a mesh: shared among the ranks of the job, if it has some."""
    if job.comm is None:
        return ChainSystem(job.plan, mesh, job.scale, job.backend, job.options)

    return DistributedChainSystem(job.plan, mesh, job.scale, job.comm, job.options)


def solve_together(job):
    """Solve all elements at once; returns an `Outcome`."""
    plan, mesh = job.plan, job.mesh
    chain = make_chain(job, mesh)
    n_unknowns = chain.n_unknowns
    if job.saved:
        x, status = job.saved.dofs(chain.first, chain.last, plan.columns.n_node), None
    else:
        x, status = first_iterate(job, chain, mesh, job.z0)
    with progress("global Newton", job.settings.max_iterations, job.show) as bar:
        def on_iteration(iteration, norm, x):
            bar.iteration(iteration, norm)
            return job.visit(bool(iteration), lambda: (0, mesh.n_elements, [(chain.slab[0], chain.own_part(x))]))

        if status is None:
            x, status = newton(chain, x, job.settings, job.reference, on_iteration)
    seconds, backward_error = dict(chain.seconds), chain.backward_error
    iterations = np.array([len(status.residual_history) - 1] if status.residual_history else [], int)
    if not status.success:  # no element of a global solve is good before all are
        return Outcome(*job.nothing(), status, iterations, n_unknowns, seconds, backward_error=backward_error)
    first = None if job.gather or job.comm is None else chain.slab[0]
    x = chain.gather(x) if first is None else chain.own_part(x)
    chain = None  # its factors, before more memory is asked for
    values = plan.unpack(x)
    return Outcome(*values, status, iterations, n_unknowns, seconds, backward_error=backward_error, first=first)
