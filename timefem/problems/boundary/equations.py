"""From a boundary-value problem and a time element to square equations on any mesh."""

from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np

from ...assembly import Scaling
from ...elements.components import components
from ...elements.part_numbers import WithConstants
from ...errors import InputError
from ...mechanics.contacts.reacting import refuse_reaction_forces
from ...mechanics.numbers.map import with_values
from ...mechanics.numbers.records import made_of
from ...memory import Late
from ...solvers.equations.distributed import make_equations
from ...solvers.equations.ends import EndBlock, Ends
from ...solvers.equations.outcome import ValuesOfDofs
from ..parameters import parts_with_unknowns
from ..task import Kept

KNOWN_AT_ENDS = "state", "multipliers", "velocity"


def check_known_at_ends(element, system):
    """Refuse elements whose nodes hold what conditions at the ends do not determine."""
    for name, space in element.trial.items():
        if space.continuous and name not in KNOWN_AT_ENDS and components(system, [space.components])[
                space.components].size:
            raise InputError(f"{element!r} has {name} at the nodes, which boundary values do not determine; use "
                             "form='hamilton', or MixedGalerkin")
    if element.multiplier.continuous:
        refuse_reaction_forces(system, "a boundary-value problem with continuous multipliers", "use "
                               "multipliers='discontinuous'")


class BoundaryForm:
    """The equations of a boundary-value problem, for any mesh.

    Elements give one state more than equations. What is missing are the constraints at the start and the conditions,
    and velocities that belong to the momenta at the start for schemes that have them. Bubnov-Galerkin elements leave
    out the tests of the first node, as for initial values; when the configuration is prescribed at both ends and
    nothing else, the tests of the coordinates at both ends instead, so that the discrete action is stationary and the
    tangent symmetric; not with continuous multipliers, which would have to be given at the start and lose their order.
    Unknown numbers, and the state at the start as far as conditions at the end see it, are constants
    in time (see `WithConstants`).

    Parameters
    ----------
    conditions : BoundaryConditions
    element : TimeElement
    variational : bool, optional
        Whether the discrete action is to be stationary; default: where it can be.
    kept : Kept, optional
        Of earlier solves.
    like : BoundaryForm, optional
        Of a problem that differs in numbers: combinations of conditions and of forces at the ends are as there.

    Attributes
    ----------
    plan : ElementPlan
    n_unknown, constants : int, ndarray
        Unknown numbers of the problem, and guesses of all constants, lengths of time over that of the mesh.
    """

    def __init__(self, conditions, element, variational=None, kept=None, like=None):
        problem, self._kept, self.like = conditions.problem, kept or Kept(), like
        check_known_at_ends(element, problem.system)
        self.conditions, self.problem, self.element = conditions, problem, element
        self.symmetric = variational is not False and element.is_variational \
            and (element.multipliers == "discontinuous" or not problem.system.n_constraints) \
            and problem.prescribes_configurations and not problem.system.n_nonholonomic \
            and self._fixed_constraints()
        self.copied = conditions.coupling()
        self.span = problem.t_span[1] - problem.t_span[0]
        self.n_unknown = len(conditions.c)
        unknown = conditions.c.copy()
        if problem.free_time:
            unknown[0] /= self.span
        self.constants = np.concatenate([unknown, conditions.z0[self.copied]])
        n = len(self.constants)
        self.system = problem.system
        if n:
            self.system = made_of(self.system, parts_with_unknowns(
                self.system, problem.numbers, n, self.span if problem.free_time else None))
        self.full_element = WithConstants(element, n, problem.free_time, problem.t_span[0]) if n else element
        self.plan = self._kept.plan(self.system, self.full_element)
        key = "ends", element, self.symmetric, tuple(self.copied), tuple(len(r.rows) for r in conditions.reductions)
        # numbers of conditions that couple the ends, and of configurations prescribed at both, are in their formulas
        fixed = not self.symmetric and not len(conditions.reductions[2].rows)
        self.ends = reduced_ends(self, self._kept.thing(key, conditions.formulas, lambda: end_blocks(self),
                                                        lambda ends: fixed))

    def _fixed_constraints(self):
        """Whether the constraints do not depend on time, as far as can be seen."""
        c, system = self.conditions, self.problem.system
        times = np.linspace(*self.problem.t_span, 5)[1:]
        return not any(np.any(system.derivatives(t, c.z1)[2]) for t in times)

    # ---- values

    def equations(self, mesh, x, scaling="full", linear=None, comm=None):
        """The `ElementEquations` on a mesh, shared among the ranks of `comm`; sizes are taken at the dofs `x`."""
        scale = Scaling.of(scaling, self.system, self.full_element, self.problem.t_span[0], self.ends_of(x)[0])
        if scaling == "full":
            scale = replace(scale, lifts=self.lifts)
        equations = self._kept.thing(("equations", self.element, mesh.n_elements), self.plan,
                                     lambda: make_equations(self.plan, mesh, scale, self.ends, linear, comm),
                                     lambda equations: equations.renew(mesh, scale, self.ends))
        if len(self.constants) and scaling == "full":
            self._scale_constants(equations.assembler)
        equations.positive = node_places(self, "constants")[:int(self.problem.free_time)]
        return equations

    @cached_property
    def sizes(self):
        """Of the constants."""
        unknown = self.constants[:self.n_unknown]
        return np.concatenate([np.where(unknown == 0, 1.0, np.abs(unknown)),
                               self.problem.system.state_scale[self.copied]])

    def _scale_constants(self, assembler):
        for scale, numbering, names, sizes in (
                (assembler.column_scale, self.plan.columns, self.full_element.trial, self.sizes),
                (assembler.row_scale, self.plan.rows, self.full_element.test, 1 / self.sizes)):
            places = dict(zip(names, numbering.fields, strict=True))["constants"]
            n = (len(scale) - numbering.n_node) // numbering.step
            scale[numbering.step * np.arange(n)[:, None, None] + places] = sizes

    def reference(self, x):
        """Size of the scaled state, by which tolerances are multiplied."""
        c = self.plan.columns
        largest = np.abs(c.elements(self.dofs(x))).max(axis=0).take(c.first)
        return float((largest / self.system.state_scale / np.repeat(self.lifts, self.system.n_q)).max()) or 1.0

    @property
    def lifts(self):
        """Of coordinates, by which they are of the size of the momenta in any unit of time, and of these."""
        return self.span, 1.0

    @property
    def n_before(self):
        return self.ends.blocks[0].n_unknowns

    @property
    def n_after(self):
        return self.ends.blocks[1].n_unknowns

    def pack(self, values):
        """Unknowns from nodal values by field of the element; constants and forces at the ends are guesses."""
        own = dict(values)
        if len(self.constants) and "constants" not in own:
            n = len(own["state"])
            own["constants"] = np.broadcast_to(self.constants, (n, 2, len(self.constants)))
        return self.placed(self.plan.columns.pack(*(own[name] for name in self.full_element.trial)))

    def placed(self, dofs):
        """Unknowns from all dofs of the elements."""
        x = np.concatenate([np.zeros(self.n_before), dofs, np.zeros(self.n_after)])
        self.prescribe(self.dofs(x))
        return x

    def prescribe(self, dofs):
        """Set the dofs of the first node that are no unknowns, in place."""
        if self.symmetric:
            n = self.problem.system.n_q
            dofs[node_places(self, "state")[:n]] = self.conditions.z0[:n]

    def dofs(self, x):
        """All dofs of the elements, a view of the unknowns."""
        return x[self.n_before:len(x) - self.n_after]

    def values(self, x, n_elements):
        """`NodalValues` of the first elements, without the constants."""
        found = ValuesOfDofs(self.plan, self.dofs(x), n_elements)
        if len(self.constants):
            found.others.pop("constants")
        return found

    def ends_of(self, x):
        """States at the start and at the end."""
        c, dofs = self.plan.columns, self.dofs(x)
        return dofs[c.first[0]], dofs[len(dofs) - c.n_local:][c.first[-1]]

    def unmet(self, x):
        """Name of the worst condition and its relative violation: a reduced condition may hold far from the full one.

        Components that only the constraints of the system settle count as far as these hold.
        """
        c, numbers = self.conditions, self.numbers(x)
        residual = c.residual(*self.ends_of(x), np.array(list(numbers.values())))
        worst = int(residual.argmax()) if len(residual) else 0
        return (c.formulas.names[worst], residual[worst]) if len(residual) else ("", 0.0)

    def numbers(self, x):
        """The unknown numbers by name."""
        if not self.n_unknown:
            return {}
        values = self.dofs(x)[node_places(self, "constants")[:self.n_unknown]]
        if self.problem.free_time:
            values[0] *= self.span
        return dict(zip(self.problem.unknown_names, values.tolist(), strict=True))

    def solved_system(self, numbers):
        """The system with the numbers found."""
        system = self.problem.system
        return with_values(system, self.problem.numbers, numbers) if len(self.problem.numbers) else system


# ---- what the ends add to the equations of a boundary-value problem: conditions, unknown forces, tests left out

scipy = Late("scipy")


def node_places(form, name):
    """Places of a continuous field among the dofs of a node."""
    for (own, space), places in zip(form.full_element.trial.items(), form.plan.columns.fields, strict=True):
        if own == name and space.continuous:
            return places[0].tolist()
    return []


def end_blocks(form):
    """The `Ends`: which dofs are free and which tests are kept, of the first and the last node, and their blocks."""
    conditions, c = form.conditions, form.plan.columns
    nodes = [ca.SX.sym(name, c.n_node) for name in ("first", "last")]
    state, constants = node_places(form, "state"), node_places(form, "constants")
    z0, z1, numbers = conditions.formulas.symbols
    own = [node[constants] if constants else ca.SX(0, 1) for node in nodes]
    values = [o[:form.n_unknown] * ([form.span] * form.problem.free_time
                                    + [1.0] * (form.n_unknown - form.problem.free_time))
              if form.n_unknown else ca.SX(0, 1) for o in own]

    def at_start(rows):
        return ca.substitute(rows, ca.vertcat(z0, numbers), ca.vertcat(nodes[0][state], values[0]))

    def at_end(rows):
        start = ca.SX(z0)
        for i, place in enumerate(form.copied):
            start[place] = own[1][form.n_unknown + i]
        return ca.substitute(rows, ca.vertcat(z0, z1, numbers), ca.vertcat(start, nodes[1][state], values[1]))

    none = ca.SX(0, 1)
    free = [np.ones(c.n_node, bool) for _ in nodes]
    kept = [np.ones(form.plan.rows.n_node, bool) for _ in nodes]
    if form.symmetric:
        return Ends(free, kept, _stationary(form, nodes[1], free, kept))
    kept[0][:] = False
    start, end = (conditions.formulas.rows[r.rows.tolist()] if len(r.rows) else none for r in conditions.reductions[:2])
    first = [at_start(start), at_start(conditions.formulas.constraints)]
    if form.copied:
        first.append(own[0][form.n_unknown:] - nodes[0][[state[i] for i in form.copied]])
    first += _consistent(form, nodes[0], at_start)
    last = ca.vertcat(at_end(end), at_end(conditions.coupled()))
    return Ends(free, kept, (EndBlock(nodes[0], none, ca.vertcat(*first)), EndBlock(nodes[1], none, last)))


def reduced_ends(form, ends):
    """The ends with the reductions of the conditions of the form, which have the numbers."""
    if form.symmetric:
        return ends
    blocks = tuple(block.reduced(r.matrix, r.wanted)
                   for block, r in zip(ends.blocks, form.conditions.reductions[:2], strict=True))
    return Ends(ends.free, ends.kept, blocks)


def _consistent(form, node, at_start):
    """Rows for what the first node holds besides the state: velocities, multipliers."""
    rows, end, n = [], form.conditions.formulas.ends[0], form.problem.system.n_q
    if node_places(form, "velocity"):
        rates = ca.vertcat(*(end.rates(b) for b in form.problem.system.bodies))
        rows.append(node[node_places(form, "velocity")] - at_start(rates))
    if node_places(form, "multipliers"):
        multipliers = ca.SX.sym("multipliers", form.problem.system.n_multipliers)
        theta, z = form.conditions.formulas.constraints[:multipliers.numel()], end.z
        slope = end.gradient() + ca.jtimes(theta, z, multipliers, True)
        rate = ca.jtimes(theta, z, ca.vertcat(slope[n:], -slope[:n]))
        if isinstance(end.t, ca.SX):
            rate += ca.jacobian(theta, end.t)
        rows.append(ca.substitute(at_start(rate), multipliers, node[node_places(form, "multipliers")]))
    return rows


def _stationary(form, node, free, kept):
    """Prescribed configurations with the tests of the coordinates left out: a stationary discrete action.

    At the start all coordinates q are prescribed. At the end T^T M (q - q1) = 0, with the mass matrix M and the
    tangent space T of the constraints, by forces M T rho: these are momenta of velocities along T, which takes the
    place of p in the boundary term of the action. The constraints see to the other coordinates. To prescribe these
    too would leave constraints over, whose multipliers would not be determined.
    """
    n, state = form.problem.system.n_q, node_places(form, "state")
    free[0][state[:n]] = kept[0][state[:n]] = False
    across = form.across = _mass_times_tangent(form)
    if form.like is not None:  # which basis it is, is open
        across = form.across = across @ np.linalg.lstsq(across, form.like.across, rcond=None)[0]
    forces = ca.SX.sym("forces", across.shape[1])
    rows = ca.DM(across.T) @ (node[state[:n]] - form.conditions.z1[:n])
    at_node = ca.SX.zeros(len(kept[1]))
    at_node[state[:n]] = node[state[n:]] + ca.DM(across) @ forces
    sizes = 1 / np.abs(across.T * form.problem.system.state_scale[:n]).max(axis=1, initial=1e-300)
    return EndBlock.none(len(free[0])), EndBlock(node, forces, rows, at_node, sizes)


def _mass_times_tangent(form):
    """M T at the end, shape (n_q, degrees of freedom), with T of unit kinetic energies."""
    system, z, t = form.problem.system, form.conditions.z1, form.problem.t_span[1]
    n, m = system.n_q, system.n_constraints
    unit = np.concatenate([np.tile(z[:n], (n, 1)), np.eye(n)], axis=1)
    mass = np.linalg.inv(system.velocity(np.full(n, t), unit))
    root = np.linalg.cholesky((mass + mass.T) / 2)
    gradient = np.linalg.solve(root, system.derivatives(t, z)[1][:m, :n].toarray().T).T
    gradient /= np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
    return root @ (scipy.linalg.null_space(gradient, rcond=1e-8) if m else np.eye(n))
