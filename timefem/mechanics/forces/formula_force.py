"""Potential energies and forces given by a formula, and rates of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...polynomials import gauss_legendre
from ...types import Expression
from ..contacts.reacting import ReactionForce, Reactions, forces_seen
from ..declared import Field, Formula, Integer, Numbers
from ..formulas.formula import call, check_symbols, check_takes, polynomial_degree
from ..formulas.text import TextFormula
from ..joints.frame import Frame
from ..joints.nonholonomic import FormulaPart, MovingFrame
from ..symmetry import ALL
from .actuators import Actuator
from .springs import force_at

if TYPE_CHECKING:
    from ..part import Part
    from ..symbols import Symbols


class FormulaEnergy(FormulaPart):
    """A potential energy V of one or more bodies, by `formula(frames, t, c)`.

    `frames` holds per body a `Frame` with `position`, `rotation`, `q`, `point(x)` and `direction(a)`; `t` is the time
    [s], `c` the parameters. As text the frames are `f`: `"c[0] * f[0].position[2]**2"`.

    With a `lift` of `n_lift` functions `lift(frames, t, c)`, at most quadratic in the coordinates, the energy is
    `formula(e, t, c)` of their values e (as text they are `f[0]`, `f[1]`). Elements that keep all follow it along
    these, and keep every momentum that they leave as it is: distances squared, scalar products of arms of bodies in
    directors.

    Raises
    ------
    InputError
        For wrong bodies and numbers; for formulas that fail, and lifts of a higher degree.

    Examples
    --------
    Gravitation between two masses, with energy and all momenta kept by `MixedGalerkin(k, keep="all")`:

    >>> import casadi, timefem as tf
    >>> sun, earth = tf.PointMass(1.0), tf.PointMass(3e-6)
    >>> pull = tf.FormulaEnergy([sun, earth], lambda e, t, c: -c[0] / casadi.sqrt(e[0]), parameters=[1.2e-4],
    ...                         n_lift=1, lift=lambda f, t, c: casadi.sumsqr(f[0].position - f[1].position))
    """

    table = "forces"
    formula = Formula("V [J], see above", "f", "t", "c")
    formula_parameters = Numbers("c of the formulas", (), argument="parameters")
    n_lift = Integer("number of values of the lift", 0, least=0, most=1000)
    lift_formula = Formula("of the frames, see above", "f", "t", "c", default=None, optional=True, argument="lift")

    def _complete(self):
        s = self._symbols()
        if (self.lift_formula is None) != (self.n_lift == 0):
            raise InputError(f"{self._title}: give lift and n_lift together")
        if self.lift_formula is not None:
            e = self._lifts(self._frames(s), s.t, s.own)
            check_symbols(f"{self._title}: lift", e, *s.q, s.t, s.own)
            if ca.depends_on(e, s.t) or polynomial_degree(e, ca.vertcat(*s.q)) > 2:
                raise InputError(f"{self._title}: the lift must be at most quadratic in the coordinates, without the "
                                 "time; points of bodies in quaternions are quadratic themselves")
        energy = ca.SX(self.energy(s))
        check_symbols(self._formula_title, energy, *s.q, s.t, s.own)
        for body, q in zip(self.bodies, s.q, strict=True):
            if getattr(body, "is_port", False) and ca.depends_on(energy, q):
                raise InputError(f"{self._formula_title} depends on the states of {body!r}, whose efforts are the "
                                 "gradient of its own H: add this energy there")

    def _frames(self, s):
        return [Frame.of(body, q) for body, q in zip(self.bodies, s.q, strict=True)]

    def _lifts(self, frames, t, c):
        return call(f"{self._title}: lift", self.lift_formula, self.n_lift, frames, t, c)

    def _value(self, seen, t, c):
        return call(self._formula_title, self.formula, 1, seen, t, c)

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What a formula returns, and its symbols by their names in a text."""
        frames, t, c, symbols = self._traced(Frame)
        if name == "lift_formula":
            return ca.vertsplit(self._lifts(frames, t, c)), symbols
        if self.lift_formula is None:
            return self._value(frames, t, c), symbols
        e = ca.SX.sym("e", self.n_lift)
        return self._value(ca.vertsplit(e), t, c), {"t": t, "c": c} | {f"f[{i}]": e[i] for i in range(self.n_lift)}

    def energy(self, s: Symbols) -> Expression:
        frames = self._frames(s)
        seen = frames if self.lift_formula is None else ca.vertsplit(self._lifts(frames, s.t, s.own))
        return self._value(seen, s.t, s.own)

    def lift(self, s: Symbols) -> ca.SX | None:
        return None if self.lift_formula is None else self._lifts(self._frames(s), s.t, s.own)

    def lifted_energy(self, s: Symbols, e: ca.SX) -> Expression:
        return self._value(ca.vertsplit(e), s.t, s.own)


# ---- Forces given by a formula, and rates of states

class Actuators(Field):
    """Actuators whose controls a formula sees."""

    refers, kind_of_value, schema_type = True, "Actuator or sequence of Actuator", "actuators"
    given_as, kept_as = "Part | Sequence[Part]", "tuple[Part, ...]"

    def __init__(self, help="", argument=None):
        super().__init__(help, default=(), optional=True)
        self.argument = argument

    def checked(self, part, value):
        return super().checked(part, () if value is None else value)

    def check(self, title, value):
        found = tuple(value) if isinstance(value, list | tuple) else (value,)
        for actuator in found:
            if not (isinstance(actuator, Actuator) and actuator.n_controls):
                raise InputError(f"{title} must be actuators, such as Control(), not {actuator!r}")
        if len(set(found)) < len(found):
            raise InputError(f"{title}: an actuator is given twice; give each one once")
        return found

    def form(self, value):
        return tuple(actuator.n_controls for actuator in value) or None

    def described(self, value, refer):
        return [refer.part(actuator) for actuator in value]

    def restored(self, data, found):
        return [found.part(number) for number in data]

    def moved(self, value, stand_in):
        return [stand_in(actuator) for actuator in value]


class FormulaForce(ReactionForce, FormulaPart, Actuator):
    """Forces and torques on one or more bodies, by a formula of places, velocities, time and controls, or of the forces
    of constraints.

    The formula is `formula(frames, t, c)`, or `formula(frames, t, c, u)` with controls u: its own `n_controls`, then
    those of the actuators in `controls`. They may enter in any way; inverse dynamics and controllers take formulas that
    are affine in them. With `reactions` it is `formula(frames, t, c, r)`, r the multipliers gamma of their constraints,
    whose force on the coordinates is `-Phi_q^T gamma`: of a joint at a point the force that its body b, or the ground,
    exerts on body a; of a rigid contact the normal forces, one a row, zero where it is open and for impulses. `frames`
    holds per body a `MovingFrame` with `position`, `velocity`, `rotation`, `angular_velocity`, `q`, `rate`,
    `direction(a)` and `velocity_at(arm)`; `t` is the time [s], `c` the parameters. It returns one vector per body (the
    vector alone for one body): the force in space axes [N] at the centre of mass, shape (3,), or force and torque,
    shape (6,), also as a pair; of bodies without a place in space the generalized force, shape (n_q,); of a `State`
    what it adds to the rate of x, and of a `VariableMass` force and rate of the mass, shape (4,). Zero stands for none.
    Forces whose formulas state the same share a kernel; each new one is compiled. As text the frames are `f`:
    `"c[0] * cross([0, 0, 1], f[0].velocity)"`.

    Raises
    ------
    InputError
        For wrong bodies and numbers; for a formula that fails, or returns other shapes.

    Examples
    --------
    >>> import casadi, timefem as tf
    >>> bead = tf.PointMass(1.0)
    >>> swirl = tf.FormulaForce(bead, lambda f, t, c: c[0] * casadi.cross(casadi.SX([0, 0, 1]), f[0].velocity),
    ...                         parameters=[2.0])
    """

    table = "forces"
    formula = Formula("see above", "f", "t", "c", "u", "r")
    formula_parameters = Numbers("c of the formula", (), argument="parameters")
    n_controls = Integer("of u, its own; without controls it is a force like any other", 0, least=0, most=1000)
    acting = Actuators("whose controls follow in u", argument="controls")
    reactions_of = Reactions("joints, other constraints and rigid contacts whose forces are r", argument="reactions")

    def _complete(self):
        if self.reactions_of and self.controls:
            raise InputError(f"{self._title} has reactions and controls; state two forces, one of each")
        self._check()

    @property
    def controls(self) -> tuple[Part, ...]:
        return (self,) * (self.n_controls > 0) + self.acting

    @property
    def n_seen(self) -> int:
        """Controls that the formula sees."""
        return self.n_controls + sum(actuator.n_controls for actuator in self.acting)

    def __repr__(self):
        return f"{self._title} on {' and '.join(map(repr, self.bodies))}"

    def _values(self, frames, t, c, u, r):
        """One vector for each body, list of SX."""
        if isinstance(self.formula, TextFormula):
            return self._called(frames, t, c, u, r)
        return self._called(frames, t, c, *((u,) if self.controls else (r,) if self.reactions_of else ()))

    def _called(self, *arguments):
        check_takes(self._formula_title, self.formula, arguments,
                    ("f", "t", "c", "r" if self.reactions_of and not self.controls else "u", "r"))
        try:
            values = self.formula(*arguments)
            values = list(values) if isinstance(values, list | tuple) else [values]
            if len(self.bodies) == 1 < len(values):  # a vector by its entries
                values = [values]
            return [ca.densify(ca.SX(_in_a_column(v))) for v in values]
        except InputError as error:
            raise InputError(f"{self._formula_title}: {error}") from None
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            bare = [f"f[{i}]" for i, frame in enumerate(arguments[0]) if getattr(frame, "position", 0) is None]
            only = f"; {' and '.join(bare)}, without a place in space, has q and rate only" if bare else ""
            raise InputError(f"{self._formula_title} failed on CasADi symbols ({reason}){only}; its frames are f[0], "
                             "f[1], ..., one for each body, and its functions casadi.vertcat, casadi.sin, ..."
                             ) from error

    def _force(self, s, u, r=None):
        frames = [MovingFrame.of(*x) for x in zip(self.bodies, s.q, s.velocity, strict=True)]
        values = self._values(frames, s.t, s.own, u, ca.SX(0, 1) if r is None else r)
        if len(values) != len(self.bodies):
            raise InputError(f"{self._formula_title} must return one vector for each of {len(self.bodies)} bodies, not "
                             f"{len(values)}")
        return ca.vertcat(*(self._on(i, value, frames[i], s) for i, value in enumerate(values)))

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What the formula returns, and its symbols by their names in a text."""
        *arguments, symbols = self._traced(MovingFrame)
        u, r = ca.SX.sym("u", self.n_seen), self._reaction_symbols()
        return [ca.vertsplit(ca.vec(v)) for v in self._values(*arguments, u, r)], symbols | {"u": u, "r": r}

    def _reaction_symbols(self):
        return ca.SX.sym("r", sum(len(forces_seen(part)) for part in self.reactions_of))

    def _on(self, i, value, frame, s):
        body, n = self.bodies[i], value.numel()
        if n == 1 and value.is_zero():
            return ca.SX(body.n_q, 1)
        wanted = (3, 6) if body.has_orientation else (3,) if body.has_position else (body.n_q,)
        wanted += (3 + len(body.first_order),) * (body.has_position and len(body.first_order) > 0)
        if n not in wanted:
            raise InputError(f"{self._formula_title} must return a vector of {' or '.join(map(str, wanted))} values "
                             f"for {body!r}, not of {n}")
        value = ca.reshape(value, n, 1)
        if not body.has_position:
            return value
        if body.first_order and not value[body.dimension:3].is_zero():
            raise InputError(f"{self._formula_title} gives a force across the {body.dimension} dimensions of {body!r}; "
                             "the rate of its mass is the fourth number, after a force of three")
        force = force_at(body, s.q[i], frame.position, value[:3], value[3:] if n == 6 else None)
        return force + body.flow(s.q[i], s.velocity[i], value[3:]) if n > 3 and body.first_order else force

    def force(self, s: Symbols) -> ca.SX:
        return self.whole_force(s, ca.SX.zeros(self.n_seen))

    def reaction_force(self, s: Symbols, w: ca.SX) -> ca.SX:
        return self._force(s, ca.SX(0, 1), w)

    def control_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        return self._force(s, u) - self.force(s)

    def whole_force(self, s: Symbols, u: ca.SX) -> ca.SX:
        """`force` and `control_force` together, which need not be finite at zero controls."""
        return super().force(s) if self.reactions_of else self._force(s, u)

    def _check(self):
        s, u, r = self._symbols(), ca.SX.sym("u", self.n_seen), self._reaction_symbols()
        force = self._force(s, u, r)
        check_symbols(self._formula_title, force, *s.q, *s.velocity, s.t, s.own, u, r)
        self.is_affine = not ca.depends_on(ca.jacobian(force, u), u)


def _in_a_column(value):
    """Numbers and vectors of nested lists, one below the other."""
    return ca.vertcat(*map(_in_a_column, value)) if isinstance(value, list | tuple) else value


class StateRate(FormulaForce):
    """Rate of the states x of a `State`, the first of the `bodies`, by a formula `rate(x, f, t, c, u)`.

    Frames f are those of the other bodies, u the controls of `controls`; else it is as in `FormulaForce`. Several rates
    of one state add up. A `State` makes one of the `rate` that it is given.

    Raises
    ------
    InputError
        For a first body that is no `State`; for a formula that fails, or returns another number of values.
    """

    formula = Formula("see above", "x", "f", "t", "c", "u")
    formula_parameters = Numbers("c of the formula", (), argument="parameters")
    n_controls, reactions_of = 0, ()
    acting = Actuators("whose controls are u", argument="controls")

    def _complete(self):
        first = self.bodies[0]
        if first.has_position or len(first.first_order) != first.n_q:
            raise InputError(f"{self._title}: the first body must be a State, not {first!r}")
        super()._complete()

    def workless_motions(self) -> np.ndarray:
        return ALL  # it pushes no body

    @property
    def _formula_title(self):
        return f"{self._title}: the rate"

    def _values(self, frames, t, c, u, r):
        own, *others = frames
        rate = self._called(own.q, others, t, c, u)
        rate = rate[0] if len(rate) == 1 else ca.vertcat(*rate)
        return [rate, *([ca.SX(0)] * len(others))]

    def change(self, t0: float, t1: float, n_points: int = 16) -> np.ndarray:
        """What it adds to the states from t0 to t1, by Gauss points, shape (n,); NaN where it depends on more than the
        time."""
        rows, symbols = self.traced("formula")
        known = symbols.pop("t"), symbols.pop("c")
        others = ca.vertcat(*map(ca.vec, symbols.values()))
        rows = [ca.SX(np.nan) if ca.depends_on(row, others) else row for row in rows]
        rates = ca.Function("rates", [ca.vertcat(*known)], [ca.vertcat(*rows)])
        shares, weights = gauss_legendre(n_points)
        return sum(w * (t1 - t0) * np.array(rates(np.append(t0 + share * (t1 - t0), self.own_parameters))).ravel()
                   for share, w in zip(shares, weights, strict=True))

    def traced(self, name: str) -> tuple[Any, dict[str, ca.SX]]:
        """What the formula returns, and its symbols by their names in a text."""
        frames, t, c, symbols = self._traced(MovingFrame)
        u, names = ca.SX.sym("u", self.n_seen), {}
        for key, x in symbols.items():
            if key.startswith("f["):
                number, rest = key[2:].split("]", 1)
                key = f"f[{int(number) - 1}]{rest}" if int(number) else "x" if rest == ".q" else None
            if key is not None:
                names[key] = x
        return ca.vertsplit(self._values(frames, t, c, u, ca.SX(0, 1))[0]), names | {"u": u}


def rate_of(state: Any) -> StateRate:
    """The part that a `State` makes of its rate."""
    seen = state.seen if isinstance(state.seen, list | tuple) else (state.seen,)
    return StateRate([state, *seen], state.rate, parameters=state.rate_parameters, controls=state.acting,
                     name=state.name and f"{state.name} rate")
