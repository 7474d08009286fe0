"""Loads that are spread along a beam or rope."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...display import digits
from ...errors import InputError
from ...polynomials import gauss_legendre
from ..declared import Choice, Function, Numbers, On, VectorFunction
from ..numbers.arguments import size
from ..part import Part
from .composite import Composite
from .mesh import CurveMesh
from .strains import FRAMES

if TYPE_CHECKING:
    from ..bodies.states import Pose
    from ..part import Body


class OnBeam(On):
    """The beam or rope that it acts on."""

    kind_of_value = "Beam or Rope"
    given_as = kept_as = "CurveMesh"


class Span(Numbers):
    """Where a load begins and ends, which shapes its elements."""

    varies = False


class LoadPoint(Part):
    """The share of a `LineForce` or `LineTorque` at a quadrature point: the load per length times the weight.

    Own parameters: shape functions (n_nodes), the weight [m], the turn of the sections per node where there is one,
    and the numbers of the functions of time of the load.

    Parameters
    ----------
    load : LineForce or LineTorque
    place : Place
    weight : float
        [m]
    """

    def __init__(self, load, place, weight):
        self.load, self.bodies = load, place.frames
        self.turned = 0 if place.turned is None else place.turned.shape[1]
        self.shapes, self.weight = place.shapes, weight
        self.turns = np.zeros(0) if place.turned is None else place.turned.ravel()
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"shapes": c.shapes, "weight": c.weight, "turns": c.turns, **self.load.numbers(c.load)}

    def __repr__(self):
        return f"{self.load!r}, {self.place}"

    @property
    def kind(self):
        return (type(self), self.load.turns, self.turned, *self.load._form, *(b.kind for b in self.bodies))

    @property
    def functions(self):
        return self.load.functions

    def force(self, s):
        n = len(self.bodies)
        shapes, start = ca.vertsplit(s.own[:n]), n + 1 + n * self.turned
        turned = ca.vertsplit(s.own[n + 1:start], self.turned) if self.turned else None
        c = self.load.named(s.own[start:])
        factor, = self.load.values_at("time", s.t, c)
        vector = s.own[n] * factor * ca.vertcat(*self.load.values_at("value", s.t, c))
        q = ca.vertcat(*s.q)
        if not self.bodies[0].has_orientation:
            return ca.vertcat(*(shape * vector[:self.bodies[0].dimension] for shape in shapes))
        position, rotation, turning = FRAMES[self.bodies[0].rotation](s.q, turned, shapes)
        vector = rotation @ vector if self.load.frame == "section" else vector
        return turning.T @ vector if self.load.turns else ca.jtimes(position, q, vector, True)


class LineLoad(Composite, abstract=True):
    """A load per length of the rest shape, along a beam or rope or a part of it.

    Quadrature by one Gauss point more than the degree per finite element, or piece of one where the load begins or ends
    or its profile has a corner.
    """

    table = "forces"
    turns = False

    beam = OnBeam()
    value = VectorFunction("components, numbers or functions of time, of a moment in N m/m", "N/m")
    time = Function("factor of all components", "", 1.0)
    frame = Choice('axes of `value`: "section" is a follower load', ("space", "section"), "space")
    span = Span("places where it begins and ends, as `at` takes them; default: all of the beam", ())
    profile = Numbers("factors of the load at equal distances along the span, linear between", (1.0, 1.0))

    def _checked_bodies(self, bodies):
        beam, = bodies
        if not isinstance(beam, CurveMesh):
            raise InputError(f"{self._title} must act on a Beam or a Rope, not on {beam!r}")
        return (beam,)

    def _complete(self):
        beam, title = self.beam, self._title
        if not beam.nodes[0].has_orientation and (self.frame == "section" or self.turns):
            raise InputError(f"{title}: a rope has no section axes, and takes no moments; use LineForce with "
                             "frame='space'")
        n = len(beam.legs)
        span = (0.0, float(n)) if not len(self.span) else tuple(self.span.tolist())
        if len(span) != 2 or not 0 <= span[0] < span[1] <= n:
            raise InputError(f"{title}: span must be two places that increase, from 0 to {n}, not {digits(span)}")
        if len(self.profile) < 2:
            raise InputError(f"{title}: profile must have at least two factors, not {digits(self.profile)}")
        self._span = span
        super()._complete()

    def make_nodes(self) -> Iterable[Body]:
        return ()

    def reference(self, i: int) -> Pose:
        raise InputError(f"{self._title} has no nodes")

    def numbers(self, c: Any) -> dict[str, Any]:
        return {name: self.number(name, c) for name in ("value", "time")}

    @property
    def _form(self):
        return tuple(field.form(getattr(self, name)) for name, field in self.fields.items()
                     if name in ("value", "time", "frame"))

    def make_elements(self) -> Iterable[Part]:
        beam, (first, last) = self.beam, self._span
        corners = np.linspace(first, last, size(self.profile))
        ends = np.concatenate([j + np.arange(beam.n_elements + 1) / beam.n_elements for j in range(len(beam.legs))])
        cuts = np.unique(np.round(np.concatenate([ends, corners]), 12))
        cuts = cuts[(cuts >= first) & (cuts <= last)]
        x, w = gauss_legendre(beam.degree + 1)
        for a, b in pairwise(cuts.tolist()):
            j, e, _, _ = beam.locate((a + b) / 2)
            for point, weight in zip(x, w, strict=True):
                s = a + point * (b - a)
                k = min(max(np.searchsorted(corners, s, "right") - 1, 0), len(corners) - 2)
                beyond = (s - corners[k]) / (corners[k + 1] - corners[k])
                factor = (1 - beyond) * self.profile[k] + beyond * self.profile[k + 1]
                place = beam.make_place(s, j, e, (s - j) * beam.n_elements - e)
                yield LoadPoint(self, place, weight * (b - a) * beam.curve[j].length * factor)


class LineForce(LineLoad):
    """Force per length along a beam or rope: dead (axes of space) or follower (axes of the section).

    `Q_a = int (dx/dq_a)^T f ds` over the rest shape.

    Raises
    ------
    InputError
        For what is not a beam or a rope, spans beyond its ends, and functions that fail on CasADi symbols.
    """


class LineTorque(LineLoad):
    """Moment per length along a beam, in axes of space or of the section.

    Raises
    ------
    InputError
        As for `LineForce`.
    """

    turns = True
