"""Where stability is lost, against closed forms and published numbers."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import mathieu_a, mathieu_b

import timefem as tf
from timefem.cases.nonholonomic import bicycle

G = 9.81


@pytest.mark.long
def test_critical_speeds_of_the_bicycle():
    """Weave and capsize speed, Meijaard et al. (2007): 4.29238253634111 and 6.02426201538837 m/s."""
    system, riding = bicycle()
    weave, capsize = tf.critical_values(lambda speed: tf.linearize(system, riding(speed)), (0.5, 8))
    assert abs(weave.value - 4.29238253634111) < 1e-10 and abs(capsize.value - 6.02426201538837) < 1e-10
    assert (weave.kind, weave.before, weave.after) == ("oscillation", 2, 0)
    assert (capsize.kind, capsize.before, capsize.after) == ("divergence", 0, 1)


def test_sleeping_top():
    """`omega_c = 2 sqrt(m g h A) / C`; eigenvalues meet on the imaginary axis there."""
    top = tf.RigidBody(1.0, (0.2, 0.2, 0.1), name="top")
    tip = tf.Spherical(top, None, point_a=(0, 0, -0.4), point_b=(0, 0, 0))
    system = tf.System([top, tip], gravity=(0, 0, -G))

    def spinning(speed):
        return tf.linearize(system, {top: tf.Pose(position=(0, 0, 0.4), angular_velocity=(0, 0, speed))})

    (critical,) = tf.critical_values(spinning, (5, 60))
    assert abs(critical.value - 2 * np.sqrt(G * 0.4 * (0.2 + 0.4**2)) / 0.1) < 1e-9
    assert critical.kind == "oscillation"


def test_rolling_disc():
    """A thin disc rolls upright above `v^2 = g r / 3`."""
    r = 0.5
    disc = tf.RigidBody(1.0, (r * r / 4, r * r / 2, r * r / 4), name="disc")
    system = tf.System([disc, tf.RollingDisc(disc, radius=r, axis=(0, 1, 0))], gravity=(0, 0, -G))
    family = lambda v: tf.linearize(
        system, {disc: tf.Pose(position=(0, 0, r), velocity=(v, 0, 0), angular_velocity=(0, v / r, 0))})
    (critical,) = tf.critical_values(family, (0.3, 3))
    assert abs(critical.value - np.sqrt(G * r / 3)) < 1e-10


def shimmy(speed):
    """A towed wheel whose king pin is held sideways by a spring and a damper; the road moves.

    With y of the pin and the angle psi: `M psi'' + (m (l - s) v + c l^2) psi' + c l v psi + k l y = 0`,
    `y' = l psi' + v psi`, `M = I + m (l - s)^2`.
    """
    wheel = tf.RigidBody(SHIMMY["m"], (1, 1, SHIMMY["inertia"]), name="wheel")
    back = SHIMMY["l"] - SHIMMY["s"]
    pin = (SHIMMY["s"], 0, 0)
    parts = [wheel, tf.Planar(wheel, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1)),
             tf.Constraint(wheel, on_the_line, 1, parameters=pin),
             tf.NonholonomicConstraint(wheel, rolling, 1, parameters=(back, speed)),
             tf.Spring(wheel, None, pin, (0, 10, 0), stiffness=SHIMMY["k"], length=10.0),
             tf.Damper(wheel, None, pin, (0, 10, 0), damping=SHIMMY["c"])]
    return tf.linearize(tf.System(parts), {wheel: tf.Pose(position=(-SHIMMY["s"], 0, 0))})


SHIMMY = {"m": 2.0, "inertia": 0.08, "s": 0.05, "l": 0.15, "k": 800.0, "c": 6.0}


def on_the_line(frames, t, c):
    return [frames[0].point(c)[0]]


def rolling(frames, t, c):
    road = frames[0].velocity_at(frames[0].direction(ca.vertcat(-c[0], 0, 0))) + ca.vertcat(c[1], 0, 0)
    return [frames[0].direction(ca.DM([0, 1, 0])).T @ road]


@pytest.mark.long
def test_shimmy():
    """Hurwitz: `(m (l - s) v + c l^2)(c l v + k l^2) = M k l v`, a quadratic equation for two speeds."""
    m, inertia, s, length, k, c = (SHIMMY[name] for name in ("m", "inertia", "s", "l", "k", "c"))
    mass, back = inertia + m * (length - s)**2, m * (length - s)
    exact = np.sort(np.roots([back * c * length, back * k * length**2 + c**2 * length**3 - mass * k * length,
                              c * k * length**4]))
    found = tf.critical_values(shimmy, (0.01, 1.3 * exact[1]), 60)
    assert [f.kind for f in found] == ["oscillation"] * 2 and [f.after for f in found] == [2, 0]
    np.testing.assert_allclose([f.value for f in found], exact, rtol=1e-10, atol=0)


def kinetic(q, v, c):
    return v[0]**2 / 2


def swinging(q, c, t):
    return -(c[0] - 2 * c[1] * ca.cos(2 * t)) * ca.cos(q[0])


def mathieu(a, strength):
    """A pendulum whose pivot moves up and down: `x'' + (a - 2 q cos 2 t) sin x = 0` at rest."""
    system = tf.GeneralizedSystem(1, kinetic, swinging, parameters=(a, strength))
    problem = tf.InitialValueProblem(system, tf.Coordinates([0.0]), (0, np.pi))
    return tf.floquet(tf.solve(problem, tf.MixedGalerkin(4), 16, progress=False))


@pytest.mark.long
@pytest.mark.parametrize("strength", [0.3, 0.9])
def test_stability_chart_of_a_parametrically_excited_pendulum(strength):
    """Tongues about a = 1 and a = 4 against Mathieu's characteristic values."""
    found = tf.critical_values(lambda a: mathieu(a, strength), (0.05, 2.2), 15)
    exact = [mathieu_a(0, strength), mathieu_b(1, strength), mathieu_a(1, strength)]
    exact = [x for x in exact if x > 0.05]
    np.testing.assert_allclose([f.value for f in found], exact, rtol=0, atol=1e-8)
    assert {f.kind for f in found} == {"period doubling"}


@pytest.mark.long
def test_root_locus():
    system, riding = bicycle()
    locus = tf.root_locus(lambda speed: tf.linearize(system, riding(speed)), np.linspace(4, 7, 13))
    assert locus.roots.shape == (13, 4) and locus.n_unstable[0] == 2 and locus.n_unstable[-1] == 1
    assert np.abs(np.diff(locus.roots, axis=0)).max() < 1.5  # each column is one root
    assert len(locus.critical_values()) == 2 and "unstable" in repr(locus)
    with pytest.raises(tf.InputError, match="increase"):
        tf.root_locus(lambda speed: None, [2, 1])
    with pytest.raises(tf.InputError, match="LinearModel or a Floquet"):
        tf.root_locus(lambda speed: speed, [1, 2])


@pytest.mark.long
def test_follower_load_on_two_rods():
    """Ziegler's column: frequencies meet where the discriminant of `det(K(P) - w M)` is zero."""
    m, j, length, k = (2.0, 1.0), (0.05, 0.03), 0.5, 10.0
    rods = [tf.RigidBody(mass, (inertia, inertia, 1e-2), name=name)
            for mass, inertia, name in zip(m, j, "ab", strict=True)]
    a, b = rods
    hinge = dict(axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    joints = [tf.Revolute(a, None, point_a=(0, 0, -length), point_b=(0, 0, 0), **hinge),
              tf.Revolute(b, a, point_a=(0, 0, -length), point_b=(0, 0, 0), **hinge)]
    springs = [tf.TorsionalSpring(a, None, axis=(0, 1, 0), stiffness=k),
               tf.TorsionalSpring(b, a, axis=(0, 1, 0), stiffness=k)]

    def loaded(load):
        push = tf.Force(b, (0, 0, -load), frame="body")
        return tf.linearize(tf.System([*rods, *joints, *springs, push]),
                            {a: tf.Pose((0, 0, length)), b: tf.Pose((0, 0, 2 * length))})

    mass = np.array([[sum(m) * length**2 + j[0], m[1] * length**2], [m[1] * length**2, m[1] * length**2 + j[1]]])

    def discriminant(load):
        stiffness = np.array([[2 * k - load * length, -k + load * length], [-k, k]])
        trace = np.trace(np.linalg.solve(mass, stiffness))
        return trace**2 - 4 * np.linalg.det(stiffness) / np.linalg.det(mass)

    exact = brentq(discriminant, 1.0, 60.0, xtol=1e-14)
    (critical,) = tf.critical_values(loaded, (1.0, 60.0), 12)
    assert abs(critical.value - exact) < 1e-9 * exact and critical.kind == "oscillation"


@pytest.mark.long
def test_shaft_that_damps_itself():
    """Material damping of a shaft drives a disc beyond w (1 + c_e / c_i), Jeffcott's rotor; rounding of fast
    motions of the shaft, 1e9 / s, hid growth below 0.25 / s, and the threshold was 37.6 for 19.6, silently."""
    outer, delay, mass, bending = 0.8, 2e-3, 5.0, 20.0
    stiffness = 48 * bending
    section = tf.Section(EA=1e6, GA=1e6, GJ=1e3, EI=bending, mass=1e-5, inertia=(2e-6, 1e-6, 1e-6), damping=delay)
    shaft, disc = tf.Beam(1.0, section, 2, 3, name="shaft"), tf.RigidBody(mass, (0.02, 0.01, 0.01), name="disc")
    here = dict(point_a=(0, 0, 0), point_b=(0, 0, 0))
    system = tf.System([
        shaft, disc, tf.Weld(disc, shaft.at(0.5), **here), tf.Spherical(shaft.start, **here),
        tf.Constraint(shaft.end, "[f[0].position[1], f[0].position[2]]", 2),
        tf.FormulaForce(disc, "[0, -c[0] * f[0].velocity[1], -c[0] * f[0].velocity[2]]", parameters=[outer])])

    def turning(rate):
        state = {node: tf.Pose(node.reference.position, angular_velocity=(rate, 0, 0)) for node in shaft.nodes}
        return tf.linearize(system, state | {disc: tf.Pose((0.5, 0, 0), angular_velocity=(rate, 0, 0))})

    (critical,) = tf.critical_values(turning, (1, 120), 8)
    frequency = np.sqrt(stiffness / mass)
    assert abs(critical.value - frequency * (1 + outer / (stiffness * delay))) < 1e-3 * frequency
    assert abs(critical.root - 1j * frequency) < 1e-3 * frequency and critical.after == 2
    assert [turning(rate).n_unstable for rate in (19.0, 20.5)] == [0, 2]


def test_a_span_is_two_numbers():
    with pytest.raises(tf.InputError, match="span must have shape"):
        tf.critical_values(lambda value: None, (1, 2, 3))
