"""The command line, in this process through `main`, and a few times as a command of its own."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem import cli
from timefem.cases import CASES
from timefem.cli.report import make_console, make_table

pytestmark = pytest.mark.long

MODELS = Path(__file__).parents[2] / "examples" / "models"
SHORT = ("--n-elements", "20", "--t-end", "0.5")


def run_json(timefem, *arguments, status=0):
    code, out, err = timefem(*arguments, "--json")
    assert code == status, err

    def refuse(name):
        raise ValueError(f"{name} in JSON")
    return json.loads(out, parse_constant=refuse)


BAD = {
    "degree 0": (["--degree", "0"], "degree must be at least 1"),
    "zero points": (["--points", "0"], "n_points must be at least 1"),
    "too few points": (["--degree", "3", "--points", "2"], "singular; at least 3 are needed"),
    "too few points, bg": (["--element", "bg", "--degree", "3", "--points", "2"], "at least 3 are needed"),
    "n_elements 0": (["--n-elements", "0"], "n_elements must be at least 1"),
    "t_end before t_start": (["--t-end", "-1"], "must go forward"),
    "NaN end": (["--t-end", "nan"], "t_end must be finite"),
    "infinite end": (["--t-end", "inf"], "t_end must be finite"),
    "NaN tolerance": (["--tol-residual", "nan"], "tol_residual must be finite"),
    "NaN increment": (["--tol-increment", "nan"], "tol_increment must be finite"),
    "NaN degree": (["--degree", "nan"], "--degree"),
    "unknown backend": (["--backend", "pardiso"], "backend must be one of"),
    "unknown element": (["--element", "cg"], "element must be one of"),
    "unknown driver": (["--driver", "all"], "driver must be one of"),
    "unknown rotation": (["--rotation", "euler"], "rotation must be one of"),
    "unknown scaling": (["--scaling", "some"], "scaling must be one of"),
    "unknown nodes": (["--nodes", "chebyshev"], "nodes must be one of"),
    "unknown guess": (["--driver", "global", "--guess", "zero"], "guess must be one of"),
    "unknown option": (["--frequency", "3"], "--frequency"),
    "window 0": (["--window", "0"], "window must be at least 1"),
    "no iterations": (["--max-iterations", "0"], "max_iterations must be at least 1"),
    "multipliers of mg": (["--multipliers", "continuous"], "--multipliers belongs to --element bg"),
    "drop of mg": (["--drop", "end"], "--drop belongs to --element bg"),
    "drop with continuous": (["--element", "bg", "--multipliers", "continuous", "--drop", "end"], "lose rank"),
    "march of bg": (["--element", "bg", "--driver", "march"], "cannot be marched"),
    "exact directors": (["--rotation", "directors", "--inverse-mass", "exact"], "inverse_mass"),
    "PETSc options without PETSc": (["-timefem_ksp_type", "gmres"], "needs --backend petsc"),
    "no folder": (["-o", "/nowhere/out.h5"], "/nowhere"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_status_2(timefem, name):
    arguments, message = BAD[name]
    status, out, err = timefem("run", "spinning-box", *arguments, "--json")
    assert (status, out) == (2, "")
    assert err.startswith("timefem: error: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("arguments, message", [
    (["run", "spinning-bx"], "there is no 'spinning-bx'; did you mean 'spinning-box'?"),
    (["run", "spinning-box", "--method", "chain"], "add --backend petsc"),
    (["run"], "CASE"),
    (["solve"], "solve"),
    (["list", "-timefem_ksp_view"], "belongs to `timefem run`"),
    (["study", "precision", "-timefem_ksp_view"], "belongs to `timefem study conditioning`"),
    (["plot", "nothing.h5"], "nothing.h5"),
])
def test_bad_commands(timefem, arguments, message):
    status, out, err = timefem(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_remedies_are_options_of_the_command_line(timefem):
    status, _, err = timefem("run", "spinning-box", "--max-iterations", 1, "--n-elements", 20)
    assert status == 1 and "a better guess or --line-search" in err and "line_search" not in err
    status, _, err = timefem("run", "pendulum-periodic", "--follow", "t_end=5")
    assert status == 2 and "from an easier problem with --follow" in err


def test_no_terminal_codes_under_mpirun(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert make_console().is_terminal
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert not make_console().is_terminal


def test_tables_in_files_keep_all_digits(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    table = make_table("numbers", "entry", *(f"column {i}" for i in range(9)))
    table.add_row("what a name may be", *["1.2345678901e-11"] * 9)
    make_console().print(table)
    assert capsys.readouterr().out.count("1.2345678901e-11") == 9
    monkeypatch.setenv("COLUMNS", "80")
    make_console().print(table)
    assert "…" not in capsys.readouterr().out


def test_backend_that_is_not_installed(timefem, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "sksparse" else found(name, *a))
    status, out, err = timefem("run", "spinning-box", "--driver", "global", "--backend", "sksparse")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "timefem[sparse]" in err
    backends = run_json(timefem, "list")["backends"]
    assert not backends["sksparse"]["available"] and "timefem[sparse]" in backends["sksparse"]["remedy"]


def test_unwritable_output_is_found_before_solving(timefem, tmp_path, monkeypatch):
    monkeypatch.setattr("timefem.cli.run.solve", lambda *a, **k: pytest.fail("solved"))
    status, _, err = timefem("run", "spinning-box", "-o", tmp_path)
    assert status == 2 and str(tmp_path) in err


def test_full_disk_keeps_the_numbers(timefem, tmp_path, monkeypatch):
    def save(sol, path):
        raise OSError(f"could not write {path}: No space left on device")
    monkeypatch.setattr(tf.Solution, "save", save)
    r = run_json(timefem, "run", "spinning-box", *SHORT, "-o", tmp_path / "box.h5", status=1)
    assert r["status"] == "converged"


def test_unexpected_errors_keep_their_traceback(timefem, monkeypatch):
    monkeypatch.setattr("timefem.cli.run.solve", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        timefem("run", "spinning-box")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.kind == "initial"])
@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_json(timefem, name, rotation):
    case = CASES[name]
    if not case.has_rotation:
        pytest.skip("a case without rigid bodies")
    if (name, rotation) == ("right-angle-cantilever", "directors"):
        status, _, error = timefem("run", name, "--rotation", rotation)
        assert status == 2 and "singular Euler tensor" in error and "rotation=" in error
        return
    r = run_json(timefem, "run", name, "--rotation", rotation, "--n-elements", 20, "--t-end", case.t_end / 100)
    assert r["case"] == name and r["rotation"] == rotation and r["element"] == "mg"
    assert (r["degree"], r["n_points"], r["n_elements"]) == (2, 4, 20)
    assert (r["driver"], r["backend"], r["n_ranks"], r["t_end"]) == ("march", None, 1, case.t_end / 100)
    assert r["status"] == "converged" and r["failure"] is None
    assert 1 <= r["newton_iterations"]["mean"] <= 5 and r["newton_iterations"]["max"] <= 12
    joints = r["final"].pop("joints", {})
    assert all({"position", "rate"} <= set(joint) for joint in joints.values())
    for state in r["final"].values():
        assert set(state) == {"position", "velocity", "rotation_matrix", "angular_velocity"} | (
            {"quaternion"} if rotation == "quaternion" else set())
        matrix = np.array(state["rotation_matrix"])
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), rtol=0, atol=1e-11)
    assert r["energy_error_max"] < 1e-8 and (r["angular_momentum_error_max"] or 0) < 1e-3
    assert set(r["constraint_error_max"]) == {"configuration", "velocity"} | (
        {"quaternion_momentum"} if rotation == "quaternion" else set())
    assert max(r["constraint_error_max"].values()) < 1e-10
    assert set(r["seconds"]) == {"setup", "assemble", "solve", "total"}
    assert r["n_unknowns"] > 0


def test_cases_without_rotation(timefem):
    r = run_json(timefem, "run", "mass-spring", *SHORT)
    assert r["rotation"] is None and set(r["final"]["masses"]) == {"coordinates", "velocity"}
    assert r["energy_error_max"] < 1e-12 and r["angular_momentum_error_max"] is None
    status, out, _ = timefem("run", "spring-pendulum", *SHORT)
    assert status == 0 and "coordinates" in out
    status, out, err = timefem("run", "mass-spring", "--rotation", "directors")
    assert (status, out, err.count("\n")) == (2, "", 1) and "no use for rotation" in err


def test_drivers_and_backends_agree(timefem):
    wanted = run_json(timefem, "run", "spinning-box", *SHORT)["final"]["box"]
    for arguments in (["--driver", "windows", "--window", "7"], ["--window", "3"], ["--window", "100"],
                      ["--driver", "global"], ["--driver", "global", "--backend", "superlu"],
                      ["--driver", "global", "--guess", "constant", "--scaling", "weights", "--line-search"]):
        r = run_json(timefem, "run", "spinning-box", *SHORT, *arguments)
        assert r["driver"] == ("global" if "global" in arguments else "windows") and r["backend"]
        for quantity, value in r["final"]["box"].items():
            np.testing.assert_allclose(value, wanted[quantity], rtol=0, atol=1e-10)


@pytest.mark.parametrize("arguments", [["--multipliers", "continuous"], ["--drop", "end"], ["--nodes", "lobatto"]])
def test_bubnov_galerkin(timefem, arguments):
    r = run_json(timefem, "run", "spinning-box", *SHORT, "--element", "bg", *arguments)
    assert (r["element"], r["degree"], r["driver"], r["backend"]) == ("bg", 3, "global", "chain")
    assert r[arguments[0][2:]] == arguments[1]
    assert r["energy_error_max"] < 1e-2


def test_end_of_the_box(timefem):
    r = run_json(timefem, "run", "spinning-box", "--t-end", "3.5", "--degree", "4")
    np.testing.assert_allclose(r["final"]["box"]["angular_velocity"],
                               [-0.11944602663362407, 4.997804540568318, 1.008572862749204], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name, value", [("window", "5"), ("guess", "march"), ("backend", "superlu")])
def test_unused_options_are_refused(timefem, name, value):
    status, _, err = timefem("run", "spinning-box", *SHORT, "--driver", "march", f"--{name}", value)
    assert status == 2
    assert f"--{name} is not used: --driver is march; leave it out" in err


def test_table(timefem):
    status, out, err = timefem("run", "heavy-top", *SHORT, "--n-elements", 200)
    assert status == 0
    for words in ("heavy-top", "mg, degree 2", "march", "error of the energy", "angular velocity", "[m]", "seconds"):
        assert words in out
    status, out, err = timefem("run", "spinning-box", *SHORT, "-v")
    assert status == 0 and "backward error" in err


def test_failed_march_says_where_and_keeps_what_was_solved(timefem, tmp_path):
    path = tmp_path / "part.h5"
    # six iterations suffice for the first elements, over a radian each, but not for all
    arguments = ("run", "spinning-box", "--n-elements", 16, "--max-iterations", 6, "--keep-mesh",
                 "-o", path)
    r = run_json(timefem, *arguments, status=1)
    failure = r["failure"]
    assert r["status"] == "failed" and r["reason"] == failure["reason"] == "not converged"
    assert 0 < failure["element"] < 16
    assert failure["time"] == pytest.approx(failure["element"] * 5 / 16, abs=1e-12) == pytest.approx(r["t_final"])
    assert f"element {failure['element']}" in r["message"]
    assert len(failure["residual_history"]) == 7
    part = tf.solution.load(path)
    assert not part.success and part.t[-1] == r["t_final"]
    np.testing.assert_allclose(part.quaternion("box", part.t[-1]), r["final"]["box"]["quaternion"], rtol=0, atol=1e-12)
    status, out, err = timefem(*arguments)
    assert status == 1 and "failed: not converged" in out and "timefem: failed: not converged" in err


@pytest.mark.parametrize("driver", ["march", "windows", "global"])
def test_failed_solve(timefem, driver, tmp_path):
    r = run_json(timefem, "run", "spinning-box", *SHORT, "--driver", driver, "--max-iterations", 1,
                 "-o", tmp_path / "part.h5", status=1)
    assert r["reason"] == "not converged" and r["failure"]["residual_history"]
    assert r["t_final"] == 0 and r["final"]["box"]["quaternion"] == [1, 0, 0, 0]
    assert not tf.solution.load(tmp_path / "part.h5").success


def test_guess_that_fails(timefem, tmp_path):
    r = run_json(timefem, "run", "heavy-top", "--element", "bg", "--n-elements", 2, "-o", tmp_path / "part.h5",
                 status=1)
    assert r["status"] == "failed" and r["message"] and r["n_elements"] == 2
    assert not tf.solution.load(tmp_path / "part.h5").success


def test_plot(timefem, tmp_path):
    path = tmp_path / "box.h5"
    assert timefem("run", "spinning-box", *SHORT, "-o", path)[0] == 0
    assert timefem("plot", path) == (0, f"{tmp_path / 'box.png'}\n", "")
    figure = tmp_path / "figure.pdf"
    assert timefem("plot", path, "-o", figure, "--times", "0,0.25")[0] == 0
    assert figure.stat().st_size > 1000
    for arguments, message in ((["--times", "0,7"], "lies outside"), (["--times", "nan"], "finite"),
                               (["--times", "a"], "number"), (["-o", tmp_path / "figure.xyz"], "xyz")):
        status, out, err = timefem("plot", path, *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1) and message in err
    (tmp_path / "text.h5").write_text("no")
    status, _, err = timefem("plot", tmp_path / "text.h5")
    assert status == 2 and err.count("\n") == 1


def test_list(timefem):
    status, out, _ = timefem("list")
    assert status == 0
    for name in (*CASES, "mg", "bg", "chain", "superlu", "petsc", "sksparse"):
        assert name in out
    listed = run_json(timefem, "list")
    assert set(listed["cases"]) == set(CASES)
    assert listed["elements"]["bg"]["parameters"]["n_points"]["option"] == "--points"
    assert listed["backends"]["chain"]["available"]


def test_info(timefem):
    status, out, _ = timefem("info")
    assert status == 0 and "casadi" in out
    facts = run_json(timefem, "info")
    assert facts["timefem"] == tf.__version__ and facts["versions"]["numpy"] == np.__version__
    assert facts["kernels"] in ("llvm", "vm") and facts["n_cpus"] >= 1


def test_version_and_help(timefem):
    assert timefem("--version") == (0, f"timefem {tf.__version__}\n", "")
    assert "run" in timefem("--help")[1] and "run" in timefem()[1]
    assert "--n-elements" in timefem("run", "--help")[1]


def test_split_petsc_options():
    others, options = cli.split_petsc_options(
        ["run", "box", "-timefem_ksp_type", "gmres", "--json", "-timefem_ksp_view", "-timefem_shift", "-1e-3"])
    assert others == ["run", "box", "--json"]
    assert options == {"ksp_type": "gmres", "ksp_view": None, "shift": "-1e-3"}


def test_as_a_command():
    environment = {**os.environ, "COLUMNS": "100"}
    run = subprocess.run([sys.executable, "-m", "timefem", "run", "spinning-box", *SHORT, "--json"],
                         capture_output=True, text=True, env=environment, timeout=120)
    assert run.returncode == 0 and run.stderr == ""
    assert json.loads(run.stdout)["status"] == "converged"
    run = subprocess.run([sys.executable, "-m", "timefem", "run", "box"], capture_output=True, text=True,
                         env=environment, timeout=120)
    assert (run.returncode, run.stdout) == (2, "") and run.stderr.count("\n") == 1


def test_bad_input_needs_no_heavy_imports():
    code = ("import sys; from timefem.cli import main; assert main(['run', 'spinning-box', '--degree', '0']) == 2; "
            "assert not {'numba', 'casadi', 'matplotlib', 'h5py', 'petsc4py', 'mpi4py'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


NOT_OF_A_MARCH = {  # by what is run: modules that it does not need
    "spinning-box": {"scipy", "jsonschema", "timefem.models.schema", "timefem.models.build",
                     "timefem.mechanics.bodies.tree", "timefem.mechanics.composites",
                     "timefem.mechanics.forces.actuators", "timefem.mechanics.numbers.changes",
                     "timefem.elements.extended",
                     "timefem.problems.initial.contact", "timefem.solving.many_solutions"},
    "double_pendulum.toml": {"scipy.linalg", "scipy.sparse", "timefem.problems.boundary", "timefem.problems.inverse",
                             "timefem.problems.estimation", "timefem.problems.optimal", "timefem.problems.phases",
                             "timefem.sensitivity", "timefem.models.mjcf", "timefem.models.urdf",
                             "timefem.problems.initial.contact", "timefem.solving.many_solutions",
                             "timefem.solvers.nonsmooth"},
}


@pytest.mark.parametrize("what", NOT_OF_A_MARCH)
def test_a_march_imports_what_it_needs(what):
    given = MODELS / what if what.endswith(".toml") else what
    code = ("import sys; from timefem.cli import main; "
            f"assert main(['run', {str(given)!r}, *{SHORT!r}]) == 0; print(); print(*sys.modules)")
    # the first run may compile, for which more is imported
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120, text=True)
            for _ in range(2)]
    modules = set(runs[1].stdout.splitlines()[-1].split())
    assert "timefem.solving.solve" in modules and not NOT_OF_A_MARCH[what] & modules


FULL = """
import resource, signal, sys
from timefem.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("arguments, told", [
    (["list"], "could not write to standard output: File too large"),
    (["schema"], "could not write to standard output: File too large"),
    (["schema", "-o", "a.json"], "could not write a.json: File too large; no file of that name is left")])
def test_a_full_disk_under_the_output(arguments, told, tmp_path):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # which loses output
    with open(tmp_path / "out", "w") as out:
        run = subprocess.run([sys.executable, "-c", FULL, *arguments], stdout=out, stderr=subprocess.PIPE, text=True,
                             cwd=tmp_path, env=buffered)
    assert run.returncode == 1 and run.stderr.startswith(f"timefem: error: {told}") and run.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["out"]
