"""Bending stiffness and damping of a beam, identified from the tip of a bent beam that is let go.

The data are simulated with finer steps, and noise from a seeded generator.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

TRUE, GUESS, NOISE = (1.0, 0.004), (1.4, 0.001), 1e-3  # EI [N m^2], retardation time [s]; m
TIMES = np.linspace(0, 1, 101)[1:]


def let_go(values):
    """The beam, from its equilibrium under a force that is gone at the start."""
    stiffness, damping = values
    section = tf.Section(EA=1e4, GA=1e4, GJ=stiffness, EI=stiffness, mass=1.0, inertia=(2e-4, 1e-4, 1e-4),
                         damping=damping)
    beam = tf.Beam(1.0, section, n_elements=2, marks=[("tip", 1)])
    clamp = tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0))
    bent = tf.equilibrium(tf.System([beam, clamp, tf.Force(beam.end, (0, 0.4 * stiffness, 0))]))
    return tf.InitialValueProblem(tf.System([beam, clamp]), bent.state, (0, 1))


def height(bodies, t):
    return bodies[0].position[1]


def main():
    """Error of EI, in standard deviations of what was identified."""
    tip = tf.Values(height, TIMES, bodies=["tip"])
    data = tf.Linearization(tf.solve(let_go(TRUE), tf.MixedGalerkin(2), 200)).value(tip).ravel()
    data = data + NOISE * np.random.default_rng(1).normal(size=len(data))
    measured = tf.Measurement(height, TIMES, data, NOISE, bodies=["tip"])
    found = tf.identify(let_go, GUESS, tf.MixedGalerkin(2), 60, measured, names=("EI", "damping"),
                        bounds=([0.1, 1e-4], [9, 0.1]))
    errors = (found.values - TRUE) / found.deviations
    return {"what": "largest error of EI and damping over their deviation", "number": np.abs(errors).max(),
            "expected": 0.0, "tolerance": 3.0, "solution": found.solution, "data": data, "found": found}


def draw(result):
    """Measured and identified motion of the tip."""
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    t = np.linspace(0, 1, 401)
    ax.plot(TIMES, result["data"], ".", t, result["solution"].position("tip", t)[:, 1])
    ax.set(xlabel="t [s]", ylabel="height of the tip [m]", title=str(result["found"]).split("misfit")[0])
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
