"""A gripper: each finger is a loop of four hinges, a parallelogram that keeps the fingertip straight while it closes.

A tree in joint coordinates, with the loop of each finger closed by a joint between links; springs drive the fingers.
"""

import numpy as np

import timefem as tf

CRANK, PALM, TIP = 0.05, 0.03, 0.06  # m


def finger(side):
    """Links and joints of one finger, on the side +1 or -1 of the palm: two cranks, and a tip on the outer one."""
    name = "right" if side > 0 else "left"
    links, joints = [], []
    for place, x in (("outer", PALM), ("inner", PALM / 2)):
        links.append(tf.Link(f"{name} {place}", 0.05, (0, 0, CRANK / 2), (2e-5, 2e-5, 1e-6)))
        joints.append(tf.TreeJoint(f"{name} {place}", "palm", f"{name} {place}", position=(side * x, 0, 0),
                                   axis=(0, 1, 0), stiffness=0.8, rest=-side * 0.25))
    links.append(tf.Link(f"{name} tip", 0.04, (0, 0, TIP / 2), (2e-5, 2e-5, 1e-6)))
    joints.append(tf.TreeJoint(f"{name} tip", f"{name} outer", f"{name} tip", position=(0, 0, CRANK), axis=(0, 1, 0)))
    return links, joints


def main():
    """Largest tilt of the fingertips while they close, by the sum of the angles of their joints."""
    links, joints = [tf.Link("palm")], list[tf.TreeJoint]()
    for side in (-1, 1):
        own = finger(side)
        links, joints = links + own[0], joints + own[1]
    hand = tf.Tree(links, joints, name="hand")
    # the inner crank holds the tip beside the outer one; in its plane one row would do twice
    loops = [tf.Spherical(hand.link(f"{name} tip"), hand.link(f"{name} inner"), point_a=(-side * PALM / 2, 0, 0),
                          point_b=(0, 0, CRANK), name=f"{name} loop") for side, name in ((-1, "left"), (1, "right"))]
    system = tf.System([hand, *loops], redundant="drop")
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 0.05)), tf.MixedGalerkin(2, form="energy"), 100)
    tilts = [sol.rotation_matrix(hand.link(f"{name} tip"), sol.t)[:, 0, 2] for name in ("left", "right")]
    closed = sol.position(hand.link("right tip"), sol.t)[-1, 0]
    assert closed < PALM - 1e-3, "the fingers should have moved"
    return {"what": "largest tilt of a fingertip [rad]", "number": float(np.abs(tilts).max()), "expected": 0.0,
            "tolerance": 1e-10, "solution": sol}


def draw(result):
    """The gripper while it closes."""
    return result["solution"].plot.snapshots([0, 0.025], view="xz", traces=False).figure


if __name__ == "__main__":
    from timefem.reproduction import run_as_script

    run_as_script(__file__)
