"""Ropes: positions only, stretched along a curve."""

import casadi as ca
import numpy as np

from .... import validate
from ....errors import InputError
from ....polynomials import gauss_legendre
from ...part import Part
from ..point_mass import PointMass
from ..states import Pose
from .mesh import BeamMesh
from .section import RopeSection

STRAINS = ("linear", "green")


class StretchPoint(Part):
    """Energy `w EA/2 e^2` of the strain e at a quadrature point of weight w: `|x'| - 1`, or Green's `(|x'|^2 - 1) / 2`.

    Own parameters: slopes of the shape functions (n_nodes), w EA, retardation time.

    Parameters
    ----------
    nodes : sequence of PointMass
    slopes : array_like, shape (n_nodes,)
        dN_a/ds [1/m] at the point.
    stiffness : float
        w EA [N m].
    strain : {"linear", "green"}
    slack : bool
        Whether the rope carries no pressure.
    damping : float
        Retardation time [s].
    """

    def __init__(self, nodes, slopes, stiffness, strain="linear", slack=False, damping=0.0):
        self.bodies, self.strain, self.slack, self.damped = tuple(nodes), strain, slack, damping > 0
        self.own_parameters = np.concatenate([slopes, [stiffness, damping]])

    def __repr__(self):
        return f"stretch of {self.bodies[0]!r} to {self.bodies[-1]!r}"

    @property
    def kind(self):
        return (type(self), self.strain, self.slack, self.damped, *(body.kind for body in self.bodies))

    def strains(self, s):
        return self.stretch(s) if self.strain == "green" and not self.slack else super().strains(s)

    def stretch(self, s):
        """The strain e, SX (1,)."""
        square = ca.sumsqr(sum(s.own[a] * q for a, q in enumerate(s.q)))
        return ca.sqrt(square) - 1 if self.strain == "linear" else (square - 1) / 2

    def stiffness(self, s):
        """w EA, SX (1,)."""
        return s.own[len(self.bodies)]

    def stored_energy(self, s, e):
        return self.stiffness(s) / 2 * (ca.fmax(e, 0) if self.slack else e) ** 2

    def energy(self, s):
        return self.stored_energy(s, self.stretch(s))

    def force(self, s):
        if not self.damped:
            return super().force(s)
        slope = ca.jacobian(self.stretch(s), ca.vertcat(*s.q))
        rate = slope @ ca.vertcat(*s.velocity)
        stress = s.own[len(self.bodies) + 1] * self.stiffness(s) * rate
        return -slope.T * (ca.if_else(self.stretch(s) > 0, stress, 0) if self.slack else stress)


class Rope(BeamMesh):
    """A rope or string: positions x(s) by Lagrange polynomials, `V` the integral of `EA/2 e^2`, mass at the nodes.

    Parameters
    ----------
    curve : float, Line or Curve
        Shape of zero strain; a number is the length of a straight rope from the origin along x [m].
    section : RopeSection
    n_elements, degree : int
    strain : {"linear", "green"}
        `|x'| - 1`, or `(|x'|^2 - 1) / 2`.
    slack : bool
        Whether the rope carries no pressure: what is shorter than at rest is without force.
    ends : (node or None, node or None)
        Nodes of other ropes that this one shares at its start and end.
    name : str, optional
    """

    def __init__(self, curve, section, n_elements, degree=1, strain="linear", slack=False,
                 ends=(None, None), name=None):
        self.name = name or "rope"
        if not isinstance(section, RopeSection):
            raise InputError(f"{self.name}: section must be a RopeSection, not {section!r}")
        self.section = section
        self.strain = validate.choice(f"{self.name}: strain", strain, STRAINS)
        self.slack = validate.flag(f"{self.name}: slack", slack)
        super().__init__(curve, n_elements, degree)
        self._share(ends)
        self.nodes = [self._node(i, x) for i, x in enumerate(self.curve.at(self.arc_lengths)[0])]
        self.points = [point for e in range(self.n_elements) for point in self._points(e)]

    def _node(self, i, position):
        mass = self.weight(i) * self.section.mass
        if i in self._shared:
            node = self.shared(i, position)
            node.__init__(node.mass + mass, name=node.name)
            return node
        node = PointMass(mass, name=f"{self.name}.node[{i}]")
        node.rest = Pose(position)
        return node

    def _points(self, e):
        xi, w = gauss_legendre(self.degree)
        slopes = self.basis.derivatives(xi) / self.element_length
        return [StretchPoint(self.element_nodes(e), slopes[g], w[g] * self.element_length * self.section.EA,
                             self.strain, self.slack, self.section.damping) for g in range(self.degree)]
