"""Guesses of global solves: marches, and what stands in for a short one whose loop is not compiled."""

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling, TimeMesh
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.problems.initial import guess
from timefem.solvers.march import march as module
from timefem.solvers.march.march import NotCompiled, Run, march


class NothingAtHand:
    """The loop of marches, as long as nothing is compiled."""

    def __init__(self, loop):
        self._loop, self.n_calls = loop, 0

    def at_hand(self, *arguments):
        return False

    def __call__(self, *arguments):
        self.n_calls += 1
        return self._loop(*arguments)


@pytest.fixture
def loop(monkeypatch):
    loop = NothingAtHand(module.march_elements)
    monkeypatch.setattr(module, "march_elements", loop)
    return loop


def arguments(name, n_elements, t_end):
    problem = find_case(name).make()
    system, t0, z0 = problem.system, problem.t_span[0], problem.z0
    plan = guess._guess_plan(system)
    return (plan, TimeMesh(np.linspace(t0, t_end, n_elements + 1)), z0, system.consistent_multipliers(t0, z0),
            Scaling.of("full", system, plan.element, t0, z0), guess._ROUGH)


@pytest.mark.parametrize("name, n_elements, t_end", [
    ("spinning-box", 30, 0.5), ("heavy-top", 40, 0.05), ("physical-pendulum", 20, 1.0), ("four-bar", 20, 0.2)])
def test_short_march_is_the_march(loop, monkeypatch, name, n_elements, t_end):
    monkeypatch.setattr(guess, "SHORT", np.inf)
    how = arguments(name, n_elements, t_end)
    with pytest.raises(NotCompiled):
        march(*how, Run(compiles=False))
    short = guess._short_march(*how)
    assert loop.n_calls == 0
    x, _, status, _ = march(*how)
    assert status.success and loop.n_calls
    short, x = (how[0].unpack(values)[0] for values in (short, x))
    size = np.abs(x).max(axis=(0, 1))
    assert np.all(np.abs(short - x) <= 1e-8 * size + 1e-8 * size.max())


def test_long_marches_are_compiled(loop, monkeypatch):
    monkeypatch.setattr(guess, "SHORT", -1.0)
    plan, mesh, z0, *_ = arguments("spinning-box", 10, 0.1)
    _, status = guess._march(plan, mesh, z0)
    assert status.success and loop.n_calls


@pytest.mark.parametrize("driver", [tf.Global(), tf.Windows(20)])
def test_solutions_do_not_depend_on_it(loop, driver, monkeypatch):
    monkeypatch.setattr(guess, "SHORT", np.inf)
    problem, element = find_case("spinning-box").make(), tf.BubnovGalerkin(2)
    cold = tf.solve(problem, element, 100, driver=driver)
    assert cold.success and loop.n_calls == 0
    loop.at_hand = lambda *arguments: True
    again = tf.solve(problem, element, 100, driver=driver)
    assert again.success and loop.n_calls
    assert np.max(np.abs(cold.z - again.z)) < 1e-10


@pytest.mark.parametrize("chunk", [7, 10, 100])
@pytest.mark.parametrize("name, n_elements", [("spinning-box", 40), ("bouncing-block", 40)])
def test_slabs_of_any_size_have_the_guess_of_the_whole(monkeypatch, name, n_elements, chunk):
    monkeypatch.setattr(guess, "CHUNK", chunk)
    monkeypatch.setattr(guess, "SHORT", -1)
    problem = bouncing() if name == "bouncing-block" else find_case(name).make()
    plan = ElementPlan(problem.system, tf.BubnovGalerkin(2))
    mesh = TimeMesh(np.linspace(*problem.t_span, n_elements + 1))

    def parts(start, stop):
        return {e + i: values for e, *chunk in guess.initial_guess("march", plan, mesh, problem.z0, start, stop)
                for i, values in enumerate(zip(*chunk, strict=True))}

    whole = parts(0, n_elements)
    assert list(whole) == list(range(n_elements))
    for start, stop in ((0, 13), (13, 27), (27, n_elements), (39, 40)):
        own = parts(start, stop)
        assert list(own) == list(range(start, stop))
        assert all(np.array_equal(a, b) for e, values in own.items() for a, b in zip(values, whole[e], strict=True))


def bouncing():
    """On an elastic floor, of which steps of many elements see nothing."""
    block = tf.PointMass(1.0, 3, name="block")
    floor = tf.PlaneContact(block, normal=(0, 0, 1), stiffness=1e3)
    return tf.InitialValueProblem(tf.System([block, floor], gravity=(0, 0, -9.81)), {block: tf.Pose((0, 0, 1))}, (0, 1))
