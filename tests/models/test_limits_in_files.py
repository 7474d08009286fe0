"""Limits, rates, free starts and methods of model files."""

from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.models import load_model

pytestmark = pytest.mark.long

MODELS = Path(__file__).parents[2] / "examples" / "models"


def changed(tmp_path, *changes, name="bryson_denham"):
    text = (MODELS / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "model.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("method", ["interior-point", "ipopt", "fatrop"])
def test_a_limit_of_a_position(tmp_path, method):
    """Bryson-Denham, exact 4."""
    model = load_model(changed(tmp_path, ("[solver]", f'[solver]\nmethod = "{method}"')))
    sol = model.solve(progress=False)
    assert sol.success and sol.objective == pytest.approx(4, rel=2e-7)
    assert sol.statistics["backend"] == method


def test_bounds_of_some_expressions(tmp_path):
    """One of two expressions has an upper bound, the other a lower one."""
    one, other = "\"now.position('mass')[0]\"", "\"now.velocity('mass')[0]\""
    path = changed(tmp_path, (f"formula = {one}", f"formula = [{one}, {other}]\nlower = ['free', -2]"),
                   ("upper = 0.1111111111111111", "upper = [0.1111111111111111, 'free']"),
                   ("effort = 1\n", "effort = 1\nlower = 'free'\nupper = [100]\n"))
    path.write_text(path.read_text() + """
[couplings.ends]
formula = ["end.t - start.t", "end.q('mass')[0] - start.q('mass')[0]"]
lower = ["free", -1]
upper = [2, "free"]
""")
    sol = load_model(path).solve(progress=False)
    assert sol.success and sol.objective == pytest.approx(4, rel=2e-7)
    with pytest.raises(tf.InputError, match=r"couplings.ends.*: ends: give lower, upper or both"):
        path.write_text(path.read_text().replace('["free", -1]', '"free"').replace('[2, "free"]', '["free", "free"]'))
        load_model(path)


def test_an_unknown_mass(tmp_path):
    """The effort grows with the square of the mass, which starts at 1 m/s whatever it is."""
    model = load_model(changed(tmp_path, ("[problem.end.mass]", """[problem.parameters.m]
part = "mass"
number = "mass"
lower = 0.5
upper = 2

[problem.end.mass]""")))
    sol = model.solve(progress=False)
    assert sol.success and sol.parameters["m"] == pytest.approx(0.5, abs=1e-6)
    assert sol.objective == pytest.approx(1, rel=1e-6) and sol.velocity("mass", 0.0)[0] == pytest.approx(1, abs=1e-9)


def test_methods_of_the_command_line_agree_on_a_quadrotor():
    model = load_model(find_case("quadrotor").path)
    own, ipopt = (model.solve(method=method, progress=False) for method in ("interior-point", "ipopt"))
    assert own.success and ipopt.success and own.objective == pytest.approx(ipopt.objective, rel=1e-7)
    away = np.linalg.norm(own.position("frame", own.t) - [1.5, 0.05, -0.1], axis=1)
    assert 0.6 - 1e-6 <= away.min() < 0.6 + 1e-3
    u = own.controls(own.t)
    assert u.max() <= 4.5 + 1e-6 and np.abs(np.diff(u[:, :4], axis=0) / np.diff(own.t)[:, None]).max() <= 60 * 1.0001


def test_a_start_that_is_found(tmp_path):
    """The position at the start is found: with 0.5 m/s to rest at 1 m, a constant force."""
    path = changed(tmp_path, ("position = [0, ", "position = [1, "), ("velocity = [-1, ", "velocity = [0, "),
                   ("[bodies.mass]", '[problem.start.mass]\nvelocity = [0.5, "free", "free"]\n\n[bodies.mass]'),
                   ("upper = 0.1111111111111111", "upper = {ramp = {t0 = 0, t1 = 1, v0 = 0.9, v1 = 1.5}}"))
    sol = load_model(path).solve(progress=False)
    assert sol.objective == pytest.approx(0.125, abs=1e-7) and sol.z[0, 0] == pytest.approx(0.75, abs=1e-6)


def test_rates_efforts_and_velocities(tmp_path):
    more = """
[limits.speed]
formula = "now.velocity('mass')[0]"
lower = -1.0
upper = 1.0

[limits.fuel]
formula = "sumsqr(now.control('push'))"
at = "integral"
upper = 9
"""
    path = changed(tmp_path, ("effort = 1\n", "effort = 1\nlower_rate = -30\nupper_rate = 30\n"),
                   ("upper = 0.1111111111111111", "upper = 0.125" + more))
    problem = load_model(path).problem
    assert [limit.name for limit in problem.limits] == ["farthest", "speed", "fuel"]
    sol = load_model(path).solve(progress=False)
    assert sol.success and sol.objective <= 4.5 + 1e-6
    assert np.abs(np.diff(sol.controls(sol.t)[:, 0]) / np.diff(sol.t)).max() <= 30.001


@pytest.mark.parametrize("old, new, message", [
    ("upper = 0.1111111111111111", "", "farthest: give lower, upper or both"),
    ("'mass'", "'moss'", r"model.toml:\d+: limits.farthest.formula: .*no body 'moss' in the system.* mean 'mass'"),
    ("'mass')[0]", "'mass'", r"limits.farthest.formula: .*cannot be read: .*never closed"),
    ("now.position", "now.place", r"limits.farthest.formula: .*'now' has no 'place'; it has t, z"),
    ("formula =", 'type = "position"\nformula =',
     'farthest.type: must be one of "limit", "complementary", "spring_contact", "friction"'),
    ("formula =", "formulas =", r"farthest.formulas: unknown key; did you mean 'formula'"),
    ("upper = 0.1111111111111111", 'upper = "s"', r"limits.farthest.upper: .*unknown name 's'"),
    ("[solver]", '[solver]\nmethod = "simplex"', "method"),
    ("upper = 0.1111111111111111", "upper = 0.1\nlower = 0.2", "the lower bound must not be above"),
    ("upper = 0.1111111111111111", "upper = -0.1", "is violated by the state at the start"),
    ("upper = 0.1111111111111111", 'upper = "free"', "farthest: give lower, upper or both"),
    ("upper = 0.1111111111111111", "upper = inf", 'upper: must be .*; "free" where there is no bound, not inf'),
    ("upper = 0.1111111111111111", "upper = [-inf]", r'upper\[0\]: must be .*; "free" where there is no bound'),
    ("upper = 0.1111111111111111", "upper = {ramp = {t0 = 0, t1 = 1, v0 = 1}}", "upper.ramp: .* 'v1' is missing"),
    ("upper = 0.1111111111111111", "upper = [{rampe = {}}]", r"farthest.upper\[0\].rampe: .* did you mean 'ramp'"),
    ("formula =", 'output = "place"\nformula =', "farthest: needs either a formula, or the name of an output"),
])
def test_bad_files(tmp_path, old, new, message):
    with pytest.raises(tf.InputError, match=message):
        load_model(changed(tmp_path, (old, new)))


def test_a_method_that_has_no_use(tmp_path):
    with pytest.raises(tf.InputError, match="is for inequalities"):
        load_model(MODELS / "heavy_top.toml").solve(method="ipopt")
    with pytest.raises(tf.InputError, match="the problem has none"):
        load_model(MODELS / "reorientation_effort.toml").solve(method="ipopt")
