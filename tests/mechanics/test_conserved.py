"""What nothing changes is found, and nothing else."""

import casadi
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.conserved import conserved
from timefem.problems.common.conditions import least_norm_search

G = (0, 0, -9.81)


def kept(system, state):
    """Function and names of what is conserved, and a state that holds the constraints."""
    problem = tf.InitialValueProblem(system, state, (0, 1))
    system = problem.system

    def hold(z):
        def evaluate(x):
            _, jacobian, _ = system.derivatives(0.0, x)
            return system.constraints(0.0, x), jacobian.toarray() * system.state_scale

        found, violated, _ = least_norm_search(evaluate, z, system.state_scale, lambda x: 1.0)
        return found if violated is None else None

    return *conserved(system, 0.0, problem.z0, hold), problem


def two_bodies(rotation="quaternion"):
    """Two bodies with a motor in the hinge between them, in motion."""
    a, b = (tf.RigidBody(m, (1, 2, 2.5), rotation=rotation, name=name) for m, name in ((1.0, "a"), (2.0, "b")))
    hinge = tf.Revolute(a, b, point_a=(1, 0, 0), point_b=(-1, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    push = np.array((0.3, -0.2, 0.1))
    state = {a: tf.Pose(velocity=push), b: tf.Pose((2, 0, 0), velocity=push)}
    return [a, b, hinge, tf.JointControl(hinge)], state


def tree():
    links = [tf.Link("front", 1.0, (0, 0, 0.2), (0.015, 0.015, 0.004)),
             tf.Link("back", 2.0, (0, 0, -0.2), (0.015, 0.015, 0.004))]
    cat = tf.Tree(links, [tf.TreeJoint("bend", "front", "back", axis=(1, 0, 0))], name="cat", base="free")
    return [cat, tf.JointControl(cat.joint("bend"))], {cat: {"bend": (0.3, 0.5)}}


@pytest.mark.parametrize("gravity", [(0, 0, 0), G])
@pytest.mark.parametrize("made", [two_bodies, lambda: two_bodies("directors"), tree])
def test_what_floats_or_falls_keeps_twelve_numbers(made, gravity):
    """Along the motion by the motor alone, too."""
    parts, state = made()
    function, names, problem = kept(tf.System(parts, gravity=gravity), state)
    assert "linear momentum along x" in names and "angular momentum about the centre of mass along z" in names
    gradient = np.array(function.jacobian()(problem.z0, 0.3, 0)[0])
    assert np.linalg.matrix_rank(gradient, tol=1e-9) >= 9
    element = tf.MixedGalerkin(3, form="lagrange") if made is tree else tf.MixedGalerkin(3)
    sol = tf.solve(problem, element, 40, progress=False)
    values = [np.array(function(sol.z[i], sol.t[i])).ravel() for i in (0, 20, 40)]
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=0, atol=1e-6)


def test_on_a_vertical_hinge_the_angular_momentum_about_it_is_kept():
    parts, _ = two_bodies()
    a, b = parts[:2]
    pivot = tf.Revolute(a, None, point_a=(-1, 0, 0), point_b=(0.5, 0.3, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    state = {a: tf.Pose((1.5, 0.3, 0), velocity=(0, 1, 0), angular_velocity=(0, 0, 1)),
             b: tf.Pose((3.5, 0.3, 0), velocity=(0, 3, 0), angular_velocity=(0, 0, 1))}
    function, names, problem = kept(tf.System([*parts, pivot], gravity=G), state)
    gradient = np.array(function.jacobian()(problem.z0, 0.0, 0)[0])
    assert names and np.linalg.matrix_rank(gradient, tol=1e-9) >= 1
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    np.testing.assert_allclose(np.array(function(sol.z[-1], 1.0)), np.array(function(sol.z[0], 0.0)), rtol=0, atol=1e-7)


def one_body(*parts, body=None):
    body = body or tf.RigidBody(1.0, (1, 2, 2.5), name="body")
    return kept(tf.System([body, *(part(body) for part in parts)]), {body: tf.Pose((0.3, 0.2, 0.1))})[:2]


@pytest.mark.parametrize("part", [
    lambda body: tf.ControlForce(body, ((1, 0, 0),), frame="body"),  # a jet, which can be turned
    lambda body: tf.Force(body, (lambda t: t > 0.99, 0, 0)),  # at some time only
    lambda body: tf.Spring(body, None, stiffness=1.0, point_a=(1, 0, 0), point_b=(0, 5, 0))],
    ids=["jet", "late", "spring"])
def test_nothing_else_is_kept(part):
    assert one_body(part, tf.ControlTorque) == (None, [])


def floor(frame):
    return casadi.vertcat(0, 0, 100 * casadi.fmax(0, -5 - frame.position[2]))


@pytest.mark.parametrize("controls", [0, 1])
def test_a_floor_far_below_is_not_overlooked(controls):
    """By a formula, under two bodies at once or next to controls: a ball that falls without weight comes back."""
    a, b = tf.PointMass(1.0, name="a"), tf.PointMass(1.0, name="b")
    ground = tf.FormulaForce(a, lambda f, t, c, u: floor(f[0]) + casadi.vertcat(u[0], 0, 0), n_controls=1) if controls \
        else tf.FormulaForce([a, b], lambda f, t, c: [floor(f[0]), floor(f[1])])
    parts, bodies = ([a, ground], [a]) if controls else ([a, b, ground, tf.LengthControl(a, b)], [a, b])
    assert kept(tf.System(parts), {body: tf.Pose((i, 0, -4), velocity=(0, 0, -2))
                                   for i, body in enumerate(bodies)})[:2] == (None, [])
