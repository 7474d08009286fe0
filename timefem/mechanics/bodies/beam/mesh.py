"""Nodes along a curve: what beams and ropes share."""

import numpy as np

from .... import validate
from ....errors import InputError
from ....polynomials import LagrangeBasis, gauss_legendre
from .curve import Curve, Line


class BeamMesh:
    """Finite elements of one degree along a curve, with Gauss-Lobatto nodes.

    Attributes
    ----------
    curve : Line or Curve
    basis : LagrangeBasis
    arc_lengths : ndarray, shape (n_nodes,)
        Of the nodes [m].
    element_length : float
        [m]
    nodes : list of Body
        With the pose at rest as `rest`.
    points : list of Part
        Energies at the quadrature points.
    """

    nodes, points, _shared = (), (), {}

    def __init__(self, curve, n_elements, degree):
        self.curve = curve if isinstance(curve, Line | Curve) else Line(
            (0, 0, 0), (validate.real(f"{self.name}: length", curve, positive=True), 0, 0))
        self.n_elements = validate.integer(f"{self.name}: n_elements", n_elements, minimum=1)
        self.degree = validate.integer(f"{self.name}: degree", degree, minimum=1)
        self.basis = LagrangeBasis(self.degree, "lobatto")
        self.element_length = self.curve.length / self.n_elements
        starts = np.arange(self.n_elements)[:, None] + self.basis.points[:-1]
        self.arc_lengths = np.append(starts.ravel() * self.element_length, self.curve.length)

    @property
    def parts(self):
        """Nodes and energies that a `System` takes; a shared node belongs to the beam that made it."""
        return [*(node for i, node in enumerate(self.nodes) if i not in self._shared), *self.points]

    @property
    def start(self):
        """The node where the curve begins."""
        return self.nodes[0]

    @property
    def end(self):
        """The node where the curve ends."""
        return self.nodes[-1]

    def node(self, i):
        """The i-th node."""
        return self.nodes[i]

    def at(self, s):
        """The node at the arc length s [m].

        Raises
        ------
        InputError
            Where there is none; names the next ones.
        """
        i = int(np.abs(self.arc_lengths - s).argmin())
        if abs(self.arc_lengths[i] - s) > 1e-9 * self.curve.length:
            near = self.arc_lengths[max(0, i - 1):i + 2]
            raise InputError(f"{self.name}: no node at s = {s:g}; there are nodes at "
                             f"{', '.join(f'{v:.6g}' for v in near)}")
        return self.nodes[i]

    def _share(self, ends):
        """Take nodes of others at the two ends; None is a node of its own."""
        self._shared = {i: end for i, end in ((0, ends[0]), (len(self.arc_lengths) - 1, ends[1])) if end is not None}
        for node in self._shared.values():
            if getattr(node, "rest", None) is None:
                raise InputError(f"{self.name}: ends takes nodes of other beams or ropes, not {node!r}; connect bodies "
                                 "by a joint")

    def shared(self, i, position):
        """The shared node of that number, which has to stand at the position."""
        at = self._shared[i].rest.position
        if np.abs(at - position).max() > 1e-9 * self.curve.length:
            raise InputError(f"{self.name}: the shared node is at {at.tolist()}, where the curve has "
                             f"{position.tolist()}")
        return self._shared[i]

    def element_nodes(self, e):
        """Nodes of an element, list of degree + 1."""
        return self.nodes[self.degree * e:self.degree * (e + 1) + 1]

    def weight(self, i):
        """Length that belongs to a node, by the Lobatto rule [m]."""
        xi, w = gauss_legendre(self.degree + 1)
        lobatto = w @ self.basis.values(xi) * self.element_length
        if i % self.degree:
            return lobatto[i % self.degree]
        return lobatto[0] * ((i > 0) + (i < self.degree * self.n_elements))
