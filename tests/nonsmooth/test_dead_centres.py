"""Friction at dead centres, where constraints leave a slip none of its mobility: it turns round, whatever holds it."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad

import timefem as tf

CRANK, ROD, RATE, LOAD = 0.1, 0.4, 3.0, 2.0  # of the crank, of the rod [m], [rad/s], friction [N]
Z, ZERO = (0, 0, 1), (0, 0, 0)


def place(angle):
    """Of the piston [m]."""
    return CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle))**2)


def slope(angle):
    root = np.sqrt(ROD**2 - (CRANK * np.sin(angle))**2)
    return -CRANK * np.sin(angle) * (1 + CRANK * np.cos(angle) / root)


def bend(angle):
    root = np.sqrt(ROD**2 - (CRANK * np.sin(angle))**2)
    s, c = CRANK * np.sin(angle), CRANK * np.cos(angle)
    return -c - (c**2 - s**2) / root - (s * c)**2 / root**3


def crank_and_rod(piston, at):
    crank = tf.RigidBody(1.0, (0.01, 0.01, 0.01), name="crank")
    hinge = tf.Revolute(crank, point_a=ZERO, point_b=ZERO, axis_a=Z, axis_b=Z, name="hinge")
    rod = tf.RigidDistance(crank, piston, point_a=(CRANK, 0, 0), point_b=ZERO, length=ROD)
    start = {crank: tf.Pose(orientation=(np.cos(at / 2), 0, 0, np.sin(at / 2)), angular_velocity=(0, 0, RATE)),
             piston: tf.Pose((place(at), 0, 0), velocity=(RATE * slope(at), 0, 0))}
    return hinge, [crank, hinge, rod], start


def solved(parts, start, gravity, span, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tf.solve(tf.InitialValueProblem(tf.System(parts, gravity=gravity), start, (0, span)),
                        tf.MixedGalerkin(3), n, progress=False)


@pytest.mark.parametrize("kind", ["joint", "plane"])
def test_driven_piston_rubs_after_each_dead_centre(kind):
    """The torque of the drive, by d'Alembert, over three strokes."""
    at, mass = 0.3, 0.5
    if kind == "joint":
        piston = tf.RigidBody(mass, (1e-3, 1e-3, 1e-3), name="piston")
        guide = tf.Prismatic(piston, point_a=ZERO, point_b=ZERO, axis_b=(1, 0, 0))
        friction, gravity = tf.JointFriction(guide, friction=LOAD), None
    else:
        piston, gravity = tf.PointMass(mass, name="piston"), (0, 0, -10)
        guide = tf.Constraint(piston, "f[0].position[1]", 1)
        friction = tf.PlaneContact(piston, friction=LOAD / (10 * mass))
    hinge, parts, start = crank_and_rod(piston, at)
    drive = tf.PrescribedJoint(hinge, value=f"{at} + {RATE} * t", name="drive")
    sol = solved([*parts, piston, guide, friction, drive], start, gravity, 3.0, 60)
    t = np.array([0.5, 0.9, 1.2, 1.9, 2.2, 2.9])
    angle = at + RATE * t
    wanted = (mass * bend(angle) * RATE**2 + LOAD * np.sign(slope(angle))) * slope(angle)
    torque = sol.multipliers(t)[:, [name.startswith("drive") for name in sol.system.constraint_names].index(True)]
    assert len({*np.sign(slope(angle))}) == 2 and np.abs(torque - wanted).max() < 1e-6


@pytest.mark.parametrize("at", [0.3, 0.7, 1.1, 1.5])
def test_free_crank_passes_dead_centres(at):
    """What is lost is the friction times the way of the piston."""
    piston = tf.RigidBody(0.5, (1e-3, 1e-3, 1e-3), name="piston")
    guide = tf.Prismatic(piston, point_a=ZERO, point_b=ZERO, axis_b=(1, 0, 0))
    hinge, parts, start = crank_and_rod(piston, at)
    load = 0.02
    sol = solved([*parts, piston, guide, tf.JointFriction(guide, friction=load)], start, None, 5.0, 200)
    angle = sol.joint(hinge).angle(5.0)
    strokes, rest = divmod(angle, np.pi)
    inside = abs(place(angle) - place(np.pi * strokes))
    way = 2 * CRANK * strokes + inside - abs(place(at) - place(0.0))
    assert strokes >= 3 and rest > 0.1
    assert abs(sol.energy(5.0) - sol.energy(0.0) + load * way) < 1e-9


@pytest.mark.parametrize("angle", [0.0, 0.5, np.pi / 2])
def test_carried_to_and_fro(angle):
    """A block on a slide that moves, free across it: its friction turns with the carriage."""
    block = tf.PointMass(0.5, name="block")
    along = np.array([np.cos(angle), np.sin(angle), 0])
    slide = tf.Constraint(block, "dot(f[0].position, [c[0], c[1], 0]) - 0.1 * cos(c[2] * t)", 1,
                          parameters=[*along[:2], RATE])
    sol = solved([block, slide, tf.PlaneContact(block, friction=LOAD / 5)], {block: tf.Pose(0.1 * along)},
                 (0, 0, -10), 3.0, 60)
    t = np.array([0.5, 0.9, 1.2, 1.9, 2.2, 2.9])
    pushes = -0.05 * RATE**2 * np.cos(RATE * t) - LOAD * np.sign(np.sin(RATE * t))
    assert np.abs(sol.multipliers(t)[:, 0] + pushes).max() < 1e-6


@pytest.mark.parametrize("friction", [0.5, 2.0])
def test_rocking_block_does_not_slip_where_a_joint_stops_it(friction):
    """Housner (1963): the time of a quarter of its period, and what an impact leaves of its rate."""
    width, height, mass, g = 0.2, 1.0, 10.0, 9.81
    corner, half = np.arctan(width / height), np.hypot(width, height) / 2
    block = tf.RigidBody(mass, (mass * half**2 / 3,) * 3, name="block")
    plane = tf.Planar(block, point_a=ZERO, point_b=ZERO, axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    foot = tf.PlaneContact(block, points=[(-width / 2, 0, -height / 2), (width / 2, 0, -height / 2)], friction=friction)
    tilt = corner / 2
    place = (width / 2 - half * np.sin(corner - tilt), 0, half * np.cos(corner - tilt))
    start = {block: tf.Pose(place, (np.cos(tilt / 2), 0, np.sin(tilt / 2), 0))}
    sol = solved([block, plane, foot], start, (0, 0, -g), 0.6, 60)
    assert [event.kind for event in sol.events] == ["impact"]

    def time(u):
        angle = tilt * (1 - u**2)
        return 2 * tilt * u / np.sqrt(1.5 * g / half * (np.cos(corner - tilt) - np.cos(corner - angle)))

    t = sol.events[0].t
    assert abs(t - quad(time, 0, 1)[0]) < 1e-9
    before, after = sol.angular_velocity(block, [t - 1e-7, t + 1e-7])[:, 1]
    assert abs(after / before - (1 - 1.5 * np.sin(corner)**2)) < 1e-5
