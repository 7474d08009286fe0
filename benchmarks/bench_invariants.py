"""Lifted gradients: orders, what is kept, and cost of `MixedGalerkin(k, keep="all")` beside mG(k) with 2k points.

python benchmarks/bench_invariants.py [--quick] [--costs] [--residuals] [--long]

Errors are the largest ones of (q, p) at the end on three meshes, each halved, against elements of degree 5 on a fine
mesh; energy by the kinetic one, angular momentum by its size, and constraints at all nodes. Costs are processor times
of marches of equal elements, the least of runs in turns, without the set-up; errors of the coordinates at the end. Of
residual and tangent of an element: operations, those with shape functions too, and times of 8 elements in lanes.
"""

import argparse
import time

import numpy as np
from _common import PreparedMarch
from bench_chain_of_bodies import chain
from bench_elements import arm

import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation.elements_in_lanes import evaluate_lanes, lane_scratch
from timefem.elements.evaluation.plan import ElementPlan
from timefem.kernels.loops import compiled
from timefem.kernels.operations import DONE, Instructions, check_function


def box(rotation="quaternion"):
    body = tf.RigidBody(1.0, (6, 8, 3), rotation=rotation, name="box")
    return tf.System([body]), {body: tf.Pose(angular_velocity=(2, 4, 4))}, 1.0


def top(rotation="directors"):
    body = tf.RigidBody(1.0, (0.2, 0.2, 0.1), rotation=rotation, name="top")
    tip = tf.FixedPoint(body, (0, 0, -0.5), (0, 0, 0))
    pose = tf.Pose((0, -0.5 * np.sin(0.6), 0.5 * np.cos(0.6)), orientation=(np.cos(0.3), np.sin(0.3), 0, 0),
                   angular_velocity=(0, 0, 25.0))
    return tf.System([body, tip], gravity=(0, 0, -9.81)), {body: pose}, 1.0


def bodies(rotation="directors"):
    a = tf.RigidBody(1.0, (0.1, 0.2, 0.25), rotation=rotation, name="a")
    b = tf.RigidBody(2.0, (0.3, 0.2, 0.4), rotation=rotation, name="b")
    spring = tf.NonlinearSpring(a, b, point_a=(0.1, 0.2, 0), point_b=(-0.2, 0.1, 0.1),
                                potential=lambda length: 20 * (length - 0.8)**2 + 7.5 * (length - 0.8)**4)
    return tf.System([a, b, spring]), {a: tf.Pose((0, 0, 0), velocity=(0, 1, 0), angular_velocity=(1, 2, 3)),
                                       b: tf.Pose((1.2, 0, 0), angular_velocity=(0, 1, -1))}, 1.0


def masses():
    m = [tf.PointMass(1.0 + 0.5 * i, name=f"m{i}") for i in range(3)]
    springs = [tf.NonlinearSpring(m[i], m[j], potential=lambda length: 20 * (length - 1)**2 + 15 * (length - 1)**4)
               for i in range(3) for j in range(i)]
    return tf.System([*m, *springs]), {
        m[0]: tf.Pose((0, 0, 0), velocity=(0, 1, 0.5)), m[1]: tf.Pose((1.2, 0, 0), velocity=(0, -1, 0)),
        m[2]: tf.Pose((0, 1.1, 0.2), velocity=(1, 0, 0))}, 1.0


def four_bar(rotation="directors"):
    """Four bars joined to a square, floating and turning, with an elastic diagonal."""
    inertia = (0.084, 0.001, 0.084), (0.001, 0.084, 0.084)
    bars = [tf.RigidBody(1.0, inertia[i % 2], rotation=rotation, name=f"bar{i}") for i in range(4)]
    centres = np.array([[0.5, 0, 0], [0, 0.5, 0], [-0.5, 0, 0], [0, -0.5, 0]])
    ends = [((0, 0.5, 0), (0.5, 0, 0)), ((-0.5, 0, 0), (0, 0.5, 0)), ((0, -0.5, 0), (-0.5, 0, 0)),
            ((0.5, 0, 0), (0, -0.5, 0))]
    joints = [tf.Spherical(bars[i], bars[(i + 1) % 4], point_a=a, point_b=b) for i, (a, b) in enumerate(ends)]
    diagonal = tf.Spring(bars[0], bars[2], point_a=(0, 0.5, 0), point_b=(0, -0.5, 0), stiffness=60.0, length=1.2)
    spin = np.array([0.5, 0.3, 2.0])
    state = {bar: tf.Pose(c, velocity=np.cross(spin, c), angular_velocity=spin)
             for bar, c in zip(bars, centres, strict=True)}
    return tf.System([*bars, *joints, diagonal]), state, 1.0


def top_on_its_tip():
    """Inertia about the tip, which is at rest: no ball joint has a moment."""
    body = tf.RigidBody(1.0, (0.45, 0.45, 0.1), name="top")
    weight = tf.FormulaEnergy(body, lambda e, t, c: c[0] * e[0], parameters=[4.905], n_lift=1, name="weight",
                              lift=lambda f, t, c: f[0].rotation[2, 2])
    pose = tf.Pose(orientation=(np.cos(0.3), np.sin(0.3), 0, 0), angular_velocity=(0, 0, 25.0))
    return tf.System([body, tf.FixedPoint(body, (0, 0, 0), (0, 0, 0)), weight]), {body: pose}, 1.0


def pendulum():
    """A spherical double pendulum."""
    upper, lower = tf.PointMass(1.0, name="upper"), tf.PointMass(0.7, name="lower")
    rods = [tf.RigidDistance(upper, length=1.0), tf.RigidDistance(upper, lower, length=0.8)]
    state = {upper: tf.Pose((0.6, 0, -0.8), velocity=(0, 1.5, 0)),
             lower: tf.Pose((0.6, 0.8, -0.8), velocity=(-1.0, 1.5, 1.0))}
    return tf.System([upper, lower, *rods], gravity=(0, 0, -9.81)), state, 1.0


def hinged():
    """Two bodies in quaternions on a ball joint and a hinge."""
    a, b = tf.RigidBody(1.0, (0.1, 0.2, 0.25), name="a"), tf.RigidBody(2.0, (0.3, 0.2, 0.4), name="b")
    joints = [tf.FixedPoint(a, (-0.5, 0, 0), (0, 0, 0)),
              tf.Revolute(a, b, point_a=(0.5, 0, 0), point_b=(-0.5, 0.2, 0), axis_a=(0, 1, 1), axis_b=(0, 1, 1))]
    spin, other = np.array([0.5, 1, 2]), np.array([0.5, 2, 3])
    state = {a: tf.Pose((0.5, 0, 0), velocity=np.cross(spin, (0.5, 0, 0)), angular_velocity=spin),
             b: tf.Pose((1.5, -0.2, 0), velocity=np.cross(spin, (1, 0, 0)) + np.cross(other, (0.5, -0.2, 0)),
                        angular_velocity=other)}
    return tf.System([a, b, *joints], gravity=(0, 0, -9.81)), state, 1.0


def kepler():
    mass = tf.PointMass(1.0, dimension=2, name="planet")
    sun = tf.NonlinearSpring(mass, None, potential=lambda length: -1 / length)
    return tf.System([mass, sun]), {mass: tf.Pose((0.4, 0, 0), velocity=(0, 2, 0))}, 2 * np.pi


CASES = {"free box, quaternion": (box, 20, (0, 1, 2)), "heavy top, directors": (top, 40, (2,)),
         "top on its tip, quaternion": (top_on_its_tip, 40, (2,)), "two bodies, springs": (bodies, 16, (0, 1, 2)),
         "in quaternions": (lambda: bodies("quaternion"), 16, (0, 1, 2)), "three masses": (masses, 20, (0, 1, 2)),
         "floating four-bar": (four_bar, 16, (0, 1, 2)), "spherical double pendulum": (pendulum, 40, (2,)),
         "ball joint and hinge, quaternion": (hinged, 40, (2,)), "Kepler": (kepler, 64, (2,))}


def solved(make, element, n, share=1.0):
    system, state, t_end = make()
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, share * t_end)), element, n, progress=False)
    if not sol.success:
        raise SystemExit(sol.status.message)
    return sol


def drifts(sol, axes):
    """Changes of energy and of the components of angular momentum by their sizes, and violations of constraints."""
    energy, momentum = sol.energy(), sol.angular_momentum()
    size = np.abs(momentum).max()
    changes = np.abs(momentum - momentum[0])[:, list(axes)].max(initial=0.0) / size
    constraints = max(np.abs(level).max(initial=0.0) / max(1.0, n)
                      for level, n in zip(sol.constraints(), (1.0, size), strict=True))
    moving = sum(sol.energy.of(body).kinetic for body in sol.system.bodies)
    return np.abs(energy - energy[0]).max() / np.abs(moving).max(), changes, constraints


def table(names):
    print(f"{'case':32s} {'element':14s} {'errors':28s} order   energy momentum constraints")
    for name in names:
        make, n, axes = CASES[name]
        exact = solved(make, tf.MixedGalerkin(5), 8 * n).z[-1]
        for k in (1, 2, 3):
            for keep in ("points", "all"):
                errors = []
                for mesh in (n // (1, 2, 4)[k - 1] * np.array([1, 2, 4])).tolist():
                    sol = solved(make, tf.MixedGalerkin(k, keep=keep), mesh)
                    errors.append(np.abs(sol.z[-1] - exact).max())
                order = np.log2(errors[1] / errors[2])
                print(f"{name:32s} mG({k}) {keep:8s} {' '.join(f'{e:.1e}' for e in errors):28s} {order:5.2f}   "
                      + " ".join(f"{x:.0e}" for x in drifts(sol, axes)), flush=True)


def beam(rotation):
    section = tf.Section(EA=400.0, GA=300.0, GJ=2.0, EI=(1.5, 2.0), mass=1.2, inertia=(0.35, 0.2, 0.3))
    rod = tf.Beam(1.0, section, 2, 2, rotation, name="rod")
    spin = np.array([0.5, 1, 2])
    state = {rod: lambda s: tf.Pose((s, 0, 0), angular_velocity=spin, velocity=np.cross(spin, (s, 0, 0)) + (
        1, 0.5 + 0.8 * s**2, -0.3 - 0.5 * s))}
    return tf.InitialValueProblem(tf.System([rod]), state, (0, 1))


def driven(name, rotation, t_end):
    return find_case(name).make(rotation=rotation, t_end=t_end)


def problem_of(make, *arguments, share=1.0):
    system, state, t_end = make(*arguments)
    return tf.InitialValueProblem(system, state, (0, share * t_end))


MARCHES = {  # problem, elements for k = 1
    "free body, quaternion": (lambda: problem_of(box), 80), "directors": (lambda: problem_of(box, "directors"), 80),
    "heavy top, quaternion": (lambda: problem_of(top, "quaternion"), 160), "directors ": (lambda: problem_of(top), 160),
    "four-bar, quaternion": (lambda: problem_of(four_bar, "quaternion"), 64), "directors  ": (
        lambda: problem_of(four_bar), 64),
    "Kepler": (lambda: problem_of(kepler, share=0.8), 256), "chain of 20, quaternion": (lambda: chain(20), 128),
    "directors   ": (lambda: chain(20, "directors"), 128), "arm of six hinges (UR5), quaternion": (lambda: arm(), 100),
    "beam, quaternion": (lambda: beam("quaternion"), 64), "directors    ": (lambda: beam("directors"), 64),
    "pushed box, quaternion": (lambda: driven("spinning-box", "quaternion", 1.0), 100),
    "directors     ": (lambda: driven("spinning-box", "directors", 1.0), 100),
    "physical pendulum, quaternion": (lambda: driven("physical-pendulum", "quaternion", 1.0), 100),
    "directors      ": (lambda: driven("physical-pendulum", "directors", 1.0), 100),
    "driven slider-crank, quaternion": (lambda: driven("slider-crank", "quaternion", 0.5), 100),
    "directors       ": (lambda: driven("slider-crank", "directors", 0.5), 100)}


def costs(names, repeats):
    """Processor time of an element over that with 2k points, errors over those with 2k points, and from both the time
    to the same error."""
    print("\nkeep='all' over 2k points: time of an element / error / time to the same error")
    for name in names:
        make, n = MARCHES[name]
        problem, cells = make(), []
        exact = PreparedMarch(problem, tf.MixedGalerkin(4)).march(2 * n)[1]
        for k in (1, 2, 3):
            marches = {keep: PreparedMarch(problem, tf.MixedGalerkin(k, keep=keep)) for keep in ("points", "all")}
            found = [[run.march(2 * n // k) for run in marches.values()] for _ in range(repeats)]
            if any(q is None for q in (*(q for _, q in found[0]), exact)):
                cells.append("fails")
                continue
            time_ratio = min(both[1][0] for both in found) / min(both[0][0] for both in found)
            points, lifted = (np.abs(q - exact).max() for _, q in found[0])
            cells.append(f"{time_ratio:.2f} / {lifted / points:.2f} / "
                         f"{time_ratio * (lifted / points)**(1 / (2 * k)):.2f}")
        print(f"{name:36s} " + "   ".join(cells), flush=True)


def operations(plan):
    """Arithmetic of residual and tangent of an element: that of kernels, and products with shape functions."""
    arrays, total = plan.arrays, 0
    for number, kernel in enumerate(plan.point_kernels):
        members, function = np.flatnonzero(arrays.parts["group"] == number), kernel.kernel.function
        made = Instructions(function, check_function(function), fuse=True).operations
        first = arrays.parts[members[0]]
        sections = arrays.sections[first["section"]:first["section"] + first["n_sections"]]
        shapes, tests = arrays.slots["n_shapes"], arrays.tests["n_shapes"]
        products = (sections["n"] * tests[sections["test"]] * shapes[sections["slot"]]).sum()
        ends = arrays.n_seen[members[0]] @ shapes + arrays.n_tested[members[0]] @ tests
        own = sum(name not in (DONE, "CONST", "INPUT", "OUTPUT") for name in made)
        total += len(members) * arrays.n_points * (own + products + ends)
    return int(total)


@compiled(error_model="numpy", _nrt=False)
def repeated(plan, lanes, n):
    for _ in range(n):
        evaluate_lanes(plan, lanes)


def residuals(names, repeats):
    """Operations and processor times of residual and tangent over those with 2k points."""
    print("\nresidual and tangent, keep='all' over 2k points: operations / time")
    for name in names:
        problem, cells = MARCHES[name][0](), []
        multipliers = problem.system.consistent_multipliers(0, problem.z0)
        for k in (1, 2, 3):
            plans, counts = [], []
            for keep in ("points", "all"):
                plan = ElementPlan(problem.system, tf.MixedGalerkin(k, keep=keep))
                lanes = lane_scratch(plan.arrays)
                lanes.x[:] = plan.first_element(tf.TimeMesh([0.0, 0.01]), problem.z0, multipliers)[:, None]
                lanes.t[:], lanes.h[:] = 0.0, 0.01
                repeated(plan.arrays, lanes, 1)
                plans.append((plan.arrays, lanes))
                counts.append(operations(plan))
            n, least = max(1, 10**6 // counts[0]), [np.inf, np.inf]
            for _ in range(repeats):
                for i, arguments in enumerate(plans):
                    start = time.process_time()
                    repeated(*arguments, n)
                    least[i] = min(least[i], time.process_time() - start)
            cells.append(f"{counts[1] / counts[0]:.2f} / {least[1] / least[0]:.2f}")
        print(f"{name:36s} " + "   ".join(cells), flush=True)


LONG = (("box", box, 10**6, 0.02, (0, 1, 2)), ("heavy top, quaternion", lambda: top("quaternion"), 10**6, 0.005, (2,)),
        ("Kepler", kepler, 10**6, 0.02, (2,)), ("floating four-bar", four_bar, 10**5, 0.02, (0, 1, 2)))


def long_runs():
    print("\nlong motions: largest changes of energy, momentum, constraints")
    for name, make, n, h, axes in LONG:
        for k in (1, 2):
            for keep in ("points", "all"):
                sol = solved(make, tf.MixedGalerkin(k, keep=keep), n // k, n * h / make()[2])
                print(f"{name}, {n // k} elements of degree {k}, {keep}: " + "{:.1e}, {:.1e}, {:.1e}".format(
                    *drifts(sol, axes)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two cases, fewer repeats")
    parser.add_argument("--costs", action="store_true", help="times and errors alone")
    parser.add_argument("--residuals", action="store_true", help="operations and times of residual and tangent alone")
    parser.add_argument("--long", action="store_true", help="motions of 10^5 and 10^6 elements alone")
    chosen = parser.parse_args()
    marched, repeats = (list(MARCHES)[:2], 3) if chosen.quick else (list(MARCHES), 9)
    if chosen.long:
        long_runs()
    elif chosen.residuals:
        residuals(marched, repeats)
    else:
        if not chosen.costs:
            table(list(CASES)[:2] if chosen.quick else list(CASES))
            residuals(marched, repeats)
        costs(marched, repeats)
