"""Driver "global": all elements at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...elements.evaluation.nodal_values import NodalValues
from ...late import Late
from ...progress import progress
from ...solvers.equations.elements import ElementEquations
from ...solvers.equations.outcome import Outcome
from ...solvers.nonlinear.newton import newton
from ...validate.options import field
from ..common.task import Driver, check_linear

if TYPE_CHECKING:
    from ...solvers.linear.base import LinearOptions
    from .driver_input import DriverInput

guess = Late(f"{__package__}.guess")
distributed = Late("timefem.solvers.equations.distributed")


@dataclass(frozen=True)
class Global(Driver):
    """All elements at once, by Newton's method on one sparse system in time order.

    Under mpirun, with a distributed linear solver, the elements are shared out among the ranks in contiguous slabs,
    those of boundary-value problems, inverse dynamics and optimal control, too.

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

    linear: LinearOptions | str = "chain"
    gather: bool | None = None
    scaling: str = field("scaling")

    name: ClassVar[str] = "global"

    def __post_init__(self):
        super().__post_init__()
        check_linear(self)

    def solve(self, job: DriverInput) -> Outcome:
        plan, mesh = job.plan, job.mesh
        equations = equations_on(job, mesh)
        n_unknowns = equations.n_unknowns
        if job.saved:
            x, status = job.saved.dofs(equations.first, equations.last, plan.columns.n_node), None
        else:
            x, status = guess.first_iterate(job, equations, mesh, job.z0)
        goal = job.settings.tol_residual * job.reference
        with progress("global Newton", job.settings.max_iterations, job.show, goal) as bar:
            def on_iteration(iteration, norm, x):
                bar.iteration(iteration, norm)
                own = [(equations.slab[0], equations.own_part(x))]
                return job.visit(bool(iteration), lambda: (0, mesh.n_elements, own))

            if status is None:
                x, status = newton(equations, x, job.settings, job.reference, on_iteration)
        seconds, backward_error = dict(equations.seconds), equations.backward_error
        ordering, per_rank = equations.linear.ordering, equations.per_rank
        iterations = np.array([len(status.residual_history) - 1] if status.residual_history else [], int)
        if not status.success:  # no element of a global solve is good before all are
            return Outcome(job.nothing(), status, iterations, n_unknowns, seconds, backward_error=backward_error,
                           per_rank=per_rank)
        first = None if job.gather or job.comm is None else equations.slab[0]
        x = equations.gather(x) if first is None else equations.own_part(x)
        equations = None  # its factors, before more memory is asked for
        values = NodalValues(*plan.unpack(x))
        return Outcome(values, status, iterations, n_unknowns, seconds, backward_error=backward_error,
                       ordering=ordering, per_rank=per_rank, first=first)


def equations_on(job, mesh):
    """The system of a mesh: shared among the ranks of the job, if it has some."""
    if job.comm is None:
        return local_equations(job, mesh)

    return distributed.DistributedEquations(job.plan, mesh, job.scale, linear=job.driver.linear, comm=job.comm)


def local_equations(job, mesh):
    """The system of a mesh on this rank alone."""
    return job.kept.thing(("equations", mesh.n_elements), job.plan,
                          lambda: ElementEquations(job.plan, mesh, job.scale, linear=job.driver.linear),
                          lambda equations: equations.renew(mesh, job.scale))
