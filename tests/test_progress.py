"""Progress bars: what is drawn, and that long solves of all kinds have one."""

import pytest

import timefem as tf
from timefem import progress as module
from timefem.cases import find_case
from timefem.progress import progress


@pytest.fixture
def drawn(monkeypatch):
    """Titles and texts of the outermost bar, without delay and terminal."""
    monkeypatch.setattr(module, "DELAY", 0.0)
    texts, draw = [], module._Bar._draw

    def recorded(self, text=""):
        if self.show and self.outer is None:
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
        assert (task.description, task.completed, inner.done) == ("outer inner residual 1.0e-03", 0, 2)
    with progress("next", 3, True) as following:
        following.advance()
        assert following.bar.tasks[0].completed == 1
    assert drawn == ["outer inner residual 1.0e-03", "next "]


@pytest.mark.parametrize("name, n, arguments, told", [
    ("spinning-box", 50, {"driver": "global"}, "global Newton residual"),
    ("spinning-box", None, {"driver": "global", "tolerance": 1e-3}, "mesh refinement global Newton residual"),
    ("pendulum-boundary", 20, {}, "boundary-value problem residual"),
    ("crane-inverse", 20, {}, "inverse dynamics residual"),
    ("reorientation-effort", 20, {}, "optimal control, 20 elements residual"),
    ("reorientation-effort", None, {"tolerance": 1e-3}, "mesh refinement optimal control, 16 elements residual"),
    ("slew-time", 20, {}, "optimal control, 20 elements "),
])
def test_solves_of_all_kinds_tell_of_their_iterations(drawn, name, n, arguments, told):
    sol = tf.solve(find_case(name).make(), tf.MixedGalerkin(2), n, progress=True, **arguments)
    assert sol.success and any(text.startswith(told) for text in drawn)
    del drawn[:]
    assert tf.solve(find_case(name).make(), tf.MixedGalerkin(2), n, progress=False, **arguments).success and not drawn


def test_several_solutions_and_continuation_tell_of_each_solve(drawn):
    case, element = find_case("pendulum-boundary"), tf.MixedGalerkin(2)
    tf.solve_all(case.make(), element, 12, turns=0, progress=True)
    assert "guesses " in drawn and any(text.startswith("guesses boundary-value") for text in drawn)
    del drawn[:]
    tf.continuation(lambda end: case.make(t_end=end), element, 12, 1.0, 1.3, progress=True)
    assert "continuation " in drawn and any(text.startswith("continuation boundary-value") for text in drawn)
