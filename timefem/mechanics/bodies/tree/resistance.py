"""Springs, dampers and dry friction in the joints of a tree, in CasADi symbols."""

import casadi as ca

from .motions import is_there
from .recursion import joint_values


def spring_energy(bodies, q):
    """`sum k_i (q_i - x_i)^2 / 2` over the joints, SX scalar."""
    return sum((b.stiffness / 2 * (joint_values(b, q) - b.rest) ** 2 for b in bodies if is_there(b.stiffness)),
               ca.SX(0))


def resistance(bodies, s, width):
    """Force on the coordinates against the rates of the joints, `-d_i qdot_i - f_i tanh(qdot_i / w)`, SX (n_q,).

    Parameters
    ----------
    bodies : list of Moving
        With numbers or symbols.
    s : Symbols
    width : SX
        w of dry friction [rad/s or m/s].
    """
    q, n = s.q[0], s.q[0].numel()
    resisting = [b for b in bodies if is_there(b.damping) or is_there(b.friction)]
    if not resisting:
        return ca.SX(n, 1)
    w, force = ca.SX.sym("v", n), ca.SX(n, 1)
    for body in resisting:
        rates = ca.vertcat(*body.motion.rates(joint_values(body, q), joint_values(body, q, w)))
        if body.motion.n == 1:
            rates = ca.sum1(rates)
        against = body.damping * rates
        if is_there(body.friction):
            against += body.friction * ca.tanh(rates / width)
        force -= ca.substitute(ca.jtimes(rates, w, against, True), w, s.velocity[0])
    return force
