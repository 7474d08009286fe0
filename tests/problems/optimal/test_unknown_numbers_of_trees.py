"""Numbers of links and joints of trees as unknown numbers, and numbers that follow from unknown ones."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.numbers.map import UnknownNumbers
from timefem.problems.parameters import checked_parameters

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2, form="lagrange")
STEP = 1e-3  # relative, of differences
START, TARGET = {"shoulder": 1.5, "elbow": 0.2}, (0.5, 0.0, 0.3)
FOUND = {"elbow.position[0]": 0.6, "fore.mass": 1.0, "fore.centre[0]": 0.25, "fore.inertia[1]": 0.04,
         "elbow.damping": 0.1, "elbow.stiffness": 2.0, "elbow.armature": 0.02, "grip.position[0]": 0.5,
         "elbow.position[2]": 0.0, "fore.centre[2]": 0.0}  # the last two are zero, which shapes formulas otherwise


def tree(changes=None):
    links = {"base": tf.Link("base"), "upper": tf.Link("upper", 2.0, (0.3, 0, 0), (0.01, 0.06, 0.06)),
             "fore": tf.Link("fore", 1.0, (0.25, 0, 0), (0.005, 0.04, 0.04)),
             "tool": tf.Link("tool", 0.3, inertia=(1e-3, 1e-3, 1e-3))}
    joints = {"shoulder": tf.TreeJoint("shoulder", "base", "upper", axis=(0, 1, 0), damping=0.1),
              "elbow": tf.TreeJoint("elbow", "upper", "fore", position=(0.6, 0, 0), axis=(0, 1, 0), damping=0.1,
                                    stiffness=2.0, rest=0.3, armature=0.02),
              "grip": tf.TreeJoint("grip", "fore", "tool", "fixed", position=(0.5, 0, 0))}
    for path, value in (changes or {}).items():
        name, _, number = path.partition(".")
        things = links if name in links else joints
        number, _, entry = number.partition("[")
        if entry:
            kept = np.array(getattr(things[name], number))
            kept[(int(entry[:-1]),) * kept.ndim] = value
            value = kept
        things[name] = type(things[name])(**{**vars(things[name]), number: value})
    return tf.Tree(list(links.values()), list(joints.values()), name="arm")


def arm(path, value, free, end_cost=lambda x: 0, target=TARGET, start=None, **options):
    """From rest to where the tool is at a place in the plane."""
    robot = tree({path: value})
    drives = [tf.JointControl(joint=robot.joint(name), name=f"drive of {name}") for name in ("shoulder", "elbow")]
    own = {"parameters": {"x": (robot, path)}} if free else {}
    return tf.OptimalControl(
        tf.System([robot, *drives], gravity=(0, 0, -9.81)), {robot: start or START},
        {robot.link("tool"): tf.EndState(position=target, velocity=(0, None, 0))}, (0, 1),
        cost=[tf.Effort(drive) for drive in drives],
        end_cost=lambda end, parameters: end_cost(parameters["x"] if free else value), **own, **options)


@pytest.mark.parametrize("path, start, end_cost, element", [
    ("elbow.position[0]", 0.6, lambda x: 2 / x, ELEMENT),
    ("elbow.position[0]", 0.6, lambda x: 2 / x, tf.MixedGalerkin(2, form="energy")),
    ("grip.position[0]", 0.4, lambda x: 2 / x, ELEMENT), ("fore.mass", 1.0, lambda x: 12 / x, ELEMENT),
    ("elbow.position[2]", 0.0, lambda x: 30 * (x - 0.1)**2, ELEMENT)])
def test_the_best_number(path, start, end_cost, element):
    """The cost of arms with a known number is stationary at what is found, and the same."""
    sol = tf.solve(arm(path, start, True, end_cost), element, 8)
    found = sol.parameters["x"]
    assert sol.success and abs(found - start) > 1e-3
    assert sol.position("arm.tool", 1.0) == pytest.approx(TARGET, abs=1e-8)

    def cost(x):
        return tf.solve(arm(path, x, False, end_cost), element, 8, guess=sol).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    step = STEP * max(abs(found), 0.1)
    slopes = [(cost(x + step) - cost(x - step)) / (2 * step) * max(abs(x), 0.1) / sol.objective
              for x in (found, found + 0.1 * max(abs(found), 0.1))]
    assert abs(slopes[0]) < 1e-5 < 1e-3 < abs(slopes[1])


def test_parameters_follow_exactly():
    """Numbers of trees that are made with other values of ten numbers at once, and places of their links."""
    robot = tree()
    drive = tf.ControlForce(robot.link("tool", (0.1, 0, 0)), [(1, 0, 0)], name="push")
    system = tf.System([robot, drive], gravity=(0, 0, -9.81))
    system, numbers = checked_parameters(system, {path: (robot, path) for path in FOUND})
    values = np.array(list(FOUND.values())) + np.linspace(0.05, 0.2, len(FOUND))
    other = tree(dict(zip(FOUND, values, strict=True)))
    free = other.changed({}, free=system[robot].free)
    parameters = numbers.at(values.tolist())
    found = free.own_parameters.copy()
    for place, value in parameters[system[robot]].items():
        found[place] = float(value)
    assert found == pytest.approx(free.own_parameters, rel=1e-12, abs=1e-14)
    q, v = np.array([0.4, -0.7]), np.array([0.3, 0.9])
    energy = free.kinetic_of_velocity(ca.SX(q), ca.SX(v), ca.SX(found))
    assert float(energy) == pytest.approx(v @ other.mass_matrix(q) @ v / 2, rel=1e-12)
    link = free.link("tool", (0.1, 0, 0))
    assert link.position(q) == pytest.approx(other.link("tool", (0.1, 0, 0)).position(q), abs=1e-14)
    places = parameters[system[drive]]
    n = len(drive.own_parameters)
    assert [float(places[n + i]) if n + i in places else x for i, x in enumerate(link.own_parameters)] == pytest.approx(
        link.own_parameters.tolist())
    assert isinstance(numbers, UnknownNumbers) and numbers.of("fore.mass")


def test_pendulum_of_a_given_period():
    """A pendulum on a tree swings from rest to rest in half of its period, pi sqrt(l / g)."""
    robot = tf.Tree([tf.Link("base"), tf.Link("rod"), tf.Link("bob", 1.0, inertia=(1e-12,) * 3)],
                    [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0)),
                     tf.TreeJoint("end", "rod", "bob", "fixed", position=(0, 0, -0.8))], name="pendulum")
    system = tf.System([robot], gravity=(0, 0, -9.81))
    small, half = 1e-5, 1.0
    problem = tf.BoundaryValueProblem(
        system, (0, half), start={robot: tf.Coordinates([small], [0.0])},
        conditions=lambda start, end, parameters: [end.rates(robot)[0], start.rates(robot)[0]],
        parameters={"l": (robot, "end.position[2]")})
    sol = tf.solve(problem, tf.MixedGalerkin(3, form="energy"), 6, guess="march")
    assert sol.success and sol.parameters["l"] == pytest.approx(-9.81 * (half / np.pi)**2, rel=1e-6)


def test_numbers_that_follow():
    """The length of a slider's arm stands in two springs, the mass by a formula; texts and functions are the same."""
    def make(x, free, follows):
        body = tf.PointMass(2.0 + x**2, 1, name="body")
        push, spring = tf.ControlForce(body, [(1, 0, 0)], name="push"), tf.Spring(body, stiffness=3 * x, name="spring")
        own = {"parameters": {"x": 0.9}, "follows": follows(body, spring), "bounds": {"x": (0.1, 5)}} if free else {}
        return tf.OptimalControl(
            tf.System([body, spring]), {body: tf.Pose()}, {body: tf.EndState((1, 0, 0), velocity=(0, 0, 0))}, (0, 1),
            tf.Effort(push), end_cost=lambda end, parameters: 60 / (parameters["x"] if free else x), **own)

    ways = (lambda body, spring: {(body, "mass"): "2 + parameters['x']**2",
                                  (spring, "stiffness"): "3 * parameters['x']"},
            lambda body, spring: {"body.mass": lambda p: 2 + p["x"]**2, "spring.stiffness": lambda p: 3 * p["x"]})
    found = [tf.solve(make(1.0, True, follows), tf.MixedGalerkin(2), 8) for follows in ways]
    x = found[0].parameters["x"]
    assert found[1].parameters["x"] == pytest.approx(x, rel=1e-12) and 0.2 < x < 4.5
    assert found[0].system["body"].mass == pytest.approx(2 + x**2)

    def cost(x):
        return tf.solve(make(x, False, None), tf.MixedGalerkin(2), 8).objective

    assert cost(x) == pytest.approx(found[0].objective, rel=1e-9)
    assert abs(cost(x * (1 + STEP)) - cost(x * (1 - STEP))) / (2 * STEP * cost(x)) < 1e-5


def test_what_is_refused():
    robot = tree()
    drive = tf.JointControl(joint=robot.joint("elbow"))
    system = tf.System([robot, drive], gravity=(0, 0, -9.81))
    for arguments, words in (
            ({"parameters": {"m": (robot, "fore.mas")}}, "has no number.*mas"),
            ({"parameters": {"m": (robot, "fore.centre")}}, r"has no number 'fore.centre'.*of several .* name one"),
            ({"parameters": {"x": 1.0}, "follows": {"arm.fore.mass": "parameters['y']"}}, "follows"),
            ({"parameters": {"x": (robot, "fore.mass")}, "follows": {(robot, "fore.mass"): "2"}}, "is unknown itself"),
            ({"parameters": {"x": True}}, "such as .spring")):
        with pytest.raises(tf.InputError, match=words):
            tf.OptimalControl(system, {robot: START}, {}, (0, 1), tf.Effort(drive), **arguments)
