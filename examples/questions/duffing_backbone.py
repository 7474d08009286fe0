"""Backbone of the free Duffing oscillator x'' + x + x^3 = 0, soft to stiff: how exact are its periods?"""

import numpy as np
from scipy.special import ellipk

import timefem as tf


def main(n_amplitudes=31):
    """Largest relative error of the period, over amplitudes from 0.1 to 100."""
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: q[0]**2 / 2 + q[0]**4 / 4)
    errors = []
    for size in np.geomspace(0.1, 100, n_amplitudes):
        near = 2 * np.pi / np.sqrt(1 + 0.75 * size**2)  # by harmonic balance
        orbit = tf.periodic(system, tf.Coordinates([size]), near, tf.MixedGalerkin(4), 40)
        squared = np.sqrt(1 + 4 * orbit.solution.energy()[0]) - 1  # of its amplitude
        errors.append(orbit.period / (4 / np.sqrt(1 + squared) * ellipk(squared / 2 / (1 + squared))) - 1)
    return max(np.abs(errors))


if __name__ == "__main__":
    print(main())
