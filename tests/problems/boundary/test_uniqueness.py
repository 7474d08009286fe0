"""Conditions at the ends that do not determine a motion: a warning; none where they do, however stiff or unstable."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.problems.boundary import solver

pytestmark = pytest.mark.long


def oscillator(span, mass=1.0, stiffness=1.0, end=0.0):
    ball = tf.PointMass(mass, dimension=1, name="ball")
    return tf.BoundaryValueProblem(tf.System([ball, tf.Spring(ball, None, stiffness=stiffness)]), (0, span),
                                   start={ball: tf.Pose((0, 0, 0))}, end={ball: tf.Pose((end, 0, 0))})


def chain(span):
    """Two masses between walls: modes of frequencies 1 and sqrt(3)."""
    a, b = (tf.PointMass(1.0, dimension=1, name=name) for name in "ab")
    springs = [tf.Spring(*pair, stiffness=1.0) for pair in ((a, None), (a, b), (b, None))]
    rest = {a: tf.Pose((0, 0, 0)), b: tf.Pose((0, 0, 0))}
    return tf.BoundaryValueProblem(tf.System([a, b, *springs]), (0, span), start=rest, end=rest)


def unstable(span):
    ball = tf.PointMass(1.0, dimension=1, name="ball")
    hill = tf.FormulaEnergy(ball, lambda f, t, c: -f[0].position[0]**2 / 2)
    pose = {ball: tf.Pose((1, 0, 0))}
    return tf.BoundaryValueProblem(tf.System([ball, hill]), (0, span), start=pose, end=pose)


def told(problem, element, n=30):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert tf.solve(problem, element, n, progress=False).success
    found = [w for w in caught if "do not determine the motion" in str(w.message)]
    assert all(w.category is tf.IllConditioned and w.filename == __file__ for w in found)
    return bool(found)


ELEMENTS = tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.MixedGalerkin(3), tf.MixedGalerkin(2, keep="all"), \
    tf.BubnovGalerkin(2)


@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_half_an_oscillation_between_zeros(element):
    assert told(oscillator(np.pi), element)
    assert not told(oscillator(3.0), element)
    assert not told(oscillator(3.0, end=0.1), element)


@pytest.mark.parametrize("problem, many", [
    (oscillator(2 * np.pi), True), (oscillator(np.pi / 1000, 1e-6, 1.0), True), (oscillator(1e-2, 1e-3, 1e3), False),
    (oscillator(np.pi + 1e-3, end=0.1), False), (chain(np.pi), True), (chain(np.pi / np.sqrt(3)), True),
    (chain(2.0), False), (unstable(15.0), False)])
def test_modes_units_and_growth(problem, many):
    assert told(problem, tf.MixedGalerkin(2)) is many


def test_long_meshes_are_acquitted_by_coarse_ones(monkeypatch):
    monkeypatch.setattr(solver, "LONG", 20)
    seen, response = [], solver._response
    monkeypatch.setattr(solver, "_response", lambda equations, x: seen.append(equations.mesh.n_elements) or
                        response(equations, x))
    assert not told(oscillator(3.0), tf.MixedGalerkin(2), 80)
    assert seen == [20]
    assert told(oscillator(np.pi), tf.MixedGalerkin(2), 80)
    assert set(seen) == {20, 80, 40}


@pytest.mark.parametrize(("start", "end", "time"), [((-1, 0.3), (0.2, -0.4), 0.8), ((-1.9, -1.5), (0.7, 0.6), 0.9)])
def test_by_shorter_times(start, end, time):
    """Between any two configurations there is a motion, the one of least action; where Newton's method does not come
    from the straight way to it, it does from motions that take less time."""
    links = [tf.Link("base"), tf.Link("upper", mass=1.0, centre=(0.5, 0, 0), inertia=(0, 0.1, 0.1)),
             tf.Link("lower", mass=0.7, centre=(0.4, 0, 0), inertia=(0, 0.05, 0.05))]
    joints = [tf.TreeJoint("shoulder", "base", "upper"), tf.TreeJoint("elbow", "upper", "lower", position=(1, 0, 0))]
    arm = tf.Tree(links, joints)
    system = tf.System([arm], gravity=(0, -9.81, 0))
    ends = [{arm: dict(zip(("shoulder", "elbow"), q, strict=True))} for q in (start, end)]
    sol = tf.solve(tf.BoundaryValueProblem(system, (0, time), *ends), tf.MixedGalerkin(3), 40, progress=False)
    assert sol.success
    rates = arm.velocity(*np.split(sol.z[0], 2))
    thrown = {arm: {name: (q, v) for name, q, v in zip(("shoulder", "elbow"), start, rates, strict=True)}}
    there = tf.solve(tf.InitialValueProblem(system, thrown, (0, time)), tf.MixedGalerkin(4), 80, progress=False)
    np.testing.assert_allclose(there.z[-1, :2], end, rtol=0, atol=1e-4)


# ---- motions between two places that go through a joint between the nodes are reported

def swing(element, n):
    bob = tf.PointMass(1.0, dimension=2, name="bob")
    system = tf.System([bob, tf.RigidDistance(bob, length=1.0, name="rod")], gravity=(0, -9.81, 0))
    there = tf.EndState(position=[np.sin(2.5), -np.cos(2.5), None])
    return tf.solve(tf.BoundaryValueProblem(system, (0, 3), {bob: tf.Pose((0, -1, 0))}, {bob: there}), element, n,
                    progress=False)


def test_a_bob_that_goes_through_its_support():
    with pytest.warns(tf.UnderResolved, match=r"goes straight through 'rod: distance' at t = 0\.375, .* more elements"):
        assert swing(tf.MixedGalerkin(1), 4).success


@pytest.mark.parametrize("element, n", [(tf.MixedGalerkin(1), 20), (tf.MixedGalerkin(2), 8)])
def test_one_that_does_not(element, n):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the motion goes straight through")
        warnings.filterwarnings("ignore", "bob moves too fast")  # the places are off by 0.1 and 0.2
        sol = swing(element, n)
    assert sol.success and np.linalg.norm(sol.position("bob", np.linspace(0, 3, 301)), axis=1).min() > 0.8


@pytest.mark.parametrize("dimension", [2, 3])
def test_both_ways_around_a_centre_are_found(dimension):
    """Lambert's problem: of its orbits the one along the straight way was found alone."""
    body, centre = tf.PointMass(2.0, dimension=dimension, name="body"), np.array([1.0, -2.0, 0])
    pull = tf.NonlinearSpring(body, point_b=centre, potential="-c[0]/l", parameters=[2.0], name="pull")
    first, last, time = np.array([1.0, 0, 0]), np.array([-0.7, 1.2, 0]), 3.5
    problem = tf.BoundaryValueProblem(tf.System([body, pull]), (0, time), start={body: tf.Pose(centre + first)},
                                      end={body: tf.Pose(centre + last)})
    found = tf.solve_all(problem, tf.MixedGalerkin(3), 40, progress=False)
    turned = []
    for one in found:
        fast = one.velocity(body, 0.0)
        orbit = solve_ivp(lambda t, y: [*y[3:], *(-y[:3] / np.linalg.norm(y[:3]) ** 3)], (0, time), [*first, *fast],
                          rtol=1e-11, atol=1e-11).y[:3, -1]
        assert abs(orbit - last).max() < 1e-5
        turned.append(np.sign(np.cross(first, fast)[2]))
    assert {1.0, -1.0} <= set(turned)
