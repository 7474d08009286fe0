"""Machines with contacts against closed forms, in all coordinates and forms: wheels, a cam, a block that rocks."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import timefem as tf

pytestmark = pytest.mark.long
G = 9.81
FORMS = {"quaternions": {}, "directors": {"rotation": "directors"}, "joints": {"coordinates": "joint"}}
Y, ZERO = (0, 1, 0), (0, 0, 0)


def solved(parts, state, end, n, degree=2, coordinates="bodies", form=None):
    system = tf.System(parts, gravity=(0, 0, -G), coordinates=coordinates)
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, end)), tf.MixedGalerkin(degree, form=form), n,
                   progress=False)
    assert sol.success
    return sol


def times(sol, *kinds):
    return np.array([event.t for event in sol.events if event.kind in kinds])


@pytest.mark.parametrize("kind", FORMS)
def test_friction_wheels(kind, friction=0.25, rate=12.0):
    """One on an axle drives another that lies on it, until their rims agree."""
    given = dict(FORMS[kind])
    radii, masses, rotation = (0.3, 0.2), (4.0, 2.0), given.pop("rotation", "quaternion")
    inertia = [m * r**2 / 2 for m, r in zip(masses, radii, strict=True)]
    a, b = (tf.RigidBody(m, (i / 1.9, i, i / 1.9), rotation=rotation, name=name)
            for m, i, name in zip(masses, inertia, "ab", strict=True))
    axle = tf.Revolute(a, point_a=ZERO, point_b=ZERO, axis_a=Y, axis_b=Y)
    plane = tf.Planar(b, point_a=ZERO, point_b=ZERO, axis_a=Y, axis_b=Y)
    guide = tf.Constraint(b, formula=lambda bodies, t, c: bodies[0].position[0], n=1)
    rims = tf.DiscContact(b, a, radius_a=radii[1], radius_b=radii[0], axis=Y, friction=friction, name="rims")
    state = {a: tf.Pose(ZERO, angular_velocity=(0, rate, 0)), b: tf.Pose((0, 0, sum(radii)))}
    sol = solved([a, b, axle, plane, guide, rims], state, 1.0, 20, 3, **given)
    rub = friction * masses[1] * G
    end = radii[0] * rate / rub / sum(r**2 / i for r, i in zip(radii, inertia, strict=True))
    assert abs(times(sol, "sticks") - end).max() < 1e-6
    for name, first, r, i in zip("ab", (rate, 0), radii, inertia, strict=True):
        assert sol.angular_velocity(name, 1.0)[1] == pytest.approx(first - rub * r / i * end, abs=1e-5)


@pytest.mark.parametrize("kind", FORMS)
def test_a_block_rocks_on_a_belt(kind, speed=0.7, width=0.2, height=0.6, tilt=0.12):
    """Each impact leaves `1 - 3/2 sin(alpha)^2` of the rate (Housner 1963), whatever the speed of the belt."""
    given = dict(FORMS[kind])
    radius, alpha, square = np.hypot(width, height) / 2, np.arctan2(width, height), width**2 + height**2
    block = tf.RigidBody(2.0, np.array([height**2 + 0.01, square, width**2 + 0.01]) / 6, size=(width, 0.1, height),
                         rotation=given.pop("rotation", "quaternion"), name="block")
    belt = tf.BoxContact(block, friction=3.0, surface_velocity=(speed, 0, 0), name="belt")
    cosine, sine = np.cos(tilt), np.sin(tilt)
    place = (-(cosine * width - sine * height) / 2, 0, (sine * width + cosine * height) / 2)
    pose = tf.Pose(place, (np.cos(tilt / 2), 0, np.sin(tilt / 2), 0), velocity=(speed, 0, 0))
    sol = solved([block, belt], {block: pose}, 0.8, 40, **given)
    pull, angles, rates = 0.75 * G / radius, [tilt], [0.0]
    found = []
    for side in (1, -1):
        def falls(t, x, side=side):
            return [x[1], -side * pull * np.sin(alpha - side * x[0])]

        def down(t, x):
            return x[0]

        down.terminal, down.direction = True, -side
        one = solve_ivp(falls, (0, 1), [angles[-1], rates[-1]], events=down, method="DOP853", rtol=1e-12, atol=1e-14)
        found.append(one.t[-1])
        angles.append(0.0)
        rates.append(one.y[1, -1] * (1 - 1.5 * np.sin(alpha) ** 2))
    np.testing.assert_allclose(times(sol, "impact")[:2], np.cumsum(found), rtol=0, atol=1e-6)
    assert sol.angular_velocity("block", times(sol, "impact")[0])[1] == pytest.approx(rates[1], abs=1e-6)


@pytest.mark.parametrize(("kind", "form"), [*((kind, None) for kind in FORMS), ("joints", "energy"),
                                            ("quaternions", "impulse"), ("quaternions", "energy")])
def test_a_follower_leaves_its_cam(kind, form, way=0.02, radius=0.1, rate=30.0, restitution=0.3):
    """An eccentric disc under a flat plate that only its weight holds down, and that comes back three times."""
    given = dict(FORMS[kind])
    rotation = given.pop("rotation", "quaternion")
    disc = tf.RigidBody(1.0, (0.003, 0.005, 0.003), rotation=rotation, name="disc")
    plate = tf.RigidBody(0.5, (0.01, 0.012, 0.013), rotation=rotation, name="plate")
    hinge = tf.Revolute(disc, point_a=(-way, 0, 0), point_b=ZERO, axis_a=(0, -1, 0), axis_b=(0, -1, 0), name="hinge")
    drive = tf.PrescribedJoint(hinge, value=lambda t: rate * t)
    guide = tf.Prismatic(plate, point_a=ZERO, point_b=ZERO, axis_b=(0, 0, 1), name="guide")
    cam = tf.PlaneContact(disc, on=plate, normal=(0, 0, -1), radius=radius, restitution=restitution, name="cam")
    state = {hinge: (0.0, rate), guide: (radius, way * rate)}
    sol = solved([disc, plate, hinge, drive, guide, cam], state, 0.24, 40, form=form, **given)
    t = np.arcsin(G / (way * rate**2)) / rate
    expected, place, speed = [t], way * np.sin(rate * t), way * rate * np.cos(rate * t)
    for _ in range(3):
        def gap(s, t=t, place=place, speed=speed):
            return place + speed * s - G * s**2 / 2 - way * np.sin(rate * (t + s))

        grid = np.linspace(1e-4, 0.3, 3001)
        last = int(np.argmax(gap(grid) < 0))
        s = brentq(gap, grid[last - 1], grid[last], xtol=1e-15)
        t, place, speed = t + s, place + speed * s - G * s**2 / 2, speed - G * s
        speed += (1 + restitution) * (way * rate * np.cos(rate * t) - speed)
        expected.append(t)
    found = times(sol, "opens", "impact")
    np.testing.assert_allclose(found[:4], expected, rtol=0, atol=1e-6 if form == "impulse" else 1e-10)


def test_balls_of_two_pendulum_trees_collide(restitution=0.9, radius=0.05, length=1.0, angle=-0.5):
    masses, spin = (1.0, 2.0), 1e-3
    trees = [tf.Tree([tf.Link("base"), tf.Link("bob", m, (0, 0, -length), (m * spin,) * 3)],
                     [tf.TreeJoint("pin", "base", "bob", "revolute", axis=(0, -1, 0), position=(x, 0, 0))], name=name)
             for m, x, name in zip(masses, (0, 2 * radius), "ab", strict=True)]
    balls = tf.SphereContact(*(tree.link("bob") for tree in trees), radius_a=radius, radius_b=radius,
                             point_a=(0, 0, -length), point_b=(0, 0, -length), restitution=restitution)
    state = {tree: {"pin": (x, 0.0)} for tree, x in zip(trees, (angle, 0.0), strict=True)}
    sol = solved([*trees, balls], state, 1.0, 40, 3)
    share = length**2 / (length**2 + spin)

    def swings(t, x):
        return [x[1], -G / length * share * np.sin(x[0])]

    def meets(t, x):  # the second one hangs straight down
        away = np.array([2 * radius - length * np.sin(x[0]), length * (np.cos(x[0]) - 1)])
        return np.hypot(*away) - 2 * radius

    meets.terminal = True
    found = solve_ivp(swings, (0, 1), [angle, 0], events=meets, method="DOP853", rtol=1e-13, atol=1e-14)
    (x, rate), t = found.y[:, -1], found.t[-1]
    normal = np.array([2 * radius - length * np.sin(x), length * (np.cos(x) - 1)]) / (2 * radius)
    arms = -length * normal @ [np.cos(x), np.sin(x)], length * normal[0]
    inertia = np.array(masses) * (length**2 + spin)
    impulse = -(1 + restitution) * arms[0] * rate / sum(np.square(arms) / inertia)
    assert abs(times(sol, "impact") - t).max() < 1e-9
    after = np.array([rate, 0.0]) + np.array(arms) * impulse / inertia
    rates = [sol.joint(tree.joint("pin")).rate(sol.events[0].t) for tree in trees]
    np.testing.assert_allclose(rates, after, rtol=0, atol=1e-8)


@pytest.mark.parametrize("form", ["hamilton", "energy", "impulse"])
@pytest.mark.parametrize("rubs", ["floor", "guide"])
def test_a_block_slides_to_a_stop(rubs, form, friction=0.3, speed=2.0):
    """In the form by impulses friction of what slides was left out silently, and what stuck was refused."""
    block = tf.RigidBody(1.5, (0.01, 0.011, 0.012), name="block")
    if rubs == "floor":
        parts = [tf.PlaneContact(block, radius=0.1, points=[[0.2, 0.1, 0], [0.2, -0.1, 0], [-0.2, 0, 0]],
                                 friction=friction, name="floor")]
    else:
        guide = tf.Prismatic(block, point_a=ZERO, point_b=(0, 0, 0.1), axis_b=(1, 0, 0), name="guide")
        parts = [guide, tf.JointFriction(guide, friction=friction * 1.5 * G, name="rub")]
    sol = solved([block, *parts], {block: tf.Pose((0, 0, 0.1), velocity=(speed, 0, 0))}, 1.0, 10, form=form)
    stops = speed / friction / G
    assert abs(times(sol, "sticks") - stops).max() < 1e-5
    assert sol.position("block", 1.0)[0] == pytest.approx(speed * stops / 2, abs=1e-9)
    lost = sum(sol.energy_lost().values())
    assert lost == pytest.approx(1.5 * speed**2 / 2, rel=1e-9)
