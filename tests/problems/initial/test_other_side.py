"""Joints whose scalar products vanish half a turn away, too: where they are meant to be, or a warning."""

from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS

Z = [0, 0, 1]
HALF_TURNS = [(0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)]


def body(rotation="quaternion", name="body"):
    return tf.RigidBody(2.0, [0.2, 0.3, 0.4], rotation, name=name)


def joints(one):
    return [tf.Weld(one, point_a=[0, 0, 0], point_b=[0, 0, 0], name="glue"),
            tf.Prismatic(one, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_b=Z, name="glue"),
            tf.Revolute(one, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_a=Z, axis_b=Z, name="glue"),
            tf.Cylindrical(one, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_a=Z, axis_b=Z, name="glue")]


def turned(angle, about):
    return tf.Pose(orientation=[np.cos(angle / 2), *(np.sin(angle / 2) * np.array(about))])


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("kind", range(4))
def test_from_far(kind, rotation):
    """From 2.4 rad about an axis across, where the products lead to the other side."""
    one = body(rotation)
    system = tf.System([one, joints(one)[kind]])
    state = tf.assemble(system, {one: turned(2.4, [1, 0, 0])})[one]
    np.testing.assert_allclose(one.rotation_matrix(state.q)[:, 2], Z, rtol=0, atol=1e-12)


@pytest.mark.parametrize("half_turn", HALF_TURNS)
def test_a_weld_half_a_turn_off(half_turn):
    """It holds by its formula: as it is, with a warning, whether it starts a motion or is assembled."""
    one = body()
    system = tf.System([one, joints(one)[0]])
    start = {one: tf.Pose(orientation=half_turn)}
    with pytest.warns(tf.OtherSide, match="'glue' stands on the other side at t = 0"):
        tf.InitialValueProblem(system, start, (0, 1))
    with pytest.warns(tf.OtherSide, match="'glue'"):
        state = tf.assemble(system, start)[one]
    np.testing.assert_allclose(np.abs(state.q[3:]), half_turn, rtol=0, atol=1e-12)


@pytest.mark.parametrize("of_joint", [True, False])
def test_a_prescribed_angle(of_joint):
    """`sin(value - angle) = 0` holds half a turn away."""
    one = body()
    hinge = joints(one)[2]
    motor = tf.PrescribedJoint(hinge, value=0.3, name="motor") if of_joint else tf.PrescribedAngle(
        one, angle=0.3, axis_b=Z, direction_a=[1, 0, 0], direction_b=[1, 0, 0], name="motor")
    system = tf.System([one, hinge, motor])
    tf.InitialValueProblem(system, {one: turned(0.3, Z)}, (0, 1))
    with pytest.warns(tf.OtherSide, match="'motor'"):
        tf.InitialValueProblem(system, {one: turned(0.3 + np.pi, Z)}, (0, 1))
    state = tf.assemble(system, {one: turned(0.3 + 2.5, Z)})[one]
    np.testing.assert_allclose(one.rotation_matrix(state.q)[:2, 0], [np.cos(0.3), np.sin(0.3)], rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("error::timefem.errors.OtherSide")
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_a_frame_of_four_bars(unit):
    """A closed square, three hinges and a weld, from bars turned by up to 1.3 rad: no joint on the other side."""
    names = "south", "east", "north"
    bars = [tf.RigidBody(1.0, np.array([0.01, 0.1, 0.1]) * unit**2, name=name) for name in names]
    ends = np.array([[-0.5, 0, 0], [0.5, 0, 0]]) * unit
    system = tf.System([
        *bars, tf.Weld(bars[0], point_a=ends[0], point_b=[0, 0, 0], name="foot"),
        *(tf.Universal(b, a, point_a=ends[0], point_b=ends[1], axis_a=[0, 1, 0], axis_b=Z, name=f"{a.name}-{b.name}")
          for a, b in pairwise(bars)),
        tf.Revolute(bars[2], point_a=ends[1], point_b=[0, unit, 0], axis_a=Z, axis_b=Z, name="close")])
    places = np.array([[0.5, 0, 0], [1, 0.5, 0], [0.5, 1, 0]]) * unit
    rng = np.random.default_rng(3)
    for _ in range(6):
        start = {}
        for i, (bar, place) in enumerate(zip(bars, places)):
            axis = rng.standard_normal(3)
            turn = tf.Pose(orientation=[np.cos(0.65), *(np.sin(0.65) * axis / np.linalg.norm(axis))])
            flat = tf.Pose(orientation=[np.cos(i * np.pi / 4), 0, 0, np.sin(i * np.pi / 4)])
            w, x = turn.quaternion[0], turn.quaternion[1:]
            v, y = flat.quaternion[0], flat.quaternion[1:]
            start[bar] = tf.Pose(place, [w * v - x @ y, *(w * y + v * x + np.cross(x, y))])
        states = tf.assemble(system, start)  # without a warning
        r = bars[0].rotation_matrix(states[bars[0]].q)
        np.testing.assert_allclose(r, np.eye(3), rtol=0, atol=1e-11)
        assert bars[2].rotation_matrix(states[bars[2]].q)[2, 2] > 0.999999
