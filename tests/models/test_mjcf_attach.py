"""Attached models of MJCF files, against MuJoCo 4.0: the numbers in tests/data/mjcf/attach.json."""

import json
from pathlib import Path

import numpy as np
import pytest

import timefem as tf

TRUTH = json.loads((Path(__file__).parents[1] / "data/mjcf/attach.json").read_text())


def written(folder, changes=()):
    """The robot: an arm twice, with a tool from a third file, which is attached alone as well."""
    for name, text in TRUTH["files"].items():
        (folder / name).parent.mkdir(exist_ok=True)
        for old, new in changes:
            assert old in "".join(TRUTH["files"].values())
            text = text.replace(old, new)
        (folder / name).write_text(text)
    return folder / "robot.xml"


def test_motion_is_that_of_mujoco(tmp_path):
    """Angles in degrees beside radians, classes of each file, a joint that follows another, frames."""
    robot = tf.read_mjcf(written(tmp_path))
    tree, places = robot.tree, {name: i for i, name in enumerate(TRUTH["joints"])}
    masses = {link.name: link.mass for link in tree.links}
    assert all(abs(masses[name] - mass) < 1e-12 for name, mass in TRUTH["masses"].items())
    moving = {body.joint.name: body for body in tree.moving}
    to_all = np.zeros((len(places), tree.n_q))  # rates of MuJoCo's joints by those of the tree
    for name, i in places.items():
        to_all[i, moving[name].first] = moving[name].factor
    q, v, a = (np.array([TRUTH[key][places[name]] for name in tree.joint_names]) for key in "qva")
    np.testing.assert_allclose(tree.mass_matrix(q), to_all.T @ TRUTH["mass_matrix"] @ to_all, rtol=0, atol=1e-13)
    force = tree.inverse_dynamics(q, v, a, robot.gravity)
    for joint in tree.joints:
        if joint.name in moving:
            i, body = places[joint.name], moving[joint.name]
            force[body.first] += body.factor * (joint.damping * TRUTH["v"][i]
                                                + joint.stiffness * (TRUTH["q"][i] - joint.rest))
    np.testing.assert_allclose(force, to_all.T @ TRUTH["force"], rtol=0, atol=1e-12)
    assert list(robot.actuators) == TRUTH["actuators"] and robot.control_ranges["right_drive"] == (-1.0, 1.0)
    assert tree.joints[1].limits == pytest.approx({"lower": -np.pi / 2, "upper": np.pi / 2})
    assert not robot.joints  # the weld ties a body that is not attached


@pytest.mark.parametrize("old, new, message", [
    ('file="parts/arm.xml"', 'file="../arm.xml"', r"<model> 'arm' names '../arm.xml', which is outside the folder"),
    ('file="parts/arm.xml"', 'file="parts/leg.xml"', r"leg.xml cannot be read"),
    ('<attach model="arm" body="upper" prefix="left_"/>', '<attach model="amr" prefix="left_"/>',
     r"line 9: <attach> names the model 'amr', which no <asset> states"),
    ('body="upper" prefix="right_"', 'body="uper" prefix="right_"', r"names the body 'uper', which the model 'arm'"),
    ('file="inner/tool.xml"', 'file="../robot.xml"', r"<attach> attaches the model 'tool' to itself"),
    ('<body name="fore"', '<body nam="fore" pose=""', None)])
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    path = written(tmp_path, [(old, new)])
    if message is None:
        assert any("pose of <body>" in note for note in tf.read_mjcf(path).notes)
        return
    with pytest.raises(tf.InputError, match=message):
        tf.read_mjcf(path)


def test_elements_state_the_first_of_several_numbers(tmp_path):
    """The others are those of their class, as in MuJoCo: a capsule whose class has its length."""
    path = tmp_path / "one.xml"
    path.write_text("""<mujoco><default><geom type="capsule" size="0.02 0.1"/></default><worldbody><body name="rod">
        <joint name="hinge"/><geom size="0.04"/></body></worldbody></mujoco>""")
    rod = tf.read_mjcf(path).tree.links[1]
    assert abs(rod.mass - 1000 * np.pi * (0.04**2 * 0.2 + 4 / 3 * 0.04**3)) < 1e-12
