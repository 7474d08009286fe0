"""Films, pages and ParaView files show the motion as it was solved."""

import base64
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import timefem as tf
from timefem.solution.drawing.artists import axes3d
from timefem.solution.drawing.page import quaternions, viewer_page
from timefem.solution.drawing.scene import make_scene
from timefem.solution.drawing.snapshots import Film, animate, film_times
from timefem.solution.output.vtk import to_vtk

pytestmark = pytest.mark.long

matplotlib.use("Agg")
TIMES = np.linspace(0.0, 0.5, 6)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def sol():
    """A box on a ball joint, a body without size on a spring from it, a bob on a rod."""
    box = tf.RigidBody(2, [0.4, 0.1, 0.4], size=(0.2, 1.0, 0.2), name="box")
    wheel = tf.RigidBody(1, [0.1, 0.1, 0.15], "directors", name="<wheel>")
    bob = tf.PointMass(0.5, name="bob")
    parts = [box, wheel, bob, tf.FixedPoint(box, (0, -0.5, 0), name="support"),
             tf.Spring(box, wheel, (0, 0.5, 0), (0, 0, 0.1), stiffness=50, name="spring"),
             tf.RigidDistance(box, bob, point_a=(0, 0.5, 0), length=1, name="rod")]
    state = {box: tf.Pose((0, 0.5, 0)), bob: tf.Pose((1, 1, 0)),
             wheel: tf.Pose((0, 1.5, 0), angular_velocity=(0, 0, 30))}
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), state, (0, 0.5))
    return tf.solve(problem, tf.MixedGalerkin(2), 50, progress=False)


def test_scene(sol):
    scene = make_scene(sol, TIMES)
    assert [(b.name, b.shape) for b in scene.bodies] == [("box", "box"), ("<wheel>", "axes"), ("bob", "sphere")]
    box, wheel = scene.bodies[:2]
    assert np.array_equal(box.position, sol.position("box", TIMES))
    assert np.array_equal(wheel.rotation, sol.rotation_matrix("<wheel>", TIMES))
    kinds = {link.name: (link.kind, link.points.shape[1]) for link in scene.links}
    assert kinds == {"support": ("joint", 1), "spring": ("spring", 2), "rod": ("rod", 2)}
    support, spring, rod = scene.links
    np.testing.assert_allclose(support.points, np.zeros((6, 1, 3)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(support.velocities, np.zeros((6, 1, 3)), rtol=0, atol=1e-9)
    lengths = np.linalg.norm(np.diff(rod.points, axis=1), axis=-1)
    np.testing.assert_allclose(lengths, np.ones((6, 1)), rtol=0, atol=1e-10)
    assert np.array_equal(rod.points[:, 1], sol.position("bob", TIMES))
    end = wheel.position + wheel.rotation @ [0, 0, 0.1]
    np.testing.assert_allclose(spring.points[:, 1], end, rtol=0, atol=1e-14)
    # velocities are the rates of the places
    h = 1e-5
    ends = [make_scene(sol, TIMES[1:-1] + step) for step in (-h, h)]
    for n in range(3):
        rate = (ends[1].links[n].points - ends[0].links[n].points) / (2 * h)
        np.testing.assert_allclose(scene.links[n].velocities[1:-1], rate, rtol=0, atol=1e-2)
    for link in scene.links:
        assert np.all(link.points >= scene.low) and np.all(link.points <= scene.high)


def test_scene_refuses(sol):
    with pytest.raises(tf.InputError, match="increase"):
        make_scene(sol, [0, 0.2, 0.1])
    with pytest.raises(tf.InputError, match="time"):
        make_scene(sol, [0, 0.7])
    import casadi

    pendulum = tf.GeneralizedSystem(1, lambda q, v, c: v**2 / 2, potential=lambda q, c: -casadi.cos(q))
    problem = tf.InitialValueProblem(pendulum, tf.Coordinates([0.1]), (0, 1))
    with pytest.raises(tf.InputError, match="nothing to draw"):
        make_scene(tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False))


def test_film(sol, tmp_path):
    from PIL import Image

    path = tmp_path / "film.gif"
    assert sol.save(path, TIMES, fps=10) is None
    with Image.open(path) as film:
        assert film.n_frames == 6 and film.info["duration"] == 100
        film.seek(0)
        first = np.asarray(film.convert("L"), float)
        film.seek(5)
        assert np.abs(np.asarray(film.convert("L"), float) - first).max() > 100  # something moved
        assert first.min() < 100
    assert not plt.get_fignums()
    assert len(film_times(sol, 25)) == 50


def test_artists_follow_the_motion(sol):
    scene = make_scene(sol, TIMES)
    artists = Film(axes3d(0.8), scene)
    artists.show(4)
    faces = np.reshape(artists.bodies[0]._faces, (-1, 3))
    np.testing.assert_allclose(faces.mean(axis=0), scene.bodies[0].position[4], rtol=0, atol=1e-12)
    tip = np.array(artists.bodies[1][2].get_data_3d()).T
    np.testing.assert_allclose(np.diff(tip, axis=0)[0] * 2 / scene.bodies[1].size[2],
                               scene.bodies[1].rotation[4][:, 2], rtol=0, atol=1e-12)
    assert np.array(artists.traces[2].get_data_3d()).shape == (3, 5)
    assert "0.400" in artists.clock.get_text()


def test_films_that_cannot_be_written(sol, tmp_path, monkeypatch):
    from matplotlib import animation

    with pytest.raises(tf.InputError, match=r"\.gif or \.mp4"):
        animate(sol, tmp_path / "film.avi")
    with pytest.raises(tf.InputError, match="no folder"):
        sol.save(tmp_path / "none" / "film.gif")
    monkeypatch.setattr(animation.writers, "is_available", lambda name: False)
    with pytest.raises(tf.MissingBackend, match="ffmpeg"):
        sol.save(tmp_path / "film.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
def test_mp4(sol, tmp_path):
    sol.save(tmp_path / "film.mp4", TIMES)
    assert b"ftyp" in (tmp_path / "film.mp4").read_bytes()[:16]


# ---- the page

def test_quaternions_do_not_jump(sol):
    times = np.linspace(0, 0.5, 200)
    rotation = sol.rotation_matrix("<wheel>", times)
    q = quaternions(rotation)
    assert np.abs(np.diff(q, axis=0)).max() < 0.1  # through several turns
    assert np.ptp(q[:, 0]) > 1.9
    for a, r in zip(q[::20], rotation[::20], strict=True):
        w, v = a[0], a[1:]
        same = (2 * w**2 - 1) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * np.cross(np.eye(3), v)
        np.testing.assert_allclose(same, r, rtol=0, atol=1e-4)  # directors are rigid at the nodes only


def test_page(sol, tmp_path):
    path = tmp_path / "motion.html"
    sol.save(path, TIMES, title="A & B")
    page = path.read_text()
    assert "<title>A &amp; B</title>" in page and "@" not in re.sub(r"@media", "", page)
    assert not re.search(r"https?:|src=|href=|import\(|fetch\(", page)  # works without a network
    data = json.loads(re.search(r"let scene = (\{.*\});", page).group(1))
    assert "<wheel>" not in page and data["bodies"][1]["name"] == "<wheel>"
    np.testing.assert_allclose(np.reshape(data["bodies"][2]["x"], (-1, 3)), sol.position("bob", TIMES), rtol=1e-5,
                               atol=1e-12)
    assert [link["n"] for link in data["links"]] == [1, 2, 2]


def test_page_in_a_notebook(sol, tmp_path):
    """Without a path: a frame with the whole page, which needs no file that a notebook would have to serve."""
    page = sol.plot.viewer(times=TIMES, title="A & B")
    sol.save(tmp_path / "motion.html", TIMES, title="A & B")
    frames = []

    class Frames(HTMLParser):
        def handle_starttag(self, tag, attrs):
            frames.append((tag, dict(attrs)))

    Frames().feed(page._repr_html_())
    assert [tag for tag, _ in frames] == ["iframe"]
    assert frames[0][1]["srcdoc"] == (tmp_path / "motion.html").read_text()


@pytest.mark.parametrize("part", [
    lambda joint: tf.JointSpring(joint, stiffness=3), lambda joint: tf.JointControl(joint),
    lambda joint: tf.EndStop(joint, lowest=-1, highest=1, stiffness=1e3),
    lambda joint: tf.JointFriction(joint, friction=0.1, friction_width=0.1),
    lambda joint: tf.Motor(joint, gear=2, torque=0.1)])
def test_pages_of_trees_with_parts_on_joints(part):
    """A coordinate of a joint has no place, and nothing to be drawn; it ended every picture by an AttributeError."""
    tree = tf.Tree([tf.Link("ground"), tf.Link("pole", mass=0.3, centre=(0, 0, -0.5))],
                   [tf.TreeJoint("hinge", "ground", "pole", axis=(0, 1, 0))])
    system = tf.System([tree, part(tree.joint("hinge"))], gravity=(0, 0, -9.81))
    problem = tf.InitialValueProblem(system, {"hinge": 1.0}, (0, 0.1))
    scene = make_scene(tf.solve(problem, tf.MixedGalerkin(1, form="lagrange"), 2), [0, 0.1])
    assert [body.name.split(".")[-1] for body in scene.bodies] == ["pole"]


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Clicks and drags, with what they did written into the page; `state` and `scene` are the page's own.
PROBE = """
<script>
const said = {}, picture = () => { draw(); return canvas.toDataURL(); };
const drag = (x, y) => {
  canvas.dispatchEvent(new PointerEvent("pointerdown", { clientX: 100, clientY: 100 }));
  canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: 100 + x, clientY: 100 + y }));
  canvas.dispatchEvent(new PointerEvent("pointerup", {}));
};
const first_picture = picture();
const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
said.dark = 0;
for (let i = 0; i < pixels.length; i += 4) if (pixels[i] + pixels[i + 1] + pixels[i + 2] < 300) said.dark++;
$("slider").value = 0.25; $("slider").dispatchEvent(new Event("input"));
said.slider = state.time; said.moved = picture() !== first_picture; said.clock = $("clock").textContent;
const before_drag = picture();
drag(40, 10);
said.azimuth = state.azimuth; said.elevation = state.elevation; said.turned = picture() !== before_drag;
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -700, cancelable: true }));
said.zoom = state.zoom;
$("home").click();
said.home = [state.azimuth, state.zoom];
said.corner = [project(scene.low), project(scene.high)].every(
  p => p[0] > 0 && p[0] < canvas.width && p[1] > 0 && p[1] < canvas.height);
$("play").click();
said.playing = state.playing; draw(); said.button = $("play").textContent;
const wait = tries => setTimeout(() => {  // for the first frame, which is late on a busy machine
  if (state.time === 0.25 && tries > 0) return wait(tries - 1);
  said.later = state.time;
  $("play").click(); said.paused = !state.playing;
  document.body.innerHTML = "<pre id=said>" + JSON.stringify(said) + "</pre>";
}, 100);
wait(40);
</script>
"""


def in_chromium(path, *options):
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=800,600",
               "--disable-background-networking", f"--user-data-dir={path.parent / 'profile'}", *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not CHROMIUM, reason="needs chromium")
def test_page_in_a_browser(sol, tmp_path):
    path = tmp_path / "probe.html"
    path.write_text(viewer_page(sol).replace("</body>", PROBE + "</body>"))
    run = in_chromium(path, "--virtual-time-budget=5000", "--dump-dom")
    found = re.search(r'<pre id="said">(.*?)</pre>', run.stdout)
    assert found, run.stderr[-2000:]
    said = json.loads(found.group(1))
    assert said["dark"] > 500  # bodies are drawn
    assert said["slider"] == 0.25 and said["moved"] and said["clock"] == "t = 0.2500 s"
    assert said["azimuth"] == -80 and said["elevation"] == 27 and said["turned"]
    assert said["zoom"] == pytest.approx(np.e) and said["home"] == [-60, 1]
    assert said["corner"]  # everything fits into the window
    assert said["playing"] and said["button"] == "Pause" and said["paused"]
    assert 0.25 < said["later"] <= 0.5


# ---- ParaView

def arrays(path):
    """Arrays of a .vtu file by name, decoded by the rules of VTK's XML format."""
    root = ET.parse(path).getroot()
    assert (root.get("type"), root.get("byte_order"), root.get("header_type")) == \
        ("UnstructuredGrid", "LittleEndian", "UInt64")
    types = {"Float64": "<f8", "Int64": "<i8", "UInt8": "u1"}
    found = {}
    for array in root.iter("DataArray"):
        raw = base64.b64decode(array.text.strip())
        size = int(np.frombuffer(raw[:8], "<u8")[0])
        assert len(raw) == 8 + size
        found[array.get("Name")] = np.frombuffer(raw[8:], types[array.get("type")]).reshape(
            -1, int(array.get("NumberOfComponents"))).squeeze()
    piece = root.find(".//Piece")
    assert len(found["Points"]) == int(piece.get("NumberOfPoints"))
    assert len(found["types"]) == int(piece.get("NumberOfCells"))
    return found


def test_paraview(sol, tmp_path):
    sol.save(tmp_path / "motion.pvd", TIMES)
    entries = list(ET.parse(tmp_path / "motion.pvd").getroot().iter("DataSet"))
    assert [float(e.get("timestep")) for e in entries] == TIMES.tolist()
    found = arrays(tmp_path / entries[3].get("file"))
    assert found["types"].tolist() == [12, 3, 3, 3, 1, 1, 3, 3]
    assert found["kind"].tolist() == [0, 0, 0, 0, 0, 1, 3, 2]
    assert found["number"].tolist() == [0, 1, 1, 1, 2, 0, 1, 2]
    assert found["offsets"].tolist() == [8, 10, 12, 14, 15, 16, 18, 20]
    assert found["connectivity"].tolist() == list(range(20))
    box = found["Points"][:8]
    edges = box[[1, 3, 4]] - box[0]  # of VTK's hexahedron
    np.testing.assert_allclose(edges, (sol.rotation_matrix("box", TIMES[3]) * [0.2, 1.0, 0.2]).T, rtol=0, atol=1e-10)
    assert np.linalg.det(edges) > 0
    np.testing.assert_allclose(box[2] - box[3], box[1] - box[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(box[6] - box[2], box[4] - box[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["Points"][14], sol.position("bob", TIMES[3]), rtol=0, atol=1e-14)
    np.testing.assert_allclose(found["velocity"][14], sol.velocity("bob", TIMES[3]), rtol=0, atol=1e-14)
    np.testing.assert_allclose(found["velocity"][:8].mean(axis=0), sol.velocity("box", TIMES[3]), rtol=0, atol=1e-12)


def test_paraview_read_by_meshio(sol, tmp_path):
    meshio = pytest.importorskip("meshio")
    sol.save(tmp_path / "motion.pvd", TIMES)
    mesh = meshio.read(tmp_path / "motion" / "motion_3.vtu")
    assert {block.type: len(block.data) for block in mesh.cells} == {"hexahedron": 1, "line": 5, "vertex": 2} or \
        sorted(block.type for block in mesh.cells) == ["hexahedron", "line", "line", "vertex"]
    assert np.array_equal(mesh.points[14], sol.position("bob", TIMES[3]))


def test_paraview_refuses(sol, tmp_path):
    with pytest.raises(tf.InputError, match=r"\.pvd"):
        to_vtk(sol, tmp_path / "motion.vtk")
    (tmp_path / "motion").write_text("")
    with pytest.raises(tf.InputError, match="not a folder"):
        sol.save(tmp_path / "motion.pvd")
