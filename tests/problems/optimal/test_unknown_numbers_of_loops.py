"""Trees closed by a loop with unknown numbers, and starts that are found by elements whose nodes hold velocities."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

FORMS = tf.MixedGalerkin(2, form="impulse"), tf.MixedGalerkin(2, form="energy")
STEP = 1e-3  # relative, of differences


def four_bar(value, free, of, start=None, **options):
    """A crank and a coupler as a tree, closed by a rod to the ground; its length, or that of the crank, is unknown."""
    crank, rod = (value, 0.7) if of == "crank" else (0.3, value)
    robot = tf.Tree([tf.Link("base"), tf.Link("crank", 1.0, (0.15, 0, 0), (0.01, 0.02, 0.02)),
                     tf.Link("coupler", 1.2, (0.4, 0, 0), (0.01, 0.06, 0.06))],
                    [tf.TreeJoint("a", "base", "crank", axis=(0, 1, 0)),
                     tf.TreeJoint("b", "crank", "coupler", position=(crank, 0, 0), axis=(0, 1, 0))], name="robot")
    rod = tf.RigidDistance(robot.link("coupler"), None, point_a=(0.8, 0, 0), point_b=(0.9, 0, 0), length=rod,
                           name="rod")
    drive = tf.JointControl(joint=robot.joint("a"), name="drive")
    number = (robot, "b.position[0]") if of == "crank" else (rod, "length")
    own = {"parameters": {"l": number}, "bounds": {"l": (0.1, 1.2)}} if free else {}
    best = 0.35 if of == "crank" else 0.75
    return tf.OptimalControl(
        tf.System([robot, rod, drive], gravity=(0, 0, -9.81)), {robot: start or {"a": tf.EndState(q=[-0.3], v=[0.0])}},
        {robot: {"a": tf.EndState(q=[-1.0], v=[0.0])}}, (0, 1), tf.Effort(drive), near={robot: {"a": -0.3, "b": 0.8}},
        end_cost=lambda end, parameters: 30 * ((parameters["l"] if free else value) - best)**2, **own, **options)


@pytest.mark.parametrize("element", FORMS, ids=["impulse", "energy"])
@pytest.mark.parametrize("of", ["rod", "crank"])
def test_the_best_length(of, element):
    """Linkages of known length cost the same, the least where it is found; IPOPT finds it, too."""
    guess = {"rod": 0.7, "crank": 0.3}[of]
    sol, other = (tf.solve(four_bar(guess, True, of), element, 10, method=method, progress=False)
                  for method in ("interior-point", "ipopt"))
    found = sol.parameters["l"]
    assert sol.success and other.parameters["l"] == pytest.approx(found, rel=1e-7)

    def cost(x):
        return tf.solve(four_bar(x, False, of), element, 10, guess=sol, progress=False).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    slopes = [(cost(x * (1 + STEP)) - cost(x * (1 - STEP))) / (2 * STEP * sol.objective) for x in (found, 1.1 * found)]
    assert abs(slopes[0]) < 1e-5 < 1e-3 < abs(slopes[1])


def test_the_length_that_fits_the_start():
    """Both angles are given at the start, and stay so: the rod is as long as it has to be."""
    start = {"a": tf.EndState(q=[-0.3], v=[0.0]), "b": tf.EndState(q=[1.0])}
    sol = tf.solve(four_bar(0.7, True, "rod", start), FORMS[1], 8, progress=False)
    tip = 0.3 * np.array([np.cos(0.3), np.sin(0.3)]) + 0.8 * np.array([np.cos(0.7), -np.sin(0.7)])
    assert sol.success and sol.parameters["l"] == pytest.approx(np.hypot(*(tip - [0.9, 0])), rel=1e-9)
    assert sol.z[0, :2] == pytest.approx([-0.3, 1.0], abs=1e-9)


@pytest.mark.parametrize("element", [*FORMS, tf.EML(), tf.BubnovGalerkin(2)],
                         ids=["impulse", "energy", "EML", "Bubnov-Galerkin"])
def test_an_unknown_mass_of_what_moves_at_the_start(element):
    def thrown(mass, free):
        stone = tf.RigidBody(mass, (0.1, 0.1, 0.1), name="stone")
        push = tf.ControlForce(stone, [(1, 0, 0), (0, 1, 0)], name="push")
        own = {"parameters": {"m": (stone, "mass")}} if free else {}
        return tf.OptimalControl(
            tf.System([stone, push], gravity=(0, -9.81, 0)), {stone: tf.Pose(velocity=(1, 2, 0))},
            {stone: tf.EndState((1, 0, 0), velocity=(0, 0, 0))}, (0, 1), tf.Effort(push),
            end_cost=lambda end, parameters: 300 / (parameters["m"] if free else mass), **own)

    sol = tf.solve(thrown(1.2, True), element, 8, progress=False)
    found = sol.parameters["m"]
    # effort is that of the force m (a - g), so m^2 E: the least of m^2 E + 300 / m
    effort = tf.solve(thrown(1.0, False), element, 8, progress=False).objective - 300
    assert sol.success and found == pytest.approx((150 / effort) ** (1 / 3), rel=1e-7)


@pytest.mark.parametrize("element", FORMS, ids=["impulse", "energy"])
def test_a_free_start_of_bodies_with_joints(element):
    """Where a pendulum is let go, so that it is at rest at 0.3 rad after a second, pushed as little as needed."""
    def solved(element, n):
        bob = tf.RigidBody(1.0, (0.02, 0.05, 0.05), name="bob")
        hinge = tf.Revolute(bob, None, point_a=(0, 0, 0.5), axis_a=(0, 1, 0), point_b=(0, 0, 0), axis_b=(0, 1, 0))
        drive = tf.ControlTorque(bob, [(0, 1, 0)], name="drive")
        low = tf.Limit(lambda now, u: now.q(bob)[0], -0.2, at="start")
        turned = (np.cos(0.15), 0, np.sin(0.15), 0)
        end = tf.EndState((-0.5 * np.sin(0.3), 0, -0.5 * np.cos(0.3)), turned, (0, 0, 0), (0, 0, 0))
        problem = tf.OptimalControl(
            tf.System([bob, hinge], gravity=(0, 0, -9.81)), {bob: tf.EndState(velocity=(0, 0, 0))}, {bob: end}, (0, 1),
            tf.Effort(drive), limits=low, near={bob: tf.Pose((0.1, 0, -0.48), (np.cos(0.1), 0, -np.sin(0.1), 0))})
        sol = tf.solve(problem, element, n, progress=False)
        assert sol.success
        return sol

    coarse, fine, other = solved(element, 12), solved(element, 24), solved(tf.MixedGalerkin(3), 24)
    errors = [abs(sol.objective - other.objective) / other.objective for sol in (coarse, fine)]
    assert errors[1] < errors[0] / 8 and errors[1] < 1e-4


@pytest.mark.parametrize("form", ["energy", "lagrange", "impulse"])
def test_a_solution_from_another_start_as_a_guess(form):
    """Velocities that nodes hold begin as the start says, not as the guess does."""
    robot = tf.Tree([tf.Link("base"), tf.Link("rod", 1.0, (0.2, 0, 0), (0.01, 0.03, 0.03))],
                    [tf.TreeJoint("a", "base", "rod", axis=(0, 1, 0))], name="robot")
    drive = tf.JointControl(joint=robot.joint("a"), name="drive")

    def problem(rate):
        return tf.OptimalControl(tf.System([robot, drive], gravity=(0, 0, -9.81)), {robot: {"a": (0.3, rate)}},
                                 {robot: {"a": (-0.5, 0.0)}}, (0, 1), tf.Effort(drive))

    element = tf.MixedGalerkin(2, form=form)
    guess, known = (tf.solve(problem(rate), element, 8, progress=False) for rate in (0.0, 2.0))
    sol = tf.solve(problem(2.0), element, 8, guess=guess, progress=False)
    assert sol.objective == pytest.approx(known.objective, rel=1e-9) != guess.objective
