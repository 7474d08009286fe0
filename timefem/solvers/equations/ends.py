"""Unknowns and rows at one end of the time span."""

import casadi as ca
import numpy as np


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
        self.n_unknowns, self.n_rows = unknowns.numel(), rows.numel()
        node_rows = ca.SX(0, 1) if node_rows is None else node_rows
        self.n_node_rows = node_rows.numel()
        x, values = ca.vertcat(node, unknowns), ca.densify(ca.vertcat(node_rows, rows))
        self._function = ca.Function("end", [x], [values, ca.densify(ca.jacobian(values, x))])
        self.sizes = np.ones(self.n_unknowns) if sizes is None else np.asarray(sizes, float)
        self.weights = weights

    @classmethod
    def none(cls, n_node):
        """A block that adds nothing."""
        return cls(ca.SX.sym("node", n_node), ca.SX(0, 1), ca.SX(0, 1))

    def __call__(self, x):
        """Rows and their Jacobian at the node's dofs followed by the unknowns: (n,), (n, n_node + n_unknowns)."""
        if not self.n_node_rows and not self.n_rows:
            return np.zeros(0), np.zeros((0, len(x)))
        values, jacobian = self._function(x)
        return np.array(values).ravel(), np.array(jacobian)
