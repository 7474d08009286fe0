"""What the viewer draws in a browser, against a stored picture of every kind of part.

The stored picture was looked at; `python -m tests.solution.drawing.test_viewer_picture` stores a new one.
"""

import base64
import io
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import uniform_filter

import timefem as tf
from timefem.solution.drawing.page import viewer_page

pytestmark = pytest.mark.long

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
STORED = Path(__file__).parents[2] / "data" / "viewer.png"
WINDOW = 11  # pixels of a window of the index of structure
UNLIKE, FEW, MANY = 0.6, 40, 100  # index below which a pixel is wrong; wrong pixels of the same picture, and of others
# canvas pictures: as it is, and with blunders that must be seen
DRAW = """<script>
const pictures = {}, keep = name => { draw(); pictures[name] = canvas.toDataURL(); };
$("traces").checked = true; state.time = 0.2;
keep("right");
state.azimuth += 5; keep("turned"); state.azimuth -= 5;
for (const kind of ["bodies", "links", "curves"])
  scene[kind].forEach((thing, i) => {
    scene[kind].splice(i, 1); keep(`without ${kind} ${thing.name}`); scene[kind].splice(i, 0, thing);
  });
document.body.innerHTML = "<pre id=pictures>" + JSON.stringify(pictures) + "</pre>";
</script></body>"""


def every_part():
    """A motion with a body of each shape, a mass, a rope, a beam, a rod, a spring, a damper and a joint."""
    wheel = tf.RigidBody(1, (0.1, 0.2, 0.1), size=(0.5, 0.1, 0.5), shape="cylinder", name="wheel")
    box = tf.RigidBody(2, (0.1, 0.2, 0.1), size=(0.6, 0.2, 0.3), name="box")
    ball = tf.RigidBody(1, (0.1, 0.1, 0.1), size=(0.3, 0.3, 0.3), shape="ellipsoid", name="ball")
    bare = tf.RigidBody(1, (0.02, 0.03, 0.04), name="bare")
    load = tf.PointMass(0.3, name="load")
    rope = tf.Rope(tf.Line((1, 0, 0), (2, 0, 0)), tf.RopeSection(EA=100.0, mass=0.1), n_elements=3, name="rope")
    section = tf.Section.rectangle(E=2e9, nu=0.3, density=1200, width=0.05, height=0.08)
    beam = tf.Beam(1.0, section, 4, name="beam")
    parts = [wheel, box, ball, bare, load, rope, beam, tf.RigidDistance(wheel, load, length=0.8, name="rod"),
             tf.Spring(load, None, stiffness=10.0, point_b=(-1, 0, -1), name="spring"),
             tf.Damper(box, None, damping=1.0, name="damper"),
             tf.FixedPoint(bare, point=(0.2, 0, 0), at=(-0.8, 1, 0), name="pivot")]
    state = {load: tf.Pose((0, 0, -0.8)), box: tf.Pose((1, 1, 0)), ball: tf.Pose((-1, 0, 0)), bare: tf.Pose((-1, 1, 0))}
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), state, (0, 0.3))
    return tf.solve(problem, tf.MixedGalerkin(2), 30, progress=False)


def pictures():
    """Pictures of the canvas, name -> array (height, width, 3)."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(viewer_page(every_part()).replace("</body>", DRAW))
        run = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=640,480",
                              "--force-device-scale-factor=1", "--disable-background-networking", "--dump-dom",
                              f"--user-data-dir={folder}/profile", page.as_uri()], capture_output=True, text=True,
                             timeout=120)
    found = re.search(r'<pre id="pictures">(.*?)</pre>', run.stdout)
    assert found, run.stderr[-2000:]
    return {name: np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB"), float)
            for name, url in json.loads(found[1]).items()}


def n_wrong(a, b):
    """Pixels about which two pictures differ, by the index of structural similarity (Wang et al. 2004).

    Of pictures blurred a little, so that edges may be drawn otherwise; letters may, too.
    """
    a, b = (uniform_filter(x, (3, 3, 1)) for x in (a, b))

    def mean(x):
        return uniform_filter(x, (WINDOW, WINDOW, 1))

    of_a, of_b = mean(a), mean(b)
    spread = mean(a * b) - of_a * of_b
    c, d = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    index = (2 * of_a * of_b + c) * (2 * spread + d)
    index /= (of_a**2 + of_b**2 + c) * (mean(a * a) - of_a**2 + mean(b * b) - of_b**2 + d)
    index = index.mean(axis=2)
    index[:30, :90] = index[-90:, :90] = 1.0  # the scale of the grid, and names of axes
    return int((index < UNLIKE).sum())


@pytest.mark.skipif(not CHROMIUM, reason="needs chromium")
def test_viewer_draws_what_it_drew():
    stored = np.asarray(Image.open(STORED).convert("RGB"), float)
    found = {name: n_wrong(picture, stored) for name, picture in pictures().items()}
    assert found.pop("right") <= FEW
    del found["without links bare"]  # lies on an axis of the body
    assert len(found) == 12 and min(found.values()) > MANY, found  # blunders are seen


if __name__ == "__main__":
    Image.fromarray(pictures()["right"].astype(np.uint8)).quantize(64).save(STORED, optimize=True)
