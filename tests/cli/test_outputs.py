"""Names of files: what commands refuse to read, or to write over."""

import json
import warnings

import pytest

import timefem as tf
from tests.example_systems import pendulum
from timefem.cli import main
from timefem.cli.process import plain_warnings

pytestmark = pytest.mark.long

MODEL = """
[time]
span = [0, 0.1]
n_elements = 2
[bodies.ball]
type = "point"
mass = 1
velocity = [1, 0, 0]
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "ball.toml"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("arguments", [
    ("run", "{model}", "-o", "{model}"), ("run", "{model}", "-o", "{folder}/../{name}/ball.toml"),
    ("run", "{model}", "--checkpoint", "{model}"),
    ("run", "{model}", "--checkpoint", "{folder}/a.h5", "-o", "{folder}/a.h5"),
    ("run", "{model}", "--restart", "{folder}/a.h5", "-o", "{folder}/a.h5"),
    ("sweep", "{model}", "--parameter", "ball.mass=1,2", "--csv", "{model}"),
    ("plot", "{solution}", "-o", "{solution}")])
def test_files_that_are_read_are_kept(timefem, tmp_path, model, arguments):
    solution = tmp_path / "ball.csv"  # as a copy may be called
    assert timefem("run", str(model), "-o", str(tmp_path / "ball.h5"))[0] == 0
    (tmp_path / "ball.h5").rename(solution)
    before = model.read_bytes(), solution.read_bytes()
    status, out, err = timefem(*(a.format(model=model, folder=tmp_path, name=tmp_path.name, solution=solution)
                                 for a in arguments))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "the command has another use for that file" in err
    assert (model.read_bytes(), solution.read_bytes()) == before


@pytest.mark.parametrize("ending", [".csv", ".HTML"])
def test_endings_of_what_a_solution_is_not(timefem, tmp_path, model, ending):
    path = tmp_path / f"ball{ending}"
    status, out, err = timefem("run", str(model), "-o", str(path))
    assert (status, out) == (2, "") and "a solution is saved as .h5" in err and not path.exists()


def test_names_that_are_no_case(timefem, tmp_path, model):
    status, out, err = timefem("run", str(model.with_suffix(".tml")))
    assert (status, out) == (2, "") and "`timefem list` names those there are, and files end in .toml" in err


def test_endings_in_capitals(timefem, tmp_path, model):
    timefem("run", str(model), "-o", str(tmp_path / "ball.h5"))
    assert timefem("plot", str(tmp_path / "ball.h5"), "-o", str(tmp_path / "BALL.CSV"))[0] == 0
    assert (tmp_path / "BALL.CSV").read_text().startswith("t [s],ball.x [m]")


@pytest.mark.parametrize("option", [("--rotation", "directors"), ("--inverse-mass", "exact")])
def test_options_of_rigid_bodies_without_one(timefem, model, option):
    status, out, err = timefem("run", str(model), *option)
    assert (status, out, err.count("\n")) == (2, "", 1) and "ball.toml: there are no rigid bodies" in err


@pytest.mark.parametrize(("values", "fault"), [
    (["ball.mass=1,2", "ball.mass=3"], "ball.mass is given twice"),
    (["ball.mass=1:2:1000000000000"], "makes more than 10000000 runs"),
    (["ball.mass=1:2:10000", "gravity[2]=1:2:10000"], "makes more than 10000000 runs"),
    (["ball.mass=1:2:-3"], "must be NAME=FIRST:LAST:NUMBER"), ([""], "must be NAME=FIRST:LAST:NUMBER")])
def test_parameters_of_sweeps(timefem, model, values, fault):
    status, out, err = timefem("sweep", str(model), *(x for value in values for x in ("--parameter", value)))
    assert (status, out, err.count("\n")) == (2, "", 1) and fault in err


@pytest.mark.parametrize(("number", "fault"), [
    ("ball=2", "as in PART.NAME; of ball there are ball.mass"), ("ball.mass=1,2", "must be NAME=VALUE with one number"),
    ("bal.mass=2", "did you mean 'ball.mass'")])
def test_numbers_of_runs(timefem, model, number, fault):
    status, out, err = timefem("run", str(model), "--number", number)
    assert (status, out, err.count("\n")) == (2, "", 1) and fault in err


def test_warnings_are_lines_without_a_place_in_python():
    with plain_warnings():
        assert warnings.formatwarning("too\nfew", UserWarning, "main.py", 1) == "timefem: warning: too few\n"


# ---- `timefem plot` writes the motion by the ending of the name

@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("solution") / "swing.h5"
    tf.solve(pendulum(t_end=0.5), tf.MixedGalerkin(1), 5, progress=False).save(path)
    return path


def test_motion(path, tmp_path, capsys):
    for name in ("swing.html", "swing.gif", "swing.pvd", "swing.csv", "swing.json"):
        assert main(["plot", str(path), "-o", str(tmp_path / name), "--times", "0,0.25,0.5"]) == 0
        assert capsys.readouterr().out == f"{tmp_path / name}\n"
    assert "let scene" in (tmp_path / "swing.html").read_text()
    assert (tmp_path / "swing.gif").read_bytes().startswith(b"GIF8")
    assert len(list((tmp_path / "swing").glob("*.vtu"))) == 3
    assert len((tmp_path / "swing.csv").read_text().splitlines()) == 4
    assert json.loads((tmp_path / "swing.json").read_text())["t"] == [0, 0.25, 0.5]


def test_default_times(path, tmp_path):
    assert main(["plot", str(path), "-o", str(tmp_path / "swing.pvd")]) == 0
    assert len(list((tmp_path / "swing").glob("*.vtu"))) == 200


def test_refusals(path, tmp_path, capsys):
    assert main(["plot", str(path), "-o", str(tmp_path / "swing.html"), "--times", "0.2,0.1"]) == 2
    assert "increase" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["xyz", "xlsx", "vtk", "mat"])
def test_unknown_endings_of_solutions(timefem, tmp_path, ending):
    """Before any work, with those there are; modes and their films as well."""
    for arguments in (("run", "spinning-box"), ("modes", "elastic-arm")):
        code, out, err = timefem(*arguments, "-o", tmp_path / f"a.{ending}")
        assert (code, out) == (2, "") and f"save does not make .{ending} files" in err and ".h5 is all there is" in err
    assert not list(tmp_path.iterdir())
