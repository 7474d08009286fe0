"""The equations of a sequence of time elements, with conditions at both ends, on one process."""

import time
from collections import defaultdict

import numpy as np

from ...assembly import Assembler
from ..linear import linear_options
from .ends import Ends, ScaledBlock
from .nonlinear import NonlinearEquations, warn_if_ill_conditioned


class JoinedPattern:
    """CSR pattern: rows of the start block, of the elements, of the end block; columns alike.

    Parameters
    ----------
    pattern : ChainPattern
        Of the elements.
    ends : Ends

    Attributes
    ----------
    indptr, indices, column_starts, row_starts, n_columns, n_rows
        As of `ChainPattern`; the first block includes the unknowns and rows of the start block, the last one those of
        the end block.
    entries : ndarray
        Values, of which those of the elements are assembled in place: see `of_elements`.
    """

    def __init__(self, pattern, ends):
        self._elements, p, (start, end) = pattern, pattern, ends.blocks
        shift = start.n_unknowns
        # rows of the first and of the last node that get entries of the blocks, with all columns of the block
        head, tail = (int(k.sum()) if b.n_node_rows else 0 for k, b in zip(ends.kept, ends.blocks, strict=True))
        first = np.arange(shift + int(ends.free[0].sum()))
        n = shift + p.n_columns + end.n_unknowns
        last = np.arange(n - end.n_unknowns - int(ends.free[1].sum()), n)
        stop = p.n_rows - tail
        self._head, self._tail = [], []
        for rows, columns, places in ((range(head), first, self._head), (range(stop, p.n_rows), last, self._tail)):
            for row in rows:
                own = p.indices_of_row(row) + shift
                merged = np.union1d(own, columns)
                places.append((row, merged, np.searchsorted(merged, own), np.searchsorted(merged, columns)))
        before = np.cumsum([0] + [len(first)] * start.n_rows + [len(merged) for _, merged, _, _ in self._head])
        behind = np.cumsum([0] + [len(merged) for _, merged, _, _ in self._tail] + [len(last)] * end.n_rows)
        self.n_columns, self.n_rows = n, start.n_rows + p.n_rows + end.n_rows
        self._before = int(before[-1] - p.indptr[head])
        at_end = self._before + int(p.indptr[stop])
        self.indptr = np.empty(self.n_rows + 1, p.indptr.dtype)
        self.indptr[:len(before)], self.indptr[self.n_rows + 1 - len(behind):] = before, at_end + behind
        np.add(p.indptr[head:stop], self._before, out=self.indptr[len(before) - 1:self.n_rows + 1 - len(behind)])
        self.indices, self.entries = (np.empty(at_end + behind[-1], kind) for kind in (p.indptr.dtype, float))
        p.fill_indices(self._part_of_elements(self.indices), shift)
        self.indices[:before[-1]] = np.concatenate([np.tile(first, start.n_rows), *(m for _, m, _, _ in self._head)])
        self.indices[at_end:] = np.concatenate([*(m for _, m, _, _ in self._tail), np.tile(last, end.n_rows)])
        self.column_starts, self.row_starts = (s.copy() for s in (p.column_starts, p.row_starts))
        for s, a, b in ((self.column_starts, start.n_unknowns, end.n_unknowns),
                        (self.row_starts, start.n_rows, end.n_rows)):
            s[1:] += a
            s[-1] += b
        self._added = (start.n_unknowns, end.n_unknowns), (start.n_rows, end.n_rows)
        at_start, at_end = np.cumsum([0, start.n_rows, head]), self.n_rows - np.cumsum([0, end.n_rows, tail])
        self._places = [self._merge(places, *self.indptr[rows].tolist())
                        for places, rows in ((self._head, at_start), (self._tail, at_end))]

    def _merge(self, places, outer, between, inner):
        """Of the rows of a node and of a block, which lie from `outer` to `between` and from there to `inner`, or the
        other way round: all of them, entries of the elements, their places, and those of the entries of the block."""
        first, p, none = min(between, inner), self._elements, [np.zeros(0, int)]
        ends = np.cumsum([first, *(len(merged) for _, merged, _, _ in places)])
        of_block = [start + there for start, (_, _, _, there) in zip(ends, places, strict=False)]
        rows = np.arange(min(outer, between), max(outer, between))
        return (slice(min(outer, inner), max(outer, inner)),
                np.concatenate(none + [np.arange(p.indptr[row], p.indptr[row + 1]) for row, _, _, _ in places]),
                np.concatenate(none + [start + own for start, (_, _, own, _) in zip(ends, places, strict=False)]),
                np.concatenate([*none, *of_block, rows]))

    def multipliers(self):
        """As of `ChainPattern`; the unknowns and rows of the blocks are of the motion."""
        return tuple(np.pad(own, added) for own, added in zip(self._elements.multipliers(), self._added, strict=True))

    @property
    def of_elements(self):
        """Where the entries of the elements are assembled, a view: there the rows that get none of the blocks have
        them. Those of the other rows lie where these rows go, and are read before."""
        return self._part_of_elements(self.entries)

    def _part_of_elements(self, values):
        return values[self._before:self._before + self._elements.nnz]

    def places_of_elements(self, places):
        """Where entries of the elements are among those of all rows."""
        found = places + self._before
        for _, own, at, _ in self._places:
            if len(own):
                k = np.minimum(np.searchsorted(own, places), len(own) - 1)
                found = np.where(own[k] == places, at[k], found)
        return found

    @property
    def places_of_blocks(self):
        """Where the entries of both blocks are."""
        return [of_block for *_, of_block in self._places]

    def join_rows(self, residual, first, last):
        """Residual of all rows, of those of the elements and of both blocks."""
        n_first, n_last = len(self._head), len(self._tail)
        residual[:n_first] += first[:n_first]
        residual[len(residual) - n_last:] += last[:n_last]
        return np.concatenate([first[n_first:], residual, last[n_last:]])

    def join(self, residual, data, first, last):
        """Residual and entries of all rows, of those of the elements and of rows and entries of both blocks."""
        adding = [(places, added) for places, (_, added) in zip(self._places, (first, last), strict=True) if len(added)]
        own = [data[entries] for (_, entries, _, _), _ in adding]
        for ((rows, _, at, of_block), added), values in zip(adding, own, strict=True):
            self.entries[rows] = 0.0
            self.entries[at] = values
            self.entries[of_block] += added
        return self.join_rows(residual, first[0], last[0]), self.entries


REFINE_ABOVE = 1e-12  # backward error: the next step of Newton's method refines what is below, at no further cost


class ElementEquations(NonlinearEquations):
    """Residual, tangent and linear solves of elements in time order.

    Its unknowns `x` are those of the start block, all dofs of the elements in time order, prescribed ones included, and
    those of the end block. `place` moves it along a longer mesh.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    scaling : Scaling
    ends : Ends, optional
        Default: those of an initial-value problem.
    linear : LinearOptions or str, optional
        The linear solver, or its shorthand; default: the time-chain LU.

    Attributes
    ----------
    slab : (int, int)
        The elements start, ..., stop - 1 of the mesh that this process answers for: here all.
    first, last : int
        The elements first, ..., last - 1 that it evaluates, and whose dofs it keeps in `x`: here all.
    first_element : int
        Place of the mesh in a longer one.
    pattern : object
        Of the tangent, as `ChainPattern`.
    linear : LinearSolver
        Of which `linear_step` makes use.
    data : ndarray
        Entries of the tangent of the last `evaluate`.
    seconds : dict
        Time spent in "assemble" and "solve".
    backward_error : float
        Largest backward error of a linear solve so far.
    has_factors : bool
        Whether there was a linear step since the equations were made, or renewed: its factors are at hand.
    condition_known : bool
        Whether the first step of Newton's method looks at the condition of the tangent no more.
    positive : list of int
        Places of dofs of the first node that are positive, such as a duration: elsewhere the residual is infinite.
    """

    x, first_element = None, 0
    positive: list[int] = []  # noqa: RUF012
    _own_columns = slice(None)  # of those of the pattern

    def __init__(self, plan, mesh, scaling, ends=None, linear=None):
        super().__init__()
        self.plan, self.mesh, linear = plan, mesh, linear_options(linear)
        ends = self._share(ends or Ends.initial_value(plan), linear)
        part, before, after = self._surroundings(mesh)
        self.free, self.kept, self.blocks = ends.free, ends.kept, ends.blocks
        self._scaled_blocks = []
        self.assembler = Assembler(plan, part, ends.free, ends.kept, scaling, before, after)
        self.pattern, self._joined = self.assembler.pattern, any(ends.blocks)
        if self._joined:
            self._scaled_blocks = [ScaledBlock(*end) for end in zip(ends.blocks, ends.free, ends.kept, (True, False),
                                                                   strict=True)]
            self.pattern = self._join(ends)
            self._rescale()
        self.linear = self._make_linear(linear)
        self.forget()
        self.condition_known = (self._joined or self.comm is not None or not self.linear.direct
                                or bool(self.linear.no_transpose))

    def _join(self, ends):
        """The pattern of the equations of elements and of the blocks."""
        pattern = JoinedPattern(self.assembler.pattern, ends)
        self.assembler.assemble_into(pattern.of_elements)
        return pattern

    # ---- the share of this process

    def _share(self, ends, linear):
        """The ends that this process has, of those of the whole mesh."""
        self.slab, self.first, self.last = (0, self.mesh.n_elements), 0, self.mesh.n_elements
        self.n_before, self.n_after = (block.n_unknowns for block in ends.blocks)
        return ends

    def _surroundings(self, mesh):
        """The mesh of the evaluated elements and their neighbours, and how many neighbours there are at both ends."""
        return mesh, 0, 0

    def _make_linear(self, linear):
        if self.pattern.n_rows != self.pattern.n_columns:
            raise ValueError(f"{self.pattern.n_rows} equations for {self.pattern.n_columns} unknowns")
        return linear.make(self.pattern)

    def renew(self, mesh, scaling, ends=None):
        """Begin another solve, with other numbers in the plan; False where the ends have another structure.

        Pattern, memory and symbolic work of the linear solver are kept.
        """
        ends = ends or Ends.initial_value(self.plan)
        same = all(a is b or np.array_equal(a, b) for a, b in zip((*self.free, *self.kept), (*ends.free, *ends.kept),
                                                                  strict=True))
        if self.comm is not None or not same or any(a.shape != b.shape for a, b in zip(self.blocks, ends.blocks,
                                                                                    strict=True)):
            return False
        self.blocks, self.assembler.scaling = ends.blocks, scaling
        for scaled, block in zip(self._scaled_blocks, ends.blocks, strict=False):  # none where no block adds anything
            scaled.take(block)
        self.place(mesh)
        self.forget()
        return True

    def forget(self):
        """Begin to count time and errors anew."""
        self.seconds, self.backward_error = defaultdict(float, assemble=0.0, solve=0.0), 0.0
        self.has_factors = False

    @property
    def where(self):
        """This rank's share, in words, for messages."""
        return ""

    @property
    def per_rank(self):
        """Numbers of all ranks, one after the other, by name; on one process what the linear solver tells."""
        return {name: [value] for name, value in self.linear.facts.items()}

    @property
    def n_unknowns(self):
        return self.pattern.n_columns

    @property
    def n_unknowns_of_all(self):
        """Of all ranks."""
        return self.n_unknowns

    def place(self, mesh, first_element=0):
        """Use another mesh with the same number of elements; `first_element` is its place in a longer one."""
        self.mesh, self.first_element = mesh, first_element
        self.assembler.place(*self._surroundings(mesh))
        self._rescale()

    def _rescale(self):
        a, n, m = self.assembler, self.plan.columns.n_node, self.plan.rows.n_node
        of_nodes = (a.column_scale[:n], a.row_scale[:m]), (a.column_scale[-n:], a.row_scale[len(a.row_scale) - m:])
        for block, scales in zip(self._scaled_blocks, of_nodes, strict=False):  # none where no block adds anything
            block.rescale(*scales)

    # ---- unknowns

    def split(self, x):
        """Unknowns of the start block, dofs of the elements, unknowns of the end block, views."""
        a, b = self.blocks[0].n_unknowns, self.blocks[1].n_unknowns
        return x[:a], x[a:len(x) - b], x[len(x) - b:]

    def dofs(self, x):
        """The dofs of the elements among all unknowns of the mesh."""
        return x[self.n_before:len(x) - self.n_after]

    def share(self, x):
        """Fill in, in place, the dofs of elements of other ranks that this rank keeps."""

    def own_part(self, dofs):
        """The dofs of the elements of the slab, a view, of those of all elements kept."""
        step = self.plan.columns.step
        start, stop = ((e - self.first) * step for e in self.slab)
        return dofs[start:stop + self.plan.columns.n_node]

    def end(self, dofs):
        """The dofs of the last node of the mesh, on every rank."""
        return self.last_element(dofs)[self.plan.columns.step:]

    def last_element(self, dofs):
        """The dofs of the last element of the mesh, on every rank."""
        return dofs[len(dofs) - self.plan.columns.n_local:].copy()

    @property
    def sizes(self):
        """Sizes of the unknowns that take part, by which they are scaled."""
        a = self.assembler
        return np.concatenate([self.blocks[0].sizes, a.column_scale[a.pattern.column_index], self.blocks[1].sizes])

    @property
    def emphasis(self):
        return self._of_unknowns(self.assembler.emphasis, 1.0)

    @property
    def state_unknowns(self):
        return self._of_unknowns(self.assembler.state, 0.0)

    def _of_unknowns(self, own, others):
        if own is None:
            return None
        a, b = (block.sizes for block in self.blocks)
        factors = np.concatenate([np.full(len(a), others), own[self.assembler.pattern.column_index],
                                  np.full(len(b), others)])
        return factors[self._own_columns]

    def moved(self, x, step, length):
        moved = x.copy()
        first, dofs, last = self.split(moved)
        a, b = len(first), len(step) - len(last)
        first += length * step[:a] * self.blocks[0].sizes
        last += length * step[b:] * self.blocks[1].sizes
        index = self.assembler.pattern.column_index
        change = length * step[a:b]
        change *= self.assembler.column_scale[index]
        dofs[index] += change
        return moved

    def scaled(self, x):
        (first, dofs, last), index = self.split(x), self.assembler.pattern.column_index
        dofs = dofs[index] / self.assembler.column_scale[index]
        return np.concatenate([first / self.blocks[0].sizes, dofs, last / self.blocks[1].sizes]) if self._joined \
            else dofs

    # ---- equations

    def evaluate(self, x):
        start = time.perf_counter()
        residual, self.data = self._evaluate(x)
        self.x = x
        self.seconds["assemble"] += time.perf_counter() - start
        return residual

    def _evaluate(self, x):
        """Residual, and entries of the tangent, which are overwritten by the next call."""
        dofs = self.split(x)[1]
        residual, data = self.assembler.evaluate(dofs)
        if self._joined:
            residual, data = self.pattern.join(residual, data, *self._block_values(x))
        return self._possible(residual, dofs), data

    def evaluate_into(self, x, target):
        """Residual; entries of the tangent go to a `target`: those `of_elements`, from `Assembler.entries_at`, to its
        `values`, the others by `add_blocks`."""
        start, dofs = time.perf_counter(), self.split(x)[1]
        residual = self.assembler.evaluate_into(dofs, target.of_elements, target.values)
        if self._joined:
            (at_start, first), (at_end, last) = self._block_values(x)
            residual = self.pattern.join_rows(residual, at_start, at_end)
            target.add_blocks(first, last)
        self.x = x
        self.seconds["assemble"] += time.perf_counter() - start
        return self._possible(residual, dofs)

    def places_of_elements(self, places):
        """Where entries of the elements are among those of the tangent."""
        return self.pattern.places_of_elements(places) if self._joined else places

    @property
    def places_of_blocks(self):
        """Where the entries of the blocks at both ends are among those of the tangent."""
        return self.pattern.places_of_blocks if self._joined else []

    def _possible(self, residual, dofs):
        return np.full_like(residual, np.inf) if (dofs[self.positive] <= 0).any() else residual

    def _block_values(self, x):
        """Scaled rows, and scaled Jacobian by the free dofs and the unknowns in time order, of both blocks."""
        (first, dofs, last), n = self.split(x), self.plan.columns.n_node
        at_start, at_end = self._scaled_blocks
        return at_start(dofs[:n], first), at_end(dofs[-n:], last)

    def linear_step(self, residual):
        start = time.perf_counter()
        self.linear.factor(self.data)
        self.has_factors = True
        step, error = self.linear.solve_checked(residual, refine_above=REFINE_ABOVE)
        self.backward_error = max(self.backward_error, error)
        self.seconds["solve"] += time.perf_counter() - start
        if not self.condition_known:  # once: it takes a few more solves
            self.condition_known = True
            warn_if_ill_conditioned(self, self.x)
        return step

    def factor(self):
        """Factor the tangent of the last `evaluate`, for `solve` and `linear`; raises SolveError."""
        self._timed(self.linear.factor, self.data)

    def solve(self, residual):
        """As `linear_step`, on the factors that are there, unchecked."""
        return self._timed(self.linear.solve, residual)

    def multiply(self, step):
        """Product of the tangent that was factored last with a step."""
        return self._timed(self.linear.multiply, step)

    def _timed(self, work, *arguments):
        """What linear algebra gives, with its time counted."""
        start = time.perf_counter()
        found = work(*arguments)
        self.seconds["solve"] += time.perf_counter() - start
        return found

    def solve_whole(self, b, transposed=False):
        """Solution of `A x = b` or `A^T x = b` on the factors that are there, checked, refined.

        Vectors are those of all unknowns or rows, scaled, and on several ranks every rank has them.

        Raises
        ------
        SolveError
            When the answer is not a solution.
        InputError
            For a linear solver without transposed solves; names it.
        """
        return self.linear.solve_checked(b, transposed)[0]

    # ---- places

    @property
    def start(self):
        return {"element": self.first_element, "time": self.mesh.nodes[0]}

    def worst(self, residual, x=None):
        a, b = (block.n_rows for block in self.blocks)
        element, _ = self._worst(residual[a:len(residual) - b], None if x is None else self.split(x)[1])
        return {"element": self.first_element + element, "time": self.mesh.nodes[element]}

    def _worst(self, residual, dofs, first_row=0):
        """The element, counted in the mesh, and how bad it is; `residual` starts with row `first_row`."""
        element = None if dofs is None else self.assembler.first_not_finite(dofs)
        if element is not None:
            return self.first + element, np.inf
        size = np.where(np.isfinite(residual), np.abs(residual), np.inf)
        worst = int(np.argmax(size))
        index, rows = self.assembler.pattern.row_index, self.plan.rows
        row = index.start + first_row + worst if isinstance(index, slice) else index[first_row + worst]
        return self.first + int(np.clip((row - rows.n_node) // rows.step, 0, self.last - self.first - 1)), size[worst]
