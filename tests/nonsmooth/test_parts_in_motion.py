"""Each part of rigid contact in a motion with a closed form, or in other coordinates."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import timefem as tf
from tests.nonsmooth.contact_scenes import DOWN, G, solved


def balanced(sol, atol=1e-11):
    assert sol.success, sol.status.message
    assert np.abs(sol.energy.balance()).max() < atol
    assert sol.contact_gaps().min() > -1e-11


def test_a_tether_becomes_taut():
    """A mass falls beside its hook until the rope is straight, and turns back along it with e times its speed."""
    mass = tf.PointMass(1.0, name="mass")
    sol = solved([mass, tf.Tether(mass, None, length=1.0, restitution=0.5, name="rope")],
                 {mass: tf.Pose((0.5, 0, 0))}, 0.6, 20)
    balanced(sol)
    fall = np.sqrt(2 * np.sqrt(0.75) / G)
    event = sol.events[0]
    assert event.kind == "impact" and event.t == pytest.approx(fall, rel=1e-13)
    along = np.array([0.5, 0, -np.sqrt(0.75)])
    before = np.array([0, 0, -G * fall])
    np.testing.assert_allclose(sol.velocity(mass, event.t), before - 1.5 * (before @ along) * along, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("part", "fall"), [
    (lambda mass: tf.Tether(mass, None, length=0.4, restitution=0.5, name="rope"), 0.4),
    (lambda mass: tf.SphereContact(mass, None, radius_a=0.1, radius_b=0.5, inside=True, restitution=0.5), 0.4),
    (lambda mass: tf.DiscContact(mass, None, radius_a=0.1, radius_b=0.1002, inside=True, axis=(0, 1, 0),
                                 restitution=0.5), 2e-4)])
def test_what_falls_from_the_middle(part, fall):
    """Where the distance is zero it has no direction."""
    mass = tf.RigidBody(1.0, (0.004, 0.004, 0.004), name="mass")
    sol = solved([mass, part(mass)], {mass: tf.Pose()}, 1.5 * np.sqrt(2 * fall / G), 10)
    balanced(sol)
    assert [event.kind for event in sol.events] == ["impact"]
    assert sol.events[0].t == pytest.approx(np.sqrt(2 * fall / G), rel=1e-12)


def test_a_slack_rope_from_its_hook():
    mass = tf.PointMass(1.0, name="mass")
    system = tf.System([mass, tf.SlackRope(mass, None, length=1.0, stiffness=1e3, name="rope")], gravity=(0, 0, -G))
    problem = tf.InitialValueProblem(system, {mass: tf.Pose()}, (0, 0.4))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False)
    assert sol.success and sol.position(mass, 0.4)[2] == pytest.approx(-G * 0.4**2 / 2, rel=1e-14)


@pytest.mark.parametrize("side", ["highest", "lowest"])
def test_stops_of_a_pendulum_in_bodies_and_in_joint_coordinates(side):
    limits = {"lowest": -0.3, "highest": 0.4}
    runs = []
    for coordinates in ("bodies", "joint"):
        rod = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="rod")
        hinge = tf.Revolute(rod, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                            name="hinge")
        stop = tf.EndStop(hinge, restitution=0.6, name="stop", **{side: limits[side]})
        problem = tf.InitialValueProblem(tf.System([rod, hinge, stop], gravity=DOWN, coordinates=coordinates),
                                         {hinge: (0.0, 3.0 if side == "highest" else -3.0)}, (0, 1.0))
        runs.append(tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False))
    for sol in runs:
        balanced(sol, 1e-8)
    assert len(runs[0].events) == len(runs[1].events) > 0
    np.testing.assert_allclose(*([event.t for event in sol.events] for sol in runs), rtol=0, atol=1e-8)
    rate = np.sqrt(9 - 2 * G * 0.5 * (1 - np.cos(limits[side])) / 0.35)  # by the energy, with J = 0.35 kg m^2
    jump = runs[1].events[0].energy
    assert jump == pytest.approx(-(1 - 0.36) * 0.35 * rate**2 / 2, rel=1e-6)


def test_a_bead_in_a_tube():
    """By formula: chords of the circle, met every 0.8 s."""
    bead = tf.PointMass(1.0, name="bead")
    tube = tf.SurfaceContact(bead, formula="c[0] - sqrt(x[0]**2 + x[1]**2)", parameters=[0.5], restitution=1.0)
    sol = solved([bead, tube], {bead: tf.Pose((0.3, 0, 0), velocity=(0, 1, 0.2))}, 3.0, 30, gravity=None)
    balanced(sol)
    np.testing.assert_allclose([event.t for event in sol.events], [0.4, 1.2, 2.0, 2.8], rtol=0, atol=1e-10)
    assert np.ptp(sol.energy()) < 1e-12


@pytest.mark.parametrize(("start", "velocity", "half"), [
    ((0.2, 0.1), (1.3, 0.9), 0.6), ((0.0, 0.0), (1.3, 0.9), 0.6), ((0.3 + 1e-4, 0.2), (1.3, 0.9), 0.6),
    ((-0.07799814461372813, -0.04296712295687813), (0.8648348866873408, 0.5020563900285449), 0.2)])
def test_a_billiard_in_an_ellipse(start, velocity, half):
    """By a formula whose gradient vanishes in the middle, where the ball starts, or comes by: its chords are exact.
    Along the last way the gap seems to be least where it is not, after a bounce."""
    inverse, velocity, end = np.diag([1, 1 / half**2]), np.array(velocity), 6.0
    ball = tf.PointMass(0.3, name="ball")
    cushion = tf.SurfaceContact(ball, formula="1 - x[0]**2 - (x[1] / c[0])**2", parameters=[half], restitution=1.0)
    n = 6 if half > 0.5 else 30
    sol = solved([ball, cushion], {ball: tf.Pose((*start, 0), velocity=(*velocity, 0))}, end, n, gravity=None)
    balanced(sol)
    place, t, times = np.array(start), 0.0, []
    while True:
        a, b, c = velocity @ inverse @ velocity, place @ inverse @ velocity, place @ inverse @ place - 1
        ahead = -2 * b / a if times else (np.sqrt(b * b - a * c) - b) / a
        if t + ahead > end:
            break
        t, place = t + ahead, place + velocity * ahead
        times.append(t)
        normal = inverse @ place / np.linalg.norm(inverse @ place)
        velocity = velocity - 2 * (velocity @ normal) * normal
    assert [event.kind for event in sol.events] == ["impact"] * len(times) and len(times) > 6
    np.testing.assert_allclose([event.t for event in sol.events], times, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sol.position(ball, end)[:2], place + velocity * (end - t), rtol=0, atol=1e-12)


def bounces(start, velocity, power, restitution, end):
    """Times of impacts in |x|^power + |y / 0.6|^power <= 1, by roots along straight ways."""
    place, velocity, t, times = np.array(start), np.array(velocity), 0.0, []
    half = np.array([1.0, 0.6])
    while True:
        def inside(ahead, place=place, velocity=velocity):
            return 1 - (((place + ahead * velocity) / half)**power).sum()
        ahead = brentq(inside, 1e-6 if times else 0.0, 4 / np.linalg.norm(velocity), xtol=1e-15)
        if t + ahead > end:
            return times
        t, place = t + ahead, place + ahead * velocity
        times.append(t)
        normal = (place / half)**(power - 1) / half
        normal /= np.linalg.norm(normal)
        velocity = velocity - (1 + restitution) * (velocity @ normal) * normal


@pytest.mark.parametrize("beside", [0.0, 1e-3, 1e-7, 1e-9])
@pytest.mark.parametrize(("power", "size"), [(2, None), (4, 0.7), (6, 0.1), (4, 10.0)])
def test_what_starts_beside_a_place_where_a_formula_is_flat(beside, power, size):
    """There the gradient turns at once, and says nothing of the speed of the ball, nor of how far the surface is."""
    start, velocity, end = (beside, 2 * beside), (1.0, 0.3), 4.0
    ball = tf.PointMass(0.3, name="ball")
    cushion = tf.SurfaceContact(ball, formula=f"1 - x[0]**{power} - (x[1] / c[0])**{power}", parameters=[0.6],
                                size=size, restitution=0.9, name="cushion")
    sol = solved([ball, cushion], {ball: tf.Pose((*start, 0), velocity=(*velocity, 0))}, end, 40, gravity=None)
    balanced(sol)
    assert [event.kind for event in sol.events] == ["impact"] * len(sol.events)
    times = bounces(start, velocity, power, 0.9, end)
    assert len(times) >= 2
    np.testing.assert_allclose([event.t for event in sol.events], times, rtol=0, atol=1e-12)


@pytest.mark.parametrize("start", [(0.0, 0.0), (1e-6, 2e-6), (-0.5, -0.15)])
def test_a_formula_that_is_flat_to_second_order_needs_a_size(start):
    """Where the ball starts or comes by; without, it went through the surface, and no message said so."""
    ball = tf.PointMass(0.3, name="ball")
    cushion = tf.SurfaceContact(ball, formula="1 - x[0]**4 - x[1]**4", restitution=1.0, name="cushion")
    problem = tf.InitialValueProblem(tf.System([ball, cushion]), {ball: tf.Pose((*start, 0), velocity=(1, 0.3, 0))},
                                     (0, 6))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60, progress=False)
    assert sol.status.reason == "not finite"
    assert "cushion: its formula is flat there; give size=, about how far away" in sol.status.message


def test_a_ball_on_a_table_that_moves():
    """The restitution is that of the velocities against the table."""
    ball = tf.PointMass(1.0, name="ball")
    table = tf.PlaneContact(ball, motion=(0, 0, tf.Sine(0.05, 12.0)), restitution=0.6, name="table")
    sol = solved([ball, table], {ball: tf.Pose((0, 0, 0.1))}, 0.4, 40)
    assert sol.success and sol.contact_gaps().min() > -1e-11

    def gap(t):
        return 0.1 - G * t**2 / 2 - table.motion[2](t)

    t = np.linspace(0, 0.3, 3001)
    first = int(np.argmax(gap(t) < 0))
    meets = brentq(gap, t[first - 1], t[first], xtol=1e-15)
    event = sol.events[0]
    assert event.t == pytest.approx(meets, abs=1e-10)
    lift = (table.motion[2](meets + 1e-6) - table.motion[2](meets - 1e-6)) / 2e-6
    assert sol.velocity(ball, event.t)[2] == pytest.approx(lift - 0.6 * (-G * meets - lift), abs=1e-6)


def test_a_body_leaves_a_table_without_an_impact():
    """The table follows a spline through measured places, with many kinks in an element: the body follows it to 1e-9,
    and leaves each time that it falls faster than freely."""
    amplitude, w, t = 0.02, 30.0, np.linspace(0, 1.6, 400)
    body = tf.PointMass(0.1, 1, name="body")
    way = tf.Spline(t, amplitude * np.sin(w * t))
    sol = solved([body, tf.PlaneContact(body, normal=(1, 0, 0), motion=(way, 0, 0), name="table")],
                 {body: tf.Pose((0.05, 0, 0))}, 1.5, 150, degree=3, gravity=(-G, 0, 0))
    assert sol.success and [event.kind for event in sol.events] == ["impact", "opens"] * 7
    leaves = np.array([event.t for event in sol.events[1::2]])
    turns = (w * leaves - np.arcsin(G / (amplitude * w**2))) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), rtol=0, atol=1e-7)


def test_a_block_on_a_belt():
    block = tf.PointMass(1.0, name="block")
    belt = tf.PlaneContact(block, surface_velocity=(1.0, 0, 0), friction=0.3, name="belt")
    sol = solved([block, belt], {block: tf.Pose()}, 0.6, 12)
    balanced(sol)
    event, = sol.events
    assert event.kind == "sticks" and event.t == pytest.approx(1 / (0.3 * G), rel=1e-12)
    np.testing.assert_allclose(sol.velocity(block, 0.6), (1, 0, 0), rtol=0, atol=1e-12)


def test_the_tip_of_a_clamped_beam_rests_on_a_stop(length=1.0, bending=20.0, shear=1e5, force=8.0, period=4.0):
    """Pressed in the middle by a force that grows and falls so slowly that the stop carries what statics says, 5/16 of
    it but for the shear; it leaves the stop when the force turns round."""
    section = tf.Section(shear, (shear, shear), 10.0, (bending, bending), 0.5, (1e-3, 1e-3, 1e-3))
    beam = tf.Beam(length, section, 2, 3, name="beam")
    clamp = tf.Weld(beam.start, None, point_a=(0, 0, 0), point_b=(0, 0, 0), name="clamp")
    stop = tf.PlaneContact(beam.end, name="stop")
    load = tf.Force(beam.at(0.5), (0, 0, lambda t: -force * ca.sin(np.pi * t / period)**3 * ca.cos(np.pi * t / period)))
    t, end = np.array([0.8, 1.0, 1.2]), 0.6 * period
    sol = solved([beam, clamp, stop, load], {}, end, 240, gravity=None)
    assert sol.success and sol.events[-1].kind == "opens"
    assert sol.events[-1].t == pytest.approx(period / 2, rel=1e-5)
    by_load, by_stop = 5 * length**3 / 48 / bending + length / 2 / shear, length**3 / 3 / bending + length / shear
    pressed = force * np.sin(np.pi * t / period)**3 * np.cos(np.pi * t / period)
    np.testing.assert_allclose(sol.contact_forces(t)[:, 0, 0] / pressed, by_load / by_stop, rtol=1e-3)


def test_points_of_a_beam_touch():
    """Its ends fall on a floor and on a ball that is fixed: no energy is gained, nothing penetrates."""
    section = tf.Section(1e4, (1e4, 1e4), 1e2, (50.0, 50.0), 1.0, (0.02, 0.01, 0.01))
    beam = tf.Beam([tf.Line((0, 0, 0.1), (1, 0, 0.1))], section, 1, 1, name="beam")
    floor = tf.PlaneContact(beam.at(0.0), restitution=0.4, name="floor")
    ball = tf.SphereContact(beam.end, None, radius_a=0.01, radius_b=0.05, point_b=(1, 0, 0), restitution=0.4,
                            name="ball")
    sol = solved([beam, floor, ball], {}, 0.16, 20)
    balanced(sol, 1e-9)
    assert {name for event in sol.events for name in event.contacts} == {"floor", "ball"}
    assert sol.events[0].t == pytest.approx(np.sqrt(2 * 0.04 / G), rel=1e-6)
    assert all(event.energy <= 0 for event in sol.events)


@pytest.mark.parametrize("mass, stiffness, friction, speed", [(1.0, 20.0, 0.3, 2.0), (500.0, 1e4, 1e-3, 1e-3)])
def test_a_block_on_a_belt_slips(mass, stiffness, friction, speed):
    """From stick the slip grows by the square of the time: at first it is less than the rounding of velocities."""
    block = tf.PointMass(mass, name="block")
    spring = tf.Spring(block, point_b=(-1, 0, 0), stiffness=stiffness, length=1.0)
    belt = tf.PlaneContact(block, friction=friction, surface_velocity=(speed, 0, 0), name="belt")
    rate, limit = np.sqrt(stiffness / mass), friction * mass * G / stiffness
    end = limit / speed + 4 / rate  # slips after it is at the limit of friction, and swings about that place
    problem = tf.InitialValueProblem(tf.System([block, spring, belt], gravity=DOWN),
                                     {block: tf.Pose(velocity=(speed, 0, 0))}, (0, end))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 24, progress=False)
    assert [event.kind for event in sol.events] == ["slips"]
    assert sol.events[0].t == pytest.approx(limit / speed, rel=1e-10)
    assert sol.position(block, end)[0] == pytest.approx(limit + speed / rate * np.sin(4), abs=1e-6 * speed / rate)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_slip_that_begins_just_before_a_node_does_not_stop_there(degree):
    """At the node it is less than the rounding of velocities, and may seem to go back."""
    speed, friction, stiffness = 0.7, 0.3, 10.0
    block = tf.PointMass(1.0, 2, name="block")
    belt = tf.PlaneContact(block, normal=(0, 1, 0), friction=friction, surface_velocity=(speed, 0, 0), name="belt")
    spring = tf.FormulaForce(block, lambda f, t, c: (-stiffness * f[0].position[0], 0, 0))
    system = tf.System([block, spring, belt], gravity=(0, -G, 0))
    for before in 10.0 ** np.arange(-8, -5.9, 0.25):
        start = friction * G / stiffness - speed * (0.5 - before)
        problem = tf.InitialValueProblem(system, {block: tf.Pose((start, 0, 0), velocity=(speed, 0, 0))}, (0, 1))
        sol = tf.solve(problem, tf.MixedGalerkin(degree), 10, progress=False)
        assert [event.kind for event in sol.events] == ["slips"], before
        assert sol.events[0].t == pytest.approx(0.5 - before, abs=1e-10)


@pytest.mark.parametrize("length", [1.0, 1e3])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_block_on_a_table_that_shakes(dimension, length):
    """From rest and to and fro, with mu g between: its slip is as fast as the table, and turns round six times."""
    amplitude, rate, friction, weight = 0.02 * length, 20.0, 0.3, 9.81 * length
    normal = np.eye(3)[dimension - 1]
    block = tf.PointMass(1.2, dimension, name="block")
    table = tf.PlaneContact(block, normal=normal, friction=friction, name="table",
                            motion=(lambda t: amplitude * (1 - ca.cos(rate * t)), 0, 0))
    sol = solved([block, table], {block: tf.Pose()}, 1.0, 80, 3, gravity=-weight * normal)
    assert sol.success and [event.kind for event in sol.events] == ["slips"] * 6
    times = np.array([0.0, *(event.t for event in sol.events)])
    velocities = friction * weight * np.cumsum(np.diff(times) * (-1.0) ** np.arange(6))
    np.testing.assert_allclose(velocities, amplitude * rate * np.sin(rate * times[1:]), rtol=0, atol=1e-12 * length)
    np.testing.assert_allclose(sol.velocity(block, times[1:])[:, 0], velocities, rtol=0, atol=1e-12 * length)


@pytest.mark.parametrize("friction", [0.0, 0.2])
def test_a_mass_that_leaks_on_the_floor(friction):
    """It falls and slides as any other; the floor carries what is left of it."""
    tank = tf.VariableMass(2.0, name="tank")
    floor = tf.PlaneContact(tank, friction=friction, name="floor")
    system = tf.System([tank, floor, tf.FormulaForce(tank, "[0, 0, 0, -0.5]")], gravity=(0, 0, -9.81))
    start = {tank: tf.Pose((0, 0, 0.2), velocity=(3, 0, 0))}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 2)), tf.MixedGalerkin(2), 40, progress=False)
    t = np.array([0.5, 1.0, 1.5])  # all that the fall and the slide take together is mu g t, as on the floor
    np.testing.assert_allclose(sol.velocity(tank, t)[:, 0], np.maximum(3 - friction * 9.81 * t, 0), atol=1e-9)
    np.testing.assert_allclose(sol.contact_forces(t)[:, 0, 0], (2 - 0.5 * t) * 9.81, rtol=1e-9)


def test_a_mass_that_leaks_on_planes_that_move():
    """What leaves has the velocity of the mass: the plane carries m (g + a), and a belt has nothing to pull."""
    t = np.array([0.3, 0.9])
    for what, speed, acceleration in (({"motion": (0, 0, lambda t: 0.7 * t)}, (0, 0, 0.7), 0),
                                      ({"motion": (0, 0, lambda t: t * t / 2)}, (0, 0, 0), 1),
                                      ({"surface_velocity": (1.0, 0, 0), "friction": 0.3}, (1.0, 0, 0), 0)):
        tank = tf.VariableMass(2.0, name="tank")
        plane = tf.PlaneContact(tank, **what, name="plane")
        system = tf.System([tank, plane, tf.FormulaForce(tank, "[0, 0, 0, -0.5]")], gravity=DOWN)
        problem = tf.InitialValueProblem(system, {tank: tf.Pose(velocity=speed)}, (0, 1))
        forces = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False).contact_forces(t)[:, 0]
        np.testing.assert_allclose(forces[:, 0], (2 - 0.5 * t) * (G + acceleration), rtol=1e-12)
        np.testing.assert_allclose(forces[:, 1:], 0, rtol=0, atol=1e-12)


def test_a_mass_that_leaks_slips_on_a_belt():
    """As soon as the spring pulls with mu m g; and how that depends on the leak and on the friction."""
    def march(leak=0.5, friction=0.3):
        tank = tf.VariableMass(2.0, dimension=2, name="tank")
        parts = [tank, tf.FormulaForce(tank, "[0, 0, 0, -c[0]]", parameters=[leak], name="leak"),
                 tf.Spring(tank, point_b=(-1, 0, 0), stiffness=30.0, length=1.0),
                 tf.PlaneContact(tank, normal=(0, 1, 0), surface_velocity=(1, 0, 0), friction=friction, name="belt")]
        problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, -G, 0)), {tank: tf.Pose(velocity=(1, 0, 0))},
                                         (0, 0.9))
        sol = tf.solve(problem, tf.MixedGalerkin(3), 30, progress=False)
        return sol, float(sol.position(tank, 0.9)[0])

    sol, _ = march()
    assert [event.kind for event in sol.events] == ["slips"]
    assert sol.events[0].t == pytest.approx(0.3 * 2 * G / (30 + 0.3 * 0.5 * G), rel=1e-12)
    found = tf.gradient(sol, tf.EndValue(lambda bodies, t: bodies[0].position[0]),
                        [tf.Parameter("leak", "parameters"), tf.Parameter("belt", "friction")])
    h = 1e-4
    expected = [(march(**{name: value + h})[1] - march(**{name: value - h})[1]) / (2 * h)
                for name, value in (("leak", 0.5), ("friction", 0.3))]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_a_lift_falls_away_from_a_box(rotation):
    """It falls faster and faster, and the box opens from it where it falls with g: its friction ends without a slip."""
    box = tf.RigidBody(1.0, (0.1, 0.2, 0.25), rotation, size=(0.4, 0.4, 0.2), name="box")
    lift = tf.BoxContact(box, motion=(0, 0, lambda t: -10 * t**3 / 3), friction=0.3, name="lift")
    problem = tf.InitialValueProblem(tf.System([box, lift], gravity=DOWN), {box: tf.Pose((0, 0, 0.1))}, (0, 0.8))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    t = G / 20
    assert [event.kind for event in sol.events] == ["opens"] and sol.events[0].t == pytest.approx(t, rel=1e-12)
    height = 0.1 - 10 * t**3 / 3 - 10 * t**2 * (0.8 - t) - G * (0.8 - t)**2 / 2
    assert sol.position(box, 0.8)[2] == pytest.approx(height, rel=1e-12)


def _over_an_edge(height, inertia, along, t):
    """Place of the centre seen from the edge, and rate: of a body of 1 kg that slides over an edge with a face `height`
    below its centre, from rest but for the speed 1 m/s along it."""
    def rates(_, y):
        u, du, angle, w = y
        mass = np.array([[1, height], [height, height**2 + u * u + inertia]])
        force = [u * w * w + G * np.sin(angle), G * (u * np.cos(angle) + height * np.sin(angle)) - 2 * u * du * w]
        du, w = np.array([du, w]), np.linalg.solve(mass, force)
        return [du[0], w[0], du[1], w[1]]

    u, _, angle, w = solve_ivp(rates, (0, t), [along, 1.0, 0.0, 0.0], rtol=1e-12, atol=1e-14).y[:, -1]
    sin, cos = np.sin(angle), np.cos(angle)
    return np.array([u * cos + height * sin, 0, height * cos - u * sin]), w


def test_a_rod_slides_off_the_rear_one_of_two_rails():
    """Its end leaves the rail, with the force that it had there, and the rod tips back over the other one."""
    rod = tf.RigidBody(1.0, (0.001, 0.08, 0.08), name="rod")
    rails = [tf.EdgeContact(rod, None, start_a=(-0.5, 0, 0), end_a=(0.5, 0, 0), start_b=(x, -0.2, 0), end_b=(x, 0.2, 0),
                            name=name) for x, name in ((-0.4, "rear"), (0.3, "front"))]
    sol = solved([rod, *rails], {rod: tf.Pose(velocity=(1, 0, 0))}, 0.4, 40)
    balanced(sol)
    event, = sol.events
    assert event.kind == "opens" and event.contacts == ("rear",) and event.t == pytest.approx(0.1, rel=1e-8)
    forces = sol.contact_forces([0.05])[0, :, 0]
    np.testing.assert_allclose(forces, G * np.array([0.25, 0.45]) / 0.7, rtol=1e-9)
    place, rate = _over_an_edge(0.0, 0.08, -0.2, 0.3)
    np.testing.assert_allclose(sol.position(rod, 0.4), place + (0.3, 0, 0), rtol=0, atol=1e-7)
    assert sol.angular_velocity(rod, 0.4)[1] == pytest.approx(rate, rel=1e-6)
    with pytest.raises(tf.InputError, match="rear leaves at the end of its surface"):
        tf.gradient(sol, tf.EndValue(lambda bodies, t: bodies[0].position[0]), [tf.Parameter(rod, "mass")])
    with pytest.raises(tf.InputError, match="leave at the end of their surfaces"):
        sol.phases()


@pytest.mark.slow
def test_a_box_slides_over_the_edge_of_another_one():
    """Corners leave the face, edges go on upon its edge; from where the centre is above it, the box tips."""
    box = tf.RigidBody(1.0, (0.02, 0.02, 0.02), size=(0.4, 0.2, 0.2), name="box")
    table = tf.RigidBody(50.0, (1, 1, 1), size=(2, 1, 0.5), name="table")
    weld = tf.Weld(table, point_a=(0, 0, 0), point_b=(0, 0, 0), name="weld")
    start = {box: tf.Pose((0.7, 0, 0.35), velocity=(1, 0, 0)), table: tf.Pose()}
    sol = solved([box, table, weld, tf.BoxPairContact(box, table, name="c")], start, 0.5, 50)
    balanced(sol)
    assert [event.kind for event in sol.events] == ["opens", "opens"]
    np.testing.assert_allclose([event.t for event in sol.events], (0.1, 0.3), rtol=1e-6)
    place, rate = _over_an_edge(0.1, 0.02, 0.0, 0.2)
    np.testing.assert_allclose(sol.position(box, 0.5), place + (1, 0, 0.25), rtol=0, atol=1e-6)
    assert sol.angular_velocity(box, 0.5)[1] == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize("make", [
    lambda link, at: tf.PlaneContact(link, points=[at], plane_point=(0, 0, -1)),
    lambda link, at: tf.SphereContact(link, radius_a=0.5, radius_b=0.5, point_a=at, point_b=(0.5, 0, -2.0)),
    lambda link, at: tf.SurfaceContact(link, formula="x[2] + 1", point=at)])
def test_points_of_links_count_from_their_origins(make):
    """Not from the centre of mass, as those of bodies do."""
    link = tf.Link("a", 2.0, (0.3, 0, 0), (0.02, 0.02, 0.02))
    tree = tf.Tree([tf.Link("ground"), link], [tf.TreeJoint("j", "ground", "a", "revolute", axis=(0, 1, 0))])
    sol = solved([tree, make(tree.link("a"), (0.5, 0, 0.1))], {tree: {"j": 0.0}}, 0.01, 2)
    assert sol.contact_gaps()[0, 0] == pytest.approx(1.1, abs=1e-12)


@pytest.mark.parametrize(("friction", "along", "across", "k", "n"), [
    (0.15, 6, -3, 2, 14), (0.2, 8, 2, 2, 7), (0.2, 8, 2, 3, 14), (0.2, 8, -3, 3, 7)])
def test_rolling_balls_begin_to_slide_within_the_element(friction, along, across, k, n):
    """The slip of the first node is rounding, and so is what it says of the next ones: the element had no solution
    from there, and the fallback went on."""
    ball = tf.RigidBody(1.0, np.full(3, 0.004), name="ball")
    floor = tf.PlaneContact(ball, radius=0.1, friction=friction, name="floor")
    gust = tf.Force(ball, (f"{along}*exp(-((t - 0.5)/0.2)**2)", f"{across}*exp(-((t - 0.6)/0.2)**2)", 0))
    problem = tf.InitialValueProblem(tf.System([ball, gust, floor], gravity=(0, 0, -9.81)),
                                     {ball: tf.Pose((0, 0, 0.1))}, (0, 0.7))
    coarse, fine = (tf.solve(problem, tf.MixedGalerkin(degree), elements) for degree, elements in ((k, n), (4, 40)))
    assert {event.kind for event in coarse.events} <= {"slips", "sticks"}
    assert coarse.events[0].t == pytest.approx(fine.events[0].t, abs=1e-6) and coarse.events[0].kind == "slips"
    np.testing.assert_allclose(coarse(0.5), fine(0.5), rtol=0, atol=1e-4)
