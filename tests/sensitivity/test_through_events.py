"""Derivatives of marches with impacts, sliding, sticking and detachment, against differences of whole marches."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests import contact_systems as systems

TIGHT = tf.Newton(tol_increment=1e-12)
UP = (0, 0, -9.81)
HINGE = {"point_a": (0, 0, 0.5), "point_b": (0, 0, 0), "axis_a": (0, 1, 0), "axis_b": (0, 1, 0)}


def swing(f, t, c):
    return -c[0] * f[0].q - 2 * f[0].q**3 - 0.1 * f[0].rate + ca.cos(t)


def inertia(q, v, c):
    return v[0]**2 / 2


def stop(restitution=0.7, place=-0.3, stiffness=4.0, q=1.0, v=0.0):
    body = tf.GeneralizedBody(1, inertia, name="mass")
    force = tf.FormulaForce(body, swing, parameters=[stiffness], name="spring")
    stop = systems.Stop(body, place=place, restitution=restitution, name="stop")
    return tf.InitialValueProblem(tf.System([body, force, stop]), tf.Coordinates([q], [v]), (0, 3))


def bar(restitution=0.6, friction=0.3, mass=2.0, place=0.0, spin=3.0, rotation="directors"):
    body = tf.RigidBody(mass, (0.15, 0.15, 0.15), rotation=rotation, name="bar")
    ends = tf.PlaneContact(body, normal=(0, 1, 0), plane_point=(0, place, 0), points=[[-0.5, 0, 0], [0.5, 0, 0]],
                           restitution=restitution, friction=friction, name="ends")
    start = tf.Pose((0, 1.2, 0), systems.turned(0.4), velocity=(1, 0.5, 0), angular_velocity=(0, 0, spin))
    return tf.InitialValueProblem(tf.System([body, ends], gravity=systems.DOWN), {body: start}, (0, 1.5))


def off_circle(friction=0.2, restitution=0.5, speed=1.0):
    """Slides, leaves, falls on a floor."""
    body = tf.PointMass(1.0, 2, name="mass")
    law = {"friction": friction, "restitution": restitution}
    floor = tf.PlaneContact(body, normal=(0, 1, 0), plane_point=(0, -1, 0), name="floor", **law)
    system = tf.System([body, systems.Circle(body, name="circle", **law), floor], gravity=systems.DOWN)
    c, s = np.cos(0.1), np.sin(0.1)
    return tf.InitialValueProblem(system, {body: tf.Pose((s, c, 0), velocity=(speed * c, -speed * s, 0))}, (0, 1.6))


def belt(stiffness=10.0, friction=0.3, speed=0.5):
    """Slips, sticks, slips."""
    mass = tf.PointMass(1.0, 2, name="mass")
    spring = tf.Spring(mass, None, point_b=(-10.0, 0, 0), stiffness=stiffness, length=10.0)
    contact = tf.PlaneContact(mass, normal=(0, 1, 0), friction=friction, surface_velocity=(speed, 0, 0), name="belt")
    system = tf.System([mass, spring, contact], gravity=systems.DOWN)
    return tf.InitialValueProblem(system, {mass: tf.Pose((0.6, 0, 0))}, (0, 3))


def puck(friction=0.35, speed=1.2, wind=0.5):
    """Slides in a curve, stops and sticks."""
    mass = tf.PointMass(1.0, 3, name="puck")
    ice, wind = tf.PlaneContact(mass, friction=friction, name="ice"), tf.Force(mass, (1.0, wind, 0))
    return tf.InitialValueProblem(tf.System([mass, ice, wind], gravity=UP), {mass: tf.Pose(velocity=(0.3, speed, 0))},
                                  (0, 1))


def pushed(friction=0.3, mass=1.0, along=5.0, across=1.0):
    """A puck at rest that begins to slip at once, with forces that turn with its speed."""
    body = tf.PointMass(mass, 3, name="puck")
    ice = tf.PlaneContact(body, friction=friction, name="ice")
    wind = tf.FormulaForce(body, lambda f, t, c: ca.vertcat(c[0] - f[0].velocity[1] / 2, c[1] - 2 * f[0].velocity[0],
                                                            0), parameters=[along, across])
    return tf.InitialValueProblem(tf.System([body, ice, wind], gravity=UP), {body: tf.Pose()}, (0, 0.4))


def belt_in_space(stiffness=10.0, friction=0.3, speed=0.5, side=0.4):
    """Slips, sticks, slips, in directions that turn."""
    mass = tf.PointMass(1.0, 3, name="mass")
    springs = [tf.Spring(mass, None, point_b=(-10.0, 0, 0), stiffness=stiffness, length=10.0),
               tf.Spring(mass, None, point_b=(0, -10.0, 0), stiffness=6.0, length=10.0)]
    contact = tf.PlaneContact(mass, friction=friction, surface_velocity=(speed, 0.1, 0), name="belt")
    return tf.InitialValueProblem(tf.System([mass, *springs, contact], gravity=UP), {mass: tf.Pose((0.6, side, 0))},
                                  (0, 3))


def pendulum(mass=1.0, restitution=0.5, place=-0.3, rate=0.1, coordinates="bodies"):
    rod = tf.RigidBody(mass, (1 / 12,) * 3, rotation="directors", name="rod")
    hinge = tf.Revolute(rod, None, **HINGE, name="hinge")
    wall = tf.PlaneContact(rod, normal=(1, 0, 0), plane_point=(place, 0, 0), points=[[0, 0, -0.5]],
                           restitution=restitution, friction=0.2, name="wall")
    system = tf.System([rod, hinge, wall], gravity=UP, coordinates=coordinates)
    return tf.InitialValueProblem(system, system.state({"hinge": (-1.0, rate)}), (0, 2))


def arm(mass=1.0, friction=2.0, rate=0.0):
    """Two links whose hand lands, slides and sticks."""
    upper, lower = (tf.RigidBody(m, (1 / 12, 1 / 12, 0.01), rotation="directors", name=name)
                    for name, m in (("upper", 1.0), ("lower", mass)))
    shoulder = tf.Revolute(upper, None, **HINGE | {"point_b": (0, 0, 1.2)}, name="shoulder")
    elbow = tf.Revolute(lower, upper, **HINGE | {"point_b": (0, 0, -0.5)}, name="elbow")
    hand = tf.PlaneContact(lower, points=[[0, 0, -0.5]], friction=friction, name="hand")
    system = tf.System([upper, lower, shoulder, elbow, hand], gravity=UP)
    return tf.InitialValueProblem(system, system.state({"shoulder": (1.2, rate), "elbow": (0.6, 0.0)}), (0, 1.0))


def box(restitution=0.5, friction=0.4, mass=1.0, spin=2.0):
    """Corners on a floor, with friction in space."""
    body = tf.RigidBody(mass, (0.02, 0.03, 0.04), size=(0.4, 0.4, 0.2), name="box")
    floor = tf.BoxContact(body, restitution=restitution, friction=friction, name="floor")
    turn = np.array([np.cos(0.3), 0.1 * np.sin(0.3), 0.8 * np.sin(0.3), np.sqrt(0.35) * np.sin(0.3)])
    start = tf.Pose((0, 0, 0.5), turn, velocity=(1, 0.3, 0), angular_velocity=(1, spin, 0.5))
    return tf.InitialValueProblem(tf.System([body, floor], gravity=UP), {body: start}, (0, 0.45))


def limits(restitution=0.6, highest=0.5, mass=1.0, rate=3.0):
    """A joint between its stops."""
    rod = tf.RigidBody(mass, (1 / 12,) * 3, name="rod")
    hinge = tf.Revolute(rod, None, **HINGE, name="hinge")
    stops = tf.EndStop(hinge, lowest=-0.4, highest=highest, restitution=restitution, name="stops")
    system = tf.System([rod, hinge, stops], gravity=UP)
    return tf.InitialValueProblem(system, system.state({"hinge": (0.1, rate)}), (0, 1.2))


def clutch(friction=0.5, inertia=0.2, rate=3.0):
    """Two wheels of a tree with dry friction between."""
    links = [tf.Link("ground"), *(tf.Link(name, 1.0, (0, 0, 0), (j,) * 3) for name, j in (("a", inertia), ("b", 0.3)))]
    joints = [tf.TreeJoint(*names, "revolute") for names in (("shaft", "ground", "a"), ("plates", "a", "b"))]
    tree = tf.Tree(links, joints, name="wheels")
    parts = [tree, tf.JointFriction(tree.joint("plates"), friction=friction, name="plates")]
    return tf.InitialValueProblem(tf.System(parts), {tree: {"shaft": (0.0, rate), "plates": (0.0, -3.0)}}, (0, 1.5))


def table(restitution=0.7, amplitude=0.05, frequency=2.0, height=0.5):
    """A ball on a plane that moves."""
    ball = tf.PointMass(1.0, 1, name="ball")
    plane = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=restitution, name="table",
                            motion=(tf.Sine(amplitude, frequency), 0, 0))
    system = tf.System([ball, plane], gravity=(-9.81, 0, 0))
    return tf.InitialValueProblem(system, {ball: tf.Pose((height, 0, 0))}, (0, 1))


def rests(restitution=0.5, spin=-30.0, height=1.0):
    """A ball that bounces to rest, and slides on."""
    ball = tf.RigidBody(1.0, (0.004,) * 3, name="ball")
    floor = tf.PlaneContact(ball, radius=0.1, restitution=restitution, friction=0.2, name="floor")
    start = tf.Pose((0, 0, height), velocity=(1, 0, 0), angular_velocity=(0, spin, 0.3))
    return tf.InitialValueProblem(tf.System([ball, floor], gravity=UP), {ball: start}, (0, 2.2))


def ramp(friction=0.3, radius=0.1, spin=2.0):
    """A disc that slides and rolls down a ramp, with which it is in contact when it meets a wall."""
    c, s = np.cos(0.4), np.sin(0.4)
    disc = tf.RigidBody(1.0, (radius**2 / 2,) * 3, name="disc")
    slope = tf.PlaneContact(disc, normal=(s, 0, c), radius=radius, friction=friction, name="ramp")
    wall = tf.PlaneContact(disc, normal=(-1, 0, 0), plane_point=(1, 0, 0), radius=radius, restitution=0.6, name="wall")
    start = tf.Pose(radius * np.array([s, 0, c]), velocity=(c / 2, 0, -s / 2), angular_velocity=(0, spin, 0))
    return tf.InitialValueProblem(tf.System([disc, slope, wall], gravity=UP), {disc: start}, (0, 1))


def journal(friction=0.4, radius=0.08, mass=2.0, lowest=-0.3):
    """A rod on a pin with friction by its reaction, which hits a stop."""
    rod = tf.RigidBody(mass, (0.2, 0.25, 0.1), name="rod")
    pin = tf.Revolute(rod, None, **HINGE, name="pin")
    rub = tf.BearingFriction(pin, friction=friction, friction_width=0.5, radius=radius, name="rub")
    stop = tf.EndStop(pin, lowest=lowest, restitution=0.5, name="stop")
    system = tf.System([rod, pin, rub, stop], gravity=UP)
    return tf.InitialValueProblem(system, system.state({"pin": (1.2, 0.0)}), (0, 1.0))


def driven(friction=0.3, mass=2.0, rate=1.0):
    """A rotor on a pin with dry friction by its weight, which stops, and is driven on."""
    body = tf.RigidBody(mass, (0.2, 0.25, 0.2), name="rotor")
    pin = tf.Revolute(body, None, **HINGE | {"point_a": (0, 0, 0)}, name="pin")
    parts = [body, pin, tf.BearingFriction(pin, friction=friction, radius=0.05, name="rub"),
             tf.JointForce(pin, value=lambda t: 0.4 * t**2, name="drive")]
    system = tf.System(parts, gravity=UP)
    return tf.InitialValueProblem(system, system.state({"pin": (0.2, -rate)}), (0, 1.5))


def creeping(creep=0.4, friction=0.2, mass=2.0, speed=1.5, height=0.05):
    """A block that falls, bounces, and slides to rest, with friction and a drag by its load."""
    block = tf.PointMass(mass, 2, name="block")
    floor = tf.PlaneContact(block, normal=(0, 1, 0), friction=friction, restitution=0.5, name="floor")
    drag = tf.FormulaForce(block, lambda f, t, c, r: -c[0] * r[0] * f[0].velocity, parameters=[creep], reactions=floor)
    system = tf.System([block, floor, drag], gravity=systems.DOWN)
    return tf.InitialValueProblem(system, {block: tf.Pose((0, height, 0), velocity=(speed, 0, 0))}, (0, 0.6))


def look(bodies, t):
    b = bodies[-1]
    if not hasattr(b, "position"):
        return b.q[0] + 0.3 * b.v[0] + (0.5 * b.q[1] if b.q.numel() > 1 else 0)
    x = b.position[0] + 0.5 * ca.sumsqr(b.position) + 0.3 * b.velocity[0] + 0.2 * ca.sum1(b.velocity)
    return x + (0.1 * ca.sum1(b.angular_velocity) + 0.1 * b.rotation[0, 1] if hasattr(b, "angular_velocity") else 0)


def value(solution, functional):
    return tf.Linearization(solution).value(functional)[0]


def check(build, n, functional, degree=2, step=2e-4, rtol=1e-8, names=None):
    """Compare with differences, all arguments changed at once; what happens must not change with them."""
    names = names or [name for name, given in zip(build.__code__.co_varnames, build.__defaults__, strict=False)
                      if isinstance(given, float)]
    start = np.array([build.__defaults__[build.__code__.co_varnames.index(name)] for name in names])

    def made(values):
        return build(**dict(zip(names, values, strict=True)))

    def solved(values):
        sol = tf.solve(made(values), tf.MixedGalerkin(degree), n, newton=TIGHT, progress=False)
        return sol, [(event.kind, event.statuses) for event in sol.events]

    sol, happened = solved(start)
    at, family = tf.Linearization(sol), tf.Family(made, start)
    found = tf.sensitivities(at, functional, family)[0]
    np.testing.assert_allclose(tf.gradient(at, functional, family), found, rtol=0, atol=1e-11 * np.abs(found).max())
    along = step * np.maximum(1.0, np.abs(start)) * (-0.7)**np.arange(len(start))
    values = []
    for k in (-2, -1, 1, 2):
        other, events = solved(start + k * along)
        assert events == happened
        values.append(value(other, functional))
    expected = (8 * (values[2] - values[1]) - (values[3] - values[0])) / 12
    assert found @ along == pytest.approx(expected, rel=0, abs=rtol * np.abs(found * along).max())
    return sol, at


@pytest.mark.long
@pytest.mark.parametrize("functional", [
    tf.EndValue(look), tf.Values(look, [2.77]), tf.Peak(lambda b, t: b[0].q[0], 5.0),
    tf.Integral(lambda b, t: t * b[0].q[0]**2)])
def test_all_functionals_through_impacts(functional):
    check(stop, 40, functional, names=("place",))


@pytest.mark.long
def test_parameters_by_name():
    sol = tf.solve(stop(), tf.MixedGalerkin(2), 20, newton=TIGHT)
    parameters = [tf.Parameter("stop", "restitution"), tf.Parameter("stop", "place"),
                  tf.Parameter("spring", "parameters", 0), tf.Initial("mass", "q"), tf.Initial("mass", "v")]
    at = tf.Linearization(sol)
    family = tf.Family(lambda x: stop(*x), [0.7, -0.3, 4.0, 1.0, 0.0])
    expected = tf.gradient(at, tf.EndValue(look), family)
    np.testing.assert_allclose(tf.gradient(at, tf.EndValue(look), parameters), expected, rtol=1e-9)
    times = at.event_times(parameters)  # of impacts, and of no other node
    assert set(np.flatnonzero(np.abs(times).max(axis=1))) == {event.node for event in sol.events}


@pytest.mark.long
def test_six_impacts_that_stick_and_slip():
    for rotation in ("directors", "quaternion"):
        sol, _ = check(lambda restitution=0.6, friction=0.3, mass=2.0, place=0.0, spin=3.0, r=rotation: bar(
            restitution, friction, mass, place, spin, r), 80, tf.EndValue(look), step=1e-4)
        assert len(sol.events) == 6


@pytest.mark.long
@pytest.mark.parametrize(("build", "n", "kinds"), [
    (off_circle, 60, {"opens", "impact"}), (belt, 40, {"sticks", "slips"}), (puck, 30, {"sticks"}),
    (pendulum, 40, {"impact"}), (lambda mass=1.0, restitution=0.5, place=-0.3, rate=0.1: pendulum(
        mass, restitution, place, rate, "joint"), 40, {"impact"}),
    (arm, 60, {"impact", "sticks"}), (box, 30, {"impact"}), (limits, 30, {"impact"}), (clutch, 15, {"sticks"}),
    (table, 30, {"impact"}), (ramp, 60, {"sticks", "impact"}), (rests, 30, {"impact", "rests"}),
    (journal, 30, {"impact"}), (driven, 30, {"sticks", "slips"}), (creeping, 20, {"impact", "rests", "sticks"}),
    (belt_in_space, 60, {"sticks", "slips"})])
def test_every_kind_of_event(build, n, kinds):
    rtol = 1e-8 if build is not puck else 3e-8  # not smooth at the stop
    sol, _ = check(build, n, tf.EndValue(look), step=1e-4, rtol=rtol)
    assert {event.kind for event in sol.events} == kinds


@pytest.mark.parametrize("friction", [0.02, 0.3])
def test_slips_in_space_that_begin(friction):
    """Their directions are unknowns: those of weak friction depend on all numbers as those of no friction."""
    sol, _ = check(lambda friction=friction, mass=1.0, along=5.0, across=1.0: pushed(friction, mass, along, across), 40,
                   tf.EndValue(look), rtol=1e-9)
    assert not sol.events and [kind for _, kind, _ in sol.located] == ["beginning"]


def test_floquet_multipliers_through_an_impact():
    """A ball that bounces on a floor: the closed form of the saltation matrix, `[[-e, 0], [(1 + e) g / v, -e]]`."""
    ball = tf.PointMass(1.0, 1, name="ball")
    floor = tf.PlaneContact(ball, normal=(1, 0, 0), restitution=0.8, name="floor")
    system = tf.System([ball, floor], gravity=(-9.81, 0, 0))
    problem = tf.InitialValueProblem(system, {ball: tf.Pose((0.5, 0, 0))}, (0, 0.5))
    sol, start = tf.solve(problem, tf.MixedGalerkin(1), 7), [tf.Initial("ball", x) for x in ("position", "velocity")]
    found = tf.sensitivities(sol, tf.EndValue(lambda b, t: ca.vertcat(b[0].q, b[0].v)), start)
    hit = np.sqrt(2 * 0.5 / 9.81)
    v = -9.81 * hit
    salt = np.array([[-0.8, 0], [-9.81 * 1.8 / v, -0.8]])
    drift = [np.array([[1, x], [0, 1]]) for x in (hit, 0.5 - hit)]
    np.testing.assert_allclose(found, drift[1] @ salt @ drift[0], rtol=1e-9)


@pytest.mark.long
def test_identification_through_impacts():
    """Restitution, friction and mass from measured places of an end of the bar, without noise."""
    times, true = np.linspace(0.1, 1.45, 28), np.array([0.6, 0.3, 0.15])

    def build(values):
        e, mu, j = values
        body = tf.RigidBody(2.0, (0.15, 0.15, j), name="bar")
        ends = tf.PlaneContact(body, normal=(0, 1, 0), points=[[-0.5, 0, 0], [0.5, 0, 0]], restitution=e, friction=mu,
                               name="ends")
        start = tf.Pose((0, 1.2, 0), systems.turned(0.4), velocity=(1, 0.5, 0), angular_velocity=(0, 0, 3.0))
        return tf.InitialValueProblem(tf.System([body, ends], gravity=systems.DOWN), {body: start}, (0, 1.5))

    def place(bodies, t):
        return bodies[0].point([0.5, 0, 0])[:2]

    sol = tf.solve(build(true), tf.MixedGalerkin(2), 40)
    turn = sol.rotation_matrix("bar", times)
    measured = (sol.position("bar", times) + 0.5 * turn[:, :, 0])[:, :2]
    found = tf.identify(build, [0.57, 0.28, 0.14], tf.MixedGalerkin(2), 40,
                        tf.Measurement(place, times, measured, deviation=1e-3), names=["e", "mu", "j"])
    assert found.success and found.n_solves < 20
    np.testing.assert_allclose(found.values, true, rtol=1e-7)


def test_where_there_are_no_derivatives():
    flat = tf.RigidBody(2.0, (0.15, 0.15, 0.15), name="bar")
    ends = tf.PlaneContact(flat, points=[[-0.5, 0, 0], [0.5, 0, 0]], restitution=0.5, name="ends")
    problem = tf.InitialValueProblem(tf.System([flat, ends], gravity=UP), {flat: tf.Pose((0, 0, 0.5))}, (0, 0.4))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 10)
    with pytest.warns(tf.NotDifferentiable, match="simultaneous events at t = 0.319.*ends: contact 0, ends: contact 1"):
        at = tf.Linearization(sol)
    assert at.distances[0].distance == 0

    ball = tf.PointMass(1.0, 1, name="ball")
    floor = tf.PlaneContact(ball, normal=(1, 0, 0), name="floor")
    system = tf.System([ball, floor, tf.Force(ball, (9.81 / 2, 0, 0))], gravity=(-9.81, 0, 0))
    standing = tf.solve(tf.InitialValueProblem(system, {ball: tf.Pose((0, 0, 0))}, (0, 0.4)), tf.MixedGalerkin(1), 4)
    at = tf.Linearization(standing)
    with pytest.warns(tf.NotDifferentiable, match="floor touches at the start, and would not with other ball"):
        tf.gradient(at, tf.EndValue(look), tf.Initial("ball", "position"))
    assert tf.gradient(at, tf.EndValue(look), tf.Parameter("ball", "mass")) == pytest.approx(0, abs=1e-14)

    bob = tf.PointMass(1.0, 2, name="bob")
    rope = tf.Tether(bob, length=1.0, restitution=0.5, name="rope")  # taut at once, and it springs back
    system, start = tf.System([bob, rope], gravity=(0, -9.81, 0)), tf.Pose((0.6, -0.8, 0), velocity=(0.6, -0.8, 0))
    struck = tf.solve(tf.InitialValueProblem(system, {bob: start}, (0, 0.1)), tf.MixedGalerkin(2), 10)
    assert struck.events[0].t == 0 and not struck.contact_modes[0].any()
    at = tf.Linearization(struck)
    with pytest.warns(tf.NotDifferentiable, match="rope touches at the start, and would not with other rope.length"):
        tf.gradient(at, tf.EndValue(look), tf.Parameter(rope, "length"))
    tf.gradient(at, tf.EndValue(look), tf.Parameter("rope", "restitution"))


@pytest.mark.long
def test_slow_slips_of_a_tumbling_box_are_solved_again():
    """From the nodal values of the march: at 1.4 mm/s, just begun, Newton's method goes in circles from rest."""
    turn, friction, step = (np.cos(0.3), 0.6 * np.sin(0.3), 0.8 * np.sin(0.3), 0), 0.3, 1e-6
    state = tf.Pose((0, 0, 0.5), turn, velocity=(2.0, 0.3, 0), angular_velocity=(1, 2, 0.5))

    def march(friction):
        box = tf.RigidBody(1.0, (0.02, 0.015, 0.01), size=(0.3, 0.2, 0.1), name="box")
        parts = [box, tf.BoxContact(box, restitution=0.4, friction=friction, name="floor"),
                 tf.BoxContact(box, normal=(-1, 0, 0), plane_point=(0.8, 0, 0), restitution=0.4, friction=0.3),
                 tf.Tether(box, None, point_a=(0.15, 0.1, 0.05), point_b=(0, 0, 1.5), length=1.6, name="leash")]
        problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {box: state}, (0, 0.9))
        return tf.solve(problem, tf.MixedGalerkin(2), 45, progress=False)

    sol = march(friction)
    assert "slips" in {event.kind for event in sol.events}
    place = tf.EndValue(lambda bodies, t: bodies[0].position[0])
    found = tf.gradient(tf.Linearization(sol), place, [tf.Parameter("floor", "friction")])
    ends = [march(friction + sign * step).position("box", 0.9)[0] for sign in (1, -1)]
    assert found == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)
