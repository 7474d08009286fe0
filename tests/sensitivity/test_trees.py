"""Derivatives by numbers of links and joints of a tree, against differences."""

import numpy as np
import pytest

import timefem as tf

GRAVITY = (0, 0, -9.81)
NUMBERS = {"a.mass": 2.0, "b.mass": 1.0, "b.centre[1]": 0.02, "b.inertia[0,0]": 0.02, "shoulder.damping": 0.3,
           "elbow.stiffness": 4.0, "elbow.rest": 0.2, "elbow.friction": 0.1, "elbow.armature": 0.05}


def tree(values=NUMBERS):
    v = NUMBERS | values
    links = [tf.Link("base"), tf.Link("a", mass=v["a.mass"], centre=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01)),
             tf.Link("b", mass=v["b.mass"], centre=(0, v["b.centre[1]"], 0.2),
                     inertia=(v["b.inertia[0,0]"], 0.02, 0.015))]
    joints = [tf.TreeJoint("shoulder", "base", "a", axis=(0, 1, 0), damping=v["shoulder.damping"]),
              tf.TreeJoint("elbow", "a", "b", position=(0, 0, 0.6), axis=(0.6, 0.8, 0), friction=v["elbow.friction"],
                           stiffness=v["elbow.stiffness"], rest=v["elbow.rest"], armature=v["elbow.armature"])]
    return tf.Tree(links, joints, friction_width=0.5, name="arm")


def problem_of(values=NUMBERS):
    arm = tree(values)
    system = tf.System([arm, tf.Spring(arm.link("b", (0, 0, 0.4)), None, point_b=(0.5, 0, 0.5), stiffness=5)],
                       gravity=GRAVITY)
    return tf.InitialValueProblem(system, {arm: {"shoulder": (0.3, 1.0), "elbow": (0.5, -1.0)}}, (0, 0.4))


def solved(values=NUMBERS):
    return tf.solve(problem_of(values), tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)


@pytest.fixture(scope="module")
def solution():
    return solved()


def given(name):
    name, _, index = name.rstrip("]").partition("[")
    index = tuple(map(int, index.split(","))) if "," in index else int(index) if index else None
    return name, index


@pytest.mark.parametrize("method", ["adjoint", "forward"])
def test_by_numbers_of_links_and_joints(solution, method):
    """Angles at the end, by two methods; velocities at the start are kept, and momenta follow."""
    end = tf.EndValue(lambda f, t: f[0].q, "arm")
    arm = solution.system.bodies[0]
    parameters = [tf.Parameter(arm, *given(name)) for name in NUMBERS]
    if method == "forward":
        found = tf.sensitivities(solution, end, parameters)
    else:
        found = np.array([tf.gradient(solution, tf.EndValue(lambda f, t, i=i: f[0].q[i], "arm"), parameters)
                          for i in range(2)])
    for column, (name, at) in zip(np.reshape(found, (2, -1)).T, NUMBERS.items(), strict=True):
        h = 1e-3 * at
        ends = [solved({name: at + sign * h}).z[-1][:2] for sign in (1, -1)]
        wide = [solved({name: at + 2 * sign * h}).z[-1][:2] for sign in (1, -1)]
        expected = (8 * (ends[0] - ends[1]) - (wide[0] - wide[1])) / (12 * h)
        np.testing.assert_allclose(column, expected, rtol=1e-7, atol=1e-9, err_msg=name)
        assert np.abs(column).max() > 1e-5


def test_prepared_solvers_take_other_masses(solution):
    changed = tf.prepare(problem_of(), tf.MixedGalerkin(2, form="lagrange"), 10, progress=False).solve(
        parameters={"arm.b.mass": 1.3, "arm.elbow.stiffness": 5.0, "arm.b.inertia[0,0]": 0.03})
    again = solved({"b.mass": 1.3, "elbow.stiffness": 5.0, "b.inertia[0,0]": 0.03})
    np.testing.assert_allclose(changed.z, again.z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(changed.joint("elbow").force(), again.joint("elbow").force(), rtol=0, atol=1e-9)
    assert changed.system.bodies[0].kind == solution.system.bodies[0].kind


def test_faults(solution):
    arm, end = solution.system.bodies[0], tf.EndValue(lambda f, t: f[0].q[0], "arm")
    for name, message in (("b.colour", "b has mass, centre, inertia"), ("mass", "such as base.mass"),
                          ("shoulder.friction", "shapes the formulas")):
        with pytest.raises(tf.InputError, match=message):
            tf.gradient(solution, end, [tf.Parameter(arm, name)])
