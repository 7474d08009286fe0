"""Geometrically exact beams (Simo-Reissner) of nodes with a rotation, and ropes of nodes without."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...polynomials import gauss_legendre
from ..bodies import rotations
from ..bodies.point_mass import PointMass
from ..bodies.rigid import RigidBody
from ..bodies.states import Pose
from ..declared import Choice, Flag, Integer
from ..numbers.arguments import diagonal, is_symbolic, joined
from ..part import Part
from ..symmetry import ALL
from .mesh import KINDS, MEANING, CoupledInertia, CoupledMass, CurveMesh, Marks, RestShape, ValueOf, coupled_less_lumped
from .place import BeamPlace
from .section import RopeSection, Section
from .strains import StrainPoint

if TYPE_CHECKING:
    from ..part import Body


class Beam(CurveMesh):
    """A geometrically exact beam, or a frame of them: nodes with position and rotation, strains along curves.

    `V = sum over elements of the integral of 1/2 C_G Gamma.Gamma + 1/2 C_K kappa.kappa`, by as many Gauss points per
    element as its degree (one more locks), Gauss-Lobatto nodes, mass and inertia lumped at the nodes by the Lobatto
    rule, or coupled. Directors of thin sections have a singular mass matrix: forms without its inverse take them.
    Order 2 p at the nodes. `at(s)` is the point at s in [j, j + 1] of the curve j.

    Raises
    ------
    InputError
        For numbers out of range, and sections that are no `Section`.
    """

    curve = RestShape()
    section = ValueOf(Section, "stiffness and inertia of the cross-section")
    n_elements = Integer("along each curve", least=1, most=10**5)
    degree = Integer("of the shape functions, p", 3, least=1, most=20)
    rotation = Choice("coordinates of the nodes' rotations", ("quaternion", "directors"), "quaternion")
    triads = Choice("axes of the nodes at rest: those of the section, or those of space", ("section", "space"),
                    "section")
    mass = Choice(f"{MEANING} (directors only)", KINDS, "lumped")
    marks = Marks()
    place_class = BeamPlace

    def node_axes(self, i: int) -> np.ndarray:
        return np.eye(3) if self.triads == "space" else self.rest[i][1]

    def make_nodes(self) -> Iterable[Body]:
        mass, inertia = [0.0] * len(self.rest), [np.zeros((3, 3))] * len(self.rest)
        for node, axes, weight in self.shares():
            turn = self.node_axes(node).T @ axes
            mass[node] = mass[node] + weight * self.section.mass
            inertia[node] = inertia[node] + weight * turn @ diagonal(joined(*self.section.inertia)) @ turn.T
        return [RigidBody(m, _plain(j), self.rotation) for m, j in zip(mass, inertia, strict=True)]

    def _complete(self):
        if self.mass != "lumped" and self.rotation != "directors":
            raise InputError(f"{self._title}: mass={self.mass!r} needs rotation='directors', whose mass matrix is "
                             "constant; in quaternions masses are lumped")
        super()._complete()

    @property
    def n_strain_points(self) -> int:
        """Gauss points of an element for its strains: one more locks."""
        return self.degree

    def make_elements(self) -> Iterable[Part]:
        xi, w = gauss_legendre(self.n_strain_points)
        values, slopes, turned = self.basis.values(xi), self.basis.derivatives(xi), self._turned
        rest = [node.coordinates_of(self.reference(i)) for i, node in enumerate(self.nodes)]
        for j, length, span, numbers in self.cells():
            for g in range(self.n_strain_points):
                yield StrainPoint([self.nodes[i] for i in numbers], values[g], slopes[g] / length,
                                  w[g] * length * self.section.stiffness, [rest[i] for i in numbers],
                                  None if turned is None else turned[j][span], self.section.damping)
        if self.mass != "lumped":
            yield from self._inertia_elements()

    def _inertia_elements(self):
        """Coupled less lumped inertia of each element."""
        masses = coupled_less_lumped(self)
        for j, length, span, numbers in self.cells():
            yield CoupledInertia([self.nodes[i] for i in numbers], length * masses, self.section,
                                    None if self._turned is None else self._turned[j][span])

    def place_axes(self, j: int, e: int, xi: float) -> dict[str, Any]:
        turned, onto = self._turned, None
        if turned is None:
            return {}
        span = slice(self.degree * e, self.degree * (e + 1) + 1)
        if self.triads == "space":
            place = BeamPlace(self, 0, [self.nodes[i] for i in self.legs[j][span]],
                              self.basis.values(np.array([xi]))[0], None, turned[j][span])
            rest = np.concatenate([node.state(self.reference(i))[0]
                                   for i, node in zip(self.legs[j][span], place.frames, strict=True)])
            onto = place.rotation_matrix(rest).T
        return {"turned": turned[j][span], "onto": onto}

    @cached_property
    def _turned(self):
        """Section axes in those of the nodes along each curve, as numbers of the strain points; None where equal."""
        turns = [[self.node_axes(i).T @ axes for i, axes in zip(*pair, strict=True)]
                 for pair in zip(self.legs, self.axes, strict=True)]
        if np.allclose(turns, np.eye(3), rtol=0, atol=1e-14):
            return None
        packed = (lambda turn: turn.T.ravel()) if self.rotation == "directors" else rotations.quaternion_from_matrix
        return [np.array([packed(turn) for turn in leg]) for leg in turns]


def _plain(inertia):
    """Principal values where the inertia is diagonal: kernels are shorter then."""
    if is_symbolic(inertia):
        return inertia
    principal = np.diag(inertia)
    return principal if np.abs(inertia - np.diag(principal)).max() <= 1e-14 * principal.max() else inertia


# ---- Ropes: positions only, stretched along a curve

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
        self.slopes, self.section_stiffness, self.damping = slopes, stiffness, damping
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"slopes": c.slopes, "stiffness": c.section_stiffness, "damping": c.damping}

    def workless_motions(self):
        return ALL

    def __repr__(self):
        return f"stretch of {self.bodies[0]!r} to {self.bodies[-1]!r}"

    @property
    def kind(self):
        return (type(self), self.strain, self.slack, self.damped, *(body.kind for body in self.bodies))

    @property
    def strains_are_quadratic(self):
        return self.strain == "green" and not self.slack

    def strains(self, s):
        """The strain e, SX (1,)."""
        square = ca.sumsqr(sum(s.own[a] * q for a, q in enumerate(s.q)))
        return ca.sqrt(square) - 1 if self.strain == "linear" else (square - 1) / 2

    def lift(self, s):
        """Square of the stretch 1 + e, SX (1,)."""
        return ca.sumsqr(sum(s.own[a] * q for a, q in enumerate(s.q)))

    def lifted_energy(self, s, e):
        return self.stored_energy(s, ca.sqrt(e) - 1 if self.strain == "linear" else (e - 1) / 2)

    def stiffness(self, s):
        """w EA, SX (1,)."""
        return s.own[len(self.bodies)]

    def stress(self, s, e, rate):
        """w EA (e + tau edot), SX (1,); zero where it is slack."""
        stress = self.stiffness(s) * (e + s.own[len(self.bodies) + 1] * rate)
        return ca.if_else(e > 0, stress, 0) if self.slack else stress

    def stored_energy(self, s, e):
        return self.stiffness(s) / 2 * (ca.fmax(e, 0) if self.slack else e) ** 2

    def force(self, s):
        if not self.damped:
            return super().force(s)
        slope = ca.jacobian(self.strains(s), ca.vertcat(*s.q))
        rate = slope @ ca.vertcat(*s.velocity)
        stress = s.own[len(self.bodies) + 1] * self.stiffness(s) * rate
        return -slope.T * (ca.if_else(self.strains(s) > 0, stress, 0) if self.slack else stress)


class Rope(CurveMesh):
    """A rope or string, or a net of them: positions x(s), `V` the integral of `EA/2 e^2`.

    With dimension=1 it is an elastic bar. Waves from end to end need `mass="gauss"`: p Gauss points per element, with
    which the dispersion of small waves is that of the time element of degree p, and inverse dynamics is stable.

    Raises
    ------
    InputError
        For numbers out of range, and sections that are no `RopeSection`.
    """

    curve = RestShape()
    section = ValueOf(RopeSection, "stiffness and mass")
    n_elements = Integer("along each curve", least=1, most=10**5)
    degree = Integer("of the shape functions, p", 1, least=1, most=20)
    strain = Choice("|x'| - 1, or (|x'|^2 - 1) / 2", ("linear", "green"), "linear")
    slack = Flag("whether it carries tension only: no force where it is shorter than at rest", default=False)
    marks = Marks()
    mass = Choice(MEANING, KINDS, "lumped")
    dimension = Integer("moves along x, in the plane (x, y), or in space", 3, least=1, most=3)

    def make_nodes(self) -> Iterable[Body]:
        mass = [0.0] * len(self.rest)
        for node, _, weight in self.shares():
            mass[node] = mass[node] + weight * self.section.mass
        return [PointMass(m, self.dimension) for m in mass]

    def reference(self, i: int) -> Pose:
        return Pose(self.rest[i][0])

    def make_elements(self) -> Iterable[Part]:
        xi, w = gauss_legendre(self.degree)
        slopes = self.basis.derivatives(xi)
        for _, length, _, numbers in self.cells():
            for g in range(self.degree):
                yield StretchPoint([self.nodes[i] for i in numbers], slopes[g] / length,
                                   w[g] * length * self.section.EA, self.strain, self.slack, self.section.damping)
        masses = coupled_less_lumped(self)
        for _, length, _, numbers in self.cells() if self.mass != "lumped" else ():
            yield CoupledMass([self.nodes[i] for i in numbers], length * masses, self.section)
