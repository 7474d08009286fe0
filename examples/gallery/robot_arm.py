"""A robot arm with lengths and masses of a UR5 draws a circle: the torques of its six motors along the way.

The tool keeps its orientation. The arm ends as it began, at rest, so that the work of the motors is zero.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicSpline

import timefem as tf

MASS = 3.7, 8.393, 2.275, 1.219, 1.219, 0.188  # kg
CENTRE = (0, -0.026, 0.003), (0.2125, 0, 0.114), (0.15, 0, 0.027), (0, 0, 0.01), (0, 0, 0.01), (0, 0, -0.025)  # m
TILT = 0, np.pi / 2, 0, 0, np.pi / 2, -np.pi / 2  # of each frame to the one before, about x
PLACE = (0, 0, 0.089), (0, 0, 0), (0.425, 0, 0), (0.392, 0, 0.109), (0, -0.095, 0), (0, 0.082, 0)
POSTURE = 0.3, -1.2, 1.7, -2.0, -1.6, 0.2  # rad


def main():
    """Work of the motors over one circle in two seconds."""
    links, joints = [tf.Link("link 0")], []
    for k, (mass, half) in enumerate(zip(MASS, np.array(TILT) / 2, strict=True)):
        inertia = np.array((1.0, 1.0, 0.6)) * mass * (0.06 if k in (1, 2) else 0.004)
        links.append(tf.Link(f"link {k + 1}", mass, CENTRE[k], inertia))
        joints.append(tf.TreeJoint(f"joint {k + 1}", f"link {k}", f"link {k + 1}", position=PLACE[k],
                                   orientation=(np.cos(half), np.sin(half), 0, 0)))
    arm = tf.Tree(links, joints, name="arm")
    system = tf.System([arm, tf.GeneralizedControl(arm, np.eye(6), name="motors")], gravity=(0, 0, -9.81))
    wrist, turn = arm.link_pose("link 6", POSTURE)
    start = wrist + turn @ (0, 0, 0.1)

    def circle(t):
        s = 2 * ca.pi * (10 * (t / 2) ** 3 - 15 * (t / 2) ** 4 + 6 * (t / 2) ** 5)  # from rest to rest
        return ca.vertcat(start[0], start[1] + 0.1 * ca.sin(s), start[2] + 0.1 * (1 - ca.cos(s)))

    path = tf.pose_outputs(arm.link("link 6", (0, 0, 0.1)), circle, turn)
    posture = {arm: dict(zip(arm.joint_names, POSTURE, strict=True))}
    problem = tf.InverseDynamics(system, path, posture, t_span=(0, 2))
    sol = tf.solve(problem, tf.MixedGalerkin(3, form="lagrange"), 100)
    torques, rates = problem.controls(sol.t, sol.z), arm.velocity(*np.split(sol.z, 2, axis=1))
    work = CubicSpline(sol.t, (torques * rates).sum(axis=1)).integrate(0, 2)
    return {"what": "work of the motors [J]", "number": float(work), "expected": 0.0, "tolerance": 1e-5,
            "solution": sol, "torques": torques}


def draw(result):
    """The arm with the path of its tool, and the torques of the six motors."""
    figure, sol = plt.figure(figsize=(11, 4.5)), result["solution"]
    sol.plot.snapshots([0, 1], ax=figure.add_axes((0, 0, 0.45, 1), projection="3d"), traces=("arm.link 6", (0, 0, 0.1)))
    ax = figure.add_axes((0.57, 0.13, 0.41, 0.77), xlabel="time [s]", ylabel="torque [N m]")
    ax.legend(ax.plot(sol.t, result["torques"]), [f"joint {k}" for k in range(1, 7)], ncols=2)
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
