"""A long load on two elastic ropes, each with trolley and winch, is carried aside, lifted and tilted without swinging.

Trolleys and winches are forces on the upper ends. Those that are found are put on ropes of their own and marched: the
load arrives at rest where it was to be.
"""

from typing import Any

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

ROPE, LOAD, LONG, T_END = 2.0, 2.0, 1.5, 3.0  # lengths [m], masses at the ends of the load [kg], s
WAY = {"x": tf.Transfer(0.75, 2.25, 0, 2, 5), "y": tf.Transfer(0.75, 2.25, -ROPE, 0.5 - ROPE, 5)}
TILT = tf.Transfer(0.75, 2.25, 0, 0.4, 5)  # rad


def crane(mass):
    """Ropes, the ends of the load, and the stiff rod between them; the upper ends are held by nothing yet."""
    ropes = [tf.Rope(tf.Line((x, 0, 0), (x, -ROPE, 0)), tf.RopeSection(200, 0.5), 10, mass=mass, name=name)
             for name, x in (("left", 0), ("right", LONG))]
    ends = [tf.PointMass(LOAD, name=f"{rope.name} end") for rope in ropes]
    hooks = [tf.Spherical(end, rope.end, point_a=(0, 0, 0), point_b=(0, 0, 0))
             for end, rope in zip(ends, ropes, strict=True)]
    return ropes, ends, [*ropes, *ends, *hooks, tf.Spring(ends[0], ends[1], stiffness=1e4, length=LONG)]


def main(n_elements=300):
    """How far the ends of the load are off their places after the march."""
    ropes, (left, right), parts = crane("gauss")
    path: dict[Any, Any] = {tf.PositionOutput(left, axis): way for axis, way in WAY.items()}
    path |= {tf.PositionOutput(end, "z"): 0 for end in (left, right)}
    path |= {tf.PositionOutput(right, "x"): lambda t: WAY["x"](t) + LONG * ca.cos(TILT(t)),
             tf.PositionOutput(right, "y"): lambda t: WAY["y"](t) + LONG * ca.sin(TILT(t))}
    hanging = {left: tf.Pose((0, -ROPE, 0)), right: tf.Pose((LONG, -ROPE, 0))}
    system = tf.System(parts, gravity=(0, -9.81, 0))
    forces = [tf.ControlForce(rope.start) for rope in ropes]
    problem = tf.InverseDynamics(system, path, hanging, {}, (0, T_END), actuators=forces)
    sol = tf.solve(problem, tf.MixedGalerkin(1, form="energy"), n_elements)
    t = (sol.t[1:] + sol.t[:-1]) / 2
    found = sol.controls(t)
    ropes, _, parts = crane("lumped")
    pull = [tf.Table([0, *t, T_END], f[[0, *range(n_elements), -1]]) for f in found.T]
    held = tf.System([*parts, tf.Force(ropes[0].start, pull[:3]), tf.Force(ropes[1].start, pull[3:])],
                     gravity=(0, -9.81, 0))
    start = {body: tf.Pose(sol.position(str(body.name), 0.0)) for body in held.bodies}
    march = tf.solve(tf.InitialValueProblem(held, start, (0, T_END)), tf.MixedGalerkin(2), n_elements)
    missed = [np.linalg.norm(march.position(f"{rope.name} end", T_END) - sol.position(f"{rope.name} end", T_END))
              for rope in ropes]
    return {"what": "by how much an end of the load misses its place in a march of the forces [m]",
            "number": max(missed), "expected": 0.0, "tolerance": 5e-3, "solution": sol, "t": t, "forces": found}


def draw(result):
    """Ropes and load at eight times, and the forces."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    sol, times = result["solution"], np.linspace(0.5, 2.5, 8)
    for rope in ("left", "right"):
        left.plot(*sol.along(rope, np.linspace(0, 1, 41), times).position.T[:2], "C0", linewidth=0.8)
    load = np.array([sol.position(f"{rope} end", times) for rope in ("left", "right")])
    left.plot(load[..., 0], load[..., 1], "k-o")
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    names = ("left trolley", "left winch", "right trolley", "right winch")
    right.plot(result["t"], result["forces"][:, [0, 1, 3, 4]], label=names)
    right.set(xlabel="t [s]", ylabel="force [N]")
    right.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
