"""Links and joints of a tree, which move along tree structures, and sequences of them as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import validate
from ....display import digits
from ....errors import InputError, NamedArguments
from ....records import frozen
from ....types import Converted, Matrix, Vector
from ...declared import Field
from ...shapes import SHAPES, joined, surface
from .. import rotations
from .motions import KINDS, MOTIONS

if TYPE_CHECKING:
    from ...shapes import Shape


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
    and then about one across it that turns, a quaternion, or a place and a quaternion, see
    `timefem.mechanics.bodies.tree.motions`.

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
