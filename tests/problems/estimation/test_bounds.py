"""Unknown numbers with bounds: as if they were given there, named, and without a standard deviation."""

import numpy as np
import pytest

import timefem as tf

from .test_kinematic import SIGMA, markers, measured_arm, points, solve

TIMES = np.arange(1, 13) / 12


def damped(damping, prior=None):
    """A rod with a damper; a marker, a bias that is not known, and perhaps the damping."""
    rng = np.random.default_rng(1)
    rod = tf.RigidBody(0.8, (0.001, 0.02, 0.02), name="rod")
    hinge = tf.Revolute(rod, point_a=(-0.3, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    system = tf.System([rod, hinge, tf.JointDamper(hinge, damping=damping, name="friction")], gravity=(0, 0, -9.81))
    angle = 0.4 + np.pi / 2 * (1 - np.cos(3 * TIMES)) / 2
    seen = 0.6 * np.stack([np.cos(angle), -np.sin(angle)], axis=1) + 0.005 * rng.standard_normal((12, 2))
    camera = tf.Marker("rod", (0.3, 0, 0), axes="xz", times=TIMES, values=seen, sigma=0.02, name="camera",
                       bias=tf.Prior(0, 0.01))
    return tf.Estimation(system, [camera], noise={"hinge": 0.05}, t_span=(0, 1), prior={
        "hinge": tf.StatePrior((0.4, 0.0), q=0.3, v=1.0)}, numbers=prior and {"damping": ("friction.damping", prior)})


@pytest.mark.long
def test_at_a_bound_as_if_given():
    free = tf.solve(damped(0.1, tf.Prior(0.1, 0.2)), tf.MixedGalerkin(2), 12, progress=False)
    value = free.parameters["damping"]
    wide = tf.solve(damped(0.1, tf.Prior(0.1, 0.2, lower=value - 0.3, upper=value + 0.3)), tf.MixedGalerkin(2), 12,
                    progress=False)
    np.testing.assert_allclose(wide.z, free.z, rtol=0, atol=1e-9)
    assert not wide.at_bounds and wide.log_evidence == pytest.approx(free.log_evidence, abs=1e-8)
    side, bound = ("upper", 0.11) if value > 0.11 else ("lower", 0.09)
    sol = tf.solve(damped(0.1, tf.Prior(0.1, 0.2, **{side: bound})), tf.MixedGalerkin(2), 12, progress=False)
    given = tf.solve(damped(bound), tf.MixedGalerkin(2), 12, progress=False)
    np.testing.assert_allclose(sol.z, given.z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.std("hinge"), given.std("hinge"), rtol=1e-8)
    np.testing.assert_allclose(sol.std("bias of camera"), given.std("bias of camera"), rtol=1e-8)
    assert sol.parameters["damping"] == bound and sol.at_bounds == {"damping": side} and np.isnan(sol.std("damping"))
    assert f"damping is at its {side} bound" in sol.fit.verdict
    with pytest.raises(tf.InputError, match="damping is at its bound, where there is no evidence"):
        print(sol.log_evidence)


def test_without_dynamics():
    tree, t, _, places = measured_arm(2, 21)
    seen = points(tree, np.stack([0.5 * np.sin(2 * t + k) for k in range(2)], axis=1), (0.45, 0.1, 0.0))[0][:, :2]

    def skin(point):
        return tf.Marker(tree.link("link0"), point, axes="xy", times=t, values=seen, sigma=SIGMA, name="skin")

    sensors = markers(tree, t, places)
    sol = solve(tf.System([tree]), [*sensors, skin(tf.Prior((0.5, 0, 0), 0.2, lower=(0.47, -1, -1)))], 5.0)
    given = solve(tf.System([tree]), [*sensors, skin((0.47, sol.numbers[1], 0))], 5.0)
    np.testing.assert_allclose(sol.q, given.q, rtol=0, atol=1e-9)
    assert sol.at_bounds == {"point of skin[0]": "lower"} and sol.numbers[0] == 0.47
    np.testing.assert_array_equal(np.isnan(sol.std("point of skin")), [True, False, False])
    assert "point of skin[0] is at its lower bound" in sol.fit.verdict and sol.draws(2).shape == (2, 21, 4)


def test_bad_bounds():
    with pytest.raises(tf.InputError, match=r"numbers\['damping'\]: lower, 1, must be below upper, 0"):
        damped(0.1, tf.Prior(0.1, 0.2, lower=1, upper=0))
    with pytest.raises(tf.InputError, match=r"the mean, 0\.1, must be within lower and upper"):
        damped(0.1, tf.Prior(0.1, 0.2, lower=0.2))
