"""Motions that repeat after a turn or a shift, against elliptic integrals and a reduced equation of motion."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import timefem as tf

G = 9.81
ABOUT_GRAVITY = tf.Symmetry(axis=(0, 0, 1))


def test_spherical_pendulum():
    """Period of the height, and the turn in it: elliptic integrals of energy and angular momentum."""
    bob, a = tf.PointMass(1.0, name="bob"), 1.0
    system = tf.System([bob, tf.RigidDistance(bob, None, length=1.0)], gravity=(0, 0, -G))
    start = {bob: tf.Pose((np.sin(a), 0, -np.cos(a)), velocity=(0, 2.0 * np.sin(a), 0))}
    found = tf.periodic(system, start, 1.08, tf.MixedGalerkin(4), 60, modulo=ABOUT_GRAVITY)
    assert found.success and found.iterations < 10
    x, p = np.split(found.solution.z[0], 2)
    energy, momentum = p @ p / 2 + G * x[2], x[0] * p[1] - x[1] * p[0]
    low, high, third = np.sort(np.roots([2 * G, -2 * energy, -2 * G, 2 * energy - momentum**2]).real)

    def over_half(f):
        def at(s):
            z = (low + high) / 2 + (high - low) / 2 * np.sin(s)
            return f(z) / np.sqrt(2 * G * (third - z))
        return 2 * quad(at, -np.pi / 2, np.pi / 2, epsabs=1e-14, epsrel=1e-13)[0]

    assert abs(found.period - over_half(lambda z: 1.0)) < 1e-11
    assert abs(np.exp(1j * found.angle) - np.exp(1j * over_half(lambda z: momentum / (1 - z * z)))) < 1e-11
    np.testing.assert_allclose(found.multipliers, np.ones(4), rtol=0, atol=1e-5)  # double ones
    assert found.floquet.stable
    with pytest.raises(tf.InputError, match="not periodic"):
        tf.floquet(found.solution)


@pytest.mark.long
@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_arm_on_a_column_that_turns(rotation):
    """`I th'' = (I - I3) sin(th) cos(th) ph'^2 - m g l sin(th)` with `(C + I sin^2(th) + I3 cos^2(th)) ph' = L`."""
    mass, length, inertia, axial, column_inertia = 2.0, 0.4, 0.05, 0.01, 0.3
    column = tf.RigidBody(5.0, (0.4, 0.4, column_inertia), rotation, name="column")
    arm = tf.RigidBody(mass, (inertia, inertia, axial), rotation, name="arm")
    here = dict(point_a=(0, 0, 0), point_b=(0, 0, 0))
    parts = [column, arm, tf.Revolute(column, None, axis_a=(0, 0, 1), axis_b=(0, 0, 1), **here),
             tf.Revolute(arm, column, point_a=(0, 0, length), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))]
    system, a, speed = tf.System(parts, gravity=(0, 0, -G)), 0.9, 3.0
    tilted = (np.cos(a / 2), 0, np.sin(a / 2), 0)
    place, spin = np.array([-length * np.sin(a), 0, -length * np.cos(a)]), np.array([0, 0, speed])
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    start = {column: tf.Pose(angular_velocity=spin),
             arm: tf.Pose(place, tilted, np.cross(spin, place), turn.T @ spin)}
    i, m_gl = inertia + mass * length**2, mass * G * length

    def rate(t, y, momentum):
        s, c = np.sin(y[0]), np.cos(y[0])
        turning = momentum / (column_inertia + i * s * s + axial * c * c)
        return [y[1], ((i - axial) * s * c * turning**2 - m_gl * s) / i, turning]

    whole = (column_inertia + i * np.sin(a)**2 + axial * np.cos(a)**2) * speed
    event = lambda t, y, momentum: y[1]
    event.direction = -1.0  # at rest on the side of the start
    half = solve_ivp(rate, (1e-3, 5.0), [a, -1e-3, 0.0], args=(whole,), events=event).t_events[0]
    found = tf.periodic(system, start, 1.02 * half[0], tf.MixedGalerkin(4), 60, modulo=ABOUT_GRAVITY)
    assert found.success
    sol = found.solution
    spin = sol.angular_velocity("column", 0.0, "space")[2]
    relative = sol.rotation_matrix("column", 0.0).T @ sol.rotation_matrix("arm", 0.0)
    angle = np.arctan2(relative[0, 2], relative[0, 0])
    swing = (sol.angular_velocity("arm", 0.0, "space") - [0, 0, spin]) @ sol.rotation_matrix("column", 0.0)[:, 1]
    momentum = (column_inertia + i * np.sin(angle)**2 + axial * np.cos(angle)**2) * spin
    y = solve_ivp(rate, (0, found.period), [angle, swing, 0.0], args=(momentum,), method="DOP853", rtol=1e-13,
                  atol=1e-13).y[:, -1]
    assert np.abs(y[:2] - [angle, swing]).max() < 1e-8 and np.ptp(sol.position("arm", sol.t)[:, 2]) > 0.1
    assert abs(np.exp(1j * found.angle) - np.exp(1j * y[2])) < 1e-8


def test_two_masses_drift():
    """They swing by `2 pi sqrt(mu / k)` and move on."""
    masses = [tf.PointMass(m, dimension=1, name=name) for m, name in ((1.0, "a"), (2.0, "b"))]
    system = tf.System([*masses, tf.Spring(*masses, stiffness=30.0, length=1.0)])
    start = {mass: tf.Pose((x, 0, 0), velocity=(0.4, 0, 0)) for mass, x in zip(masses, (0.0, 1.2), strict=True)}
    found = tf.periodic(system, start, 0.9, tf.MixedGalerkin(4), 40, modulo=tf.Symmetry(shifts=(1, 0, 0)))
    assert found.success and abs(found.period - 2 * np.pi * np.sqrt(2 / 3 / 30)) < 1e-11
    drift = found.solution.linear_momentum()[0, 0] / 3
    np.testing.assert_allclose(found.shift, [drift * found.period, 0, 0], rtol=0, atol=1e-11)
    assert abs(drift - 0.4) < 0.05


def test_a_stiff_blade_may_turn_about_its_hub():
    """Rounding of its strains makes accelerations that do not turn with it."""
    section = tf.Section(EA=1e5, GA=1e6, GJ=10, EI=(1, 1), mass=1, inertia=(2e-8, 1e-8, 1e-8))
    blade, hub = tf.Beam(1.0, section, 5, degree=3, name="blade"), tf.RigidBody(1.0, (1e4, 1e4, 1e4), name="hub")
    axle = tf.Revolute(hub, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="axle")
    system = tf.System([hub, blade, axle, tf.Weld(blade.start, hub, point_a=(0, 0, 0), point_b=(0, 0, 0))])
    problem = tf.InitialValueProblem(system, system.state({axle: (0.0, 1.0)}), (0, 1))
    ABOUT_GRAVITY.check(problem.system, 0.0, problem.z0)
    loaded = tf.System([*system.parts, tf.Force(blade.end, (1e-3, 0, 0))])
    with pytest.raises(tf.InputError, match="not the same after a turn"):
        ABOUT_GRAVITY.check(loaded, 0.0, problem.z0)


def test_what_is_no_symmetry():
    falling = tf.System([tf.PointMass(1.0, name="stone")], gravity=(0, -G, 0))
    with pytest.raises(tf.InputError, match="not the same after a turn"):
        tf.periodic(falling, {}, 1.0, modulo=ABOUT_GRAVITY)
    held = tf.System([bob := tf.PointMass(1.0, name="bob"), tf.Spring(bob, None, stiffness=5.0)])
    with pytest.raises(tf.InputError, match="not the same after shifts"):
        tf.periodic(held, {bob: tf.Pose((1, 0, 0))}, 1.0, modulo=tf.Symmetry(shifts=(1, 0, 0)))
    general = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: q[0]**2 / 2)
    with pytest.raises(tf.InputError, match="coordinates of its own"):
        tf.periodic(general, tf.Coordinates([1.0]), 6.0, modulo=ABOUT_GRAVITY)
    for wrong, message in (({}, "give the axis"), ({"axis": (0, 0, 0)}, "zero"),
                           ({"shifts": [(1, 0, 0), (2, 0, 0)]}, "independent")):
        with pytest.raises(tf.InputError, match=message):
            tf.Symmetry(**wrong)
