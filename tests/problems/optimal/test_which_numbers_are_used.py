"""Unknown numbers that nothing depends on, and those that formulas or links of phases alone have."""

import math
import re

import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2)


def push(start, end, **options):
    mass = tf.PointMass(1.0, 1, name="mass")
    force = tf.ControlForce(mass, [(1, 0, 0)], name="force")
    return tf.OptimalControl(tf.System([mass, force]), {mass: start}, {mass: end}, (0, 1), tf.Effort(force), **options)


STILL = tf.EndState(velocity=(0, 0, 0))


@pytest.mark.parametrize("options", [{}, {"bounds": {"x": (0, 3)}}, {"end_cost": "0 * parameters['x']"}, {
    "limits": tf.Limit("now.q('mass')[0]", None, 2)}, {"end_conditions": "end.q('mass')[0] - 1"}])
def test_a_number_that_nothing_depends_on(options):
    problem = push(tf.Pose(), STILL, parameters={"x": 1.0}, **options)
    with pytest.raises(tf.InputError, match="nothing depends on x, so that it cannot be found"):
        tf.solve(problem, ELEMENT, 5, progress=False)


def test_such_a_number_of_boundary_values():
    mass = tf.PointMass(1.0, 1, name="mass")
    with pytest.raises(tf.InputError, match="nothing depends on x"):
        tf.BoundaryValueProblem(tf.System([mass]), (0, 1), {mass: tf.EndState((0, 0, 0))},
                                {mass: tf.EndState((1, 0, 0), velocity=(1, 0, 0))}, parameters={"x": 1.0})


def test_a_guess_of_the_number_that_the_name_is():
    """A spring that brings a mass of 2 kg from rest at 1 m to the middle in 1 s: k = m (pi / 2)^2."""
    mass = tf.PointMass(2.0, 1, name="mass")
    spring = tf.Spring(mass, None, (0, 0, 0), (0, 0, 0), 1.0, name="spring")
    still = tf.EndState((1, 0, 0), velocity=(0, None, None))
    problem = tf.BoundaryValueProblem(tf.System([mass, spring]), (0, 1), {mass: still}, {mass: tf.EndState((0, 0, 0))},
                                      parameters={"spring.stiffness": 4.0})
    sol = tf.solve(problem, tf.MixedGalerkin(3), 10, progress=False)
    assert sol.parameters["spring.stiffness"] == pytest.approx(math.pi**2 / 2, rel=1e-8)
    with pytest.raises(tf.InputError, match="did you mean 'stiffness'"):
        tf.BoundaryValueProblem(tf.System([mass, spring]), (0, 1), {mass: still}, {mass: tf.EndState((0, 0, 0))},
                                parameters={"spring.stifness": 4.0})


@pytest.mark.parametrize("options, found", [
    ({"end_conditions": "end.q('mass')[0] - parameters['x']", "end_cost": "3 * (parameters['x'] - 0.2)**2"}, 1 / 15),
    ({"couplings": tf.Coupling("end.q('mass')[0] - start.q('mass')[0] - end.parameters['x']"),
      "end_cost": "3 * (parameters['x'] - 0.2)**2"}, 1 / 15),
    ({"limits": tf.Limit("now.q('mass')[0] - now.parameters['x']", 0.0, at="end"),
      "end_cost": "-parameters['x']"}, 1 / 12)])
def test_numbers_of_formulas_alone(options, found):
    """To push 1 kg by x in 1 s from rest to rest costs 6 x^2."""
    sol = tf.solve(push(tf.Pose(), STILL, parameters={"x": 1.0}, **options), ELEMENT, 5, progress=False)
    assert sol.success and sol.parameters["x"] == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
def test_numbers_of_links_alone(method):
    """Pushed by x, then from x - y to 1: the least of 6 x^2 + 6 (1 - x + y)^2 + (y - 4)^2."""
    first = push(tf.Pose(), STILL, parameters={"x": 1.0})
    second = push(STILL, tf.EndState((1, 0, 0), velocity=(0, 0, 0)), parameters={"y": 1.0},
                  end_cost="(parameters['y'] - 4)**2")
    links = [tf.Coupling("before.q('mass')[0] - before.parameters['x']"),
             tf.Coupling("after.q('mass')[0] + after.parameters['y'] - before.parameters['x']")]
    sol = tf.solve(tf.Phases([first, second], [links]), ELEMENT, 5, method=method, progress=False)
    assert sol.success and [sol[0].parameters["x"], sol[1].parameters["y"]] == pytest.approx([0.625, 0.25], rel=1e-6)
    assert sol.objective == pytest.approx(6 * (0.625**2 * 2) + 3.75**2, rel=1e-8)
    with pytest.raises(tf.InputError, match="nothing depends on x"):
        tf.solve(tf.Phases([first, second], [tf.Coupling("after.q('mass')[0] - after.parameters['y']")]), ELEMENT, 5)


@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_constraints_that_cannot_hold_are_named(method):
    """A mass on a rod of 1 m cannot be 2 m away."""
    mass = tf.PointMass(1.0, 3, name="mass")
    force = tf.ControlForce(mass, [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    rod = tf.RigidDistance(mass, None, length=1.0, name="rod")
    far = tf.Limit("now.q('mass')[0]", 2)
    problem = tf.OptimalControl(tf.System([mass, rod]), {mass: tf.EndState(velocity=(0, 0, 0))}, {}, (0, 1),
                                tf.Effort(force), limits=far, near={mass: tf.Pose((1, 0, 0))})
    sol = tf.solve(problem, ELEMENT, 5, progress=False, method=method)
    assert not sol.success and re.search(r"the constraint 'rod: distance' at t = 0 stays violated by 1\.5 of its size",
                                         sol.status.message)
