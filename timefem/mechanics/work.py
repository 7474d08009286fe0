"""The power of the forces of a part, in symbols of coordinates and velocities."""

import casadi as ca

from ..errors import InputError
from .symbols import Symbols

_POWERS = {}  # by kind of part
MOST_KINDS = 200  # kept


def power_of(part, title):
    """Power `(B u + Q - dV/dq) . qdot` of what a part does to its bodies, casadi.Function of (q, v, u, t, parameters).

    Controls u, forces Q without a potential, and those of its potential V. What constraints do is left out.

    Parameters
    ----------
    part : Part
    title : str
        For messages.

    Raises
    ------
    InputError
        For parts that move bodies by constraints, and forces by formulas of the momenta.
    """
    if part.constraint_names and not part.is_body:
        raise InputError(f"the power of {title} is that of constraints, whose forces no formula tells; drive it by an "
                         "actuator, and take the power of that")
    if part.kind not in _POWERS:
        if len(_POWERS) >= MOST_KINDS:
            del _POWERS[next(iter(_POWERS))]
        s = Symbols(part)
        s.velocity = [ca.SX.sym("v", body.n_q) for body in part.bodies]
        q, v, u = ca.vertcat(*s.q), ca.vertcat(*s.velocity), ca.SX.sym("u", part.n_controls)
        force = ca.SX(part.force(s)) - ca.gradient(ca.SX(part.potential_energy(s)), q)
        if part.n_controls:
            force += part.control_force(s, u)
        power = ca.dot(force, v)
        if ca.depends_on(power, ca.vertcat(*s.p)):
            raise InputError(f"the power of {title} depends on momenta; take velocities in its formula")
        _POWERS[part.kind] = ca.Function("power", [q, v, u, s.t, s.parameters], [ca.densify(power)])
    return _POWERS[part.kind]
