"""Beams and ropes in pictures, films, pages and files for ParaView."""

import base64
import json
import re

import numpy as np
import pytest

import timefem as tf
from timefem.solution.drawing.scene import make_scene

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def swinging():
    section = tf.Section.rectangle(2e7, 0.3, 1200, 0.03, 0.06)
    arm = tf.Beam([tf.Line((0, 0, 0), (1, 0, 0)), tf.Line((1, 0, 0), (1, 1, 0))], section, 1, 2, name="arm")
    rope = tf.Rope(tf.Line((1, 1, 0), (1, 1, -1)), tf.RopeSection(1e3, 0.2), 2, name="rope")
    parts = [arm, rope, tf.Weld(arm.start, point_a=(0, 0, 0), point_b=(0, 0, 0)),
             tf.Spherical(arm.end, rope.start, point_a=(0, 0, 0), point_b=(0, 0, 0)),
             tf.Spring(arm.at(0.33), stiffness=5, point_b=(0.3, 0, 1), name="spring")]
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {}, (0, 0.2))
    return tf.solve(problem, tf.MixedGalerkin(1), 20, progress=False)


def test_scene_has_the_surface_of_the_section(swinging):
    scene = make_scene(swinging, [0.0, 0.1, 0.2])
    assert not scene.bodies and [c.name for c in scene.curves] == ["arm 1", "arm 2"]
    (first, second), rope = scene.curves, next(link for link in scene.links if link.kind == "rope")
    assert np.allclose(first.centre[2, -1], swinging.position("arm.at(1)", 0.2), rtol=0, atol=1e-14)
    assert np.allclose(np.ptp(first.surface(0), axis=(0, 1)), (1, 0.03, 0.06), rtol=0, atol=1e-14)
    # around the corner the section of the second leg has turned with it
    assert np.allclose(second.rotation[0, 0] @ (1, 0, 0), (0, 1, 0), rtol=0, atol=1e-14)
    assert np.allclose(np.ptp(second.surface(0), axis=(0, 1))[1], 1, rtol=0, atol=1e-14)
    assert np.allclose(rope.points[0, :, 2], (0, -0.5, -1), rtol=0, atol=1e-14)
    spring = scene.links[-1]
    assert np.allclose(spring.points[2, 0], swinging.position("arm.at(0.33)", 0.2), rtol=0, atol=1e-14)
    assert np.all(scene.low < rope.points.min(axis=(0, 1))) and np.all(scene.high > second.surface(0).max(axis=(0, 1)))


def test_pictures_films_and_pages(swinging, tmp_path):
    import matplotlib.pyplot as plt

    ax = swinging.plot.snapshots([0, 0.2])
    assert len(ax.collections) == 4  # two legs at two times
    assert len(swinging.plot.snapshots([0, 0.2], "rope").collections) == 0
    plt.close("all")
    swinging.save(tmp_path / "film.gif", np.linspace(0, 0.2, 3))
    assert (tmp_path / "film.gif").stat().st_size > 1000
    swinging.save(tmp_path / "page.html", np.linspace(0, 0.2, 3))
    scene = json.loads(re.search(r"let scene = (.*);\n", (tmp_path / "page.html").read_text())[1])
    assert [len(c["q"]) for c in scene["curves"]] == [60, 60]


def test_vtk_has_surface_and_velocity(swinging, tmp_path):
    swinging.save(tmp_path / "motion.pvd", [0.0, 0.2])
    text = (tmp_path / "motion" / "motion_1.vtu").read_text()

    def values(name, kind):
        data = re.search(f'Name="{name}"[^>]*>([^<]*)<', text)[1]
        return np.frombuffer(base64.b64decode(data)[8:], kind)

    types, points = values("types", "u1"), values("Points", "f8").reshape(-1, 3)
    assert np.sum(types == 9) == 32 and np.sum(types == 4) == 1, np.unique(types, return_counts=True)
    velocity = values("velocity", "f8").reshape(-1, 3)
    d = 1e-4
    other = make_scene(swinging, [0.2 - d, 0.2]).curves[0]
    first = int(np.flatnonzero(np.all(np.isclose(points, other.surface(1)[-1, 0], rtol=0, atol=1e-12), axis=1))[0])
    assert np.allclose(velocity[first], (other.surface(1)[-1, 0] - other.surface(0)[-1, 0]) / d, rtol=0, atol=0.1)
