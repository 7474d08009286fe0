"""What concerns pictures and contacts does not stop the dynamics."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

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


I = '<inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.01"/>'
J = '<joint name="j" axis="0 1 0"/>'
MESH = '<asset><mesh name="m" file="missing.stl"/></asset>'
SHAPES = {  # in a body with an inertia: only pictures and contacts
    "capsule fitted to a mesh": ('<geom type="capsule" mesh="m"/>', MESH),
    "mesh without a file": ('<geom type="mesh" mesh="m"/>', '<asset><mesh name="m"/></asset>'),
    "mesh that there is not": ('<geom type="mesh" mesh="n"/>', ""),
    "size of zero": ('<geom type="box" size="0 0 0"/>', ""),
    "no size": ('<geom type="cylinder"/>', ""),
    "unknown type": ('<geom type="torus" size="1 2"/>', ""),
    "two orientations": ('<geom size="1" euler="1 2 3" quat="1 0 0 0"/>', ""),
    "shell of an ellipsoid": ('<geom type="ellipsoid" size="1 1 1" shellinertia="true"/>', ""),
    "plane in a body": ('<geom type="plane" size="0 0 1"/>', ""),
}


def read(folder, text, **options):
    (folder / "robot.xml").write_text(text)
    return tf.read_mjcf(folder / "robot.xml", **options)


@pytest.mark.parametrize("meshes", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_bodies_with_inertia(tmp_path, fault, name, meshes):
    if meshes:
        pytest.importorskip("trimesh")
    shape, head = SHAPES[name]
    text = f'<mujoco>{head}<worldbody><body name="a">{I}{J}{shape}</body></worldbody></mujoco>'
    robot = read(tmp_path, text, **({"meshes": tmp_path} if meshes else {}))
    fault(f"geom, {name}", 0.35, robot.tree.mass_matrix([0.0])[0, 0], rtol=1e-12)


@pytest.mark.parametrize("visual", ['<sphere radius="wide"/>', '<mesh filename="none.stl"/>', "<cone/>", ""])
def test_pictures_of_urdf(tmp_path, fault, visual):
    pytest.importorskip("trimesh")
    (tmp_path / "arm.urdf").write_text(ARM.format(visual))
    robot = tf.read_urdf(tmp_path / "arm.urdf", meshes=tmp_path)
    fault(f"visual {visual or 'without geometry'}", 0.35, robot.tree.mass_matrix([0.0])[0, 0], rtol=1e-12)


@pytest.mark.parametrize("limit", ['lower="-inf" upper="inf"', 'lower="-INF" effort="inf" velocity="1e400"',
                                   'upper="Infinity"'])
def test_limits_without_bounds(tmp_path, fault, limit):
    text = ARM.format('<sphere radius="0.1"/>').replace("continuous", "revolute")
    (tmp_path / "arm.urdf").write_text(text.replace("<axis", f"<limit {limit}/><axis"))
    robot = tf.read_urdf(tmp_path / "arm.urdf")
    fault(f"<limit {limit}/>", {}, dict(robot.tree.joints[0].limits))


LINKS = (f'<body name="a">{I}<joint name="j" axis="0 1 0"/><site name="s" pos="0 0 -1"/></body><body name="b" '
         f'pos="1 0 0">{I}<joint name="k" axis="0 1 0"/><body name="c" pos="0 0 -1">{I}<joint name="l" axis="0 1 0"/>'
         '<site name="t" pos="-1 0 0"/></body></body>')


def motion(folder, tail, start):
    """Coordinates after 0.3 s, released at rest."""
    robot = read(folder, f"<mujoco><worldbody>{LINKS}</worldbody>{tail}</mujoco>")
    sol = tf.solve(robot.problem(start, (0, 0.3)), tf.MixedGalerkin(2, form="energy"), 10, progress=False)
    states = robot.tree.joint_states(sol.z[-1][:robot.tree.n_q], sol.z[-1][robot.tree.n_q:])
    return np.array([states[name][0] for name in ("j", "k", "l")])


def test_connect_by_sites(tmp_path, fault):
    start = {"j": 0.3, "k": 0.3, "l": -0.3}
    right = motion(tmp_path, '<equality><connect body1="a" body2="c" anchor="0 0 -1"/></equality>', start)
    found = motion(tmp_path, '<equality><connect site1="s" site2="t"/></equality>', start)
    fault("connect by sites: angles of a four-bar", right, found, rtol=0, atol=1e-9)
    assert abs(right[0] - right[1]) < 1e-9 and abs(right[0] - 0.3) > 0.1


@pytest.mark.parametrize("weld", [
    'body1="a" body2="b" anchor="0.1 0.2 0.3"', 'body1="b" body2="a" anchor="0.1 0.2 0.3"', 'site1="u" site2="v"',
    'body1="a" body2="b" torquescale="3" relpose="1 0.1 0 1 0 0 0" anchor="0 0.1 0"'])
def test_welds(tmp_path, fault, weld):
    """Two of the three links as one, whatever the anchor: as a joint that follows another one."""
    sites = LINKS.replace('<body name="c"', '<site name="v" pos="0 0 0.2"/><body name="c"').replace(
        '<site name="s"', '<site name="u" pos="1 0 0.2"/><site name="s"')
    links = sites.replace('name="k" axis', 'name="k" pos="-1 0 0" axis')  # both turn about one axis
    answers = []
    for tail in (f"<weld {weld}/>", '<joint joint1="k" joint2="j"/>'):
        robot = read(tmp_path, f"<mujoco><worldbody>{links}</worldbody><equality>{tail}</equality></mujoco>")
        sol = tf.solve(robot.problem({"j": 0.5} if "joint1" in tail else {"j": 0.5, "k": 0.5}, (0, 0.3)),
                       tf.MixedGalerkin(2, form="energy"), 10, progress=False)
        states = robot.tree.joint_states(sol.z[-1][:robot.tree.n_q], sol.z[-1][robot.tree.n_q:])
        answers.append(np.array([states[name][0] for name in ("j", "k", "l")]))
    fault(f"weld {weld}", answers[1], answers[0], rtol=0, atol=1e-6)


def pendulums():
    """The same three angles from Lagrange's equations of the two coordinates q_j and q_l, by another integrator."""
    x, v = ca.SX.sym("x", 2), ca.SX.sym("v", 2)
    first, second, third = x[0], 2 * x[0], 2 * x[0] + x[1]
    places = [ca.vertcat(-ca.sin(a), -ca.cos(a)) / 2 for a in (first, second)]
    places.append(2 * places[1] + ca.vertcat(-ca.sin(third), -ca.cos(third)) / 2)
    rates = [ca.jtimes(place, x, v) for place in places]
    turns = v[0], 2 * v[0], 2 * v[0] + v[1]
    kinetic = sum(ca.sumsqr(u) / 2 + 0.05 * w**2 for u, w in zip(rates, turns))
    momentum = ca.gradient(kinetic, v)
    force = ca.gradient(kinetic - sum(9.81 * place[1] for place in places), x) - ca.jtimes(momentum, x, v)
    slope = ca.Function("slope", [ca.vertcat(x, v)], [ca.vertcat(v, ca.solve(ca.jacobian(momentum, v), force))])
    end = solve_ivp(lambda t, z: np.ravel(slope(z)), (0, 0.3), [0.2, 0, 0, 0], rtol=1e-10, atol=1e-12).y[:, -1]
    return np.array([end[0], 2 * end[0], end[1]])


@pytest.mark.parametrize("equality, fixed", [
    ('<tendon tendon1="t"/>', '<fixed name="t"><joint joint="k" coef="1"/><joint joint="j" coef="-2"/></fixed>'),
    ('<tendon tendon1="t" tendon2="u" polycoef="0 2 0 0 0"/>', '<fixed name="t"><joint joint="k" coef="1"/></fixed>'
     '<fixed name="u"><joint joint="j" coef="1"/></fixed>'),
    ('<joint joint1="k" joint2="j" polycoef="0 2 0 0 0"/>', ""),
    ('<joint joint1="k" joint2="j" polycoef="0 2 1e-12 0 0"/>', "")])
def test_relations_of_joints(tmp_path, fault, equality, fixed):
    """q_k = 2 q_j, in four ways."""
    start = {"j": 0.2, "k": 0.4} if "joint1" not in equality or "1e-12" in equality else {"j": 0.2}
    found = motion(tmp_path, f"<tendon>{fixed}</tendon><equality>{equality}</equality>", start)
    fault(f"relation {equality}", pendulums(), found, rtol=0, atol=1e-6)


def test_replicas(tmp_path, fault):
    robot = read(tmp_path, f"""<mujoco><worldbody><replicate count="3" offset="1 0 0"><body name="a">{I}{J}</body>
        </replicate></worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>""")
    fault("replicas: joints and motors", ("j0", "j1", "j2", "m0", "m1", "m2"),
          (*robot.tree.joint_names, *robot.actuators))
