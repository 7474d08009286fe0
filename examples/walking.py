"""Walking of a five-link chain: two steps in a cycle, with the impact of the foot between them.

Shanks, thighs and a trunk of the data of Kelly (SIAM Review 59 (2017), Sect. 6.3; after Yang et al. 2009). Each phase
stands on one foot; at its end the other foot strikes, which becomes the pivot of the next one, and the angular
velocities jump: all momenta about the new pivot are kept, for the impulse acts there. The least integral of the squared
torques.
"""

import casadi as ca
import numpy as np

import timefem as tf

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
    system = tf.GeneralizedSystem(5, kinetic, potential, name="walker")
    body = system.bodies[0]
    # torques at ankle, knee and hip of the leg that stands, then at hip and knee of the leg that swings
    joints = np.array([[1, -1, 0, 0, 0], [0, 1, -1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, -1, 1], [0, 0, 0, 0, -1.0]])
    motors = tf.GeneralizedControl(body, joints, name="motors")

    def foot(now):
        return places(now.q(body))[1]

    limits = [tf.Limit(lambda now, u: foot(now)[1], 0.0, at="path", name="foot above the ground"),
              tf.Limit(lambda now, u: foot(now) - ca.DM([length, 0]), 0.0, 0.0, at="end", name="foot strikes"),
              tf.Limit(lambda now, u: ca.vertcat(now.q(body)[0] - now.q(body)[1], now.q(body)[4] - now.q(body)[3]),
                       0.0, 2.0, name="knees"),
              tf.Limit(lambda now, u: now.q(body)[2], -0.5, 0.5, name="trunk")]
    return tf.OptimalControl(system, {body: tf.EndState()}, {}, (0, duration), tf.Effort(motors, 2.0), limits=limits,
                             bounds={motors: (-150, 150)}, couplings=couplings)


def guess(length, duration):
    """A straight way between two postures."""
    first = np.array([-0.35, -0.4, -0.05, 0.35, 0.3])
    last = first[[4, 3, 2, 1, 0]]
    v = (last - first) / duration
    q, w = ca.SX.sym("q", 5), ca.SX.sym("v", 5)
    mass = ca.Function("mass", [q], [ca.hessian(kinetic(q, w, None), w)[0]])

    def states(t):
        q = first + np.outer(t / duration, last - first)
        return np.array([np.concatenate([a, np.array(mass(a)) @ v]) for a in q])

    return states


def main(n_elements=12, length=0.5, duration=0.7, method=None):
    """Walk two steps in a cycle.

    Returns
    -------
    dict
        "solution" (PhasedSolution) and "objective" [(N m)^2 s].
    """
    phases = [step(length, duration) for _ in range(2)]
    strike = tf.Coupling(impact, name="impact")
    cycle = tf.Coupling(lambda start, end: impact(end, start), name="impact at the end of the cycle")
    walk = tf.Phases(phases, [strike], [cycle])
    solution = tf.solve(walk, tf.MixedGalerkin(2, n_points=2), n_elements, guess=[guess(length, duration)] * 2,
                        method=method, progress=False)
    return {"solution": solution, "objective": solution.objective}


if __name__ == "__main__":
    found = main()["solution"]
    print(found.status.message, found.objective, found.statistics["newton_iterations"]["max"])
