"""A slider-crank whose rod bends: how far its middle leaves the line of its ends, at 150 rad/s.

Two cubic elements against four, twice the elements in time.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

CRANK, ROD, SPEED, T_END = 0.15, 0.3, 150.0, 0.03  # m, m, rad/s, s


def machine(n):
    """The crank turns at constant speed; at the start all lie on a line."""
    steel = tf.Section.circle(E=2e11, nu=0.3, density=7870, radius=0.003)
    crank = tf.RigidBody(1.0, (1e-3, 1e-3, 1e-3), name="crank")
    rod = tf.Beam(tf.Line((CRANK, 0, 0), (CRANK + ROD, 0, 0)), steel, n, marks=[("middle", 0.5)], name="rod")
    piston = tf.RigidBody(0.033, (1e-5, 1e-5, 1e-5), name="piston")
    z, zero = (0, 0, 1), (0, 0, 0)
    axle = tf.Revolute(crank, point_a=zero, point_b=zero, axis_a=z, axis_b=z)
    parts = [crank, rod, piston, axle, tf.PrescribedJoint(axle, value=lambda t: SPEED * t),
             tf.Revolute(rod.start, crank, point_a=zero, point_b=(CRANK, 0, 0), axis_a=z, axis_b=z),
             tf.Spherical(rod.end, piston, point_a=zero, point_b=zero),
             tf.Prismatic(piston, point_a=zero, point_b=zero, axis_b=(1, 0, 0))]
    tilt = -CRANK / ROD * SPEED
    state = {node: tf.Pose((CRANK + s * ROD, 0, 0), velocity=(0, CRANK * SPEED * (1 - s), 0),
                           angular_velocity=(0, 0, tilt)) for node, s in zip(rod.nodes, rod.along, strict=True)}
    state |= {crank: tf.Pose(angular_velocity=(0, 0, SPEED)), piston: tf.Pose((CRANK + ROD, 0, 0))}
    return tf.InitialValueProblem(tf.System(parts, redundant="drop"), state, (0, T_END))


def deflection(sol, t):
    """Of the middle, across the line of the ends, over the length of the rod."""
    first, middle, last = np.moveaxis(sol.along("rod", [0, 0.5, 1], t).position, 1, 0)
    way = (last - first) / np.linalg.norm(last - first, axis=1)[:, None]
    return np.cross(way, middle - first)[:, 2] / ROD


def main():
    """Difference of both meshes, relative to the largest deflection."""
    t = np.linspace(0, T_END, 301)
    coarse, fine = (tf.solve(machine(n), tf.MixedGalerkin(2), 100 * n) for n in (2, 4))
    a, b = deflection(coarse, t), deflection(fine, t)
    return {"what": "change of the deflection with the mesh, relative", "number": np.abs(a - b).max() / np.abs(b).max(),
            "expected": 0.0, "tolerance": 0.01, "solution": fine, "t": t, "deflection": (a, b)}


def draw(result):
    """The deflection over the angle of the crank."""
    figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    turns = result["t"] * SPEED / (2 * np.pi)
    ax.plot(turns, result["deflection"][1], label="4 elements")
    ax.plot(turns, result["deflection"][0], "k:", label="2 elements")
    ax.set(xlabel="turns of the crank", ylabel="deflection of the middle / length")
    ax.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
