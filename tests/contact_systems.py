"""Systems of the references in `tests/data/nonsmooth`, solved."""

import json
from pathlib import Path

import casadi as ca
import numpy as np

import timefem as tf
from timefem.mechanics.contacts.rigid import RigidContact
from timefem.mechanics.declared import On, Real

DATA = Path(__file__).parent / "data" / "nonsmooth"
DOWN = (0, -9.81, 0)


def reference(name):
    """End state and events [time, ...] of a file."""
    data = json.loads((DATA / f"{name}.json").read_text())
    return np.array(list(map(float, data["end"]))), data["events"]


class Stop(RigidContact):
    """Of the first coordinate of a body, from below."""

    body = On()
    place = Real("of the stop", "m", 0.0)
    keyword_only = True

    def gap(self, s):
        return s.q[0][0] - self.named(s.own).place


class Circle(RigidContact):
    """A point outside of the unit circle in the plane."""

    body = On()
    keyword_only = True
    n_slip = 1

    def gap(self, s):
        return ca.sqrt(ca.sumsqr(s.q[0])) - 1

    def slip(self, s):
        q, v = s.q[0], s.velocity[0]
        return (q[1] * v[0] - q[0] * v[1]) / ca.sqrt(ca.sumsqr(q))


class RollingBall(RigidContact):
    """A ball with the coordinates (x, gap, angle) on the floor."""

    body = On()
    radius = Real("of the ball", "m", 0.1)
    keyword_only = True
    n_slip = 1

    def gap(self, s):
        return s.q[0][1]

    def slip(self, s):
        return s.velocity[0][0] + self.named(s.own).radius * s.velocity[0][2]


def solved(system, state, span, degree, n, **options):
    return tf.solve(tf.InitialValueProblem(system, state, span), tf.MixedGalerkin(degree), n, **options)


def ball(degree, n, end=3.0):
    body = tf.PointMass(1.0, 1, name="ball")
    system = tf.System([body, tf.PlaneContact(body, normal=(1, 0, 0), restitution=1.0, name="floor")],
                       gravity=(-9.81, 0, 0))
    sol = solved(system, {body: tf.Pose((0.8, 0, 0))}, (0, end), degree, n)
    return sol, sol.z[-1]


def two_balls(degree, n):
    a, b = tf.PointMass(1.0, 1, name="a"), tf.PointMass(1.0, 1, name="b")
    system = tf.System([a, b, tf.Spring(a, b, stiffness=1e4, length=1.0),
                        tf.PlaneContact(a, normal=(1, 0, 0), radius=0.2, restitution=0.8)], gravity=(-9.81, 0, 0))
    sol = solved(system, {a: tf.Pose((1, 0, 0)), b: tf.Pose((2, 0, 0))}, (0, 1), degree, n)
    return sol, sol.z[-1]


def nonlinear_stop_system(restitution=0.7, place=-0.3):
    body = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="mass")
    force = tf.FormulaForce(body, lambda f, t, c: -4 * f[0].q - 2 * f[0].q**3 - 0.1 * f[0].rate + ca.cos(t))
    return body, tf.System([body, force, Stop(body, place=place, restitution=restitution, name="stop")])


def nonlinear_stop(degree, n):
    _, system = nonlinear_stop_system()
    sol = solved(system, tf.Coordinates([1.0], [0.0]), (0, 3), degree, n)
    return sol, sol.z[-1]


def planar(body, z, system):
    """(x, y, angle, velocities) of a body in the plane (x, y)."""
    q, p = system.local_state(body, z)
    turn = body.rotation_matrix(q)
    return np.array([*body.position(q)[:2], np.arctan2(turn[1, 0], turn[0, 0]), *body.velocity(q, p)[:2],
                     body.angular_velocity(q, p, "space")[2]])


def turned(angle):
    return [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]


def bar_system(rotation="directors", restitution=0.6, friction=0.3):
    body = tf.RigidBody(2.0, (0.15, 0.15, 0.15), rotation=rotation, name="bar")
    ends = tf.PlaneContact(body, normal=(0, 1, 0), points=[[-0.5, 0, 0], [0.5, 0, 0]], restitution=restitution,
                           friction=friction, name="ends")
    return body, tf.System([body, ends], gravity=DOWN)


BAR = tf.Pose((0, 1.2, 0), turned(0.4), velocity=(1, 0.5, 0), angular_velocity=(0, 0, 3))


def bar(degree, n, rotation="directors", end=1.5, **numbers):
    body, system = bar_system(rotation, **numbers)
    sol = solved(system, {body: BAR}, (0, end), degree, n)
    found = planar(body, sol.z[-1], system)
    found[2] %= 2 * np.pi
    return sol, found


def off_circle(degree, n):
    body = tf.PointMass(1.0, 2, name="mass")
    numbers = {"friction": 0.2, "restitution": 0.5}
    floor = tf.PlaneContact(body, normal=(0, 1, 0), plane_point=(0, -1, 0), name="floor", **numbers)
    system = tf.System([body, Circle(body, name="circle", **numbers), floor], gravity=DOWN)
    start = tf.Pose((np.sin(0.1), np.cos(0.1), 0), velocity=(np.cos(0.1), -np.sin(0.1), 0))
    sol = solved(system, {body: start}, (0, 1.6), degree, n)
    return sol, sol.z[-1]


def ladder(degree, n, rotation="directors"):
    body = tf.RigidBody(1.0, (1 / 12, 1 / 12, 1 / 12), rotation=rotation, name="ladder")
    angle, rate = 1.2, -0.1
    wall = tf.PlaneContact(body, normal=(1, 0, 0), points=[[-0.5, 0, 0]], name="wall")
    floor = tf.PlaneContact(body, normal=(0, 1, 0), points=[[0.5, 0, 0]], name="floor")
    system = tf.System([body, wall, floor], gravity=DOWN)
    c, s = np.cos(angle), np.sin(angle)
    start = tf.Pose((c / 2, s / 2, 0), turned(-angle), velocity=(-s * rate / 2, c * rate / 2, 0),
                    angular_velocity=(0, 0, -rate))
    sol = solved(system, {body: start}, (0, 0.5), degree, n)
    return sol, planar(body, sol.z[-1], system) * [1, 1, -1, 1, 1, -1]


def spinning_ball(degree, n):
    body = tf.GeneralizedBody(3, lambda q, v, c: (v[0]**2 + v[1]**2 + 0.004 * v[2]**2) / 2, name="ball")
    weight = tf.FormulaForce(body, lambda f, t, c: ca.vertcat(0, -9.81, 0))
    contact = RollingBall(body, restitution=0.5, friction=0.2, name="floor")
    sol = solved(tf.System([body, weight, contact]), tf.Coordinates([0, 0.9, 0], [0, 0, 120.0]), (0, 2.5), degree, n)
    return sol, sol.z[-1][[0, 1, 3, 5]] / [1, 1, 1, 0.004]
