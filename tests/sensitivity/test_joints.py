"""Derivatives by numbers of parts on joints, and of joints that others use, against differences."""

import warnings

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

Z = (0, 0, 1)


def solved(stiffness=5.0, rest=0.7, friction=0.1, gear=20.0, inertia=1e-3, gain=3.0, joint=None, start=None):
    bar = tf.RigidBody(2.0, (0.35, 0.1, 0.3), name="bar")
    joint = {"point_a": (0, 0.5, 0), "point_b": (0, 0, 0), "axis_a": Z, "axis_b": Z} if joint is None else joint
    hinge = tf.Revolute(bar, **joint, name="hinge")
    parts = [tf.JointSpring(hinge, stiffness=stiffness, rest=rest, name="spring"),
             tf.Motor(hinge, gear=gear, rotor_inertia=inertia, torque=tf.Sine(0.1, 0.5), name="motor"),
             tf.JointFriction(hinge, friction=friction, friction_width=0.1, name="friction"),
             tf.Controller([hinge], lambda x, v, t, c: -c[0] * x, parameters=[gain], name="feedback")]
    system = tf.System([bar, hinge, *parts], gravity=(0, -9.81, 0))
    given, assemble = ({hinge: 0.4}, False) if start is None else ({bar: start}, True)
    problem = tf.InitialValueProblem(system, given, (0, 0.6), assemble=assemble)
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


@pytest.mark.parametrize("name, index", [("axis_a", 0), ("axis_b", 1), ("point_a", 2), ("point_b", 1)])
def test_numbers_of_joints_that_other_parts_use(name, index):
    """Of a tilted hinge: axes enter the constraints, the spring, the rotor's gear, friction and feedback. The state at
    the start stays, but for the smallest change that the joint demands."""
    joint = {"axis_a": np.array([0.2, 0.1, 1]), "axis_b": np.array([0.2, 0.1, 1]), "point_a": np.array([0, 0.5, 0]),
             "point_b": np.array([0.1, 0, 0.2])}
    first = solved(joint=joint)
    start = tf.Pose(first.position("bar", 0), first.rotation_matrix("bar", 0))

    def run(shift=0.0):
        given = {key: value.copy() for key, value in joint.items()}
        given[name][index] += shift
        return solved(joint=given, start=start)

    sol = run()
    gradient = tf.gradient(sol, END, [tf.Parameter("hinge", name, index)])
    ends = [run(h).position("bar", 0.6)[0] for h in (1e-5, -1e-5)]
    assert abs(gradient[0]) > 1e-3
    assert gradient[0] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_a_start_by_coordinates_of_joints_is_told_from_the_smallest_change():
    """Where a point of the joint moves, the state that its angle gives moves by more than the joint demands."""
    def problem(values):
        bar = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="bar")
        hinge = tf.Revolute(bar, point_a=(0, 0, values[0]), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                            name="hinge")
        return tf.InitialValueProblem(tf.System([bar, hinge], gravity=(0, 0, -9.81)), {hinge: (0.3, 0.5)}, (0, 1))

    def end(arm):
        return tf.solve(problem([arm]), tf.MixedGalerkin(2), 20, progress=False).position("bar", 1.0)[0]

    sol = tf.solve(problem([0.5]), tf.MixedGalerkin(2), 20, progress=False)
    with pytest.warns(tf.errors.StartFollows, match=r"with the present hinge.point_a\[2\] only.*Family"):
        smallest = tf.gradient(sol, END, [tf.Parameter("hinge", "point_a", 2), tf.Parameter("bar", "mass")])
    differences = (end(0.5 + 1e-4) - end(0.5 - 1e-4)) / 2e-4
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.errors.StartFollows)
        family = tf.gradient(sol, END, [tf.Family(problem, [0.5])])
        tf.gradient(sol, END, [tf.Parameter("bar", "mass")])
    assert family[0] == pytest.approx(differences, rel=1e-5)
    assert abs(smallest[0] - differences) > 0.01


def test_a_rotor_follows_its_gear_without_a_word():
    """The start gives it the turn that another ratio makes: no body has to follow."""
    def problem(gear):
        bar = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="bar")
        hinge = tf.Revolute(bar, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                            name="hinge")
        motor = tf.Motor(hinge, gear=gear, rotor_inertia=0.01, name="motor")
        system = tf.System([bar, hinge, motor], gravity=(0, 0, -9.81))
        return tf.InitialValueProblem(system, {hinge: (0.3, 0.5)}, (0, 1))

    def solved(gear):
        return tf.solve(problem(gear), tf.MixedGalerkin(2), 20, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.errors.StartFollows)
        found = tf.gradient(solved(3.0), END, "motor.gear")[0]
    high, low = (solved(gear).position("bar", 1.0)[0] for gear in (3.0003, 2.9997))
    assert found == pytest.approx((high - low) / 6e-4, rel=1e-6)
