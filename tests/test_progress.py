"""Progress bars: what is drawn, and that long solves of all kinds have one."""

import multiprocessing
import re
import time

import pytest

import timefem as tf
from timefem import progress as module
from timefem.cases import find_case
from timefem.progress import progress


@pytest.fixture
def drawn(monkeypatch):
    """Titles and texts of the outermost bar, without delay and terminal."""
    monkeypatch.setattr(module, "DELAY", 0.0)
    monkeypatch.setattr(module, "_draws", lambda screen: True)
    texts, draw = [], module._Bar._draw

    def recorded(self, text=""):
        if self.outer is None:
            texts.append(f"{self.title} {text}")
        draw(self, text)

    monkeypatch.setattr(module._Bar, "_draw", recorded)
    return texts


def test_the_outermost_bar_is_drawn_and_notes_what_the_others_tell(drawn):
    with progress("outer", 3, True) as outer, progress("silent", 3, False) as silent, \
            progress("inner", 5, True) as inner:
        inner.iteration(2, 1e-3)
        silent.advance()
        assert inner.bar is None and silent.bar is None
        task = outer.bar.tasks[0]
        told = "outer, inner, iteration 2, residual 1.0e-03, at most 0 s left"
        assert (task.description, task.completed, inner.done) == (told, 0, 2)
    with progress("next", 3, True) as following:
        following.advance()
        assert following.bar.tasks[0].completed == 1
    assert list(dict.fromkeys(drawn)) == [told.replace(",", "", 1), "next "]  # bars are looked at every second


def test_lines_in_a_file(monkeypatch, capfd):
    """Where standard error is no terminal: title, how far, what it says, how long, and how much is left."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "_last", [-100.0, -100.0])
    with progress("march", 200) as bar:
        for _ in range(100):
            now[0] += 0.25
            bar.advance()
    with progress("global Newton", 50) as newton, progress("linear solve") as inner:
        now[0] += 11
        newton.iteration(3, 1e-4)
        now[0] += 11
        inner.note("MUMPS")
    assert capfd.readouterr().err.splitlines() == [
        "timefem: march, 40 of 200, 10 s, about 40 s left", "timefem: march, 80 of 200, 20 s, about 30 s left",
        "timefem: global Newton, iteration 3, residual 1.0e-04, 11 s, at most 172 s left",
        "timefem: global Newton, iteration 3, linear solve, MUMPS, 22 s, at most 345 s left"]
    with progress("Newton", 50, goal=1e-8) as newton:  # what is left, by how fast the residual falls
        for k in range(3):
            now[0] += 9
            newton.iteration(k, 10.0**-k)
    for phase in "abc":  # short phases that follow each other are reported, too
        with progress(phase) as bar:
            now[0] += 6
            bar.look()
    assert capfd.readouterr().err.splitlines() == [
        "timefem: Newton, iteration 1, residual 1.0e-01, 18 s, about 126 s left", "timefem: a, 6 s",
        "timefem: c, 6 s"]
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")  # other ranks are silent
    for show in (None, False):
        with module.showing(show), progress("march", 2) as bar:
            now[0] += 11
            bar.advance()
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    assert not capfd.readouterr().err


def test_progress_that_is_asked_for_shows_in_a_pipe(monkeypatch, capfd):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "_last", [-100.0, -100.0])
    with progress("march", 200, True) as bar:
        for _ in range(100):
            now[0] += 0.25
            bar.advance()
        assert capfd.readouterr().err.splitlines() == [
            "timefem: march, 40 of 200, 10 s, about 40 s left", "timefem: march, 80 of 200, 20 s, about 30 s left"]


def work_of_a_process():
    with progress("march", 2) as bar:
        bar.advance()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes do not fork here")
def test_processes_leave_the_bar_to_the_one_that_shows_it(monkeypatch, capfd):
    """Each reported its own copy of the bar, "0 of 53", which the others had moved on."""
    monkeypatch.setattr(module, "EVERY", 0.0)
    with progress("figures", 2) as bar:
        process = multiprocessing.get_context("fork").Process(target=work_of_a_process)
        process.start()
        process.join()
        assert process.exitcode == 0 and "march" not in capfd.readouterr().err
        bar.advance()
    assert "timefem: figures, 1 of 2" in capfd.readouterr().err


def test_work_that_tells_nothing_is_told_of(monkeypatch, capfd):
    """Such as the compilation of a large system: a thread looks at the bars."""
    monkeypatch.setattr(module, "EVERY", 0.2)
    monkeypatch.setattr(module, "LOOK", 0.1)
    monkeypatch.setattr(module, "_watch", [None])
    with progress("set-up"):
        for _ in range(100):
            time.sleep(0.05)
            if "timefem: set-up, " in (told := capfd.readouterr().err):
                break
    assert "timefem: set-up, 0 s" in told or "timefem: set-up, 1 s" in told


@pytest.mark.long
@pytest.mark.parametrize("name, n, arguments, told", [
    ("spinning-box", 50, {"driver": "global"}, "global Newton residual"),
    ("spinning-box", None, {"driver": "global", "tolerance": 1e-3}, "mesh refinement global Newton, iteration "),
    ("pendulum-boundary", 20, {}, "boundary-value problem residual"),
    ("crane-inverse", 20, {}, "inverse dynamics residual"),
    ("reorientation-effort", 20, {}, "optimal control, 20 elements residual"),
    ("reorientation-effort", None, {"tolerance": 1e-3}, "mesh refinement optimal control, 16 elements, iteration "),
    ("slew-time", 20, {}, "optimal control, 20 elements residual"),
])
def test_solves_of_all_kinds_tell_of_their_iterations(drawn, name, n, arguments, told):
    sol = tf.solve(find_case(name).make(), tf.MixedGalerkin(2), n, progress=True, **arguments)
    assert sol.success and any(text.startswith(told) for text in drawn)
    del drawn[:]
    assert tf.solve(find_case(name).make(), tf.MixedGalerkin(2), n, progress=False, **arguments).success and not drawn


def test_several_solutions_and_continuation_tell_of_each_solve(drawn):
    case, element = find_case("pendulum-boundary"), tf.MixedGalerkin(2)
    tf.solve_all(case.make(), element, 12, turns=0, progress=True)
    assert any(text.startswith("guesses boundary-value") for text in drawn)
    del drawn[:]
    tf.continuation(lambda end: case.make(t_end=end), element, 12, 1.0, 1.3, progress=True)
    assert any(text.startswith("continuation boundary-value") for text in drawn)


@pytest.mark.parametrize("progress", ["x", 1, "off"])
def test_progress_is_a_flag(progress):
    problem = find_case("spinning-box").make(t_end=0.1)
    with pytest.raises(tf.InputError, match="progress must be True, False or None, not"):
        tf.solve(problem, tf.MixedGalerkin(1), 4, progress=progress)


def _moved(values):
    free = tf.GeneralizedSystem(1, "v[0]**2 / 2", "-c[0] * cos(q[0])", parameters=values, name="pendulum")
    return tf.InitialValueProblem(free, tf.Coordinates([1.0]), (0, 1))


def test_analysis_shows_progress_or_not(drawn):
    swing, element = _moved([9.0]), tf.MixedGalerkin(2)
    free, start = swing.system, tf.Coordinates([1.0])
    sol = tf.solve(swing, element, 20, progress=False)

    def family(g):
        return tf.linearize(_moved([g]).system, tf.Coordinates([0.0]))

    place = tf.Measurement(lambda bodies, t: bodies[0].q[0], [1.0], [-0.9], deviation=1.0)
    for work in (lambda show: tf.identify(_moved, [9.0], element, 20, place, progress=show),
                 lambda show: tf.periodic(free, start, 2.2, element, 20, progress=show),
                 lambda show: tf.lyapunov(sol, every=10, progress=show),
                 lambda show: tf.root_locus(family, [1.0, 2.0], progress=show),
                 lambda show: tf.critical_values(family, (-1.0, 2.0), 4, progress=show),
                 lambda show: tf.equilibrium(free, start, progress=show)):
        work(False)
        assert not drawn
        work(True)
        assert drawn
        del drawn[:]


@pytest.mark.long
def test_marches_to_a_tolerance_count_each_for_itself(drawn):
    """Several marches follow each other where errors grow as Lorenz's do: none is beyond its end."""
    state = tf.State("x", ["10*(x[1]-x[0])", "x[0]*(28-x[2])-x[1]", "x[0]*x[1]-8/3*x[2]"])
    problem = tf.InitialValueProblem(tf.System([state]), {state: [1.0, 1.0, 1.0]}, (0, 30))
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-3, progress=True)
    meshes, texts = sol.statistics["meshes"], "\n".join(drawn)
    assert len(meshes) > 1 and {int(n) for n in re.findall(r"march of (\d+) elements", texts)} == {*meshes}
    done = [float(n) for n in re.findall(r"elements, ([\d.e+-]+) of 100", texts)]
    assert done and max(done) <= 100 * (1 + 1e-9)
