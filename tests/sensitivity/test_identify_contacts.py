"""Restitution, friction and masses identified from motions with impacts, sliding and sticking."""

import importlib

import numpy as np
import pytest
import scipy

import timefem as tf

pytestmark = pytest.mark.long
TIMES = np.linspace(0.03, 1.2, 40)


def thrown_ball(values):
    """With spin, over a floor, tied to a spring; its restitution, friction and mass."""
    restitution, friction, mass = values
    ball = tf.RigidBody(mass, np.full(3, 0.004 * mass), name="body")
    floor = tf.PlaneContact(ball, radius=0.1, restitution=restitution, friction=friction, name="floor")
    spring = tf.Spring(ball, stiffness=3.0, point_b=(0, 0, 1.0), name="spring")
    start = tf.Pose((0, 0, 0.6), velocity=(2, 0.3, 0), angular_velocity=(0, -3, 0))
    return tf.InitialValueProblem(tf.System([ball, floor, spring], gravity=(0, 0, -9.81)), {ball: start}, (0, 1.2))


def block_on_a_belt(values):
    """It sticks and slips in turn; the friction, the stiffness of a spring, the speed of the belt."""
    friction, stiffness, speed = values
    block = tf.PointMass(1.2, dimension=2, name="body")
    belt = tf.PlaneContact(block, normal=(0, 1, 0), surface_velocity=(speed, 0, 0), friction=friction, name="belt")
    spring = tf.Spring(block, stiffness=stiffness, point_b=(-1, 0, 0), length=1.0, name="spring")
    system = tf.System([block, belt, spring], gravity=(0, -9.81, 0))
    return tf.InitialValueProblem(system, {block: tf.Pose((0.15, 0, 0))}, (0, 1.2))


def link_with_a_stop(values, coordinates="bodies"):
    """Its mass, the friction in its joint, and the restitution of the stop."""
    mass, friction, restitution = values
    link = tf.RigidBody(mass, (0.0133 * mass, 1e-3 * mass, 0.0133 * mass), name="body")
    hinge = tf.Revolute(link, point_a=(0, -0.2, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0), name="hinge")
    parts = [link, hinge, tf.EndStop(hinge, lowest=-0.4, restitution=restitution, name="stop"),
             tf.JointFriction(hinge, friction=friction, name="rub"), tf.JointSpring(hinge, stiffness=1.5, rest=0.5)]
    system = tf.System(parts, gravity=(0, 0, -9.81), coordinates=coordinates)
    return tf.InitialValueProblem(system, {hinge: 1.0}, (0, 1.2))


def link_in_joint_coordinates(values):
    return link_with_a_stop(values, "joint")


def mark(bodies, t):
    return bodies[0].position


CASES = {
    "ball": (thrown_ball, [0.7, 0.06, 0.8], [0.5, 0.1, 1.0], {"impact"}),
    "belt": (block_on_a_belt, [0.25, 60.0, 0.5], [0.3, 70.0, 0.45], {"sticks", "slips"}),
    "link": (link_with_a_stop, [1.2, 0.15, 0.6], [1.0, 0.2, 0.75], {"impact", "slips"}),
    "link in joint coordinates": (link_in_joint_coordinates, [1.2, 0.15, 0.6], [1.0, 0.2, 0.75], {"impact", "slips"}),
}


def moved(build, values):
    """The motion, and its places at the times."""
    sol = tf.solve(build(values), tf.MixedGalerkin(2), 24, progress=False)
    return sol, tf.Linearization(sol).value(tf.Values(mark, TIMES, bodies=["body"])).reshape(len(TIMES), -1)


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_contacts_are_found_from_places(case):
    build, true, guess, kinds = CASES[case]
    sol, places = moved(build, true)
    assert kinds <= {event.kind for event in sol.events}
    deviation = 1e-3
    for noise in (0.0, deviation) if case in ("ball", "belt") else (0.0,):
        noisy = places + noise * np.random.default_rng(5).normal(size=places.shape)
        measured = tf.Measurement(mark, TIMES, noisy, deviation, ["body"])
        found = tf.identify(build, guess, tf.MixedGalerkin(2), 24, measured,
                            bounds=(0, [1, 100, 5] if case == "belt" else [5, 5, 5]), progress=False)
        error = np.abs(found.values - true)
        if noise:
            assert (error < 4 * found.deviations).all() and (found.deviations < 0.3 * np.array(true)).all()
            assert 0.6 < found.misfit < 1.4
        else:
            assert (error < 1e-9 * np.array(true)).all() and found.misfit < 1e-12


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_places_are_those_of_differences(case):
    build, true, _, _ = CASES[case]
    sol, _ = moved(build, true)
    exact = tf.sensitivities(sol, tf.Values(mark, TIMES, bodies=["body"]), tf.Family(build, true))
    for k, size in enumerate(1e-4 * np.array(true)):
        one, two, three, four = (moved(build, np.array(true) + step * size * np.eye(3)[k])[1].ravel()
                                 for step in (2, 1, -1, -2))
        differences = (8 * (two - three) - (one - four)) / (12 * size)
        np.testing.assert_allclose(exact[:, k], differences, rtol=0, atol=1e-7 * np.abs(differences).max())


def test_restitution_and_height_from_the_times_of_bounces():
    def run(values):
        ball = tf.PointMass(0.2, name="ball")
        floor = tf.PlaneContact(ball, restitution=values[0], name="floor")
        system = tf.System([ball, floor], gravity=(0, 0, -9.81))
        problem = tf.InitialValueProblem(system, {ball: tf.Pose((0, 0, values[1]))}, (0, 1.7))
        return tf.solve(problem, tf.MixedGalerkin(1), 10, progress=False)

    def first(sol):
        return [event for event in sol.events if event.kind == "impact"][:3]

    def jacobian(values):
        sol = run(values)
        varied = [tf.Parameter("floor", "restitution"), tf.Initial("ball", "position", 2)]
        return tf.Linearization(sol).event_times(varied)[[event.node for event in first(sol)]]

    fall = np.sqrt(2 * 0.5 / 9.81)
    heard = fall * np.array([1, 1 + 2 * 0.8, 1 + 2 * 0.8 + 2 * 0.64])  # with e = 0.8, from 0.5 m
    found = scipy.optimize.least_squares(lambda values: [event.t for event in first(run(values))] - heard, [0.7, 0.4],
                                         jacobian, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    np.testing.assert_allclose(found.x, [0.8, 0.5], rtol=0, atol=1e-10)


def test_steps_to_motions_without_derivatives_are_undone(monkeypatch):
    """As to a restitution with which a ball bounces too often for its elements; here the second one."""
    made = []

    def linearized(*given):
        made.append(given)
        if len(made) == 2:
            raise tf.InputError("the solution has elements for many impacts")
        return tf.Linearization(*given)

    module = importlib.import_module("timefem.sensitivity.gradient")
    monkeypatch.setattr(module, "Linearization", linearized)
    build, true, guess, _ = CASES["belt"]
    _, places = moved(build, true)
    found = tf.identify(build, guess, tf.MixedGalerkin(2), 24, tf.Measurement(mark, TIMES, places, 1e-3, ["body"]),
                        progress=False)
    np.testing.assert_allclose(found.values, true, rtol=1e-9)
    assert len(made) > 3


def test_friction_without_effect_is_named_with_its_value():
    """With which the ball does not slip."""
    _, places = moved(thrown_ball, [0.7, 0.6, 0.8])
    measured = tf.Measurement(mark, TIMES, places, 1e-3, ["body"])
    with pytest.raises(tf.InputError, match=r"do not depend on mu = 0\.5: leave out, .* with which contacts slide"):
        tf.identify(thrown_ball, [0.7, 0.5, 0.8], tf.MixedGalerkin(2), 24, measured, names=["e", "mu", "m"],
                    progress=False)


def oscillator(values):
    """Against a stop, of which the restitution is not known, on a spring, of which the stiffness is not."""
    mass = tf.PointMass(1.0, 1, name="mass")
    spring = tf.Spring(mass, None, point_b=(-10.0, 0, 0), stiffness=values[0], length=10.0)
    stop = tf.PlaneContact(mass, normal=(1, 0, 0), plane_point=(-0.3, 0, 0), restitution=values[1], name="stop")
    return tf.InitialValueProblem(tf.System([mass, spring, stop]), {mass: tf.Pose((1.0, 0, 0))}, (0, 3))


def oscillator_by_formulas(values, times):
    """Arcs of harmonics, from impact to impact."""
    (stiffness, restitution), found, t, x, v = values, np.zeros(len(times)), 0.0, 1.0, 0.0
    w = np.sqrt(stiffness)
    while t < times[-1]:
        size, phase = np.hypot(x, v / w), np.arctan2(-v / w, x)
        later = t + (np.arccos(-0.3 / size) - phase) / w
        found = np.where(times >= t, size * np.cos(w * (times - t) + phase), found)
        t, x, v = later, -0.3, restitution * w * np.sqrt(size**2 - 0.09)
    return found


def test_numbers_and_deviations_are_those_of_another_fit():
    """Of places to 5 mm, by least squares on formulas, with differences."""
    times = np.linspace(0.05, 3, 60)
    measured = oscillator_by_formulas([12.0, 0.7], times) + 0.005 * np.random.default_rng(3).normal(size=60)
    given = tf.Measurement(lambda bodies, t: bodies[0].position[0], times, measured[:, None], deviation=0.005)
    found = tf.identify(oscillator, [10.0, 0.6], tf.MixedGalerkin(3), 40, given, names=["stiffness", "restitution"],
                        bounds=([1, 0], [40, 1]), progress=False)
    other = scipy.optimize.least_squares(lambda x: (oscillator_by_formulas(x, times) - measured) / 0.005, [11.9, 0.69],
                                         jac="3-point", xtol=1e-14, ftol=1e-14, gtol=1e-14)
    deviations = np.sqrt(np.diag(np.linalg.inv(other.jac.T @ other.jac)))
    np.testing.assert_allclose(found.values, other.x, rtol=0, atol=5e-3 * deviations.min())
    np.testing.assert_allclose(found.deviations, deviations, rtol=1e-3)
