"""Paths of points, stick figures of trees, and places of the times of snapshots."""

import matplotlib
import numpy as np
import pytest

import timefem as tf
from timefem.solution.drawing.page import viewer_page
from timefem.solution.drawing.scene import make_scene
from timefem.solution.drawing.snapshots import Snapshots

matplotlib.use("Agg")
TIMES = np.linspace(0, 0.4, 5)


@pytest.fixture(scope="module")
def arm():
    links = [tf.Link("base"), tf.Link("upper", 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1)),
             tf.Link("fore", 1.0, (0.4, 0, 0), (0.01, 0.1, 0.1)),
             tf.Link("tool", 0.1, (0, 0, 0), (0.01, 0.01, 0.01), shapes=[{"shape": "box", "size": (0.1, 0.1, 0.1)}])]
    joints = [tf.TreeJoint("shoulder", "base", "upper", position=(0, 0, 0.3), axis=(0, 1, 0)),
              tf.TreeJoint("elbow", "upper", "fore", position=(1, 0, 0), axis=(0, 1, 0)),
              tf.TreeJoint("wrist", "fore", "tool", "fixed", position=(0.8, 0, 0))]
    system = tf.System([tf.Tree(links, joints, name="arm")], gravity=(0, 0, -9.81))
    return tf.solve(tf.InitialValueProblem(system, {}, (0, 0.4)), tf.MixedGalerkin(2, form="lagrange"), 20)


def test_links_without_shapes_are_rods(arm):
    scene = make_scene(arm, TIMES)
    tree = arm.system.find("arm")
    rods = [link.points for link in scene.links if link.kind == "rod"]
    ends = [("base", "upper"), ("upper", "fore"), ("fore", "tool")]
    assert len(rods) == len(ends) and len(scene.links) == 5  # two joints that move
    for points, names in zip(rods, ends, strict=True):
        places = np.stack([arm.position(tree.link(name), TIMES) for name in names], axis=1)
        np.testing.assert_allclose(points, places, rtol=0, atol=1e-14)
    assert np.ptp(np.linalg.norm(np.diff(rods[1], axis=1), axis=-1)) < 1e-14
    assert [b.shape for b in scene.bodies] == ["sphere", "sphere", "surface"]


def test_shape_away_from_its_joint_has_a_rod(tmp_path):
    """The foot of a leg, whose link has no other picture than the shape that touches the floor."""
    path = tmp_path / "leg.urdf"
    path.write_text("""<robot name="leg"><link name="trunk"/><link name="shank"><inertial><origin xyz="0 0 -0.1"/>
        <mass value="0.2"/><inertia ixx="0.001" iyy="0.001" izz="0.0002"/></inertial>
        <collision><origin xyz="0 0 -0.2"/><geometry><sphere radius="0.02"/></geometry></collision></link>
        <joint name="knee" type="continuous"><parent link="trunk"/><child link="shank"/><axis xyz="0 1 0"/></joint>
        </robot>""")
    robot = tf.read_urdf(path)
    sol = tf.solve(robot.problem(t_span=(0, 0.4)), tf.MixedGalerkin(1, form="lagrange"), 10, progress=False)
    scene = make_scene(sol, TIMES)
    (rod,) = [link.points for link in scene.links if link.kind == "rod"]
    foot = sol.position(robot.tree.link("shank", (0, 0, -0.2)), TIMES)
    np.testing.assert_allclose(rod, np.stack([np.zeros((len(TIMES), 3)), foot], axis=1), rtol=0, atol=1e-14)


def test_paths_of_any_point(arm):
    tree = arm.system.find("arm")
    tip = tree.link("tool", (0, 0, 0.1))
    expected = arm.position(tip, TIMES)
    for given in (tip, [tip], ("arm.tool", (0, 0, 0.1)), [(tree.link("tool"), (0, 0, 0.1))]):
        traces = make_scene(arm, TIMES, traces=given).traces
        np.testing.assert_allclose(traces, [expected], rtol=0, atol=1e-14)
    assert make_scene(arm, TIMES, traces=False).traces == []
    assert len(make_scene(arm, TIMES).traces) == 3
    paths = Snapshots(arm, TIMES, traces=[tip, tree.link("fore")]).paths
    assert len(paths) == 2 and len(paths[0][0]) == len(np.union1d(arm.t, TIMES))
    assert len(arm.plot.snapshots(TIMES, traces=tip).lines) == len(arm.plot.snapshots(TIMES, traces=False).lines) + 1


def test_paths_of_places_of_ropes(tmp_path):
    rope = tf.Rope(tf.Line((0, 0, 0), (1, 0, 0)), tf.RopeSection(EA=100.0, mass=0.1), n_elements=3)
    system = tf.System([rope, tf.PrescribedPosition(rope.start, position=(0, 0, 0))], gravity=(0, 0, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 0.1)), tf.MixedGalerkin(1), 20)
    places = rope.at(0.5), rope.end
    for path, place in zip(make_scene(sol, traces=places).traces, places, strict=True):
        np.testing.assert_allclose(path[-1], sol.position(place, sol.t[-1]), rtol=0, atol=1e-14)
    sol.save(tmp_path / "film.gif", [0, 0.1], traces=rope.end)
    assert '"traces":[[1.0,' in viewer_page(sol, traces=rope.end)


@pytest.mark.parametrize("traces", [3.0, "nothing", ["arm", 2], ("arm.tool", (0, 0, np.nan))])
def test_what_is_no_point(arm, traces):
    with pytest.raises(tf.InputError, match=r"traces|nothing|position"):
        arm.plot.snapshots(TIMES, traces=traces)


def test_times_stand_clear_of_other_snapshots():
    """Also where all snapshots share a point, as a rope that hangs from one end does."""
    bar = tf.RigidBody(1.0, (0.0842, 0.0017, 0.0842), size=(0.1, 1.0, 0.1), name="bar")
    system = tf.System([bar, tf.FixedPoint(bar, point=(0, -0.5, 0))], gravity=(0, 0, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, {bar: tf.Pose((0, 0.5, 0))}, (0, 0.6)), tf.MixedGalerkin(2), 30)
    picture = Snapshots(sol, [0, 0.3, 0.6])
    tips = [sol.position(bar, t) + sol.rotation_matrix(bar, t) @ (0, 0.5, 0) for t in picture.times]
    for n, place in enumerate(picture.names):
        distances = [np.linalg.norm(place - tip) for tip in tips]
        assert np.argmin(distances) == n and distances[n] < 0.3


def test_bodies_of_unknown_shape_have_arms_to_their_joints():
    bar = tf.RigidBody(1.0, (0.0842, 0.0017, 0.0842), name="bar")
    system = tf.System([bar, tf.FixedPoint(bar, point=(0, -0.5, 0))], gravity=(0, 0, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, {bar: tf.Pose((0, 0.5, 0))}, (0, 0.4)), tf.MixedGalerkin(2), 20)
    joint, arm = make_scene(sol, TIMES).links
    assert (joint.kind, arm.kind, arm.name) == ("joint", "rod", "bar")
    np.testing.assert_allclose(arm.points[:, 0], sol.position(bar, TIMES), rtol=0, atol=1e-14)
    np.testing.assert_allclose(arm.points[:, 1], 0, rtol=0, atol=1e-12)
