"""Strains by their rate: energy and angular momentum of elastic parts together.

A part offers strains `e(q)`, at most quadratic, and a quadratic `stored_energy(s, e)`. Its strains at a point are
`e_g = e(q_0) + h sum_s A_gs B(q_s) qdot_s`, `B = de/dq`, with the Gauss array A, and its force `-B(q_g)^T sigma_g`,
`sigma = dW/de`. So e is a polynomial of the degree of q whose rate is `B qdot` at the k points, and they integrate both
the power `sigma.edot` and the strains at the end exactly: energy is kept, and as for any function of e the momenta are.
"""

import casadi as ca
import numpy as np

from ..polynomials import LagrangeBasis


def elastic_force(s, q):
    """`-B(q)^T sigma` with strains by their rate, SX (n,); None for elements and parts that do without.

    Parameters
    ----------
    s : ElementSymbols
        With slots ("state", i) for all nodes i.
    q : SX, shape (n,)
        Local coordinates at the quadrature point.
    """
    if getattr(s.element, "strains", None) != "rate":
        return None
    part, n = s.part, q.numel()
    x, rate = ca.SX.sym("q", n), ca.SX.sym("rate", n)
    at = s.at_point.at(s.split(x), s.at_point.p, s.split(rate))
    e = ca.SX(part.strains(at))
    if not e.numel() or not part.strains_are_quadratic:
        return None
    strains = ca.Function("strains", [x, rate, s.parameters], [e, ca.jtimes(e, x, rate)])
    nodal = [s.slots["state", i][:n] for i in range(s.element.degree + 1)]
    value = strains(nodal[0], rate, s.parameters)[0]
    value = ca.substitute(value, rate, ca.SX.zeros(n))
    for place, weight in zip(*_gauss_array(s.element, s.xi), strict=True):
        shapes, slopes = place
        value += weight * strains(sum(a * y for a, y in zip(shapes, nodal, strict=True)),
                                  sum(a * y for a, y in zip(slopes, nodal, strict=True)), s.parameters)[1]
    y = ca.SX.sym("e", e.numel())
    stress = ca.substitute(ca.gradient(ca.SX(part.stored_energy(at, y)), y), y, value)
    return -ca.substitute(ca.jtimes(e, x, stress, True), x, q)


def _gauss_array(element, xi):
    """Per Gauss point of the element: shape functions there and their derivatives, and the integral from 0 to xi of
    the Lagrange polynomial that is one there, SX."""
    points = LagrangeBasis(element.degree - 1, "gauss").points
    basis = element.state.basis
    places = zip(basis.values(points).tolist(), basis.derivatives(points).tolist(), strict=True)
    weights = []
    for i, x in enumerate(points):
        others = np.delete(points, i)
        polynomial = np.polynomial.Polynomial.fromroots(others) if len(others) else np.polynomial.Polynomial([1.0])
        polynomial = (polynomial / np.prod(x - others)).integ()
        weights.append(sum(c * xi**m for m, c in enumerate(polynomial.coef.tolist()) if c))
    return list(places), weights
