"""Schemes that keep what they say they keep, and solve their equations on the branch that begins at rest."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases.single_bodies import exact_mass_centre, mass_centre, top_on_tip

SCHEMES = [tf.EML(), tf.REML(), tf.NullEML(), tf.EMH(), tf.NullEMH(), tf.NonTwistingEM()]
X, Z = (1, 0, 0), (0, 0, 1)


def masses(spring):
    a, b = tf.PointMass(1.0, name="a"), tf.PointMass(3.0, name="b")
    return [a, b, spring(a, b)], {a: tf.Pose(X, velocity=(0, 1, 0)), b: tf.Pose()}


def bodies(rotation, *parts, omega=(1, 2, 3)):
    a = tf.RigidBody(1.0, (.1, .2, .25), rotation=rotation, name="a")
    b = tf.RigidBody(3.0, (.3, .2, .4), rotation=rotation, name="b")
    made = []
    for part in parts:
        made.append(part(a, b, *made))
    return [a, b, *made], {a: tf.Pose(X, velocity=(0, 1, 0), angular_velocity=omega), b: tf.Pose()}


def hinge(a, b):
    return tf.Revolute(a, b, point_a=(-.5, 0, 0), point_b=(.5, 0, 0), axis_a=Z, axis_b=Z, invariant=True)


SYSTEMS = {"spring": lambda: masses(lambda a, b: tf.Spring(a, b, stiffness=20, length=.5)),
           "nonlinear spring": lambda: masses(lambda a, b: tf.NonlinearSpring(a, b, potential=lambda x: 20*(x - 1)**4)),
           "slack rope": lambda: masses(lambda a, b: tf.SlackRope(a, b, length=.9, stiffness=30))}
for rotation in ("directors", "quaternion"):
    SYSTEMS |= {f"spring, {rotation}": lambda r=rotation: bodies(
                    r, lambda a, b: tf.Spring(a, b, point_a=(.1, .2, 0), stiffness=20, length=.5)),
                f"torsional spring, {rotation}": lambda r=rotation: bodies(
                    r, lambda a, b: tf.TorsionalSpring(a, b, stiffness=5)),
                f"rigid distance, {rotation}": lambda r=rotation: bodies(
                    r, lambda a, b: tf.RigidDistance(a, b, point_a=(.1, .2, 0), point_b=(.1, .2, 0), length=1.0),
                    omega=(1, 0, 0)),
                f"joint spring, {rotation}": lambda r=rotation: bodies(
                    r, hinge, lambda a, b, h: tf.JointSpring(h, stiffness=3, rest=.5), omega=(0, 0, 2))}


@pytest.mark.long
@pytest.mark.parametrize("name", SYSTEMS)
def test_springs_keep_momentum_and_energy(fault, name):
    parts, state = SYSTEMS[name]()
    few = SCHEMES if name == "spring" else [tf.EML(), tf.EMH()]
    for element in few:
        sol = tf.solve(tf.InitialValueProblem(tf.System(parts), state, (0, 1)), element, 25, progress=False)
        drift = sol.errors()
        worst = max(drift.get("generalized_energy", drift["energy"]), drift["angular_momentum"])
        fault(f"{element.name}, {name}: drifts", "at most 2e-13", worst, met=sol.success and worst <= 2e-13)


@pytest.mark.parametrize("rotation", ["directors", "quaternion"])
def test_a_spring_to_the_ground_keeps_the_momentum_about_its_end(fault, rotation):
    a = tf.RigidBody(1.0, (.1, .2, .25), rotation=rotation, name="a")
    spring = tf.Spring(a, point_a=(.1, .2, 0), point_b=(0, 0, 0), stiffness=20, length=.5)
    state = {a: tf.Pose(X, velocity=(0, 1, 0), angular_velocity=(1, 2, 3))}
    sol = tf.solve(tf.InitialValueProblem(tf.System([a, spring]), state, (0, 1)), tf.EMH(), 25, progress=False)
    fault(f"spring to the ground, {rotation}", "at most 2e-13", sol.errors()["angular_momentum"],
          met=sol.errors()["angular_momentum"] <= 2e-13)


@pytest.mark.parametrize("scheme", [tf.EML(), tf.EMH()], ids=lambda scheme: scheme.name)
def test_steps_do_not_depend_on_units(fault, scheme):
    found = []
    for length, mass in ((1.0, 1.0), (1e3, 1e3), (1e-3, 1e-6)):
        unit = mass * length**2
        a = tf.RigidBody(mass, np.array((.1, .2, .25)) * unit, name="a")
        b = tf.RigidBody(3 * mass, np.array((.3, .2, .4)) * unit, name="b")
        spring = tf.Spring(a, b, point_a=np.array((.1, .2, 0)) * length, stiffness=20 * mass, length=.5 * length)
        state = {a: tf.Pose((length, 0, 0), velocity=(0, length, 0), angular_velocity=(1, 2, 3)), b: tf.Pose()}
        sol = tf.solve(tf.InitialValueProblem(tf.System([a, b, spring]), state, (0, 1)), scheme, 25, progress=False)
        found.append(np.concatenate([sol.position(a, 1.0) / length, sol.quaternion(a, 1.0)]))
    for other in found[1:]:
        fault(f"{scheme.name}: in other units", found[0], other, rtol=0, atol=1e-9)


def test_ropes_keep_momentum(fault):
    rope = tf.Rope(tf.Line((0, 0, 0), (1, 0, 0)), tf.RopeSection(200, 0.5), 3, name="rope")
    state = {rope.node(i): tf.Pose((1.1 * i / 3, 0, 0), velocity=(0, 2 - i, i)) for i in range(4)}
    sol = tf.solve(tf.InitialValueProblem(tf.System([rope]), state, (0, .5)), tf.EMH(), 50, progress=False)
    drift = sol.errors()
    assert np.ptp(sol.system.potential(sol.t, sol.z)) > 0.1
    fault("a free rope: drifts", "at most 1e-12", max(drift["energy"], drift["angular_momentum"]),
          met=max(drift["energy"], drift["angular_momentum"]) <= 1e-12)


@pytest.mark.parametrize("h", [0.0069, 0.007, 0.0071])
def test_quat_vi_on_its_own_branch(fault, h):
    n = round(0.5 / h)
    newton = tf.Newton(line_search=True, max_iterations=100)
    sol = tf.solve(top_on_tip("quaternion", n * h), tf.QuatVI(), n, newton=newton, driver=tf.March(keep_mesh=True),
                   progress=False)
    q = sol.z[:, 3:7]
    turns = 2 * np.arccos(np.clip(np.abs((q[1:] * q[:-1]).sum(axis=1)), 0, 1))
    fault(f"top, QUAT_VI, h = {h}: turns", "below pi/2", turns.max(), met=sol.success and turns.max() < np.pi / 2)


def test_the_error_of_quat_vi_on_the_top(fault):
    newton = tf.Newton(line_search=True, max_iterations=100)
    sol = tf.solve(top_on_tip("quaternion", 143 * 0.007), tf.QuatVI(), 143, newton=newton,
                   driver=tf.March(keep_mesh=True), progress=False)
    fault("top, QUAT_VI, h = 0.007: error [m]", 0.0452, np.abs(mass_centre(sol) - exact_mass_centre(sol.t)).max(),
          rtol=0, atol=1e-4)


@pytest.mark.parametrize("inertia", [(1, 1, 1), (1, 2, 2.5), (2.9, 2, 1)])
@pytest.mark.parametrize("scheme", [tf.QuatVI(), tf.DLA()], ids=lambda scheme: scheme.name)
def test_turns_near_the_largest(fault, scheme, inertia):
    """A body about a principal axis: sin(turn) = h W, for which there is a second turn, pi - turn."""
    body = tf.RigidBody(1.0, inertia, name="body")
    for turn in (0.97, 0.999):
        state = {body: tf.Pose(angular_velocity=(0, 0, turn / 0.1))}
        problem = tf.InitialValueProblem(tf.System([body]), state, (0, 1))
        sol = tf.solve(problem, scheme, 10, driver=tf.March(keep_mesh=True), progress=False)
        q = sol.z[:, 3:7]
        turns = 2 * np.arccos(np.clip(np.abs((q[1:] * q[:-1]).sum(axis=1)), 0, 1))
        fault(f"{scheme.name}, {inertia}: turn", np.full(10, np.arcsin(turn)), turns, rtol=0, atol=1e-6)
