"""Strains of a geometrically exact beam (Simo-Reissner) at a point, from the nodes of its element.

`Gamma = R^T x' - Gamma_0` and `kappa = axial(R^T R') - kappa_0` in the axes of the section, with x and the rotation
interpolated by Lagrange polynomials: unit quaternions as `p = sum N_a q_a`, `R = R(p) / |p|^2`,
`kappa = 2 (p* o p')_v / |p|^2`; directors as `d_i = sum N_a d_ia`, `kappa_i = 1/2 (d_k.d_j' - d_j.d_k')`, (i, j, k)
cyclic (Romero & Armero 2002). Both give the same strains to all rigid motions.
"""

import casadi as ca

from ...bodies import quaternions


def strains_of_quaternions(q, turned, n, dn):
    """Gamma and kappa without those of the rest shape, SX (6,).

    Parameters
    ----------
    q : list of SX, shape (7,)
        Coordinates of the nodes, (position, unit quaternion).
    turned : list of SX, shape (4,), or None
        Quaternion of the section in the axes of each node; None where they are the same.
    n, dn : SX, shape (n_nodes,)
        Shape functions and their derivatives by the arc length.
    """
    slope = sum(dn[a] * x[:3] for a, x in enumerate(q))
    own = [x[3:] if turned is None else quaternions.product(x[3:], turned[a]) for a, x in enumerate(q)]
    own = [own[0], *(ca.if_else(ca.dot(own[0], x) < 0, -x, x) for x in own[1:])]  # q and -q are one rotation
    p = sum(n[a] * x for a, x in enumerate(own))
    dp = sum(dn[a] * x for a, x in enumerate(own))
    square, (s, v) = ca.sumsqr(p), (p[0], p[1:])
    # R(p)^T x' = (s^2 - v.v) x' + 2 (v.x') v - 2 s v x x'
    gamma = ((s**2 - ca.sumsqr(v)) * slope + 2 * ca.dot(v, slope) * v - 2 * s * ca.cross(v, slope)) / square
    kappa = 2 * (s * dp[1:] - dp[0] * v - ca.cross(v, dp[1:])) / square
    return ca.vertcat(gamma, kappa)


def strains_of_directors(q, turned, n, dn):
    """As `strains_of_quaternions`; coordinates (position, d1, d2, d3), `turned` rotation matrices by columns, (9,)."""
    slope = sum(dn[a] * x[:3] for a, x in enumerate(q))
    own = [ca.reshape(x[3:], 3, 3) if turned is None else ca.reshape(x[3:], 3, 3) @ ca.reshape(turned[a], 3, 3)
           for a, x in enumerate(q)]
    d = sum(n[a] * x for a, x in enumerate(own))
    dd = sum(dn[a] * x for a, x in enumerate(own))
    kappa = [(ca.dot(d[:, k], dd[:, j]) - ca.dot(d[:, j], dd[:, k])) / 2 for j, k in ((1, 2), (2, 0), (0, 1))]
    return ca.vertcat(d.T @ slope, *kappa)


STRAINS = {"quaternion": strains_of_quaternions, "directors": strains_of_directors}
