"""Running costs that see the duration, the time alone, or nothing."""

import re

import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2)
STEP = 1e-3  # relative, of differences


def cart(cost, length, free, **options):
    """2 kg, by 1 m from rest to rest."""
    mass = tf.PointMass(2.0, 1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    return tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: tf.EndState((1, 0, 0), velocity=(0, 0, 0))},
                             (0.5, 0.5 + length), [tf.Effort(push), cost], free_time=free, **options)


def stationary(fixed, found, objective):
    assert fixed(found) == pytest.approx(objective, rel=1e-10)
    slopes = [(fixed(x * (1 + STEP)) - fixed(x * (1 - STEP))) / (2 * STEP * objective) for x in (found, 1.1 * found)]
    assert abs(slopes[0]) < 1e-5 < 1e-3 < abs(slopes[1])


@pytest.mark.parametrize("cost", ["3 * now.parameters['duration']**2 * now.q('mass')[0]", "now.parameters['duration']",
                                  "u[0]**2 * now.parameters['duration']**4", "now.t", "10"])
def test_the_best_duration(cost):
    """Fixed durations give the same cost, the least where it is found; so do bounds, by IPOPT as well."""
    sol = tf.solve(cart(cost, 1.0, True), ELEMENT, 8, progress=False)
    found = sol.parameters["duration"]
    for method in ("interior-point", "ipopt"):
        bounded = tf.solve(cart(cost, 1.0, True, bounds={"duration": (0.2, 5)}), ELEMENT, 8, method=method,
                           progress=False)
        assert bounded.success and bounded.parameters["duration"] == pytest.approx(found, rel=1e-8)

    def fixed(length):
        known = cost.replace("now.parameters['duration']", repr(length))
        return tf.solve(cart(known, length, False), ELEMENT, 8, progress=False).objective

    stationary(fixed, found, sol.objective)


def test_a_duration_that_grows_without_end_is_told():
    """Effort alone is the less the longer it takes; the message spoke of constraints and singular matrices only."""
    sol = tf.solve(cart("u[0]**2", 1.0, True), ELEMENT, 8, progress=False)
    assert not sol.success and sol.parameters["duration"] > 100
    assert re.search(r"; the duration grew to .* s: give it an upper bound", sol.status.message), sol.status.message


def rod(length, mass, free):
    robot = tf.Tree([tf.Link("base"), tf.Link("rod", mass, (0.2, 0, 0), (0.01, 0.03, 0.03))],
                    [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0))], name="robot")
    drive = tf.JointControl(joint=robot.joint("hinge"), name="drive")
    lasting = "now.parameters['duration']" if free else repr(length)
    own = {"parameters": {"m": (robot, "rod.mass")}, "bounds": {"m": (0.3, 4)}, "free_time": True} if free else {}
    return tf.OptimalControl(
        tf.System([robot, drive], gravity=(0, 0, -9.81)), {robot: {"hinge": 0.3}}, {robot: {"hinge": (-0.5, 0.0)}},
        (0, length), [tf.Effort(drive), f"0.01 * now.power('drive')**2 + {lasting} * (2 + now.rates('robot')[0]**2)"],
        end_cost=lambda end, parameters: 6 / (parameters["m"] if free else mass), **own)


def test_duration_and_a_mass_in_one_cost():
    """And with another mesh of time, prepared or anew, which finds the same."""
    element, problem = tf.MixedGalerkin(2, form="lagrange"), rod(0.8, 1.0, True)
    sol = tf.solve(problem, element, 10, progress=False)
    length, mass = sol.parameters["duration"], sol.parameters["m"]
    for fixed, found in ((lambda x: rod(x, mass, False), length), (lambda x: rod(length, x, False), mass)):
        stationary(lambda x, fixed=fixed: tf.solve(fixed(x), element, 10, progress=False).objective, found,
                   sol.objective)
    for other in (tf.solve(problem.changed(t_span=(0, 1.7)), element, 10, progress=False),
                  tf.prepare(problem, element, 10).solve(t_span=(0, 1.5))):
        assert [*other.parameters.values()] == pytest.approx([length, mass], rel=1e-7)


def test_the_system_of_a_solution_has_the_duration():
    sol = tf.solve(cart("now.parameters['duration'] * u[0]**2", 1.0, True), ELEMENT, 4, progress=False)
    numbers = [part.own_parameters.tolist() for part in sol.system.parts if type(part).__name__ == "FormulaCost"]
    assert numbers == [[sol.parameters["duration"]]]


def test_durations_of_phases():
    """The same cost in two phases, by two methods."""
    ball = tf.PointMass(1.0, 1, name="ball")
    fan = tf.ControlForce(ball, [(1, 0, 0)], name="fan")

    def phase(start, end, length, free):
        lasting = "now.parameters['duration']" if free else repr(length)
        return tf.OptimalControl(tf.System([ball]), {ball: start}, {ball: end}, (0, length),
                                 [tf.Effort(fan), f"3 * {lasting} * (1 + now.q('ball')[0]**2)"], free_time=free)

    def solved(lengths, free, **options):
        middle, rest = tf.EndState((1, None, None)), tf.EndState((1.5, 0, 0), velocity=(0, 0, 0))
        return tf.solve(tf.Phases([phase(tf.Pose(), middle, lengths[0], free), phase(middle, rest, lengths[1], free)]),
                        ELEMENT, 6, progress=False, **options)

    sol, other = (solved((0.5, 0.5), True, method=method) for method in ("interior-point", "ipopt"))
    first, second = sol.durations.tolist()
    assert sol.success and other.objective == pytest.approx(sol.objective, rel=1e-9)
    stationary(lambda x: solved((x, second), False).objective, first, sol.objective)
    stationary(lambda x: solved((first, x), False).objective, second, sol.objective)


def test_a_duration_that_shrinks_to_nothing_is_no_answer():
    """From rest to rest over 0.8 T costs T + 3.84 / T. In no time nothing moves, and nothing is missed by much."""
    mass = tf.PointMass(1.0, 1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    rest = tf.EndState(velocity=[0, None, None])

    def found(end, **options):
        problem = tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, end, (0, 1), tf.Effort(push), free_time=True,
                                    end_cost="end.t", **options)
        return tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)

    gone = found({mass: rest}, couplings=[tf.Coupling("end.q('mass')[0] - 0.8 * end.t")])
    assert gone.success and abs(gone.objective - 2 * 3.84**0.5) < 1e-8
    assert [attempt.name for attempt in gone.attempts][-1] == "held durations"
    still = found({})  # without an end the best motion is none
    assert still.status.reason == "not converged" and "the duration shrank to nothing" in still.status.message
