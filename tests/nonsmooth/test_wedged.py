"""Bodies whose forces are not unique: friction stays within its limit, and what others hold does not stick and slip in
turn."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import nnls

import timefem as tf
from tests.nonsmooth.contact_scenes import AXIS, DOWN, G, solved
from timefem.solvers.nonsmooth import sharing
from timefem.solvers.nonsmooth.sharing import CLOSED, within_limits
from timefem.solvers.nonsmooth.states import InMode, contacts_of


@pytest.mark.long
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_a_rotor_with_dry_friction_rests_at_its_stop(coordinates):
    """Turned by a constant moment: it bounces against the stop until both hold it."""
    inertia, moment, dry, highest = 0.5, 2.0, 0.8, 1.0
    rotor = tf.RigidBody(1.0, (inertia,) * 3, name="rotor")
    hinge = tf.Revolute(rotor, None, **AXIS, name="hinge")
    parts = [rotor, hinge, tf.JointForce(hinge, value=moment), tf.JointFriction(hinge, friction=dry, name="dry"),
             tf.EndStop(hinge, highest=highest, restitution=0.5, name="stop")]
    sol = solved(parts, {}, 3.0, 60, gravity=None, coordinates=coordinates)
    assert sol.success
    first = np.sqrt(2 * highest * inertia / (moment - dry))
    assert sol.events[0].t == pytest.approx(first, rel=1e-7)
    back = 0.5 * (moment - dry) / (moment + dry) * first  # until it turns round
    assert sol.events[1].kind == "slips" and sol.events[1].t == pytest.approx(first + back, rel=1e-7)
    assert sol.events[-1].t < 1.65  # by the geometric series
    forces = sol.contact_forces([2.0, 3.0])  # friction, stop
    np.testing.assert_allclose(np.abs(forces[:, 0, 1]) + forces[:, 1, 0], moment, rtol=1e-9)
    assert np.abs(forces[:, 0, 1]).max() <= dry * (1 + 1e-9)


@pytest.mark.long
def test_a_knee_with_dry_friction_leaves_its_stop():
    """Friction holds it until it slips; beside that the stop has no force but rounding, and is not to close by it."""
    runs = []
    for coordinates in ("bodies", "joint"):
        thigh, shank = (tf.RigidBody(1.0, (0.1, 0.1, 0.1), name=name) for name in ("thigh", "shank"))
        axes = {"axis_a": (0, 1, 0), "axis_b": (0, 1, 0), "point_a": (0, 0, 0.5)}
        hip = tf.Revolute(thigh, None, point_b=(0, 0, 0), name="hip", **axes)
        knee = tf.Revolute(shank, thigh, point_b=(0, 0, -0.5), name="knee", **axes)
        parts = [thigh, shank, hip, knee, tf.EndStop(knee, lowest=-0.5, highest=0.1, restitution=0.2, name="stop"),
                 tf.JointFriction(hip, friction=0.3), tf.JointFriction(knee, friction=0.2)]
        problem = tf.InitialValueProblem(tf.System(parts, gravity=DOWN, coordinates=coordinates), {hip: 1.2}, (0, 0.6))
        sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange" if coordinates == "joint" else "hamilton"), 60,
                       progress=False)
        assert sol.success and [event.kind for event in sol.events[-3:]] == ["sticks", "opens", "slips"]
        runs.append([sol.joint(joint).angle(0.6) for joint in (hip, knee)] + [sol.events[-1].t])
    np.testing.assert_allclose(runs[0], runs[1], rtol=0, atol=1e-7)


@pytest.mark.long
def test_a_block_pushed_against_a_wall():
    """The push is above the limit of friction, so that the block goes to the wall, if by nothing, and back."""
    block = tf.PointMass(1.0, name="block")
    push = tf.Force(block, (tf.Sine(6.0, 1.0), 0, 0))
    parts = [block, push, tf.PlaneContact(block, friction=0.4, name="floor"),
             tf.PlaneContact(block, normal=(-1, 0, 0), plane_point=(0, 0, 0), friction=0.2, name="wall")]
    sol = solved(parts, {block: tf.Pose()}, 0.7, 35)
    assert sol.success, sol.status.message
    limit = 0.4 * G
    reached = np.arcsin(limit / 6) / (2 * np.pi)
    assert next(event.t for event in sol.events) == pytest.approx(reached, rel=1e-10)
    forces = sol.contact_force_vectors([0.2, 0.25, 0.55])
    np.testing.assert_allclose(forces.sum(axis=1)[:2, 0], -6 * np.sin(2 * np.pi * np.array([0.2, 0.25])), rtol=1e-9)
    assert np.hypot(*forces[:, 0, :2].T).max() <= limit * (1 + 1e-3)
    assert sol.position(block, 0.5)[0] == pytest.approx(0, abs=1e-9)
    leaves = 0.5 + reached  # on its way out it is pulled against friction
    assert any(event.kind == "slips" and event.t == pytest.approx(leaves, rel=1e-6) for event in sol.events)


@pytest.mark.parametrize("moment", [0.3, pytest.param(0.5, marks=pytest.mark.long)])
def test_a_ball_in_a_groove(moment):
    """A moment along it turns the ball from mu r m g sqrt(2) / (1 + mu^2) on, where both sides are at their limits."""
    r, mu, c = 0.1, 0.3, np.sqrt(0.5)
    ball = tf.RigidBody(1.0, (0.4 * r**2,) * 3, name="ball")
    sides = [tf.PlaneContact(ball, normal=(side * c, 0, c), radius=r, friction=mu, name=name)
             for side, name in ((1, "left"), (-1, "right"))]
    twist = tf.Torque(ball, (0, tf.Sine(moment, 1.0), 0))
    sol = solved([ball, *sides, twist], {ball: tf.Pose((0, 0, r / c))}, 0.25, 20, gravity=DOWN)
    assert sol.success, sol.status.message
    assert np.abs(sol.energy.balance()).max() < 1e-10
    both = mu * r * G / c / (1 + mu**2)
    turns = [event.t for event in sol.events if event.contacts == ("left", "right")]
    if moment < both:
        assert not turns and np.abs(sol.angular_velocity(ball, 0.25)).max() < 1e-12
    else:
        assert turns == [pytest.approx(np.arcsin(both / moment) / (2 * np.pi), rel=1e-9)]
        assert sol.angular_velocity(ball, 0.25)[1] > 1.0


def test_margins_are_as_large_as_forces_without_effect_make_them():
    """By multipliers of what is at the least margin: not negative, and no force without effect changes their sum."""
    rng, held = np.random.default_rng(5), 0
    for n, free in ((2, 1), (3, 2), (4, 4)):
        without = np.linalg.qr(rng.normal(size=(2 * n, free)))[0].reshape(n, 2, free)
        given, limits = rng.normal(size=(16, n, 2)), rng.uniform(0.5, 2.0, (16, n))
        friction, margins = within_limits(given, limits, without)
        change = (friction - given).reshape(16, -1).T
        base = without.reshape(2 * n, free)
        np.testing.assert_allclose(base @ (base.T @ change), change, rtol=0, atol=1e-12)
        widest = given + np.einsum("cij,nj->nci", without, sharing._widest(given, limits, without))
        for f, t, b, far, margin in zip(friction, given, limits, widest, margins, strict=True):
            own = b - np.hypot(*far.T)
            if (np.hypot(*t.T) <= b).all():
                assert (f == t).all()
            elif own.min() > 0:  # as near to what was given as the limits allow on the way
                held += 1
                assert margin.min() > -1e-12
                assert np.abs(np.hypot(*f.T) - b).min() < 1e-12 and (np.hypot(*f.T) <= b * (1 + 1e-12)).all()
            else:
                np.testing.assert_allclose(f, far, rtol=0, atol=1e-6)
            near = own - own.min() < 1e-4
            if np.hypot(*far[near].T).min() < 1e-3:  # a limit itself, without friction, in any direction
                continue
            along = far / np.hypot(*far.T)[:, None]
            slopes = np.vstack([np.einsum("ci,cij->jc", along[near], without[near]), np.ones(near.sum())])
            assert nnls(slopes, np.append(np.zeros(free), 1.0))[1] < 1e-3
    assert held > 3


@pytest.mark.parametrize("pressed", [(2, 0, 1, 1), (3, 1, 0, 0), (1, 1, 1, 1), (4, 0, 0, 0)])
def test_what_does_not_press_holds_nothing(monkeypatch, pressed):
    """Four corners that are pulled aside by nearly the limit of all: each holds by what presses it, as least squares
    say without a search."""
    monkeypatch.setattr(sharing, "_widest", None)
    effect = np.tile(np.eye(2), 4)
    without = np.linalg.svd(effect)[2][2:].T.reshape(4, 2, 6)
    limits = 0.3 * np.array(pressed, float)
    pull = 0.99 * limits.sum() * np.array([0.6, 0.8])
    friction, margins = within_limits(np.broadcast_to(pull / 4, (1, 4, 2)), limits[None], without)
    np.testing.assert_allclose(friction[0].sum(axis=0), pull, rtol=1e-12)
    assert (np.hypot(*friction[0].T) <= limits * (1 + 1e-12) + 1e-13).all() and margins.min() > -1e-12


def test_a_bar_slips_where_no_sharing_of_friction_holds_it():
    """On two feet, pulled along them, and across ever more at the one with less weight: that one slips aside when the
    pull across alone is at its limit, as the other foot can take all of the pull along."""
    half, off, weight, along, rate, mu = 0.5, 0.15, 2.0 * G, 2.0, 4.5, 0.4
    bar = tf.RigidBody(2.0, (0.01, 0.2, 0.2), name="bar")
    feet = [(-half - off, 0, 0), (half - off, 0, 0)]
    parts = [bar, tf.PlaneContact(bar, points=feet, friction=mu, name="floor"),
             tf.Force(bar, (along, 0, 0), point=feet[1], name="along"),
             tf.Force(bar, lambda t: (0, rate * t, 0), point=feet[0], name="across")]
    problem = tf.InitialValueProblem(tf.System(parts, gravity=DOWN), {bar: tf.Pose()}, (0, 0.615))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 30, progress=False)
    normal = weight * np.array([half - off, half + off]) / (2 * half)
    slips, = sol.events
    assert slips.kind == "slips" and slips.contacts == ("floor: contact 0",)
    assert slips.t == pytest.approx(mu * normal[0] / rate, rel=1e-9)
    t = np.linspace(0, slips.t * (1 - 1e-6), 9)
    forces = sol.contact_forces(t)
    friction = np.hypot(forces[:, :, 1], forces[:, :, 2])
    assert (friction <= mu * forces[:, :, 0] * (1 + 1e-12)).all()
    np.testing.assert_allclose(forces[:, :, 0], np.broadcast_to(normal, (9, 2)), rtol=1e-9)
    np.testing.assert_allclose(sol.contact_force_vectors(t).sum(axis=1)[:, 0], -along, rtol=1e-9)
    assert np.hypot(mu * normal[0], along / 2) > 1.05 * mu * normal[0]  # with equal shares it would slip before


def test_when_a_plate_on_two_feet_slips_changes_with_both_frictions():
    """Pulled ever more: at sum(mu N), although each half of the pull passes mu N of one foot before."""
    mass, off, rate, mu = 2.0, 0.3, 10.0, (0.4, 0.3)
    plate = tf.GeneralizedBody(3, lambda q, v, c: mass * (v[0]**2 + v[1]**2) / 2 + 0.1 * v[2]**2, name="plate")
    load = tf.FormulaForce(plate, lambda f, t, c: (rate * t, -mass * G, off * mass * G))
    feet = [tf.FormulaContact(plate, formula=lambda f, t, c, side=side: f[0].q[1] - side * f[0].q[2], friction=own,
                              n_slip=1, slip=lambda f, t, c: f[0].rate[0], name=name)
            for side, own, name in ((1, mu[0], "front"), (-1, mu[1], "rear"))]
    problem = tf.InitialValueProblem(tf.System([plate, load, *feet]), {plate: tf.Coordinates([0] * 3, [0] * 3)}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, newton=tf.Newton(tol_increment=1e-12), progress=False)
    normal = mass * G * np.array([1 + off, 1 - off]) / 2
    slips = sol.events[0]
    assert slips.kind == "slips" and slips.t == pytest.approx(normal @ mu / rate, rel=1e-9)
    assert abs(rate * slips.t / 2) > 1.01 * min(normal * mu)
    frictions = [tf.Parameter(name, "friction") for name in ("front", "rear")]
    times = tf.Linearization(sol).event_times(frictions)[slips.node]
    np.testing.assert_allclose(times, normal / rate, rtol=1e-7)


def _pull_that_turns_a_capstan(n, angle, friction, radius, hold):
    """The pull at which a rope of n beads around a drum begins to slip, and which beads do; one end is held back."""
    step, rate = angle / n, 20.0
    corners = [radius * np.array([np.cos(i * step), np.sin(i * step), 0]) for i in range(-1, n + 1)]
    length = 2 * radius * np.sin(step / 2)
    beads = [tf.PointMass(0.01, 2, name=f"bead {i}") for i in range(n)]
    rods = [tf.RigidDistance(b, a, length=length, name=f"rod {a.name}") for a, b in pairwise(beads)]
    back, ahead = (corners[0] - corners[1]) / length, (corners[-1] - corners[-2]) / length

    def slip(f, t, c):
        (x, y, _), (u, v, _) = (ca.vertsplit(value) for value in (f[0].position, f[0].velocity))
        return (v * x - u * y) / radius

    drum = [tf.FormulaContact(bead, formula=lambda f, t, c: (ca.sumsqr(f[0].position) / radius - radius) / 2, slip=slip,
                              n_slip=1, friction=friction, name=f"drum {bead.name}") for bead in beads]
    ends = [tf.Force(beads[0], tuple(hold * back)),
            tf.Force(beads[-1], lambda t: tuple((hold + rate * t) * x for x in ahead))]
    problem = tf.InitialValueProblem(tf.System([*beads, *rods, *drum, *ends]),
                                     {b: tf.Pose(place) for b, place in zip(beads, corners[1:], strict=False)},
                                     (0, 0.35), assemble=True)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 7, progress=False)
    slips = sol.events[0]
    assert sol.success and slips.kind == "slips" and len(slips.contacts) == n
    return hold + rate * slips.t


@pytest.mark.long
def test_a_capstan():
    """Euler and Eytelwein's exp(mu angle), from polygons with ((cos d + mu sin d) / (cos d - mu sin d))^n each: rods
    and friction that holds every bead share the pull in many ways, until all beads are at their limits at once."""
    angle, friction, hold, ratios = np.pi / 2, 0.3, 10.0, []
    for n in (2, 4):
        d = angle / (2 * n)
        ratios.append(_pull_that_turns_a_capstan(n, angle, friction, 0.2, hold) / hold)
        both = np.cos(d) + friction * np.sin(d), np.cos(d) - friction * np.sin(d)
        assert ratios[-1] == pytest.approx((both[0] / both[1])**n, rel=1e-10)
    assert (4 * ratios[1] - ratios[0]) / 3 == pytest.approx(np.exp(friction * angle), rel=1e-3)


def test_rows_that_repeat_each_other_at_a_later_state_have_the_least_forces():
    """A bead in a wedge whose sides are parallel at its tip: there both carry half of it, and LAPACK found no force."""
    bead = tf.PointMass(2.0, name="bead")
    sides = [tf.SurfaceContact(bead, formula=formula) for formula in ("x[2]", "x[2] - x[0]**2")]
    contacts = contacts_of(tf.System([bead, *sides], gravity=(0, 0, -G)))
    q = np.array([[0.1, 0, 0], [0, 0, 0]])
    states = contacts.at(np.zeros(2), q, np.zeros((2, 3)))
    forces = InMode(states, (CLOSED, CLOSED), np.ones((2, 2))).forces
    np.testing.assert_allclose(forces[:, :, 0], [[2 * G, 0], [G, G]], rtol=0, atol=1e-12)
