"""Solvable problems of optimal control from the default guess."""

import numpy as np
import pytest

import timefem as tf


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
