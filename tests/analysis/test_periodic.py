"""Periodic motions, Floquet multipliers and Lyapunov exponents against elliptic functions and SciPy."""

import warnings

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import timefem as tf

G = 9.81


@pytest.mark.parametrize("rotation", ["quaternion", pytest.param("directors", marks=pytest.mark.long)])
def test_free_pendulum(rotation):
    rod = tf.RigidBody(2.0, (0.3, 0.3, 0.01), rotation, name="rod")
    hinge = tf.Revolute(rod, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    system, a = tf.System([rod, hinge], gravity=(0, 0, -G)), 1.0
    start = tf.Pose((-0.5 * np.sin(a), 0, -0.5 * np.cos(a)), (np.cos(a / 2), 0, np.sin(a / 2), 0))
    found = tf.periodic(system, {rod: start}, 2.0, tf.MixedGalerkin(3), 60)
    assert found.success and found.iterations < 10
    energy = system.hamiltonian(0.0, found.solution.z[0])
    amplitude = np.arccos(-energy / (2 * G * 0.5))
    exact = 4 * np.sqrt(0.8 / (2 * G * 0.5)) * ellipk(np.sin(amplitude / 2)**2)
    assert abs(found.period - exact) < 1e-8
    np.testing.assert_allclose(found.multipliers, [1, 1], rtol=0, atol=1e-6)
    assert found.floquet.stable


def hardening(length, k, b):
    return k * (length - 10)**2 / 2 + b * (length - 10)**4 / 4


def test_driven_oscillator():
    """Duffing: start and multipliers against DOP853 and its variational equations."""
    force, w = 0.5, 1.2
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    spring = tf.NonlinearSpring(mass, None, (0, 0, 0), (-10, 0, 0), potential=hardening, parameters=(1.0, 0.5))
    damper = tf.Damper(mass, None, (0, 0, 0), (-10, 0, 0), 0.2)
    drive = tf.Force(mass, (force, 0, 0), time=tf.Sine(1.0, w / (2 * np.pi), np.pi / 2))
    found = tf.periodic(tf.System([mass, spring, damper, drive]), {mass: tf.Pose(position=(0.5, 0, 0))},
                        2 * np.pi / w, tf.MixedGalerkin(4), 40)

    def rate(t, x):
        jacobian = np.array([[0, 1], [-1 - 1.5 * x[0]**2, -0.2]])
        slope = [x[1], -x[0] - 0.5 * x[0]**3 - 0.2 * x[1] + force * np.cos(w * t)]
        return np.concatenate([slope, (jacobian @ x[2:].reshape(2, 2)).ravel()])

    start = np.concatenate([found.solution.z[0], np.eye(2).ravel()])
    end = solve_ivp(rate, (0, 2 * np.pi / w), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    assert np.abs(end[:2] - start[:2]).max() < 1e-9
    exact = np.linalg.eigvals(end[2:].reshape(2, 2))
    np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(exact), rtol=0, atol=1e-9)
    assert found.floquet.stable and abs(found.period - 2 * np.pi / w) < 1e-15


def driven(x, v=0.0):
    force, w = 0.5, 1.2
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    spring = tf.NonlinearSpring(mass, None, (0, 0, 0), (-10, 0, 0), potential=hardening, parameters=(1.0, 0.5))
    damper = tf.Damper(mass, None, (0, 0, 0), (-10, 0, 0), 0.2)
    drive = tf.Force(mass, (force, 0, 0), time=tf.Sine(1.0, w / (2 * np.pi), np.pi / 2))
    start = {mass: tf.Pose(position=(x, 0, 0), velocity=(v, 0, 0))}
    return tf.System([mass, spring, damper, drive]), start, 2 * np.pi / w


@pytest.mark.parametrize(("x", "v"), [(4, 0), (6, 0), (-5, 0), (8, 0), (0, 9)])
def test_a_far_start_comes_to_what_attracts_it(x, v):
    """Steps of Newton's method lead nowhere from there; going on by periods does."""
    near, far = (tf.periodic(*driven(*at), tf.MixedGalerkin(3), 40) for at in ((1, 1.2), (x, v)))
    assert near.success and far.success and near.iterations < 8 <= far.iterations
    np.testing.assert_allclose(far.solution.z[0], near.solution.z[0], rtol=0, atol=1e-9)


def test_warnings_are_those_of_the_motion_found():
    """What was too fast on the way is left out; what is too fast in the end is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.periodic(*driven(30), tf.MixedGalerkin(2), 40).success
    with pytest.warns(tf.UnderResolved):
        tf.periodic(*driven(1), tf.MixedGalerkin(1), 3)


def test_what_is_not_periodic():
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: q[0]**2 / 2)
    sol = tf.solve(tf.InitialValueProblem(system, tf.Coordinates([1.0]), (0, 1)), tf.MixedGalerkin(2), 10)
    with pytest.raises(tf.InputError, match="not periodic"):
        tf.floquet(sol)
    falling = tf.System([tf.PointMass(1.0, name="stone")], gravity=(0, 0, -G))
    found = tf.periodic(falling, {"stone": tf.Pose()}, 1.0, n_elements=5)
    assert not found.success and "not converged" in found.status.message
    with pytest.raises(tf.InputError, match="no periodic motion"):
        found.floquet  # noqa: B018


def two_rods(q, v, c):
    return v[0]**2 + v[1]**2 / 2 + v[0] * v[1] * ca.cos(q[0] - q[1])


def weight(q, c):
    return -G * (2 * ca.cos(q[0]) + ca.cos(q[1]))


@pytest.mark.long
def test_lyapunov_exponents_of_a_double_pendulum():
    """Exponents of 6 s against those of DOP853; they come in pairs, as the elements are symplectic."""
    system, x = tf.GeneralizedSystem(2, two_rods, weight), np.array([2.0, 2.5, 0.0, 0.0])
    end = 6.0
    sol = tf.solve(tf.InitialValueProblem(system, tf.Coordinates(x[:2], x[2:]), (0, end)), tf.MixedGalerkin(4), 600)
    found = tf.lyapunov(sol, every=20)
    assert abs(found.exponents.sum()) < 1e-8

    def motion(x):
        q, p = x[:2], x[2:]
        mass = np.array([[2, np.cos(q[0] - q[1])], [np.cos(q[0] - q[1]), 1]])
        v = np.linalg.solve(mass, p)
        s = v[0] * v[1] * np.sin(q[0] - q[1])
        return np.concatenate([v, [-s - 2 * G * np.sin(q[0]), s - G * np.sin(q[1])]])

    def rate(t, y):
        step = 1e-5
        columns = [(8 * (motion(y[:4] + d) - motion(y[:4] - d)) - motion(y[:4] + 2 * d) + motion(y[:4] - 2 * d))
                   / (12 * step) for d in step * np.eye(4)]
        return np.concatenate([motion(y[:4]), (np.array(columns).T @ y[4:].reshape(4, 4)).ravel()])

    y = solve_ivp(rate, (0, end), np.concatenate([sol.z[0], np.eye(4).ravel()]), method="DOP853", rtol=1e-11,
                  atol=1e-12).y[4:, -1].reshape(4, 4)
    scale, c = system.state_scale, np.cos(x[0] - x[1])
    start = np.eye(4)
    start[2:, 2:] = [[2, c], [c, 1]]  # momenta of unit velocities, from rest
    start = np.linalg.qr(start / scale[:, None])[0] @ np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    exact = np.log(np.abs(np.diag(np.linalg.qr((y * scale / scale[:, None]) @ start)[1]))) / end
    np.testing.assert_allclose(found.history[-1], exact, rtol=0, atol=1e-6)
    assert found.exponents[0] > 0.5


@pytest.mark.long
@pytest.mark.parametrize(("factor", "n"), [(1.001, 40), (1.02, 80)])
def test_a_body_that_sticks_on_a_belt_and_slips(factor, n):
    """The limit cycle of a spring that weakens with the speed: it ends as it sticks, with the speed of the belt."""
    mass, k, mu, belt_speed, c, period = 1.0, 50.0, 0.3, 0.5, 0.4, 0.8979771706513231
    body = tf.PointMass(mass, 2, name="body")
    belt = tf.PlaneContact(body, normal=(0, 1, 0), friction=mu, surface_velocity=(belt_speed, 0, 0), name="belt")
    pull = tf.FormulaForce(body, "[-50*f[0].position[0]+0.4*f[0].velocity[0],0,0]")
    system = tf.System([body, belt, pull], gravity=(0, -9.81, 0))
    start = {body: tf.Pose(((mu * mass * 9.81 + c * belt_speed) / k / 2, 0, 0), velocity=(belt_speed, 0, 0))}
    found = tf.periodic(system, start, factor * period, tf.MixedGalerkin(3), n)
    assert found.success and found.iterations <= 3
    assert found.period == pytest.approx(period, rel=1e-8)


def test_an_overlap_of_rounding_is_touching():
    """Against the way that speeds make: the heights themselves are zero."""
    body = tf.PointMass(1.0, 2, name="body")
    floor = tf.PlaneContact(body, normal=(0, 1, 0), name="floor")
    system = tf.System([body, floor], gravity=(0, -9.81, 0))
    sol = tf.solve(tf.InitialValueProblem(system, {body: tf.Pose((0, -1e-19, 0), velocity=(0.5, 0, 0))}, (0, 1)),
                   tf.MixedGalerkin(1), 4)
    assert sol.success and abs(sol.z[-1, 1]) < 1e-15
    with pytest.raises(tf.InputError, match=r"floor overlaps at the start by 0\.001"):
        tf.solve(tf.InitialValueProblem(system, {body: tf.Pose((0, -1e-3, 0), velocity=(0.5, 0, 0))}, (0, 1)),
                 tf.MixedGalerkin(1), 4)


@pytest.mark.parametrize("n", [30, 31])
def test_an_impact_on_a_node_of_the_mesh(n):
    """Half of 30 elements end where the pendulum hits its stop, but for rounding: it does so at the node."""
    z = (0, 0, 1)
    body = tf.RigidBody(1.0, (0.015, 0.015, 0.02), name="body")
    hinge = tf.Revolute(body, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=z, axis_b=z, name="hinge")
    stop = tf.EndStop(hinge, lowest=0.1, restitution=1.0)
    system = tf.System([body, hinge, stop], gravity=(0, -9.81, 0), coordinates="joint")
    period = 0.7678580577012774
    element = tf.MixedGalerkin(3, form="lagrange")
    march = tf.solve(tf.InitialValueProblem(system, {hinge: 1.2}, (0, period)), element, n)
    assert len(march.t) == (31 if n == 30 else 33) and np.diff(march.t).min() > 0.01 * period
    found = tf.periodic(system, {hinge: 1.2}, period, element, n, free_period=False)
    assert found.success and found.gap < 1e-12


def _held(delay=0.0):
    mass = tf.PointMass(2.0, 1, name="mass")
    force = tf.ControlForce(mass, [(1, 0, 0)], name="force")
    law = "5 * cos(2 * pi * t / 0.3) - 30 * x[0] - 8 * v[0]"
    hold = tf.SampledController([force], law, 0.1, delay, [tf.PositionOutput(mass, "x")], name="hold")
    return tf.System([mass, hold, tf.Spring(mass, None, stiffness=5.0)]), mass


def test_feedback_in_discrete_time():
    """Multipliers of what is sampled and held, over whole periods of it; and refusals of all that would not see it."""
    system, mass = _held()
    found = tf.periodic(system, {mass: tf.Pose((0.1, 0, 0))}, 0.3, tf.MixedGalerkin(3), 6)
    assert found.success and found.period == 0.3
    w = np.sqrt(2.5)
    free = np.array([[np.cos(w / 10), np.sin(w / 10) / w], [-w * np.sin(w / 10), np.cos(w / 10)]])
    push = np.array([(1 - np.cos(w / 10)) / 5, np.sin(w / 10) / w / 2])
    matrix = free - np.outer(push, [30, 8])
    start = np.linalg.solve(np.exp(2j * np.pi / 3) * np.eye(2) - matrix, 5 * push).real
    np.testing.assert_allclose(found.solution.z[0], start * [1, 2], rtol=0, atol=1e-10)
    once = np.linalg.eigvals(matrix)
    np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(once**3), atol=1e-9)
    sol = tf.solve(tf.InitialValueProblem(system, {mass: tf.Pose((0.1, 0, 0))}, (0, 0.3)), tf.MixedGalerkin(2), 6)
    for ask in (lambda: tf.linearize(system, {mass: tf.Pose()}), lambda: tf.modes(system), lambda: tf.lyapunov(sol),
                lambda: tf.equilibrium(system), lambda: tf.equilibrium_path(system, 1.0)):
        with pytest.raises(tf.InputError, match="hold is feedback in discrete time"):
            ask()
    late, mass = _held(0.02)
    for ask in (lambda: tf.periodic(system, {}, 0.25), lambda: tf.periodic(late, {late["mass"]: tf.Pose()}, 0.2),
                lambda: tf.floquet(tf.solve(tf.InitialValueProblem(system, {"mass": tf.Pose((0.1, 0, 0))}, (0, 0.25)),
                                            tf.MixedGalerkin(2), 5))):
        with pytest.raises(tf.InputError, match="hold holds forces beyond the end"):
            ask()
    with pytest.raises(tf.InputError, match="determines the period"):
        tf.periodic(system, {}, 0.3, free_period=True)


def test_multipliers_that_meet_are_marginal_to_their_errors():
    """Three equal masses on an eight: a stable motion, of whose twelve multipliers eight are 1, in chains that rounding
    tears apart by 1e-6."""
    bodies = [tf.PointMass(1.0, dimension=2, name=f"m{i}") for i in range(3)]
    pulls = [tf.FormulaEnergy([bodies[i], bodies[j]], "-1 / norm(f[0].position - f[1].position)", name=f"g{i}{j}")
             for i, j in ((0, 1), (0, 2), (1, 2))]
    place, speed = np.array([0.97000436, -0.24308753, 0]), np.array([-0.93240737, -0.86473146, 0])
    start = {body: tf.Pose(a * place, velocity=b * speed) for body, a, b in
             zip(bodies, (1, -1, 0), (-0.5, -0.5, 1), strict=True)}
    found = tf.periodic(tf.System([*bodies, *pulls]), start, 6.32591398, tf.MixedGalerkin(3), 100)
    assert found.success and found.period == pytest.approx(6.325914, abs=1e-6)
    floquet = found.floquet
    assert floquet.stable and floquet.n_unstable == 0 and floquet.n_marginal == 12
    together = np.abs(floquet.multipliers - 1) < 1e-2 * np.abs(floquet.multipliers[-1] - floquet.multipliers).max()
    off = np.abs(floquet.multipliers - 1)
    ones = np.sort(off)[:8]
    assert together.sum() >= 8 and ones.max() < 1e-5
    assert (floquet.errors[np.argsort(off)[:8]] > ones).all() and floquet.errors.max() < 1e-3
    assert np.sort(floquet.errors)[:4].max() < 1e-9  # of those that are apart


def test_what_is_unstable_stays_so():
    """A pendulum that swings about its upper end is marginal; held there by a spring too weak, it falls."""
    bar = tf.RigidBody(1.0, (0.1, 0.1, 0.02), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0, -0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    system = tf.System([bar, hinge], gravity=(0, 0, -9.81))
    upright = tf.solve(tf.InitialValueProblem(system, {bar: tf.Pose((0, 0, 0.5))}, (0, 0.5)), tf.MixedGalerkin(2), 20,
                       progress=False)
    found = tf.floquet(upright)
    rate = np.sqrt(0.5 * 9.81 / (0.1 + 0.25))
    assert not found.stable and found.n_unstable == 1 and found.n_marginal == 0
    assert found.multipliers[0].real == pytest.approx(np.exp(0.5 * rate), rel=1e-5)
