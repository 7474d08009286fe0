"""`coordinates = "joint"` of a model file: the same motions, in the coordinates of joints."""

from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model

pytestmark = pytest.mark.long

MODELS = Path(__file__).parents[2] / "examples" / "models"


def in_joints(tmp_path, name, *replaced):
    text = (MODELS / f"{name}.toml").read_text()
    for before, after in replaced:
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / f"{name}.toml"
    path.write_text('coordinates = "joint"\n' + text)
    return load_model(path)


@pytest.mark.parametrize(("name", "n_q", "n_constraints", "apart"), [
    ("double_pendulum", 2, 0, 5e-5), ("heavy_top", 7, 3, 2e-9), ("slider_crank", 4, 3, 5e-5),
    ("four_bar", 19, 3, 1e-12), ("andrews_squeezer", 7, 15, 5e-9), ("pendulum_boundary", 1, 0, 5e-7),
    ("crane_inverse", 5, 3, 2e-6), ("reorientation_effort", 7, 0, 1e-12)])
def test_the_same_motion(tmp_path, name, n_q, n_constraints, apart):
    small, whole = in_joints(tmp_path, name), load_model(MODELS / f"{name}.toml")
    assert (small.system.n_q, small.system.n_constraints) == (n_q, n_constraints)
    a, b = whole.solve(progress=False), small.solve(progress=False)
    assert a.success and b.success
    t = np.linspace(*whole.t_span, 21)
    for body in (body for body in whole.system.bodies if not body.helper):
        np.testing.assert_allclose(b.position(body.name, t), a.position(body, t), rtol=0, atol=apart)


def test_poses_that_joints_do_not_allow_are_told_by_their_line(tmp_path):
    with pytest.raises(tf.InputError, match=r"double_pendulum.toml.*tree.bar2: its position is 0.1 off what its joint "
                                            "'elbow' allows"):
        in_joints(tmp_path, "double_pendulum", ("position = [0, 1.5, 0]", "position = [0, 1.6, 0]"))


BALL = """
gravity = [0, 0, -9.81]
[time]
span = [0, 1]
n_elements = 8
[problem]
kind = "optimal"
[problem.end.pivot]
orientation = [0.8, 0, 0.6, 0]
angular_velocity = [0.3, 0, 1.5]        # in the axes of the ground
[bodies.rod]
type = "rigid"
mass = 1
inertia = [0.1, 0.105, 0.01]
position = [0, 0, -0.5]
[joints.pivot]
type = "spherical"
bodies = ["rod"]
point_a = [0, 0, 0.5]
point_b = [0, 0, 0]
[actuators.torque]
type = "control_torque"
body = "rod"
axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
effort = 1
"""
DOOR = """
gravity = [0, 0, -9.81]
[time]
span = [0, 1]
n_elements = 40
[solver]
degree = 3
[bodies.door]
type = "rigid"
mass = 2
inertia = [0.2, 0.01, 0.2]
[joints.hinge]
type = "revolute"
bodies = ["door"]
point_a = [0, -0.5, 0]
point_b = [0, 0, 0]
axis_a = [1, 0, 0]
axis_b = [1, 0, 0]
[forces.closer]
type = "joint_spring"
joint = "hinge"
stiffness = 3
"""


def both_ways(tmp_path, text):
    """The file in coordinates of bodies, and of joints."""
    for name, head in (("bodies", ""), ("joints", 'coordinates = "joint"')):
        (tmp_path / f"{name}.toml").write_text(head + text)
    return load_model(tmp_path / "bodies.toml"), load_model(tmp_path / "joints.toml")


def test_an_end_means_the_same(tmp_path):
    wanted = np.cross([0.3, 0, 1.5], [-0.48, 0, -0.14])
    for model in both_ways(tmp_path, BALL):
        sol = model.solve(progress=False)
        assert sol.success
        np.testing.assert_allclose(sol.velocity(model.system["rod"], 1.0), wanted, atol=1e-4)


@pytest.mark.parametrize("given", ["hinge = 0.3", "hinge = {angle = 0.3}", "hinge = {angle = [0.3, 0]}"])
def test_coordinates_by_their_names_at_an_end(tmp_path, given):
    text = DOOR + f"""
    [problem]
    kind = "optimal"
    end = {{{given}}}
    [actuators.drive]
    type = "joint_control"
    joint = "hinge"
    effort = 1
    """
    for model in both_ways(tmp_path, text + "[state]\nhinge = {angle = 0.1}"):
        sol = model.solve(progress=False)
        assert abs(sol.joint("hinge").angle(0.0) - 0.1) < 1e-9 and abs(sol.joint("hinge").angle(1.0) - 0.3) < 1e-9


def test_numbers_by_the_names_of_bodies_and_joints(tmp_path):
    names = """
    [state]
    hinge = {angle = 0.1}
    [sensitivity]
    of = ["end:door.position[2]", "integral:door.velocity[1]"]
    parameters = ["door.mass", "door.inertia[0]", "closer.stiffness", "gravity[2]"]
    """
    a, b = (model.sensitivities()["functionals"].values() for model in both_ways(tmp_path, DOOR + names))
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose([one["value"], *one["derivatives"]], [other["value"], *other["derivatives"]],
                                   rtol=1e-6)
    model = load_model(tmp_path / "joints.toml")
    solver = tf.prepare(model.problem, model.element, model.n_elements, progress=False)
    heavy = solver.solve(parameters={"door.mass": 3.0})
    assert heavy.system["tree"].links[1].mass == 3.0
    assert abs(heavy.z[-1, 0] - solver.solve().z[-1, 0]) > 1e-3


def test_unknown_numbers_of_bodies(tmp_path):
    text = DOOR + """
    [problem]
    kind = "optimal"
    end = {hinge = 0.3}
    parameters.m = {part = "door", number = "mass", lower = 1, upper = 3}
    [state]
    hinge = {angle = 0.1}
    [actuators.drive]
    type = "joint_control"
    joint = "hinge"
    effort = 1
    """
    a, b = (model.solve(progress=False) for model in both_ways(tmp_path, text))
    assert abs(a.objective - b.objective) < 1e-6 * a.objective
    assert abs(a.statistics["parameters"]["m"] - b.statistics["parameters"]["m"]) < 1e-6
