"""A four-bar of three flexible bars, driven by a moment for a while, then free: its energy stays.

Beams in directors, strains by their rate: energy is kept to round-off while stiff bars bend and the loop turns.
"""

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

A, B, C, D = (0, 0, 0), (0, 0.12, 0), (0.4, 0.3, 0), (0.4, 0, 0)
DRIVEN, T_END = 0.2, 0.6  # s


def mechanism():
    """Crank AB, coupler BC, rocker CD."""
    flat = tf.Section.rectangle(E=2e9, nu=0.3, density=1200, width=0.02, height=0.008)
    crank, coupler, rocker = (tf.Beam(tf.Line(x, y), flat, 1, rotation="directors", name=name)
                              for x, y, name in ((A, B, "crank"), (B, C, "coupler"), (C, D, "rocker")))
    z, zero = (0, 0, 1), (0, 0, 0)
    parts = [crank, coupler, rocker, tf.Revolute(crank.start, point_a=zero, point_b=A, axis_a=z, axis_b=z),
             tf.Revolute(crank.end, coupler.start, point_a=zero, point_b=zero, axis_a=z, axis_b=z),
             tf.Spherical(coupler.end, rocker.start, point_a=zero, point_b=zero),
             tf.Revolute(rocker.end, point_a=zero, point_b=D, axis_a=z, axis_b=z),
             tf.Torque(crank.start, (0, 0, 0.2), frame="space", time=tf.TrianglePulse(0, DRIVEN / 2, DRIVEN, 1.0))]
    return tf.InitialValueProblem(tf.System(parts), {}, (0, T_END))


def main(n_elements=300):
    """Range of the energy after the load, relative."""
    sol = tf.solve(mechanism(), tf.MixedGalerkin(1, form="energy", keep="all"), n_elements)
    energy = sol.energy()
    after = energy[sol.t >= DRIVEN]
    return {"what": "range of the energy after the moment, relative", "number": np.ptp(after) / after[0],
            "expected": 0.0, "tolerance": 1e-8, "solution": sol, "energy": energy}


def draw(result):
    """The bars at eight times, and the energies."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sol = result["solution"]
    for i, bar in enumerate(("crank", "coupler", "rocker")):
        for line in sol.along(bar, np.linspace(0, 1, 21), np.linspace(0, T_END, 12)).position:
            left.plot(line[:, 0], line[:, 1], f"C{i}", linewidth=0.8)
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    right.plot(sol.t, result["energy"], label="total")
    right.plot(sol.t, sum(sol.energy.of(bar).potential for bar in ("crank", "coupler", "rocker")), label="of strains")
    right.set(xlabel="t [s]", ylabel="energy [J]")
    right.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
