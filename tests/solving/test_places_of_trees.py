"""Places and axes of joints of trees, and numbers that are zero, in prepared solvers and sensitivities."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENTS = tf.MixedGalerkin(2, form="lagrange"), tf.MixedGalerkin(2, form="energy")
TINY = 1e-5


def arm(length=0.6, tilt=0.0, centre=0.0, mass=1.0, height=0.0):
    """A double pendulum with a spring at the tool and a damper on the lower link."""
    robot = tf.Tree([tf.Link("base"), tf.Link("upper", 2.0, (0.3, 0, 0), (0.01, 0.06, 0.05)),
                     tf.Link("fore", mass, (0.25, 0, centre), (0.005, 0.04, 0.04)),
                     tf.Link("tool", 0.3, inertia=(1e-3, 2e-3, 1e-3))],
                    [tf.TreeJoint("shoulder", "base", "upper", axis=(tilt, 1, 0), damping=0.1),
                     tf.TreeJoint("elbow", "upper", "fore", position=(length, 0, 0), axis=(0, 1, 0), damping=0.1),
                     tf.TreeJoint("grip", "fore", "tool", "fixed", position=(0.5, 0, height))], name="arm")
    spring = tf.Spring(robot.link("tool", (0.1, 0, 0)), None, stiffness=3.0, point_b=(0, 0.2, 1))
    damper = tf.Damper(robot.link("fore"), None, damping=0.3, point_b=(0, 1, 1))
    return tf.InitialValueProblem(tf.System([robot, spring, damper], gravity=(0, 0, -9.81)),
                                  {robot: {"shoulder": (0.5, 0.3), "elbow": (0.2, -0.1)}}, (0, 0.5))


NAMES = {"length": ("elbow.position", 0), "tilt": ("shoulder.axis", 0), "centre": ("fore.centre", 2),
         "mass": ("fore.mass", None), "height": ("grip.position", 2)}


def test_prepared():
    """Each change counts from what was prepared; the same as solved anew."""
    element, solver = ELEMENTS[0], tf.prepare(arm(), ELEMENTS[0], 8, progress=False)
    long = np.hypot(0.2, 1)
    for given, changes in (
            ({"mass": 1.3}, {"arm.fore.mass": 1.3}), ({"length": 0.7}, {"arm.elbow.position[0]": 0.7}),
            ({"tilt": 0.2}, {"arm.shoulder.axis[0]": 0.2 / long, "arm.shoulder.axis[1]": 1 / long}),
            ({"centre": 0.05}, {"arm.fore.centre[2]": 0.05}), ({}, {"arm.elbow.position[0]": 0.6}),
            ({"length": 0.8, "tilt": 0.1}, {"arm.elbow.position[0]": 0.8, "arm.shoulder.axis": (0.1, 1, 0)})):
        known, sol = tf.solve(arm(**given), element, 8, progress=False), solver.solve(parameters=changes)
        assert np.abs(sol.z - known.z).max() < 1e-13
        assert sol.position("arm.tool", 0.5) == pytest.approx(known.position("arm.tool", 0.5), abs=1e-13)


def test_prepared_many_runs():
    solver = tf.prepare(arm(), ELEMENTS[0], 8)
    runs = solver.solve_many(parameters={"arm.elbow.position[0]": [0.5, 0.7]}, progress=False)
    for z, length in zip(runs.z, (0.5, 0.7), strict=True):
        assert np.abs(z[-1] - tf.solve(arm(length=length), ELEMENTS[0], 8, progress=False).z[-1]).max() < 1e-13


@pytest.mark.long
@pytest.mark.parametrize("element", ELEMENTS, ids=["lagrange", "energy"])
@pytest.mark.parametrize("functional, value", [
    (tf.EndValue(lambda f, t: f[0].q[1] + f[0].q[0]**2, "arm"), lambda sol: sol.z[-1][1] + sol.z[-1][0]**2),
    (tf.EndValue(lambda f, t: f[0].position[2] + 0.3 * f[0].position[1], "arm.tool"),
     lambda sol: sol.position("arm.tool", 0.5) @ [0, 0.3, 1])], ids=["coordinates", "place"])
def test_derivatives(element, functional, value):
    """By both methods against differences; of the tool its place depends on the numbers of the tree as well."""
    sol = tf.solve(arm(), element, 8, progress=False)
    parameters = [tf.Parameter("arm", *name) for name in NAMES.values()]
    found = tf.gradient(sol, functional, parameters)
    assert found == pytest.approx(tf.sensitivities(sol, functional, parameters)[0], rel=1e-9)
    for name, derivative in zip(NAMES, found, strict=True):
        value_at = [value(tf.solve(arm(**{name: {"length": 0.6, "mass": 1.0}.get(name, 0.0) + step}), element, 8,
                                   progress=False)) for step in (TINY, -TINY)]
        assert derivative == pytest.approx((value_at[0] - value_at[1]) / (2 * TINY), rel=1e-6)


def test_friction_of_a_joint_that_has_none():
    def rod(friction, width):
        robot = tf.Tree([tf.Link("base"), tf.Link("rod", 1.0, (0.3, 0, 0), (0.01, 0.03, 0.03))],
                        [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0), friction=friction)],
                        friction_width=width, name="robot")
        system = tf.System([robot], gravity=(0, 0, -9.81))
        return tf.solve(tf.InitialValueProblem(system, {robot: {"hinge": (0.3, 1)}}, (0, 0.3)), ELEMENTS[0], 6,
                        progress=False)

    end, friction = tf.EndValue(lambda f, t: f[0].q[0], "robot"), tf.Parameter("robot", "hinge.friction")
    plain = rod(0.0, 0.5)
    change = (rod(TINY, 0.5).z[-1, 0] - plain.z[-1, 0]) / TINY
    assert tf.gradient(plain, end, friction) == pytest.approx([change], rel=1e-4)
    with pytest.raises(tf.InputError, match="'hinge' has Coulomb friction, which needs a friction_width"):
        tf.gradient(rod(0.0, None), end, friction)


def test_all_entries_of_a_place():
    """Of an integral of a velocity, which depends on the place as well."""
    def linkage(length):
        robot = tf.Tree([tf.Link("base"), tf.Link("crank", 1.0, (0.15, 0, 0), (0.01, 0.02, 0.02)),
                         tf.Link("coupler", 1.2, (0.4, 0, 0), (0.01, 0.06, 0.06))],
                        [tf.TreeJoint("a", "base", "crank", axis=(0, 1, 0)),
                         tf.TreeJoint("b", "crank", "coupler", position=(length, 0, 0), axis=(0, 1, 0))], name="robot")
        spring = tf.Spring(robot.link("coupler", (0.8, 0, 0)), None, stiffness=8.0, point_b=(0.9, 0, 0))
        return tf.InitialValueProblem(tf.System([robot, spring], gravity=(0, 0, -9.81)),
                                      {robot: {"a": -0.3, "b": 0.8}}, (0, 0.4))

    sol = tf.solve(linkage(0.3), ELEMENTS[0], 8, progress=False)
    energy = tf.Integral(lambda f, t: f[0].velocity[2]**2, "robot.coupler")
    by_place = tf.gradient(sol, energy, tf.Parameter("robot", "b.position"))
    assert by_place.shape == (3,)
    values = [tf.Linearization(tf.solve(linkage(0.3 + step), ELEMENTS[0], 8, progress=False)).value(energy)[0]
              for step in (TINY, -TINY)]
    assert by_place[0] == pytest.approx((values[0] - values[1]) / (2 * TINY), rel=1e-6)


@pytest.mark.parametrize(("name", "message"), [
    ("elbow.point_b[2]", "a TreeJoint has no number 'point_b'; .*position"), ("fore.mas", "did you mean 'mass'"),
    ("elbow.positin[2]", "did you mean 'position'"), ("elbow.position[7]", r"no entry '.*7\]': position is array"),
    ("elbow.axis[0][1]", r"no entry .*: axis\[0\] is 0.0")])
def test_numbers_that_there_are_not(name, message):
    """Attribute and index errors, or another number than the one meant."""
    problem = arm()
    solver = tf.prepare(problem, ELEMENTS[0], 8, progress=False)
    with pytest.raises(tf.InputError, match=message):
        solver.solve(parameters={f"arm.{name}": 0.1})
    with pytest.raises(tf.InputError, match=message):
        solver.solve_many(parameters={f"arm.{name}": [0.1, 0.2]})
    ends = {"arm": {"shoulder": 0.5, "elbow": 0.2}}
    with pytest.raises(tf.InputError, match=message):
        tf.BoundaryValueProblem(problem.system, (0, 0.5), ends, ends, parameters={"x": f"arm.{name}"})
