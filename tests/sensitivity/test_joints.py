"""Derivatives by numbers of parts on joints, against differences; what enters several parts is refused."""

import numpy as np
import pytest

import timefem as tf

Z = (0, 0, 1)


def solved(stiffness=5.0, rest=0.7, friction=0.1, gear=20.0, inertia=1e-3, gain=3.0):
    bar = tf.RigidBody(2.0, (0.35, 0.1, 0.3), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="hinge")
    parts = [tf.JointSpring(hinge, stiffness=stiffness, rest=rest, name="spring"),
             tf.Motor(hinge, gear=gear, rotor_inertia=inertia, torque=tf.Sine(0.1, 0.5), name="motor"),
             tf.JointFriction(hinge, friction=friction, friction_width=0.1, name="friction"),
             tf.Controller([hinge], lambda x, v, t, c: -c[0] * x, parameters=[gain], name="feedback")]
    system = tf.System([bar, hinge, *parts], gravity=(0, -9.81, 0))
    problem = tf.InitialValueProblem(system, {hinge: 0.4}, (0, 0.6))
    return tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)


END = tf.EndValue(lambda f, t: f[0].position[0], "bar")


def test_numbers_of_parts_on_joints():
    sol = solved()
    names = [("spring", "stiffness"), ("spring", "rest"), ("friction", "friction"), ("feedback", 0),
             ("motor", "gear"), ("motor", "rotor_inertia")]
    gradient = tf.gradient(sol, END, [tf.Parameter(sol.system[part], name) for part, name in names])
    for value, (number, at) in zip(gradient, (("stiffness", 5.0), ("rest", 0.7), ("friction", 0.1), ("gain", 3.0),
                                            ("gear", 20.0), ("inertia", 1e-3)), strict=True):
        ends = [solved(**{number: at + h}).position("bar", 0.6)[0] for h in (1e-4 * at, -1e-4 * at)]
        assert value == pytest.approx((ends[0] - ends[1]) / (2e-4 * at), rel=1e-6, abs=1e-7)
    assert np.abs(gradient).min() > 1e-5


@pytest.mark.parametrize("part, name", [("hinge", "axis_b")])
def test_what_enters_several_parts_is_refused(part, name):
    sol = solved()
    with pytest.raises(tf.InputError, match="has no derivative"):
        tf.gradient(sol, END, [tf.Parameter(sol.system[part], name)])
