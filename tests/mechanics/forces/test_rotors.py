"""Rotors of motors have inertia in bodies, where they are coordinates, as in joint coordinates."""

import numpy as np
import pytest

import timefem as tf

INERTIA, GEAR, ROTOR = 0.06, 10, 2e-3
TOTAL = INERTIA + ROTOR * GEAR**2
HINGE = {"point_a": (0, 0, 0), "point_b": (0, 0, 0), "axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
BOTH = pytest.mark.parametrize("coordinates", ["bodies", "joint"])


def parts(**motor):
    body = tf.RigidBody(1.0, (0.03, 0.05, INERTIA), name="body")
    hinge = tf.Revolute(body, name="hinge", **HINGE)
    return body, hinge, tf.Motor(hinge, gear=GEAR, rotor_inertia=ROTOR, name="motor", **motor)


def marched(coordinates, own, further, start, t_end, n, degree=2):
    system = tf.System([*own, further], coordinates=coordinates)
    problem = tf.InitialValueProblem(system, {own[1]: start}, (0, t_end))
    return tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False)


@BOTH
def test_frequency(coordinates):
    own = parts()
    system = tf.System([*own, tf.JointSpring(own[1], stiffness=5.0)], coordinates=coordinates)
    found = tf.linearize(system, {own[1]: 0.0}).eigenvalues
    np.testing.assert_allclose(np.sort(found.imag), np.array([-1, 1]) * np.sqrt(5 / TOTAL), rtol=1e-10)


@BOTH
def test_stop(coordinates):
    """The rotor turns back with what it drives, and its energy is lost with that of the body."""
    own = parts()
    sol = marched(coordinates, own, tf.EndStop(own[1], highest=0.8, restitution=0.4), (0.0, 5.0), 0.4, 10)
    event, = sol.events
    assert abs(sol.joint(own[1]).rate(0.4) + 2.0) < 1e-12
    np.testing.assert_allclose([event.impulses[0, 0], event.energy],
                               [1.4 * 5 * TOTAL, -TOTAL * 25 / 2 * (1 - 0.4**2)], rtol=1e-12)


@BOTH
def test_dry_friction(coordinates):
    """It sticks at once, breaks loose when the torque exceeds the friction, and takes the rotor along."""
    own = parts(torque=lambda t: 0.2 * t)
    sol = marched(coordinates, own, tf.JointFriction(own[1], friction=1.5), (0.0, 1.0), 1.5, 30, degree=3)
    loose = 1.5 / (0.2 * GEAR)
    expected = (0.2 * GEAR * (1.5**2 - loose**2) / 2 - 1.5 * (1.5 - loose)) / TOTAL
    np.testing.assert_allclose(sol.joint(own[1]).rate(1.5), expected, rtol=1e-9)


@BOTH
def test_derivatives_through_a_stop(coordinates):
    def solved(restitution, rotor):
        body = tf.RigidBody(1.0, (0.03, 0.05, INERTIA), name="body")
        hinge = tf.Revolute(body, name="hinge", **HINGE)
        motor = tf.Motor(hinge, gear=GEAR, rotor_inertia=rotor, torque=0.1, name="motor")
        stop = tf.EndStop(hinge, highest=0.8, restitution=restitution, name="stop")
        system = tf.System([body, hinge, motor, stop], coordinates=coordinates)
        problem = tf.InitialValueProblem(system, {hinge: (0.0, 5.0)}, (0, 0.4))
        return tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False), [stop, motor]

    sol, (stop, motor) = solved(0.4, ROTOR)
    rate = tf.EndValue(lambda bodies, t: bodies[0].angular_velocity[2], bodies=["body"])
    found = tf.gradient(sol, rate, [tf.Parameter(stop, "restitution"), tf.Parameter(motor, "rotor_inertia")])
    pairs = [[solved(*np.array([0.4, ROTOR]) + sign * h)[0].joint("hinge").rate(0.4) for sign in (-1, 1)]
             for h in (np.array([1e-5, 0]), np.array([0, 1e-7]))]
    np.testing.assert_allclose(found, [np.diff(pair)[0] / (2 * h) for pair, h in zip(pairs, (1e-5, 1e-7), strict=True)],
                               rtol=1e-7)


@BOTH
def test_momentum_of_two_free_bodies(coordinates):
    """A motor between two bodies keeps the momenta of both, its rotor has none."""
    base, arm = (tf.RigidBody(2.0, (0.1, 0.2, 0.3), name=name) for name in ("base", "arm"))
    hinge = tf.Revolute(arm, base, name="hinge", point_a=(0, 0.2, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1),
                        axis_b=(0, 0, 1))
    motor = tf.Motor(hinge, gear=GEAR, rotor_inertia=ROTOR, torque=0.1, name="motor")
    system = tf.System([base, arm, hinge, motor], coordinates=coordinates)
    sol = tf.solve(tf.InitialValueProblem(system, {base: tf.Pose(), hinge: (0.3, 1.0)}, (0, 0.5)),
                   tf.MixedGalerkin(2), 10, progress=False)
    change = sol.angular_momentum() - sol.angular_momentum()[0]
    assert np.abs(change).max() < (1e-8 if coordinates == "bodies" else 1e-12)  # of the order of the element, or kept
