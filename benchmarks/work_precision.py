"""Work-precision against DAE solvers and a multibody code: time over error, free body and heavy top.

The cases "free-body" and "heavy-top" (tip held by a joint), in unit quaternions, to t = 1 s. timefem marches mG(1) to
mG(3) and EML with its defaults (Newton's method to 1e-13 of the motion), and mG(3) with Newton's method to residuals of
1e-8 and increments of 1e-4, "looser", on meshes of doubled numbers of elements; its loops are prepared beforehand, as
by `tf.prepare`, and so are the solvers of the peers:

- scipy-dae (Radau, BDF) and scikit-sundae (IDA) solve Hamilton's equations with constraints on both levels, multipliers
  as rates of further unknowns, 0 = zdot - J (dH/dz + (dTheta/dz)^T dLambda/dt), 0 = Theta(z): index 1 without drift.
- CasADi's IDAS takes semi-explicit equations of index 1 only: 0 = d(Theta)/dt as equation for the multipliers, which
  are left out of its error control (with them its steps become too short on the top).
- Exudyn: its own rigid body in Euler parameters and spherical joint, index-3 generalized-alpha, defaults, no output.

The equations of the peers but Exudyn are one CasADi model in unknowns of unit size, evaluated by CasADi's virtual
machine with exact Jacobians; tolerances (absolute = relative) are swept from 1e-3 to 1e-13. Radau and BDF of scipy-dae
are Python loops; IDA is compiled, but calls Python for residual and Jacobian (through buffers); IDAS and Exudyn do not.

The error is the angle between the rotation matrix at the end and that of a fine solution by mG(4), in rad. Methods and
settings take turns; times are medians, of the processor, of the integration alone. Set-up (kernels and patterns in a
fresh process, symbolic model, mechanism) is stated apart. All on one thread. A setting that takes over two seconds is
the last of its method. Peers that are not installed are left out:

    pip install scipy-dae scikit-sundae exudyn matplotlib
    python benchmarks/work_precision.py [--quick] [--json] [-o docs/images/work_precision.png]
"""

import argparse
import contextlib
import importlib.util
import json
import multiprocessing
import os
import statistics
import sys
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.exudynFast = True

warnings.filterwarnings("ignore", message="(?s).*numpy function was called on a casadi value")
import casadi as ca  # noqa: E402
import numpy as np  # noqa: E402
from _common import PreparedMarch, exudyn_steps, time_at  # noqa: E402

import timefem as tf  # noqa: E402
from timefem.cases import find_case  # noqa: E402

CASES = ("free-body", "heavy-top")
TARGETS = (1e-3, 1e-6, 1e-9)  # [rad]
TOLERANCES = tuple(10.0**-k for k in range(3, 14))
LOOSER = tf.Newton(tol_residual=1e-8, tol_increment=1e-4)
LIMIT = 2.0  # seconds: a setting that takes longer is the last of its method


class Timefem(PreparedMarch):
    """A problem marched by one element; the setting is the number of elements."""

    def __init__(self, problem, element, coarsest, newton=None):
        start = time.process_time()
        super().__init__(problem, element, newton)
        self.settings = [coarsest * 2**k for k in range(12)]
        self.run(1)
        self.setup = time.process_time() - start

    def run(self, n):
        seconds, q = self.march(n)
        return seconds, None if q is None else self.problem.system.bodies[0].rotation_matrix(q[:7])


def fresh_setup(case, element):
    """Seconds from a problem to the end of a first element, in a new process, after the imports."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_setup, (case, element))


def _setup(case, element):
    return Timefem(find_case(case).make(rotation="quaternion"), element, 1).setup


class Model:
    """The equations of a problem of one body in quaternions, as CasADi expressions in unknowns of unit size."""

    def __init__(self, problem):
        system, z0 = problem.system, problem.z0
        body, self.t_end = system.bodies[0], problem.t_span[1]
        joint = next((p for p in system.parts if isinstance(p, tf.FixedPoint)), None)
        gravity = next((p.acceleration for p in system.parts if isinstance(p, tf.Gravity)), np.zeros(3))
        size_q = np.maximum(np.abs(z0[:7]), 1e-300).reshape(7)
        size_q = np.r_[np.full(3, size_q[:3].max() if size_q[:3].max() > 1e-9 else 1.0), np.ones(4)]
        size_p = np.r_[np.full(3, max(np.abs(z0[7:10]).max(), 1e-3)), np.full(4, np.abs(z0[10:]).max())]
        self.size = np.concatenate([size_q, size_p])
        y = ca.SX.sym("y", 14)
        z = y * self.size
        x, e, impulse, momentum = z[:3], z[3:7], z[7:10], z[10:]
        rotation, angular = _rotation(e), _convective(e) @ momentum / 2  # J Omega
        omega = ca.solve(ca.DM(body.inertia), angular)
        energy = ca.sumsqr(impulse) / (2 * body.mass) + ca.dot(angular, omega) / 2 - body.mass * ca.dot(gravity, x)
        position, velocity = [(ca.sumsqr(e) - 1) / 2], [ca.dot(e, momentum) / np.abs(z0[10:]).max()]
        if joint is not None:
            arm = ca.DM(joint.point)
            position.append((x + rotation @ arm - ca.DM(joint.at)) / size_q[0])
            velocity.append((impulse / body.mass + rotation @ ca.cross(omega, arm)) / (size_p[0] / body.mass))
        theta = ca.vertcat(*position, *velocity)
        self.n_z, self.n = 14, 14 + theta.numel()
        swap = np.block([[np.zeros((7, 7)), np.eye(7)], [-np.eye(7), np.zeros((7, 7))]])
        self.multipliers = ca.SX.sym("m", theta.numel())
        slopes, jacobian = ca.gradient(energy, y), ca.jacobian(theta, y)
        # in z = S y: ydot = S^-1 J S^-1 (dH/dy + ...)
        structure = ca.DM(swap / np.outer(self.size, self.size))
        self.y, self.theta = y, theta
        free, forces = structure @ slopes, structure @ jacobian.T
        # multipliers of unit size as well: each column of the forces as large as 1/s
        scale = np.array(ca.Function("f", [y], [ca.sqrt(ca.sum1(forces**2))])(z0 / self.size)).ravel()
        forces = forces @ ca.DM(np.diag(1 / scale))
        self.rate = free + forces @ self.multipliers
        hidden = jacobian @ self.rate
        self.hidden = hidden
        self.y0 = z0 / self.size
        system_at = ca.Function("s", [y], [ca.jacobian(hidden, self.multipliers), jacobian @ free])
        matrix, right = (np.array(v) for v in system_at(self.y0))
        self.m0 = np.linalg.solve(matrix, -right.ravel())
        self.rate0 = np.array(ca.Function("r", [y, self.multipliers], [self.rate])(self.y0, self.m0)).ravel()

    def residual(self):
        """Functions F(Y, Ydot), its Jacobians, Y = (y, Lambda)."""
        total, rates = ca.SX.sym("Y", self.n), ca.SX.sym("V", self.n)
        f = ca.vertcat(rates[:14] - ca.substitute(self.rate, ca.vertcat(self.y, self.multipliers),
                                                  ca.vertcat(total[:14], rates[14:])),
                       ca.substitute(self.theta, self.y, total[:14]))
        return (ca.Function("F", [total, rates], [f]),
                ca.Function("J", [total, rates], [ca.densify(ca.jacobian(f, total)),
                                                  ca.densify(ca.jacobian(f, rates))]))

    def start(self):
        """Y and Ydot at the start."""
        return np.r_[self.y0, np.zeros(self.n - 14)], np.r_[self.rate0, self.m0]

    def rotation(self, y):
        e = np.asarray(y, float).ravel()[3:7]
        return np.array(ca.DM(_rotation(ca.DM(e / np.linalg.norm(e)))))


def _rotation(e):
    a, v = e[0], e[1:]
    return (a**2 - ca.dot(v, v)) * type(e).eye(3) + 2 * v @ v.T + 2 * a * ca.skew(v)


def _convective(e):
    a, v = e[0], e[1:]
    return ca.horzcat(-v, a * type(e).eye(3) - ca.skew(v))


class Buffers:
    """A CasADi function of two vectors, called without conversions."""

    def __init__(self, function):
        self.arguments = [np.zeros(function.size1_in(i)) for i in range(2)]
        self.results = [np.zeros(function.size_out(i), order="F") for i in range(function.n_out())]
        self.buffer, self.call = function.buffer()
        for i, a in enumerate(self.arguments):
            self.buffer.set_arg(i, memoryview(a))
        for i, r in enumerate(self.results):
            self.buffer.set_res(i, memoryview(r.ravel(order="K")))

    def __call__(self, a, b):
        self.arguments[0][:] = a
        self.arguments[1][:] = b
        self.call()
        return self.results


class ScipyDae:
    """scipy-dae; the setting is the tolerance."""

    settings = TOLERANCES

    def __init__(self, problem, method):
        from scipy_dae.integrate import solve_dae

        start = time.process_time()
        self.model, self.method, self.solve = Model(problem), method, solve_dae
        self.f, self.j = map(Buffers, self.model.residual())
        self.setup = time.process_time() - start

    def run(self, tolerance):
        def residual(t, y, yp):
            return self.f(y, yp)[0].ravel().copy()

        def jacobian(t, y, yp):
            a, b = self.j(y, yp)
            return a.copy(), b.copy()

        y, yp = self.model.start()
        start = time.process_time()
        solution = self.solve(residual, (0, self.model.t_end), y, yp, method=self.method, rtol=tolerance,
                              atol=tolerance, jac=jacobian)
        seconds = time.process_time() - start
        return seconds, self.model.rotation(solution.y[:14, -1]) if solution.success else None


class Ida:
    """IDA of SUNDIALS by scikit-sundae; the setting is the tolerance."""

    settings = TOLERANCES

    def __init__(self, problem):
        from sksundae.ida import IDA

        start = time.process_time()
        self.model, self.make = Model(problem), IDA
        self.f, self.j = map(Buffers, self.model.residual())
        self.setup = time.process_time() - start

    def run(self, tolerance):
        def residual(t, y, yp, out):
            out[:] = self.f(y, yp)[0].ravel()

        def jacobian(t, y, yp, res, cj, out):
            a, b = self.j(y, yp)
            out[:, :] = a + cj * b

        solver = self.make(residual, rtol=tolerance, atol=tolerance, jacfn=jacobian, max_num_steps=10**6)
        y, yp = self.model.start()
        start = time.process_time()
        solution = solver.solve(np.array([0, self.model.t_end]), y, yp)
        seconds = time.process_time() - start
        return seconds, self.model.rotation(solution.y[-1][:14]) if solution.success else None


class Idas:
    """IDAS of SUNDIALS by CasADi; the setting is the tolerance."""

    settings = TOLERANCES

    def __init__(self, problem):
        start = time.process_time()
        m = self.model = Model(problem)
        dae = {"x": m.y, "z": m.multipliers, "ode": m.rate, "alg": m.hidden}
        self.solvers = {tol: ca.integrator("i", "idas", dae, 0, m.t_end, {
            "reltol": tol, "abstol": tol, "max_num_steps": 10**5, "suppress_algebraic": True}) for tol in TOLERANCES}
        self.setup = (time.process_time() - start) / len(TOLERANCES)

    def run(self, tolerance):
        start = time.process_time()
        end = self.solvers[tolerance](x0=self.model.y0, z0=self.model.m0)["xf"]
        return time.process_time() - start, self.model.rotation(end)


class Exudyn:
    """Generalized-alpha of Exudyn; the setting is the number of steps."""

    settings = tuple(16 * 2**k for k in range(13))

    def __init__(self, problem):
        with contextlib.redirect_stdout(None):  # it tells which build it takes
            import exudyn
            from exudyn import itemInterface as items

        start = time.process_time()
        self.exu, self.t_end = exudyn, problem.t_span[1]
        body, q, p = problem.system.bodies[0], problem.z0[:7], problem.z0[7:]
        self.container = exudyn.SystemContainer()
        self.mbs = mbs = self.container.AddSystem()
        omega = body.angular_velocity(q, p)
        turning = np.array(_convective(ca.DM(q[3:])).T @ omega).ravel() / 2
        node = mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=q.tolist(), initialVelocities=[
            *body.velocity(q, p), *turning]))
        j = body.inertia
        self.number = mbs.AddObject(items.ObjectRigidBody(mass=body.mass, nodeNumber=node, inertia=[
            j[0, 0], j[1, 1], j[2, 2], j[1, 2], j[0, 2], j[0, 1]]))
        ground = mbs.AddObject(items.ObjectGround())
        for part in problem.system.parts:
            if isinstance(part, tf.Gravity):
                marker = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=self.number))
                mbs.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=(
                    body.mass * part.acceleration).tolist()))
            elif isinstance(part, tf.FixedPoint):
                markers = [mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=number, localPosition=list(place)))
                           for number, place in ((ground, part.at), (self.number, part.point))]
                mbs.AddObject(items.ObjectJointSpherical(markerNumbers=markers))
        mbs.Assemble()
        self.setup = time.process_time() - start

    def run(self, n):
        def change(settings):
            settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = True

        seconds, success = exudyn_steps(self.exu, self.mbs, self.t_end, n, change)
        rotation = self.mbs.GetObjectOutputBody(self.number, self.exu.OutputVariableType.RotationMatrix)
        return seconds, np.reshape(rotation, (3, 3)) if success else None


def methods(case, problem):
    """Name -> method, of those that are installed."""
    elements = {"mG(1)": (tf.MixedGalerkin(1), 32), "mG(2)": (tf.MixedGalerkin(2), 16),
                "mG(3)": (tf.MixedGalerkin(3), 8), "mG(3), looser": (tf.MixedGalerkin(3), 8, LOOSER),
                "EML": (tf.EML(), 32)}
    made = {f"timefem {name}": Timefem(problem, *arguments) for name, arguments in elements.items()}
    for name, (element, *_) in elements.items():
        made[f"timefem {name}"].setup = fresh_setup(case, element)
    peers = {"scipy-dae Radau": ("scipy_dae", lambda: ScipyDae(problem, "Radau")),
             "scipy-dae BDF": ("scipy_dae", lambda: ScipyDae(problem, "BDF")),
             "scikit-sundae IDA": ("sksundae", lambda: Ida(problem)),
             "CasADi IDAS": ("casadi", lambda: Idas(problem)), "Exudyn gen.-alpha": ("exudyn", lambda: Exudyn(problem))}
    for name, (module, make) in peers.items():
        if importlib.util.find_spec(module) is None:
            print(f"work_precision.py: {name} is skipped, {module} is not installed", file=sys.stderr)
            continue
        made[name] = make()
    return made


def measure(case, repeats, limit):
    problem = find_case(case).make(rotation="quaternion")
    body = problem.system.bodies[0]
    fine = [tf.solve(problem, tf.MixedGalerkin(4), n, progress=False).rotation_matrix(body, problem.t_span[1])
            for n in (1000, 2000)]

    def error(rotation):
        return float(np.linalg.norm(rotation - fine[1]) / np.sqrt(2))

    candidates, points = methods(case, problem), {}
    for name, method in candidates.items():
        for setting in method.settings:
            seconds, rotation = attempt(method, setting)
            points[name, setting] = [rotation is not None and error(rotation), [seconds]]
            if seconds > limit or (rotation is not None and points[name, setting][0] < 1e-11):
                break
    for _ in range(repeats):
        for (name, setting), (found, seconds) in points.items():
            if found is not False:
                seconds.append(attempt(candidates[name], setting)[0])
    curves = {name: [{"setting": s, "error": found, "seconds": statistics.median(seconds[1:])}
                     for (n, s), (found, seconds) in points.items() if n == name and found is not False]
              for name in candidates}
    return {"case": case, "reference": error(fine[0]), "curves": curves,
            "setup": {name: method.setup for name, method in candidates.items()},
            "failed": {name: [s for (n, s), (found, _) in points.items() if n == name and found is False]
                       for name in candidates},
            "seconds_at": {name: {f"{t:g}": time_at(t, *([p[k] for p in c] for k in ("error", "seconds")))
                                  for t in TARGETS} for name, c in curves.items()}}


def attempt(method, setting):
    """Seconds and rotation; None where the solver gives up."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        try:
            return method.run(setting)
        except (RuntimeError, ValueError):
            return 0.0, None


STYLE = {"timefem mG(1)": ("#1f4e79", "o-"), "timefem mG(2)": ("#1f4e79", "s-"), "timefem mG(3)": ("#1f4e79", "^-"),
         "timefem mG(3), looser": ("#4f8fc0", "^:"),
         "timefem EML": ("#6a1b9a", "D-"), "scipy-dae Radau": ("#2e7d32", "v--"), "scipy-dae BDF": ("#2e7d32", "<:"),
         "scikit-sundae IDA": ("#c55a11", "x--"), "CasADi IDAS": ("#b8860b", "P--"),
         "Exudyn gen.-alpha": ("#444444", "+-.")}


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(11, 5.2), layout="constrained", sharey=True, squeeze=False)
    for ax, r in zip(axes[0], results, strict=True):
        for name, curve in r["curves"].items():
            colour, line = STYLE[name]
            curve = [p for p in curve if p["error"] < 0.3]  # the others have lost the motion
            ax.loglog([p["error"] for p in curve], [1e3 * p["seconds"] for p in curve], line, color=colour, label=name,
                      markersize=5, linewidth=1.2)
        ax.set(title=r["case"], xlabel="error of the rotation at the end [rad]", xlim=(0.5, 1e-13))
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("time of the integration [ms of the processor]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
    figure.savefig(path, dpi=110)


def show(results):
    for r in results:
        print(f"\n{r['case']}: milliseconds at an error, reference good to {r['reference']:.1e} rad\n")
        print("| method | " + " | ".join(f"{t:g} rad" for t in TARGETS) + " | set-up [ms] |")
        print("| --- |" + " --- |" * (len(TARGETS) + 1))
        for name, times in r["seconds_at"].items():
            cells = ["not reached" if t is None else f"{1e3 * t:.3g}" for t in times.values()]
            print(f"| {name} | {' | '.join(cells)} | {1e3 * r['setup'][name]:.3g} |")
        failed = {name: s for name, s in r["failed"].items() if s}
        if failed:
            print("\nSettings that failed: " + "; ".join(f"{n} at {', '.join(f'{x:g}' for x in s)}"
                                                         for n, s in failed.items()))


def main(quick=False):
    return [measure(case, 1 if quick else 3, LIMIT / 4 if quick else LIMIT) for case in CASES]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one repeat, and nothing far over a quarter of a second")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--output", help="file for the figure")
    options = parser.parse_args()
    outcome = main(options.quick)
    print(json.dumps(outcome)) if options.json else show(outcome)
    if options.output:
        draw(outcome, options.output)
