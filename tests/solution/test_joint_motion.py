"""Angles, rates, reactions and power of joints along solutions, against minimal coordinates by DOP853."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf

Z = (0, 0, 1)
M, L, G, J = 2.0, 1.0, 9.81, 0.3  # centre of mass L/2 from the hinge


def pendulum(rotation="quaternion", more=lambda hinge: (), turned=(1, 0, 0, 0)):
    """A bar that swings about z; its angle is zero where it hangs down."""
    bar = tf.RigidBody(M, (0.35, 0.1, J), rotation, name="bar")
    hinge = tf.Revolute(bar, point_a=(0, L / 2, 0), point_b=(0.3, 0.2, 0), axis_a=Z, axis_b=Z, name="hinge")
    return tf.System([bar, hinge, *more(hinge)], gravity=(0, -G, 0)), bar, hinge


def truth(start, t, torque=lambda t, x, v: 0.0):
    inertia = J + M * L**2 / 4
    run = solve_ivp(lambda t, y: [y[1], (-M * G * L / 2 * np.sin(y[0]) + torque(t, *y)) / inertia], (0, t[-1]), start,
                    "DOP853", t, rtol=1e-13, atol=1e-13)
    return run.y


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_angle_rate_and_reactions_of_a_pendulum_that_goes_round(rotation):
    system, _, hinge = pendulum(rotation)
    start = (0.4, 9.0)
    sol = tf.solve(tf.InitialValueProblem(system, {hinge: start}, (0, 3)), tf.MixedGalerkin(3), 400, progress=False)
    motion = sol.joint("hinge")
    angle, rate = truth(start, sol.t)
    assert angle[-1] > 12  # over whole turns
    np.testing.assert_allclose(motion.angle(), angle, rtol=0, atol=2e-9)
    np.testing.assert_allclose(motion.angle(sol.t[::7]), angle[::7], rtol=0, atol=2e-9)
    np.testing.assert_allclose(motion.rate(), rate, rtol=0, atol=1e-8)
    # force = m (a - g), along the bar (towards the hinge) and across it
    along = M * (rate**2 * L / 2 + G * np.cos(angle))
    acceleration = -M * G * L / 2 * np.sin(angle) / (J + M * L**2 / 4)
    across = M * (acceleration * L / 2 + G * np.sin(angle))
    force = motion.force(axes="a")
    np.testing.assert_allclose(force, np.column_stack([across, along, 0 * along]), rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion.torque(), 0, rtol=0, atol=1e-11)
    in_space = np.column_stack([across * np.cos(angle) - along * np.sin(angle),
                                across * np.sin(angle) + along * np.cos(angle)])
    np.testing.assert_allclose(motion.force()[:, :2], in_space, rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion.force(axes="b"), motion.force(), rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion.power(), 0, rtol=0, atol=1e-9)
    at = sol.multipliers(sol.t, kind="element")
    missed = np.abs(force[:, :2] - np.column_stack([across, along])).max()
    assert np.abs(at - sol.multipliers(sol.t)).max() > 100 * missed


def test_reactions_are_as_accurate_as_the_state():
    """Order 2k at the nodes, of force and of state."""
    errors = []
    for n in (20, 40, 80):
        system, _, hinge = pendulum()
        sol = tf.solve(tf.InitialValueProblem(system, {hinge: (1.2, 0.0)}, (0, 1)), tf.MixedGalerkin(2), n,
                       progress=False)
        angle, rate = truth((1.2, 0.0), np.array([0.0, 1.0]))[:, -1]
        errors.append([abs(sol.joint(hinge).angle()[-1] - angle),
                       abs(sol.joint(hinge).force(axes="a")[-1, 1] - M * (rate**2 * L / 2 + G * np.cos(angle)))])
    slopes = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.abs(slopes - 4).max() < 0.2


def test_torque_of_a_bracket():
    """A bar welded to a wall in gravity: force and moment of statics, in the axes of the wall and of the bar."""
    bar = tf.RigidBody(M, (0.35, 0.1, J), name="bar")
    turn = (np.cos(0.3), 0, 0, np.sin(0.3))
    weld = tf.Weld(bar, point_a=(0, -1, 0), point_b=(0, 0, 0), orientation=turn, name="weld")
    system = tf.System([bar, weld], gravity=(0, -G, 0))
    sol = tf.solve(tf.InitialValueProblem(system, system.state({}), (0, 0.1)), tf.MixedGalerkin(1), 2, progress=False)
    motion = sol.joint("weld")
    np.testing.assert_allclose(motion.force(0.05), (0, M * G, 0), rtol=0, atol=1e-12)
    # the weight acts at sin(0.6) to the left of the wall's point
    np.testing.assert_allclose(motion.torque(0.05), (0, 0, -np.sin(0.6) * M * G), rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.force(0.05, "a"), M * G * np.array([np.sin(0.6), np.cos(0.6), 0]), rtol=0,
                               atol=1e-12)
    with pytest.raises(tf.InputError, match="no coordinates"):
        motion.coordinate()
    with pytest.raises(AttributeError, match="has no 'angle'"):
        motion.angle()


def test_drive_and_power_of_a_prescribed_joint():
    """The drive of a pendulum on a given motion is the torque of inverse dynamics, its power torque times rate."""
    system, _, hinge = pendulum(more=lambda h: [tf.PrescribedJoint(h, value=tf.Sine(0.8, 0.5), name="drive")])
    sol = tf.solve(tf.InitialValueProblem(system, {hinge: (0.0, 0.8 * np.pi)}, (0, 2)), tf.MixedGalerkin(3), 40,
                   progress=False)
    w = np.pi
    angle, rate, acceleration = (0.8 * x for x in (np.sin(w * sol.t), w * np.cos(w * sol.t), -w**2 * np.sin(w * sol.t)))
    torque = (J + M * L**2 / 4) * acceleration + M * G * L / 2 * np.sin(angle)
    motion = sol.joint(hinge)
    np.testing.assert_allclose(motion.angle(), angle, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.drive(), torque, rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion.power(), torque * rate, rtol=0, atol=1e-5)
    gamma = sol.multipliers(sol.t)[:, system.constraint_names.index("drive: coordinate")]
    np.testing.assert_allclose(gamma, motion.drive(), rtol=0, atol=1e-9)


def test_reactions_of_redundant_joints_are_shared():
    """Two hinges on one axis carry half of the weight each."""
    bar = tf.RigidBody(M, (0.35, 0.1, J), name="door")
    hinges = [tf.Revolute(bar, point_a=(0, 0, z), point_b=(0, 0, z), axis_a=Z, axis_b=Z, name=f"hinge {i}")
              for i, z in enumerate((-0.4, 0.4))]
    system = tf.System([bar, *hinges], gravity=(0, -G, 0), redundant="drop")
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 0.1)), tf.MixedGalerkin(1), 2, progress=False)
    for hinge in ("hinge 0", hinges[1]):
        np.testing.assert_allclose(sol.joint(hinge).force(0.1), (0, M * G / 2, 0), rtol=0, atol=1e-9)


def test_spherical_and_unknown_joints():
    body = tf.RigidBody(M, (0.35, 0.1, J), name="top")
    ball = tf.Spherical(body, point_a=(0, 0, -1), point_b=(0, 0, 0), name="ball")
    system = tf.System([body, ball])
    state = system.state({ball: ((0.6, 0, 0.8, 0), (0.1, 0.2, 0.3))})
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 0.1)), tf.MixedGalerkin(1), 2, progress=False)
    motion = sol.joint(ball)
    np.testing.assert_allclose(motion.rate(0.0), (0.1, 0.2, 0.3), rtol=0, atol=1e-14)
    np.testing.assert_allclose(motion.rotation(0.0), sol.rotation_matrix(body, 0.0), rtol=0, atol=1e-14)
    with pytest.raises(tf.InputError, match="no joint 'bal' in the system; it has ball"):
        sol.joint("bal")


def test_multipliers_say_which_they_are():
    system, _, hinge = pendulum()
    sol = tf.solve(tf.InitialValueProblem(system, {hinge: 0.5}, (0, 0.1)), tf.MixedGalerkin(1), 2, progress=False)
    np.testing.assert_array_equal(sol.multipliers(sol.t), sol.multipliers(sol.t, kind="consistent"))
    np.testing.assert_allclose(sol.multipliers(0.1), system.consistent_multipliers(0.1, sol.z[-1]), rtol=0, atol=1e-11)
    with pytest.raises(tf.InputError, match="kind must be one of 'consistent', 'element'"):
        sol.multipliers(0.1, kind="own")
