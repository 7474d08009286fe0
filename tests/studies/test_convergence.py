"""Errors at the end and their orders, the cache, and the command."""

import csv
import importlib
import io
import json

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.cli import main
from timefem.studies import Convergence, convergence, plot_convergence, table

pytestmark = pytest.mark.long


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_orders_are_those_the_elements_declare(rotation):
    problem = find_case("spinning-box").make(rotation=rotation, t_end=1.0)
    elements = [tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.MixedGalerkin(3), tf.EML()]
    for study in convergence(problem, elements, (20, 40, 80, 160)):
        assert study.order == pytest.approx(study.element.order, abs=0.2)
        assert study.used[:3].all() and study.expected == study.element.order
        assert np.all(study.seconds > 0) and study.h == pytest.approx(1 / study.n_elements)


@pytest.mark.parametrize("quantity", ["coordinates", "momenta", "rotation"])
def test_against_an_analytic_motion(quantity):
    """A body in steady rotation about a principal axis."""
    body = tf.RigidBody(2, [1, 2, 3], name="body")
    problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=(0, 0, 1.5))}, (0, 2))

    def exact(t):
        angle = 1.5 * t / 2
        e = np.array([np.cos(angle), 0, 0, np.sin(angle)])
        p = 2 * 3 * 1.5 * np.array([-np.sin(angle), 0, 0, np.cos(angle)])
        return np.concatenate([np.zeros(3), e, np.zeros(3), p])

    study, = convergence(problem, tf.MixedGalerkin(2), (10, 20, 40), reference=exact, quantity=quantity)
    assert study.reference == "analytic" and study.order == pytest.approx(4, abs=0.1)
    z = tf.solve(problem, tf.MixedGalerkin(2), 20).z[-1]
    if quantity == "rotation":
        cosine = (np.trace(body.rotation_matrix(z[:7]).T @ body.rotation_matrix(exact(2)[:7])) - 1) / 2
        assert study.errors[1] == pytest.approx(np.arccos(cosine), rel=3e-3)  # the cosine is 1 but for 2e-13
    else:
        part = slice(7) if quantity == "coordinates" else slice(7, None)
        assert study.errors[1] == pytest.approx(np.linalg.norm((z - exact(2))[part]), rel=1e-12)


def test_own_quantity_and_a_solution_as_reference():
    problem = find_case("heavy-top").make(t_end=0.2)
    reference = tf.solve(problem, tf.MixedGalerkin(3), 800)

    def height(system, t, z):
        return z[2]

    study, = convergence(problem, tf.MixedGalerkin(1), (100, 200), reference=reference, quantity=height)
    direct = [abs(tf.solve(problem, tf.MixedGalerkin(1), n).z[-1, 2] - reference.z[-1, 2]) for n in (100, 200)]
    assert study.errors == pytest.approx(direct, rel=1e-9)
    assert study.quantity == "height"


def made(errors, order=2, floor=1e-14):
    """A study with these errors on doubled meshes."""
    n = 10 * 2 ** np.arange(len(errors))
    element = {2: tf.MixedGalerkin(1), 4: tf.MixedGalerkin(2)}[order]
    return Convergence(element, "state", "1", n, 1 / n, np.array(errors, float), np.ones(len(n)), ("",) * len(n), 1,
                       "analytic", floor)


@pytest.mark.parametrize("errors, order, used", [
    ([1, 1 / 4, 1 / 16, 1 / 64], 2, 4),
    ([1e-9, 1e-9 / 16, 1e-9 / 256, 4e-12, 5e-12, 7e-12], 4, 3),  # round-off above the floor
    ([1e-12, 1e-12 / 16, 4e-15, 2e-14], 4, 2),  # what comes after the floor does not count again
    ([1, 0.3, 0.1, 1 / 30], 4, 4),  # a lower order than declared is an order
    ([5, 2 ** -6, 2 ** -8, 2 ** -10], 2, 4),  # coarse meshes may fall faster
    ([float("nan"), 1 / 4, 1 / 16, 1 / 64], 2, 3),
])
def test_plateau(errors, order, used):
    study = made(errors, order)
    assert study.used.sum() == used
    x, y = np.log(study.h[study.used]), np.log(study.errors[study.used])
    assert study.order == pytest.approx(np.polyfit(x, y, 1)[0], rel=1e-12)


def test_one_mesh_has_no_order():
    assert np.isnan(made([0.1]).order) and np.isnan(made([1e-16, 1e-17]).order)
    assert made([1e-16, 1e-17]).facts()["order"] is None
    json.dumps(made([float("nan"), 1.0]).facts(), allow_nan=False)


def test_failed_solves_are_named():
    study, = convergence(find_case("heavy-top").make(t_end=0.5), tf.MixedGalerkin(2), (2, 200))
    assert np.isnan(study.errors[0]) and study.messages[0] and not study.messages[1]
    assert study.errors[1] < 1e-2


def test_cache_is_used_and_told_apart(tmp_path, monkeypatch):
    problem = find_case("spinning-box").make(t_end=0.5)
    arguments = {"cache": tmp_path, "name": "box"}
    first, = convergence(problem, tf.MixedGalerkin(1), (10, 20), **arguments)
    files = sorted(p for p in tmp_path.rglob("*.json"))
    assert len(files) == 3 and all("box" in str(f) for f in files)
    module = importlib.import_module("timefem.studies.convergence")
    monkeypatch.setattr(module, "_point", None)  # whatever is solved now fails
    monkeypatch.setattr(module, "fine_solution", None)
    again, = convergence(problem, tf.MixedGalerkin(1), (10, 20), **arguments)
    assert np.array_equal(again.errors, first.errors) and np.array_equal(again.seconds, first.seconds)
    for other in (find_case("spinning-box").make(t_end=0.6), find_case("free-body").make(t_end=0.5)):
        with pytest.raises(TypeError):
            convergence(other, tf.MixedGalerkin(1), (10, 20), **arguments)
    with pytest.raises(TypeError):
        convergence(problem, tf.MixedGalerkin(1, n_points=3), (10, 20), **arguments)
    files[0].write_text("{damaged")
    with pytest.raises(TypeError):
        convergence(problem, tf.MixedGalerkin(1), (10, 20), **arguments)


def test_goes_on_after_a_stop(tmp_path, monkeypatch):
    module = importlib.import_module("timefem.studies.convergence")
    problem, solved, point = find_case("spinning-box").make(t_end=0.5), [], module._point

    def stopped(problem, element, n, *arguments):
        if n == 40 and len(solved) < 3:
            raise KeyboardInterrupt
        solved.append(n)
        return point(problem, element, n, *arguments)

    monkeypatch.setattr(module, "_point", stopped)
    with pytest.raises(KeyboardInterrupt):
        convergence(problem, tf.MixedGalerkin(1), (10, 20, 40), cache=tmp_path)
    assert solved == [10, 20]
    solved.append("resumed")
    convergence(problem, tf.MixedGalerkin(1), (10, 20, 40), cache=tmp_path)
    assert solved == [10, 20, "resumed", 40]


def test_parallel_is_serial():
    problem = find_case("spinning-box").make(t_end=0.5)
    one, two = (convergence(problem, [tf.MixedGalerkin(1), tf.EML()], (10, 20), processes=n)
                for n in (1, 2))
    assert [s.label for s in one] == [s.label for s in two] == ["mG(1)", "EML"]
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.errors, b.errors)


def test_table_and_figure():
    import matplotlib.pyplot as plt

    studies = [made([1, 1 / 4, 1 / 16]), made([1e-3, 1e-3 / 16, 1e-15], order=4)]
    assert table(studies).row_count == 6
    ax = plot_convergence(studies)
    assert "h^{2.00}" in ax.get_legend().get_texts()[0].get_text()
    assert [len(line.get_xdata()) for line in ax.lines] == [3, 3, 3, 2]  # filled above the plateau
    plt.close("all")


def test_bad_input(tmp_path):
    problem = find_case("spinning-box").make(t_end=0.5)
    mg = tf.MixedGalerkin(1)
    for match, arguments in {
        "problem must be": (3, mg), "elements must be": (problem, "mg"), "element must be": (problem, ["mg"]),
        "n_elements is empty": (problem, mg, ()), "n_elements must be at least 1": (problem, mg, (0,)),
    }.items():
        with pytest.raises(tf.InputError, match=match):
            convergence(*arguments)
    for match, options in {
        "quantity must be one of": {"quantity": "speed"}, "reference must be": {"reference": "exact"},
        "state at the end must have shape": {"reference": lambda t: np.zeros(3)}, "uniform meshes": {"mesh": [0, 1]},
        "up to t = 0.1": {"reference": tf.solve(find_case("spinning-box").make(t_end=0.1), mg, 5)},
        "repeats must be at least 1": {"repeats": 0}, "processes must be at least 1": {"processes": 0},
    }.items():
        with pytest.raises(tf.InputError, match=match):
            convergence(problem, mg, (10,), **options)
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.InputError, match="as cache"):
        convergence(problem, mg, (10,), cache=tmp_path / "file")


# ---- command line

COMMAND = ["study", "convergence", "spinning-box", "--t-end", "0.5"]


def test_command(capsys, tmp_path):
    figure = tmp_path / "figure.png"
    options = ["--element", "mg", "eml", "--degree", "1", "2", "--elements", "10", "20", "40", "--cache", str(tmp_path)]
    assert main([*COMMAND, *options, "--json", "-o", str(figure)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [s["method"] for s in facts["studies"]] == ["mG(1)", "mG(2)", "EML"]
    assert [round(s["order"]) for s in facts["studies"]] == [2, 4, 2]
    assert figure.stat().st_size > 10_000
    assert main([*COMMAND, *options, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 9 and float(rows[3]["error"]) == facts["studies"][1]["errors"][0]
    assert main([*COMMAND, *options]) == 0
    assert "reference: mG(4)" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["convergence", "conservation", "conditioning", "precision"])
def test_commands_refuse_other_problems(command, capsys):
    assert main(["study", command, "pendulum-boundary"]) == 2
    assert "of initial-value problems, and pendulum-boundary is a boundary-value problem" in capsys.readouterr().err


@pytest.mark.parametrize("options, message", [
    (["--element", "eml", "--degree", "2"], "--degree belongs to"), (["--element", "nix"], "element must be one of"),
    (["--json", "--csv"], "either --json or --csv"), (["--quantity", "nix"], "quantity must be one of"),
    (["--element", "mg", "nix"], "not 'nix'"), (["--elements", "50", "x"], "--elements"),
    (["--elements", "0"], "n_elements must be at least 1"), (["-o", "/nowhere/figure.png"], "/nowhere"),
    (["--processes", "0"], "processes must be at least 1"), (["--cache", "/proc/nowhere"], "as cache"),
])
def test_command_with_bad_input(options, message, capsys):
    assert main([*COMMAND, *options]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error
