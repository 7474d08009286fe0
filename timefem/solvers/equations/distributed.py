"""The equations of elements over MPI ranks: contiguous slabs of elements, rows and columns in time order; and of very
many elements, whose tangent is evaluated in groups and never there as a whole."""

import time
from functools import cache
from types import SimpleNamespace

import numpy as np

from ...assembly import ChainPattern
from ...errors import InputError
from ...parallel import agree
from ...records import frozen
from ...validate import peak_memory
from ..linear import linear_options
from ..linear.petsc_matrix import petsc
from ..linear.time_chain.condensed_slabs import Group, GroupedLU, GroupLU, Groups
from ..linear.time_chain.lu import SlabLU
from ..linear.time_chain.solver import WIDE, TimeChain
from .elements import ElementEquations, JoinedPattern

EQUAL_WORK = 1.0, 1.0, 1.0


def slab_ends(n_elements, n_ranks, work=EQUAL_WORK):
    """Where the slabs of the ranks start, and the end: of equal work, by that of an element of the first slab, of those
    in between and of the last one."""
    share = np.full(n_ranks, 1 / work[1])
    share[-1] = 1 / work[2]
    share[0] = 1 / work[0]
    ends = np.floor(n_elements * np.cumsum(share) / share.sum() + 1e-9).astype(int)
    ends = np.maximum(ends, np.arange(1, n_ranks + 1))  # an element each, at least
    ends = np.minimum(ends, n_elements - n_ranks + np.arange(1, n_ranks + 1))
    return [0, *ends.tolist()]


class DistributedEquations(ElementEquations):
    """`ElementEquations` over the ranks of a communicator.

    Each rank owns the columns of its slab of elements and as many rows. Where elements of a neighbour contribute to
    those rows, it evaluates them too: one element at each end of the slab. Nothing here but the nodes of the mesh grows
    with the number of elements of other ranks. Each rank keeps, as `x`, the dofs of the elements that it evaluates,
    and the unknowns of the blocks at the ends of the whole mesh that these reach.

    Parameters
    ----------
    plan, mesh, scaling, ends
        As in `ElementEquations`; the mesh is the whole one.
    linear : LinearOptions or str, optional
        A linear solver that shares a matrix among ranks; default: PETSc.
    comm : mpi4py communicator
    """

    def __init__(self, plan, mesh, scaling, ends=None, linear="petsc", *, comm):
        if comm.size > mesh.n_elements:
            raise InputError(f"{comm.size} ranks cannot share {mesh.n_elements} elements: use fewer ranks or more "
                             "elements")
        self.comm, self._error = comm, None
        super().__init__(plan, mesh, scaling, ends, linear)

    def _share(self, ends, linear):
        """Number the columns and rows of this rank; the ends that its elements reach."""
        if not linear.distributed:
            raise InputError(f"backend {linear.name!r} does not share a matrix among ranks: use backend='petsc'")
        ends_here, (start, end) = super()._share(ends, linear), ends.blocks
        n, c, r, rank = self.mesh.n_elements, self.plan.columns, self.plan.rows, self.comm.rank
        # numbers of columns and rows before those of the elements
        n_columns, n_rows = start.n_unknowns + int(ends.free[0].sum()), start.n_rows + int(ends.kept[0].sum())
        total = n_columns + n * c.step - int(c.n_node - ends.free[1].sum()) + end.n_unknowns
        slabs = slab_ends(n, self.comm.size, slab_work(self.plan, ends) if linear.by_slabs else EQUAL_WORK)
        self.slab = slabs[rank], slabs[rank + 1]
        # numbers of unknowns where slabs meet; rows are shared out alike
        bounds = [c.step * end + n_columns if end else 0 for end in slabs[:-1]] + [total]
        self.own = bounds[rank], bounds[rank + 1]
        # the elements that contribute to rows own[0], ..., own[1] - 1
        self.first = max(0, (self.own[0] - n_rows) // r.step)
        self.last = min(n, (self.own[1] - 1 - n_rows) // r.step + (2 if r.n_node else 1))
        at_start, at_end = self.first == 0, self.last == n
        self._first_column = 0 if at_start else self.first * c.step + n_columns - c.n_node
        first_row = 0 if at_start else self.first * r.step + n_rows
        self.local_rows = slice(self.own[0] - first_row, self.own[1] - first_row)
        elements = np.arange(self.slab[0], self.slab[1] + 1)
        self._starts = [np.append([0] if rank == 0 else [], first + step * elements).astype(np.int64)
                        for first, step in ((n_columns, c.step), (n_rows, r.step))]
        if self.slab[1] == n:
            for starts in self._starts:
                starts[-1] = total
        return ends_here.inside(self.plan, at_start, at_end)

    def _surroundings(self, mesh):
        before, after = min(self.first, 1), min(mesh.n_elements - self.last, 1)
        return mesh.part(self.first - before, self.last + after), before, after

    def _make_linear(self, linear):
        PETSc = petsc()
        pattern, first_column = self.pattern, self._first_column
        indptr = pattern.indptr[self.local_rows.start:self.local_rows.stop + 1]
        self.entries = slice(int(indptr[0]), int(indptr[-1]))
        owned = SimpleNamespace(indptr=indptr - indptr[0],
                                indices=pattern.indices[self.entries].astype(PETSc.IntType) + first_column,
                                column_starts=self._starts[0], row_starts=self._starts[1],
                                n_node=(self.plan.columns.n_node, self.plan.rows.n_node),
                                multipliers=self._own_multipliers)
        self._whole = PETSc.Vec().createMPI((self.own[1] - self.own[0], None), comm=PETSc.Comm(self.comm))
        self._part = PETSc.Vec().createSeq(pattern.n_columns)
        needed = PETSc.IS().createStride(pattern.n_columns, first_column, 1, comm=PETSc.COMM_SELF)
        self._scatter = PETSc.Scatter().create(self._whole, needed, self._part, None)
        self._own_columns = slice(self.own[0] - first_column, self.own[1] - first_column)
        return linear.make(owned, self.comm)

    def _own_multipliers(self):
        columns, rows = self.pattern.multipliers()
        return columns[self._own_columns], rows[self.local_rows]

    @property
    def where(self):
        """This rank's share, in words."""
        start, stop = self.slab
        nodes = self.mesh.nodes
        return (f"elements {self.first_element + start} to {self.first_element + stop - 1}, "
                f"t = {nodes[start]:g} to {nodes[stop]:g}")

    @property
    def per_rank(self):
        own = {"elements": self.slab[1] - self.slab[0], **self.linear.facts, "memory": peak_memory()}
        every = self.comm.allgather(own)
        return {name: [facts[name] for facts in every] for name in own}

    @property
    def n_unknowns(self):
        return self.comm.allreduce(self.own[1] - self.own[0])

    def take(self, x):
        first, dofs, last = np.split(x, [self.n_before, len(x) - self.n_after])
        step = self.plan.columns.step
        dofs = dofs[self.first * step:self.last * step + self.plan.columns.n_node]
        a, b = (block.n_unknowns for block in self.blocks)
        return np.concatenate([first[:a], dofs, last[:b]])

    def share(self, x):
        (first, dofs, last), columns = self.split(x), self.assembler.pattern.column_index
        self._whole.array[:] = np.concatenate([first, dofs[columns], last])[self._own_columns]
        self._scatter.scatter(self._whole, self._part)
        part, n = self._part.array, len(self._part.array) - len(last)
        first[:], dofs[columns], last[:] = part[:len(first)], part[len(first):n], part[n:]

    def gather(self, x, root=None):
        first, dofs, last = self.split(x)
        pieces = (first if self.comm.rank == 0 else first[:0],
                  self.own_part(dofs)[self.plan.columns.n_node if self.slab[0] else 0:],
                  last if self.comm.rank == self.comm.size - 1 else last[:0])
        own = np.concatenate(pieces)
        counts = self.comm.allgather(len(own))
        whole = np.empty(sum(counts)) if root is None or root == self.comm.rank else None
        if root is None:
            self.comm.Allgatherv(own, (whole, counts))
        else:
            self.comm.Gatherv(own, (whole, counts) if root == self.comm.rank else None, root)
        return whole

    def last_element(self, dofs):
        return self.comm.bcast(super().last_element(self.own_part(dofs)), self.comm.size - 1)

    def evaluate(self, x):
        """As in `ElementEquations`; an error of this rank is kept until `norm`, where the ranks meet."""
        start = time.perf_counter()
        try:
            residual, data = self._evaluate(x)
        except Exception as error:
            self._error = error
            return np.full(self.own[1] - self.own[0], np.nan)
        self.data, self.x = data[self.entries], x
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

    def solve_whole(self, b, transposed=False):
        error = part = None
        try:
            part, _ = self.linear.solve_checked(b[self.own[0]:self.own[1]], transposed)
        except Exception as failure:
            error = failure
        agree(self.comm, error, self.where)
        x, counts = np.empty(len(b)), self.comm.allgather(len(part))
        self.comm.Allgatherv(part, (x, counts))
        return x

    def factor(self):
        error = None
        try:
            super().factor()
        except Exception as failure:
            error = failure
        agree(self.comm, error, self.where)

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
        dofs = None if x is None else self.split(x)[1]
        element, size = self._worst(residual[rows], dofs, first + rows.start - before)
        found = self.comm.allgather((size, -element))  # of infinite ones the first
        element = -max(found)[1]
        slabs = [[self.first_element + end for end in slab] for slab in self.comm.allgather(self.slab)]
        time, element = self.mesh.nodes[element], self.first_element + element
        rank, (start, stop) = next((r, s) for r, s in enumerate(slabs) if element < s[1])
        return {"element": element, "time": time, "rank": rank, "slab": [start, stop - 1]}


# ---- how much work the elements of a slab are that is eliminated on its own, so that ranks get slabs of equal work

SAMPLE = 50  # elements, so that the ends do not matter
# Of an element, besides the multiplications that are estimated, in those by square of its unknowns: assembly, search
# for pivots, solves, products. Fitted to a free body by mG(1) and BG(1), where it foretells first, inner and last
# slabs to 10 percent
OTHER_WORK = 120


def slab_work(plan, ends):
    """Work per element of the first slab, those in between and the last one.

    They differ by what stays to the end in the front, and by the direction in which they can be eliminated.

    Parameters
    ----------
    plan : ElementPlan
    ends : Ends
    """
    node, none = (plan.columns.n_node, plan.rows.n_node), (0, 0)
    every, tests = np.ones(node[0], bool), np.ones(node[1], bool)
    kinds = ((ends.free[0], every), (ends.kept[0], tests), none, node), ((every, every), (tests, tests), node, node), \
        ((every, ends.free[1]), (tests, ends.kept[1]), node, none)
    return tuple(_multiplications(plan, *kind) / SAMPLE + OTHER_WORK * plan.columns.step**2 for kind in kinds)


def _multiplications(plan, free, kept, left, right):
    pattern = ChainPattern(plan, SAMPLE, free, kept)
    starts = (np.delete(s, 1) for s in (pattern.column_starts, pattern.row_starts))  # the first block has its node, too
    return SlabLU(pattern.indptr, pattern.indices, *starts, left, right).work


# ---- the equations of elements, serial or distributed

def make_equations(plan, mesh, scaling, ends=None, linear=None, comm=None):
    """`ElementEquations`, shared among the ranks of `comm` where there is an element for each."""
    if comm is None or comm.size > mesh.n_elements:
        own = GroupedEquations if worth_groups(plan, mesh, ends, linear_options(linear)) else ElementEquations
        return own(plan, mesh, scaling, ends, linear)
    return DistributedEquations(plan, mesh, scaling, ends, linear, comm=comm)


@frozen
class Limits:
    """From where on elements are taken in groups."""

    entries: int = 10_000_000  # numbers of the tangent; fewer fit, with their factors, in the memory of any machine
    elements: int = 512  # of a group: fewer take longer in Python, more leave the caches


LIMITS = Limits()


def worth_groups(plan, mesh, ends, linear):
    """Whether elements are to be taken in groups: where they are many, with rows of their own, and narrow."""
    return (ends is not None and any(ends.blocks) and not plan.rows.n_node and plan.columns.step < WIDE
            and type(linear) is TimeChain and linear.order != "dissection"
            and mesh.n_elements * len(plan.tangent_rows) >= LIMITS.entries and mesh.n_elements >= 2 * LIMITS.elements)


class GroupedEquations(ElementEquations):
    """`ElementEquations` whose `data` are the unknowns at which the tangent is evaluated when it is needed."""

    def _join(self, ends):
        return _ElementGroups(self, ends)

    def _make_linear(self, linear):
        return GroupedLU(self.pattern)

    def _evaluate(self, x):
        elements = self.assembler.residual(self.split(x)[1])
        (first, _), (last, _) = self._block_values(x)
        return np.concatenate([first, elements, last]), x

    def linear_step(self, residual):
        self.linear.expect(residual)
        return super().linear_step(residual)


class _ElementGroups(Groups):
    """The tangent of `GroupedEquations` in groups of elements, the last one larger than others."""

    def __init__(self, equations, ends):
        self._equations, plan, n = equations, equations.plan, equations.mesh.n_elements
        size = LIMITS.elements
        self._bounds = [*range(0, n - size + 1, size), n]
        every, none = np.ones(plan.columns.n_node, bool), SimpleNamespace(n_unknowns=0, n_rows=0, n_node_rows=0)
        start, end = ends.blocks
        n_carried = start.n_rows - start.n_unknowns - int(ends.free[0].sum()) + plan.columns.n_node
        carried = SimpleNamespace(n_unknowns=0, n_rows=n_carried, n_node_rows=0)
        count = len(self._bounds) - 1

        @cache
        def shape(n_elements, first, last):
            own = SimpleNamespace(free=(ends.free[0] if first else every, ends.free[1] if last else every),
                                  kept=ends.kept, blocks=(start if first else carried, end if last else none))
            elements = ChainPattern(plan, n_elements, own.free, own.kept)
            joined = JoinedPattern(elements, own)
            return elements, joined, GroupLU(joined, 0 if last else plan.columns.n_node)

        self.groups, self._elements, row, column = [], [], 0, 0
        for number in range(count):
            first, last = number == 0, number == count - 1
            elements, joined, lu = shape(self._bounds[number + 1] - self._bounds[number], first, last)
            group = Group(joined, lu, (self._bounds[number], row, column), 0 if first else n_carried,
                          0 if last else plan.columns.n_node)
            self.groups.append(group)
            self._elements.append(elements)
            row, column = group.rows.stop, group.columns.stop - group.n_kept
        self.n_rows, self.n_columns = row, column

    def entries(self, number, tangent, carried):
        equations, elements, joined = self._equations, self._elements[number], self.groups[number].pattern
        data = joined.of_elements
        equations.assembler.add_elements(equations.split(tangent)[1], *self._bounds[number:number + 2], elements, data)
        nothing = np.zeros(0), np.zeros(0)
        at_start, at_end = equations._block_values(tangent) if number in (0, len(self.groups) - 1) else (nothing,) * 2
        if number > 0:
            at_start = np.zeros(len(carried)), carried.ravel()
        if number < len(self.groups) - 1:
            at_end = nothing
        return joined.join(np.zeros(elements.n_rows), data, at_start, at_end)[1]
