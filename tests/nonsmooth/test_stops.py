"""Stops of joints whose turns are counted: nothing that counts has inertia, or is lost while the stop is open."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import timefem as tf

G, ANGLE = 9.81, 0.8


def pendulum(length=1.0, mass=1.0, time=1.0, friction=0.0, turns=True):
    """A rod of length 1 on a hinge, let go at 0.8 rad, with a stop at -0.2 rad; numbers in other units."""
    inertia = mass * length**2
    rod = tf.RigidBody(mass, [inertia / 12, inertia / 12, 1e-3 * inertia], name="rod")
    hinge = tf.Revolute(rod, axis_a=(0, 1, 0), axis_b=(0, 1, 0), point_a=(0, 0, length / 2), point_b=(0, 0, 0))
    parts = [rod, hinge, tf.EndStop(hinge, lowest=-0.2, restitution=0.5, turns=turns)]
    if friction:
        parts.append(tf.JointFriction(hinge, friction=friction * inertia / time**2))
    place = -length / 2 * np.array([np.sin(ANGLE), 0, np.cos(ANGLE)])
    state = {rod: tf.Pose(place, orientation=(np.cos(ANGLE / 2), 0, np.sin(ANGLE / 2), 0))}
    system = tf.System(parts, gravity=(0, 0, -G * length / time**2))
    return tf.InitialValueProblem(system, state, (0, 2 * time))


@pytest.mark.parametrize("turns", [True, False])
def test_energy_after_a_stop(turns):
    """The rod keeps a quarter of its energy of motion at the stop."""
    problem = pendulum(turns=turns)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 80)
    assert sol.success and sol.events[0].kind == "impact"
    energy = sol.energy()
    motion = G / 2 * (np.cos(0.2) - np.cos(ANGLE))
    assert sol.events[0].energy == pytest.approx(-0.75 * motion, rel=1e-6)
    before = sol.t < sol.events[0].t
    between = (sol.t > sol.events[0].t) & (sol.t < sol.events[1].t)
    assert np.ptp(energy[between]) < 1e-6 * motion
    assert energy[between].mean() - energy[before].mean() == pytest.approx(-0.75 * motion, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_units_do_not_matter(friction):
    """In kg, m, s and in g, mm, ms."""
    first, second = (tf.solve(pendulum(*units, friction), tf.MixedGalerkin(2), 80)
                     for units in ((1, 1, 1), (1e3, 1e3, 1e3)))
    assert first.success and second.success
    assert [e.kind for e in first.events] == [e.kind for e in second.events]
    np.testing.assert_allclose([1e3 * e.t for e in first.events], [e.t for e in second.events], rtol=1e-9)
    np.testing.assert_allclose(first.z[-1][3:7], second.z[-1][3:7], rtol=0, atol=1e-9)


def sprung_arm(stiffness, rest):
    """Of a tree whose hinge has a spring of its own."""
    links = [tf.Link("base"), tf.Link("arm", mass=1.0, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))]
    return tf.Tree(links, [tf.TreeJoint("hinge", "base", "arm", axis=(0, 1, 0), stiffness=stiffness, rest=rest)])


def marched(arm, part, start, span):
    problem = tf.InitialValueProblem(tf.System([arm, part]), {arm: {"hinge": start}}, (0, span))
    return tf.solve(problem, tf.MixedGalerkin(3, form="lagrange"), 40, progress=False)


def test_spring_of_a_tree_presses_on_its_stop():
    arm = sprung_arm(5.0, -1.0)
    sol = marched(arm, tf.EndStop(arm.joint("hinge"), lowest=0.0), 0.0, 1.0)
    assert not sol.events
    np.testing.assert_allclose(sol.contact_forces([0.3, 0.9])[:, 0, 0], 5.0, rtol=1e-12)


@pytest.mark.parametrize("start", [0.29, 0.3])
def test_spring_of_a_tree_overcomes_dry_friction(start):
    """Half swings in `pi sqrt(J / k)`, each shorter by twice the friction over the stiffness, until it holds; from 0.3
    on the spring then pulls as much as friction holds at most."""
    stiffness, dry, inertia = 50.0, 3.0, 0.35
    arm = sprung_arm(stiffness, 0.0)
    sol = marched(arm, tf.JointFriction(arm.joint("hinge"), friction=dry), start, 2.0)
    half = np.pi * np.sqrt(inertia / stiffness)
    assert [event.t for event in sol.events] == pytest.approx([half, 2 * half], abs=1e-6)
    assert [event.kind for event in sol.events] == ["slips", "sticks"]
    assert sol.joint("hinge").angle(2.0) == pytest.approx(start - 4 * dry / stiffness, abs=1e-7)


Y, TURNED = np.array([0.0, 1.0, 0.0]), Rotation.from_euler("zyx", [0.8, -2.0, 1.1]).as_matrix()
JOINTS = {"hinge": (tf.Revolute, {"angle": (0.5, -1.0)}, {"angle": (0.3, 0.9)}, 0),
          "table": (tf.Planar, {"angle": (0.5, -1.0), "u": (0.1, 0.3), "v": (0.0, 1.2)},
                    {"angle": (-0.2, 0.9), "u": (-0.3, 0.6), "v": (-0.1, 0.5)}, 0),
          "cross": (tf.Universal, {"angle_a": (0.2, -3.0), "angle_b": (0.1, 2.0)},
                    {"angle_a": (-0.1, 0.9), "angle_b": (-0.2, 0.3)}, 1)}  # class, start, stops, axis in space


def against_the_ground(name, world, directed=True, coordinates="bodies", rotation="quaternion"):
    """A bar with a joint to the ground, and stops of all its coordinates, in a turned world."""
    kind, start, stops, axis = JOINTS[name]
    bar = tf.RigidBody(1.2, (0.1, 0.12, 0.05), rotation=rotation, name="bar")
    zero = {"direction_a": Y, "direction_b": world[:, 1 - axis]} if directed else {}
    joint = kind(bar, point_a=(0, 0, 0.4), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=world[:, axis], name=name,
                 **zero)
    parts = [tf.EndStop(joint, coordinate=c, lowest=low, highest=high, restitution=0.7, name=f"stop of {c}")
             for c, (low, high) in stops.items()]
    system = tf.System([bar, joint, *parts], gravity=world @ [0.4, 3.0, -9.81], coordinates=coordinates)
    turn = Rotation.from_matrix(world @ Rotation.from_rotvec([0.5, 0, 0]).as_matrix())
    pose = tf.Pose(world @ [0, 0.4 * np.sin(0.5), -0.4 * np.cos(0.5)],
                   turn.as_quat(scalar_first=True))
    return tf.InitialValueProblem(system, {joint: start} if directed else {bar: pose}, (0, 0.8))


@pytest.mark.parametrize("coordinates", ["bodies", "directors", "joint"])
@pytest.mark.parametrize("name", list(JOINTS))
def test_worlds_are_alike(name, coordinates):
    """Directions of both bodies say where coordinates are zero, so that the world of a joint to the ground may be
    turned; a free link has coordinates of its own in each, equal to the order of the element."""
    tolerance = 2e-6 if (name, coordinates) == ("table", "joint") else 1e-10
    given = {"rotation": coordinates} if coordinates == "directors" else {"coordinates": coordinates}
    one, other = (tf.solve(against_the_ground(name, world, **given), tf.MixedGalerkin(2), 16, progress=False)
                  for world in (np.eye(3), TURNED))
    assert one.success and one.events
    assert [(e.kind, e.contacts) for e in one.events] == [(e.kind, e.contacts) for e in other.events]
    np.testing.assert_allclose([e.t for e in other.events], [e.t for e in one.events], rtol=0, atol=tolerance)
    t = np.linspace(0, 0.8, 9)
    np.testing.assert_allclose(other.position("bar", t) @ TURNED, one.position("bar", t), rtol=0, atol=10 * tolerance)


def test_refusal_names_the_zero():
    problem = against_the_ground("hinge", np.diag([1.0, -1.0, -1.0]), directed=False)
    with pytest.raises(tf.InputError, match=r"overlaps at the start .* axes of space: give the joint a direction_a"):
        tf.solve(problem, tf.MixedGalerkin(2), 16, progress=False)
