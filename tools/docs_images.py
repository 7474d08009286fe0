"""The pictures of the guide, small PNG files and one GIF in docs/images, and the page of the papers' figures.

python tools/docs_images.py [double_pendulum] [snapshots] [machines] [reproduction]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageOps

import timefem as tf
from timefem.cases import find_case

matplotlib.use("Agg")
IMAGES = Path(__file__).parents[1] / "docs" / "images"
# case -> times of the snapshots [s]
SNAPSHOTS = {
    "spinning-box": (0, 1, 2, 3), "physical-pendulum": (0, 1, 1.6), "four-bar": (0, 1, 2),
    "closed-chain": (0, 0.5, 1.0), "bricard": (0, 0.4, 0.8),
}


def shrink(path, colours=64):
    """Fewer colours and no white margins, in place."""
    with Image.open(path) as image:
        image = image.convert("RGB")
        left, top, right, bottom = ImageOps.invert(image).getbbox()
        image = image.crop((max(left - 8, 0), max(top - 8, 0), min(right + 8, image.width),
                            min(bottom + 8, image.height)))
        small = image.quantize(colours)
    small.save(path, optimize=True)


def save(figure, name, dpi=90):
    figure.savefig(IMAGES / name, dpi=dpi, bbox_inches="tight", pad_inches=0.05)
    shrink(IMAGES / name)


def double_pendulum():
    solid = tf.MassProperties.cuboid(0.1, 1.0, 0.1, density=100)
    upper, lower = (tf.RigidBody(solid.mass, solid.inertia, size=(0.1, 1.0, 0.1), name=n) for n in ("upper", "lower"))
    axes = dict(axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    parts = [upper, lower, tf.Revolute(upper, point_a=(0, -0.5, 0), point_b=(0, 0, 0), name="shoulder", **axes),
             tf.Revolute(upper, lower, point_a=(0, 0.5, 0), point_b=(0, -0.5, 0), name="elbow", **axes),
             tf.TorsionalDamper(upper, lower, axis=(1, 0, 0), damping=0.02)]
    state = {upper: tf.Pose(position=(0, 0.5, 0)), lower: tf.Pose(position=(0, 1.5, 0))}
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), state, (0, 3))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 300)
    save(sol.plot.snapshots([0, 0.2, 0.4, 0.6, 0.9, 1.2]).figure, "double_pendulum.png")
    ax = sol.plot.energy()
    ax.plot(sol.t, sol.energy()[0] + sol.energy.work(), "k:", label="start + work")
    ax.legend()
    save(ax.figure, "energy.png")
    sol.save(IMAGES / "double_pendulum.gif", np.linspace(0, 3, 46), fps=15)
    _viewer(sol)


def _viewer(sol):
    """The HTML viewer in the middle of the motion, when a browser is there."""
    chromium = shutil.which("chromium")
    if not chromium:
        print("no chromium: viewer.png stays as it is")
        return
    from timefem.solution.drawing.page import viewer_page

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        show = "<script>state.time = 1.1; $('names').checked = true; draw();</script></body>"
        page.write_text(viewer_page(sol).replace("</body>", show))
        subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--user-data-dir={folder}/profile", "--window-size=800,520",
                        f"--screenshot={IMAGES / 'viewer.png'}", page.as_uri()], check=True, capture_output=True,
                       timeout=120)
    shrink(IMAGES / "viewer.png")


def snapshots():
    for name, times in SNAPSHOTS.items():
        case = find_case(name)
        sol = tf.solve(case.make(t_end=max(times)), tf.MixedGalerkin(2), max(50, round(max(times) * 100)))
        save(sol.plot.snapshots(times).figure, f"{name.replace('-', '_')}.png")


def reproduction():
    """The page of the papers' figures, docs/reports/reproduction.md; by the quick runs."""
    from timefem.reproduction import find_scripts, run_scripts, write_page

    with tempfile.TemporaryDirectory() as folder:
        results = run_scripts(find_scripts(), quick=True, folder=folder)
        for facts in results.values():
            if facts.get("figure"):
                image = IMAGES / "reproduction" / Path(facts["figure"]).relative_to(folder)
                image.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(facts["figure"], image)
                shrink(image, 32)
    write_page(results, IMAGES.parent / "reports" / "reproduction.md", "../images/reproduction")


def machines():
    """Pictures of the gallery's machines, in docs/images/gallery; those that are not as expected are reported."""
    from timefem.reproduction import find_machines, run_machines

    folder = IMAGES / "gallery"
    for name, facts in run_machines(find_machines(), folder).items():
        shrink(Path(facts["figure"]), 48)
        print(name, facts["number"], "" if facts["agrees"] else "DOES NOT AGREE")


PICTURES = {"double_pendulum": double_pendulum, "snapshots": snapshots, "machines": machines,
            "reproduction": reproduction}

if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
    print(f"{sum(f.stat().st_size for f in IMAGES.rglob('*.*')) / 1e6:.2f} MB in {IMAGES}")
