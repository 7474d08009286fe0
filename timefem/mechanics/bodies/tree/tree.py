"""Open chains of rigid links in joint coordinates."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .... import validate
from ....errors import InputError
from ....types import Expression, Vector
from ...declared import Choice, Name, Real
from ...numbers.arguments import inside, unchecked
from ...part import Body
from ...shapes import Piece, Stroke
from ..generalized_body import general_position, solved_energy
from ..states import CanonicalState, Coordinates
from .dynamics import TreeDynamics, TreeFunctions, mass_moment, resistance, spring_energy, weight_moment
from .frames import TreeJointCoordinate, TreeLink
from .links import Link, Rows, TreeJoint, coordinates_of
from .structure import TURNING, checked_mass, least_along, moves_places, moving_bodies, pattern_of, values, with_symbols

if TYPE_CHECKING:
    from ...symbols import Symbols
    from .frames import TreeFrame
    from .links import Link


class Tree(TreeDynamics, Body):
    """Links joined in an open chain: q are the joint coordinates.

    `T(q, v)` comes from the recursion over the links, in O(n) operations, and the force of joint i is
    `Q_i = -d_i qdot_i - f_i tanh(qdot_i / w) - k_i (q_i - x_i)`. There are no constraints: rotations in space are
    quaternions whose length is a coordinate that rests. `MixedGalerkin(k, form="lagrange")` takes it as it is, with q
    alone as unknowns, and other elements whose velocities are their own do, too. Angles are unwrapped. With a fixed
    base the frame of the base link is that of space.

    Joints, forces, outputs and controls act on `tree.link(name)` and `tree.joint(name)`; joints between links close
    loops, with `form="impulse"` or `"energy"`.

    Attributes
    ----------
    joint_names : tuple of str
        Of the joints whose coordinates q are, in order: depth first from the base. Mimic joints follow them.
    coordinate_names : tuple of str
        Of the coordinates.
    n_v : int
        Degrees of freedom: one less than coordinates for each quaternion.
    quaternions : tuple of range
        The coordinates of each.
    base_joint : str or None
        Name of the joint that a free base hangs on.
    mass : float
        Of the links that move [kg].
    moving : list of Moving
        What moves together, from the base outward.
    pattern : tuple
        Which numbers of links and joints are parameters, see `numbers`.

    Raises
    ------
    InputError
        When links and joints make no tree, and for a joint that moves no mass.

    Examples
    --------
    >>> import timefem as tf
    >>> arm = tf.Tree([tf.Link("base"), tf.Link("rod", mass=1, centre=(0.5, 0, 0), inertia=(0, 0.1, 0.1))],
    ...               [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0))], name="arm")
    >>> system = tf.System([arm], gravity=(0, 0, -9.81))
    >>> problem = tf.InitialValueProblem(system, {arm: {"hinge": (0.5, 0.0)}}, (0, 1))
    """

    has_inverse_mass = False
    no_inverse = ("has a mass matrix that varies with its joints",
                  "use MixedGalerkin(k, form='lagrange') (--form lagrange; 'energy' or 'impulse' with closed loops), "
                  "or EML(), REML(), NullEML() or MPL(), which do without")
    velocity_by_solve = True

    rotors = ()  # pairs of a joint's name and a motor that drives it, whose rotor is part of its armature
    free = ()  # paths such as ("joints", 1, "position", 0)
    firsts = None  # of joints, see `moving_bodies`

    links = Rows(Link, "one of them, the base, is the child of no joint")
    joints = Rows(TreeJoint, "in any order")
    friction_width = Real("w of Coulomb friction; without it joints must have none", "rad/s or m/s", None, above=0,
                          optional=True)
    name = Name()
    base = Choice("whether the base link is fixed to space, or moves freely", ("fixed", "free"), "fixed")

    def _complete(self):
        joints = self._geared(self)
        self.pattern = pattern_of(self._title, self.links, joints, self.base, self.free, self.firsts)
        self.moving, own, self._sits = moving_bodies(self._title, self.links, joints, self.base, self.firsts)
        self.joint_names = tuple(joint.name for joint in own)
        self.base_joint = self.joint_names[0] if self.base == "free" else None
        self._first = {body.joint.name: body for body in self.moving if body.joint.mimic is None}
        names = [(joint, c) for joint in self.joint_names for c in self._first[joint].motion.components]
        self.coordinate_names = tuple(f"{joint} {c}".rstrip() for joint, c in names)
        self.n_q = len(names)
        self.n_v = self.n_q - sum(body.motion.turns for body in self._first.values())
        self.quaternions = tuple(body.places[body.motion.first:] for body in self._first.values() if body.motion.turns)
        self.mass = float(sum(body.mass for body in self.moving))
        rubbing = [self.moving[i].joint.name for i, name, _ in self.pattern if name == "friction"]
        if rubbing and self.friction_width is None:
            raise InputError(f"{self._title}: joint {rubbing[0]!r} has Coulomb friction, which needs a friction_width "
                             "[rad/s or m/s]")
        self.mass_scale = checked_mass(self._title, self.mass_matrix(general_position(self.n_q)), self._first)
        self._frames, self.reference = {}, Coordinates(np.concatenate([b.motion.start for b in self._first.values()]))
        self.frame_names = {b.joint.name: "joint" for b in self.moving} | dict.fromkeys(self._sits, "link")

    def numbers(self, c: Any) -> dict[str, Any]:
        made = (self.moving, self._sits) if c is self else self._moving_of(c)
        width = {} if self.friction_width is None else {"friction_width": c.friction_width}
        return {"of_links": values(self.pattern, self.links, *made), **width}

    def _moving_of(self, c):
        """Moving bodies, and where links sit, of other numbers of links and joints."""
        bodies, _, sits = moving_bodies(self._title, c.links, self._geared(c), self.base, self.firsts)
        return bodies, sits

    def _geared(self, c):
        """The joints with rotors of motors as inertia: `1/2 J (gear dx/dt)^2` is that of an armature J gear^2."""
        more = {}
        for name, motor in c.rotors:
            more[name] = more.get(name, 0.0) + motor.rotor_inertia * motor.gear**2
        return [unchecked(joint, armature=joint.armature + more[joint.name]) if joint.name in more else joint
                for joint in c.joints]

    def mass_of(self, c: Any) -> Any:
        return sum(link.mass for link in c.links if self._sits[link.name][0] >= 0)

    def __repr__(self):
        return f"Tree({len(self.joint_names)} joints, {len(self.links)} links" + \
            (f", name={self.name!r})" if self.name else ")")

    @property
    def kind(self) -> Hashable:
        return self._formulas

    @cached_property
    def _formulas(self):
        shape = tuple((b.joint.kind, b.parent, b.first, b.factor, b.offset,
                       *(() if (i, "turn", 0) in self.pattern else b.turn.ravel().tolist()),
                       *(() if moves_places(self.free) else b.place.tolist())) for i, b in enumerate(self.moving))
        return self.n_q, self.friction_width is not None, shape, self.pattern

    def __copy__(self):
        other = super().__copy__()
        vars(other)["_frames"] = {}
        return other

    # ---- numbers as parameters

    def is_shaped_by(self, path: Sequence[Any]) -> bool:
        """Whether its formulas lack a number, as long as that is zero, or the place or axis of a joint."""
        if len(path) < 2 or tuple(path) in self.free:
            return len(path) < 2 and path[0] != "friction_width"
        if path[2] in TURNING and self.firsts is None:
            return True
        if path[2] not in ("position", *TURNING) and inside(getattr(self, path[0]), path[1:]):
            return False
        return pattern_of(self._title, self.links, self._geared(self), self.base, [*self.free, tuple(path)],
                          self.firsts) != self.pattern

    def _set_free(self, free):
        super()._set_free(free)
        turning = any(path[0] == "joints" and path[2] in TURNING for path in free)
        vars(self)["firsts"] = {joint.name: least_along(joint.axis) for joint in self.joints} if turning else None

    @property
    def n_increments(self) -> int:
        return self.n_q  # any change of these keeps a tree together

    # ---- links and joints

    @property
    def moving_joints(self) -> list[str]:
        """Names of the joints that move, mimic joints among them."""
        return [body.joint.name for body in self.moving]

    def link(self, name: str, point: Vector = (0.0, 0.0, 0.0)) -> TreeLink:
        """A link, which joints, forces, outputs and controls act on, with its origin at a point of the link [m].

        Points in its axes count from there.

        Parameters
        ----------
        name : str
        point : array_like, shape (3,)
            In the axes of the link, from the origin of its frame [m].

        Raises
        ------
        InputError
            For a link that the tree does not have.
        """
        name = validate.choice(f"{self._title}: link", name, tuple(self._sits))
        point = validate.array(f"{self._title}: point of link {name!r}", point, (3,))
        return self._view(("link", name, *point.tolist()),
                          lambda: TreeLink(self, self.moving, name, self._sits[name], point))

    def joint(self, name: str) -> TreeJointCoordinate:
        """A joint, for all that acts on coordinates of joints.

        Raises
        ------
        InputError
            For a name that is not a joint which moves on its own.
        """
        moving = {body.joint.name: body for body in self.moving}
        name = validate.choice(f"{self._title}: joint", name, tuple(moving))
        return self._view(("joint", name), lambda: TreeJointCoordinate(self, moving[name]))

    def frame_at(self, what: str, name: str, *arguments: Any) -> TreeFrame:
        """`link` or `joint`, by that word; `frame_names` has links before joints of the same name."""
        return (self.link if what == "link" else self.joint)(name, *arguments)

    def _view(self, key, make):
        if key not in self._frames:
            self._frames[key] = make()
        return self._frames[key]

    # ---- formulas

    @cached_property
    def _functions(self):
        return TreeFunctions(self.moving, self.pattern, values(self.pattern, self.links, self.moving, self._sits),
                             self.n_q)

    def kinetic_of_velocity(self, q: ca.SX, v: ca.SX, c: Any) -> Expression:
        return self._functions.parametric(q, v, self._split(c)[0])

    def kinetic_energy(self, q: ca.SX, p: ca.SX, c: Any) -> Expression:
        leaves_first = reversed(range(self.n_q))  # what branches do not share stays zero
        return solved_energy(self._functions.symbolic_mass(q, self._split(c)[0]), p, leaves_first)

    def _split(self, c):
        """Numbers of links and joints, and the width of friction."""
        return ca.vertsplit(ca.SX(c), [0, len(self.pattern), c.shape[0]])

    def _symbolic(self, c):
        return with_symbols(self.moving, self.pattern, self._split(c)[0])

    def centre_of_mass(self, q: ca.SX, c: Any, of_weight: bool = False) -> ca.SX:
        bodies = self._symbolic(c)
        return (weight_moment if of_weight else mass_moment)(bodies, q) / sum(body.mass for body in bodies)

    def potential_energy(self, s: Symbols) -> Expression:
        """Energy of the springs of the joints."""
        return spring_energy(self._symbolic(s.own), s.q[0])

    def force(self, s: Symbols) -> ca.SX:
        return resistance(self._symbolic(s.own), s, self._split(s.own)[1])

    # ---- places and states

    def drawn_pieces(self, q: np.ndarray, p: np.ndarray) -> list[Piece]:
        return pieces(self, q, p)

    def drawn_lines(self) -> list[Stroke]:
        return strokes(self)

    def link_pose(self, link: str, q: Vector) -> tuple[np.ndarray, np.ndarray]:
        """Place and rotation of the frame of a link.

        Parameters
        ----------
        link : str
        q : array_like, shape (n_q,)
            Coordinates of the tree.

        Returns
        -------
        position : ndarray, shape (3,)
            In space [m].
        rotation : ndarray, shape (3, 3)
            Rotation matrix, link to space.

        Raises
        ------
        InputError
            For a link that the tree does not have, and coordinates of another number.
        """
        frame, q = self.link(link), validate.array("q", q, (self.n_q,))
        return frame.position(q[frame.dofs]), frame.rotation_matrix(q[frame.dofs])

    def state(self, value: Mapping[str, Any] | Coordinates | CanonicalState,
              t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and momenta, two arrays of length n.

        Of `Coordinates`, a `CanonicalState`, or a dict from joint to position, or to (position, rate); to a `Pose` for
        spherical and floating joints, such as the free base. Joints left out are at zero and rest.

        Raises
        ------
        InputError
            For another type or length, an unknown joint, and a mimic joint, which follows another one.
        """
        if isinstance(value, dict):
            value = self.by_joint(value)
        if not isinstance(value, Coordinates | CanonicalState):
            raise InputError(f"{self._title}: the state must be a dict from joint to position or (position, rate), or "
                             f"Coordinates(q, v), not {value!r}")
        if len(value.q) != self.n_q:
            raise InputError(f"{self._title}: q must have length {self.n_q}, not {len(value.q)}")
        if isinstance(value, CanonicalState):
            return value.q, value.p
        return value.q, self._functions.momenta(value.q, value.v)

    def by_joint(self, given: Mapping[str, Any]) -> Coordinates:
        """`Coordinates` of a dict from joint to position or (position, rate), see `state`."""
        q, v = self.reference.q.copy(), np.zeros(self.n_q)
        for name, value in given.items():
            if name not in self._first:
                joint = next((b.joint for b in self.moving if b.joint.name == name), None)
                if joint is not None:
                    raise InputError(f"{self._title}: joint {name!r} mimics {joint.mimic[0]!r}; give the state of that "
                                     "one")
                validate.choice(f"{self._title}: joint", name, self.joint_names)
            body = self._first[name]
            q[body.places], v[body.places] = coordinates_of(f"{self._title}: {name}", body.joint.kind, value)
        return Coordinates(q, v)


# ---- pictures of trees: links in their shapes; those without as rods between joints

def pieces(tree: Body, q: np.ndarray, p: np.ndarray) -> list[Piece]:
    """`Piece` of every link: its shape; else the place of its mass, with the size of a cuboid where it has no rods."""
    rates, found = tree.velocity(q, p), []
    for link in tree.links:
        shape = link.drawn
        if shape is None and not link.mass:
            continue
        body = tree.link(link.name, link.centre)
        shape = None if shape is None else shape.placed(-link.centre, np.eye(3))
        size = np.zeros(3) if shape is None and rods(tree, link) else link.drawn_size
        found.append(Piece(link.name, shape, size, *body.motion(q[:, body.dofs], rates[:, body.dofs])))
    return found


def strokes(tree: Body) -> list[Stroke]:
    """Rods of the links that have no shape, and the joints at their ends."""
    names = {link.name for link in tree.links if link.drawn is None}
    dots = [tree.link(j.child) for j in tree.joints
            if j.kind not in ("fixed", "floating") and names & {j.parent, j.child}]
    return [rod for link in tree.links for rod in rods(tree, link)] + \
        [Stroke("joint", ((dot, np.zeros(3)),)) for dot in dots]


def rods(tree: Body, link: Link) -> list[Stroke]:
    """From the frame of a link to the joints that it carries, or to its centre of mass, where it has no shape; to the
    middle of a shape that lies away from the frame, such as a foot; none where it is not drawn."""
    if link.shapes is None:
        return []
    start, shape = (tree.link(link.name), np.zeros(3)), link.drawn
    if shape is not None:
        low, high = shape.points.min(axis=0), shape.points.max(axis=0)
        away = np.any((low > 0) | (high < 0)) and any(j.child == link.name for j in tree.joints)
        return [Stroke("rod", (start, (start[0], (low + high) / 2)))] if away else []
    ends = [(tree.link(j.child), np.zeros(3)) for j in tree.joints if j.parent == link.name and np.any(j.position)]
    if not ends and link.mass and np.any(link.centre):
        ends = [(start[0], link.centre)]
    return [Stroke("rod", (start, end)) for end in ends]
