"""What joints see of a body."""

from typing import Any, NamedTuple

import casadi as ca

UNTURNED = ca.vec(ca.densify(ca.SX.eye(3)))  # the rotation matrix of what is not turned


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
    """`Part.constraint_lift` of what sees frames only: what these are made of; None where no body gains by it.

    Of two bodies whose rotation is a quaternion also the relative one, conj(q_b) q_a.
    """
    lifts = [body.frame_lift(q, p) for body, q, p in zip(part.bodies, s.q, s.p, strict=True)]
    if all(lift is None for lift in lifts):
        return None
    return ca.vertcat(*(ca.vertcat(q, p) if lift is None else lift
                        for lift, q, p in zip(lifts, s.q, s.p, strict=True)), _relative(part.bodies, s.q))


def lifted_constraints(part, s, e, t, rows):
    """`Part.lifted_constraints` of what sees frames only: `rows(frames, t)` and their rates.

    Rows that are scalar products of directions in two bodies are taken in the axes of the second one: functions of the
    relative quaternion alone, of half the size, which turns of space leave as they are.

    Parameters
    ----------
    part : Part
    s : Symbols
    e, t : SX
        The `constraint_lift`, and the time.
    rows : callable
        Constraints, SX (m,), of the frames of the bodies, `Frame`, and the time.
    """
    frames, places, rates, spins, start = [], [], [], [], 0
    for body, c in zip(part.bodies, s.bodies, strict=True):
        lift = body.frame_lift(*(ca.SX.sym("x", body.n_q) for _ in range(2)))
        stop = start + (2 * body.n_q if lift is None else lift.numel())
        *frame, velocity, turning = body.frame_of_lift(e[start:stop], c)
        frames.append(Frame(ca.SX.sym("x", 3), ca.SX.sym("R", 3, 3), None))
        places += [frame[0], ca.vec(frame[1])]
        rates += [velocity, ca.vec(turning)]
        if body.quaternion_place is not None:
            spins.append(body.frame_of_lift(ca.vertcat(e[start:start + 3], UNTURNED, e[start + 12:stop]), c)[3])
        start = stop
    time, seen = ca.SX.sym("t"), ca.vertcat(*(x for f in frames for x in (f.position, ca.vec(f.rotation))))
    phi = rows(frames, time)
    symbols, given, rates = ca.vertcat(seen, time), ca.vertcat(*places, t), ca.vertcat(*rates)
    found = _with_rates(phi, seen, time, rates, symbols, given)
    if start < e.numel():
        rotation = part.bodies[0].frame(ca.vertcat(ca.SX.zeros(3), e[start:]))[1]
        turning = rotation @ spins[0] - spins[1] @ rotation
        nowhere = ca.SX.zeros(3)
        given = ca.vertcat(nowhere, ca.vec(rotation), nowhere, UNTURNED, t)
        rates = ca.vertcat(nowhere, ca.vec(turning), nowhere, ca.SX.zeros(9))
        relative = _with_rates(phi, seen, time, rates, symbols, given)
        across = [i for i in range(phi.numel()) if _is_of_products(phi[i], *frames)]
        across += [i + phi.numel() for i in across]
        found[across] = relative[across]
    return found


def _with_rates(phi, seen, time, rates, symbols, given):
    rate = ca.jtimes(phi, seen, rates) + ca.jacobian(phi, time)
    return ca.substitute(ca.vertcat(phi, rate), symbols, ca.densify(given))


def _relative(bodies, q):
    """conj(q_b) q_a of the quaternions of two bodies, SX (4,); without them SX (0,)."""
    if len(bodies) != 2 or any(body.quaternion_place is None for body in bodies):
        return ca.SX(0, 1)
    given = [x[body.quaternion_place] for body, x in zip(bodies, q, strict=True)]
    (a, v), (b, w) = ((x[0], x[1:]) for x in given)
    return ca.vertcat(a * b + ca.dot(v, w), b * v - a * w - ca.cross(w, v))


def _is_of_products(row, a, b):
    """Whether an expression is a sum of scalar products of directions in a and b, as its second derivatives show."""
    first, second = ca.vec(a.rotation), ca.vec(b.rotation)
    slope = ca.jacobian(row, first)
    mixed = ca.jacobian(slope, second)
    rest = ca.substitute(ca.vertcat(slope.T, ca.jacobian(row, second).T), ca.vertcat(first, second), ca.SX.zeros(18))
    if ca.depends_on(row, ca.vertcat(a.position, b.position)) or not rest.is_zero() \
            or ca.depends_on(mixed, ca.vertcat(first, second)) or not mixed.nnz():
        return False
    blocks = [mixed[i::3, i::3] for i in range(3)]
    same = all(ca.is_equal(x, y, 20) for block in blocks[1:] for x, y in
               zip(block.nonzeros(), blocks[0].nonzeros(), strict=True))
    return same and mixed.nnz() == sum(block.nnz() for block in blocks)
