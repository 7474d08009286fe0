"""An elastic bar pushed at one end so that the other follows a path: the force begins before the path does.

The force has a closed form, of waves that run from end to end and back; no march finds it.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

LENGTH, EA, SPEED = 1.0, 1.0, 1.0  # m, N, of waves [m/s]
PATH = tf.Transfer(1.0, 3.0, LENGTH, LENGTH + 0.2, 6)


def force(t):
    """`EA / (2 c) (y'(t + L/c) - y'(t - L/c))`."""
    s = ca.SX.sym("t")
    rate = ca.Function("rate", [s], [ca.jacobian(PATH(s), s)]).map(len(t))
    ahead, behind = (np.array(rate(t + sign * LENGTH / SPEED)).ravel() for sign in (1, -1))
    return EA / (2 * SPEED) * (ahead - behind)


def main(n=10, degree=3, n_elements=40):
    """Largest error of the force, at the Gauss points of the elements."""
    bar = tf.Rope(LENGTH, tf.RopeSection(EA, EA / SPEED**2), n, degree, mass="gauss", dimension=1, name="bar")
    problem = tf.InverseDynamics(tf.System([bar]), {tf.PositionOutput(bar.end, "x"): PATH}, {}, {}, (0, 4),
                                 actuators=tf.ControlForce(bar.start, [(1, 0, 0)]))
    sol = tf.solve(problem, tf.MixedGalerkin(degree, form="energy"), n_elements)
    t = tf.TimeMesh(sol.t).points(tf.LagrangeBasis(degree - 1, "gauss")).ravel()
    found = sol.controls(t)[:, 0]
    return {"what": "largest error of the force [N]", "number": np.abs(found - force(t)).max(), "expected": 0.0,
            "tolerance": 1e-5, "solution": sol, "t": t, "force": found}


def draw(result):
    """The force, and the paths of both ends."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    t = result["solution"].t
    left.plot(t, force(t), result["t"][::3], result["force"][::3], "k.")
    left.set(xlabel="t [s]", ylabel="force [N]", title="closed form, and found")
    for name, x in (("pushed end", "bar.at(0)"), ("free end, prescribed", "bar.at(1)")):
        places = result["solution"].along("bar", [float(x[7:-1])], t).position[:, 0, 0]
        right.plot(t, places - places[0], label=name)
    right.set(xlabel="t [s]", ylabel="displacement [m]")
    right.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
