"""The mesh of time elements."""

import numpy as np

from .. import validate
from ..errors import InputError


class TimeMesh:
    """Ends of the time elements, strictly increasing.

    Parameters
    ----------
    nodes : array_like, shape (n_elements + 1,)
        Times [s].

    Attributes
    ----------
    nodes, lengths : ndarray, shapes (n_elements + 1,), (n_elements,)
    n_elements : int
    """

    def __init__(self, nodes):
        self.nodes = validate.array("mesh nodes", nodes, (None,))
        self.lengths = np.diff(self.nodes)
        self.n_elements = len(self.lengths)
        if self.n_elements < 1:
            raise InputError("a time mesh needs at least two nodes")
        if not np.all(self.lengths > 0):
            worst = int(np.argmin(self.lengths))
            raise InputError(f"the nodes of a time mesh must increase: node {worst + 1} at {self.nodes[worst + 1]:g} "
                             f"does not come after {self.nodes[worst]:g}")

    @classmethod
    def uniform(cls, t_span, n_elements):
        """Elements of equal length over `t_span = (start, end)`."""
        n = validate.integer("n_elements", n_elements, minimum=1)
        return cls(np.linspace(*t_span, n + 1))

    def part(self, start, stop):
        """The mesh of elements start, ..., stop - 1."""
        return TimeMesh(self.nodes[start:stop + 1])

    def points(self, basis):
        """Times of the nodes of a basis in all elements, shape (n_elements, n_shapes)."""
        return self.nodes[:-1, None] + self.lengths[:, None] * basis.points

    def locate(self, t):
        """Element index and reference coordinate of times inside the mesh, arrays like `t`.

        Raises
        ------
        InputError
            When a time lies outside.
        """
        t = np.asarray(t, float)
        slack = 1e-12 * max(abs(self.nodes[0]), abs(self.nodes[-1]))
        if not np.all((t >= self.nodes[0] - slack) & (t <= self.nodes[-1] + slack)):
            bad = t[~((t >= self.nodes[0] - slack) & (t <= self.nodes[-1] + slack))].flat[0]
            raise InputError(f"time {bad:g} lies outside of the solution, which covers "
                             f"[{self.nodes[0]:g}, {self.nodes[-1]:g}]")
        e = np.clip(np.searchsorted(self.nodes, t, side="right") - 1, 0, self.n_elements - 1)
        return e, (t - self.nodes[e]) / self.lengths[e]

    def __repr__(self):
        return f"TimeMesh({self.n_elements} elements, [{self.nodes[0]:g}, {self.nodes[-1]:g}])"
