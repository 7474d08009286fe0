"""Dense derivatives at one state, and what follows from them, against the sparse ones and plain linear algebra."""

import copy
import threading

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling
from timefem.cases import find_case
from timefem.mechanics.values.at_start import at_start
from timefem.mechanics.values.measures import ALIKE_IN_STEPS, LEAST, blocks_of, measure, sizes_of_terms

CASES = "spinning-box", "heavy-top", "four-bar", "closed-chain-10", "closed-chain-100"


def problem_of(name):
    return find_case(name).make(t_end=0.1)


def whole(jacobian):
    return jacobian if isinstance(jacobian, np.ndarray) else jacobian.toarray()


def near(problem):
    """A state near that of the problem."""
    z = problem.z0
    return z + 1e-3 * (1 + np.abs(z)) * np.random.default_rng(3).uniform(-1, 1, len(z))


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    problem = problem_of(name)
    system, z = problem.system, near(problem)
    gradient, jacobian, rate = system.derivatives(0.3, z)
    here = at_start(system, 0.3, z)
    for found, true in ((here.gradient, gradient), (whole(here.jacobian), jacobian.toarray()), (here.rate, rate),
                        (here.theta, system.constraints(0.3, z))):
        np.testing.assert_allclose(found, true, rtol=0, atol=1e-12 * (1 + np.abs(true).max(initial=0)))
    size = sizes_of_terms(jacobian, z, gradient, system.state_scale)
    assert np.all(size > np.abs(jacobian.toarray()) @ np.abs(z))
    np.testing.assert_allclose(here.size, size, rtol=1e-13)
    violation = (np.abs(here.theta) / size).max()
    assert here.fine(1.01 * violation) and not here.fine(0.99 * violation)


@pytest.mark.parametrize("name", CASES)
def test_multipliers_and_sizes(name):
    problem = problem_of(name)
    system, z, n = problem.system, problem.z0, problem.system.n_q
    here = at_start(system, 0.0, z)
    gradient, jacobian, rate = system.derivatives(0.0, z)
    jacobian = jacobian.toarray()
    turned = np.hstack([-jacobian[:, n:], jacobian[:, :n]])
    true = np.linalg.solve(turned @ jacobian.T, -(turned @ gradient + rate))
    assert here.solves == (name not in CASES[3:])  # with many
    assert here.condition < 1e12
    np.testing.assert_allclose(system.consistent_multipliers(0.0, z), true, rtol=0, atol=1e-10 * np.abs(true).max())
    scaling = Scaling.of("full", system, tf.MixedGalerkin(1), 0.0, z)
    terms, m = np.abs(jacobian) * system.state_scale, len(jacobian) // 2
    terms[m:, :n] = 0  # rates count by momenta alone, in any unit of time
    np.testing.assert_allclose(scaling.multipliers, 1 / terms.max(axis=1), rtol=1e-13)
    assert here.reference == pytest.approx(np.abs(z / system.state_scale).max(), rel=1e-14)


def test_light_bodies_count_apart():
    heavy, light = tf.RigidBody(1e4, (1e4, 1e4, 1e4), name="heavy"), tf.RigidBody(1e-4, (1e-4,) * 3, name="light")
    problem = tf.InitialValueProblem(tf.System([heavy, light]), {
        heavy: tf.Pose(velocity=(5, 0, 0)), light: tf.Pose((9, 0, 0), angular_velocity=(0, 1, 2))}, (0, 1))
    system, z = problem.system, problem.z0
    size, root = np.abs(z / system.state_scale).reshape(2, -1).max(axis=0), np.sqrt(system.mass_scale)
    blocks, kinds = blocks_of(system)
    largest = [(size / root)[kinds[blocks] == kind].max() for kind in (0, 1)]
    own = [np.maximum(size, LEAST * root * largest[kind])[blocks == block].max() for block, kind in enumerate(kinds)]
    true = np.array([max(own) / measure(o, max(own), ALIKE_IN_STEPS) for o in own])[blocks]
    found = at_start(system, 0.0, z).emphasis
    assert true.max() > 2
    np.testing.assert_allclose(found, true, rtol=1e-13)
    assert at_start(problem_of("four-bar").system, 0.0, problem_of("four-bar").z0).emphasis is None


def test_redundant_constraints_have_no_multipliers():
    point = tf.PointMass(1.0, name="point")
    rods = [tf.RigidDistance(point, point_b=at, length=length) for at, length in (((0, 0, 0), 1.0), ((-1, 0, 0), 2.0))]
    z = np.array([1.0, 0, 0, 0, 0, 0])
    assert not at_start(tf.System([point, *rods]), 0.0, z).condition < 1e12


def test_other_numbers_copies_and_threads():
    problem = problem_of("four-bar")
    system, z = problem.system, problem.z0
    name = f"{system.label(system.bodies[0])}.mass"
    heavier = system.with_numbers({name: 7.0})
    assert at_start(heavier, 0.0, z) is at_start(system, 0.0, z)  # one structure
    for own in (heavier, system, copy.copy(system)):
        np.testing.assert_allclose(at_start(own, 0.0, z).gradient, own.derivatives(0.0, z)[0], atol=1e-12)
    found = []
    thread = threading.Thread(target=lambda: found.append(at_start(system, 0.0, z)))
    thread.start()
    thread.join()
    assert found[0] is not at_start(system, 0.0, z)
    np.testing.assert_array_equal(found[0].gradient, at_start(system, 0.0, z).gradient)


def hung(kind, point, off):
    """What hangs from a point, near the origin, where coordinates tell no length: numbers in constraints do."""
    length = float(np.linalg.norm(np.array(point) - [off, 0, 0]))
    if kind == "distance":
        mass = tf.PointMass(1.0, name="mass")
        return [mass, tf.RigidDistance(mass, point_b=point, length=length)], {mass: tf.Pose((off, 0, 0))}
    if kind == "formula":
        mass, (a, b, c) = tf.PointMass(1.0, 1, name="mass"), point
        zero = a, b, -(a + b), 1.1 * c, -c, -0.1 * c
        return [mass, tf.Constraint(mass, lambda f, t, _: sum(zero, f[0].q[0] - off), 1)], {mass: tf.Pose((off, 0, 0))}
    tree = tf.Tree([tf.Link("ground"), tf.Link("bar", mass=1.0, inertia=(1, 1, 1))], [
        tf.TreeJoint("pivot", "ground", "bar", axis=(0, 1, 0))], name="tree")
    tip = np.array([np.cos(off), 0, -np.sin(off)])
    return [tree, tf.RigidDistance(tree.link("bar"), point_a=(1, 0, 0), point_b=tuple(tip + point),
                                   length=float(np.linalg.norm(point)))], {tree: {"pivot": off}}


@pytest.mark.parametrize("kind", ["distance", "formula", "tree"])
def test_rounding_of_constants_is_no_violation(kind):
    rng = np.random.default_rng(0)
    for off in (0.0, 1e-13, 1e-9, 1e-6):
        for point in rng.uniform(-1, 1, (10, 3)):
            parts, start = hung(kind, tuple(point), off)
            tf.InitialValueProblem(tf.System(parts), start, (0, 1))
        far = {body: {"pivot": off + 1e-5} if kind == "tree" else tf.Pose((off + 1e-5, 0, 0)) for body in start}
        with pytest.raises(tf.InputError, match="violates the constraint"):
            tf.InitialValueProblem(tf.System(parts), far, (0, 1))


def belt(kind, numbers, speed, unit):
    """A mass on a belt at a speed, which is the sum of others, in a unit of speed."""
    a, b, c = np.array(numbers) * unit
    mass = tf.PointMass(1.0, name="mass")
    if kind == "constants":
        terms = a, b, -(a + b), 1.1 * c, -c, -0.1 * c
        slip = tf.NonholonomicConstraint(mass, lambda f, t, _: sum(terms, f[0].velocity[0] - speed * unit), 1)
    elif kind == "parameters":
        slip = tf.NonholonomicConstraint(mass, lambda f, t, n: f[0].velocity[0] - n[0] - n[1] + n[2] - n[3], 1,
                                         parameters=[a, b, a + b, speed * unit])
    else:
        slip = tf.NonholonomicConstraint(
            mass, lambda f, t, _: f[0].velocity[0] - c * ca.sin(ca.pi * t) - speed * unit, 1)
    return tf.System([mass, slip]), mass


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e-6])
@pytest.mark.parametrize("kind", ["constants", "parameters", "time"])
def test_rounding_of_constants_is_no_slip(kind, unit):
    rng, off = np.random.default_rng(1), 0.0
    for speed in (0.0, 1e-13, 1e-6):
        for numbers in rng.uniform(0.3, 1, (10, 3)):
            system, mass = belt(kind, numbers, speed, unit)
            start = {mass: tf.Pose(velocity=(speed * unit, 0, 0))}
            problem = tf.InitialValueProblem(system, start, (1.0, 2.0))
            off = max(off, abs(system.nonholonomic(1.0, problem.z0)[0]))
        far = {mass: tf.Pose(velocity=((speed + 1e-7) * unit, 0, 0))}
        with pytest.raises(tf.InputError, match="violates the nonholonomic constraint"):
            tf.InitialValueProblem(system, far, (1.0, 2.0))
    assert off > 0
