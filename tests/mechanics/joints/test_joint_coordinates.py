"""Coordinates of joints, and states from them: random chains, loops, poses relative to other bodies, messages."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.values.of_parts import coordinate_at

Z = (0, 0, 1)


def vectors(seed):
    rng = np.random.default_rng(seed)
    return lambda: rng.normal(size=3)


def stacked(states):
    return np.concatenate([*(s.q for s in states.values()), *(s.p for s in states.values())])


def chain(rotation, seed):
    """Eight bodies and a bead with every joint, in both senses, and a state of their joints."""
    v = vectors(seed)
    bodies = [tf.RigidBody(1.0, (2, 3, 4), rotation, name=f"b{i}") for i in range(8)]
    bead = tf.PointMass(1.0, name="bead")
    p = lambda: {"point_a": v(), "point_b": v()}
    joints = [
        tf.Revolute(bodies[0], **p(), axis_a=v(), axis_b=v(), name="revolute"),
        tf.Cylindrical(bodies[0], bodies[1], **p(), axis_a=v(), axis_b=v(), direction_a=v(), name="cylindrical"),
        tf.Prismatic(bodies[2], bodies[1], **p(), axis_b=v(), orientation=(0, 0.6, 0, 0.8), name="prismatic"),
        tf.Universal(bodies[3], bodies[2], **p(), axis_a=v(), axis_b=v(), name="universal"),
        tf.Planar(bodies[3], bodies[4], **p(), axis_a=v(), axis_b=v(), name="planar"),
        tf.Spherical(bodies[5], bodies[4], **p(), name="spherical"),
        tf.Weld(bodies[6], bodies[5], **p(), orientation=(0.6, 0, 0.8, 0), name="weld"),
        tf.Revolute(bodies[6], bodies[7], **p(), axis_a=v(), axis_b=v(), direction_a=v(), direction_b=v(), name="last"),
        tf.Spherical(bodies[7], bead, point_a=v(), point_b=(0, 0, 0))]
    turn = np.random.default_rng(seed + 100).normal(size=4)
    given = {"revolute": (2.5, 0.3), "cylindrical": {"angle": (-3.0, 1.0), "displacement": (0.4, -0.5)},
             "prismatic": (0.3, 0.2), "universal": {"angle_b": (0.4, 0.1), "angle_a": (2.2, 0.7)},
             "planar": {"angle": (0.3, 1), "u": (1, 2), "v": (3, 4)},
             "spherical": (turn / np.linalg.norm(turn), (0.1, 0.2, 0.3)), "last": (1.0, 2.0)}
    return tf.System([*bodies, bead, *joints]), joints, given


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("seed", range(3))
def test_states_from_coordinates_of_a_chain(rotation, seed):
    """Constraints hold on both levels, and every coordinate and rate is that given."""
    system, joints, given = chain(rotation, seed)
    z = stacked(system.state(given))
    assert np.abs(system.constraints(0, z)).max() < 1e-13
    for joint in joints:
        for coordinate in joint.coordinates:
            wanted = given[joint.name]
            wanted = wanted[coordinate.name] if isinstance(wanted, dict) else wanted
            assert np.abs(np.subtract(coordinate_at(system, joint.bound(coordinate.name), z), wanted)).max() < 1e-13


def test_angles_without_directions_are_zero_where_bodies_are_aligned():
    a, b = (tf.RigidBody(1.0, (2, 3, 4), name=n) for n in "ab")
    hinge = tf.Revolute(a, b, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(1, 2, 3), axis_b=(1, 2, 3))
    cross = tf.Universal(a, b, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=Z)
    z = np.concatenate([*(body.state(tf.Pose())[0] for body in (a, b)), np.zeros(14)])
    for joint in (hinge, cross):
        system = tf.System([a, b, joint])
        assert all(abs(coordinate_at(system, joint.bound(c.name), z)[0]) < 1e-15 for c in joint.coordinates)


def test_the_zero_of_an_angle_by_a_direction():
    """direction_b = y: the angle is zero where the x axis of a, its direction_a, stands along y."""
    body = tf.RigidBody(1.0, (2, 3, 4))
    hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, direction_a=(1, 0, 0),
                        direction_b=(0, 5, 0.3))
    system = tf.System([body, hinge])
    z = stacked(system.state({hinge: -np.pi / 2}))
    assert np.abs(body.rotation_matrix(z[:7]) - np.eye(3)).max() < 1e-15


def four_bar():
    def bar(name, length):
        return tf.RigidBody(1.0, (length**2 / 12, 0.001, length**2 / 12), name=name)

    def hinge(a, b, point_a, point_b, name):
        return tf.Revolute(a, b, point_a=point_a, point_b=point_b, axis_a=Z, axis_b=Z, name=name)

    crank, coupler, rocker = bar("crank", 1.0), bar("coupler", 3.0), bar("rocker", 2.0)
    joints = [hinge(crank, None, (0, -0.5, 0), (0, 0, 0), "crank axle"),
              hinge(coupler, crank, (0, -1.5, 0), (0, 0.5, 0), "knee"),
              hinge(rocker, None, (0, -1, 0), (3, 0, 0), "rocker axle"),
              tf.Spherical(rocker, coupler, point_a=(0, 1, 0), point_b=(0, 1.5, 0), name="ball")]
    return tf.System([crank, coupler, rocker, *joints], redundant="drop")


def test_loops_are_closed():
    """Freudenstein's four-bar: the rocker follows the crank, places and rates against the closed form."""
    system, angle, rate = four_bar(), 0.2, 1.5
    z = stacked(system.state({"crank axle": (angle, rate)}))
    assert np.abs(system.constraints(0, z)).max() < 1e-13
    found = {name: coordinate_at(system, system[name].bound(), z) for name in ("crank axle", "knee", "rocker axle")}
    assert np.abs(np.subtract(found["crank axle"], (angle, rate))).max() < 1e-13

    def loop(a, b, c):  # crank, coupler and rocker along their y axes, from the vertical
        return np.array([-np.sin(a) - 3 * np.sin(b) - (3 - 2 * np.sin(c)), np.cos(a) + 3 * np.cos(b) - 2 * np.cos(c)])

    b, c = angle + found["knee"][0], found["rocker axle"][0]
    assert np.abs(loop(angle, b, c)).max() < 1e-13
    h = 1e-6
    slopes = [(loop(*np.add((angle, b, c), h * e)) - loop(*np.subtract((angle, b, c), h * e))) / (2 * h)
              for e in np.eye(3)]
    rates = np.linalg.solve(np.column_stack(slopes[1:]), -rate * slopes[0])
    assert np.abs(np.subtract(rates, (rate + found["knee"][1], found["rocker axle"][1]))).max() < 1e-8


def test_contradicting_coordinates_are_refused():
    with pytest.raises(tf.InputError, match=r"with angle 2\.5 of rocker axle: the nearest has"):
        four_bar().state({"crank axle": 0.2, "knee": -1.0, "rocker axle": 2.5})


def test_a_given_pose_and_a_coordinate_that_contradict_each_other():
    system = four_bar()
    body = tf.RigidBody(1.0, (1, 1, 1), name="flap")
    hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="hinge")
    system = tf.System([body, hinge])
    with pytest.raises(tf.InputError, match=r"angle 0\.4 of hinge: the nearest has 0;"):
        system.state({hinge: 0.4, body: tf.Pose()})


def test_base_of_a_floating_chain():
    a, b = (tf.RigidBody(1.0, (2, 3, 4), name=n) for n in "ab")
    hinge = tf.Revolute(b, a, point_a=(0, -1, 0), point_b=(0, 1, 0), axis_a=Z, axis_b=Z, name="hinge")
    system = tf.System([a, b, hinge])
    state = system.state({hinge: (0.0, 2.0)}, base=tf.Pose((1, 2, 3), velocity=(1, 0, 0), angular_velocity=(0, 0, 1)))
    z = stacked(state)
    assert np.abs(system.constraints(0, z)).max() < 1e-13
    assert np.abs(b.position(state[b].q) - (1, 4, 3)).max() < 1e-14
    assert np.abs(b.velocity(state[b].q, state[b].p) - (1 - 1 - 3, 0, 0)).max() < 1e-14
    with pytest.raises(tf.InputError, match="base is given, but every body"):
        tf.System([a, tf.Revolute(a, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z)]).state({}, tf.Pose())


def test_poses_relative_to_another_body():
    """Against the formulas of relative motion, by differences of the places in time."""
    a, b = (tf.RigidBody(1.0, (2, 3, 4), name=n) for n in "ab")
    system = tf.System([a, b])
    first = tf.Pose((1, 2, 3), (0.8, 0, 0.6, 0), (1, -1, 0.5), (0.3, 0.2, -0.7))
    second = tf.Pose((0, 2, 0), (0.6, 0.8, 0, 0), (0.1, 0.2, 0.3), (1, 2, 3), relative_to="a")
    problem = tf.InitialValueProblem(system, {b: second, a: first}, (0, 1))
    q, p = problem.z0[7:14], problem.z0[21:]
    r = a.rotation_matrix(problem.z0[:7])
    spin = r @ (0.3, 0.2, -0.7)
    assert np.abs(b.position(q) - (np.array([1, 2, 3]) + r @ (0, 2, 0))).max() < 1e-14
    assert np.abs(b.velocity(q, p) - ((1, -1, 0.5) + np.cross(spin, r @ (0, 2, 0)) + r @ (0.1, 0.2, 0.3))).max() < 1e-14
    turned = r @ np.array([[1, 0, 0], [0, -0.28, -0.96], [0, 0.96, -0.28]])
    assert np.abs(b.rotation_matrix(q) - turned).max() < 1e-14
    assert np.abs(b.angular_velocity(q, p, "space") - (spin + turned @ (1, 2, 3))).max() < 1e-13
    with pytest.raises(tf.InputError, match="relative to itself"):
        tf.InitialValueProblem(system, {a: tf.Pose(relative_to=b), b: tf.Pose(relative_to=a)}, (0, 1))


@pytest.mark.parametrize("given, message", [
    ({"elbo": 1}, "no body 'elbo'"),
    ({"crank axle": "far"}, "value or \\(value, rate\\)|must be a number"),
    ({"crank axle": (1, 2, 3)}, "must have shape"),
    ({"crank axle": {"angel": 1}}, "did you mean 'angle'"),
    ({"ball": 0.3}, "state of ball: orientation"),
])
def test_wrong_states(given, message):
    with pytest.raises(tf.InputError, match=message):
        four_bar().state(given)


def test_wrong_joints():
    a, b = (tf.RigidBody(1.0, (2, 3, 4), name=n) for n in "ab")
    with pytest.raises(tf.InputError, match="direction_a is along the axis"):
        tf.Revolute(a, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, direction_a=(0, 0, 2))
    ball = tf.Spherical(a, b, point_a=(0, 0, 0), point_b=(0, 0, 0))
    with pytest.raises(tf.InputError, match="must be a joint with an angle or a displacement"):
        tf.JointSpring(ball, stiffness=1)
    screw = tf.Cylindrical(a, b, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z)
    with pytest.raises(tf.InputError, match="'angle', 'displacement', not 'twist'"):
        tf.JointSpring(screw, stiffness=1, coordinate="twist")
    assert tf.JointSpring(screw, stiffness=1).coordinate == "angle"
    with pytest.raises(tf.InputError, match="must be a dict with 'angle', 'displacement'"):
        tf.System([a, b, screw]).state({screw: 0.3})
