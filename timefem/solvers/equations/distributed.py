"""A chain of elements distributed over MPI ranks: contiguous slabs of elements, rows and columns in time order."""

import time
from collections import defaultdict
from types import SimpleNamespace

import numpy as np

from ...errors import InputError
from ...parallel import agree
from ..linear import LinearOptions, PETSc
from .ends import EndBlock
from .system import initial_value_ends
from .system_with_ends import BoundarySystem

# Work per element, assembly included, of the first slab, those in between and the last one, when slabs are eliminated
# on their own: the last goes backwards, which is cheaper, and those in between carry both of their ends along.
SLAB_WORK = 1.15, 1.5, 1.0


def slab_ends(n_elements, n_ranks, by_slabs):
    """Where the slabs of the ranks start, and the end: of equal work if they are eliminated `by_slabs`."""
    share = np.ones(n_ranks)
    if by_slabs and n_ranks > 1:
        share[:] = 1 / SLAB_WORK[1]
        share[0], share[-1] = 1 / SLAB_WORK[0], 1 / SLAB_WORK[2]
    ends = np.floor(n_elements * np.cumsum(share) / share.sum() + 1e-9).astype(int)
    ends = np.maximum(ends, np.arange(1, n_ranks + 1))  # an element each, at least
    ends = np.minimum(ends, n_elements - n_ranks + np.arange(1, n_ranks + 1))
    return [0, *ends.tolist()]


class DistributedChainSystem(BoundarySystem):
    """`BoundarySystem` over the ranks of a communicator, solved by PETSc.

    Each rank owns the columns of its slab of elements and as many rows. Where elements of a neighbour contribute to
    those rows, it evaluates them too: one element at each end of the slab. Nothing here but the nodes of the mesh grows
    with the number of elements of other ranks. Each rank keeps, as `x`, the dofs of the elements that it evaluates,
    and the unknowns of the blocks at the ends of the whole mesh that these reach.

    Parameters
    ----------
    plan, mesh, scaling
        As in `ChainSystem`; the mesh is the whole one.
    options : PETSc or dict, optional
        The linear solver, or options of PETSc.
    comm : mpi4py communicator
    free, kept, blocks : pairs, optional
        As in `BoundarySystem`; those of an initial-value problem unless given.
    """

    def __init__(self, plan, mesh, scaling, comm, options=None, free=None, kept=None, blocks=None):
        from petsc4py import PETSc as petsc

        linear = options if isinstance(options, LinearOptions) else PETSc(options)
        if comm.size > mesh.n_elements:
            raise InputError(f"{comm.size} ranks cannot share {mesh.n_elements} elements: use fewer ranks or more "
                             "elements")
        self.comm = comm
        if free is None:
            free, kept = initial_value_ends(plan, plan.element)
        none = EndBlock.none(plan.columns.n_node)
        start, end = blocks or (none, none)
        n, c, r = mesh.n_elements, plan.columns, plan.rows
        # numbers of columns and rows before those of the elements
        n_columns, n_rows = start.n_unknowns + int(free[0].sum()), start.n_rows + int(kept[0].sum())
        total = n_columns + n * c.step - int(c.n_node - free[1].sum()) + end.n_unknowns
        ends = slab_ends(n, comm.size, linear.by_slabs)
        self.slab = ends[comm.rank], ends[comm.rank + 1]
        # numbers of unknowns where slabs meet; rows are shared out alike
        bounds = [c.step * end + n_columns if end else 0 for end in ends[:-1]] + [total]
        self.own = bounds[comm.rank], bounds[comm.rank + 1]
        # the elements that contribute to rows own[0], ..., own[1] - 1
        self.first = max(0, (self.own[0] - n_rows) // r.step)
        self.last = min(n, (self.own[1] - 1 - n_rows) // r.step + (2 if r.n_node else 1))

        inner_c, inner_r = np.ones(c.n_node, bool), np.zeros(r.n_node, bool)
        at_start, at_end = self.first == 0, self.last == n
        part, before, after = self._surroundings(mesh)
        self._set_up(plan, part, scaling, (free[0] if at_start else inner_c, free[1] if at_end else inner_c),
                     (kept[0] if at_start else inner_r, kept[1] if at_end else inner_r),
                     (start if at_start else none, end if at_end else none), before, after)
        self.mesh, self.n_before, self.n_after = mesh, start.n_unknowns, end.n_unknowns
        pattern = self.pattern
        row_start = 0 if at_start else self.first * r.step + n_rows
        column_start = 0 if at_start else self.first * c.step + n_columns - c.n_node
        self.local_rows = slice(self.own[0] - row_start, self.own[1] - row_start)
        indptr = pattern.indptr[self.local_rows.start:self.local_rows.stop + 1]
        self.entries = slice(int(indptr[0]), int(indptr[-1]))
        local = SimpleNamespace(indptr=indptr - indptr[0],
                                indices=pattern.indices[self.entries].astype(petsc.IntType) + column_start,
                                n_node=(c.n_node, r.n_node))
        elements = np.arange(self.slab[0], self.slab[1] + 1)
        local.column_starts, local.row_starts = (
            np.append([0] if comm.rank == 0 else [], first + step * elements).astype(np.int64)
            for first, step in ((n_columns, c.step), (n_rows, r.step)))
        if self.slab[1] == n:
            local.column_starts[-1] = local.row_starts[-1] = total
        self.linear = linear.make(local, comm)
        self._whole = petsc.Vec().createMPI((self.own[1] - self.own[0], None), comm=petsc.Comm(comm))
        self._part = petsc.Vec().createSeq(pattern.n_columns)
        needed = petsc.IS().createStride(pattern.n_columns, column_start, 1, comm=petsc.COMM_SELF)
        self._scatter = petsc.Scatter().create(self._whole, needed, self._part, None)
        self._own_columns = slice(self.own[0] - column_start, self.own[1] - column_start)
        self.seconds, self.backward_error, self._error = defaultdict(float), 0.0, None

    def _surroundings(self, mesh):
        """The mesh of the evaluated elements and their neighbours, and how many neighbours there are at both ends."""
        before, after = min(self.first, 1), min(mesh.n_elements - self.last, 1)
        return mesh.part(self.first - before, self.last + after), before, after

    @property
    def where(self):
        """This rank's share, in words."""
        start, stop = self.slab
        nodes = self.mesh.nodes
        return (f"elements {self.first_element + start} to {self.first_element + stop - 1}, "
                f"t = {nodes[start]:g} to {nodes[stop]:g}")

    @property
    def n_unknowns(self):
        return self.comm.allreduce(self.own[1] - self.own[0])

    def place(self, mesh, first_element=0):
        self.mesh, self.first_element = mesh, first_element
        self.assembler.place(*self._surroundings(mesh))

    def take(self, x):
        """The unknowns that this rank keeps, of all of them."""
        first, chain, last = np.split(x, [self.n_before, len(x) - self.n_after])
        step = self.plan.columns.step
        chain = chain[self.first * step:self.last * step + self.plan.columns.n_node]
        a, b = (block.n_unknowns for block in self.blocks)
        return np.concatenate([first[:a], chain, last[:b]])

    def share(self, x):
        (first, chain, last), columns = self.split(x), self.assembler.pattern.column_index
        self._whole.array[:] = np.concatenate([first, chain[columns], last])[self._own_columns]
        self._scatter.scatter(self._whole, self._part)
        part, n = self._part.array, len(self._part.array) - len(last)
        first[:], chain[columns], last[:] = part[:len(first)], part[len(first):n], part[n:]

    def gather(self, x, root=None):
        first, chain, last = self.split(x)
        pieces = (first if self.comm.rank == 0 else first[:0],
                  self.own_part(chain)[self.plan.columns.n_node if self.slab[0] else 0:],
                  last if self.comm.rank == self.comm.size - 1 else last[:0])
        own = np.concatenate(pieces)
        counts = self.comm.allgather(len(own))
        whole = np.empty(sum(counts)) if root is None or root == self.comm.rank else None
        if root is None:
            self.comm.Allgatherv(own, (whole, counts))
        else:
            self.comm.Gatherv(own, (whole, counts) if root == self.comm.rank else None, root)
        return whole

    def end(self, x):
        return self.comm.bcast(super().end(self.own_part(x)), self.comm.size - 1)

    def evaluate(self, x):
        """As in `BoundarySystem`; an error of this rank is kept until `norm`, where the ranks meet."""
        start = time.perf_counter()
        try:
            residual, data = self._evaluate(x)
        except Exception as error:
            self._error = error
            return np.full(self.own[1] - self.own[0], np.nan)
        self.data = data[self.entries]
        self.seconds["assemble"] += time.perf_counter() - start
        return residual[self.local_rows]

    def scaled(self, x):
        return super().scaled(x)[self._own_columns]

    def dot(self, a, b):
        return self.comm.allreduce(float(a @ b))

    def linear_step(self, residual):
        error = step = None
        try:
            step = super().linear_step(residual)
        except Exception as failure:
            error = failure
        agree(self.comm, error, self.where)
        return step

    def moved(self, x, step, length):
        self._whole.array[:] = step
        self._scatter.scatter(self._whole, self._part)
        return super().moved(x, self._part.array, length)

    def norm(self, values):
        from mpi4py import MPI

        local = float(np.abs(values).max(initial=0.0))
        norm = self.comm.allreduce(local if np.isfinite(local) else np.inf, op=MPI.MAX)
        if norm == np.inf:
            error, self._error = self._error, None
            agree(self.comm, error, self.where)
        return norm

    def worst(self, residual, x=None):
        before, first = self.blocks[0].n_rows, self.local_rows.start
        rows = slice(max(0, before - first), before + self.assembler.pattern.n_rows - first)  # those of elements
        chain = None if x is None else self.split(x)[1]
        element, size = self._worst(residual[rows], chain, first + rows.start - before)
        found = self.comm.allgather((size, -element))  # of infinite ones the first
        element = -max(found)[1]
        slabs = [[self.first_element + end for end in slab] for slab in self.comm.allgather(self.slab)]
        time, element = self.mesh.nodes[element], self.first_element + element
        rank, (start, stop) = next((r, s) for r, s in enumerate(slabs) if element < s[1])
        return {"element": element, "time": time, "rank": rank, "slab": [start, stop - 1]}
