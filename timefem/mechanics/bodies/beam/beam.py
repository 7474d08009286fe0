"""Geometrically exact beams (Simo-Reissner) of nodes with a rotation."""

import numpy as np

from .... import validate
from ....errors import InputError
from ....polynomials import gauss_legendre
from .. import rotations
from ..rigid import RigidBody
from ..states import Pose
from .mesh import BeamMesh
from .section import Section
from .strain_point import StrainPoint


class Beam(BeamMesh):
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

    """

    def __init__(self, curve, section, n_elements, degree=3, rotation="quaternion", ends=(None, None),
                 triads="section", name=None):
        self.name = name or "beam"
        if not isinstance(section, Section):
            raise InputError(f"{self.name}: section must be a Section, not {section!r}")
        self.section = section
        self.rotation = validate.choice("rotation", rotation, ("quaternion", "directors"))
        self.triads = validate.choice("triads", triads, ("section", "space"))
        super().__init__(curve, n_elements, degree)
        positions, sections = self.curve.at(self.arc_lengths)
        self._share(ends)
        self.nodes = [self._node(i, x, axes) for i, (x, axes) in enumerate(zip(positions, sections, strict=True))]
        turns = [node.rest_axes.T @ axes for node, axes in zip(self.nodes, sections, strict=True)]
        self._turned = None if np.allclose(turns, np.eye(3), rtol=0, atol=1e-14) else self._packed(turns)
        self.points = [point for e in range(self.n_elements) for point in self._points(e)]

    def _node(self, i, position, axes):
        """A node of its own, or the shared one with the share of this beam."""
        mass = self.weight(i) * self.section.mass
        shared = self.shared(i, position) if i in self._shared else None
        own = shared.rest_axes if shared else axes if self.triads == "section" else np.eye(3)
        turn = own.T @ axes
        inertia = self.weight(i) * turn @ np.diag(self.section.inertia) @ turn.T
        if shared:
            shared.__init__(shared.mass + mass, _plain(shared.inertia + inertia), shared.name)
            return shared
        node = RigidBody(mass, _plain(inertia), self.rotation, name=f"{self.name}.node[{i}]")
        node.rest, node.rest_axes = Pose(position, own), own
        return node

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
        bodies = self.element_nodes(e)
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
