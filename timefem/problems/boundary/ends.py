"""What the ends add to the equations of a boundary-value problem: conditions, unknown forces, tests left out."""

import casadi as ca
import numpy as np

from ...late import Late
from ...solvers.equations.ends import EndBlock, Ends

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
    z0, z1, numbers = conditions.symbols
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
    start, end = (conditions.rows[r.rows.tolist()] if len(r.rows) else none for r in conditions.reductions[:2])
    first = [at_start(start), at_start(conditions.constraints)]
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
    rows, end, n = [], form.conditions.ends[0], form.problem.system.n_q
    if node_places(form, "velocity"):
        rates = ca.vertcat(*(end.rates(b) for b in form.problem.system.bodies))
        rows.append(node[node_places(form, "velocity")] - at_start(rates))
    if node_places(form, "multipliers"):
        multipliers = ca.SX.sym("multipliers", form.problem.system.n_multipliers)
        theta, z = form.conditions.constraints[:multipliers.numel()], end.z
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
    across = _mass_times_tangent(form)
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
