"""Actuators, whose forces are to be found, and costs of their use."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ... import validate
from ...display import digits
from ...errors import InputError
from ...types import Expression, Floats, UserFunction
from ..body_frame import BodyFrame
from ..declared import Choice, Direction, Field, Integer, Numbers, On, Point, Real, Rows
from ..declared.declared import Declared
from ..formulas.formula import Same, call, needs_two
from ..formulas.stored import StoredFormula, captured
from ..formulas.text import as_formula
from ..joints.bound import JointPart
from ..numbers.arguments import by_rows, joined, own_parameters
from ..part import Body, Part
from ..symmetry import ALL, NONE, null_space, translations, turns
from .springs import ForcePart, PointForce, force_at

if TYPE_CHECKING:
    from ..symbols import Symbols


class Actuator(ForcePart, abstract=True):
    """A force or torque whose components are controls: Q = B(q) u(t).

    Without a problem that determines them (`InverseDynamics`, `OptimalControl`) the controls are zero.
    """

    table = "actuators"
    unit = ""  # of the controls; "" where it depends on what is given
    is_affine = True  # whether its force is affine in the controls

    @property
    def controls(self) -> tuple[Part, ...]:
        return (self,)


class Control(Actuator):
    """Algebraic controls: functions of time that formulas see, and that exert no force of their own.

    Slacks, angles, excitations and shares: `FormulaForce` and `State` see them by their `controls`, costs and limits by
    `now.control(...)`. Equations and limits of controls and states hold where the equations of motion see controls.

    Raises
    ------
    InputError
        For a number below one.
    """

    n_controls = Integer("how many", 1, least=1, most=1000)

    def __repr__(self):
        return self._title

    def workless_motions(self) -> np.ndarray:
        return ALL


class ControlForce(Actuator):
    """Force at a point of a body, with components u along given directions [N].

    The opposite force acts on `reaction`, at the same place in space, so that both have no resultant.
    """

    unit = "N"
    body = On()
    directions = Rows("of unit length or not, in the axes `frame`; unless given the axes, of a point mass those along "
                      "which it moves", default=None, optional=True)
    point = Point("where it acts, in body axes from the centre of mass, of a link from its origin", (0.0, 0.0, 0.0))
    frame = Choice("axes of the directions", ("space", "body"), "space")
    reaction = On("which takes the opposite force", rotating=True, ground=True, key="reaction")

    def _complete(self):
        if self.directions is None:
            self.directions = np.eye(3)[:getattr(self.body, "dimension", 3)]
        if self.reaction is not None and not self.reaction.has_orientation:
            raise InputError(f"{self._title}: reaction must be a rigid body, not {self.reaction!r}; a LengthControl "
                             "acts along the line of two points")

    @property
    def n_controls(self) -> int:
        return len(self.directions)

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        (position, rotation), c = self.bodies[0].frame(s.q[0]), self.named(s.own)
        vector = ca.reshape(c.directions, 3, self.n_controls) @ u
        vector = vector if self.frame == "space" else rotation @ vector
        place = position + rotation @ c.point
        force = ca.jtimes(place, s.q[0], vector, True)
        return force if len(self.bodies) == 1 else ca.vertcat(force, force_at(self.bodies[1], s.q[1], place, -vector))

    def workless_motions(self) -> np.ndarray:
        if len(self.bodies) == 2:
            return ALL
        if self.frame == "body":
            return NONE
        across = null_space(self.directions).T
        return np.hstack([translations(across), turns(np.zeros(3), self.directions[0]) if len(across) == 2 else NONE])


class LengthControl(PointForce, Actuator):
    """A drive along the line of two points, such as a cylinder or a winch: the force u pushes them apart [N].

    `Q = u dl/dq` with their distance l, which must not vanish; a rope pulls with u < 0.
    """

    unit, line, n_controls = "N", "rod", 1

    def workless_motions(self) -> np.ndarray:
        return self.line_motions()

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        return u * ca.gradient(ca.sqrt(self._square(s)), ca.vertcat(*s.q))


class Thruster(Actuator):
    """A rotor or nozzle fixed in a body: the thrust u [N] along a direction, and the torque `drag u` about it."""

    unit, n_controls = "N", 1
    body = On(rotating=True)
    direction = Direction("of the thrust, in body axes", default=(0, 0, 1))
    point = Point("where it is, in body axes from the centre of mass, of a link from its origin", (0.0, 0.0, 0.0))
    drag = Real("torque on the body per thrust, of the sign opposite to that of the spin of the rotor", "m", 0.0)
    needs_rotation = True

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        (position, rotation), c = self.bodies[0].frame(s.q[0]), self.named(s.own)
        thrust = rotation @ c.direction * u
        place = position + rotation @ c.point
        return force_at(self.bodies[0], s.q[0], place, thrust, c.drag * thrust)


class JointControl(JointPart, Actuator):
    """An ideal drive along a coordinate of a joint: torque u about the axis [N m], or force along it [N]."""

    n_controls = 1

    @property
    def unit(self) -> str:
        return "N m" if self.bound.coordinate.turns else "N"

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        return self.along(s, u)


class ControlTorque(Actuator):
    """Torque on a body, with components u about given axes [N m]; the opposite torque acts on `reaction`."""

    unit = "N m"
    body = On(rotating=True)
    axes = Rows("in the axes `frame`; the three axes unless given", default=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    frame = Choice("axes of `body`, or of space", ("body", "space"), "body")
    reaction = On("which takes the opposite torque", rotating=True, ground=True, key="reaction")
    needs_rotation = True

    @property
    def n_controls(self) -> int:
        return len(self.axes)

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        torque = ca.reshape(s.own, 3, self.n_controls) @ u
        if self.frame == "body":
            torque = self.bodies[0].frame(s.q[0])[1] @ torque
        sign = (1, -1)
        return ca.vertcat(*(k * b.angular_velocity_map(q).T @ torque for k, b, q in zip(sign, self.bodies, s.q)))

    def workless_motions(self) -> np.ndarray:
        if len(self.bodies) == 2:
            return ALL
        across = null_space(self.axes).T if self.frame == "space" else np.zeros((0, 3))
        return np.hstack([translations(), turns(np.zeros(3), across)])


class InputMatrix(Field):
    """A matrix with a row for each coordinate of the body, or a formula for it."""

    varies = True
    kind_of_value = "array_like, shape (n_q, n), or callable"
    given_as, kept_as = "Matrix | UserFunction", "Any"

    def checked(self, part, value):
        if callable(value):
            return captured(value)
        return validate.array(part._argument(self.name), value, (part.bodies[0].n_q, None))

    def numbers(self, value):
        return np.zeros(0) if callable(value) else by_rows(value.T)

    def form_in(self, part, value):
        return Same(value, part._stated_matrix, part.bodies[0].n_q) if callable(value) else value.shape[1]

    def stored(self, part, value):
        if not callable(value) or isinstance(value, StoredFormula):
            return value
        return StoredFormula.of(part._argument(self.name), part._stated_matrix())

    def schema(self):
        row = {"description": "a list of numbers", "type": "array", "items": {"$ref": "#/$defs/number"}, "minItems": 1}
        return {"description": "one row of numbers for each coordinate of the body", "type": "array", "items": row,
                "minItems": 1}


class Columns(Field):
    """How many columns a formula has."""

    in_files, kind_of_value, argument = False, "int", "n_controls"
    given_as = kept_as = "int"

    def __init__(self, help):
        super().__init__(help, default=None, optional=True)

    def form(self, value):
        return value


class GeneralizedControl(Actuator):
    """Generalized force Q = B(q, v) u of a `GeneralizedBody` (or any body), by a constant matrix or a formula."""

    body = On()
    matrix = InputMatrix("B, or `B(q)` or `B(q, v)` in CasADi symbols, with the rates v")
    columns = Columns("n, when B is a formula")

    def _checked_bodies(self, bodies):
        if not isinstance(bodies[0], BodyFrame):
            raise InputError(f"GeneralizedControl: body must be a body, not {bodies[0]!r}")
        return tuple(bodies)

    def _complete(self):
        if callable(self.matrix):
            validate.integer(self._argument("n_controls"), self.columns, minimum=1)

    @property
    def n_controls(self) -> int:
        return self.columns if callable(self.matrix) else self.matrix.shape[1]

    @property
    def unit(self) -> str:
        units = {c.unit for c in getattr(self.bodies[0], "coordinates", ())}  # of joints of trees
        plain = not callable(self.matrix) and np.array_equal(self.matrix, np.eye(self.bodies[0].n_q))
        return {"rad": "N m", "m": "N"}.get(units.pop(), "") if plain and len(units) == 1 else ""

    @property
    def takes_rates(self) -> bool:
        """Whether a formula's B depends on the rates as well."""
        if isinstance(self.matrix, StoredFormula):
            return self.matrix.sizes[1] > 0
        return needs_two(self.matrix, *(ca.SX.sym("q", self.bodies[0].n_q),) * 2)

    def matrix_at(self, *state: ca.SX) -> ca.SX:
        """A formula's B at q, or at q and v where it takes rates, shape (n_q, n)."""
        if isinstance(self.matrix, StoredFormula):
            entries = self.matrix(*(*state, ca.SX(0, 1), ca.SX(0, 1))[:3])
            return ca.reshape(entries, self.bodies[0].n_q, self.n_controls)
        return ca.SX(self.matrix(*state))

    def _stated_matrix(self):
        """A formula's B, all entries below each other, of q, of v where it takes rates, and of empty vectors."""
        state, none = [ca.SX.sym(name, self.bodies[0].n_q) for name in ("q", "v")[:1 + self.takes_rates]], ca.SX(0, 1)
        entries = ca.densify(ca.vec(self.matrix_at(*state)))
        return ca.Function("B", [*state, *[none] * (3 - len(state))], [entries])

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        if callable(self.matrix):
            return self.matrix_at(s.q[0], *([s.velocity[0]] if self.takes_rates else [])) @ u
        return ca.reshape(s.own, self.bodies[0].n_q, self.n_controls) @ u


def control_name(system, i):
    """For messages: number and actuator of the i-th of all controls of a system."""
    for part in system.parts:
        if i < part.n_controls:
            return f"control {i} of {system.label(part)}"
        i -= part.n_controls
    raise IndexError(i)


# ---- Costs of the use of actuators

class Cost(Part):
    """Integrand of the cost of an optimal control problem: a formula of controls, coordinates and velocities.

    Parameters
    ----------
    formula : callable or str
        `formula(u, q, v, t)` -> CasADi scalar, or such a formula as text, `"u[0]**2"`; u, q, v are vectors of all
        components of `actuators` and `bodies`.
    actuators : Actuator or sequence of Actuator
    bodies : Body or sequence of Body
    name : str, optional
    """

    def __init__(self, formula: UserFunction | str, actuators: Part | Sequence[Part] = (),
                 bodies: Body | Sequence[Body] = (), name: str | None = None) -> None:
        self.controls, self.bodies = ((x,) if isinstance(x, Declared | str) else tuple(x) for x in (actuators, bodies))
        self.name = name
        for actuator in self.controls:
            if not isinstance(actuator, Actuator):
                named = "; a cost takes the actuator itself, which has no system yet to be found in by a name"
                raise InputError(f"{type(self).__name__}: {actuator!r} is not an actuator"
                                 + named * isinstance(actuator, str))
        self.formula = None if formula is None else as_formula("Cost", formula, ["u", "q", "v", "t"])

    @property
    def kind(self) -> Hashable:
        controls = tuple(a.n_controls for a in self.controls)
        sizes = controls, tuple(b.n_q for b in self.bodies), len(self.own_parameters)
        return (Cost, Same(self.formula, self._stated, sizes), controls, *(b.kind for b in self.bodies))

    def _stated(self):
        sizes = [sum(a.n_controls for a in self.controls), *[sum(b.n_q for b in self.bodies)] * 2, 1,
                 len(self.own_parameters)]
        given = [ca.SX.sym(name, n) for name, n in zip("uqvtc", sizes, strict=True)]
        return ca.Function("cost", given, [self._value(*given)])

    def _value(self, u, q, v, t, c):
        return call("Cost", self.formula, 1, u, q, v, t)

    def cost(self, s: Symbols, u: ca.SX) -> Expression:
        q, v = (ca.vertcat(ca.SX(0, 1), *x) for x in (s.q, s.velocity if self.bodies else ()))
        return self._value(u, q, v, s.t, s.own)


class FormulaCost(Cost):
    """The integrand of a formula of the motion as a whole, which sees numbers of any parts, and unknown ones.

    Parameters
    ----------
    given : callable
        The formula as it was given.
    formula : str
        `formula(u, q, v, t, c)` with those numbers c.
    actuators, bodies
        As in `Cost`.
    sources : sequence of (Part, int) or str
        What the numbers are: of parts by the place in their `own_parameters`, and unknown ones by name; "duration" is
        the length of the time span, of the mesh in `own_parameters` as long as it is unknown.
    """

    def __init__(self, given: Any, formula: str, actuators: Sequence[Part], bodies: Sequence[Body],
                 sources: Sequence[Any]) -> None:
        super().__init__(None, actuators, bodies)
        self.given, self.formula = given, as_formula("Cost", formula, ["u", "q", "v", "t", "c"])
        self.sources, self.own_parameters = tuple(sources), self._values(np.zeros(len(sources)), sources)

    @staticmethod
    def _values(unknown, sources):
        return np.array([x if isinstance(source, str) else source[0].own_parameters[source[1]]
                         for x, source in zip(unknown, sources, strict=True)], float)

    @property
    def kind(self) -> Hashable:
        return (*super().kind, self.durations)

    @property
    def durations(self) -> tuple[int, ...]:
        return tuple(i for i, source in enumerate(self.sources) if source == "duration")

    def numbers(self, c: Any) -> dict[str, Any]:
        """Of the parts that its numbers are of; unknown ones, and the duration, as they are."""
        given, found = c.own_parameters, []
        for i, (source, own) in enumerate(zip(self.sources, c.sources, strict=True)):
            found.append(given[i] if isinstance(source, str) else own_parameters(source[0], own[0])[source[1]])
        return {"numbers": joined(*found)}

    def _value(self, u, q, v, t, c):
        return call("Cost", self.formula, 1, u, q, v, t, c)


class Effort(Cost):
    """Half the weighted sum of the squared controls of one actuator, 1/2 sum_i w_i u_i^2.

    Parameters
    ----------
    actuator : Actuator
    weights : float or array_like, shape (n_controls,)
    """

    weights = Numbers("w_i")

    def __init__(self, actuator: Part, weights: Floats = 1.0, name: str | None = None) -> None:
        if isinstance(actuator, list | tuple) or isinstance(weights, Actuator):
            raise InputError("Effort takes one actuator: give the costs of several as a list, [Effort(first), "
                             "Effort(second)]")
        super().__init__(None, (actuator,), (), name)
        self.weights = np.full(self.controls[0].n_controls, weights) if np.ndim(weights) == 0 else weights
        self._complete()
        self.own_parameters = self.declared_numbers()

    def _complete(self):
        self.weights = validate.array("Effort: weights", self.weights, (self.controls[0].n_controls,))
        if np.any(self.weights <= 0):
            raise InputError(f"Effort: weights must be positive, not {digits(self.weights)}")

    @property
    def kind(self) -> Hashable:
        return (Effort, len(self.own_parameters))

    def cost(self, s: Symbols, u: ca.SX) -> Expression:
        return ca.dot(s.own, u**2) / 2
