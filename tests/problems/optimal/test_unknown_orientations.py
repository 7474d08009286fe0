"""Axes and orientations of joints of trees as unknown numbers."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENTS = tf.MixedGalerkin(2, form="lagrange"), tf.MixedGalerkin(2, form="energy")
STEP = 1e-3
COSINE, SINE = "cos(parameters['x'])", "sin(parameters['x'])"
FOLLOWS = {"tilt": {"shoulder.axis[0]": SINE, "shoulder.axis[1]": COSINE}, "mounting": {
    "grip.orientation[0,0]": COSINE, "grip.orientation[2,2]": COSINE, "grip.orientation[0,2]": SINE,
    "grip.orientation[2,0]": f"-{SINE}"}}


def arm(of, x, free, best):
    """An arm whose first axis is tilted, and whose tool is mounted askew."""
    tilt, mounting = (0.2, x) if of == "mounting" else (x, 0.3)
    c, s = np.cos(mounting), np.sin(mounting)
    robot = tf.Tree([tf.Link("base"), tf.Link("upper", 2.0, (0.3, 0, 0.02), (0.01, 0.06, 0.05)),
                     tf.Link("fore", 1.0, (0.25, 0, 0), (0.005, 0.04, 0.04)),
                     tf.Link("tool", 0.3, (0.1, 0, 0), (1e-3, 2e-3, 1e-3))],
                    [tf.TreeJoint("shoulder", "base", "upper", axis=(np.sin(tilt), np.cos(tilt), 0), damping=0.1),
                     tf.TreeJoint("elbow", "upper", "fore", position=(0.6, 0, 0), axis=(0, 1, 0), damping=0.1),
                     tf.TreeJoint("grip", "fore", "tool", "fixed", position=(0.5, 0, 0),
                                  orientation=np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]))], name="arm")
    drives = [tf.JointControl(joint=robot.joint(name), name=name) for name in ("shoulder", "elbow")]
    own = {"parameters": {"x": x}, "bounds": {"x": (-1, 1.4)}, "follows": {
        (robot, name): text for name, text in FOLLOWS[of].items()}} if free else {}
    turning = "0.1 * sumsqr(now.angular_velocity('arm.tool')) + 3 * now.position('arm.tool')[1]**2"
    return tf.OptimalControl(
        tf.System([robot, *drives], gravity=(0, 0, -9.81)), {robot: {"shoulder": 0.5, "elbow": 0.2}},
        {robot.link("tool", (0.1, 0, 0)): tf.EndState(position=(0.7, None, 0.2), velocity=(0, None, 0))}, (0, 1),
        [*map(tf.Effort, drives), turning],
        end_cost=lambda end, parameters: 30 * ((parameters["x"] if free else x) - best)**2, **own)


@pytest.mark.parametrize("of, guess, best", [("tilt", 0.2, 0.4), ("mounting", 0.3, 0.6)])
@pytest.mark.parametrize("element", ELEMENTS, ids=["lagrange", "energy"])
def test_the_best_angle(of, guess, best, element):
    """Arms with a known angle cost the same, the least where it is found; IPOPT agrees."""
    sol = tf.solve(arm(of, guess, True, best), element, 6, progress=False)
    other = tf.solve(arm(of, guess, True, best), element, 6, method="ipopt", guess=sol, progress=False)
    found = sol.parameters["x"]
    assert sol.success and other.parameters["x"] == pytest.approx(found, rel=1e-7) and abs(found - guess) > 0.1
    joints = {joint.name: joint for joint in sol.system["arm"].joints}
    if of == "tilt":
        assert joints["shoulder"].axis == pytest.approx([np.sin(found), np.cos(found), 0], abs=1e-12)
    else:
        assert joints["grip"].orientation[0] == pytest.approx([np.cos(found), 0, np.sin(found)], abs=1e-12)

    def cost(x):
        return tf.solve(arm(of, x, False, best), element, 6, guess=sol, progress=False).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    slopes = [(cost(x + STEP) - cost(x - STEP)) / (2 * STEP * sol.objective) for x in (found, found + 0.1)]
    assert abs(slopes[0]) < 1e-5 < 1e-2 < abs(slopes[1])


def pendulum(x, free, motor):
    """A hinge in a slanting direction, driven by a torque on the body or along the coordinate of the hinge."""
    axis, body = (np.sin(x), np.cos(x), 0), tf.RigidBody(1.0, (0.05, 0.06, 0.03), name="body")
    hinge = tf.Revolute(body, None, point_a=(0, 0, 0.5), axis_a=axis, point_b=(0, 0, 0), axis_b=axis, name="hinge")
    drive = tf.JointControl(joint=hinge) if motor else tf.ControlTorque(body, [(0, 1, 0)])
    own = {"parameters": {"x": x}, "bounds": {"x": (-1, 1)}, "follows": {
        (hinge, f"axis_{k}[{i}]"): text for k in "ab" for i, text in enumerate((SINE, COSINE))}} if free else {}
    still = tf.EndState(position=(None, None, -0.4), velocity=(0, 0, 0))
    return tf.OptimalControl(
        tf.System([body, hinge], gravity=(0, 0, -9.81)), {body: tf.Pose((0, 0, -0.5))}, {body: still}, (0, 1),
        tf.Effort(drive), limits=tf.Limit("now.position('body')[0]", 0.1, at="end"),
        end_cost=lambda end, parameters: 8 * ((parameters["x"] if free else x) - 0.4)**2, **own)


@pytest.mark.parametrize("motor", [False, True])
def test_the_best_axis_of_a_hinge(motor):
    element = tf.MixedGalerkin(2)
    sol = tf.solve(pendulum(0.1, True, motor), element, 6, progress=False)
    other = tf.solve(pendulum(0.1, True, motor), element, 6, method="ipopt", guess=sol, progress=False)
    found = sol.parameters["x"]
    assert sol.success and other.parameters["x"] == pytest.approx(found, rel=1e-6) and found > 0.2

    def cost(x):
        return tf.solve(pendulum(x, False, motor), element, 6, guess=sol, progress=False).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    slopes = [(cost(x + STEP) - cost(x - STEP)) / (2 * STEP * sol.objective) for x in (found, found + 0.1)]
    assert abs(slopes[0]) < 1e-5 < 1e-2 < abs(slopes[1])


def test_axes_of_hinges_in_prepared_solvers():
    """What acts along the coordinate of a hinge goes with its axis."""
    def swinging(x):
        axis, body = (np.sin(x), np.cos(x), 0), tf.RigidBody(1.0, (0.05, 0.06, 0.03), name="body")
        hinge = tf.Revolute(body, None, point_a=(0, 0, 0.5), axis_a=axis, point_b=(0, 0, 0), axis_b=axis, name="hinge")
        torque = tf.JointForce(hinge, value=tf.Sine(1.0, 3.0))
        return tf.InitialValueProblem(tf.System([body, hinge, torque, tf.JointDamper(hinge, damping=3.0)],
                                                gravity=(0, 0, -9.81)), {body: tf.Pose((0, 0, -0.5))}, (0, 0.5))

    element, axis = tf.MixedGalerkin(2), (np.sin(0.3), np.cos(0.3), 0)
    known = tf.solve(swinging(0.3), element, 8, progress=False)
    sol = tf.prepare(swinging(0.1), element, 8, progress=False).solve(
        parameters={"hinge.axis_a": axis, "hinge.axis_b": axis})
    assert np.abs(sol.z - known.z).max() < 1e-13 < 1e-3 < np.abs(known.z[-1] - known.z[0]).max()


def test_entries_that_make_no_rotation():
    problem = arm("mounting", 0.3, True, 0.6)
    given = {name: text for name, text in FOLLOWS["mounting"].items() if name != "grip.orientation[2,0]"}
    with pytest.raises(tf.InputError, match="the matrix is not a rotation"):
        tf.OptimalControl(problem.system, {"arm": {"shoulder": 0.5}}, {}, (0, 1), parameters={"x": 0.3},
                          follows={f"arm.{name}": text for name, text in given.items()})
