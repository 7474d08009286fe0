"""Unknown numbers of trees, numbers that follow, energies and powers in model files; elements that do not fit."""

import re

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.errors import InputError
from timefem.models import inspect, load_model, read_model

pytestmark = pytest.mark.long

ARM = """
title = "Arm of an unknown length"
gravity = [0, 0, -9.81]

[bodies.arm]
type = "tree"
state = {hinge = 0.2}

[[bodies.arm.links]]
name = "base"

[[bodies.arm.links]]
name = "rod"
mass = 1.0
inertia = [0.01, 0.08, 0.08]

[[bodies.arm.links]]
name = "tool"
mass = 0.5
inertia = [0.001, 0.001, 0.001]

[[bodies.arm.joints]]
name = "hinge"
parent = "base"
child = "rod"
axis = [0, 1, 0]

[[bodies.arm.joints]]
name = "grip"
parent = "rod"
child = "tool"
kind = "fixed"
position = [0.6, 0, 0]

[actuators.drive]
type = "joint_control"
joint = "arm.hinge"
effort = 1.0

[problem]
kind = "optimal"
cost = "0.1 * now.power('drive')**2 + now.kinetic_energy() + 0.5 * now.parameters['l']**2"
end_cost = "8 / parameters['l']"

[problem.parameters]
l = {value = 0.6, lower = 0.2, upper = 3}

[problem.follows]
"arm.grip.position[0]" = "parameters['l']"
"arm.rod.mass" = "2 * parameters['l']"
"arm.rod.centre[0]" = "parameters['l'] / 2"

[problem.end.arm]
joints = {hinge = 0.9}

[limits.work]
formula = "now.power('drive')"
at = "integral"
upper = 50

[time]
span = [0, 1]
n_elements = 8
"""


def written(tmp_path, *changes):
    text = ARM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "arm.toml"
    path.write_text(text)
    return path


def test_a_length_with_all_that_follows(tmp_path):
    """As in Python, where the numbers are known and given."""
    sol = load_model(written(tmp_path)).solve(progress=False)
    found = sol.parameters["l"]
    tree = sol.system["arm"]
    assert sol.success and 0.3 < found < 2.5 and tree.joints[1].position[0] == pytest.approx(found, rel=1e-12)
    assert tree.links[1].mass == pytest.approx(2 * found, rel=1e-12) == pytest.approx(4 * tree.links[1].centre[0])
    assert np.linalg.norm(sol.position("arm.tool", 1.0)) == pytest.approx(found, rel=1e-9)

    def cost(length):
        known = load_model(written(
            tmp_path, ("l = {value = 0.6, lower = 0.2, upper = 3}", ""), ("[problem.follows]", ""),
            *((line, "") for line in re.findall(r'"arm\S+ = .*', ARM)), ("mass = 1.0\n", (
                f"mass = {2 * length!r}\ncentre = [{length / 2!r}, 0, 0]\n")),
            ("position = [0.6,", f"position = [{length!r},"), ("now.parameters['l']", repr(length)),
            ("\"8 / parameters['l']\"", f'"{8 / length!r} + 0 * end.t"')))
        return known.solve(progress=False).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-8)
    assert abs(cost(found * 1.001) - cost(found * 0.999)) / 0.002 < 1e-4 * sol.objective


def test_a_design_without_actuators(tmp_path):
    """The length of an arm that swings at 3 rad/s when it hangs."""
    path = written(
        tmp_path, ("[actuators.drive]\ntype = \"joint_control\"\njoint = \"arm.hinge\"\neffort = 1.0\n", ""),
        (re.search("cost = .*", ARM)[0], "cost = \"1e6 * (now.q('arm')[0] - pi / 2 - 0.02 * cos(3 * now.t))**2\""),
        ("end_cost = \"8 / parameters['l']\"", ""), ("[problem.end.arm]\njoints = {hinge = 0.9}", ""),
        (re.search(r"\[limits.work\][^\[]*", ARM)[0], ""), ("value = 0.6, lower = 0.2", "value = 2.5, lower = 1"),
        ("state = {hinge = 0.2}", f"state = {{hinge = {np.pi / 2 + 0.02!r}}}"))
    sol = load_model(path).solve(progress=False)
    x = sol.parameters["l"]
    inertia = 0.08 + 2 * x * x**2 / 4 + 1e-3 + 0.5 * x**2
    assert sol.success and np.sqrt(9.81 * (2 * x * x / 2 + 0.5 * x) / inertia) == pytest.approx(3, rel=1e-3)
    with pytest.raises(InputError, match="needs a table of actuators, or unknown numbers"):
        load_model(written(tmp_path, ("[actuators.drive]\ntype = \"joint_control\"\njoint = \"arm.hinge\"\n"
                                      "effort = 1.0\n", ""), ("l = {value = 0.6, lower = 0.2, upper = 3}", "")))


@pytest.mark.parametrize("change, message", [
    (("l = {value = 0.6,", 'l = {value = 0.6, number = "gravity[2]",'), "problem.parameters.l: needs either"),
    (("l = {value = 0.6,", 'l = {part = "arm", number = "hing.damping",'), "problem.parameters.l.number: .*no number"),
    (("lower = 0.2, upper = 3}", "lower = 3, upper = 0.2}"), "problem.parameters.l.lower: bounds of l: the lower one"),
    (('"arm.rod.mass"', '"arm.rod.mas"'), "problem.*has no number|problem.*mas"),
    (("= \"2 * parameters['l']\"", "= \"2 * parameters['k']\""), "has no 'k'; known are 'l'"),
    (("now.power('drive')**2", "now.power('drove')**2"), "no part 'drove'.*mean 'drive'"),
])
def test_faults(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        load_model(written(tmp_path, change))


def test_an_element_that_does_not_fit_is_told(timefem, tmp_path):
    """Friction needs controls that are constant over an element."""
    text = find_case("box-friction").path.read_text()
    path = tmp_path / "box.toml"
    path.write_text(re.sub("element = .*", 'element = "mg"', text))
    assert inspect(read_model(find_case("box-friction").path))["faults"] == []
    fault, = inspect(read_model(path))["faults"]
    assert fault["keys"] == ("solver", "element") and "take elements with one value of the controls" in fault["message"]
    model = load_model(path)  # for runs with another element
    with pytest.raises(InputError, match=r"box.toml:\d+: solver.element: law: rigid contacts and friction"):
        model.solve(progress=False)
    path.write_text(re.sub("element = .*", "degree = 2", text))
    code, _, err = timefem("run", path)
    assert code == 2 and re.search(r"box.toml:\d+: limits.law: law: rigid contacts and friction take elements", err)
    assert model.solve(element=tf.SymplecticEuler(), progress=False).success
