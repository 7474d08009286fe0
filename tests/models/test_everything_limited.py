"""All that optimal control can limit, stated in one model file; and what is reported about wrong ones."""

import numpy as np
import pytest

from timefem.errors import InputError
from timefem.models import load_model

pytestmark = pytest.mark.long

ARM = """title = "Arm of two rigid bodies with springs, everything limited"
gravity = [0, -9.81, 0]
[time]
span = [0, 1.5]
n_elements = 10
[solver]
degree = 2
n_points = 2
[problem]
kind = "optimal"
free_time = true
duration = [0.3, 3]
cost = "0.1 * now.joint_rate('elbow')**2"
end_cost = "10 * end.t + 0.01 * parameters['k']**2"
parameters.k = {part = "helper", number = "stiffness", lower = 1, upper = 40}
[bodies.upper]
type = "rigid"
mass = 1.5
inertia = [0.01, 0.05, 0.05]
[bodies.lower]
type = "rigid"
mass = 1.0
inertia = [0.01, 0.03, 0.03]
[joints.shoulder]
type = "revolute"
bodies = ["upper"]
point_a = [-0.25, 0, 0]
point_b = [0, 0, 0]
axis_a = [0, 0, 1]
axis_b = [0, 0, 1]
[joints.elbow]
type = "revolute"
bodies = ["lower", "upper"]
point_a = [-0.2, 0, 0]
point_b = [0.25, 0, 0]
axis_a = [0, 0, 1]
axis_b = [0, 0, 1]
[state]
shoulder = -1.5
elbow = 0.3
[forces.helper]
type = "joint_spring"
joint = "shoulder"
stiffness = 5
rest = 0
[actuators.m1]
type = "joint_control"
joint = "shoulder"
effort = 0.1
lower = "-12 - t"
upper = "12 + t"
[actuators.m2]
type = "joint_control"
joint = "elbow"
effort = 0.1
lower = -8
upper = 8
lower_rate = -60
upper_rate = "60 - 5 * t"
[limits.angle]
formula = "now.joint('elbow')"
lower = "-0.1 - 0.1 * t"
upper = 2.2
[limits.rates]
formula = ["now.joint_rate('shoulder')", "now.joint_rate('elbow')"]
lower = [-4, -5]
upper = [4, "5 + t"]
[limits.tip]
formula = "now.position('lower', [0.2, 0, 0])[0]"
lower = -0.2
points = 2
[limits.there]
formula = "norm(now.position('lower', [0.2, 0, 0]) - [0.5, 0.5, 0])"
at = "end"
upper = 0.05
[limits.slow]
formula = "sumsqr(now.velocity('lower', [0.2, 0, 0]))"
at = "end"
upper = 0.04
[limits.work]
formula = "now.control('m1')**2 + now.control('m2')**2"
at = "integral"
upper = 150
"""


def written(tmp_path, old="", new=""):
    assert old in ARM
    path = tmp_path / "model.toml"
    path.write_text(ARM.replace(old, new, 1))
    return path


@pytest.mark.slow
def test_all_limits_hold(tmp_path):
    """Of controls, rates, angles and rates of joints, a point, both ends, an integral, a stiffness and the duration."""
    model = load_model(written(tmp_path))
    sol, ipopt = (model.solve(method=method, progress=False) for method in ("interior-point", "ipopt"))
    assert sol.success and ipopt.success and sol.objective == pytest.approx(ipopt.objective, rel=1e-7)
    t, u, slack = sol.t, sol.controls(sol.t), 1e-6
    assert 0.3 < t[-1] < 3 and 1 < sol.parameters["k"] < 40
    assert np.all(np.abs(u[:, 0]) < 12 + t + slack) and np.all(np.abs(u[:, 1]) < 8 + slack)
    rates = np.diff(u[:, 1]) / np.diff(t)
    assert np.all(rates > -60 - slack) and np.all(rates < 60 - 5 * (t[1:] + t[:-1]) / 2 + slack)
    elbow, shoulder = sol.joint("elbow"), sol.joint("shoulder")
    assert np.all(elbow.angle(t) > -0.1 - 0.1 * t - slack) and elbow.angle(t).max() < 2.2 + slack
    assert np.abs(shoulder.rate(t)).max() < 4 + slack and np.all(elbow.rate(t) < 5 + t + slack)
    nodes = np.sort(np.concatenate([t, *(t[:-1] + k / 3 * np.diff(t) for k in (1, 2))]))
    tip = np.array([sol.position("lower", at) + sol.rotation_matrix("lower", at) @ [0.2, 0, 0] for at in nodes])
    assert tip[:, 0].min() > -0.2 - slack
    assert np.linalg.norm(tip[-1] - [0.5, 0.5, 0]) < 0.05 + slack
    assert np.linalg.norm(tip[-1] - tip[-2]) < 0.2  # slow at the end


@pytest.mark.parametrize("old, new, message", [
    ('upper = [4, "5 + t"]', "upper = [4, 5, 6]", r":67: limits.rates.upper: .*3 bounds, but there are 2"),
    ('upper = [4, "5 + t"]', 'upper = [4, "5 + s"]', r":67: limits.rates.upper: .*unknown name 's'"),
    ('upper = "12 + t"', 'upper = "x"', r":51: actuators.m1.upper: .*unknown name 'x'; it has t, pi"),
    ('upper = "12 + t"', 'upper = "-13 - t"', r"actuators.m1.lower: .*above the upper one at t = 0"),
    ('"60 - 5 * t"', '"60 -"', r":52: actuators.m2: rates of m2: upper: .*cannot be read"),
    ('"10 * end.t', '"10 * end.T', r":14: problem.end_cost: .*'end' has no 'T'; did you mean 't'"),
    ('"10 * end.t', '"10 * end', r":14: problem.end_cost: .*'end' is not a number"),
    ("joint_rate('elbow')**2", "joint_rate('elbw')**2", r":13: problem.cost: .*no joint 'elbw' .*did you mean 'elbow'"),
    ("now.control('m1')**2", "now.control('m3')**2", r":81: limits.work.formula: .*no actuator 'm3' in the system"),
    ("[0.2, 0, 0])[0]", "[0.2, 0])[0]", r":69: limits.tip.formula: .*has three numbers, not 2"),
    ('number = "stiffness"', 'number = "stifness"', r":15: problem.parameters.k.number: .*did you mean 'stiffness'"),
    ("upper = 2.2", "upper = 0.1", r":60: limits.angle: .*violated by the state at the start"),
    ('"now.joint(\'elbow\')"', '"now.joint(\'elbow\') < 2"', r":61: limits.angle.formula: .*is a comparison"),
])
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    with pytest.raises(InputError, match=message):
        load_model(written(tmp_path, old, new))


def test_an_assembled_state_is_the_guess_of_a_free_start(tmp_path):
    """At rest, with angles that are found near those of the file."""
    still = "{upper = {velocity = [0, 0, 0]}, lower = {velocity = [0, 0, 0]}}"
    path = written(tmp_path, "free_time = true\n", f"free_time = true\nstart = {still}\n")
    path.write_text("assemble = true\n" + path.read_text())
    problem = load_model(path).problem
    assert problem.free_start and np.abs(problem.system.constraints(0, problem.z0)).max() < 1e-9
    upper = problem.system.find("upper")
    place = np.array([0.25 * np.cos(1.5), -0.25 * np.sin(1.5), 0])
    np.testing.assert_allclose(problem.z0[problem.system.coordinates(upper)][:3], place, rtol=0, atol=1e-9)
