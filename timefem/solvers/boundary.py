"""From a boundary-value problem and a time element to a square system on a chain of elements."""

import numpy as np

from ..assembly import Scaling
from ..elements import BubnovGalerkin, ElementPlan
from ..elements.derived import Carrier, WithConstants
from ..errors import InputError
from ..mechanics import System
from ..mechanics.redundancy import keep_constraints
from ..mechanics.unknowns import with_constants, with_number
from .boundary_system import BoundarySystem, EndBlock


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

    Attributes
    ----------
    plan : ElementPlan
    n_unknown, constants : int, ndarray
        Unknown numbers of the problem, and guesses of all constants, lengths of time over that of the mesh.
    """

    def __init__(self, conditions, element, variational=None):
        import casadi as ca

        problem = conditions.problem
        self.conditions, self.problem, self.element = conditions, problem, element
        self.symmetric = variational is not False and isinstance(element, BubnovGalerkin) \
            and (element.multipliers == "discontinuous" or not problem.system.n_constraints) \
            and problem.prescribes_configurations and not problem.system.n_nonholonomic \
            and self._fixed_constraints()
        coupled = ca.jacobian(conditions.coupled, conditions.symbols[0])
        self.copied = sorted(set(coupled.sparsity().get_triplet()[1])) if conditions.coupled.numel() else []
        self.span = problem.t_span[1] - problem.t_span[0]
        self.n_unknown = len(conditions.c)
        unknown = conditions.c.copy()
        if problem.free_time:
            unknown[0] /= self.span
        self.constants = np.concatenate([unknown, conditions.z0[self.copied]])
        self.sizes = np.concatenate([np.where(unknown == 0, 1.0, np.abs(unknown)),
                                     self._state_size(problem.system)[self.copied]])
        n = len(self.constants)
        self.system = self._with_unknowns(n)
        self.full_element = WithConstants(element, n, problem.free_time, problem.t_span[0]) if n else element
        self.plan = ElementPlan(self.system, self.full_element)
        self._blocks()

    def _state_size(self, system):
        root = np.sqrt(system.mass_scale)
        return np.concatenate([1 / root, root])

    def _with_unknowns(self, n):
        """The system with a carrier of n constants, and parts that take their numbers from them."""
        if not n:
            return self.problem.system
        seen, first = {}, int(self.problem.free_time)
        for i, (part, place) in enumerate(self.problem.numbers.values()):
            seen.setdefault(part, {})[place] = first + i
        system = self.problem.system
        parts = [with_constants(part, seen[part]) if part in seen else part for part in system.parts]
        return System([*parts, Carrier(n)])

    # ---- what the ends add

    def _node(self, name):
        """Places of a continuous field among the dofs of a node."""
        for (own, space), places in zip(self.full_element.trial.items(), self.plan.columns.fields, strict=True):
            if own == name and space.continuous:
                return places[0].tolist()
        return []

    def _blocks(self):
        import casadi as ca

        conditions, c = self.conditions, self.plan.columns
        nodes = [ca.SX.sym(name, c.n_node) for name in ("first", "last")]
        state, constants = self._node("state"), self._node("constants")
        z0, z1, numbers = conditions.symbols
        own = [node[constants] if constants else ca.SX(0, 1) for node in nodes]
        values = [o[:self.n_unknown] * ([self.span] * self.problem.free_time
                                        + [1.0] * (self.n_unknown - self.problem.free_time))
                  if self.n_unknown else ca.SX(0, 1) for o in own]

        def at_start(rows):
            return ca.substitute(rows, ca.vertcat(z0, numbers), ca.vertcat(nodes[0][state], values[0]))

        def at_end(rows):
            start = ca.SX(z0)
            for i, place in enumerate(self.copied):
                start[place] = own[1][self.n_unknown + i]
            return ca.substitute(rows, ca.vertcat(z0, z1, numbers), ca.vertcat(start, nodes[1][state], values[1]))

        none = ca.SX(0, 1)
        self.free = [np.ones(c.n_node, bool) for _ in nodes]
        self.kept = [np.ones(self.plan.rows.n_node, bool) for _ in nodes]
        if self.symmetric:
            self._stationary(nodes[1])
            return
        self.kept[0][:] = False
        first = [at_start(conditions.constraints), at_start(conditions.start)]
        if self.copied:
            first.append(own[0][self.n_unknown:] - nodes[0][[state[i] for i in self.copied]])
        first += self._consistent(nodes[0], at_start)
        last = ca.vertcat(at_end(conditions.end), at_end(conditions.coupled))
        self.start = EndBlock(nodes[0], none, ca.vertcat(*first))
        self.end = EndBlock(nodes[1], none, last)

    def _consistent(self, node, at_start):
        """Rows for what the first node holds besides the state: velocities, multipliers."""
        import casadi as ca

        rows, end, n = [], self.conditions.ends[0], self.problem.system.n_q
        if self._node("velocity"):
            rates = ca.vertcat(*(end.rates(b) for b in self.problem.system.bodies))
            rows.append(node[self._node("velocity")] - at_start(rates))
        if self._node("multipliers"):
            multipliers = ca.SX.sym("multipliers", self.problem.system.n_multipliers)
            theta, z = self.conditions.constraints[:multipliers.numel()], end.z
            slope = end.gradient() + ca.jtimes(theta, z, multipliers, True)
            rate = ca.jtimes(theta, z, ca.vertcat(slope[n:], -slope[:n]))
            if isinstance(end.t, ca.SX):
                rate += ca.jacobian(theta, end.t)
            rows.append(ca.substitute(at_start(rate), multipliers, node[self._node("multipliers")]))
        return rows

    def _stationary(self, node):
        """Prescribed configurations with the tests of the coordinates left out: a stationary discrete action.

        At the start all coordinates q are prescribed. At the end T^T M (q - q1) = 0, with the mass matrix M and the
        tangent space T of the constraints, by forces M T rho: these are momenta of velocities along T, which takes the
        place of p in the boundary term of the action. The constraints see to the other coordinates. To prescribe these
        too would leave constraints over, whose multipliers would not be determined.
        """
        import casadi as ca

        n, state = self.problem.system.n_q, self._node("state")
        self.free[0][state[:n]] = self.kept[0][state[:n]] = False
        self.start = EndBlock.none(len(self.free[0]))
        across = self._mass_times_tangent()
        forces = ca.SX.sym("forces", across.shape[1])
        rows = ca.DM(across.T) @ (node[state[:n]] - self.conditions.z1[:n])
        at_node = ca.SX.zeros(len(self.kept[1]))
        at_node[state[:n]] = node[state[n:]] + ca.DM(across) @ forces
        sizes = 1 / np.abs(across.T * self._state_size(self.problem.system)[:n]).max(axis=1, initial=1e-300)
        self.end = EndBlock(node, forces, rows, at_node, sizes)

    def _mass_times_tangent(self):
        """M T at the end, shape (n_q, degrees of freedom), with T of unit kinetic energies."""
        from scipy.linalg import null_space

        system, z, t = self.problem.system, self.conditions.z1, self.problem.t_span[1]
        n, m = system.n_q, system.n_constraints
        unit = np.concatenate([np.tile(z[:n], (n, 1)), np.eye(n)], axis=1)
        mass = np.linalg.inv(system.velocity(np.full(n, t), unit))
        root = np.linalg.cholesky((mass + mass.T) / 2)
        gradient = np.linalg.solve(root, system.derivatives(t, z)[1][:m, :n].toarray().T).T
        gradient /= np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
        return root @ (null_space(gradient, rcond=1e-8) if m else np.eye(n))

    def _fixed_constraints(self):
        """Whether the constraints do not depend on time, as far as can be seen."""
        c, system = self.conditions, self.problem.system
        times = np.linspace(*self.problem.t_span, 5)[1:]
        return not any(np.any(system.derivatives(t, c.z1)[2]) for t in times)

    # ---- values

    def chain(self, mesh, scaling, backend, options, x):
        """The `BoundarySystem` on a mesh; sizes are taken at the dofs `x`."""
        state = self.plan.columns.unpack(x[self.n_before:len(x) - self.n_after])[0]
        scale = Scaling.of(scaling, self.system, self.full_element, self.problem.t_span[0], state[0, 0])
        chain = BoundarySystem(self.plan, mesh, scale, self.free, self.kept, self.start, self.end, backend, options)
        if len(self.constants) and scaling == "full":
            self._scale_constants(chain.assembler)
        return chain

    def _scale_constants(self, assembler):
        for scale, numbering, names, sizes in (
                (assembler.column_scale, self.plan.columns, self.full_element.trial, self.sizes),
                (assembler.row_scale, self.plan.rows, self.full_element.test, 1 / self.sizes)):
            places = dict(zip(names, numbering.fields, strict=True))["constants"]
            n = (len(scale) - numbering.n_node) // numbering.step
            scale[numbering.step * np.arange(n)[:, None, None] + places] = sizes

    def reference(self, x):
        """Size of the scaled state, by which tolerances are multiplied."""
        state = self.plan.columns.unpack(x[self.n_before:len(x) - self.n_after])[0]
        return float(np.abs(state / self._state_size(self.system)).max()) or 1.0

    @property
    def n_before(self):
        return self.start.n_unknowns

    @property
    def n_after(self):
        return self.end.n_unknowns

    def pack(self, values):
        """Unknowns from nodal values by field of the element; constants and forces at the ends are guesses."""
        own = dict(values)
        if len(self.constants) and "constants" not in own:
            n = len(own["state"])
            own["constants"] = np.broadcast_to(self.constants, (n, 2, len(self.constants)))
        x = self.plan.columns.pack(*(own[name] for name in self.full_element.trial))
        if self.symmetric:
            n = self.problem.system.n_q
            x[self._node("state")[:n]] = self.conditions.z0[:n]
        return np.concatenate([np.zeros(self.n_before), x, np.zeros(self.n_after)])

    def unpack(self, x):
        """Nodal values by field."""
        x = x[self.n_before:len(x) - self.n_after]
        return dict(zip(self.full_element.trial, self.plan.columns.unpack(x), strict=True))

    def unmet(self, x):
        """Name of the worst condition and its relative violation: a reduced condition may hold far from the full one.

        Components that only the constraints of the system settle count as far as these hold.
        """
        c, state = self.conditions, self.unpack(x)["state"]
        numbers = self.numbers(x)
        residual = c.residual(state[0, 0], state[-1, -1], np.array(list(numbers.values())))
        worst = int(np.argmax(residual)) if len(residual) else 0
        return (c.names[worst], residual[worst]) if len(residual) else ("", 0.0)

    def numbers(self, x):
        """The unknown numbers by name."""
        if not self.n_unknown:
            return {}
        values = self.unpack(x)["constants"][0, 0, :self.n_unknown].copy()
        if self.problem.free_time:
            values[0] *= self.span
        return dict(zip(self.problem.unknown_names, values.tolist(), strict=True))

    def solved_system(self, numbers):
        """The system with the numbers found."""
        system = self.problem.system
        if not self.problem.numbers:
            return system
        source = system.complete or system
        parts = {part: part for part in source.parts}
        for name, (part, number) in self.problem.parameters.items():
            try:
                parts[part] = with_number(parts[part], number, numbers[name])
            except InputError:  # a number that the part would not be made with, such as a negative damping
                parts[part] = with_number(parts[part], self.problem.numbers[name][1], numbers[name])
        changed = System(list(parts.values()), redundant=source.redundant)
        return keep_constraints(changed, system.kept) if system.complete is not None else changed


def transferred(values, element, mesh, other_element, sizes, other_mesh):
    """Nodal values by field on another mesh of the same span, for an element that may have another degree.

    `sizes` are the numbers of components of its fields. Fields that the first element does not have are zero.
    """
    out = {}
    span, other = mesh.nodes[[0, -1]], other_mesh.nodes[[0, -1]]
    for name, space in other_element.trial.items():
        points = other_mesh.points(space.basis)
        if name not in values:
            out[name] = np.zeros((*points.shape, sizes[name]))
            continue
        basis = element.trial[name].basis
        # of a node at an end, the element that it belongs to counts
        inside = other_mesh.nodes[:-1, None] + other_mesh.lengths[:, None] * np.clip(space.basis.points, 1e-9, 1 - 1e-9)
        t, at = (span[0] + (v - other[0]) * ((span[1] - span[0]) / (other[1] - other[0])) for v in (points, inside))
        e, _ = mesh.locate(np.clip(at, *span))
        xi = (t - mesh.nodes[e]) / mesh.lengths[e]
        out[name] = np.einsum("eni,enia->ena", basis.values(xi.ravel()).reshape(*xi.shape, -1), values[name][e])
    return out
