"""Slider-crank with a flywheel: how much a turn of the crank changes its speed, by the energy that the rod takes.

Without load the energy is kept, and the speed of the crank is a formula of its angle.
"""

import numpy as np

import timefem as tf

R, L, SPEED = 0.1, 0.3, 30.0  # crank, rod [m], speed at the start [rad/s]
WHEEL, ROD, PISTON, ROD_INERTIA = 0.05, 0.8, 1.2, 0.006  # inertia, masses


def inertia(angle):
    """Kinetic energy is 1/2 J(angle) speed^2: wheel, rod (its centre half way) and piston."""
    sine = R / L * np.sin(angle)
    tilt = R * np.cos(angle) / (L * np.sqrt(1 - sine**2))  # of the rod, per angle of the crank
    piston = R * np.sin(angle) + L * sine * tilt
    centre = (R * np.sin(angle) + L * sine * tilt / 2) ** 2 + (R * np.cos(angle) / 2) ** 2
    return WHEEL + ROD * centre + ROD_INERTIA * tilt**2 + PISTON * piston**2


def main():
    """Slowest speed of the crank over its first turns, at the nodes, against the formula at the same angles."""
    wheel = tf.RigidBody(8.0, (WHEEL / 2, WHEEL / 2, WHEEL), name="flywheel", size=(0.25, 0.25, 0.03), shape="cylinder")
    rod = tf.RigidBody(ROD, (1e-4, ROD_INERTIA, ROD_INERTIA), name="rod", size=(L, 0.02, 0.02))
    piston = tf.RigidBody(PISTON, (1e-3, 1e-3, 1e-3), name="piston", size=(0.08, 0.06, 0.06))
    z = (0, 0, 1)
    parts = [wheel, rod, piston,
             tf.Revolute(wheel, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=z, axis_b=z),
             tf.Spherical(rod, wheel, point_a=(-L / 2, 0, 0), point_b=(R, 0, 0)),
             tf.Revolute(rod, piston, point_a=(L / 2, 0, 0), point_b=(0, 0, 0), axis_a=z, axis_b=z),
             tf.Prismatic(piston, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0))]
    tilt = -R / L * SPEED  # of the rod at the start, where all lie on a line
    state = {wheel: tf.Pose(angular_velocity=(0, 0, SPEED)), piston: tf.Pose((R + L, 0, 0)),
             rod: tf.Pose((R + L / 2, 0, 0), velocity=(0, R * SPEED / 2, 0), angular_velocity=(0, 0, tilt))}
    problem = tf.InitialValueProblem(tf.System(parts, redundant="drop"), state, (0, 0.5))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 500)
    axes = sol.rotation_matrix(wheel, sol.t)[:, :2, 0]
    speed = sol.angular_velocity(wheel, sol.t)[:, 2]
    exact = SPEED * np.sqrt(inertia(0.0) / inertia(np.arctan2(axes[:, 1], axes[:, 0])))
    slowest = np.argmin(exact)
    return {"what": "slowest speed of the crank [rad/s]", "number": speed[slowest], "expected": exact[slowest],
            "tolerance": 1e-6, "solution": sol, "speed": speed}


def draw(result):
    """The machine at three times."""
    return result["solution"].plot.snapshots([0, 0.04, 0.08], view="xy").figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
