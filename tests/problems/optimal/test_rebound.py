"""Contacts with rebound by complementarity, from marched starts, against solutions by hand and integrated ones."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from tests.problems.optimal.test_contacts import G, solved, state
from timefem.errors import InputError

pytestmark = pytest.mark.long

MG = tf.MixedGalerkin(1)


def ball(k, restitution, t_end, height=None, eps=1e-4, mass=1.0, march=True):
    """A ball falls from 1 m onto a floor, and is pushed to end at a height, or not at all."""
    body = tf.PointMass(mass, dimension=1, name="ball")
    fan, floor = (tf.ControlForce(body, [(1, 0, 0)], name=name) for name in ("fan", "floor"))
    contact = tf.SpringContact(lambda now, u: now.q(body)[0], lambda now, u: u[1], k, restitution=restitution,
                               mass=mass, eps=eps, march=march)
    end = {} if height is None else {body: state(height)}
    return tf.OptimalControl(tf.System([body], gravity=(-G, 0, 0)), {body: tf.Pose((1, 0, 0))}, end, (0, t_end),
                             tf.Effort(fan), actuators=[fan, floor], limits=contact)


def damping_ratio(restitution):
    return -np.log(restitution) / np.hypot(np.pi, np.log(restitution))


def stiffness(time, restitution):
    """Of a contact of 1 kg that takes a time."""
    return (np.pi / time)**2 / (1 - damping_ratio(restitution)**2)


@pytest.mark.parametrize("e", [1.0, 0.5, 0.1])
def test_the_speed_after_an_impact(e):
    """Without gravity; at the end the spring has been left, and what it is smoothed by acts far away a little."""
    body = tf.PointMass(2.0, dimension=1)
    floor = tf.ControlForce(body, [(1, 0, 0)])
    contact = tf.SpringContact(lambda now, u: now.q(body)[0], lambda now, u: u[0], 2000.0, restitution=e, mass=2.0,
                               eps=1e-10)
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose((0.1, 0, 0), velocity=(-1, 0, 0))}, {}, (0, 0.6),
                                tf.Effort(floor, 1e-6), limits=contact)
    sol = solved(problem, 240, MG)
    assert sol.velocity(body, 0.6)[0] == pytest.approx(e, abs=5e-3)
    assert sol.statistics["newton_iterations"]["max"] < 100


@pytest.mark.parametrize("e, t_end", [(0.9, 1.2), (0.5, 1.2), (0.1, 0.9)])
def test_a_falling_ball_against_integration(e, t_end):
    """Of the smoothed spring, whose force follows from the motion; up to three impacts, at any number of elements."""
    k = 850.0
    d, eps = 2 * damping_ratio(e) * k**0.5, 1e-4

    def rates(t, y):
        c = y[0] + d * y[1] / k
        return [y[1], -G + k * (np.sqrt(c * c + 4 * eps) - c) / 2]

    exact = solve_ivp(rates, (0, t_end), [1.0, 0.0], method="DOP853", rtol=1e-11, atol=1e-11).y[0, -1]
    sizes = np.array([25, 50, 100, 200, 400])
    errors = [abs(solved(ball(k, e, t_end), n, MG).z[-1, 0] - exact) for n in sizes]
    slope = -np.polyfit(np.log(sizes[2:]), np.log(errors[2:]), 1)[0]
    assert 1.5 < slope < 2.7 and errors[-1] < 5e-3


@pytest.mark.long
def test_towards_rigid_rebound():
    """As contacts take less time, to where a rigid ball is after one impact, about in proportion."""
    e, t_end = 0.5, 0.8
    fall = (2 / G)**0.5
    rigid = e * G * fall * (t_end - fall) - G * (t_end - fall)**2 / 2
    errors, times = [], np.array([0.05, 0.025, 0.0125])
    for time in times:
        sol = solved(ball(stiffness(time, e), e, t_end, eps=8e-3 * time**3), round(20 * t_end / time), MG)
        errors.append(abs(sol.z[-1, 0] - rigid))
    slope = np.polyfit(np.log(times), np.log(errors), 1)[0]
    assert 0.5 < slope < 1.3 and errors[-1] < 0.01


@pytest.mark.long
def test_a_push_through_three_impacts():
    push = [solved(ball(740.0, 0.5, 1.2, 0.1), n, MG).objective for n in (100, 200, 400)]
    changes = np.abs(np.diff(push))
    assert 1.5 < np.log2(changes[0] / changes[1]) < 2.7 and changes[1] < 2e-3 * push[-1]
    other = solved(ball(740.0, 0.5, 1.2, 0.1), 100, MG, method="ipopt")
    assert other.objective == pytest.approx(push[0], rel=1e-6)


def test_without_a_march_the_ball_is_held():
    """From states between start and end another minimum is found, where it never falls to the floor."""
    held, fallen = (solved(ball(740.0, 0.5, 0.8, 0.3, march=m), 100, MG) for m in (False, True))
    assert fallen.z[:, 0].min() < 0 < held.z[:, 0].min() and fallen.objective < 0.2 * held.objective


def test_two_bodies_strike():
    """Action and reaction are controls that an equation ties: momentum is kept, and the speed of one from the other."""
    a, b = (tf.PointMass(m, dimension=1, name=name) for m, name in ((1.0, "a"), (3.0, "b")))
    on_a, on_b = tf.ControlForce(a, [(-1, 0, 0)], name="on a"), tf.ControlForce(b, [(1, 0, 0)], name="on b")
    contact = tf.SpringContact(lambda now, u: now.q("b")[0] - now.q("a")[0], lambda now, u: u[0], 2000.0,
                               restitution=0.6, mass=0.75, eps=1e-10)
    tie = tf.Limit(lambda now, u: u[0] - u[1], 0, 0, name="reaction")
    problem = tf.OptimalControl(tf.System([a, b]), {a: tf.Pose(velocity=(1, 0, 0)), b: tf.Pose((0.2, 0, 0))}, {},
                                (0, 0.6), tf.Effort(on_a, 1e-6), actuators=[on_a, on_b], limits=[contact, tie])
    sol = solved(problem, 240, MG)
    va, vb = (sol.velocity(body, 0.6)[0] for body in (a, b))
    assert va + 3 * vb == pytest.approx(1.0, abs=1e-6) and vb - va == pytest.approx(0.6, abs=5e-3)


def test_a_marched_rigid_ball():
    """A start that is marched is the solution where nothing else acts."""
    body = tf.PointMass(1.0, dimension=1, name="ball")
    floor = tf.ControlForce(body, [(1, 0, 0)], name="floor")

    def problem(march):
        contact = tf.Complementary(lambda now, u: now.q(body)[0], lambda now, u: u[0], at="element-end", march=march)
        return tf.OptimalControl(tf.System([body], gravity=(-G, 0, 0)), {body: tf.Pose((1, 0, 0))}, {}, (0, 1),
                                 tf.Effort(floor, 1e-3), limits=contact)

    plain, marched = (solved(problem(march), 100) for march in (False, True))
    assert marched.objective == pytest.approx(plain.objective, rel=1e-6)
    its = [sol.statistics["newton_iterations"]["max"] for sol in (plain, marched)]
    assert its[1] < min(60, its[0] / 2)


def contact(**options):
    return tf.SpringContact(lambda now, u: now.q("ball")[0], lambda now, u: u[1], 500, **options)


def undetermined():
    body = tf.PointMass(1.0, dimension=1, name="ball")
    push = tf.ControlForce(body, [(1, 0, 0), (-1, 0, 0)], name="push")
    limit = tf.Complementary(lambda now, u: u[0], lambda now, u: u[1], march=True)
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: state(1, 0)}, (0, 1.0), tf.Effort(push),
                             limits=limit)


@pytest.mark.parametrize("make, message", [
    (lambda: contact(restitution=0.5), "restitution takes mass"),
    (lambda: contact(restitution=0.0, mass=1.0), "restitution must be above 0 and at most 1"),
    (lambda: contact(restitution=0.5, mass=-1.0), "mass must be positive"),
    (lambda: tf.solve(undetermined(), MG, 5, progress=False), "march=True takes contacts with as many conditions as"),
])
def test_bad_rebounds(make, message):
    with pytest.raises(InputError, match=message):
        make()
