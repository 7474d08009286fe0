"""What can be limited besides formulas along the path: rates, integrals, a start that is free, both ends together."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.errors import InputError

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2, n_points=2)
METHODS = "interior-point", "ipopt", "fatrop"


def slider(start=None, end=None, t_end=1.0, bounds=None, rates=None, longest=10.0, **options):
    """A mass of 1 kg on a line, pushed."""
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    bounds = ({push: bounds} if bounds else {}) | ({"duration": (0.1, longest)} if "free_time" in options else {})
    return tf.OptimalControl(tf.System([body]), {body: start or tf.Pose()}, {body: end} if end else {}, (0, t_end),
                             actuators=push, bounds=bounds,
                             rates={push: rates} if rates else None, **{"cost": tf.Effort(push), **options})


def state(x=None, v=None):
    return tf.EndState(position=[x, None, None], velocity=[v, None, None])


def solved(problem, n, element=ELEMENT, **options):
    sol = tf.solve(problem, element, n, progress=False, **options)
    assert sol.success, sol.status.message
    return sol


@pytest.mark.parametrize("method", METHODS)
def test_a_limited_integral(method):
    """The farthest way with int u^2 dt <= 3: u = 3 (1 - t), and 1 m."""
    farthest = {"cost": (), "end_cost": lambda end, parameters: -end.q("slider")[0]}
    limit = tf.Limit(lambda now, u: u[0]**2, upper=3.0, at="integral", name="fuel")
    sol = solved(slider(limits=limit, **farthest), 10, method=method)
    assert sol.objective == pytest.approx(-1, abs=1e-7)
    np.testing.assert_allclose(sol.controls(np.array([0.0, 0.5]))[:, 0], [3, 1.5], rtol=0, atol=1e-5)


def test_an_integral_that_is_given_with_a_free_time():
    """The mean of the position over a free time: an equation of an integral, two-sided limits of another one."""
    limits = [tf.Limit(lambda now, u: now.q("slider")[0], 0.7, 0.7, at="integral", name="area"),
              tf.Limit(lambda now, u: [u[0]**2, now.t], [-1, None], [20.0, None], at="integral", name="others")]
    sol = solved(slider(end=state(1, 0), free_time=True, limits=limits, bounds=(-20, 20), longest=1.5), 20)
    xi, weights = tf.gauss_legendre(4)
    t = (sol.t[:-1, None] + np.diff(sol.t)[:, None] * xi).ravel()
    w = (np.diff(sol.t)[:, None] * weights).ravel()
    assert w @ sol(t)[:, 0] == pytest.approx(0.7, abs=1e-7)
    assert w @ sol.controls(t)[:, 0]**2 <= 20 + 1e-6


@pytest.mark.parametrize("element, n", [(tf.MixedGalerkin(1), 80), (ELEMENT, 40),
                                        (tf.MixedGalerkin(3, n_points=3), 20)])
def test_limited_rates_of_controls(element, n):
    """Least time with |u| <= 1 and |u'| <= 4: a transfer by 1 m whose bang-bang force ramps."""
    problem = slider(end=state(1, 0), t_end=2.3, bounds=(-1, 1), rates=(-4, 4), free_time=True, cost=(),
                     end_cost=lambda end, parameters: parameters["duration"])
    sol = solved(problem, n, element)
    # ramps of length r = 1/4 at both ends, 2 r in the middle, and two pieces of length p with u = 1 and u = -1
    def way(p, r=0.25):
        knots = np.cumsum([0, r, p, 2 * r, p, r])
        values = [0, 1, 1, -1, -1, 0]
        return solve_ivp(lambda t, y: [y[1], np.interp(t, knots, values)], (0, knots[-1]), [0, 0], rtol=1e-11,
                         atol=1e-12, max_step=0.02).y[0, -1], knots[-1]
    from_zero = way(0.7)[1]
    assert sol.objective < from_zero  # the force may start with a jump from rest
    middle = (sol.t[1:] + sol.t[:-1]) / 2
    u = sol.controls(middle)[:, 0]
    assert np.abs(np.diff(u) / np.diff(middle)).max() <= 4 * (1 + 1e-6)
    assert np.abs(np.diff(u)).max() > 0.5 * 4 * np.diff(middle).max()  # the limit is active
    # u = 1, a ramp of length 1/2 about the middle, u = -1: with T = 2 p + 1/2 the way is ((T/2)^2 - (1/4)^2 / 3)
    exact = 2 * np.sqrt(1 + 0.25**2 / 3)
    assert sol.objective == pytest.approx(exact, rel=3e-3 if element.degree == 1 else 1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_start_that_is_free_in_part(method):
    """From anywhere with 0.5 m/s to rest at 1 m: a constant force."""
    sol = solved(slider(state(v=0.5), state(1, 0)), 10, method=method)
    assert sol.objective == pytest.approx(0.125, abs=1e-7)
    np.testing.assert_allclose(sol.z[0], [0.75, 0.5], rtol=0, atol=1e-6)


def test_conditions_at_the_start_as_inequalities():
    """The nearest start that is allowed is taken, and a limit along the path holds at the start as well."""
    near = tf.Limit(lambda now, u: now.q("slider")[0], -0.2, 0.3, at="start", name="place")
    sol = solved(slider(state(v=0), state(1, 0), limits=near), 10)
    assert sol.z[0, 0] == pytest.approx(0.3, abs=1e-6) and sol.objective == pytest.approx(6 * 0.7**2, rel=1e-6)
    slow = tf.Limit(lambda now, u: now.rates("slider")[0], upper=0.9, name="speed")
    sol = solved(slider(state(x=0), state(0.85, 0.2), limits=slow), 10)
    assert sol.z[0, 1] <= 0.9 + 1e-7 and sol.objective > 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_both_ends_together(method):
    """As fast at the end as at the start and 1 m farther: no force at all; and an inequality of both ends."""
    ends = [tf.Coupling(lambda a, b: [b.q("slider")[0] - a.q("slider")[0] - 1, b.rates("slider") - a.rates("slider")]),
            tf.Coupling(lambda a, b: b.q("slider")[0] + a.q("slider")[0], 3.0, None)]
    sol = solved(slider(state(), couplings=ends, end_cost=lambda end, parameters: end.q("slider")[0]**2 / 100), 10,
                 method=method)
    np.testing.assert_allclose(sol.z[[0, -1]], [[1, 1], [2, 1]], rtol=0, atol=1e-6)


def pendulum(periodic=True):
    """A bar on a hinge, driven by a torque; its angle is to be 1 rad at some time."""
    bar = tf.RigidBody(1.0, (0.1, 0.1, 0.02), name="bar")
    motor = tf.ControlTorque(bar, name="motor")
    system = tf.System([bar, tf.FixedPoint(bar, (0, 0, 0.5), name="pin")], gravity=(0, 0, -9.81))
    high = tf.Limit(lambda now, u: now.position(bar)[0], 0.2, at="end", name="out")
    return tf.OptimalControl(system, {bar: tf.EndState()}, {}, (0, 1.0), cost=tf.Effort(motor), limits=high,
                             periodic=periodic)


def test_a_periodic_motion_with_constraints():
    """A pin-ended bar that swings periodically and is 0.2 m out at the end; constraints hold at the start it finds."""
    problem = pendulum()
    sol = solved(problem, 12, tf.MixedGalerkin(2))
    np.testing.assert_allclose(sol.z[0], sol.z[-1], rtol=0, atol=1e-7)
    assert np.abs(problem.system.constraints(0.0, sol.z[0])).max() < 1e-8
    assert sol.position("bar", sol.t)[-1, 0] >= 0.2 - 1e-7 and sol.objective > 1e-6


def test_one_sided_springs_by_complementarity():
    """A ball falls onto a spring that only pushes: the force is max(0, -k x), of second order with constant forces."""
    body, k = tf.PointMass(1.0, dimension=1, name="ball"), 200.0
    push, touch = (tf.ControlForce(body, [(1, 0, 0)], name=name) for name in ("push", "touch"))
    contact = tf.Complementary(lambda now, u: now.q(body)[0] + u[1] / k, lambda now, u: u[1] / k, name="contact",
                               eps=1e-10)
    system = tf.System([body, tf.Force(body, (-9.81, 0, 0))])
    problem = tf.OptimalControl(system, {body: tf.Pose((0.5, 0, 0))}, {}, (0, 0.8), tf.Effort(push),
                                actuators=[push, touch], limits=contact)
    expected = solve_ivp(lambda t, y: [y[1], -9.81 + max(0.0, -k * y[0])], (0, 0.8), [0.5, 0], method="DOP853",
                         rtol=1e-11, atol=1e-11).y[:, -1]
    errors = []
    for n in (20, 80):
        sol = solved(problem, n, tf.MixedGalerkin(1))
        errors.append(np.abs(sol.z[-1] - expected).max())
        middle = (sol.t[1:] + sol.t[:-1]) / 2
        np.testing.assert_allclose(sol.controls(middle)[:, 1], np.maximum(0, -k * sol(middle)[:, 0]), rtol=0,
                                   atol=2e-3)
    assert errors[1] < errors[0] / 8 and errors[1] < 3e-3


@pytest.mark.parametrize("make, message", [
    (lambda: slider(rates=(1, 1)), "rates of push: the lower one must be below"),
    (lambda: slider(limits=tf.Limit(lambda now, u: u, 0, lambda t: t, at="integral")), "bounds of an integral"),
    (lambda: slider(limits=tf.Limit(lambda now, u: u, 0, at="end", points=2)), "points belong to at='path'"),
    (lambda: slider(couplings=3), "3 is not a Coupling"),
    (lambda: slider(couplings=tf.Coupling(lambda a, b: ca.SX.sym("x"))), "contains the symbols x"),
    (lambda: tf.Coupling(lambda a, b: a.z, 2, 1), "the lower one not above the upper one"),
    (lambda: tf.Coupling(lambda a, b: a.z, None, None), "give lower, upper or both"),
    (lambda: slider(couplings=tf.Coupling(lambda a, b: a.z, [0, 0, 0], 1)), "3 numbers, but there are 2"),
    (lambda: slider(limits=tf.Complementary(lambda now, u: u[0], lambda now, u: now.z)), "they make pairs"),
    (lambda: slider(tf.EndState(q=[0])), "start of slider: .* has no q"),
])
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_elements_that_a_free_start_does_not_suit():
    with pytest.raises(InputError, match="free start"):
        tf.solve(slider(state(), state(1, 0)), tf.BubnovGalerkin(2, multipliers="continuous"), 5)
