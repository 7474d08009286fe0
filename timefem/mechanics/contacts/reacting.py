"""Forces that depend on those of constraints: friction in bearings and guides by what they carry; and rows of rigid
contacts that are closed, as constraints with friction by their own multipliers."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ...errors import InputError
from ..body_frame import is_on_tree
from ..declared import Field, Real, Term
from ..forces.on_joints import DryFriction, dry_friction
from ..numbers.arguments import joined
from ..part import Part
from ..symbols import n_reactions
from .rigid import RigidContact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..symbols import Symbols
    from ..system import System


class Bystander(Part):
    """Does nothing, but needs the bodies of a part: counters of turns stay in a system while a stop is open."""

    def __init__(self, part: Part) -> None:
        self.bodies, self.name, self.own_parameters = part.bodies, f"bodies of {part.name}", np.zeros(0)

    @property
    def kind(self) -> Hashable:
        return Bystander, tuple(body.kind for body in self.bodies)


class Rubbing(NamedTuple):
    """What slides by a normal force, or a share of it.

    Attributes
    ----------
    contact : RigidContact
    row : int
    begins : bool
        Whether it only begins to slide in space, and has no slip yet.
    direction : tuple of float
        Of the slip, two numbers, where it is along a line, or only begins.
    share : float
    """

    contact: RigidContact
    row: int
    begins: bool
    direction: tuple
    share: float


class ClosedContact(Part):
    """One row of a rigid contact while it is closed.

    The constraint is -g, so that its multiplier is the normal force lambda_N. What slides has the friction
    `-mu lambda_N d` on its points, with the direction d of the slip; what sticks has the slip as a nonholonomic
    constraint, whose multiplier is the friction. Where contacts depend on each other, several slide by shares of one
    multiplier.

    Parameters
    ----------
    contact : RigidContact
        With the numbers that count.
    row : int
    sticks : bool
    kept : tuple of int
        What of the gap (0) and the slips (1, 2) are constraints: others repeat those of other contacts.
    rubbing : list of Rubbing
        What slides by the multiplier, or by the given load of a persistent row.
    """

    def __init__(self, contact: RigidContact, row: int, sticks: bool, kept: tuple[int, ...],
                 rubbing: list[Rubbing]) -> None:
        self.contact, self.row, self.sticks, self.kept, self.rubbing = contact, row, sticks, kept, rubbing
        seen = dict.fromkeys([contact, *(one.contact for one in rubbing)])
        self.bodies = tuple(dict.fromkeys(body for one in seen for body in one.bodies))
        self.name = f"{contact.name or type(contact).__name__}, closed"
        self._numbers, first = {}, 0  # of each contact, where they stand
        for one in seen:
            self._numbers[one] = slice(first, first + len(one.own_parameters))
            first += len(one.own_parameters)
        self.first_direction = first
        if contact.reactions_of and rubbing:
            self.reactions_of, self.kept_reactions = contact.reactions_of, contact.kept_reactions
        self.own_parameters = np.concatenate([*(one.own_parameters for one in seen),
                                              *([*one.direction, one.share] for one in rubbing)])
        name = contact.contact_names[row]
        self.constraint_names = (name,) if 0 in kept else ()
        self.nonholonomic_names = tuple(f"{name}, slip {i}" for i in kept if i) if sticks else ()

    @property
    def kind(self) -> Hashable:
        order = list(self._numbers)
        seen = tuple((one.kind, tuple(self.bodies.index(body) for body in one.bodies)) for one in order)
        return (ClosedContact, seen, self.row, self.sticks, self.kept, self.kept_reactions,
                tuple((order.index(one.contact), one.row, one.begins) for one in self.rubbing))

    def _given(self, s, contact):
        """The symbols as a contact takes them."""
        given = copy(s)
        given.own = s.own[self._numbers[contact]]
        chosen = [self.bodies.index(body) for body in contact.bodies]
        given.q, given.p, given.bodies = ([values[i] for i in chosen] for values in (s.q, s.p, s.bodies))
        given._of = contact.bodies
        given._velocity = [s.velocity[i] for i in chosen] if s.velocity_given else None
        return given

    def constraints(self, s: Symbols) -> ca.SX:
        if not self.constraint_names:
            return ca.SX(0, 1)
        return -self.contact.closed_gap(self._given(s, self.contact))[self.row]

    def velocity_form(self, s: Symbols) -> ca.SX:
        if not self.nonholonomic_names:
            return ca.SX(0, 1)
        return -self._slip(s, self.contact, self.row)[[i - 1 for i in self.kept if i]]

    def force(self, s: Symbols) -> ca.SX:
        if not (self.contact.persistent and self.rubbing) or self.reactions_of:
            return super().force(s)
        return self._friction(s, self.contact.load(self._given(s, self.contact))[self.row])

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        if self.reactions_of:
            seen = self.contact.seen(w, {})
            return self._friction(s, self.contact.load_by(self._given(s, self.contact), seen)[self.row])
        return self._friction(s, w) if self.constraint_names and self.rubbing else None

    def _slip(self, s, contact, row):
        return contact.closed_slip(self._given(s, contact))[row, :].T

    def _friction(self, s, pressed):
        """Of a normal force."""
        moving = s.at(s.q, s.p, [ca.SX.sym("v", b.n_q) for b in self.bodies])
        total = 0
        for k, one in enumerate(self.rubbing):
            numbers = s.own[self.first_direction + 3 * k:self.first_direction + 3 * k + 3]
            by_velocity = ca.jacobian(self._slip(moving, one.contact, one.row), ca.vertcat(*moving.velocity))
            if one.contact.n_slip == 1:
                along = numbers[0]
            elif one.begins:
                along = numbers[:2]
            else:
                slip = self._slip(s, one.contact, one.row)
                along = slip / ca.sqrt(ca.sumsqr(slip))
            mu = one.contact.frictions(self._given(s, one.contact))[one.row]
            total -= mu * numbers[2] * pressed * (by_velocity.T @ along)
        return total

    @property
    def numbers_from(self) -> dict[RigidContact, slice]:
        """Where the numbers of each contact stand."""
        return self._numbers


class SeenContact(ClosedContact):
    """Stands for the normal force of a row, where forces that see it are evaluated: it constrains nothing."""

    @property
    def kind(self) -> Hashable:
        return SeenContact, super().kind

    def constraints(self, s: Symbols) -> ca.SX:
        return ca.SX(1, 1)


class PressedForce(Part):
    """A force that sees normal forces of rigid contacts, some of which are closed.

    Parameters
    ----------
    force : ReactionForce
        With the numbers that count.
    closed : list of ClosedContact
        Whose multipliers are seen.
    shares : list of (int, int, float)
        Place among what the force sees, which one of `closed`, and the share of its multiplier.
    """

    def __init__(self, force: ReactionForce, closed: list[ClosedContact], shares: list[tuple[int, int, float]]) -> None:
        self.force_seen, self.bodies, self.name = force, force.bodies, force.name
        self._n_seen = n_reactions(force)
        joints = tuple(part for part in force.reactions_of if not part.n_contacts)
        self.reactions_of = (*joints, *closed)
        if force.kept_reactions is not None:
            first = sum(len(part.constraint_names) for part in joints)
            self.kept_reactions = (*force.kept_reactions, *range(first, first + len(closed)))
        self._places = tuple((place, k) for place, k, _ in shares)
        self.own_parameters = np.concatenate([force.own_parameters, [share for *_, share in shares]])

    @property
    def kind(self) -> Hashable:
        return PressedForce, self.force_seen.kind, self._places, len(self.reactions_of), self.kept_reactions

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        n, given, pressed = len(self.force_seen.own_parameters), copy(s), {}
        given.own = s.own[:n]
        for i, (place, k) in enumerate(self._places):
            pressed[place] = pressed.get(place, 0) + s.own[n + i] * w[self._n_seen + k]
        return ca.SX(self.force_seen.reaction_force(given, self.force_seen.seen(w[:self._n_seen, 0], pressed)))

    @property
    def numbers_from(self) -> dict[Part, slice]:
        """Where the numbers of the force stand."""
        return {self.force_seen: slice(0, len(self.force_seen.own_parameters))}


class StruckContact(ClosedContact):
    """One row of a rigid contact in an impact, as constraints on velocities with impulses by their own multipliers.

    Parameters
    ----------
    contact, row, sticks, kept, rubbing
        As of a `ClosedContact`; what slides does so after the impact.
    share : float
        Of the restitution that is taken: less than 1 where the impact is slow, or contacts jam.
    """

    def __init__(self, contact: RigidContact, row: int, sticks: bool, kept: tuple[int, ...], rubbing: list[Rubbing],
                 share: float) -> None:
        super().__init__(contact, row, sticks, kept, rubbing)
        self.own_parameters = np.append(self.own_parameters, share)

    @property
    def kind(self) -> Hashable:
        return StruckContact, super().kind

    def restitution(self, s: Symbols) -> ca.SX:
        """Of the velocity before, that comes back."""
        return s.own[-1] * self.contact.restitutions(self._given(s, self.contact))[self.row]


def forces_seen(part: Any) -> tuple[str, ...]:
    """Of a part in `reactions_of`: names of its constraints, or of a rigid contact of what may be closed."""
    if getattr(part, "n_contacts", 0):
        return () if part.persistent else part.contact_names
    return getattr(part, "constraint_names", ())


def check_reactions(title: str, parts: Sequence[Any]) -> None:
    """InputError where one of the parts has no constraint forces among the unknowns."""
    for part in parts:
        if is_on_tree(part):
            raise InputError(f"{title}: {part!r} has no constraint force, because the coordinates of a tree enforce "
                             "it; state bodies and joints: System(..., coordinates='joint') keeps such a joint as one")
        if not forces_seen(part):
            raise InputError(f"{title}: {part!r} has no constraints, whose forces could be seen")


def refuse_reaction_forces(system: System, what: str, remedy: str) -> None:
    """InputError of what does not take forces that depend on those of constraints, by name."""
    for part in system.parts:
        if part.reactions_of:
            seen = system.label(part.reactions_of[0])
            raise InputError(f"{system.label(part)} depends on the force of {seen}, which {what} does not take; "
                             f"{remedy}")


class Reactions(Field):
    """Joints and other constraints whose forces a formula sees."""

    refers, kind_of_value, schema_type = True, "Part or sequence of Part", "reactions"
    given_as, kept_as = "Part | Sequence[Part]", "tuple[Part, ...]"

    def __init__(self, help: str = "", argument: str | None = None) -> None:
        super().__init__(help, default=(), optional=True)
        self.argument = argument

    def checked(self, part: Any, value: Any) -> Any:
        return super().checked(part, () if value is None else value)

    def check(self, title: str, value: Any) -> tuple[Part, ...]:
        found = tuple(value) if isinstance(value, list | tuple) else (value,)
        for part in found:
            if not isinstance(part, Part):
                raise InputError(f"{title} must be joints or other constraints, not {part!r}")
        check_reactions(title, found)
        if len(set(found)) < len(found):
            raise InputError(f"{title}: a joint is given twice; give each one once")
        return found

    def form(self, value: Any) -> Any:
        return tuple((len(part.constraint_names), part.n_contacts) for part in value) or None

    def described(self, value: Any, refer: Any) -> list[Any]:
        return [refer.part(part) for part in value]

    def restored(self, data: Any, found: Any) -> list[Any]:
        return [found.part(number) for number in data]

    def moved(self, value: Any, stand_in: Any) -> list[Any]:
        return [stand_in(part) for part in value]


class ReactionForce(Part, abstract=True):
    """Base of forces that see those of the constraints of the parts in `reactions_of`.

    A subclass states `reaction_force`. Where redundant constraints are left out the forces of these are zero, and so
    are those of rigid contacts but where a march finds them, see `PressedForce`.
    """

    @property
    def _form(self):
        return (*super()._form, self.kept_reactions)

    def reaction_force(self, s: Symbols, w: ca.SX) -> ca.SX:
        """Generalized force by the multipliers `w` of the constraints of `reactions_of`, SX; of rigid contacts by their
        normal forces."""
        raise NotImplementedError

    def multiplier_force(self, s: Symbols, w: ca.SX) -> ca.SX | None:
        return ca.SX(self.reaction_force(s, self.seen(w, {}))) if self.reactions_of else None

    def seen(self, w: ca.SX, pressed: dict[int, ca.SX]) -> ca.SX:
        """What `reaction_force` takes, by the multipliers of constraints and the normal forces `pressed` of contacts
        that are closed, by their place."""
        if self.kept_reactions is not None:
            whole = ca.SX.zeros(sum(len(part.constraint_names) for part in self.reactions_of))
            if self.kept_reactions:
                whole[list(self.kept_reactions)] = w
            w = whole
        every, first = [], 0
        for part in self.reactions_of:
            if part.n_contacts:
                start = sum(x.numel() for x in every)
                every.append(ca.vertcat(*(pressed.get(start + i, 0) for i in range(part.n_contacts))))
            else:
                every.append(w[first:first + len(part.constraint_names), 0])
                first += len(part.constraint_names)
        return ca.vertcat(ca.SX(0, 1), *every)


def norm(x: ca.SX) -> ca.SX:
    """Euclidean norm, with the derivative zero at zero."""
    return ca.sqrt(ca.sumsqr(x) + 1e-200)  # below the square of any force


class BearingFriction(DryFriction, ReactionForce):
    """Friction of a bearing or guide by the force that the joint itself carries.

    Along a displacement the friction is `mu (|N_1| + |N_2|)`, N_1 and N_2 the forces across the guide at the two ends
    of its `length`, which carry force and moment: `F/2 -+ n x M / length` about point_a, and of a guide without a
    length `F`. A moment about the axis adds `mu |M_n| / radius`.

    About an angle it is the moment `mu / sqrt(1 + mu^2) radius (|R_1| + |R_2|)` of a pin in its bearing, R the whole
    forces in the same way: the pin touches where R goes past its centre at the radius of the friction circle. A collar
    adds `mu |F_n| collar` by the force along the axis.

    Without a friction_width mu is Coulomb's, set-valued: the joint sticks while what drives it is below that, and
    slides with mu_c. With one it is regularised: with the rate v of the coordinate mu is `(mu_c + (mu_s - mu_c)
    exp(-(v/v_s)^2)) tanh(v/w)`, so that it creeps instead of sticking. Joints and what they carry are found
    together: self-locking and jams are in. In impacts of rigid contacts it has no part: their impulses make no friction
    in joints. The joint must be one of bodies, whose constraint forces are unknowns.

    Raises
    ------
    InputError
        For joints of trees, bearings without a radius, and wrong numbers.
    """

    friction = Real("mu_c, sliding friction per load", "", least=0)
    friction_width = Real("w, rate below which friction is regularised; set-valued unless given", "rad/s or m/s", None,
                          above=0, optional=True)
    radius = Term("of the pin; of a guide where it carries the moment about its axis", "m", 0.0, least=0,
                  vanishes=False)
    length = Term("of the bearing or guide, along its axis; zero: it carries no moment across", "m", 0.0, least=0,
                  vanishes=False)
    collar = Term("mean radius of the collar that carries the force along the axis", "m", 0.0, least=0, vanishes=False)
    breakaway = Term("mu_s at rest, with a friction_width; mu_c where zero", "", 0.0, least=0, vanishes=False)
    stribeck = Term("v_s", "rad/s or m/s", 0.0, least=0, vanishes=False)

    def _complete(self):
        check_reactions(f"{self._title}: joint", (self.joint,))
        super()._complete()
        if self.turns and not (self.radius or self.collar):
            raise InputError(f"{self._title}: give the radius of the pin, or that of the collar; without one there is "
                             "no moment")
        if self.collar and not self.turns:
            raise InputError(f"{self._title}: a collar belongs to a bearing that turns; {self.coordinate!r} is a "
                             "displacement")

    @property
    def turns(self) -> bool:
        """Whether its coordinate is an angle."""
        return self.bound.coordinate.unit == "rad"

    @property
    def reactions_of(self) -> tuple[Part, ...]:
        return (self.joint,)

    def numbers(self, c: Any) -> dict[str, Any]:
        return {**super().numbers(c), "of_joint": joined(*self.joint.numbers(c.joint).values())}

    @property
    def _form(self):
        return (*super()._form, self.joint.kind)

    def _carried(self, s, c, w):
        """Force and moment on body a about point_a, and the direction of the coordinate there."""
        joint = self.joint.named(c.of_joint)
        force, torque = self.joint.transmitted(s.q, s.t, joint, w)
        push, turn = self.bound.direction(s.q, c.axes)
        return force, torque, turn if self.turns else push

    def load_by(self, s: Symbols, w: ca.SX) -> ca.SX:
        c = self.named(s.own)
        return self._friction(s, c, c.friction, w)

    def reaction_force(self, s: Symbols, w: ca.SX) -> ca.SX:
        c = self.named(s.own)
        if self.is_rigid:  # a march finds whether it slides
            return self.along(s, ca.SX(1, 1))
        return self.along(s, -self._friction(s, c, dry_friction(self, c, self.rate_of(s)), w))

    def _friction(self, s, c, mu, w):
        """Force or moment of friction with the coefficient mu."""
        force, torque, axis = self._carried(s, c, w)
        axis = axis / ca.sqrt(ca.sumsqr(axis))
        across = force - ca.dot(axis, force) * axis
        loads = norm(across)
        if self.length:
            pair = ca.cross(axis, torque) / c.length
            loads = norm(across / 2 + pair) + norm(across / 2 - pair)
        if not self.turns:
            along = norm(ca.dot(axis, torque)) / c.radius if self.radius else 0
            return mu * (loads + along)
        moment = mu / ca.sqrt(1 + mu**2) * c.radius * loads if self.radius else 0
        if self.collar:
            moment += mu * norm(ca.dot(axis, force)) * c.collar
        return moment
