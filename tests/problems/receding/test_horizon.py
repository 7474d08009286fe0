"""A horizon that moves on: each step is what a solve from scratch finds."""

import gc
import os
import resource
import tracemalloc

import numpy as np
import pytest

import timefem as tf

ELEMENT = tf.MixedGalerkin(2, form="lagrange")


def cart_pole(*more, bound=10.0):
    tree = tf.Tree([tf.Link("ground"), tf.Link("cart", mass=1.0), tf.Link("pole", mass=0.3, centre=(0, 0, 0.5))],
                   [tf.TreeJoint("rail", "ground", "cart", "prismatic", axis=(1, 0, 0)),
                    tf.TreeJoint("hinge", "cart", "pole", axis=(0, 1, 0))], name="cp")
    force = tf.JointControl(tree.joint("rail"), name="force")
    cost = ("10 * now.q('cp')[0]**2 + 20 * now.q('cp')[1]**2 + 0.1 * (now.rates('cp')[0]**2 + now.rates('cp')[1]**2)"
            " + 0.01 * u[0]**2")
    last = "100 * (end.q('cp')[0]**2 + end.q('cp')[1]**2) + 10 * (end.rates('cp')[0]**2 + end.rates('cp')[1]**2)"
    return tf.OptimalControl(tf.System([tree, force], gravity=(0, 0, -9.81)), {tree: {"hinge": 0.3}}, {}, (0, 1), cost,
                             end_cost=last, actuators=force, bounds={force: (-bound, bound)},
                             limits=[tf.Limit("now.q('cp')[0]", -1.5, 1.5), *more])


def ball():
    body = tf.PointMass(2.0, dimension=2, name="ball")
    push = tf.ControlForce(body, [(1, 0, 0), (0, 1, 0)], name="push")
    return tf.OptimalControl(tf.System([body, push]), {body: tf.Pose((1, 0.5, 0))},
                             {body: tf.EndState(position=(0, 0, None))}, (0, 2), tf.Effort(push),
                             bounds={push: (-3, 3)}, limits=[tf.Limit("dot(u, now.velocity('ball')[0:2])", -1.5, 1.5)])


def turning():
    body = tf.RigidBody(1.0, (0.02, 0.03, 0.04), name="body")
    wheels = tf.ControlTorque(body, name="wheels")
    end = tf.EndState(orientation=(1, 0, 0, 0), angular_velocity=(0, 0, 0))
    return tf.OptimalControl(tf.System([body, wheels]), {body: tf.Pose(orientation=(np.cos(0.2), np.sin(0.2), 0, 0))},
                             {body: end}, (0, 2), tf.Effort(wheels), bounds={wheels: (-0.02, 0.02)},
                             limits=[tf.Limit("now.angular_velocity('body')[0]", -0.25, 0.25)])


@pytest.mark.parametrize("make, form", [(cart_pole, "lagrange"), (ball, "hamilton"),
                                        pytest.param(ball, "energy", marks=pytest.mark.long),
                                        (turning, "hamilton")])
def test_steps_are_solves_from_scratch(make, form):
    problem, element, rng = make(), tf.MixedGalerkin(2, form=form), np.random.default_rng(0)
    horizon = tf.RecedingHorizon(problem, element, 12, tolerance=1e-8)
    free = np.array([0.05, 0.1, 0.1, 0.1]) if make is not turning else np.zeros(0)
    for _ in range(4):
        z = problem.z0.copy()
        if make is turning:  # unit quaternions, and momenta tangent to them
            way = rng.normal(size=3) * 0.1
            z[3:7] = np.append(np.cos(0.2), [np.sin(0.2), 0, 0] + way * [0, 1, 1])
            z[3:7] /= np.linalg.norm(z[3:7])
        else:
            z[:len(free)] += free * rng.normal(size=len(free))
        body = problem.system.bodies[0]
        n = problem.system.n_q
        found = horizon.step(z)
        from_scratch = tf.solve(problem.changed(start={body: tf.CanonicalState(z[:n], z[n:])}), element, 12,
                                progress=False)
        assert horizon.converged and horizon.error <= 1e-8
        assert horizon.solution().objective == pytest.approx(from_scratch.objective, rel=2e-6)
        few = 1 if make is cart_pole else None  # those at its end hardly cost anything, and bang
        np.testing.assert_allclose(horizon.controls[:few], from_scratch.fields["controls"][:few], rtol=0,
                                   atol=2e-3 * np.abs(horizon.controls).max())
        basis = horizon.solution().element.trial["controls"].basis
        at_start = basis.values(np.zeros(1))[0] @ from_scratch.fields["controls"][0]
        np.testing.assert_allclose(found, at_start, rtol=0, atol=5e-3 * np.abs(horizon.controls).max())


@pytest.mark.long
def test_controls_after_a_step_that_starts_anew():
    """From states so far from the last ones that iterations do not go on from there; -10 N is full force."""
    horizon, problem = tf.RecedingHorizon(cart_pole(), ELEMENT, 12), cart_pole()
    for z in ([-0.27, 0.48, 0.65, 0.47], [-0.35, -0.33, -0.31, 0.02], [-1.16, 0.19, -0.62, -0.37]):
        found, tree = horizon.step(z), problem.system.bodies[0]
        from_scratch = tf.solve(problem.changed(start={tree: tf.CanonicalState(z[:2], z[2:])}), ELEMENT, 12,
                                progress=False)
        np.testing.assert_allclose(horizon.controls, horizon.solution().fields["controls"], rtol=0, atol=1e-6)
        np.testing.assert_allclose(horizon.controls[0], from_scratch.fields["controls"][0], rtol=0, atol=2e-2)
        assert np.abs(found).max() <= 10 and horizon.converged and horizon.error <= 1e-6


def test_a_state_outside_of_limits():
    """A cart that a blow takes past its limit is driven back, and the loop goes on."""
    horizon = tf.RecedingHorizon(cart_pole(), ELEMENT, 12)
    with pytest.warns(tf.NotSolved, match="limit.*is violated by the state at the start, by 0.05") as found:
        force, = horizon.step(q=[1.55, 0.0], v=[0.0, 0.0])
    assert all(w.filename == __file__ for w in found)
    assert abs(force) <= 10 and not horizon.converged and not horizon.solution().success
    inside = horizon.step(q=[1.45, 0.0], v=[0.0, 0.0])
    assert horizon.converged
    np.testing.assert_allclose(inside, tf.RecedingHorizon(cart_pole(), ELEMENT, 12).step(q=[1.45, 0.0], v=[0.0, 0.0]),
                               rtol=1e-3)


def test_what_is_left_above_the_tolerance_is_told():
    horizon = tf.RecedingHorizon(cart_pole(), ELEMENT, 12, tolerance=1e-16)
    assert horizon.error > 1e-16 and not horizon.converged and not horizon.solution().success


def test_coordinates_and_rates_are_a_state():
    horizon, problem = tf.RecedingHorizon(cart_pole(), ELEMENT, 10), cart_pole()
    q, v = [0.1, 0.2], [0.3, -0.1]
    tree = problem.system.bodies[0]
    z = tf.InitialValueProblem(problem.system, {tree: {"rail": (0.1, 0.3), "hinge": (0.2, -0.1)}}, (0, 1)).z0
    by_rates = horizon.step(q=q, v=v)
    np.testing.assert_allclose(by_rates, horizon.step(z), rtol=1e-4)


def plant(x, force, h):
    """One step of the cart-pole by Runge and Kutta."""
    def rate(x):
        c, s = np.cos(x[1]), np.sin(x[1])
        mass = np.array([[1.3, 0.15 * c], [0.15 * c, 0.075]])
        return np.append(x[2:], np.linalg.solve(mass, [force + 0.15 * x[3]**2 * s, 0.3 * 9.81 * 0.5 * s]))

    k = rate(x)
    k2 = rate(x + h / 2 * k)
    k3 = rate(x + h / 2 * k2)
    return x + h / 6 * (k + 2 * k2 + 2 * k3 + rate(x + h * k3))


@pytest.mark.long
@pytest.mark.parametrize("budget", [None, 2])
def test_a_closed_loop(budget):
    """Balanced in spite of noise and a blow, and few iterations in each step."""
    horizon, rng, x, h = tf.RecedingHorizon(cart_pole(), ELEMENT, 20, iterations=budget), np.random.default_rng(1), \
        np.array([0, 0.3, 0, 0.0]), 0.05
    taken = []
    for k in range(80):
        seen = x + rng.normal(size=4) * [1e-3, 1e-3, 1e-2, 1e-2]
        force, = horizon.step(q=seen[:2], v=seen[2:], passed=min(k, 1))
        assert abs(force) <= 10
        taken.append(horizon.iterations)
        x = plant(x, force, h)
        x[3] += 1.0 * (k == 30)
    assert np.abs(x).max() < 0.1
    assert max(taken) <= (budget or 40) and np.mean(taken) <= 5


@pytest.mark.long
def test_moving_on_by_what_passed_is_a_better_start():
    problem = cart_pole()
    counts = []
    for passed in (0, 1):
        horizon, x = tf.RecedingHorizon(problem, ELEMENT, 20, tolerance=1e-8), np.array([0, 0.3, 0, 0.0])
        total = 0
        for k in range(25):
            force, = horizon.step(q=x[:2], v=x[2:], passed=passed * min(k, 1))
            total, x = total + horizon.iterations, plant(x, force, 0.05)
        counts.append(total)
    assert counts[1] < counts[0]


@pytest.mark.long
def test_memory_does_not_grow():
    horizon, rng = tf.RecedingHorizon(cart_pole(), ELEMENT, 8), np.random.default_rng(0)

    def steps(n):
        for _ in range(n):
            horizon.step(q=rng.normal(size=2) * 0.02, v=rng.normal(size=2) * 0.02)
        gc.collect()

    steps(20)
    tracemalloc.start()
    steps(100)  # what is kept, such as of a few last sizes, is all there
    before = tracemalloc.get_traced_memory()[0]
    steps(40)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 5_000


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="it has the resident memory")
def test_memory_after_a_hundred_thousand_steps():
    """Of the whole process, compiled parts and CasADi among it, which `tracemalloc` does not see."""
    horizon, rng = tf.RecedingHorizon(cart_pole(), ELEMENT, 8), np.random.default_rng(0)

    def resident(n):
        for _ in range(n):
            horizon.step(q=rng.normal(size=2) * 0.02, v=rng.normal(size=2) * 0.02, passed=1)
        gc.collect()
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    before = resident(10_000)
    assert resident(90_000) - before < 500_000  # five bytes a step: less than any object that stays


@pytest.mark.parametrize("change, message", [
    ({"free_time": True, "end_cost": "end.t"}, "a free time"), ({"bounds": {}}, "bounds or limits"),
    ({"limits": tf.Limit("sumsqr(u)", None, 3, at="integral")}, "integral limits")])
def test_what_a_horizon_cannot_have(change, message):
    body = tf.PointMass(2.0, dimension=1, name="ball")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    given = {"bounds": {push: (-3, 3)}} | change
    problem = tf.OptimalControl(tf.System([body, push]), {body: tf.Pose((1, 0, 0))},
                                {body: tf.EndState(position=(0, None, None))}, (0, 2), tf.Effort(push), **given)
    with pytest.raises(tf.InputError, match=message):
        tf.RecedingHorizon(problem, ELEMENT, 10)


def test_steps_take_a_state():
    horizon = tf.RecedingHorizon(ball(), tf.MixedGalerkin(2), 8)
    for arguments, message in (({}, "a state, or both"), ({"state": np.zeros(3)}, "state"), ({"q": [0, 0]}, "both"),
                               ({"state": np.zeros(4), "q": [0, 0], "v": [0, 0]}, "or both"),
                               ({"state": np.zeros(4), "passed": -1}, "passed")):
        with pytest.raises(tf.InputError, match=message):
            horizon.step(**arguments)
