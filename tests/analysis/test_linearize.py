"""Linear equations around a state against closed forms, minimal coordinates written by hand, and motions."""

import warnings

import casadi as ca
import mpmath
import numpy as np
import pytest
import scipy

import timefem as tf
from timefem.analysis.floquet import monodromy_ends, of_ends
from timefem.analysis.nearby import settle
from timefem.cases.nonholonomic import bicycle

G = 9.81
ROTATIONS = ("quaternion", "directors")


def oscillation(model):
    """The eigenvalue with the largest imaginary part."""
    return max(model.eigenvalues, key=lambda x: x.imag)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_physical_pendulum(rotation):
    rod = tf.RigidBody(2.0, (0.3, 0.3, 0.01), rotation, name="rod")
    hinge = tf.Revolute(rod, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    model = tf.linearize(tf.System([rod, hinge], gravity=(0, 0, -G)), {rod: tf.Pose(position=(0, 0, -0.5))})
    assert model.state_names == ["rod.rotation[1]", "rate of rod.rotation[1]"] and model.steady
    assert abs(oscillation(model) - 1j * np.sqrt(2 * G * 0.5 / (0.3 + 2 * 0.25))) < 1e-12


@pytest.mark.parametrize("beside", [False, True])
def test_directors_however_they_are_turned(beside):
    """Round-off in constraints that displacements meet by themselves was taken for rows that hold some of them."""
    turns = scipy.spatial.transform.Rotation.random(12, random_state=4).as_matrix()
    body, other = (tf.RigidBody(2.0, (0.1, 0.2, 0.25), "directors", name=name) for name in ("body", "other"))
    system = tf.System([body, other] if beside else [body])
    n = 12 if beside else 6
    for turn in turns:
        model = tf.linearize(system, {b: tf.Pose((1, 2, 3), turn) for b in system.bodies})
        assert model.A.shape == (2 * n, 2 * n)
        assert np.abs(model.A - np.eye(2 * n, k=n)).max() < 1e-12


def test_tree_is_the_same():
    links = [tf.Link("base"), tf.Link("a", 2.0, (0, 0, -0.5), (0.3, 0.3, 0.01)),
             tf.Link("b", 1.0, (0, 0, -0.4), (0.1, 0.1, 0.01))]
    joints = [tf.TreeJoint("one", "base", "a", axis=(0, 1, 0)),
              tf.TreeJoint("two", "a", "b", position=(0, 0, -1), axis=(0, 1, 0))]
    arm = tf.Tree(links, joints, name="arm")
    joint = tf.linearize(tf.System([arm], gravity=(0, 0, -G)), {arm: {"one": 0.0}})
    a, b = tf.RigidBody(2.0, (0.3, 0.3, 0.01), name="a"), tf.RigidBody(1.0, (0.1, 0.1, 0.01), name="b")
    hinge = dict(axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    system = tf.System([a, b, tf.Revolute(a, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), **hinge),
                        tf.Revolute(b, a, point_a=(0, 0, 0.4), point_b=(0, 0, -0.5), **hinge)], gravity=(0, 0, -G))
    bodies = tf.linearize(system, {a: tf.Pose(position=(0, 0, -0.5)), b: tf.Pose(position=(0, 0, -1.4))})
    assert joint.state_names[:2] == ["arm.one", "arm.two"]
    own, other = (x[np.argsort(x.imag)] for x in (joint.eigenvalues, bodies.eigenvalues))  # real parts are rounding
    np.testing.assert_allclose(own, other, rtol=0, atol=1e-11)


def cantilever(section, rotation="quaternion"):
    beam = tf.Beam(1.0, section, n_elements=4, rotation=rotation, name="beam")
    return tf.linearize(tf.System([beam, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0))])).modes()


def test_cantilever_frequencies():
    section = tf.Section(EA=1e7, GA=1e7, GJ=1, EI=1, mass=1, inertia=(2e-7, 1e-7, 1e-7))
    roots = np.array([1.8751040687119611, 4.694091132974174])  # cos x cosh x = -1
    found = cantilever(section).frequencies
    np.testing.assert_allclose(found[[0, 1, 2, 3]], np.repeat(roots**2, 2) / (2 * np.pi), rtol=1e-5, atol=0)
    thick = tf.Section(EA=1e4, GA=4e3, GJ=2, EI=3, mass=1, inertia=(3e-3, 2e-3, 2e-3))
    one, other = (cantilever(thick, rotation).frequencies for rotation in ROTATIONS)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=0)


def four_bar():
    """A four-bar linkage with a diagonal spring; angles of its three bars as functions of the first, in mpmath."""
    lengths, span, k, rest, masses = (0.5, 1.2, 0.9), 1.1, 3000.0, 0.8, (2.0, 3.0, 2.5)

    def places(x):
        crank = mpmath.matrix([lengths[0] * mpmath.cos(x), lengths[0] * mpmath.sin(x)])
        d = mpmath.matrix([span, 0]) - crank
        size = mpmath.sqrt(d[0]**2 + d[1]**2)
        along = (lengths[1]**2 - lengths[2]**2 + size**2) / (2 * size)
        up = mpmath.sqrt(lengths[1]**2 - along**2)
        joint = crank + mpmath.matrix([d[0] * along - d[1] * up, d[1] * along + d[0] * up]) / size
        return crank, joint

    def coordinates(x):
        """Centres and angles of the bars."""
        crank, joint = places(x)
        ends = [(mpmath.matrix([0, 0]), crank), (crank, joint), (mpmath.matrix([span, 0]), joint)]
        return [v for a, b in ends for v in ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, mpmath.atan2(b[1] - a[1],
                                                                                             b[0] - a[0]))]

    def potential(x):
        crank, _ = places(x)
        c = coordinates(x)
        spring = mpmath.sqrt((crank[0] - span)**2 + crank[1]**2)
        return sum(m * G * c[3 * i + 1] for i, m in enumerate(masses)) + k * (spring - rest)**2 / 2

    def mass(x):
        rates = [mpmath.diff(lambda y, i=i: coordinates(y)[i], x) for i in range(9)]
        return sum(m * (rates[3 * i]**2 + rates[3 * i + 1]**2 + length**2 / 12 * rates[3 * i + 2]**2)
                   for i, (m, length) in enumerate(zip(masses, lengths, strict=True)))

    return lengths, span, k, rest, masses, coordinates, potential, mass


@pytest.mark.long
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_four_bar_with_a_diagonal_spring(rotation):
    lengths, span, k, rest, masses, coordinates, potential, mass = four_bar()
    with mpmath.workdps(40):
        angle = mpmath.findroot(lambda x: mpmath.diff(potential, x), 1.2)
        exact = float(mpmath.sqrt(mpmath.diff(potential, angle, 2) / mass(angle)))
        places = [float(c) for c in coordinates(angle)]
    bars = [tf.RigidBody(m, (1e-3, m * length**2 / 12, m * length**2 / 12), rotation, name=name)
            for m, length, name in zip(masses, lengths, ("crank", "coupler", "rocker"), strict=True)]
    ends = [dict(a=(-length / 2, 0, 0), b=(length / 2, 0, 0)) for length in lengths]
    axis = dict(axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    crank, coupler, rocker = bars
    parts = [*bars, tf.Revolute(crank, None, point_a=ends[0]["a"], point_b=(0, 0, 0), **axis),
             tf.Revolute(coupler, crank, point_a=ends[1]["a"], point_b=ends[0]["b"], **axis),
             tf.Revolute(rocker, None, point_a=ends[2]["a"], point_b=(span, 0, 0), **axis),
             tf.Revolute(rocker, coupler, point_a=ends[2]["b"], point_b=ends[1]["b"], **axis),
             tf.Spring(crank, None, ends[0]["b"], (span, 0, 0), stiffness=k, length=rest)]
    system = tf.System(parts, gravity=(0, -G, 0))  # three constraints repeat others
    poses = {b: tf.Pose((x, y, 0), (np.cos(a / 2), 0, 0, np.sin(a / 2)))
             for b, x, y, a in zip(bars, places[::3], places[1::3], places[2::3], strict=True)}
    model = tf.linearize(system, poses)
    assert len(model.A) == 2 and model.steady
    assert abs(oscillation(model) - 1j * exact) < 1e-10 * exact
    (mode,) = model.modes()
    assert abs(mode.frequency - exact / (2 * np.pi)) < 1e-10
    motion = mode.motion(0.05)
    assert np.abs(motion.system.constraints(0.0, motion.z)).max() < 1e-10 and np.ptp(motion.z[:, 0]) > 0.01


def test_conical_pendulum_in_the_frame_that_turns():
    for angle in (0.3, 1.0):
        length, bob = 1.3, tf.PointMass(1.7, name="bob")
        system = tf.System([bob, tf.RigidDistance(bob, None, length=length)], gravity=(0, 0, -G))
        turning = np.sqrt(G / (length * np.cos(angle)))
        out = length * np.sin(angle)

        def state(speed, out=out, length=length, angle=angle):
            return {"bob": tf.Pose(position=(out, 0, -length * np.cos(angle)), velocity=(0, speed * out, 0))}

        model = tf.linearize(system, state(turning))
        assert model.steady and np.abs(model.frame - [0, 0, turning]).max() < 1e-12
        assert abs(oscillation(model) - 1j * turning * np.sqrt(1 + 3 * np.cos(angle)**2)) < 1e-11
        slow = tf.linearize(system, state(turning / 2))
        assert not slow.steady and not slow.frame.any() and "not steady" in repr(slow.modes())


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_what_turns_before_it_is_stretched_is_not_steady(unit):
    """Two masses on a spring: steady where it carries them, with `w^2 = k / m + 3 turning^2` along it."""
    turning, stiffness, reduced = 4.0, 50.0, 2 / 3
    one, two = tf.PointMass(1.0, name="one"), tf.PointMass(2.0, name="two")
    system = tf.System([one, two, tf.Spring(one, two, stiffness=stiffness, length=unit)])

    def model(length, turning, ahead=0.0):
        return tf.linearize(system, {body: tf.Pose((x, 0, 0), velocity=(ahead, turning * x, 0))
                                     for body, x in ((one, 2 / 3 * length), (two, -1 / 3 * length))})

    assert not model(unit, turning).steady and not model(unit, turning, 5 * unit).steady
    assert model(unit, 0.0, 5 * unit).steady
    carried = model(unit / (1 - reduced * turning**2 / stiffness), turning)
    assert carried.steady and np.abs(carried.frame - [0, 0, turning]).max() < 1e-12
    wanted = np.sqrt(stiffness / reduced + 3 * turning**2)
    assert np.abs(np.abs(carried.eigenvalues.imag) - wanted).min() < 1e-9


def test_what_a_drive_turns_before_it_is_stretched_is_not_steady():
    """A slider on an arm that is driven at a steady rate: `w^2 = k / m - turning^2` about where it settles."""
    turning, stiffness, length = 3.0, 50.0, 1.0
    arm, slider = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="arm"), tf.RigidBody(2.0, (0.1, 0.1, 0.1), name="slider")
    axle = tf.Revolute(arm, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="axle")
    guide = tf.Prismatic(arm, slider, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0),
                         name="guide")
    drive = tf.PrescribedJoint(axle, value=tf.Formula(f"{turning} * t"))
    system = tf.System([arm, slider, axle, guide, drive, tf.JointSpring(guide, stiffness=stiffness, rest=length)])

    def model(out):
        return tf.linearize(system, {axle: (0.0, turning), guide: (out, 0.0)})

    assert not model(length).steady
    settled = model(stiffness * length / (stiffness - 2 * turning**2))
    assert settled.steady and abs(oscillation(settled) - 1j * np.sqrt(stiffness / 2 - turning**2)) < 1e-9


def test_loads_that_grow_leave_a_linear_system_steady():
    """Accelerations of the second order in the time, of the load alone."""
    mass = tf.PointMass(2.0, dimension=1, name="mass")
    load = tf.Force(mass, (1, 0, 0), time=tf.Formula("cos(3 * t) - 1"))
    system = tf.System([mass, tf.Spring(mass, None, stiffness=8.0), load])
    assert all(tf.linearize(system, {mass: tf.Pose(velocity=(v, 0, 0))}).steady for v in (0, 1))


def test_bicycle():
    """Meijaard, Papadopoulos, Ruina & Schwab, Proc. R. Soc. A 463 (2007), Table 2, at 5 m/s."""
    system, riding = bicycle()
    model = tf.linearize(system, riding(5.0))
    exact = [-0.322866429004087, -0.775341882195845 + 4.464867713788230j, -0.775341882195845 - 4.464867713788230j,
             -14.078389692798220]
    np.testing.assert_allclose(model.eigenvalues, [*exact, 0, 0, 0, 0, 0, 0], rtol=0, atol=1e-12)
    assert model.steady and model.modes().n_neutral == 6


@pytest.mark.long
def test_linear_motion_is_the_tangent_of_the_motion():
    """`exp(A t)` against the derivative of the discrete motion, with nonholonomic constraints and a drive."""
    system, riding = bicycle()
    model = tf.linearize(system, riding(5.0))
    sol = tf.solve(tf.InitialValueProblem(system, riding(5.0), (0, 0.2)), tf.MixedGalerkin(3, n_points=9), 40)
    discrete = of_ends(sol, *monodromy_ends(sol))
    np.testing.assert_allclose(discrete.monodromy, scipy.linalg.expm(0.2 * model.A), rtol=0, atol=1e-8)


def quadcopter():
    body = tf.RigidBody(1.2, (0.02, 0.025, 0.04), name="body")
    load = tf.PointMass(0.3, name="load")
    lift = tf.ControlForce(body, ((0, 0, 1),), frame="body", name="lift")
    turn = tf.ControlTorque(body, name="turn")
    rope = tf.RigidDistance(body, load, length=0.8)
    return tf.System([body, load, rope, lift, turn], gravity=(0, 0, -G)), body, load


def test_inputs_and_outputs():
    system, body, load = quadcopter()
    hover = {body: tf.Pose(), load: tf.Pose(position=(0, 0, -0.8))}
    model = tf.linearize(system, hover, controls=(1.5 * G, 0, 0, 0), inputs=["lift", "turn"],
                         outputs=["load.position[0]", "body.velocity[2]", "body.acceleration[2]",
                                  tf.AngleOutput(body, "x", (0, 1, 0))])
    assert model.input_names == ["lift", "turn[0]", "turn[1]", "turn[2]"]
    assert model.output_names == ["load.position[0]", "body.velocity[2]", "body.acceleration[2]", "body angle"]
    assert model.steady and len(model.A) == 16
    # upwards nothing but mass; the sum of both
    np.testing.assert_allclose(model.D[2], [1 / 1.5, 0, 0, 0], rtol=0, atol=1e-12)
    w = np.array([0.5, 2.0])
    g = model.frequency_response(w)
    np.testing.assert_allclose(g[:, 1, 0], 1 / (1.5j * w), rtol=1e-10, atol=0)
    np.testing.assert_allclose(g[:, 2, 0], 1 / 1.5, rtol=1e-10, atol=0)
    np.testing.assert_allclose(g[:, 3, 1], -1 / (0.02 * w**2), rtol=1e-9, atol=0)
    # load by torque about y: x'' = g theta in all, and the load swings at sqrt(g (1 + m/M) / l)
    swing = np.sqrt(G / 0.8 * 1.5 / 1.2)
    assert np.abs(np.abs(model.eigenvalues.imag) - swing).min() < 1e-10
    turns = tf.linearize(system, hover, outputs="body.rotation")
    angle = tf.linearize(system, hover, outputs=tf.AngleOutput(body, "x", (0, 1, 0)))
    assert turns.output_names == [f"body.rotation[{i}]" for i in range(3)]
    np.testing.assert_allclose(turns.C[0], angle.C[0], rtol=0, atol=1e-14)
    with pytest.raises(tf.InputError, match="not an actuator"):
        tf.linearize(system, hover, inputs=["rotor"])
    with pytest.raises(tf.InputError, match="no quantity"):
        tf.linearize(system, hover, outputs=["load.angle[0]"])


def test_a_damped_oscillator_over_the_frequency():
    """`1 / (k - m w^2 + i d w)`, as numbers and as drawn; its mode has the frequency of the undamped one, too."""
    mass, k, d, m = tf.PointMass(2.0, dimension=1, name="mass"), 50.0, 4.0, 2.0
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    system = tf.System([mass, push, tf.Spring(mass, None, stiffness=k, length=0.0),
                        tf.Damper(mass, None, point_b=(-5, 0, 0), damping=d)])
    model = tf.linearize(system, inputs="push", outputs=["mass.velocity[0]", "mass.position[0]"])
    w = np.linspace(0.5, 30.0, 40)
    right = 1 / (k - m * w**2 + 1j * d * w)
    above, below = model.plot_frequency_response(w, output=1)
    np.testing.assert_allclose(above.lines[0].get_xdata(), w / (2 * np.pi), rtol=1e-12)
    np.testing.assert_allclose(above.lines[0].get_ydata(), np.abs(right), rtol=1e-9)
    np.testing.assert_allclose(below.lines[0].get_ydata(), np.rad2deg(np.angle(right)), rtol=0, atol=1e-8)
    assert above.get_title() == "mass.position[0] by push"
    for number in (2, -1, 0.5):
        with pytest.raises(tf.InputError, match="output must be"):
            model.plot_frequency_response(w, output=number)
    mode = tf.modes(system)[0]
    assert mode.natural_frequency == pytest.approx(np.sqrt(k / m) / (2 * np.pi), rel=1e-12)
    assert mode.damping == pytest.approx(d / (2 * np.sqrt(k * m)), rel=1e-12)
    free = tf.modes(tf.System([mass, tf.Spring(mass, stiffness=k)]))[0]
    assert not np.signbit(free.damping)  # tables have 0, not -0
    assert mode.frequency == pytest.approx(mode.natural_frequency * np.sqrt(1 - mode.damping**2), rel=1e-12)


def test_controls_hold_a_steady_state_or_not():
    system, body, load = quadcopter()
    hover = {body: tf.Pose(), load: tf.Pose(position=(0, 0, -0.8))}
    assert tf.linearize(system, hover).steady is False or not system.n_constraints  # it falls
    held = tf.linearize(system, hover, controls="balance")
    assert held.steady
    np.testing.assert_allclose(held.controls, [1.5 * G, 0, 0, 0], rtol=0, atol=1e-12)


def test_against_differences_of_the_motion():
    """Any state, any coordinates: the derivative of accelerations by minimal coordinates, of a double pendulum."""
    def kinetic(q, v, c):
        return (c[0] + c[1]) * v[0]**2 / 2 + c[1] * (v[1]**2 / 2 + v[0] * v[1] * ca.cos(q[0] - q[1]))

    def potential(q, c):
        return -G * ((c[0] + c[1]) * ca.cos(q[0]) + c[1] * ca.cos(q[1]))

    system = tf.GeneralizedSystem(2, kinetic, potential, parameters=[2.0, 1.0])

    def rate(x):
        m = np.array([[3, np.cos(x[0] - x[1])], [np.cos(x[0] - x[1]), 1]])
        s = np.sin(x[0] - x[1])
        f = np.array([-s * x[3]**2 - 3 * G * np.sin(x[0]), s * x[2]**2 - G * np.sin(x[1])])
        return np.concatenate([x[2:], np.linalg.solve(m, f)])

    x = np.array([0.7, -0.4, 1.1, 2.0])
    model = tf.linearize(system, tf.Coordinates(x[:2], x[2:]))
    step = 1e-4
    table = np.array([(8 * (rate(x + d) - rate(x - d)) - rate(x + 2 * d) + rate(x - 2 * d)) / (12 * step)
                      for d in step * np.eye(4)]).T
    np.testing.assert_allclose(model.A, table, rtol=0, atol=1e-9)
    assert not model.steady


def test_refusals():
    free = tf.System([tf.PointMass(1.0, name="a")])
    with pytest.raises(tf.InputError, match="must be a System"):
        tf.linearize("a")
    with pytest.raises(tf.InputError, match="no inputs"):
        tf.linearize(free).frequency_response([1.0])
    with pytest.raises(tf.InputError, match="outputs must be"):
        tf.linearize(free, outputs=[3])
    assert tf.modes(free).n_neutral == 6


@pytest.mark.long
def test_counters_of_turns_do_not_count():
    """A torsional spring counts turns of its angle, which is no motion."""
    arm = tf.RigidBody(2.0, (0.3, 0.3, 0.01), name="arm")
    hinge = tf.Revolute(arm, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    spring = tf.TorsionalSpring(arm, None, axis=(0, 1, 0), stiffness=5.0)
    system = tf.System([arm, hinge, spring], gravity=(0, 0, -G))
    model = tf.linearize(system, {arm: tf.Pose(position=(0, 0, -0.5))})
    assert model.state_names == ["arm.rotation[1]", "rate of arm.rotation[1]"]
    assert abs(oscillation(model) - 1j * np.sqrt((2 * G * 0.5 + 5.0) / (0.3 + 2 * 0.25))) < 1e-11
    assert model.modes()[0].motion(0.2).success
    c, s = np.cos(0.2), np.sin(0.2)
    start = tf.Pose((-0.5 * s, 0, -0.5 * c), (np.cos(0.1), 0, np.sin(0.1), 0))
    found = tf.periodic(system, {arm: start}, 2 * np.pi / oscillation(model).imag, tf.MixedGalerkin(2), 30)
    assert found.success and abs(found.period * oscillation(model).imag / (2 * np.pi) - 1) < 0.01
    at_rest = settle(model.system, {arm: tf.CanonicalState(*arm.state(start))})
    assert np.abs(at_rest[arm].q[:3] - [0, 0, -0.5]).max() < 1e-9


def test_what_nothing_can_move():
    """A system whose motion is prescribed has no states, and no modes."""
    body = tf.RigidBody(1.0, (1, 1, 1), name="body")
    system = tf.System([body, tf.Weld(body, point_a=(0, 0, 0), point_b=(0, 0, 0))])
    model = tf.linearize(system, {body: tf.Pose()})
    assert model.A.shape == (0, 0) and len(model.eigenvalues) == 0 and model.n_unstable == 0
    assert len(model.modes()) == 0 and "0" in repr(tf.modes(system))


def test_flexible_rotor_at_rest():
    """Rounding of a stiff shaft is no motion; a summary of many modes lists the slowest."""
    shaft = tf.Beam(1.0, tf.Section.circle(E=210e9, nu=0.3, density=7850, radius=0.01), 4, degree=3, name="shaft")
    disc, x = tf.RigidBody(5.0, (0.04, 0.02, 0.02), name="disc"), (1, 0, 0)
    ends = {"axis_a": x, "axis_b": x}
    bearing = tf.Revolute(shaft.start, None, point_a=(0, 0, 0), point_b=(0, 0, 0), **ends, name="bearing")
    system = tf.System([shaft, bearing, disc, tf.Weld(disc, shaft.at(0.25), point_a=(0, 0, 0), point_b=(0, 0, 0)),
                        tf.Cylindrical(shaft.end, None, point_a=(0, 0, 0), point_b=x, **ends)], redundant="drop")
    rest = tf.equilibrium(system)
    assert rest.joint(bearing).angle() == 0 and "angle" in dir(rest.joint(bearing))
    with pytest.raises(AttributeError, match=r"has no 'anglee'.*did you mean 'angle'"):
        getattr(rest.joint(bearing), "anglee")  # noqa: B009
    modes = tf.modes(system, rest)
    assert modes.model.steady and len(modes) > 60
    text = str(modes)
    assert "12 of 69 modes" in text and len(text.splitlines()) < 22 and "e-" not in text
    spinning = [tf.linearize(system, system.state({bearing: (0, speed)})).modes()[:2] for speed in (0.0, 50.0)]
    apart = [pair[1].frequency - pair[0].frequency for pair in spinning]
    assert abs(apart[0]) < 1e-6 and apart[1] > 0.5  # backward and forward whirl


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_coordinates_of_joints_as_outputs(coordinates):
    rod = tf.RigidBody(1.0, (0.1, 0.02, 0.1), name="rod")
    hinge = tf.Revolute(rod, None, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                        name="hinge")
    system = tf.System([rod, hinge, tf.JointControl(hinge, name="motor")], gravity=(0, -9.81, 0),
                       coordinates=coordinates)
    model = tf.linearize(system, system.state({hinge: 0.3}), outputs=["hinge.angle", "hinge.rate", "rod.rotation[2]"])
    assert model.output_names == ["hinge.angle", "hinge.rate", "rod.rotation[2]"] and not model.D.any()
    np.testing.assert_allclose(model.C[[0, 2]], [[1, 0], [1, 0]], rtol=0, atol=1e-14)
    np.testing.assert_allclose(model.C[1], [0, 1], rtol=0, atol=1e-14)
    with pytest.raises(tf.InputError, match="'hinge.angel' must name a body .* or 'kinetic'" if coordinates == "bodies"
                       else "hinge has no quantity 'angel'"):
        tf.linearize(system, {}, outputs=["hinge.angel"])


def test_modes_of_parts_that_are_assembled_far_from_their_poses_warn():
    """A tip at the origin was welded to the end of a cantilever, which bent to meet it: 2.8 for 1.35 Hz, silently."""
    section = tf.Section(EA=1e6, GA=1e7, GJ=5.0, EI=10.0, mass=0.5, inertia=(1e-6, 5e-7, 5e-7))
    beam, tip = tf.Beam(1.0, section, 4, name="beam"), tf.RigidBody(0.3, (1e-7, 1e-7, 1e-7), name="tip")
    system = tf.System([beam, tip, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0), name="clamp"),
                        tf.Weld(tip, beam.end, point_a=(0, 0, 0), point_b=(0, 0, 0), name="weld")])
    with pytest.warns(UserWarning, match="joints close far from the given poses: .* 'weld: gap, x' was off by 1"):
        tf.modes(system)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tf.modes(system, {tip: tf.Pose((1, 0, 0))})

    def characteristic(x):
        return 1 + np.cos(x) * np.cosh(x) - 0.6 * x * (np.sin(x) * np.cosh(x) - np.cos(x) * np.sinh(x))

    exact = scipy.optimize.brentq(characteristic, 0.5, 2)
    assert abs(found.frequencies[0] - exact**2 * np.sqrt(20) / (2 * np.pi)) < 1e-3 * found.frequencies[0]


def test_rounding_of_an_assembly_moves_no_eigenvalue():
    """Entries of 1e-174, of the last correction of the assembly, made all eigenvalues zero."""
    hub, arm, tip = (tf.RigidBody(1.0, (j, j, j), name=name) for j, name in ((1, "hub"), (0.1, "arm"), (0.1, "tip")))
    system = tf.System([hub, arm, tip,
                        tf.Revolute(hub, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1)),
                        tf.Weld(hub, arm, point_a=(0.5, 0, 0), point_b=(-0.5, 0, 0)),
                        tf.Spherical(arm, tip, point_a=(0.5, 0, 0), point_b=(-0.5, 0, 0))])
    with pytest.warns(UserWarning, match="far from the given poses"):
        model = tf.linearize(system, {hub: tf.Pose(angular_velocity=(0, 0, 6.0))})
    a = np.where(np.abs(model.A) > 1e-20, model.A, 0.0)
    expected = np.sort(np.abs(np.linalg.eigvals(a)))[-4:]
    assert expected[0] > 1
    assert np.allclose([abs(mode.eigenvalue) for mode in model.modes()][:2], expected[[0, 2]], rtol=1e-9, atol=0)
    with pytest.warns(UserWarning, match="not steady"):
        tf.modes(system, {hub: tf.Pose(angular_velocity=(0, 0, 6.0))})


def test_responses_of_thin_beams():
    """Tip of a cantilever, `(cosh x sin x - sinh x cos x) / (E I k^3 (1 + cosh x cos x))`, x = k L: rounding of turns
    of thin sections, of 1e17 / s, made 0.15 + 0.02i of 0.17, silently."""
    bending, mass, delay, w = 2.0, 0.5, 1e-3, np.array([1.0, 5.0, 20.0, 100.0])
    section = tf.Section(EA=1e6, GA=1e7, GJ=5.0, EI=bending, mass=mass, inertia=(2e-9, 1e-9, 1e-9), damping=delay)
    beam = tf.Beam(1.0, section, 6, 3, name="beam")
    system = tf.System([beam, tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0)),
                        tf.ControlForce(beam.end, directions=[(0, 0, 1)], name="push")])
    found = tf.linearize(system, outputs=["beam.end.position[2]"]).frequency_response(w)[:, 0, 0]
    bending = bending * (1 + 1j * w * delay)
    k = (mass * w**2 / bending)**0.25
    exact = (np.cosh(k) * np.sin(k) - np.sinh(k) * np.cos(k)) / (bending * k**3 * (1 + np.cosh(k) * np.cos(k)))
    np.testing.assert_allclose(found, exact, rtol=1e-4)


def test_a_state_that_is_left_out_is_asked_for_as_a_number():
    lag = tf.State("lag", "-x[0]")
    with pytest.raises(tf.InputError, match="state of lag is missing: give it as a number"):
        tf.linearize(tf.System([lag]))
