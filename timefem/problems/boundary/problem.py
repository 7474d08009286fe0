"""Boundary-value problems."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import validate
from ...errors import InputError, NamedArguments, check_class
from ...mechanics.bodies.generalized_body import general_position
from ...mechanics.bodies.states import CanonicalState, Pose
from ...mechanics.formulas.text import as_formula, refuse_comparison
from ...mechanics.parts import is_joint
from ...mechanics.states.assemble import assemble
from ...mechanics.states.given import joints_that_turn, tree_joint, turned
from ...mechanics.states.redundancy import drop_redundant
from ...mechanics.system import System
from ...mechanics.values.at_start import positions_hold, surely_fine
from ...mechanics.values.of_parts import not_finite, remedy_of
from ...types import UserFormula
from ..initial.problem import checked_span, merged
from ..parameters import checked_parameters, own_entries, own_parts
from ..prescribed import Prescribed
from ..targets import EndState, check_turns, checked_targets
from .conditions import BoundaryConditions

if TYPE_CHECKING:
    from ...mechanics.states.given import GivenStates


@dataclass(eq=False, repr=False)
class BoundaryValueProblem(NamedArguments):
    """A system, and conditions on its motion at the start and at the end of a time span.

    Conditions may repeat each other as far as the constraints of the system imply: a pose asks for seven numbers of a
    body in quaternions, which are six conditions. Twice the degrees of freedom are needed, and one more for each
    unknown parameter and for a free time; they are counted.

    Parameters
    ----------
    system : System
    t_span : (float, float)
        Start and end [s]; with `free_time` the end is a guess.
    start, end : dict, optional
        Body (or its name) -> what is prescribed for it there: a `Pose` for position and orientation, `Coordinates` for
        their q, both without velocities; an `EndState` for all that it gives, velocities too; or a `CanonicalState`.
        Such a state may stand for the dict when there is no other body. Bodies left out are free. The sign of a
        quaternion gives the direction of the turn. With joints among the keys all bodies that hang together with these
        or with the ground follow from their coordinates, as in `InitialValueProblem`, others are as without; the rate
        of a joint is prescribed where it is given, `{hinge: (0.3, 1.0)}`. For a joint alone see `conditions`.
    conditions : callable, str or sequence of str, optional
        `conditions(start, end, parameters)` -> expressions that are zero, in CasADi symbols, or such formulas as text,
        with names in quotes: `"end.joint('hinge') - start.joint('hinge') - 1"`. `start` and `end` give
        `t`, `z`, `q(body)`, `p(body)`, `rates(body)`, `position(body)`, `rotation_matrix(body)`, `velocity(body)`,
        `angular_velocity(body, frame)`, `joint(joint)`, `joint_rate(joint)` and `energy()`; `parameters` is a dict of
        the unknown ones, with "duration" when the time is free.
    periodic : bool
        Whether coordinates and momenta are the same at both ends. Motions that conserve energy come in families: one
        more condition, such as an amplitude, and one parameter are needed, for instance the number of a damper, which
        turns out to be zero.
    parameters : dict, optional
        Name -> (body, joint or force, its number), such as `{"k": (spring, "stiffness"), "f": (load, "value[1]"),
        "m": (body, "mass"), "J": (body, "inertia[0]")}`: unknown numbers, by the names of the constructor's arguments,
        or the place in `own_parameters` of joints and forces; "PART.NUMBER" as text, and those of links and joints of
        trees, `(arm, "fore.mass")`, `(arm, "elbow.position[0]")`. Their present values are guesses. Or name -> the
        guess: of that number, where the name is "PART.NUMBER" itself, or of one that formulas have alone.
    follows : dict, optional
        (part, its number), or "PART.NUMBER" -> formula `f(parameters)` of the unknown numbers, also as text.
    free_time : bool
        Whether the length of the time span is unknown.
    near : dict, optional
        Body -> `Pose` or `Coordinates`: roughly where bodies are that are free at both ends, or only partly prescribed.
    assemble : bool
        Take the poses as approximate, and assemble the mechanism from them.

    Attributes
    ----------
    conditions_at_ends : BoundaryConditions
    unknown_names : list of str

    Raises
    ------
    InputError
        When the number of conditions does not fit (says how many each adds), or they contradict each other or the
        constraints.

    Warns
    -----
    NotAsked
        For velocities that are given but not prescribed.
    """

    system: System
    t_span: Sequence[float]
    start: GivenStates | Pose | EndState | None = None
    end: GivenStates | Pose | EndState | None = None
    _: KW_ONLY
    conditions: UserFormula | None = None
    periodic: bool = False
    parameters: Mapping[str, Any] | None = None
    follows: Mapping[Any, Any] | None = None
    free_time: bool = False
    near: InitVar[GivenStates | Pose | EndState | None] = None
    assemble: InitVar[bool] = False
    like: InitVar[BoundaryConditions | None] = None

    tolerance: ClassVar[float] = 1e-9

    def __post_init__(self, near, assemble, like):
        system = self.system
        check_class("system", system, "System")
        self.parameters = self.parameters or {}
        if self.conditions is not None:
            self.conditions = as_formula("conditions", self.conditions, ["start", "end", "parameters"])
            refuse_comparison("conditions", self.conditions, "zero, the difference of both sides")
        system, self.numbers = checked_parameters(system, self.parameters, self.follows)
        self.system = system
        self._given = {"start": self.start, "end": self.end, "conditions": self.conditions,
                           "periodic": self.periodic, "parameters": self.parameters, "follows": self.follows,
                           "free_time": self.free_time, "near": near, "assemble": assemble}
        self.t_span = checked_span(system, self.t_span)
        self.periodic = validate.flag("periodic", self.periodic)
        self.free_time = validate.flag("free_time", self.free_time)
        check_turns(system, self.start, self.end)
        self._near = checked_targets(system, "near", near, self.t_span[1], rates=False)
        validate.flag("assemble", assemble)
        self._fixed = {}  # time -> targets that give all coordinates there, and these
        self._ask(like)

    def _ask(self, like, rates=None):
        """Take what is prescribed at both ends, of which `like` are conditions known already, and `rates` of joints."""
        system, assemble = self.system, self._given["assemble"]
        self._checked = {name: self._checked_like(like, name, t) for name, t in zip(("start", "end"), self.t_span,
                                                                                    strict=True)}
        self.start, self.end = self._checked.values()
        q = [self._configuration(t, targets, others, assemble) for t, targets, others in
             ((self.t_span[0], self.start, self.end), (self.t_span[1], self.end, self.start))]
        if system.redundant == "drop":
            self.system = drop_redundant(system, self.t_span[0], np.concatenate([q[0], np.zeros(system.n_q)]))
            self.numbers = checked_parameters(self.system, self.parameters, self.follows)[1]
        if assemble:
            self.start, self.end = (self._moved(targets, x) for targets, x in zip((self.start, self.end), q,
                                                                                 strict=True))
        self.rates = rates or {name: rates_of_joints(self.system, self._given[name]) for name in ("start", "end")}
        c = [self.t_span[1] - self.t_span[0]] * self.free_time + self.numbers.values.tolist()
        self.conditions_at_ends = BoundaryConditions(self, q, np.array(c), like)

    @property
    def form(self) -> Hashable:
        """What the formulas of its conditions depend on besides the system and what is prescribed for bodies."""
        return self.t_span, self.conditions, self.periodic, self.free_time, self.numbers.form

    @property
    def unknown_names(self) -> list[str]:
        """Names of the unknown numbers, "duration" first where the time is free."""
        return ["duration"] * self.free_time + list(self.parameters)

    @property
    def prescribes_configurations(self) -> bool:
        """Whether the configuration of all bodies is given at both ends, and nothing else."""
        if self.periodic or self.conditions is not None or self.unknown_names or any(self.rates.values()):
            return False
        return all(body in targets and _is_configuration(body, targets[body])
                   for targets in (self.start, self.end) for body in self.system.bodies)

    def changed(self, system: System | None = None, start: Any = None, end: Any = None,
                **arguments: Any) -> BoundaryValueProblem:
        """The same problem with other arguments; bodies left out of `start` and `end` keep what was asked of them."""
        system = self.system if system is None else system
        asked = {name: merged(system, self._given[name] or {}, targets)
                 for name, targets in (("start", start), ("end", end)) if targets is not None}
        if system is self.system and not arguments:
            other = copy(self)
            other._given = self._given | asked
            other._ask(self.conditions_at_ends)
            return other
        own = {"system": system, "t_span": self.t_span, **self._given, **asked, **arguments}
        own["parameters"], own["follows"] = own_parts(system, own["parameters"]), own_entries(system, own["follows"])
        return BoundaryValueProblem(**own, like=self.conditions_at_ends)

    def windings(self) -> list[BoundaryValueProblem]:
        """The same problem, and those with the sign of the quaternions at the end changed: lists all choices.

        A quaternion and its negative are one orientation, reached by turns that differ by a full one. Bodies in
        directors have no sign.
        """
        signed = [b for b, target in self.end.items()
                  if isinstance(target, EndState) and target.orientation is not None and hasattr(b, "quaternion")]
        problems = []
        for choice in range(2 ** len(signed)):
            end = dict(self.end)
            for i, body in enumerate(signed):
                if choice >> i & 1:
                    end[body] = _replaced(end[body], orientation=-np.asarray(end[body].orientation))
            other = copy(self) if choice else self
            if choice:
                other._given = self._given | {"start": self.start, "end": end, "assemble": False}
                other._ask(self.conditions_at_ends, self.rates)
            problems.append(other)
        return problems

    # ---- what is given

    def _checked_like(self, like, name, t):
        """What is prescribed at an end, checked, unless another problem was asked for the same."""
        other, given = like and like.problem, self._given[name]
        if other and other.system is self.system and other.t_span == self.t_span \
                and other._given[name] is given and given is not None:
            return other._checked[name]
        return checked_targets(self.system, name, given, t, rates=False)

    def _configuration(self, t, targets, others, approximate):
        """Coordinates that hold the constraints, as asked for, near the other end's where not; all parts are finite.
        """
        system, own = self.system, []
        known, q = self._fixed.get(t, (None, None))
        if known is targets:
            return q
        fixed = [body for body in system.bodies if body in targets and _is_configuration(body, targets[body], True)]
        for body in system.bodies:
            own.append(np.zeros(body.n_q) if body in fixed and not body.first_order else _reference(body))
            near = () if body in fixed else (self._near.get(body), others.get(body))
            for target in (*near, targets.get(body)):
                if target is not None:
                    _fill(body, own[-1], target)
        q = np.concatenate(own)
        if surely_fine(system, t, q, self.tolerance):
            if len(fixed) == len(system.bodies):
                self._fixed[t] = targets, q
            return q
        if not positions_hold(system, t, q, self.tolerance):
            state = {body: CanonicalState(x, np.zeros(len(x))) for body, x in zip(system.bodies, own, strict=True)}
            found = assemble(system, state, t, fix=[] if approximate else fixed)
            q = np.concatenate([s.q for s in found.values()])
        z = np.append(q, np.zeros(system.n_q))
        for part in not_finite(system, t, z):
            raise InputError(f"{system.label(part)} is not finite at t = {t:g}: {remedy_of(system, part, t, z)}")
        return q

    def _moved(self, targets, q):
        """Targets at assembled coordinates."""
        out = {}
        for body, target in targets.items():
            own = q[self.system.coordinates(body)]
            if isinstance(target, EndState) and body.is_body:
                place = {"position": own[:3]} if target.position is not None else {}
                if target.orientation is not None:
                    place["orientation"] = body.orientation(own)
                target = _replaced(target, **place)
            out[body] = target
        return out

    def states(self, q: Sequence[np.ndarray]) -> list[np.ndarray]:
        """States at both ends with momenta in general position, where ranks are those of the problem."""
        root = np.sqrt(self.system.mass_scale)
        span = self.t_span[1] - self.t_span[0]
        size = np.abs(root * np.array(q)).max() / span or 1.0
        return [np.concatenate([x, root * (root * (q[1] - q[0]) / span + size * noise)])
                for x, noise in zip(q, _noise(len(root)), strict=True)]

    def __repr__(self):
        return f"BoundaryValueProblem({self.system!r}, t_span={self.t_span})"


# ---- rates of joints that are given beside their coordinates

def rates_of_joints(system, targets):
    """Rates that (coordinate, rate) of joints ask for where coordinates are prescribed alone, list of `Prescribed`."""
    found = []
    for key, value in targets.items() if isinstance(targets, dict) else ():
        joint = tree_joint(system, key)
        if joint is not None:
            found += _rates_in_tree(system, joint, value)
        elif is_joint(system, key):
            found += _rates_between(system.here(system[key] if isinstance(key, str) else key), value)
        elif isinstance(value, dict) and hasattr(tree := system.find(key), "by_joint"):
            for name, own in value.items():
                found += _rates_in_tree(system, tree.joint(name), own)
    return found


def _rates_in_tree(system, joint, value):
    """Of a joint of a tree: by numbers, by a dict of coordinates, or by an orientation and an angular velocity."""
    name, own = joint.address[1], ()
    if isinstance(value, Pose | EndState) or joint.n_q == 0:
        return []
    if joint in (free := joints_that_turn(system)) or (isinstance(value, dict) and joint.motion.turns):
        own, value = range(joint.n_q) if _spins(value) else (), turned(name, value) if joint in free else value
    elif isinstance(value, dict):
        own = [i for i, (coordinate, _) in enumerate(joint.motion.told) if np.ndim(value.get(coordinate, 0.0))]
    elif isinstance(value, list | tuple) or np.ndim(value):
        own = range(joint.n_q) if sum(map(np.size, value)) > joint.n_q else ()
    if not len(own):
        return []
    rates = joint.body.by_joint({name: value}).v[joint.dofs]
    return [Prescribed(joint, "velocities", None, joint.n_q, tuple(own), rates[list(own)])]


def _rates_between(joint, value):
    """Of a joint between bodies."""
    if joint.free_rotation:
        if not _spins(value):
            return []
        spin = turned(joint.name, value).angular_velocity_in("space")
        return [Prescribed(joint, "relative angular velocity", None, 3, (0, 1, 2), spin)]
    given = value if isinstance(value, dict) else {joint.coordinates[0].name: value}
    return [Prescribed(joint, "rate", name, 1, (0,), np.array([float(x[1])]))
            for name, x in given.items() if np.ndim(x)]


def _spins(value):
    """Whether an angular velocity is given beside an orientation."""
    return "angular_velocity" in value if isinstance(value, dict) else isinstance(value, tuple) and len(value) == 2


@cache
def _noise(n):
    return 0.2 / 0.9 * (general_position(2, n) - 0.55)


def _is_configuration(body, target, at_least=False):
    """Whether a target gives the configuration of a body, and nothing else unless `at_least`."""
    if isinstance(target, CanonicalState):
        return at_least
    if not body.begins_with_position:
        given, more = [target.q], target.v is not None
    else:
        turns = body.has_orientation
        given = [target.position] + [target.orientation] * turns
        more = target.velocity is not None or target.angular_velocity is not None
    return all(v is not None and np.isfinite(v).all() for v in given) and (at_least or not more)


def _reference(body):
    if not body.begins_with_position and isinstance(body.reference, Pose):
        return np.zeros(body.n_q)
    return np.array(body.state(body.reference)[0], float)


def _fill(body, q, target):
    """Set what a target gives of the coordinates `q`."""
    for value in (getattr(target, "q", None), getattr(target, "position", None)):
        if value is not None:
            part = q[:len(value)]
            part[:] = np.where(np.isfinite(value[:len(part)]), value[:len(part)], part)
    if getattr(target, "orientation", None) is not None:
        q[3:] = body.rotation_coordinates(target.orientation)


def _replaced(target, **values):
    return replace(target, **values)
