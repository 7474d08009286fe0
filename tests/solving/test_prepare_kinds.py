"""Prepared solvers of problems that tie all elements together."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

SAME = {"rtol": 0, "atol": 1e-11}


def turned(angle):
    return np.cos(angle / 2), 0, np.sin(angle / 2), 0


def between(angle=1.2, mass=1.0, t_end=1.0):
    body = tf.RigidBody(mass, (1, 2, 3), name="box")
    return tf.BoundaryValueProblem(tf.System([body]), (0, t_end), {body: tf.Pose()},
                                   {body: tf.Pose((1, 0, 0.5), turned(angle))})


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.BubnovGalerkin(2)], ids=lambda e: e.name)
def test_boundary_values(element):
    problem = between()
    solver = tf.prepare(problem, element, 8)
    first = solver.solve()
    kept = first.z.copy()
    for angle in (1.3, 0.8):
        found = solver.solve(end={"box": tf.Pose((1, 0, 0.5), turned(angle))})
        np.testing.assert_allclose(found.z, tf.solve(between(angle), element, 8).z, **SAME)
    np.testing.assert_allclose(solver.solve(parameters={"box.mass": 2.0}).z, tf.solve(between(mass=2.0), element, 8).z,
                               **SAME)
    np.testing.assert_allclose(solver.solve(t_span=(0, 1.5)).z, tf.solve(between(t_end=1.5), element, 8).z, **SAME)
    np.testing.assert_array_equal(first.z, kept)


def swung(angle, off=0.0):
    """A body on a hinge from rest at one angle to another, in a given time."""
    rod = tf.RigidBody(2.0, (0.4, 0.5, 0.3), name="rod")
    hinge = tf.Revolute(body_a=rod, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    return tf.BoundaryValueProblem(tf.System([rod, hinge], gravity=(0, 0, -9.81)), (0, 0.4), {rod: hanging(0.2)},
                                   {rod: hanging(angle, off)})


def hanging(angle, off=0.0):
    return tf.Pose((0.5 * np.cos(angle) + off, 0, -0.5 * np.sin(angle)), turned(angle))


def test_reductions_of_conditions_are_kept_where_they_do():
    problem = swung(0.9)
    own = problem.conditions_at_ends.reductions
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 8)
    solver.solve()
    for angle, same in ((0.93, True), (2.8, False)):  # near the one that was prepared, and far from it
        end = {"rod": hanging(angle)}
        found = solver.changed(end=end).conditions_at_ends
        assert all(a.matrix is b.matrix for a, b in zip(own, found.reductions, strict=True)) == same
        np.testing.assert_allclose(found.residual(found.z0, found.z1, found.c), 0, rtol=0, atol=1e-10)
        fresh = swung(angle)
        np.testing.assert_allclose(found.z1[:7], fresh.conditions_at_ends.z1[:7], **SAME)
        np.testing.assert_allclose(solver.solve(end=end).z, tf.solve(fresh, tf.MixedGalerkin(2), 8).z, **SAME)
    with pytest.raises(tf.InputError):
        solver.solve(end={"rod": hanging(0.9, off=1e-6)})


def test_a_warm_start_takes_fewer_iterations():
    solver = tf.prepare(between(), tf.MixedGalerkin(2), 30)
    solver.solve()
    end = {"box": tf.Pose((1, 0, 0.5), turned(1.2001))}
    warm = solver.solve(end=end).statistics["newton_iterations"]["max"]
    cold = solver.solve(end=end, warm=False).statistics["newton_iterations"]["max"]
    assert warm < cold


def test_a_warm_start_that_fails_is_none():
    """The last solution turned the other way: from it Newton's method may fail, from a guess it does not."""
    solver = tf.prepare(between(), tf.MixedGalerkin(2), 8, newton=tf.Newton(max_iterations=4, line_search=True))
    assert solver.solve().success
    for angle in (2.5, -2.5, 0.1):
        end = {"box": tf.Pose((1, 0, 0.5), turned(angle))}
        assert solver.solve(end=end).success == solver.solve(end=end, warm=False).success


def reorientation(angle=1.0, mass=1.0, weight=1.0, bounds=None):
    body = tf.RigidBody(mass, (1, 2, 3), name="box")
    wheels = tf.ControlTorque(body, name="wheels")
    end = {body: tf.EndState(orientation=turned(angle), angular_velocity=(0, 0, 0))}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 2),
                             tf.Effort(wheels, weight, name="effort"), bounds=bounds and {wheels: bounds})


def test_optimal_control():
    element = tf.MixedGalerkin(1)
    solver = tf.prepare(reorientation(), element, 10)
    solver.solve()
    found = solver.solve(end={"box": tf.EndState(orientation=turned(1.2), angular_velocity=(0, 0, 0))})
    fresh = tf.solve(reorientation(1.2), element, 10)
    np.testing.assert_allclose(found.z, fresh.z, **SAME)
    assert abs(found.objective - fresh.objective) <= 1e-11
    found = solver.solve(parameters={"effort.weights": (2, 3, 4)})
    fresh = tf.solve(reorientation(weight=(2, 3, 4)), element, 10)
    np.testing.assert_allclose(found.z, fresh.z, **SAME)
    assert abs(found.objective - fresh.objective) <= 1e-11
    found = solver.solve(parameters={"box.inertia[1]": 2.5})
    assert abs(found.objective / solver.solve().objective - 2.5**2 / 2**2) <= 1e-10  # about the second axis only


def test_bounds():
    """The prepared program takes other bounds; the earlier result stays."""
    element, wheels = tf.MixedGalerkin(1), "wheels"
    problem = reorientation(bounds=(-4.0, 4.0))
    solver = tf.prepare(problem, element, 10)
    free = solver.solve()
    part = problem.system[wheels]
    found = solver.solve(bounds={part: (-2.5, 2.5)})
    fresh = tf.solve(reorientation(bounds=(-2.5, 2.5)), element, 10)
    assert abs(found.objective - fresh.objective) <= 1e-7
    assert np.abs(found.fields["controls"]).max() <= 2.5 + 1e-6 < np.abs(free.fields["controls"]).max()


def test_inverse_dynamics():
    mass = tf.PointMass(2.0, dimension=1, name="cart")

    def problem(end=1.0, m=2.0):
        cart = tf.PointMass(m, dimension=1, name="cart")
        push = tf.ControlForce(cart, [(1, 0, 0)], name="push")
        output = tf.PositionOutput(cart, "x")
        return tf.InverseDynamics(tf.System([cart]), {output: tf.Transfer(0, 1, 0, end)}, {cart: tf.Pose()},
                                  t_span=(0, 1), actuators=push)

    assert mass.mass == 2.0
    element = tf.MixedGalerkin(2)
    prepared = problem()
    solver = tf.prepare(prepared, element, 6)
    solver.solve()
    output, _ = prepared.outputs[0]
    found, fresh = solver.solve(outputs={output: tf.Transfer(0, 1, 0, 1.5)}), tf.solve(problem(1.5), element, 6)
    np.testing.assert_allclose(found.fields["controls"], fresh.fields["controls"], rtol=0, atol=1e-9)
    found, fresh = solver.solve(parameters={"cart.mass": 3.0}), tf.solve(problem(m=3.0), element, 6)
    np.testing.assert_allclose(found.fields["controls"], fresh.fields["controls"], rtol=0, atol=1e-9)
    changed = solver.changed(parameters={"cart.mass": 3.0})
    np.testing.assert_allclose(changed.controls(found.t, found.z), problem(m=3.0).controls(fresh.t, fresh.z), rtol=0,
                               atol=1e-9)


def test_what_a_first_solve_refuses_a_second_one_refuses():
    rod = tf.RigidBody(1, (1, 2, 3), name="rod")
    hinge = tf.Revolute(rod, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    system = tf.System([rod, hinge])

    def end(angle, aside=0.0):
        return {rod: tf.Pose((0.5 * np.cos(angle), aside, -0.5 * np.sin(angle)), turned(angle))}

    problem = tf.BoundaryValueProblem(system, (0, 1), end(0.0), end(0.5))
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 8)
    solver.solve()
    for wrong, words in ((end(0.5, 0.1), "constraint"), ({rod: tf.EndState(q=[1.0])}, "has no q|length"),
                         ({rod: tf.EndState(position=(2.0, None, None))}, "violated")):
        with pytest.raises(tf.InputError, match=words):
            solver.solve(end=wrong)
        with pytest.raises(tf.InputError, match=words):
            tf.BoundaryValueProblem(system, (0, 1), end(0.0), wrong)
    found, true = solver.solve(end=end(0.7)), tf.BoundaryValueProblem(system, (0, 1), end(0.0), end(0.7))
    np.testing.assert_allclose(found.z, tf.solve(true, tf.MixedGalerkin(2), 8).z, **SAME)
