"""The periodic motion of a driven oscillator with a stop, and its Floquet multipliers, beside the closed form.

`x'' + 2 z x' + x = cos(2 t)`, z = 0.05, which hits a stop at -0.1 with e = 0.8 once in each period: between impacts the
motion is linear, so that start, time of the impact and multipliers follow from linear equations and one root.
"""

import casadi as ca
import numpy as np
import scipy

import timefem as tf

DAMPING, DRIVE, RESTITUTION, STOP = 0.05, 2.0, 0.8, -0.1
PERIOD = 2 * np.pi / DRIVE


def kinetic(q, v, c):
    return v[0]**2 / 2


def force(f, t, c):
    return -f[0].q - 2 * DAMPING * f[0].rate + ca.cos(DRIVE * t)


def flow(t):
    """Of the free oscillator."""
    return scipy.linalg.expm(t * np.array([[0, 1], [-1, -2 * DAMPING]]))


def steady(t):
    """The motion without the stop."""
    x = 1 / (1 - DRIVE**2 + 2j * DAMPING * DRIVE) * np.exp(1j * DRIVE * t)
    return np.array([x.real, (1j * DRIVE * x).real])


def closed_form():
    """Start at t = 0, time of the impact, and multipliers."""
    def missed(unknown):
        hit, speed = unknown
        x, v = flow(PERIOD) @ (np.array([STOP, speed]) - steady(hit)) + steady(hit)
        return [x - STOP, v + speed / RESTITUTION]

    hit, speed = scipy.optimize.fsolve(missed, [2.5, 3.0], xtol=1e-14)
    before, after = -speed / RESTITUTION, speed

    def acceleration(v):
        return np.cos(DRIVE * hit) - 2 * DAMPING * v - STOP

    salt = (acceleration(after) + RESTITUTION * acceleration(before)) / before
    jump = np.array([[-RESTITUTION, 0], [salt, -RESTITUTION]])
    start = flow(PERIOD - hit) @ (np.array([STOP, speed]) - steady(hit)) + steady(0)
    return start, hit, np.linalg.eigvals(flow(PERIOD) @ jump)


def periodic(n_elements=80):
    """`tf.periodic` from a start that is 5 cm and 5 cm/s off."""
    body = tf.GeneralizedBody(1, kinetic, name="mass")
    stop = tf.FormulaContact(body, formula="f[0].q[0] - c[0]", parameters=[STOP], restitution=RESTITUTION, name="stop")
    system = tf.System([body, tf.FormulaForce(body, force), stop])
    x, v = closed_form()[0]
    return tf.periodic(system, tf.Coordinates([x + 0.05], [v - 0.05]), PERIOD, tf.MixedGalerkin(3), n_elements)


def main():
    start, hit, multipliers = closed_form()
    found = periodic()
    by_size = np.sort_complex(multipliers.astype(complex))
    print(f"start           {found.solution.z[0]}, {np.abs(found.solution.z[0] - start).max():.1e} off")
    print(f"impact          {found.solution.events[0].t:.12f} s, {abs(found.solution.events[0].t - hit):.1e} off")
    print(f"multipliers     {found.multipliers}, {np.abs(np.sort_complex(found.multipliers) - by_size).max():.1e} off")
    print(f"iterations      {found.iterations}")


if __name__ == "__main__":
    main()
