"""What robots' files state counts, or a note names it: mass matrices and forces of MuJoCo 4.0 (tests/data/mjcf)."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from tests.robot_rates import RobotRates

FOLDER = Path(__file__).parents[1] / "data" / "mjcf"
TRUTH = json.loads((FOLDER / "attributes.json").read_text())


def cases():
    spec = importlib.util.spec_from_file_location("attributes", FOLDER / "attributes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: module.text(*case) for name, case in module.CASES.items()}


CASES = cases()


def read(folder, text, **options):
    (folder / "robot.xml").write_text(text)
    return tf.read_mjcf(folder / "robot.xml", **options)


@pytest.mark.parametrize("name", CASES)
def test_attributes(name, tmp_path, fault):
    robot, truth = read(tmp_path, CASES[name]), TRUTH[name]
    ours, q, first = RobotRates(robot), np.zeros(robot.tree.n_q), 0
    for joint in truth["joints"]:
        places = list(ours.moving[joint].places)
        q[places] = truth["q"][first:first + len(places)]
        first += len(places)
    rates = ours.rates(q)
    mass, force = rates.T @ robot.tree.mass_matrix(q) @ rates, ours.force(q, rates, truth["v"], truth["a"])
    size = np.abs(truth["force"]).max()
    single = 1e-6 if "mesh" in name else 0.0  # MuJoCo has points of meshes in single precision
    fault(f"{name}: mass matrix", np.ravel(truth["mass"]), mass.ravel(), rtol=0,
          atol=(single or 1e-12) * np.abs(truth["mass"]).max())
    fault(f"{name}: force", np.array(truth["force"]), force, rtol=0, atol=(single or 1e-8) * size)
    assert not any("left out" in note and "contacts" not in note for note in robot.notes)


I = '<inertial pos="0.1 0 -0.5" mass="1" diaginertia="0.1 0.12 0.03"/>'
ROD = f'<body name="a">{{0}}<joint name="j" axis="0 1 0" {{1}}/>{I}</body>'
NOTED = {  # world, more, what the note says
    "range": (ROD.format("", 'range="-30 30"'), "", "the limits of j are data"),
    "range of a class": (ROD.format("", ""), '<default><joint range="-30 30"/></default>', "the limits of j are data"),
    "range of a ball": (f'<body name="a"><joint name="j" type="ball" range="0 30"/>{I}</body>', "",
                        "range of <joint> j"),
    "unknown attribute": (ROD.format("", 'dampng="3"'), "", "dampng of <joint> j is left out"),
    "force range of a joint": (ROD.format("", 'actuatorfrcrange="-1 1"'), "", "actuatorfrcrange of <joint> j"),
    "friction of a ball": (f'<body name="a"><joint name="j" type="ball" frictionloss="3"/>{I}</body>', "",
                           "frictionloss of <joint> j is left out"),
    "stiffness of a tendon": (ROD.format("", ""), '<tendon><fixed name="t" stiffness="3"><joint joint="j" coef="1"/>'
                              '</fixed></tendon>', "stiffness of <fixed> t is left out"),
    "spring of a spatial tendon": (ROD.format("", ""), '<default><tendon damping="2"/></default><tendon><spatial '
                                   'name="t"/></tendon>', "damping of <spatial> t is left out"),
    "armature of a motor": (ROD.format("", ""), '<actuator><motor name="m" joint="j" armature="1"/></actuator>',
                            "armature of <motor> m is left out"),
    "range of a motor": (ROD.format("", ""), '<default><motor ctrlrange="-1 1"/></default><actuator><motor name="m" '
                         'joint="j"/></actuator>', "the ranges of the controls m are data"),
    "servo by default": (ROD.format("", ""), '<default><position kp="3"/></default><actuator><general name="m" '
                         'joint="j"/></actuator>', "<general> m is left out"),
    "plugin of a body": (ROD.format('<plugin plugin="mujoco.elasticity.cable"/>', ""), "", "<plugin> of a is left out"),
    "fluid": (ROD.format("", ""), '<option density="1000"/>', "forces of the surrounding fluid are left out"),
    "option": (ROD.format("", ""), '<option actuatorgroupdisable="1"/>', "actuatorgroupdisable of <option>"),
    "compiler": (ROD.format("", ""), '<compiler boundmas="1"/>', "boundmas of <compiler>"),
}


@pytest.mark.parametrize("name", NOTED)
def test_notes(name, tmp_path, fault):
    world, more, message = NOTED[name]
    robot = read(tmp_path, f"<mujoco>{more}<worldbody>{world}</worldbody></mujoco>")
    fault(f"note on {name}", f"'{message} ...'", "; ".join(robot.notes), met=any(message in n for n in robot.notes))


def test_no_notes(tmp_path, fault):
    """Names, groups, solver settings, sensors, pictures and contacts that cannot happen need none."""
    robot = read(tmp_path, """<mujoco><option timestep="0.01" integrator="RK4"><flag energy="enable"/></option>
        <size njmax="100"/><visual><global offwidth="99"/></visual><statistic extent="2"/>
        <compiler fusestatic="true" autolimits="false"/>
        <default><joint solreflimit="0.1 1" margin="0.1" group="2"/><geom contype="0" conaffinity="0"/></default>
        <worldbody><light/><camera/><body name="a" sleep="never"><joint name="j" axis="0 1 0" limited="auto"
        range="0 3" actuatorfrclimited="auto"/><geom size="0.1" rgba="1 0 0 1" friction="2"/><site name="s"/></body>
        </worldbody><sensor><gyro site="s"/></sensor><keyframe><key qpos="0.1"/></keyframe></mujoco>""")
    fault("nothing to note", (), robot.notes)


@pytest.mark.long
def test_range_stops_with_an_end_stop(tmp_path, fault):
    """What the note recommends holds the bar of 5 rad/s at its range."""
    robot = read(tmp_path, '<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0" range="-30 30"/><geom '
                           'type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/></body></worldbody></mujoco>')
    low, high = (robot.tree.joints[0].limits[side] for side in ("lower", "upper"))
    stop = tf.EndStop(robot.tree.joint("j"), lowest=low, highest=high, stiffness=5000.0)
    problem = tf.InitialValueProblem(robot.system(parts=[stop]), {robot.tree: {"j": (0.0, 5.0)}}, (0, 0.3))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), tolerance=1e-6, progress=False)
    most = np.rad2deg(np.max(sol.z[:, 0]))
    fault("a bar of 5 rad/s at its stop of 30 degrees", "between 30 and 33", most, met=30 < most < 33)


URDF = """<robot name="arm"><link name="base"/><link name="bar"><inertial><origin xyz="0 0 -0.5" {0}/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial>{1}</link><joint name="hinge"
type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>{2}</joint>{3}</robot>"""
URDF_NOTED = {
    "spring": (("", "", '<dynamics damping="0.1" spring_stiffness="3"/>', ""),
               "spring_stiffness of <dynamics> hinge is left out"),
    "misspelt damping": (("", "", '<dynamics dampng="0.1"/>', ""), "dampng of <dynamics> hinge is left out"),
    "rotor": (("", "", "<rotor_inertia/>", ""), "<rotor_inertia> of hinge is left out"),
    "mujoco": (("", "", "", '<mujoco><compiler balanceinertia="true"/></mujoco>'), "<mujoco> of"),
    "element of a link": (("", "<drag/>", "", ""), "<drag> of bar is left out"),
    "attribute of an origin": (('rpz="1 2 3"', "", "", ""), "rpz of <origin> bar is left out"),
    "transmission of two joints": (("", "", "", '<transmission name="t"><joint name="hinge"/><joint name="k"/>'
                                    '<actuator name="m"/></transmission>'), "the transmission t is left out"),
}


@pytest.mark.parametrize("name", URDF_NOTED)
def test_notes_of_urdf(name, tmp_path, fault):
    given, message = URDF_NOTED[name]
    (tmp_path / "arm.urdf").write_text(URDF.format(*given))
    robot = tf.read_urdf(tmp_path / "arm.urdf")
    fault(f"note on {name} (URDF)", f"'{message} ...'", "; ".join(robot.notes),
          met=any(message in note for note in robot.notes))


def test_orientations_as_quaternions(tmp_path, fault):
    (tmp_path / "arm.urdf").write_text(URDF.format('quat_xyzw="0.5 0.5 0.5 0.5"', "", "", ""))
    robot = tf.read_urdf(tmp_path / "arm.urdf")
    fault("quat_xyzw of an inertia", 0.1 + 0.25, robot.tree.mass_matrix([0.0])[0, 0], rtol=1e-12)
    fault("its long axis", np.diag([0.01, 0.1, 0.1]), robot.tree.links[1].inertia, rtol=0, atol=1e-15)


def test_notes_of_robots_in_model_files(tmp_path, fault, timefem):
    """What is left out of a robot's file is reported for a model file, too; and that its gravity is ignored."""
    world = ROD.format("", 'range="-30 30"')
    (tmp_path / "robot.xml").write_text(f"<mujoco><worldbody>{world}</worldbody></mujoco>")
    (tmp_path / "model.toml").write_text('[bodies.arm]\ntype = "robot"\nfile = "robot.xml"\nstate = {j = 0.3}\n'
                                         '[time]\nspan = [0, 0.1]\nn_elements = 5\n[solver]\nform = "lagrange"\n')
    code, out, _ = timefem("run", tmp_path / "model.toml", "--json")
    notes = json.loads(out)["notes"]
    fault("notes of a model file: limits", "'arm: the limits of j ...'", "; ".join(notes),
          met=any("arm: the limits of j are data" in note for note in notes))
    fault("notes of a model file: weight", "'no gravity is stated here ...'", "; ".join(notes),
          met=code == 0 and any("no gravity is stated here" in note for note in notes))
