"""Points of beams and ropes between their nodes, which joints, forces, controls and outputs act on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...types import Floats
from ..bodies import rotations
from ..body_frame import BodyFrame
from ..shapes import Piece
from .strains import FRAMES

if TYPE_CHECKING:
    from ..bodies.states import Pose
    from ..part import Body
    from .composite import Composite


class Place(BodyFrame, abstract=True):
    """The point `x = sum N_a x_a` of a beam or rope, of the nodes a of its element; one of a beam has axes too.

    Its coordinates are those of the nodes; forces act on these by the shape functions, `Q_a = (dx/dq_a)^T F`.

    Attributes
    ----------
    frames : tuple of Body
        The nodes.
    s : float
        As `at` takes it.
    shapes, slopes : ndarray, shape (n_nodes,)
        N_a, and dN_a/ds [1/m].
    turned : ndarray, shape (n_nodes, 4 or 9), or None
        Section axes in those of the nodes (see `strains`).
    onto : ndarray, shape (3, 3), or None
        Its axes in those of the section; None where they are the same.
    """

    has_position = has_inverse_mass = True

    def __init__(self, owner: Composite, s: float, nodes: Sequence[Body], shapes: np.ndarray, slopes: np.ndarray,
                 turned: np.ndarray | None = None, onto: np.ndarray | None = None) -> None:
        self.owner, self.place, self.s, self._nodes = owner, f"at({s:.12g})", s, tuple(nodes)
        self.shapes, self.slopes, self.turned, self.onto = shapes, slopes, turned, onto
        self.has_orientation, self.dimension = nodes[0].has_orientation, nodes[0].dimension
        self.sizes = np.cumsum([0, *(b.n_q for b in nodes)]).tolist()
        self.n_q = self.sizes[-1]

    def __repr__(self):
        return f"{type(self.owner).__name__}.{self.place}"

    @property
    def frames(self) -> tuple[Body, ...]:
        return self._nodes

    @property
    def own_parameters(self) -> np.ndarray:
        return np.concatenate([b.own_parameters for b in self._nodes])

    @property
    def kind(self) -> Hashable:
        numbers = [v for v in (self.shapes, self.turned, self.onto) if v is not None]
        return (type(self).__name__, self.turned is None, self.onto is None,
                *(tuple(np.ravel(v).tolist()) for v in numbers), *(b.kind for b in self._nodes))

    def split(self, q: Any) -> list[Any]:
        """Coordinates of the nodes, list of SX (n_q,) or of ndarray (..., n_q)."""
        if isinstance(q, ca.SX):
            return ca.vertsplit(q, self.sizes)
        q = np.asarray(q, float)
        return [q[..., i:j] for i, j in zip(self.sizes[:-1], self.sizes[1:], strict=True)]

    def _sum(self, values):
        return sum(n * v for n, v in zip(self.shapes.tolist(), values, strict=True))

    def _numbers(self, c):
        return ca.vertsplit(c, np.cumsum([0, *(len(b.own_parameters) for b in self._nodes)]).tolist())

    def velocity_of_momenta(self, q: ca.SX, p: ca.SX, c: ca.SX) -> ca.SX:
        """Velocities qdot of the nodes, SX (n_q,)."""
        parts = zip(self._nodes, self.split(q), self.split(p), self._numbers(c), strict=True)
        return ca.vertcat(*(b.velocity_of_momenta(*x) for b, *x in parts))

    def frame(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Position (3,) and axes (3, 3); those of director beams are orthonormal at the nodes only."""
        q = self.split(q)
        if not self.has_orientation:
            return ca.vertcat(self._sum(q), ca.SX(3 - self.dimension, 1)), ca.SX.eye(3)
        position, rotation = FRAMES[self._nodes[0].rotation](q, self._turns, self.shapes.tolist())[:2]
        return position, rotation if self.onto is None else rotation @ ca.DM(self.onto)

    @property
    def _turns(self):
        return None if self.turned is None else [ca.DM(t) for t in self.turned]

    def angular_velocity_map(self, q: ca.SX) -> ca.SX:
        """A(q), shape (3, n_q): the angular velocity in space axes is A(q) qdot."""
        return FRAMES[self._nodes[0].rotation](self.split(q), self._turns, self.shapes.tolist())[2]

    def position(self, q: Floats) -> np.ndarray:
        """Position, shape (..., n_q) -> (..., 3) [m]."""
        return self._sum([b.position(x) for b, x in zip(self._nodes, self.split(q), strict=True)])

    def state(self, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
        raise InputError(f"{self!r} has no state of its own; give those of the nodes")

    def drawn_pieces(self, q: np.ndarray, p: np.ndarray) -> list[Piece]:
        still = np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3))
        turning = (self.rotation_matrix(q), self.angular_velocity(q, p, "space")) if self.has_orientation else still
        return [Piece("", None, np.zeros(3), self.position(q), self.velocity(q, p), *turning)]

    def velocity(self, q: Floats, p: Floats) -> np.ndarray:
        """Velocity, shape (..., 3) [m/s]."""
        parts = zip(self._nodes, self.split(q), self.split(p), strict=True)
        return self._sum([b.velocity(x, y) for b, x, y in parts])

    def moving(self, q: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Velocity, and angular velocity of a beam, in space axes, from the rates qdot: two arrays (..., 3)."""
        moved = self._sum([r[..., :3] for r in self.split(rate)])
        return np.concatenate([moved, np.zeros((*moved.shape[:-1], 3 - moved.shape[-1]))], axis=-1), None


class BeamPlace(Place):
    """A point of a beam: it has axes."""

    def rotation_matrix(self, q: Floats) -> np.ndarray:
        """Rotation matrix, shape (..., 3, 3): of director beams the orthonormal matrix next to their axes."""
        r = self.section_axes(q)
        return r if self.onto is None else r @ self.onto

    def section_axes(self, q: Floats) -> np.ndarray:
        """Rotation matrix of the section, shape (..., 3, 3): axis 1 along the beam at rest."""
        return self._axes(self.split(q), None)[0]

    def angular_velocity(self, q: Floats, p: Floats, frame: str = "body") -> np.ndarray:
        """Angular velocity [rad/s] in its axes or those of space, shape (..., 3)."""
        q, rates = self.split(q), []
        for b, x, y in zip(self._nodes, q, self.split(p), strict=True):
            omega = b.angular_velocity(x, y, "space")
            if b.rotation == "quaternion":
                turning = np.concatenate([np.zeros((*omega.shape[:-1], 1)), omega], axis=-1)
                rates.append(rotations.product(turning, b.quaternion(x)) / 2)
            else:
                directors = x[..., 3:].reshape(*x.shape[:-1], 3, 3)
                rates.append(np.cross(omega[..., None, :], directors).reshape(*x.shape[:-1], 9))
        omega = self._axes(q, rates)[1]
        if frame == "space":
            return omega
        return np.einsum("...ba,...b->...a", self.rotation_matrix(np.concatenate(q, axis=-1)), omega)

    def moving(self, q: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        rates = self.split(rate)
        return super().moving(q, rate)[0], self._axes(self.split(q), [r[..., 3:] for r in rates])[1]

    def _axes(self, q, rates):
        """Rotation matrix of the section, and its angular velocity in space axes from rates of the nodes."""
        if self._nodes[0].rotation == "quaternion":
            return self._of_quaternions([x[..., 3:] for x in q], rates)
        turns = [np.eye(3)] * len(q) if self.turned is None else [t.reshape(3, 3).T for t in self.turned]

        def axes(values):  # as columns
            return self._sum([np.swapaxes(v.reshape(*v.shape[:-1], 3, 3), -1, -2) @ t
                              for v, t in zip(values, turns, strict=True)])

        r = axes([x[..., 3:] for x in q])
        u, _, v = np.linalg.svd(r)
        if rates is None:
            return u @ v, None
        spin = np.cross(np.swapaxes(r, -1, -2), np.swapaxes(axes(rates), -1, -2)).sum(axis=-2)
        sizes = (r**2).sum(axis=(-2, -1))[..., None, None] * np.eye(3) - r @ np.swapaxes(r, -1, -2)
        return u @ v, np.linalg.solve(sizes, spin[..., None])[..., 0]

    def _of_quaternions(self, nodes, rates):
        turned = [np.array([1.0, 0, 0, 0])] * len(nodes) if self.turned is None else self.turned
        nodes = [rotations.product(x, t) for x, t in zip(nodes, turned, strict=True)]
        signs = [np.where((x * nodes[0]).sum(axis=-1, keepdims=True) < 0, -1, 1) for x in nodes]
        p = self._sum([x * sign for x, sign in zip(nodes, signs, strict=True)])
        size = np.linalg.norm(p, axis=-1, keepdims=True)
        axes = rotations.matrix_from_quaternion(p / size)
        if rates is None:
            return axes, None
        rate = self._sum([rotations.product(x, t) * sign for x, t, sign in zip(rates, turned, signs, strict=True)])
        return axes, 2 * rotations.product(rate, p * np.array([1, -1, -1, -1]))[..., 1:] / size**2


def place_named(composites, text):
    """The place that a text such as "beam.at(0.4)", "beam.end" or the name of a mark stands for; None where there is
    none."""
    for composite in composites:
        for end in ("start", "end"):
            if composite.name and text == f"{composite.name}.{end}":
                return getattr(composite, end, None)
        for name, s in getattr(composite, "marks", ()):
            if name == text:
                return composite.at(s)
        start = f"{composite.name}.at("
        if composite.name and text.startswith(start) and text.endswith(")"):
            try:
                s = float(text[len(start):-1])
            except ValueError:
                return None
            return composite.at(s)
    return None
