"""A robot with four legs from a URDF file, dropped, that comes to stand."""

import numpy as np
import pytest

import timefem as tf

LEG = """<link name="thigh{i}"><inertial><origin xyz="0 0 -0.1"/><mass value="0.4"/>
<inertia ixx="0.002" iyy="0.002" izz="0.0005"/></inertial></link>
<link name="shank{i}"><inertial><origin xyz="0 0 -0.1"/><mass value="0.2"/>
<inertia ixx="0.001" iyy="0.001" izz="0.0002"/></inertial><contact><lateral_friction value="0.8"/></contact>
<collision name="foot{i}"><origin xyz="0 0 -0.2"/><geometry><sphere radius="0.02"/></geometry></collision></link>
<joint name="hip{i}" type="revolute"><parent link="trunk"/><child link="thigh{i}"/><origin xyz="{x} {y} 0"/>
<axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="30" velocity="10"/></joint>
<joint name="knee{i}" type="revolute"><parent link="thigh{i}"/><child link="shank{i}"/><origin xyz="0 0 -0.2"/>
<axis xyz="0 1 0"/><limit lower="-2.5" upper="0" effort="30" velocity="10"/></joint>"""
PLACES = (0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)
TRUNK = """<robot name="walker"><link name="trunk"><inertial><mass value="4"/>
<inertia ixx="0.05" iyy="0.1" izz="0.12"/></inertial></link>{}</robot>"""


@pytest.mark.slow
def test_it_lands_on_four_feet_and_stands(tmp_path):
    """Pairs of feet slip at the same time; in the end the floor carries the weight, and nothing moves."""
    path = tmp_path / "walker.urdf"
    path.write_text(TRUNK.format("".join(LEG.format(i=i, x=x, y=y) for i, (x, y) in enumerate(PLACES))))
    robot = tf.read_urdf(path, base="free", contacts="rigid")
    bent = {f"hip{i}": 0.5 for i in range(4)} | {f"knee{i}": -1.0 for i in range(4)}
    hold = [tf.PDControl(robot.tree.joint(name), stiffness=80.0, damping=3.0, reference=angle, name=f"hold {name}")
            for name, angle in bent.items()]
    state = {robot.tree: {"base": tf.Pose((0, 0, 0.5)), **bent}}
    problem = tf.InitialValueProblem(robot.system(parts=hold), state, (0, 3.0))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 150, progress=False)
    assert sol.success, sol.status.message
    assert sol.events[0].kind == "impact" and len(sol.events[0].contacts) == 4
    assert sol.contact_gaps().min() > -1e-9
    feet = [i for i, name in enumerate(sol.contact_names) if "foot" in name]
    forces = sol.contact_forces([3.0])[0, feet]
    assert forces[:, 0].sum() == pytest.approx(6.4 * 9.81, rel=1e-6)
    np.testing.assert_allclose(forces[0::2, 0], forces[1::2, 0], rtol=1e-6)
    assert np.abs(sol.velocity(robot.tree.link("trunk"), 3.0)).max() < 1e-6
