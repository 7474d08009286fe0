"""Error against time with rigid contact, beside MuJoCo: a ball that bounces, one that slides until it rolls, and a bar.

The balls have closed forms; the bar, which bounces on its ends with friction, a piecewise one (`tests/data/nonsmooth`).
timefem marches mG(2), for the bar mG(3), with rigid contact; its time is that of a second solve, with the kernels at
hand. MuJoCo (`pip install mujoco`) has no rigid contact: its constraints are soft, and are made as hard as the time
step takes (`solref = -k 0` without damping where the ball keeps its energy, else a time constant of two steps), with
elliptic cones and Newton's solver at 1e-12. The bar is timefem's alone, as soft contact has another law of impact.
Both use one thread.

    python benchmarks/bench_contacts.py [--quick] [--json]
"""

import argparse
import json
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import timefem as tf  # noqa: E402

BAR_CASE = "bar with friction"
G, RADIUS, MASS, FRICTION = 9.81, 0.1, 1.0, 0.2
DROP, SPEED = 0.8, 1.0  # m above the floor, m/s
ENDS = {"bouncing ball": 3.0, "ball that begins to roll": 0.4, BAR_CASE: 1.5}  # s
BAR = json.loads((Path(__file__).parents[1] / "tests/data/nonsmooth/bar.json").read_text())
XML = """<mujoco><option timestep="{h}" gravity="0 0 -9.81" integrator="{integrator}" cone="elliptic" tolerance="1e-12"
iterations="200" impratio="100"/><worldbody><geom type="plane" size="9 9 1" {law}/><body pos="0 0 {z}"><freejoint/>
<geom type="sphere" size="0.1" mass="1" {law}/></body></worldbody></mujoco>"""


def exact(name):
    """Place along and above the floor at the end, and the velocities; of the bar with its angle."""
    end = ENDS[name]
    if name == BAR_CASE:
        return np.array([float(x) for x in BAR["end"]])
    if name == "bouncing ball":
        fall = np.sqrt(2 * DROP / G)
        since = (end - fall) % (2 * fall)
        speed = G * fall - G * since
        return np.array([0, RADIUS + G * fall * since - G * since**2 / 2, 0, speed])
    stop = 2 * SPEED / (7 * FRICTION * G)
    way = SPEED * stop - FRICTION * G * stop**2 / 2 + 5 / 7 * SPEED * (end - stop)
    return np.array([way, RADIUS, 5 / 7 * SPEED, 0])


def bar_by_timefem(n):
    """The same of the bar."""
    bar = tf.RigidBody(2.0, (0.15, 0.15, 0.15), "directors", name="bar")
    ends = tf.PlaneContact(bar, normal=(0, 1, 0), points=[[-0.5, 0, 0], [0.5, 0, 0]], restitution=0.6, friction=0.3)
    start = tf.Pose((0, 1.2, 0), (np.cos(0.2), 0, 0, np.sin(0.2)), velocity=(1, 0.5, 0), angular_velocity=(0, 0, 3))
    problem = tf.InitialValueProblem(tf.System([bar, ends], gravity=(0, -G, 0)), {bar: start}, (0, 1.5))
    begin = time.process_time()
    sol = tf.solve(problem, tf.MixedGalerkin(3), n, progress=False)
    seconds = time.process_time() - begin
    turn = sol.rotation_matrix(bar, 1.5)
    found = [*sol.position(bar, 1.5)[:2], np.arctan2(turn[1, 0], turn[0, 0]), *sol.velocity(bar, 1.5)[:2],
             sol.angular_velocity(bar, 1.5, "space")[2]]
    return apart(np.array(found), exact(BAR_CASE)), seconds


def apart(found, expected):
    """Largest difference; turns of the angle of the bar do not count."""
    difference = found - expected
    if len(difference) == 6:
        difference[2] = (difference[2] + np.pi) % (2 * np.pi) - np.pi
    return float(np.abs(difference).max())


def by_timefem(name, n):
    """Error and seconds of n elements."""
    if name == BAR_CASE:
        return bar_by_timefem(n)
    ball = tf.RigidBody(MASS, [0.4 * MASS * RADIUS**2] * 3, name="ball")
    bounces = name == "bouncing ball"
    floor = tf.PlaneContact(ball, radius=RADIUS, restitution=float(bounces), friction=0.0 if bounces else FRICTION)
    start = tf.Pose((0, 0, RADIUS + DROP * bounces), velocity=(0 if bounces else SPEED, 0, 0))
    problem = tf.InitialValueProblem(tf.System([ball, floor], gravity=(0, 0, -G)), {ball: start}, (0, ENDS[name]))
    begin = time.process_time()
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    seconds = time.process_time() - begin
    x, v = sol.position(ball, ENDS[name]), sol.velocity(ball, ENDS[name])
    return float(np.abs(np.array([x[0], x[2], v[0], v[2]]) - exact(name)).max()), seconds


def by_mujoco(mujoco, name, n):
    """Error and seconds of n steps, the better one of two integrators."""
    h, bounces, found = ENDS[name] / n, name == "bouncing ball", []
    for integrator in ("Euler", "RK4"):
        stiffness = (0.2 / h)**2  # the contact takes some 30 steps
        law = f'solref="{-stiffness} 0" friction="0"' if bounces else f'solref="{2 * h} 1" friction="{FRICTION} 0 0"'
        model = mujoco.MjModel.from_xml_string(XML.format(
            h=h, integrator=integrator, z=RADIUS + DROP * bounces, law=law + ' solimp="0.9999 0.9999 0.001"'))
        data = mujoco.MjData(model)
        data.qvel[0] = 0.0 if bounces else SPEED
        begin = time.process_time()
        for _ in range(n):
            mujoco.mj_step(model, data)
        seconds = time.process_time() - begin
        state = np.array([data.qpos[0], data.qpos[2], data.qvel[0], data.qvel[2]])
        found.append((apart(state, exact(name)), seconds))
    return min(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few points")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        import mujoco
    except ImportError:
        mujoco = None
        print("MuJoCo is not installed (pip install mujoco): timefem alone")
    result = {}
    for name in ENDS:
        by_timefem(name, 10)  # kernels
        ours = [(n, *by_timefem(name, n)) for n in ((10, 40) if options.quick else (10, 20, 40, 80))]
        steps = (2_000, 20_000) if options.quick else (1_000, 10_000, 100_000, 1_000_000)
        theirs = [(n, *by_mujoco(mujoco, name, n)) for n in steps] if mujoco and name != BAR_CASE else []
        result[name] = {"timefem": ours, "mujoco": theirs}
    if options.json:
        print(json.dumps(result))
        return
    for name, rows in result.items():
        print(f"\n{name}: elements or steps, error at the end [m, m/s], time [s]")
        for code, points in rows.items():
            for n, error, seconds in points:
                print(f"  {code:8} {n:8} {error:9.1e} {seconds:9.4f}")


if __name__ == "__main__":
    main()
