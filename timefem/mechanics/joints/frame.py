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


def constraint_lift(part, s):
    """`Part.constraint_lift` of what sees frames only: what these are made of; None where no body gains by it."""
    lifts = [body.frame_lift(q, p) for body, q, p in zip(part.bodies, s.q, s.p, strict=True)]
    if all(lift is None for lift in lifts):
        return None
    return ca.vertcat(*(ca.vertcat(q, p) if lift is None else lift
                        for lift, q, p in zip(lifts, s.q, s.p, strict=True)))


def lifted_constraints(part, s, e, t, rows):
    """`Part.lifted_constraints` of what sees frames only: `rows(frames, t)` and their rates.

    Parameters
    ----------
    part : Part
    s : Symbols
    e, t : SX
        The `constraint_lift`, and the time.
    rows : callable
        Constraints, SX (m,), of the frames of the bodies, `Frame`, and the time.
    """
    frames, places, rates, start = [], [], [], 0
    for body, c in zip(part.bodies, s.bodies, strict=True):
        lift = body.frame_lift(*(ca.SX.sym("x", body.n_q) for _ in range(2)))
        stop = start + (2 * body.n_q if lift is None else lift.numel())
        *frame, velocity, turning = body.frame_of_lift(e[start:stop], c)
        frames.append(Frame(ca.SX.sym("x", 3), ca.SX.sym("R", 3, 3), None))
        places += [frame[0], ca.vec(frame[1])]
        rates += [velocity, ca.vec(turning)]
        start = stop
    time, seen = ca.SX.sym("t"), ca.vertcat(*(x for f in frames for x in (f.position, ca.vec(f.rotation))))
    phi = rows(frames, time)
    rate = ca.jtimes(phi, seen, ca.vertcat(*rates)) + ca.jacobian(phi, time)
    return ca.substitute(ca.vertcat(phi, rate), ca.vertcat(seen, time), ca.vertcat(*places, t))
