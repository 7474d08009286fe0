"""Robots from URDF files: what is read, and clear errors for everything else."""

import builtins
import json
import string

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import timefem as tf
from tests.example_robots import ARM
from timefem.mechanics.values.of_parts import control_force
from timefem.solution.drawing.scene import make_scene

pytestmark = pytest.mark.long

ROD = """<robot name="rod">
<link name="base"/>
<link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.1" friction="0.2"/></joint>
</robot>
"""


def written(tmp_path, text, name="robot.urdf"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_numbers(tmp_path):
    robot = tf.read_urdf(written(tmp_path, ROD))
    joint, = robot.tree.joints
    assert robot.name == "rod" and robot.tree.joint_names == ("hinge",)
    assert joint.limits == {"lower": -1, "upper": 2, "effort": 3, "velocity": 4} and joint.damping == 0.1
    assert robot.tree.mass_matrix([0.3])[0, 0] == pytest.approx(0.1 + 2 * 0.25, abs=1e-15)
    assert "friction of hinge is left out" in robot.notes[0] and joint.friction == 0
    robot = tf.read_urdf(written(tmp_path, ROD), friction_width=0.01)
    assert "limits of hinge are data" in robot.notes[0] and len(robot.notes) == 1
    assert robot.tree.joints[0].friction == 0.2


def test_what_moves_a_robot_elsewhere_is_noted(tmp_path):
    """Controllers that keep soft limits, gravity that is off, springs of Gazebo; not what has no effect."""
    more = """<gazebo reference="rod"><{}>{}</{}><mu1>0.2</mu1></gazebo></robot>"""
    for tag, acts, rests in (("gravity", "false", "true"), ("turnGravityOff", "true", "0"),
                             ("springStiffness", "3.5", "0")):
        for value, told in (acts, True), (rests, False):
            robot = tf.read_urdf(written(tmp_path, ROD.replace("</robot>", more.format(tag, value, tag))))
            assert (f"<{tag}> in a <gazebo> of rod is left out" in robot.notes) == told
            assert len(robot.notes) == 2 + told
    text = ROD.replace("</joint>", """<safety_controller k_velocity="10" soft_upper_limit="1.5"/></joint>""")
    assert "<safety_controller> of hinge is left out" in tf.read_urdf(written(tmp_path, text)).notes


def test_what_files_of_robots_have(tmp_path):
    """Fixed joints with an axis of zeros; inertias that no body has, which are noted, unless a motion has no mass."""
    fixed = ('<link name="tip"/><joint name="flange" type="fixed"><parent link="rod"/><child link="tip"/>'
             '<axis xyz="0 0 0"/></joint></robot>')
    robot = tf.read_urdf(written(tmp_path, ROD.replace("</robot>", fixed).replace('ixx="0.1"', 'ixx="-0.1"')))
    np.testing.assert_allclose(robot.tree.link_pose("tip", [0.0])[0], 0, atol=1e-15)
    assert "inertia of link rod has a negative principal moment" in robot.notes[0]
    round_off = tf.read_urdf(written(tmp_path, ROD.replace('ixx="0.1"', 'ixx="-1e-20"')))
    assert not any("inertia" in note for note in round_off.notes)
    with pytest.raises(tf.InputError, match="'hinge' moves no mass"):
        tf.read_urdf(written(tmp_path, ROD.replace('iyy="0.1"', 'iyy="-1"')))


def test_only_the_file_is_read(tmp_path, monkeypatch):
    path, opened, open_ = written(tmp_path, ARM), [], builtins.open

    def recorded(file, *arguments, **options):
        opened.append(str(file))
        return open_(file, *arguments, **options)
    monkeypatch.setattr(builtins, "open", recorded)
    tf.read_urdf(path)
    assert opened == [str(path)]


BAD = {
    "mass": ('value="2"', 'value="two"', r"line 3: <mass> needs a number for 'value', not 'two'"),
    "infinite": ('value="2"', 'value="1e999"', r"line 3: <mass> needs a number .*finite"),
    "negative": ('value="2"', 'value="-2"', r"line 3: <link> 'rod' is not possible: .*mass must not be negative"),
    "no mass": ('<mass value="2"/>', "", r"line 3: <inertial> has no <mass>"),
    "origin": ('xyz="0.5 0 0"', 'xyz="0.5 0"', r"line 3: <origin> needs 3 numbers for 'xyz', not '0.5 0'"),
    "axis": ('xyz="0 1 0"', 'xyz="0 0 0"', r"line 5: <joint> 'hinge' is not possible: .*length zero"),
    "type": ("revolute", "screw", r"line 5: <joint> 'hinge' is of type 'screw'; known are revolute"),
    "parent": ('<parent link="base"/>', "", r"line 5: <joint> 'hinge' has no <parent>"),
    "link": ('link="base"/><child', 'link="bass"/><child', r"robot.urdf: Tree 'rod': parent of joint 'hinge' is"),
    "moment": ('ixx="0.1"', "", r"line 4: <inertia> has no attribute 'ixx'"),
    "root": ("robot", "model", r"line 1: <model> 'rod' must be <robot>"),
    "broken": ("</robot>", "", r"robot.urdf is not XML: no element found: line 8"),
    "xacro": ("</robot>", "<xacro:arm/></robot>", r"belongs to xacro: expand the file first"),
    "entity": ("<robot", '<!DOCTYPE r [<!ENTITY a "b">]><robot', r"line 1: document types and entities are refused"),
    "external": ("<robot", '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot', r"types and entities are refused"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(case, tmp_path):
    old, new, message = BAD[case]
    with pytest.raises(tf.InputError, match=message):
        tf.read_urdf(written(tmp_path, ROD.replace(old, new)))


def test_no_file(tmp_path):
    for path in (tmp_path / "none.urdf", tmp_path):
        with pytest.raises(tf.InputError, match="cannot be read"):
            tf.read_urdf(path)


@settings(max_examples=150, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutations(tmp_path, data):
    """Clear errors, or a robot whose mass matrix is finite."""
    text = bytearray(ROD.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        stop = min(len(text), start + data.draw(st.integers(0, 12)))
        text[start:stop] = data.draw(st.binary(max_size=3) | st.text(string.printable, max_size=6).map(str.encode))
    try:
        robot = tf.read_urdf(written(tmp_path, bytes(text)))
    except tf.InputError as error:
        assert "robot.urdf" in str(error)
    else:
        assert np.isfinite(robot.tree.mass_matrix(np.zeros(robot.tree.n_q))).all()


def test_mutated_files(tmp_path):
    """1000 damaged files: read, or refused in one line, and nothing else; nothing but the file is opened."""
    rng, path, refused = np.random.default_rng(0), tmp_path / "mutated.urdf", 0
    letters = list('<>"/= 0123456789.-eabhxyz&\n')
    for _ in range(1000):
        text = list(ROD)
        for _ in range(rng.integers(1, 5)):
            i, what = rng.integers(len(text)), rng.integers(3)
            text[i:i + (what != 1) * rng.integers(1, 12)] = rng.choice(letters, rng.integers(1, 4)) if what else []
        path.write_text("".join(text))
        try:
            tf.read_urdf(path)
        except tf.InputError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert 300 < refused < 1000


PAIR = """<robot name="pair"><link name="base"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="a" type="revolute"><parent link="base"/><child link="a"/></joint>
  <joint name="b" type="KIND"><parent link="a"/><child link="b"/><mimic joint="OTHER" offset="0.5"/></joint>
  <transmission name="drive"><type>simple</type><joint name="a"/>
    <actuator name="motor"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
</robot>"""


def test_mimic_of_what_does_not_move(tmp_path):
    """Joints that are fixed in reduced files keep their mimic elements, and others mimic them."""
    robot = tf.read_urdf(written(tmp_path, PAIR.replace("KIND", "fixed").replace("OTHER", "a")))
    assert robot.tree.joint_names == ("a",) and robot.notes == ("the fixed joint b does not mimic a",)
    text = PAIR.replace("KIND", "revolute").replace("OTHER", "b").replace('name="a" type="revolute"',
                                                                          'name="a" type="fixed"')
    text = text.replace('name="b" type="revolute"', 'name="c" type="revolute"').replace('joint="b"', 'joint="a"')
    robot = tf.read_urdf(written(tmp_path, text.replace("</robot>", """<link name="d"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="d" type="revolute">
        <parent link="b"/><child link="d"/></joint></robot>""")))
    assert robot.tree.joint_names == ("d",)
    turn, c, s = robot.tree.link_pose("b", [0.0])[1], np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(turn, [[1, 0, 0], [0, c, -s], [0, s, c]], rtol=0, atol=1e-15)


VISUAL = """<visual><origin xyz="0 0 1" rpy="0 1.5707963267948966 0"/><geometry><SOLID/></geometry></visual>"""


def test_pictures(tmp_path):
    """Visual shapes stand where the file has them, and move with their links; so do springs on links."""
    text = ROD.replace('<link name="rod">', '<link name="rod">' + VISUAL.replace("SOLID", 'box size="1 2 3"'))
    robot = tf.read_urdf(written(tmp_path, text))
    spring = tf.Spring(robot.tree.link("rod", (0.5, 0, 0)), None, stiffness=1.0)
    sol = tf.solve(tf.InitialValueProblem(robot.system(parts=[spring]), {}, (0, 0.1)),
                   tf.MixedGalerkin(1, form="lagrange"), 2, progress=False)
    scene = make_scene(sol, [0.0, 0.1])
    rod = next(body for body in scene.bodies if body.name.endswith(".rod"))
    corners = rod.position[0] + rod.points @ rod.rotation[0].T
    place, turn = robot.tree.link_pose("rod", sol.z[0][:1])
    local = (corners - place) @ turn
    np.testing.assert_allclose(np.ptp(local, axis=0), (3, 2, 1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(local.mean(axis=0), (0, 0, 1), rtol=0, atol=1e-12)
    assert any(link.kind == "spring" for link in scene.links)
    bad = ROD.replace('<link name="rod">', '<link name="rod">' + VISUAL.replace("SOLID", 'sphere radius="wide"'))
    assert "needs a number" in tf.read_urdf(written(tmp_path, bad)).notes[0]
    flat = ROD.replace('<link name="rod">', '<link name="rod">' + VISUAL.replace("SOLID", 'box size="1 -2 3"'))
    assert "is not drawn" in tf.read_urdf(written(tmp_path, flat)).notes[0]
    with pytest.raises(tf.InputError, match="shape must be one of 'box'"):
        tf.Link("a", shapes=[{"shape": "cone", "size": (1, 1, 1)}])


def test_transmissions(tmp_path):
    robot = tf.read_urdf(written(tmp_path, PAIR.replace("KIND", "revolute").replace("OTHER", "a")))
    system = robot.system(parts=list(robot.actuators.values()))
    assert list(robot.actuators) == ["motor"]
    np.testing.assert_allclose(control_force(system, 0.0, np.zeros(2), [0.1]), [5.0], rtol=0, atol=1e-14)


def test_run(timefem, tmp_path):
    path = written(tmp_path, ROD)
    code, out, err = timefem("run", path, "--joint", "hinge=-0.7,-0.4", "--gravity", "0,0,-9.81", "--element", "mg",
                             "--degree", "3", "--n-elements", "20", "--t-end", "0.5", "--json")
    assert code == 0, err
    report = json.loads(out)
    robot = tf.read_urdf(path)
    sol = tf.solve(robot.problem({"hinge": (-0.7, -0.4)}, (0, 0.5)), tf.MixedGalerkin(3, form="lagrange"), 20,
                   progress=False)
    q, p = sol.z[-1]
    assert report["form"] == "lagrange" and "friction of hinge" in report["notes"][0]
    assert report["final"]["joints"]["hinge"] == pytest.approx({"position": q, "rate": p / 0.6}, rel=1e-12)
    code, out, _ = timefem("run", path, "--n-elements", "20", "--t-end", "0.5")
    assert code == 0 and "joint hinge: position, rate" in out


def test_check(timefem, tmp_path):
    code, out, _ = timefem("check", written(tmp_path, ROD), "--json")
    facts = json.loads(out)
    assert code == 0 and facts["degrees_of_freedom"] == 1 and facts["joints"]["hinge"]["limits"]["upper"] == 2
    code, out, _ = timefem("check", written(tmp_path, ROD))
    assert code == 0 and "revolute, base to rod" in out


WRONG = {
    "joint": (["--joint", "elbow=1"], "joint must be one of 'hinge', not 'elbow'"),
    "text": (["--joint", "hinge"], "--joint must be NAME=POSITION or NAME=POSITION,RATE"),
    "three": (["--joint", "hinge=1,2,3"], "takes a number for its position, and 1 more for its rate, not 3"),
    "words": (["--joint", "hinge=up"], "--joint hinge must be POSITION or POSITION,RATE"),
    "twice": (["--joint", "hinge=1", "--joint", "hinge=2"], "--joint hinge is given twice"),
    "gravity": (["--gravity", "9.81"], "--gravity must be X,Y,Z"),
    "nan": (["--joint", "hinge=nan"], "must be finite"),
    "rotation": (["--rotation", "directors"], "belongs to named cases"),
    "form": (["--form", "hamilton"], "form='lagrange'"),
    "base": (["--base", "loose"], "base must be one of 'fixed', 'free', not 'loose'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options(case, timefem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, message = WRONG[case]
    code, _, err = timefem("run", written(tmp_path, ROD), *options)
    assert code == 2 and message in err


def test_options_of_robots_belong_to_robots(timefem):
    code, _, err = timefem("run", "spring-pendulum", "--joint", "a=1")
    assert code == 2 and "--joint belongs to robots" in err
