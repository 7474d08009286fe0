"""Path inequalities at the nodes of the state, with their derivatives by the unknowns of the chain."""

import casadi as ca
import numpy as np

from .equations import units


class PathRows:
    """Values g(z, u, t, numbers) <= 0 at all nodes of the state in every element, row by row in time.

    The controls there are interpolated from their nodal values, so that one value u depends on a few unknowns.

    Parameters
    ----------
    chain : OptimalChain
    """

    def __init__(self, chain):
        self.chain, problem, plan = chain, chain.problem, chain.plan
        element, n_z, n_u = plan.element, plan.system.n_z, problem.n_controls
        z, u, c = ca.SX.sym("z", n_z), ca.SX.sym("u", n_u), ca.SX.sym("c", len(problem.guesses))
        tau = ca.SX.sym("tau")  # time on the mesh
        t0 = problem.t_span[0]
        numbers = c * units(problem)
        t = t0 + (tau - t0) * c[0] if problem.free_time else tau
        values, w = problem.path_values(z, u, t, numbers), ca.vertcat(z, u, c)
        weights = ca.SX.sym("weights", values.numel())
        jacobian, hessian = ca.jacobian(values, w), ca.triu(ca.hessian(ca.dot(weights, values), w)[0])
        self._rows, self._columns = (np.array(x, int) for x in jacobian.sparsity().get_triplet())
        self._first, self._second = (np.array(x, int) for x in hessian.sparsity().get_triplet())
        basis = element.state.basis
        self._shapes = element.trial["controls"].basis.values(basis.points)  # (n_nodes, n_shapes)
        self._times = chain.mesh.points(basis).ravel()
        self.n_points, self.n_values = len(self._times), values.numel()
        self.n_rows = self.n_points * self.n_values
        self.elements = np.repeat(np.arange(chain.mesh.n_elements), self.n_rows // chain.mesh.n_elements)
        self._function, self._jacobian, self._hessian = (
            ca.Function("path", [w, tau, weights], [ca.densify(f)]).map(self.n_points)
            for f in (values, _nonzeros(jacobian), _nonzeros(hessian)))
        self._place()

    def _place(self):
        """Unknowns that the components of w = (z, u, c) at each point depend on, and how: (n_points, n_w, n_shapes)."""
        chain, problem = self.chain, self.chain.problem
        states, controls, size = chain.columns_of("state"), chain.columns_of("controls"), chain.sizes
        n_e, n_nodes, n_z = states.shape
        n_shapes, n_u = controls.shape[1:]
        n_c = len(problem.guesses)
        unknown = np.full((n_e, n_nodes, n_z + n_u + n_c, n_shapes), -1)
        factor = np.zeros(unknown.shape)
        unknown[:, :, :n_z, 0], factor[:, :, :n_z, 0] = states, 1.0
        unknown[:, :, n_z:n_z + n_u] = controls.transpose(0, 2, 1)[:, None]
        factor[:, :, n_z:n_z + n_u] = self._shapes[:, None, :]
        if n_c:
            unknown[:, :, n_z + n_u:, 0] = chain.columns_of("constants")[:, :1]
            factor[:, :, n_z + n_u:, 0] = 1.0
        factor = np.where(unknown >= 0, factor * size[unknown], 0.0)
        self._unknown, self._factor = (x.reshape(self.n_points, n_z + n_u + n_c, n_shapes) for x in (unknown, factor))

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

    def _arguments(self, x, weights):
        state, _, others = self.chain.plan.unpack(self.chain.split(x)[1])
        z = state.reshape(self.n_points, -1)
        u = np.einsum("ps,esa->epa", self._shapes, others["controls"]).reshape(self.n_points, -1)
        values = [z, u]
        if "constants" in others:
            values.append(np.repeat(others["constants"][:, 0], self.n_points // len(state), axis=0))
        return np.concatenate(values, axis=1).T, self._times[None], weights.reshape(self.n_points, -1).T

    def describe(self, i):
        """Element, time on the mesh [s] and name of row i."""
        point, value = divmod(i, self.n_values)
        return int(self.elements[i]), self._times[point], f"path[{value}]"

    def values(self, x):
        """g at all points, shape (n_rows,)."""
        return np.array(self._function(*self._arguments(x, np.zeros(self.n_rows)))).T.ravel()

    def jacobian(self, x):
        """Entries of the Jacobian at `jacobian_places`."""
        entries = np.array(self._jacobian(*self._arguments(x, np.zeros(self.n_rows)))).T
        return (entries[:, :, None] * self._factor[:, self._columns])[self._kept]

    def hessian(self, x, weights):
        """Entries of the upper triangle of the Hessian of weights . g at `hessian_places`."""
        entries = np.array(self._hessian(*self._arguments(x, weights))).T
        products = self._factor[:, self._first][..., :, None] * self._factor[:, self._second][..., None, :]
        return (entries[:, :, None, None] * products)[self._kept_pairs]


def _nonzeros(matrix):
    return ca.vertcat(ca.SX(0, 1), *matrix.nonzeros())
