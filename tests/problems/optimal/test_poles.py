"""Formulas that divide by what may become zero: steps do not lead across their poles."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling, TimeMesh
from timefem.elements.evaluation.plan import ElementPlan
from timefem.mechanics.formulas.formula import divisors
from timefem.parallel import OverRanks
from timefem.problems.optimal.guesses.guess import first_guess
from timefem.problems.optimal.strategies.mesh_sequence import optimality_element
from timefem.problems.optimal.transcription.equations import OptimalityEquations
from timefem.problems.optimal.transcription.nonlinear_program import OptimalProgram
from timefem.solvers.interior_point.line_search import LineSearch


def test_divisors_that_may_change_their_signs():
    x, t = ca.SX.sym("x", 3), ca.SX.sym("t")
    kept = ca.vertcat(x[0] / (1 + x[1]**2), 1 / ca.norm_2(x), x[0] / (-2 - ca.exp(x[1])), x[0] / (t - 1), x[0] / 7,
                      x[2]**3, ca.sqrt(t), ca.log(1 + x[0]**2))
    assert divisors(kept, x).numel() == 0
    poles = ca.vertcat(x[0] / (0.3 + x[2]), 1 / x[1], x[0]**-1.5, ca.tan(x[0]))
    ends = ca.vertcat(ca.sqrt(2 + x[1]), ca.log(x[1] - 1), (x[2] + 0.1)**1.4, (x[2] + 0.7)**t)
    values = ca.Function("f", [x, t], [divisors(ca.vertcat(poles, ends), x)])([0.6, 3.0, 0.2], 1.0).full()
    np.testing.assert_allclose(np.sort(values.ravel()), np.sort([0.5, 3.0, 0.6, np.cos(0.6), 5.0, 2.0, 0.3, 0.9]))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_ends_before_a_pole(sign):
    """Of divisors 1 + v at -0.9 and 0 the step to -1.5 leaves 0.04; one with both signs limits nothing."""
    program = SimpleNamespace(divisors=lambda v: [sign * (1 + v), v + np.array([0.5, 2.0])])
    search = LineSearch.__new__(LineSearch)
    search.barrier, search.over = SimpleNamespace(scaled=SimpleNamespace(program=program), n=2), OverRanks(None)
    search.it, search.tau = SimpleNamespace(w=np.array([-0.9, 0.0, 7.0])), 0.99
    step = np.array([-0.6, 0.0, 0.0])
    assert search._before_poles(step, 1.0) == 0.125
    assert search._before_poles(step, 0.1) == 0.1
    assert search._before_poles(-step, 1.0) == 1.0


def test_divisors_of_velocities_and_controls():
    point = tf.PointMass(2.0, dimension=1, name="point")
    engine = tf.FormulaForce(point, "[u[0] / (3 + f[0].velocity[0]) + 1 / (4 - u[0]), 0, 0]", n_controls=1,
                             name="engine")
    problem = tf.OptimalControl(tf.System([point, engine]), {point: tf.Pose(velocity=(0.5, 0, 0))},
                                {point: tf.Pose((1, 0, 0), velocity=(0.5, 0, 0))}, (0, 2), tf.Effort(engine))
    optimality, system = optimality_element(problem, tf.MixedGalerkin(2))
    plan, mesh = ElementPlan(system, optimality), TimeMesh.uniform((0, 2), 4)
    chain = OptimalityEquations(problem, plan, mesh, Scaling.of("full", system, optimality, 0, problem.z0))
    program = OptimalProgram(chain, first_guess(problem, plan, mesh, None))
    by_velocity, by_control = sorted(program.divisors(program.start), key=np.min)
    assert len(by_velocity) == len(by_control) == 4 * optimality.n_points
    np.testing.assert_allclose(by_velocity[[0, -1]], 3.5, rtol=0, atol=0.5)
    assert np.ptp(by_velocity) > 0.1
    assert np.ptp(by_control) < 1e-9


def reactor(rate, start, span, most, cost, limits=()):
    feed = tf.Control(name="feed")
    state = tf.State("x", rate, n=len(start), controls=[feed])
    return tf.OptimalControl(tf.System([state, feed]), {state: start}, {state: tf.EndState(q=[None] * len(start))},
                             span, end_cost=cost, bounds={feed: (0, most)}, limits=list(limits))


def penicillin(x, f, t, c, u):
    growth, product = 0.11 * x[2] / (0.006 * x[0] + x[2]), 0.0055 * x[2] / (1e-4 + x[2] * (1 + 10 * x[2]))
    used = growth * x[0] / 0.47 + product * x[0] / 1.2 + 0.029 * x[0] * x[2] / (1e-4 + x[2])
    return ca.vertcat((growth - u[0] / 500 / x[3]) * x[0], product * x[0] - 0.01 * x[1] - u[0] * x[1] / 500 / x[3],
                      u[0] / x[3] * (1 - x[2] / 500) - used, u[0] / 500)


def protein(x, f, t, c, u):
    growth = 21.87 * x[3] / ((x[3] + 0.4) * (x[3] + 62.5))
    made, out = x[3] * ca.exp(-5 * x[3]) / (0.1 + x[3]), 4.75 * growth / (0.12 + growth)
    return ca.vertcat(out * (x[1] - x[0]), made * x[2], growth * x[2], -7.3 * growth * x[2] + 20 * u[0] / x[4],
                      0) - ca.vertcat(u[0] / x[4] * x[:4], -u[0])


@pytest.mark.long
def test_a_reactor_for_penicillin():
    """J. E. Cuthrell, L. T. Biegler, Comput. Chem. Eng. 13 (1989) 49-62, for 132 h: 87.9959; along its singular arc
    the feed has waves from element to element. It was not found from a cold start."""
    limits = [tf.Limit(f"now.q('x')[{i}]", 0, most) for i, most in ((0, 40), (2, 100), (3, 10))]
    sol = tf.solve(reactor(penicillin, [1.5, 0, 0, 7], (0, 132), 50, "-end.q('x')[1] * end.q('x')[3]", limits),
                   tf.MixedGalerkin(2), 100, strategies=[], progress=False)
    assert sol.success and sol.objective == pytest.approx(-87.9959, rel=3e-3)


@pytest.mark.long
def test_a_reactor_for_protein():
    """S. Park, W. F. Ramirez, AIChE J. 34 (1988) 1550-1558; others: 32.6868 and more."""
    sol = tf.solve(reactor(protein, [0, 0, 1, 5, 1], (0, 15), 2, "-end.q('x')[0] * end.q('x')[4]"),
                   tf.MixedGalerkin(2), 100, strategies=[], progress=False)
    assert sol.success and sol.objective == pytest.approx(-32.693, rel=1e-4)


def landing(where, method):
    """A point at 1 with a speed of -3, whose formula 1 / (x + 0.2) has a pole before where it gets without a force."""
    control, near = tf.Control(name="u"), "1 / (now.q('x')[0] + 0.2)"
    state = tf.State("x", "[x[1], u[0]]", n=2, controls=[control])
    costs = {"cost": f"u[0]**2 + 0.05 * {near}", "end cost": "u[0]**2"}
    limits = [tf.Limit(near, None, 4 if where == "integral" else 8, at=where)] if where not in costs else []
    end_cost = "0.05 / (end.q('x')[0] + 0.2)" if where == "end cost" else None
    problem = tf.OptimalControl(
        tf.System([state, control]), {state: [1, -3]}, {state: tf.EndState(q=[None, None])}, (0, 1),
        costs.get(where, "u[0]**2"), end_cost=end_cost, bounds={control: (-20, 20)}, limits=limits)
    return tf.solve(problem, tf.MixedGalerkin(2), 20, method=method, strategies=[], progress=False)


@pytest.mark.long
@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
@pytest.mark.parametrize(("where", "value"), [("cost", 10.28781), ("end cost", 11.20333), ("path", 11.11687),
                                              ("end", 11.11687), ("integral", 10.78472)])
def test_poles_of_costs_and_limits(where, value, method):
    """Iterates came to the other side, where costs are far below zero and limits hold, and ended there."""
    sol = landing(where, method)
    assert sol.success and sol.coordinates("x", sol.t)[:, 0].min() > -0.2
    assert sol.objective == pytest.approx(value, rel=1e-5)


@pytest.mark.long
def test_a_reactor_for_penicillin_by_ipopt():
    """It was not found in 1000 iterations."""
    limits = [tf.Limit(f"now.q('x')[{i}]", 0, most) for i, most in ((0, 40), (2, 100), (3, 10))]
    sol = tf.solve(reactor(penicillin, [1.5, 0, 0, 7], (0, 132), 50, "-end.q('x')[1] * end.q('x')[3]", limits),
                   tf.MixedGalerkin(2), 100, strategies=[], method="ipopt", progress=False)
    assert sol.success and sol.objective == pytest.approx(-87.9959, rel=5e-3)


def test_a_divisor_by_unknown_numbers_of_others_is_left_out():
    """Costs know the nominal values of numbers only."""
    point = tf.PointMass(1.0, dimension=1, name="point")
    spring = tf.FormulaForce(point, "[-c[0] * f[0].position[0], 0, 0]", parameters=[2.0], name="spring")
    push = tf.ControlForce(point, [(1, 0, 0)], name="push")
    problem = tf.OptimalControl(
        tf.System([point, spring, push]), {point: tf.Pose()}, {point: tf.Pose((1, 0, 0))}, (0, 1),
        "u[0]**2 / (3 + now.q('point')[0]) / (5 + now.parameters['k'] - now.q('point')[0])",
        parameters={"k": (spring, "parameters[0]")}, bounds={"k": (1, 3)})
    optimality, system = optimality_element(problem, tf.MixedGalerkin(2))
    plan, mesh = ElementPlan(system, optimality), TimeMesh.uniform((0, 1), 2)
    chain = OptimalityEquations(problem, plan, mesh, Scaling.of("full", system, optimality, 0, problem.z0))
    program = OptimalProgram(chain, first_guess(problem, plan, mesh, None))
    (divisor,) = program.divisors(program.start)
    assert divisor.min() > 2.9 and divisor.max() < 4.1


def water_rocket(pressure, end):
    """Its water [l] is pressed out by the air above it, which expands adiabatically from `pressure` [Pa]."""
    def rate(x, f, t, c, u):
        outside, water = 101325.0, 1e-3 * x[2]
        inside = (pressure + outside) * (1e-3 / (2e-3 - water))**1.4
        speed = ca.sqrt(2e-3 * (inside - outside))
        flow = 6e-5 * u[0] * speed
        return ca.vertcat(x[1], 1000 * flow * speed / (0.2 + 1000 * water) - 9.81, -1000 * flow)

    valve = tf.Control(1, name="valve")
    rocket = tf.State("rocket", rate, n=3, controls=[valve])
    return tf.OptimalControl(
        tf.System([rocket, valve]), {rocket: [0, 0, 1.0]}, {rocket: tf.EndState(q=[None, None, end])}, (0, 1.0),
        "1e-3 * u[0]**2", end_cost="-end.q('rocket')[0]", bounds={valve: (0, 1)})


def test_roots_of_what_becomes_negative():
    """Named, with its values, where the guess goes beyond; no step does. With an open valve it rises by 12.488 m."""
    sol = tf.solve(water_rocket(4e5, None), tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success and sol.z[-1, 0] == pytest.approx(12.488, abs=0.01)
    sol = tf.solve(water_rocket(3e4, 0.2), tf.MixedGalerkin(2), 20, progress=False)
    assert sol.status.reason == "not finite"
    assert "take a root or a logarithm of" in sol.status.message and "60 at first, -8" in sol.status.message
    assert "(0.001 * now.q('rocket')[2])" in sol.status.message
    assert "@1" not in sol.status.message and "where s" in sol.status.message  # terms that are used twice


@pytest.mark.parametrize(("rate", "spelt"), [
    ("[u[0], -1 / (x[0] + x[1] - 2)]", "((now.q('tank')[0] + now.q('tank')[1]) - 2.0)"),
    ("[u[0], 1 / (x[0] - t - 0.5)]", "((now.q('tank')[0] - now.t) - 0.5)"),
    ("[u[0], 1 / (x[0] - 1 + u[0])]", "((now.q('tank')[0] - 1.0) + now.control('feed')[0])")])
def test_poles_are_named_by_words_of_the_user(rate, spelt):
    feed = tf.Control(name="feed")
    tank = tf.State("tank", rate, n=2, controls=[feed])
    problem = tf.OptimalControl(
        tf.System([tank, feed]), {tank: [0, 0.5]}, {tank: tf.EndState(q=[3, None])}, (0, 1),
        "u[0]**2 + log(now.q('tank')[0] + 0.1 - 0.3 * now.t)", bounds={feed: (-1, 1)})
    optimality, system = optimality_element(problem, tf.MixedGalerkin(2))
    plan, mesh = ElementPlan(system, optimality), TimeMesh.uniform((0, 1), 2)
    chain = OptimalityEquations(problem, plan, mesh, Scaling.of("full", system, optimality, 0, problem.z0))
    program = OptimalProgram(chain, first_guess(problem, plan, mesh, None))
    found = [words(k) for _, n, words in program._poles for k in range(n)]
    assert spelt in found and "((now.q('tank')[0] + 0.1) - (0.3 * now.t))" in found
