"""The rows that limits, rates and complementary pairs of a problem add to its nonlinear program."""

from functools import partial

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.formulas.formula import divisors
from ....mechanics.formulas.text import text_of
from ....parallel import OverRanks
from ....polynomials import gauss_legendre
from ....solvers.nonlinear.program import CARRIER, LIMIT
from ..statement.start import start_rows
from .point_rows import PointRows, View
from .sizes import is_in_units

JUMP = "jump of the control"


class LimitRows:
    """Makes the rows of a problem.

    Parameters
    ----------
    chain : OptimalityEquations
    views : ChainView
    n : int
        Variables of the program so far; integrals add some.

    Attributes
    ----------
    rows : list of PointRows
    blocks : list of ndarray of int
        Block of each further variable.
    totals : list of (PointRows, ndarray of int)
        Rows that sum up an integral element by element, and the variables for what it is at their ends.
    ties : list of (PointRows, ndarray of bool, ndarray of bool)
        Rows of equations of controls alone, which of the rows they are, and which controls they tie.
    curved : list of (PointRows, ndarray of bool, bool)
        Of these the ones that curve one way at the start: which rows, and whether a convex set lies below.
    soft : list of (PointRows, Soft, ndarray of bool, ndarray of bool)
        Rows of complementary pairs, whose last given number is their eps, which of them are smoothed, and which
        controls these depend on.
    poles : list of (PointRows or None, int, callable)
        What formulas divide by or take roots of, where these are evaluated, how many, and how each is written: None at
        an end that other ranks have.
    """

    def __init__(self, chain, views, n):
        self.chain, self.views, self.problem, self._n = chain, views, chain.problem, n
        self.rows, self.blocks, self.totals, self.ties, self.curved, self.soft = [], [], [], [], [], []
        self.poles = []
        problem = self.problem
        z, u, c = (ca.SX.sym(name, k) for name, k in (("z", chain.plan.system.n_z), ("u", problem.n_controls),
                                                      ("c", len(problem.guesses))))
        self._tau = ca.SX.sym("tau")  # time on the mesh
        self._sized = not is_in_units(problem)
        self._stretch = c[0] if problem.free_time else ca.SX(1)
        self._symbols, self._w = (z, u, c), ca.vertcat(z, u, c)
        self._now = problem.now(z, problem.time(self._tau, c), c * problem.units, u)
        self._v = ca.SX.sym("v", chain.plan.system.n_q) if self._has_velocities else None
        self._now.take_velocities(self._v)
        if problem.free_start and chain.reaches[0]:
            first, place = np.zeros(1, int), np.zeros(1)
            view, v = views("state", first, place), None
            if "velocity" in chain.plan.element.trial:
                view, v = View.joined(view, views("velocity", first, place)), ca.SX.sym("v", chain.plan.system.n_q)
            start = problem.now(z, ca.SX(problem.time(problem.t_span[0], c)), c)
            w, rows, names = start_rows(problem.start_conditions, start, z, v, c, view, problem.guesses)
            rows = ca.substitute(rows, c, c * problem.units)
            self.rows.append(PointRows(names, (ca.vertcat(w, c), ca.SX(0, 1)), rows, (0.0, 0.0),
                                       View.joined(view, views.constants(first)), [0], chain.mesh.nodes[:1]))
        self._poles_along(self._now.divisors(), *self._inside(chain.plan.element.n_points))
        end_cost = problem.terminal(z, c * problem.units)
        self._poles_of(end_cost, np.array([self._n_elements - 1]), np.ones(1), chain.reaches[1])
        for limit in problem.limits:
            limit.add_to(self)
        if problem.rate_limits:
            self._rates()

    @property
    def _has_velocities(self):
        """Whether nodes hold velocities that follow from momenta by a solve alone: rates are then these, and no inverse
        of a mass matrix stands in formulas."""
        plan = self.chain.plan
        return "velocity" in plan.element.trial and any(body.velocity_by_solve for body in plan.system.bodies)

    @property
    def _forces(self):
        """Symbols of the forces of constraints, once formulas asked for them."""
        return self._now.reactions

    @property
    def _n_elements(self):
        return self.chain.mesh.n_elements

    def view(self, elements, points):
        """State, controls and constants at points (0 to 1) of elements."""
        return View.joined(self.views("state", elements, points), self.views("controls", elements, points),
                           self.views.constants(elements))

    def times(self, elements, points):
        mesh = self.chain.mesh
        return mesh.nodes[elements] + mesh.lengths[elements] * points

    def along(self, name, rows, bounds, elements, points, at_end=False):
        """Rows in the symbols of state, controls, constants and forces of constraints, at points of elements: of all,
        or at one end of the motion."""
        self.rows.append(self._rows_along(name, rows, bounds, elements, points))
        return self._over_sizes(self.rows[-1], at_end)

    def _rows_along(self, name, rows, bounds, elements, points):
        times, w, view = self.times(elements, points), self._w, self.view(elements, points)
        if self._forces is not None and ca.depends_on(rows, self._forces):
            w, n = ca.vertcat(w, self._forces), self._forces.numel()
            view = View.joined(view, View(*(x[:, :n] for x in self.views("multipliers", elements, points))))
        if self._v is not None and ca.depends_on(rows, self._v):
            w, view = ca.vertcat(w, self._v), View.joined(view, self.views("velocity", elements, points))
        return PointRows(name, (w, self._tau), rows, bounds, view, elements, times, times[:, None])

    def _inside(self, n_points):
        """All Gauss points of the elements of this rank: which element, and the place there."""
        points, elements = gauss_legendre(n_points)[0], np.arange(*self.chain.slab)
        return np.repeat(elements, len(points)), np.tile(points, len(elements))

    def _poles_of(self, formulas, elements, points, here=True):
        """Note what formulas divide by at points of elements, which are those of this rank if they are `here`."""
        symbols = ca.vertcat(self._w, *(s for s in (self._forces, self._v) if s is not None))
        self._poles_along(divisors(formulas, symbols), elements, points, here)

    def _poles_along(self, found, elements, points, here=True):
        if found.numel():
            rows = self._rows_along("pole", found, (-np.inf, np.inf), elements, points) if here else None
            self.poles.append((rows, found.numel(), partial(self._spelt, found)))

    def _spelt(self, found, k):
        """An expression as its user writes it, of the names of bodies, actuators and unknown numbers."""
        problem, system, (z, u, c) = self.problem, self.chain.plan.system, self._symbols
        q, p = ca.vertsplit(z, system.n_q)
        words = {f"parameters['{name}']": c[i] for i, name in enumerate(problem.unknown_names)}
        words["mesh.t" if problem.free_time else "now.t"] = self._tau
        for body in system.bodies:
            at = system.coordinates(body)
            words |= {f"now.q('{system.label(body)}')": q[at], f"now.momentum('{system.label(body)}')": p[at]}
        first = 0
        for part in problem.actuators:
            words[f"now.control('{system.label(part)}')"] = u[first:first + part.n_controls]
            first += part.n_controls
        words |= {name: x for name, x in (("forces of constraints", self._forces), ("rates", self._v)) if x is not None}
        try:
            *shared, text = text_of("pole", found[k], words).splitlines()
        except InputError:
            return str(found[k])
        return ", ".join([text, *(f"{'where' if line is shared[0] else 'and'} {line}" for line in shared)])

    def _over_sizes(self, rows, at_end=False):
        """Rows over their sizes, but beside contacts; those along all elements over the same ones on all ranks, which
        share multipliers of rows."""
        if not self._sized:
            return rows
        blocks, comm = ((0, self._n_elements), None) if at_end else (self.chain.slab, self.chain.comm)
        return rows.over_sizes(self._mean(*rows.changes(*blocks), comm))

    @staticmethod
    def _mean(total, n, comm):
        """Of sums over n points, on ranks that all come here."""
        *total, n = OverRanks(comm).combined(sums=(*total, n))
        return np.array(total) / max(n, 1)

    # ---- what limits ask for

    def on_path(self, limit):
        """Rows of the state at its nodes, once at a node that two elements share, and at further points; limits of
        controls alone at the nodes of these, as many as they have values, and where they may not hold between these at
        Gauss points as well; those of controls and states, and equations of controls, at as many Gauss points, where
        the dynamics see the controls, so that the order of the element stays, inequalities at both ends of the motion
        as well."""
        rows, lower, upper = limit.rows(self._now, self._symbols[1])
        self._poles_of(rows, *self._inside(self.chain.plan.element.n_points))
        groups, ties, as_equations = {}, [], (lower == upper) | limit.as_equations
        for i, row in enumerate(ca.vertsplit(rows)):
            sees = [ca.depends_on(row, symbols) for symbols in self._symbols]
            sees[0] = sees[0] or (self._v is not None and ca.depends_on(row, self._v))
            if self._forces is not None and ca.depends_on(row, self._forces):
                sees[:2] = True, True  # as accurate at these points as elsewhere the states are
            where = "nodes" if not sees[1] else "equations" if as_equations[i] else \
                "Gauss points" if sees[0] else "controls" if self._holds_between(row, lower[i], upper[i]) else "both"
            groups.setdefault(where, []).append(i)
            if lower[i] == upper[i] and not (sees[0] or sees[2]):
                ties.append(i)
        for where, own in groups.items():
            between = limit.between and (lower[own] < upper[own]).all()  # more equations would leave no motion
            points = self._points(where, limit.points, between)
            elements = np.repeat(np.arange(self._n_elements), len(points))
            bounds, names = (lower[own], upper[own]), [f"{limit.name}[{i}]" for i in own]
            if where == "nodes" and self.problem.free_start and self.chain.reaches[0]:
                self.along(names, rows[own], bounds, np.zeros(1, int), np.zeros(1), at_end=True)
            self.along(names, rows[own], bounds, elements, np.tile(points, self._n_elements))
            for last in (0, 1) if where == "Gauss points" else ():
                if self.chain.reaches[last]:
                    element = np.array([last * (self._n_elements - 1)])
                    self.along(names, rows[own], bounds, element, np.array([float(last)]), at_end=True)
            for i in set(ties).intersection(own):
                which = np.tile(np.array(own) == i, len(elements))
                self.ties.append((self.rows[-1], which, self._used(rows[i])))
                if side := self._side(rows[i]):
                    self.curved.append((self.rows[-1], which, side > 0))

    def _points(self, where, further, between):
        """Points of each element at which rows on the path hold."""
        element, inner = self.chain.plan.element, np.linspace(0, 1, further + 2)
        basis = element.trial["controls"].basis
        if where == "equations":  # more of them than controls have values would leave nothing
            return gauss_legendre(basis.n_shapes)[0]
        gauss = gauss_legendre(basis.n_shapes)[0]
        points = {"nodes": np.append(element.state.basis.points, [0.0, 1.0]), "controls": basis.points,
                  "Gauss points": gauss, "both": np.append(basis.points, gauss)}[where]
        points = np.union1d(points, np.append(inner[1:-1], gauss if between else []))
        points = points[np.append(np.diff(points) > 1e-12, True)]
        return points[points > 0] if where == "nodes" else points

    def _holds_between(self, row, lower, upper):
        """Whether a row of controls that holds at their nodes holds between these, by its curvature: controls of one or
        two values there are means of these."""
        if self.chain.plan.element.trial["controls"].basis.n_shapes > 2:
            return False
        if not ca.hessian(row, self._symbols[1])[0].nnz():
            return True
        side = self._side(row)
        return (side > 0 or upper == np.inf) and (side < 0 or lower == -np.inf)

    def _side(self, row):
        """1 where the row is a convex function of the controls at their guess all along, -1 where its negative is, else
        0."""
        hessian = ca.hessian(row, self._symbols[1])[0]
        if not hessian.nnz():
            return 0
        basis = self.chain.plan.element.trial["controls"].basis
        elements = np.repeat(np.arange(self._n_elements), basis.n_shapes)
        points = np.tile(basis.points, self._n_elements)
        at = ca.Function("curvature", [self._symbols[1], self._tau], [hessian])
        controls = self.views("controls", elements, points).start
        found = [at(u, t).full() for u, t in zip(controls, self.times(elements, points), strict=True)]
        if not np.isfinite(found).all():
            return 0
        values = np.linalg.eigvalsh(found)
        rounding = values.shape[1] * np.finfo(float).eps * np.abs(values).max()
        return next((side for side in (1, -1) if (side * values >= -rounding).all()), 0)

    def _used(self, rows):
        """Which controls rows depend on."""
        return np.array([ca.depends_on(rows, control) for control in ca.vertsplit(self._symbols[1])])

    def at_end(self, limit, last):
        rows, *bounds = limit.rows(self._now, self._symbols[1])
        here, element = (self.chain.reaches[1], self._n_elements - 1) if last else (self.chain.reaches[0], 0)
        at = np.array([element]), np.array([float(last)])
        self._poles_of(rows, *at, here)
        if here:
            self.along(limit.name, rows, bounds, *at, at_end=True)

    def integral(self, limit):
        """Rows that sum up the integral from element to element, by as many Gauss points as controls have values, and
        rows for the whole."""
        rows, lower, upper = limit.rows(self._now, self._symbols[1])
        n, n_e = rows.numel(), self._n_elements
        element = self.chain.plan.element
        xi, weights = gauss_legendre(min(element.n_points, element.trial["controls"].basis.n_shapes))
        size = np.max([np.abs(np.where(np.isfinite(b), b, 0)) for b in (lower, upper)], axis=0)
        size = np.where(size > 0, size, 1.0)
        elements, points = np.repeat(np.arange(n_e), len(xi)), np.tile(xi, n_e)
        self._poles_of(rows, elements, points)
        columns = self._n + np.arange(n_e * n).reshape(n_e, n)
        self._n += columns.size
        self.blocks.append(np.repeat(np.arange(n_e), n))
        before = np.vstack([np.full((1, n), -1), columns[:-1]])
        view = View.joined(self.view(elements, points).grouped(len(xi)), View.variables(columns),
                           View.variables(before))
        at_points = [ca.SX.sym("w", self._w.numel()) for _ in xi]
        times, total, old = ca.SX.sym("times", len(xi)), ca.SX.sym("total", n), ca.SX.sym("old", n)
        h, integral = ca.SX.sym("h"), 0
        f = ca.Function("f", [self._w, self._tau], [rows * self._stretch])
        for i, w in enumerate(at_points):
            integral += weights[i] * f(w, times[i])
        sums = PointRows(f"the sum of {limit.name}", (ca.vertcat(*at_points, total, old), ca.vertcat(times, h)),
                         total - old - h * integral / size, (0.0, 0.0), view, np.arange(n_e),
                         self.chain.mesh.nodes[1:], np.column_stack([self.times(elements, points).reshape(n_e, -1),
                                                                     self.chain.mesh.lengths]))
        self._over_sizes(sums).role, sums.unit = CARRIER, size
        self.rows.append(sums)
        self.totals.append((sums, columns))
        if not self.chain.reaches[1]:
            return
        self.rows.append(PointRows(f"the integral of {limit.name}", (total, ca.SX(0, 1)), total,
                                   (lower / size, upper / size), View.variables(columns[-1:]), [n_e - 1],
                                   self.chain.mesh.nodes[-1:]))
        self.rows[-1].unit = size

    def complementary(self, pair):
        """Rows of complementary pairs, as many as the controls have nodal values: there, or with the state at the end
        of the element."""
        points, n_e = self.chain.plan.element.trial["controls"].basis.points, self._n_elements
        elements, points = np.repeat(np.arange(n_e), len(points)), np.tile(points, n_e)
        at, eps = np.ones(len(elements)) if pair.at == "element-end" else points, ca.SX.sym("eps")
        positive, smoothed = pair.rows(self._now, self._symbols[1], eps)
        n = positive.numel(), smoothed.numel()
        bounds = [np.repeat(b, n) for b in zip((0.0, np.inf), pair.band(pair.eps), strict=True)]
        view = View.joined(self.views("state", elements, at), self.views("controls", elements, points),
                           self.views.constants(elements))
        times = self.times(elements, at)
        self.rows.append(PointRows(pair.name, (self._w, ca.vertcat(self._tau, eps)), ca.vertcat(positive, smoothed),
                                   bounds, view, elements, times,
                                   np.column_stack([times, np.full(len(times), pair.eps)])))
        which = np.tile(np.repeat([False, True], n), len(times))
        self.soft.append((self.rows[-1], pair, which, self._used(smoothed)))

    # ---- rates of controls

    def _rates(self):
        """Limits of the rates of controls: of the slope within elements, without jumps between them; by differences
        where controls are constant over an element."""
        chain, later = self.chain, np.arange(1, self._n_elements)
        basis, lengths = chain.plan.element.trial["controls"].basis, chain.mesh.lengths
        change, h = ca.SX.sym("change", self.problem.n_controls), ca.SX.sym("h")
        slope, rows, bounds, names = change / (h * self._stretch), [], [], []
        for place, limit in self.problem.rate_limits:
            own, *of_own = limit.rows(self._now, slope[place])
            rows, bounds = [*rows, own], [*bounds, of_own]
            names += [f"{limit.name}[{i}]" for i in range(own.numel())]
        rows, bounds = ca.vertcat(*rows), [np.concatenate(b) for b in zip(*bounds, strict=True)]
        limited = [i for i in range(change.numel()) if ca.depends_on(rows, change[i])]

        def controls(elements, point, **options):
            view = self.views("controls", elements, np.broadcast_to(point, len(elements)), **options)
            return View(*(x[:, limited] for x in view))

        def add(names, rows, bounds, view, elements, points, given):
            if not len(elements):  # jumps, of one element, which other ranks may have more of
                self._mean(np.zeros(rows.numel()), 0, self.chain.comm)
                return
            view, times = View.joined(view, self.views.constants(elements)), self.times(elements, points)
            self.rows.append(PointRows(names, (ca.vertcat(change[limited], self._symbols[2]), ca.vertcat(h, self._tau)),
                                       rows, bounds, view, elements, times, np.column_stack([given, times])))
            self._over_sizes(self.rows[-1]).role = CARRIER if names is JUMP else LIMIT

        jump = controls(later, 0.0).minus(controls(later - 1, 1.0))
        if basis.n_shapes == 1:
            return add(names, rows, bounds, jump, later, 0.0, (lengths[1:] + lengths[:-1]) / 2)
        xi, _ = gauss_legendre(basis.n_shapes - 1)
        elements, xi = np.repeat(np.arange(self._n_elements), len(xi)), np.tile(xi, self._n_elements)
        add(names, rows, bounds, controls(elements, xi, rate=True), elements, xi, lengths[elements])
        add(JUMP, change[limited], (0.0, 0.0), jump, later, 0.0, lengths[1:])


def beyond_poles(poles, v):
    """What formulas divide by or take roots of and changes its sign along the motion, in words; empty if nothing does.
    """
    for rows, n, spelt in poles:
        values = np.zeros((0, n)) if rows is None else rows.values(v).reshape(-1, n)
        for k in np.flatnonzero(~(values * np.sign(values[:1]) >= 0).all(axis=0)):
            point = int(np.argmin(values[:, k] * np.sign(values[0, k])))
            _, t, _ = rows.describe(point * n + int(k))
            return f"formulas divide by, or take a root or a logarithm of, {spelt(int(k))}: {values[0, k]:.3g} at " \
                   f"first, {values[point, k]:.3g} at t = {t:.6g}"
    return ""
