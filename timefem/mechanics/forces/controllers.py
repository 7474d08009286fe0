"""Feedback: forces of drives by a formula of what is measured."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ..declared import Field, Flag, Formula, Function, Numbers, Real
from ..formulas.formula import Same, call, check_symbols
from ..inversion.outputs import Output
from ..joints.bound import JointPart
from ..numbers.arguments import joined, own_parameters, size
from ..part import Part
from ..symbols import Symbols
from .actuators import Actuator, JointControl
from .on_joints import TURNS

if TYPE_CHECKING:
    from ..part import Body
    from ..system import System


class Drives(Field):
    """Joints, pairs of joint and name of a coordinate, and actuators."""

    refers, kind_of_value, schema_type = True, "sequence", "drives"
    kept_as = "tuple[Any, ...]"

    def check(self, title, value):
        return tuple(self._drive(title, given) for given in listed(title, value))

    def _drive(self, title, given):
        if isinstance(given, Actuator) and given.n_controls:
            return given
        try:
            return JointControl(given[0], coordinate=given[1]) if isinstance(given, list | tuple) else \
                JointControl(given)
        except InputError as error:
            raise InputError(f"{title}: {error}, and no actuator") from None

    def described(self, value, refer):
        return [refer.coordinate(d.bound) if isinstance(d, JointControl) else {"part": refer.part(d)} for d in value]

    def restored(self, data, found):
        return [found.part(d["part"]) if isinstance(d, dict) else found.coordinate(d) for d in data]

    def moved(self, value, stand_in):
        return [(stand_in(d.joint), d.coordinate) if isinstance(d, JointControl) else stand_in(d) for d in value]


class Inputs(Field):
    """Joints, pairs of joint and name of a coordinate, and outputs; the joints among the drives for None."""

    refers, kind_of_value, schema_type = True, "sequence", "inputs"
    kept_as = "tuple[Any, ...]"

    def __init__(self, help=""):
        super().__init__(help, default=None, optional=True)

    def checked(self, part, value):
        title = part._argument(self.name)
        if value is None:  # none where no joint is among them: for laws of the time
            return tuple(d.bound for d in part.drives if isinstance(d, JointControl))
        return tuple(self._input(title, x) for x in listed(title, value, least=0))

    def _input(self, title, given):
        if isinstance(given, Output):
            return given
        joint, name = given if isinstance(given, list | tuple) and len(given) == 2 else (given, None)
        if not getattr(joint, "coordinates", ()):
            raise InputError(f"{title} must be joints with coordinates, or outputs, not {given!r}")
        return joint.bound(name or joint.coordinates[0].name)

    def described(self, value, refer):
        return [x.described(refer) if is_output(x) else refer.coordinate(x) for x in value]

    def restored(self, data, found):
        return [Output.restored(x, found) if isinstance(x, dict) else found.coordinate(x) for x in data]

    def moved(self, value, stand_in):
        return [x.moved(stand_in) if is_output(x) else (stand_in(x.owner), x.coordinate.name) for x in value]


def is_output(x):
    return isinstance(x, Output)


def listed(title, values, least=1):
    if not isinstance(values, list | tuple) or len(values) < least:
        raise InputError(f"{title} must be a list, not {values!r}")
    return values


# ---- Feedback: forces of drives by a formula of what is measured

LAW = "x", "v", "t", "c"  # arguments of a law


class PDControl(JointPart):
    """Drive of a joint that follows a reference r(t): `k_p (r - x) + k_d (dr/dt - dx/dt) + f(t)`.

    k_p and k_d are the gains, f is a force that is given, such as that of inverse dynamics. Angles go on over whole
    turns. The rate of r is taken where it has one.
    """

    stiffness = Real("k_p", "N m/rad or N/m", least=0)
    damping = Real("k_d", "N m s/rad or N s/m", least=0)
    reference = Function("r", "rad or m", 0.0)
    feedforward = Function("f", "N m or N", 0.0)
    turns = Flag(TURNS, default=True)

    @property
    def counts_turns(self) -> bool:
        return self.turns

    def force(self, s: Symbols) -> ca.SX:
        c = self.named(s.own)
        (target,), (given,) = (self.values_at(name, s.t, c) for name in ("reference", "feedforward"))
        rate = ca.jacobian(ca.SX(target), s.t)
        return self.along(s, c.stiffness * (target - self.coordinate_of(s)) + c.damping * (rate - self.rate_of(s))
                          + given)


class Controller(Part):
    """Feedback by any formula: PD with gravity compensation, computed torque, LQR.

    The law is `law(x, v, t, c)` -> one force per drive [N m or N], and per control of an actuator, in CasADi symbols; x
    are the measured values, v their rates, t is the time [s], c the parameters. As text it is `"-c[0] * x[0] - c[1] *
    v[0]"`, or a list of such, one per force. What a `FormulaForce` or `State` of the system sees of these actuators by
    its `controls` is what the law says. Controllers whose laws state the same share a kernel.

    Raises
    ------
    InputError
        For other drives and inputs; for a law that fails, or returns another number of forces.

    Examples
    --------
    >>> import timefem as tf
    >>> arm = tf.RigidBody(1.0, (1, 1, 1))
    >>> hinge = tf.Revolute(arm, point_a=(0, 0, 1), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    >>> hold = tf.Controller([hinge], lambda x, v, t, c: -c[0] * (x - 0.5) - c[1] * v, parameters=[40.0, 8.0])
    """

    drives = Drives("what the controller moves: joints (or pairs of joint and name of a coordinate), and actuators, "
                    "whose controls it sets; these need not be in the system, but for a `Motor` with a rotor")
    law = Formula("see above", *LAW)
    inputs = Inputs("what is measured, in order: joints (or pairs of joint and name of a coordinate) and outputs, such "
                    "as `PositionOutput`; the joints among the drives unless given, none without: x is empty then")
    law_parameters = Numbers("gains and other numbers", (), argument="parameters")
    turns = Flag("measured angles continue over full turns (by one more coordinate each); otherwise they are in (-pi, "
                 "pi]",
                 default=True)

    hearing = ()  # pairs of a force or rate that sees controls of drives, and the places of its controls among all

    def _complete(self):
        bodies = [b for part in (*self.drives, *self.inputs, *(part for part, _ in self.hearing)) for b in part.bodies]
        self.bodies = tuple(dict.fromkeys([*bodies, *(x.counter for x in self.inputs if self._counts(x))]))
        self._places = {body: i for i, body in enumerate(self.bodies)}  # that others may stand for later
        self.own_parameters = self.declared_numbers()
        self._check()

    def numbers(self, c: Any) -> dict[str, Any]:
        drives = [own_parameters(drive, own) for drive, own in zip(self.drives, c.drives, strict=True)]
        measured = [x.numbers(own) for x, own in zip(self.inputs, c.inputs, strict=True) if not is_output(x)]
        hearing = [own_parameters(part, own) for (part, _), (own, _) in zip(self.hearing, c.hearing, strict=True)]
        return {"law": c.law_parameters, "drives": joined(*drives), "inputs": joined(*measured),
                "hearing": joined(*hearing)}

    def heard_by(self, parts: Sequence[Part]) -> Controller:
        """The same controller, whose law enters the forces and rates that see controls of its drives.

        Raises
        ------
        InputError
            Where such a formula is not affine in its controls, and has others as well.
        """
        places, n = {}, 0
        for drive in self.drives:
            places[drive], n = range(n, n + drive.n_controls), n + drive.n_controls
        hearing = []
        for part in parts:
            if any(drive in places for drive in getattr(part, "acting", ())):
                seen = [None] * part.n_controls  # its own are those of a drive of its own
                for one in part.acting:
                    seen += places.get(one, [None] * one.n_controls)
                if None in seen and not part.is_affine:
                    raise InputError(f"{self._title} drives some of the controls that {part!r} sees, whose formula is "
                                     "not affine in them; let one controller drive all of them")
                hearing.append((part, tuple(seen)))
        if len(hearing) == len(self.hearing) and all(
                a is b and k == m for (a, k), (b, m) in zip(hearing, self.hearing, strict=True)):
            return self
        other = self.same_part()
        vars(other).update(hearing=tuple(hearing), own_parameters=np.insert(
            self.stated_numbers, self._n_own, np.concatenate([part.own_parameters for part, _ in hearing] or [[]])))
        found = other.changed({})
        vars(found)["numbers_found"] = self.numbers_found
        return found

    @property
    def stated_numbers(self) -> np.ndarray:
        """`own_parameters` without those of what sees its controls, as it has them outside of a system."""
        n = sum(len(part.own_parameters) for part, _ in self.hearing)
        return np.delete(self.own_parameters, slice(self._n_own, self._n_own + n))

    @property
    def _n_own(self):
        """How many numbers the law, the drives and the inputs have."""
        return self.starts[-1] + sum(len(x.coordinate.numbers) for x in self.inputs if not is_output(x))

    @property
    def given_bodies(self) -> tuple[Body, ...]:
        return ()  # those of drives and inputs

    changeable = {"parameters": "law_parameters"}  # noqa: RUF012

    def _counts(self, x):
        return self.turns and not is_output(x) and x.coordinate.turns

    @property
    def members(self) -> tuple[Part, ...]:
        return (*(part for x in self.inputs if self._counts(x) for part in x.counting), self)

    @property
    def kind(self) -> Hashable:
        where = self._places
        seen = tuple((Same(x) if is_output(x) else x.form, self._counts(x), tuple(where[b] for b in x.bodies))
                     for x in self.inputs)
        moved = tuple((d.kind, tuple(where[b] for b in d.bodies)) for d in self.drives)
        moved += tuple((part.kind, seen_by, tuple(where[b] for b in part.bodies)) for part, seen_by in self.hearing)
        law = self.fields["law"].form_in(self, self.law)
        return (Controller, law, len(self.law_parameters), seen, moved, *(b.kind for b in self.bodies))

    def __repr__(self):
        return f"{self._title} of {len(self.inputs)} inputs and {len(self.drives)} drives"

    @property
    def shares(self) -> list[Part]:
        """What it does along the coordinates of joints, one part for each, for results."""
        return [_Share(self, i) for i, drive in enumerate(self.drives) if isinstance(drive, JointControl)]

    def force(self, s: Symbols, only: int | None = None) -> ca.SX:
        return self._applied(s, self.told_in(s), only)

    @property
    def starts(self) -> list[int]:
        """Where the numbers of each drive begin, and those of inputs."""
        sizes = [len(self.law_parameters), *(len(d.own_parameters) for d in self.drives)]
        return np.cumsum(sizes).tolist()

    def told_in(self, s: Symbols) -> ca.SX:
        """What the law says, SX of one force per control of the drives."""
        x, v, first = [], [], self.starts[-1]
        for given in self.inputs:
            seen = self._of(s, given.bodies)
            if is_output(given):
                x.append(given.value(*seen.q))
                v.append(ca.jtimes(ca.SX(x[-1]), ca.vertcat(*seen.q), ca.vertcat(*seen.velocity)))
                continue
            numbers = s.own[first:first + len(given.coordinate.numbers)]
            first += numbers.numel()
            counter = [s.q[self._places[given.counter]]] if self._counts(given) else []
            x.append(given.counted([*seen.q, *counter], numbers) if counter else given.value(seen.q, numbers))
            v.append(given.rate(seen.q, seen.velocity, numbers))
        return self._of_law(ca.vertcat(*x), ca.vertcat(*v), s.t, s.own[:len(self.law_parameters)])

    def _of_law(self, *arguments):
        return call(f"{self._title}: law", self.law, self.n_forces, *arguments)

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What the law returns, and its symbols by their names in a text."""
        sizes = len(self.inputs), len(self.inputs), 1, len(self.law_parameters)
        symbols = {word: ca.SX.sym(word, n) for word, n in zip(LAW, sizes, strict=True)}
        return ca.vertsplit(self._of_law(*symbols.values())), symbols

    @property
    def n_forces(self) -> int:
        return sum(d.n_controls for d in self.drives)

    def _applied(self, s, u, only=None):
        """Generalized force of all drives, or of one."""
        total, place, moved = [ca.SX(body.n_q, 1) for body in self.bodies], 0, []
        for i, drive in enumerate(self.drives):
            own, place = u[place:place + drive.n_controls], place + drive.n_controls
            if only in (None, i):
                moved.append((drive, own, self.starts[i]))
        if only is None:
            place = self._n_own
            for part, places in self.hearing:
                moved.append((part, ca.vertcat(*(0 if k is None else u[k] for k in places)), place))
                place += len(part.own_parameters)
        for part, own, start in moved:
            seen = self._of(s, part.bodies)
            seen.own = s.own[start:start + len(part.own_parameters)]
            force, first = part.control_force(seen, own), 0
            for body in part.bodies:
                total[self._places[body]] += force[first:first + body.n_q]
                first += body.n_q
        return ca.vertcat(*total)

    def _of(self, s, bodies):
        """The symbols that a drive or an input sees."""
        places, seen = [self._places[body] for body in bodies], copy(s)
        seen.q, seen.p, seen.bodies = ([x[i] for i in places] for x in (s.q, s.p, s.bodies))
        seen.velocity = [s.velocity[i] for i in places]
        return seen

    def _check(self):
        s = Symbols(self)
        s.velocity = [ca.SX.sym("v", b.n_q) for b in self.bodies]
        check_symbols(f"{self._title}: law", self.told_in(s), *s.q, *s.velocity, s.t, s.own, *s.bodies)


class Timing(Real):
    """A time that the march keeps to, and formulas do not have."""

    varies = False


class SampledController(Controller):
    """A `Controller` in discrete time: the law is evaluated at t_k = t_0 + k period, and held from t_k + delay on.

    Before the first one the forces are zero. It is for initial-value problems that are marched; nodes of the mesh stand
    where forces change.

    Raises
    ------
    InputError
        As `Controller`; for a period that is not positive, and a negative delay.
    """

    period = Timing("between two times at which the law is evaluated", "s", above=0)
    delay = Timing("delay until its forces act", "s", 0.0, least=0)
    inputs = Inputs("as for `Controller`")
    law_parameters = Numbers("as for `Controller`", (), argument="parameters")
    turns = Flag("as for `Controller`", default=True)

    @property
    def n_held(self) -> int:
        """How many forces are held, one after the other; that before the first is zero."""
        return (len(self.own_parameters) - self.n_given) // (1 + self.n_forces)

    @property
    def n_given(self) -> int:
        """How many of `own_parameters` come before times and forces that are held."""
        return sum(map(size, super().numbers(self).values()))

    def numbers(self, c: Any) -> dict[str, Any]:
        held = self.own_parameters[self.n_given:]
        return {**super().numbers(c), "held": held if len(held) else np.zeros(1 + self.n_forces)}

    def _fit(self, numbers):
        held = len(numbers) - self.n_given
        return held > 0 and held % (1 + self.n_forces) == 0

    @property
    def kind(self) -> Hashable:
        return (SampledController, self.n_held, super().kind)

    def force(self, s: Symbols, only: int | None = None) -> ca.SX:
        first, n = self.n_given, self.n_forces
        times = ca.vertsplit(s.own[first:first + self.n_held])
        values = ca.vertsplit(s.own[first + self.n_held:], n)
        u = values[0]
        for t, before, after in zip(times[1:], values[:-1], values[1:], strict=True):
            u = u + (s.t >= t) * (after - before)
        return self._applied(s, u, only)

    def places_of_held(self) -> np.ndarray:
        """Places of the held forces among `own_parameters`, without those before the first one."""
        return np.arange(self.n_given + self.n_held + self.n_forces, len(self.own_parameters))

    def told(self, system: System, t: float, z: np.ndarray) -> np.ndarray:
        """What the law says at a state, shape (n_forces,)."""
        s = Symbols(self)
        s.velocity = velocity = [ca.SX.sym("v", b.n_q) for b in self.bodies]
        every, v = np.arange(system.n_q), system.velocity(t, z)
        places = [every[system.coordinates(body)] for body in self.bodies]
        function = ca.Function("law", [*s.q, *velocity, s.t, s.own, *s.bodies], [ca.densify(self.told_in(s))])
        return np.array(function(*(z[p] for p in places), *(v[p] for p in places), t, self.own_parameters,
                                 *(b.own_parameters for b in self.bodies))).ravel()


class _Share(Part):
    """One drive of a controller."""

    def __init__(self, controller, i):
        self.controller, self.i, self.bound = controller, i, controller.drives[i].bound
        self.bodies, self.own_parameters = controller.bodies, controller.own_parameters

    @property
    def kind(self):
        return (_Share, self.i, self.controller.kind)

    def force(self, s):
        return self.controller.force(s, self.i)
