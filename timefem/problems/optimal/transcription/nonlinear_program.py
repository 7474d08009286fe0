"""Optimal control as a nonlinear program in scaled changes of the unknowns."""

from functools import cached_property

import numpy as np

from .... import sparse
from ....errors import InputError
from ....mechanics.parts import body_of
from ....solvers.interior_point import bounds_loops as loops
from ....solvers.nonlinear.program import CARRIER, CONDITION, MOTION, NonlinearProgram, Row, next_ones
from ..options import OPTIONS
from ..statement.start import constraint_names
from ..strategies.smoothing_path import ContactMarch
from .limit_rows import LimitRows, beyond_poles
from .point_rows import AddedRows, ChainView, View
from .sizes import most_of_controls


class Derivatives:
    """Entries of derivatives of a program on a chain at two points: those in use, and those of the last evaluation.

    Of the tangent of the chain, which is symmetric, the others are left out: they would be half of what an evaluation
    writes, and be read again.

    Parameters
    ----------
    chain : OptimalityEquations
    of_hessian, of_jacobian : ndarray of int
        Places in the tangent, rising, of the first entries of the Hessian and of the Jacobian.
    n_hessian, n_jacobian : int
        How many there are, with those that the chain knows nothing of.
    """

    def __init__(self, chain, of_hessian, of_jacobian, n_hessian, n_jacobian):
        self._chain, self._n_hessian, self._n = chain, n_hessian, n_hessian + n_jacobian
        self._last, self._used = (np.empty(n_hessian + n_jacobian) for _ in range(2))
        self._is_last_used = False

        def found(places):
            """Numbers of entries of the tangent here, -1 for those left out."""
            out = np.full(places.shape, -1)
            for first, known in ((0, of_hessian), (n_hessian, of_jacobian)):
                k = np.minimum(np.searchsorted(known, places), len(known) - 1)
                np.copyto(out, first + k, where=known[k] == places)
            return out

        joined, (kind, copy, slots, periods, begins) = chain.places_of_elements, chain.assembler.pattern.places
        own = np.where(slots < 0, -1, found(joined(slots)))
        line, copies = int(kind[np.argmax(copy)]), int(copy.max(initial=0))
        between = found(joined(slots[line] + periods)) - own[line] if copies else np.zeros_like(periods)
        self.of_elements = chain.assembler.entries_at((kind, copy, own, between, begins))
        self._of_blocks = [(at[at >= 0], at >= 0) for at in map(found, chain.places_of_blocks)]
        of_ends = np.concatenate([np.zeros(0, int), *(at for at, _ in self._of_blocks)])
        self._cleared = np.setdiff1d(of_ends, own), slice(len(of_hessian), n_hessian)  # no element has any there

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """Residual of the chain at unknowns x."""
        self._is_last_used = False
        for places in self._cleared:
            self._last[places] = 0.0
        return self._chain.evaluate_into(x, self)

    @property
    def values(self) -> np.ndarray:
        """Where those of the evaluation at hand go."""
        return self._last

    def add_blocks(self, *entries: np.ndarray) -> None:
        """Add the entries of the blocks at both ends."""
        for (at, here), added in zip(self._of_blocks, entries, strict=True):
            if len(added):
                self._last[at] += added[here]

    def reserve(self, n: int) -> None:
        """Leave room for n numbers behind the entries in use."""
        known, room = (self._last, self._used), np.empty(n)
        self._last, self._used = (np.concatenate([values[:self._n], room]) for values in known)

    def use(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries of both at the point of the last evaluation, which stay until those of another point are used."""
        if not self._is_last_used:
            self._last, self._used, self._is_last_used = self._used, self._last, True
        return self._used[:self._n_hessian], self._used[self._n_hessian:self._n]


class OptimalProgram(NonlinearProgram):
    """The nonlinear program in scaled changes of the unknowns from a first guess.

    Its equations, their Jacobian and the Hessian of the Lagrangian are blocks of the residual and of the tangent of the
    chain, so that nothing is differentiated again. Rows are the equations, in the order of their costates, then those
    of limits, one after the other and point by point. Variables are those of the chain, then running integrals.

    Parameters
    ----------
    chain : OptimalityEquations
    x : ndarray
        Unknowns from which changes are counted.
    on_iteration : callable
    warm : bool
        Whether x is close to a solution, costates included.
    """

    _is_taken = False  # the Hessian of the last evaluation

    def __init__(self, chain, x, on_iteration=lambda residual=None: None, warm=False):
        self.on_iteration, self._given = on_iteration, (chain.problem, chain.mesh, x, warm)
        self.chain, self.base, self._point = chain, chain.with_costates(x, 0), None
        self._expected = self._value = None  # multipliers that are asked for next; the last variables and objective
        self.primal, self.dual = np.flatnonzero(~chain.dual), np.flatnonzero(chain.dual)
        self.n_chain, self.n_equations = len(self.primal), len(self.dual)
        number = np.full(chain.n_unknowns, -1)
        number[self.primal] = np.arange(self.n_chain)
        self.symbols_at = chain.problem.symbols_at
        self.views = ChainView(chain, self.base, number)
        limits = LimitRows(chain, self.views, self.n_chain)
        self._totals, self._ties, self._soft, self._curved = limits.totals, limits.ties, limits.soft, limits.curved
        self._poles = limits.poles
        self.n = self.n_chain + sum(map(len, limits.blocks))
        of_hessian, of_jacobian = self._places(number)
        self._n_of_chain = len(of_hessian)
        self._added = AddedRows(limits.rows, self.n, self.n_equations, self.jacobian_places, self.hessian_places)
        self.jacobian_places, self.hessian_places = self._added.jacobian_places, self._added.hessian_places
        self._derivatives = Derivatives(chain, of_hessian, of_jacobian, len(self.hessian_places[0]),
                                        len(self.jacobian_places[0]))
        self.n_rows, self.start = self._added.n_rows, np.zeros(self.n)
        for sums, columns in limits.totals:
            self.start[columns] = -chain.running_sums(sums.values(self.start).reshape(columns.shape))
        if warm:
            self.start_multipliers = np.concatenate([chain.scaled(x)[self.dual],
                                                     np.zeros(self.n_rows - self.n_equations)])
        self._blocks(limits.blocks)
        none = np.zeros(self.n_equations)
        self.row_bounds = tuple(np.concatenate([none, bound]) for bound in self._added.bounds)
        self.bounds, self.loose = self._bounds(), self._loose()

    def again(self, x, on_iteration, warm):
        """Begin another solve from the same unknowns; False where something is not the same."""
        if self._given is None:
            return False
        problem, mesh, given, was_warm = self._given
        if problem is not self.chain.problem or mesh is not self.chain.mesh or was_warm is not warm or \
                not np.array_equal(x, given):
            return False
        self.on_iteration, self._point, self._expected, self._value = on_iteration, None, None, None
        return True

    def start_from(self, node):
        """Change the dofs of the first node, which are given, shape (n_node,)."""
        dofs = self.chain.dofs(self.base)
        change = node - dofs[:len(node)]
        dofs[:len(node)] = node
        self._added.move_start(change)
        for rows, *_ in self._poles:
            if rows is not None:
                rows.move_start(change)
        self._point = self._given = self._expected = self._value = None

    def later(self, v):
        """Variables of a motion that is one element ahead."""
        factors, added = self._moved_on
        return v[self.ahead[0]] * factors + added

    @cached_property
    def _moved_on(self):
        """Factors, and what is added, of `later`: of the unknowns, of which the variables are changes."""
        base, sizes, from_ = self.chain.scaled(self.base)[self.primal], self.chain.sizes[self.primal], \
            self.ahead[0][:self.n_chain]
        factors, none = sizes[from_] / sizes, np.zeros(self.n - self.n_chain)
        return np.concatenate([factors, none + 1]), np.concatenate([base[from_] * factors - base, none])

    @cached_property
    def ahead(self):
        """For each variable and each row where its value one element ahead comes from: the same place of the next
        element, or of itself where that has none."""
        rows = [self.row_blocks[:self.n_equations - self.chain.blocks[1].n_unknowns],
                self.row_blocks[self.n_equations - self.chain.blocks[1].n_unknowns:self.n_equations],
                *(one.elements for one in self._added.sets)]
        summed = np.full(self.n - self.n_chain, -1)
        return next_ones([self.variable_blocks[:self.n_chain], summed]), next_ones(rows)

    def at_start(self):
        """`View` of state and constants at the start."""
        return View.joined(self.views("state", [0], [0.0]), self.views.constants([0]))

    def at_end(self):
        """`View` of state and constants at the end."""
        last = [self.chain.mesh.n_elements - 1]
        return View.joined(self.views("state", last, [1.0]), self.views.constants(last, 1.0))

    def soften(self, eps, attempt=0):
        """Smooth complementary pairs by this, or by their own number where that is larger; `attempt` counts tries."""
        for rows, pair, smoothed, _ in self._soft:
            own = max(pair.eps, eps)
            rows.give(own)
            at = self._rows_of(rows, smoothed)
            for bounds, value in zip(self.row_bounds, pair.band(own, attempt), strict=True):
                bounds[at] = value

    def has_linear_rows(self):
        return self._added.are_linear and self.chain.has_linear_equations

    def relax(self):
        """Take equations of controls that curve one way, such as u^2 = 1, for inequalities that bound a convex set;
        whether there are any."""
        for rows, which, below in self._curved:
            self.row_bounds[0 if below else 1][self._rows_of(rows, which)] = -np.inf if below else np.inf
        return bool(self._curved)

    def state(self):
        """Take equations as they are stated, after `relax`."""
        for bound, stated in zip(self.row_bounds, self._added.bounds, strict=True):
            bound[self.n_equations:] = stated

    @property
    def row_sizes(self):
        """What rows are over, of equations 1, shape (n_rows,)."""
        return np.concatenate([np.ones(self.n_equations), self._added.sizes])

    @property
    def variable_sizes(self):
        """What variables behind those of the chain are over, shape (n,); of the chain 1."""
        out = np.ones(self.n)
        for sums, columns in self._totals:
            out[columns] = sums.unit
        return out

    @property
    def has_contacts(self):
        return bool(self._soft)

    def marched(self, v):
        """Variables with the motion that controls at v make, contacts included; None where a march fails.

        Raises
        ------
        InputError
            Where contacts do not determine their controls.
        """
        return self._march(self, v)

    @cached_property
    def _march(self):
        chain = self.chain
        sets, ties = [(rows, smooth) for rows, _, smooth, _ in self._soft], list(self._ties)
        forces = np.any([np.zeros(chain.problem.n_controls, bool), *(used for *_, used in self._soft)], axis=0)
        while tied := [tie for tie in ties if np.any(forces & tie[2])]:  # such as actions and reactions
            ties = [tie for tie in ties if not np.any(forces & tie[2])]
            sets += [(rows, which) for rows, which, _ in tied]
            forces = np.any([forces, *(used for *_, used in tied)], axis=0)
        known = [chain.columns_of("controls")[:, :, ~forces]]
        if chain.problem.free_start:
            known.append(chain.columns_at_start())
        if chain.problem.unknown_names:
            known.append(chain.columns_of("constants")[0, 0])  # from where they are carried on
        held = np.isin(self.primal, np.concatenate([one.ravel() for one in known]))
        sets += [(rows, slice(None)) for rows, _ in self._totals]
        rows = [np.arange(self.n_equations - chain.blocks[1].n_unknowns), *(self._rows_of(*one) for one in sets)]
        columns = [np.flatnonzero(~held), *(columns.ravel() for _, columns in self._totals)]
        march = ContactMarch(self, np.concatenate(rows), np.concatenate(columns))
        if not march.determined:
            names = ", ".join(pair.name for _, pair, *_ in self._soft)
            raise InputError(f"{names}: march=True takes contacts with as many conditions as forces, which are "
                             f"controls that no other condition needs; here they are {forces.sum()}: leave march out")
        return march

    def _rows_of(self, rows, which):
        """Numbers of some rows of a set of `PointRows`."""
        return self._added.starts[self._added.sets.index(rows)] + np.arange(rows.n_rows)[which]

    def _places(self, number):
        p, numbers = self.chain.pattern, (number, np.full(self.chain.n_unknowns, -1))
        numbers[1][self.dual] = np.arange(self.n_equations)
        parts = [tuple(np.empty(n, kind) for kind in (np.int32, np.int64, np.int64))
                 for n in sparse.count_parts(p.indptr, p.indices, *numbers)]
        sparse.find_parts(p.indptr, p.indices, numbers, *parts)
        (of_hessian, *hessian), (of_jacobian, *jacobian) = parts
        self.hessian_places, self.jacobian_places = tuple(hessian), tuple(jacobian)
        self._equation_places = tuple(np.asarray(x, np.int32) for x in jacobian)  # half of the memory to pass over
        return of_hessian, of_jacobian

    def _blocks(self, added):
        """One block per element; the first has the first node as well, and the last the conditions at the end."""
        block = self.chain.elements_of_unknowns()
        first = np.arange(len(block)) < self.chain.pattern.column_starts[1]
        outside = first & (not self.chain.reaches[0])  # the node before the first element
        self.outside = np.concatenate([outside[self.primal], *(np.zeros(len(b), bool) for b in added)])
        self.variable_blocks, self.row_blocks = np.concatenate([block[self.primal], *added]), block[self.dual]
        self.row_blocks = np.concatenate([self.row_blocks, self._added.blocks])
        self.joined = self.chain.joined

    def _loose(self):
        """Variables of the first node: what the cost says of them comes from later blocks."""
        if not self.chain.reaches[0]:
            return np.zeros(0, int)
        first = [self.chain.columns_at_start()] * self.chain.problem.free_start
        if self.chain.problem.unknown_names:
            first.append(self.chain.columns_of("constants")[0, 0])
        columns = np.concatenate([np.zeros(0, int), *first])
        return np.flatnonzero(np.isin(self.primal, columns))

    def _bounds(self):
        """Bounds of the changes, of controls and of unknown numbers, which have them at the first node only."""
        problem, chain = self.chain.problem, self.chain
        lower, upper = np.full(chain.n_unknowns, -np.inf), np.full(chain.n_unknowns, np.inf)
        at = chain.columns_of("controls")
        now, size = chain.scaled(self.base), chain.sizes
        most = most_of_controls(problem, chain.mesh, chain.plan.element.degree)
        for bound, values in ((lower, np.maximum(problem.bounds[0], -most)),
                              (upper, np.minimum(problem.bounds[1], most))):
            bound[at] = values / size[at] - now[at]
        if problem.unknown_names and chain.reaches[0]:
            at = chain.columns_of("constants")[0, 0]
            limits = problem.number_bounds / problem.units
            if problem.free_time:
                limits[0, 0] = max(limits[0, 0], OPTIONS.shortest)
            lower[at], upper[at] = limits / size[at] - now[at]
        none = np.full(self.n - self.n_chain, np.inf)
        return np.concatenate([lower[self.primal], -none]), np.concatenate([upper[self.primal], none])

    def divisors(self, v):
        return [divisor for rows, n, _ in self._poles
                for divisor in (np.zeros((n, 0)) if rows is None else rows.values(v).reshape(-1, n).T)]

    def beyond_poles(self, v):
        return beyond_poles(self._poles, v)

    def within_bounds(self, v):
        """Variables without what methods let bounds give way by."""
        return np.clip(v[:self.n_chain], *(bound[:self.n_chain] for bound in self.bounds))

    def place(self, change, costates):
        """All unknowns after changes, with scaled costates."""
        x = self.base.copy()
        for (slots, sizes), values in zip(self._moves, (change, costates), strict=True):
            loops.add(x, slots, values[:len(slots)], sizes)
        return x

    @cached_property
    def _moves(self):
        """Places in x, and sizes, of the variables of the chain and of its costates."""
        first, dofs, last = self.chain.split(np.arange(len(self.base)))
        places, sizes = np.concatenate([first, dofs[self.chain.assembler.pattern.column_index], last]), self.chain.sizes
        return (places[self.primal], sizes[self.primal]), (places[self.dual], sizes[self.dual])

    def _at(self, v, costates=None):
        """The optimality system at v, kept for the next question; with any costates unless they are given."""
        key = v.tobytes()
        same = key == self._point
        if costates is None:
            if same:
                return self.x
            (expected, costates), self._expected = self._expected or (None, None), None
            if expected != key:
                costates = np.zeros(self.n_equations)
        if not (same and np.array_equal(costates, self._costates)):
            self.x, self._costates, self._point = self.place(v, costates), costates, self._point if same else key
            self.residual, self._is_taken = self._derivatives.evaluate(self.x), False
        return self.x

    def expect(self, v, factor, multipliers):
        y = multipliers[:self.n_equations]
        self._expected = v.tobytes(), y / factor if factor else y.copy()
        self._added.expect(multipliers)

    def objective(self, v):
        x = self._at(v)
        if self._value is None or self._value[0] is not self._point:
            self._value = self._point, self.chain.own_objective(x) / self.chain.objective_size
        return self._value[1]

    def gradient(self, v):
        self._at(v)
        gradient = sparse.take(self.residual, self.primal, 1.0, self.n)
        if self._costates.any():  # the residual is the gradient of the Lagrangian
            rows, columns = self._equation_places
            entries = self._derivatives.use()[1][:len(rows)]
            sparse.add_product(columns, rows, entries, self._costates, -1.0, gradient)
        return gradient

    def gradient_of_lagrangian(self, v, factor, multipliers):
        if not factor:
            return super().gradient_of_lagrangian(v, factor, multipliers)
        self._at(v, multipliers[:self.n_equations] / factor)
        gradient = sparse.take(self.residual, self.primal, factor, self.n)
        self._added.add_gradient(v, multipliers, gradient)
        return gradient

    def reserve(self, n):
        self._derivatives.reserve(n)

    def rows(self, v):
        self._at(v)
        rows = sparse.take(self.residual, self.dual, 1.0, self.n_rows)
        self._added.put_values(v, rows[self.n_equations:])
        return rows

    def jacobian(self, v):
        self._at(v)
        entries = self._derivatives.use()[1]
        self._added.put_jacobian(v, entries[len(self._equation_places[0]):])
        return entries

    def hessian(self, v, factor, multipliers):
        y, own = multipliers[:self.n_equations], slice(self._n_of_chain)
        if self._is_taken:  # what is there was changed
            self._point = None
        self._at(v, y / factor if factor else y.copy())
        values = self._derivatives.use()[0]
        if factor and factor != 1:
            values[own] *= factor
        if not factor:  # without the cost, which the system always has
            with_cost = values[own].copy()
            self._at(v, np.zeros(self.n_equations))
            values = self._derivatives.use()[0]
            np.subtract(with_cost, values[own], out=values[own])
        self._added.add_hessian(v, multipliers, values)
        self._is_taken = True
        return values

    @property
    def roles(self):
        return np.append(roles_of_equations(self.chain), self._added.roles)

    def describe(self, i):
        chain, problem = self.chain, self.chain.problem
        if i >= self.n_equations:
            element, t, name = self._added.describe(i)
            return self._row(name, element, t)
        element, of_end = int(self.row_blocks[i]), i - (self.n_equations - chain.blocks[1].n_unknowns)
        if of_end >= 0:
            combination = np.abs(problem.conditions.combinations[of_end])
            return self._row(f"the {problem.conditions.names[int(np.argmax(combination))]} at the end", element,
                             chain.mesh.nodes[-1])
        for field in chain.plan.element.trial:
            component = self._component(field, self.dual[i]) if field.startswith("costate of ") else None
            if component is not None:
                name = name_of_equation(problem.system, field.removeprefix("costate of "),
                                        chain.plan.element.trial[field].components, component)
                return self._row(name, element, chain.mesh.nodes[element])
        return self._row("an equation", element, chain.mesh.nodes[element])

    def describe_variable(self, i):
        chain, problem, element = self.chain, self.chain.problem, int(self.variable_blocks[i])
        if i < self.n_chain:
            for name, told in (("controls", problem.control_name), ("constants", problem.unknown_names.__getitem__)):
                component = self._component(name, self.primal[i])
                if component is not None:
                    return self._row(f"the bound of {told(component)}", element, chain.mesh.nodes[element])
        return self._row("a bound", element, chain.mesh.nodes[element])

    def describe_objective(self):
        chain = self.chain
        for bad in np.flatnonzero(~np.isfinite(chain.integrals(self.x))):
            return self._row("the cost", int(bad) + chain.slab[0], chain.mesh.nodes[bad + chain.slab[0]])
        return self._row("the cost at the end", chain.mesh.n_elements - 1, chain.mesh.nodes[-1])

    def _component(self, field, unknown):
        """Which component of a field an unknown is a value of; None for other fields."""
        chain = self.chain
        found = np.argwhere(chain.columns_of(field) == unknown) if field in chain.plan.element.trial else ()
        return int(found[0, 2]) if len(found) else None

    def _row(self, name, element, t):
        """A `Row` with the time on the mesh as it is after the duration found."""
        problem = self.chain.problem
        return Row(name, element, float(problem.time(t, self.chain.numbers(self.x) / problem.units)))


def roles_of_equations(chain):
    """Roles of `OptimalityEquations`, in the order of their costates, see `NonlinearProgram`."""
    dual = np.flatnonzero(chain.dual)
    roles = np.full(len(dual), MOTION)
    roles[len(dual) - chain.blocks[1].n_unknowns:] = CONDITION
    if "costate of constants" in chain.plan.element.trial:
        roles[np.isin(dual, chain.columns_of("costate of constants"))] = CARRIER
    return roles


def name_of_equation(system, field, components, component):
    """Name of an equation, by its place.

    Parameters
    ----------
    system : System
    field : str
        Of the tests.
    components : str or callable
        What the field has values for, see `timefem.elements.components`.
    component : int
    """
    if field in ("state", "motion"):
        return f"an equation of motion of {system.label(body_of(system, component))}"
    if components in ("multipliers", "constraints", "joints"):
        return constraint_names(system, components == "joints")[component]
    if field == "nonholonomic":
        names = system.nonholonomic_names  # some elements have a second multiplier of each, of its rate
        return f"the constraint '{names[component % len(names)]}'" + " in its rate" * (component >= len(names))
    return "an equation"
