"""Nodes and finite elements along curves that meet, and mass that couples nodes: what beams and ropes share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError, OpenJoint, warn
from ...polynomials import LagrangeBasis, gauss_legendre
from ..bodies.states import Pose
from ..declared import Field
from ..numbers.arguments import inside, joined
from ..part import Part
from ..shapes import Stroke
from .composite import Composite
from .place import Place
from .section import Curve, Line

if TYPE_CHECKING:
    from ..part import Body

TOGETHER = 1e-9  # distance of ends that are one node, relative to the length of the curves
NEARLY = 0.1  # distance of ends that look as if they should meet, relative to the length of the curves
ABSENT_AT_ZERO = "damping",  # numbers of sections that formulas do without where they are zero
SAME = 1e-9  # distance of a place from the node that it is, relative to the length of an element


class RestShape(Field):
    """A length, a `Line` or `Curve`, or a list of them."""

    kind_of_value = "float, Line, Curve, or list of these"
    given_as, kept_as = "Number | Line | Curve | Sequence[Line | Curve]", "tuple[Line | Curve, ...]"

    def __init__(self):
        super().__init__("rest shape: the length of a straight one from the origin along x, a Line or a Curve, or a "
                         "list of these, which are connected where their ends meet", "m")

    def check(self, title, value):
        values = value if (isinstance(value, list | tuple) and not np.ndim(value) == 1) or \
            (isinstance(value, list | tuple) and not all(isinstance(v, int | float) for v in value)) else [value]
        return tuple(self._one(title, v) for v in values)

    def _one(self, title, value):
        if isinstance(value, Line | Curve):
            return value
        if isinstance(value, dict):
            return Line(**value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value > 0 \
                or not np.isfinite(value):
            raise InputError(f"{title} must be a positive length, a Line or a Curve, or a list of these, not {value!r}")
        return Line((0, 0, 0), (value, 0, 0))

    def schema(self):
        line = {"description": "a straight line", "type": "object", "additionalProperties": False,
                "properties": {"start": {"$ref": "#/$defs/vector"}, "end": {"$ref": "#/$defs/vector"},
                               "axis": {"$ref": "#/$defs/vector"}, "twist": {"$ref": "#/$defs/number"}},
                "required": ["start", "end"]}
        return {"description": "a positive length, or a list of lines as [{start = [0, 0, 0], end = [1, 0, 0]}]",
                "anyOf": [{"$ref": "#/$defs/positive"}, {"type": "array", "items": line, "minItems": 1}]}


class ValueOf(Field):
    """A value object of one class, which files state as a table of its arguments."""

    varies = True

    def __init__(self, cls, help=""):
        super().__init__(help)
        self.cls, self.kind_of_value = cls, cls.__name__
        self.given_as = self.kept_as = cls.__name__

    def shapes_at(self, value, steps):
        return bool(steps) and steps[0] in ABSENT_AT_ZERO and not inside(value, steps)

    def check(self, title, value):
        if isinstance(value, dict):
            return self.cls.from_file(value)
        if not isinstance(value, self.cls):
            raise InputError(f"{title} must be a {self.cls.__name__}, not {value!r}")
        return value

    def schema(self):
        return self.cls.schema()


class Marks(Field):
    """Names of nodes by their place."""

    kind_of_value = "sequence of (str, float)"
    given_as, kept_as = "Sequence[tuple[str, float]]", "tuple[tuple[str, float], ...]"

    def __init__(self):
        super().__init__("names of nodes, and the places that they are at, as for `at`", default=())

    def check(self, title, value):
        pairs = [tuple(pair) if isinstance(pair, list | tuple) else (pair,) for pair in value]
        if not all(len(pair) == 2 and isinstance(pair[0], str) and pair[0] for pair in pairs):
            raise InputError(f"{title} must be pairs of a name and a place, as [('tip', 1)], not {value!r}")
        return tuple((name, float(place)) for name, place in pairs)

    def schema(self):
        pair = {"type": "array", "prefixItems": [{"type": "string", "minLength": 1}, {"$ref": "#/$defs/number"}],
                "minItems": 2, "maxItems": 2}
        return {"description": "a list of names and places, as [[\"tip\", 1]]", "type": "array", "items": pair}


class CurveMesh(Composite, abstract=True):
    """Finite elements of one degree along curves, with Gauss-Lobatto nodes; ends that meet are one node.

    Attributes
    ----------
    legs : list of list of int
        Numbers of the nodes along each curve.
    axes : list of ndarray, shape (n_nodes of the leg, 3, 3)
        Section axes at the nodes along each curve.
    basis : LagrangeBasis
    between : dict
        Places between nodes that were asked for.
    """

    place_class = Place

    def _complete(self):
        self.basis, self.between = LagrangeBasis(self.degree, "lobatto"), {}
        self._lay_out()
        super()._complete()
        self.places = np.zeros(len(self.nodes))
        for j, leg in reversed(list(enumerate(self.legs))):
            self.places[leg] = j + self.along
        for name, place in self.marks:
            self.at(place).name = name

    def _lay_out(self):
        """Positions and section axes of the nodes along each curve, and which nodes are one."""
        cells = np.arange(self.n_elements)[:, None] + self.basis.points[:-1]
        self.along = np.append(cells.ravel(), self.n_elements) / self.n_elements
        xi, w = gauss_legendre(self.degree + 1)
        self.lobatto = w @ self.basis.values(xi)
        size, ends = max(c.length for c in self.curve), []
        self.legs, self.axes, self.rest = [], [], []
        for curve in self.curve:
            positions, axes = curve.at(self.along * curve.length)
            leg = []
            for i, x in enumerate(positions):
                at_end = i in (0, len(positions) - 1)
                known = next((n for n, y in ends if np.abs(x - y).max() <= TOGETHER * size), None) if at_end else None
                if known is None:
                    known = len(self.rest)
                    self.rest.append((x, axes[i]))
                    if at_end:
                        ends.append((known, x))
                leg.append(known)
            self.legs.append(leg)
            self.axes.append(axes)
        self._tell_gaps(size)

    @property
    def pieces(self) -> list[set[int]]:
        """Numbers of the curves that hang together by their ends."""
        pieces: list[tuple[set[int], set[int]]] = []
        for j, leg in enumerate(self.legs):
            met = [piece for piece in pieces if piece[1] & {leg[0], leg[-1]}]
            pieces = [piece for piece in pieces if piece not in met]
            pieces.append(({j}.union(*(p[0] for p in met)), {leg[0], leg[-1]}.union(*(p[1] for p in met))))
        return [curves for curves, _ in pieces]

    def _tell_gaps(self, size):
        """Warn of pieces whose ends nearly meet."""
        ends = [[(j, self.rest[self.legs[j][i]][0]) for j in sorted(piece) for i in (0, -1)] for piece in self.pieces]
        for n, piece in enumerate(ends):
            gaps = [(float(np.linalg.norm(x - y)), i, j) for i, x in piece for other in ends[:n] for j, y in other]
            gap, i, j = min(gaps, default=(np.inf, 0, 0))
            if gap <= NEARLY * size:
                warn(f"{self._title}: curves {j} and {i} do not meet: their ends are {gap:.3g} m apart, and "
                     f"they move as separate pieces; let them end at the same point", OpenJoint)

    def shares(self) -> Iterator[tuple[int, np.ndarray, float]]:
        """Node, section axes and the length that belongs to the node there [m], for each node of each curve."""
        for curve, leg, axes in zip(self.curve, self.legs, self.axes, strict=True):
            weights = np.zeros(len(leg))
            for e in range(self.n_elements):
                weights[self.degree * e:self.degree * (e + 1) + 1] += self.lobatto * curve.length / self.n_elements
            yield from zip(leg, axes, weights, strict=True)

    def cells(self) -> Iterator[tuple[int, float, slice, list[int]]]:
        """Curve, and numbers of the nodes, of each finite element."""
        for j, (curve, leg) in enumerate(zip(self.curve, self.legs, strict=True)):
            for e in range(self.n_elements):
                span = slice(self.degree * e, self.degree * (e + 1) + 1)
                yield j, curve.length / self.n_elements, span, leg[span]

    def drawn_lines(self) -> list[Stroke]:
        return [Stroke("rope", tuple((self.nodes[i], np.zeros(3)) for i in leg)) for leg in self.legs]

    def reference(self, i: int) -> Pose:
        return Pose(self.rest[i][0], self.node_axes(i))

    def node_axes(self, i: int) -> np.ndarray:
        """Rotation matrix of a node at rest."""
        return self.rest[i][1]

    def locate(self, s: float) -> tuple[int, int, list[int], float]:
        """Where the place s is: number of the curve, its element, the numbers of its nodes, and the place in it from 0
        to 1."""
        if isinstance(s, bool) or not isinstance(s, int | float | np.number) or not 0 <= s <= len(self.legs):
            raise InputError(f"{self._title}: places are numbers from 0 to {len(self.legs)}, not {s!r}")
        j = min(int(s), len(self.legs) - 1)
        e = min(int((s - j) * self.n_elements), self.n_elements - 1)
        numbers = self.legs[j][self.degree * e:self.degree * (e + 1) + 1]
        return j, e, numbers, (s - j) * self.n_elements - e

    def at(self, s: float) -> Body | Place:
        """The point at the place s, in [j, j + 1] on the curve j: a node, or a `Place` between nodes.

        Raises
        ------
        InputError
            For places beyond the ends.
        """
        j, e, numbers, xi = self.locate(s)
        i = int(np.argmin(np.abs(self.basis.points - xi)))
        if abs(self.basis.points[i] - xi) <= SAME:
            return self.nodes[numbers[i]]
        key = round(float(s), 12)
        if key not in self.between:
            self.between[key] = self.make_place(key, j, e, xi)
        return self.between[key]

    def make_place(self, s: float, j: int, e: int, xi: float) -> Place:
        """The `Place` s on curve j at xi in [0, 1] of its element e."""
        length = self.curve[j].length / self.n_elements
        numbers = self.legs[j][self.degree * e:self.degree * (e + 1) + 1]
        return self.place_class(self, s, [self.nodes[i] for i in numbers], self.basis.values(np.array([xi]))[0],
                                self.basis.derivatives(np.array([xi]))[0] / length, **self.place_axes(j, e, xi))

    def place_axes(self, j: int, e: int, xi: float) -> dict[str, Any]:
        """Further arguments of a `Place`."""
        return {}

    @property
    def start(self) -> Body:
        """The node where the first curve begins."""
        return self.nodes[self.legs[0][0]]

    @property
    def end(self) -> Body:
        """The node where the last curve ends."""
        return self.nodes[self.legs[-1][-1]]


# ---- Mass of finite elements that couples their nodes: consistent, or by a few Gauss points; nodes have lumped
# masses

KINDS = "lumped", "consistent", "gauss"
MEANING = ("lumped at the nodes; or coupled over each finite element, by exact quadrature or by p Gauss points, for "
           "time elements without the inverse of the mass matrix")


def coupled_less_lumped(mesh):
    """`m_ab - w_a delta_ab` of a finite element of length one of a `CurveMesh`, shape (n_nodes, n_nodes)."""
    x, w = gauss_legendre(mesh.degree + (mesh.mass == "consistent"))
    values = mesh.basis.values(x)
    return values.T @ (w[:, None] * values) - np.diag(mesh.lobatto)


class CoupledMass(Part):
    """Kinetic energy of a finite element of a rope, less that of the masses at its nodes.

    `T = 1/2 sum_ab (m_ab - w_a delta_ab) rho A x_a'.x_b'` with `m_ab = int N_a N_b ds` and the weights w_a of the
    Lobatto rule. By p Gauss points the mass matrix of a rope is singular: an oscillation from node to node has no mass.

    Own parameters: m_ab - w_a delta_ab (n_nodes^2) [m], mass per length.

    Parameters
    ----------
    nodes : sequence of PointMass
    masses : ndarray, shape (n_nodes, n_nodes)
        m_ab - w_a delta_ab [m].
    section : RopeSection
    """

    couples_inertia = True

    def __init__(self, nodes, masses, section):
        self.bodies, self.masses, self.mass_per_length = tuple(nodes), masses, section.mass
        self.own_parameters = self.declared_numbers()

    def numbers(self, c):
        return {"masses": c.masses, "mass_per_length": c.mass_per_length}

    def __repr__(self):
        return f"mass of {self.bodies[0]!r} to {self.bodies[-1]!r}"

    @property
    def kind(self):
        return (type(self), *(body.kind for body in self.bodies))

    def kinetic(self, s, v):
        n = len(self.bodies)
        masses, places = ca.reshape(s.own[:n * n], n, n), ca.horzcat(*v)
        return s.own[n * n] * ca.trace(places @ masses @ places.T) / 2


class CoupledInertia(CoupledMass):
    """The same of a beam in directors: with the section's Euler tensor E, `rho A x_a'.x_b' + sum_i E_i d_ia'.d_ib'`.

    Constant, and singular for thin sections.

    Own parameters: m_ab - w_a delta_ab (n_nodes^2) [m], mass per length, E (3), and where sections are turned against
    the nodes their rotation per node.

    Parameters
    ----------
    nodes : sequence of DirectorBody
    masses : ndarray, shape (n_nodes, n_nodes)
        m_ab - w_a delta_ab [m].
    section : Section
    turned : ndarray, shape (n_nodes, 9), optional
        See `strains`.
    """

    def __init__(self, nodes, masses, section, turned=None):
        self.turned, self.turns = turned is not None, np.zeros(0) if turned is None else turned.ravel()
        self.euler = joined(*(sum(section.inertia) / 2 - j for j in section.inertia))
        super().__init__(nodes, masses, section)

    def numbers(self, c):
        return {**super().numbers(c), "euler": c.euler, "turns": c.turns}

    @property
    def kind(self):
        return (type(self), self.turned, *(body.kind for body in self.bodies))

    def kinetic(self, s, v):
        n = len(self.bodies)
        start = n * n + 4
        masses, euler = ca.reshape(s.own[:n * n], n, n), s.own[n * n + 1:start]
        turns = ca.vertsplit(s.own[start:], 9) if self.turned else [None] * n
        rates = [ca.reshape(x[3:], 3, 3) if t is None else ca.reshape(x[3:], 3, 3) @ ca.reshape(t, 3, 3)
                 for x, t in zip(v, turns, strict=True)]
        total = super().kinetic(s, [x[:3] for x in v])
        for i in range(3):
            directors = ca.horzcat(*(r[:, i] for r in rates))
            total += euler[i] * ca.trace(directors @ masses @ directors.T) / 2
        return total
