"""How the child of a joint moves in the frame of the joint: one entry per kind, in CasADi symbols.

Frames are at the joint, with z along its axis; universal joints turn about z, then about x. Rotations in space are
quaternions (scalar first) whose length is a coordinate of its own: place and velocities depend on q / |q| only, and the
kinetic energy has a term `c/2 (q.qdot)^2 / |q|^4`, which leaves the length at rest. So there is no constraint, and no
singular orientation.
"""

from typing import Any

import casadi as ca
import numpy as np

from .... import validate
from ....errors import InputError
from ....records import frozen
from .. import rotations
from ..states import Pose


@frozen
class Motion:
    """One kind of joint.

    Attributes
    ----------
    components : tuple of str
        What the coordinates are called after the name of the joint; one without a name is called as the joint is.
    first : int
        Where the quaternion starts, -1 without one.
    relative : callable
        `relative(x)` -> rotation matrix and place of the child in the frame of the joint.
    rates : callable
        `rates(x, v)` -> angular velocity, and velocity of its origin, of the child in its own axes.
    """

    components: tuple
    first: int
    relative: Any
    rates: Any
    single: str = ""  # what a coordinate without a name of its own is

    def __reduce__(self):
        return _motion, (next(kind for kind, motion in MOTIONS.items() if motion is self),)

    @property
    def n(self):
        return len(self.components)

    @property
    def told(self):
        """Name and unit of each coordinate that is an angle or a way; none of joints with a quaternion."""
        if self.turns:
            return ()
        names = [name or self.single for name in self.components]
        return tuple((name, "rad" if name.startswith("angle") else "m") for name in names)

    @property
    def turns(self):
        """Whether it has a quaternion."""
        return self.first >= 0

    @property
    def start(self):
        """Coordinates of the joint at zero, shape (n,)."""
        return np.eye(1, self.n, self.first)[0] if self.turns else np.zeros(self.n)


def _about_z(angle):
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.sparsify(ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1)))


def _about_x(angle):
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.sparsify(ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, -s), ca.horzcat(0, s, c)))


def _turned(x):
    """Rotation matrix of a quaternion of any length."""
    a, v = x[0], x[1:]
    e, g = (ca.horzcat(-v, a * ca.SX.eye(3) + sign * ca.skew(v)) for sign in (1, -1))
    return ca.densify(e @ g.T) / ca.sumsqr(x)


def _spin(x, v):
    """Angular velocity in the axes of the child, `2 G(x) v / |x|^2`."""
    return 2 * (x[0] * v[1:] - v[0] * x[1:] - ca.cross(x[1:], v[1:])) / ca.sumsqr(x)


NONE = ca.SX(3, 1)
QUATERNION = ("quaternion w", "quaternion x", "quaternion y", "quaternion z")
MOTIONS = {
    "revolute": Motion(("",), -1, lambda x: (_about_z(x), NONE), lambda x, v: (ca.vertcat(0, 0, v), NONE),
                       "angle"),
    "prismatic": Motion(("",), -1, lambda x: (ca.SX.eye(3), ca.vertcat(0, 0, x)),
                        lambda x, v: (NONE, ca.vertcat(0, 0, v)), "displacement"),
    "planar": Motion(("x", "y", "angle"), -1, lambda x: (_about_z(x[2]), ca.vertcat(x[:2], 0)),
                     lambda x, v: (ca.vertcat(0, 0, v[2]), _about_z(x[2]).T @ ca.vertcat(v[:2], 0))),
    "universal": Motion(("angle_b", "angle_a"), -1, lambda x: (_about_z(x[0]) @ _about_x(x[1]), NONE),
                        lambda x, v: (ca.vertcat(v[1], v[0] * ca.sin(x[1]), v[0] * ca.cos(x[1])), NONE)),
    "spherical": Motion(QUATERNION, 0, lambda x: (_turned(x), NONE), lambda x, v: (_spin(x, v), NONE)),
    "floating": Motion(("x", "y", "z", *QUATERNION), 3, lambda x: (_turned(x[3:]), x[:3]),
                       lambda x, v: (_spin(x[3:], v[3:]), _turned(x[3:]).T @ v[:3])),
}
KINDS = (*MOTIONS, "fixed")


def _motion(kind):
    """For pickle, which takes no functions without a name."""
    return MOTIONS[kind]


def is_there(value):
    """Whether a number, or the symbol for one, is not zero."""
    return isinstance(value, ca.SX) or bool(value)


def length_energy(x, v):
    """`(x.v)^2 / |x|^4 / 2` of a quaternion."""
    return (ca.dot(x, v) / ca.sumsqr(x)) ** 2 / 2


def coordinates_of(title, kind, value):
    """Coordinates and their rates, two arrays (n,), of the state that a user gives to a joint of that kind.

    A position or (position, rate) in the numbers of `told`, or a dict of these by the names of coordinates; of
    spherical and floating joints also a `Pose` in the frame of the joint.
    """
    motion = MOTIONS[kind]
    if isinstance(value, dict) and not motion.turns:
        value = _by_name(title, [name for name, _ in motion.told], value)
    if not isinstance(value, Pose):
        n, n_rate = motion.n, motion.n - motion.turns
        try:
            flat = np.concatenate([np.ravel(x) for x in (value if isinstance(value, list | tuple) else [value])])
        except (TypeError, ValueError):
            flat = value
        flat = validate.array(f"{title}: position, or position and rate,", flat, (None,))
        if len(flat) not in (n, n + n_rate):
            what = f"{n} numbers" if n > 1 else "a number"
            raise InputError(f"{title}: a {kind} joint takes {what} for its position, and {n_rate} more for its rate, "
                             f"not {len(flat)}" + "; or a Pose" * motion.turns)
        x, v = flat[:n], np.append(flat[n:], np.zeros(n_rate))[:n_rate]
        if not motion.turns:
            return x, v
        first = motion.first
        value = Pose((*x[:first], 0, 0, 0)[:3], x[first:], (*v[:first], 0, 0, 0)[:3], v[first:])
    elif not motion.turns:
        raise InputError(f"{title}: the state of a {kind} joint must be a position or (position, rate), not a Pose")
    if kind == "spherical" and (np.any(value.position) or np.any(value.velocity)):
        raise InputError(f"{title}: a spherical joint does not move in position; give a Pose with orientation and "
                         "angular velocity only")
    turning = rotations.convective_map(value.quaternion).T @ value.angular_velocity_in("body") / 2
    both = (value.position, value.quaternion), (value.velocity, turning)
    return tuple(np.concatenate(x[-2 if motion.first else -1:]) for x in both)


def _by_name(title, names, given):
    """Positions and rates, from those of coordinates by name, as joints between bodies take them."""
    for name in given:
        validate.choice(f"{title}: coordinate", name, tuple(names))
    both = np.zeros((2, len(names)))
    for name, value in given.items():
        what = f"{title}: {name}: value or (value, rate)"
        pair = validate.array(what, value, (2,)) if np.ndim(value) else [validate.real(what, value)]
        both[:len(pair), names.index(name)] = pair
    return tuple(both)


def told(kind, x, v):
    """Position and rate of a joint, from coordinates and rates of shape (..., n), as reports tell them.

    One number each; of universal joints (..., 2), of planar joints (..., 3); of spherical joints a unit quaternion
    (..., 4) and the angular velocity (..., 3) in the axes of the child; of floating joints the place before the one,
    and its velocity before the other.
    """
    motion = MOTIONS[kind]
    if motion.n == 1:
        return x[..., 0], v[..., 0]
    if not motion.turns:
        return x, v
    place, quaternion = x[..., :motion.first], x[..., motion.first:]
    speed, rate = v[..., :motion.first], v[..., motion.first:]
    square = (quaternion**2).sum(axis=-1, keepdims=True)
    spin = 2 * np.einsum("...ab,...b->...a", rotations.convective_map(quaternion), rate) / square
    return np.concatenate([place, quaternion / np.sqrt(square)], axis=-1), np.concatenate([speed, spin], axis=-1)
