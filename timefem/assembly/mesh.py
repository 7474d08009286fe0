"""The mesh of time elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..display import digits
from ..errors import InputError, NamedArguments
from ..types import Vector
from ..validate import check_memory

if TYPE_CHECKING:
    from ..polynomials import LagrangeBasis


class TimeMesh(NamedArguments):
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

    def __init__(self, nodes: Vector) -> None:
        self.nodes = validate.array("mesh nodes", nodes, (None,))
        self.lengths = np.diff(self.nodes)
        self.n_elements = len(self.lengths)
        if self.n_elements < 1:
            raise InputError("a time mesh needs at least two nodes")
        if not np.all(self.lengths > 0):
            worst = int(np.argmin(self.lengths))
            raise InputError(f"the nodes of a time mesh must increase: node {worst + 1} at "
                             f"{digits(*self.nodes[[worst + 1, worst]])} does not come after "
                             f"{digits(*self.nodes[[worst, worst + 1]])}")

    @classmethod
    def uniform(cls, t_span: tuple[float, float] | Vector, n_elements: int, through: Vector = ()) -> TimeMesh:
        """Elements of equal length over `t_span = (start, end)`, or nearly so, with nodes at given times.

        Parameters
        ----------
        t_span : (float, float)
        n_elements : int
        through : array_like, shape (n,)
            Times that become nodes, such as the kinks of loads; those outside of the span do not count. Between two
            of them elements are of equal length, as many as keep the longest of all elements short. When they are
            nodes of the uniform mesh to rounding, that is the mesh.

        Raises
        ------
        InputError
            When there are more intervals between these times than elements.
        """
        n = validate.integer("n_elements", n_elements, minimum=1)
        check_memory(f"a mesh of {n} elements", 4 * 8 * n)
        nodes = np.linspace(*t_span, n + 1)
        through = np.sort(validate.array("through", through, (None,)))
        rounding = 1e-10 * (nodes[-1] - nodes[0]) / n + 1e-15 * np.abs(nodes[[0, -1]]).max()
        through = through[(through > nodes[0] + rounding) & (through < nodes[-1] - rounding)]
        through = through[np.diff(through, prepend=-np.inf) > rounding]
        nearest = nodes[np.rint((through - nodes[0]) / (nodes[-1] - nodes[0]) * n).astype(int)]
        if np.all(np.abs(through - nearest) <= rounding):
            return cls(nodes)
        if len(through) >= n:
            raise InputError(f"n_elements is {n}, but {len(through) + 1} at least are needed for nodes at the "
                             f"{len(through)} times given")
        ends = np.array([nodes[0], *through, nodes[-1]])
        lengths = np.diff(ends)
        # the next element goes where elements are longest; where this starts from is below the result of that
        counts = np.maximum(1, lengths / lengths.sum() * (n - len(lengths))).astype(int)
        for _ in range(n - counts.sum()):
            steps = lengths / counts
            counts[np.argmax(steps >= steps.max() - 2 * rounding)] += 1  # the first of equally long ones
        parts = [np.linspace(a, b, k + 1)[:-1] for a, b, k in zip(ends, ends[1:], counts)]
        return cls(np.append(np.concatenate(parts), ends[-1]))

    def part(self, start: int, stop: int) -> TimeMesh:
        """The mesh of elements start, ..., stop - 1."""
        if start >= stop:
            return TimeMesh(self.nodes[start:stop + 1])  # refuses it
        part = object.__new__(TimeMesh)  # increasing as this one is
        part.nodes, part.lengths, part.n_elements = self.nodes[start:stop + 1], self.lengths[start:stop], stop - start
        return part

    def points(self, basis: LagrangeBasis) -> np.ndarray:
        """Times of the nodes of a basis in all elements, shape (n_elements, n_shapes)."""
        return self.nodes[:-1, None] + self.lengths[:, None] * basis.points

    def locate(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
            raise InputError(f"time {digits(bad, *self.nodes[[0, -1]])} lies outside of the solution, which covers "
                             f"[{digits(self.nodes[0])}, {digits(self.nodes[-1])}]")
        e = np.clip(np.searchsorted(self.nodes, t, side="right") - 1, 0, self.n_elements - 1)
        return e, (t - self.nodes[e]) / self.lengths[e]

    def __repr__(self):
        return f"TimeMesh({self.n_elements} elements, [{self.nodes[0]:g}, {self.nodes[-1]:g}])"
