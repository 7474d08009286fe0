"""Prepared solvers change joints, and what acts on them: motors with rotors, feedback, springs that count turns."""

import itertools

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT, N = tf.MixedGalerkin(2), 8
CHANGES = {
    "m.gear": 3.5, "m.rotor_inertia": 0.02, "h.axis_a": (0.1, 1.0, 0.2), "h.point_a": (0.4, 0.1, 0.1), "b.mass": 1.3,
    "s.rest": 0.8, "c.parameters": (4.0, 0.6), "t.rest": -3.0, "t.stiffness": 3.0, "t.axis": (0.2, 0.1, 1.0)}


def law(x, v, t, c):
    return -c[0] * (x - 0.5) - c[1] * v


def problem(changes=()):
    """A body on a hinge with a motor, two springs that count turns, and feedback."""
    of = {"m.gear": 3.0, "m.rotor_inertia": 0.01, "h.axis_a": (0, 1, 0), "h.point_a": (0.3, 0, 0), "b.mass": 1.0,
          "s.rest": 0.4, "c.parameters": (3.0, 0.3), "t.rest": 3.0, "t.stiffness": 2.0,
          "t.axis": (0, 0.2, 1)} | dict(changes)
    body = tf.RigidBody(of["b.mass"], (0.1, 0.2, 0.25), name="b")
    hinge = tf.Revolute(body, point_a=of["h.point_a"], point_b=(0, 0, 0), axis_a=of["h.axis_a"], axis_b=(0, 1, 0),
                        name="h")
    parts = [body, hinge,
             tf.Motor(hinge, gear=of["m.gear"], rotor_inertia=of["m.rotor_inertia"], torque=0.5, name="m"),
             tf.JointSpring(hinge, stiffness=3.0, rest=of["s.rest"], name="s"),
             tf.Controller([hinge], law, parameters=of["c.parameters"], name="c"),
             tf.TorsionalSpring(body, None, of["t.axis"], of["t.stiffness"], of["t.rest"], name="t")]
    return tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {hinge: (0.2, 8.0)}, (0, 0.8))


def check(found, changes):
    fresh = tf.solve(problem(changes), ELEMENT, N)
    assert found.success and fresh.success
    np.testing.assert_allclose(found.z, fresh.z, rtol=0, atol=1e-11 * np.abs(fresh.z).max())


@pytest.mark.parametrize("name", CHANGES)
def test_each(name):
    solver = tf.prepare(problem(), ELEMENT, N)
    solver.solve()
    check(solver.solve(parameters={name: CHANGES[name]}), {name: CHANGES[name]})
    check(solver.solve(), {})


def test_all_at_once():
    check(tf.prepare(problem(), ELEMENT, N).solve(parameters=CHANGES), CHANGES)


@pytest.mark.parametrize("first, second", [*itertools.permutations(["m.gear", "h.axis_a", "b.mass", "t.axis"], 2)])
def test_of_a_changed_problem(first, second):
    once = tf.prepare(problem(), ELEMENT, N).changed(parameters={first: CHANGES[first], "h.point_b[0]": 0.0})
    twice = tf.prepare(once, ELEMENT, N).changed(parameters={second: CHANGES[second]})
    found = tf.prepare(twice, ELEMENT, N).solve(parameters={"s.rest": 0.7})
    check(found, {name: CHANGES[name] for name in (first, second)} | {"s.rest": 0.7})


def test_derivatives_by_the_gear():
    found = tf.prepare(problem(), ELEMENT, N).solve(parameters={"b.mass": 1.3, "m.gear": 3.5})
    fresh = tf.solve(problem({"b.mass": 1.3, "m.gear": 3.5}), ELEMENT, N)
    end = tf.EndValue(lambda bodies, t: bodies[0].position, ["b"])
    values = [tf.sensitivities(sol, end, [tf.Parameter("m", "gear")]) for sol in (found, fresh)]
    np.testing.assert_allclose(*values, rtol=0, atol=1e-10 * np.abs(values[1]).max())


def test_products_of_inertia_of_bodies_that_have_none():
    """They are parameters of another formula, which what acts on joints takes, too."""
    def made(product):
        body = tf.RigidBody(2.0, ((0.4, product, 0), (product, 0.5, 0), (0, 0, 0.3)) if product else (0.4, 0.5, 0.3),
                            name="b")
        hinge = tf.Revolute(body, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
        parts = [body, hinge, tf.Motor(hinge, gear=2.0, rotor_inertia=0.01), tf.JointSpring(hinge, stiffness=3.0)]
        return tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {hinge: (0.3, 1.0)}, (0, 0.5))

    found = tf.prepare(made(0), ELEMENT, N).solve(parameters={"b.inertia[0,1]": 0.1})
    np.testing.assert_allclose(found.z, tf.solve(made(0.1), ELEMENT, N).z, rtol=0, atol=1e-12)
