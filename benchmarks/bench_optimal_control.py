"""Minimum-effort reorientation of a rigid body: timefem against CasADi with IPOPT, and against `solve_bvp`.

Diagonal inertia (5, 26, 29), from rest to rest in 2 s, 2.5 rad about (1, 2, 2)/3, half the integral of the squared
torque. The first competitor is direct collocation (Legendre, degree 2, controls at the collocation points) with exact
derivatives; only the time in IPOPT counts, not that to set the problem up. The second solves Pontryagin's equations.
timefem solves a problem that was solved before, and, in a column of its own, one that is rebuilt. Candidates take
turns; ratios are of medians of processor time.

    python benchmarks/bench_optimal_control.py [--json] [--large 100000]
"""

import argparse
import json
import resource
import time

import numpy as np

import timefem as tf

INERTIA, AXIS, ANGLE, T = np.array([5.0, 26.0, 29.0]), np.array([1, 2, 2]) / 3, 2.5, 2.0
TURNED = np.array([np.cos(ANGLE / 2), *(np.sin(ANGLE / 2) * AXIS)])
GOALS = {200: 2.0, 5000: 4.0}  # times faster than the first competitor, by elements


def problem():
    body = tf.RigidBody(mass=12, inertia=INERTIA)
    end = {body: tf.EndState(orientation=TURNED, angular_velocity=(0, 0, 0))}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, T), cost=tf.Effort(tf.ControlTorque(body)))


def by_timefem(n, given=None):
    """Objective, seconds of the processor, iterations on all meshes; of a given problem, or of one that is made."""
    start = time.process_time()
    sol = tf.solve(given or problem(), tf.MixedGalerkin(2), n, progress=False)
    seconds = time.process_time() - start
    assert sol.success, sol.status.message
    return sol.objective, seconds, sol.statistics["newton_iterations"]["max"]


def rates():
    """Rates of quaternion and angular velocity, as a CasADi function of the state (7,) and the torque (3,)."""
    import casadi as ca

    x, u = ca.SX.sym("x", 7), ca.SX.sym("u", 3)
    a, v, omega = x[0], x[1:4], x[4:]
    spin = ca.vertcat(-ca.dot(v, omega), a * omega + ca.cross(v, omega)) / 2
    return ca.Function("rates", [x, u], [ca.vertcat(spin, (u - ca.cross(omega, INERTIA * omega)) / INERTIA)])


def guess(t):
    """States on the way of constant axis from start to end, shape (7, n)."""
    s = t / T
    angle, rate = ANGLE * s**2 * (3 - 2 * s), ANGLE * 6 * s * (1 - s) / T
    return np.vstack([np.cos(angle / 2), np.sin(angle / 2) * AXIS[:, None], rate * AXIS[:, None]])


class Collocation:
    """Direct collocation with IPOPT."""

    def __init__(self, n, degree=2):
        import casadi as ca

        f, h = rates(), T / n
        c, d, b = ca.collocation_coeff(ca.collocation_points(degree, "legendre"))
        x0, xc, u = ca.SX.sym("x0", 7), ca.SX.sym("xc", 7, degree), ca.SX.sym("u", 3, degree)
        z = ca.horzcat(x0, xc)
        defects = ca.vec(z @ c - h * ca.horzcat(*(f(xc[:, j], u[:, j]) for j in range(degree))))
        cost = h * sum(b[j] * ca.sumsqr(u[:, j]) / 2 for j in range(degree))
        step = ca.Function("step", [x0, ca.vec(xc), ca.vec(u)], [ca.vertcat(defects, z @ d), cost]).map(n)
        # time order keeps the fill of IPOPT's linear solver low; the quaternion's length is kept, so three of its
        # components are conditions at the end
        size = 7 + 10 * degree
        unknowns = ca.MX.sym("unknowns", size * n + 7)
        block, last = ca.reshape(unknowns[:size * n], size, n), unknowns[size * n:]
        nodes = ca.horzcat(block[:7, :], last)
        values, costs = step(block[:7, :], block[7:7 + 7 * degree, :], block[7 + 7 * degree:, :])
        rows = ca.vertcat(values[:7 * degree, :], values[7 * degree:, :] - nodes[:, 1:])
        nlp = {"x": unknowns, "f": ca.sum2(costs), "g": ca.vertcat(ca.vec(rows), nodes[:, 0], last[1:])}
        self.solver = ca.nlpsol("solver", "ipopt", nlp, {"ipopt": {"print_level": 0, "sb": "yes"}, "print_time": False})
        t = np.arange(n) * h
        tau = [0.0, *ca.collocation_points(degree, "legendre")]
        start = np.vstack([*(guess(t + h * x) for x in tau), np.zeros((3 * degree, n))])
        self.start = np.concatenate([start.T.ravel(), guess(np.array([T])).ravel()])
        self.rows = np.concatenate([np.zeros(n * 7 * (degree + 1)), [1, 0, 0, 0, 0, 0, 0], TURNED[1:], np.zeros(3)])

    def __call__(self):
        start = time.process_time()
        result = self.solver(x0=self.start, lbg=self.rows, ubg=self.rows)
        seconds = time.process_time() - start
        assert self.solver.stats()["success"]
        return float(result["f"]), seconds, self.solver.stats()["iter_count"]


def by_pontryagin(n, tolerance=1e-6):
    """SciPy's `solve_bvp` with exact derivatives on a mesh of n intervals at first."""
    import casadi as ca
    from scipy.integrate import solve_bvp

    x, y = ca.SX.sym("x", 7), ca.SX.sym("y", 7)
    torque = -y[4:] / INERTIA  # where cost and Hamiltonian are least
    motion = rates()(x, torque)
    u = ca.SX.sym("u", 3)
    adjoint = -ca.gradient(ca.dot(y, rates()(x, u)), x)
    right = ca.vertcat(motion, ca.substitute(adjoint, u, torque))
    z = ca.vertcat(x, y)
    f = ca.Function("f", [z], [right, ca.densify(ca.jacobian(right, z))])

    def fun(t, z):
        return np.array(f.map(z.shape[1])(z)[0])

    def jacobian(t, z):
        return np.array(f.map(z.shape[1])(z)[1]).reshape(14, -1, 14).transpose(0, 2, 1)

    def conditions(a, b):  # costates of the quaternion along it have no effect, and are set to zero
        return np.concatenate([a[:7] - [1, 0, 0, 0, 0, 0, 0], [a[:4] @ a[7:11]], b[1:4] - TURNED[1:], b[4:7]])

    t = np.linspace(0, T, n + 1)
    start = time.process_time()
    found = solve_bvp(fun, conditions, t, np.vstack([guess(t), np.zeros((7, n + 1))]), fun_jac=jacobian, tol=tolerance,
                      max_nodes=100 * n)
    seconds = time.process_time() - start
    if not found.success:
        return None, seconds, found.niter
    points, weights = np.polynomial.legendre.leggauss(4)
    h = np.diff(found.x)[:, None]
    at = found.x[:-1, None] + h * (points + 1) / 2
    u = found.sol(at.ravel())[11:] / INERTIA[:, None]
    return float(((u**2).sum(axis=0).reshape(at.shape) / 2 * weights * h / 2).sum()), seconds, found.niter


def compare(n, repeats):
    collocation = Collocation(n)
    known = problem()
    candidates = {"timefem": lambda: by_timefem(n, known), "rebuilt": lambda: by_timefem(n),
                  "collocation": collocation, "solve_bvp": lambda: by_pontryagin(n)}
    by_timefem(n, known)
    runs = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, run in candidates.items():
            runs[name].append(run())
    return {"n_elements": n, **{name: {"objective": r[0][0], "seconds": float(np.median([s for _, s, _ in r])),
                                       "iterations": r[0][2]} for name, r in runs.items()}}


def main(sizes=(200, 1000, 5000), repeats=3, large=None):
    """Results per size: dict of objective, median seconds and iterations of each candidate."""
    results = [compare(n, repeats) for n in sizes]
    if large:
        objective, seconds, iterations = by_timefem(large)
        results.append({"n_elements": large, "timefem": {"objective": objective, "seconds": seconds, "iterations":
                        iterations}, "peak_memory_GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20})
    return results


def report(results):
    for r in results:
        own = r["timefem"]
        print(f"{r['n_elements']} elements: timefem {own['seconds']:.2f} s, objective {own['objective']:.6f}")
        for name in ("rebuilt", "collocation", "solve_bvp"):
            if name in r:
                other = r[name]
                found = other["objective"]
                apart = "did not converge" if found is None else \
                    f"objectives apart by {abs(found - own['objective']) / own['objective']:.1e}"
                print(f"    {name}: {other['seconds']:.2f} s, ratio {other['seconds'] / own['seconds']:.1f}, "
                      f"{other['iterations']} iterations, {apart}")
        if r["n_elements"] in GOALS:
            goal, ratio = GOALS[r["n_elements"]], r["collocation"]["seconds"] / own["seconds"]
            print(f"    goal: {goal:g} times faster than collocation: {'met' if ratio >= goal else 'missed'}")
        if "peak_memory_GiB" in r:
            print(f"    peak memory {r['peak_memory_GiB']:.1f} GiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", type=int, help="elements of a further solve by timefem alone")
    arguments = parser.parse_args()
    results = main(repeats=arguments.repeats, large=arguments.large)
    print(json.dumps(results)) if arguments.json else report(results)
