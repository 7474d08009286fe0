"""A flexible two-link arm from rest to rest by the least torques: no part of it swings after the end.

The torques that are best for rigid links leave it swinging; they are where the search for the right ones begins.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import timefem as tf

SECTION = tf.Section(EA=500, GA=500, GJ=20, EI=20, mass=1, inertia=(0.08, 0.04, 0.04))
START, END, T_END, AFTER = (0.0, 0.5), (1.2, 1.0), 1.5, 1.0  # angles of the joints [rad], s


def arm(angles, rigid=False):
    """Two links of 1 m and their joints, and where bodies are at these angles."""
    first, second = np.cumsum(angles)
    knots = np.cumsum([(0, 0, 0), (np.cos(first), np.sin(first), 0), (np.cos(second), np.sin(second), 0)], axis=0)
    links, ends, states, half = list[Any](), list[Any](), {}, (0.5 if rigid else 0.0, 0, 0)
    for name, a, x, y in zip(("upper", "fore"), (first, second), knots[:-1], knots[1:], strict=True):
        if rigid:
            links.append(tf.RigidBody(1, np.add(SECTION.inertia, (0, 1 / 12, 1 / 12)), name=name))
            states[name] = tf.Pose((x + y) / 2, (np.cos(a / 2), 0, 0, np.sin(a / 2)))
        else:
            links.append(tf.Beam(tf.Line(x, y), SECTION, 1, 2, name=name))
            states |= {node.name: node.reference for node in links[-1].nodes}
        ends += [links[-1]] * 2 if rigid else [links[-1].start, links[-1].end]
    z, back = (0, 0, 1), np.negative(half)
    shoulder = tf.Revolute(ends[0], point_a=back, point_b=(0, 0, 0), axis_a=z, axis_b=z, name="shoulder")
    elbow = tf.Revolute(ends[1], ends[2], point_a=half, point_b=back, axis_a=z, axis_b=z, name="elbow")
    return [*links, shoulder, elbow], states


def best(guess=None, n_elements=60):
    """The least torques: of rigid links where there is no guess."""
    (parts, start), (_, end) = arm(START, not guess), arm(END, not guess)
    motors = [tf.JointControl(joint, name=f"motor of the {joint.name}") for joint in parts[2:]]
    problem = tf.OptimalControl(tf.System(parts), start, end, (0, T_END), cost=[tf.Effort(m) for m in motors])
    return tf.solve(problem, tf.MixedGalerkin(2), n_elements, guess=guess)


def after(sol, n_elements=120):
    """The flexible arm under the torques of a solution, and then without: motion, and how far the tip goes off."""
    parts, start = arm(START)
    t = np.array([0, *tf.TimeMesh(sol.t).points(tf.LagrangeBasis(1, "gauss")).ravel(), T_END])
    drives = [tf.JointForce(joint, value=tf.Table(t, u)) for joint, u in zip(parts[2:], sol.controls(t).T, strict=True)]
    problem = tf.InitialValueProblem(tf.System([*parts, *drives]), start, (0, T_END))
    driven = tf.solve(problem, tf.MixedGalerkin(2), n_elements)
    free, (q, p) = tf.System(parts), np.split(driven.z[-1], 2)
    places = [(body, free.coordinates(body)) for body in free.bodies]
    left = tf.InitialValueProblem(free, {b: tf.CanonicalState(q[s], p[s]) for b, s in places}, (0, AFTER))
    swing = tf.solve(left, tf.MixedGalerkin(2), 100)
    tip = arm(END)[1]["fore.node[2]"].position
    return driven, np.linalg.norm(swing.position("fore.node[2]", swing.t) - tip, axis=1)


def main():
    """How far the tip moves in the second after the end, over what it does under the torques for rigid links."""
    rigid = best()
    first, swings = after(rigid)
    sol = best(tf.Guess(first, controls={f"motor of the {name}": lambda t, i=i: rigid.controls(t)[:, i]
                                         for i, name in enumerate(("shoulder", "elbow"))}))
    rests = after(sol)[1]
    return {"what": "what the tip moves after the end, over that by the torques for rigid links",
            "number": rests.max() / swings.max(), "expected": 0.0, "tolerance": 0.1, "solution": sol, "rigid": rigid,
            "off": (swings, rests)}


def draw(result):
    """The arm at eight times, the torques, and the tip after the end."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    sol = result["solution"]
    for name in ("upper", "fore"):
        left.plot(*sol.along(name, np.linspace(0, 1, 21), np.linspace(0, T_END, 8)).position.T[:2], "C0", linewidth=0.8)
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    middle.plot(sol.t, sol.controls(sol.t), "-", sol.t, result["rigid"].controls(sol.t), ":")
    middle.set(xlabel="t [s]", ylabel="torques [N m] (dotted: for rigid links)")
    right.semilogy(np.linspace(0, AFTER, 101), np.transpose(result["off"]), label=("for rigid links", "these torques"))
    right.set(xlabel="time after the end [s]", ylabel="tip off its place [m]")
    right.legend()
    return figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
