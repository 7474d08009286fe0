"""Mechanisms that could close another way: joints half a turn away, and linkages on another branch than drawn."""

from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS
from timefem.mechanics.bodies.rotations import product

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


def bars_along(points):
    """Hinged bars between points of a plane, the first and the last of them on the ground, and their poses."""
    points, poses, parts, bars = np.array(points, float), [], [], []
    for i, (start, end) in enumerate(pairwise(points)):
        length, angle = np.linalg.norm(end - start), np.arctan2(*(end - start)[::-1])
        bars.append(tf.RigidBody(length, np.array([0.01, 1 / 12, 1 / 12]) * length**3, name=f"bar {i}"))
        poses.append((np.append(start + end, 0) / 2, angle, length / 2))
    for i, point in enumerate(points):
        at = [(bars[j], [side * poses[j][2], 0, 0]) for j, side in ((i, -1), (i - 1, 1)) if 0 <= j < len(bars)]
        point_b = at[1][1] if len(at) == 2 else [*point, 0]
        parts.append(tf.Revolute(*(body for body, _ in at), point_a=at[0][1], point_b=point_b, axis_a=Z, axis_b=Z,
                                 name=f"hinge {i}"))
    return tf.System([*bars, *parts]), bars, poses


@pytest.mark.parametrize("points", [[(0, 0), (0, 1), (1, 1), (1, 0)], [(0, 0), (0.4, 0.3), (1.2, 1.2), (1, 0)],
                                    [(0, 0), (-0.3, 0.7), (0.5, 1.3), (1.2, 0.8), (0.9, 0)]])
def test_the_branch_of_the_drawing(points):
    """From bars of a closed linkage turned by 0.8 rad about axes of any direction: steps of Newton's method that were
    too long mirrored elbows."""
    system, bars, poses = bars_along(points)
    rng, drawn = np.random.default_rng(11), np.diff([angle for _, angle, _ in poses])
    for _ in range(20):
        start = {}
        for bar, (place, angle, _) in zip(bars, poses, strict=True):
            axis = rng.standard_normal(3)
            turn, flat = turned(0.8, axis / np.linalg.norm(axis)).quaternion, turned(angle, Z).quaternion
            start[bar] = tf.Pose(place, product(turn, flat))
        states = tf.assemble(system, start)
        along = [bar.rotation_matrix(states[bar].q)[:2, 0] for bar in bars]
        elbows = [a[0] * b[1] - a[1] * b[0] for a, b in pairwise(along)]
        assert (np.sign(elbows[-1]) == np.sign(np.sin(drawn[-1]))), elbows


def test_at_rest_and_between_ends():
    """Equilibria and motions between ends ask for the side as motions from a start do."""
    one = body()
    hinge = joints(one)[2]
    system = tf.System([one, hinge, tf.JointSpring(hinge, stiffness=2.0, name="spring")])
    upside_down = tf.Pose(orientation=[0, 1, 0, 0])
    with pytest.warns(tf.OtherSide, match="'glue' stands on the other side"):
        assert tf.equilibrium(system, {one: upside_down}).success
    ends = [{one: tf.Pose(orientation=[0, np.cos(angle), np.sin(angle), 0])} for angle in (0.0, 0.1)]
    problem = tf.BoundaryValueProblem(system, (0, 0.5), *ends)
    with pytest.warns(tf.OtherSide, match="'glue' stands on the other side at t = 0"):
        assert tf.solve(problem, tf.MixedGalerkin(2), 5, progress=False).success


@pytest.mark.filterwarnings("error::timefem.errors.OtherSide")
def test_at_rest_and_between_ends_on_the_right_side():
    one = body()
    hinge = joints(one)[2]
    system = tf.System([one, hinge, tf.JointSpring(hinge, stiffness=2.0, name="spring")])
    assert tf.equilibrium(system, {one: turned(0.2, Z)}).success
    problem = tf.BoundaryValueProblem(system, (0, 0.5), *({one: turned(angle, Z)} for angle in (0.0, 0.2)))
    assert tf.solve(problem, tf.MixedGalerkin(2), 5, progress=False).success
