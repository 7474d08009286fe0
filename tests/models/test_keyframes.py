"""Keyframes of MJCF files as states to start from: motions against MuJoCo 4.0 (Runge-Kutta, steps of 0.5 ms)."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ARM = """<mujoco><compiler angle="radian" eulerseq="zyx"/><option><flag contact="disable"/></option>
  <default><joint damping="0.1" armature="0.02"/><geom density="500" size="0.05"/>
    <default class="a"><joint damping="0.3" axis="0 1 0"/><geom type="capsule" size="0.04 0.2"/>
      <default class="b"><joint stiffness="2" springref="0.3"/><geom density="900"/></default></default>
    <default class="c"><joint type="slide" axis="1 0 0"/></default></default>
  <worldbody><frame pos="0 0 1" euler="0.1 0.2 0.3" childclass="a">
    <body name="b1" pos="0.1 0.2 0"><joint name="j1"/><geom/>
      <body name="b2" pos="0 0 -0.4" childclass="b">
        <frame euler="0.5 0 0" pos="0 0.05 0"><joint name="j2"/><geom pos="0 0 -0.2"/></frame>
        <body name="b3" pos="0 0 -0.4"><joint name="j3" class="c"/><joint name="j3b" class="a" axis="1 0 1"/>
          <geom class="main"/></body></body></body></frame></worldbody>
  <keyframe><key name="home" qpos="0.3 -0.4 0.1 0.7" qvel="1 0 0 0" ctrl="" time="2"/><key qvel="0 0 1 0"/></keyframe>
  </mujoco>"""
SHIP = """<mujoco><option><flag contact="disable"/></option>
  <worldbody><body name="ship" pos="0 0 1" euler="20 30 0"><freejoint name="f"/>
    <geom type="ellipsoid" size="0.3 0.2 0.1" pos="0.1 0 0"/>
    <body name="arm" pos="0.2 0 0.1" axisangle="0 1 0 40"><joint name="h" axis="1 2 0" pos="0 0.1 0" damping="0.05"/>
      <geom type="cylinder" size="0.03 0.2" pos="0 0 0.2" mass="0.7"/></body></body></worldbody>
  <keyframe><key name="home" qpos="0 0.1 2 0.8 0.6 0 0 0.4" qvel="1 0 0 1 2 3 0.5"/></keyframe></mujoco>"""
AT_HALF = {"b2": (0.06127565172534177, 0.31372340875742655, 0.6665966873275883),
           "b3": (0.057950602673973006, 0.3493541141350865, 0.2197167877915494),
           "ship": (0.6376735864279792, 0.16485012548463784, 0.8261897318166583),
           "arm": (0.6427472135647696, 0.2640330468112766, 0.997043982406014)}


def read(text, tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(text)
    return tf.read_mjcf(path)


@pytest.mark.parametrize("text", [ARM, SHIP])
def test_motions_from_keyframes(text, tmp_path):
    robot = read(text, tmp_path)
    assert not robot.notes
    sol = tf.solve(robot.problem(robot.keyframes["home"], (0, 0.5)), tf.MixedGalerkin(3, form="lagrange"), 60,
                   progress=False)
    bodies = [link.name for link in robot.tree.links if link.name in AT_HALF]
    assert len(bodies) == 2
    for name in bodies:
        np.testing.assert_allclose(sol.position(robot.tree.link(name), 0.5), AT_HALF[name], rtol=0, atol=1e-9)


def test_what_a_keyframe_leaves_out_is_where_the_file_has_it(tmp_path):
    robot = read(ARM.replace('name="j1"', 'name="j1" ref="0.2"'), tmp_path)
    assert list(robot.keyframes) == ["home", "key 2"]
    assert robot.keyframes["key 2"] == {"j1": (0.2, 0), "j2": (0, 0), "j3": (0, 1), "j3b": (0, 0)}
    assert "home, key 2" in str(robot.summary())


def test_joints_that_follow_others_are_left_to_them(tmp_path):
    tied = ARM.replace("<keyframe>", '<equality><joint joint1="j3b" joint2="j1" polycoef="0 2"/></equality><keyframe>')
    assert set(read(tied, tmp_path).keyframes["home"]) == {"j1", "j2", "j3"}


def test_keyframes_of_other_joints_are_refused(tmp_path):
    with pytest.raises(tf.InputError, match=r"<key> 'home' needs 4 numbers for 'qpos', not '0.3 -0.4'"):
        read(ARM.replace("0.3 -0.4 0.1 0.7", "0.3 -0.4"), tmp_path)
