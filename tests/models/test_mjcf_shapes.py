"""Shapes and meshes of MJCF files in pictures."""

import re

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

FILE = """<mujoco><compiler angle="degree" meshdir="parts"/>
  <asset><mesh file="wedge.obj" scale="0.1 0.1 0.2" refpos="0 0 0.1"/></asset>
  <default><default class="seen"><geom group="1"/></default></default>
  <worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/>
    <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
    <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04"/>
    <geom type="box" size="0.1 0.2 0.3" pos="0 0 1" group="3"/>
    <frame pos="0 0 0.1"><geom class="seen" type="sphere" size="0.05" pos="0.1 0 0"/></frame>
    <geom type="mesh" mesh="wedge" pos="0.4 0 0" euler="0 90 0"/></body></worldbody></mujoco>"""
WEDGE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "robot"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "wedge.obj").write_text(WEDGE)
    (folder / "robot.xml").write_text(FILE)
    return folder / "robot.xml"


def test_shapes(path):
    """A capsule with its ends, and a sphere in a frame; shapes of group 3 are for contacts, and are not drawn."""
    cylinder, first, last, sphere = tf.read_mjcf(path).tree.links[1].shapes
    assert [cylinder["shape"], first["shape"], sphere["shape"]] == ["cylinder", "ellipsoid", "ellipsoid"]
    np.testing.assert_allclose(cylinder["size"], (0.08, 0.08, 0.4), rtol=0, atol=1e-15)
    np.testing.assert_allclose(cylinder["orientation"][:, 2], (1, 0, 0), rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.sort([first["position"][0], last["position"][0]]), (0, 0.4), rtol=0, atol=1e-15)
    np.testing.assert_allclose(sphere["position"], (0.1, 0, 0.1), rtol=0, atol=1e-15)


def test_meshes(path):
    """In their own frame, scaled, then in that of the shape: z of the mesh points along x of the link."""
    pytest.importorskip("trimesh")
    robot = tf.read_mjcf(path, meshes=path.parent)
    surface = robot.tree.links[1].shapes[-1]
    expected = np.array([(0.38, 0, 0), (0.38, 0, -0.1), (0.38, 0.1, 0), (0.58, 0, 0)])
    assert surface["shape"] == "surface" and len(surface["faces"]) == 4
    for point in expected:
        assert np.abs(surface["points"] - point).max(axis=1).min() < 1e-7
    bare = path.read_text().replace('meshdir="parts"', 'assetdir="parts" strippath="true"').replace("wedge.obj",
                                                                                                     "far/wedge.obj")
    path.write_text(bare.replace("<mesh file", '<mesh name="wedge" file'))
    np.testing.assert_array_equal(tf.read_mjcf(path, meshes=path.parent).tree.links[1].shapes[-1]["points"],
                                  surface["points"])


@pytest.mark.parametrize("change, message", [
    (("wedge.obj", "../../out.obj"), "there is no file"), (('meshdir="parts"', 'meshdir="/etc"'), "there is no file"),
    (("wedge.obj", "/etc/passwd"), "there is no file"), (('mesh="wedge"', 'mesh="cube"'), "names the mesh 'cube'"),
    (('refpos="0 0 0.1"', 'refquat="0 0 0 0"'), "refquat of length zero"),
    (("0.1 0.1 0.2", "0.1 x"), "needs 3 numbers"),
    (("wedge.obj", "../robot.xml"), "cannot be read as a mesh|names the mesh")])
def test_faults(path, change, message):
    pytest.importorskip("trimesh")
    (path.parents[1] / "out.obj").write_text(WEDGE)
    path.write_text(FILE.replace(*change).replace("<mesh file", '<mesh name="wedge" file'))
    robot = tf.read_mjcf(path, meshes=path.parent)  # what concerns pictures does not stop the dynamics
    assert re.search(message, robot.notes[0]) and "not drawn" in robot.notes[0]
    assert [shape["shape"] for shape in robot.tree.links[1].shapes][-1] == "ellipsoid"


def test_command_line(path, timefem):
    code, _, err = timefem("run", str(path), "--joint", "hinge=10", "--n-elements", "5", "--t-end", "0.05", "--meshes",
                           str(path.parent))
    assert (code == 0) == ("trimesh" not in err)
