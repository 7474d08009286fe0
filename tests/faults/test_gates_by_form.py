"""What concerns pictures and contacts does not stop the dynamics."""

import pytest

import timefem as tf

ARM = """<robot name="arm"><link name="base"/><link name="bar"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial><visual><geometry>{}</geometry></visual>
</link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.mark.parametrize("shape", ['<sphere radius="0.1"/>', '<sphere radius="0"/>', '<box size="0 0 0"/>',
                                   '<cylinder radius="0.1" length="0"/>'])
def test_pictures_without_size(tmp_path, fault, shape):
    (tmp_path / "arm.urdf").write_text(ARM.format(shape))
    robot = tf.read_urdf(tmp_path / "arm.urdf")
    fault(f"visual {shape}", 0.35, robot.tree.mass_matrix([0.0])[0, 0], rtol=1e-12)
