"""Contacts, tyres, ropes, drag, forces by formula, drives between bodies: against DOP853 and closed forms."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.mechanics.values.of_parts import control_force

G = 9.81
GRAVITY = (0, 0, -G)


def solved(parts, state, t_end, n, degree=2, gravity=GRAVITY):
    problem = tf.InitialValueProblem(tf.System(parts, gravity=gravity), state, (0, t_end))
    sol = tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False)
    assert sol.success
    return sol


def truth(rates, start, t):
    return solve_ivp(rates, (0, t[-1]), start, "DOP853", t, rtol=1e-10, atol=1e-10, max_step=1e-3).y


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_a_ball_that_bounces(damping):
    """A sphere on a tilted plane, by its height above it; without damping it keeps its energy and turns back."""
    n = np.array([0, 0.6, 0.8])
    body = tf.RigidBody(2.0, (0.1, 0.1, 0.1), name="ball")
    floor = tf.PlaneContact(body, normal=n, radius=0.2, stiffness=5000, damping=damping)
    start = 0.5 * n + (0.3, 0, 0)
    sol = solved([body, floor], {body: tf.Pose(start)}, 1.0, 1000)

    def rates(t, y):
        depth = max(0.2 - y[0], 0)
        return [y[1], -G * 0.8 + 5000 / 2 * depth * max(1 - damping * y[1], 0)]

    height = truth(rates, (0.5, 0.0), sol.t)[0]
    assert height.min() < 0.2
    np.testing.assert_allclose(sol.position(body, sol.t) @ n, height, rtol=0, atol=2e-5)
    assert np.abs(sol.energy.balance()).max() < 1e-3
    if not damping:
        assert np.ptp(sol.energy()) < 1e-3


def test_restitution():
    """The ratio of speeds of Hunt & Crossley, 1 - 2/3 a v for small a v."""
    body = tf.PointMass(1.0, name="bead")
    floor = tf.PlaneContact(body, stiffness=1e5, damping=0.05)
    sol = solved([body, floor], {body: tf.Pose((0, 0, 1e-3), velocity=(0, 0, -1))}, 0.02, 400, gravity=None)
    assert sol.velocity(body, 0.02)[2] == pytest.approx(1 - 2 / 3 * 0.05, abs=2e-3)


def test_sliding_comes_to_rest():
    """A box pushed along a floor: deceleration mu g of all four corners; where it stops it stays, but for creep."""
    size = (0.4, 0.4, 0.2)
    body = tf.RigidBody(2.0, 2 / 12 * np.array([0.2, 0.2, 0.32]), size=size, name="box")
    k, mu = 2e4, 0.3
    rest = 0.1 - 2 * G / (4 * k)
    floor = tf.BoxContact(body, stiffness=k, damping=1.0, friction=mu, friction_width=1e-3)
    sol = solved([body, floor], {body: tf.Pose((0, 0, rest), velocity=(1, 0, 0))}, 0.6, 1200)
    stop = 1 / (mu * G)
    assert sol.velocity(body, 0.2)[0] == pytest.approx(1 - mu * G * 0.2, abs=5e-3)
    assert sol.position(body, 0.6)[0] == pytest.approx(0.5 * stop, abs=5e-3)
    assert np.abs(sol.velocity(body, 0.6)).max() < 2e-3


def test_a_ball_that_begins_to_roll():
    """Sliding friction until v = r omega = 5/7 v_0 for a solid sphere, at t = 2 v_0 / (7 mu g)."""
    m, r, mu = 1.0, 0.1, 0.2
    ball = tf.RigidBody(m, [0.4 * m * r**2] * 3, name="ball")
    k = 1e4
    floor = tf.PlaneContact(ball, radius=r, stiffness=k, friction=mu, friction_width=1e-3)
    sol = solved([ball, floor], {ball: tf.Pose((0, 0, r - m * G / k), velocity=(1, 0, 0))}, 0.4, 800)
    assert sol.velocity(ball, 0.1)[0] == pytest.approx(1 - mu * G * 0.1, abs=2e-3)
    assert sol.velocity(ball, 0.4)[0] == pytest.approx(5 / 7, abs=2e-3)
    assert sol.angular_velocity(ball, 0.4, "space")[1] == pytest.approx(5 / 7 / r, abs=2e-2)


def test_a_tyre_brakes_and_steers():
    """Steady forces: -c_x F kappa of a wheel that turns too slowly, -c_y F tan(alpha) of one that runs askew."""
    m, r, k = 10.0, 0.3, 1e5
    wheel = tf.RigidBody(m, (0.3, 0.5, 0.3), name="wheel")
    tyre = tf.Tyre(wheel, radius=r, stiffness=k, longitudinal=12, lateral=8, slow=0.1)
    height = r - m * G / k
    system = tf.System([wheel, tyre], gravity=GRAVITY)
    v, spin, side = 10.0, 30.0, 0.5
    pose = tf.Pose((0, 0, height), velocity=(v, side, 0), angular_velocity=(0, spin, 0), frame="space")
    z0 = tf.InitialValueProblem(system, {wheel: pose}, (0, 1)).z0
    force = -system.derivatives(0, z0)[0][:7]
    speed = np.hypot(v, 0.1)
    expected = (-12 * m * G * (v - r * spin) / speed, -8 * m * G * side / speed, 0)
    np.testing.assert_allclose(force[:3], expected, rtol=0, atol=1e-9)
    sol = solved([wheel, tyre], {wheel: tf.Pose((0, 0, height), velocity=(v, 0, 0))}, 1.0, 1000)
    end = sol.velocity(wheel, 1.0)[0]  # it has rolled up: momentum about the line of contact is kept
    assert end == pytest.approx(m * v / (m + 0.5 / r**2), abs=2e-2)
    assert sol.angular_velocity(wheel, 1.0)[1] == pytest.approx(end / r, rel=5e-3)


def test_a_rope_goes_slack():
    """A mass thrown up on an elastic rope: free flight, then a spring; against DOP853."""
    mass = tf.PointMass(1.0, name="mass")
    rope = tf.SlackRope(mass, length=1.0, stiffness=400, damping=0.05)
    sol = solved([mass, rope], {mass: tf.Pose((0, 0, -1), velocity=(0, 0, 3))}, 1.5, 1500)

    def rates(t, y):
        stretch = max(-y[0] - 1, 0)
        return [y[1], -G + 400 * stretch * max(1 - 0.05 * y[1], 0)]

    height = truth(rates, (-1.0, 3.0), sol.t)[0]
    assert height.max() > -0.6 and height.min() < -1.1
    np.testing.assert_allclose(sol.position(mass, sol.t)[:, 2], height, rtol=0, atol=5e-5)


def test_drag():
    """Free fall with v = -V tanh(g t / V), V^2 = m g / c, in air that moves."""
    mass = tf.PointMass(2.0, name="mass")
    drag = tf.Drag(mass, coefficient=0.5, wind=(1, 0, 0))
    sol = solved([mass, drag], {mass: tf.Pose(velocity=(1, 0, 0))}, 2.0, 40, 3)
    limit = np.sqrt(2 * G / 0.5)
    np.testing.assert_allclose(sol.velocity(mass, sol.t), np.column_stack([
        np.ones(41), np.zeros(41), -limit * np.tanh(G * sol.t / limit)]), rtol=0, atol=1e-8)


def test_force_by_formula_of_velocities():
    """A charge in a magnetic field goes round; a rigid body with a torque; of a generalized body."""
    bead = tf.PointMass(2.0, name="charge")
    swirl = tf.FormulaForce(bead, lambda f, t, c: c[0] * ca.cross(f[0].velocity, ca.SX([0, 0, 1])), parameters=[6.0])
    sol = solved([bead, swirl], {bead: tf.Pose(velocity=(3, 0, 0))}, 2.0, 40, 3, gravity=None)
    np.testing.assert_allclose(sol.position(bead, sol.t)[:, :2], np.column_stack([
        np.sin(3 * sol.t), np.cos(3 * sol.t) - 1]), rtol=0, atol=1e-6)
    top = tf.RigidBody(1.0, (2, 3, 4))
    spin = tf.FormulaForce(top, lambda f, t, c: ca.vertcat(0, 0, 0, 0, 0, -2 * f[0].angular_velocity[2]))
    sol = solved([top, spin], {top: tf.Pose(angular_velocity=(0, 0, 5))}, 1.0, 10, 3)
    assert sol.angular_velocity(top, 1.0)[2] == pytest.approx(5 * np.exp(-0.5), abs=1e-7)
    for pair in (lambda f, t, c: ([0, 0, 1], (0, 0, -2 * f[0].angular_velocity[2])),
                 "[[0, 0, 1], [0, 0, -2 * f[0].angular_velocity[2]]]"):
        both = solved([top, tf.FormulaForce(top, pair)], {top: tf.Pose(angular_velocity=(0, 0, 5))}, 1.0, 10, 3)
        assert both.angular_velocity(top, 1.0)[2] == pytest.approx(sol.angular_velocity(top, 1.0)[2], rel=1e-12)
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2)
    body = system.bodies[0]
    system = tf.System([body, tf.FormulaForce(body, lambda f, t, c: -9 * f[0].q)])
    problem = tf.InitialValueProblem(system, {body: tf.Coordinates([1.0], [0.0])}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 10, progress=False)
    assert sol.z[-1, 0] == pytest.approx(np.cos(3), abs=1e-6)


@pytest.mark.parametrize("formula, arguments, message", [
    (lambda f, t, c: ca.SX.zeros(4), {}, "vector of 3 values .* not of 4"),
    (lambda f, t, c: f[0].place, {}, "failed on CasADi symbols"),
    (lambda f, t, c: f.position, {}, r"frames are f\[0\], f\[1\]"),
    (3, {}, "must be a function"),
])
def test_wrong_formulas(formula, arguments, message):
    with pytest.raises(tf.InputError, match=message):
        tf.FormulaForce(tf.PointMass(1.0), formula, **arguments)


def test_controls_with_reactions_keep_the_momentum():
    """Forces of `ControlForce` and `LengthControl` on two bodies, and the power of a `FormulaForce` B(q, v) u."""
    a, b = (tf.RigidBody(m, (2, 3, 4), name=n) for m, n in ((1.0, "a"), (2.0, "b")))
    states = {a: tf.Pose((1, 0, 0.5), (0.6, 0, 0.8, 0), (1, 2, 3), (3, 2, 1)),
              b: tf.Pose((0, 2, 0), velocity=(1, 0, 0))}
    for part in (tf.ControlForce(a, point=(0.3, 0.2, 0.1), reaction=b, frame="body"),
                 tf.LengthControl(a, b, point_a=(0.3, 0, 0), point_b=(0, 0.1, 0)),
                 tf.ControlTorque(a, reaction=b)):
        system = tf.System([a, b, part])
        z = tf.InitialValueProblem(system, states, (0, 1)).z0
        force = control_force(system, 0, z, np.arange(1.0, part.n_controls + 1))
        moved = z + 1e-7 * np.concatenate([np.zeros(system.n_q), force])

        def momenta(z, system=system):
            n = system.n_q
            return sum(np.concatenate([body.linear_momentum(q, p), body.angular_momentum(q, p)])
                       for body in (a, b) for s in [system.coordinates(body)] for q, p in [(z[s], z[n:][s])])

        assert np.abs(force).max() > 0.5 and np.abs(momenta(moved) - momenta(z)).max() < 1e-14


def test_length_control_and_thruster_forces():
    a = tf.PointMass(1.0, name="a")
    winch = tf.LengthControl(a, point_b=(0, 0, 3))
    system = tf.System([a, winch])
    z = tf.InitialValueProblem(system, {a: tf.Pose((4, 0, 0))}, (0, 1)).z0
    np.testing.assert_allclose(control_force(system, 0, z, [-5.0]), (-4, 0, 3), rtol=0, atol=1e-14)
    body = tf.RigidBody(1.0, (1, 1, 1))
    rotor = tf.Thruster(body, point=(0.2, 0, 0), drag=0.05)
    system = tf.System([body, rotor])
    z = tf.InitialValueProblem(system, {}, (0, 1)).z0
    force = control_force(system, 0, z, [2.0])
    np.testing.assert_allclose(force[:3], (0, 0, 2), rtol=0, atol=1e-15)
    np.testing.assert_allclose(force[4:] / 2, (0, -0.4, 0.1), rtol=0, atol=1e-15)  # Q = 2 G^T m at the identity


def test_wrong_contacts():
    bead, box = tf.PointMass(1.0), tf.RigidBody(1.0, (1, 1, 1))
    with pytest.raises(tf.InputError, match="friction needs a friction_width"):
        tf.PlaneContact(box, stiffness=1, friction=0.3)
    with pytest.raises(tf.InputError, match="has no size"):
        tf.BoxContact(box, stiffness=1)
    with pytest.raises(tf.InputError, match="has no points but its own"):
        tf.PlaneContact(bead, stiffness=1, points=[(1, 0, 0)])
    with pytest.raises(tf.InputError, match="reaction must be a rigid body"):
        tf.ControlForce(box, reaction=bead)
