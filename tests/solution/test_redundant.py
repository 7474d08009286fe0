"""Solutions of systems without their redundant constraints: forces of all joints, and files."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS
from timefem.mechanics.describe import build, describe
from timefem.solution import load

pytestmark = pytest.mark.long

X, Z = [1, 0, 0], [0, 0, 1]
AXES = {"axis_a": Z, "axis_b": Z}
MASS, GRAVITY = 20.0, 9.81


def door(rotation, rate=0.0):
    """A door of 1 m on hinges 0.8 m above and below its centre; the z axis points up."""
    body = tf.RigidBody(MASS, [3, 2, 4], rotation, name="door")
    hinges = [tf.Revolute(body, point_a=[-0.5, 0, z], point_b=[0, 0, z], name=name, **AXES)
              for name, z in (("upper", 0.8), ("lower", -0.8))]
    system = tf.System([body, *hinges], [0, 0, -GRAVITY], redundant="drop")
    state = {body: tf.Pose([0.5, 0, 0], velocity=[0, 0.5 * rate, 0], angular_velocity=[0, 0, rate])}
    return tf.solve(tf.InitialValueProblem(system, state, (0, 1)), tf.MixedGalerkin(3), 100, progress=False)


def joint_forces(solution, t, name):
    """Multipliers on configuration level of one joint, shape (n_t, m)."""
    system = solution.system.complete
    rows = [i for i, label in enumerate(system.constraint_names) if label.startswith(f"{name}: ")]
    return solution.multipliers(t, minimum_norm=True)[:, rows]


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_door_on_two_hinges(rotation):
    rate, t = 1.5, np.linspace(0.01, 0.99, 7)
    solution = door(rotation, rate)
    assert len(solution.system.dropped) == 5
    upper, lower = joint_forces(solution, t, "upper"), joint_forces(solution, t, "lower")
    # half of the weight each, and of the force towards the axis
    np.testing.assert_allclose(upper[:, 2], MASS * GRAVITY / 2, rtol=0, atol=1e-6)
    np.testing.assert_allclose(lower[:, 2], MASS * GRAVITY / 2, rtol=0, atol=1e-6)
    angle = rate * t
    inwards = -MASS * rate**2 * 0.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(upper[:, :2] + lower[:, :2], inwards, rtol=0, atol=1e-6)
    # the couple of the weight is shared by the pair of forces (0.8 m from the centre) and the torques of both hinges
    along = np.einsum("ti,ti->t", upper[:, :2] - lower[:, :2], np.column_stack([np.cos(angle), np.sin(angle)]))
    torques = np.linalg.norm(upper[:, 3:] + lower[:, 3:], axis=1)
    np.testing.assert_allclose(upper[:, 3:], lower[:, 3:], rtol=0, atol=1e-6)
    couple = MASS * GRAVITY * 0.5
    np.testing.assert_allclose(0.8 * np.abs(along) + torques, couple, rtol=0, atol=1e-5)
    # least sum of squares under that condition: force a = +-F each, torque b each, 2 * 0.8 F + 2 b = couple
    np.testing.assert_allclose(np.abs(along) / 2, couple / 2 * 0.8 / (0.8**2 + 1), rtol=0, atol=1e-5)


def test_the_rotation_does_not_matter():
    t = np.linspace(0.01, 0.99, 5)
    quaternions, directors = (door(rotation, 1.0) for rotation in ROTATIONS)
    for name in ("upper", "lower"):
        np.testing.assert_allclose(joint_forces(quaternions, t, name), joint_forces(directors, t, name), rtol=0,
                                   atol=1e-5)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_parallel_four_bar_in_space(rotation):
    """A tray on two equal arms: every pin is a revolute, three constraints are redundant, and the pins share evenly."""
    arms = [tf.RigidBody(1, [0.1, 0.1, 0.1], rotation, name=name) for name in ("left", "right")]
    tray = tf.RigidBody(5, [1, 1, 1], rotation, name="tray")
    pins = [tf.Revolute(arm, point_a=[0, -0.5, 0], point_b=[x, 0, 0], name=f"foot {arm.name}", **AXES)
            for arm, x in zip(arms, (-1, 1))]
    pins += [tf.Revolute(tray, arm, point_a=[x, 0, 0], point_b=[0, 0.5, 0], name=f"head {arm.name}", **AXES)
             for arm, x in zip(arms, (-1, 1))]
    system = tf.System([*arms, tray, *pins], [0, 0, -GRAVITY], redundant="drop")  # the weight bends all pins
    state = {arms[0]: tf.Pose([-1, 0.5, 0]), arms[1]: tf.Pose([1, 0.5, 0]), tray: tf.Pose([0, 1, 0])}
    solution = tf.solve(tf.InitialValueProblem(system, state, (0, 0.1)), tf.MixedGalerkin(2), 4, progress=False)
    assert len(solution.system.dropped) == 3
    t = np.array([0.02, 0.08])
    force = {name: joint_forces(solution, t, name) for name in ("foot left", "foot right", "head left", "head right")}
    for place, weight in (("foot", 7), ("head", 5)):
        left, right = force[f"{place} left"], force[f"{place} right"]
        np.testing.assert_allclose(left[:, 2], weight * GRAVITY / 2, rtol=0, atol=1e-6)
        np.testing.assert_allclose(right[:, 2], left[:, 2], rtol=0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(right, axis=1), np.linalg.norm(left, axis=1), rtol=0, atol=1e-6)
    own = solution.multipliers(t)  # those of the kept constraints alone are not even
    assert own.shape == (2, solution.system.n_multipliers)
    assert np.all(np.linalg.norm(solution.multipliers(t, minimum_norm=True), axis=1) < np.linalg.norm(own, axis=1))


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_round_trip(rotation, tmp_path):
    solution = door(rotation, 1.0)
    solution.save(tmp_path / "door.h5")
    again = load(tmp_path / "door.h5")
    assert again.z.tobytes() == solution.z.tobytes()
    assert again.nodal.multipliers.tobytes() == solution.nodal.multipliers.tobytes()
    assert again.system.dropped == solution.system.dropped and len(again.system.dropped) == 5
    np.testing.assert_array_equal(again.system.kept, solution.system.kept)
    assert again.system.constraint_names == solution.system.constraint_names
    assert again.system.complete.constraint_names == solution.system.complete.constraint_names
    assert again.system.complete.redundant == "drop"
    assert again.to_dict() == solution.to_dict()
    t = [0.1, 0.7]
    np.testing.assert_array_equal(again.multipliers(t, minimum_norm=True), solution.multipliers(t, minimum_norm=True))


@pytest.mark.parametrize("kept", [[0, 100], [0, "x"], 3, [0.5], [[1]]])
def test_damaged_descriptions(kept):
    description = describe(door("quaternion").system)
    with pytest.raises(tf.InputError, match="damaged"):
        build({**description, "kept": kept})


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.BubnovGalerkin(2), tf.EML(), tf.NullEMH()], ids=repr)
def test_a_joint_that_is_dropped_altogether(element, tmp_path):
    a, b = tf.PointMass(1, name="a"), tf.PointMass(2, name="b")
    rods = [tf.RigidDistance(a, b, length=1, name=f"rod {i}") for i in (1, 2)]
    state = {a: tf.Pose(), b: tf.Pose(position=(1, 0, 0), velocity=(0, 1, 0))}
    systems = (tf.System([a, b, *some], redundant="drop") for some in (rods, rods[:1]))
    twice, once = (tf.solve(tf.InitialValueProblem(system, state, (0, 0.5)), element, 10, progress=False)
                   for system in systems)
    assert twice.success and twice.system.dropped == ["rod 2: distance"]
    np.testing.assert_allclose(twice.z, once.z, rtol=0, atol=1e-12)
    forces = twice.multipliers(0.2, minimum_norm=True)
    np.testing.assert_allclose(forces[:2], once.multipliers(0.2)[0] / 2, rtol=1e-9)
    twice.save(tmp_path / "a.h5")
    assert np.array_equal(tf.load(tmp_path / "a.h5").z, twice.z)
