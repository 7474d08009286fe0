"""Conditions by formulas in model files, against the same in Python; and what is reported about wrong ones."""

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
BOUNDARY = CRANE + """[problem]
kind = "boundary"
start = {rail = 0, hinge = 0}
conditions = ["end.joint('hinge') - start.joint('hinge') - 0.4",
              "end.joint_rate('rail') + 0.2 * start.joint_rate('rail') - parameters['speed']",
              "parameters['speed'] - 0.3"]
parameters.speed = {value = 0.1}
"""
OPTIMAL = CRANE + """state.hinge = 0.1
[problem]
kind = "optimal"
end_conditions = ["end.joint('rail') - parameters['place']", "end.joint_rate('rail')", "end.joint_rate('hinge')"]
end_cost = "20 * (parameters['place'] - 0.3)**2"
parameters.place = {value = 0.2, lower = 0, upper = 0.25}
path = ["now.joint_rate('rail') - 0.8", "-u - 30"]
[actuators.push]
type = "joint_control"
joint = "rail"
effort = 0.001
"""


def of_file(tmp_path, text):
    path = tmp_path / "model.toml"
    path.write_text(text)
    return load_model(path)


def crane():
    cart, rod = tf.RigidBody(2, [0.1, 0.1, 0.1], name="cart"), tf.RigidBody(1, [0.02, 0.02, 0.001], name="rod")
    rail = tf.Prismatic(cart, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_b=[1, 0, 0], name="rail")
    hinge = tf.Revolute(rod, cart, point_a=[0, 0, 0.5], point_b=[0, 0, 0], axis_a=[0, 1, 0], axis_b=[0, 1, 0],
                        name="hinge")
    return tf.System([cart, rod, rail, hinge], gravity=(0, 0, -9.81)), rail, hinge


def same(found, expected):
    assert found.success and expected.success
    np.testing.assert_allclose(found.z, expected.z, rtol=0, atol=1e-12 * np.abs(expected.z).max())


def test_conditions_of_boundary_values(tmp_path):
    found = of_file(tmp_path, BOUNDARY).solve(progress=False)
    system, rail, hinge = crane()

    def conditions(start, end, parameters):
        return [end.joint(hinge) - start.joint(hinge) - 0.4,
                end.joint_rate(rail) + 0.2 * start.joint_rate(rail) - parameters["speed"], parameters["speed"] - 0.3]

    problem = tf.BoundaryValueProblem(system, (0, 0.5), {rail: 0, hinge: 0}, conditions=conditions,
                                      parameters={"speed": 0.1})
    same(found, tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False))
    rates = found.joint("rail").rate()
    assert abs(found.joint("hinge").coordinate()[-1] - 0.4) < 1e-10 and abs(rates[-1] + 0.2 * rates[0] - 0.3) < 1e-10


def test_conditions_of_the_end_and_the_path_of_optimal_control(tmp_path):
    found = of_file(tmp_path, OPTIMAL).solve(progress=False)
    system, rail, hinge = crane()
    push = tf.JointControl(rail, name="push")
    problem = tf.OptimalControl(
        system, {rail: 0, hinge: 0.1}, {}, (0, 0.5), tf.Effort(push, 0.001), parameters={"place": 0.2},
        bounds={"place": (0, 0.25)},
        end_conditions=lambda end, c: [end.joint(rail) - c["place"], end.joint_rate(rail), end.joint_rate(hinge)],
        end_cost=lambda end, c: 20 * (c["place"] - 0.3)**2,
        path=lambda now, u: [now.joint_rate(rail) - 0.8, -u - 30])
    same(found, tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False))
    assert found.joint("rail").rate().max() < 0.8 + 1e-6
    assert abs(found.joint("rail").coordinate()[-1] - found.parameters["place"]) < 1e-9


def test_reports_name_conditions(timefem, tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(BOUNDARY)
    assert "conditions[1]" in timefem("check", path)[1]
    status, out, _ = timefem("run", path, "--json")
    assert status == 0 and '"speed": 0.3' in out


@pytest.mark.parametrize("text, old, new, message", [
    (BOUNDARY, "end.joint('hinge')", "end.joint('hing')", r":11: problem.conditions: .*no joint 'hing'.*did you mean"),
    (BOUNDARY, "parameters['speed'] - 0.3", "now.t - 0.3", r":11: problem.conditions: .*unknown name 'now'"),
    (BOUNDARY, "- start.joint('hinge') - 0.4", "== 0.4", r":11: problem.conditions: .*comparison"),
    (BOUNDARY, "conditions =", "condition =", r":11: problem.condition: unknown key; did you mean 'conditions'"),
    (BOUNDARY, "conditions =", "gravity =", r":11: problem.gravity: unknown key; .*top of the file, above all"),
    (BOUNDARY, "conditions =", "path =", r':11: problem.path: belongs to kind = "optimal" or "phases"'),
    (OPTIMAL, "end.joint('rail')", "end.joint('rial')", r"problem.end_conditions: .*no joint 'rial'.*did you mean"),
    (OPTIMAL, "now.joint_rate('rail')", "now.jointrate('rail')", r"problem.path: .*'now' has no 'jointrate'"),
    (OPTIMAL, "path = [\"now.joint_rate('rail') - 0.8\",", "path = [\"now.joint_rate('rail') + 0.8\",",
     r"problem.path: path\[0\] is violated by the state at the start"),
])
def test_what_is_wrong_is_named(tmp_path, text, old, new, message):
    assert old in text
    with pytest.raises(tf.InputError, match=message):
        of_file(tmp_path, text.replace(old, new, 1))
