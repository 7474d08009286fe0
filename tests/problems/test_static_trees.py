"""Equilibria of trees with dampers, friction and motors on their joints, and what inverse dynamics of trees refuses."""

import numpy as np
import pytest

import timefem as tf

LINKS = [tf.Link("base"), tf.Link("rod", mass=2, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))]


def test_equilibrium():
    """A rod on a spring: `k x = m g l cos x`; dampers, friction and rotors do nothing at rest."""
    rod = tf.Tree(LINKS, [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0), damping=0.1)], name="arm")
    hinge = rod.joint("hinge")
    parts = [tf.JointSpring(hinge, stiffness=30), tf.JointDamper(hinge, damping=1), tf.Motor(hinge, gear=5, damping=1,
             rotor_inertia=0.01), tf.JointFriction(hinge, friction=1, friction_width=0.1),
             tf.Damper(rod.link("rod", (1, 0, 0)), None, point_b=(1, 0, 1), damping=2)]
    found = tf.equilibrium(tf.System([rod, *parts], gravity=(0, 0, -9.81)), {rod: {"hinge": 0.2}})
    q, = found.q
    assert 30 * q == pytest.approx(2 * 9.81 * 0.5 * np.cos(q), abs=1e-9)


def test_ends_by_joints():
    """Ends of boundary values and of optimal control name joints as starts do."""
    arm = tf.Tree([*LINKS, tf.Link("fore", mass=1, centre=(0.3, 0, 0), inertia=(0.01, 0.03, 0.03))],
                  [tf.TreeJoint("hinge", "base", "rod"), tf.TreeJoint("elbow", "rod", "fore", position=(1, 0, 0))],
                  name="arm")
    drives = [tf.JointControl(arm.joint(name)) for name in ("hinge", "elbow")]
    problem = tf.OptimalControl(tf.System([arm, *drives]), {}, {"hinge": (1.0, 0.0), arm.joint("elbow"): -0.5}, (0, 1),
                                cost=[tf.Effort(drive) for drive in drives])
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 6, progress=False)
    np.testing.assert_allclose(sol.z[-1], (1, -0.5, 0, 0), rtol=0, atol=1e-8)
    swing = tf.BoundaryValueProblem(tf.System([arm]), (0, 1), start={"hinge": 0.0}, end={"hinge": 0.3, "elbow": 0.1})
    sol = tf.solve(swing, tf.MixedGalerkin(2, form="lagrange"), 6, progress=False)
    np.testing.assert_allclose(sol.z[-1][:2], (0.3, 0.1), rtol=0, atol=1e-9)
