"""Tables for people: of systems, elements and solutions, and as xarray."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from timefem.display import Card

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def swing():
    return tf.solve(pendulum(t_end=0.5), tf.MixedGalerkin(2), 5, progress=False)


class Balanced(HTMLParser):
    """Texts of a page whose tags all end in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_card():
    card = Card("A", {"x": 1, "longer": "<b>"}, {"table": [("h", "i"), (1, 22), (333, 4)]})
    assert repr(card).splitlines() == ["A", "  x       1", "  longer  <b>", "  table", "    h    i", "    1    22",
                                       "    333  4"]
    assert Balanced(card._repr_html_()).texts == ["A", "x", "1", "longer", "<b>", "table", "h", "i", "1", "22", "333",
                                                  "4"]


def test_system():
    text = re.sub(" +", " ", repr(pendulum().system.summary()))
    for part in ("coordinates 7", "pendulum RigidBody, quaternion 100", "support FixedPoint", "Gravity 1 Gravity"):
        assert part in text
    texts = Balanced(pendulum().system._repr_html_()).texts
    assert texts[0] == "System" and "support" in texts
    many = tf.System([tf.PointMass(1) for _ in range(30)])
    assert "bodies, 18 more" in repr(many.summary()) and "body13" not in repr(many.summary())


@pytest.mark.parametrize("element", [tf.MixedGalerkin(3), tf.BubnovGalerkin(2, "continuous"), tf.EML(), tf.EMH()])
def test_element(element):
    text = repr(element.summary())
    assert text.startswith(repr(element)) and f"order                {element.order}\n" in text
    assert f"can be marched       {'yes' if element.can_march else 'no'}" in text
    assert Balanced(element._repr_html_()).texts[0] == repr(element)


def test_solution(swing):
    errors, text = swing.errors(), repr(swing.summary())
    assert "status             converged" in text and "MixedGalerkin(degree=2" in text
    assert "0 to 0.5 s in 5 elements" in text and "driver march, 1 rank" in text
    assert f"{errors['energy']:.1e}" in text and f"{errors['velocity']:.1e}" in text
    assert Balanced(swing._repr_html_()).texts[0] == "Solution"
    start = tf.Solution(swing.system, swing.element, swing.t[:1], swing.z[0], swing.nodal.state[:0],
                        swing.nodal.multipliers[:0], swing.status, {})
    assert "in 0 elements" in repr(start.summary())


def test_summary_of_a_failed_solve():
    sol = tf.solve(spinning_box(t_end=50), tf.BubnovGalerkin(1), 20, guess="constant",
                   newton=tf.Newton(max_iterations=2), progress=False)
    assert not sol.success and sol.status.message in repr(sol.summary())


# ---- xarray

def test_without_xarray(swing, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(tf.MissingBackend, match="pip install xarray"):
        swing.to_xarray()


def test_xarray(swing):
    pytest.importorskip("xarray")
    data = swing.to_xarray()
    assert np.array_equal(data.time, swing.t) and data.time.units == "s"
    assert np.array_equal(data.position.sel(body="pendulum"), swing.position("pendulum", swing.t))
    assert data.position.sel(body="pendulum", axis="z").dims == ("time",)
    assert np.array_equal(data.rotation_matrix[:, 0], swing.rotation_matrix("pendulum", swing.t))
    assert np.array_equal(data.energy, swing.energy()) and data.energy.units == "J"
    assert data.constraint.values.tolist() == swing.system.constraint_names
    force = data.multiplier.sel(constraint="support: fixed point, z")
    assert np.array_equal(force, swing.multipliers(swing.t)[:, 3])
    assert swing.to_xarray([0.1, 0.2]).sizes["time"] == 2


def test_xarray_of_mixed_bodies():
    pytest.importorskip("xarray")
    ball = tf.PointMass(1, name="ball")
    slider = tf.GeneralizedSystem(2, lambda q, v, c: (v[0]**2 + v[1]**2) / 2, name="slider").bodies[0]
    body = tf.RigidBody(1, [1, 1, 1], name="body")
    problem = tf.InitialValueProblem(tf.System([ball, slider, body]), {slider: tf.Coordinates([0, 0], [1, 2])}, (0, 1))
    data = tf.solve(problem, tf.MixedGalerkin(1), 2, progress=False).to_xarray()
    assert data.body.values.tolist() == ["ball", "body"]
    assert np.isnan(data.rotation_matrix.sel(body="ball")).all()
    np.testing.assert_allclose(data["slider coordinates"][-1], [1, 2], rtol=0, atol=1e-12)
    assert "angular_momentum" not in data and "energy" in data


def test_controls_and_found_parameters():
    pytest.importorskip("xarray")
    ball = tf.PointMass(2, dimension=1, name="ball")
    push = tf.ControlForce(ball, [(1, 0, 0)], name="push")
    path = {tf.PositionOutput(ball, "x"): lambda t: 3 * t**2}
    problem = tf.InverseDynamics(tf.System([ball]), path, {ball: tf.Pose()}, t_span=(0, 1), actuators=push)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4)
    controls = sol.to_xarray().controls
    assert controls.control.values.tolist() == ["push 1"]
    np.testing.assert_allclose(controls, np.full((5, 1), 12.0), rtol=0, atol=1e-9)
    sol.statistics["parameters"] = {"stiffness": 2.5}
    assert "found              stiffness = 2.5" in repr(sol.summary())


def test_tables_need_no_packages_of_data_frames(tmp_path):
    code = ("import sys; sys.modules |= {'pandas': None, 'xarray': None}; import timefem as tf\n"
            "ball = tf.PointMass(1.0, name='ball'); problem = tf.InitialValueProblem(tf.System([ball]), {}, (0, 1.0))\n"
            "sol = tf.solve(problem, tf.MixedGalerkin(1), 2); sol.save('a.csv'); print(sol.summary())\n"
            "try: sol.to_xarray()\nexcept tf.MissingBackend as error: print(error)")
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert "xarray" in ended.stdout and len((tmp_path / "a.csv").read_text().splitlines()) == 4
