"""Rolling constraints that repeat others: gears by friction, carts on many wheels, wheels that steer apart."""

import re
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS
from timefem.mechanics.states.consistent_multipliers import weakest
from timefem.mechanics.values.at_start import OPTIONS
from timefem.models import inspect, load_model

Z = (0, 0, 1)
SUN, PLANET, MASS, LOAD = 0.05, 0.03, 0.2, 1.0
ARM = SUN + PLANET
SUN_INERTIA, CARRIER_INERTIA, PLANET_INERTIA = 2e-3, 5e-3, 1e-4


def disc(name, mass, inertia, rotation):
    return tf.RigidBody(mass, (inertia, inertia, inertia), rotation, name=name)


def axle(a, b, place, name):
    return tf.Revolute(a, b, point_a=(0, 0, 0), point_b=place, axis_a=Z, axis_b=Z, name=name)


def along(planet, towards):
    """Direction of the slip at the rim of a planet, and the velocity of the point there, outwards or inwards."""
    out = planet.position / ca.norm_2(planet.position)
    return ca.cross(ca.SX([0, 0, 1]), out), planet.velocity_at(towards * out), out


def on_sun(frames, t, c):
    direction, velocity, out = along(frames[0], -c[1])
    return ca.dot(direction, velocity - frames[1].velocity_at(c[0] * out))


def in_ring(frames, t, c):
    direction, velocity, _ = along(frames[0], c[0])
    return ca.dot(direction, velocity)


def planetary_gear(n_planets=3, rotation="quaternion", redundant="drop", speed=4.0, t_end=0.1):
    """A sun driven by a torque, planets that roll on it and in a ring at rest, and their carrier; Problem."""
    sun, carrier = disc("sun", 1.0, SUN_INERTIA, rotation), disc("carrier", 0.8, CARRIER_INERTIA, rotation)
    planets = [disc(f"planet {i}", MASS, PLANET_INERTIA, rotation) for i in range(n_planets)]
    places = [ARM * np.array([np.cos(a), np.sin(a), 0]) for a in 2 * np.pi * np.arange(n_planets) / n_planets]
    joints = [axle(sun, None, (0, 0, 0), "sun's axle"), axle(carrier, None, (0, 0, 0), "carrier's axle")]
    joints += [axle(p, carrier, place, f"pin {i}") for i, (p, place) in enumerate(zip(planets, places, strict=True))]
    joints += [tf.NonholonomicConstraint([p, sun], on_sun, 1, parameters=[SUN, PLANET], name=f"on the sun {i}")
               for i, p in enumerate(planets)]
    joints += [tf.NonholonomicConstraint(p, in_ring, 1, parameters=[PLANET], name=f"in the ring {i}")
               for i, p in enumerate(planets)]
    turn = speed * SUN / (2 * ARM)  # of the carrier
    state = {sun: tf.Pose(angular_velocity=(0, 0, speed)), carrier: tf.Pose(angular_velocity=(0, 0, turn))}
    state |= {p: tf.Pose(place, velocity=np.cross((0, 0, turn), place), angular_velocity=(0, 0, -turn * ARM / PLANET))
              for p, place in zip(planets, places, strict=True)}
    system = tf.System([sun, carrier, *planets, *joints, tf.Torque(sun, (0, 0, LOAD))], redundant=redundant)
    return tf.InitialValueProblem(system, state, (0, t_end))


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_planetary_gear_by_friction(rotation):
    """Each planet but the first repeats one of its two rollings, and the sun is driven as by one inertia."""
    speed, t_end, n = 4.0, 0.1, 3
    problem = planetary_gear(n, rotation, speed=speed, t_end=t_end)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    assert sol.success and sol.system.dropped == [f"in the ring {i}: constraint 1" for i in (1, 2)]
    ratio = SUN / (2 * ARM)
    inertia = SUN_INERTIA + ratio**2 * (CARRIER_INERTIA + n * (MASS * ARM**2 + PLANET_INERTIA * (ARM / PLANET)**2))
    exact = speed + LOAD / inertia * t_end
    np.testing.assert_allclose(sol.angular_velocity("sun", t_end)[2], exact, rtol=1e-8)
    complete = sol.system.complete
    assert np.abs(complete.nonholonomic(sol.t, sol.z)).max() < 1e-12 * exact
    # all planets do the same, so they share alike
    force = [[sol.joint(f"{where} {i}").force(np.array([0.05]), axes="a")[0] for i in range(n)]
             for where in ("on the sun", "in the ring")]
    sizes = np.linalg.norm(force, axis=2)
    assert sizes.min() > 0.1
    np.testing.assert_allclose(sizes, sizes[:, :1] * np.ones(n), rtol=1e-6)


def test_they_are_refused_by_name():
    problem = planetary_gear(2, redundant="refuse")
    names = tf.redundant_constraints(problem.system, 0.0, problem.z0)
    assert names == ["in the ring 1: constraint 1"]
    with pytest.raises(tf.InputError, match=r"'in the ring 1: constraint 1' can be left out.*redundant='drop'"):
        tf.solve(problem, tf.MixedGalerkin(1), 2, progress=False)


def test_sparse_and_dense_arrays_find_the_same(monkeypatch):
    found = []
    for largest in (100_000, 0):
        monkeypatch.setattr("timefem.mechanics.values.at_start.OPTIONS", replace(OPTIONS, dense=largest))
        found.append(planetary_gear(4).system.dropped)
    assert found[0] == found[1] == [f"in the ring {i}: constraint 1" for i in (1, 2, 3)]


# ---- carts

def cart(wheels=(-0.3, 0.3, -0.2, 0.2), rotation="quaternion", redundant="drop", mass=10.0):
    """A cart on one axle behind its centre of mass, with wheels at these places on it; Problem."""
    body, back, turn = tf.RigidBody(mass, (1, 1, 1.5), rotation, name="cart"), 0.5, 0.8
    floor = tf.Planar(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="floor")
    edges = [tf.KnifeEdge(body, point=(-back, y, 0), across=(0, 1, 0), name=f"wheel {i}") for i, y in enumerate(wheels)]
    push = tf.Force(body, (3.0, 0.5, 0), frame="body", name="push")
    state = {body: tf.Pose(velocity=(1, back * turn, 0), angular_velocity=(0, 0, turn))}
    return tf.InitialValueProblem(tf.System([body, floor, *edges, push], redundant=redundant), state, (0, 1.0))


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.BubnovGalerkin(2)], ids=repr)
def test_four_wheels_on_an_axle_are_one(element, rotation, tmp_path):
    many, one = (tf.solve(cart(wheels, rotation), element, 20, progress=False) for wheels in ((-0.3, 0.3, -0.2, 0.2),
                                                                                             (-0.3,)))
    assert many.success and one.success
    assert many.system.dropped == [f"wheel {i}: velocity across the edge" for i in (1, 2, 3)]
    np.testing.assert_allclose(many.z, one.z, rtol=0, atol=1e-12)
    t = np.array([0.2, 0.7])
    whole = one.joint("wheel 0").force(t)
    assert np.linalg.norm(whole, axis=1).min() > 1.0
    for i in range(4):
        np.testing.assert_allclose(many.joint(f"wheel {i}").force(t), whole / 4, rtol=1e-9)
    many.save(tmp_path / "cart.h5")
    again = tf.load(tmp_path / "cart.h5")
    assert again.system.dropped == many.system.dropped and np.array_equal(again.z, many.z)
    np.testing.assert_array_equal(again.joint("wheel 2").force(t), many.joint("wheel 2").force(t))


@pytest.mark.long
def test_other_numbers_and_derivatives():
    element, changed = tf.MixedGalerkin(2), {"cart.mass": 12.0}
    found = tf.prepare(cart(), element, 10).solve(parameters=changed)
    plain = tf.solve(cart(wheels=(0.3,), mass=12.0), element, 10, progress=False)
    assert len(found.system.dropped) == 3
    np.testing.assert_allclose(found.z, plain.z, rtol=0, atol=1e-12)
    ends = tf.EndValue(lambda bodies, t: bodies[0].q[0])
    slopes = [tf.gradient(tf.solve(cart(wheels), element, 10, progress=False), ends, tf.Parameter("cart", "mass"))
              for wheels in ((0.3, -0.3), (0.3,))]
    assert np.abs(slopes[1]).max() > 1e-3
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9)


FILE = """
[time]
span = [0, 1]
n_elements = 5
[bodies.cart]
type = "rigid"
mass = 10.0
inertia = [1, 1, 1.5]
velocity = [1, 0, 0]
[joints.left]
type = "knife_edge"
body = "cart"
point = [0, 0.3, 0]
[joints.right]
type = "knife_edge"
body = "cart"
point = [0, -0.3, 0]
"""


def test_model_files(tmp_path):
    path, name = tmp_path / "cart.toml", "right: velocity across the edge"
    path.write_text(FILE)
    with pytest.raises(tf.InputError, match=rf"cart.toml:14: joints.right: over-constrained: '{name}' repeats"):
        load_model(path)
    path.write_text('redundant = "drop"\n' + FILE)
    model = load_model(path)
    facts = inspect(model)
    assert (facts["redundant"], facts["rank"], facts["degrees_of_freedom"]) == ([name], 1, 6)
    assert model.solve(progress=False).system.dropped == [name]


# ---- wheels that do not stay parallel

def steered(angles, element, n=100):
    """A cart whose wheels, at places in the plane, steer by functions of time; its solution."""
    body = tf.RigidBody(10.0, (1, 1, 1.5), name="cart")
    floor = tf.Planar(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z)

    def wheel(x, y, angle):
        def slip(frames, t, c):
            across = ca.vertcat(-ca.sin(angle(t)), ca.cos(angle(t)), 0)
            arm = frames[0].direction([x, y, 0])
            return ca.dot(frames[0].direction(across), frames[0].velocity_at(arm))
        return slip

    wheels = [tf.NonholonomicConstraint(body, wheel(*where), 1, name=name) for name, where in angles.items()]
    system = tf.System([body, floor, *wheels, tf.Force(body, (1.0, 0, 0), frame="body")], redundant="drop")
    problem = tf.InitialValueProblem(system, {body: tf.Pose(velocity=(1, 0, 0))}, (0, 2))
    return tf.solve(problem, element, n, progress=False)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.BubnovGalerkin(2)], ids=repr)
def test_wheels_that_steer_apart_are_told(element):
    """Front wheels turn by one angle: of two parallel ones each asks for another centre, and the cart should jam."""
    def straight(t):
        return 0 * t

    def turned(t):
        return ca.if_else(t > 0.5, 0.3 * (t - 0.5)**2, 0)

    sol = steered({"left": (0.5, 0.3, turned), "right": (0.5, -0.3, turned), "rear": (-0.5, 0, straight)}, element)
    assert not sol.success and sol.status.reason == "constraints not redundant"
    assert "'right: constraint 1' is violated" in sol.status.message and 0.5 < sol.status.time < 0.8


def test_wheels_that_steer_as_they_should():
    """By Ackermann's angles all wheels turn about one centre, and any of the front ones may go."""
    def turned(y):
        def angle(t):
            bend = ca.sin(t)**2 / 4
            return ca.atan(bend / (1 - bend * y))
        return angle

    front = {name: (0.5, y, turned(y)) for name, y in (("left", 0.3), ("right", -0.3))}
    rear = {"rear": (-0.5, 0, lambda t: 0 * t)}
    both = steered(rear | front, tf.MixedGalerkin(2))
    assert both.success and both.system.dropped == ["right: constraint 1"]
    for name in front:
        one = steered(rear | {name: front[name]}, tf.MixedGalerkin(2))
        np.testing.assert_allclose(both.z[-1], one.z[-1], rtol=0, atol=1e-7)
    assert abs(both.z[-1, 1]) > 0.1


# ---- what comes to repeat others on the way

def steered_apart():
    """A cart on two wheels, one on a belt that runs sideways and steered until both have one axle; Problem.

    The belt then asks for a velocity that the other wheel does not have: the cart turns faster and faster.
    """
    body, angle, speed, spin = tf.RigidBody(10.0, (1, 1, 1.5), name="cart"), 0.3, 0.2, 0.8
    floor = tf.Planar(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="floor")
    left = tf.KnifeEdge(body, point=(-0.5, 0.3, 0), across=(0, 1, 0), name="left wheel")
    slip = ("cos(c[0] - t) * dot(f[0].rotation[:, 1], f[0].velocity_at([-0.5, -0.3, 0])) - "
            "sin(c[0] - t) * dot(f[0].rotation[:, 0], f[0].velocity_at([-0.5, -0.3, 0])) - c[1]")
    right = tf.NonholonomicConstraint(body, slip, 1, parameters=[angle, speed], name="right wheel")
    along = -speed / np.sin(angle) - 0.3 * spin
    state = {body: tf.Pose(velocity=(along, 0.5 * spin, 0), angular_velocity=(0, 0, spin))}
    return tf.InitialValueProblem(tf.System([body, floor, left, right]), state, (0, 1.0))


@pytest.mark.parametrize("element", [tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.MixedGalerkin(3)], ids=repr)
def test_kept_constraints_that_come_to_repeat_others_are_named(element):
    sol = tf.solve(steered_apart(), element, tolerance=1e-5, progress=False)
    assert not sol.success
    found = re.search(r"'right wheel: constraint 1' comes to repeat other constraints near t = (\S+):",
                      sol.status.message)
    assert abs(float(found[1]) - 0.3) < (1e-4 if element.degree == 1 else 0.03)  # others march on for a while


@pytest.mark.parametrize("dense", [100_000, 0])
def test_how_near_constraints_are_to_repeating_others(monkeypatch, dense):
    """By the angle between axles, also by sparse arrays."""
    monkeypatch.setattr("timefem.mechanics.values.at_start.OPTIONS", replace(OPTIONS, dense=dense))
    problem, found = steered_apart(), []
    for t in (0.1, 0.2, 0.29, 0.2999):
        name, size = weakest(problem.system, t, problem.z0)
        assert name == "right wheel: constraint 1"
        found.append(size / (0.3 - t))
    np.testing.assert_allclose(found[1:], found[-1] * np.ones(3), rtol=5e-2)
