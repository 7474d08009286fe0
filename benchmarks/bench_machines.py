"""Robots and a vehicle: one second at equal error, beside Pinocchio with DOP853, MuJoCo and Exudyn.

The robots are those of tests/data/robots, whose files have the end of the motion by DOP853 with a tolerance of 1e-12;
the vehicle has a free body, four wheels on springs and dampers, and tyres, and its end is that of Pinocchio and DOP853
at 1e-12. Errors are the largest ones of all coordinates at the end. Each engine takes the cheapest of its settings with
an error of at most 1e-9: timefem mG(2) to mG(4) in Lagrange's form on meshes that are doubled; DOP853 its tolerance,
with ABA called from Python; MuJoCo its method of order 4, in C, with steps that are doubled; Exudyn its kinematic tree
with DOPRI5 and its tolerance. "Bodies" is the same robot as rigid bodies and joints, with constraints, by timefem. Then
all are run in turns; times are medians of processor time on one thread, of timefem with a prepared solver, and of a
whole call of `tf.solve` besides. Set-up is that of a process that has imported its
modules: for timefem from the file through the first element with kernels from disk, for the others their model.

    python benchmarks/bench_machines.py [--pinocchio FOLDER] [--mujoco FOLDER] [--exudyn FOLDER] [--machines ur5 car]
                                        [--rounds 5] [--bodies] [--json]
"""

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import timefem as tf  # noqa: E402
from tests.models.test_robots import Truth  # noqa: E402

ROBOTS = sorted(path.stem for path in (ROOT / "tests" / "data" / "robots").glob("*.json"))
GRAVITY, TARGET, T_END = (0, 0, -9.81), 1e-9, 1.0
MESHES = {2: 100, 3: 25, 4: 6}  # degree -> fewest elements
LONGEST = 30.0  # s, of one run of a peer
TOLERANCES = [10.0 ** (-i / 2) for i in range(14, 27)]
SETTINGS = {"pinocchio": TOLERANCES, "mujoco": [round(250 * 2 ** (i / 2)) for i in range(24)], "exudyn": TOLERANCES}
TYRE = {"radius": 0.3, "stiffness": 2e5, "damping": 0.1, "longitudinal": 8.0, "lateral": 6.0, "slow": 1.0}


def car():
    """A vehicle at 15 m/s whose front wheels are turned by three degrees; its tree, problem, and tyres by link."""
    links = [tf.Link("chassis", mass=1200, centre=(0, 0, 0.1), inertia=(400, 1500, 1700))]
    joints, tyres, steer = [], [], np.radians(3)
    for name, x, y in (("front left", 1.3, 0.75), ("front right", 1.3, -0.75), ("rear left", -1.3, 0.75),
                       ("rear right", -1.3, -0.75)):
        turn = (np.cos(steer / 2), 0, 0, np.sin(steer / 2)) if x > 0 else (1, 0, 0, 0)
        links += [tf.Link(f"{name} knuckle", mass=25, inertia=(0.5, 0.5, 0.5)),
                  tf.Link(f"{name} wheel", mass=20, inertia=(0.6, 1.0, 0.6))]
        joints += [tf.TreeJoint(f"{name} spring", "chassis", f"{name} knuckle", "prismatic", (x, y, -0.1), turn,
                                (0, 0, 1), damping=2500, stiffness=3e4, rest=-0.1),
                   tf.TreeJoint(f"{name} axle", f"{name} knuckle", f"{name} wheel", axis=(0, 1, 0))]
        tyres.append(f"{name} wheel")
    tree = tf.Tree(links, joints, name="car", base="free")
    spin = {f"{name.removesuffix('wheel')}axle": (0.0, 15 / TYRE["radius"]) for name in tyres}
    parts = [tf.Tyre(tree.link(name), **TYRE) for name in tyres]
    start = {"base": tf.Pose((0, 0, 0.4), velocity=(15, 0, 0), angular_velocity=(0.1, 0, 0))} | spin
    return tf.InitialValueProblem(tf.System([tree, *parts], gravity=GRAVITY), {tree: start}, (0, T_END)), tyres


def robot(name, folder):
    """The problem of a robot in the coordinates of its tree, and the end of its motion."""
    truth = Truth(name, folder)
    motion, tree = truth.data["motion"], truth.tree
    start = tf.Coordinates(truth.coordinates(motion["q0"]), truth.rates(motion["q0"]) @ motion["v0"])
    problem = tf.InitialValueProblem(tf.System([tree], gravity=GRAVITY), {tree: start}, (0, motion["t_end"]))
    return problem, unit(tree, truth.coordinates(motion["q1"]))


def unit(tree, q):
    """Coordinates with quaternions of unit length and positive scalar."""
    q = np.array(q)
    if tree.base == "free":
        q[3:7] *= np.sign(q[3]) / np.linalg.norm(q[3:7])
    return q


def told(problem, tyres=()):
    """A machine as its peers take it."""
    tree = problem.system.bodies[0]
    free, bodies = tree.base == "free", []
    q, p = np.split(problem.z0, 2)
    v = tree.velocity(q, p)
    if free:
        pose = tree.base_state(q, p)
        turn = tree.link_pose(tree.links[0].name, q)[1]
        v = np.concatenate([turn.T @ pose.velocity, pose.angular_velocity, v[7:]])
    for body in tree.moving:
        centre = body.moment / body.mass if body.mass else np.zeros(3)
        inertia = body.inertia - body.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        bodies.append({"kind": body.joint.kind, "parent": body.parent, "turn": body.turn.tolist(), "mass": body.mass,
                       "place": body.place.tolist(), "com": centre.tolist(), "inertia": inertia.tolist(),
                       "damping": body.damping, "stiffness": body.stiffness, "rest": body.rest,
                       "own": body.first - 7 * free, "factor": body.factor, "offset": body.offset})
    number = {body.joint.child: i for i, body in enumerate(tree.moving)}
    return {"free": free, "bodies": bodies, "q0": q.tolist(), "v0": v.tolist(), "t_end": problem.t_span[1],
            "tyres": [{"body": number[name], **TYRE} for name in tyres]}


class Tree:
    """timefem in joint coordinates."""

    def __init__(self, problem):
        self.problem, self.tree, self.solvers = problem, problem.system.bodies[0], {}

    def settings(self):
        degrees = {k: n for k, n in MESHES.items() if k < 4 or self.tree.n_v < 30}  # larger kernels take minutes
        return [(degree, n) for degree, first in degrees.items() for n in np.round(first * 2 ** (np.arange(17) / 2))]

    def run(self, setting):
        degree, n = setting
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # coarse meshes
            if setting not in self.solvers:
                self.solvers[setting] = tf.prepare(self.problem, self.element(degree), int(n), progress=False)
                self.solvers[setting].solve()
            start = time.process_time()
            sol = self.solvers[setting].solve()
            seconds = time.process_time() - start
        return seconds, self.end(sol) if sol.success else np.full(self.tree.n_q, np.nan)

    def call(self, setting):
        """Seconds of a whole call of `tf.solve`, which plans the elements again."""
        start = time.process_time()
        tf.solve(self.problem, self.element(setting[0]), int(setting[1]), progress=False)
        return time.process_time() - start

    def element(self, degree):
        return tf.MixedGalerkin(degree, form="lagrange")

    def end(self, sol):
        return unit(self.tree, sol.z[-1][:self.tree.n_q])


class Bodies(Tree):
    """timefem with a rigid body for each link, and constraints."""

    def __init__(self, problem):
        super().__init__(problem)
        tree = self.tree
        if any(body.joint.mimic for body in tree.moving):
            raise ValueError("mimic joints")
        q, p = np.split(problem.z0, 2)
        v, bodies, joints, state = tree.velocity(q, p), [], [], {}
        for i, moving in enumerate(tree.moving):
            centre = moving.moment / moving.mass
            inertia = moving.inertia - moving.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
            body = tf.RigidBody(moving.mass, inertia, name=f"body{i}")
            frame = tree.link(moving.joint.child)
            turn, x, rates = tree.link_pose(moving.joint.child, q)[1], q[frame.dofs], v[frame.dofs]
            own, place = self.frames(q)[i]
            spin = turn @ frame.angular_velocity(x, rates)
            arm = own @ centre
            speed = frame.velocity(x, rates) + np.cross(spin, place + arm - frame.position(x))
            state[body] = tf.Pose(place + arm, own, speed, spin, frame="space")
            bodies.append(body)
            if moving.joint.kind == "floating":
                continue
            parent, above = (bodies[moving.parent], self.centre(moving.parent)) if moving.parent >= 0 else (None, 0)
            axis = moving.turn[:, 2]
            options = {"orientation": moving.turn} if moving.joint.kind == "prismatic" else {"axis_a": (0, 0, 1)}
            cls = tf.Prismatic if moving.joint.kind == "prismatic" else tf.Revolute
            joints.append(cls(body, parent, point_a=-centre, point_b=moving.place - above, axis_b=axis, **options))
            if moving.damping:
                joints.append(tf.JointDamper(joints[-1], damping=moving.damping))
        self.bodies = bodies
        self.problem = tf.InitialValueProblem(tf.System([*bodies, *joints], gravity=GRAVITY), state, problem.t_span,
                                              assemble=True)
        last = tree.moving[-1]
        self.last, self.name = self.centre(len(bodies) - 1), last.joint.child

    def centre(self, i):
        return self.tree.moving[i].moment / self.tree.moving[i].mass

    def frames(self, q):
        """Rotation and place of each moving body, from those of the links."""
        found = []
        for moving in self.tree.moving:
            place, turn = self.tree.link_pose(moving.joint.child, q)
            _, own, origin = self.tree._sits[moving.joint.child]
            found.append((turn @ own.T, place - turn @ own.T @ origin))
        return found

    def element(self, degree):
        return tf.MixedGalerkin(degree)

    def end(self, sol):
        """The place of the centre of the last body."""
        return sol.position(self.bodies[-1], self.problem.t_span[1])

    def expected(self, q):
        turn, place = self.frames(q)[-1]
        return place + turn @ self.last


class Peer:
    """A process of machine_peers.py; None of it where the module is not there, or cannot take the machine."""

    def __init__(self, name, folder, machine, tree):
        self.name, self.tree = name, tree
        paths = [str(p) for p in (Path(folder), *Path(folder).glob("cmeel.prefix/lib/python*/site-packages"))] \
            if folder else []
        self.errors = tempfile.TemporaryFile("w+")
        command = [sys.executable, str(Path(__file__).with_name("machine_peers.py")), name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        self.setup = self.asked(machine)

    def asked(self, what):
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], LONGEST)[0]:
                self.process.kill()
                raise TimeoutError
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            self.errors.seek(0)
            message = self.errors.read().strip().splitlines()
            raise ValueError(message[-1] if message else "it ended") from None

    def settings(self):
        return SETTINGS[self.name]

    def run(self, setting):
        seconds, end = self.asked(setting)
        return seconds, unit(self.tree, end)

    def close(self):
        self.process.kill()


def cheapest(engine, expected):
    """The cheapest setting with an error of at most the target: (seconds, setting, error), and the smallest error."""
    best, least, degree = None, np.inf, None
    for setting in engine.settings():
        now = setting[0] if isinstance(setting, tuple) else None
        if (now is None and best is not None) or (now is not None and now == degree):
            continue  # settings grow: the first good one of each degree
        if now is not None:
            engine.run((now, 20))  # kernels of the degree
        try:
            seconds, end = engine.run(setting)
        except TimeoutError:
            break
        error = float(np.abs(end - expected).max())
        least = min(least, error) if np.isfinite(error) else least
        if error <= TARGET:
            degree = now
            seconds = min(seconds, engine.run(setting)[0], engine.run(setting)[0])
            if best is None or seconds < best[0]:
                best = seconds, setting, error
    return best, least


def first(name):
    """Set-up through the first element, in this new process: seconds."""
    for module in (tf.read_urdf, tf.Tree, tf.solve, tf.MixedGalerkin, tf.InitialValueProblem):
        str(module)  # imported when first asked for
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = car()[0] if name == "car" else robot(name, Path(folder))[0]
        tf.solve(problem, tf.MixedGalerkin(3, form="lagrange"), 1, progress=False)
    print(time.process_time() - start)


def compared(name, options):
    """Of one machine: engine -> seconds, setting, error, set-up; or why not."""
    with tempfile.TemporaryDirectory() as folder:
        (problem, tyres), expected = (car(), None) if name == "car" else (
            (given := robot(name, Path(folder)))[:1] + ((),), given[1])
    tree, machine, found, engines = problem.system.bodies[0], told(problem, tyres), {}, {"timefem": Tree(problem)}
    for peer in SETTINGS:
        try:
            engines[peer] = Peer(peer, getattr(options, peer), machine, tree)
        except ValueError as error:
            found[peer] = {"why": str(error)}
    if expected is None:
        finest = ("pinocchio", 1e-13) if "pinocchio" in engines else ("timefem", (4, 3200))
        expected = engines[finest[0]].run(finest[1])[1]
    if options.bodies and not tyres:
        try:
            engines["bodies"] = Bodies(problem)
        except ValueError as error:
            found["bodies"] = {"why": str(error)}
    for key, engine in list(engines.items()):
        best, least = cheapest(engine, engine.expected(expected) if key == "bodies" else expected)
        if best is None:
            found[key] = {"why": f"at best {least:.0e}" if np.isfinite(least) else f"not within {LONGEST:g} s"}
            del engines[key]
        elif isinstance(engine, Peer) and engine.process.poll() is not None:
            found[key] = {"why": "ended"}
            del engines[key]
        else:
            found[key] = {"setting": [int(x) for x in best[1]] if isinstance(best[1], tuple) else best[1],
                          "error": best[2], "setup": getattr(engine, "setup", None), "all": []}
    for _ in range(options.rounds):
        for key, engine in engines.items():
            found[key]["all"].append(engine.run(tuple(found[key]["setting"]) if isinstance(found[key]["setting"], list)
                                                else found[key]["setting"])[0])
    for key, own in found.items():
        if "all" in own:
            own["seconds"] = statistics.median(own.pop("all"))
            if isinstance(engines[key], Tree):
                own["call"] = statistics.median(engines[key].call(own["setting"]) for _ in range(options.rounds))
    run = subprocess.run([sys.executable, "-c", f"import bench_machines as b; b.first({name!r})"], check=True,
                         text=True, cwd=Path(__file__).parent, capture_output=True,
                         env={**os.environ, "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}"})
    if "timefem" in found:
        found["timefem"]["setup"] = float(run.stdout)
    for engine in engines.values():
        if isinstance(engine, Peer):
            engine.close()
    return tree.n_v, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for peer in SETTINGS:
        parser.add_argument(f"--{peer}", help="folder with its wheel, unless it is installed")
    parser.add_argument("--machines", nargs="*", default=[*ROBOTS, "car"], choices=[*ROBOTS, "car"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bodies", action="store_true", help="with the same robots as bodies and joints")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {}
    for name in options.machines:
        n, found = compared(name, options)
        results[name] = {"degrees of freedom": n, **found}
        if not options.json:
            print(f"{name}, {n}: " + "; ".join(
                f"{key} {own['why']}" if "why" in own else
                f"{key} {1e3 * own['seconds']:.1f} ms ({own['setting']}, {own['error']:.0e}"
                + (f", set-up {own['setup']:.2g} s" if own["setup"] else "")
                + (f", call {1e3 * own['call']:.1f} ms)" if "call" in own else ")")
                for key, own in found.items()), flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
