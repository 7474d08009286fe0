"""Actuators: their generalized forces do the work of the forces and torques that they stand for."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError
from timefem.mechanics.symbols import Symbols


def force_of(actuator, u, states):
    """Generalized force of controls at the states (q, p) of the actuator's bodies, and qdot of these."""
    s = Symbols(actuator)
    controls = ca.SX.sym("u", actuator.n_controls)
    arguments = [ca.vertcat(*s.q), ca.vertcat(*s.p), controls, s.parameters]
    function = ca.Function("force", arguments, [actuator.control_force(s, controls), ca.vertcat(*s.velocity)])
    q, p = (np.concatenate(x) for x in zip(*states, strict=True))
    return tuple(np.array(v).ravel() for v in function(q, p, u, actuator.parameters))


def state(body, seed):
    rng = np.random.default_rng(seed)
    quaternion = rng.standard_normal(4)
    return tf.Pose(rng.standard_normal(3), quaternion / np.linalg.norm(quaternion), rng.standard_normal(3),
                   rng.standard_normal(3))


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("frame", ["space", "body"])
def test_power_of_a_force(rotation, frame):
    body, point = tf.RigidBody(2, [1, 2, 2.5], rotation=rotation), np.array([0.1, -0.2, 0.3])
    actuator = tf.ControlForce(body, [(1, 2, 0), (0, 0, 3)], point, frame)
    u, pose = np.array([0.7, -1.2]), state(body, 0)
    q, p = body.state(pose)
    force, rate = force_of(actuator, u, [(q, p)])
    r = body.rotation_matrix(q)
    vector = u @ np.array([(1, 2, 0), (0, 0, 3)])
    vector = r @ vector if frame == "body" else vector
    velocity = pose.velocity + np.cross(r @ pose.angular_velocity, r @ point)
    assert force @ rate == pytest.approx(vector @ velocity, rel=1e-12)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("frame", ["space", "body"])
def test_power_of_a_torque_between_bodies(rotation, frame):
    a, b = (tf.RigidBody(2, [1, 2, 2.5], rotation=rotation) for _ in range(2))
    actuator = tf.ControlTorque(a, [(1, 1, 0), (0, 0, 2)], frame, reaction=b)
    u, poses = np.array([0.4, 0.9]), [state(a, 1), state(b, 2)]
    force, rate = force_of(actuator, u, [body.state(pose) for body, pose in zip((a, b), poses, strict=True)])
    r = [body.rotation_matrix(body.state(pose)[0]) for body, pose in zip((a, b), poses, strict=True)]
    torque = u @ np.array([(1, 1, 0), (0, 0, 2)])
    torque = r[0] @ torque if frame == "body" else torque
    spins = [m @ pose.angular_velocity for m, pose in zip(r, poses, strict=True)]
    assert force @ rate == pytest.approx(torque @ (spins[0] - spins[1]), rel=1e-12)


def test_generalized_controls():
    crane = tf.GeneralizedSystem(2, lambda q, v, c: (v[0]**2 + v[1]**2) / 2, name="crane").bodies[0]
    states = [(np.array([0.3, 0.5]), np.zeros(2))]
    assert np.array_equal(force_of(tf.GeneralizedControl(crane, [[1.0, 0], [2, 3]]), [2.0, 5], states)[0], [2, 19])
    by_formula = tf.GeneralizedControl(crane, lambda q: ca.vertcat(q[0], q[1]), n_controls=1)
    np.testing.assert_allclose(force_of(by_formula, [2.0], states)[0], [0.6, 1.0], rtol=1e-14)


def test_controls_are_zero_without_a_problem_that_determines_them():
    body = tf.RigidBody(2, [1, 2, 2.5])
    problem = tf.InitialValueProblem(tf.System([body, tf.ControlTorque(body), tf.ControlForce(body)]),
                                     {body: tf.Pose(angular_velocity=(1, 0, 0))}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 10)
    np.testing.assert_allclose(sol.angular_velocity(body, 1.0), [1, 0, 0], rtol=0, atol=1e-12)


def test_bad_actuators_and_costs():
    body = tf.RigidBody(2, [1, 2, 2.5])
    with pytest.raises(InputError, match="directions must have shape"):
        tf.ControlForce(body, [1, 0, 0])
    with pytest.raises(InputError, match="frame must be one of"):
        tf.ControlTorque(body, frame="inertial")
    with pytest.raises(InputError, match="is not an actuator"):
        tf.Cost(lambda u, q, v, t: 0, [body])
    for make in (tf.Effort, lambda actuator: tf.Cost(lambda u, q, v, t: 0, actuator)):
        with pytest.raises(InputError, match="'motor' is not an actuator; a cost takes the actuator itself"):
            make("motor")
    with pytest.raises(InputError, match="must be a body"):
        tf.GeneralizedControl("crane", [[1]])
    cases = ((1, 2), "must have shape \\(3,\\)"), (-1.0, "must be positive"), ("x", "must be an array")
    for weights, message in cases:
        with pytest.raises(InputError, match=message):
            tf.Effort(tf.ControlTorque(body), weights)
    one, other = tf.ControlTorque(body), tf.ControlForce(body)
    for several in ((one, other), ([one, other],)):
        with pytest.raises(InputError, match=r"one actuator: .* \[Effort\(first\), Effort\(second\)\]"):
            tf.Effort(*several)


def test_a_cost_takes_one_actuator_and_one_body_as_they_are():
    body = tf.PointMass(1.0)
    push = tf.ControlForce(body)
    one, several = (tf.Cost("u[0]**2", *given) for given in ((push, body), ([push], [body])))
    assert (one.controls, one.bodies) == (several.controls, several.bodies) == ((push,), (body,))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_force_has_the_axes_of_its_point_mass(dimension):
    """Along the others it would do nothing, and the least effort from rest to rest is 6 m^2 x^2 / T^3."""
    mass = tf.PointMass(2.0, dimension)
    push = tf.ControlForce(mass)
    assert push.n_controls == dimension
    end = tf.Coordinates(np.arange(1.0, dimension + 1))
    start = tf.Coordinates(np.zeros(dimension))
    problem = tf.OptimalControl(tf.System([mass, push]), {mass: start}, {mass: end}, (0, 2), [tf.Effort(push)])
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    assert sol.success
    assert sol.objective == pytest.approx(6 * 2**2 * (end.q @ end.q) / 2**3, rel=1e-9)
