"""A chain of elements distributed over MPI ranks: contiguous slabs of elements, rows and columns in time order."""

import time
from types import SimpleNamespace

import numpy as np

from ..assembly import Assembler
from ..errors import InputError
from .chain_system import ChainSystem, initial_value_ends
from .linear.petsc import Solver


class DistributedChainSystem(ChainSystem):
    """`ChainSystem` over the ranks of a communicator, solved by PETSc.

    Each rank owns the columns of its slab of elements and as many rows. Where elements of a neighbour contribute to
    those rows, it evaluates them too: one element at each end of the slab.

    Parameters
    ----------
    plan, mesh, scaling, options
        As in `ChainSystem`; the mesh is the whole one.
    comm : mpi4py communicator
    """

    def __init__(self, plan, mesh, scaling, comm, options=None):
        from petsc4py import PETSc

        if comm.size > mesh.n_elements:
            raise InputError(f"{comm.size} ranks cannot share {mesh.n_elements} elements: use fewer ranks or more "
                             "elements")
        self.plan, self.mesh, self.comm = plan, mesh, comm
        free, kept = initial_value_ends(plan, plan.element)
        n, c, r = mesh.n_elements, plan.columns, plan.rows
        c_step, r_step = c.step, r.step
        ends = np.arange(comm.size + 1) * n // comm.size
        # numbers of unknowns where slabs meet; rows are shared out alike
        bounds = np.where(ends > 0, c_step * ends + free[0].sum(), 0)
        bounds[-1] -= c.n_node - free[1].sum()
        self.slabs = np.stack([ends[:-1], ends[1:]], axis=1)
        self.own = bounds[comm.rank], bounds[comm.rank + 1]
        # the elements that contribute to rows own[0], ..., own[1] - 1, counted with the left-out first rows
        skipped = r.n_node - kept[0].sum()
        first = max(0, (self.own[0] + skipped - r.n_node) // r_step)
        last = min(n, (self.own[1] - 1 + skipped - r.n_node) // r_step + (2 if r.n_node else 1))
        self.first, self.last = int(first), int(last)

        inner_c, inner_r = np.ones(c.n_node, bool), np.zeros(r.n_node, bool)
        part = mesh.part(self.first, self.last)
        assembler = Assembler(plan, part, (free[0] if self.first == 0 else inner_c, free[1] if last == n else inner_c),
                              (kept[0] if self.first == 0 else inner_r, kept[1] if last == n else inner_r), scaling)
        # sizes of shared nodes depend on both neighbours
        assembler.column_scale = scaling.columns(c, mesh.lengths)[self.first * c_step:][:len(assembler.column_scale)]
        assembler.row_scale = scaling.rows(r, mesh.lengths)[self.first * r_step:][:len(assembler.row_scale)]
        self.assembler = assembler
        pattern = assembler.pattern
        row_start = 0 if self.first == 0 else self.first * r_step + r.n_node - skipped
        column_start = 0 if self.first == 0 else self.first * c_step + free[0].sum() - c.n_node
        self.local_rows = slice(self.own[0] - row_start, self.own[1] - row_start)
        indptr = pattern.indptr[self.local_rows.start:self.local_rows.stop + 1]
        self.entries = slice(indptr[0], indptr[-1])
        local = SimpleNamespace(indptr=indptr - indptr[0], indices=pattern.indices[self.entries] + column_start)
        self.linear = Solver(local, options or {}, PETSc.Comm(comm))
        n_own = self.own[1] - self.own[0]
        self._whole = PETSc.Vec().createMPI((n_own, None), comm=PETSc.Comm(comm))
        self._part = PETSc.Vec().createSeq(len(pattern.columns))
        needed = PETSc.IS().createStride(len(pattern.columns), column_start, 1, comm=PETSc.COMM_SELF)
        self._scatter = PETSc.Scatter().create(self._whole, needed, self._part, None)
        self.seconds, self.backward_error = {"assemble": 0.0, "solve": 0.0}, 0.0

    @property
    def n_unknowns(self):
        return self.comm.allreduce(int(self.own[1] - self.own[0]))

    def local_dofs(self, x):
        """The dofs of the elements that this rank evaluates, of all dofs `x`."""
        start = self.first * self.plan.columns.step
        return x[start:start + self.assembler.pattern.n_columns_full].copy()

    def evaluate(self, x):
        start = time.perf_counter()
        residual, data = self.assembler.evaluate(x)
        self.data = data[self.entries]
        self.seconds["assemble"] += time.perf_counter() - start
        return residual[self.local_rows]

    def moved(self, x, step, length):
        self._whole.array[:] = step
        self._scatter.scatter(self._whole, self._part)
        return super().moved(x, self._part.array, length)

    def norm(self, values):
        from mpi4py import MPI

        local = float(np.abs(values).max(initial=0.0))
        return self.comm.allreduce(local if np.isfinite(local) else np.inf, op=MPI.MAX)

    def worst(self, residual):
        padded = np.zeros(len(self.assembler.pattern.rows))
        padded[self.local_rows] = residual
        local = self.assembler.mesh, super().worst(padded)[0]
        size = float(np.abs(residual).max(initial=0.0))
        found = self.comm.allgather((size if np.isfinite(size) else np.inf, local[1] + self.first))
        element = max(found)[1]
        return element, self.mesh.nodes[element]

    def gather(self, x):
        """All dofs, on every rank, from each rank's local ones."""
        c = self.plan.columns
        step = c.step
        start, stop = self.slabs[self.comm.rank]
        shift = self.first * step
        own = x[(c.n_node + start * step if start else 0) - shift:c.n_node + stop * step - shift]
        counts = self.comm.allgather(len(own))
        whole = np.empty(sum(counts))
        self.comm.Allgatherv(np.ascontiguousarray(own), (whole, counts))
        return whole
