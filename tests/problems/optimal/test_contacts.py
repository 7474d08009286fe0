"""Rigid contacts and sliding friction by complementarity, against solutions by hand and by phases."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES
from timefem.errors import InputError
from timefem.models import load_model

pytestmark = pytest.mark.long

G = 9.81


def solved(problem, n, element=None, **options):
    sol = tf.solve(problem, element or tf.SymplecticEuler(), n, progress=False, **options)
    assert sol.success, sol.status.message
    return sol


def state(x=None, v=None):
    return tf.EndState(position=[x, None, None], velocity=[v, None, None])


def box(t_end, bound=2.0):
    """A box of 1 kg is pushed by 1 m, from rest to rest, against friction of 2 N, with the least integral of u^2."""
    body = tf.PointMass(1.0, dimension=1, name="box")
    push, friction = (tf.ControlForce(body, [(1, 0, 0)], name=name) for name in ("push", "friction"))
    law = tf.CoulombFriction(lambda now, u: now.rates(body)[0], lambda now, u: u[1], bound)
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: state(1, 0)}, (0, t_end),
                             tf.Effort(push, 2.0), actuators=[push, friction], limits=law)


def least_effort(t_end):
    """Sliding for a time T takes `4 T + 12 / T^3`, the least for T = sqrt(3); the box stands still for the rest."""
    t = min(t_end, 3**0.5)
    return 4 * t + 12 / t**3


@pytest.mark.long
@pytest.mark.parametrize("element", [tf.SymplecticEuler(), tf.MixedGalerkin(1)])
def test_a_box_that_slides_all_the_time(element):
    sizes = np.array([20, 40, 80])
    errors = [abs(solved(box(1.5), n, element).objective - least_effort(1.5)) for n in sizes]
    slope = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert 1.7 < slope < 2.3 and errors[-1] < 1e-3


def test_a_box_that_slides_and_sticks():
    sol = solved(box(2.0), 80)
    assert sol.objective == pytest.approx(least_effort(2.0), rel=1e-4)
    v, f = sol.z[1:, 1], sol.controls((sol.t[1:] + sol.t[:-1]) / 2)[:, 1]
    assert v.min() > -1e-6
    np.testing.assert_allclose(f[v > 0.02], -2, rtol=0, atol=1e-5)
    assert abs(sol.t[-1] * (v < 1e-4).mean() - (2 - 3**0.5)) < 0.06


@pytest.mark.long
def test_ipopt_finds_the_same():
    own, other = (solved(box(1.5), 40, method=m) for m in ("interior-point", "ipopt"))
    assert own.objective == pytest.approx(other.objective, rel=1e-6)


@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
def test_a_ball_falls_and_lies(method):
    """Without rebound: it lies on the ground after the step in which it comes there, and the ground bears it."""
    body = tf.PointMass(1.0, dimension=1, name="ball")
    floor = tf.ControlForce(body, [(1, 0, 0)], name="floor")
    contact = tf.Complementary(lambda now, u: now.q(body)[0], lambda now, u: u[0], at="element-end", name="contact")
    problem = tf.OptimalControl(tf.System([body, tf.Force(body, (-G, 0, 0))]), {body: tf.Pose((1, 0, 0))}, {}, (0, 1),
                                tf.Effort(floor, 1e-3), limits=contact)
    sol = solved(problem, 100, method=method)
    landed, f = (2 / G)**0.5, sol.controls((sol.t[1:] + sol.t[:-1]) / 2)[:, 0]
    assert np.abs(sol.z[sol.t > landed + 0.02]).max() < 1e-5 and sol.z[:, 0].min() > -1e-7
    np.testing.assert_allclose(f[sol.t[1:] < landed - 0.02], 0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(f[sol.t[:-1] > landed + 0.02], G, rtol=0, atol=1e-3)
    assert f.sum() * 0.01 == pytest.approx(G, rel=1e-6)  # all momentum is gone


def leg(top=1.3, t_end=0.8):
    """A body of 4 kg on a leg with a foot of 1 kg jumps from 0.7 m; the body is at rest 1.3 m high after 0.8 s."""
    body, foot = (tf.PointMass(m, dimension=1, name=name) for m, name in ((4.0, "body"), (1.0, "foot")))
    up, down = tf.ControlForce(body, [(1, 0, 0)], name="up"), tf.ControlForce(foot, [(-1, 0, 0)], name="down")
    ground = tf.ControlForce(foot, [(1, 0, 0)], name="ground")
    limits = [tf.Limit(lambda now, u: u[0] - u[1], 0, 0, name="action and reaction"),
              tf.Limit(lambda now, u: now.q("body")[0] - now.q("foot")[0], 0.5, 1.0, name="length"),
              tf.Complementary(lambda now, u: now.q("foot")[0], lambda now, u: u[2], at="element-end", name="contact")]
    return tf.OptimalControl(tf.System([body, foot], gravity=(-G, 0, 0)), {body: tf.Pose((0.7, 0, 0)), foot: tf.Pose()},
                             {body: state(top, 0)}, (0, t_end), tf.Effort(up, 2.0), actuators=[up, down, ground],
                             limits=limits)


@pytest.mark.parametrize("n", [25, 28])
def test_minima_of_one_method_are_those_of_the_other(n):
    """Which step a contact opens in makes many minima, and methods may end in different ones: each finds again, from
    there, what the other has found, and the own one, which counts the inertia, takes it for a minimum."""
    found = [solved(leg(), n, method=m) for m in ("interior-point", "ipopt")]
    found.append(solved(leg(), n, guess=tf.Guess(bend=0.1)))
    objectives = [sol.objective for sol in found]
    assert max(objectives) > 1.001 * min(objectives)
    for sol in found:
        for method in ("interior-point", "ipopt"):
            again = solved(leg(), n, guess=sol, method=method)
            assert again.objective == pytest.approx(sol.objective, rel=1e-9)
            np.testing.assert_allclose(again.z, sol.z, rtol=0, atol=1e-5)
            assert again.statistics["newton_iterations"]["max"] <= 30  # from the first eps on 103 and more


def test_a_solution_is_a_guess_for_another_target():
    """The smoothing begins where the guess misses the rows, and the solution is that of the path from the first one."""
    near = solved(leg(1.31), 40, guess=solved(leg(), 40))
    cold = solved(leg(1.31), 40)
    assert near.objective <= cold.objective * (1 + 1e-6)
    assert near.statistics["newton_iterations"]["max"] < 0.8 * cold.statistics["newton_iterations"]["max"]


@pytest.mark.parametrize("n", [20, 40, 80])
def test_ipopt_follows_a_path_of_friction(n):
    """Stages that began from far in each eps took IPOPT up to 1299 iterations, to minima that cost up to 5 % more."""
    own, other = (solved(box(2.0), n, method=m) for m in ("interior-point", "ipopt"))
    assert own.objective == pytest.approx(other.objective, rel=1e-6)
    assert other.statistics["newton_iterations"]["max"] <= 100


@pytest.mark.parametrize("method, n", [("interior-point", 20), ("interior-point", 80), ("ipopt", 40)])
def test_friction_alone_stops_a_box_that_cannot_be_braked(method, n):
    """While eps is large friction creeps, and the end at rest cannot be met; `u = 6 - 3 t` slides for all of 2 s, with
    `int u^2 / 2 = 12`. Rest as wide as the bound from the first eps on ended at 0.007, with friction that pushes."""
    body = tf.PointMass(2.0, dimension=1, name="box")
    push, friction = (tf.ControlForce(body, [(1, 0, 0)], name=name) for name in ("push", "friction"))
    law = tf.CoulombFriction(lambda now, u: now.rates(body)[0], lambda now, u: u[1], 3.0)
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: state(1, 0)}, (0, 2), tf.Effort(push),
                                actuators=[push, friction], limits=law, bounds={push: (0, 20)})
    sol = solved(problem, n, method=method)
    assert 12 < sol.objective < 12.1
    assert np.max(sol.z[1:, 1] * sol.controls((sol.t[1:] + sol.t[:-1]) / 2)[:, 1]) < 1e-6


BY_PHASES = 2802.4832  # stance and flight, mG(2), 40 and 80 elements in each


@pytest.mark.long
def test_a_leg_jumps():
    own, other = (solved(leg(), 40, method=m) for m in ("interior-point", "ipopt"))
    assert own.objective == pytest.approx(other.objective, rel=1e-6)
    assert own.objective == pytest.approx(BY_PHASES, rel=0.03)
    foot, f = own.position("foot", own.t[1:])[:, 0], own.controls((own.t[1:] + own.t[:-1]) / 2)[:, 2]
    assert foot.max() > 0.1 and np.abs(foot * f).max() < 1e-5 and f.min() > -1e-6
    assert 0.4 < own.t[1:][foot < 1e-6].max() < 0.6  # 0.531 by phases


def pushed_box(stop=None):
    """A box at rest on a floor with friction of 2 N, 1 kg, is pushed by 1 m in 2 s by another body of 1 kg, which is to
    stop somewhere, or not."""
    pusher, body = (tf.PointMass(1.0, dimension=1, name=name) for name in ("pusher", "box"))
    push, on_pusher = (tf.ControlForce(pusher, [(x, 0, 0)], name=name) for x, name in ((1, "push"), (-1, "on pusher")))
    on_box, friction = (tf.ControlForce(body, [(1, 0, 0)], name=name) for name in ("on box", "friction"))
    limits = [tf.Limit(lambda now, u: u[1] - u[2], 0, 0, name="action and reaction"),
              tf.Complementary(lambda now, u: now.q("box")[0] - now.q("pusher")[0], lambda now, u: u[1],
                               at="element-end", name="contact"),
              tf.CoulombFriction(lambda now, u: now.rates("box")[0], lambda now, u: u[3], 2.0)]
    end = {body: state(1, 0)} | ({} if stop is None else {pusher: state(stop, 0)})
    return tf.OptimalControl(tf.System([pusher, body]), {pusher: tf.Pose(), body: tf.Pose()}, end, (0, 2.0),
                             tf.Effort(push, 2.0), actuators=[push, on_pusher, on_box, friction], limits=limits)


@pytest.mark.long
def test_a_box_that_is_pushed_all_the_way():
    """Two masses as one, `F = 2 a + 2`, with `4 (12 / T^3 + T)` in the time T = 2."""
    sizes = np.array([20, 40, 80])
    errors = [abs(solved(pushed_box(), n).objective - 14) for n in sizes]
    slope = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert 1.6 < slope < 2.4 and errors[-1] < 2e-3


@pytest.mark.parametrize("n", [20, 40, 80])
def test_a_box_that_friction_alone_brings_to_rest(n):
    sol = solved(pushed_box(0.2), n)
    x, v, u = sol.z[:, 1], sol.velocity("box", sol.t)[:, 0], sol.controls((sol.t[1:] + sol.t[:-1]) / 2)
    left = int(np.flatnonzero(u[:, 1] > 1e-3).max()) + 1
    sliding = v[left + 1:] > 0.1
    np.testing.assert_allclose(u[left:][sliding, 3], -2, rtol=0, atol=1e-4)
    assert 0.2 < x[left] < 0.85 and x[left] + v[left]**2 / 4 == pytest.approx(1, abs=2 / n)
    assert sol.position("pusher", 2.0)[0] == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("make, message", [
    (lambda: tf.Complementary("u[0]", "u[0]", at="end"), "at must be"),
    (lambda: tf.CoulombFriction("u[0]", "u[0]", -1), "bound must be positive"),
    (lambda: tf.solve(box(1.5), tf.MixedGalerkin(2), 5), r"friction: .* take elements with one value of the controls"),
])
def test_bad_contacts(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_fatrop_agrees_on_a_soft_floor():
    """Where bounds are relaxed decides on 5e-8."""
    case = CASES["bouncing-ball"]
    model = load_model(case.path)
    own, other = (tf.solve(model.problem, model.element, case.n_elements, method=method, progress=False)
                  for method in ("interior-point", "fatrop"))
    assert own.success and other.success and other.objective == pytest.approx(own.objective, rel=1e-7)
