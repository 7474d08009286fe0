"""A delta robot in free fall of its arms: three loops of ball joints keep the platform level, whatever the arms do.

The tilt of the platform is zero by the geometry of its parallelograms.
"""

import numpy as np

import timefem as tf

BASE, PLATE, UPPER, LOWER, WIDE = 0.2, 0.08, 0.3, 0.6, 0.1  # m


def turned(angle):
    """Rotation matrix about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def main():
    """Largest tilt of the platform over the motion."""
    height = np.sqrt(LOWER**2 - (BASE + UPPER - PLATE) ** 2)
    plate = tf.RigidBody(0.5, (1e-3, 1e-3, 2e-3), name="platform", size=(0.2, 0.2, 0.03), shape="cylinder")
    parts: list = [plate]
    state = {plate: tf.Pose((0, 0, -height))}
    for k, load in enumerate((0.0, 0.15, 0.4)):  # arms of different weight, so that it moves aside
        r = turned(2 * np.pi * k / 3)
        arm = tf.RigidBody(0.4 + load, (1e-3, 5e-3, 5e-3), name=f"arm {k + 1}", size=(UPPER, 0.03, 0.03))
        hinge = r @ (BASE, 0, 0)
        parts += [arm, tf.Revolute(arm, point_a=(-UPPER / 2, 0, 0), point_b=hinge, axis_a=(0, 1, 0), axis_b=r[:, 1])]
        state[arm] = tf.Pose(r @ (BASE + UPPER / 2, 0, 0), orientation=r)
        for side in (-WIDE / 2, WIDE / 2):  # the rods of the parallelogram have no mass
            parts.append(tf.RigidDistance(arm, plate, point_a=(UPPER / 2, side, 0), point_b=r @ (PLATE, side, 0),
                                          length=LOWER))
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), state, (0, 0.3))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 150)
    tilt = np.abs(sol.rotation_matrix(plate, sol.t) - np.eye(3)).max()
    aside = np.linalg.norm(sol.position(plate, sol.t)[-1, :2])
    assert aside > 1e-3, "the platform should have moved aside"
    return {"what": "largest tilt of the platform [rad]", "number": tilt, "expected": 0.0, "tolerance": 1e-9,
            "solution": sol}


def draw(result):
    """The robot at two times."""
    return result["solution"].plot.snapshots([0, 0.15, 0.3]).figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
