"""Solvable problems of optimal control from the default guess."""

import casadi as ca
import numpy as np
import pytest
import scipy

import timefem as tf


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("inertia, bound", [(1.0, 2.0), (0.5, 2.0), (1.0, 3.0)])
def test_swing_up_by_a_weak_motor(fault, n, inertia, bound):
    """A bar of 1 kg in 10 s at least effort; IPOPT finds 19.082 with 2 N m and 1 kg m^2."""
    links = [tf.Link("ground"), tf.Link("bar", mass=1.0, centre=(0, 0, -1.0), inertia=(0, inertia, 0))]
    tree = tf.Tree(links, [tf.TreeJoint("pivot", "ground", "bar", axis=(0, 1, 0))], name="pendulum")
    motor = tf.GeneralizedControl(tree, np.eye(1), name="motor")
    problem = tf.OptimalControl(tf.System([tree, motor], gravity=(0, 0, -9.81)), {tree: {"pivot": 0.0}},
                                {tree: {"pivot": np.pi}}, (0, 10), cost="u[0]**2", actuators=[motor],
                                bounds={motor: (-bound, bound)})
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), n, progress=False)
    name = f"swing-up, {inertia:g} kg m^2, {bound:g} N m, {n} elements"
    if (inertia, bound) == (1.0, 2.0):
        fault(name, 19.08174, sol.objective, rtol=5e-4)
    fault(name, "a solution", sol.status.reason, met=sol.success)


@pytest.mark.long
@pytest.mark.parametrize("start, exact", [(3.0, 4.837620), (5.0, 7.937323)])
@pytest.mark.parametrize("n, guess", [(40, 5.0), (40, 8.0), (80, 10.0)])
def test_oscillator_in_least_time(fault, start, exact, n, guess):
    """x'' + x = u with |u| <= 1: after half a period the end does not depend on the time to first order."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, ((1, 0, 0),), name="push")
    system = tf.System([mass, push, tf.Spring(mass, None, stiffness=1.0)])
    problem = tf.OptimalControl(system, {mass: tf.Pose((start, 0, 0))},
                                {mass: tf.EndState(position=(0, None, None), velocity=(0, None, None))}, (0, guess),
                                end_cost="end.t", free_time=True, actuators=[push],
                                bounds={push: (-1, 1), "duration": (0.1, 20)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    fault(f"oscillator from {start:g}, guess {guess:g} s", exact, sol.objective, rtol=2e-3)


def orbit_transfer():
    """Of Bryson & Ho: to the largest circular orbit in a given time."""
    def thrust(t):
        return 0.1405 / (1 - 0.0749 * t)

    ship = tf.GeneralizedBody(2, lambda q, v, c: (v[0]**2 + q[0]**2 * v[1]**2) / 2, name="ship")
    force = tf.FormulaForce(ship, lambda f, t, c, u: ca.vertcat(-1 / f[0].q[0]**2 + thrust(t) * u[0],
                                                                f[0].q[0] * thrust(t) * u[1]), n_controls=2, name="u")
    circular = tf.Limit(lambda now, u: now.q(ship)[0]**3 * now.rates(ship)[1]**2, 1, 1, at="end", name="circular")
    return tf.OptimalControl(tf.System([ship, force]), {ship: tf.Coordinates([1, 0], [0, 1])},
                             {ship: tf.EndState(q=[None, None], v=[0, None])}, (0, 3.32), actuators=force,
                             end_cost=lambda end, p: -end.q(ship)[0], bounds={force: (-1, 1)},
                             limits=[tf.Limit(lambda now, u: ca.sumsqr(u), 1, 1, name="size"), circular]), -1.52525


def rest_to_rest(size):
    """In least time, by a thrust of one that turns round in the middle."""
    def make():
        ship = tf.PointMass(1.0, name="ship")
        push = tf.ControlForce(ship, np.eye(3), name="push")
        return tf.OptimalControl(tf.System([ship, push]), {ship: tf.Pose()},
                                 {ship: tf.EndState(position=(3, 4, 0), velocity=(0, 0, 0))}, (0, 3), end_cost="end.t",
                                 free_time=True, actuators=push, bounds={push: (-1, 1), "duration": (0.1, 30)},
                                 limits=tf.Limit(size, 0, 0, name="size")), 2 * np.sqrt(5)
    return make


def linear_tangent():
    """Largest speed at a height of 0.5 after 2 s by a thrust of 3 against a weight of 1: tan(angle) = a - b t."""
    def missed(law):
        def height_and_speed(t, y):
            return [y[1], 3 * np.sin(np.arctan(law[0] - law[1] * t)) - 1, 3 * np.cos(np.arctan(law[0] - law[1] * t))]

        return scipy.integrate.solve_ivp(height_and_speed, (0, 2), [0, 0, 0], rtol=1e-11, atol=1e-11).y[:, -1]

    law = scipy.optimize.fsolve(lambda law: missed(law)[:2] - [0.5, 0], [1.0, 0.7])
    ship = tf.PointMass(1.0, dimension=2, name="ship")
    push = tf.ControlForce(ship, [(3, 0, 0), (0, 3, 0)], name="push")
    return tf.OptimalControl(tf.System([ship, push], gravity=(0, -1, 0)), {ship: tf.Pose()},
                             {ship: tf.EndState(position=(None, 0.5, None), velocity=(None, 0, None))}, (0, 2),
                             end_cost="-end.velocity('ship')[0]", actuators=push, bounds={push: (-1, 1)},
                             limits=tf.Limit("sumsqr(u)", 1, 1, name="size")), -missed(law)[2]


@pytest.mark.long
@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("make", [orbit_transfer, rest_to_rest("sumsqr(u) - 1"), rest_to_rest("2 - 2 * sumsqr(u)"),
                                  linear_tangent])
def test_thrust_of_given_size(fault, make, n):
    """Equations of controls alone, such as u^2 = 1, whose gradient is zero, or along a bound, at the guess."""
    problem, right = make()
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    fault(f"{make.__name__.replace('make', 'rest to rest')}, {n} elements", right, sol.objective, rtol=2e-4)
    fault("its iterations", "at most 60", n_it := int(sol.statistics["newton_iterations"]["max"]), met=n_it <= 60)


def drift(aside, speed):
    """A point that goes 200 m in 15 s, with a limit on its slip, v_y / v_x; some of its start is free."""
    car = tf.GeneralizedBody(2, lambda q, v, c: (v[0]**2 + v[1]**2) / 2, name="car")
    push = tf.GeneralizedControl(car, np.eye(2), name="push")
    slip = tf.Limit(lambda now, x: now.rates(car)[1] / now.rates(car)[0], -0.5, 0.5, name="slip")
    there = tf.EndState(q=[200.0, aside], v=[None, None])
    return tf.OptimalControl(tf.System([car, push]), {car: tf.EndState(q=[0.0, None], v=[None, None])}, {car: there},
                             (0, 15), tf.Effort(push), limits=[slip],
                             near={car: tf.Coordinates([0.0, 0.0], [speed, 0.0])})


@pytest.mark.long
@pytest.mark.parametrize("form", ["hamilton", "lagrange"])
@pytest.mark.parametrize("aside, speed", [(None, 12.5), (50.0, 12.5), (None, 5.0)])
def test_a_guess_moves_where_some_of_the_start_is_free(fault, form, aside, speed):
    """A point that drifts costs nothing; a guess that rests has no slip, v_y / v_x."""
    sol = tf.solve(drift(aside, speed), tf.MixedGalerkin(2, form=form), 20, progress=False)
    fault(f"drift, {form}, {aside} m aside, {speed:g} m/s", 0.0, sol.objective if sol.success else sol.status.message,
          rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [10, 20, 30])
def test_the_solution_as_a_guess(fault, n):
    """Violations that are rounding count as none: no step makes them smaller, and each was refused."""
    t = np.linspace(0, 15, 31)
    exact = tf.Guess(np.column_stack([200 * t / 15, 0 * t, np.full(31, 200 / 15), 0 * t]), times=t)
    sol = tf.solve(drift(None, 12.5), tf.MixedGalerkin(2, form="lagrange"), n, guess=exact, progress=False)
    fault(f"drift from its solution, {n} elements", 0.0, sol.objective if sol.success else sol.status.message,
          rtol=0, atol=1e-12)
