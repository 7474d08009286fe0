"""A four-bar linkage with two gyroscopes: nobody measures its angle, which the ratio of two rates of a loop tells.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

LENGTHS, END, SIGMA = {"crank": 0.35, "coupler": 1.0, "rocker": 0.8}, 2.0, 0.2
HINGES = ("crank", None, -1, 0, "drive"), ("coupler", "crank", -1, 1, "b"), ("rocker", "coupler", 1, 1, "c"), (
    "rocker", None, -1, 0, "d")


def linkage():
    """Three slender bars on four hinges, two of which hang from points of the ground."""
    bars = {name: tf.RigidBody(x, (1e-3, x**3 / 12, x**3 / 12), name=name) for name, x in LENGTHS.items()}
    joints = []
    for a, b, end_a, end_b, name in HINGES:  # at which ends
        place = 1.0 * (name == "d") if b is None else end_b * LENGTHS[b] / 2
        joints.append(tf.Revolute(bars[a], bars.get(b or ""), point_a=(end_a * LENGTHS[a] / 2, 0, 0), name=name,
                                  point_b=(place, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1)))
    return tf.System([*bars.values(), *joints], gravity=(0, -9.81, 0), redundant="drop")


def start(system, angle):
    """A state at rest where the crank has an angle, roughly: `assemble` closes the loop."""
    places = ("crank", 0.175 * np.exp(1j * angle), angle), ("coupler", 0.6 + 0.55j, 0.5), ("rocker", 1 + 0.4j, 1.57)
    return tf.assemble(system, {name: tf.Pose((place.real, place.imag, 0), (np.cos(turn / 2), 0, 0, np.sin(turn / 2)))
                                for name, place, turn in places})


def main():
    """The bias of the gyroscope on the crank, in standard deviations off the true one."""
    system, rng, times = linkage(), np.random.default_rng(3), np.linspace(0.05, END, 40)
    truth = tf.solve(tf.InitialValueProblem(system, start(system, 1.1), (0, END)), tf.MixedGalerkin(2), 120)
    gyros = [tf.Gyroscope(name, "z", times=times, sigma=SIGMA, bias=tf.Prior(0, 0.1), name=f"gyroscope on {name}",
                          values=truth.angular_velocity(name, times)[:, 2] + bias + SIGMA * rng.standard_normal(40))
             for name, bias in (("crank", 0.05), ("rocker", -0.08))]
    prior = {b: tf.StatePrior(z, orientation=0.15, angular_velocity=0.3) for b, z in start(system, 1.0).items()}
    sol = tf.solve(tf.Estimation(system, gyros, {"drive": 1e-3}, prior, (0, END)), tf.MixedGalerkin(2), 40)
    off = (sol.parameters["bias of gyroscope on crank"] - 0.05) / sol.std("bias of gyroscope on crank")[0]
    return {"what": "bias of a gyroscope off the true one, in its standard deviations", "number": off, "expected": 0.0,
            "tolerance": 3.0, "solution": sol, "truth": truth}


def draw(result):
    """How far the angle found is off the true one, and the band that holds it with 95 %."""
    (figure, ax), t, sol = plt.subplots(layout="constrained"), np.linspace(0, END, 201), result["solution"]
    off = np.unwrap(sol.value("drive", t)[:, 0]) - np.unwrap(result["truth"].joint("drive").coordinate(t))
    ax.fill_between(t, *sol.std("drive", t)[:, 0] * [[-1.96], [1.96]], alpha=0.25)
    ax.plot(t, off)
    ax.set(xlabel="t [s]", ylabel="angle of the crank: found - true [rad]", title="an angle that was not measured")
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
