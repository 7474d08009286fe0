"""Marches from impact to impact in one compiled loop: the same as without it."""

from itertools import pairwise

import numpy as np
import pytest

import timefem as tf
from timefem.kernels.loops import nothing_interpreted
from timefem.solvers.nonsmooth.contact_march import ContactMarch
from timefem.solvers.nonsmooth.flight import flight

pytestmark = pytest.mark.long
G = 9.81


def bouncing(degree, points=None, elements=100):
    """A spinning ball that bounces on a floor with friction."""
    ball = tf.RigidBody(1.0, (0.004,) * 3, name="ball")
    floor = tf.PlaneContact(ball, radius=0.1, restitution=0.8, friction=0.2)
    start = tf.Pose((0, 0, 0.9), velocity=(0.2, 0.1, 0), angular_velocity=(0, 3, 20))
    system = tf.System([ball, floor], gravity=(0, 0, -G))
    return tf.InitialValueProblem(system, {ball: start}, (0, 3.0)), tf.MixedGalerkin(degree, points), elements


def between_walls():
    """A tumbling box whose corners meet two walls, several at once at the first impact."""
    box = tf.RigidBody(1.0, (0.01, 0.015, 0.02), name="box")
    corners = 0.1 * np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    walls = [tf.PlaneContact(box, points=corners, normal=(sign, 0, 0), plane_point=(-0.5 * sign, 0, 0), restitution=1.0)
             for sign in (-1, 1)]
    start = tf.Pose((0, 0, 0), velocity=(2.0, 0.3, 0.1))
    return tf.InitialValueProblem(tf.System([box, *walls]), {box: start}, (0, 3.0)), tf.MixedGalerkin(2), 200


def swinging():
    """A double pendulum in directors, with stops at its lower joint, which counts turns."""
    links = a, b = [tf.RigidBody(1.0, (0.02,) * 3, "directors", name=name) for name in "ab"]
    axis = {"axis_a": (0, 1, 0), "axis_b": (0, 1, 0)}
    knee = tf.Revolute(a, b, point_a=(0.5, 0, 0), point_b=(-0.5, 0, 0), **axis)
    parts = [*links, tf.Revolute(a, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), **axis), knee,
             tf.EndStop(knee, lowest=-0.3, highest=0.3, restitution=0.9)]
    states = {a: tf.Pose((0.5, 0, 0)), b: tf.Pose((1.5, 0, 0), velocity=(0, 0, -2.0), angular_velocity=(0, 4.0, 0))}
    system = tf.System(parts, gravity=(0, 0, -G), redundant="drop")
    return tf.InitialValueProblem(system, states, (0, 1.5)), tf.MixedGalerkin(3), 150


def colliding():
    """Balls in a row that meet each other and walls."""
    balls = [tf.PointMass(1.0 + i, 2, name=f"ball {i}") for i in range(4)]
    contacts = [tf.SphereContact(a, b, radius_a=0.1, radius_b=0.1, restitution=0.9) for a, b in pairwise(balls)]
    contacts += [tf.PlaneContact(balls[i], radius=0.1, normal=(sign, 0, 0), plane_point=(-2.0 * sign, 0, 0),
                                 restitution=1.0) for i, sign in ((0, 1), (3, -1))]
    states = {ball: tf.Pose((x, 0.01 * i, 0), velocity=(v, 0, 0)) for i, (ball, x, v) in enumerate(
        zip(balls, (-1.5, -0.6, 0.4, 1.2), (1.0, 0.3, -0.5, 0.2), strict=True))}
    return tf.InitialValueProblem(tf.System([*balls, *contacts]), states, (0, 8.0)), tf.MixedGalerkin(1), 400


CASES = {"bounces": lambda: bouncing(2), "one point": lambda: bouncing(1, 1), "walls": between_walls,
         "stops": swinging, "collisions": colliding}


@pytest.mark.parametrize("case", CASES)
def test_the_compiled_loop_finds_the_same(case, monkeypatch):
    found, accept = [], ContactMarch.accept_flight
    monkeypatch.setattr(ContactMarch, "accept_flight", lambda march, flown: (found.extend(flown.events), accept(
        march, flown)))
    problem, element, n = CASES[case]()
    with nothing_interpreted():
        sol = tf.solve(problem, element, n, progress=False)
    assert sol.status.success and len(found) >= 4
    monkeypatch.setattr(flight, "can_fly", lambda *given: False)
    other, n_found = tf.solve(problem, element, n, progress=False), len(found)
    assert len(found) == n_found and len(sol.t) == len(other.t)
    assert abs(sol.t - other.t).max() < 1e-11 * problem.t_span[1]
    assert abs(sol.z - other.z).max() < 1e-9 * abs(other.z).max()  # corners that tumble multiply rounding
    assert (sol.contact_modes == other.contact_modes).all() and (sol.mode_nodes == other.mode_nodes).all()
    assert [x[:2] for x in sol.located] == [x[:2] for x in other.located]  # corners meet at once: either one
    for one, two in zip(sol.events, other.events, strict=True):
        assert (one.kind, one.node, one.contacts, one.statuses) == (two.kind, two.node, two.contacts, two.statuses)
        size = max(abs(two.impulses).max(initial=0), 1e-3)
        assert abs(one.impulses.sum(axis=0) - two.impulses.sum(axis=0)).max() < 1e-9 * size
        assert abs(one.impulses - two.impulses).max(initial=0) < 1e-7 * size  # corners share as the law's shift
        assert one.energy == pytest.approx(two.energy, abs=1e-9) and one.share == two.share
        assert one.distance == pytest.approx(two.distance, abs=1e-7)


@pytest.mark.parametrize("speed", [1e3, 1e9])
def test_bodies_that_nothing_joins_change_no_impact(speed):
    """A ball bounces with spin at 1 mm/s and comes to rest, while a puck of a milligram passes on ice far from it; at
    1e9 m/s it blocked the ball, whose speeds were rounding beside its."""
    def marched(*more):
        ball = tf.RigidBody(1.0, np.full(3, 0.004), name="ball")
        floor = tf.PlaneContact(ball, radius=0.1, restitution=0.6, friction=0.3, name="floor")
        state = {ball: tf.Pose((0, 0, 0.1 + 1e-4), velocity=(1e-3, 0, 0), angular_velocity=(0, -3e-2, 0))}
        state |= {puck: tf.Pose((0, 5, 0), velocity=(speed, 0, 0)) for puck, _ in more}
        system = tf.System([ball, floor, *(part for pair in more for part in pair)], gravity=(0, 0, -9.81))
        return tf.solve(tf.InitialValueProblem(system, state, (0, 0.03)), tf.MixedGalerkin(2), 20, progress=False)

    puck = tf.PointMass(1e-6, name="puck")
    alone, both = marched(), marched((puck, tf.PlaneContact(puck, friction=1e-9, name="ice")))
    seen = [[(e.kind, e.statuses) for e in sol.events if e.contacts == ("floor",)] for sol in (alone, both)]
    assert both.success and seen[0] == seen[1] and len(seen[0]) == 25
    places = [sol.position("ball", sol.t[-1]) for sol in (alone, both)]
    np.testing.assert_allclose(*places, rtol=0, atol=1e-14)
