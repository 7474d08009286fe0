"""A cantilever shaken at its tip: the steady motion, found as a periodic one instead of waiting for it.

Its amplitude against that of the damped Euler-Bernoulli beam in closed form.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

LENGTH, FORCE, OMEGA, DAMPING = 1.0, 0.05, 8.0, 2e-3  # m, N, 1/s, retardation time [s]
SECTION = tf.Section(EA=1e5, GA=1e5, GJ=1, EI=1, mass=1, inertia=(2e-4, 1e-4, 1e-4), damping=DAMPING)


def amplitude(force=FORCE):
    """Of the tip, with the complex stiffness EI (1 + i omega tau)."""
    stiffness = SECTION.EI[0] * (1 + 1j * OMEGA * DAMPING)
    k = (SECTION.mass * OMEGA**2 / stiffness) ** 0.25 * LENGTH
    shape = (np.sin(k) * np.cosh(k) - np.cos(k) * np.sinh(k)) / (1 + np.cos(k) * np.cosh(k))
    return abs(force / stiffness * (LENGTH / k) ** 3 * shape)


def steady(force):
    """One period of the motion under a force of that amplitude."""
    beam = tf.Beam(LENGTH, SECTION, n_elements=2, marks=[("tip", 1)], name="beam")
    load = tf.Force(beam.end, (0, force, 0), time=tf.Sine(1.0, OMEGA / (2 * np.pi)))
    system = tf.System([beam, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0)), load])
    return tf.periodic(system, {}, 2 * np.pi / OMEGA, tf.MixedGalerkin(2), 24).solution


def main():
    """Amplitude of the tip, relative to the closed form."""
    sol = steady(FORCE)
    t = np.linspace(sol.t[0], sol.t[-1], 400)
    found = np.ptp(sol.position("tip", t)[:, 1]) / 2
    return {"what": "amplitude of the tip over that of the linear beam", "number": found / amplitude(), "expected": 1.0,
            "tolerance": 1e-3, "solution": sol}


def draw(result):
    """The beam over one period, heights a hundred times as large."""
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    sol = result["solution"]
    for line in sol.along("beam", np.linspace(0, 1, 31), np.linspace(sol.t[0], sol.t[-1], 13)).position:
        ax.plot(line[:, 0], 100 * line[:, 1], "C0", linewidth=0.8)
    ax.set(xlabel="x [m]", ylabel="100 y [m]", title="one period")
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
