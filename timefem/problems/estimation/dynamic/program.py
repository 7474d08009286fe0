"""Estimation as a nonlinear program on the chain, with Gauss-Newton's Hessian; sensors at points of the elements."""

import casadi as ca
import numpy as np
import scipy

from ....elements.along import lagrange, value
from ....kernels.compile import Buffered
from ....mechanics.values.of_parts import rates_follow
from ....solvers.nonlinear.program import CARRIER, CONDITION, MOTION, NonlinearProgram, Row
from ...optimal.statement.start import start_rows
from ...optimal.transcription.nonlinear_program import name_of_equation
from ...optimal.transcription.point_rows import ChainView, View
from ...targets import body_velocity
from ..options import DEFAULTS
from .terms import BoundTerm, LinearTerm, SensorTerm, Sum


class _Counted:
    """Of a start, whose counters of turns follow from the angles that they count, with the turns of the first guess."""

    def __init__(self, now, z0):
        self._now, self._z0 = now, z0
        self._counters = [body for body in now.system.bodies if body.is_counter]
        self.names = [name for body in self._counters for name in (now.system.label(body),) * 2]
        self.combinations = np.eye(len(self.names))

    def __call__(self, z, c):
        now, rows = self._now, ca.SX(0, 1)
        for body in self._counters:
            first = float(self._z0[now.system.coordinates(body)][0])
            rows = ca.vertcat(rows, body.conditions_at_start(now.q(body), now.p(body), now.q, first))
        return rows


class EstimationProgram(NonlinearProgram):
    """Least squares over the motions of a chain, in scaled changes of all its unknowns from a first guess.

    The Hessian is that of Gauss and Newton, `J^T J` of the residuals: positive semidefinite, without derivatives of
    second order of the motion. Rows are those of the constraints at the start, then the equations of the elements.

    Parameters
    ----------
    chain : EstimationChain
    x : ndarray
        Unknowns from which changes are counted.
    on_iteration : callable
    offsets : dict
        Number of a sensor -> time offset [s] that puts its times in elements, where that is unknown.

    Attributes
    ----------
    sensors : list of SensorTerm
        Of the measurements.
    start_places : (ndarray of int, ndarray of int)
        Rows and columns of the entries of the constraints at the start.
    """

    def __init__(self, chain, x, on_iteration=lambda residual=None: None, offsets=None):
        self.chain, self.problem, self.base, self._on = chain, chain.problem, x.copy(), on_iteration
        self.n = len(x)
        self.start = np.zeros(self.n)
        self.views = ChainView(chain, self.base, np.arange(self.n))
        self._key, self._at_start = None, self._start_rows()
        self._least_squares(offsets or {})
        self._places()
        self.bounds = np.full((2, self.n), [[-np.inf], [np.inf]])
        for term in self.held.values():
            self.bounds[:, term.columns[0, 0]] = (np.array(term.bounds) - term._from) / term._size
        self.bounds = tuple(self.bounds)
        self.row_bounds = (np.zeros(self.n_rows),) * 2
        self.joined = np.arange(chain.mesh.n_elements) // chain.plan.element.elements_per_block

    # ---- what it is made of

    def _start_rows(self):
        problem, chain = self.problem, self.chain
        z, c = ca.SX.sym("z", problem.system.n_z), ca.SX.sym("c", problem.n_constants)
        v = ca.SX.sym("v", problem.system.n_q) if chain.has("velocity") else None
        now, views = problem.moment(ca.SX(problem.t_span[0]), z, c), [self.views("state", [0], [0.0])]
        if v is not None:
            views.append(self.views("velocity", [0], [0.0]))
        view = View.joined(*views)
        w, rows, self._start_names = start_rows(_Counted(now, problem.z0), now, z, v, c, view,
                                                problem.guesses)
        view = View.joined(view, self.views.constants([0], 0.0))
        self._start_view, self.n_start = view, rows.numel()
        w = ca.vertcat(w, c)
        jacobian = ca.jacobian(rows, w)
        row, column = (np.array(x, int) for x in jacobian.sparsity().get_triplet())
        self._start_entries = row, column
        values = [ca.densify(rows), ca.vertcat(ca.SX(0, 1), *jacobian.nonzeros())]
        return Buffered(ca.Function("start", [w], values))

    def _least_squares(self, offsets):
        problem, rows = self.problem, SensorRows(self.chain, self.views)
        self.sensors = [rows.term(sensor, i, offset=offsets.get(i, 0.0))
                        for i, sensor in enumerate(problem.measurements)]
        narrow, wide = problem.start_sensors
        terms = [*self.sensors, *(rows.term(sensor, role="prior") for sensor in narrow),
                 *(rows.term(sensor, role="wide") for sensor in wide)]
        self.held = self._bounds()
        self.sum = Sum([*terms, *self._ambient(), *self._numbers(), *self._noise(), *self.held.values()], self.n)

    def narrow(self, factor):
        """Make wide priors narrower by a factor, so that what a short window leaves open stays where the search began.
        """
        for term in self.sum.terms:
            if term.role == "wide":
                term.weights = np.full(term.n_points, factor**2)

    def _linear(self, role, root, view, mean):
        return LinearTerm(role, root, view.columns[:, :, 0], view.factors[:, :, 0], view.start - mean)

    def _ambient(self):
        if self.problem.arrival is not None:
            mean, covariance = self.problem.arrival
            view = View.joined(self.views("state", [0], [0.0]), self.views.constants([0], 0.0))
            return [self._linear("prior", _root(self._beside_rows(covariance, view))[None], view, mean)]
        if self.problem.ambient is None:
            return []
        mean, covariance = self.problem.ambient
        return [self._linear("prior", _root(covariance)[None], self.views("state", [0], [0.0]), mean)]

    def _beside_rows(self, covariance, view):
        """A covariance of state and unknown numbers with the largest variance along the normals of the rows at the
        start, which hold these."""
        seen, (row, column), n = self._start_view, self._start_entries, self.problem.system.n_z
        gradient = np.zeros((self.n_start, seen.start.shape[1]))
        gradient[row, column] = np.ravel(self._at_start(seen.start[0])[1])
        gradient *= seen.factors[0].sum(axis=1)
        own = np.r_[:n, gradient.shape[1] - self.problem.n_constants:gradient.shape[1]]
        velocities = np.delete(gradient, own, axis=1)
        if velocities.size:  # what nodes hold besides, and rows tell
            gradient = scipy.linalg.null_space(velocities.T).T @ gradient
        normals = scipy.linalg.orth(gradient[:, own].T) if len(gradient) else np.zeros((len(own), 0))
        sizes = view.factors[0].sum(axis=1)
        scaled = covariance / sizes / sizes[:, None]
        return (scaled + scaled.diagonal()[:n].max() * normals @ normals.T) * sizes * sizes[:, None]

    def _numbers(self):
        if self.problem.arrival is not None:
            return []
        return [LinearTerm("number", _root(u.covariance)[None], *self._constant(u))
                for u in self.problem.unknowns]

    def _bounds(self):
        """Number of an unknown number that has bounds -> its `BoundTerm`."""
        bounds, found = self.problem.number_bounds, {}
        for u in self.problem.unknowns:
            columns, factors, start = (x[0] for x in self._constant(u))
            for i, k in enumerate(range(u.places.start, u.places.stop)):
                if np.isfinite(bounds[:, k]).any():
                    found[k] = BoundTerm(columns[i], factors[i], start[i] + u.mean[i], tuple(bounds[:, k]),
                                         np.sqrt(u.covariance[i, i]))
        return found

    def within_bounds(self, v, kkt):
        """Variables with numbers that are out of bounds at these, and whether some went there, or may leave; by the
        factors of the step that led to v."""
        changed = False
        for k, term in self.held.items():
            to = term.settle(v, kkt.variance)
            if to is not None:
                columns = self.chain.columns_of("constants")[:, :, k]
                v, changed = v.copy(), True
                v[columns] = to * term._size / self.chain.sizes[columns]
        return v, changed

    def _constant(self, unknown):
        view = self.views.constants([0], 0.0)
        return (view.columns[:, unknown.places, 0], view.factors[:, unknown.places, 0],
                view.start[:, unknown.places] - unknown.mean)

    def _noise(self):
        """`h/2 int w.Q^-1 w` over each element, of polynomials w by their nodal values."""
        chain, problem = self.chain, self.problem
        if not problem.n_controls:
            return []
        basis = chain.plan.element.trial["controls"].basis
        x, weights = np.polynomial.legendre.leggauss(basis.n_shapes)
        values = basis.values((x + 1) / 2)
        mass = (values * (weights / 2)[:, None]).T @ values
        root = np.kron(np.linalg.cholesky(mass).T, _root(problem.density))  # of w.Q^-1 w, node by node
        columns = chain.columns_of("controls").reshape(chain.mesh.n_elements, -1)
        root = root[None] * np.sqrt(chain.mesh.lengths)[:, None, None]
        return [LinearTerm("noise", root, columns, chain.sizes[columns], self.base[columns])]

    def _places(self):
        chain, (row, column) = self.chain, self._start_entries
        columns = self._start_view.columns[0, :, 0]
        kept = columns[column] >= 0
        self._start_kept = kept
        rows, own = chain.places
        self.start_places = row[kept], columns[column[kept]]
        self.jacobian_places = (np.concatenate([self.start_places[0], self.n_start + rows]),
                                np.concatenate([self.start_places[1], own]))
        self.hessian_places = self.sum.places
        self.n_rows = self.n_start + chain.pattern.n_rows
        self.variable_blocks = chain.elements_of_unknowns
        self.row_blocks = np.concatenate([np.zeros(self.n_start, int), chain.elements_of_rows])

    # ---- values

    def size(self, v):
        """Of the variables at a point, scaled, in which violations that are rounding count; one at least."""
        return max(1.0, float(np.abs(self.place(v) / self.chain.sizes).max()))

    def place(self, v):
        """All unknowns after changes."""
        return self.base + self.chain.sizes * v

    def _at(self, v):
        key = v.tobytes()
        if self._key != key:
            residual, data = self.chain.evaluate(self.place(v))
            rows, entries = self.start_at(v)
            self._rows = np.concatenate([rows, residual])
            self._jacobian = np.concatenate([entries, data])
            self._key = key

    def start_at(self, v):
        """Rows of the start, and entries of their Jacobian at `start_places`."""
        view = self._start_view
        own = np.where(view.columns >= 0, v[view.columns], 0.0)
        rows, entries = self._at_start(view.start + (view.factors * own).sum(axis=2))
        entries = entries * view.factors[0, self._start_entries[1], 0]
        return rows.copy(), entries[self._start_kept]

    def objective(self, v):
        return self.sum.value(v)

    def gradient(self, v):
        return self.sum.gradient(v)

    def rows(self, v):
        self._at(v)
        return self._rows

    def jacobian(self, v):
        self._at(v)
        return self._jacobian

    def hessian(self, v, factor, multipliers):
        return factor * self.sum.hessian(v)

    def on_iteration(self, residual=None):
        self._on(residual)

    def dense_jacobian(self, term, v):
        """The Jacobian of a term of one point by all variables, shape (n, n_variables)."""
        _, jacobian = term.evaluate(v)
        out, used = np.zeros((jacobian.shape[1], self.n)), term.columns[0] >= 0
        np.add.at(out, (slice(None), term.columns[0][used]), jacobian[0][:, used])
        return out

    def start_matrix(self, v):
        """The matrix `[H, A^T; A, 0]` of the first node by the priors of the start and of numbers alone."""
        (first, second), n = self.hessian_places, self.chain.plan.columns.n_node
        prior = self.sum.hessian(v, ("prior", "wide", "number"))
        matrix = np.zeros((n + self.n_start,) * 2)
        here = (first < n) & (second < n)
        matrix[first[here], second[here]] = matrix[second[here], first[here]] = prior[here]
        rows, columns = self.jacobian_places
        own = (rows < self.n_start) & (columns < n)
        values = self.jacobian(v)
        matrix[n + rows[own], columns[own]] = values[own]
        matrix[columns[own], n + rows[own]] = values[own]
        return matrix

    # ---- reports

    @property
    def roles(self):
        fields = dict(zip(self.chain.plan.element.test, self.chain.plan.rows.fields, strict=True))
        own = np.full(self.n_rows, MOTION)
        own[:self.n_start] = CONDITION
        if "constants" in fields:
            steps = self.chain.plan.rows.step * np.arange(self.chain.mesh.n_elements)[:, None]
            own[self.n_start + (steps + fields["constants"].ravel()).ravel()] = CARRIER
        return own

    def describe(self, i):
        t0 = float(self.chain.mesh.nodes[0])
        if i < self.n_start:
            return Row(self._start_names[i], 0, t0)
        plan, system = self.chain.plan, self.problem.system
        element, local = divmod(i - self.n_start, plan.rows.step)
        for (name, space), field in zip(plan.element.test.items(), plan.rows.fields, strict=True):
            found = np.argwhere(field == local)
            if len(found):
                told = name_of_equation(system, name, space.components, int(found[0, 1]))
                return Row(told, element, float(self.chain.mesh.nodes[element]))
        return Row("an equation", element, float(self.chain.mesh.nodes[element]))

    def describe_variable(self, i):
        element = int(self.variable_blocks[i])
        return Row("an unknown", element, float(self.chain.mesh.nodes[element]))


def _root(covariance):
    """W with W^T W the inverse of a covariance."""
    return np.linalg.inv(np.linalg.cholesky(covariance))


# ---- Sensors at points of the elements: which element, which place in it, and the residual in symbols of its fields

def points_of(mesh, times):
    """Element, and place in it (0 to 1), of times; at nodes the end of the element before."""
    nodes, span = mesh.nodes, mesh.nodes[-1] - mesh.nodes[0]
    elements = np.clip(np.searchsorted(nodes, times - DEFAULTS.same_time * span) - 1, 0, mesh.n_elements - 1)
    xi = (times - nodes[elements]) / mesh.lengths[elements]
    near = DEFAULTS.same_time * span / mesh.lengths[elements]
    return elements, np.where(np.abs(xi - 1) <= near, 1.0, np.where(np.abs(xi) <= near, 0.0, xi))


class SensorRows:
    """Makes the terms of sensors on a chain.

    Parameters
    ----------
    chain : EstimationChain
    views : ChainView
    """

    def __init__(self, chain, views):
        self.chain, self.views, self.problem = chain, views, chain.problem

    def term(self, sensor, number=-1, role="measurement", offset=0.0):
        """The `SensorTerm` of a sensor; `number` is that among the measurements, whose unknown numbers it sees.

        A time offset that is unknown moves places within the elements where `offset` [s] puts them.
        """
        unknown = sensor.is_late and number >= 0
        offset = offset if unknown else sensor.offset
        elements, xi = points_of(self.chain.mesh, sensor.times + offset)
        formula, view, given = self._formula(sensor, number, elements, xi, offset, unknown)
        return SensorTerm(role, formula, view, given, sensor.whitening)

    def _formula(self, sensor, number, elements, xi, offset, unknown):
        chain, problem = self.chain, self.problem
        h, n = ca.SX.sym("h"), problem.n_constants
        y = ca.SX.sym("y", sensor.values.shape[1])
        t, place = ca.SX.sym("t"), ca.SX.sym("xi")
        c = ca.SX.sym("c", n)
        own = problem.constants_of(number, c) if number >= 0 else {}
        symbols, views = [c], [self.views.constants(elements, 0.0 if np.all(xi == 0) else 1.0)]  # of the start its own
        shift = own["time_offset"] - offset if unknown else None
        field = _Moved(self, elements, place + shift / h, symbols, views) if unknown else \
            _Fixed(self, elements, xi, symbols, views)
        z, rate = field("state"), field("state", rate=True) / h
        others = {("u" if name == "controls" else name): field(name) for name in ("controls", "multipliers")
                  if chain.has(name)}
        if chain.has("velocity"):
            others |= {"v": field("velocity"), "a": field("velocity", rate=True) / h}
        elif rates_follow(problem.system):
            others["a"] = lambda: self._accelerations(z, rate, c)
        else:
            others["v"] = rate[:problem.system.n_q]
        now = problem.moment(t, z, c, **others)
        residual = field.placed(sensor.residual(now, own, y))
        if shift is not None:
            residual = ca.substitute(residual, t, t + shift)
        given = np.column_stack([sensor.times + offset, xi, chain.mesh.lengths[elements],
                                 np.nan_to_num(sensor.values)])
        return (ca.vertcat(*symbols), ca.vertcat(t, place, h, y), residual), View.joined(*views), given

    def _accelerations(self, z, rate, c):
        """Rates of the velocities of all bodies, which follow from momenta."""
        x, (system, n) = ca.SX.sym("z", z.numel()), (self.problem.system, self.problem.system.n_q)
        now = self.problem.moment(0.0, x, c)
        found = [body_velocity(body, x[:n][system.coordinates(body)], x[n:][system.coordinates(body)],
                               now.own_parameters(body)) for body in system.bodies]
        return ca.substitute(ca.jtimes(ca.vertcat(*found), x, rate), x, z)


class _Fixed:
    """Fields at given places of elements, as symbols."""

    def __init__(self, rows, elements, xi, symbols, views):
        self._rows, self._elements, self._xi, self._symbols, self._views = rows, elements, xi, symbols, views

    def __call__(self, name, rate=False):
        view = self._rows.views(name, self._elements, self._xi, rate)
        symbol = ca.SX.sym(name, view.start.shape[1])
        self._symbols.append(symbol)
        self._views.append(view)
        return symbol

    def placed(self, formula):
        """A formula of the fields, of what `symbols` holds."""
        return formula


class _Moved:
    """The same at places that depend on symbols: of all nodal values, with polynomials in the place.

    Formulas are differentiated by fields, which are symbols for that, until they are `placed`.
    """

    def __init__(self, rows, elements, place, symbols, views):
        self._rows, self._elements, self._place, self._symbols, self._views = rows, elements, place, symbols, views
        self._known, self._fields = {}, []

    def __call__(self, name, rate=False):
        basis = self._rows.chain.plan.element.trial[name].basis
        if name not in self._known:
            nodal = []
            for point in basis.points:
                view = self._rows.views(name, self._elements, np.full(len(self._elements), point))
                nodal.append(ca.SX.sym(name, view.start.shape[1]))
                self._symbols.append(nodal[-1])
                self._views.append(view)
            self._known[name] = ca.horzcat(*nodal)
        shapes = [lagrange(basis.points, i) for i in range(basis.n_shapes)]
        shapes = [shape.deriv() for shape in shapes] if rate else shapes
        formula = self._known[name] @ ca.vertcat(*(value(shape, self._place) for shape in shapes))
        self._fields.append((ca.SX.sym(name, formula.numel()), formula))
        return self._fields[-1][0]

    def placed(self, formula):
        symbols, formulas = zip(*self._fields, strict=True)
        return ca.substitute(formula, ca.vertcat(*symbols), ca.vertcat(*formulas))
