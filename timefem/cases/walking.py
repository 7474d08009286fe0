"""A five-link chain walks: two steps in a cycle, with the impact of the foot between them.

Shanks, thighs and a trunk of the data of Kelly (SIAM Review 59 (2017), Sect. 6.3; after Yang et al. 2009). Each phase
stands on one foot; at its end the other foot strikes, which becomes the pivot of the next one, and the angular
velocities jump: all momenta about the new pivot are kept, for the impulse acts there. The least integral of the squared
torques.
"""

import casadi as ca
import numpy as np

from timefem import Coupling, Effort, EndState, GeneralizedControl, GeneralizedSystem, Limit, OptimalControl, Phases

from .table import define_problem

MASS = np.array([3.2, 6.8, 20.0, 6.8, 3.2])  # stance shank and thigh, trunk, swing thigh and shank [kg]
LENGTH = np.array([0.4, 0.4, 0.625, 0.4, 0.4])  # [m]
INERTIA = np.array([0.93, 1.08, 2.22, 1.08, 0.93])  # about centres of mass [kg m^2]
CENTRE = np.array([0.128, 0.163, 0.2, 0.163, 0.128])  # of shanks from the knee, of thighs and trunk from the hip [m]
G = 9.81


def places(q):
    """Centres of mass of the links, from the pivot, and the swing foot, in symbols of the angles from the vertical."""
    def along(angle):
        return ca.vertcat(-ca.sin(angle), ca.cos(angle))

    e = [along(q[i]) for i in range(5)]
    knee = LENGTH[0] * e[0]
    hip = knee + LENGTH[1] * e[1]
    swing_knee = hip - LENGTH[3] * e[3]
    centres = [knee - CENTRE[0] * e[0], hip - CENTRE[1] * e[1], hip + CENTRE[2] * e[2], hip - CENTRE[3] * e[3],
               swing_knee - CENTRE[4] * e[4]]
    return centres, swing_knee - LENGTH[4] * e[4]


def kinetic(q, v, c):
    speeds = [ca.jtimes(place, q, v) for place in places(q)[0]]
    return sum(MASS[i] * ca.sumsqr(speeds[i]) + INERTIA[i] * v[i]**2 for i in range(5)) / 2


def potential(q, c):
    return sum(G * m * place[1] for m, place in zip(MASS, places(q)[0], strict=True))


def impact(before, after):
    """The legs change names; the momenta about the new pivot stay: one row of each kind per angle."""
    q, v, new_q, new_v = before.q("walker"), before.rates("walker"), after.q("walker"), after.rates("walker")
    swap = [4, 3, 2, 1, 0]
    x, w = ca.SX.sym("x", 5), ca.SX.sym("w", 5)
    old, _ = places(x)
    velocity = ca.Function("velocity", [x, w], [ca.horzcat(*(ca.jtimes(place, x, w) for place in old))])
    v_old, v_new = velocity(q, v)[:, swap], velocity(new_q, new_v)  # columns in the new order of the links
    virtual = ca.Function("virtual", [x], [ca.jacobian(ca.vertcat(*old), x)])(new_q)
    jump = ca.vertcat(*(MASS[i] * (v_new[:, i] - v_old[:, i]) for i in range(5)))
    spin = ca.vertcat(*(INERTIA[i] * (new_v[i] - v[swap[i]]) for i in range(5)))
    return ca.vertcat(new_q - q[swap], (virtual.T @ jump + spin) / 10)


def step(length, duration, couplings=()):
    """One step, whose start is free but for couplings with its end."""
    system = GeneralizedSystem(5, kinetic, potential, name="walker")
    body = system.bodies[0]
    # torques at ankle, knee and hip of the leg that stands, then at hip and knee of the leg that swings
    joints = np.array([[1, -1, 0, 0, 0], [0, 1, -1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, -1, 1], [0, 0, 0, 0, -1.0]])
    motors = GeneralizedControl(body, joints, name="motors")

    def foot(now):
        return places(now.q(body))[1]

    limits = [Limit(lambda now, u: foot(now)[1], 0.0, at="path", name="foot above the ground"),
              Limit(lambda now, u: foot(now) - ca.DM([length, 0]), 0.0, 0.0, at="end", name="foot strikes"),
              Limit(lambda now, u: ca.vertcat(now.q(body)[0] - now.q(body)[1], now.q(body)[4] - now.q(body)[3]),
                    0.0, 2.0, name="knees"),
              Limit(lambda now, u: now.q(body)[2], -0.5, 0.5, name="trunk")]
    return OptimalControl(system, {body: EndState()}, {}, (0, duration), Effort(motors, 2.0), limits=limits,
                          bounds={motors: (-150, 150)}, couplings=couplings)


@define_problem("walking", "Walk of a five-link chain", "phases", t_end=0.7, n_elements=12)
def walking(t_end):
    """A chain of five links walks: two steps of 0.5 m in 0.7 s each, in a cycle, with the impact of the foot that
    strikes, and the least integral of the squared torques; 529.68 (N m)^2 s."""
    strike = Coupling(impact, name="impact")
    cycle = Coupling(lambda start, end: impact(end, start), name="impact at the end of the cycle")
    return Phases([step(0.5, t_end) for _ in range(2)], [strike], [cycle], ["first step", "second step"])
