"""Dense output, invariants and constraints of a solution against their definitions."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, spinning_box
from timefem.mechanics.bodies.rotations import matrix_from_quaternion

ELEMENTS = [tf.MixedGalerkin(1), tf.MixedGalerkin(3), tf.MixedGalerkin(4, nodes="lobatto"),
            tf.BubnovGalerkin(2), tf.BubnovGalerkin(3, multipliers="continuous")]


@pytest.fixture(scope="module", params=ROTATIONS)
def swing(request):
    return tf.solve(pendulum(request.param, 1.0), tf.MixedGalerkin(2), 10, progress=False)


@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_dense_output_reproduces_nodal_values(element):
    sol = tf.solve(pendulum(t_end=0.5), element, 5, progress=False)
    mesh = tf.TimeMesh(sol.t)
    assert np.abs(sol(mesh.points(element.state.basis)) - sol.nodal.state).max() <= 1e-12 * np.abs(sol.z).max()
    assert np.array_equal(sol(sol.t), sol.z)
    # multipliers may jump between elements, so that only inner points are distinguished
    inner = (element.multiplier.basis.points > 0) & (element.multiplier.basis.points < 1)
    times = mesh.points(element.multiplier.basis)[:, inner]
    np.testing.assert_allclose(sol.multipliers(times, kind="element"), sol.nodal.multipliers[:, inner], rtol=0,
                               atol=1e-10 * np.abs(sol.nodal.multipliers).max())


def test_dense_output_is_the_polynomial_of_the_nodes():
    sol = tf.solve(spinning_box(t_end=0.4), tf.MixedGalerkin(3), 8, progress=False)
    for e in (0, 7):
        nodes = np.linspace(sol.t[e], sol.t[e + 1], 4)
        t = np.linspace(nodes[0], nodes[-1], 7)[1:-1]
        fit = np.polynomial.Polynomial.fit(nodes, sol.nodal.state[e, :, 4], 3)
        np.testing.assert_allclose(sol(t)[:, 4], fit(t), rtol=0, atol=1e-12)


def test_shapes_follow_the_times(swing):
    n_q, m = swing.system.n_q, swing.system.n_constraints
    for times, shape in ((0.3, ()), ([0.1, 0.2], (2,)), (np.full((2, 3), 0.7), (2, 3)), (np.zeros(0), (0,))):
        assert swing(times).shape == (*shape, 2 * n_q)
        assert swing.multipliers(times).shape == (*shape, 2 * m)
        assert swing.energy(times).shape == shape
        assert swing.rotation_matrix("pendulum", times).shape == (*shape, 3, 3)
        assert swing.angular_momentum(times).shape == (*shape, 3)
        assert [level.shape for level in swing.constraints(times)] == [(*shape, m), (*shape, m)]
        for name in ("position", "velocity", "angular_velocity"):
            assert getattr(swing, name)("pendulum", times).shape == (*shape, 3)


@pytest.mark.parametrize("time", [-0.01, 1.01, float("nan")])
def test_times_outside_are_refused(swing, time):
    for function in (swing, swing.multipliers, swing.energy, swing.to_dict):
        with pytest.raises(tf.InputError, match="time"):
            function([0.5, time])


def test_unknown_body_is_named(swing):
    with pytest.raises(tf.InputError, match=r"'wheel'.*pendulum"):
        swing.position("wheel", 0.0)


def test_invariants_of_two_bodies():
    """Energy and momenta from positions, velocities and angular velocities, for poses that are not aligned."""
    turn = matrix_from_quaternion(np.array([0.8, 0.0, 0.6, 0.0]))
    inertia = turn @ np.diag([2.0, 3.0, 4.0]) @ turn.T
    mass, g = {"a": 2.0, "b": 5.0}, np.array([0.5, 0.0, -9.81])
    bodies = {"a": tf.RigidBody(2, inertia, name="a"), "b": tf.RigidBody(5, inertia, "directors", name="b")}
    poses = {"a": tf.Pose([1, 2, 3], [0.6, 0, 0, 0.8], [1, 0, -2], [3, 2, 1]),
             "b": tf.Pose([-1, 0, 2], [0, 0.6, 0.8, 0], [0, 4, 1], [1, -2, 0.5])}
    system = tf.System(list(bodies.values()), gravity=g)
    sol = tf.solve(tf.InitialValueProblem(system, poses, (0, 0.1)), tf.MixedGalerkin(2), 2, progress=False)
    energy, momentum, spin = 0.0, 0.0, 0.0
    for name, pose in poses.items():
        np.testing.assert_allclose(sol.position(name, 0), pose.position, rtol=0, atol=1e-14)
        np.testing.assert_allclose(sol.velocity(name, 0), pose.velocity, rtol=0, atol=1e-14)
        np.testing.assert_allclose(sol.angular_velocity(name, 0), pose.angular_velocity, rtol=0, atol=1e-12)
        r = sol.rotation_matrix(name, 0)
        np.testing.assert_allclose(r, matrix_from_quaternion(pose.quaternion), rtol=0, atol=1e-14)
        np.testing.assert_allclose(sol.angular_velocity(name, 0, "space"), r @ pose.angular_velocity, atol=1e-12)
        m, x, v, omega = mass[name], pose.position, pose.velocity, pose.angular_velocity
        energy += m * v @ v / 2 + omega @ inertia @ omega / 2 - m * g @ x
        momentum += m * v
        spin += np.cross(x, m * v) + r @ inertia @ omega
    assert sol.energy()[0] == pytest.approx(energy, rel=1e-13)
    assert sol.energy(0.0) == pytest.approx(energy, rel=1e-13)
    np.testing.assert_allclose(sol.linear_momentum()[0], momentum, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sol.angular_momentum()[0], spin, rtol=0, atol=1e-12)
    # gravity changes the momentum at a known rate
    np.testing.assert_allclose(sol.linear_momentum(0.1), momentum + 0.1 * 7 * g, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sol.position("b", 0.1), [-1, 0, 2] + 0.1 * poses["b"].velocity + 0.005 * g, atol=1e-12,
                               rtol=0)


def test_constraints_of_the_pendulum(swing):
    t = np.array([0.05, 0.37])  # inside of elements, where constraints are not exactly zero
    configuration, _ = swing.constraints(t)
    support = -swing.position("pendulum", t) + 5 * swing.rotation_matrix("pendulum", t)[:, :, 1]
    np.testing.assert_allclose(configuration[:, -3:], support, rtol=0, atol=1e-14)
    errors = swing.errors()
    ends = swing.constraints()
    assert errors["configuration"] == np.abs(ends[0]).max() < 1e-12
    own = int("quaternion_momentum" in errors)  # kg m^2/s, the others m/s and 1/s
    assert errors["velocity"] == np.abs(ends[1][:, own:]).max() < 1e-10
    assert errors.get("quaternion_momentum", 0) == np.abs(ends[1][:, :own]).max(initial=0) < 1e-10
    assert errors["energy"] == np.abs(swing.energy() - swing.energy()[0]).max() < 1e-8
    drift = np.abs(swing.angular_momentum() - swing.angular_momentum()[0]).max(axis=0)
    assert errors["angular_momentum"] == drift[2] < 1e-8 < drift.max()


def test_errors_have_the_momenta_that_no_moment_changes():
    """Of a hinge that is not at the origin: about its axis where that is vertical; weight turns about a tilted one."""
    body = tf.RigidBody(2.0, (1, 2, 3), name="door")
    for axis, kept in (((0, 0, 1), True), ((0, 1, 1), False)):
        hinge = tf.Revolute(body, point_a=(0.3, 0, 0), point_b=(1, 2, 0), axis_a=axis, axis_b=axis, name="hinge")
        system = tf.System([body, hinge], gravity=(0, 0, -9.81))
        sol = tf.solve(tf.InitialValueProblem(system, {hinge: (0.2, 1.0)}, (0, 0.2)), tf.MixedGalerkin(2), 4)
        assert ("angular_momentum" in sol.errors()) == kept
        assert (sol.errors().get("angular_momentum", 1.0) < 1e-12) == kept
        assert np.abs(sol.angular_momentum() - sol.angular_momentum()[0]).max() > 1e-3


def test_multiplier_of_the_support_is_its_force():
    """At the start a horizontal bar held at its end: F = M g - M a, a = (M g l/2)/I_pivot * l/2 downwards."""
    sol = tf.solve(pendulum(t_end=0.01), tf.MixedGalerkin(2), 10, progress=False)
    force = sol.multipliers(0.0)[1:4]
    inertia = 100 * (10**2 + 1) / 12 + 100 * 5**2
    assert force[2] == pytest.approx(100 * 9.81 * (1 - 100 * 5**2 / inertia), rel=1e-3)
    assert np.abs(force[:2]).max() < 2
