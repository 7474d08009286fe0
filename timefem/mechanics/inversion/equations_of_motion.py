"""Equations of motion of a whole system in CasADi symbols."""

import casadi as ca
import numpy as np

from ..part import Body
from ..symbols import Symbols, applied_force, first_order


def equations_of_motion(system, z, t, w):
    """zdot of a system with joint forces and controls `w = (gamma, u)`, and its constraints Theta, in CasADi symbols.

    The velocity constraints are taken to hold, so that their multipliers are zero.
    """
    n, m = system.n_q, system.n_constraints
    momentum_rate, velocity, phis, psis, u = ca.SX(n, 1), ca.SX(n, 1), [], [], m
    forces = {}
    for part in system.parts:
        forces[part] = w[u:u + part.n_controls]
        u += part.n_controls
    for part in system.parts:
        s = Symbols(part)
        phi, seen = part.constraints(s), ca.vertcat(ca.SX(0, 1), *(forces[actuator] for actuator in part.controls))
        own = ca.SX.sym("u", seen.numel())
        gamma = ca.SX.sym("gamma", phi.numel())
        q = ca.vertcat(ca.SX(0, 1), *s.q)
        force = applied_force(part, s, own) - ca.gradient(ca.SX(part.energy(s)), q) - ca.jtimes(phi, q, gamma, True)
        flows = first_order(part)
        flow, force = applied_force(part, s, own) * flows, force * (1 - flows)
        speed = s.velocity[0] * (1 - flows) if isinstance(part, Body) else ca.SX(0, 1)
        function = ca.Function("part", [*s.q, *s.p, s.t, s.parameters, gamma, own],
                               [force, speed, phi, part.velocity_constraints(s), flow])
        places = [np.arange(n)[system.coordinates(b)].tolist() for b in part.bodies]
        start = sum(p.numel() for p in phis)
        values = function(*(z[c] for c in places), *(z[[n + i for i in c]] for c in places), t, part.parameters,
                          w[start:start + phi.numel()], seen)
        first = 0
        for i in (i for c in places for i in c):
            momentum_rate[i] += values[0][first]
            velocity[i] += values[4][first]
            first += 1
        if isinstance(part, Body):
            for i, speed in zip(places[0], ca.vertsplit(values[1]), strict=True):
                velocity[i] += speed
        phis.append(values[2])
        psis.append(values[3])
    return ca.vertcat(velocity, momentum_rate), ca.vertcat(ca.SX(0, 1), *phis, *psis)
