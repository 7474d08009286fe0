"""States of first order of which nothing is known beforehand, in any unit."""

import numpy as np
import pytest

import timefem as tf

TIMES = np.linspace(0.1, 2, 20)
SEEN = 0.75 * TIMES**2 + 0.001 * np.random.default_rng(0).standard_normal(20)


def found(unit, lagging=False):
    """A constant force of 3 N on 2 kg, found from places, as a state in a unit of 1/unit N; or a state behind it."""
    mass, force = tf.PointMass(2.0, dimension=1, name="mass"), tf.State("force", "0 * x[0]")
    push = tf.FormulaForce([mass, force], "[[f[1].q[0] / c[0], 0, 0], 0]", parameters=[unit], name="push")
    parts, prior = [mass, force, push], {mass: tf.StatePrior(tf.Pose(), q=0.01, v=0.01)}
    if lagging:
        parts.append(tf.State("asked", "0 * x[0]"))
        parts.append(tf.FormulaForce([force, parts[-1]], "[(f[1].q[0] - f[0].q[0]) / 0.5, 0]", name="lag"))
        prior[force] = tf.StatePrior(0.0, q=0.01 * unit)
    eye = tf.Marker("mass", axes="x", times=TIMES, values=SEEN[:, None], sigma=0.001, name="eye")
    sol = tf.solve(tf.Estimation(tf.System(parts), [eye], prior=prior, t_span=(0, 2)), tf.MixedGalerkin(2), 20,
                   progress=False)
    name = "asked" if lagging else "force"
    return sol.value(name, 1.0)[0] / unit, sol.std(name, 1.0)[0] / unit, sol.fit


@pytest.mark.parametrize("unit", [1e-6, 1e6, 1e9])
def test_a_state_without_a_prior(unit):
    """It was held near zero by a prior of the size of places: 1.51 of 3 N in micronewtons, and 3e-6 in nanonewtons."""
    value, std, fit = found(unit)
    right, size, _ = found(1.0)
    assert abs(right - 3) < 3 * size
    np.testing.assert_allclose([value, std], [right, size], rtol=1e-6)
    assert "errors explain the residuals" in str(fit)


@pytest.mark.long
def test_a_state_that_another_one_follows():
    (right, size, _), (value, std, _) = found(1.0, lagging=True), found(1e6, lagging=True)
    np.testing.assert_allclose([value, std], [right, size], rtol=1e-5)
