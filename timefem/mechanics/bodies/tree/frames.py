"""Links and joints of a tree, which joints, forces, outputs and controls act on."""

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
from ....errors import InputError
from ....types import Floats, Vector
from ...body_frame import BodyFrame
from ...joints.bound import BoundCoordinate
from ...joints.frame import OwnCoordinate
from ...shapes import Piece
from ...values.evaluate import evaluate
from .dynamics import path, placements, twists
from .structure import moves_places, parameters_of_link, square

if TYPE_CHECKING:
    from ...part import Body

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


class TreeFrame(BodyFrame, abstract=True):
    """Moves with some of the coordinates of a tree, `body`."""

    velocity_by_solve = True
    numbers_of_body: tuple[int, ...] = ()

    def __init__(self, tree: Body, dofs: Vector, address: tuple[Any, ...], name: str) -> None:
        self._tree, self.address, self.name = tree, address, name
        self._dofs = np.array(dofs, int)
        self.key = tree.key, *address[:2], *map(tuple, address[2:])

    @property
    def body(self) -> Body:
        return self._tree

    @property
    def dofs(self) -> np.ndarray:
        return self._dofs

    @property
    def n_q(self) -> int:
        return len(self._dofs)

    @property
    def n_increments(self) -> int:
        return self.n_q

    def velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX:
        raise NotImplementedError(f"velocities of {self!r} follow from the momenta of the whole tree")

    def __repr__(self):
        return f"{self.body!r}.{self.address[0]}({self.address[1]!r})"


class TreeJointCoordinate(TreeFrame):
    """A joint of a tree, for all that takes joints with coordinates: springs, motors, controls, outputs, limits.

    Made by `Tree.joint`. Its coordinates are those of the joint, of mimic joints those of the joint that they follow.

    Attributes
    ----------
    coordinates : tuple
        Its angle or displacement with zero and sense of the joint, `factor q + offset` of mimic joints; x, y and angle
        of a planar joint; none of joints with a quaternion.
    """

    def __init__(self, tree: Body, moving: Any) -> None:
        self.motion, self.factor, self.offset = moving.motion, moving.factor, moving.offset
        super().__init__(tree, moving.places, ("joint", moving.joint.name), f"{tree.name or 'tree'}."
                         f"{moving.joint.name}")

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


class TreeLink(TreeFrame):
    """Frame of a link of a tree, with its origin at a point of the link; made by `Tree.link`.

    Its coordinates are those of the joints between the base and the link.
    """

    has_position = has_orientation = True

    def __init__(self, tree: Body, bodies: Any, link: str, sits: Any, point: Vector = (0.0, 0.0, 0.0)) -> None:
        self._arguments = tree, bodies, link, sits
        number, turn, place = sits
        point = validate.array(f"{tree._title}: point of link {link!r}", point, (3,))
        self._numbers = path(bodies, number)
        self.number = number
        self._bodies, self._turn, self._place, self._shift = bodies, turn, place, turn @ point
        self.numbers_of_body, self._free_turns = parameters_of_link(tree, link, self._numbers)
        self._symbols = ca.SX.sym("place", len(self.numbers_of_body))
        self._point = point
        places = [i for n in self._numbers for i in bodies[n].places]
        super().__init__(tree, sorted(set(places)), ("link", link, point.tolist()),
                         f"{tree.name or 'tree'}.{link}")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_symbols", "_functions")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)  # CasADi sends no symbols to other processes
        self._symbols = ca.SX.sym("place", len(self.numbers_of_body))

    def point(self, place: Vector) -> TreeLink:
        """The link with its origin at a place [m] in the frame of the link, shape (3,); axes are those of the link."""
        return TreeLink(*self._arguments, place)

    @property
    def kind(self) -> Hashable:
        place = self._shift if moves_places(self.body.free) else self._place + self._shift
        own = self._point.tolist() if None in self._free_turns else [*self._turn.ravel().tolist(), *place.tolist()]
        return "link of a tree", self.body.kind, self.number, *own, _LOOSE.get()

    @property
    def own_parameters(self) -> np.ndarray:
        """Places of the joints that carry it, and its own, where they are parameters of the tree."""
        return self.body.own_parameters[self.numbers_of_body]

    @property
    def own_symbols(self) -> ca.SX:
        """Those that stand for `own_parameters` in its formulas."""
        return self._symbols

    @cached_property
    def _functions(self):
        """Place beside rotation matrix, and Jacobians of angular velocity and velocity in space, column by column."""
        n = self.body.n_q
        q, v = (ca.SX.sym(name, len(self._dofs)) for name in "qv")
        whole, rates = ca.SX(n, 1), ca.SX(n, 1)
        whole[self._dofs.tolist()], rates[self._dofs.tolist()] = q, v
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
        return len(self._dofs) + 6 * _LOOSE.get()

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
        return ca.vertsplit(q, [0, len(self._dofs), self.n_q]) if _LOOSE.get() else (q, None)

    def angular_velocity_map(self, q: ca.SX) -> ca.SX:
        """Symbolic A(q), shape (3, n_q): the angular velocity in space axes is omega = A(q) qdot."""
        q, shift = self._split(q)
        spin = ca.reshape(self._functions["spin"](q, [], self._symbols), 3, len(self._dofs))
        return spin if shift is None else ca.horzcat(spin, ca.SX(3, 3), ca.SX.eye(3))

    # ---- numbers: of arrays of the own coordinates, shape (..., n_q), and their rates

    def _at(self, name, q):
        """Values of a function, shape (..., n_rows, n_columns)."""
        q, function = np.asarray(q, float), self._functions[name]
        if q.shape[-1:] != (len(self._dofs),):
            raise InputError(f"{self} hangs at {len(self._dofs)} coordinates of its tree, and q has shape {q.shape}; "
                             "of all coordinates tree.link_pose(name, q) tells")
        n = int(np.prod(q.shape[:-1]))
        values = evaluate(function, q.reshape(n, 1, q.shape[-1]), np.zeros((n, 0)), self.own_parameters[None])
        return values.reshape(*q.shape[:-1], function.size1_out(0) // 3, 3).swapaxes(-1, -2)

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
