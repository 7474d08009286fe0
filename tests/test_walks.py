"""How far an object is handed on: files whose functions take it as an argument in one run, whatever they call it."""

import sys
from pathlib import Path

import pytest

import timefem as tf
from timefem.models.document import Document
from timefem.problems.task import Task

PACKAGE = Path(tf.__file__).parent


def walk(run, cls):
    """Files of the package with a function that is called with an object of a class while `run()` runs."""
    files = set()

    def look(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            n = code.co_argcount + code.co_kwonlyargcount
            if any(isinstance(frame.f_locals.get(name), cls) for name in code.co_varnames[:n]):
                files.add(Path(code.co_filename).relative_to(PACKAGE).as_posix())

    earlier = sys.getprofile()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(earlier)
    return files


@pytest.fixture(scope="module")
def stone():
    ball = tf.PointMass(1.0, name="ball")
    return ball, tf.System([ball, tf.Gravity(ball, (0, 0, -9.81))])


@pytest.mark.parametrize("driver", ["march", "global"])
def test_a_task_of_initial_values_is_handed_on_through_few_files(stone, driver):
    ball, system = stone
    problem = tf.InitialValueProblem(system, {ball: tf.Pose(velocity=(1, 0, 2))}, (0, 0.1))
    files = walk(lambda: tf.solve(problem, tf.MixedGalerkin(2), 2, driver=driver), Task)
    assert "problems/initial/kind.py" in files and len(files) <= 12, sorted(files)


def test_a_task_of_boundary_values_is_handed_on_through_few_files(stone):
    ball, system = stone
    problem = tf.BoundaryValueProblem(system, (0, 0.1), start={ball: tf.EndState(position=(0, 0, 0))},
                                      end={ball: tf.EndState(position=(1, 0, 0))})
    files = walk(lambda: tf.solve(problem, tf.MixedGalerkin(2), 2), Task)
    assert "problems/boundary/solver.py" in files and len(files) <= 10, sorted(files)


@pytest.mark.parametrize("name", ["six-axis-arm", "quadrotor", "bouncing-ball"])
def test_the_document_of_a_model_file_is_handed_on_through_few_files(name):
    files = walk(lambda: tf.load_model(PACKAGE / "cases" / "files" / f"{name}.toml").problem, Document)
    assert "models/build.py" in files and len(files) <= 8, sorted(files)
