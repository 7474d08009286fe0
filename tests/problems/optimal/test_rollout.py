"""Guesses that are marched with held, given and feedback controls, and motions that nothing holds at their ends."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.values.rollout import following, rollout
from timefem.problems.optimal.strategies.strategy import Sketch

pytestmark = pytest.mark.long


def cart_pole():
    def kinetic(q, v, c):
        return (v[0]**2 + 0.3 * (v[0]**2 + v[0] * v[1] * ca.cos(q[1]) + 0.25 * v[1]**2)) / 2

    body = tf.GeneralizedBody(2, kinetic, name="cart-pole")
    push = tf.FormulaForce(body, "[u[0], -0.3 * 9.81 * 0.5 * sin(f[0].q[1])]", n_controls=1, name="push")
    return tf.OptimalControl(tf.System([body, push]), {body: tf.Coordinates([0, 0], [0, 0])},
                             {body: tf.Coordinates([1, np.pi], [0, 0])}, (0, 2.0), tf.Effort(push),
                             bounds={push: (-20, 20)})


@pytest.mark.parametrize("guess", [
    {"rollout": True}, {"rollout": "follow"}, {"rollout": True, "controls": {"push": lambda t: 5 * np.sin(3 * t)}},
    {"rollout": lambda t, q, v: np.array([3 * np.cos(q[1]) * v[1]])}], ids=["held", "follow", "controls", "law"])
def test_swing_up_from_a_rollout(guess):
    sol = tf.solve(cart_pole(), tf.MixedGalerkin(2), 30, guess=tf.Guess(**guess), progress=False)
    assert sol.success and sol.objective == pytest.approx(28.9734, rel=1e-4)


def test_a_rollout_is_the_motion():
    """Of a pendulum with a torque, and of a rocket, whose mass is a state of first order."""
    problem = cart_pole()
    times = np.linspace(0, 1.0, 101)
    found = rollout(problem.system, problem.z0, times, lambda t, q, v: np.array([2.0]), steps=2)
    push = tf.FormulaForce(problem.system["cart-pole"], "[2, -0.3 * 9.81 * 0.5 * sin(f[0].q[1])]")
    march = tf.InitialValueProblem(tf.System([problem.system["cart-pole"], push]),
                                   {"cart-pole": tf.Coordinates([0, 0], [0, 0])}, (0, 1.0))
    sol = tf.solve(march, tf.MixedGalerkin(3), 50, progress=False)
    np.testing.assert_allclose(found.states, sol(times), rtol=0, atol=1e-8)
    rocket = tf.VariableMass(10.0, dimension=1, name="rocket")
    engine = tf.FormulaForce(rocket, "[u[0], 0, 0, -u[0] / 2000]", n_controls=1)
    start = tf.InitialValueProblem(tf.System([rocket, engine]), {rocket: tf.Pose()}, (0, 100.0))
    end = rollout(start.system, start.z0, np.linspace(0, 100, 41), lambda t, q, v: np.array([100.0])).states[-1]
    assert end[1] == pytest.approx(5.0, rel=1e-12) and end[2] == pytest.approx(5 * 2000 * np.log(2), rel=1e-6)


def test_marches_of_guesses_that_nobody_asked_for_end_early():
    """On a spring of 1e5 rad/s explicit steps would be 10^4 for one of the mesh: such a solve had no end in sight."""
    mass, seen = tf.PointMass(1.0, dimension=1, name="mass"), []
    system = tf.System([mass, tf.Spring(mass, stiffness=1e10), tf.ControlForce(mass, [(1, 0, 0)])])

    def law(t, q, v):
        seen.append(t)
        return np.zeros(1)

    for halvings, most in ((None, 10_000), (Sketch.halvings, 400)):
        seen.clear()
        with pytest.raises(tf.InputError, match="too stiff"):
            rollout(system, np.array([0.1, 0.0]), np.linspace(0, 1, 6), law, halvings=halvings)
        assert len(seen) < most


def test_a_law_sees_efforts_of_ports():
    """The current of a coil, which gives its voltage: what is recorded is what acts."""
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0]", parameters=[0.1, 2.0], name="coil")
    system = tf.System([coil, tf.FormulaForce(coil, "u[0]", n_controls=1)])
    times = np.linspace(0, 0.2, 41)
    found = rollout(system, np.array([0.02, 0.0]), times, lambda t, q, v: 3 - 4 * v, steps=4)
    np.testing.assert_allclose(found.states[:, 0], 0.05 - 0.03 * np.exp(-60 * times), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.controls[:, 0], 3 - 40 * found.states[:, 0], rtol=0, atol=1e-12)


def test_a_feedback_draws_states_of_first_order():
    """To the path at the rate of the feedback, whatever their efforts are."""
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0]", parameters=[0.1, 2.0], name="coil")
    system = tf.System([coil, tf.FormulaForce(coil, "u[0]", n_controls=1)])
    law = following(system, lambda t: np.array([[0.05], [0.0]]), lambda t: np.zeros(1), np.array([[-9.0], [9.0]]), 1.0)
    times = np.linspace(0, 0.5, 26)
    states = rollout(system, np.zeros(2), times, law, steps=4).states
    np.testing.assert_allclose(states[:, 0], 0.05 * (1 - np.exp(-12 * times)), rtol=0, atol=1e-8)


def test_a_feedback_follows_the_way():
    arm = tf.GeneralizedBody(2, lambda q, v, c: (v[0]**2 + v[0] * v[1] * ca.cos(q[0] - q[1]) + v[1]**2) / 2, name="arm")
    motors = tf.GeneralizedControl(arm, np.eye(2), name="motors")
    problem = tf.OptimalControl(tf.System([arm, motors]), {arm: tf.Coordinates([0, 0])}, {arm: tf.Coordinates([1, 2])},
                                (0, 1.0), tf.Effort(motors))
    times = np.linspace(0, 1, 21)[None]
    states, _ = tf.Guess(rollout="follow").states(problem, times)
    way, _ = tf.Guess().states(problem, times)
    assert np.abs(states[0, :, :2] - way[0, :, :2]).max() < 0.25 and np.abs(states[0, -1, :2] - [1, 2]).max() < 0.1


def car(limits, **start):
    """A point that goes 200 m in 15 s, all of the rest free; `near` tells its speed."""
    body = tf.GeneralizedBody(2, lambda q, v, c: (v[0]**2 + v[1]**2) / 2, name="car")
    push = tf.GeneralizedControl(body, np.eye(2), name="push")
    first, last = {"q": [0.0, None], "v": [None, None]} | start, {"q": [200.0, None], "v": [None, None]}
    near = {body: tf.Coordinates([0.0, 0.0], [12.5, 0.0])}
    return tf.OptimalControl(tf.System([body, push]), {body: tf.EndState(**first)}, {body: tf.EndState(**last)},
                             (0, 15.0), tf.Effort(push), limits=limits, near=near)


@pytest.mark.parametrize("form", ["hamilton", "lagrange"])
@pytest.mark.parametrize(("formula", "start", "cost"), [
    ("now.rates('car')[1] / now.rates('car')[0]", {}, 0.0),
    ("now.rates('car')[1] / now.rates('car')[0]", {"q": [0.0, 3.0]}, 0.0),
    ("u[0] / now.rates('car')[0]", {}, 0.0)])
def test_what_nothing_holds_goes_on_moving(form, formula, start, cost):
    """Limits over a speed were not finite at the first guess, which rested at both ends."""
    sol = tf.solve(car([tf.Limit(formula, -0.5, 0.5, name="ratio")], **start), tf.MixedGalerkin(2, form=form), 30,
                   progress=False)
    assert sol.success and sol.objective == pytest.approx(cost, abs=1e-9)


def test_bad_input():
    for given, message in (({"rollout": "pd"}, "rollout must be True"),
                           ({"rollout": True, "bend": 0.1}, "leave motion"),
                           ({"rollout": "follow", "controls": {"push": 1.0}}, "controls of its own")):
        with pytest.raises(tf.InputError, match=message):
            tf.Guess(**given)
    with pytest.raises(tf.InputError, match="must return 1 finite controls"):
        tf.solve(cart_pole(), tf.MixedGalerkin(2), 10, progress=False,
                 guess=tf.Guess(rollout=lambda t, q, v: [1.0, 2.0]))


def test_stiff_parts_take_shorter_steps():
    """A mass on a stiff spring with a damper, hung on another: steps of the times made it leave all bounds."""
    stiff, damping = 1e4, 20.0
    first, second = (tf.PointMass(1.0, name=name) for name in ("first", "second"))
    push = tf.ControlForce(second, name="push")
    system = tf.System([first, second, tf.Spring(first, point_b=[0, 0, 0], length=1.0, stiffness=4.0),
                        tf.Spring(second, first, length=1.0, stiffness=stiff),
                        tf.Damper(second, first, damping=damping, name="damper"), push])
    start = {first: tf.Pose([1.0, 0, 0]), second: tf.Pose([2.0, 0, 0])}
    problem = tf.InitialValueProblem(system, start, (0, 1.0))
    times = np.linspace(0, 1.0, 11)  # 0.1 s, at 141 rad/s
    found = rollout(system, problem.z0, times, lambda t, q, v: np.array([3.0, 0, 0]))
    at = found.states[:, system.coordinates(second)][:, 0] + found.states[:, system.coordinates(first)][:, 0]
    w = np.sqrt(2.0)  # of both together on the soft spring, but for what the stiff one gives
    np.testing.assert_allclose(at - 3.0, 2 * 0.75 * (1 - np.cos(w * times)), rtol=0, atol=1e-3)
    with pytest.raises(tf.InputError, match="parts are too stiff"):
        rollout(system.with_numbers({"damper.damping": 1e9}), problem.z0, times, lambda t, q, v: np.array([3.0, 0, 0]))
