"""States and ends of joints with several coordinates in model files, against the same in Python."""

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model

pytestmark = pytest.mark.long

HEAD = "gravity = [0, 0, -9.81]\ntime = {span = [0, 0.4], n_elements = 8}\n"
BODY = HEAD + """
bodies.top = {type = "rigid", mass = 2, inertia = [0.3, 0.2, 0.1]}
joints.pivot = {type = "JOINT", bodies = ["top"], point_a = [0, 0, -0.5], point_b = [0, 0, 0]AXES}
"""
TURN = np.array([np.cos(0.25), np.sin(0.25), 0.0, 0.0])
Z = {"axis_a": [0, 0, 1], "axis_b": [0, 0, 1]}
# type: axes, start, end and end in Python, torques, forces
JOINTS = {
    "spherical": ({}, [1, 0, 0, 0], {"orientation": TURN.tolist(), "angular_velocity": [0, 0, 0.1]},
                  (TURN, [0, 0, 0.1]), np.eye(3), []),
    "cylindrical": (Z, {}, {"angle": 0.3, "displacement": [0.1, 0.2]}, {"angle": 0.3, "displacement": (0.1, 0.2)},
                    [[0, 0, 1]], [[0, 0, 1]]),
    "planar": (Z, {}, {"angle": [0.3, 1], "u": 0.1, "v": [0.2, 0.5]}, {"angle": (0.3, 1.0), "u": 0.1, "v": (0.2, 0.5)},
               [[0, 0, 1]], [[1, 0, 0], [0, 1, 0]]),
    "universal": ({"axis_a": [1, 0, 0], "axis_b": [0, 1, 0]}, {}, {"angle_a": 0.3, "angle_b": [0.2, 0]},
                  {"angle_a": 0.3, "angle_b": 0.2}, [[1, 0, 0], [0, 1, 0]], [])}
CLASSES = {"spherical": tf.Spherical, "cylindrical": tf.Cylindrical, "planar": tf.Planar, "universal": tf.Universal}


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(v)}" for key, v in value.items()) + "}"
    return str(np.asarray(value).tolist())


def of_file(tmp_path, text):
    path = tmp_path / "model.toml"
    path.write_text(text)
    return load_model(path)


def body_text(kind):
    axes = "".join(f", {key} = {value}" for key, value in JOINTS[kind][0].items())
    return BODY.replace("JOINT", kind).replace("AXES", axes)


def in_python(kind):
    top = tf.RigidBody(2, [0.3, 0.2, 0.1], name="top")
    joint = CLASSES[kind](top, point_a=[0, 0, -0.5], point_b=[0, 0, 0], **JOINTS[kind][0], name="pivot")
    return tf.System([top, joint], gravity=(0, 0, -9.81)), top, joint


def same(found, expected, by=1e-12):
    assert found.success and expected.success
    np.testing.assert_allclose(found.z, expected.z, rtol=0, atol=by * np.abs(expected.z).max())


@pytest.mark.parametrize("kind", JOINTS)
def test_state_and_optimal_control(tmp_path, kind):
    _, start, end, given, torques, forces = JOINTS[kind]
    text = f"state.pivot = {toml(start)}\nproblem = {{kind = 'optimal', end.pivot = {toml(end)}}}\n"
    text += f"actuators.m = {{type = 'control_torque', body = 'top', axes = {toml(torques)}, effort = 1}}\n"
    if forces:
        text += "actuators.f = {type = 'control_force', body = 'top', frame = 'space', effort = 1, directions = " \
                f"{toml(forces)}}}\n"
    found = of_file(tmp_path, text + body_text(kind)).solve(progress=False)
    system, top, joint = in_python(kind)
    costs = [tf.Effort(tf.ControlTorque(top, torques, name="m"))]
    costs += [tf.Effort(tf.ControlForce(top, forces, frame="space", name="f"))] if forces else []
    problem = tf.OptimalControl(system, {joint: start}, {joint: given}, (0, 0.4), costs)
    expected = tf.solve(problem, tf.MixedGalerkin(2), 8, progress=False)
    same(found, expected)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    if kind == "spherical":
        np.testing.assert_allclose(found.rotation_matrix("top", 0.4) @ [0, 1, 0], [0, np.cos(0.5), np.sin(0.5)], rtol=0,
                                   atol=1e-8)


@pytest.mark.parametrize("kind", JOINTS)
def test_boundary_values(tmp_path, kind):
    _, start, end, given, *_ = JOINTS[kind]
    if kind == "spherical":
        end, given = toml(TURN), TURN
    else:
        given = {name: np.ravel(value)[0] for name, value in given.items()}
        end = toml(given)
    text = f"problem = {{kind = 'boundary', start.pivot = {toml(start)}, end.pivot = {end}}}\n" + body_text(kind)
    found = of_file(tmp_path, text).solve(progress=False)
    system, _, joint = in_python(kind)
    problem = tf.BoundaryValueProblem(system, (0, 0.4), {joint: start}, {joint: given})
    same(found, tf.solve(problem, tf.MixedGalerkin(2), 8, progress=False))


def test_the_state_of_joints_is_a_guess_of_boundary_values(tmp_path):
    """What is left free at both ends is looked for near [state]."""
    ends = "start.top.angular_velocity = [0, 0, 1], end.top.angular_velocity = [0, 0, 1.1]"
    model = of_file(tmp_path, f"problem = {{kind = 'boundary', {ends}}}\nstate.pivot = [0.8, 0.6, 0, 0]\n"
                    + body_text("spherical"))
    np.testing.assert_allclose(model.problem.conditions_at_ends.z1[3:7], [0.8, 0.6, 0, 0], rtol=0, atol=0.05)


SWING = """
[bodies.load]
type = "point"
mass = 1
[bodies.cart]
type = "rigid"
mass = 2
inertia = [0.1, 0.1, 0.1]
[joints.table]
type = "planar"
bodies = ["cart"]
point_a = [0, 0, 0]
point_b = [0, 0, 0]
axis_a = [0, 0, 1]
axis_b = [0, 0, 1]
[state]
table = {angle = 0.1, u = 0.2}
[forces.string]
type = "spring"
bodies = ["cart", "load"]
stiffness = 400
length = 0
[actuators.push]
type = "control_force"
body = "cart"
directions = [[1, 0, 0], [0, 1, 0]]
frame = "space"
[actuators.turn]
type = "control_torque"
body = "cart"
axes = [[0, 0, 1]]
[outputs.x]
type = "position"
body = "cart"
axis = "x"
trajectory = {transfer = {t0 = 0, t1 = 0.4, v0 = 0.2, v1 = 0.3, smoothness = 4}}
[outputs.y]
type = "position"
body = "cart"
axis = "y"
trajectory = "0 * t"
[outputs.angle]
type = "joint"
joint = "table"
coordinate = "angle"
trajectory = "0.1 + t**3"
"""


def test_inverse_dynamics(tmp_path):
    """Both ends by a joint with three coordinates, and a body beside it."""
    end = "problem = {kind = 'inverse', end = {table = {angle = 0.164, u = 0.3}, load = {position = [0.3, 0, -0.5]}}}\n"
    text = SWING.replace("mass = 1\n", "mass = 1\nposition = [0.2, 0, -0.5]\n", 1)
    found = of_file(tmp_path, end + HEAD + text).solve(progress=False)
    load, cart = tf.PointMass(1, name="load"), tf.RigidBody(2, [0.1, 0.1, 0.1], name="cart")
    table = tf.Planar(cart, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_a=[0, 0, 1], axis_b=[0, 0, 1], name="table")
    system = tf.System([load, cart, table, tf.Spring(cart, load, stiffness=400, length=0)], gravity=(0, 0, -9.81))
    outputs = {tf.PositionOutput(cart, "x"): tf.Transfer(0, 0.4, 0.2, 0.3, 4), tf.PositionOutput(cart, "y"): "0 * t",
               tf.JointOutput(table, "angle"): "0.1 + t**3"}
    actuators = [tf.ControlForce(cart, [[1, 0, 0], [0, 1, 0]], frame="space"), tf.ControlTorque(cart, [[0, 0, 1]])]
    problem = tf.InverseDynamics(system, outputs, {table: {"angle": 0.1, "u": 0.2}, load: tf.Pose((0.2, 0, -0.5))},
                                 {table: {"angle": 0.164, "u": 0.3}, load: tf.Pose((0.3, 0, -0.5))}, (0, 0.4),
                                 actuators=actuators)
    same(found, tf.solve(problem, tf.MixedGalerkin(2), 8, progress=False))


ARM = HEAD + """
[bodies.arm]
type = "tree"
links = [{name = "base"},
         {name = "a", mass = 1, centre = [0, 0, -0.2], inertia = [0.02, 0.02, 0.01]},
         {name = "b", mass = 0.5, centre = [0, 0, -0.1], inertia = [0.01, 0.01, 0.005]}]
joints = [{name = "ball", parent = "base", child = "a", kind = "spherical"},
          {name = "elbow", parent = "a", child = "b", kind = "revolute", position = [0, 0, -0.4], axis = [0, 1, 0]}]
"""
DRIVES = """
[actuators.m]
type = "generalized_control"
body = "arm"
matrix = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
effort = 1
"""


def arm():
    links = [tf.Link("base"), tf.Link("a", 1, [0, 0, -0.2], [0.02, 0.02, 0.01]),
             tf.Link("b", 0.5, [0, 0, -0.1], [0.01, 0.01, 0.005])]
    joints = [tf.TreeJoint("ball", "base", "a", "spherical"),
              tf.TreeJoint("elbow", "a", "b", "revolute", position=[0, 0, -0.4], axis=[0, 1, 0])]
    tree = tf.Tree(links, joints, name="arm")
    return tree, tf.System([tree], gravity=(0, 0, -9.81))


@pytest.mark.parametrize("said, given", [
    (f"end = {{ball = {TURN.tolist()}, elbow = [0.3, 0.2]}}", {"ball": TURN, "elbow": (0.3, 0.2)}),
    (f"end.arm.joints = {{ball = {{orientation = {TURN.tolist()}, angular_velocity = [0, 0, 0.1]}}, elbow = 0.3}}",
     {"ball": tf.Pose(orientation=TURN, angular_velocity=(0, 0, 0.1)), "elbow": 0.3}),
    (f"end = {{ball = {TURN.tolist()}, elbow = {{q = [0.3]}}}}", {"ball": TURN, "elbow": tf.EndState(q=[0.3])}),
    ("end.'arm.b' = {position = ['free', 'free', -0.4], velocity = [0, 0, 0]}",
     {"b": tf.EndState([None, None, -0.4], velocity=[0, 0, 0])})])
def test_joints_and_links_of_a_tree_in_optimal_control(tmp_path, said, given):
    text = "problem.kind = 'optimal'\nstate.elbow = 0.1\n" + f"problem.{said}\n" + ARM + DRIVES
    found = of_file(tmp_path, text).solve(progress=False)
    tree, system = arm()
    m = tf.GeneralizedControl(tree, np.vstack([np.zeros(4), np.eye(4)]), name="m")
    end = {tree.link("b"): given["b"]} if "b" in given else {tree.joint(name): v for name, v in given.items()}
    problem = tf.OptimalControl(system, {tree: {"elbow": 0.1}}, end, (0, 0.4), tf.Effort(m))
    expected = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 8, progress=False)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-8)
    same(found, expected, 1e-9 if "b" in given else 1e-12)  # an end that is free leaves the least effort flat


def test_inverse_dynamics_with_the_end_by_joints_of_a_tree(tmp_path):
    """The end says of each joint where it is; a tree is covered by its joints."""
    drives = DRIVES.replace("effort = 1\n", "")
    outputs = "".join(f"[outputs.o{i}]\ntype = 'coordinate'\nbody = 'arm'\nindex = {i}\ntrajectory = {said}\n"
                      for i, said in ((1, "'0.1 * t**4'"), (2, "'0 * t'"), (3, "'0 * t'"), (4, "'0.1 + t**4'")))
    text = "problem.kind = 'inverse'\nstate.elbow = 0.1\n" + ARM + drives + outputs
    found = of_file(tmp_path, text).solve(progress=False)
    assert found.success and abs(found.z[-1, 4] - 0.1 - 0.4**4) < 1e-9


@pytest.mark.parametrize("kind, end, message", [
    ("spherical", "{angle = 1}", r":1: problem.end.pivot.angle: is none of the "
     r"Spherical 'pivot'; known are orientation, angular_velocity"),
    ("planar", "{w = 1}", r":1: problem.end.pivot.w: unknown key; .*known are"),
    ("planar", "{angle_a = 1}", r"problem.end.pivot.angle_a: is none of the Planar 'pivot'; did you mean 'angle'"),
    ("planar", "{v = [1, 'free']}", r"problem.end.pivot.v: .*value or \(value, rate\)"),
    ("planar", "0.3", r"problem.end.pivot: .*must be a dict with 'angle', 'u', 'v'"),
])
def test_what_is_wrong_is_named(tmp_path, kind, end, message):
    text = f"problem = {{kind = 'boundary', start.pivot = {toml(JOINTS[kind][1])}, end.pivot = {end}}}\n"
    with pytest.raises(tf.InputError, match=message):
        of_file(tmp_path, text + body_text(kind))
