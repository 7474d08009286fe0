"""What joints, forces, sensors, controls and outputs act on: coordinates of bodies, and what moves with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import casadi as ca
import numpy as np

from ..errors import InputError
from .bodies.states import Pose
from .declared.declared import Declared

if TYPE_CHECKING:
    from .shapes import Piece


class BodyFrame(Declared, abstract=True):
    """Some coordinates of bodies, and the frame that moves with them, where there is one.

    A body is one with all its coordinates. Links and joints of a tree are others of it, with some of its coordinates; a
    point of a beam is one of those of its nodes. These have no mass and no state, and stand in no system: what acts on
    them acts on the coordinates of their bodies.

    Attributes
    ----------
    body : Body
        Whose coordinates they are; of the point of a beam its `frames` say.
    dofs : ndarray of int, shape (n_q,)
        Which of those of `body`.
    numbers_of_body : ndarray of int
        Which of the parameters of `body` its own are.
    address : tuple
        What `body.frame_at` finds it by; () of a body.
    frames : tuple of BodyFrame
        Those of single bodies that it consists of: itself, or the nodes of a beam.
    """

    is_body = False  # whether the coordinates are its own
    n_q = 0
    dimension = 3  # of the space that it moves in
    has_position = False  # whether it has a `frame` for points and joints
    has_orientation = False  # whether that frame turns, with an `angular_velocity_map`
    has_rate = True  # whether formulas may see velocities of its coordinates
    first_order = ()  # numbers of coordinates without momenta, whose rates are what forces on them add up to
    is_port = is_counter = helper = False
    owner, place = None, ""  # the composite part that it is of, and what it is called there
    reference = Pose()  # its state where none is given
    own_parameters = np.zeros(0)
    constraint_names = ()  # of its own
    quaternions = ()  # places of quaternions among q, of a tree
    n_increments = None  # of `moved`; None: there are no increments
    own_symbols = None  # of `own_parameters` that stand in formulas which are not given them, such as `frame`
    has_inverse_mass = False
    velocity_by_solve = False  # whether velocities follow from momenta in numbers only
    quaternion_place = None  # of the quaternion among q, in which the rotation matrix of a `frame_lift` is quadratic
    frame_names = {}  # noqa: RUF012  of frames that it offers: name -> word for `frame_at`
    address = ()

    @property
    def members(self) -> NoReturn:
        raise InputError(f"System: {self!r} has no coordinates of its own; add {self.body or self.owner!r}")

    @property
    def body(self) -> BodyFrame | None:
        return None

    @property
    def dofs(self) -> np.ndarray:
        return np.arange(self.n_q)

    @property
    def numbers_of_body(self) -> np.ndarray:
        return np.arange(len(self.own_parameters))

    @property
    def frames(self) -> tuple[BodyFrame, ...]:
        return (self,)

    @property
    def bodies(self) -> tuple[BodyFrame, ...]:
        return (self,)

    @property
    def parameters(self) -> np.ndarray:
        return self.own_parameters

    def frame_lift(self, q: ca.SX, p: ca.SX) -> ca.SX | None:
        """Position, rotation matrix (9,) and further functions of coordinates and momenta, at most quadratic, in which
        frames and their rates are simpler; None: themselves."""
        return None

    def frame_of_lift(self, e: ca.SX, c: ca.SX) -> tuple[ca.SX, ...]:
        """Position (3,) and rotation matrix (3, 3) and their rates, from the `frame_lift` and the parameters."""
        q, p = ca.SX.sym("q", self.n_q), ca.SX.sym("p", self.n_q)
        frame, velocity = ca.horzcat(*self.frame(q)), ca.densify(self.velocity_of_momenta(q, p, c))
        rate = ca.reshape(ca.jtimes(ca.vec(frame), q, velocity), 3, 4)
        frame, rate = ca.substitute([frame, rate], [q, p], [e[:self.n_q], e[self.n_q:]])
        return frame[:, 0], frame[:, 1:], rate[:, 0], rate[:, 1:]

    def rigid_motion(self, q: ca.SX) -> ca.SX | None:
        """Rates of the coordinates by which it goes along the axes of space, and turns about those through the origin,
        SX (n_q, 6); None of bodies that do not move like this. Times the momenta: linear and angular momentum."""
        return None

    def invariant_velocity(self, q: ca.SX, v: ca.SX) -> ca.SX | None:
        """What T(q, v) depends on, bilinear in q and v and unchanged by rigid motions of space; None if unknown."""
        return None

    def invariant_momentum(self, q: ca.SX, p: ca.SX) -> ca.SX | None:
        """What T(q, p) depends on, bilinear in q and p and unchanged by rigid motions of space; None if unknown."""
        return None

    def moved(self, q: ca.SX, u: ca.SX) -> ca.SX:
        """Coordinates after an increment u (n_increments,) that keeps the body's own constraints; here it has none."""
        return q + u

    def null_space(self, q: ca.SX) -> ca.SX:
        """Velocities qdot = P(q) udot that the body's own constraints allow, SX (n_q, n_increments); here all."""
        return ca.SX.eye(self.n_q)

    def angular_velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX | None:
        """Angular velocity in space axes as a formula of its own, SX (3,); None: `angular_velocity_map @ qdot`."""
        return None

    def drawn_pieces(self, q: np.ndarray, p: np.ndarray) -> list[Piece]:
        """What pictures show of it at coordinates and momenta, shape (n, n_q): list of `Piece`."""
        return []


def is_on_tree(thing: Any) -> bool:
    """Whether that is a frame with some coordinates of one body: a link or joint of a tree."""
    return isinstance(thing, BodyFrame) and not thing.is_body and thing.body is not None


def seen_by(frame: BodyFrame, instead: Callable[[Any], Any]) -> BodyFrame:
    """The same frame of the body that `instead(body)` is; itself where that is its own."""
    other = instead(frame.body)
    return frame if other is frame.body else other.frame_at(*frame.address)
