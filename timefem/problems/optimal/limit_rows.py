"""Limits at points of the elements, with their derivatives by the unknowns of the chain."""

import casadi as ca
import numpy as np

from .equations import units


class LimitRows:
    """Values g(z, u, t, numbers) at points of the elements, row by row in time.

    State and controls there are interpolated from nodal values, so that one value depends on a few unknowns. Rows that
    depend on the state alone come once at a node that two elements share.

    Parameters
    ----------
    chain : OptimalityEquations
    limit : Limit

    Attributes
    ----------
    n_rows : int
    elements : ndarray of int, shape (n_rows,)
    lower, upper : ndarray, shape (n_rows,)
    """

    def __init__(self, chain, limit):
        self.chain, self.limit, problem, plan = chain, limit, chain.problem, chain.plan
        element, n_z, n_u = plan.element, plan.system.n_z, problem.n_controls
        z, u, c = ca.SX.sym("z", n_z), ca.SX.sym("u", n_u), ca.SX.sym("c", len(problem.guesses))
        tau = ca.SX.sym("tau")  # time on the mesh
        t0 = problem.t_span[0]
        t = t0 + (tau - t0) * c[0] if problem.free_time else tau
        values, lower, upper = limit.rows(problem.now(z, t, c * units(problem)), u)
        w, weights = ca.vertcat(z, u, c), ca.SX.sym("weights", values.numel())
        self.n_values = values.numel()
        of_state = not ca.depends_on(values, u)
        self._points(chain, element, limit, of_state)
        jacobian, hessian = ca.jacobian(values, w), ca.triu(ca.hessian(ca.dot(weights, values), w)[0])
        self._rows, self._columns = (np.array(x, int) for x in jacobian.sparsity().get_triplet())
        self._first, self._second = (np.array(x, int) for x in hessian.sparsity().get_triplet())
        self.n_rows = self.n_points * self.n_values
        self.elements = np.repeat(self._elements, self._per_element * self.n_values)
        self.lower, self.upper = np.tile(lower, self.n_points), np.tile(upper, self.n_points)
        self._function = ca.Function("limit", [w, tau], [values, _nonzeros(jacobian)]).map(self.n_points)
        self._hessian = ca.Function("limit", [w, tau, weights], [_nonzeros(hessian)]).map(self.n_points)
        self._place()
        self._known = None, None

    def _points(self, chain, element, limit, of_state):
        n = chain.mesh.n_elements
        points = np.union1d(element.state.basis.points, np.linspace(0, 1, limit.points + 2))
        points = points[np.append(np.diff(points) > 1e-12, True)]
        self._elements = np.arange(n)
        if of_state:
            points = points[points > 0]  # the state at the start is prescribed
        if limit.at != "path":
            self._elements = np.array([n - 1 if limit.at == "end" else 0])
            points = np.array([1.0 if limit.at == "end" else 0.0])
        self._state, self._controls = (element.trial[name].basis.values(points) for name in ("state", "controls"))
        self._per_element, self.n_points = len(points), len(points) * len(self._elements)
        mesh = chain.mesh
        self._times = (mesh.nodes[self._elements, None] + mesh.lengths[self._elements, None] * points).ravel()

    def _place(self):
        """Unknowns that the components of w = (z, u, c) at each point depend on, and how: (n_points, n_w, n_shapes)."""
        chain, problem = self.chain, self.chain.problem
        states, controls = (chain.columns_of(name)[self._elements] for name in ("state", "controls"))
        n_e, n_nodes, n_z = states.shape
        n_shapes, n_u = controls.shape[1:]
        n_c, size = len(problem.guesses), chain.sizes
        unknown = np.full((n_e, self._per_element, n_z + n_u + n_c, max(n_nodes, n_shapes)), -1)
        factor = np.zeros(unknown.shape)
        for at, fields, shapes in ((slice(0, n_z), states, self._state), (slice(n_z, n_z + n_u), controls,
                                                                         self._controls)):
            count = fields.shape[1]
            unknown[:, :, at, :count] = fields.transpose(0, 2, 1)[:, None]
            factor[:, :, at, :count] = shapes[:, None, :]
        if n_c:
            unknown[:, :, n_z + n_u:, 0] = chain.columns_of("constants")[self._elements, :1]
            factor[:, :, n_z + n_u:, 0] = 1.0
        unknown[np.abs(factor) < 1e-14] = -1
        factor = np.where(unknown >= 0, factor * size[unknown], 0.0)
        self._unknown, self._factor = (x.reshape(self.n_points, *x.shape[2:]) for x in (unknown, factor))

    def number(self, number):
        """Take the numbers of the unknowns in the nonlinear program."""
        unknown = np.where(self._unknown >= 0, number[self._unknown], -1)
        points = np.arange(self.n_points)[:, None, None]
        columns = unknown[:, self._columns]
        rows = np.broadcast_to(points * self.n_values + self._rows[None, :, None], columns.shape)
        self._kept = columns >= 0
        self.jacobian_places = rows[self._kept], columns[self._kept]
        a, b = unknown[:, self._first][..., :, None], unknown[:, self._second][..., None, :]
        a, b = np.broadcast_arrays(a, b)
        # a pair of different components counts once, as the upper triangle does; of one component all pairs of shapes
        same = (self._first == self._second)[None, :, None, None]
        self._kept_pairs = (a >= 0) & (b >= 0) & (~same | (a <= b))
        low, high = np.minimum(a, b), np.maximum(a, b)
        self.hessian_places = low[self._kept_pairs], high[self._kept_pairs]

    def describe(self, i):
        """Element, time on the mesh [s] and name of row i."""
        point, value = divmod(i, self.n_values)
        return int(self.elements[i]), self._times[point], f"{self.limit.name}[{value}]"

    def _at(self, x):
        """Arguments, values and entries of the Jacobian at x, kept for the next question about the same x."""
        if self._known[0] is not x:
            chain = self.chain
            values = [np.einsum("ps,esa->epa", shapes, chain.nodal(x, name)[self._elements]).reshape(self.n_points, -1)
                      for shapes, name in ((self._state, "state"), (self._controls, "controls"))]
            if chain.problem.unknown_names:
                constants = chain.nodal(x, "constants")[self._elements, 0]
                values.append(np.repeat(constants, self._per_element, axis=0))
            arguments = np.concatenate(values, axis=1).T, self._times[None]
            self._known = x, (arguments, *(np.array(part).T for part in self._function(*arguments)))
        return self._known[1]

    def values(self, x):
        """g at all points, shape (n_rows,)."""
        return self._at(x)[1].ravel()

    def jacobian(self, x):
        """Entries of the Jacobian at `jacobian_places`."""
        entries = self._at(x)[2]
        return (entries[:, :, None] * self._factor[:, self._columns])[self._kept]

    def hessian(self, x, weights):
        """Entries of the upper triangle of the Hessian of weights . g at `hessian_places`."""
        if not len(self._first):
            return np.zeros(0)
        entries = np.array(self._hessian(*self._at(x)[0], weights.reshape(self.n_points, -1).T)).T
        products = self._factor[:, self._first][..., :, None] * self._factor[:, self._second][..., None, :]
        return (entries[:, :, None, None] * products)[self._kept_pairs]


def _nonzeros(matrix):
    return ca.vertcat(ca.SX(0, 1), *matrix.nonzeros())
