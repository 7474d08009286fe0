"""From a boundary-value problem and a time element to square equations on any mesh."""

from functools import cached_property

import numpy as np

from ...assembly import Scaling
from ...elements.augmented.constants import WithConstants
from ...elements.components import components
from ...elements.evaluation.nodal_values import ValuesOfDofs
from ...errors import InputError
from ...mechanics.contacts.reacting import refuse_reaction_forces
from ...mechanics.numbers.free import with_values
from ...solvers.equations.make import make_equations
from ..common.kept import Kept
from ..common.parameters import parts_with_unknowns
from .ends import end_blocks, node_places, reduced_ends

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

    Attributes
    ----------
    plan : ElementPlan
    n_unknown, constants : int, ndarray
        Unknown numbers of the problem, and guesses of all constants, lengths of time over that of the mesh.
    """

    def __init__(self, conditions, element, variational=None, kept=None):
        problem, self._kept = conditions.problem, kept or Kept()
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
            self.system = self.system.of_parts(parts_with_unknowns(
                self.system, problem.numbers, n, self.span if problem.free_time else None))
        self.full_element = WithConstants(element, n, problem.free_time, problem.t_span[0]) if n else element
        self.plan = self._kept.plan(self.system, self.full_element)
        key = "ends", element, self.symmetric, tuple(self.copied), tuple(len(r.rows) for r in conditions.reductions)
        # numbers of conditions that couple the ends, and of configurations prescribed at both, are in their formulas
        fixed = not self.symmetric and not len(conditions.reductions[2].rows)
        self.ends = reduced_ends(self, self._kept.thing(key, conditions.structure, lambda: end_blocks(self),
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
        equations = self._kept.thing(("equations", self.element, mesh.n_elements), self.plan,
                                     lambda: make_equations(self.plan, mesh, scale, self.ends, linear, comm),
                                     lambda equations: equations.renew(mesh, scale, self.ends))
        if len(self.constants) and scaling == "full":
            self._scale_constants(equations.assembler)
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
        return float((largest / self.system.state_scale).max()) or 1.0

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
        if self.symmetric:
            n = self.problem.system.n_q
            self.dofs(x)[node_places(self, "state")[:n]] = self.conditions.z0[:n]
        return x

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
        return (c.names[worst], residual[worst]) if len(residual) else ("", 0.0)

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


