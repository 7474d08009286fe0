"""The drivers that solve elements at once: all of them, or windows of them, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...elements.evaluation.elements_in_lanes import evaluate_batch
from ...errors import InputError
from ...memory import Late
from ...progress import progress
from ...solvers.equations.elements import ElementEquations
from ...solvers.equations.outcome import NodalValues, Outcome, joined
from ...solvers.nonlinear.newton import newton
from ...status import Reason, Status
from ...validate import free_memory
from ...validate.options import field, said
from ..task import Driver, check_linear
from .problem import OPTIONS

if TYPE_CHECKING:
    from ...elements.element import TimeElement
    from ...solvers.linear.base import LinearOptions
    from ..task import DriverInput

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


class WindowSize:
    """Elements of the next window: fixed, or from Newton's iterations and from the memory.

    Parameters
    ----------
    window : int or "auto"
    smallest, largest : int
        Of an automatic size.
    now : int, optional
        Automatic size to start from.
    """

    def __init__(self, window, smallest, largest, now=None):
        self.auto, self.smallest, self.largest = window == "auto", smallest, max(smallest, largest)
        self.now = self._within(now or OPTIONS.first_window) if self.auto else window

    def converged(self, n_elements, iterations):
        """A window of `n_elements` took that many iterations."""
        if self.auto and iterations >= OPTIONS.many_iterations:
            self.now = self._within(self.now // 2)
        elif self.auto and iterations <= OPTIONS.few_iterations and n_elements == self.now:
            self.now = self._within(2 * self.now)

    def failed(self, n_elements):
        """A window of `n_elements` failed; whether to try again with the size `now`, half as large."""
        self.now, retry = (self._within(n_elements // 2), True) if self.auto and n_elements > self.smallest else (
            self.now, False)
        return retry

    def _within(self, n):
        return max(self.smallest, min(n, self.largest))


# Under mpirun each window is shared among the ranks. The guess of a window starts from the end of the window before,
# and every rank works in every Newton iteration, so that there is no idle time in which the guess of the next window
# could be computed.

@dataclass(frozen=True)
class Windows(Driver):
    """Blocks of elements, one after the other, each solved at once.

    Elements that can be marched, and Bubnov-Galerkin elements with `drop="end"`, give the numbers of the global driver.
    With `drop="start"` each window leaves out its first test: the solution is less accurate than the global one, and
    worthless after some hundred turns.

    Parameters
    ----------
    window : int or "auto"
        Elements per window; the last window takes what is left. "auto": 64 at first, then twice as many after a window
        of at most 5 Newton iterations and half as many after one of 9 or more, or after a failure, when the window is
        tried again; at most what half of the free memory takes.
    linear, gather, scaling
        As of `Global`.
    """

    window: int | str = field("window")
    linear: LinearOptions | str = "chain"
    gather: bool | None = None
    scaling: str = field("scaling")

    name: ClassVar[str] = "windows"

    def __post_init__(self):
        super().__post_init__()
        check_linear(self)

    def check(self, element: TimeElement, guess: Any) -> None:
        if isinstance(guess, np.ndarray | list):
            raise InputError(f"nodal values as guess need {said('driver', 'global')}; give a function t -> z instead")

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"window": self.window}

    def solve(self, job: DriverInput) -> Outcome:
        return _Run(job).outcome()


class _Run:
    """One solve: where it is, and what it has done so far."""

    def __init__(self, job):
        n_ranks, n, window = job.comm.size if job.comm is not None else 1, job.mesh.n_elements, job.driver.window
        if window != "auto" and min(window, n) < n_ranks:
            raise InputError(f"{n_ranks} ranks cannot share windows of {min(window, n)} elements: use larger windows "
                             "or fewer ranks")
        self.job, self.comm, self.plan, saved = job, job.comm, job.plan, job.saved
        self.size = WindowSize(window, n_ranks, _largest_window(job), saved.window if saved else None)
        self.share = _share(job)
        self.done, self.first, self.left = [], 0, None  # solved windows, elements in them, dofs of the last of these
        if saved:
            self.done, self.first = _restored(job, self.share), saved.n_solved
            self.left = saved.dofs(self.first - 1, self.first, self.plan.columns.n_node) if self.first else None
        self.equations, self.status, self.iterations = None, Status(True), []
        self.seconds, self.backward_error, self.n_unknowns = {"assemble": 0.0, "solve": 0.0}, 0.0, 0

    def outcome(self):
        job, n = self.job, self.job.mesh.n_elements
        with progress("windows", n, job.show) as bar:
            bar.advance(self.first)
            while self.first < n:
                part = job.mesh.part(self.first, min(self.first + self.size.now, n))
                if self._solved(part):
                    bar.advance(part.n_elements)
                elif self.status.reason == Reason.STOPPED or not self.size.failed(part.n_elements):
                    break
        values = joined([NodalValues(*self.plan.unpack(x)) for _, x in self.done] + [job.nothing()])
        first = None if self.share is None else self.done[0][0] if self.done else self.first
        return Outcome(values, self.status, np.array(self.iterations, int), self.n_unknowns, self.seconds,
                       backward_error=self.backward_error, first=first,
                       per_rank=self.equations.per_rank if self.equations else {})

    def _solved(self, part):
        """Solve a window, from where the last one ended; whether it converged."""
        job, equations = self.job, self._equations_on(part)
        node = None if self.left is None else self.left[-self.plan.columns.n_node:]
        z = job.z0 if node is None else node[self.plan.columns.first[0]]
        if equations.kept[0].any():  # tests of the first node, on the rank that has it
            equations.assembler.before_start = None if self.left is None else _at_its_end(
                self.plan, job.mesh.part(self.first - 1, self.first), self.left)
        x, self.status = guess.first_iterate(job, equations, part, z, node)
        if self.status is None:
            x, self.status = newton(equations, x, job.settings, job.reference, self._visit)
            self.iterations.append(len(self.status.residual_history) - 1)
        for key in self.seconds:
            self.seconds[key] += equations.seconds.pop(key, 0.0)
        if self.status.success:
            self._keep(x, part.n_elements)
        return self.status.success

    def _equations_on(self, part):
        if self.equations is None or part.n_elements != self.equations.mesh.n_elements:
            self.equations = None  # free its memory first
            # ranks that cannot share a last, short window solve it all
            shared = self.comm is None or part.n_elements >= self.comm.size
            self.equations = (equations_on if shared else local_equations)(self.job, part)
        self.equations.place(part, self.first)
        self.n_unknowns = max(self.n_unknowns, self.equations.n_unknowns)
        return self.equations

    def _keep(self, x, n):
        """Take the solution of a window of n elements, and go on behind it."""
        self.backward_error = max(self.backward_error, self.equations.backward_error)
        owner = None if self.share is None else np.searchsorted(self.share, self.first, side="right") - 1
        whole, self.left = self.equations.gather(x, owner), self.equations.last_element(x)
        if owner is None or owner == self.comm.rank:
            self.done.append((self.first, whole))
        self.first += n
        self.size.converged(n, self.iterations[-1])

    def _visit(self, iteration, norm, x):
        equations, main = self.equations, self.comm is None or self.comm.rank == 0  # writes what every rank has
        solved = self.done if main or self.share is not None else []
        own = equations.first_element + equations.slab[0], equations.own_part(x)
        current = [own] if main or equations.comm else []
        n_stored = equations.first_element + equations.mesh.n_elements
        return self.job.visit(bool(iteration), lambda: (equations.first_element, n_stored, solved + current,
                                                        self.size.now))


def _at_its_end(plan, mesh, dofs):
    """Residual of the tests of the last node of one element."""
    residual, tangent = np.empty((1, plan.rows.n_local)), np.empty((1, len(plan.tangent_rows)))
    evaluate_batch(plan.arrays, dofs[None], mesh.nodes[:1], mesh.lengths, residual, tangent)
    return residual[0, plan.rows.n_local - plan.rows.n_node:]


def _share(job):
    """First element from which on windows that start there belong to each rank; None: every rank gets all."""
    if job.comm is None or job.gather:
        return None
    return np.arange(job.comm.size) * job.mesh.n_elements // job.comm.size


def _restored(job, share):
    """The solved windows of a checkpoint: those of this rank, cut where they do not join."""
    start, stop = 0, job.saved.n_solved
    if share is not None:
        start, stop = np.minimum(np.append(share, stop)[job.comm.rank:job.comm.rank + 2], stop)
    if start == stop:
        return []
    blocks, n_node = job.saved.blocks(start, stop), job.plan.columns.n_node
    joins = np.all(blocks[1:, :n_node] == blocks[:-1, blocks.shape[1] - n_node:], axis=1)
    cuts = [0, *(np.flatnonzero(~joins) + 1), stop - start]
    return [(start + a, np.append(blocks[a, :n_node], blocks[a:b, n_node:]))
            for a, b in pairwise(cuts)]


def _largest_window(job):
    """Elements whose tangent and factors take half of the memory that is free on this machine."""
    plan, step = job.plan, job.plan.columns.step
    per_element = 12 * len(plan.tangent_rows) + 8 * 4 * step * step + 8 * 20 * step
    free = free_memory() / 2
    if job.comm is None:
        return max(1, int(free / per_element))
    from mpi4py import MPI

    neighbours = job.comm.Split_type(MPI.COMM_TYPE_SHARED)
    mine = free / neighbours.size / per_element
    neighbours.Free()
    return max(1, int(job.comm.allreduce(mine, op=MPI.MIN) * job.comm.size))
