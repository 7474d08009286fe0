"""Robots read with rigid contacts: which shapes touch what, stops, and dry friction."""

import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError

pytestmark = pytest.mark.long

LEGGED = """<robot name="hopper">
<link name="trunk"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
<collision name="belly"><origin xyz="0 0 0.1"/><geometry><box size="0.4 0.2 0.1"/></geometry></collision></link>
<link name="leg"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
<contact><lateral_friction value="0.7"/><restitution value="0.1"/></contact>
<collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.03"/></geometry></collision>
<collision><origin xyz="0 0 -0.1" rpy="0 1.5707963267948966 0"/>
<geometry><capsule radius="0.02" length="0.1"/></geometry></collision>
<collision><geometry><mesh filename="leg.stl"/></geometry></collision></link>
<joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics friction="0.2"/></joint>
</robot>
"""
BALLS = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" friction="0.6"/>
<geom name="post" type="sphere" size="0.2" pos="1 0 0.2"/>
<body name="a" pos="0 0 1"><freejoint/><geom name="A" type="sphere" size="0.1" friction="0.3"/></body>
<body name="b" pos="0 0.5 1"><freejoint/><geom name="B" type="box" size="0.1 0.2 0.3" quat="0.8 0 0 0.6"/>
<body name="c"><joint name="hinge" type="hinge" range="-30 40" frictionloss="0.1"/>
<geom name="C" type="sphere" size="0.05" pos="0 0 0.6"/><geom name="D" type="capsule" size="0.01 0.02"/></body></body>
<body name="tile" pos="0 3 0.5"><geom name="tile" type="plane" size="1 1 1" euler="0 90 0" contype="2"
conaffinity="2"/></body></worldbody>
<contact><exclude body1="a" body2="c"/></contact></mujoco>
"""


def written(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_legged_robot_from_urdf(tmp_path):
    path = written(tmp_path, LEGGED, "robot.urdf")
    robot = tf.read_urdf(path, base="free", contacts="rigid")
    found = {part.name: part for part in robot.contacts}
    assert list(found) == ["stops of hip", "friction of hip", "belly on floor", "leg 0 on floor", "leg 1 on floor"]
    assert (found["stops of hip"].lowest, found["stops of hip"].highest) == (-1, 2)
    assert found["friction of hip"].friction == 0.2 and found["friction of hip"].is_rigid
    belly = found["belly on floor"]
    assert belly.friction == 0.5 and belly.restitution == 0 and len(belly.points) == 8
    np.testing.assert_allclose(np.ptp(belly.points, axis=0), (0.4, 0.2, 0.1))
    np.testing.assert_allclose(belly.points.mean(axis=0), (0, 0, 0.1), rtol=0, atol=1e-15)
    capsule = found["leg 1 on floor"]
    np.testing.assert_allclose(np.sort(capsule.points[:, 0]), (-0.05, 0.05), rtol=0, atol=1e-12)
    assert (capsule.radius, capsule.friction, capsule.restitution) == (0.02, 0.7, 0.1)
    assert any("mesh of leg 2 does not touch" in note for note in robot.notes)
    assert not any("limits" in note or "Coulomb" in note for note in robot.notes)
    assert set(robot.system().rigid_contacts) == set(robot.contacts)
    assert not tf.read_urdf(path, base="free").contacts
    with pytest.raises(InputError, match="contacts"):
        tf.read_urdf(path, contacts="soft")


def test_friction_that_is_not_read_is_noted(tmp_path):
    """Of shapes, as older files state it, and for Gazebo."""
    told = LEGGED
    for before, more in (('<sphere radius="0.03"/></geometry>', '<contact_coefficients mu="0.9"/><surface mu="0.8"/>'),
                         ('<lateral_friction value="0.7"/>', '<rolling_friction value="0.1"/>'),
                         ('</joint>', '<gazebo reference="leg"><mu1>1</mu1><material>Gazebo/Red</material></gazebo>')):
        assert before in told
        told = told.replace(before, before + more)
    path = written(tmp_path, told, "robot.urdf")
    said, before = (set(tf.read_urdf(file, contacts="rigid").notes)
                    for file in (path, written(tmp_path, LEGGED, "plain.urdf")))
    assert said - before == {f"<{what}> of leg is left out" for what in (
        "contact_coefficients> in a <collision", "surface> in a <collision", "rolling_friction> in a <contact",
        "mu1> in a <gazebo")}
    assert not any("mu1" in note for note in tf.read_urdf(path).notes)


def test_the_links_of_a_fixed_base_do_not_touch(tmp_path):
    robot = tf.read_urdf(written(tmp_path, LEGGED, "robot.urdf"), contacts="rigid", friction_width=0.1)
    assert [part.name for part in robot.contacts] == ["stops of hip", "leg 0 on floor", "leg 1 on floor"]


def test_shapes_of_mjcf(tmp_path):
    """Masks, parents and exclusions tell what touches; what cannot is reported."""
    robot = tf.read_mjcf(written(tmp_path, BALLS, "robot.xml"), contacts="rigid")
    found = {part.name: part for part in robot.contacts}
    assert set(found) == {"stops of hinge", "friction of hinge", "A on floor", "B on floor", "C on floor", "D on floor",
                          "A on post", "C on post"}
    assert found["A on floor"].friction == 0.6 and found["A on post"].friction == 1.0
    post = found["A on post"]
    assert len(post.given_bodies) == 1 and post.radius_b == 0.2
    np.testing.assert_allclose(post.point_b, (1, 0, 0.2))
    assert found["stops of hinge"].highest == pytest.approx(np.radians(40))
    left, = [note for note in robot.notes if "left out" in note]
    assert "A on B" in left and "post on B" in left and "B on C" not in left and "A on C" not in left
    box = found["B on floor"]
    np.testing.assert_allclose(np.sort(np.abs(box.points), axis=0)[0], (abs(0.1 * 0.28 - 0.2 * 0.96), 0.04, 0.3),
                               rtol=0, atol=1e-12)


LAWS = """<mujoco><option collision="predefined"><flag filterparent="disable" clampctrl="disable" override="enable"/>
</option><worldbody><geom name="floor" type="plane" size="1 1 1" friction="0.6" condim="1"/>
<body name="a" pos="0 0 1"><freejoint/><geom name="A" size="0.1" friction="0.3" condim="1"/></body>
<body name="b" pos="0 1 1"><freejoint/><geom name="B" size="0.1" friction="0.3" priority="1"/></body>
<body name="c" pos="0 2 1"><freejoint/><geom name="C" size="0.1" friction="0.3" condim="1" priority="1"/></body>
<body name="d" pos="0 3 1"><freejoint/><geom name="D" size="0.1" condim="6" margin="0.01" surfacevel="1 0 0"/></body>
<body name="e" pos="0 4 1"><joint name="j" range="-30 40" margin="0.1"/><geom name="E" size="0.1" adhesion="2"
margin="0"/><body name="f" pos="0 0 1"><joint name="k"/><geom name="F" size="0.1"/></body></body></worldbody>
<actuator><motor name="m" joint="j" ctrlrange="-1 1"/><motor name="n" joint="k" ctrlrange="-1 1" forcerange="-2 2"/>
</actuator></mujoco>"""


def test_laws_of_mjcf_contacts(tmp_path):
    """Contacts without friction by their dimension, of higher priority, of parents, and what else changes them."""
    robot = tf.read_mjcf(written(tmp_path, LAWS, "robot.xml"), contacts="rigid")
    found = {part.name: part for part in robot.contacts}
    assert [found[f"{name} on floor"].friction for name in "ABCDE"] == [0.0, 0.3, 0.0, 1.0, 1.0]
    assert "E on F" in found and "stops of j" in found  # a parent is touched where no filter holds it off
    assert robot.control_ranges == {"n": (-2.0, 2.0)}
    said = {note for note in robot.notes if note.endswith("is left out")}
    assert said == {"friction of contacts of D against spinning and rolling is left out",
                    "margin of <geom> D is left out", "surfacevel of <geom> D is left out",
                    "adhesion of <geom> E is left out", "margin of <joint> j is left out",
                    "collision of <option> is left out", "override of <flag> is left out"}
    assert not any("margin" in note for note in tf.read_mjcf(tmp_path / "robot.xml").notes)
