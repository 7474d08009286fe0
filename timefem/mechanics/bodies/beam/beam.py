"""Geometrically exact beams (Simo-Reissner) of nodes with a rotation."""

import numpy as np

from .... import validate
from ....errors import InputError
from ....polynomials import LagrangeBasis, gauss_legendre
from .. import rotations
from ..rigid import RigidBody
from ..states import Pose
from .curve import Curve, Line
from .section import Section
from .strain_point import StrainPoint


class Beam:
    """A geometrically exact beam: nodes with position and rotation, strains by Lagrange polynomials along it.

    `V = sum over elements of the integral of 1/2 C_G Gamma.Gamma + 1/2 C_K kappa.kappa`, by as many Gauss points per
    element as its degree (one more locks), Gauss-Lobatto nodes, mass and inertia lumped at the nodes by the Lobatto
    rule. Order 2 p at the nodes.

    Parameters
    ----------
    curve : float, Line or Curve
        Rest shape; a number is the length of a straight beam from the origin along x [m].
    section : Section
    n_elements, degree : int
        Elements along the beam, and degree p of their shape functions.
    rotation : {"quaternion", "directors"}
    ends : (node or None, node or None)
        Nodes of other beams that this one shares at its start and end, so that beams branch or close. A node has to
        stand where the curve begins or ends.
    triads : {"section", "space"}
        Axes of the nodes at rest: those of the section, or those of space.
    name : str, optional

    Attributes
    ----------
    nodes : list of RigidBody
        With the pose at rest as `rest`.
    arc_lengths : ndarray, shape (n_nodes,)
        Of the nodes [m].
    points : list of StrainPoint
    """

    def __init__(self, curve, section, n_elements, degree=3, rotation="quaternion", ends=(None, None),
                 triads="section", name=None):
        self.name = name or "beam"
        self.curve = curve if isinstance(curve, Line | Curve) else Line(
            (0, 0, 0), (validate.real("length", curve, positive=True), 0, 0))
        if not isinstance(section, Section):
            raise InputError(f"section must be a Section, not {section!r}")
        self.section = section
        self.n_elements = validate.integer("n_elements", n_elements, minimum=1)
        self.degree = validate.integer("degree", degree, minimum=1)
        self.rotation = validate.choice("rotation", rotation, ("quaternion", "directors"))
        self.triads = validate.choice("triads", triads, ("section", "space"))
        self.basis = LagrangeBasis(self.degree, "lobatto")
        self.element_length = self.curve.length / self.n_elements
        starts = np.arange(self.n_elements)[:, None] + self.basis.points[:-1]
        self.arc_lengths = np.append(starts.ravel() * self.element_length, self.curve.length)
        positions, sections = self.curve.at(self.arc_lengths)
        self._shared = {0: ends[0], len(positions) - 1: ends[1]}
        self.nodes = [self._node(i, x, axes) for i, (x, axes) in enumerate(zip(positions, sections, strict=True))]
        turns = [node.rest_axes.T @ axes for node, axes in zip(self.nodes, sections, strict=True)]
        self._turned = None if np.allclose(turns, np.eye(3), rtol=0, atol=1e-14) else self._packed(turns)
        self.points = [point for e in range(self.n_elements) for point in self._points(e)]

    @property
    def parts(self):
        """Nodes and strain points that a `System` takes; a shared node belongs to the beam that made it."""
        return [*(n for i, n in enumerate(self.nodes) if self._shared.get(i) is None), *self.points]

    @property
    def start(self):
        return self.nodes[0]

    @property
    def end(self):
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

    def _node(self, i, position, axes):
        """A node of its own, or the shared one with the share of this beam."""
        mass = self._weight(i) * self.section.mass
        own, shared = (axes if self.triads == "section" else np.eye(3)), self._shared.get(i)
        if shared is not None:
            if np.abs(shared.rest.position - position).max() > 1e-9 * self.curve.length:
                raise InputError(f"{self.name}: the shared node is at {shared.rest.position.tolist()}, where the curve "
                                 f"has {position.tolist()}")
            own = shared.rest_axes
        turn = own.T @ axes
        inertia = self._weight(i) * turn @ np.diag(self.section.inertia) @ turn.T
        if shared is not None:
            shared.__init__(shared.mass + mass, _plain(shared.inertia + inertia), shared.name)
            return shared
        node = RigidBody(mass, _plain(inertia), self.rotation, name=f"{self.name}.node[{i}]")
        node.rest, node.rest_axes = Pose(position, own), own
        return node

    def _weight(self, i):
        """Length that belongs to a node, by the Lobatto rule [m]."""
        xi, w = gauss_legendre(self.degree + 1)
        lobatto = w @ self.basis.values(xi) * self.element_length
        inner = i % self.degree
        if inner:
            return lobatto[inner]
        return lobatto[0] * ((i > 0) + (i < self.degree * self.n_elements))

    def _packed(self, turns):
        """Section axes in those of the nodes, as numbers of the strain points."""
        if self.rotation == "directors":
            return np.array([turn.T.ravel() for turn in turns])
        packed, last = [], None
        for node, turn in zip(self.nodes, turns, strict=True):
            c = rotations.quaternion_from_matrix(turn)
            own = rotations.product(node.rest.quaternion, c)
            if last is not None and own @ last < 0:  # neighbours need equal signs to be interpolated
                c, own = -c, -own
            packed.append(c)
            last = own
        return np.array(packed)

    def _points(self, e):
        """Strain points of an element."""
        nodes = slice(self.degree * e, self.degree * (e + 1) + 1)
        bodies = self.nodes[nodes]
        xi, w = gauss_legendre(self.degree)
        for g in range(self.degree):
            point = StrainPoint(bodies, self.basis.values(xi)[g], self.basis.derivatives(xi)[g] / self.element_length,
                                w[g] * self.element_length * self.section.stiffness,
                                None if self._turned is None else self._turned[nodes], self.section.damping)
            point.rest([body.state(body.rest)[0] for body in bodies])
            yield point


def _plain(inertia):
    """Principal values where the inertia is diagonal: kernels are shorter then."""
    diagonal = np.diag(inertia)
    return diagonal if np.abs(inertia - np.diag(diagonal)).max() <= 1e-14 * diagonal.max() else inertia
