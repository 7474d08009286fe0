"""Equations and limits of controls and states hold where the dynamics see the controls, and in between."""

import numpy as np
import pytest

import timefem as tf


def window(bound, mesh, element=None):
    """x'' = u from 0 to 1 at rest in 1 s, least int u^2, x at most `bound`."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    u = tf.ControlForce(mass, [(1, 0, 0)], name="u")
    problem = tf.OptimalControl(tf.System([mass, u]), {mass: tf.Pose()},
                                {mass: tf.EndState(position=(1, None, None), velocity=(0, None, None))}, (0, 1),
                                tf.Effort(u, 2.0), limits=[tf.Limit("now.position('mass')[0]", None, bound)])
    return tf.solve(problem, element or tf.MixedGalerkin(2, n_points=2), mesh, progress=False)


TABLE = [0, 0.4 - 1e-6, 0.4, 0.6, 0.6 + 1e-6, 1]


@pytest.mark.parametrize("n", [23, 37, 40])
def test_window_of_a_bound(fault, n):
    """Exact: cubics through x(0.6) = 0.35."""
    sol = window(tf.Table(TABLE, [10, 10, 0.35, 0.35, 10, 10]), n)
    fault(f"window of a limit, {n} elements", 31.271702, sol.objective, rtol=1e-6)


def test_window_of_controls(fault):
    """Controls with timed bounds: none from 0.4 s to 0.6 s; of the cubic that needs u = 0 there."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    u = tf.ControlForce(mass, [(1, 0, 0)], name="u")
    open_, shut = tf.Table(TABLE, [50, 50, 0, 0, 50, 50]), tf.Table(TABLE, [-50, -50, 0, 0, -50, -50])
    found = [tf.solve(tf.OptimalControl(tf.System([mass, u]), {mass: tf.Pose()}, {mass: tf.EndState(
        position=(1, None, None), velocity=(0, None, None))}, (0, 1), tf.Effort(u, 2.0), bounds={u: (shut, open_)}),
        tf.MixedGalerkin(2, n_points=2), n, progress=False).objective for n in (23, 37)]
    # u = a + b t outside of the window, int u = 0, int (1 - t) u = 1
    t = np.array([[0, 0.4], [0.6, 1.0]])
    powers = [np.sum(np.diff(t**(k + 1), axis=1)) / (k + 1) for k in range(3)]
    gram = np.array([[powers[0], powers[1]], [powers[1], powers[2]]])
    effect = np.array([[1, 0], [1, -1]]) @ gram
    a = np.linalg.solve(effect, [0, 1])
    fault("window of a control, 23 and 37 elements", [a @ gram @ a] * 2, found, rtol=1e-4)


def test_window_of_a_phase(fault):
    """The same in a phase of its own, which is linked with one that stands still."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    u = tf.ControlForce(mass, [(1, 0, 0)], name="u")
    system = tf.System([mass, u])
    rest = {mass: tf.EndState(position=(1, None, None), velocity=(0, None, None))}
    limit = tf.Limit("now.position('mass')[0]", None, tf.Table(TABLE, [10, 10, 0.35, 0.35, 10, 10]))
    first = tf.OptimalControl(system, {mass: tf.Pose()}, rest, (0, 1), tf.Effort(u, 2.0), limits=[limit])
    second = tf.OptimalControl(system, {mass: tf.EndState()}, rest, (0, 1), tf.Effort(u, 2.0))
    sol = tf.solve(tf.Phases([first, second]), tf.MixedGalerkin(2, n_points=2), [23, 4], progress=False)
    fault("window of a limit of a phase", 31.271702, sol.objective, rtol=1e-6)


MINUS = (-1, 0, 0, 0)


@pytest.mark.parametrize("inertia", [(5, 26, 29), (26, 5, 29), (29, 26, 5)])
def test_full_turn(fault, inertia):
    """About the axis of least inertia, from rest to rest: 6 (J angle)^2 / T^3."""
    body = tf.RigidBody(12, inertia, name="satellite")
    end = tf.EndState(orientation=MINUS, angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 2),
                                tf.Effort(tf.ControlTorque(body, name="wheels")))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 30, progress=False)
    fault(f"full turn, inertia {inertia}", 6 * (5 * 2 * np.pi)**2 / 8, sol.objective, rtol=1e-3)


def flip(guess=None, limits=()):
    copter = tf.RigidBody(1.0, (0.01, 0.01, 0.02), name="copter")
    rotors = [tf.Thruster(copter, point=p, drag=s * 0.02, name=f"rotor {i}") for i, (p, s) in
              enumerate((((0.17, 0, 0), 1), ((0, 0.17, 0), -1), ((-0.17, 0, 0), 1), ((0, -0.17, 0), -1)))]
    end = tf.EndState(position=(0, 0, 0), orientation=MINUS, velocity=(0, 0, 0), angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([copter, *rotors], gravity=(0, 0, -9.81)), {copter: tf.Pose()}, {copter: end},
                                (0, 1.2), actuators=rotors, free_time=True, end_cost=lambda end, p: p["duration"],
                                bounds={**{r: (0, 6) for r in rotors}, "duration": (0.2, 4)}, limits=limits)
    return tf.solve(problem, tf.MixedGalerkin(2), 30, guess=guess, progress=False)


def test_flip_of_a_quadrotor(fault):
    sol = flip()
    fault("flip in least time", 0.62955, sol.objective, rtol=1e-5)
    fault("flip: orientation at the end", MINUS, sol.z[-1, 3:7], atol=1e-9)


def test_flips_that_are_none_are_told(fault):
    still = tf.Guess(np.tile([0, 0, 0, 1.0] + [0] * 10, (2, 1)))
    with pytest.warns(UserWarning, match="orientation of copter at the end is met by the negative of the quaternion"):
        flip(still)
    turned = tf.Limit("now.q('copter')[3]", None, -0.9, at="end", name="turned")
    sol = flip(still, turned)
    fault("a quaternion that goes through zero", "constraints violated", sol.status.reason)
    assert "unit length of the quaternion" in sol.status.message
