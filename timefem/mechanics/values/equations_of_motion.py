"""The equations of motion at one state, and their exact first derivatives, in all coordinates."""

import json
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import casadi as ca
import numpy as np

from ...errors import InputError
from ...kernels.store import store
from ..parts import lasting_name
from ..states.consistent_multipliers import redundant_names
from ..symbols import Symbols, applied_force, first_order, first_order_places, n_reactions
from .evaluate import evaluator
from .of_parts import consistent_velocity, couples_inertia, has_reaction_forces, solved
from .quantities import Formulas, Quantity, formulas_of, places_of

# what accelerations and multipliers are solved from, and derivatives that need these
FIRST = "row", "second", "third", "row_a", "row_g", "row_u", "psi_v", "form_v"
FURTHER = ("sizes", "row_q", "row_v", "second_q", "second_v", "third_q", "third_v", "psi_q", "form_q", "momenta_q")


class MotionFormulas(Formulas):
    """`R = d/dt(dT/dv) - dT/dq + dV/dq - Q - B u + Phi_q^T gamma + A^T nu` with the accelerations a, and constraints on
    the levels of velocities and accelerations. Functions are kept on disk.
    """

    inputs = MappingProxyType({"q": "coordinates", "v": "coordinates", "a": "coordinates", "gamma": "positions",
                               "nu": "forms", "controls": "controls"})

    @cached_property
    def symbols(self):
        s = Symbols(self.part)
        s.velocity = self.velocities
        return s

    @cached_property
    def q(self):
        return ca.vertcat(ca.SX(0, 1), *self.symbols.q)

    @cached_property
    def a(self):
        return ca.SX.sym("a", self.n)

    @cached_property
    def phi(self):
        return ca.SX(self.part.constraints(self.symbols))

    @cached_property
    def form(self):
        return ca.SX(self.part.velocity_form(self.symbols))

    @cached_property
    def gamma(self):
        """Of its own constraints, and of those of `reactions_of`."""
        return ca.SX.sym("gamma", self.phi.numel() + n_reactions(self.part))

    @cached_property
    def nu(self):
        return ca.SX.sym("nu", self.form.numel())

    def rate_of(self, x):
        """Along the motion."""
        return ca.jtimes(x, self.q, self.v) + ca.jtimes(x, self.v, self.a) + ca.jacobian(x, self.symbols.t)

    @cached_property
    def momenta(self):
        return ca.gradient(self._kinetic, self.v)

    @cached_property
    def _kinetic(self):
        return ca.SX(self.part.kinetic(self.symbols, self.velocities))

    @cached_property
    def row(self):
        return self.free_row - self.rubbed

    @cached_property
    def rubbed(self):
        """Forces that depend on those of constraints."""
        found = self.part.multiplier_force(self.symbols, self.gamma)
        return ca.SX(self.n, 1) if found is None else found

    @cached_property
    def free_row(self):
        """Without forces that depend on those of constraints."""
        part, s = self.part, self.symbols
        potential = ca.SX(part.potential_energy(s))
        held = part.constraint_force(s, self.gamma[:self.phi.numel(), 0]) + ca.jtimes(self.form, self.v, self.nu, True)
        row = (self.rate_of(self.momenta) - ca.gradient(self._kinetic - potential, self.q) * (1 - first_order(part))
               + held)
        return row - applied_force(part, s, self.controls)

    @cached_property
    def flowing_row(self):
        """With masses that change by the rates that are solved for among the accelerations: they have no velocity."""
        return self.row + ca.jtimes(self.momenta, self.q, self.a * first_order(self.part))

    @cached_property
    def psi(self):
        return self.rate_of(self.phi)

    @cached_property
    def second(self):
        return self.rate_of(self.psi)

    @cached_property
    def third(self):
        return self.rate_of(self.form)

    @cached_property
    def gap(self):
        return ca.SX(self.part.gap(self.symbols)) if self.part.n_contacts else ca.SX(0, 1)

    @cached_property
    def slip(self):
        """Row by row."""
        return ca.vec(self.part.slip(self.symbols).T) if self.part.n_contacts else ca.SX(0, 1)

    @cached_property
    def laws(self):
        """Restitution, friction and given load of each row, columns."""
        part, s = self.part, self.symbols
        if not part.n_contacts:
            return ca.SX(0, 3)
        seen = part.seen(self.gamma[self.phi.numel():, 0], {}) if part.reactions_of else None
        load = part.load(s) if seen is None else part.load_by(s, seen)
        return ca.horzcat(part.restitutions(s), part.frictions(s), load)

    def function(self, *names):
        if names not in self._functions:
            name = lasting_name(" ".join(("equations of motion", *names)), self.part)
            data = store().read(name) if name else None
            if data is None:
                function, *others = super().function(*names)
                if name:
                    store().write(name, json.dumps([function.serialize(), *others]).encode())
            else:
                function, *others = json.loads(data)
                self._functions[names] = ca.Function.deserialize(function), *others
        return self._functions[names]

    def _function(self, names, taken, value):
        if ca.depends_on(value, ca.vertcat(ca.SX(0, 1), *self.symbols.p)):
            raise InputError(f"{self.part!r} states forces in momenta, not in velocities, and cannot be linearised")
        return super()._function(names, taken, ca.cse(value))


def _acts(formula):
    """A formula, but of what drives counters of turns, and acts on nothing."""
    return lambda f: ca.SX(0, 0) if f.part.is_counter and not f.part.is_body else formula(f)


_CONTACTS = {"gap": lambda f: f.gap, "gap rate": lambda f: f.rate_of(f.gap),
             "gap acceleration": lambda f: f.rate_of(f.rate_of(f.gap)),
             "restitution": lambda f: f.laws[:, 0], "friction": lambda f: f.laws[:, 1], "load": lambda f: f.laws[:, 2]}
_SLIPS = {"slip": lambda f: f.slip, "slip rate": lambda f: f.rate_of(f.slip)}
_ROWS = {"row": "coordinates", "flowing_row": "coordinates", "free_row": "coordinates", "rubbed": "coordinates",
         "psi": "positions", "second": "positions", "form": "forms", "third": "forms", "momenta": "coordinates"}
_BY = {"q": "q", "v": "v", "a": "a", "u": "controls", "g": "gamma"}
MotionFormulas.quantities = {
    "sizes": Quantity(_acts(lambda f: ca.fabs(f.row)), "coordinates", None, tuple(MotionFormulas.inputs)),
    **{name: Quantity(formula, "contacts", None, tuple(MotionFormulas.inputs)) for name, formula in _CONTACTS.items()},
    **{name: Quantity(formula, "slips", None, tuple(MotionFormulas.inputs)) for name, formula in _SLIPS.items()},
    "gap_q": Quantity(lambda f: ca.jacobian(f.gap, f.q), "contacts", "coordinates", tuple(MotionFormulas.inputs)),
    "slip_v": Quantity(lambda f: ca.jacobian(f.slip, f.v), "slips", "coordinates", tuple(MotionFormulas.inputs)),
    **{name: Quantity(_acts(lambda f, name=name: getattr(f, name)), rows, None, tuple(MotionFormulas.inputs))
       for name, rows in _ROWS.items()},
    **{f"{name}_{letter}": Quantity(_acts(lambda f, name=name, by=by: ca.jacobian(getattr(f, name), getattr(f, by))),
                                    rows, MotionFormulas.inputs[by], tuple(MotionFormulas.inputs))
       for name, rows in _ROWS.items() for letter, by in _BY.items()}}


@dataclass(eq=False)
class EquationsOfMotion:
    """Accelerations, multipliers and derivatives of the equations of motion of a system at one state.

    Coordinates of first order have no velocity: what stands among the accelerations for them are their rates, and among
    the velocities what forces see, efforts of ports.

    Parameters
    ----------
    system : System
        Without redundant constraints.
    t : float
        [s]
    q, v : ndarray, shape (n_q,)
        Coordinates and velocities that hold the constraints.
    u : ndarray, shape (n_controls,)
        Controls of all actuators, in the order of the parts.

    Attributes
    ----------
    acceleration : ndarray, shape (n_q,)
    multipliers : ndarray, shape (n_constraints + n_nonholonomic,)
    size : float
        Of the accelerations that the single forces would give, in the metric of the mass.
    rounding : float
        Of the accelerations that rounding of the coordinates would give, in the same metric.
    timed : bool
        Whether something in the system depends on the time explicitly, see `parts_by_time`.
    """

    system: object
    t: float
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray

    @cached_property
    def flows(self):
        """Numbers of the coordinates of first order, ndarray of int."""
        return np.array(first_order_places(self.system), int)

    @cached_property
    def efforts_by_state(self):
        """Changes of the velocities of coordinates of first order with all coordinates, shape (n_flows, n_q)."""
        matrix = np.zeros((self.n, self.n))
        for body in self.system.bodies:
            if body.is_port:
                place = self.system.coordinates(body)
                matrix[place, place] = body.effort_by_state(self.q[place])
        return matrix[self.flows]

    @cached_property
    def inertia(self):
        """Derivatives of the momenta by the velocities, shape (n_q, n_q)."""
        if not self.flows.size:
            return self.mass
        matrix = self.mass.copy()
        matrix[:, self.flows] = np.eye(self.n)[:, self.flows]
        return matrix

    @cached_property
    def rates(self):
        """Of all coordinates along the motion, shape (n_q,)."""
        rates = self.v.copy()
        rates[self.flows] = self.acceleration[self.flows]
        return rates

    @classmethod
    def of_state(cls, system, t, z, u=None):
        """At a state `z = (q, p)`, without controls unless they are given."""
        v = consistent_velocity(system, t, z) if couples_inertia(system) else system.velocity(t, z)
        u = np.zeros(sum(p.n_controls for p in system.parts)) if u is None else u
        v = np.array(v)
        for body in system.bodies:
            if body.is_counter:
                v[system.coordinates(body)] = 0
        put_efforts(system, z, v)
        return cls(system, t, np.array(z[:system.n_q]), v, u)

    def __post_init__(self):
        system = self.system
        n, m, k = system.n_q, system.n_constraints, system.n_nonholonomic
        self.n, self.m, self.k = n, m, k
        self._row = "flowing_row" if self.flows.size else "row"
        if has_reaction_forces(system):
            solution = self._converged(self._take(np.zeros(n + m + k), "free_row"))
        else:
            solution = self._take(np.zeros(n + m + k))
        self.acceleration, self.multipliers = solution[:n], solution[n:]

    def _take(self, x, row=None):
        """Take the equations at accelerations and multipliers, and give those of a step of Newton's method from there.
        """
        names = tuple(name.replace("row", row or self._row) for name in FIRST)
        first = self._evaluated(names, x[:self.n], x[self.n:])
        first = self._unmoved = dict(zip(FIRST, first.values(), strict=True))
        vars(self).pop("_factors", None)
        self.gradient = np.concatenate([first["psi_v"], first["form_v"]])
        self.mass = first["row_a"]
        self.forces = np.hstack([first["row_g"], first["form_v"].T])
        return x - self.accelerations(np.concatenate([first["row"], first["second"], first["third"]]))

    def _converged(self, x):
        """The solution where forces depend on those of constraints."""
        found = solved(self._take, x)
        if not np.isfinite(found).all():
            raise InputError("no accelerations and constraint forces are found at this state: forces that depend on "
                             "those of constraints may be too large, as in a mechanism that jams")
        return found

    @cached_property
    def _at(self):
        """Derivatives, with the accelerations and multipliers."""
        names = tuple(name.replace("row", self._row) for name in FURTHER)
        found = self._evaluated(names, self.acceleration, self.multipliers)
        return self._unmoved | dict(zip(FURTHER, found.values(), strict=True))

    @property
    def places(self):
        """Where the controls of each actuator stand."""
        groups, places = self.system.groups, places_of(self.system)[0]
        return {part: np.array(own, int) for group, place in zip(groups, places, strict=True)
                for part, own in zip(group.members, place["controls"], strict=True) if part.n_controls}

    @cached_property
    def counters(self):
        """Rows (n, n_q) of the coordinates that count turns, which stay as they are."""
        places = [self.system.coordinates(b).start for b in self.system.bodies if b.is_counter]
        return np.eye(self.n)[places]

    @cached_property
    def timed(self):
        return bool(parts_by_time(self.system))

    def _evaluator(self, names):
        return evaluator(self.system, *names, formulas=MotionFormulas)

    def _evaluated(self, names, a, multipliers):
        """Name -> sum over all parts, as one vector or matrix of the system."""
        given = {"v": self.v, "a": a, "gamma": multipliers[:self.m], "nu": multipliers[self.m:], "controls": self.u}
        found = self._evaluator(names)(self.system, np.full(1, float(self.t)), self.q[None],
                                       **{name: value[None] for name, value in given.items()})
        return {name: (value if isinstance(value, np.ndarray) else value.dense())[0]
                for name, value in zip(names, found, strict=True)}

    @cached_property
    def _factors(self):
        gradient, none = self.gradient, np.zeros((self.m + self.k,) * 2)
        matrix = np.block([[self.mass, self.forces], [gradient, none]])
        scale = self._units()
        size = np.sqrt(np.abs(scale[:, None] * matrix * scale).max(axis=1))
        scale = scale / np.where(size > 0, size, 1.0)
        q, r = np.linalg.qr(scale[:, None] * matrix * scale)
        if not np.abs(np.diag(r)).min() > 1e-13:
            raise InputError(self._singular())
        return scale, q, r

    def _units(self):
        """What coordinates, and multipliers of conditions, are in the metric of the mass, in any units."""
        root = 1 / np.sqrt(self.system.mass_scale)
        size = np.linalg.norm(self.gradient * root, axis=1)
        return np.concatenate([root, 1 / np.where(size > 0, size, 1.0)])

    def _singular(self):
        z = np.concatenate([self.q, np.zeros(self.n)])
        names = redundant_names(self.system, self.t, z) if self.m + self.k else []
        why = f"the constraints repeat each other there: {', '.join(names[:4])}" if names else \
            "some motion has neither mass nor a constraint, or the mechanism is in a singular position"
        return f"the accelerations are not determined at this state: {why}"

    def accelerations(self, right):
        """Accelerations and multipliers of right-hand sides of (row, second, third), shapes (n + m + k, ...)."""
        if not np.isfinite(right).all():
            raise InputError("forces or constraints are not finite at this state")
        scale, q, r = self._factors
        return (scale * np.linalg.solve(r, q.T @ (scale * right.T).T).T).T

    @cached_property
    def size(self):
        """Of the accelerations that the forces would give each on its own."""
        free = self._at["sizes"]**2 / self.system.mass_scale
        return float(np.sqrt(free.sum()))

    @cached_property
    def rounding(self):
        """Of the accelerations that rounding of the coordinates would give; stiff parts feel it, loaded or not."""
        forces = 2 * np.finfo(float).eps * np.abs(self._at["row_q"]) @ np.abs(self.q)
        return float(np.sqrt((forces**2 / self.system.mass_scale).sum()))

    def tangent(self, dq, dv):
        """Changes of the accelerations with those of coordinates and velocities, columns (n_q, n); and the sums of the
        absolute values of their terms."""
        at = self._at
        by_q, by_v = (np.concatenate([at[f"{name}_{x}"] for name in ("row", "second", "third")]) for x in "qv")
        inverse = np.abs(self.accelerations(np.eye(len(by_q)))[:self.n])
        size = inverse @ (np.abs(by_q) @ np.abs(dq) + np.abs(by_v) @ np.abs(dv))
        return -self.accelerations(by_q @ dq + by_v @ dv)[:self.n], size

    @cached_property
    def _by_controls(self):
        """Changes of accelerations and multipliers with the controls, in which forces are linear."""
        none = np.zeros((self.m + self.k, len(self.u)))
        return self.accelerations(-np.concatenate([self._unmoved["row_u"], none]))

    def by_controls(self):
        """Changes of the accelerations with the controls, shape (n_q, n_controls)."""
        return self._by_controls[:self.n]

    def multipliers_with(self, u):
        """Multipliers with other controls, shape (n_constraints + n_nonholonomic,)."""
        return self.multipliers + self._by_controls[self.n:] @ (u - self.u)

    def balance(self, wanted=0.0):
        """Controls whose forces leave least between the acceleration and the wanted one (n_q,), in the metric of the
        mass: those nearest to the ones at hand, each by what it does alone, so that forces compare with torques."""
        root = np.sqrt(self.system.mass_scale)
        effect = root[:, None] * self.by_controls()
        size = np.linalg.norm(effect, axis=0)
        size[size == 0] = 1.0
        return self.u + np.linalg.lstsq(effect / size, root * (wanted - self.acceleration), rcond=1e-10)[0] / size

    def momenta(self, dq, dv):
        """Changes of the momenta with those of coordinates and velocities, columns (n_q, n)."""
        dp = self._at["momenta_q"] @ dq + self.inertia @ dv
        dp[self.flows] = 0.0
        return dp

    def velocities(self, dq, dp):
        """Changes of the velocities with those of coordinates and momenta that the constraints allow, columns."""
        right = [dp - self._at["momenta_q"] @ dq, -(self._at["psi_q"] @ dq), -(self._at["form_q"] @ dq)]
        return self.accelerations(np.concatenate(right))[:self.n]

    @property
    def levels(self):
        """Of the constraints on velocities, holonomic ones first: their derivatives by v and by q."""
        return self.gradient, np.concatenate([self._at["psi_q"], self._at["form_q"]])


def put_efforts(system, z, v):
    """Put efforts of ports at coordinates (n_q,) or a state, which forces see, where velocities are."""
    for body in system.bodies:
        if body.is_port:
            v[system.coordinates(body)] = body.velocity(z[system.coordinates(body)], None)


def parts_by_time(system):
    """Parts whose forces, constraints or rigid contacts depend on the time explicitly."""
    found = {i for names in (FIRST, FURTHER) for i, _, function, _ in evaluator(
        system, *names, formulas=MotionFormulas).groups if function.jac_sparsity(0, 1).nnz()}
    for i, group in enumerate(system.groups):
        if not group.part.n_contacts:
            continue
        f = formulas_of(group.part, MotionFormulas)
        laws = ca.vertcat(*(ca.vec(ca.SX(x)) for x in (f.gap, f.slip, f.laws)))
        if ca.depends_on(laws, f.symbols.t):
            found.add(i)
    return [part for i in sorted(found) for part in system.groups[i].members]
