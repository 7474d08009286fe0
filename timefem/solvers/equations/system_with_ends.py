"""A chain of elements with conditions, and unknowns, of its own at each end."""

import time
from types import SimpleNamespace

import numpy as np

from ...assembly import Assembler
from ..linear import linear_options
from .system import ChainSystem


class BoundarySystem(ChainSystem):
    """`ChainSystem` whose ends may be free, with an `EndBlock` at each.

    Its unknowns `x` are those of the start block, all dofs of the chain, and those of the end block.

    Parameters
    ----------
    plan, mesh, scaling, backend, options
        As in `ChainSystem`.
    free, kept : (ndarray of bool, ndarray of bool)
        Dofs and tests of the first and the last node that take part.
    start, end : EndBlock
    """

    def __init__(self, plan, mesh, scaling, free, kept, start, end, backend="chain", options=None):
        self.mesh = mesh
        self.slab, self.first, self.last = (0, mesh.n_elements), 0, mesh.n_elements
        self._set_up(plan, mesh, scaling, free, kept, (start, end))
        p = self.pattern
        if p.n_rows != p.n_columns:
            raise ValueError(f"{p.n_rows} equations for {p.n_columns} unknowns")
        self.linear = linear_options(backend, options=options).make(p)
        self.seconds, self.backward_error, self.checked = {"assemble": 0.0, "solve": 0.0}, 0.0, True

    def _set_up(self, plan, mesh, scaling, free, kept, blocks, before=0, after=0):
        """Elements with their ends, without a linear solver; `before` and `after` as in `Assembler.place`."""
        self.plan, self.free, self.kept, self.blocks, self._weights = plan, free, kept, blocks, None
        self.assembler = Assembler(plan, mesh, free, kept, scaling, before, after)
        self.n_before, self.n_after = (block.n_unknowns for block in blocks)
        self._joined = any(block.n_rows or block.n_unknowns or block.n_node_rows for block in blocks)
        if self._joined:
            self._join(self.assembler.pattern)
        else:
            self.pattern = self.assembler.pattern

    # ---- the pattern: rows of the start block, rows of the chain, rows of the end block; columns alike

    def _join(self, p):
        start, end = self.blocks
        shift = start.n_unknowns
        # rows of the first and of the last node that get entries of the blocks, with all columns of the block
        head, tail = (int(k.sum()) if b.n_node_rows else 0 for k, b in zip(self.kept, self.blocks, strict=True))
        first = np.arange(shift + int(self.free[0].sum()))
        n = shift + p.n_columns + end.n_unknowns
        last = np.arange(n - end.n_unknowns - int(self.free[1].sum()), n)
        stop = p.n_rows - tail
        lists, self._head, self._tail = [np.tile(first, start.n_rows)], [], []
        lengths = [len(first)] * start.n_rows
        for rows, columns, places in ((range(head), first, self._head), (range(stop, p.n_rows), last, self._tail)):
            for row in rows:
                own = p.indices[p.indptr[row]:p.indptr[row + 1]] + shift
                merged = np.union1d(own, columns)
                places.append((row, merged, np.searchsorted(merged, own), np.searchsorted(merged, columns)))
        lists += [merged for _, merged, _, _ in self._head]
        lengths += [len(merged) for _, merged, _, _ in self._head]
        self._middle = slice(p.indptr[head], p.indptr[stop])
        lists.append(p.indices[self._middle] + shift if shift else p.indices[self._middle])
        lengths = np.concatenate([lengths, np.diff(p.indptr[head:stop + 1]), [len(m) for _, m, _, _ in self._tail],
                                  [len(last)] * end.n_rows]).astype(np.int64)
        lists += [merged for _, merged, _, _ in self._tail] + [np.tile(last, end.n_rows)]
        starts = [s.copy() for s in (p.column_starts, p.row_starts)]
        for s, a, b in zip(starts, (start.n_unknowns, start.n_rows), (end.n_unknowns, end.n_rows), strict=True):
            s[1:] += a
            s[-1] += b
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        self.pattern = SimpleNamespace(
            indptr=indptr.astype(p.indptr.dtype),
            indices=np.concatenate(lists, dtype=p.indices.dtype, casting="same_kind"),
            column_starts=starts[0], row_starts=starts[1], n_columns=n, n_rows=len(lengths))
        # the entries of the chain are assembled where the rows that get no entries of the blocks have them; those of
        # the other rows lie where these rows go, and are read before
        self._entries = np.empty(indptr[-1])
        self._before = int(indptr[start.n_rows + head] - p.indptr[head])
        self.assembler.assemble_into(self._entries[self._before:self._before + p.nnz])

    @property
    def n_unknowns(self):
        return self.pattern.n_columns

    # ---- values

    def split(self, x):
        """Unknowns of the start block, dofs of the chain, unknowns of the end block."""
        a, b = (block.n_unknowns for block in self.blocks)
        return x[:a], x[a:len(x) - b], x[len(x) - b:]

    def _block_values(self, x):
        """Scaled rows, and scaled Jacobian by the free dofs and the unknowns in time order, of both blocks."""
        first, chain, last = self.split(x)
        n, out = self.plan.columns.n_node, []
        a = self.assembler
        ends = ((chain[:n], first, a.column_scale[:n], a.row_scale[:self.plan.rows.n_node]),
                (chain[len(chain) - n:], last, a.column_scale[len(chain) - n:],
                 a.row_scale[len(a.row_scale) - self.plan.rows.n_node:]))
        for i, (block, (node, unknowns, sizes, weights)) in enumerate(zip(self.blocks, ends, strict=True)):
            values, jacobian = block(np.concatenate([node, unknowns]))
            jacobian = jacobian * np.concatenate([sizes, block.sizes])
            columns = np.concatenate([np.flatnonzero(self.free[i]), n + np.arange(block.n_unknowns)])
            if i == 0:  # unknowns of the block come before the node
                columns = np.roll(columns, block.n_unknowns)
            rows = np.flatnonzero(self.kept[i]) if block.n_node_rows else np.zeros(0, int)
            rows = np.concatenate([rows, block.n_node_rows + np.arange(block.n_rows)])
            values, jacobian = values[rows], jacobian[np.ix_(rows, columns)]
            weight = np.ones(len(rows))
            if block.n_node_rows:
                weight[:len(rows) - block.n_rows] = weights[self.kept[i]]
            out.append((values, jacobian, weight))
        if self._weights is None:
            self._weights = [1 / np.maximum(np.abs(j[len(j) - b.n_rows:]).max(axis=1, initial=0.0), 1e-300)
                             if b.weights is None else b.weights for (_, j, _), b in zip(out, self.blocks, strict=True)]
        for (values, jacobian, weight), own, block in zip(out, self._weights, self.blocks, strict=True):
            weight[len(weight) - block.n_rows:] = own
            values *= weight
            jacobian *= weight[:, None]
        return [(v, j) for v, j, _ in out]

    def evaluate(self, x):
        start = time.perf_counter()
        residual, self.data = self._evaluate(x)
        self.seconds["assemble"] += time.perf_counter() - start
        return residual

    def _evaluate(self, x):
        """Residual, and entries of the tangent, which are overwritten by the next call."""
        residual, data = self.assembler.evaluate(self.split(x)[1])
        if not self._joined:
            return residual, data
        p = self.assembler.pattern
        (first, first_jacobian), (last, last_jacobian) = self._block_values(x)
        n_first, n_last = len(self._head), len(self._tail)
        residual[:n_first] += first[:n_first]
        residual[len(residual) - n_last:] += last[:n_last]

        def merged(places, jacobian):
            out = [np.zeros(0)]
            for (row, columns, own, of_block), added in zip(places, jacobian, strict=False):
                values = np.zeros(len(columns))
                values[own] = data[p.indptr[row]:p.indptr[row + 1]]
                values[of_block] += added
                out.append(values)
            return out

        head = np.concatenate([first_jacobian[n_first:].ravel(), *merged(self._head, first_jacobian)])
        tail = np.concatenate([*merged(self._tail, last_jacobian), last_jacobian[n_last:].ravel()])
        self._entries[:len(head)], self._entries[len(self._entries) - len(tail):] = head, tail
        return np.concatenate([first[n_first:], residual, last[n_last:]]), self._entries

    def moved(self, x, step, length):
        first, chain, last = self.split(x.copy())
        a, b = len(first), len(step) - len(last)
        first += length * step[:a] * self.blocks[0].sizes
        last += length * step[b:] * self.blocks[1].sizes
        index = self.assembler.pattern.column_index
        chain[index] += length * step[a:b] * self.assembler.column_scale[index]
        return np.concatenate([first, chain, last])

    def dofs(self, x):
        """The dofs of the chain among all unknowns of the mesh."""
        return x[self.n_before:len(x) - self.n_after]

    def scaled(self, x):
        first, chain, last = self.split(x)
        return np.concatenate([first / self.blocks[0].sizes, super().scaled(chain), last / self.blocks[1].sizes])

    def worst(self, residual, x=None):
        a, b = (block.n_rows for block in self.blocks)
        inner = residual[a:len(residual) - b]
        return super().worst(inner, None if x is None else self.split(x)[1])


