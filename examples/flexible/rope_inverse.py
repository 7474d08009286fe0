"""A load on an elastic rope is led along a path in space: how must the hand at the other end move and pull?

Twenty elements of rope at once in space and time. The force that is found is put on a rope of its own and marched: the
load arrives where it was to be.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

LENGTH, LOAD, T_END = 2.0, 2.0, 3.0  # m, kg, s
WAY = {"x": 1.5, "y": 0.8, "z": 0.5}  # m


def parts(mass):
    """Rope and load, held by nothing yet."""
    rope = tf.Rope(tf.Line((0, 0, 0), (0, 0, -LENGTH)), tf.RopeSection(200, 0.5), 20, mass=mass, name="rope")
    load = tf.PointMass(LOAD, name="load")
    return rope, load, tf.Spherical(load, rope.end, point_a=(0, 0, 0), point_b=(0, 0, 0))


def main(n_elements=300):
    """Where the load ends under the force that was found."""
    rope, load, hook = parts("gauss")
    path = {tf.PositionOutput(load, axis): tf.Transfer(0.75, 2.25, first, first + way, 5)
            for (axis, way), first in zip(WAY.items(), (0, 0, -LENGTH), strict=True)}
    hanging = {load: tf.Pose((0, 0, -LENGTH))}
    problem = tf.InverseDynamics(tf.System([rope, load, hook], gravity=(0, 0, -9.81)), path, hanging, {}, (0, T_END),
                                 actuators=tf.ControlForce(rope.start))
    sol = tf.solve(problem, tf.MixedGalerkin(1, form="energy"), n_elements)
    t = (sol.t[1:] + sol.t[:-1]) / 2
    force = sol.controls(t)
    rope, load, hook = parts("lumped")
    pull = [tf.Table(np.append(0, np.append(t, T_END)), f[[0, *range(n_elements), -1]]) for f in force.T]
    held = tf.System([rope, load, hook, tf.Force(rope.start, pull)], gravity=(0, 0, -9.81))
    start = dict(zip(rope.nodes, (tf.Pose(sol.position(f"rope.node[{i}]", 0.0)) for i in range(21)), strict=True))
    march = tf.solve(tf.InitialValueProblem(held, start | {load: tf.Pose(sol.position("load", 0.0))}, (0, T_END)),
                     tf.MixedGalerkin(2), n_elements)
    missed = np.linalg.norm(march.position("load", T_END) - sol.position("load", T_END))
    return {"what": "by how much the load misses its place in a march of the force [m]", "number": missed,
            "expected": 0.0, "tolerance": 2e-3, "solution": sol, "t": t, "force": force}


def draw(result):
    """Rope and load at eight times, and the force of the hand."""
    figure = plt.figure(figsize=(10, 4.5), layout="constrained")
    space, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    sol = result["solution"]
    times = np.linspace(0.5, 2.5, 9)
    for line in sol.along("rope", np.linspace(0, 1, 41), times).position:
        space.plot(*line.T, "C0", linewidth=0.8)
    space.plot(*sol.position("load", times).T, "ko")
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    right.plot(result["t"], result["force"], label=("x", "y", "z"))
    right.set(xlabel="t [s]", ylabel="force of the hand [N]")
    right.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
