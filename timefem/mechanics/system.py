"""A mechanical system: bodies, joints and forces, and where each has its place in the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..display import Card, Summarized, counted
from ..errors import InputError, NamedArguments, earlier_name
from ..memory import Late
from ..types import Floats, States, Vector
from .body_frame import BodyFrame, is_on_tree, seen_by
from .declared.declared import Declared
from .forces.loads import Gravity
from .numbers.records import StandIns, with_hearing, with_rotors
from .part import Body, Part
from .parts import NamedParts, grouped, with_helpers
from .values.state_values import StateValues

if TYPE_CHECKING:
    from .bodies.states import CanonicalState, Pose
    from .composites.composite import Composite
    from .parts import PartGroup


joint_coordinates = Late(f"{__package__}.bodies.tree.compile")
joint_state = Late(f"{__package__}.states.from_joints")
changed_numbers = Late(f"{__package__}.numbers.changes")
quantities = Late(f"{__package__}.values.quantities")

NO_TIMES = np.zeros(0)
NO_TIMES.setflags(write=False)


def _function(place, *, called=False):
    """What is to be written in place of an earlier method, or of a property where `called`, and what that gave."""
    module, _, name = place.rpartition(".")

    def find(system):
        function = getattr(import_module(f"{__package__}.{module}"), name)
        return function(system) if called else partial(function, system)
    return f"{__package__}.{place}(system{', ...' * (not called)})", find


EARLIER = {  # methods of a release that are functions of the folders that need them
    "own": ("system[part]", lambda system: system.__getitem__),
    "replaced": _function("parts.replaced_names", called=True),
    "of_parts": _function("numbers.records.made_of"),
    "extended": _function("numbers.changes.extended"),
    "couples_inertia": _function("values.of_parts.couples_inertia", called=True),
    "has_inverse_mass": _function("values.of_parts.has_inverse_mass", called=True),
    "momentum_level": _function("values.of_parts.constraints_in_momenta", called=True),
    "kinetic_energy": _function("values.of_parts.kinetic_energy"),
    "generalized_energy": _function("values.of_parts.generalized_energy"),
    "control_force": _function("values.of_parts.control_force"),
    "consistent_nonholonomic": _function("states.consistent_multipliers.nonholonomic_multipliers"),
}


class System(NamedArguments, NamedParts, StateValues, Summarized):
    """Bodies, joints and forces. They are not changed, and may belong to several systems.

    Parameters
    ----------
    parts : sequence of Part
        Bodies, joints, forces and composite parts, in any order.
    gravity : array_like, shape (3,), optional
        Uniform gravitational acceleration [m/s^2] on every body with a mass in space; a `GeneralizedBody` beside these
        states its weight, if it has any, in its potential.
    redundant : {"refuse", "drop"}
        What to do with constraints that repeat others: refuse to solve, or leave them out, as settled at the initial
        state (see `timefem.mechanics.states.redundancy`).

    coordinates : {"bodies", "joint"}
        "joint": rigid bodies and their joints become trees, as far as they make open chains (`stands_for` says what
        became of each); see `timefem.mechanics.bodies.tree.compile.in_joint_coordinates`.

    Attributes
    ----------
    bodies, parts : tuple
        With the nodes and elements of composite parts, which are called `rope.node[3]`.
    composites : tuple of Composite
    n_q, n_z, n_constraints, n_multipliers : int
        Coordinates, `2 n_q`, constraints m, and `2 m` multipliers `(gamma, mu)`.
    constraint_names : list of str
        One per configuration constraint, in order.
    rigid_contacts : tuple of Part
        Parts with rows of rigid contact.
    sampled_parts : tuple of Part
        Those whose forces are evaluated at times and held.
    n_nonholonomic : int
    nonholonomic_names : list of str
        Constraints `A(q, t) qdot + a(q, t) = 0` on velocities alone, counted apart from the others.
    groups : list of PartGroup
    kinks : ndarray
        Times [s] where parts that depend on the time are not smooth, increasing.
    complete, kept, dropped : System, ndarray of int, list of str
        Of a system without its redundant constraints: the system with them, the numbers of the kept constraints in it
        (nonholonomic ones after the others), and the names of those left out. Else None, None and ().
    stands_for : dict
        Of a system with other numbers (`with_numbers`), of one in joint coordinates, and with rotors on joints
        of trees: the parts that were given -> those here.
    """

    complete, kept, dropped = None, None, ()
    stands_for = StandIns()
    _original = None

    def __init__(self, parts: Declared | Sequence[Declared], gravity: Vector | None = None, *,
                 redundant: str = "refuse", coordinates: str = "bodies") -> None:
        self.redundant = validate.choice("redundant", redundant, ("refuse", "drop"))
        parts = list(parts) if isinstance(parts, list | tuple) else [parts]
        for part in parts:
            if not isinstance(part, Declared):
                hint = "; of a dict, as `robot.motors()` is, give the values()" if isinstance(part, str) else ""
                raise InputError(f"System: {part!r} is not a body, joint or force{hint}")
        if validate.choice("coordinates", coordinates, ("bodies", "joint")) == "joint":
            parts, self.stands_for = joint_coordinates.in_joint_coordinates(parts)
        parts = with_helpers(parts)
        for standing in with_rotors, with_hearing:
            parts, others = standing(parts)
            self.stands_for = StandIns({old: others.get(part, part) for old, part in self.stands_for.items()} | others)
        if gravity is not None:
            gravity = validate.array("gravity", gravity, (3,))
            bodies = [b for b in parts if isinstance(b, Body) and not b.helper]
            parts += [Gravity(b, gravity) for b in bodies if b.mass is not None] or [Gravity(b, gravity)
                                                                                   for b in bodies]
        for part, times in Counter(parts).items():
            if times > 1:
                raise InputError(f"System: {part!r} is given twice")
        self._take_parts(parts)
        if not self.bodies:
            raise InputError("System: at least one body is needed")
        for part in parts:
            for body in part.bodies:
                if body not in self:
                    raise InputError(f"System: {self.label(part)} acts on {body!r}, which is not in the system; "
                                     "add it to the parts")
            for other in part.reactions_of:
                if all(given.whole != other for given in parts):
                    raise InputError(f"System: {self.label(part)} sees the force of {other!r}, which is not in the "
                                     "system; add it to the parts")
            for actuator in part.controls:
                if actuator not in self._present:
                    raise InputError(f"System: {self.label(part)} sees the controls of {actuator!r}, which is not in "
                                     "the system; add it to the parts")
        self.n_q = sum(b.n_q for b in self.bodies)
        self.n_z = 2 * self.n_q
        self.n_constraints = sum(len(p.constraint_names) for p in parts)
        self.n_multipliers = 2 * self.n_constraints
        self.n_nonholonomic = sum(len(p.nonholonomic_names) for p in parts)
        names = [self.label(b) for b in self.bodies]
        if len(self._names) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"System: two bodies have the name {twice!r}; give each its own")
        names = [self.label(p) for p in parts if p.n_controls]
        if len(set(names)) < len(names):  # controls, bounds and costs are asked for by them
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"System: two actuators have the name {twice!r}; give each its own")

    def _take_parts(self, parts):
        self.parts: tuple[Part, ...] = tuple(parts)
        self.bodies: tuple[Body, ...] = tuple(p for p in parts if p.is_body)
        self.rigid_contacts: tuple[Part, ...] = tuple(p for p in parts if p.n_contacts)
        self.sampled_parts: tuple[Part, ...] = tuple(p for p in parts if p.period is not None)
        for part in (*self.parts, *self.composites):
            part.freeze()

    if not TYPE_CHECKING:  # to which every name would seem to be there
        def __getattr__(self, name):
            if name in EARLIER:
                return earlier_name(self, name, EARLIER, since="0.3")
            raise AttributeError(f"a System has no {name!r}", name=name, obj=self)

    def __repr__(self):
        return (f"System({counted(len(self.bodies), 'body')}, {len(self.parts) - len(self.bodies)} joints and forces, "
                f"{counted(self.n_q, 'coordinate')}, {counted(self.n_constraints, 'constraint')})")

    def summary(self) -> Card:
        """Bodies, joints and forces as a table: text where it is printed, HTML in a notebook."""
        return summarize(self)

    @cached_property
    def composites(self) -> tuple[Composite, ...]:
        return tuple(dict.fromkeys(part.owner for part in self.parts if part.owner is not None and not part.helper))

    @cached_property
    def _coordinates(self):
        stops = accumulate(b.n_q for b in self.bodies)
        return {b: slice(stop - b.n_q, stop) for b, stop in zip(self.bodies, stops, strict=True)}

    def with_numbers(self, changes: Mapping[Any, Any]) -> System:
        """The system with other numbers; names, structure and formulas stay.

        Parameters
        ----------
        changes : dict
            Name -> value. "PART.NAME" by the label of the part and as its constructor calls the number, with an entry
            `[i]` where it has several and with what is inside of a function of time after a dot: "rod.mass",
            "spring.point_a[2]", "load.time.amplitude"; "gravity" or "gravity[i]"; or a pair (part, "NAME[i]").

        Returns
        -------
        System
            Whose parts are equal to those of this one, and have its numbers: `other["rod"].mass`. Functions that take a
            part take those of this one, too.

        Raises
        ------
        InputError
            For unknown names, with the nearest one; for values that a part cannot have, or that change its formulas
            where redundant constraints are left out.
        """
        return changed_numbers.with_numbers(self, changes)

    def state(self, given: States, base: Pose | Mapping[Any, Pose] | None = None,
              t: float = 0.0, approximate: bool = False) -> dict[Body, CanonicalState]:
        """States of all bodies from the coordinates of joints; see `mechanics.states.from_joints.state_of_joints`."""
        return joint_state.state_of_joints(self, given, base, t, approximate)

    @property
    def structure(self) -> System:
        """The same object for systems that differ in numbers only, as far as that is known."""
        return self._original or self

    def here(self, part: Any) -> Any:
        """The part with the numbers that it has here, or what stands for it; what is not in the system as it is."""
        part = self.stands_for.get(part, part)
        if part in self._present:
            return self._present[part]
        return seen_by(part, lambda tree: self._present.get(tree, tree)) if is_on_tree(part) else part

    @cached_property
    def _present(self):
        return {part: part for part in self.parts}

    def coordinates(self, body: Body | str) -> Any:
        """Where the coordinates of a body, or of the body of a name, are in `q` (and its momenta in `p`): a slice;
        numbers of links of trees and of points of beams.

        Raises
        ------
        InputError
            For a body that is not in the system.
        """
        body = self.find(body) if isinstance(body, str) else self.here(body) if isinstance(body, BodyFrame) else body
        if body not in self:
            raise InputError(f"{body!r} is not in the system")
        if body in self._coordinates:
            return self._coordinates[body]
        return np.concatenate([self._coordinates[own].start + frame.dofs for own, frame in self._bodies_of(body)])

    def __contains__(self, body: Any) -> bool:
        """Whether a body has its coordinates here; a link of a tree and a point of a beam those of their bodies."""
        return isinstance(body, BodyFrame) and all(own in self._coordinates for own, _ in self._bodies_of(body))

    def _bodies_of(self, body):
        """Bodies whose coordinates those of a frame are, each with the frame in it."""
        frames = [self.stands_for.get(frame, frame) for frame in body.frames]
        return [(frame.body, frame) for frame in frames]

    def local_state(self, body: Body, z: Floats) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and momenta of a body; of links and joints of a tree coordinates and rates.

        Parameters
        ----------
        body : Body, link or joint of a tree
        z : array_like, shape (..., n_z)
            States.

        Returns
        -------
        q, p : ndarray, shape (..., n_q)
            Of the body.

        Raises
        ------
        InputError
            For a body that is not in the system.
        """
        body, place, z = self.here(body), self.coordinates(body), np.asarray(z)
        q = z[..., place]
        if not is_on_tree(body):
            return q, z[..., self.n_q:][..., place]
        return q, body.body.velocity(*self.local_state(body.body, z))[..., body.dofs]

    @property
    def constraint_names(self) -> list[str]:
        """Names of the constraints on configuration level, "PART: NAME", in the order of gamma."""
        return [f"{self.label(p)}: {name}" for p in self.parts for name in p.constraint_names]

    @property
    def nonholonomic_names(self) -> list[str]:
        """Names of the nonholonomic constraints, "PART: NAME"."""
        return [f"{self.label(p)}: {name}" for p in self.parts for name in p.nonholonomic_names]

    @cached_property
    def kinks(self) -> np.ndarray:
        """Times at which a load, prescribed motion or formula is not smooth [s], increasing, shape (n,)."""
        times = [t for part in self.parts for t in part.kinks] + quantities.switch_times(self.groups)
        return np.unique(np.array(times, dtype=float)) if times else NO_TIMES

    @cached_property
    def mass_scale(self) -> np.ndarray:
        """Size of the mass matrix per coordinate, shape (n_q,)."""
        return np.concatenate([b.mass_scale for b in self.bodies])

    @cached_property
    def state_scale(self) -> np.ndarray:
        """Size of the coordinates and momenta that belong to a kinetic energy of one, by the mass, shape (n_z,)."""
        root = np.sqrt(self.mass_scale)
        return np.concatenate([1 / root, root])

    @cached_property
    def groups(self) -> Sequence[PartGroup]:
        return grouped(self)


System._class_of_parts = System  # of what is made of parts of a system of any subclass


LISTED = 12  # parts in a table


def idle_coordinates(system):
    """Number of coordinates that take no part in the motion: counts of turns, lengths of quaternions of trees."""
    return sum(body.n_q if body.helper else body.n_q - getattr(body, "n_v", body.n_q) for body in system.bodies)


def coordinate_names(system):
    """Of all coordinates, for messages."""
    return [name for body in system.bodies for name in getattr(body, "coordinate_names", ()) or
            [f"{system.label(body)} q[{i}]" for i in range(body.n_q)]]


def summarize(system):
    """Bodies, joints and forces, as a `Card`."""
    facts = {"bodies": sum(not body.helper for body in system.bodies), "coordinates": system.n_q,
             "constraints": system.n_constraints}
    facts |= {"nonholonomic constraints": system.n_nonholonomic} if system.n_nonholonomic else {}
    facts |= {"redundant constraints left out": ", ".join(system.dropped)} if system.dropped else {}
    idle = idle_coordinates(system)
    facts |= {"coordinates that only count turns or keep lengths": idle} if idle else {}
    facts["degrees of freedom, unless constraints repeat each other"] = system.n_q - idle - system.n_constraints
    tables = {"bodies": [("name", "what it is", "mass [kg]", "coordinates", "constraints of its own")]}
    tables["bodies"] += [(system.label(b), _kind(b), "" if b.mass is None else f"{b.mass:g}", b.n_q,
                          len(b.constraint_names)) for b in system.bodies[:LISTED]]
    for title, parts in (("joints", system._joints), ("forces", system._forces)):
        if parts:
            tables[title] = [("name", "what it is", "on", "constraints")[:4 if title == "joints" else 3]]
            tables[title] += [(system.label(p), _kind(p), " and ".join(map(system.label, p.bodies)),
                               len(p.constraint_names) + len(p.nonholonomic_names))[:len(tables[title][0])]
                              for p in parts[:LISTED]]
    for title, parts in (("bodies", system.bodies), ("joints", system._joints), ("forces", system._forces)):
        if len(parts) > LISTED:
            tables[f"{title}, {len(parts) - LISTED} more"] = tables.pop(title)
    return Card("System", facts, tables)


def _kind(part):
    """Class of a part as a user makes it, and the coordinates of its rotation."""
    name = "RigidBody" if hasattr(part, "rotation_rate") else type(part).__name__
    return f"{name}, {part.rotation}" if hasattr(part, "rotation_rate") else name
