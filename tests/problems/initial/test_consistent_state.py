"""Assembly from approximate poses, projection of velocities, redundant constraints."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum
from timefem.mechanics.states.consistent import factor_spd
from timefem.mechanics.states.redundancy import minimum_norm_multipliers
from timefem.mechanics.values.measures import OPTIONS

Z = [0, 0, 1]


def about_z(angle):
    return [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]


def link(length, rotation, name):
    return tf.RigidBody(length, [0.01, length**3 / 12, length**3 / 12], rotation, name=name)


def pose(start, end, rate=0.0):
    """Pose of a link in the plane; it turns about its start."""
    start, end = np.array([*start, 0.0]), np.array([*end, 0.0])
    arm = (end - start) / 2
    return tf.Pose(start + arm, about_z(np.arctan2(arm[1], arm[0])), np.cross([0, 0, rate], arm), [0, 0, rate])


def perturbed(pose, rng, size=0.05):
    position, turn = pose.position + size * rng.standard_normal(3), pose.quaternion + size * rng.standard_normal(4)
    return tf.Pose(position, turn / np.linalg.norm(turn), pose.velocity, pose.angular_velocity)


def ends(length):
    return [-length / 2, 0, 0], [length / 2, 0, 0]


A, B, C, D = 1.0, 3.0, 2.5, 3.5  # crank, coupler, rocker, frame


def four_bar(rotation, redundant=None, lengths=(A, B, C, D), **options):
    """Crank, coupler and rocker; revolutes at all corners, or joints that leave one degree of freedom exactly."""
    a, b, c, d = lengths
    crank, coupler, rocker = (link(x, rotation, n) for x, n in zip((a, b, c), ("crank", "coupler", "rocker")))
    (a0, a1), (b0, b1), (c0, c1) = ends(a), ends(b), ends(c)
    axes = {"axis_a": Z, "axis_b": Z}
    joints = [tf.Revolute(crank, point_a=a0, point_b=[0, 0, 0], name="O", **axes),
              tf.Revolute(rocker, point_a=c0, point_b=[d, 0, 0], name="P", **axes)]
    if redundant:
        joints += [tf.Revolute(coupler, crank, point_a=b0, point_b=a1, name="Q", **axes),
                   tf.Revolute(coupler, rocker, point_a=b1, point_b=c1, name="R", **axes)]
        options["redundant"] = redundant
    else:
        joints += [tf.Universal(coupler, crank, point_a=b0, point_b=a1, axis_a=[0, 1, 0], axis_b=Z, name="Q"),
                   tf.Spherical(coupler, rocker, point_a=b1, point_b=c1, name="R")]
    return tf.System([crank, coupler, rocker, *joints], **options)


def four_bar_motion(theta, omega):
    """Corners Q and R, and angular velocities of coupler and rocker."""
    q, p = A * np.array([np.cos(theta), np.sin(theta)]), np.array([D, 0.0])
    gap = p - q
    e = np.linalg.norm(gap)
    along = (B**2 - C**2 + e**2) / (2 * e)
    r = q + along * gap / e + np.sqrt(B**2 - along**2) * np.array([-gap[1], gap[0]]) / e
    u, v = (np.array([-x[1], x[0]]) for x in (r - q, r - p))
    # omega x q + coupler u = rocker v
    return q, r, np.linalg.solve(np.column_stack([u, -v]), -omega * np.array([-q[1], q[0]]))


def four_bar_poses(theta, omega=0.0):
    q, r, _ = four_bar_motion(theta, omega)
    return {"crank": pose((0, 0), q, omega), "coupler": pose(q, r), "rocker": pose((D, 0), r)}


def z_of(system, states):
    return np.concatenate([*(states[b].q for b in system.bodies), *(states[b].p for b in system.bodies)])


def assert_consistent(system, states, t=0.0):
    z = z_of(system, states)
    theta, jacobian = system.constraints(t, z), system.derivatives(t, z)[1]
    np.testing.assert_array_less(np.abs(theta) / np.maximum(1, abs(jacobian) @ np.abs(z)), 1e-12)


def angular_velocity(body, state):
    return body.angular_velocity(state.q, state.p, "space")


@pytest.mark.parametrize("redundant", [None, "refuse"])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_four_bar(rotation, redundant):
    system, rng, omega = four_bar(rotation, redundant), np.random.default_rng(1), 2.0
    _, coupler, rocker = system.bodies
    for theta in (0.4, 1.5, 3.0):
        given = four_bar_poses(theta, omega)
        q, r, (w_coupler, w_rocker) = four_bar_motion(theta, omega)
        start = {n: x if n == "crank" else perturbed(x, rng) for n, x in given.items()}
        states = tf.assemble(system, start, fix=["crank"])
        assert_consistent(system, states)
        np.testing.assert_allclose(coupler.position(states[coupler].q)[:2], (q + r) / 2, rtol=0, atol=1e-11)
        assert states[rocker].q[2] == pytest.approx(0, abs=1e-11)
        for body, w in zip(system.bodies, (omega, w_coupler, w_rocker)):
            np.testing.assert_allclose(angular_velocity(body, states[body]), [0, 0, w], rtol=0, atol=1e-10)
        everything = {n: perturbed(x, rng) for n, x in given.items()}
        assert_consistent(system, tf.assemble(system, everything))


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_slider_crank(rotation):
    radius, length, theta, omega = 1.0, 3.0, 0.8, 5.0
    crank, rod = link(radius, rotation, "crank"), link(length, rotation, "rod")
    block = tf.RigidBody(2, [1, 1, 1], rotation, name="block")
    (a0, a1), (b0, b1) = ends(radius), ends(length)
    system = tf.System([
        crank, rod, block,
        tf.Revolute(crank, point_a=a0, point_b=[0, 0, 0], axis_a=Z, axis_b=Z),
        tf.Universal(rod, crank, point_a=b0, point_b=a1, axis_a=[0, 1, 0], axis_b=Z),
        tf.Spherical(rod, block, point_a=b1, point_b=[0, 0, 0]),
        tf.Prismatic(block, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_b=[1, 0, 0])])
    pin = radius * np.array([np.cos(theta), np.sin(theta)])
    root = np.sqrt(length**2 - pin[1]**2)
    x, speed = pin[0] + root, -omega * pin[1] * (1 + pin[0] / root)
    rng = np.random.default_rng(2)
    start = {crank: pose((0, 0), pin, omega), rod: perturbed(pose(pin, (x, 0)), rng),
             block: perturbed(tf.Pose([x, 0, 0]), rng)}
    states = tf.assemble(system, start, fix=crank)
    assert_consistent(system, states)
    np.testing.assert_allclose(block.position(states[block].q), [x, 0, 0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(block.velocity(states[block].q, states[block].p), [speed, 0, 0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(angular_velocity(rod, states[rod]), [0, 0, -omega * pin[0] / root], rtol=0, atol=1e-10)
    # the problem takes the same approximate poses, and starts
    problem = tf.InitialValueProblem(system, start, (0, 0.1), assemble=True)
    assert tf.solve(problem, tf.MixedGalerkin(1), 5).success


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("n", [4, 5, 10, 100])
def test_closed_chain(n, rotation):
    links = [link(1.0, rotation, f"link {i}") for i in range(n)]
    start, end = ends(1.0)
    system = tf.System([*links, *(tf.Spherical(a, b, point_a=end, point_b=start)
                                  for a, b in zip(links, links[1:] + links[:1]))])
    angles = 2 * np.pi * np.arange(n) / n
    corners = np.column_stack([np.cos(angles), np.sin(angles)]) / (2 * np.sin(np.pi / n))
    rng = np.random.default_rng(n)
    states = {b: perturbed(pose(c, d, rng.standard_normal()), rng)
              for b, c, d in zip(links, corners, np.roll(corners, -1, axis=0))}
    states = tf.assemble(system, states)
    assert_consistent(system, states)
    problem = tf.InitialValueProblem(system, states, (0, 1))
    assert tf.redundant_constraints(system, 0, problem.z0) == []


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_velocity_of_a_pendulum(rotation):
    """The projection keeps the spin about the support: that of the given momenta, over the inertia there."""
    system = pendulum(rotation).system
    body, = system.bodies
    given = tf.Pose(position=[0, 5, 0], velocity=[1, 2, 3], angular_velocity=[0.5, 0.2, 0.1])
    state = tf.assemble(system, {body: given})[body]
    inertia = np.diag(body.inertia) + 100 * np.array([25, 0, 25])
    expected = (np.diag(body.inertia) * [0.5, 0.2, 0.1] + 100 * np.cross([0, 5, 0], [1, 2, 3])) / inertia
    np.testing.assert_allclose(body.angular_velocity(state.q, state.p), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(body.velocity(state.q, state.p), np.cross(expected, [0, 5, 0]), rtol=0, atol=1e-12)
    # a consistent state stays as it is, given either way
    again = tf.assemble(system, {body: state})[body]
    np.testing.assert_allclose(np.r_[again.q, again.p / 100], np.r_[state.q, state.p / 100], rtol=0, atol=1e-12)


def test_prescribed_motion_and_point_masses():
    from casadi import sin

    bead, weight = tf.PointMass(1.0, name="bead"), tf.PointMass(2.0, name="weight")
    system = tf.System([bead, weight, tf.PrescribedPosition(bead, lambda t: (sin(t), 0, 0)),
                        tf.RigidDistance(bead, weight, length=2.0)])
    states = tf.assemble(system, {weight: tf.Pose([0, -1.5, 0.1])}, t=0.5)
    assert_consistent(system, states, t=0.5)
    np.testing.assert_allclose(states[bead].p, [np.cos(0.5), 0, 0], rtol=0, atol=1e-12)


def test_generalized_coordinates():
    """A bead on a circle, in polar coordinates with a mass matrix that varies, keeps its rates."""
    system = tf.GeneralizedSystem(2, lambda q, v, c: (v[0]**2 + q[0]**2 * v[1]**2) / 2,
                                  constraints=lambda q, c: [q[0] - 2])
    body, = system.bodies
    state = tf.assemble(system, tf.Coordinates([1.0, 0.3], [0.5, 3.0]))[body]
    np.testing.assert_allclose(state.q, [2, 0.3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(state.p, [0, 2**2 * 3.0], rtol=0, atol=1e-14)
    again = tf.assemble(system, {body: tf.Coordinates([1.0, 0.3], [0.5, 3.0])})[body]  # as a dict, too
    np.testing.assert_array_equal(np.r_[again.q, again.p], np.r_[state.q, state.p])
    problem = tf.InitialValueProblem(system, tf.Coordinates([1.0, 0.3], [0.5, 3.0]), (0, 1), assemble=True)
    np.testing.assert_array_equal(problem.z0, [*state.q, *state.p])


# ---- redundant constraints


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_redundant_four_bar(rotation):
    gravity, element = [0, -9.81, 0], tf.MixedGalerkin(2)
    start = four_bar_poses(1.0, 2.0)
    options = {"fix": ["crank"]}
    system = four_bar(rotation, "refuse", gravity=gravity)
    states = tf.assemble(system, start, **options)
    names = tf.redundant_constraints(system, 0, z_of(system, states))
    assert names == ["R: second tilt of the axis", "R: first tilt of the axis", "R: gap, z"]
    with pytest.raises(tf.InputError, match=r"'R: second tilt of the axis', 'R: first tilt .*redundant='drop'"):
        tf.solve(tf.InitialValueProblem(system, states, (0, 0.5)), element, 10)

    motions = []
    for redundant in ("drop", None):
        system = four_bar(rotation, redundant, gravity=gravity)
        problem = tf.InitialValueProblem(system, tf.assemble(system, start, **options), (0, 0.5))
        motions.append(tf.solve(problem, element, 200))
        assert motions[-1].success
    dropped, exact = motions
    assert list(dropped.system.dropped) == names[::-1]
    np.testing.assert_allclose(dropped.z[:, :dropped.system.n_q], exact.z[:, :exact.system.n_q], rtol=0, atol=1e-9)

    t = np.array([0.0, 0.2, 0.5])
    z, kept = dropped(t), dropped.multipliers(t)
    shared = minimum_norm_multipliers(dropped.system, t, z, kept)
    complete, m = dropped.system.complete, dropped.system.complete.n_constraints
    for i in range(len(t)):
        force = complete.derivatives(t[i], z[i])[1].T @ shared[i]
        np.testing.assert_allclose(force, dropped.system.derivatives(t[i], z[i])[1].T @ kept[i], rtol=0, atol=1e-6)
        assert np.linalg.norm(shared[i]) <= np.linalg.norm(kept[i]) * (1 + 1e-9)
    assert m == dropped.system.n_constraints + 3


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_sparse_and_dense_arrays_find_the_same(rotation, monkeypatch):
    """Large systems take sparse ones, small ones NumPy's."""
    found = []
    for largest in (100_000, 0):
        monkeypatch.setattr("timefem.mechanics.values.at_start.OPTIONS", replace(OPTIONS, dense=largest))
        system = four_bar(rotation, "refuse", gravity=[0, -9.81, 0])
        rng = np.random.default_rng(2)
        given = {n: x if n == "crank" else perturbed(x, rng) for n, x in four_bar_poses(1.0, 2.0).items()}
        z = z_of(system, tf.assemble(system, given, fix=["crank"]))
        found.append((z, tf.redundant_constraints(system, 0, z)))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-11)
    assert found[0][1] == found[1][1] and len(found[0][1]) == 3


def test_joint_given_twice():
    """A joint that repeats another one entirely goes, whatever the order of parts."""
    body = tf.RigidBody(1, [2, 2, 3], "directors", name="body")
    joints = [tf.FixedPoint(body, [0, 0, 1], at=[0, 0, 1], name=n) for n in ("first", "second")]
    gravity = [0, -1, 0]
    system = tf.System([*joints, body], gravity, redundant="drop")
    solutions = [tf.solve(tf.InitialValueProblem(s, {}, (0, 1)), tf.MixedGalerkin(1), 10)
                 for s in (system, tf.System([joints[0], body], gravity))]
    assert solutions[0].system.dropped == [f"second: fixed point, {x}" for x in "xyz"]
    np.testing.assert_allclose(solutions[0].z, solutions[1].z, rtol=0, atol=1e-12)
    shared = minimum_norm_multipliers(solutions[0].system, 0.5, solutions[0](0.5), solutions[0].multipliers(0.5))
    np.testing.assert_allclose(shared[:3], shared[3:6], rtol=0, atol=1e-12)
    np.testing.assert_allclose(2 * shared[:3], solutions[0].multipliers(0.5)[:3], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(solutions[1].multipliers([0, 0.5], minimum_norm=True),
                                  solutions[1].multipliers([0, 0.5]))  # the only ones


def test_long_redundant_chain():
    """Of a closed planar ring of revolutes three constraints are redundant, however long it is."""
    n = 40
    links = [link(1.0, "quaternion", f"link {i}") for i in range(n)]
    start, end = ends(1.0)
    system = tf.System([*links, *(tf.Revolute(a, b, point_a=end, point_b=start, axis_a=Z, axis_b=Z, name=a.name[5:])
                                  for a, b in zip(links, links[1:] + links[:1]))])
    angles = 2 * np.pi * np.arange(n) / n
    corners = np.column_stack([np.cos(angles), np.sin(angles)]) / (2 * np.sin(np.pi / n))
    states = tf.assemble(system, {b: pose(c, d) for b, c, d in zip(links, corners, np.roll(corners, -1, axis=0))})
    names = tf.redundant_constraints(system, 0, z_of(system, states))
    assert len(names) == 3 and all(name.startswith("39: ") for name in names)


def test_nearly_redundant():
    """A rod that almost points at the held point: nothing to name, but no multipliers either."""
    body = tf.RigidBody(1, [1, 1, 1], name="body")
    system = tf.System([body, tf.FixedPoint(body, [0, 0, 0]),
                        tf.RigidDistance(body, point_a=[1, 0, 0], point_b=[2, 1e-7, 0], length=1)])
    problem = tf.InitialValueProblem(system, {}, (0, 1))
    assert tf.redundant_constraints(system, 0, problem.z0) == []
    with pytest.raises(tf.InputError, match="nearly redundant"):
        system.consistent_multipliers(0, problem.z0)


# ---- what goes wrong


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_bars_too_short(rotation):
    system = four_bar(rotation, lengths=(1.0, 1.0, 1.0, 5.0))
    with pytest.raises(tf.InputError, match=r"cannot be assembled.*'[OPQR]: .*violated by .*lengths"):
        tf.assemble(system, four_bar_poses(1.0))


def test_velocity_that_cannot_be():
    body = tf.RigidBody(1, [1, 1, 1], name="body")
    system = tf.System([body, tf.FixedPoint(body, [0, 0, 1], at=[0, 0, 1], name="pin")])
    with pytest.raises(tf.InputError, match=r"no velocities satisfy the constraint 'pin: fixed point, x'.*by 1"):
        tf.assemble(system, {body: tf.Pose(velocity=[1, 0, 0])}, fix=[body])


@pytest.mark.parametrize("arguments, message", [
    (({}, np.nan), "t must be finite"), ((3,), "must be a dict"), (({"x": tf.Pose()},), "no body 'x'"),
    (({"pendulum": 3},), "must be a Pose, Coordinates or CanonicalState")])
def test_bad_arguments(arguments, message):
    with pytest.raises(tf.InputError, match=message):
        tf.assemble(pendulum().system, *arguments)
    with pytest.raises(tf.InputError, match="no body 3"):
        tf.assemble(pendulum().system, {}, fix=3)
    with pytest.raises(tf.InputError, match="redundant must be one of 'refuse', 'drop'"):
        tf.System([tf.PointMass(1)], redundant="keep")


def test_backends_agree():
    pytest.importorskip("sksparse")
    rng = np.random.default_rng(0)
    a = sp.random_array((200, 200), density=0.02, rng=rng)
    matrix, b = a @ a.T + sp.eye_array(200), rng.standard_normal(200)
    solutions = [factor_spd(matrix, backend)(b) for backend in ("cholmod", "superlu")]
    np.testing.assert_allclose(*solutions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(matrix @ solutions[0], b, rtol=0, atol=1e-12)


def test_assembly_without_scikit_sparse(monkeypatch):
    system, rng = four_bar("quaternion", "refuse"), np.random.default_rng(3)
    start = {n: perturbed(x, rng) for n, x in four_bar_poses(1.0, 2.0).items()}
    states = [tf.assemble(system, start)]
    monkeypatch.setitem(sys.modules, "sksparse.cholmod", None)
    with pytest.raises(ImportError):
        factor_spd(sp.eye_array(2), "cholmod")
    states.append(tf.assemble(system, start))
    # redundant constraints: rounding times 1e12 moves the state along the constraints, which hold in both
    np.testing.assert_allclose(*(z_of(system, s) for s in states), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", [tf.Revolute, tf.Spherical, tf.Universal, tf.Cylindrical])
def test_thin_bodies(kind):
    """Inertia J, J, 1e-7 J: steps spun them about themselves, and products lost half of the digits."""
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 4, 1, 2):
        parts, states, last = [], {}, None
        for i in range(n):
            body = tf.RigidBody(10**rng.uniform(-1, 1), 10**rng.uniform(-3, 0) * np.array([1, 1, 1e-7]), name=f"{i}")
            axes = {} if kind is tf.Spherical else {"axis_a": rng.normal(size=3), "axis_b": rng.normal(size=3)}
            points = {"point_a": 0.3 * rng.normal(size=3), "point_b": 0.3 * rng.normal(size=3)}
            parts, last = [*parts, body, kind(body, last, **points, **axes)], body
            turn = rng.normal(size=4)
            states[body] = tf.Pose(0.3 * rng.normal(size=3), turn / np.linalg.norm(turn), *rng.normal(size=(2, 3)))
        system = tf.System(parts)
        z = tf.InitialValueProblem(system, states, (0, 1), assemble=True).z0
        theta = system.constraints(0.0, z)
        assert np.abs(theta[:system.n_constraints]).max() < 1e-11
        assert np.abs(theta[system.n_constraints:]).max() < 1e-7  # momenta have digits for 1e-9 of the fastest spin
