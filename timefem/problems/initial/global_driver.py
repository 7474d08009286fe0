"""Driver "global": all elements at once."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...progress import progress
from ...solvers.equations.distributed import DistributedChainSystem
from ...solvers.equations.outcome import Outcome
from ...solvers.equations.system import ChainSystem
from ...solvers.nonlinear.newton import newton
from ...validate.options import field
from ..common.driver import Driver, check_linear
from .guess import first_iterate


@dataclass(frozen=True)
class Global(Driver):
    """All elements at once, by Newton's method on one sparse system in time order.

    Under mpirun, with a distributed linear solver, the elements are shared out among the ranks in contiguous slabs,
    those of boundary-value problems, inverse dynamics and optimal control without inequalities, too.

    Parameters
    ----------
    linear : TimeChain, SuperLU, Cholmod, PETSc or str
        Linear solver, or its shorthand: "chain", "superlu", "sksparse", "petsc".
    gather : bool, optional
        Of initial-value problems on several ranks: whether every rank gets the whole solution. With False each rank
        gets a `SlabSolution` of its own elements, so that memory is proportional to the slab; default: False where the
        nodal values take more than 1 GiB.
    scaling : {"full", "weights", "reference", "none"}
        Of unknowns and rows (see `timefem.assembly.scaling`).
    """

    linear: Any = "chain"
    gather: bool | None = None
    scaling: str = field("scaling")

    name: ClassVar[str] = "global"

    def __post_init__(self):
        super().__post_init__()
        check_linear(self)

    def solve(self, job):
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


def make_chain(job, mesh):
    """The system of a mesh: shared among the ranks of the job, if it has some."""
    if job.comm is None:
        return local_chain(job, mesh)

    return DistributedChainSystem(job.plan, mesh, job.scale, job.comm, job.driver.linear)


def local_chain(job, mesh):
    """The system of a mesh on this rank alone."""
    return ChainSystem(job.plan, mesh, job.scale, job.driver.linear)
