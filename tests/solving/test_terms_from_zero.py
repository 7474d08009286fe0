"""Numbers of terms that formulas lack at zero: solvers, ensembles and derivatives take them there and back."""

import numpy as np
import pytest

import timefem as tf

BAR = tf.RigidBody(1.0, (0.1, 0.2, 0.3), name="bar")
HINGE = tf.Revolute(BAR, point_a=(0, 0, 0.3), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
END = [[0, 0, -0.3]]
ELEMENT = tf.MixedGalerkin(2)

PARTS = {
    "spring.length": lambda x: tf.Spring(BAR, stiffness=10, length=x, point_a=(0, 0, -0.3), point_b=(0, 0, -2),
                                         name="spring"),
    "rope.damping": lambda x: tf.SlackRope(BAR, stiffness=10, length=1.4, damping=x, point_a=(0, 0, -0.3),
                                           point_b=(0, 0, -2), name="rope"),
    "stop.damping": lambda x: tf.EndStop(HINGE, lowest=-0.1, highest=0.1, stiffness=100, damping=x, name="stop"),
    "floor.damping": lambda x: tf.PlaneContact(BAR, normal=(0, 0, 1), plane_point=(0, 0, -0.58), points=END,
                                               stiffness=1e3, damping=x, name="floor"),
    "floor.friction": lambda x: tf.PlaneContact(BAR, normal=(0, 0, 1), plane_point=(0, 0, -0.58), points=END,
                                                stiffness=1e3, friction=x, friction_width=0.1, name="floor"),
    "rigid.friction": lambda x: tf.PlaneContact(BAR, normal=(0, 0, 1), plane_point=(0, 0, -0.29), points=END,
                                                friction=x, name="rigid")}


def problem(name, value):
    free = name == "rigid.friction"
    parts = [BAR, PARTS[name](value)] if free else [BAR, HINGE, PARTS[name](value)]
    start = {BAR: tf.Pose((0, 0, 0.2), velocity=(1, 0, 0))} if free else {HINGE: 0.5}
    return tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), start, (0, 0.6))


@pytest.mark.parametrize("name", PARTS)
def test_to_zero_and_back(name):
    made = {x: tf.solve(problem(name, x), ELEMENT, 30, progress=False).z for x in (0.0, 0.4)}
    assert np.abs(made[0.0] - made[0.4]).max() > 1e-4
    for start, other in ((0.0, 0.4), (0.4, 0.0)):
        solver = tf.prepare(problem(name, start), ELEMENT, 30, progress=False)
        for value in (other, start, other):
            np.testing.assert_allclose(solver.solve(parameters={name: value}).z, made[value], rtol=0, atol=1e-13)
        many = solver.solve_many(parameters={name: [start, other]}, progress=False)
        assert many.success.all()
        np.testing.assert_allclose(many.z[1][-1], made[other][-1], rtol=0, atol=1e-13)


def tip(bodies, t):
    return bodies[0].point([0.5, 0, 0])[0]


@pytest.mark.parametrize("name", [name for name in PARTS if name != "rigid.friction"])
def test_derivatives_at_zero(name):
    def reached(value):
        sol = tf.solve(problem(name, value), ELEMENT, 30, progress=False)
        return (sol.position("bar", 0.6) + sol.rotation_matrix("bar", 0.6) @ (0.5, 0, 0))[0], sol

    step, (here, sol) = 1e-4, reached(0.0)
    difference = (-3 * here + 4 * reached(step)[0] - reached(2 * step)[0]) / (2 * step)
    exact = tf.sensitivities(tf.Linearization(sol), tf.EndValue(tip), [tf.Parameter(*name.split("."))])[0, 0]
    assert abs(exact) > 1e-8
    assert exact == pytest.approx(difference, rel=1e-4)


def test_a_motion_without_friction_does_not_tell_its_derivative():
    sol = tf.solve(problem("rigid.friction", 0.0), ELEMENT, 30, progress=False)
    with pytest.raises(tf.InputError, match="rigid: friction shapes the formulas where it is 0"):
        tf.sensitivities(tf.Linearization(sol), tf.EndValue(tip), [tf.Parameter("rigid", "friction")])
