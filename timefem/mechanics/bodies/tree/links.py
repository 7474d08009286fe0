"""Links and joints of a tree, which move along tree structures, and sequences of them as arguments; and how the child
of a joint moves in the frame of the joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .... import validate
from ....display import digits
from ....errors import InputError, NamedArguments
from ....records import frozen
from ....types import Converted, Matrix, Vector
from ...declared import Field
from ...shapes import SHAPES, joined, surface
from .. import rotations
from ..states import Pose

if TYPE_CHECKING:
    from ...shapes import Shape


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


class Rows(Field):
    """A sequence of `Link` or `TreeJoint`, or of dicts of their arguments."""

    varies = True

    def __init__(self, cls, help):
        super().__init__(help)
        self.cls, self.kind_of_value = cls, f"sequence of {cls.__name__}"
        self.given_as, self.kept_as = f"Sequence[{cls.__name__}]", f"tuple[{cls.__name__}, ...]"

    def checked(self, part, value):
        if isinstance(value, str | dict) or not hasattr(value, "__iter__"):
            raise InputError(f"{part._argument(self.name)} must be a sequence of {self.cls.__name__}, not {value!r}")
        return tuple(self._made(part, entry) for entry in value)

    def _made(self, part, entry):
        if isinstance(entry, self.cls):
            return entry
        if not isinstance(entry, dict):
            raise InputError(f"{part._argument(self.name)} must be a sequence of {self.cls.__name__}, not {entry!r}")
        try:
            return self.cls(**entry)
        except TypeError as error:
            raise InputError(f"{part._argument(self.name)}: {error}") from None


# ---- What a `Tree` is made of: links, and joints between them

def _orientation(name, value):
    """Rotation matrix of a unit quaternion or a rotation matrix; one that is exact keeps every digit."""
    try:
        turn = rotations.matrix_from_quaternion(rotations.as_quaternion(value))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    exact = np.shape(value) == (3, 3) and np.abs(np.transpose(value) @ value - np.eye(3)).max() <= 1e-15
    return np.array(value, float) if exact else turn


def _shape(title, given):
    """A shape with all its entries, checked."""
    if isinstance(given, dict) and given.get("shape") == "surface":
        return _surface(title, given)
    if not isinstance(given, dict) or not {"shape", "size"} <= given.keys() <= {"shape", "size", "position",
                                                                                 "orientation"}:
        raise InputError(f"{title} are dicts with shape, size, position and orientation, not {given!r}")
    size = validate.array(f"{title}: size", given["size"], (3,))
    if not np.all(size > 0):
        raise InputError(f"{title}: edge lengths must be positive, not {digits(size)}")
    return {"shape": validate.choice(f"{title}: shape", given["shape"], tuple(SHAPES)), "size": size,
            "position": validate.array(f"{title}: position", given.get("position", (0, 0, 0)), (3,)),
            "orientation": _orientation(f"{title}: orientation", given.get("orientation", (1, 0, 0, 0)))}


def _surface(title, given):
    """The same of a surface by its points and faces."""
    if given.keys() != {"shape", "points", "faces"}:
        raise InputError(f"{title}: a surface has points and faces, not {', '.join(given)}")
    points = validate.array(f"{title}: points", given["points"], (None, 3))
    faces = [tuple(map(int, face)) for face in given["faces"]]
    if not faces or not all(len(face) > 2 and 0 <= min(face) <= max(face) < len(points) for face in faces):
        raise InputError(f"{title}: faces must be numbers of three points or more, from 0 to {len(points) - 1}")
    return {"shape": "surface", "points": points, "faces": faces}


def _drawn(given):
    if given["shape"] == "surface":
        return surface(given["points"], given["faces"])
    return SHAPES[given["shape"]](given["size"]).placed(given["position"], given["orientation"])


@frozen(eq=False)
class Link(NamedArguments):
    """A rigid link of a `Tree`.

    Parameters
    ----------
    name : str
    mass : float
        [kg]; zero for a link that is a frame only.
    centre : array_like, shape (3,)
        Centre of mass in the frame of the link [m].
    inertia : array_like, shape (3, 3) or (3,)
        About the centre of mass, or its diagonal [kg m^2].
    orientation : array_like, shape (4,) or (3, 3)
        Of the axes of `inertia` in the frame of the link: unit quaternion (scalar first) or rotation matrix.
    shapes : sequence of dict
        What pictures show, in the frame of the link: {"shape": "box", "cylinder" or "ellipsoid", "size": edge lengths
        [m], "position": ..., "orientation": ...}; the last two may be left out. Or {"shape": "surface", "points": (n,
        3) [m], "faces": numbers of the points of each}. Without any, rods between its joints; None: nothing.
    physical : bool
        Whether to refuse an inertia that no body has, with a negative principal moment. Files have such by mistake;
        as an attribute: whether it is one that bodies have.
    gravity_compensation : float
        Share of the weight that something balances, at the centre of mass: 1 leaves the link without weight (MuJoCo's
        `gravcomp`).

    Raises
    ------
    InputError
        For a negative mass, and an inertia that is not symmetric or, if `physical`, not positive semidefinite.
    """

    name: str
    mass: float = 0.0
    centre: Converted[Vector, np.ndarray] = (0.0, 0.0, 0.0)
    inertia: Converted[Vector | Matrix, np.ndarray] = (0.0, 0.0, 0.0)
    orientation: Converted[Vector | Matrix, np.ndarray] = (1.0, 0.0, 0.0, 0.0)
    physical: bool = True
    shapes: Sequence[Mapping[str, Any]] | None = ()
    gravity_compensation: float = 0.0
    varied = ("mass", "centre", "inertia", "gravity_compensation")  # enter formulas

    def __post_init__(self):
        title = f"Link {self.name!r}"
        mass = validate.real(f"{title}: mass", self.mass)
        if mass < 0:
            raise InputError(f"{title}: mass must not be negative, but is {digits(mass)}")
        inertia = validate.array(f"{title}: inertia", self.inertia, (3,) if np.ndim(self.inertia) == 1 else (3, 3))
        inertia = np.diag(inertia) if inertia.ndim == 1 else inertia
        size = np.abs(inertia).max()
        if np.abs(inertia - inertia.T).max() > 1e-12 * size:
            raise InputError(f"{title}: inertia must be symmetric")
        least = np.linalg.eigvalsh(inertia)[0]
        faulty = least < -1e-12 * (size + mass)  # of a point mass 1 um from its centre: files have digits of round-off
        if validate.flag(f"{title}: physical", self.physical) and faulty:
            raise InputError(f"{title}: inertia must be positive semidefinite, but has the principal moment "
                             f"{digits(least)}")
        if self.shapes is not None:
            object.__setattr__(self, "shapes", tuple(_shape(f"{title}: shapes", given)
                                                     for given in self.shapes))
        turn = _orientation(f"{title}: orientation", self.orientation)
        object.__setattr__(self, "physical", not faulty)
        object.__setattr__(self, "mass", mass)
        share = validate.real(f"{title}: gravity_compensation", self.gravity_compensation)
        object.__setattr__(self, "gravity_compensation", share)
        object.__setattr__(self, "centre", validate.array(f"{title}: centre", self.centre, (3,)))
        object.__setattr__(self, "inertia", turn @ inertia @ turn.T)
        object.__setattr__(self, "orientation", np.eye(3))  # the inertia has been turned

    @property
    def drawn(self) -> Shape | None:
        """The `Shape` of pictures in the frame of the link; None where none is stated."""
        if not self.shapes:
            return None
        return joined([_drawn(shape) for shape in self.shapes])

    @property
    def drawn_size(self) -> np.ndarray:
        """Edge lengths of the cuboid with the inertia of the link [m], shape (3,); zero without mass."""
        if not self.mass:
            return np.zeros(3)
        size = np.sqrt(12 * np.maximum(np.trace(self.inertia) / 2 - np.diag(self.inertia), 0) / self.mass)
        return np.maximum(size, 0.01 * size.max())


@frozen(eq=False)
class TreeJoint(NamedArguments):
    """A joint of a `Tree`, from a parent link to a child link, whose frame is that of the joint when q = 0.

    Coordinates q: an angle about the axis, a way along it, (x, y, angle) of a plane across it, angles about the axis
    and then about one across it that turns, a quaternion, or a place and a quaternion, see `MOTIONS`.

    Parameters
    ----------
    name : str
    parent, child : str
        Names of links.
    kind : {"revolute", "prismatic", "planar", "universal", "spherical", "floating", "fixed"}
    position : array_like, shape (3,)
        Of the joint in the frame of the parent [m].
    orientation : array_like, shape (4,) or (3, 3)
        Of the joint in the frame of the parent: unit quaternion (scalar first) or rotation matrix.
    axis : array_like, shape (3,)
        In the frame of the joint, of any length; of planar joints the normal.
    across : array_like, shape (3,), optional
        Of universal joints: the second axis, at right angles to the first.
    damping : float
        d of the force -d qdot [N s/m or N m s/rad]; of joints with several coordinates against the velocity and the
        angular velocity of the child.
    friction : float
        Size f of Coulomb friction [N or N m]: the force is -f tanh(qdot / w) with the `friction_width` w of the tree.
    stiffness, rest : float
        k and x0 of a spring, V = 1/2 k (x - x0)^2 [N/m or N m/rad; m or rad].
    armature : float
        Inertia of a rotor that turns with the joint, seen from the joint (gear ratio squared times its own) [kg m^2 or
        kg]: T has 1/2 a qdot^2 besides.
    mimic : (str, float, float), optional
        Name of another joint, factor a and offset b: this joint is at a q + b.
    limits : dict
        Data, not enforced: "lower", "upper", "velocity", "effort" where they are known.
    swapped : bool
        Whether `Solution.joint` gives forces on the parent, as body a, and of the child as b; coordinates stay.

    Raises
    ------
    InputError
    """

    name: str
    parent: str
    child: str
    kind: str = "revolute"
    position: Converted[Vector, np.ndarray] = (0.0, 0.0, 0.0)
    orientation: Converted[Vector | Matrix, np.ndarray] = (1.0, 0.0, 0.0, 0.0)
    axis: Converted[Vector, np.ndarray] = (0.0, 0.0, 1.0)
    damping: float = 0.0
    friction: float = 0.0
    mimic: Sequence[Any] | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    across: Converted[Vector | None, np.ndarray | None] = None
    swapped: bool = False
    varied = ("damping", "friction", "stiffness", "rest", "armature", "position", "axis")

    def __post_init__(self):
        title = f"TreeJoint {self.name!r}"
        validate.choice(f"{title}: kind", self.kind, KINDS)
        single = self.kind in MOTIONS and MOTIONS[self.kind].n == 1
        object.__setattr__(self, "position", validate.array(f"{title}: position", self.position, (3,)))
        object.__setattr__(self, "orientation", _orientation(f"{title}: orientation", self.orientation))
        object.__setattr__(self, "axis", validate.direction(f"{title}: axis", self.axis)[1])
        if (self.across is not None) != (self.kind == "universal"):
            raise InputError(f"{title}: across is the second axis of universal joints, and of no others")
        if self.across is not None:
            object.__setattr__(self, "across", validate.direction(f"{title}: across", self.across)[1])
            if abs(self.axis @ self.across) > 1e-9:
                raise InputError(f"{title}: axis and across are not at right angles")
        for name in ("damping", "friction", "stiffness", "armature", "rest"):
            value = validate.real(f"{title}: {name}", getattr(self, name))
            if value < 0 and name != "rest":
                raise InputError(f"{title}: {name} must not be negative, but is {digits(value)}")
            if value and not single and name not in ("damping", "armature") and self.kind != "fixed":
                raise InputError(f"{title}: {name} belongs to revolute and prismatic joints")
            object.__setattr__(self, name, value)
        if self.mimic is not None:
            try:
                other, factor, offset = self.mimic
            except (TypeError, ValueError):
                raise InputError(f"{title}: mimic must be (name of a joint, factor, offset), not {self.mimic!r}") \
                    from None
            object.__setattr__(self, "mimic", (other, validate.real(f"{title}: factor of mimic", factor),
                                               validate.real(f"{title}: offset of mimic", offset)))
            if not single:
                raise InputError(f"{title}: a {self.kind} joint cannot mimic another one")
