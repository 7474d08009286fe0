"""A rattleback turns back: an ellipsoid on a rough table, whose axes of inertia are askew to it, has a sense of spin.

Spun the other way it begins to rattle, and reverses. It rolls, so that its energy stays; where it leaves the table or
slips the march finds that out by itself.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

HALF = np.array([0.2, 0.03, 0.02])  # m, half axes
ASKEW, T_END = 0.2, 4.0  # rad, s


def main(n_elements=800):
    """Largest change of the energy of a motion without losses, relative to what rotates at the start."""
    turn = np.array([[np.cos(ASKEW), -np.sin(ASKEW), 0], [np.sin(ASKEW), np.cos(ASKEW), 0], [0, 0, 1]])
    inertia = turn @ np.diag(1 / 5 * ((HALF**2).sum() - HALF**2)) @ turn.T
    stone = tf.RigidBody(1.0, (inertia + inertia.T) / 2, name="stone", size=2 * HALF, shape="ellipsoid")
    table = tf.EllipsoidContact(stone, half_axes=HALF, friction=5.0, name="table")
    spin = np.array([0.02, 0.02, -2.0])
    start = tf.Pose((0, 0, HALF[2]), velocity=np.cross(spin, (0, 0, HALF[2])), angular_velocity=spin)
    problem = tf.InitialValueProblem(tf.System([stone, table], gravity=(0, 0, -9.81)), {stone: start}, (0, T_END))
    sol = tf.solve(problem, tf.MixedGalerkin(2), n_elements)
    energy, t = sol.energy(), np.linspace(0, T_END, 801)
    rotation = spin @ inertia @ spin / 2
    return {"what": "largest change of the energy, of that of the spin",
            "number": np.abs(energy - energy[0]).max() / rotation, "expected": 0.0, "tolerance": 2e-3, "t": t,
            "spin": sol.angular_velocity(stone, t, "space"), "solution": sol}


def draw(result):
    """Angular velocities about the axes of space."""
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.plot(result["t"], result["spin"], label=["about x", "about y", "about the vertical"])
    axes.set(xlabel="t [s]", ylabel="angular velocity [rad/s]")
    axes.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
