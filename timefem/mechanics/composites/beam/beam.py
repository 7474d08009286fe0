"""Geometrically exact beams (Simo-Reissner) of nodes with a rotation."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError
from ....polynomials import gauss_legendre
from ...bodies import rotations
from ...bodies.rigid import RigidBody
from ...declared import Choice, Integer
from ...numbers.arithmetic import diagonal, is_symbolic, joined
from .inertia import KINDS, MEANING, CoupledInertia, coupled_less_lumped
from .mesh import CurveMesh, Marks, RestShape, ValueOf
from .place import BeamPlace
from .section import Section
from .strain_point import StrainPoint

if TYPE_CHECKING:
    from ...part import Body, Part


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
