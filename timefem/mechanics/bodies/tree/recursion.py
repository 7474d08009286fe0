"""The recursions over the links of a tree, from the base outward, in CasADi symbols."""

import casadi as ca


def joint_values(bodies, q):
    """Positions of the joints."""
    return [body.factor * q[body.coordinate] + body.offset for body in bodies]


def _relative(body, x):
    """Rotation and place of a body in the frame of its parent, with the joint at `x`."""
    turn, place = ca.SX(ca.sparsify(ca.DM(body.turn))), ca.SX(ca.DM(body.place))
    if body.joint.kind == "prismatic":
        return turn, place + turn[:, 2] * x
    c, s = ca.cos(x), ca.sin(x)
    return turn @ ca.sparsify(ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))), place


def placements(bodies, q):
    """Place (3,) and rotation matrix (3, 3) of each body in space, list of pairs of SX."""
    found = []
    for body, x in zip(bodies, joint_values(bodies, q), strict=True):
        turn, place = _relative(body, x)
        if body.parent >= 0:
            above, rotation = found[body.parent]
            place, turn = above + rotation @ place, rotation @ turn
        found.append((place, turn))
    return found


def mass_moment(bodies, q):
    """Sum of mass times centre of mass in space, SX (3,)."""
    return sum((body.mass * place + turn @ ca.DM(body.moment)
                for body, (place, turn) in zip(bodies, placements(bodies, q), strict=True)), ca.SX(3, 1))


def kinetic(bodies, q, v):
    """T(q, v) = sum of 1/2 m |u|^2 + u.(omega x m c) + 1/2 omega.J omega, with u at the origin of each body's frame.

    In the axes of body i `omega_i = R_i^T omega_parent + axis xdot`, `u_i = R_i^T (u_parent + omega_parent x r_i)`, and
    `+ axis xdot` on u_i for a prismatic joint: O(n) operations (Featherstone, Rigid Body Dynamics Algorithms, 2008).
    """
    energy, found = ca.SX(0), []
    for body, x in zip(bodies, joint_values(bodies, q), strict=True):
        turn, place = _relative(body, x)
        w, u = found[body.parent] if body.parent >= 0 else (ca.SX(3, 1), ca.SX(3, 1))
        w, u = turn.T @ w, turn.T @ (u + ca.cross(w, place))
        along = ca.vertcat(0, 0, body.factor * v[body.coordinate])
        if body.joint.kind == "prismatic":
            u += along
        else:
            w += along
        found.append((w, u))
        energy += (body.mass * ca.dot(u, u) + ca.dot(w, ca.DM(body.inertia) @ w)) / 2
        energy += ca.dot(u, ca.cross(w, ca.DM(body.moment)))
    return energy


def solved_energy(mass, p):
    """1/2 p.M^-1 p by M = L D L^T, column by column; M is positive definite, so no pivots are needed."""
    m, y, energy = ca.SX(mass), ca.vertsplit(p), 0
    n = len(y)
    for j in reversed(range(n)):  # leaves first: what branches do not share stays zero
        energy += y[j] ** 2 / m[j, j] / 2
        above = [i for i in range(j) if not m[i, j].is_zero()]
        for i in above:
            factor = m[i, j] / m[j, j]
            y[i] -= factor * y[j]
            for k in above:
                if k <= i:
                    m[i, k] -= factor * m[k, j]
                    m[k, i] = m[i, k]
    return energy
