"""Marches with rigid contact as phases: all at once, with the laws of impact as links."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.sensitivity.test_through_events import bar, belt, limits, off_circle, pendulum

G = 9.81


def falling(height=0.5, restitution=0.8, end=1.0):
    ball = tf.PointMass(1.0, 1, name="ball")
    floor = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=restitution, name="floor")
    system = tf.System([ball, floor], gravity=(-G, 0, 0))
    return ball, tf.InitialValueProblem(system, {ball: tf.Pose((height, 0, 0))}, (0, end))


@pytest.mark.long
def test_a_march_is_found_again():
    _, problem = falling()
    march = tf.solve(problem, tf.MixedGalerkin(1), 8)
    phases = march.phases()
    assert phases.names == ["free"] * 3 and [links[0].name for links in phases.links] == ["floor closes"] * 2
    sol = tf.solve(phases, tf.MixedGalerkin(1), 2)
    fall = np.sqrt(1 / G)
    np.testing.assert_allclose(sol.durations, [fall, 1.6 * fall, 1 - 2.6 * fall], rtol=0, atol=1e-12)
    assert sol.statistics["newton_iterations"]["max"] <= 2


def test_boundary_values_with_an_impact():
    """From where a ball falls that is at 0.2 m, and rises, after 0.6 s: its start is found."""
    ball, problem = falling()
    march = tf.solve(tf.InitialValueProblem(problem.system, {ball: tf.Pose((0.4, 0, 0))}, (0, 0.6)),
                     tf.MixedGalerkin(1), 8)
    start, end = {ball: tf.EndState(velocity=(0, None, None))}, {ball: tf.EndState(position=(0.2, None, None))}
    sol = tf.solve(march.phases(start=start, end=end), tf.MixedGalerkin(1), 2)
    assert sol.success and len(sol.phases) == 2
    height, t = sol[0].z[0, 0], sol.durations
    assert t[0] == pytest.approx(np.sqrt(2 * height / G), rel=1e-12)
    v = 0.8 * np.sqrt(2 * G * height)
    assert v * t[1] - G / 2 * t[1]**2 == pytest.approx(0.2, abs=1e-12)


@pytest.mark.long
def test_a_periodic_motion():
    """A ball that bounces without loss, of a given period: it starts upwards with g T / 2."""
    ball, problem = falling(0.5, 1.0, 0.65)
    system = problem.system
    march = tf.solve(tf.InitialValueProblem(system, {ball: tf.Pose((0.5, 0, 0), velocity=(0.1, 0, 0))}, (0, 0.65)),
                     tf.MixedGalerkin(1), 8)
    sol = tf.solve(march.phases(start={ball: tf.EndState(velocity=(0, None, None))}, periodic=True, duration="free"),
                   tf.MixedGalerkin(1), 2)
    assert sol.success
    np.testing.assert_allclose(sol.durations[0], sol.durations[1], rtol=1e-9)
    assert sol[0].z[0, 0] == pytest.approx(G * sol.durations[0]**2 / 2, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("build", "n", "m", "kinds"), [
    (off_circle, 40, 8, ["circle opens", "floor closes", "floor closes"]),
    (belt, 20, 6, ["belt sticks", "belt slips"]), (pendulum, 40, 8, ["wall closes"] * 2),
    (lambda: pendulum(coordinates="joint"), 40, 8, ["wall closes"] * 2),
    (limits, 30, 6, ["stops: highest closes", "stops: lowest closes"]),
    (bar, 60, 8, [f"ends: contact {c} closes" for c in (0, 0, 0, 1, 0, 1)])])
def test_a_coarse_march_becomes_exact_in_few_iterations(build, n, m, kinds):
    problem = build()
    march = tf.solve(problem, tf.MixedGalerkin(1), n)
    fine = tf.solve(problem, tf.MixedGalerkin(3), 200)
    phases = march.phases()
    assert [links[0].name for links in phases.links] == kinds
    sol = tf.solve(phases, tf.MixedGalerkin(2), m)
    assert sol.success and sol.statistics["newton_iterations"]["max"] <= 6
    times = np.cumsum(sol.durations)[:-1]
    expected = [fine.t[node] for node, kind, _ in fine.located if kind != "touches"]
    coarse = [march.t[node] for node, kind, _ in march.located if kind != "touches"]
    assert np.abs(times - expected).max() < 0.1 * np.abs(np.array(coarse) - expected).max()


def test_a_sequence_that_does_not_hold_is_named():
    """A ball that is to be elsewhere at the end: with one impact only it would have to go through the floor."""
    ball, problem = falling()
    march = tf.solve(tf.InitialValueProblem(problem.system, {ball: tf.Pose((0.4, 0, 0))}, (0, 0.6)),
                     tf.MixedGalerkin(1), 8)
    phases = march.phases(start={ball: tf.EndState(velocity=(0, None, None))},
                          end={ball: tf.EndState(position=(-0.1, None, None))})
    with pytest.warns(tf.NotSolved, match=r"phase 1 \(free\): floor is penetrated by 0\.1"):
        tf.solve(phases, tf.MixedGalerkin(1), 2)


@pytest.mark.long
def test_controls_between_impacts():
    """The least effort by which a ball comes back to its height, and rests there, after one impact."""
    ball, problem = falling()
    march = tf.solve(tf.InitialValueProblem(problem.system, {ball: tf.Pose((0.5, 0, 0))}, (0, 0.65)),
                     tf.MixedGalerkin(1), 8)
    push = tf.ControlForce(ball, [(1, 0, 0)], name="push")
    end = {ball: tf.EndState(position=(0.5, None, None), velocity=(0, None, None))}
    phases = march.phases(end=end, actuators=push, cost=tf.Effort(push))
    sol = tf.solve(phases, tf.MixedGalerkin(2), 4)
    assert sol.success
    other = tf.solve(phases, tf.MixedGalerkin(3), 4)
    assert sol.objective == pytest.approx(other.objective, rel=1e-7) and sol.objective > 0
    after, before = sol[1].z[0], sol[0].z[-1]
    assert after[1] == pytest.approx(-0.8 * before[1], rel=1e-9) and abs(before[0]) < 1e-12


def test_what_is_no_sequence_says_so():
    ball, problem = falling(end=2.0)
    push = tf.FormulaForce(ball, lambda f, t, c: ca.vertcat(ca.cos(t), 0, 0), name="push")
    shaken = tf.System([*problem.system.parts, push])
    march = tf.solve(tf.InitialValueProblem(shaken, {ball: tf.Pose((0.5, 0, 0))}, (0, 0.5)), tf.MixedGalerkin(1), 4)
    with pytest.raises(tf.InputError, match=r"push depends on the time.*tf\.periodic"):
        march.phases()
    with pytest.raises(tf.InputError, match="duration must be"):
        march.phases(duration="long")


@pytest.mark.long
@pytest.mark.parametrize("turns", [True, False])
def test_a_start_that_is_found_counts_turns_from_there(turns):
    """Of a pendulum that hits a stop, and is to be somewhere afterwards, from where it starts at rest."""
    z, length, goal = (0, 0, 1), 0.5, 0.8323733919
    body = tf.RigidBody(1.0, (0.015, 0.015, 0.02), name="body")
    hinge = tf.Revolute(body, point_a=(0, length, 0), point_b=(0, 0, 0), axis_a=z, axis_b=z, name="hinge")
    stop = tf.EndStop(hinge, lowest=0.1, restitution=0.8, turns=turns)
    system = tf.System([body, hinge, stop], gravity=(0, -9.81, 0))
    march = tf.solve(tf.InitialValueProblem(system, {hinge: 1.2}, (0, 0.6)), tf.MixedGalerkin(3), 31)
    start = {body: tf.EndState(angular_velocity=(0, 0, 0))}
    end = {body: tf.EndState(position=(length * np.sin(goal), None, None))}
    sol = tf.solve(march.phases(start=start, end=end), tf.MixedGalerkin(3), 8)
    assert sol.success and sol[0].joint(hinge).angle(0.0) == pytest.approx(1.3606007742, rel=1e-9)


def shaken_table():
    """A ball that bounces once in each period of a table, on which it lands where that moves fast enough."""
    e, w = 0.7, 40.0
    period = 2 * np.pi / w
    back = G * period / 2
    size = 1.25 * back * (1 - e) / (1 + e) / w
    t = np.arccos(0.8) / w
    ball = tf.PointMass(0.02, 1, name="ball")
    table = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=e, motion=(f"{size!r}*sin(40*t)", 0, 0), name="table")
    start = tf.Pose((1.002 * (size * 0.6 + back * t - G * t**2 / 2), 0, 0), velocity=(G * t - back, 0, 0))
    return tf.System([ball, table], gravity=(-G, 0, 0)), {ball: start}, period


def test_surfaces_that_move_by_the_time_drive_the_motion():
    system, start, period = shaken_table()
    march = tf.solve(tf.InitialValueProblem(system, start, (0, period)), tf.MixedGalerkin(2), 20)
    assert any(event.kind == "impact" for event in march.events)
    with pytest.raises(tf.InputError, match="phases: table depends on the time"):
        march.phases()
    found = tf.periodic(system, start, period, tf.MixedGalerkin(2), 20)
    assert found.success and found.period == period


def test_a_loaded_march_is_a_sequence_as_well(tmp_path):
    _, problem = falling()
    march = tf.solve(problem, tf.MixedGalerkin(1), 8)
    march.save(tmp_path / "march.h5")
    phases = tf.load(tmp_path / "march.h5").phases()
    assert phases.names == march.phases().names
    sol = tf.solve(phases, tf.MixedGalerkin(1), 2)
    np.testing.assert_allclose(sol.durations, tf.solve(march.phases(), tf.MixedGalerkin(1), 2).durations, rtol=1e-12)


def test_what_does_not_take_rigid_contacts_says_what_would_do():
    _, problem = falling()
    with pytest.raises(tf.InputError, match=r"floor is a rigid contact, which tf\.lyapunov .*give floor a stiffness"):
        tf.lyapunov(tf.solve(problem, tf.MixedGalerkin(1), 8))
    body = tf.RigidBody(1.0, (1, 1, 1), name="body")
    hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    dry = tf.JointFriction(hinge, friction=0.1, name="dry")
    with pytest.raises(tf.InputError, match="give dry a friction_width"):
        tf.linearize(tf.System([body, hinge, dry]), {body: tf.Pose()})
