"""Limits of formulas: what they may contain, where and when they hold, and what is refused."""

import re

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem import interrupts
from timefem.assembly import Scaling, TimeMesh
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.errors import InputError
from timefem.problems.optimal.guesses.guess import first_guess
from timefem.problems.optimal.strategies.mesh_sequence import optimality_element
from timefem.problems.optimal.transcription.equations import OptimalityEquations
from timefem.problems.optimal.transcription.nonlinear_program import OptimalProgram

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2)


def slider(end=None, t_end=1.0, start=None, **options):
    """A mass of 1 kg on a line, pushed."""
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    load = tf.Force(body, (0.0, 0, 0), name="load")
    options = {"cost": tf.Effort(push), **options}
    if "parameters" in options:
        options["parameters"] = {"f": (load, "value[0]")}
    return tf.OptimalControl(tf.System([body, load]), {body: start or tf.Pose()}, {body: end} if end else {},
                             (0, t_end), actuators=push, **options)


def at(x):
    return tf.EndState(position=[x, None, None], velocity=[0, None, None])


@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
def test_a_lower_limit_at_the_end(method):
    """At least 2 m away at the end: the least effort 3/2 d^2, with d = 2."""
    limit = tf.Limit(lambda now, u: now.q("slider")[0], lower=2.0, at="end", name="distance")
    sol = tf.solve(slider(limits=limit), ELEMENT, 8, method=method)
    assert sol.success and sol.objective == pytest.approx(1.5 * 4, rel=1e-7)


def test_a_limit_that_moves():
    """The speed stays below 0.5 + t, which the least effort without it does not."""
    limit = tf.Limit(lambda now, u: now.rates("slider")[0], -10, lambda t: 0.5 + t, name="speed")
    sol = tf.solve(slider(at(0.8), limits=limit), ELEMENT, 40, method="interior-point")
    free = tf.solve(slider(at(0.8)), ELEMENT, 40)
    v = sol.velocity("slider", sol.t)[:, 0]
    assert sol.success and np.all(v <= 0.5 + sol.t + 1e-7) and sol.objective > 1.001 * free.objective
    assert np.any(free.velocity("slider", free.t)[:, 0] > 0.5 + free.t + 0.05)


def test_limits_of_numbers_and_controls_together():
    """A constant load f that costs f^2 / 2 helps the push; f at most 0.5, by a limit or by a bound."""
    limit = tf.Limit(lambda now, u: [now.parameters["f"], u[0] * now.parameters["f"]], [-9, -9], [0.5, 9],
                     name="numbers")
    problem = slider(at(1.0), parameters=True, limits=limit,
                     end_cost=lambda end, parameters: parameters["f"]**2 / 2)
    sol = tf.solve(problem, ELEMENT, 10, method="interior-point")
    assert sol.success and sol.parameters["f"] <= 0.5 + 1e-7
    bounded = tf.solve(slider(at(1.0), parameters=True, bounds={"f": (None, 0.5)},
                              end_cost=lambda end, parameters: parameters["f"]**2 / 2), ELEMENT, 10)
    assert sol.objective == pytest.approx(bounded.objective, rel=1e-6)


def test_points_between_nodes():
    """With few elements a limit at the nodes is exceeded in between, and less so with points there."""
    def excess(points):
        limit = tf.Limit(lambda now, u: now.q("slider")[0], upper=1 / 9, points=points, name="position")
        sol = tf.solve(slider(tf.EndState(position=[0, None, None], velocity=[-1, None, None]),
                              start=tf.Pose(velocity=(1, 0, 0)), limits=limit), tf.MixedGalerkin(3),
                       mesh=[0, 0.4, 0.55, 1], method="interior-point")
        assert sol.success
        return sol.position("slider", np.linspace(0, 1, 301))[:, 0].max() - 1 / 9

    at_nodes, between = excess(0), excess(11)
    assert between < 0.3 * at_nodes and at_nodes > 1e-4


def test_what_cannot_hold_is_named_with_its_time():
    """2 m in 1 s at 1.5 m/s at most; where all rows are linear no other guess is tried, which took 300 iterations."""
    limit = tf.Limit(lambda now, u: now.rates("slider")[0], upper=1.5, name="speed")
    for method in ("interior-point", "ipopt"):
        sol = tf.solve(slider(at(2.0), limits=limit), ELEMENT, 10, method=method)
        assert not sol.success and sol.status.reason == "infeasible" and 0 <= sol.status.time <= 1
        assert "stays violated by" in sol.status.message
        assert sol.statistics["newton_iterations"]["max"] <= 60
        assert "the limit most in its way is speed[0], at t = " in sol.status.message


def test_integrals_stand_against_and_not_their_sums():
    """Of the rows by which an integral is defined, IPOPT has the larger multipliers."""
    limit = tf.Limit("u[0]**2", upper=1, at="integral", name="energy")
    sol = tf.solve(slider(at(2.0), limits=limit), ELEMENT, 4, method="ipopt", guess=tf.Guess())
    assert sol.status.reason == "not found"
    assert "the limit most in its way is the integral of energy[0], at t = 1" in sol.status.message


def test_fatrop_names_what_is_violated():
    """It does not tell apart what is infeasible and what it does not find."""
    limit = tf.Limit("now.rates('slider')[0]", upper=1.5, name="speed")
    sol = tf.solve(slider(at(2.0), limits=limit), ELEMENT, 10, method="fatrop", guess=tf.Guess())
    assert sol.status.reason == "not converged" and re.search(r"at t = .* stays violated by", sol.status.message)
    assert "loosen bounds and conditions, if they contradict each other, or give" in sol.status.message


@pytest.mark.parametrize("options, against", [
    ({"limits": tf.Limit(lambda now, u: u[0] - now.t, 0, 0, name="given")}, r"given\[0\], at t = "),
    ({"bounds": 1.0}, "the bound of control 0 of force, at t = "),
])
def test_equations_and_bounds_that_stand_against_a_solution(options, against):
    """2 m in 1 s, from rest to rest, with a force that is given, or too small."""
    body = tf.PointMass(1.0, dimension=1, name="ball")
    force = tf.ControlForce(body, [(1, 0, 0)], name="force")
    end = tf.EndState(position=[2, None, None], velocity=[0, None, None])
    if "bounds" in options:
        options = {"bounds": {force: (-options["bounds"], options["bounds"])}}
    sol = tf.solve(tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 1), tf.Effort(force),
                                     **options), ELEMENT, 10, progress=False)
    assert not sol.success and sol.status.reason == "infeasible"
    assert re.search(r"the (position|velocity) of ball at the end at t = 1 stays violated .*; .* most in its way is "
                     + against, sol.status.message)


def rest_at(x, t_end=1.0, bounds=(), **options):
    """A mass to be brought to rest elsewhere, by a force within bounds."""
    return slider(at(x), t_end, bounds={"push": (-50, 50), **dict(bounds)}, **options)


QUICK = dict(free_time=True, cost=(), end_cost="end.t")
INFEASIBLE = {
    "time": (rest_at(1, 0.5, {"push": (-1, 1)}), "the bound of control 0 of push, at"),
    "force": (rest_at(1, 1, {"push": (-1, 1), "duration": (0.1, 1.5)}, **QUICK), "the bound of duration, at"),
    "duration": (rest_at(1, 0.3, {"push": (-1, 1), "duration": (0.1, 0.5)}, **QUICK), "the bound of duration, at"),
    "path": (rest_at(1, path="now.q('slider')[0] - 0.5"), r"path\[0\], at t = 1"),
    "speed": (rest_at(1, limits=tf.Limit("now.rates('slider')[0]", -1, 0.5, name="speed")), r"speed\[0\], at"),
    "rates": (slider(at(1), rates={"push": (-10, 10)}), r"rates of push\[0\], at"),
}


@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
@pytest.mark.parametrize("name", INFEASIBLE)
def test_what_was_asked_for_is_named_before_equations(name, method):
    """Of most of these an equation of motion in the middle of the time was named."""
    problem, against = INFEASIBLE[name]
    sol = tf.solve(problem, ELEMENT, 10, method=method, guess=tf.Guess(), progress=False)
    proved = name not in ("force", "duration")  # where the duration is free equations are not linear
    assert sol.status.reason == ("infeasible" if proved else "not found") and sol.status.element == 9
    assert re.search(r"the position of slider at the end at t = [\d.]+ stays violated by [^;]*; .* most in its way is "
                     + against, sol.status.message)


@pytest.mark.parametrize("limits, bound, told", [
    ([tf.Limit("now.q('slider')[0]", 2, at="end", name="far")], 1.0,
     r"far\[0\] at t = 1 stays .*; the limit most in its way is the bound of control 0 of push, at"),
    ([tf.Limit("now.q('slider')[0] - now.t", -0.01, name="ahead"),
      tf.Limit("now.q('slider')[0] - 0.7*now.t", upper=0, name="behind")], None,
     r"(ahead|behind)\[0\] at t = 1 stays .*; the limit most in its way is (?!\1)(ahead|behind)\[0\], at"),
    ([tf.Limit("u[0]**2", upper=-1, name="root")], None, r"root\[0\] at t = [^;]*\]"),
])
def test_what_stands_against_a_limit_is_another_one(limits, bound, told):
    """Multipliers of the violated rows are the largest, but say nothing more; alone they are not named again."""
    end = tf.EndState(velocity=[0, None, None])
    sol = tf.solve(slider(end, limits=limits, bounds=bound and {"push": (-bound, bound)}), ELEMENT, 10)
    assert sol.status.reason == ("not found" if "root" in told else "infeasible")
    assert re.search(told, sol.status.message), sol.status.message


@pytest.mark.parametrize("method", ["interior-point", "ipopt", "fatrop"])
@pytest.mark.parametrize("options, told", [
    ({"limits": tf.Limit("log(u[0] - now.t)", upper=3, name="log")}, r"log\[0\] is not finite at t = 0\]"),
    ({"limits": tf.Limit("sqrt(0.5 - now.q('slider')[0])", 0, name="root")},
     r"root\[0\] is not finite at t = 0.55; .* of, \(0.5 - now.q\('slider'\)\[0\]\): 0.5 at first, -0.5 at"),
    ({"limits": tf.Limit("sqrt(0.5 - now.t)", upper=3, at="integral", name="sum")},
     r"the sum of sum\[0\] is not finite at t = 0.6\]"),
    ({"cost": ["u[0]**2", "sqrt(0.5 - now.q('slider')[0])"]},
     r"the cost is not finite at t = 0.5; .* of, \(0.5 - now.q\('slider'\)\[0\]\): 0.5 at first, -0.5 at"),
    ({"cost": ["u[0]**2", "sqrt(u[0]**2 + (now.t*u[0])**2)"]}, r"the derivative of the cost is not finite at t = 0\]"),
    ({"end_cost": "log(-end.q('slider')[0])"}, r"the cost at the end is not finite at t = 1\]")])
def test_what_is_not_finite_is_named_before_iterations(options, told, method):
    """Costs without a value ended as "infeasible", which named an equation, or took for ever, as all did by fatrop."""
    problem = slider(at(1.0), bounds={"push": (-9, 9)}, **options)
    sol = tf.solve(problem, ELEMENT, 10, method=method, guess=tf.Guess(controls={"push": 0.0}))
    assert sol.status.reason == "not finite" and sol.statistics["newton_iterations"]["max"] == 0
    assert re.search(told, sol.status.message), sol.status.message
    assert "finite along the first guess" in sol.status.message


def test_costs_that_are_not_finite_without_bounds():
    """Newton's method is first there; it reported a matrix that is not finite in row 48, and of another backend."""
    sol = tf.solve(slider(at(1.0), cost=["u[0]**2", "sqrt(0.5 - now.q('slider')[0])"]), ELEMENT, 10)
    assert sol.status.reason == "not finite" and "the cost is not finite at t = 0.5" in sol.status.message


def test_a_limit_that_is_no_number_at_the_start():
    with pytest.raises(InputError, match=r"root\[0\] is not a number for the state at the start"):
        slider(at(1.0), limits=tf.Limit("sqrt(now.q('slider')[0] - 0.1)", 0, name="root"))


def program_of(problem):
    optimality, system = optimality_element(problem, ELEMENT)
    plan, mesh = ElementPlan(system, optimality), TimeMesh.uniform((0, 1), 3)
    chain = OptimalityEquations(problem, plan, mesh, Scaling.of("full", system, optimality, 0, problem.z0))
    return OptimalProgram(chain, first_guess(problem, plan, mesh, None))


@pytest.mark.parametrize("linear, options", [
    (True, {}),
    (True, {"parameters": True, "limits": tf.Limit("now.q('slider')[0] + 2*now.rates('slider')[0]", upper=1)}),
    (True, {"end": None, "end_conditions": "2*end.q('slider')[0] - 1", "end_cost": "end.q('slider')[0]**4"}),
    (False, {"end": None, "end_conditions": "end.q('slider')[0]**3 - 1"}),  # not curved at the start
    (False, {"limits": tf.Limit("u[0]**4", upper=1)}),
    (False, {"free_time": True})])
def test_rows_are_linear_where_their_formulas_are(linear, options):
    assert program_of(slider(**{"end": at(1.0)} | options)).has_linear_rows() is linear


def test_derivatives_with_limits_of_all_kinds():
    problem = slider(at(1.0), free_time=True, parameters=True, bounds={"duration": (0.5, 2)}, limits=[
        tf.Limit(lambda now, u: now.rates("slider")[0]**2 * u[0] * now.parameters["f"], -3, lambda t: 2 + t, points=2),
        tf.Limit(lambda now, u: now.q("slider")[0]**3 * now.parameters["duration"], at="end", upper=5),
        tf.Limit(lambda now, u: u[0]**2, at="start", upper=9)])
    program = program_of(problem)
    rng = np.random.default_rng(2)
    v, w = rng.standard_normal(program.n), rng.standard_normal(program.n_rows)
    v[np.isfinite(program.bounds[0])] = 0.1
    assert not program.has_linear_rows()

    def differences(f):
        return np.array([(f(v + 1e-6 * e) - f(v - 1e-6 * e)) / 2e-6 for e in np.eye(program.n)]).T

    def jacobian(v):
        return _dense(program.jacobian_places, program.jacobian(v), (program.n_rows, program.n))

    expected = differences(program.rows)
    np.testing.assert_allclose(jacobian(v), expected, rtol=0, atol=1e-6 * max(1, np.abs(expected).max()))
    upper = _dense(program.hessian_places, program.hessian(v, 1.0, w), (program.n, program.n))
    expected = differences(lambda v: program.gradient(v) + jacobian(v).T @ w)
    np.testing.assert_allclose(upper + np.triu(upper, 1).T, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    program.rows(program.start)
    last = program.describe(program.n_rows - 2)
    assert last.name == "limit[0]" and last.element == 2 and last.time == pytest.approx(1.0)


def _dense(places, values, shape):
    matrix = np.zeros(shape)
    matrix[places] = values
    return matrix


@pytest.mark.parametrize("make, message", [
    (lambda: tf.Limit(lambda now, u: u), "give lower, upper or both"),
    (lambda: tf.Limit(lambda now, u: u, 2, 1), "the lower bound must not be above"),
    (lambda: tf.Limit(lambda now, u: u, "a"), "unknown name 'a'"),
    (lambda: tf.Limit(lambda now, u: u, 1, at="middle"), "at must be"),
    (lambda: slider(limits=tf.Limit(lambda now, u: [u[0], 2 * u[0]], [1, 2, 3])), "3 bounds, but there are 2"),
    (lambda: slider(limits=tf.Limit(lambda now, u: ca.SX.sym("x"), 1)), "contains the symbols x"),
    (lambda: slider(limits=tf.Limit(lambda now, u: now.q("slider")[0], 1, name="place")),
     r"place\[0\] is violated by the state at the start, by 1"),
    (lambda: slider(limits=3), "3 is not a Limit"),
    (lambda: slider(limits=tf.Limit(lambda now, u: u, lambda t: t, lambda t: 0.5 - t)), "at t = 0.26"),
    (lambda: slider(limits=tf.Limit(lambda now, u: u, [0.3], lambda t: t + 0.1, name="push")), "push: .* at t = 0$"),
    (lambda: slider(free_time=True, bounds={"duration": (None, 0)}), "duration: the upper one must be positive"),
])
def test_bad_limits(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("method", ["interior-point", "ipopt", "fatrop"])
def test_a_stop_keeps_the_last_iterate(method, monkeypatch):
    asked = iter([None] * 4 + [15] * 10**6)
    problem = find_case("slew-time").make()
    monkeypatch.setattr(interrupts, "asked", lambda: next(asked))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 20, method=method, progress=False)
    assert not sol.success and sol.status.reason == "stopped"
    assert len(sol.t) == 21 and np.isfinite(sol.z).all() and sol.statistics["objective"] > 0


def test_actuators_that_bounds_or_rates_name_need_not_be_given():
    """A mass of 1 kg goes 1 m in least time by 1 N: 2 s."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    end = {mass: tf.EndState(position=(1, None, None), velocity=(0, None, None))}
    given = dict(free_time=True, end_cost="parameters['duration']")
    bounds = {push: (-1, 1), "duration": (0.1, 10)}
    problem = tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, end, (0, 1), bounds=bounds, **given)
    assert problem.actuators == [push]
    assert tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False).objective == pytest.approx(2.0, rel=1e-3)
    slow = tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, end, (0, 1), "u[0]**2", rates={push: (-4, 4)})
    assert slow.actuators == [push]
    with pytest.raises(tf.InputError, match="bounds"):
        tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, end, (0, 1), tf.Effort(push), bounds=3)


@pytest.mark.parametrize("degree, n", [(1, 10), (2, 5), (3, 5)])
def test_limits_of_controls_and_states_hold_at_both_ends(degree, n):
    """Of least effort 6 m/s^2 are needed there; by the points inside of elements alone 5.38 to 5.86 would be left."""
    body = tf.PointMass(1.0, dimension=2, name="body")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    both = tf.Limit("now.control('push')[0] + 0.5 * now.velocity('body')[0]", -5.3, 5.3, name="both")
    sol = tf.solve(tf.OptimalControl(
        tf.System([body]), {body: tf.Pose((0, 0, 0))},
        {body: tf.EndState(position=[1, None, None], velocity=[0, None, None])}, (0, 1), tf.Effort(push), limits=both),
        tf.MixedGalerkin(degree), n, progress=False)
    values = sol.controls(sol.t)[:, 0] + 0.5 * sol.velocity(body, sol.t)[:, 0]
    assert sol.success and np.abs(values[[0, -1]]).max() == pytest.approx(5.3, abs=1e-5)


@pytest.mark.parametrize("formula, least", [("u[0]**2 + u[1]**2", 9), ("norm(u)", 3)])
@pytest.mark.parametrize("degree, n", [(2, 20), (3, 5)])
def test_limits_of_controls_hold_where_the_motion_sees_them(degree, n, formula, least):
    """A thrust of 3 N at least, which turns: between nodes that are as far out it was 1.79 and 1.14 N."""
    body = tf.PointMass(1.0, dimension=2, name="body")
    push = tf.ControlForce(body, [(1, 0, 0), (0, 1, 0)], name="push")
    sol = tf.solve(tf.OptimalControl(
        tf.System([body]), {body: tf.Pose((0, 0, 0))},
        {body: tf.EndState(position=[1, 0.3, None], velocity=[0, 0.4, None])}, (0, 1), tf.Effort(push),
        limits=tf.Limit(formula, least, None, name="thrust")), tf.MixedGalerkin(degree), n, progress=False,
        guess=tf.Guess(controls={"push": lambda t: [5 * np.cos(3 * t), 5 * np.sin(3 * t)]}))
    times = sol.t[:-1, None] + np.diff(sol.t)[:, None] * (np.polynomial.legendre.leggauss(degree)[0] + 1) / 2
    seen = [np.linalg.norm(sol.controls(t), axis=-1).min() for t in (times.ravel(), sol.t)]
    assert sol.success and seen == pytest.approx([3, max(3, seen[1])], abs=1e-5)


@pytest.mark.parametrize("wall, speed", [(1.0, 0.5), ("1 - 2 * now.t", -1.5), ("norm(now.position('body'))", 0.5)])
def test_a_start_on_a_bound_that_moves_out_is_refused(wall, speed):
    """More elements would take ever larger forces to stop it within the first of them."""
    def thrown(speed):
        body = tf.PointMass(1.0, dimension=2, name="body")
        formula = wall if "norm" in str(wall) else f"now.position('body')[0] + 1 - ({wall})"
        return tf.OptimalControl(
            tf.System([body]), {body: tf.Pose((1, 0, 0), velocity=(speed, 0, 0))},
            {body: tf.EndState(position=[-1, None, None], velocity=[0, None, None])}, (0, 1),
            tf.Effort(tf.ControlForce(body, [(1, 0, 0)], name="push")),
            limits=tf.Limit(formula, None, 1.0, name="wall"))

    with pytest.raises(tf.InputError, match=r"wall\[0\] is at its bound at the start, and beyond it right after, as it "
                                            r"moves by 0\.5 a second"):
        thrown(speed)
    thrown(speed - 0.5)  # along the bound
    thrown(speed - 1)


@pytest.mark.parametrize("formula", ["0.1 + now.q('m')[0] + 0.2 - 0.3", "now.q('m')[0] - 0.3 + 0.1 + 0.2"])
def test_rounding_of_constants_at_the_start_is_no_violation(formula):
    """At the origin constants are all that there is of a formula."""
    mass = tf.PointMass(1.0, 1, name="m")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")

    def problem(start):
        return tf.OptimalControl(tf.System([mass, push]), {mass: tf.Pose((start, 0, 0))}, {
            mass: tf.EndState((-1, 0, 0), velocity=(0, 0, 0))}, (0, 1), tf.Effort(push),
            limits=tf.Limit(formula, None, 0))

    assert tf.solve(problem(0.0), tf.MixedGalerkin(1), 10, progress=False).success
    with pytest.raises(tf.InputError, match="is violated by the state at the start"):
        problem(1e-7)
