"""Marches with rigid contact as phases: all at once, with the laws of impact as links."""

import warnings

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.sensitivity.test_through_events import bar, belt, belt_in_space, limits, off_circle, pendulum, puck, pushed

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
    np.testing.assert_allclose(sol.durations[0], sol.durations[1], rtol=1e-8)  # of any period: one of a family
    assert sol[0].z[0, 0] == pytest.approx(G * sol.durations[0]**2 / 2, rel=1e-8)


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


GUST = "6*exp(-((t - 0.5)/0.2)**2)", "2*exp(-((t - 0.6)/0.2)**2)", 0


def in_gusts():
    """Sticks, slips in a curve, and sticks again."""
    mass = tf.PointMass(1.0, name="mass")
    floor = tf.PlaneContact(mass, friction=0.3, name="floor")
    system = tf.System([mass, tf.Force(mass, GUST), floor], gravity=(0, 0, -G))
    return tf.InitialValueProblem(system, {mass: tf.Pose()}, (0.1, 1.4))


def rolls_in_gusts():
    """Rolls, slides with spin, and rolls again."""
    ball = tf.RigidBody(1.0, np.full(3, 0.004), name="ball")
    floor = tf.PlaneContact(ball, radius=0.1, friction=0.2, name="floor")
    gust = tf.Force(ball, ("9*exp(-((t - 0.5)/0.2)**2)", *GUST[1:]))
    system = tf.System([ball, gust, floor], gravity=(0, 0, -G))
    return tf.InitialValueProblem(system, {ball: tf.Pose((0, 0, 0.1))}, (0, 1.5))


@pytest.mark.long
@pytest.mark.parametrize(("build", "n", "m", "kinds", "iterations", "atol"), [
    (in_gusts, 26, 32, ["floor slips", "floor sticks"], 6, 1e-9), (puck, 50, 32, ["ice sticks"], 6, 2e-9),
    (belt_in_space, 100, 64, ["belt sticks", "belt slips"], 6, 6e-9), (pushed, 20, 32, [], 4, 1e-9),
    (rolls_in_gusts, 60, 32, ["floor slips", "floor sticks"], 8, 1e-7)])
def test_slips_in_space_begin_and_end(build, n, m, kinds, iterations, atol):
    problem = build()
    march, fine = (tf.solve(problem, tf.MixedGalerkin(k), i) for k, i in ((2, n), (3, 400)))
    phases = march.phases()
    assert [links[0].name for links in phases.links] == kinds
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a phase at rest moves by rounding alone
        sol = tf.solve(phases, tf.MixedGalerkin(3), m)
    assert sol.success and sol.statistics["newton_iterations"]["max"] <= iterations
    times = problem.t_span[0] + np.cumsum(sol.durations)[:-1]
    expected = [fine.t[node] for node, kind, _ in fine.located if kind != "beginning"]
    # where forces act across, slips have no smooth end: its time is known to 1e-5 of the largest speed
    np.testing.assert_allclose(times, expected, rtol=0, atol=4e-6)
    np.testing.assert_allclose(sol[-1].z[-1], fine.z[-1], rtol=0, atol=atol)


def test_slips_in_space_of_contacts_that_share_their_forces_are_refused():
    box = tf.RigidBody(1.0, (0.02, 0.03, 0.04), name="box")
    floor = tf.BoxContact(box, size=(0.2, 0.3, 0.1), friction=0.3, name="floor")
    system = tf.System([box, tf.Force(box, ("6*t", "2*t", 0)), floor], gravity=(0, 0, -G))
    march = tf.solve(tf.InitialValueProblem(system, {box: tf.Pose((0, 0, 0.05))}, (0, 0.6)), tf.MixedGalerkin(1), 20)
    with pytest.raises(tf.InputError, match=r"slips in space that begin at t = 0\.46\d+ where contacts share their"):
        march.phases()


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
def test_controls_that_nothing_asks_for_stay_as_marched():
    """A motor without a torque, and a state beside a pendulum that meets its stop: costs and bounds were asked for, and
    the velocity of the state."""
    bob = tf.RigidBody(1.0, [0.02, 0.02, 0.02], name="bob")
    hinge = tf.Revolute(bob, axis_a=(0, 0, 1), axis_b=(0, 0, 1), point_a=(0, 0.3, 0), point_b=(0, 0, 0), name="hinge")
    stop, motor = tf.EndStop(hinge, highest=0.4, restitution=0.8, name="stop"), tf.Motor(hinge, name="motor")
    heat = tf.State("heat", "f[0].angular_velocity[2]**2", bodies=[bob])
    system = tf.System([bob, hinge, stop, motor, heat], gravity=(0, -9.81, 0))
    problem = tf.InitialValueProblem(system, {hinge: -0.8, heat: 0.0}, (0, 0.6))
    marched = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    found = tf.solve(marched.phases(), tf.MixedGalerkin(3), 20, progress=False)
    assert found.success and len(found.phases) == 2
    end = found[-1].t[-1]
    np.testing.assert_allclose(found[-1].coordinates(heat, end), marched.coordinates(heat, 0.6), rtol=1e-6)
    np.testing.assert_allclose(found[-1].position(bob, end), marched.position(bob, 0.6), rtol=0, atol=1e-7)


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
    _, problem = falling(end=0.5)
    march = tf.solve(problem, tf.MixedGalerkin(1), 8)
    with pytest.raises(tf.InputError, match="duration must be"):
        march.phases(duration="long")
    with pytest.raises(tf.InputError, match="begins must be one of the unknown numbers"):
        tf.OptimalControl(problem.system, {problem.system.bodies[0]: tf.EndState()}, end_cost="0", free_time=True,
                          parameters={"a": 1.0}, begins="b")


def hopping_from_a_table():
    """Rests on a table, is thrown off and lands again."""
    ball = tf.PointMass(0.02, 1, name="ball")
    table = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=0.5, motion=("0.02*sin(30*t)", 0, 0), name="table")
    system = tf.System([ball, table], gravity=(-G, 0, 0))
    return tf.InitialValueProblem(system, {ball: tf.Pose((0, 0, 0), velocity=(0.6, 0, 0))}, (0, 0.25))


def pushed_to_and_fro():
    """Sticks, slides and sticks by a force that depends on the time, from 0.05 s on."""
    mass = tf.PointMass(1.0, 2, name="mass")
    floor = tf.PlaneContact(mass, normal=(0, 1, 0), friction=0.3, name="floor")
    system = tf.System([mass, tf.Force(mass, ("6*sin(3*t)", 0, 0)), floor], gravity=(0, -G, 0))
    return tf.InitialValueProblem(system, {mass: tf.Pose()}, (0.05, 2.05))


def driven_pivot(coordinates):
    """A pendulum, whose pivot has a prescribed motion, hits a wall."""
    rod, slider = tf.RigidBody(1.0, (0.02, 0.02, 0.001), name="rod"), tf.RigidBody(1.0, (0.01,) * 3, name="slider")
    rail = tf.Prismatic(slider, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    hinge = tf.Revolute(rod, slider, point_a=(0, 0, 0.3), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                        name="hinge")
    wall = tf.PlaneContact(rod, normal=(1, 0, 0), plane_point=(-0.2, 0, 0), points=[[0, 0, -0.3]], restitution=0.6,
                           friction=0.2, name="wall")
    drive = tf.PrescribedJoint(rail, value="0.1*sin(7*t)")
    system = tf.System([slider, rod, rail, hinge, drive, wall], gravity=(0, 0, -G), coordinates=coordinates)
    return tf.InitialValueProblem(system, system.state({"rail": (0.0, 0.7), "hinge": (0.2, 0.0)}), (0, 1.0))


@pytest.mark.long
@pytest.mark.parametrize(("build", "kinds", "rtol"), [
    (hopping_from_a_table, ["table opens", "table closes", "table closes"], 1e-10),
    (pushed_to_and_fro, ["floor slips", "floor sticks"], 1e-9),
    (lambda: driven_pivot("bodies"), ["wall closes"], 2e-4), (lambda: driven_pivot("joint"), ["wall closes"], 2e-4)])
def test_phases_know_their_time(build, kinds, rtol):
    """Of motions that depend on the time: each phase starts when the one before ends, wherever that is."""
    problem = build()
    march, fine = (tf.solve(problem, tf.MixedGalerkin(k), n) for k, n in ((1, 40), (3, 100)))
    phases = march.phases()
    assert [links[0].name for links in phases.links] == kinds
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.NotSolved)  # the sequence holds, forces that vanish at events, too
        sol = tf.solve(phases, tf.MixedGalerkin(2), 10)
    assert sol.success and sol.statistics["newton_iterations"]["max"] <= 4
    times = problem.t_span[0] + np.cumsum(sol.durations)[:-1]
    np.testing.assert_allclose(times, [fine.t[node] for node, *_ in fine.located], rtol=rtol)
    np.testing.assert_allclose([phase.t[0] for phase in sol], [problem.t_span[0], *times], rtol=0, atol=1e-12)
    np.testing.assert_allclose(sol[-1].z[-1], fine.z[-1], rtol=0, atol=rtol * np.abs(fine.z).max())


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
    found = tf.periodic(system, start, period, tf.MixedGalerkin(2), 20)
    assert found.success and found.period == period
    sol = tf.solve(march.phases(periodic=True), tf.MixedGalerkin(2), 4)
    assert sol.success and 40 * sol.durations[0] == pytest.approx(np.arccos(0.8), rel=1e-9)
    t, back = np.arccos(0.8) / 40, G * period / 2  # it lands on the table at 0.6 of its size, with that speed
    assert sol[0].z[0, 0] == pytest.approx(1.25 * back * 0.3 / 1.7 / 40 * 0.6 + back * t - G * t**2 / 2, rel=1e-9)


@pytest.mark.long
def test_derivatives_know_the_time_of_phases():
    """How far a ball is above its table at the end, by gravity: the last phase begins at another time, and lasts
    shorter."""
    (shaken, start, period), h = shaken_table(), 1e-4
    ball, table = shaken.parts[:2]

    def end(g):
        system = tf.System([ball, table, tf.FormulaForce(ball, "(c[0], 0, 0)", parameters=[0.02 * g], name="weight")])
        march = tf.solve(tf.InitialValueProblem(system, start, (0, 1.2 * period)), tf.MixedGalerkin(1), 20)
        return tf.OptimumLinearization(tf.solve(march.phases(), tf.MixedGalerkin(2), 3))

    above = tf.InPhase(2, tf.Integral(lambda bodies, t: ca.sin(40 * t) * bodies[0].position[0]))
    found = tf.gradient(end(-G), above, tf.Parameter("weight", "parameters"))
    low, high = (end(-G + s).value(above)[0] for s in (-h, h))
    assert 0.02 * found[0] == pytest.approx((high - low) / (2 * h), rel=1e-6)


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
