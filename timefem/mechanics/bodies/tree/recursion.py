"""The recursions over the links of a tree, from the base outward, in CasADi symbols."""

import casadi as ca

from .motions import is_there, length_energy


def _numbers(value):
    return value if isinstance(value, ca.SX) else ca.DM(value)


def joint_values(body, q, v=None):
    """Coordinates of the joint of a body, or with `v` their rates, SX of its own length."""
    if v is not None:
        return body.factor * v[body.first:body.first + body.motion.n]
    return body.factor * q[body.first:body.first + body.motion.n] + body.offset


def _relative(body, x):
    """Rotation and place of a body in the frame of its parent, with the joint at `x`."""
    turn, place = ca.SX(ca.sparsify(_numbers(body.turn))), ca.SX(_numbers(body.place))
    rotation, shift = body.motion.relative(x)
    return turn @ rotation, place + turn @ shift


def placements(bodies, q):
    """Place (3,) and rotation matrix (3, 3) of each body in space, list of pairs of SX."""
    found = []
    for body in bodies:
        turn, place = _relative(body, joint_values(body, q))
        if body.parent >= 0:
            above, rotation = found[body.parent]
            place, turn = above + rotation @ place, rotation @ turn
        found.append((place, turn))
    return found


def mass_moment(bodies, q):
    """Sum of mass times centre of mass in space, SX (3,)."""
    return sum((body.mass * place + turn @ _numbers(body.moment)
                for body, (place, turn) in zip(bodies, placements(bodies, q), strict=True)), ca.SX(3, 1))


def weight_moment(bodies, q):
    """The same without what is balanced, see `Link.gravity_compensation`."""
    balanced = sum((body.balanced * place + turn @ _numbers(body.balanced_moment)
                    for body, (place, turn) in zip(bodies, placements(bodies, q), strict=True)
                    if is_there(body.balanced)), ca.SX(3, 1))
    return mass_moment(bodies, q) - balanced


def twists(bodies, q, v):
    """Angular velocity and velocity of the origin of each body, in its own axes: list of pairs of SX (3,).

    `omega_i = R_i^T omega_parent + omega_joint`, `u_i = R_i^T (u_parent + omega_parent x r_i) + u_joint`.
    """
    found = []
    for body in bodies:
        x = joint_values(body, q)
        turn, place = _relative(body, x)
        spin, slide = body.motion.rates(x, joint_values(body, q, v))
        if body.parent >= 0:
            w, u = found[body.parent]
            w, u = turn.T @ w, turn.T @ (u + ca.cross(w, place))
            spin, slide = w + spin, u + slide
        found.append((spin, slide))
    return found


def kinetic(bodies, q, v):
    """T(q, v) = sum of 1/2 m |u|^2 + u.(omega x m c) + 1/2 omega.J omega, with u at the origin of each body's frame.

    O(n) operations (Featherstone, Rigid Body Dynamics Algorithms, 2008). With the inertia of rotors, and that of the
    lengths of quaternions.
    """
    energy = ca.SX(0)
    for body, (w, u) in zip(bodies, twists(bodies, q, v), strict=True):
        energy += (body.mass * ca.dot(u, u) + ca.dot(w, _numbers(body.inertia) @ w)) / 2
        energy += ca.dot(u, ca.cross(w, _numbers(body.moment)))
        if is_there(body.armature):
            rates = body.motion.rates(joint_values(body, q), joint_values(body, q, v))
            energy += body.armature * ca.sumsqr(ca.vertcat(*rates)) / 2
        if body.motion.turns:
            first = body.first + body.motion.first
            energy += body.radial * length_energy(q[first:first + 4], v[first:first + 4])
    return energy


def momenta_in_space(bodies, q, v):
    """Linear momentum, and angular momentum about the origin of space, of each body: list of SX (6,)."""
    found = []
    for body, (place, turn), (w, u) in zip(bodies, placements(bodies, q), twists(bodies, q, v), strict=True):
        moment = _numbers(body.moment)
        push = turn @ (body.mass * u + ca.cross(w, moment))
        turning = ca.cross(place, push) + turn @ (_numbers(body.inertia) @ w + ca.cross(moment, u))
        found.append(ca.vertcat(push, turning))
    return found


def path(bodies, number):
    """Numbers of the bodies from the base to one, in order."""
    found = []
    while number >= 0:
        found.append(number)
        number = bodies[number].parent
    return found[::-1]
