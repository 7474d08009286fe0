"""What joints tell between bodies, and of the tree that these become in joint coordinates: the same."""

import warnings

import numpy as np
import pytest

import timefem as tf
from timefem.errors import NotSolved

AXES = {"axis_a": (0, 1, 0), "axis_b": (0, 1, 0)}


def machine(coordinates):
    """A bar on a hinge; a box that is welded to it; a slider on the box; a plate that hangs on a hinge whose body a is
    the slider; a weight welded to the plate by a joint whose body a is the plate; loads on welded bodies."""
    bar, box, slider, plate, weight = (tf.RigidBody(m, (0.1, 0.2, 0.15 + 0.05 * m), name=name) for m, name in (
        (2.0, "bar"), (1.0, "box"), (0.5, "slider"), (1.5, "plate"), (0.3, "weight")))
    joints = [
        tf.Revolute(bar, point_a=(-0.5, 0, 0), point_b=(0, 0, 0.1), name="hinge", **AXES),
        tf.Weld(box, bar, point_a=(-0.3, 0, 0.1), point_b=(0.5, 0, 0), name="weld"),
        tf.Prismatic(box, slider, axis_b=(1, 0, 0), point_a=(0.3, 0, 0), point_b=(0, 0, 0.1), name="rail"),
        tf.Revolute(slider, plate, point_a=(0.1, 0, 0), point_b=(0, 0, 0.4), name="pin", **AXES),
        tf.Weld(plate, weight, point_a=(0, 0, -0.4), point_b=(0.05, 0, 0), name="clip")]
    parts = [tf.Force(weight, (1.0, 0, 2.0), point=(0, 0, 0.1)), tf.Torque(box, (0, 0.7, 0)),
             tf.Spring(weight, box, stiffness=30.0, length=0.2), tf.JointDamper(joints[3], damping=0.1)]
    bodies = [bar, box, slider, plate, weight]
    system = tf.System([*bodies, *joints, *parts], gravity=(0, 0, -9.81), coordinates=coordinates)
    state = {"hinge": (0.3, 0.2), "rail": (0.1, 0.5), "pin": (-0.4, 1.0)}
    return tf.solve(tf.InitialValueProblem(system, state, (0, 0.3)), tf.MixedGalerkin(3), 30, progress=False), joints


@pytest.fixture(scope="module")
def both():
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotSolved)
        return machine("bodies"), machine("joint")


@pytest.mark.long
@pytest.mark.parametrize("place", range(5))
def test_forces_and_turns_are_those_on_body_a(both, place, tmp_path):
    """Those of joints whose body b hangs on body a had the other sign, and there were none of welds."""
    t, told = np.linspace(0.02, 0.3, 5), []
    for solution, joints in both:
        by_name, by_part = solution.joint(joints[place].name), solution.joint(joints[place])
        np.testing.assert_array_equal(by_name.force(t), by_part.force(t))
        told.append([motion for axes in ("space", "a", "b") for motion in (by_name.force(t, axes),
                                                                          by_name.torque(t, axes))]
                    + [by_name.rotation(t), by_name.power(t)])
    for a, b in zip(*told, strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-5 * max(1.0, np.abs(a).max()))
    solution, joints = both[1]
    solution.save(tmp_path / "s.h5")
    loaded = tf.load(tmp_path / "s.h5").joint(joints[place].name)
    np.testing.assert_allclose(loaded.force(t), told[1][0], rtol=0, atol=1e-9)
