"""What takes part, and what is added, at both ends of the time span."""

from functools import cache

import casadi as ca
import numpy as np

from ...kernels.compile import Buffered
from ...records import frozen

NOTHING = np.zeros(0), np.zeros(0)  # what a block without rows adds


class EndBlock:
    """What an end of the time span adds to the equations: conditions, unknown numbers, forces on the node.

    Parameters
    ----------
    node, unknowns : SX
        Symbols of the dofs of the node, in the order of `ElementPlan.columns`, and of the unknowns of the block.
    rows : SX
        Conditions: expressions that are zero.
    node_rows : SX, optional
        What is added to the rows of the node, in the order of `ElementPlan.rows`; none unless given.
    sizes : array_like, optional
        Sizes of the unknowns, for scaling.
    weights : array_like, optional
        Of the rows; unless given, such that their gradients have size one at first.
    """

    def __init__(self, node, unknowns, rows, node_rows=None, sizes=None, weights=None):
        self.n_unknowns, self.n_rows, self._reduction = unknowns.numel(), rows.numel(), None
        node_rows = ca.SX(0, 1) if node_rows is None else node_rows
        self.n_node_rows = node_rows.numel()
        x, values = ca.vertcat(node, unknowns), ca.densify(ca.vertcat(node_rows, rows))
        self._n_conditions, self._function = rows.numel(), None
        if values.numel():
            self._function = Buffered(ca.Function("end", [x], [values, ca.densify(ca.jacobian(values, x).T)]))
        self.sizes = np.ones(self.n_unknowns) if sizes is None else np.asarray(sizes, float)
        self.weights = weights

    @classmethod
    @cache
    def none(cls, n_node):
        """A block that adds nothing."""
        return cls(ca.SX.sym("node", n_node), ca.SX(0, 1), ca.SX(0, 1))

    def reduced(self, matrix, wanted):
        """The block with combinations `matrix @ (rows - wanted)` instead of its first conditions."""
        other = object.__new__(EndBlock)
        other.__dict__.update(self.__dict__, _reduction=(matrix, wanted),
                              n_rows=self._n_conditions - len(wanted) + len(matrix))
        return other

    @property
    def shape(self):
        """Unknowns, conditions and rows of the node."""
        return self.n_unknowns, self.n_rows, self.n_node_rows

    def __bool__(self):
        return bool(self.n_rows or self.n_unknowns or self.n_node_rows)

    def __call__(self, x):
        """Rows and their Jacobian at the node's dofs followed by the unknowns: (n,), (n, n_node + n_unknowns)."""
        if not self.n_node_rows and not self.n_rows:
            return np.zeros(0), np.zeros((0, len(x)))
        values, jacobian = self._function(x)
        values, jacobian = values.copy(), jacobian.reshape(-1, len(x)).copy()
        if self._reduction is not None:
            matrix, wanted = self._reduction
            k, m = self.n_node_rows, self.n_node_rows + len(wanted)
            values = np.concatenate([values[:k], matrix @ (values[k:m] - wanted), values[m:]])
            jacobian = np.concatenate([jacobian[:k], matrix @ jacobian[k:m], jacobian[m:]])
        return values, jacobian


class ScaledBlock:
    """An `EndBlock` in scaled unknowns, with the dofs and rows of the node that take part.

    Parameters
    ----------
    block : EndBlock
    free, kept : ndarray of bool
        Dofs and tests of the node that take part.
    first : bool
        Whether the unknowns of the block come before the node, as at the start, or after it.
    """

    def __init__(self, block, free, kept, first):
        columns = np.concatenate([np.flatnonzero(free), len(free) + np.arange(block.n_unknowns)])
        self._columns = np.roll(columns, block.n_unknowns) if first else columns  # in time order
        of_node = np.flatnonzero(kept) if block.n_node_rows else np.zeros(0, int)
        self._n_of_node = len(of_node)
        self._rows = np.concatenate([of_node, block.n_node_rows + np.arange(block.n_rows)])
        self.take(block)

    def take(self, block):
        """Another block of the same shape instead of this one, before `rescale`."""
        self._block, self._weights, self._adds = block, block.weights, bool(block)

    def rescale(self, column_scale, row_scale):
        """The scales of dofs and rows of the node are these from now on."""
        self._of_node, self._scales = (column_scale, row_scale), None

    def __call__(self, node, unknowns):
        """Scaled rows, and entries of their scaled Jacobian by free dofs and unknowns in time order, row by row."""
        if not self._adds:
            return NOTHING
        values, jacobian = self._block(np.concatenate([node, unknowns]))
        if self._scales is None:
            column_scale, row_scale = self._of_node
            sizes = np.concatenate([column_scale, self._block.sizes])[self._columns]
            if self._weights is None:
                gradients = np.abs(jacobian[self._rows[self._n_of_node:, None], self._columns] * sizes)
                self._weights = 1 / np.maximum(gradients.max(axis=1, initial=0.0), 1e-300)
            weights = np.concatenate([row_scale[self._rows[:self._n_of_node]], self._weights])
            places = self._rows[:, None] * jacobian.shape[1] + self._columns
            self._scales = weights, places.ravel(), (weights[:, None] * sizes).ravel()
        of_rows, places, of_entries = self._scales
        return values.take(self._rows) * of_rows, jacobian.take(places) * of_entries


@frozen(eq=False)
class Ends:
    """The start and the end of a sequence of elements.

    Attributes
    ----------
    free, kept : (ndarray of bool, ndarray of bool)
        Dofs and tests of the first and of the last node that take part.
    blocks : (EndBlock, EndBlock)
        What both ends add.
    """

    free: tuple
    kept: tuple
    blocks: tuple

    @classmethod
    def initial_value(cls, plan):
        """The first node is prescribed (z, and with continuous multipliers their consistent value).

        As many tests are left out: those of the first node, or, with `drop="end"`, of the last; mG(k) has no tests at
        nodes.
        """
        free = np.zeros(plan.columns.n_node, bool), np.ones(plan.columns.n_node, bool)
        kept = np.zeros(plan.rows.n_node, bool), np.ones(plan.rows.n_node, bool)
        none = EndBlock.none(plan.columns.n_node)
        return cls(free, kept[::-1] if plan.element.drop == "end" else kept, (none, none))

    @classmethod
    def unrestricted(cls, plan, blocks):
        """All dofs and tests take part."""
        return cls((np.ones(plan.columns.n_node, bool),) * 2, (np.ones(plan.rows.n_node, bool),) * 2, blocks)

    def inside(self, plan, at_start, at_end):
        """The ends of a part that reaches the start, or the end, or none: elements of neighbours go on there."""
        columns, rows, none = np.ones(plan.columns.n_node, bool), np.zeros(plan.rows.n_node, bool), EndBlock.none(
            plan.columns.n_node)
        reached = at_start, at_end
        free, kept, blocks = (tuple(own if at else other for own, at in zip(pair, reached, strict=True))
                              for pair, other in ((self.free, columns), (self.kept, rows), (self.blocks, none)))
        return Ends(free, kept, blocks)
