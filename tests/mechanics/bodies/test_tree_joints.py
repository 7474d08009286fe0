"""Parts on joints of trees, and forces in them, against the same systems in redundant coordinates."""

import numpy as np
import pytest

import timefem as tf

from .test_tree_links import CENTRE, ELEMENT, GRAVITY, JOINTS, LINKS, STATE, forces, four_bar, redundant  # noqa: F401

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def arm():
    return tf.Tree(LINKS, JOINTS, name="arm")


def drives(joint):
    """Parts on the joints `joint(name)`."""
    shoulder, elbow, wrist = map(joint, STATE)
    return [tf.JointSpring(elbow, stiffness=5, rest=0.2), tf.JointDamper(shoulder, damping=0.1),
            tf.JointFriction(elbow, friction=0.1, friction_width=3), tf.Motor(shoulder, gear=5, torque=tf.Sine(1, 2)),
            tf.JointForce(wrist, value=tf.Sine(0.1, 3)),
            tf.PDControl(wrist, stiffness=1, damping=0.02, reference=tf.Sine(0.2, 1)),
            tf.Controller([elbow, wrist], lambda x, v, t, c: -c[0] * (x - 0.1) - 0.02 * v, parameters=[0.5])]


@pytest.fixture(scope="module")
def both(arm):
    """The motion in joint coordinates and in redundant ones, with all parts."""
    system = tf.System([arm, *forces(arm.link, lambda _, x: x), *drives(arm.joint)], gravity=GRAVITY)
    problem = tf.InitialValueProblem(system, {"shoulder": STATE["shoulder"], arm.joint("elbow"): STATE["elbow"],
                                              "arm.wrist": STATE["wrist"]}, (0, 0.2))
    sol = tf.solve(problem, ELEMENT, 60, progress=False)
    bodies, joints, state = redundant(arm, problem.z0)
    there = dict(zip(STATE, joints, strict=True))
    parts = [*bodies.values(), *joints, *forces(bodies.get, lambda name, x: np.array(x) - CENTRE[name]),
             *drives(there.get)]
    other = tf.solve(tf.InitialValueProblem(tf.System(parts, gravity=GRAVITY), state, (0, 0.2)), tf.MixedGalerkin(4),
                     60, progress=False)
    return sol, other, there


@pytest.mark.long
@pytest.mark.parametrize("name", STATE)
def test_motion_and_forces_of_joints(both, name):
    sol, other, there = both
    own, given, t = sol.joint(name), other.joint(there[name]), np.linspace(0, 0.2, 7)
    for quantity in ("angle", "rate", "drive", "power"):
        x, y = getattr(own, quantity)(t), getattr(given, quantity)(t)
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * max(1, np.abs(y).max()), err_msg=quantity)
    for axes in ("space", "a", "b"):
        for quantity in ("force", "torque"):
            x, y = getattr(own, quantity)(t, axes), getattr(given, quantity)(t, axes)
            assert np.abs(y).max() > 1
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * np.abs(y).max(), err_msg=f"{quantity} in {axes}")


@pytest.mark.long
def test_energy_balance_and_tables(both):
    sol = both[0]
    assert np.abs(sol.energy.balance()).max() < 1e-7
    table = sol.to_xarray()
    np.testing.assert_array_equal(table["elbow force"].values, sol.joint("elbow").force())
    np.testing.assert_array_equal(sol.to_dict()["joints"]["wrist"]["angle"], sol.joint("wrist").angle())


def test_parts_on_joints_are_saved(arm, tmp_path):
    system = tf.System([arm, *drives(arm.joint)[:-1]], gravity=GRAVITY)
    sol = tf.solve(tf.InitialValueProblem(system, {arm: STATE}, (0, 0.1)), ELEMENT, 5, progress=False)
    sol.save(tmp_path / "arm.h5")
    again = tf.load(tmp_path / "arm.h5")
    np.testing.assert_array_equal(again.energy(), sol.energy())
    np.testing.assert_array_equal(again.joint("shoulder").drive(), sol.joint("shoulder").drive())


@pytest.mark.long
def test_rotor_and_prescribed_joint(arm):
    """A rotor with a gear is the armature of the joint; a prescribed joint moves as prescribed."""
    shoulder, wrist = arm.joint("shoulder"), arm.joint("wrist")
    with_rotor = tf.System([arm, tf.Motor(shoulder, gear=5, rotor_inertia=0.01, torque=tf.Sine(1, 2)),
                            tf.PrescribedJoint(wrist, value=tf.Sine(0.2, 1))], gravity=GRAVITY)
    sol = tf.solve(tf.InitialValueProblem(with_rotor, {"shoulder": (0.3, 0.5)}, (0, 0.5), assemble=True),
                   tf.MixedGalerkin(3, form="energy"), 50, progress=False)
    np.testing.assert_allclose(sol.joint("wrist").angle(), 0.2 * np.sin(2 * np.pi * sol.t), rtol=0, atol=1e-12)
    joints = [tf.TreeJoint(**{**vars(JOINTS[0]), "armature": 0.25}), *JOINTS[1:]]
    heavy = tf.Tree(LINKS, joints, name="heavy")
    other = tf.System([heavy, tf.JointForce(heavy.joint("shoulder"), value=tf.Sine(5, 2)),
                       tf.PrescribedJoint(heavy.joint("wrist"), value=tf.Sine(0.2, 1))], gravity=GRAVITY)
    same = tf.solve(tf.InitialValueProblem(other, {"shoulder": (0.3, 0.5)}, (0, 0.5), assemble=True),
                    tf.MixedGalerkin(3, form="energy"), 50, progress=False)
    for name in STATE:
        np.testing.assert_allclose(sol.joint(name).angle(), same.joint(name).angle(), rtol=0, atol=1e-9)


def test_outputs_controls_and_feedforward(arm):
    """Torques that make joints follow a path, by inverse dynamics, against the closed form of the tree."""
    controls = [tf.JointControl(arm.joint(name)) for name in STATE]
    system = tf.System([arm, *controls], gravity=GRAVITY)
    path = [tf.Polynomial((0.3, 0.1, 0.5)), tf.Sine(0.4, 1), tf.Polynomial((0, 0.2))]
    outputs = dict(zip([tf.JointOutput(arm.joint(name)) for name in STATE], path, strict=True))
    problem = tf.InverseDynamics(system, outputs, {}, t_span=(0, 0.5))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)
    t = sol.t
    w = 2 * np.pi
    q = np.stack([0.3 + 0.1 * t + 0.5 * t**2, 0.4 * np.sin(w * t), 0.2 * t], axis=1)
    v = np.stack([0.1 + t, 0.4 * w * np.cos(w * t), 0.2 + 0 * t], axis=1)
    a = np.stack([1 + 0 * t, -0.4 * w**2 * np.sin(w * t), 0 * t], axis=1)
    torques = arm.inverse_dynamics(q, v, a, GRAVITY)
    np.testing.assert_allclose(sol.controls(t), torques, rtol=0, atol=1e-8)
    for i, name in enumerate(STATE):
        np.testing.assert_allclose(sol.joint(name).drive(), torques[:, i], rtol=0, atol=1e-8)
        assert tf.Limit(arm.joint(name), -1, 1).name == f"arm.{name} angle"


@pytest.mark.parametrize("kinds", [("prismatic", "spherical"), ("planar", "revolute")])
def test_forces_of_other_kinds(kinds):
    """Prismatic, planar and spherical joints, and a pull at the last link."""
    first, second = kinds
    turned = tf.Pose(orientation=np.array([0.9, 0.1, -0.3, 0.2]) / np.sqrt(0.95)).orientation
    axis = np.array([1.0, 2, 2]) / 3
    links = [tf.Link("base"), tf.Link("a", 2.0, (0, 0, 0), (0.1, 0.2, 0.25)),
             tf.Link("b", 1.0, (0, 0, 0), (0.03, 0.02, 0.04))]
    joints = [tf.TreeJoint("first", "base", "a", first, (0.1, 0.2, 0.3), turned, axis),
              tf.TreeJoint("second", "a", "b", second, (0.4, 0.1, 0), axis=axis)]
    tree = tf.Tree(links, joints, name="t")
    pull = lambda body: [tf.Spring(body, None, (0.2, 0.1, 0), (1, 0, 2), stiffness=40)]
    state = {"prismatic": (0.2, -0.5), "planar": (0.1, 0.2, 0.3, 1, -0.5, 2), "revolute": (0.4, 3),
             "spherical": tf.Pose(orientation=(0.8, 0.6, 0, 0), angular_velocity=(1, 2, -1))}
    problem = tf.InitialValueProblem(tf.System([tree, *pull(tree.link("b"))], gravity=GRAVITY),
                                     {"first": state[first], "second": state[second]}, (0, 0.2))
    sol = tf.solve(problem, ELEMENT, 20, progress=False)
    q, p = np.split(problem.z0, 2)
    v, bodies, poses = tree.velocity(q, p), [], {}
    for name in "ab":
        link, body = tree.link(name), tf.RigidBody(tree.links["ab".index(name) + 1].mass,
                                                   tree.links["ab".index(name) + 1].inertia, name=name)
        x, rates = q[link.dofs], v[link.dofs]
        poses[body] = tf.Pose(link.position(x), link.rotation_matrix(x), link.velocity(x, rates),
                              link.angular_velocity(x, rates))
        bodies.append(body)
    a, b = bodies
    turn = joints[0].orientation
    made = {"prismatic": lambda: tf.Prismatic(a, point_a=(0, 0, 0), point_b=(0.1, 0.2, 0.3), axis_b=turn @ axis,
                                              orientation=turn),
            "planar": lambda: tf.Planar(a, point_a=(0, 0, 0), point_b=(0.1, 0.2, 0.3), axis_a=axis,
                                        axis_b=turn @ axis)}[first]()
    other = {"spherical": lambda: tf.Spherical(b, a, point_a=(0, 0, 0), point_b=(0.4, 0.1, 0)),
             "revolute": lambda: tf.Revolute(b, a, point_a=(0, 0, 0), point_b=(0.4, 0.1, 0), axis_a=axis,
                                             axis_b=axis)}[second]()
    there = tf.solve(tf.InitialValueProblem(tf.System([a, b, made, other, *pull(b)], gravity=GRAVITY), poses, (0, 0.2)),
                     tf.MixedGalerkin(4), 20, progress=False)
    for name, joint in (("first", made), ("second", other)):
        for quantity in ("force", "torque"):
            x, y = getattr(sol.joint(name), quantity)(), getattr(there.joint(joint), quantity)()
            if quantity == "torque" and name == "first":  # about points that slide: theirs stands in the body as well
                assert np.abs(y).max() > 0.1
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-8, err_msg=f"{quantity} of {name}")


def test_nothing_holds_a_free_base(arm):
    """What the joint of a free base transmits is round-off, with forces and drives inside."""
    free = tf.Tree(LINKS[1:], JOINTS[1:], name="free", base="free")
    system = tf.System([free, *forces(free.link, lambda _, x: x), tf.JointSpring(free.joint("elbow"), stiffness=5)],
                       gravity=GRAVITY)
    state = {"base": tf.Pose((0, 0, 1), velocity=(1, 0, 0), angular_velocity=(0, 1, 2)), "elbow": (0.3, 1)}
    sol = tf.solve(tf.InitialValueProblem(system, {free: state}, (0, 0.1)), tf.MixedGalerkin(2, form="lagrange"), 10,
                   progress=False)
    assert np.abs(sol.joint("base").force()).max() < 1e-10 and np.abs(sol.joint("base").power()).max() < 1e-9
    assert np.abs(sol.joint("elbow").force()).max() > 1


def test_forces_that_close_a_loop(four_bar):  # noqa: F811
    """A joint between links, and the joints inside, against the same linkage in redundant coordinates."""
    tree, problem = four_bar
    sol = tf.solve(problem, tf.MixedGalerkin(3, form="energy"), 50, progress=False)
    q, p = np.split(problem.z0, 2)
    v, bodies, poses = tree.velocity(q, p), {}, {}
    for link in tree.links[1:]:
        body, frame = tf.RigidBody(link.mass, link.inertia, name=link.name), tree.link(link.name, link.centre)
        x, rates = q[frame.dofs], v[frame.dofs]
        poses[body] = tf.Pose(frame.position(x), frame.rotation_matrix(x), frame.velocity(x, rates),
                              frame.angular_velocity(x, rates))
        bodies[link.name] = body, link.centre
    (crank, c), (coupler, d), (rocker, e) = bodies.values()
    z = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    joints = [tf.Revolute(crank, point_a=-c, point_b=(0, 0, 0), name="CRANK", **z),
              tf.Revolute(coupler, crank, point_a=-d, point_b=c, name="COUPLER", **z),
              tf.Revolute(rocker, point_a=-e, point_b=(2.5, 0, 0), name="ROCKER", **z),
              tf.Spherical(coupler, rocker, point_a=d, point_b=e, name="hinge")]
    system = tf.System([crank, coupler, rocker, *joints], gravity=(0, -9.81, 0), redundant="drop")
    other = tf.solve(tf.InitialValueProblem(system, poses, (0, 0.5)), tf.MixedGalerkin(3), 50, progress=False)
    for name in ("CRANK", "ROCKER", "hinge"):
        x, y = sol.joint(name).force(0.1), other.joint(name).force(0.1)
        np.testing.assert_allclose(x[:2], y[:2], rtol=0, atol=1e-6 * np.abs(y).max(), err_msg=name)
