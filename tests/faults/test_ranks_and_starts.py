"""Statics of what hangs by joints, ranks by the own sizes of a system, and rows of rounding: solved, not refused."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize

import timefem as tf

G = 9.81
Z = (0, 0, 1)


@pytest.mark.parametrize("place", [(0, 0, -1), (0.1, 0, -0.99), (0.8, 0.5, 0.1), (0, 0, 1)])
def test_a_pendulum_hangs(fault, place):
    bob = tf.PointMass(2.0, name="bob")
    pendulum = tf.System([bob, tf.RigidDistance(bob, None, length=1.0)], gravity=(0, 0, -G))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = tf.equilibrium(pendulum, {bob: tf.Pose(place)})
    assert found.success, found.status.message
    assert [w.category for w in told] == [tf.Unstable] * (found.n_unstable > 0)
    assert all("unstable in 2 directions, bob first" in str(w.message) for w in told)
    assert place != (0, 0, 1) or told
    fault(f"pendulum from {place}", 1.0, np.linalg.norm(found.q), rtol=1e-9)
    assert abs(found.q[:2]).max() < 1e-9 and found.n_unstable == (0 if found.q[2] < 0 else 2)


@pytest.mark.parametrize("strength", [0.2, 0.5, 1.0, 2.0])
def test_a_pendulum_beside_a_magnet(fault, strength):
    """Newton's method leaps to the top from there; the place to which it falls from the guess is nearer."""
    bob = tf.PointMass(1.0, name="bob")
    magnet = tf.NonlinearSpring(bob, point_b=(0.3, 0, -1.2), potential=f"-{strength}/l")
    system = tf.System([bob, tf.RigidDistance(bob, None, length=1.0), magnet], gravity=(0, 0, -G))

    def moment(angle):
        way = np.array([0.3, -1.2]) - [np.sin(angle), -np.cos(angle)]
        pull = strength * way / np.linalg.norm(way)**3 + [0, -G]
        return pull @ [np.cos(angle), np.sin(angle)]

    found = tf.equilibrium(system, {bob: tf.Pose((0, 0, -1))})
    assert found.success and found.n_unstable == 0
    angle = scipy.optimize.brentq(moment, 0, np.arctan(0.25), xtol=1e-14)
    fault(f"magnet of {strength}", (np.sin(angle), 0, -np.cos(angle)), tuple(found.q), atol=1e-9)


def test_a_chain_between_supports(fault):
    n, span = 12, 8.0
    beads = [tf.PointMass(1.0, name=f"bead {i}") for i in range(n - 1)]
    rods = [tf.RigidDistance(beads[0], None, point_b=(0, 0, 0), length=1.0)]
    rods += [tf.RigidDistance(a, b, length=1.0) for a, b in pairwise(beads)]
    rods += [tf.RigidDistance(beads[-1], None, point_b=(span, 0, 0), length=1.0)]
    pulls = (np.arange(n) - (n - 1) / 2) * G
    pull = scipy.optimize.brentq(lambda h: (h / np.hypot(h, pulls)).sum() - span, 1e-3, 1e4)
    low = np.cumsum(pulls / np.hypot(pull, pulls))[:-1]
    guess = {bead: tf.Pose((span * (i + 1) / n, 0, 1.02 * low[i])) for i, bead in enumerate(beads)}
    found = tf.equilibrium(tf.System([*beads, *rods], gravity=(0, 0, -G)), guess)
    fault("chain of 12 rods", low.min(), found.q.reshape(-1, 3)[:, 2].min() if found.success else None, rtol=1e-9)


@pytest.mark.parametrize("depth", [0.1, 1.0, -0.5])
def test_a_slack_rope_from_a_sine(fault, depth):
    rope = tf.Rope(tf.Line((0, 0, 0), (3, 0, 0)), tf.RopeSection(1e5, 0.2), 12, 1, slack=True, name="rope")
    hold = [tf.PrescribedPosition(node, position=(x, 0, 0)) for node, x in ((rope.start, 0), (rope.end, 1.6))]
    guess = {n: tf.Pose((1.6 * s, 0, -depth * np.sin(np.pi * s))) for n, s in zip(rope.nodes, rope.places)}
    found = tf.equilibrium(tf.System([rope, *hold], gravity=(0, 0, -G)), guess)
    a = scipy.optimize.brentq(lambda a: 2 * a * np.sinh(0.8 / a) - 3, 0.1, 5)
    assert found.success, found.status.message
    fault(f"rope from a sine of {depth:g} m", a - a * np.cosh(0.8 / a), min(found.position(n)[2] for n in rope.nodes),
          rtol=0.01)


def double_pendulum(mass, length):
    inertia = mass * length**2
    upper = tf.RigidBody(2 * mass, (0.2 * inertia, 0.02 * inertia, 0.2 * inertia), name="upper")
    lower = tf.RigidBody(mass, (0.1 * inertia, 0.01 * inertia, 0.1 * inertia), name="lower")
    first = tf.Revolute(upper, point_a=(0, 0.5 * length, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="first")
    second = tf.Revolute(lower, upper, point_a=(0, 0.3 * length, 0), point_b=(0, -0.5 * length, 0), axis_a=Z, axis_b=Z,
                         name="second")
    system = tf.System([upper, lower, first, second], gravity=(0, -G * length, 0))
    sol = tf.solve(tf.InitialValueProblem(system, {first: 1.0, second: (0.5, 2.0)}, (0, 1)), tf.MixedGalerkin(2), 50,
                   progress=False)
    return sol.joint(first).angle(1.0), sol.joint(second).angle(1.0)


@pytest.mark.parametrize("mass, length", [(1e3, 1e4), (1.0, 1e6), (1e-6, 1e-3), (1e3, 1e-6), (1e-9, 1e5)])
def test_lengths_and_masses_of_any_size(fault, mass, length):
    fault(f"double pendulum of {mass:g} kg, {length:g} m", double_pendulum(1.0, 1.0), double_pendulum(mass, length),
          rtol=1e-9)


@pytest.mark.parametrize("across", "xyz")
def test_a_loop_in_a_plane(fault, across):
    """Its gap across the plane never changes: a row of zeros, or of rounding."""
    axis, d, e = {"x": ((1, 0, 0), (0, 1, 0), (0, 0, -1)), "y": ((0, 1, 0), (1, 0, 0), (0, 0, -1)),
                  "z": ((0, 0, 1), (1, 0, 0), (0, -1, 0))}[across]
    d, e = np.array(d, float), np.array(e, float)
    links = [tf.Link("ground")] + [tf.Link(n, 1.0, c, (0.1, 0.1, 0.1)) for n, c in (("a", d / 2), ("b", e / 2),
                                                                                  ("c", d / 2))]
    joints = [tf.TreeJoint("ja", "ground", "a", axis=axis), tf.TreeJoint("jb", "a", "b", axis=axis, position=d),
              tf.TreeJoint("jc", "ground", "c", axis=axis, position=e)]
    tree = tf.Tree(links, joints, name="loop")
    close = tf.Spherical(tree.link("b"), tree.link("c"), point_a=tuple(e), point_b=tuple(d), name="close")
    angles = []
    for assemble in (False, True):
        system = tf.System([tree, close], gravity=(0, -3, -G), redundant="drop")
        problem = tf.InitialValueProblem(system, {tree: {}}, (0, 0.5), assemble=assemble)
        sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, progress=False)
        angles.append(sol.joint("ja").angle(0.5))
        fault(f"dropped of a loop across {across}", (f"close: gap, {across}",), tuple(problem.system.dropped))
    fault("its angle, assembled", angles[0], angles[1], rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("mass, length", [(1.0, 1.0), (1e3, 1e3)])
def test_inverse_dynamics_of_arms(fault, n, mass, length):
    """Each drive moves its own angle; rank by sizes of forces, in kg and m, or g and mm."""
    axes, masses, lengths = (Z, (0, 1, 0), (0, 1, 0), (0, 1, 0)), (3.7, 8.39, 2.27, 1.22), (0.1, 0.425, 0.392, 0.11)
    parts, motors, outputs, last, joints = [], [], {}, None, []
    for i in range(n):
        half = np.array([0, 0, lengths[i] / 2]) * length
        inertia = 1e-3 + masses[i] * lengths[i]**2 / 12
        unit = mass * length**2
        body = tf.RigidBody(masses[i] * mass, (inertia * unit, inertia * unit, 2e-3 * unit), name=f"link {i}")
        near = (0, 0, 0) if last is None else (0, 0, lengths[i - 1] / 2 * length)
        joints.append(tf.Revolute(body, last, point_a=tuple(-half), point_b=near, axis_a=axes[i], axis_b=axes[i],
                                  name=f"joint {i}"))
        motors.append(tf.JointControl(joints[-1], name=f"motor {i}"))
        outputs[tf.JointOutput(joints[-1])] = tf.Transfer(0, 1.0, 0.3, 0.5, smoothness=3)
        parts, last = [*parts, body, joints[-1]], body
    system = tf.System(parts, gravity=(0, 0, -G * length))
    problem = tf.InverseDynamics(system, outputs, system.state(dict.fromkeys(joints, 0.3)), t_span=(0, 1.0),
                                 actuators=motors)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 10, progress=False)
    assert sol.success, sol.status.message
    fault(f"arm with {n} drives, {mass:g}, {length:g}: angles", np.full(n, 0.5),
          np.array([sol.joint(joint).angle(1.0) for joint in joints]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("length", [1.0, 1e3])
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_a_body_in_springs(fault, length, coordinates):
    """In joint coordinates its quaternion has a length that nothing holds; in mm steps went by another measure."""
    body = tf.RigidBody(1.0, np.array([0.1, 0.2, 0.25]) * length**2, name="body")
    arms = length * np.array([(0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.3), (-0.3, -0.2, -0.1)])
    springs = [tf.Spring(body, point_a=a, point_b=2 * a + [0, 0, 0.1 * length], stiffness=100.0, length=0.5 * length)
               for a in arms]
    system = tf.System([body, *springs], gravity=(0, 0, -9.81 * length), coordinates=coordinates)
    turned = np.array([9, 1, 2, 3]) / np.sqrt(95)
    rest = tf.equilibrium(system, {body: tf.Pose((0, 0, 0), turned)})
    again = tf.equilibrium(system, np.concatenate([rest.q, 0 * rest.q]))  # a whole state as the guess
    for name, found in (("place", rest), ("from a whole state", again)):
        fault(name, (-0.008303, -0.004808, -0.198291), found.position(body) / length, atol=1e-6)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_what_falls_without_end_is_named(rotation):
    """A sled on a rail by a spring whose force has a bound of 3 N: held against less, and named under more."""
    sled = tf.RigidBody(2.0, (0.1, 0.2, 0.25), rotation, name="sled")
    rail = tf.Prismatic(sled, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    weak = tf.FormulaEnergy([sled], "3 * sqrt(0.25 + dot(f[0].position, f[0].position))", name="weak")
    start = {sled: tf.Pose((0.1, 0, 0))}
    held = tf.equilibrium(tf.System([sled, rail, weak], gravity=(1.2, 0, -3)), start)
    np.testing.assert_allclose(held.position(sled), [2 / 3, 0, 0], rtol=0, atol=1e-9)
    falls = tf.equilibrium(tf.System([sled, rail, weak], gravity=(5, 0, -3)), start)
    assert not falls.success and "sled falls without end" in falls.status.message


def balls(unit):
    """Three in a row of springs, all at the origin."""
    balls = [tf.PointMass(0.5, name=name) for name in "abc"]
    springs = [tf.Spring(ball, other, stiffness=k, length=length * unit) for ball, other, k, length in
               zip(balls, [None, *balls[:2]], (50, 50, 80), (0.3, 0.3, 0.2), strict=True)]
    weight = 0.5 * 9.81
    return [*balls, *springs], -0.8 * unit - 5 * weight / 50 - weight / 80


def a_ball_on(spring):
    return [ball := tf.PointMass(0.5, name="c"), spring(ball)], -0.3 - 0.5 * 9.81 / 50


COINCIDE = {
    "balls": lambda: balls(1.0), "balls, short springs": lambda: balls(1e-4), "balls, long springs": lambda: balls(1e4),
    "a formula": lambda: a_ball_on(lambda ball: tf.NonlinearSpring(ball, None, potential="25 * (l - 0.3)**2")),
    "energy": lambda: a_ball_on(lambda ball: tf.FormulaEnergy(ball, "25 * (norm(f[0].position) - 0.3)**2"))}


@pytest.mark.parametrize("name", COINCIDE)
def test_points_that_coincide(fault, name):
    """Without a guess a ball is where its spring begins, whose force has no direction there."""
    parts, height = COINCIDE[name]()
    rest = tf.equilibrium(tf.System(parts, gravity=(0, 0, -9.81)))
    fault(f"{name} on springs from one point", height, rest.position("c")[2], rtol=1e-9)
    assert rest.success and rest.n_unstable == 0


def test_what_is_not_finite_anywhere_is_named():
    ball = tf.PointMass(1.0)
    system = tf.System([ball, tf.FormulaEnergy(ball, "sqrt(-1 - f[0].position[2]**2)", name="well")])
    with pytest.raises(tf.InputError, match="well is not finite at the guess"):
        tf.equilibrium(system)


def on_a_floor(shape, rotation="quaternion"):
    body = tf.RigidBody(2.0, (0.01, 0.011, 0.012), rotation=rotation, name="body", size=(0.2, 0.3, 0.1))
    return body, {"box": lambda: tf.BoxContact(body, stiffness=1e4),
                  "points": lambda: tf.PlaneContact(body, points=[(0.1, 0, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0)],
                                                    stiffness=1e4),
                  "ellipsoid": lambda: tf.EllipsoidContact(body, half_axes=(0.2, 0.1, 0.05), stiffness=1e4),
                  "on its end": lambda: tf.EllipsoidContact(body, half_axes=(0.05, 0.1, 0.2), stiffness=1e4)}[shape]()


@pytest.mark.parametrize(("shape", "rotation", "turned"), [
    ("box", "quaternion", 0), ("box", "quaternion", 0.7), ("box", "directors", 0), ("points", "quaternion", 0),
    ("points", "directors", 0.7), ("ellipsoid", "quaternion", 0), ("on its end", "quaternion", 0.3)])
def test_what_stands_on_a_floor(fault, shape, rotation, turned):
    """Its spin about the vertical is resisted by rounding alone, whose sign was an instability, or none, by chance."""
    body, floor = on_a_floor(shape, rotation)
    pose = tf.Pose((0.1, 0.2, 0.21), (np.cos(turned / 2), 0, 0, np.sin(turned / 2)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rest = tf.equilibrium(tf.System([body, floor], gravity=(0, 0, -9.81)), {body: pose})
    unstable = 2 if shape == "on its end" else 0
    fault(f"unstable ways of what stands on a floor: {shape}, {rotation}", unstable, rest.n_unstable)
    assert rest.success and [w.category for w in told] == [tf.Unstable] * (unstable > 0)
