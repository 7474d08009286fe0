"""Phases, contacts, couplings and quantities of model files, against the same problems in Python."""

import json

import numpy as np
import pytest

import timefem as tf
from tests.problems.phases.test_phases import hopping_leg, solved
from timefem.cases import find_case
from timefem.models import inspect, load_model

pytestmark = pytest.mark.long


def changed(tmp_path, name, *changes):
    text = find_case(name).path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "model.toml"
    path.write_text(text)
    return path


def test_phases_with_other_bodies_are_those_of_python():
    expected = solved(hopping_leg(), 16)
    model = load_model(find_case("hopping-by-phases").path)
    sol = model.solve(progress=False)
    assert sol.success and sol.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(sol.durations, expected.durations, rtol=0, atol=1e-7)
    facts = inspect(model)
    assert facts["faults"] == [] and [len(one["bodies"]) for one in facts["phases"]] == [1, 2]
    assert (facts["links"], facts["couplings"]) == ([["take-off"]], ["again"])


def test_a_bounce_on_the_command_line(timefem, tmp_path):
    """To 0.64 m; each phase is saved, and read again with equal states."""
    path = str(changed(tmp_path, "bounce-by-phases"))
    code, out, err = timefem("run", path, "--json", "-o", str(tmp_path / "a.h5"))
    assert code == 0, err
    report = json.loads(out)
    assert [phase["name"] for phase in report["phases"]] == ["fall", "rise"] and report["kind"] == "phases"
    assert report["phases"][1]["final"]["ball"]["position"][0] == pytest.approx(0.64, abs=1e-7)
    assert report["phases"][1]["start"] == pytest.approx((2 / 9.81)**0.5, abs=1e-7)
    sol = load_model(path).solve(progress=False)
    for number, phase in enumerate(sol.phases, 1):
        again = tf.load(tmp_path / f"a-{number}.h5")
        np.testing.assert_allclose(again.z, phase.z, rtol=0, atol=1e-12)
    code, out, _ = timefem("run", path)
    assert code == 0 and "rise" in out and "0.640000" in out
    code, out, _ = timefem("check", path)
    assert code == 0 and "rise follows by" in out and "bounce" in out
    code, out, err = timefem("run", path, "--tolerance", "1e-5", "--json")
    assert code == 0 and json.loads(out)["estimated_error"] <= 1e-5
    code, _, err = timefem("run", path, "--watch")
    assert code == 2 and "--watch is not used" in err


def test_misspelt_ends_are_told_the_names_of_their_table(timefem, tmp_path):
    """Links have before and after, couplings of both ends start and end; all four were listed."""
    path = changed(tmp_path, "bounce-by-phases", ("after.rates", "aftr.rates"))
    code, _, err = timefem("check", path)
    assert code == 2 and err.count(str(path)) == 1
    assert ".link.bounce.formula: bounce: " in err and "it has before, after, pi; did you mean 'after'?" in err
    path = changed(tmp_path, "hopping-by-phases", ('[couplings.again]\ntype = "same"\nbodies = ["body"]',
                                                   "[couplings.again]\nformula = \"begin.q('body')\""))
    code, _, err = timefem("check", path)
    assert code == 2 and ": couplings.again.formula: again: " in err and "it has start, end, pi; " in err


def test_a_state_that_goes_on_and_another_quantity_before(tmp_path):
    """Without a link the ball goes on through the floor; or its speed is 3 m/s more than twice its place before."""
    link = """[phases.link.bounce]                    # comes back with 0.8 of its speed
formula = "after.rates('ball') + 0.8 * before.rates('ball')"
"""
    through = [(link, ""), ("[phases.problem.start.ball]\nposition = [0, \"free\", \"free\"]\n\n", ""),
               ("[phases.problem.end.ball]\nvelocity = [0, ", "[phases.problem.end.ball]\nposition = [-1, ")]
    sol = load_model(changed(tmp_path, "bounce-by-phases", *through)).solve(progress=False)
    assert sol.success and sol.durations.sum() == pytest.approx((4 / 9.81)**0.5, abs=1e-7)
    other = [("after.rates('ball') + 0.8 * before.rates('ball')", "after.rates('ball') - 2 * before.q('ball') - 3"),
             ("velocity = [0, ", "position = [0.1, ")]
    sol = load_model(changed(tmp_path, "bounce-by-phases", *other)).solve(progress=False)
    assert sol.success and sol[1].velocity("ball", sol[1].t)[0, 0] == pytest.approx(3, abs=1e-7)


def test_couplings_of_both_ends(tmp_path):
    """A mass comes back 0.3 m farther, with 0.5 of its speed."""
    more = """
[couplings.farther]
formula = "end.position('mass')[0] - start.position('mass')[0]"
lower = 0.3
upper = 0.3

[couplings.slower]
formula = "end.rates('mass') - 0.5 * start.rates('mass')"
"""
    text = """
[time]
span = [0, 1]
n_elements = 10

[problem]
kind = "optimal"
start.mass = {position = [0, "free", "free"], velocity = [1, "free", "free"]}

[bodies.mass]
type = "point"
mass = 1
dimension = 1

[actuators.push]
type = "control_force"
body = "mass"
directions = [[1, 0, 0]]
effort = 1
"""
    path = tmp_path / "model.toml"
    path.write_text(text + more)
    sol = load_model(path).solve(progress=False)
    np.testing.assert_allclose(sol.z[[0, -1]], [[0, 1], [0.3, 0.5]], rtol=0, atol=1e-8)
    path.write_text(text + "[couplings.all]\ntype = 'same'\nbodies = ['mass']\n")
    with pytest.raises(tf.InputError, match=r"couplings\.all\.type: is for phases"):
        load_model(path)


def test_limits_of_joints_and_all_coordinates(tmp_path):
    """The rate of a hinge stays within 1.2 rad/s, by the joint, and by all coordinates of a tree; ends by joints."""
    text = """
[time]
span = [0, 1]
n_elements = 20

[problem]
kind = "optimal"
end.arm = {joints = {hinge = 1.0}}

[bodies.arm]
type = "tree"
links = [{name = "base"}, {name = "bar", mass = 1, centre = [0.5, 0, 0], inertia = [0.1, 0.1, 0.1]}]
joints = [{name = "hinge", parent = "base", child = "bar", axis = [0, 0, 1]}]

[actuators.motor]
type = "joint_control"
joint = "hinge"
effort = 1

[limits.speed]
"""
    path, found = tmp_path / "model.toml", []
    for limit in ("now.joint_rate('hinge')", "now.rates('arm')"):
        path.write_text(text + f'formula = "{limit}"' + "\nlower = -1.2\nupper = 1.2\n")
        sol = load_model(path).solve(progress=False)
        assert sol.success and sol.joint("hinge").angle(sol.t)[-1] == pytest.approx(1, abs=1e-8)
        assert sol.joint("hinge").rate(sol.t).max() == pytest.approx(1.2, abs=1e-6)  # 1.5 without the limit
        found.append(sol.objective)
    assert found[0] == pytest.approx(found[1], rel=1e-8)


@pytest.mark.parametrize("name, old, new, message", [
    ("hopping-by-phases", "[phases.limits.ground]", "[phases.limit.ground]",
     r"model.toml:42: phases\[0\].limit: unknown key; did you mean 'limits'"),
    ("hopping-by-phases", '"same"\nbodies = ["body"]\n\n[coup', '"same"\nbodies = ["foot"]\n\n[coup',
     r"phases\[1\].link.take-off.bodies: there is no body 'foot'"),
    ("hopping-by-phases", '[phases.link.take-off]\ntype = "same"\nbodies = ["body"]', "",
     r"phases\[1\].link: is missing: the phase has other bodies"),
    ("hopping-by-phases", "now.control('leg')\"\nlower", "now.control('lag')\"\nlower",
     r":43: phases\[0\].limits.ground.formula: .*no actuator 'lag' .*did you mean 'leg'"),
    ("hopping-by-phases", 'name = "stance"', 'name = "stance"\nlink = {}', "the first phase follows no other"),
    ("hopping-by-phases", 'kind = "phases"', 'kind = "optimal"', "phases: belongs to"),
    ("hopping-by-phases", '[phases.bodies.foot]\ntype = "point"\nmass = 1',
     '[phases.bodies.foot]\ntype = "point"\nmass = -1', r":54: phases\[1\].bodies.foot.mass: must be a positive"),
    ("hopping-by-phases", "problem.start.body = {}", "", "is violated by the state at the start"),
    ("bounce-by-phases", "after.rates", "end.rates", r"link.bounce.formula: .*'end'; it has before, after, pi"),
    ("bounce-by-phases", "rates('ball') +", "rates('ball')[3] +", r"link.bounce.formula: .*out of bounds"),
    ("bounce-by-phases", "formula =", 'type = "rate"\nformula =', r"link.bounce.type: must be one of"),
    ("bounce-by-phases", "after.rates", "after.control", r"link.bounce.formula: .*used at an end"),
    ("bounce-by-phases", 'name = "rise"', 'name = "rise"\nsolver = {degree = 3}', r"phases\[1\].solver: unknown key"),
    ("bounce-by-phases", "[solver]", "[solver]\ntol_residual = 1e-9", "tol_residual: is not used"),
    ("box-friction", "bound = 2", "", "limits.law: the key 'bound' is missing"),
    ("box-friction", "'rub'", "'rab'", r"model.toml:\d*: limits.law.force: .*no actuator 'rab' in the system"),
    ("box-friction", "now.rates('box')", "now.rates(box)", "limits.law.velocity: .*unknown name 'box'"),
    ("hopping-leg", "a = \"now.position('foot')[0]\"", "a = \"now.position('foot')\"",
     r"limits.contact.a: .*a gives 3 expressions and b 1"),
])
def test_bad_files(tmp_path, name, old, new, message):
    with pytest.raises(tf.InputError, match=message):
        load_model(changed(tmp_path, name, (old, new)))
