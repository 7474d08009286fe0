"""Limits of the forces of joints: beside the same motions in reduced coordinates, and along the solution.

Values by `examples/optimal_control/transcription.py` on 80 elements of degree 3.
"""

import warnings

import casadi as ca
import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long


def pendulum(limits=(), cost=None, further=()):
    """A bob on a rod of 1 m, which a horizontal force brings by 2 rad in 1.5 s."""
    bob = tf.PointMass(1.0, dimension=2, name="bob")
    push, rod = tf.ControlForce(bob, [(1, 0, 0)], name="push"), tf.RigidDistance(bob, None, length=1.0, name="rod")
    return tf.OptimalControl(
        tf.System([bob, rod, push, *further], gravity=(0, -9.81, 0)), {bob: tf.Pose((0, -1, 0))},
        {bob: tf.EndState(position=(np.sin(2), -np.cos(2), None), velocity=(0, 0, None))}, (0, 1.5),
        cost or tf.Effort(push), limits=list(limits))


def test_tension_of_a_rod():
    free = tf.solve(pendulum(), tf.MixedGalerkin(2), 40, progress=False)
    assert free.objective == pytest.approx(30.14823, rel=2e-5)
    tension = tf.Limit(lambda now, u: ca.sumsqr(now.reaction("rod")[:2]), None, 625, name="tension")
    sol = tf.solve(pendulum([tension]), tf.MixedGalerkin(2), 40, progress=False)
    assert sol.success and sol.objective == pytest.approx(90.49782, rel=3e-4)
    times = np.linspace(0, 1.5, 301)
    most = [np.linalg.norm(one.joint("rod").force(times), axis=1).max() for one in (free, sol)]
    assert most[0] > 32 and most[1] < 25.4


def test_a_reaction_is_that_of_the_joint():
    """Force and torque of a hinge of a rigid body, in the formula and along the solution."""
    bar = tf.RigidBody(2.0, (0.1, 0.2, 0.3), name="bar")
    hinge = tf.Revolute(bar, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    motor, seen = tf.JointControl(hinge, name="motor"), tf.Control(6, name="seen")
    same = tf.Limit(lambda now, u: now.control(seen) - now.reaction(hinge), 0, 0, name="seen")
    problem = tf.OptimalControl(
        tf.System([bar, hinge, motor, seen], gravity=(0, -9.81, 1.0)), {bar: tf.Pose((0.5, 0, 0))},
        {hinge: 1.0}, (0, 1), tf.Effort(motor), limits=[same])
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success
    h, gauss = np.diff(sol.t)[:, None], (0.5 - 3**-0.5 / 2, 0.5 + 3**-0.5 / 2)
    times = (sol.t[:-1, None] + h * gauss).ravel()
    told, found = sol.controls(times, seen), sol.joint(hinge)
    forces = np.hstack([found.force(times), found.torque(times)])
    assert np.abs(forces[:, :3]).max() > 10
    np.testing.assert_allclose(told[:, :3], forces[:, :3], rtol=0, atol=0.05)
    np.testing.assert_allclose(told[:, 3:5], forces[:, 3:5], rtol=0, atol=0.05)  # about the axis the motor acts


def taut(degree, n):
    """The rod pulls by 3 N at least; and its pull at both ends of the motion."""
    rod = tf.Limit(lambda now, u: -ca.dot(now.reaction("rod")[:2], now.position("bob")[:2]), 3, None, name="taut")
    sol = tf.solve(pendulum([rod]), tf.MixedGalerkin(degree), n, progress=False)
    ends = sol.t[[0, -1]]
    return sol, -(sol.joint("rod").force(ends) * sol.position("bob", ends)).sum(axis=1)


def test_a_rod_that_stays_taut_to_the_end():
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.UnderResolved)
        sol, pull = taut(2, 80)
    assert sol.success and pull.min() > 2.99


@pytest.mark.parametrize("n, end", [(10, 1.55), (20, 2.60)])
def test_elements_too_coarse_for_the_forces_are_told(n, end):
    """Those of an element hold the limit, and those that follow from the state and the control at the end do not."""
    with pytest.warns(tf.UnderResolved, match="taut is exceeded by .* by the forces that the state and controls"):
        sol, pull = taut(1, n)
    assert sol.success and pull[1] == pytest.approx(end, abs=0.01)


def test_cost_of_a_reaction():
    """By a control that an equation sets to it; dearer in effort, with less force in the rod."""
    along = tf.Limit("u[1]**2 - now.reaction('rod')[0]**2 - now.reaction('rod')[1]**2", 0, 0, name="along")
    force = tf.Control(name="force")
    cost = "u[0]**2 / 2 + u[1]**2 / 2"
    sol = tf.solve(pendulum([along], cost, [force]), tf.MixedGalerkin(2), 30, progress=False,
                   guess={"force": 15.0})
    free = tf.solve(pendulum(), tf.MixedGalerkin(2), 30, progress=False)
    times = np.linspace(0, 1.5, 101)
    squares = [np.mean(one.joint("rod").force(times)**2) for one in (sol, free)]
    assert sol.success and squares[0] < squares[1]
    squared = (sol.controls(times)**2).sum(axis=1) / 2
    assert sol.objective == pytest.approx(np.mean((squared[1:] + squared[:-1]) / 2) * 1.5, rel=1e-2)


def test_bad_input():
    for limit, message in ((tf.Limit("now.reaction('rope')[0]", 0, 1), "no joint 'rope'"),
                           (tf.Limit("now.reaction('rod')[0]", 0, 1, at="end"), "along the path only")):
        with pytest.raises(tf.InputError, match=message):
            pendulum([limit])
    with pytest.raises(tf.InputError, match="can be used in limits along the path only; for a cost take a Control"):
        pendulum(cost="now.reaction('rod')[0]**2")


def test_a_trolley_feels_a_rope_across_its_rail():
    """A load on a rope of 11.5 N: IPOPT, by the angle of the rope. Of a trolley in one coordinate only the force along
    the rail was seen, so that no rope was too weak, not even for 1 kg at rest."""
    trolley, load = tf.PointMass(2.0, dimension=1, name="trolley"), tf.PointMass(1.0, dimension=2, name="load")
    rope = tf.RigidDistance(trolley, load, length=1.0, name="rope")
    drive = tf.ControlForce(trolley, [(1, 0, 0)], name="drive")
    problem = tf.OptimalControl(
        tf.System([trolley, load, rope], gravity=(0, -9.81, 0)), {trolley: tf.Pose(), load: tf.Pose((0, -1, 0))},
        {trolley: tf.EndState(position=(2, None, None), velocity=(0, None, None)),
         load: tf.EndState(position=(2, -1, None), velocity=(0, 0, None))}, (0, 2), tf.Effort(drive),
        limits=tf.Limit("sumsqr(now.reaction('rope'))", None, 11.5**2, name="rope"))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60, progress=False)
    assert sol.success and sol.objective == pytest.approx(38.920592, rel=1e-5)
    forces = sol.joint("rope").force()
    np.testing.assert_allclose(forces[0], [0, -9.81, 0], rtol=0, atol=0.1)
    assert 11.4 < np.linalg.norm(forces, axis=1).max() < 11.6
