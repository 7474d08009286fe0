"""States and ends by coordinates of joints in model files."""

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model

pytestmark = pytest.mark.long

CRANE = """
gravity = [0, 0, -9.81]
time = {span = [0, 0.5], n_elements = 10}
bodies.cart = {type = "rigid", mass = 2, inertia = [0.1, 0.1, 0.1]}
bodies.rod = {type = "rigid", mass = 1, inertia = [0.02, 0.02, 0.001]}
joints.rail = {type = "prismatic", bodies = ["cart"], point_a = [0, 0, 0], point_b = [0, 0, 0], axis_b = [1, 0, 0]}
joints.hinge = {type = "revolute", bodies = ["rod", "cart"], point_a = [0, 0, 0.5], point_b = [0, 0, 0], \
axis_a = [0, 1, 0], axis_b = [0, 1, 0]}
"""
BOUNDARY = CRANE + """
[problem]
kind = "boundary"
start = {rail = 0, hinge = 0}
end = {rail = 0.3, hinge = 0.4}
"""
OPTIMAL = CRANE + """
state = {hinge = [0.1, 0.5]}
actuators.push = {type = "joint_control", joint = "rail", effort = 1}
problem = {kind = "optimal", end = {rail = [0.1, 0.0], hinge = 0.1}}
"""


def loaded(tmp_path, text):
    path = tmp_path / "crane.toml"
    path.write_text(text)
    return load_model(path)


def test_ends_by_joints(tmp_path):
    solution = loaded(tmp_path, BOUNDARY).solve(progress=False)
    assert solution.success
    for joint, ends in (("rail", (0, 0.3)), ("hinge", (0, 0.4))):
        np.testing.assert_allclose(solution.joint(joint).coordinate()[[0, -1]], ends, rtol=0, atol=1e-11)


def test_optimal_control_by_joints(tmp_path):
    solution = loaded(tmp_path, OPTIMAL).solve(progress=False)
    assert solution.success
    for joint, start, end in (("rail", (0, 0), (0.1, 0)), ("hinge", (0.1, 0.5), (0.1, 0))):
        motion = solution.joint(joint)
        np.testing.assert_allclose([motion.coordinate()[0], motion.rate()[0]], start, rtol=0, atol=1e-11)
        np.testing.assert_allclose([motion.coordinate()[-1], motion.rate()[-1]], end, rtol=0, atol=1e-8)


@pytest.mark.parametrize("old, new, message", [
    ("hinge = 0.4", "hing = 0.4", r"problem.end.hing: there is no joint 'hing'; did you mean 'hinge'"),
    ("hinge = 0.4", "hinge = true", r"problem.end.hinge: must be .* the coordinate of a joint"),
    ("[problem]", "[state]\nrod = {position = [0, 0, 0]}\n[problem]",
     r"state.rod: 'rod' is a body, not a joint; its state at the start is given in \[bodies.rod\]"),
    ("hinge = 0.4", "rod = {positon = [0, 0, 0]}", r"problem.end.rod.positon: unknown key; did you mean 'position'"),
])
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    with pytest.raises(tf.InputError, match=message):
        loaded(tmp_path, BOUNDARY.replace(old, new)).solve(progress=False)


def test_rates_at_ends_are_prescribed(tmp_path):
    with pytest.raises(tf.InputError, match=r"but 5 are given: .*rate of hinge at the end \(1\); leave out 1"):
        loaded(tmp_path, BOUNDARY.replace("hinge = 0.4", "hinge = [0.4, 1]"))


@pytest.mark.parametrize("kind", ["initial", "optimal"])
def test_rates_of_joints_stay_when_masses_change(tmp_path, kind):
    """Velocities are what the file states; momenta follow the masses."""
    text = OPTIMAL if kind == "optimal" else CRANE + "state = {hinge = [0.1, 0.5]}\n"
    changes = {"mass = 1,": "mass = 1.4,", "[0.02, 0.02, 0.001]": "[0.03, 0.03, 0.002]"}
    solver = tf.prepare(loaded(tmp_path, text).problem, tf.MixedGalerkin(2), 10)
    found = solver.solve(parameters={"rod.mass": 1.4, "rod.inertia": [0.03, 0.03, 0.002]})
    for old, new in changes.items():
        text = text.replace(old, new)
    fresh = tf.solve(loaded(tmp_path, text).problem, tf.MixedGalerkin(2), 10)
    assert found.success and abs(found.joint("hinge").rate()[0] - 0.5) < 1e-12
    np.testing.assert_allclose(found.z, fresh.z, rtol=0, atol=1e-9)


def test_a_missing_key_tells_what_it_is(tmp_path):
    with pytest.raises(tf.InputError, match="the key 'axis_b' is missing: the axis or normal in b"):
        loaded(tmp_path, CRANE.replace(", axis_b = [1, 0, 0]", ""))
