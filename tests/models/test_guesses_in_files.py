"""Numbers of elements and guesses of phases in model files, on the command line and in Python."""

import json

import numpy as np
import pytest

import timefem as tf
from tests.models.test_phases_in_files import changed
from timefem.errors import InputError
from timefem.models import load_model

pytestmark = pytest.mark.long


def bounce(tmp_path, fall="", rise="", *more):
    """The case of a bounce, with further keys of its phases."""
    return changed(tmp_path, "bounce-by-phases", ('name = "fall"', f'name = "fall"\n{fall}'),
                   ('name = "rise"', f'name = "rise"\n{rise}'), *more)


def test_elements_and_durations_of_each_phase(tmp_path):
    model = load_model(bounce(tmp_path, "time = {n_elements = 6}", "time = {n_elements = 3, span = [0, 0.3]}"))
    assert model.n_elements == [6, 3] and [one.t_span for one in model.problem.phases] == [(0, 0.5), (0, 0.3)]
    sol = model.solve(progress=False)
    assert [len(phase.t) for phase in sol.phases] == [7, 4]
    assert sol[1].z[-1, 0] == pytest.approx(0.64, abs=1e-7)
    again = model.solve(n_elements=[2, 5], progress=False)
    assert [len(phase.t) for phase in again.phases] == [3, 6]
    with pytest.raises(InputError, match="one number, or one for each of 2 phases, not"):
        model.solve(n_elements=[2, 5, 4])
    with pytest.raises(InputError, match="n_elements must be at least 1, not 0"):
        model.solve(n_elements=[2, 0])


def test_elements_of_each_phase_on_the_command_line(timefem, tmp_path):
    path = str(bounce(tmp_path, "time = {n_elements = 6}"))
    for options, numbers in ((), [6, 10]), (("--n-elements", "4"), [4, 4]), (("--n-elements", "4,7"), [4, 7]):
        code, out, err = timefem("run", path, "--json", *options)
        assert code == 0, err
        assert [phase["n_elements"] for phase in json.loads(out)["phases"]] == numbers
    code, out, err = timefem("run", path, "--json", "--tolerance", "1e-6", "--n-elements", "4,7")
    assert code == 0 and json.loads(out)["meshes"][0] == [4, 7]
    for given, message in (("4,7,8", "one for each of 2 phases"), ("4,x", "--n-elements must be an integer or a list")):
        code, _, err = timefem("run", path, "--n-elements", given)
        assert code == 2 and message in err
    code, _, err = timefem("run", "spinning-box", "--n-elements", "4,7")
    assert code == 2 and "n_elements must be an integer" in err


def ball(start, end, **options):
    body = tf.PointMass(1.0, dimension=1, name="ball")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    return tf.OptimalControl(tf.System([body]), {body: start}, {body: end}, (0, 1), tf.Effort(push), **options)


def test_a_phase_is_guessed_where_the_one_before_ends():
    free, there = tf.EndState(), tf.EndState(position=[3, None, None], velocity=[2, None, None])
    phases = tf.Phases([ball(tf.Pose(), there), ball(free, tf.EndState(velocity=[0, None, None]))])
    np.testing.assert_allclose(phases.phases[1].z0, [3, 2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(phases.phases[1].conditions.state, [3, 0], rtol=0, atol=1e-12)
    own = tf.Phases([ball(tf.Pose(), there), ball(free, free, near={"ball": tf.Pose((5, 0, 0))})])
    np.testing.assert_allclose(own.phases[1].z0, [5, 0], rtol=0, atol=1e-12)
    half = tf.Phases([ball(tf.Pose(), there), ball(tf.EndState(position=[1, None, None]), free)], [
        tf.Coupling("after.rates('ball') - before.rates('ball')")])  # what is prescribed goes before the guess
    np.testing.assert_allclose(half.phases[1].z0, [1, 2], rtol=0, atol=1e-12)


def test_states_of_bodies_are_guesses_of_free_starts(tmp_path):
    path = bounce(tmp_path, "", "bodies.ball.velocity = [3, 0, 0]")
    assert load_model(path).problem.phases[1].z0 == pytest.approx([0, 3])  # the position is asked for
    assert load_model(bounce(tmp_path)).problem.phases[1].z0 == pytest.approx([0, 0])
    one = changed(tmp_path, "bouncing-ball", ("[problem.end.ball]", "[problem.start.ball]\n\n[problem.end.ball]"))
    assert load_model(one).problem.z0 == pytest.approx([1, 0])


def test_guesses_of_controls_and_solutions(tmp_path, timefem):
    path = bounce(tmp_path, "guess.controls = {fan = '2 * t'}", "guess = {bend = 0.1, seed = 2}")
    model = load_model(path)
    first, second = model.with_guess({})["guess"]
    given, = first.given_controls(model.problem.phases[0]).values()
    np.testing.assert_allclose(given(np.array([0.0, 0.5])), [[0], [1]])
    assert (second.bend, second.seed) == (0.1, 2)
    sol = model.solve(progress=False)
    assert sol.success and sol[1].z[-1, 0] == pytest.approx(0.64, abs=1e-7)
    sol.save(tmp_path / "a.h5")
    path = bounce(tmp_path, "guess.solution = 'a-1.h5'", "guess.solution = 'a-2.h5'")
    code, out, err = timefem("run", str(path), "--json")
    assert code == 0, err
    warm = json.loads(out)["newton_iterations"]["max"]
    assert warm < sol.statistics["newton_iterations"]["max"]


def test_a_guess_of_one_problem(tmp_path):
    """Four thrusts from a table."""
    path = changed(tmp_path, "quadrotor", ("[problem]", "[guess.controls]\nfront = 2.4\nyaw = {sine = {amplitude = 1, "
                                                        "frequency = 1}}\n\n[problem]"))
    model = load_model(path)
    guess = model.with_guess({})["guess"].given_controls(model.problem)
    assert sorted(model.problem.system.label(a) for a in guess) == ["front", "yaw"]
    assert guess[model.names.actuators["yaw"]](np.array([0.25]))[0, 0] == pytest.approx(1)


@pytest.mark.parametrize("line, message", [
    ("guess.controls = {fen = 1}", r"toml:\d+: phases\[0\].guess.controls.fen: there is no actuator 'fen'; did"),
    ("guess.controls = {fan = [1, 2]}", r"guess.controls.fan: must be a number or function of time, or 1 of them"),
    ("guess.controls = {fan = 'x'}", r"guess.controls.fan: .*unknown name 'x'"),
    ("guess.controls = 'none'", r"guess.controls: must be a table .*, or \"zero\", not 'none'"),
    ("guess.control = 'zero'", r"guess.control: unknown key; did you mean 'controls'"),
    ("guess.solution = '../a.h5'", r"guess.solution: must lie in the folder of this file"),
    ("guess.solution = 'b.h5'", r"guess.solution: there is no file"),
    ("time = {n_elements = 0}", r"phases\[0\].time.n_elements: must be an integer from 1"),
])
def test_bad_guesses(tmp_path, line, message):
    with pytest.raises(InputError, match=message):
        load_model(bounce(tmp_path, line)).solve(progress=False)


@pytest.mark.parametrize("line, message", [
    ("controls = {fan = 1}", ": guess.controls.fan: there is no actuator 'fan'"),
    ("motion = [[1, 2, 3], [1, 2, 4]]", ": guess.motion: guess must have shape (n, "),
    ("motion = [[1, 2], [1]]", ": guess.motion: guess must be an array of numbers of shape (n, "),
    ("duration = 2", ": guess.duration: is for problems with free_time = true; leave it out"),
])
def test_bad_guesses_are_told_by_check(tmp_path, timefem, line, message):
    """It said nothing, and the duration was refused without a place in the file, when the solve began."""
    path = changed(tmp_path, "quadrotor", ("[problem]", f"[guess]\n{line}\n\n[problem]"))
    for command in ("check", "run"):
        code, out, err = timefem(command, path)
        assert (code, out) == (2, "") and message in err and err.startswith(f"timefem: error: {path}:")


def test_guesses_of_unknown_numbers(tmp_path, timefem):
    def path(line):
        return changed(tmp_path, "quadrotor", ("[problem]", f"[guess]\nparameters = {line}\n\n[problem]\n"
                                               "parameters.drag = {value = 1, lower = 0, upper = 2}\n"
                                               "end_cost = \"parameters['drag']**2\""))

    model = load_model(path("{drag = 1.5}"))
    assert model.with_guess({})["guess"].numbers(model.problem) == [1.5]
    for line, message in (("{dreg = 1}", "'dreg' is not an unknown number of the problem; it has drag; did you mean"),
                          ("{drag = 3}", "drag = 3 is outside of its bounds"),
                          ("{drag = 'x'}", "guess.parameters.drag: ")):
        code, out, err = timefem("check", path(line))
        assert (code, out) == (2, "") and message in err and "guess.parameters" in err


def test_a_guess_of_the_duration(tmp_path):
    path = bounce(tmp_path, "guess.duration = 0.7", "guess = {bend = 0.1}")
    first, second = load_model(path).with_guess({})["guess"]
    assert (first.duration, second.duration) == (0.7, None)
