"""Forces that depend on those of constraints and of rigid contacts, in marches with impacts, against closed forms."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import timefem as tf

G, Z = 9.81, (0, 0, 1)
MASS, RADIUS, INERTIA, CREEP = 2.0, 0.3, 0.07, 0.4
FORMS = [("quaternion", "bodies"), ("directors", "bodies"), ("quaternion", "joint")]

# ---- a journal bearing, and a stop

ROD = {"mu": 0.4, "width": 0.5, "pin": 0.08, "arm": 0.5, "inertia": 0.25, "lowest": -0.3, "restitution": 0.5}


def pendulum(rotation, coordinates, width=ROD["width"], span=1.2):
    """A rod that swings on a pin with friction, and hits a stop."""
    rod = tf.RigidBody(MASS, (0.2, 0.1, ROD["inertia"]), rotation, name="rod")
    pin = tf.Revolute(rod, axis_a=Z, axis_b=Z, point_a=(0, ROD["arm"], 0), point_b=(0, 0, 0), name="pin")
    rub = tf.BearingFriction(pin, friction=ROD["mu"], friction_width=width, radius=ROD["pin"], name="rub")
    stop = tf.EndStop(pin, lowest=ROD["lowest"], restitution=ROD["restitution"], name="stop")
    system = tf.System([rod, pin, rub, stop], gravity=(0, -G, 0), coordinates=coordinates)
    place = ROD["arm"] * np.array([np.sin(1.2), -np.cos(1.2), 0])
    start = tf.Pose(place, (np.cos(0.6), 0, 0, np.sin(0.6)))
    return tf.InitialValueProblem(system, {rod: start}, (0, span))


def swinging(t, x, width=ROD["width"], sense=0.0):
    """The reaction depends on the acceleration, and this on the friction by it."""
    angle, rate = x
    mu = ROD["mu"] * (np.tanh(rate / width) if width else sense)
    lever = mu / np.sqrt(1 + mu**2) * ROD["pin"]

    def left(a):
        reaction = MASS * np.hypot(G * np.cos(angle) + ROD["arm"] * rate**2, G * np.sin(angle) + ROD["arm"] * a)
        return (ROD["inertia"] + MASS * ROD["arm"]**2) * a + MASS * G * ROD["arm"] * np.sin(angle) + lever * reaction

    return [rate, brentq(left, -1e3, 1e3, xtol=1e-14)]


def meets(t, x, *_):
    return x[0] - ROD["lowest"]


@pytest.mark.long
@pytest.mark.parametrize("rotation, coordinates", FORMS)
def test_a_pendulum_with_journal_friction_hits_a_stop(rotation, coordinates):
    """Before and after the impact by an integrator of order eight; friction has no part in the impact itself."""
    meets.terminal, meets.direction = True, -1
    accuracy = {"rtol": 1e-12, "atol": 1e-12}
    before = solve_ivp(swinging, (0, 1.2), [1.2, 0], "DOP853", events=meets, **accuracy)
    hit, rate = before.t[-1], before.y[1, -1]
    after = solve_ivp(swinging, (hit, 1.2), [ROD["lowest"], -ROD["restitution"] * rate], "DOP853", **accuracy)
    sol = tf.solve(pendulum(rotation, coordinates), tf.MixedGalerkin(3), 60)
    assert sol.success and [event.kind for event in sol.events] == ["impact"]
    assert sol.events[0].t == pytest.approx(hit, rel=3e-8)
    pin = sol.joint("pin")
    assert pin.angle(1.2) == pytest.approx(after.y[0, -1], rel=3e-7)
    lost, work = sol.energy_lost(), sol.energy.work(by_part=True)
    whole = (ROD["inertia"] + MASS * ROD["arm"]**2) * rate**2 / 2 * (1 - ROD["restitution"]**2)
    assert lost["stop"] == pytest.approx(whole, rel=1e-6)
    assert sol.energy()[-1] - sol.energy()[0] == pytest.approx(work["rub"][-1] - lost["stop"], abs=1e-6)
    assert work["rub"][-1] < -0.1 and np.abs(sol.energy.balance()).max() < 1e-6


# ---- set-valued friction of a bearing

PIN = {"mass": 2.0, "inertia": 0.25, "mu": 0.3, "radius": 0.05}
CIRCLE = PIN["mu"] / np.sqrt(1 + PIN["mu"]**2) * PIN["radius"] * PIN["mass"] * G


def rotor(rotation="quaternion", coordinates="bodies", rate=1.0, drive=None, span=1.2, mass=PIN["mass"], mu=PIN["mu"]):
    """A balanced rotor on a pin, with or without a drive."""
    body = tf.RigidBody(mass, (0.2, 0.2, PIN["inertia"]), rotation, name="rotor")
    pin = tf.Revolute(body, axis_a=Z, axis_b=Z, point_a=(0, 0, 0), point_b=(0, 0, 0), name="pin")
    parts = [body, pin, tf.BearingFriction(pin, friction=mu, radius=PIN["radius"], name="rub")]
    if drive is not None:
        parts.append(tf.JointForce(pin, value=drive, name="drive"))
    system = tf.System(parts, gravity=(0, -G, 0), coordinates=coordinates)
    return tf.InitialValueProblem(system, {body: tf.Pose(angular_velocity=(0, 0, rate))}, (0, span))


@pytest.mark.parametrize("rotation, coordinates", FORMS)
def test_a_rotor_stops_by_the_friction_circle(rotation, coordinates):
    """`r sin(arctan mu) m g` slows it down evenly; then it sticks."""
    sol = tf.solve(rotor(rotation, coordinates), tf.MixedGalerkin(3), 30)
    event, = sol.events
    assert sol.success and event.kind == "sticks"
    assert event.t == pytest.approx(PIN["inertia"] / CIRCLE, rel=1e-7)
    assert np.abs(sol.angular_velocity("rotor", 1.2)).max() < 1e-12
    assert sol.energy_lost()["rub"] == pytest.approx(PIN["inertia"] / 2, rel=1e-6)
    np.testing.assert_allclose(sol.contact_forces(np.array([0.1, 1.1]))[:, 0, 1], [-CIRCLE, 0], rtol=1e-9, atol=1e-9)


def test_a_rotor_slips_where_the_drive_is_above_the_friction_circle():
    """A torque c t: it slips at M / c, and has turned by c (t - M/c)^3 / (6 J) then."""
    drive = 0.5
    sol = tf.solve(rotor(rate=0.0, drive=lambda t: drive * t), tf.MixedGalerkin(3), 30)
    event, = sol.events
    assert sol.success and event.kind == "slips" and event.t == pytest.approx(CIRCLE / drive, rel=1e-9)
    assert sol.joint("pin").angle(1.2) == pytest.approx(drive / 6 / PIN["inertia"] * (1.2 - event.t)**3, rel=1e-7)
    assert np.abs(sol.energy.balance()).max() < 1e-8


@pytest.mark.long
@pytest.mark.parametrize("rotation, coordinates", FORMS)
def test_a_pendulum_with_dry_journal_friction_hits_a_stop(rotation, coordinates):
    """The same as above with set-valued friction; and it turns round where it has no speed."""
    meets.terminal, meets.direction = True, -1
    accuracy = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    before = solve_ivp(swinging, (0, 1.2), [1.2, 0], args=(None, -1.0), events=meets, **accuracy)

    def turns(t, x, *_):
        return x[1]

    turns.terminal, turns.direction = True, -1
    rises = solve_ivp(swinging, (before.t[-1], 3), [ROD["lowest"], -ROD["restitution"] * before.y[1, -1]],
                      args=(None, 1.0), events=turns, **accuracy)
    sol = tf.solve(pendulum(rotation, coordinates, None, 1.8), tf.MixedGalerkin(3), 90)
    impact, turn = (next(event for event in sol.events if event.kind in kinds)
                    for kinds in (("impact",), ("slips", "sticks")))
    assert sol.success and impact.t == pytest.approx(before.t[-1], rel=1e-7)
    assert turn.t == pytest.approx(rises.t[-1], rel=1e-6)
    assert sol.joint("pin").angle(turn.t) == pytest.approx(rises.y[0, -1], rel=1e-6)
    assert np.abs(sol.energy.balance()).max() < 1e-5


# ---- creep by normal load

def skids(contact):
    """A formula of creep: by the normal load times the slip of the point that touches."""
    arm = ca.SX([0, 0, -RADIUS])

    def force(f, t, c, r):
        pulled = -c[0] * r[0] * (f[0].velocity + ca.cross(f[0].angular_velocity, arm))
        return ca.vertcat(pulled, ca.cross(arm, pulled))

    return {"formula": force, "parameters": [CREEP], "reactions": [contact], "name": "creep"}


def wheel(rotation="quaternion", height=0.0, push=0.0, lift=0.0, span=1.0, creep=CREEP, restitution=0.5):
    """A wheel that spins, on ground or above it; it is pushed to the ground by `push sin(5 t)`, and sucked to it, or
    lifted, by a share of its load."""
    body = tf.RigidBody(MASS, (INERTIA,) * 3, rotation, name="wheel")
    ground = tf.PlaneContact(body, radius=RADIUS, restitution=restitution, name="ground")
    parts = [body, ground, tf.FormulaForce(body, **(skids(ground) | {"parameters": [creep]}))]
    if push:
        parts.append(tf.FormulaForce(body, lambda f, t, c: ca.vertcat(0, 0, -push * ca.sin(5 * t)), name="push"))
    if lift:
        parts.append(tf.FormulaForce(body, lambda f, t, c, r: ca.vertcat(0, 0, lift * r[0]**2), reactions=ground,
                                     name="lift"))
    start = tf.Pose((0, 0, RADIUS + height), angular_velocity=(0, 10, 0))
    return tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -G)), {body: start}, (0, span))


FADES = CREEP * (1 / MASS + RADIUS**2 / INERTIA)  # rate at which the slip fades, by the load


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_a_wheel_creeps_by_its_load(rotation):
    """The slip fades as `exp(-c (1/m + r^2/J) int N)`, N what the weight and the push press."""
    sol = tf.solve(wheel(rotation, push=15.0), tf.MixedGalerkin(3), 60)
    assert sol.success
    load = MASS * G + 15.0 * np.sin(5 * sol.t)
    pressed = MASS * G * sol.t + 3.0 * (1 - np.cos(5 * sol.t))
    slip = -10 * RADIUS * np.exp(-FADES * pressed)
    speed = CREEP / MASS / FADES * (10 * RADIUS + slip)  # as c N / m times the integral of the slip
    spin = (speed - slip) / RADIUS
    v = sol.system.velocity(sol.t, sol.z)[:, 0]
    np.testing.assert_allclose(v, speed, rtol=0, atol=2e-7)
    np.testing.assert_allclose(sol.angular_velocity("wheel", sol.t)[:, 1], spin, rtol=0, atol=2e-6)
    np.testing.assert_allclose(sol.contact_forces()[:, 0, 0], load, rtol=1e-9)
    np.testing.assert_allclose(sol.contact_forces()[:, 0, 1:], 0, rtol=0, atol=1e-9)
    lost = INERTIA * (100 - spin[-1]**2) / 2 - MASS * speed[-1]**2 / 2
    assert sol.energy.work(by_part=True)["creep"][-1] == pytest.approx(-lost, rel=1e-6)
    assert np.abs(sol.energy.balance()).max() < 1e-6


def test_a_load_that_depends_on_itself():
    """Lifted by the square of the load: `N + a N^2 = m g`, found by Newton's method."""
    a = 0.03
    sol = tf.solve(wheel(lift=a, span=0.3), tf.MixedGalerkin(2), 20)
    load = (np.sqrt(1 + 4 * a * MASS * G) - 1) / (2 * a)
    assert sol.success
    np.testing.assert_allclose(sol.contact_forces()[:, 0, 0], load, rtol=1e-12)
    np.testing.assert_allclose(sol.nodal_contact_forces[:, :, 0, 0], load, rtol=1e-9)
    slip = -10 * RADIUS * np.exp(-FADES * load * 0.3)
    v = CREEP / MASS / FADES * (10 * RADIUS + slip)
    assert sol.system.velocity(sol.t, sol.z)[-1, 0] == pytest.approx(v, rel=1e-5)


@pytest.mark.long
def test_a_wheel_that_bounces_creeps_while_it_is_pressed():
    """No friction in impacts: until it rests, which takes `(1 + e)/(1 - e)` times the time of the fall, it spins as
    before."""
    height, e = 0.05, 0.5
    sol = tf.solve(wheel(height=height, span=1.0, restitution=e), tf.MixedGalerkin(2), 60)
    assert sol.success and {event.kind for event in sol.events} == {"impact", "rests"}
    rests = np.sqrt(2 * height / G) * (1 + e) / (1 - e)
    assert sol.events[-1].t == pytest.approx(rests, rel=1e-4)
    flying = sol.t < rests * 0.999
    np.testing.assert_allclose(sol.angular_velocity("wheel", sol.t[flying])[:, 1], 10.0, rtol=1e-12)
    slip = -10 * RADIUS * np.exp(-FADES * MASS * G * (1.0 - rests))
    speed = CREEP / MASS / FADES * (10 * RADIUS + slip)
    assert sol.system.velocity(sol.t, sol.z)[-1, 0] == pytest.approx(speed, rel=1e-4)
    assert sol.energy_lost()["ground"] == pytest.approx(MASS * G * height, rel=1e-6)


@pytest.mark.parametrize("dimension", [2, 3])
def test_coulomb_friction_and_a_drag_by_the_same_load(dimension):
    """`dv/dt = -g (mu + c v)`: it stops at `log(1 + c v / mu) / (c g)`, and sticks."""
    mu, c, v = 0.3, 0.5, 2.0
    block = tf.PointMass(MASS, dimension, name="block")
    up = np.eye(3)[dimension - 1]
    floor = tf.PlaneContact(block, normal=up, friction=mu, name="floor")
    drag = tf.FormulaForce(block, lambda f, t, p, r: -p[0] * r[0] * f[0].velocity, parameters=[c], reactions=[floor],
                           name="drag")
    system = tf.System([block, floor, drag], gravity=-G * up)
    sol = tf.solve(tf.InitialValueProblem(system, {block: tf.Pose((0, 0, 0), velocity=(v, 0, 0))}, (0, 1)),
                   tf.MixedGalerkin(3), 40)
    stops = np.log(1 + c * v / mu) / (c * G)
    way = (v - mu * G * stops) / (c * G)
    assert sol.success and [event.kind for event in sol.events] == ["sticks"]
    assert sol.events[0].t == pytest.approx(stops, rel=1e-9)
    assert sol.z[-1, 0] == pytest.approx(way, rel=1e-9)
    assert sol.energy_lost()["floor"] == pytest.approx(mu * MASS * G * way, rel=1e-8)
    assert sol.energy.work(by_part=True)["drag"][-1] == pytest.approx(mu * MASS * G * way - MASS * v**2 / 2, rel=1e-8)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_a_cart_on_a_guide_with_friction_by_what_it_carries(coordinates):
    """A block slides on a cart, until they move alike; the guide carries both."""
    guide_mu, mu, cart_mass, speed = 0.1, 0.3, 3.0, 2.0
    cart = tf.RigidBody(cart_mass, (0.1, 0.1, 0.1), "quaternion", name="cart")
    guide = tf.Prismatic(cart, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="guide")
    rub = tf.BearingFriction(guide, friction=guide_mu, friction_width=1e-3, name="rub")
    block = tf.PointMass(MASS, 3, name="block")
    deck = tf.PlaneContact(block, on=cart, friction=mu, name="deck")
    system = tf.System([cart, guide, rub, block, deck], gravity=(0, 0, -G), coordinates=coordinates)
    start = {cart: tf.Pose(velocity=(0.5, 0, 0)), block: tf.Pose(velocity=(speed, 0, 0))}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 0.6)), tf.MixedGalerkin(2), 60)
    pushed = (mu * MASS - guide_mu * (MASS + cart_mass)) * G / cart_mass
    meet = (speed - 0.5) / (mu * G + pushed)
    assert sol.success and [event.kind for event in sol.events] == ["sticks"]
    assert sol.events[0].t == pytest.approx(meet, rel=1e-9)
    end = speed - mu * G * meet - guide_mu * G * (0.6 - meet)
    np.testing.assert_allclose([sol.velocity(name, 0.6)[0] for name in ("cart", "block")], end, rtol=1e-9)
    assert np.abs(sol.energy.balance()).max() < 1e-9
    if coordinates == "bodies":
        np.testing.assert_allclose(sol.joint("guide").force(np.array([0.1, 0.5]))[:, 2], (MASS + cart_mass) * G)


@pytest.mark.long
def test_joints_carry_what_contacts_push():
    """An arm whose hand falls on a floor, and drags on it: the same in bodies and in joint coordinates."""
    found = []
    for coordinates in ("bodies", "joint"):
        hinge = {"axis_a": (0, 1, 0), "axis_b": (0, 1, 0), "point_a": (0, 0, 0.5)}
        upper, lower = (tf.RigidBody(1.0, (1 / 12, 1 / 12, 0.01), name=name) for name in ("upper", "lower"))
        shoulder = tf.Revolute(upper, None, **hinge, point_b=(0, 0, 1.2), name="shoulder")
        elbow = tf.Revolute(lower, upper, **hinge, point_b=(0, 0, -0.5), name="elbow")
        hand = tf.PlaneContact(lower, points=[[0, 0, -0.5]], friction=0.4, name="hand")
        drag = tf.FormulaForce(lower, lambda f, t, c, r: -0.2 * r[0] * f[0].velocity, reactions=hand, name="drag")
        system = tf.System([upper, lower, shoulder, elbow, hand, drag], gravity=(0, 0, -G), coordinates=coordinates)
        start = system.state({"shoulder": (1.2, 0.0), "elbow": (0.6, 0.0)})
        sol = tf.solve(tf.InitialValueProblem(system, start, (0, 0.8)), tf.MixedGalerkin(3), 80)
        assert sol.success and len(sol.events) == 1
        times = np.array([0.2, 0.6, 0.8])
        found.append([*(sol.joint(name).force(times) for name in ("shoulder", "elbow")),
                      *(sol.joint(name).torque(times) for name in ("shoulder", "elbow")),
                      sol.contact_forces(times)[:, 0], np.full((3, 3), sol.energy.work(by_part=True)["drag"][-1])])
        assert np.abs(sol.energy.balance()).max() < 1e-8
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)
    assert np.abs(found[0][4][1:, 0]).min() > 1 and found[0][5][0, 0] < -0.1


def test_forces_that_have_no_solution_are_named():
    """Lifted by more than the load: none holds."""
    sol = tf.solve(wheel(lift=-0.1, span=0.1), tf.MixedGalerkin(2), 5)
    assert not sol.success and "ground" in sol.status.message
