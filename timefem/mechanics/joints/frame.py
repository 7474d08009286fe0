"""What joints see of a body."""

from typing import Any, NamedTuple

import casadi as ca


class Frame(NamedTuple):
    """What a joint sees of a body or of the ground, in CasADi symbols.

    Attributes
    ----------
    position : SX, shape (3,)
        Centre of mass [m]; the origin for the ground.
    rotation : SX, shape (3, 3)
        Rotation matrix, body to space; the identity for the ground and for point masses.
    q : SX, shape (n_q,)
        Coordinates as they are; bodies of other classes, without a frame, have only these.
    """

    position: Any
    rotation: Any
    q: Any
    _methods = "point", "direction"

    @classmethod
    def of(cls, body, q):
        position, rotation = body.frame(q) if body.has_position else (None, None)
        return cls(position, rotation, q)

    @classmethod
    def ground(cls):
        return cls(ca.SX.zeros(3), ca.SX.eye(3), ca.SX(0, 1))

    def point(self, x):
        """Place in space of a point given in body axes, shape (3,)."""
        return self.position + self.rotation @ x

    def direction(self, a):
        """A vector given in body axes, in space axes, shape (3,)."""
        return self.rotation @ a


def frames_of(bodies, q):
    """Frames of bodies a and b at their coordinates; where there is one body only, b is the ground."""
    frames = [Frame.of(body, x) for body, x in zip(bodies, q, strict=True)]
    return frames + [Frame.ground()] * (2 - len(frames))
