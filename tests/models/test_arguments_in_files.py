"""What optimal control, boundary values and `solve` take besides, in model files, against the same in Python."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model
from timefem.models.schema import schema
from timefem.models.schema_values import COORDINATES

pytestmark = pytest.mark.long

MASS = """
time = {span = [0, 2], n_elements = 12}
solver = {degree = 2, n_points = 2}
bodies.mass = {type = "point", mass = 1, dimension = 1}
actuators.push = {type = "control_force", body = "mass", directions = [[1, 0, 0]], effort = 1, lower = -2.5, \
upper = 2.5}
"""
OPTIMAL = MASS + """
[problem]
kind = "optimal"
free_time = true
end_cost = "1.5 * parameters['duration']"
duration = {lower = 0.5}
end.mass = {position = [1, "free", "free"], velocity = [0, "free", "free"]}
"""
ELEMENT = tf.MixedGalerkin(2, n_points=2)


def of_file(tmp_path, text, *changes):
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "model.toml"
    path.write_text(text)
    return load_model(path)


def pushed(bounds=(0.5, None), **further):
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    rest = tf.EndState(position=[1, None, None], velocity=[0, None, None])
    return tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: rest}, (0, 2), tf.Effort(push),
                             free_time=True, end_cost="1.5 * parameters['duration']", **further,
                             bounds={push: (-2.5, 2.5), "duration": bounds})


def same(found, expected):
    assert found.success and expected.success
    np.testing.assert_allclose(found.z, expected.z, rtol=0, atol=1e-12 * np.abs(expected.z).max())
    np.testing.assert_allclose(found.t, expected.t, rtol=0, atol=1e-12 * expected.t[-1])


@pytest.mark.parametrize("said, bounds", [("{lower = 0.5}", (0.5, None)), ("{upper = 1.4}", (None, 1.4)),
                                          ("[0.5, 1.3]", (0.5, 1.3))])
def test_one_sided_durations(tmp_path, said, bounds):
    found = of_file(tmp_path, OPTIMAL, ("{lower = 0.5}", said)).solve(progress=False)
    same(found, tf.solve(pushed(bounds), ELEMENT, 12, progress=False))
    assert found.t[-1] == pytest.approx(min(bounds[1] or 9, (12 / 1.0)**0.25), rel=0.1)


@pytest.mark.parametrize("said, method", [
    ("{name = 'interior-point', tolerance = 1e-11, pushes = 0}", tf.InteriorPoint(1e-11, pushes=0)),
    ("{name = 'ipopt', tolerance = 1e-10, options = {mu_strategy = 'adaptive'}}",
     tf.Ipopt(1e-10, options={"mu_strategy": "adaptive"})),
    ("{name = 'fatrop', max_iterations = 300}", tf.Fatrop(max_iterations=300))])
def test_methods_with_options(tmp_path, said, method):
    model = of_file(tmp_path, OPTIMAL, ("n_points = 2}", f"n_points = 2, method = {said}}}"))
    found = model.solve(progress=False)
    assert model.settings["method"] == method and found.statistics["backend"] == method.name
    same(found, tf.solve(pushed(), ELEMENT, 12, method=method, progress=False))


def test_limits_of_outputs(tmp_path):
    found = of_file(tmp_path, OPTIMAL + """
        [outputs.place]
        type = "position"
        body = "mass"
        axis = "x"
        [limits.gate]
        output = "place"
        upper = "0.05 + 0.45 * t"
        """).solve(progress=False)
    mass_limit = tf.Limit("now.position('mass')[0]", upper="0.05 + 0.45 * t", name="gate")
    expected = tf.solve(pushed(limits=mass_limit), ELEMENT, 12, progress=False)
    same(found, expected)
    gap = 0.05 + 0.45 * found.t - found.z[:, 0]
    assert -1e-6 < gap.min() < 1e-6


def test_ends_of_elements(tmp_path, timefem):
    mesh = [0, 0.1, 0.25, 0.5, 1, 1.5, 1.75, 2]
    model = of_file(tmp_path, OPTIMAL, ("n_elements = 12", f"mesh = {mesh}"))
    found = model.solve(progress=False)
    same(found, tf.solve(pushed(), ELEMENT, mesh=mesh, progress=False))
    np.testing.assert_allclose(found.t / found.t[-1], np.array(mesh) / 2, rtol=0, atol=1e-12)
    status, out, _ = timefem("run", model.document.path, "--json")
    assert status == 0 and json.loads(out)["n_elements"] == 7
    assert json.loads(timefem("run", model.document.path, "--json", "--n-elements", "9")[1])["n_elements"] == 9


def test_several_starts(tmp_path, timefem):
    model = of_file(tmp_path, OPTIMAL, ('kind = "optimal"', 'kind = "optimal"\nn_starts = 3'))
    found = model.solve_all(processes=1, progress=False)
    assert [sum(len(one.statistics["starts"]) for one in found), found[0].statistics["failed_starts"]] == [3, []]
    out = json.loads(timefem("solve-all", model.document.path, "--json")[1])
    assert out["n_starts"] == 3 and out["solutions"][0]["objective"] == pytest.approx(found[0].objective, rel=1e-9)


def test_guesses_of_states(tmp_path):
    """States at times, and controls."""
    states, times = [[0.0, 0.0], [0.7, 0.6], [1.0, 0.0]], [0.0, 1.2, 2.0]
    model = of_file(tmp_path, f"{OPTIMAL}[guess]\nmotion = {states}\ntimes = {times}\ncontrols.push = '1 - t'\n")
    found = model.solve(progress=False)
    guess = tf.Guess(states, times=times, controls={"push": lambda t: 1 - t})
    expected = tf.solve(pushed(), ELEMENT, 12, guess=guess, progress=False)
    same(found, expected)
    assert found.statistics["newton_iterations"] == expected.statistics["newton_iterations"]


TURN = """
time = {span = [0, 1], n_elements = 8}
bodies.box = {type = "rigid", mass = 1, inertia = [1, 2, 3]}
[problem]
kind = "boundary"
start.box = {position = [0, 0, 0], orientation = [1, 0, 0, 0]}
end.box = {position = [0, 0, 1], orientation = [0.8, 0, 0.6, 0]}
"""
INVERSE = """
time = {span = [0, 1], n_elements = 8}
bodies.mass = {type = "point", mass = 1, dimension = 1}
actuators.push = {type = "control_force", body = "mass", directions = [[1, 0, 0]]}
outputs.x = {type = "position", body = "mass", axis = "x", trajectory = "t**4"}
problem.kind = "inverse"
"""


@pytest.mark.parametrize("text", [TURN, INVERSE])
def test_solutions_as_guesses(tmp_path, text):
    first = of_file(tmp_path, text).solve(progress=False)
    first.save(tmp_path / "first.h5")
    again = of_file(tmp_path, text + "[guess]\nsolution = 'first.h5'\n").solve(progress=False)
    np.testing.assert_allclose(again.z, first.z, rtol=0, atol=1e-12)
    assert again.statistics["newton_iterations"]["max"] <= 2


@pytest.mark.parametrize("text, old, new, message", [
    (OPTIMAL, "{lower = 0.5}", "{}", r"problem.duration: must be a table with lower, upper or both"),
    (OPTIMAL, "{lower = 0.5}", "{lowr = 0.5}", r"problem.duration.lowr: unknown key; did you mean 'lower'"),
    (OPTIMAL, "n_points = 2}", "n_points = 2, method = {name = 'ipot'}}", r"method.name: must be one of .*ipopt"),
    (OPTIMAL, "n_points = 2}", "n_points = 2, method = 'ipot'}", r'solver.method: must be one of "mumps".*"ipopt"'),
    (OPTIMAL, "n_points = 2}", "n_points = 2, method = {name = 'ipopt', pushes = 1}}",
     r":3: solver.method: method: pushes is none of ipopt; it has tolerance, max_iterations, options"),
    (TURN, "[problem]", "solver.method = {name = 'ipopt'}\n[problem]", r"solver.method: .*for inequalities"),
    (OPTIMAL, "[problem]", "limits.a = {output = 'x', upper = 1}\n[problem]", r"limits.a.output: there is no output"),
    (OPTIMAL, "[problem]", "limits.a = {upper = 1}\n[problem]", r"limits.a: needs either a formula, or the name"),
    (OPTIMAL, "[problem]", "outputs.x = {type = 'coordinate', body = 'mass', index = 0, trajectory = 1}\n[problem]",
     r":7: outputs.x.trajectory: belongs to \[problem\] with kind = .inverse"),
    (OPTIMAL, "n_elements = 12", "n_elements = 2, mesh = [0, 2]", r":2: time.mesh: is given beside n_elements"),
    (OPTIMAL, "n_elements = 12", "mesh = [0, 1]", r":2: time.mesh: mesh covers \[0, 1\], but the time span"),
    (OPTIMAL, "n_elements = 12", "mesh = [0, 1.5, 1, 2]", r":2: time.mesh: .*increas"),
    (OPTIMAL, ", n_elements = 12", "", r":2: time: the key 'n_elements' is missing"),
    (TURN, "[problem]", "guess.bend = 1\n[problem]", r":4: guess.bend: belongs to \[problem\] with kind = .optimal"),
    (TURN, "[problem]", "guess = {}\n[problem]", r":4: guess: names no solution"),
    (TURN, "[problem]", "guess.solution = 'no.h5'\n[problem]", r":4: guess.solution: .*no.h5"),
])
def test_what_is_wrong_is_named(tmp_path, text, old, new, message):
    with pytest.raises(tf.InputError, match=message):
        of_file(tmp_path, text, (old, new))


def test_names_of_coordinates_of_joints_are_in_the_schema():
    a, b = (tf.RigidBody(1, [1, 1, 1], name=name) for name in "ab")
    points = {"point_a": [0, 0, 0], "point_b": [0, 0, 0]}
    axes = {"axis_a": [0, 0, 1], "axis_b": [0, 0, 1], **points}
    made = [tf.Revolute(a, b, **axes), tf.Prismatic(a, b, axis_b=[0, 0, 1], **points), tf.Cylindrical(a, b, **axes),
            tf.Planar(a, b, **axes), tf.Universal(a, b, axis_a=[1, 0, 0], axis_b=[0, 1, 0], **points)]
    assert {c.name for joint in made for c in joint.coordinates} == set(COORDINATES)
    assert set(COORDINATES) < set(schema()["$defs"]["end_state"]["properties"])


RELATIVE = """
time = {span = [0, 0.4], n_elements = 8}
bodies.cart = {type = "rigid", mass = 2, inertia = [1, 1, 1], position = [1, 2, 3], orientation = [0.8, 0.6, 0, 0], \
angular_velocity = [0, 0, 1]}
bodies.rod = {type = "rigid", mass = 1, inertia = [1, 2, 3], position = [0, 0, -0.5], relative_to = "cart"}
bodies.dot = {type = "point", mass = 0.1, position = [0, 0, 1], velocity = [1, 0, 0], relative_to = "rod"}
"""


def test_poses_relative_to_other_bodies(tmp_path):
    found = of_file(tmp_path, RELATIVE).solve(progress=False)
    cart, rod = tf.RigidBody(2, [1, 1, 1], name="cart"), tf.RigidBody(1, [1, 2, 3], name="rod")
    dot = tf.PointMass(0.1, name="dot")
    state = {cart: tf.Pose((1, 2, 3), [0.8, 0.6, 0, 0], angular_velocity=(0, 0, 1)),
             rod: tf.Pose((0, 0, -0.5), relative_to=cart), dot: tf.Pose((0, 0, 1), velocity=(1, 0, 0), relative_to=rod)}
    problem = tf.InitialValueProblem(tf.System([cart, rod, dot]), state, (0, 0.4))
    same(found, tf.solve(problem, tf.MixedGalerkin(2), 8, progress=False))
    for old, new, message in (
            ('relative_to = "rod"', 'relative_to = "rood"', r"bodies.dot.relative_to: there is no body 'rood'; did"),
            ('relative_to = "cart"', 'relative_to = "dot"', r"the pose of 'rod' is relative to itself, through")):
        with pytest.raises(tf.InputError, match=message):
            of_file(tmp_path, RELATIVE, (old, new))


STEPS = """
[time]
span = [0, 1]
[solver]
tolerance = {tolerance = 1e-4, LIMITS}
[bodies.bar]
type = "rigid"
mass = 1
inertia = [1, 2, 3]
angular_velocity = [0, 1, 0.1]
"""


def test_steps_of_a_march_are_limited(tmp_path):
    path = tmp_path / "steps.toml"
    path.write_text(STEPS.replace("LIMITS", "max_step = 0.01"))
    sol = load_model(path).solve(progress=False)
    assert sol.success and np.diff(sol.t).max() <= 0.01 * (1 + 1e-12)
    assert sol.statistics["tolerance"] == 1e-4
    for limits, message in (("min_step = 1, max_step = 0.1", "min_step = 1 is larger than max_step = 0.1"),
                            ("max_steps = 1", "did you mean 'max_step'"), ("max_step = -1", "positive")):
        path.write_text(STEPS.replace("LIMITS", limits))
        with pytest.raises(tf.InputError, match=f"steps.toml:.*solver.*{message}"):
            load_model(path)
    of_all = STEPS.replace("LIMITS", "max_step = 0.01").replace("[solver]", '[solver]\ndriver = "global"')
    path.write_text(of_all)
    with pytest.raises(tf.InputError, match=r"steps.toml:6: solver.tolerance: .*the driver is global: give"):
        load_model(path)
