"""Derivatives by momenta and coordinates of what depends on velocities, where these follow from a linear solve."""

import casadi as ca
import numpy as np

from ..late import Late
from .point_functions import evaluate

scipy = Late("scipy")


def entries(values, rows, columns):
    """Data, rows and columns of a sparse matrix.

    Of blocks of shape (n_parts, n_rows n_columns), column by column, and the places of their rows and columns.
    """
    rows, columns = np.broadcast_arrays(rows[:, None], columns[:, :, None])
    return values.ravel(), rows.ravel(), columns.ravel()


def sparse(blocks, shape):
    """The CSR array of some `entries`."""
    data, rows, columns = map(np.concatenate, zip(*blocks, strict=True))
    return scipy.sparse.csr_array((data, (rows, columns)), shape=shape)


def velocity_derivatives(system, t, z, n_rows):
    """`Theta_v dv/dz` at one state, for parts whose functions take velocities: CSR array of shape (n_rows, n_z).

    `M v = p` gives `dv = M^-1 (dp - (M v)_q dq)`.
    """
    n = system.n_q
    by_velocity, rates = [], []
    for group, functions, local in system.local_states(t, z):
        index, solved = group.state_index, "by velocity" in functions
        q = index[:, :index.shape[1] // 2]
        if solved:
            values = evaluate(functions["by velocity"], local, t, group.parameters)[0]
            inertial, by_v = np.split(values, [values.shape[1] - group.multiplier_index.shape[1] * q.shape[1]], axis=1)
            by_velocity.append(entries(by_v, group.multiplier_index, q))
        if group.part.is_body and solved:
            for body, place, block in zip(group.members, q, inertial, strict=True):
                mobility = np.linalg.inv(body.mass_matrix(z[0, place]))
                both = np.hstack([-mobility @ block.reshape(len(place), -1, order="F"), mobility])
                rates.append(entries(both.ravel(order="F")[None], place[None], np.append(place, place + n)[None]))
        elif group.part.is_body:
            argument = functions["velocity"].sx_in()
            jacobian = ca.Function("jacobian", argument, [ca.vec(ca.densify(
                ca.jacobian(functions["velocity"](*argument), argument[0])))])
            rates.append(entries(evaluate(jacobian, local, t, group.parameters)[0], q, index))
    return sparse(by_velocity, (n_rows, n)) @ sparse(rates, (n, system.n_z))
