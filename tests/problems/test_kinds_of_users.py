"""Kinds of problems that the package does not know."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, replace

import pytest

import timefem as tf
from timefem.problems.initial.kind import InitialErrors, solve_initial
from timefem.problems.kinds import KINDS, Kind

END = tf.EndValue(lambda bodies, t: bodies[0].position[0])


@dataclass(frozen=True)
class Faster:
    """A motion at a multiple of the given velocities, which depends on more than the numbers of an initial value."""

    system: tf.System
    state: dict
    factor: float
    t_span: tuple = (0, 1)


def solve_faster(task):
    given = task.problem
    body, pose = next(iter(given.state.items()))
    state = {body: replace(pose, velocity=given.factor * given.system.find(body).mass * pose.velocity)}
    return solve_initial(replace(task, problem=tf.InitialValueProblem(given.system, state, given.t_span)))


@pytest.fixture
def kind():
    KINDS["faster"] = Kind("faster", Faster, "a faster motion", drivers=(tf.March, tf.Global), solve=solve_faster,
                           estimate=InitialErrors)
    yield KINDS["faster"]
    del KINDS["faster"]


def problem():
    body = tf.PointMass(2.0, name="point")
    return Faster(tf.System([body]), {body: tf.Pose(velocity=(1, 0, 0))}, 3.0)


@pytest.mark.parametrize("driver", ["march", "global"])
def test_derivatives_are_refused(kind, driver, tmp_path):
    """x(1) = 3 m v has the derivative 3 by the mass; that of the initial-value problem would be 0 or -3."""
    solution = tf.solve(problem(), tf.MixedGalerkin(1), 2, driver=driver, progress=False)
    assert solution.position("point", 1.0)[0] == pytest.approx(6.0)
    solution.save(tmp_path / "a.h5")
    for found in (solution, tf.load(tmp_path / "a.h5")):
        for ask in (tf.gradient, tf.sensitivities):
            with pytest.raises(tf.InputError, match=r"this solution is one of a faster motion.*differences of solves"):
                ask(found, END, tf.Parameter("point", "mass"))
    del KINDS["faster"]  # the file is read where the kind is not known
    with pytest.raises(tf.InputError, match="one of another problem"):
        tf.gradient(tf.load(tmp_path / "a.h5"), END, tf.Parameter("point", "mass"))
    KINDS["faster"] = kind


def test_initial_values_keep_their_derivatives(tmp_path):
    body = tf.PointMass(2.0, name="point")
    motion = tf.solve(tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(velocity=(1, 0, 0))}, (0, 1)),
                      tf.MixedGalerkin(1), 2, progress=False)
    motion.save(tmp_path / "a.h5")
    assert tf.gradient(tf.load(tmp_path / "a.h5"), END, tf.Initial("point", "velocity", 0))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("answer", [None, []])
def test_a_solve_that_returns_no_solution(kind, answer):
    KINDS["faster"] = replace(kind, solve=lambda task: answer)
    with pytest.raises(tf.InputError, match="solve of the kind of problem 'faster' must return a Solution, not"):
        tf.solve(problem(), tf.MixedGalerkin(1), 2, progress=False)


@pytest.mark.long
def test_a_model_file(tmp_path):
    """Keys come with the kind, in a process in which no file was read before."""
    (tmp_path / "own.py").write_text(textwrap.dedent("""
        from timefem.problems.kinds import FileFormat
        from timefem.problems.kinds import KINDS
        from tests.problems.test_kinds_of_users import Faster, Kind, InitialErrors, solve_faster, tf

        def make(model):
            table = model.document.data["problem"]
            if "factor" not in table:
                raise model.document.error(("problem", "kind"), '"faster" needs the key factor')
            return Faster(model.system, model.stated_start, table["factor"], model.t_span)

        FILES = FileFormat(make, schemas={"factor": {"$ref": "#/$defs/number"}})
        KINDS["faster"] = Kind("faster", Faster, "a faster motion", (tf.March,), solve_faster, InitialErrors,
                               files="own")
        body = '[bodies.point]\\ntype = "point"\\nmass = 2.0\\nvelocity = [1, 0, 0]\\n'
        body += '[time]\\nspan = [0, 1]\\nn_elements = 2\\n'
        for text in ('factor = 3.0', '', 'factor = "a"') if __name__ == "__main__" else ():
            open("a.toml", "w").write(f'[problem]\\nkind = "faster"\\n{text}\\n' + body)
            try:
                problem = tf.load_model("a.toml").problem
                print(tf.solve(problem, tf.MixedGalerkin(1), 2, progress=False).position("point", 1.0)[0])
            except tf.InputError as error:
                print(" ".join(str(error).split()))
        """))
    found = subprocess.run([sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
                           env={**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))})
    first, missing, wrong = found.stdout.splitlines() or [found.stderr] * 3
    assert float(first) == pytest.approx(6.0), found.stderr
    assert "a.toml" in missing and '"faster" needs the key factor' in missing
    assert "problem.factor" in wrong and "number" in wrong
