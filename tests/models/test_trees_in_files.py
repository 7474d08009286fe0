"""Trees and robots in model files: the same motions as those of the same systems in Python."""

import json

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model

pytestmark = pytest.mark.long

TOP = """
gravity = [0, 0, -9.81]
[time]
span = [0, 0.2]
n_elements = 20
"""
TREE = TOP + """
[bodies.arm]
type = "tree"
links = [{name = "base"}, {name = "upper", mass = 3, centre = [0, 0, 0.2], inertia = [0.05, 0.05, 0.01]},
         {name = "fore", mass = 1.5, centre = [0, 0, 0.15], inertia = [0.02, 0.02, 0.004]}]
joints = [{name = "shoulder", parent = "base", child = "upper", axis = [0, 1, 0], damping = 0.1},
          {name = "elbow", parent = "upper", child = "fore", position = [0, 0, 0.4], axis = [0, 1, 0]}]
[bodies.arm.state]
shoulder = [-0.7, -0.4]
elbow = 0.5
[forces.pull]
type = "spring"
bodies = ["arm.fore"]
point_a = [0, 0, 0.3]
point_b = [0.5, 0, 0.5]
stiffness = 50
[forces.bent]
type = "joint_spring"
joint = "elbow"
stiffness = 3
[sensitivity]
of = ["end:arm.q[0]"]
parameters = ["arm.fore.mass", "arm.shoulder.damping"]
"""
URDF = """<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="3"/>
    <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.01"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0 0 0.15"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.004"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <dynamics damping="0.1"/></joint>
  <joint name="elbow" type="continuous"><origin xyz="0 0 0.4"/><parent link="upper"/><child link="fore"/>
    <axis xyz="0 1 0"/></joint></robot>
"""
HEAD, TAIL = TREE[:TREE.index("links =")], TREE[TREE.index("[bodies.arm.s"):]
ROBOT = HEAD.replace('"tree"', '"robot"\nfile = "arm.urdf"') + TAIL
HUNG = TOP.replace("gravity", "assemble = true\ngravity") + """
[bodies.arm]
type = "robot"
file = "arm.urdf"
[bodies.ball]
type = "rigid"
mass = 0.1
inertia = [1e-4, 1e-4, 1e-4]
[joints.hang]
type = "revolute"
bodies = ["ball", "arm.fore"]
point_a = [0, 0, 0.1]
point_b = [0, 0, 0.3]
axis_a = [0, 1, 0]
axis_b = [0, 1, 0]
[joints.rod]
type = "rigid_distance"
bodies = ["arm.fore"]
point_a = [0, 0, 0.3]
point_b = [0.6, 0, 0.1]
length = 0.5
[state]
shoulder = 0.3
"arm.elbow" = 0.9
hang = [0.2, 1.0]
"""


def write(folder, text):
    (folder / "arm.urdf").write_text(URDF)
    path = folder / "model.toml"
    path.write_text(text)
    return path


def arm():
    links = [tf.Link("base"), tf.Link("upper", mass=3, centre=(0, 0, 0.2), inertia=(0.05, 0.05, 0.01)),
             tf.Link("fore", mass=1.5, centre=(0, 0, 0.15), inertia=(0.02, 0.02, 0.004))]
    joints = [tf.TreeJoint("shoulder", "base", "upper", axis=(0, 1, 0), damping=0.1),
              tf.TreeJoint("elbow", "upper", "fore", position=(0, 0, 0.4), axis=(0, 1, 0))]
    return tf.Tree(links, joints, name="arm")


@pytest.mark.parametrize("text", [TREE, ROBOT], ids=["tree", "robot"])
def test_motion_of_a_file(tmp_path, text):
    model = load_model(write(tmp_path, text))
    sol, tree = model.solve(progress=False), arm()
    parts = [tf.Spring(tree.link("fore"), None, (0, 0, 0.3), (0.5, 0, 0.5), stiffness=50),
             tf.JointSpring(tree.joint("elbow"), stiffness=3)]
    problem = tf.InitialValueProblem(tf.System([tree, *parts], gravity=(0, 0, -9.81)),
                                     {"shoulder": (-0.7, -0.4), "elbow": 0.5}, (0, 0.2))
    same = tf.solve(problem, tf.MixedGalerkin(model.element.degree, form="lagrange"), 20, progress=False)
    np.testing.assert_allclose(sol.z, same.z, rtol=0, atol=1e-13)
    told = model.sensitivities(sol)["functionals"]["end:arm.q[0]"]["derivatives"]
    tree = same.system.bodies[0]
    expected = tf.gradient(same, tf.EndValue(lambda f, t: f[0].q[0], "arm"),
                           [tf.Parameter(tree, "fore.mass"), tf.Parameter(tree, "shoulder.damping")])
    np.testing.assert_allclose(told, expected, rtol=1e-9)


@pytest.mark.long
def test_bodies_on_links_and_loops(tmp_path):
    """A body that hangs on a link by a joint, and a loop, from states of joints; assembled and marched."""
    model = load_model(write(tmp_path, HUNG))
    sol = model.solve(progress=False)
    assert sol.success and model.element.form == "energy"
    assert sol.joint("shoulder").angle(0) == pytest.approx(0.3, abs=0.2)
    assert sol.joint("hang").angle(0) == pytest.approx(0.2, abs=0.4)
    np.testing.assert_allclose(np.abs(sol.system.constraints(sol.t, sol.z)).max(), 0, rtol=0, atol=1e-7)


@pytest.mark.parametrize("change, message", [
    (('"arm.fore"', '"arm.hand"'), r"forces\.pull\.bodies: there is no body 'arm\.hand'; did you mean"),
    (('joint = "elbow"', 'joint = "elbo"'), r"forces\.bent\.joint: there is no joint 'elbo'; did you mean"),
    (("elbow = 0.5", "ellbow = 0.5"), r"bodies\.arm\.state\.ellbow: .* not 'ellbow'"),
    (("elbow = 0.5", "elbow = [1, 2, 3]"), r"a revolute joint takes a number for its position, and 1 more"),
    (('child = "fore"', 'child = "hand"'), r"child of joint 'elbow' is the link 'hand', which does not exist"),
    (("mass = 1.5", "mass = -1"), r"links\[2\]\.mass: must be a finite number, zero or more"),
    (("mass = 1.5", "weight = 1.5"), r"weight: unknown key"),
])
def test_faults(tmp_path, change, message):
    with pytest.raises(tf.InputError, match=message):
        load_model(write(tmp_path, TREE.replace(*change, 1)))


@pytest.mark.parametrize("name", ["../arm.urdf", "/etc/passwd"])
def test_files_of_other_folders(tmp_path, name):
    (tmp_path / "inner").mkdir()
    (tmp_path / "arm.urdf").write_text(URDF)
    with pytest.raises(tf.InputError, match=r"bodies\.arm\.file: must lie in the folder of this file or below"):
        load_model(write(tmp_path / "inner", ROBOT.replace("arm.urdf", name)))


def test_robots_whose_joints_have_the_same_names(tmp_path, timefem):
    """The report has the joints of both; those whose names one alone has go by these."""
    other = TREE[TREE.index("[bodies.arm]"):TREE.index("[forces.pull]")].replace("arm", "other").replace(
        "shoulder", "waist").replace("-0.7", "0.3")
    path = write(tmp_path, TREE.replace('joint = "elbow"', 'joint = "arm.elbow"').replace(
        "[forces.pull]", other + "[forces.pull]"))
    sol = load_model(path).solve(progress=False)
    code, out, err = timefem("run", path, "--json")
    assert code == 0, err
    joints = json.loads(out)["final"]["joints"]
    assert joints["shoulder"]["position"] != joints["waist"]["position"]
    assert sorted(joints) == ["arm.elbow", "other.elbow", "shoulder", "waist"]
    for name, state in joints.items():
        expected = {"position": float(sol.joint(name).angle(0.2)), "rate": float(sol.joint(name).rate(0.2))}
        assert state == pytest.approx(expected)
