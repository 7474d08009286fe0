"""Meshes of links for pictures."""

import re
import struct

import numpy as np
import pytest

import timefem as tf

trimesh = pytest.importorskip("trimesh")

pytestmark = pytest.mark.long
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
URDF = """<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 0.2"/><mass value="3"/>
  <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.01"/></inertial>
  <visual><origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/><geometry>
  <mesh filename="package://arm/meshes/rod.stl" scale="0.1 0.1 0.2"/></geometry></visual></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>
"""


@pytest.fixture
def robot(tmp_path):
    """Folder of a package with a tetrahedron as a binary STL file, and the path of its URDF file."""
    folder = tmp_path / "arm"
    (folder / "meshes").mkdir(parents=True)
    (folder / "urdf").mkdir()
    data = bytes(80) + struct.pack("<I", len(FACES)) + b"".join(
        struct.pack("<12f", 0, 0, 0, *CORNERS[list(face)].ravel()) + bytes(2) for face in FACES)
    (folder / "meshes" / "rod.stl").write_bytes(data)
    (folder / "urdf" / "arm.urdf").write_text(URDF)
    return tmp_path, folder / "urdf" / "arm.urdf"


@pytest.mark.parametrize("inside", ["", "arm"])
def test_place_of_a_mesh(robot, inside):
    """The volume by Gauss's theorem, and corners turned, moved and scaled."""
    folder, path = robot
    drawn = tf.read_urdf(path, meshes=folder / inside).tree.links[1].drawn
    x, y, z = CORNERS.T * np.array([[0.1], [0.1], [0.2]])
    expected = np.stack([-y, x, z + 0.1], axis=1)
    assert len(drawn.points) == 4 and len(drawn.faces) == 4
    for point in expected:
        assert np.abs(drawn.points - point).max(axis=1).min() < 1e-7
    volume = sum(np.linalg.det(drawn.points[list(face)]) for face in drawn.faces) / 6
    assert volume == pytest.approx(0.1 * 0.1 * 0.2 / 6, rel=1e-6)
    assert tf.read_urdf(path).tree.links[1].drawn is None


def test_pictures_and_files(robot, tmp_path):
    folder, path = robot
    problem = tf.read_urdf(path, meshes=folder).problem({"hinge": 0.3}, (0, 0.1))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 5, progress=False)
    sol.save(tmp_path / "sol.h5")
    again = tf.load(tmp_path / "sol.h5")
    before, after = (system.bodies[0].links[1].drawn for system in (problem.system, again.system))
    np.testing.assert_array_equal(after.points, before.points)
    again.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_large_meshes_become_hulls(robot):
    folder, path = robot
    ball = trimesh.creation.icosphere(subdivisions=5)
    assert len(ball.faces) > 4000
    (folder / "arm" / "meshes" / "rod.stl").write_bytes(ball.export(file_type="stl"))
    drawn = tf.read_urdf(path, meshes=folder).tree.links[1].drawn
    np.testing.assert_allclose(np.ptp(drawn.points, axis=0), (0.2, 0.2, 0.4), rtol=0, atol=1e-3)


@pytest.mark.parametrize("change, message", [
    (("arm/meshes/rod.stl", "arm/meshes/other.stl"), r"<mesh>.*there is no file"),
    (("package://arm/meshes/rod.stl", "../outside.stl"), "there is no file"),
    (("package://arm/meshes/rod.stl", "/etc/passwd"), "there is no file"),
    (("package://arm/meshes/rod.stl", "urdf/arm.urdf"), "cannot be read as a mesh"),
])
def test_faults(robot, change, message):
    folder, path = robot
    (folder / "outside.stl").write_bytes(b"solid")
    path.write_text(URDF.replace(*change))
    robot = tf.read_urdf(path, meshes=folder / "arm")  # what concerns pictures does not stop the dynamics
    assert re.search(message, robot.notes[0]) and robot.tree.links[1].drawn is None


def test_damaged_meshes(robot):
    """Cut and changed files end in a note, or in a mesh."""
    folder, path = robot
    place, rng = folder / "arm" / "meshes" / "rod.stl", np.random.default_rng(0)
    data = place.read_bytes()
    for _ in range(60):
        cut = bytearray(data[:rng.integers(0, len(data) + 1)])
        for _ in range(rng.integers(0, 20)):
            if cut:
                cut[rng.integers(len(cut))] = rng.integers(256)
        place.write_bytes(bytes(cut))
        robot = tf.read_urdf(path, meshes=folder)
        assert (robot.tree.links[1].drawn is None) == any("rod.stl" in note for note in robot.notes)
    with pytest.raises(tf.InputError, match="meshes must be a folder"):
        tf.read_urdf(path, meshes=folder / "nowhere")
