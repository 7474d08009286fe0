"""Unknown numbers with bounds: as if they were given there, named, and without a standard deviation."""

import numpy as np
import pytest
import scipy

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


@pytest.mark.parametrize("sigma", [0.1, 1e2, 1e6])
def test_held_at_a_bound_whatever_the_prior(sigma):
    """The damping that fits is negative: with its bound the stiffness is that of no damping, by least squares of the
    closed form, also where the prior is wide."""
    mass, times = tf.PointMass(1.5, dimension=1, name="mass"), np.arange(1, 41) / 20

    def motion(k, x, v, a=0.0):
        w = np.sqrt(k / 1.5 - a * a)
        return np.exp(-a * times) * (x * np.cos(w * times) + (v + a * x) / w * np.sin(w * times))

    seen = motion(20.0, 0.5, 0.0, -0.02) + 1e-3 * np.random.default_rng(0).standard_normal(40)
    parts = [tf.FormulaEnergy([mass], "c[0] / 2 * f[0].q[0]**2", parameters=[18.0], name="spring"),
             tf.FormulaForce([mass], "[[-c[0] * f[0].velocity[0], 0, 0]]", parameters=[0.1], name="damper")]
    problem = tf.Estimation(
        tf.System([mass, *parts]), [tf.Marker("mass", axes="x", times=times, values=seen, sigma=1e-3)], t_span=(0, 2),
        prior={"mass": tf.StatePrior(tf.Pose((0.4, 0, 0)))},
        numbers={"k": ("spring.parameters[0]", tf.Prior(18, 1e3)),
                 "d": ("damper.parameters[0]", tf.Prior(0.1, sigma, lower=0))})
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    best = scipy.optimize.least_squares(lambda n: (motion(*n) - seen) / 1e-3, [20, 0.5, 0.0], x_scale=[20, 1, 1],
                                        xtol=1e-14, ftol=1e-14, gtol=1e-14)
    std = np.sqrt(np.linalg.inv(best.jac.T @ best.jac).diagonal())
    assert sol.at_bounds == {"d": "lower"} and sol.parameters["d"] == 0
    assert abs(sol.parameters["k"] - best.x[0]) < 1e-3 * std[0]
    np.testing.assert_allclose(np.append(sol.std("k"), sol.std("mass", 0.0)), std, rtol=1e-6)


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
