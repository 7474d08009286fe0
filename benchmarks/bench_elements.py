"""One element of a march: mechanisms, a robot arm, a beam, and how the work grows with the nodes of a beam.

Processor time per element, the least of several marches in turn, everything but the march done beforehand.

    python benchmarks/bench_elements.py [--quick] [--json]
"""

import time

import numpy as np
from _common import PreparedMarch, quick_or_json
from bench_chain_of_bodies import chain

import timefem as tf
from timefem.cases import find_case

LENGTHS = (0.089159, 0.425, 0.39225, 0.10915, 0.09465, 0.0823)  # m, of the links of a UR5
MASSES = (3.7, 8.393, 2.275, 1.219, 1.219, 0.5)  # kg
AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0))
GOALS = {("arm in redundant coordinates", 2): 0.8, ("beam of 31 nodes", 2): 5.0}  # ms
NODES = (10, 31, 100, 300)


def arm(t_end=0.5):
    """Six links, hinged one to the next about the axes of a UR5, upright but for the first, and let go."""
    bodies, parts, state, place = [], [], {}, np.zeros(3)
    for number, (mass, length, axis) in enumerate(zip(MASSES, LENGTHS, AXES, strict=True)):
        across, below = mass * (3 * 0.05**2 + length**2) / 12, (0, 0, -length / 2)
        body = tf.RigidBody(mass, (across, across, mass * 0.05**2 / 2), "quaternion", name=f"link {number + 1}")
        start = np.array([np.cos(0.3), 0, np.sin(0.3), 0])  # all leant over by 0.6 rad about e2
        along = np.array([np.sin(0.6), 0, np.cos(0.6)])
        if bodies:
            parts.append(tf.Revolute(bodies[-1], body, axis_a=axis, axis_b=axis, point_b=below,
                                     point_a=(0, 0, LENGTHS[number - 1] / 2)))
        else:
            parts.append(tf.Revolute(body, point_a=below, point_b=(0, 0, 0), axis_a=axis, axis_b=along))
        state[body] = tf.Pose(place + length / 2 * along, start)
        place = place + length * along
        bodies.append(body)
    return tf.InitialValueProblem(tf.System(bodies + parts, gravity=(0, 0, -9.81)), state, (0, t_end))


def beam(nodes, t_end):
    degree = 3 if (nodes - 1) % 3 == 0 and nodes < 100 else 1
    return find_case("flying-beam").make(t_end=t_end, elements_space=(nodes - 1) // degree, degree_space=degree)


def problems():
    """Name, problem, elements, degrees."""
    yield "heavy top", find_case("heavy-top").make(t_end=1.0), 200, (2,)
    yield "four-bar", find_case("four-bar").make(t_end=2.0), 128, (1, 2, 3)
    yield "chain of 20", chain(20, t_end=1.0), 64, (1, 2)
    yield "arm in redundant coordinates", arm(), 100, (2,)
    yield "beam of 31 nodes", beam(31, 1.0), 40, (1, 2)


def least(prepared, n, repeats):
    """Least processor time of a march over n elements, in milliseconds per element."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        _, q = prepared.march(n)
        best = min(best, time.process_time() - start)
        if q is None:
            raise SystemExit("the march failed")
    return 1e3 * best / n


def main(quick=False):
    repeats, rows = (2 if quick else 5), []
    for name, problem, n, degrees in problems():
        for degree in degrees:
            ms = least(PreparedMarch(problem, tf.MixedGalerkin(degree)), n, repeats)
            goal = GOALS.get((name, degree))
            rows.append({"what": f"{name}, mG({degree})", "ms per element": ms, "goal": goal,
                         "holds": None if goal is None else ms <= goal})
    nodes = NODES[:3] if quick else NODES
    growth = [least(PreparedMarch(beam(n, 0.1), tf.MixedGalerkin(1)), 10, repeats) for n in nodes]
    for n, ms in zip(nodes, growth, strict=True):
        rows.append({"what": f"beam of {n} linear nodes, mG(1)", "ms per element": ms, "goal": None, "holds": None})
    slope = float(np.polyfit(np.log(nodes), np.log(growth), 1)[0])
    return {"rows": rows, "exponent": slope, "goal of the exponent": 1.1, "holds": slope <= 1.1}


def show(result):
    for row in result["rows"]:
        goal = "" if row["goal"] is None else f", goal {row['goal']:g}: {'holds' if row['holds'] else 'missed'}"
        print(f"{row['what']}: {row['ms per element']:.3f} ms per element{goal}")
    print(f"exponent in the nodes of a beam: {result['exponent']:.2f}, goal {result['goal of the exponent']}: "
          f"{'holds' if result['holds'] else 'missed'}")


if __name__ == "__main__":
    quick_or_json(__doc__.splitlines()[0], main, show)
