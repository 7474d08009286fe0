"""Milliseconds of a step of model predictive control, beside CasADi with IPOPT and fatrop on the same transcription.

    python benchmarks/bench_mpc.py [--steps 100] [--only cart-pole]

A closed loop with seeded noise of what is measured and a blow after a third of the steps. All solvers get the same
states, one after the other in each step, in this one process: `tf.RecedingHorizon` until it converges and with a budget
of two iterations, and multiple shooting in CasADi, warm started by its last primal and dual solution, moved on by a
step. Printed are medians, 90 % and the least of processor times, and iterations.
"""

import argparse
import time

import casadi as ca
import numpy as np

import timefem as tf

SIX = (0.333, 0.425, 0.392, 0.2, 0.1, 0.1), (3.7, 8.4, 2.3, 1.2, 1.2, 0.3)  # lengths [m] and masses [kg] of an arm
AXES = (0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0)
ROTORS, TORQUES = (3.0, 3.0, 3.0, 0.3, 0.3, 0.3), np.array([150.0, 150, 150, 28, 28, 28])  # [kg m^2], [Nm], about UR5's
OF_TORQUES = 20 / TORQUES**2  # the largest cost as much as a radian: motions of 0.1 s, which 20 elements resolve
FEW = 3  # coordinates up to which CasADi is faster with one expression for a step


def cart_pole():
    tree = tf.Tree([tf.Link("ground"), tf.Link("cart", mass=1.0),
                    tf.Link("pole", mass=0.3, centre=(0, 0, 0.5), inertia=(0, 0.01, 0))],
                   [tf.TreeJoint("rail", "ground", "cart", "prismatic", axis=(1, 0, 0)),
                    tf.TreeJoint("hinge", "cart", "pole", axis=(0, 1, 0))], name="tree")
    force = tf.JointControl(tree.joint("rail"), name="force")
    return problem_of(tree, [force], {"rail": 0.0, "hinge": 0.3}, [10, 20], 0.1, 0.01, (-10, 10), 1.0,
                      tf.Limit("now.q('tree')[0]", -1.5, 1.5))


def quadrotor():
    tree = tf.Tree([tf.Link("ground"), tf.Link("slide"), tf.Link("lift"),
                    tf.Link("copter", mass=1.0, inertia=(0, 0.02, 0))],
                   [tf.TreeJoint("x", "ground", "slide", "prismatic", axis=(1, 0, 0)),
                    tf.TreeJoint("z", "slide", "lift", "prismatic", axis=(0, 0, 1)),
                    tf.TreeJoint("tilt", "lift", "copter", axis=(0, 1, 0))], name="tree")
    rotors = tf.FormulaForce(tree, lambda f, t, c, u: ca.vertcat(
        (u[0] + u[1]) * ca.sin(f[0].q[2]), (u[0] + u[1]) * ca.cos(f[0].q[2]), 0.2 * (u[0] - u[1])), n_controls=2,
        name="rotors")
    return problem_of(tree, [rotors], {"x": 1.0, "z": -0.5, "tilt": 0.2}, [10, 10, 1], 0.5, 0.05, (0, 8), 1.5,
                      tf.Limit("now.q('tree')[2]", -0.6, 0.6), hover=4.905)


def arm():
    lengths, masses = SIX
    links, joints, place = [tf.Link("ground")], [], (0, 0, 0)
    for i, (length, mass, axis) in enumerate(zip(lengths, masses, AXES, strict=True)):
        inertia = np.full(3, mass * length**2 / 12 + 0.002)
        links.append(tf.Link(f"link {i}", mass=mass, centre=(0, 0, length / 2), inertia=tuple(inertia)))
        joints.append(tf.TreeJoint(f"joint {i}", links[-2].name, links[-1].name, axis=axis, position=place,
                                   armature=ROTORS[i]))
        place = (0, 0, length)
    tree = tf.Tree(links, joints, name="tree")
    motors = [tf.JointControl(tree.joint(joint.name), name=f"motor {i}") for i, joint in enumerate(joints)]
    start = dict(zip((joint.name for joint in joints), (0.4, 0.5, -0.4, 0.3, 0.2, 0.1), strict=True))
    return problem_of(tree, motors, start, [20] * 6, 2.0, OF_TORQUES, (-TORQUES, TORQUES), 0.6,
                      tf.Limit("now.rates('tree')[1]", -2, 2))


def problem_of(tree, actuators, start, weights, of_rates, of_controls, bound, span, limit, hover=0.0):
    """Squares of coordinates, rates and controls, ten times those at the end."""
    n_controls = sum(actuator.n_controls for actuator in actuators)
    of_controls = np.broadcast_to(of_controls, n_controls)

    def squares(now):
        q, v = now.q(tree), now.rates(tree)
        return sum(w * q[i]**2 + of_rates * v[i]**2 for i, w in enumerate(weights))

    return tf.OptimalControl(
        tf.System([tree, *actuators], gravity=(0, 0, -9.81)), {tree: start}, {}, (0, span),
        lambda now, u: squares(now) + sum(w * (u[i] - hover)**2 for i, w in enumerate(of_controls)),
        end_cost=lambda end, parameters: 10 * squares(end), actuators=actuators, limits=[limit],
        bounds={actuator: tuple(np.broadcast_to(b, n_controls)[i:i + actuator.n_controls] for b in bound)
                for i, actuator in enumerate(actuators)})


def by(energies):
    """Accelerations by Lagrange's equations."""
    def accelerations(q, v, u):
        kinetic, potential, force = energies(q, v)
        momentum = ca.gradient(kinetic, v)
        right = force(u) - ca.jtimes(momentum, q, v) + ca.gradient(kinetic - potential, q)
        return ca.ldl_solve(right, *ca.ldl(ca.jacobian(momentum, v)))
    return accelerations


def energies_of_cart_pole(q, v):
    return 1.3 * v[0]**2 / 2 + (0.01 + 0.3 * 0.25) * v[1]**2 / 2 + 0.15 * v[0] * v[1] * ca.cos(q[1]), \
        0.15 * 9.81 * ca.cos(q[1]), lambda u: ca.vertcat(u[0], 0)


def energies_of_quadrotor(q, v):
    return (v[0]**2 + v[1]**2 + 0.02 * v[2]**2) / 2, 9.81 * q[1], lambda u: ca.vertcat(
        (u[0] + u[1]) * ca.sin(q[2]), (u[0] + u[1]) * ca.cos(q[2]), 0.2 * (u[0] - u[1]))


def accelerations_of_arm(q, v, u):
    """By the equations of Newton and Euler, body by body: 1000 operations, derivatives of the energy take 20000."""
    a = ca.SX.sym("a", len(AXES))
    still = torques_of_arm(q, ca.SX.zeros(len(AXES)), a)
    return ca.ldl_solve(u - torques_of_arm(q, v, ca.SX.zeros(len(AXES))), *ca.ldl(ca.jacobian(still, a)))


def torques_of_arm(q, v, a):
    """Of the motors, from coordinates, rates and accelerations."""
    spin, turning, place = ca.SX.zeros(3), ca.SX.zeros(3), ca.SX([0, 0, 9.81])  # of the link before; acceleration
    turns, forces, moments, reach = [], [], [], ca.SX.zeros(3)
    for i, (axis, length, mass) in enumerate(zip(AXES, *SIX, strict=True)):
        c, s = ca.cos(q[i]), ca.sin(q[i])
        turn = [[c, -s, 0], [s, c, 0], [0, 0, 1]] if axis[2] else [[c, 0, s], [0, 1, 0], [-s, 0, c]]
        turns.append(ca.vertcat(*(ca.horzcat(*row) for row in turn)))
        place = turns[i].T @ (place + ca.cross(turning, reach) + ca.cross(spin, ca.cross(spin, reach)))
        before, turned, axis = turns[i].T @ spin, turns[i].T @ turning, ca.SX(axis)
        spin, turning = before + axis * v[i], turned + axis * a[i] + ca.cross(before, axis * v[i])
        reach, inertia = ca.SX([0, 0, length]), mass * length**2 / 12 + 0.002
        forces.append(mass * (place + ca.cross(turning, reach / 2) + ca.cross(spin, ca.cross(spin, reach / 2))))
        moments.append(inertia * turning + ca.cross(reach / 2, forces[i]))
    force, moment, torques = ca.SX.zeros(3), ca.SX.zeros(3), []
    for i in reversed(range(len(AXES))):  # those of the link after, in axes of this one
        reach = ca.SX([0, 0, SIX[0][i]])
        moment = moments[i] + moment + ca.cross(reach, force)
        force = forces[i] + force
        torques.insert(0, ca.dot(ca.SX(AXES[i]), moment) + ROTORS[i] * a[i])
        force, moment = turns[i] @ force, turns[i] @ moment
    return ca.vertcat(*torques)


class Casadi:
    """Multiple shooting by one step of Runge and Kutta in each element, warm started, as people write it."""

    def __init__(self, accelerations, numbers, n, method):
        weights, of_rates, of_controls, bound, span, limited, hover, n_u = numbers
        n_q, h = len(weights), span / n
        q, v, u = (ca.SX.sym(name, k) for name, k in (("q", n_q), ("v", n_q), ("u", n_u)))
        x, rate = ca.vertcat(q, v), rate_of(accelerations, numbers)
        x1, u1 = ca.MX.sym("x", 2 * n_q), ca.MX.sym("u", n_u)
        step = ca.Function("step", [x1, u1], [step_of(rate, x1, u1, h)])
        step = step.expand() if n_q <= FEW else step
        squares, own = ca.dot(np.array(weights), q**2) + of_rates * ca.sumsqr(v), np.broadcast_to(of_controls, n_u)
        cost = ca.Function("cost", [x, u], [squares, squares + ca.dot(own, (u - hover)**2)])
        place, least, most = limited
        xs, us = [ca.MX.sym(f"x{k}", 2 * n_q) for k in range(n + 1)], [ca.MX.sym(f"u{k}", n_u) for k in range(n)]
        start, total, rows, lower, upper, equal, variables = ca.MX.sym("start", 2 * n_q), 0, [], [], [], [], []
        free = np.full(2 * n_q, np.inf)
        lx, ux = [], []
        for k in range(n):
            total += h * cost(xs[k], us[k])[1]
            rows.append(xs[k + 1] - step(xs[k], us[k]))
            equal += [True] * (2 * n_q)
            lower += [0.0] * (2 * n_q)
            upper += [0.0] * (2 * n_q)
            if k == 0:
                rows.append(xs[0] - start)
                equal += [True] * (2 * n_q)
                lower += [0.0] * (2 * n_q)
                upper += [0.0] * (2 * n_q)
            variables += [xs[k], us[k]]
            low, high = -free, free.copy()
            if k:
                low[place], high[place] = least, most
            lx += [*low, *np.broadcast_to(bound[0], n_u)]
            ux += [*high, *np.broadcast_to(bound[1], n_u)]
        low, high = -free, free.copy()
        low[place], high[place] = least, most
        lx, ux, variables = [*lx, *low], [*ux, *high], [*variables, xs[n]]
        total += 10 * cost(xs[n], us[n - 1])[0]
        program = {"x": ca.vertcat(*variables), "p": start, "f": total, "g": ca.vertcat(*rows)}
        options = {"print_time": False, "error_on_fail": False}
        if method == "ipopt":
            options |= {"ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-6, "warm_start_init_point": "yes",
                                  "warm_start_bound_push": 1e-4, "warm_start_slack_bound_push": 1e-4,
                                  "warm_start_mult_bound_push": 1e-4, "mu_init": 1e-3}}
        else:
            options |= {"structure_detection": "auto", "equality": equal, "fatrop": {
                "print_level": 0, "tolerance": 1e-6, "mu_init": 1e-3}}
        self._solver = ca.nlpsol("mpc", method, program, options)
        self._bounds = {"lbx": lx, "ubx": ux, "lbg": lower, "ubg": upper}
        self._n, self._n_x, self._n_u, self._hover = n, 2 * n_q, n_u, hover
        self._guess = None

    def step(self, z):
        """The first controls from coordinates and rates, and the iterations."""
        if self._guess is None:
            own = np.concatenate([z, np.full(self._n_u, self._hover)])
            self._guess = {"x0": np.concatenate([np.tile(own, self._n), z])}
        found = self._solver(p=z, **self._guess, **self._bounds)
        x = np.array(found["x"]).ravel()
        wide = self._n_x + self._n_u
        self._guess = {"x0": np.concatenate([x[wide:], x[-wide:]]), "lam_x0": found["lam_x"], "lam_g0": found["lam_g"]}
        stats = self._solver.stats()
        return x[self._n_x:wide], stats["iter_count"], bool(stats["success"])


CASES = {  # problem, accelerations, what the transcription takes, elements
    "cart-pole": (cart_pole, by(energies_of_cart_pole),
                  ([10, 20], 0.1, 0.01, (-10, 10), 1.0, (0, -1.5, 1.5), 0.0, 1), 40),
    "planar quadrotor": (quadrotor, by(energies_of_quadrotor),
                         ([10, 10, 1], 0.5, 0.05, (0, 8), 1.5, (2, -0.6, 0.6), 4.905, 2), 40),
    "six-axis arm": (arm, accelerations_of_arm,
                     ([20] * 6, 2.0, OF_TORQUES, (-TORQUES, TORQUES), 0.6, (7, -2, 2), 0.0, 6), 20)}


def run(name, steps):
    """Processor times [ms], iterations and failures of each solver in one closed loop."""
    make, accelerations, numbers, n = CASES[name]
    problem, rng = make(), np.random.default_rng(0)
    element, n_q, h = tf.MixedGalerkin(2, form="lagrange"), problem.system.n_q, problem.t_span[1] / n
    horizons = {"timefem": tf.RecedingHorizon(problem, element, n),
                "timefem, 2 iterations": tf.RecedingHorizon(problem, element, n, iterations=2)}
    others = {f"CasADi, {method}": Casadi(accelerations, numbers, n, method) for method in ("ipopt", "fatrop")}
    found = {which: ([], [], []) for which in (*horizons, *others)}
    plant = rate_of(accelerations, numbers)
    q = problem.z0[:n_q].copy()
    x, differ = np.concatenate([q, np.zeros(n_q)]), []
    for k in range(steps):
        seen = x + rng.normal(size=2 * n_q) * np.repeat([1e-3, 1e-2], n_q)
        firsts = {}
        for which, horizon in horizons.items():
            begun = time.process_time()
            firsts[which] = horizon.step(q=seen[:n_q], v=seen[n_q:], passed=min(k, 1))
            note(found[which], begun, horizon.iterations, horizon.converged, k)
        for which, solver in others.items():
            begun = time.process_time()
            firsts[which], iterations, success = solver.step(seen)
            note(found[which], begun, iterations, success, k)
        u = firsts["timefem"]
        differ.append(np.abs(u - firsts["CasADi, ipopt"]).max())
        for _ in range(4):
            x = np.array(step_of(plant, x, u, h / 4)).ravel()
        if k == steps // 3:
            x[n_q:] += 0.3
    return found, np.abs(x[:n_q]).max(), np.median(differ)


def note(found, begun, iterations, success, k):
    if k:
        for one, value in zip(found, (1e3 * (time.process_time() - begun), iterations, success), strict=True):
            one.append(value)


def rate_of(accelerations, numbers):
    """Rates of coordinates and rates x with controls u, a CasADi function."""
    n_q, n_u = len(numbers[0]), numbers[-1]
    q, v, u = (ca.SX.sym(name, k) for name, k in (("q", n_q), ("v", n_q), ("u", n_u)))
    return ca.Function("rate", [ca.vertcat(q, v), u], [ca.vertcat(v, accelerations(q, v, u))])


def step_of(rate, x, u, h):
    k1 = rate(x, u)
    k2 = rate(x + h / 2 * k1, u)
    k3 = rate(x + h / 2 * k2, u)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3, u))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", choices=list(CASES))
    options = parser.parse_args()
    print(f"{'problem':18} {'solver':24} {'ms':>8} {'90 %':>8} {'least':>8} {'iterations':>10} {'converged':>10}")
    for name in [options.only] if options.only else CASES:
        found, left, differ = run(name, options.steps)
        for which, (ms, iterations, success) in found.items():
            print(f"{name:18} {which:24} {np.median(ms):8.2f} {np.percentile(ms, 90):8.2f} {min(ms):8.2f} "
                  f"{np.mean(iterations):10.1f} {np.mean(success):10.0%}")
        print(f"{'':18} off the target at the end by {left:.2g}; first controls differ by {differ:.2g} in the median")


if __name__ == "__main__":
    main()
