"""Links and joints of a tree, as bodies that joints, forces, outputs and controls take."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .... import validate
from ....types import Expression, Floats, Vector
from ...joints.bound import BoundCoordinate
from ...joints.coordinates import OwnCoordinate
from ...part import Body
from ...point_functions import evaluate
from ...shapes import Piece
from .numbers import square
from .recursion import path, placements, twists

if TYPE_CHECKING:
    from .tree import Tree

_LOOSE = ContextVar("whether links can leave their trees", default=False)


@contextmanager
def loose_links():
    """Where links have six coordinates more: a shift from their place, and a small rotation about it, in space.

    The generalized forces along these are the force and the torque on the link.
    """
    token = _LOOSE.set(True)
    try:
        yield
    finally:
        _LOOSE.reset(token)


class Carried(Body, abstract=True):
    """Moves with some of the coordinates of a tree, and has no mass of its own. The tree is in the system, not this.

    Attributes
    ----------
    carrier : Tree
    places : ndarray of int, shape (n_q,)
        Of its coordinates in those of the tree.
    called : tuple
        What `Tree.carried` makes it from.
    """

    has_inverse_mass = False
    velocity_by_solve = True
    parameters_of_carrier = ()  # which of those of the carrier are its own

    def __init__(self, carrier: Tree, places: Vector, called: tuple[Any, ...], name: str) -> None:
        self.carrier, self.called, self.name = carrier, called, name
        self.places = np.array(places, int)
        self.key = carrier.key, *called[:2], *map(tuple, called[2:])

    @property
    def n_q(self) -> int:
        return len(self.places)

    @property
    def n_increments(self) -> int:
        return self.n_q

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        raise NotImplementedError(f"{self!r} has no kinetic energy of its own")

    kinetic_of_velocity = kinetic_energy

    def __repr__(self):
        return f"{self.carrier!r}.{self.called[0]}({self.called[1]!r})"


class TreeJointCoordinate(Carried):
    """A joint of a tree, for all that takes joints with coordinates: springs, motors, controls, outputs, limits.

    Made by `Tree.joint`. As a body it has the coordinates of the joint, of mimic joints those of the joint that they
    follow.

    Attributes
    ----------
    coordinates : tuple
        Its angle or displacement with zero and sense of the joint, `factor q + offset` of mimic joints; x, y and angle
        of a planar joint; none of joints with a quaternion.
    """

    def __init__(self, carrier: Tree, body: Any) -> None:
        self.motion, self.factor, self.offset = body.motion, body.factor, body.offset
        super().__init__(carrier, body.places, ("joint", body.joint.name), f"{carrier.name or 'tree'}."
                         f"{body.joint.name}")

    @property
    def kind(self) -> Hashable:
        return "joint of a tree", self.n_q

    @cached_property
    def coordinates(self) -> tuple[OwnCoordinate, ...]:
        return tuple(OwnCoordinate.of(i, self.factor, self.offset, name, unit)
                     for i, (name, unit) in enumerate(self.motion.told))

    def coordinate_numbers(self, c: Any) -> dict[str, Any]:
        """Of its coordinates: factor and offset, which shape the formulas."""
        return {x.name: x.numbers for x in self.coordinates}

    @cached_property
    def _bound(self):
        return {c.name: BoundCoordinate(self, (self,), c) for c in self.coordinates}

    def bound(self, name: str | None = None) -> BoundCoordinate:
        """The coordinate of that name, or the first."""
        return self._bound[validate.choice(f"coordinate of {self!r}", name or self.coordinates[0].name,
                                           tuple(self._bound))]


class TreeLink(Carried):
    """Frame of a link of a tree, with its origin at a point of the link; made by `Tree.link`.

    Its coordinates are those of the joints between the base and the link.
    """

    has_position = has_orientation = True

    def __init__(self, carrier: Tree, bodies: Any, link: str, sits: Any, point: Vector = (0.0, 0.0, 0.0)) -> None:
        self._arguments = carrier, bodies, link, sits
        number, turn, place = sits
        point = validate.array(f"{carrier._title}: point of link {link!r}", point, (3,))
        self._numbers = path(bodies, number)
        self.number = number
        self._bodies, self._turn, self._place, self._shift = bodies, turn, place, turn @ point
        self.parameters_of_carrier, self._free_turns = carrier.parameters_of_link(link, self._numbers)
        self._symbols = ca.SX.sym("place", len(self.parameters_of_carrier))
        self._point = point
        places = [i for n in self._numbers for i in bodies[n].places]
        super().__init__(carrier, sorted(set(places)), ("link", link, point.tolist()),
                         f"{carrier.name or 'tree'}.{link}")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_symbols", "_functions")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)  # CasADi sends no symbols to other processes
        self._symbols = ca.SX.sym("place", len(self.parameters_of_carrier))

    def point(self, place: Vector) -> TreeLink:
        """The link with its origin at a place [m] in the frame of the link, shape (3,); axes are those of the link."""
        return TreeLink(*self._arguments, place)

    @property
    def kind(self) -> Hashable:
        place = self._shift if self.carrier.places_are_free else self._place + self._shift
        own = self._point.tolist() if None in self._free_turns else [*self._turn.ravel().tolist(), *place.tolist()]
        return "link of a tree", self.carrier.kind, self.number, *own, _LOOSE.get()

    @property
    def own_parameters(self) -> np.ndarray:
        """Places of the joints that carry it, and its own, where they are parameters of the tree."""
        return self.carrier.own_parameters[self.parameters_of_carrier]

    @property
    def own_symbols(self) -> ca.SX:
        """Those that stand for `own_parameters` in its formulas."""
        return self._symbols

    @cached_property
    def _functions(self):
        """Place beside rotation matrix, and Jacobians of angular velocity and velocity in space, column by column."""
        n = self.carrier.n_q
        q, v = (ca.SX.sym(name, len(self.places)) for name in "qv")
        whole, rates = ca.SX(n, 1), ca.SX(n, 1)
        whole[self.places.tolist()], rates[self.places.tolist()] = q, v
        chain = self._chain()
        turn, place = ca.SX(ca.sparsify(ca.DM(self._turn))), ca.SX(ca.DM(self._place + self._shift))
        if self._symbols.numel():
            n_places = 3 * (len(chain) + 1)
            *places, place = ca.vertsplit(self._symbols[:n_places], 3)
            turns = ca.vertsplit(self._symbols[n_places:], 9) if self._free_turns else []
            turns = dict(zip(self._free_turns, map(square, turns), strict=True))
            turn = turns.get(None, turn)
            place += turn @ ca.DM(self._point)
            chain = [replace(body, place=own, turn=turns.get(i, body.turn))
                     for i, body, own in zip(self._numbers, chain, places, strict=True)]
        if not chain:
            origin, rotation, spin, speed = place, turn, ca.SX(3, 1), ca.SX(3, 1)
        else:
            above, frame = placements(chain, whole)[-1]
            w, u = twists(chain, whole, rates)[-1]
            origin, rotation = above + frame @ place, frame @ turn
            spin, speed = frame @ w, frame @ (u + ca.cross(w, place))
        columns = {"frame": ca.horzcat(origin, rotation), "spin": ca.jacobian(spin, v), "speed": ca.jacobian(speed, v)}
        none = ca.SX(0, 1)
        return {name: ca.Function(name, [q, none, self._symbols], [ca.vec(ca.densify(x))])
                for name, x in columns.items()}

    @property
    def n_q(self) -> int:
        return len(self.places) + 6 * _LOOSE.get()

    def _chain(self):
        """The bodies that carry the link, with their parents among themselves."""
        new = {old: i for i, old in enumerate(self._numbers)}
        return [replace(self._bodies[i], parent=new.get(self._bodies[i].parent, -1)) for i in self._numbers]

    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Symbolic place of the origin (3,) and rotation matrix (3, 3) at the own coordinates `q`."""
        q, shift = self._split(q)
        columns = ca.reshape(self._functions["frame"](q, [], self._symbols), 3, 4)
        place, turn = columns[:, 0], columns[:, 1:]
        return (place, turn) if shift is None else (place + shift[:3], turn + ca.skew(shift[3:]) @ turn)

    def _split(self, q):
        """Coordinates in the tree, and those of a loose link besides."""
        return ca.vertsplit(q, [0, len(self.places), self.n_q]) if _LOOSE.get() else (q, None)

    def angular_velocity_map(self, q: ca.SX) -> ca.SX:
        """Symbolic A(q), shape (3, n_q): the angular velocity in space axes is omega = A(q) qdot."""
        q, shift = self._split(q)
        spin = ca.reshape(self._functions["spin"](q, [], self._symbols), 3, len(self.places))
        return spin if shift is None else ca.horzcat(spin, ca.SX(3, 3), ca.SX.eye(3))

    # ---- numbers: of arrays of the own coordinates, shape (..., n_q), and their rates

    def _at(self, name, q):
        """Values of a function, shape (..., n_rows, n_columns)."""
        q, function = np.asarray(q, float), self._functions[name]
        n = int(np.prod(q.shape[:-1]))
        values = evaluate(function, q.reshape(n, 1, q.shape[-1]), np.zeros((n, 0)), self.own_parameters[None])
        return values.reshape(*q.shape[:-1], -1, 3).swapaxes(-1, -2)

    def position(self, q: Floats) -> np.ndarray:
        """Place of the origin [m], shape (..., n_q) -> (..., 3)."""
        return self._at("frame", q)[..., :, 0]

    def rotation_matrix(self, q: Floats) -> np.ndarray:
        """Rotation matrix, link to space, shape (..., 3, 3)."""
        return self._at("frame", q)[..., :, 1:]

    def velocity(self, q: Floats, rate: Floats) -> np.ndarray:
        """Velocity of the origin [m/s], of coordinates and their rates, shape (..., 3)."""
        return np.einsum("...ab,...b->...a", self._at("speed", q), rate)

    def motion(self, q: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity, rotation matrix and angular velocity in space, of coordinates and their rates."""
        return (self.position(q), self.velocity(q, rate), self.rotation_matrix(q),
                self.angular_velocity(q, rate, "space"))

    def drawn_pieces(self, q: np.ndarray, rate: np.ndarray) -> list[Piece]:
        return [Piece("", None, np.zeros(3), *self.motion(q, rate))]

    def angular_velocity(self, q: Floats, rate: Floats, frame: str = "body") -> np.ndarray:
        """Angular velocity [rad/s] in the axes of the link or of space, of coordinates and their rates, (..., 3)."""
        validate.choice("frame", frame, ("body", "space"))
        space = np.einsum("...ab,...b->...a", self._at("spin", q), rate)
        return space if frame == "space" else np.einsum("...ba,...b->...a", self.rotation_matrix(q), space)
