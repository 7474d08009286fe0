"""Outputs of systems, and the trajectories that can prescribe them."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.time_functions import derivatives, first_jump


def values(function, n, times):
    t, jets = derivatives(function, n)
    return np.array(ca.Function("f", [t], [ca.vertcat(*jets)]).map(len(times))(np.reshape(times, (1, -1))))


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_outputs_of_a_rigid_body(rotation):
    body = tf.RigidBody(1.0, (2.0, 2.5, 3.0), rotation=rotation)
    system = tf.System([body])
    angle = 0.7
    pose = tf.Pose((1, 2, 3), (np.cos(angle / 2), np.sin(angle / 2), 0, 0))
    z = tf.InitialValueProblem(system, {body: pose}, (0, 1)).z0
    point = (0.1, 0.2, 0.3)
    turned = np.array([0.1, 0.2 * np.cos(angle) - 0.3 * np.sin(angle), 0.2 * np.sin(angle) + 0.3 * np.cos(angle)])
    for i, axis in enumerate("xyz"):
        output = tf.PositionOutput(body, axis, point)
        assert output.evaluate(system, z) == pytest.approx((turned + [1, 2, 3])[i], rel=1e-14)
    oblique = tf.PositionOutput(body, (0, 3, 4), point)
    expected = 0.6 * (turned[1] + 2) + 0.8 * (turned[2] + 3)
    assert oblique.evaluate(system, np.stack([z, z])) == pytest.approx([expected, expected])
    assert tf.AngleOutput(body, "x", (0, 1, 0)).evaluate(system, z) == pytest.approx(angle)
    from_z = tf.AngleOutput(body, "x", (0, 1, 0), reference=(5, 0, 1))
    assert from_z.evaluate(system, z) == pytest.approx(angle - np.pi / 2)
    assert tf.FormulaOutput(lambda q: q[0]**2 + q[1], body).evaluate(system, z) == pytest.approx(3)


def test_deviation_of_an_angle_counts_no_turns():
    body = tf.RigidBody(1.0, (1.0, 2.0, 3.0))
    output = tf.AngleOutput(body, "z", (1, 0, 0))
    q = np.array([0, 0, 0, np.cos(1.5), 0, 0, np.sin(1.5)])
    assert float(output.deviation(3.0 + 4 * np.pi, ca.DM(q))) == pytest.approx(0, abs=1e-13)
    assert float(output.deviation(3.5, ca.DM(q))) == pytest.approx(-0.5)


def test_refused_outputs():
    point, body = tf.PointMass(1.0), tf.RigidBody(1.0, (1.0, 1.0, 1.0))
    for make, message in ((lambda: tf.PositionOutput(point, "w"), "axis must be 'x', 'y', 'z' or a vector"),
                          (lambda: tf.PositionOutput(point, "x", (1, 0, 0)), "no points but its own"),
                          (lambda: tf.CoordinateOutput(point, 3), "index must be below 3"),
                          (lambda: tf.AngleOutput(body, "x", (0, 1, 0), (1, 0, 0)), "has no angle"),
                          (lambda: tf.AngleOutput(point, "x", (0, 1, 0)), "must be a RigidBody"),
                          (lambda: tf.FormulaOutput(lambda q: q[:2], point), "must return 1 value"),
                          (lambda: tf.FormulaOutput(lambda q: ca.SX.sym("a"), point), "contains the symbols a"),
                          (lambda: tf.FormulaOutput([point], lambda q: q[0]), "the formula comes first")):
        with pytest.raises(tf.InputError, match=message):
            make()


@pytest.mark.parametrize("smoothness", [1, 2, 4, 7])
def test_transfer(smoothness):
    transfer = tf.Transfer(1.0, 3.0, 2.0, -1.0, smoothness)
    assert np.allclose(transfer(np.array([0.0, 1.0, 2.0, 3.0, 5.0])), [2, 2, 0.5, -1, -1], rtol=0, atol=1e-12)
    ends, inside = (values(transfer, smoothness, t)[1:] for t in ([1 + 1e-9, 3 - 1e-9], np.linspace(1.1, 2.9, 20)))
    assert np.all(np.abs(ends).max(axis=1) < 1e-6 * np.abs(inside).max(axis=1))
    assert first_jump(transfer, smoothness, (0, 4)) is None
    assert first_jump(transfer, smoothness + 1, (0, 4)) == (smoothness + 1, 1.0)
    assert first_jump(transfer, smoothness + 1, (1, 3)) is None  # both jumps are at the ends of the time span


def test_transfer_is_ramp():
    t = np.linspace(0, 4, 50)
    assert np.allclose(tf.Transfer(1, 3, 0, 2, 2)(t), tf.Ramp(1, 3, 0, 2, "smooth")(t), rtol=0, atol=1e-14)


def test_polynomial():
    f = tf.Polynomial([1.0, -2.0, 0.5, 3.0], t0=1.0)
    t = np.linspace(-1, 3, 9)
    assert np.allclose(f(t), np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])(t - 1), rtol=1e-14)
    assert np.allclose(values(f, 3, t)[3], 18.0)


@pytest.mark.parametrize(("degree", "ends"), [(3, "not-a-knot"), (5, "not-a-knot"), (5, "rest"), (7, "rest")])
def test_spline(degree, ends):
    from scipy.interpolate import make_interp_spline

    times = np.linspace(0, 2, 12)
    f = tf.Spline(times, np.sin(times), degree, ends)
    rest = ([(i, 0.0) for i in range(1, (degree + 1) // 2)],) * 2 if ends == "rest" else None
    other = make_interp_spline(times, np.sin(times), degree, bc_type=rest)
    t = np.linspace(0, 2, 77)
    for derivative in range(degree):
        expected = other(t, derivative)
        assert np.allclose(values(f, derivative, t)[-1], expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert first_jump(f, degree - 1, (0, 2)) is None
    assert first_jump(f, degree, (0, 2))[0] == degree


def test_refused_trajectories():
    for make, message in ((lambda: tf.Transfer(1, 1, 0, 1), "times must increase"),
                          (lambda: tf.Transfer(0, 1, 0, 1, 0), "smoothness must be at least 1"),
                          (lambda: tf.Polynomial([]), "at least one coefficient"),
                          (lambda: tf.Spline([0, 1, 2], [0, 1, 2], 4), "degree must be odd"),
                          (lambda: tf.Spline([0, 1, 2], [0, 1, 2], 5), "degree 5 needs 6 times")):
        with pytest.raises(tf.InputError, match=message):
            make()
