"""Boundary values, inverse dynamics and optimal control on the command line."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES

pytestmark = pytest.mark.long

KINDS = {name: case.kind for name, case in CASES.items()
         if case.kind not in ("initial", "phases") and not case.path}


def run_json(timefem, *arguments, status=0):
    code, out, err = timefem("run", *arguments, "--json")
    assert code == status, err
    return json.loads(out)


def test_there_are_cases_of_each_kind():
    assert set(KINDS.values()) == {"boundary", "inverse", "optimal"}


@pytest.mark.parametrize("name", KINDS)
def test_json(timefem, name):
    r = run_json(timefem, name)
    assert (r["case"], r["kind"], r["driver"], r["status"]) == (name, KINDS[name], "global", "converged")
    assert r["n_elements"] == CASES[name].n_elements and r["residual"] < 1e-9
    if KINDS[name] == "inverse":
        assert max(r["outputs"].values()) < 1e-4 and min(min(v) for v in r["controls"].values()) > 0
    else:
        assert max(r["conditions"].values()) < 1e-9


def test_numbers_found(timefem):
    from scipy.special import ellipk

    r = run_json(timefem, "pendulum-periodic", "--degree", 4)
    frequency = np.sqrt(100 * 9.81 * 5 / ((1 + 100) * 100 / 12 + 2500))
    assert r["parameters"]["duration"] == pytest.approx(4 * ellipk(np.sin(1.0)**2) / frequency, rel=0, abs=1e-8)
    assert abs(r["parameters"]["resistance"]) < 1e-9
    assert r["t_final"] == r["parameters"]["duration"]
    r = run_json(timefem, "reorientation-effort", "--degree", 3, "--n-elements", 60)
    assert r["objective"] == pytest.approx(2738.682727, rel=1e-8)
    r = run_json(timefem, "slew-time")
    assert r["objective"] == r["parameters"]["duration"] == pytest.approx(np.sqrt(2), rel=1e-6)
    assert r["controls"]["motor"] == [pytest.approx(4, rel=1e-6)] and r["backend"] == "interior-point"
    r = run_json(timefem, "elastic-arm")
    assert (r["internal_dynamics"], r["unstable"]) == (2, 1)


def test_options_reach_the_solve(timefem):
    wanted = run_json(timefem, "pendulum-boundary", "--degree", 3)
    for options in (["--backend", "superlu"], ["--rotation", "directors"], ["--tol-residual", "1e-12"],
                    ["--guess", "interpolation"], ["--scaling", "weights"], ["--n-elements", 45]):
        r = run_json(timefem, "pendulum-boundary", "--degree", 3, *options)
        np.testing.assert_allclose(r["final"]["pendulum"]["angular_velocity"],
                                   wanted["final"]["pendulum"]["angular_velocity"], rtol=0, atol=1e-6)
    r = run_json(timefem, "pendulum-boundary", "--tolerance", "1e-8")
    assert r["n_elements"] != CASES["pendulum-boundary"].n_elements
    for name, tolerance in (("crane-inverse", 1e-6), ("reorientation-effort", 1e-6), ("slew-time", 1e-3)):
        r = run_json(timefem, name, "--tolerance", tolerance)
        assert r["status"] == "converged" and r["meshes"][-1] == r["n_elements"]
        assert r["estimated_error"] <= r["tolerance"] == tolerance
    assert run_json(timefem, "pendulum-boundary", "--t-end", 1.5)["t_final"] == 1.5
    assert run_json(timefem, "reorientation", "--element", "bg")["element"] == "bg"


@pytest.mark.parametrize("arguments, message", [
    (["reorientation", "--driver", "march"], "--driver march is not possible: reorientation is a boundary-value"),
    (["reorientation", "--driver", "windows"], "--driver windows is not possible"),
    (["reorientation", "--window", "3"], "--window is not used"),
    (["reorientation", "--line-search"], "--line-search is not used"),
    (["reorientation", "--checkpoint", "a.chk"], "--checkpoint is not used"),
    (["reorientation", "--checkpoint-every", "5it"], "--checkpoint-every is not used"),
    (["reorientation", "--restart", "a.chk"], "--restart is not used"),
    (["reorientation", "--guess", "constant"], "must be one of 'interpolation', 'march'"),
    (["reorientation", "--max-iterations", "0"], "max_iterations must be at least 1"),
    (["reorientation", "--multipliers", "continuous"], "belongs to --element bg"),
    (["crane-inverse", "--element", "bg"], "crane-inverse is inverse dynamics, which takes mg"),
    (["reorientation-effort", "--element", "bg", "--tolerance", "1e-6"], "do not converge; take MixedGalerkin"),
    (["crane-inverse", "--guess", "march"], "--guess is not used"),
    (["elastic-arm", "--rotation", "directors"], "no use for rotation"),
    (["slew-time", "--tol-residual", "1e-6"], "--tol-residual is not used where controls have bounds"),
    (["slew-time", "--backend", "superlu"], "own linear solver; leave backend out"),
])
def test_options_that_a_kind_cannot_use(timefem, arguments, message):
    status, out, err = timefem("run", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err


@pytest.mark.parametrize("name", ["pendulum-periodic", "crane-inverse", "reorientation-effort", "slew-time"])
def test_table_and_files(timefem, tmp_path, name):
    path = tmp_path / "a.h5"
    status, out, _ = timefem("run", name, "-o", path)
    assert status == 0
    words = {"boundary": ["conditions met to", "found: duration"], "inverse": ["largest control of", "kept to"],
             "optimal": ["objective", "largest control of"]}[KINDS[name]]
    assert all(word in out for word in [*words, "problem, residual"])
    case = CASES[name]
    sol, again = tf.solve(case.make(), tf.MixedGalerkin(2), case.n_elements), tf.load(path)
    np.testing.assert_allclose(again.z, sol.z, rtol=0, atol=1e-9 * np.abs(sol.z).max())
    t = np.linspace(*sol.t[[0, -1]], 7) * (1 - 1e-12)
    assert again.parameters.keys() == sol.parameters.keys() and again.fields.keys() == sol.fields.keys()
    if KINDS[name] != "boundary":
        scale = np.abs(sol.controls(t)).max()
        np.testing.assert_allclose(again.controls(t), sol.controls(t), rtol=0, atol=1e-6 * scale)
        assert again.plot.controls().get_ylabel().endswith((" [N]", " [N m]"))
    if KINDS[name] == "optimal":
        assert again.objective == pytest.approx(sol.objective, rel=1e-9)
        assert again.field("costates", t).shape == (7, again.system.n_z)
    assert again.errors().keys() == sol.errors().keys()
    assert timefem("plot", path) == (0, f"{tmp_path / 'a.png'}\n", "")
    again.save(tmp_path / "b.h5")  # what was loaded can be saved
    assert np.array_equal(tf.load(tmp_path / "b.h5").z, again.z)


def test_failed_solve(timefem, tmp_path):
    for name in ("pendulum-boundary", "crane-inverse"):
        r = run_json(timefem, name, "--max-iterations", 1, "--n-elements", 12, "-o", tmp_path / "a.h5", status=1)
        assert not tf.load(tmp_path / "a.h5").success
        assert r["status"] == "failed" and r["t_final"] == 0 and "conditions" not in r and "outputs" not in r
    assert timefem("run", "pendulum-boundary", "--max-iterations", 1)[0] == 1


def test_list(timefem):
    status, out, _ = timefem("list", "--json")
    listed = json.loads(out)["cases"]
    assert status == 0 and {name: listed[name]["kind"] for name in KINDS} == KINDS
    facts = json.loads(timefem("list", "--elements", "--json")[1])["elements"]
    assert facts["bg"]["crane-inverse"] and facts["mg"]["crane-inverse"] is None


@pytest.mark.parametrize("name", ["crane-inverse", "reorientation-effort"])
def test_tolerance(timefem, name):
    r = run_json(timefem, name, "--tolerance", "1e-7")
    assert r["status"] == "converged" and r["n_elements"] != CASES[name].n_elements
