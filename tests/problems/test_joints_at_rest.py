"""What joints carry in an equilibrium, by balances of forces and moments."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import timefem as tf

ORIGIN, Z, G = (0, 0, 0), (0, 0, 1), 9.81


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_clamp_of_a_beam(rotation):
    section = tf.Section(EA=1e6, GA=1e6, GJ=0.8, EI=1.0, mass=1.0, inertia=(2e-5, 1e-5, 1e-5))
    beam = tf.Beam(1.0, section, 3, rotation=rotation, name="beam")
    clamp = tf.Weld(beam.start, point_a=ORIGIN, point_b=ORIGIN, name="clamp")
    loads = [tf.LineForce(beam, (0, 0, -0.01)), tf.Torque(beam.end, (0.3, 0, 0))]
    rest = tf.equilibrium(tf.System([beam, clamp, *loads]))
    held = rest.joint("clamp")
    assert np.allclose(held.force(), [0, 0, 0.01], rtol=0, atol=1e-9)
    arm = rest.along(beam, np.linspace(0, 1, 201)).position[:-1, 0].mean() + 0.0025  # of the load
    assert 0.4 < arm < 0.5 and np.allclose(held.torque(), [-0.3, -0.01 * arm, 0], rtol=0, atol=1e-6)
    assert np.allclose(rest.rotation_matrix(beam.start) @ held.torque("a"), held.torque(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_hinge_with_a_spring(coordinates):
    bar = tf.RigidBody(2.0, (0.1, 0.01, 0.1), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0.5, 0), point_b=ORIGIN, axis_a=(1, 0, 0), axis_b=(1, 0, 0), name="hinge")
    system = tf.System([bar, hinge, tf.JointSpring(hinge, stiffness=100)], gravity=(0, 0, -G), coordinates=coordinates)
    rest = tf.equilibrium(system, {hinge: 0.0}).joint(hinge)
    angle = brentq(lambda x: 100 * x - G * np.cos(x), 0, 0.5, xtol=1e-14)
    assert rest.coordinate() == pytest.approx(angle, abs=1e-10)
    assert rest.drive() == pytest.approx(-100 * angle, abs=1e-8)
    assert np.allclose(rest.force(), [0, 0, 2 * G], rtol=0, atol=1e-9) and np.allclose(rest.torque(), 0, atol=1e-9)


def test_two_hinges_share_the_weight_of_a_door():
    door = tf.RigidBody(3.0, (1, 1, 1), name="door")
    hinges = [tf.Revolute(door, point_a=(-0.4, 0, z), point_b=(0, 0, z), axis_a=Z, axis_b=Z, name=f"hinge {z:+}")
              for z in (-1, 1)]
    spring = tf.JointSpring(hinges[0], stiffness=5.0)
    system = tf.System([door, *hinges, spring], gravity=(0, 0, -G), redundant="drop")
    rest = tf.equilibrium(system, {door: tf.Pose((0.4, 0, 0))})
    low, high = (rest.joint(hinge) for hinge in hinges)
    assert np.allclose(low.force() + high.force(), [0, 0, 3 * G], rtol=0, atol=1e-8)
    moment = low.torque() + high.torque() + np.cross((0, 0, -1), low.force()) + np.cross((0, 0, 1), high.force())
    assert np.allclose(moment, [0, -0.4 * 3 * G, 0], rtol=0, atol=1e-8)


def test_parallelogram_with_a_third_rod():
    """Its rod between the middles of the cranks repeats the coupler, and all four hinges hold the plane."""
    z = {"axis_a": Z, "axis_b": Z}
    bars = [tf.RigidBody(1.0, (0.1, 0.1, 0.1), name=f"bar {i}") for i in range(3)]
    floor = [tf.Revolute(bar, point_a=(0, -0.5, 0), point_b=(i, 0, 0), **z) for i, bar in enumerate(bars[:2])]
    top = [tf.Revolute(bars[2], bar, point_a=(i - 0.5, 0, 0), point_b=(0, 0.5, 0), **z)
           for i, bar in enumerate(bars[:2])]
    rod = tf.RigidDistance(bars[0], bars[1], length=1.0)
    push = tf.Force(bars[2], (30.0, 0, 0), time=tf.Ramp(0, 1, 0, 1))
    parts = [*bars, *floor, *top, rod, tf.JointSpring(floor[0], stiffness=40), push]
    system = tf.System(parts, redundant="drop")
    guess = {bar: tf.Pose((i, 0.5, 0)) for i, bar in enumerate(bars[:2])} | {bars[2]: tf.Pose((0.5, 1, 0))}
    rest, path = tf.equilibrium(system, guess, t=1.0), tf.equilibrium_path(system, 1.0, guess, progress=False)
    angle = brentq(lambda x: 40 * x + 30 * np.cos(x), -1.5, 0)
    assert rest.success and rest.joint(floor[0]).coordinate() == pytest.approx(angle, abs=1e-9)
    assert path.success and np.allclose(path.position(bars[2])[-1], rest.position(bars[2]), rtol=0, atol=1e-8)
    assert np.allclose(rest.position(bars[2]), [0.5 - np.sin(angle), np.cos(angle), 0], rtol=0, atol=1e-9)


def test_a_rod_that_repeats_others_at_the_start_alone_is_reported():
    slide = tf.RigidBody(1.0, (1, 1, 1), name="slide")
    rail = tf.Prismatic(slide, point_a=ORIGIN, point_b=ORIGIN, axis_b=(0, 1, 0), name="rail")
    rod = tf.RigidDistance(slide, None, point_b=(1, 0, 0), length=1.0, name="rod")
    push = tf.Force(slide, (0, 3.0, 0), time=tf.Ramp(0, 1, 0, 1))
    system = tf.System([slide, rail, rod, push, tf.JointSpring(rail, stiffness=10)], redundant="drop")
    for found in (tf.equilibrium(system, t=1.0), tf.equilibrium_path(system, 1.0, progress=False)):
        assert found.status.reason == "constraints not redundant" and "rod" in found.status.message


# ---- equilibria of trees with dampers, friction and motors on their joints, and what inverse dynamics of trees
# refuses

LINKS = [tf.Link("base"), tf.Link("rod", mass=2, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))]


def test_equilibrium():
    """A rod on a spring: `k x = m g l cos x`; dampers, friction and rotors do nothing at rest."""
    rod = tf.Tree(LINKS, [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0), damping=0.1)], name="arm")
    hinge = rod.joint("hinge")
    parts = [tf.JointSpring(hinge, stiffness=30), tf.JointDamper(hinge, damping=1), tf.Motor(hinge, gear=5, damping=1,
             rotor_inertia=0.01), tf.JointFriction(hinge, friction=1, friction_width=0.1),
             tf.Damper(rod.link("rod", (1, 0, 0)), None, point_b=(1, 0, 1), damping=2)]
    found = tf.equilibrium(tf.System([rod, *parts], gravity=(0, 0, -9.81)), {rod: {"hinge": 0.2}})
    q, = found.q
    assert 30 * q == pytest.approx(2 * 9.81 * 0.5 * np.cos(q), abs=1e-9)


def test_ends_by_joints():
    """Ends of boundary values and of optimal control name joints as starts do."""
    arm = tf.Tree([*LINKS, tf.Link("fore", mass=1, centre=(0.3, 0, 0), inertia=(0.01, 0.03, 0.03))],
                  [tf.TreeJoint("hinge", "base", "rod"), tf.TreeJoint("elbow", "rod", "fore", position=(1, 0, 0))],
                  name="arm")
    drives = [tf.JointControl(arm.joint(name)) for name in ("hinge", "elbow")]
    problem = tf.OptimalControl(tf.System([arm, *drives]), {}, {"hinge": (1.0, 0.0), arm.joint("elbow"): -0.5}, (0, 1),
                                cost=[tf.Effort(drive) for drive in drives])
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 6, progress=False)
    np.testing.assert_allclose(sol.z[-1], (1, -0.5, 0, 0), rtol=0, atol=1e-8)
    swing = tf.BoundaryValueProblem(tf.System([arm]), (0, 1), start={"hinge": 0.0}, end={"hinge": 0.3, "elbow": 0.1})
    sol = tf.solve(swing, tf.MixedGalerkin(2, form="lagrange"), 6, progress=False)
    np.testing.assert_allclose(sol.z[-1][:2], (0.3, 0.1), rtol=0, atol=1e-9)


def sledge(*speeds):
    """A body on a plane, whose runner does not slip sideways on belts whose speeds cancel, but for rounding."""
    body = tf.RigidBody(2.0, (0.1, 0.1, 0.15), name="sledge")
    floor = tf.Planar(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    slip = "dot(f[0].rotation[:, 1], f[0].velocity) - (c[0] + c[1] - c[2])"
    runner = tf.NonholonomicConstraint(body, slip, 1, parameters=list(speeds), name="runner")
    push = tf.ControlForce(body, [(1, 0, 0)], frame="body", name="push")
    turn = tf.ControlTorque(body, [(0, 0, 1)], name="turn")
    return body, [body, floor, runner, push, turn], [tf.Effort(push), tf.Effort(turn)]


@pytest.mark.parametrize("speeds, allowed", [((0.0, 0.0, 0.0), True), ((100.1, 200.2, 300.3), True),
                                             ((100.1, 200.2, 300.2), False)])
def test_constants_of_rolling_that_cancel_at_rest(speeds, allowed):
    """Their rounding stays where the end is at rest: it was a violation of 3e-14 "that contradicts the rest"."""
    body, parts, cost = sledge(*speeds)

    def solved():
        problem = tf.OptimalControl(tf.System(parts), {body: tf.Pose()}, {body: tf.Pose((1.0, 0, 0))}, (0, 1.0), cost)
        return tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)

    if not allowed:
        with pytest.raises(tf.InputError, match="runner"):
            solved()
        return
    sol = solved()
    assert sol.success and sol.objective == pytest.approx(24, rel=1e-9)


def test_a_spin_that_nothing_holds_stays():
    """A body on a ball, with a spring in line with its centre: it may stand at any spin about that line."""
    places = []
    for coordinates, hold in (("bodies", 0.0), ("joint", 0.0), ("joint", 1e-4)):
        arm = tf.RigidBody(0.7, (0.05, 0.06, 0.07), name="arm")
        bob = tf.RigidBody(1.0, (0.05, 0.07, 0.08), name="bob")
        hinge = tf.Revolute(arm, None, point_a=(0.1, -0.2, 0.3), point_b=(0, 0, 0), axis_a=(1, 2, 3), axis_b=(1, 2, 3),
                            name="hinge")
        ball = tf.Spherical(bob, arm, point_a=(0.1, 0.2, -0.15), point_b=(-0.2, 0.1, 0.1), name="ball")
        pull = tf.Spring(bob, None, point_a=(-0.1, -0.2, 0.15), point_b=(0.5, -0.7, 0.2), stiffness=30.0)
        held = [tf.Spring(bob, None, point_a=(0.2, 0, 0), point_b=(1.0, 0, 0), stiffness=hold)] if hold else []
        system = tf.System([arm, bob, hinge, ball, pull, tf.JointSpring(hinge, stiffness=30.0), *held],
                           gravity=(0, 0, -9.81), coordinates=coordinates)
        found = tf.equilibrium(system, system.state({hinge: -0.0995 if hold else 0.0}))
        assert found.success and found.n_unstable == 0
        places.append(found.position(bob))
    assert np.allclose(places[0], places[1], rtol=0, atol=1e-9) and np.allclose(places[1], places[2], rtol=0, atol=1e-6)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_two_pendulums_on_balls_hang(coordinates):
    """Nothing resists their spins, each about its own vertical."""
    bodies = [tf.RigidBody(0.7, (0.05, 0.06, 0.07), name=name) for name in ("left", "right")]
    balls = [tf.Spherical(b, None, point_a=(0, 0, 0.3), point_b=(x, 0, 0)) for b, x in zip(bodies, (0, 1), strict=True)]
    system = tf.System([*bodies, *balls], gravity=(0, 0, -9.81), coordinates=coordinates)
    tilt = [np.cos(0.15), 0, -np.sin(0.15), 0]
    guess = {b: tf.Pose((x + 0.3 * np.sin(0.3), 0, -0.3 * np.cos(0.3)), tilt)
             for b, x in zip(bodies, (0, 1), strict=True)}
    found = tf.equilibrium(system, guess)
    assert found.success and found.n_unstable == 0
    for body, x in zip(bodies, (0, 1), strict=True):
        assert np.allclose(found.position(body), (x, 0, -0.3), rtol=0, atol=1e-9)


def test_the_nearer_rest_beside_a_spring_that_counts_turns():
    """Counts of turns had a mass of one in any unit: in km and h they alone said what is near, and the pendulum stayed
    upright."""
    places = []
    for length, mass, time in ((1.0, 1.0, 1.0), (1e-3, 1e-6, 1 / 3600)):
        bob, wheel = (tf.RigidBody(mass, [0.1 * mass * length**2] * 3, name=name) for name in ("bob", "wheel"))
        joints = [tf.Revolute(bob, point_a=(0, length, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1)),
                  tf.Revolute(wheel, point_a=(0, 0, 0), point_b=(3 * length, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))]
        springs = [tf.TorsionalSpring(wheel, axis=(0, 0, 1), stiffness=mass * (length / time)**2),
                   tf.Spring(bob, wheel, point_b=(0, 0.3 * length, 0), stiffness=0.2 * mass / time**2)]
        system = tf.System([bob, wheel, *joints, *springs], gravity=(0, -9.81 * length / time**2, 0))
        rest = tf.equilibrium(system, {joints[0]: 1.0, joints[1]: 0.0})
        assert rest.n_unstable == 0
        places.append(rest.position(bob) / length)
    np.testing.assert_allclose(*places, rtol=0, atol=1e-6)


def test_a_fivebar_from_afar_in_both_coordinates():
    """Newton's method began without the forces of joints, and wandered: to another equilibrium than in joints
    coordinates in 18 of 20 cases."""
    lengths, found = (0.8, 1.0, 1.0, 0.8), []
    left, right = (np.array([x, 0.0]) + 0.8 * np.array([np.cos(angle), np.sin(angle)]) for x, angle in
                   ((0, 2.61), (1, 1.9)))
    across = right - left
    half = np.linalg.norm(across) / 2
    top = (left + right) / 2 + np.array([-across[1], across[0]]) / (2 * half) * np.sqrt(1 - half**2)
    turns = [np.arctan2(*(top - end)[::-1]) for end in (left, right)]
    axes = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    for coordinates in "bodies", "joint":
        bars = [tf.RigidBody(x, np.array([0.01, 1, 1]) * x**3 / 12, name=name) for x, name in zip(lengths, "abcd",
                                                                                                  strict=True)]
        a, b, c, d = bars
        joints = [tf.Revolute(a, point_a=(-0.4, 0, 0), point_b=(0, 0, 0), **axes),
                  tf.Revolute(b, a, point_a=(-0.5, 0, 0), point_b=(0.4, 0, 0), **axes),
                  tf.Revolute(d, point_a=(-0.4, 0, 0), point_b=(1, 0, 0), **axes),
                  tf.Revolute(c, d, point_a=(-0.5, 0, 0), point_b=(0.4, 0, 0), **axes)]
        closing = tf.Revolute(b, c, point_a=(0.5, 0, 0), point_b=(0.5, 0, 0), **axes)
        springs = [tf.JointSpring(joint, stiffness=0.01) for joint in joints[::2]]
        system = tf.System([*bars, *joints, closing, *springs], gravity=(0, -G, 0), redundant="drop",
                           coordinates=coordinates)
        guess = dict(zip(joints, (2.61, turns[0] - 2.61, 1.9, turns[1] - 1.9), strict=True))
        rest = tf.equilibrium(system, guess)
        assert rest.success
        found.append([rest.position(bar) for bar in bars])
    np.testing.assert_allclose(*found, rtol=0, atol=1e-6)


@pytest.mark.parametrize("way", ["quaternion", "directors", "joint"])
@pytest.mark.parametrize("unit, turn", [(1.0, 0), (1e3, 0), (1e-3, 1), (1.0, 2)])
def test_of_equilibria_with_a_free_motion_the_nearest_is_taken(way, unit, turn):
    """A body on a ball, whose other end a spring holds, may spin about the line of both: it swings there without a
    twist, in all coordinates, units and axes. It was turned by what rounding left.
    """
    space = Rotation.from_rotvec([[0, 0, 0], [0.3, -0.2, 0.5], [2, 1, -1]][turn]).as_matrix()
    start = space @ Rotation.from_rotvec((0.2, 0.5, 0.9)).as_matrix()
    body = tf.RigidBody(2.0, unit**2 * np.array((0.2, 0.2, 0.1)), way if way != "joint" else "quaternion", name="body")
    ball = tf.Spherical(body, point_a=(0, 0, 0.5 * unit), point_b=(0, 0, 0))
    spring = tf.Spring(body, point_a=(0, 0, -0.7 * unit), point_b=unit * space @ (0.8, 0.3, -0.4), stiffness=30.0,
                       length=0.1 * unit)
    system = tf.System([body, ball, spring], gravity=unit * space @ (0, 0, -9.81),
                       coordinates="joint" if way == "joint" else "bodies")
    rest = tf.equilibrium(system, {body: tf.Pose(-0.5 * unit * start[:, 2], start)})
    assert rest.success and rest.n_unstable == 0
    swung = Rotation.from_matrix(start.T @ rest.rotation_matrix(body)).as_rotvec()
    assert np.linalg.norm(swung) > 0.3 and abs(swung[2]) < 1e-7


@pytest.mark.parametrize("form", ["masses", "bodies", "tree"])
def test_an_equilibrium_of_parts_that_cannot_meet_says_so(form):
    """It said that the arm, which three constraints hold, was free, or fell without end."""
    if form == "masses":
        arm = tf.PointMass(1.0, name="arm")
        parts = [arm, tf.RigidDistance(arm, point_b=(0, 0, 0), length=1, name="short"),
                 tf.RigidDistance(arm, point_b=(3, 0, 0), length=1, name="rod")]
        guess = {arm: tf.Pose((0.5, 0, -0.5))}
    elif form == "bodies":
        arm = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="arm")
        parts = [arm, tf.Revolute(arm, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                                  name="hinge"),
                 tf.RigidDistance(arm, point_a=(0.5, 0, 0), point_b=(3, 0, 0), length=0.5, name="rod")]
        guess = {arm: tf.Pose((0.5, 0, 0))}
    else:
        arm = tf.Tree([tf.Link("base"), tf.Link("link", mass=1, centre=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))],
                      [tf.TreeJoint("hinge", "base", "link", axis=(0, 1, 0))], name="arm")
        parts = [arm, tf.RigidDistance(arm.link("link"), point_a=(1, 0, 0), point_b=(3, 0, 0), length=0.5, name="rod")]
        guess = {arm: {"hinge": 0.3}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # such as of overflows in steps by singular tangents
        found = tf.equilibrium(tf.System(parts, gravity=(0, 0, -9.81)), guess, progress=False)
    assert not found.success
    assert "cannot be assembled" in found.status.message and "free" not in found.status.message


def test_an_equilibrium_with_constraints_that_repeat_others_names_them():
    """It said that the tree, which a spring holds, was free: a constraint of the ball is across the plane."""
    tree = tf.Tree([tf.Link("base"), tf.Link("a", mass=0.7, centre=(0.25, 0, 0), inertia=(0.001, 0.02, 0.02)),
                    tf.Link("b", mass=0.4, centre=(0.25, 0, 0), inertia=(0.001, 0.01, 0.01)), tf.Link("c", mass=1.1)],
                   [tf.TreeJoint("ja", "base", "a", axis=(0, 1, 0)),
                    tf.TreeJoint("jb", "a", "b", axis=(0, 1, 0), position=(0.5, 0, 0), stiffness=4.0),
                    tf.TreeJoint("jc", "base", "c", kind="prismatic", axis=(1, 0, 0))], name="rhombus")
    ball = tf.Spherical(tree.link("b"), tree.link("c"), point_a=(0.5, 0, 0), point_b=(1, 0, 0), name="ball")
    guess = {tree: {"ja": 0.1, "jb": -0.2, "jc": np.cos(0.1) - 1}}
    parts = [tree, ball]
    found = tf.equilibrium(tf.System(parts, gravity=(0, 0, -G)), guess, progress=False)
    assert "'ball: gap, y' can be left out" in found.status.message and "free" not in found.status.message
    rest = tf.equilibrium(tf.System(parts, gravity=(0, 0, -G), redundant="drop"), guess, progress=False)
    angle = brentq(lambda a: 16 * a - G * 0.25 * 1.1 * np.cos(a), 0, 1)
    assert rest.success and abs(rest.joint("ja").coordinate() - angle) < 1e-9


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("drive, rate, told", [("6 * t", 6.0, True), ("0.01 * t", 0.01, False), (0.0, 0.0, False)])
def test_a_drive_that_turns_is_named_at_rest(coordinates, drive, rate, told):
    """A governor: its pendulum stands off at 6 rad/s, and equilibria know of no centrifugal forces."""
    shaft, bar = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="shaft"), tf.RigidBody(2.0, (0.02, 0.02, 0.001), name="bar")
    axle = tf.Revolute(shaft, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="axle")
    hinge = tf.Revolute(shaft, bar, point_a=(0, 0, 0), point_b=(0, 0, 0.5), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                        name="hinge")
    system = tf.System([shaft, bar, axle, hinge, tf.PrescribedJoint(axle, value=drive, name="drive")],
                       gravity=(0, 0, -9.81), coordinates=coordinates)
    near = tf.InitialValueProblem(system, {axle: (0.0, rate), hinge: 0.8}, (0, 1)).z0
    for n_steps in (1, 2):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert tf.equilibrium(system, near, n_steps=n_steps).success
        texts = [str(w.message) for w in found]
        named = any("'drive: coordinate' turns at" in x and "Steady turning" in x for x in texts)
        assert named == (told and n_steps == 1)


def test_a_carriage_that_moves_steadily_is_at_rest():
    cart, load = tf.RigidBody(1.0, (1, 1, 1), name="cart"), tf.PointMass(5.0, name="load")
    rail = tf.Prismatic(cart, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    system = tf.System([cart, load, rail, tf.RigidDistance(cart, load, length=2.0),
                        tf.PrescribedJoint(rail, value="2 * t")], gravity=(0, 0, -9.81))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.equilibrium(system, {load: tf.Pose((0, 0, -2))}).success
