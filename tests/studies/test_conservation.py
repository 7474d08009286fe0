"""Invariants, constraints and drifts."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES, find_case
from timefem.cli import main
from timefem.polynomials import gauss_legendre
from timefem.studies import Conservation, conservation, plot_conservation, table
from timefem.studies.conservation import conserved_axes, drift

pytestmark = pytest.mark.long

T = np.linspace(0, 20, 400)


@pytest.mark.parametrize("values, verdict", [
    (1e-3 * np.sin(7 * T), "bounded"), (1e-3 * np.sin(7 * T) + 2e-4 * T, "drifting"),
    (1e-3 * np.sin(7 * T) - 1e-5 * T, "bounded"),  # small against the oscillation
    (1e-13 * T, "rounding"), (np.zeros(400), "rounding"),
])
def test_drift(values, verdict):
    found = drift("energy", "J", T, 5 + values, 5)
    assert found.verdict == verdict
    assert found.largest == pytest.approx(np.abs(values).max(), rel=1e-9, abs=1e-15)


def test_slope_and_its_uncertainty():
    """Of 300 noisy lines, the interval holds the true slope in 95 %."""
    random = np.random.default_rng(0)
    found = [drift("x", "1", T, np.r_[0, 0.3 * T[1:] + random.normal(size=399)], 1) for _ in range(300)]
    hits = np.mean([abs(f.slope - 0.3) <= f.uncertainty for f in found])
    assert 0.92 < hits < 0.98
    assert np.mean([f.slope for f in found]) == pytest.approx(0.3, abs=2e-3)


@pytest.mark.parametrize("periods", [6, 23.4, 80.7])
def test_oscillations_are_no_drifts(periods):
    phases = np.linspace(0, 2 * np.pi, 30)
    found = [drift("x", "1", T, np.sin(2 * np.pi * periods / 20 * T + phase), 1).verdict for phase in phases]
    assert set(found) == {"bounded"}


def test_short_series_have_no_slope():
    found = drift("x", "1", T[:10], T[:10], 1)
    assert found.verdict == "short" and np.isnan(found.slope)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.conserved_axes])
def test_axes_found_are_those_of_the_case(name):
    assert conserved_axes(find_case(name).make().system)[1] == find_case(name).conserved_axes


def test_linear_momentum_along_which_axes():
    """Two masses on a spring, free: all; with gravity: across it."""
    a, b = tf.PointMass(1, name="a"), tf.RigidBody(2, [1, 1, 1], "directors", name="b")
    state = {a: tf.Pose(position=(1, 0, 0), velocity=(0, 1, 0.5)), b: tf.Pose(angular_velocity=(0, 1, 0))}
    for gravity, axes in ((None, ((0, 1, 2), (0, 1, 2))), ((0, -3, 0), ((0, 2), (1,)))):
        system = tf.System([a, b, tf.Spring(a, b, stiffness=3, length=0.5)], gravity=gravity)
        sol = tf.solve(tf.InitialValueProblem(system, state, (0, 1)), tf.MixedGalerkin(2), 50)
        assert conserved_axes(system) == axes
        names = {f"{kind} momentum {'xyz'[i]}" for kind, chosen in zip(("linear", "angular"), axes, strict=True)
                 for i in chosen}
        study = conservation(sol)
        assert {i.name for i in study.invariants} == {"energy"} | names
        assert {i.verdict for i in study.invariants if i.name.startswith("linear")} == {"rounding"}


def test_eml_keeps_the_generalized_energy_and_not_the_energy():
    study = conservation(find_case("heavy-top"), tf.EML())
    assert study["generalized energy"].verdict == "rounding" and study["energy"].verdict == "bounded"
    assert study["energy"].largest > 1e6 * study["generalized energy"].largest
    assert conservation(find_case("heavy-top"), tf.MixedGalerkin(2))["energy"].verdict == "rounding"


def test_energy_balance_of_a_damped_system():
    a, b = (tf.PointMass(1, name=n) for n in "ab")
    parts = [a, b, tf.Spring(a, b, stiffness=30, length=1), tf.Damper(a, b, damping=0.4)]
    problem = tf.InitialValueProblem(tf.System(parts), {a: tf.Pose(position=(1.5, 0, 0))}, (0, 3))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 100)
    study = conservation(sol)
    momenta = {f"{kind} momentum {axis}" for kind in ("angular", "linear") for axis in "xyz"}  # which it leaves alone
    assert {i.name for i in study.invariants} == {"energy", *momenta} and study["energy"].largest < 1e-9
    assert max(study[name].largest for name in momenta) < 1e-9
    assert np.ptp(sol.energy()) > 1
    momentum = np.abs(sol.angular_momentum()[:, 2]).max()
    assert conservation(sol, axes=(2,))["angular momentum z"].largest == pytest.approx(momentum, abs=1e-15)


def test_constraints_at_nodes_and_quadrature_points():
    problem, element = find_case("physical-pendulum").make(t_end=1.0), tf.MixedGalerkin(2)
    sol = tf.solve(problem, element, 50)
    study = conservation(sol)
    assert max(study.constraints[level]["nodes"] for level in ("configuration", "velocity")) < 1e-9
    xi, _ = gauss_legendre(element.n_points)
    points = (sol.t[:-1, None] + np.diff(sol.t)[:, None] * xi).ravel()
    for values, level in zip(sol.constraints(points), ("configuration", "velocity"), strict=True):
        assert study.constraints[level]["quadrature points"] == pytest.approx(np.abs(values).max(), rel=1e-12)
    finer = conservation(problem, element, 100).constraints
    assert finer["configuration"]["quadrature points"] < study.constraints["configuration"]["quadrature points"] / 6


def test_facts_table_and_figure():
    import matplotlib.pyplot as plt

    study = conservation(find_case("heavy-top").make(t_end=0.1), tf.EML(), 50)
    assert Conservation.from_facts(json.loads(json.dumps(study.facts()))) == study
    assert table(study).row_count == len(study.rows()) == len(study.invariants) + 4
    figure = plot_conservation([study, study])
    assert len(figure.axes) == len(study.invariants) + 2
    assert all(ax.get_ylabel() and ax.get_xlabel() for ax in figure.axes)
    plt.close("all")


def test_bad_input():
    problem, mg = find_case("heavy-top").make(t_end=0.1), tf.MixedGalerkin(1)
    sol = tf.solve(problem, mg, 20)
    for match, arguments, options in [
        ("element must be", (problem,), {}), ("problem must be", (3, mg, 10), {}),
        ("a solution is given", (sol, mg), {}),
        ("largest of axes", (sol,), {"axes": (3,)}), ("axes must be", (sol,), {"axes": ("z",)}),
        ("give either n_elements", (problem, mg), {}),
    ]:
        with pytest.raises(tf.InputError, match=match):
            conservation(*arguments, **options)
    with pytest.raises(tf.InputError, match="invariant must be one of"):
        conservation(sol)["speed"]
    with pytest.raises(tf.SolveError, match=r"mG\(2\)"):
        conservation(find_case("heavy-top").make(), tf.MixedGalerkin(2), 2)


# ---- command line

COMMAND = ["study", "conservation", "heavy-top", "--t-end", "0.1", "--element", "mg", "eml", "--degree", "1",
           "--elements", "50"]


def test_command(capsys, tmp_path):
    figure, cache = tmp_path / "figure.png", ["--cache", str(tmp_path / "cache")]
    assert main([*COMMAND, *cache, "--json", "-o", str(figure)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [s["method"] for s in facts["studies"]] == ["mG(1)", "EML"] and not facts["failures"]
    assert figure.stat().st_size > 10_000
    assert len(list((tmp_path / "cache").rglob("conservation-50*.json"))) == 2
    assert main([*COMMAND, *cache, "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("method,n_elements,quantity") and len(lines) == 1 + 6 + 7
    assert main([*COMMAND, *cache]) == 0
    assert "generalized energy" in capsys.readouterr().out


def test_command_compares_what_elements_keep(capsys):
    command = ["study", "conservation", "free-body", "--t-end", "0.5", "--degree", "2"]
    assert main([*command, "--keep", "points", "all", "--elements", "50", "--json"]) == 0
    points, kept = studies = json.loads(capsys.readouterr().out)["studies"]
    assert [s["method"] for s in studies] == ["mG(2)", "mG(2, keeps all)"]
    largest = [next(i["largest"] for i in s["invariants"] if i["name"] == "angular momentum y") for s in (points, kept)]
    assert largest[1] < 1e-12 < 1e-6 < largest[0]
    assert main(["study", "conservation", "heavy-top", "--element", "eml", "--keep", "all"]) == 2
    assert "--keep belongs to --element mg" in capsys.readouterr().err


def test_command_shows_what_it_has_when_a_solve_fails(capsys):
    command = ["study", "conservation", "heavy-top", "--degree", "2", "--elements", "2", "500", "--json"]
    assert main(command) == 1
    out = capsys.readouterr()
    facts = json.loads(out.out)
    assert len(facts["studies"]) == len(facts["failures"]) == 1 and "mG(2)" in out.err


def test_command_under_mpirun_is_refused(capsys, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setattr("timefem.parallel.world", lambda: None)
    assert main(COMMAND) == 2
    assert "without mpirun" in capsys.readouterr().err
