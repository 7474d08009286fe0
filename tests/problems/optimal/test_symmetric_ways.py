"""Guesses on a line of symmetry, from which the way is not seen by first derivatives, and other poor ones."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long


def past_an_obstacle(n, radius=0.8, force=20.0, **more):
    """A mass from rest to rest in a plane, straight through the centre of a disc."""
    mass = tf.PointMass(1.0, dimension=2, name="mass")
    push = tf.ControlForce(mass, np.eye(3)[:2], name="push")
    out = tf.Limit(lambda now, u: (now.q(mass)[0] - 2)**2 + now.q(mass)[1]**2, lower=radius**2, name="disc")
    end = tf.EndState(position=(4, 0, None), velocity=(0, 0, None))
    problem = tf.OptimalControl(tf.System([mass, push]), {mass: tf.Pose()}, {mass: end}, (0, 3), tf.Effort(push),
                                limits=out, bounds={push: (-force, force)})
    return tf.solve(problem, tf.MixedGalerkin(2), n, progress=False, **more)


@pytest.mark.parametrize("n", [12, 20, 40])
def test_an_obstacle_on_the_way(n):
    """Steps crept along the line, in restorations too, until 4000 iterations were over and the guess was bent."""
    sol = past_an_obstacle(n)
    assert sol.success and sol.statistics["newton_iterations"]["max"] <= 300
    assert sol.objective == pytest.approx(5.8311, rel=1e-4)
    assert sol.objective == pytest.approx(past_an_obstacle(n, guess=tf.Guess(bend=0.3)).objective, rel=1e-8)


def test_without_pushes_the_guess_is_bent():
    sol = past_an_obstacle(12, method=tf.InteriorPoint(pushes=0, options={"start_iterations": 60}))
    assert sol.success and sol.objective == pytest.approx(5.8311, rel=1e-4)


def test_too_little_force():
    """1 N moves 1 kg by 2.25 m in 3 s."""
    sol = past_an_obstacle(20, force=1.0)
    assert sol.status.reason == "not found" and sol.statistics["newton_iterations"]["max"] <= 1200


@pytest.mark.parametrize("inertia, axis, angle, symmetric, best", [
    ((10, 4, 7), (0, 1, 0), 2.5, 6.32455, 6.20949), ((1, 1, 2), (0, 0, 1), 1.5, 3.46410, 3.04)])
def test_turns_in_least_time(inertia, axis, angle, symmetric, best):
    """About one axis alone they are saddle points, at which IPOPT ends."""
    body = tf.RigidBody(1.0, inertia, name="body")
    torque = tf.ControlTorque(body, name="torque")
    end = tf.EndState(orientation=(np.cos(angle / 2), *(np.sin(angle / 2) * np.array(axis))),
                      angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 20), free_time=True,
                                end_cost=lambda end, numbers: numbers["duration"],
                                bounds={torque: (-1, 1), "duration": (0.1, 100)})
    own, other = (tf.solve(problem, tf.MixedGalerkin(2), 20, method=method, progress=False)
                  for method in ("interior-point", "ipopt"))
    assert other.objective == pytest.approx(symmetric, rel=1e-4)
    assert own.success and own.status.message == "converged" and own.objective <= best + 1e-4


def test_an_acrobot_of_little_torque():
    """Two links with a motor between them, 8 Nm where 20 are needed to go straight up: by pumping energy."""
    def kinetic(q, v, c):
        one = v[0] * ca.vertcat(ca.cos(q[0]), ca.sin(q[0]))
        two = one + (v[0] + v[1]) * ca.vertcat(ca.cos(q[0] + q[1]), ca.sin(q[0] + q[1]))
        return (ca.sumsqr(one) + ca.sumsqr(two)) / 2

    system = tf.GeneralizedSystem(2, kinetic, lambda q, c: -9.81 * (2 * ca.cos(q[0]) + ca.cos(q[0] + q[1])))
    body = system.bodies[0]
    elbow = tf.GeneralizedControl(body, [[0.0], [1.0]], name="elbow")
    problem = tf.OptimalControl(system, tf.Coordinates([0, 0]), {body: tf.Coordinates([np.pi, 0], [0, 0])}, (0, 4),
                                tf.Effort(elbow), bounds={elbow: (-8, 8)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    assert sol.success and sol.objective < 44 and sol.attempts[-1].iterations <= 100
    assert np.abs(sol.fields["controls"]).max() <= 8 + 1e-6
    np.testing.assert_allclose(sol.z[-1], [np.pi, 0, 0, 0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("tilt, glide, free, n, objective", [
    (0, 1.5, False, 20, 69.887294), (0.5, 0, False, 40, 69.885918), (0, 1.5, True, 20, 46.295462),
    (0.5, 1.5, True, 20, 47.798713)])
def test_a_lander_with_squares_of_its_thrust_limited(tilt, glide, free, n, objective):
    """Squares in their own units are far from one: steps crept along the violation that the filter allows, for 28 to 95
    iterations with a filter that is emptied, IPOPT 24 to 39."""
    mass = tf.PointMass(2.0, name="lander")
    thrust = tf.ControlForce(mass, np.eye(3), name="thrust")
    limits = [tf.Limit(lambda now, u: ca.sumsqr(u), lower=16, upper=1600, name="size")]
    if tilt:
        limits.append(tf.Limit(lambda now, u: u[2] - np.cos(tilt) * ca.sqrt(ca.sumsqr(u) + 1e-6), lower=0, name="tilt"))
    if glide:
        limits.append(tf.Limit(lambda now, u: glide * (now.q(mass)[2] + 0.01) - ca.sqrt(
            ca.sumsqr(now.q(mass)[:2]) + 1e-6), lower=0, name="glide"))
    problem = tf.OptimalControl(
        tf.System([mass], gravity=(0, 0, -3.7)), {mass: tf.Pose((20, 5, 30), velocity=(-3, 1, -5))},
        {mass: tf.EndState(position=(0, 0, 0), velocity=(0, 0, 0))}, (0, 8),
        lambda now, u: ca.sqrt(ca.sumsqr(u) + 1e-6), actuators=thrust, limits=limits, free_time=free,
        bounds={"duration": (2, 30)} if free else None)
    sol = tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    assert sol.success and sol.objective == pytest.approx(objective, rel=1e-6)
    assert sol.statistics["newton_iterations"]["max"] <= 30
