"""The table of quantities: what each is of one kind of part, in symbols, and where it belongs in the system."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np

from ...memory import Recent
from ..formulas.formula import ROUNDED, STEEP, SWITCHES, linear_zeros, switches_in
from ..formulas.stored import terms_of
from ..symbols import Symbols, for_formulas, n_reactions, refuse_numbers
from .measures import OPTIONS


class Quantity(NamedTuple):
    """A quantity of a system, to which each part adds its own.

    Attributes
    ----------
    formula : callable
        `formula(f)` -> SX, of the `Formulas` of a kind of part.
    rows, columns : str
        Places of its entries, see `places_of`; a vector has no columns.
    inputs : tuple of str
        Those it takes besides the first one of its `Formulas`, and the velocities of parts that see them.
    """

    formula: Callable[[Formulas], ca.SX]
    rows: str
    columns: str | None = None
    inputs: tuple[str, ...] = ()


class Formulas:
    """What one kind of part is worth, in symbols; each formula is made when it is first asked for.

    Attributes
    ----------
    quantities : dict
        Name -> `Quantity`.
    inputs : dict
        Besides the time and the parameters: name of an attribute -> places of its entries.

    Parameters
    ----------
    part : Part
    """

    quantities: ClassVar[dict[str, Quantity]]
    inputs: ClassVar[dict[str, str]]

    def __init__(self, part):
        self.part, self.solved, self._functions, self.switching = part, sees_velocities(part), {}, {}
        self.n = sum(b.n_q for b in part.bodies)

    @cached_property
    def v(self):
        """Velocities."""
        return ca.SX.sym("v", self.n)

    @cached_property
    def velocities(self):
        """The same, by body."""
        sizes = [b.n_q for b in self.part.bodies]
        return ca.vertsplit(self.v, [sum(sizes[:i]) for i in range(len(sizes) + 1)])

    @cached_property
    def controls(self):
        """Of the actuators whose controls the part sees."""
        return ca.SX.sym("u", sum(actuator.n_controls for actuator in self.part.controls))

    def function(self, *names):
        """What evaluators take of some quantities.

        Returns
        -------
        function : casadi.Function
            Of (inputs, t, parameters): entries in the patterns of the quantities, by columns.
        inputs : list of str
            Names of what it takes, one after the other.
        patterns : list of (list of int, list of int)
            Rows and columns of the entries, for each quantity.
        """
        if names not in self._functions:
            values = [ca.sparsify(ca.SX(self.quantities[name].formula(self))) for name in names]
            entries = ca.densify(ca.vertcat(ca.SX(0, 1), *(entry for value in values for entry in value.nonzeros())))
            taken = {next(iter(self.inputs))}.union(*(self.quantities[name].inputs for name in names))
            if self.solved and ca.depends_on(entries, self.v):
                taken.add("v")
            self._functions[names] = (self._function(names, taken, entries),
                                      [name for name in self.inputs if name in taken],
                                      [value.sparsity().get_triplet() for value in values])
        return self._functions[names]

    def whole(self, name):
        """casadi.Function of (inputs, t, parameters): one quantity, dense. Parts that see velocities take them."""
        if name not in self._functions:
            quantity = self.quantities[name]
            value = ca.densify(ca.SX(quantity.formula(self)))
            taken = {next(iter(self.inputs)), *quantity.inputs, *("v" * self.solved)}
            self._functions[name] = self._function((name,), taken, value)
        return self._functions[name]

    def _function(self, names, taken, value):
        x = ca.vertcat(*(getattr(self, name) for name in self.inputs if name in taken))
        found = ca.Function("_".join(names).replace(" ", "_"), [x, self.symbols.t, self.symbols.parameters], [value])
        refuse_numbers(self.part, found)
        return found


class StateFormulas(Formulas):
    """At states `z = (q, p)`.

    Parts of bodies with `velocity_by_solve` see velocities as a further input: the Hamiltonian is Legendre's
    transformation of T(q, v) at them, and derivatives by states are those at fixed velocities.
    """

    inputs = MappingProxyType({"z": "states", "v": "coordinates", "rate": "coordinates", "multipliers": "constraints",
                               "controls": "controls"})

    @cached_property
    def symbols(self):
        s = Symbols(self.part)
        if self.solved:
            s.velocity = [body.effort(q, c) if body.is_port else v for body, q, c, v in zip(
                self.part.bodies, s.q, s.bodies, self.velocities, strict=True)]
        return s

    @cached_property
    def z(self):
        return ca.vertcat(*self.symbols.q, *self.symbols.p)

    @cached_property
    def rate(self):
        return ca.SX.sym("rate", self.n)

    @cached_property
    def kinetic(self):
        return ca.SX(self.part.kinetic(self.symbols, self.velocities))

    @cached_property
    def potential(self):
        return ca.SX(self.part.potential_energy(self.symbols))

    @cached_property
    def legendre(self):
        return ca.SX((ca.dot(self.symbols.p[0], self.v) if self.part.is_body else 0) - self.kinetic + self.potential)

    @cached_property
    def energy(self):
        legendre = self.solved and not self.part.has_velocity
        return self.legendre if legendre else ca.SX(self.part.energy(self.symbols))

    @cached_property
    def theta(self):
        """Constraints on both levels."""
        return ca.SX(ca.vertcat(self.part.constraints(self.symbols), self.part.velocity_constraints(self.symbols)))

    @cached_property
    def multipliers(self):
        """(gamma, mu) of its own constraints, and gamma of those of `reactions_of`."""
        return ca.SX.sym("w", self.theta.numel() + n_reactions(self.part))

    @cached_property
    def multiplier_force(self):
        n, w = self.theta.numel(), self.multipliers
        force = self.part.multiplier_force(self.symbols, ca.vertcat(w[:n // 2, 0], w[n:, 0]))
        return ca.SX(self.n, 1) if force is None else ca.SX(force)

    @cached_property
    def force(self):
        return ca.SX(self.part.force(self.symbols))

    @cached_property
    def gradient(self):
        """grad H - (Q, 0)."""
        return ca.gradient(self.energy, self.z) - ca.vertcat(self.force, ca.SX(self.n, 1))

    def velocity(self, stated):
        """dH/dp, where that is `stated` by a formula."""
        return ca.gradient(self.energy, ca.vertcat(*self.symbols.p)) if stated else ca.SX(self.n, 1)

    @property
    def own_velocity(self):
        """Of a body, unless it follows from a solve."""
        return self.velocity(self.part.is_body and not self.solved)

    @cached_property
    def form(self):
        """Nonholonomic constraints A qdot + a."""
        return ca.SX(self.part.velocity_form(self.symbols))

    @cached_property
    def gap(self):
        """Of rigid contacts."""
        return ca.SX(self.part.gap(self.symbols)) if self.part.n_contacts else ca.SX(0, 1)

    @property
    def reach(self):
        """Of rigid contacts, whose surfaces may end."""
        return ca.SX(self.part.reach(self.symbols)) if self.part.n_contacts else ca.SX(0, 1)

    @property
    def contact_frames(self):
        """Row by row."""
        return ca.vec(self.part.contact_frames(self.symbols).T) if self.part.n_contacts else ca.SX(0, 1)

    @property
    def gap_rate(self):
        if not self.part.n_contacts:
            return self.gap
        s = self.symbols
        return ca.jtimes(self.gap, ca.vertcat(*s.q), ca.vertcat(*s.velocity)) + ca.jacobian(self.gap, s.t)

    @cached_property
    def pfaffian(self):
        """A and a."""
        return self.part.pfaffian(self.symbols) if self.part.nonholonomic_names else (
            ca.SX(0, self.n), ca.SX(0, 1))

    @property
    def power(self):
        """Q.qdot + dH/dt + lambda.dTheta/dt."""
        t = self.symbols.t
        return (ca.dot(self.force + self.multiplier_force, self.rate) + ca.jacobian(self.energy, t)
                + ca.dot(self.multipliers[:self.theta.numel(), 0], ca.jacobian(self.theta, t)))

    @property
    def derivatives(self):
        """What the motion without multipliers depends on."""
        return [self.gradient, ca.jacobian(self.theta, self.z), ca.jacobian(self.theta, self.symbols.t), self.theta]

    @cached_property
    def depends_on_time(self):
        return any(ca.depends_on(ca.SX(d), self.symbols.t) for d in self.derivatives)


def _size(values):
    """Sum of absolute values, which is finite where all are."""
    return sum((ca.fabs(entry) for value in values for entry in ca.SX(value).nonzeros()), ca.SX(0))


StateFormulas.quantities = QUANTITIES = {
    # of each part, in the order of the groups
    "energies": Quantity(lambda f: f.energy, "parts"),
    "kinetic energies": Quantity(lambda f: f.kinetic, "parts", inputs=("v",)),
    "potential energies": Quantity(lambda f: f.potential, "parts"),
    "sizes": Quantity(lambda f: _size(f.derivatives), "parts"),
    # of the system
    "energy": Quantity(lambda f: f.energy, "whole"),  # H
    # counters of turns have (v - rate)^2 / 2, which is zero, but for elements that let them rest
    "kinetic energy": Quantity(lambda f: 0 if f.part.is_counter else f.kinetic, "whole", inputs=("v",)),  # T(q, v)
    "potential energy": Quantity(lambda f: f.potential, "whole"),
    "energy by state": Quantity(lambda f: ca.gradient(f.energy, f.z), "states"),
    "generalized energy": Quantity(  # p.v - T(q, v) + V
        lambda f: 0 if f.part.is_counter else f.legendre, "whole", inputs=("v",)),
    "power": Quantity(lambda f: f.power, "whole", inputs=("rate", "multipliers")),
    # of motions
    "velocity": Quantity(lambda f: f.own_velocity, "coordinates"),
    # of coordinates that other parts drive by their momenta, such as counters of turns
    "driven velocity": Quantity(lambda f: f.velocity(f.part.has_velocity and not f.part.is_body), "coordinates"),
    "momentum": Quantity(lambda f: ca.gradient(f.kinetic, f.v), "coordinates", inputs=("v",)),  # dT/dv
    "own momentum": Quantity(lambda f: ca.gradient(f.kinetic, f.v) if f.part.is_body else ca.SX(f.n, 1),
                             "coordinates", inputs=("v",)),
    "mass": Quantity(lambda f: ca.jacobian(ca.gradient(f.kinetic, f.v), f.v), "coordinates", "coordinates", ("v",)),
    "momentum by coordinates": Quantity(lambda f: ca.jacobian(
        ca.gradient(f.kinetic, f.v), f.z[:f.n]), "coordinates", "coordinates", ("v",)),
    "velocity by state": Quantity(lambda f: ca.jacobian(f.own_velocity, f.z), "coordinates", "states"),
    "control force": Quantity(lambda f: ca.SX(f.part.control_force(f.symbols, f.controls)), "coordinates",
                              inputs=("controls",)),
    "multiplier force": Quantity(lambda f: f.multiplier_force, "coordinates", inputs=("multipliers",)),
    "multiplier force by forces": Quantity(lambda f: ca.jacobian(f.multiplier_force, f.multipliers), "coordinates",
                                           "constraints", ("multipliers",)),
    # what the motion follows from
    "gradient": Quantity(lambda f: f.gradient, "states"),
    "constraints": Quantity(lambda f: f.theta, "constraints"),
    "constraint terms": Quantity(lambda f: terms_of(f.theta), "constraints"),
    "position gradient": Quantity(lambda f: ca.jacobian(f.theta[:f.theta.numel() // 2], f.z[:f.n]), "positions",
                                  "coordinates"),
    "gradient terms": Quantity(lambda f: terms_of(ca.jacobian(f.theta[:f.theta.numel() // 2], f.z[:f.n])), "positions",
                               "coordinates"),
    "gaps": Quantity(lambda f: f.gap, "contacts"),  # of rigid contacts
    "gap terms": Quantity(lambda f: terms_of(f.gap), "contacts"),
    "gap rates": Quantity(lambda f: f.gap_rate, "contacts"),
    "reaches": Quantity(lambda f: f.reach, "contacts"),
    "contact frames": Quantity(lambda f: f.contact_frames, "contact frames"),
    "positions": Quantity(lambda f: f.theta[:f.theta.numel() // 2], "positions"),
    "jacobian": Quantity(lambda f: ca.jacobian(f.theta, f.z), "constraints", "states"),
    "rate": Quantity(lambda f: ca.jacobian(f.theta, f.symbols.t), "constraints"),
    "constraints by velocity": Quantity(lambda f: ca.jacobian(f.theta, f.v), "constraints", "coordinates"),
    # nonholonomic constraints A qdot + a
    "form": Quantity(lambda f: f.form, "forms"),
    "form terms": Quantity(lambda f: terms_of(f.form), "forms"),
    "form matrix": Quantity(lambda f: f.pfaffian[0], "forms", "coordinates"),
    "form matrix terms": Quantity(lambda f: terms_of(f.pfaffian[0]), "forms", "coordinates"),
    "form jacobian": Quantity(lambda f: ca.jacobian(f.form, f.z), "forms", "states"),
    "form by velocity": Quantity(lambda f: ca.jacobian(f.form, f.v), "forms", "coordinates"),
    "drift": Quantity(lambda f: f.pfaffian[1], "forms"),
    "drift rate": Quantity(lambda f: ca.jacobian(f.form, f.symbols.t), "forms"),
}


_FORMULAS = Recent(OPTIONS.most_kinds)  # by class and kind of part; evaluators keep what they use


def formulas_of(part, formulas=StateFormulas):
    """The formulas of its kind, of that class."""
    return _FORMULAS.of((formulas, part.kind), lambda: formulas(for_formulas(part)))


def sees_velocities(part):
    """Whether formulas of a part take velocities, which do not follow from momenta by a formula."""
    return any(body.velocity_by_solve for body in part.bodies)


def places_of(system):
    """Where the local entries of each group stand in the system, list of dicts to arrays (n_parts, n_local); and the
    numbers of entries that the system has."""
    controls = [part for part in system.parts if part.n_controls]
    stops, first, found = {}, 0, []
    for part in controls:
        stops[part] = first = first + part.n_controls
    contacts, slips, n_contacts, n_slips = {}, {}, 0, 0
    for part in system.rigid_contacts:
        contacts[part] = range(n_contacts, n_contacts := n_contacts + part.n_contacts)
        slips[part] = range(n_slips, n_slips := n_slips + part.n_contacts * part.n_slip)
    n_parts = 0
    for group in system.groups:
        (size, n), m = group.state_index.shape, group.multiplier_index.shape[1]
        own = [[i for a in p.controls for i in range(stops[a] - a.n_controls, stops[a])] for p in group.members]
        found.append({
            "whole": [[0]] * size, "parts": [[n_parts + i] for i in range(size)], "states": group.state_index,
            "coordinates": group.state_index[:, :n // 2],
            "constraints": np.hstack([group.multiplier_index, group.reaction_index]),
            "positions": np.hstack([group.multiplier_index[:, :m // 2], group.reaction_index]),
            "forms": group.nonholonomic_index, "controls": own,
            "contacts": [[*contacts.get(p, ())] for p in group.members],
            "slips": [[*slips.get(p, ())] for p in group.members],
            "contact frames": [[12 * c + i for c in contacts.get(p, ()) for i in range(12)] for p in group.members]})
        n_parts += size
    return found, {"whole": 1, "parts": n_parts, "states": system.n_z, "coordinates": system.n_q,
                   "constraints": system.n_multipliers, "positions": system.n_constraints,
                   "forms": system.n_nonholonomic, "controls": first, "contacts": n_contacts, "slips": n_slips,
                   "contact frames": 12 * n_contacts}


def switches_of(part, steep=False):
    """The `Switches` of the formulas of a part, the same for all of its kind; `steep` adds what `STEEP` has."""
    formulas = formulas_of(part)
    if steep not in formulas.switching:
        counts = any(body.is_counter for body in part.bodies)  # then turns are rounded
        every = SWITCHES | STEEP if steep else SWITCHES
        switches = {name: f for name, f in every.items() if not (counts and name in ROUNDED)}
        x = ca.vertcat(formulas.z, formulas.v) if formulas.solved else formulas.z
        values = ca.densify(ca.vertcat(formulas.gradient, formulas.theta))
        function = ca.Function("forces", [x, formulas.symbols.t, formulas.symbols.parameters], [values])
        formulas.switching[steep] = switches_in(function, formulas.depends_on_time, switches)
    return formulas.switching[steep]


def jumps_of(part):
    """What a part does to the motion and to a cost, a function of (states, rates where they are solved for, controls),
    t and parameters, and its `Switches`, the same for all of its kind."""
    formulas = formulas_of(part)
    if "jumps" not in vars(formulas):
        u = formulas.controls
        x = ca.vertcat(formulas.z, *([formulas.v] if formulas.solved else []), u)
        worth = ca.vertcat(formulas.gradient, ca.SX(formulas.part.control_force(formulas.symbols, u)),
                           ca.SX(formulas.part.cost(formulas.symbols, u)))
        function = ca.Function("worth", [x, formulas.symbols.t, formulas.symbols.parameters], [ca.densify(worth)])
        formulas.jumps = function, switches_in(function, False)
    return formulas.jumps


def kinks_of(part):
    """The derivatives of what `jumps_of` gives by states, rates and controls, a function of the same, one for its kind.
    """
    formulas = formulas_of(part)
    if "kinks" not in vars(formulas):
        worth = jumps_of(part)[0]
        given = [ca.SX.sym(worth.name_in(i), worth.size1_in(i)) for i in range(worth.n_in())]
        rates = ca.jacobian(worth(*given), given[0]).nonzeros()
        formulas.kinks = ca.Function("kinks", given, [ca.densify(ca.vertcat(*rates))])
    return formulas.kinks


def switch_times(groups):
    """Times at which formulas of users switch, whatever the span: where what they compare is linear in the time alone.

    Parameters
    ----------
    groups : sequence of PartGroup
    """
    found = []
    for group in groups:
        timed = any(field.schema_type == "formula" and "t" in field.arguments for field in group.part.fields.values())
        if timed and formulas_of(group.part).depends_on_time:
            found += linear_zeros(switches_of(group.part), group.parameters)
    return found
