"""Half a vehicle over a bump: axles on tyres and springs, the road as motions of the feet of the tyres.

The height of the body is compared with the linear equations, solved by SciPy; its angles are small.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import timefem as tf

BODY, PITCH, AXLE, HALF = 600.0, 900.0, 40.0, 1.3  # kg, kg m^2, kg, m
SPRING, DAMPER, TYRE, SPEED, BUMP, LONG = 2e4, 1500.0, 1.8e5, 10.0, 0.02, 1.0  # N/m, N s/m, N/m, m/s, m, m


def main():
    """Highest place of the body, against the linear equations."""
    body = tf.RigidBody(BODY, (200.0, PITCH, PITCH), name="body", size=(3.6, 1.4, 0.5))
    parts: list = [body]
    state: dict = {body: tf.Pose((0, 0, 0.8))}
    for side, name in ((HALF, "front"), (-HALF, "rear")):
        axle, foot = tf.PointMass(AXLE, name=f"{name} axle"), tf.PointMass(1.0, name=f"{name} foot")
        def road(t, side=side):
            x = SPEED * (t - 0.2) + side - HALF
            return (side, 0, ca.if_else(ca.logic_and(x > 0, x < LONG), BUMP * ca.sin(np.pi * x / LONG) ** 4, 0))
        parts += [axle, foot, tf.PrescribedPosition(foot, position=road),
                  tf.Spring(body, axle, (side, 0, 0), stiffness=SPRING, length=0.5),
                  tf.Damper(body, axle, (side, 0, 0), damping=DAMPER),
                  tf.Spring(axle, foot, stiffness=TYRE, length=0.3)]
        state |= {axle: tf.Pose((side, 0, 0.3)), foot: tf.Pose((side, 0, 0))}
    sol = tf.solve(tf.InitialValueProblem(tf.System(parts), state, (0, 1.5)), tf.MixedGalerkin(2), 600)
    height = sol.position(body, sol.t)[:, 2] - 0.8

    def linear(t, y):
        z, angle, a, v, turn, w = y[0], y[1], y[2:4], y[4], y[5], y[6:8]
        sides = np.array([HALF, -HALF])
        up = SPRING * (a - z - sides * angle) + DAMPER * (w - v - sides * turn)
        x = SPEED * (t - 0.2) + sides - HALF
        tyre = TYRE * (BUMP * np.sin(np.pi * x / LONG) ** 4 * ((x > 0) & (x < LONG)) - a)
        return np.concatenate([[v, turn], w, [up.sum() / BODY, sides @ up / PITCH], (tyre - up) / AXLE])

    exact = solve_ivp(linear, (0, 1.5), np.zeros(8), rtol=1e-10, atol=1e-12, t_eval=sol.t, max_step=0.005).y[0]
    return {"what": "highest place of the body [m]", "number": height.max(), "expected": exact.max(),
            "tolerance": 2e-5, "solution": sol, "height": height, "linear": exact}


def draw(result):
    """Height of the body."""
    figure, ax = plt.subplots(layout="constrained")
    ax.plot(result["solution"].t, 1e3 * np.stack([result["height"], result["linear"]], axis=1))
    ax.set(xlabel="time [s]", ylabel="height over rest [mm]", title="after a bump of 20 mm at 10 m/s")
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
