"""Bounds far beyond one, as of the torques of an excavator in Nm."""

from itertools import pairwise

import pytest

import timefem as tf

pytestmark = pytest.mark.long

JOINTS, FROM, TO = ("boom", "stick", "bucket"), (0.2, -1.0, -0.8), (0.9, -1.6, -0.3)


def excavator(torques=(8e3, 6e3, 4e3), unit=1.0):
    """In least time from one pose to another, with forces in `unit` newtons and masses in as many kilograms."""
    given = ("boom", 150, 1.2, (5, 90, 90)), ("stick", 80, 0.8, (3, 25, 25)), ("bucket", 60, 0.4, (2, 5, 5))
    links = [tf.Link("base"), *(tf.Link(name, mass / unit, (at, 0, 0), [j / unit for j in inertia])
                                for name, mass, at, inertia in given)]
    along, joints = (0.0, 2.4, 1.6), []
    for (parent, link), x in zip(pairwise(links), along, strict=True):
        joints.append(tf.TreeJoint(f"at {link.name}", parent.name, link.name, position=(x, 0, 0), axis=(0, -1, 0)))
    arm = tf.Tree(links, joints, name="arm")
    hinges = [arm.joint(f"at {name}") for name in JOINTS]
    motors = [tf.JointControl(hinge, name=f"motor {i}") for i, hinge in enumerate(hinges)]
    return tf.OptimalControl(
        tf.System([arm, *motors], gravity=(0, 0, -9.81)),
        {arm: {f"at {n}": q for n, q in zip(JOINTS, FROM, strict=True)}},
        {hinge: tf.EndState(q=[q], v=[0.0]) for hinge, q in zip(hinges, TO, strict=True)}, (0, 3), actuators=motors,
        free_time=True, end_cost=lambda end, parameters: parameters["duration"],
        bounds={**{m: (-c / unit, c / unit) for m, c in zip(motors, torques, strict=True)}, "duration": (0.3, 20)})


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_least_time(unit):
    """It took 2659 iterations in newtons."""
    found = tf.solve(excavator(unit=unit), tf.MixedGalerkin(2, form="lagrange"), 40, progress=False)
    assert found.success and abs(found.objective - 0.64074) < 1e-3
    assert found.statistics["newton_iterations"]["max"] <= 200
