"""Ropes: positions only, stretched along a curve."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import casadi as ca

from ....polynomials import gauss_legendre
from ...bodies.point_mass import PointMass
from ...bodies.states import Pose
from ...declared import Choice, Flag, Integer
from ...part import Part
from ...symmetry import ALL
from .inertia import KINDS, MEANING, CoupledMass, coupled_less_lumped
from .mesh import CurveMesh, Marks, RestShape, ValueOf
from .section import RopeSection

if TYPE_CHECKING:
    from ...part import Body


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
