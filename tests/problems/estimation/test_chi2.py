"""The verdict: sums of squares are as large as errors explain, on average over seeds, where these are as was said."""

import numpy as np
import pytest

import timefem as tf
from timefem.problems.estimation.noise import Huber, Loss, Student

MASS, LENGTH, INERTIA, GRAVITY, DAMPING = 0.8, 0.3, 0.02, 9.81, 0.05
N, FINE, Q = 20, 400, 0.02
TIMES = np.arange(1, N + 1) / N
ERRORS = {"tip": 0.02, "encoder": 0.05, "gyro": 0.1}


class Squares(Loss):
    def weights(self, r, n):
        return np.ones_like(r)

    def costs(self, r, n):
        return r**2 / 2


@pytest.mark.parametrize("loss", [Squares(), Huber(), Student()])
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_costs_of_normal_errors(loss, n):
    """By the chi distribution as by numbers drawn from it; of squares n and 2 n."""
    r = np.linalg.norm(np.random.default_rng(n).standard_normal((100_000, n)), axis=1)
    costs = 2 * loss.costs(r, np.full(len(r), n))
    mean, variance = loss.of_normal(n)
    assert abs(costs.mean() - mean) < 4 * np.sqrt(variance / len(r)) and abs(costs.var() / variance - 1) < 0.04
    if isinstance(loss, Squares):
        np.testing.assert_allclose([mean, variance], [n, 2 * n], rtol=1e-5)


def drawn(rng):
    """Angles and rates at all times of a rod on a hinge, the start and the noise drawn as the model says."""
    q, v, h, found = 0.4 + 0.3 * rng.standard_normal(), rng.standard_normal(), 1.0 / FINE, []
    total = INERTIA + MASS * LENGTH**2

    def rate(q, v):
        return (MASS * GRAVITY * LENGTH * np.cos(q) - DAMPING * v) / total

    for _ in range(FINE):
        v += h / 2 * rate(q, v) + np.sqrt(Q * h) / total * rng.standard_normal()
        q += h * v
        v += h / 2 * rate(q, v)
        found.append((q, v))
    return np.array(found)[FINE // N - 1::FINE // N].T


def deviations(seed, *, known, coordinates="bodies", loss=None, missing=False):
    """By how many standard deviations chi^2 is off."""
    rng = np.random.default_rng(seed)
    q, v = drawn(rng)
    bias = 0.2 * rng.standard_normal()
    tip = 2 * LENGTH * np.stack([np.cos(q), -np.sin(q)], axis=1) + ERRORS["tip"] * rng.standard_normal((N, 2))
    if missing:
        tip[rng.random(N) < 0.3] = np.nan
        tip[3, 1] = np.nan
    rod = tf.RigidBody(MASS, (0.001, INERTIA, INERTIA), name="rod")
    hinge = tf.Revolute(rod, point_a=(-LENGTH, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                        name="hinge")
    system = tf.System([rod, hinge, tf.JointDamper(hinge, damping=DAMPING)], gravity=(0, 0, -GRAVITY),
                       coordinates=coordinates)
    sensors = [
        tf.Marker("rod", (LENGTH, 0, 0), "xz", times=TIMES, values=tip, sigma=ERRORS["tip"], missing="skip",
                  name="tip"),
        tf.JointSensor("hinge", times=TIMES, values=q + ERRORS["encoder"] * rng.standard_normal(N), name="encoder",
                       sigma=ERRORS["encoder"]),
        tf.Gyroscope("rod", "y", times=TIMES, values=v + bias + ERRORS["gyro"] * rng.standard_normal(N),
                     sigma=ERRORS["gyro"], bias=tf.Prior(0.0, 0.2), name="gyro")]
    prior = tf.StatePrior((0.4, 0.0), q=0.3, v=1.0) if known else tf.StatePrior((0.4, 0.0))
    problem = tf.Estimation(system, sensors, noise={"hinge": Q}, prior={"hinge": prior}, t_span=(0, 1), loss=loss)
    return tf.solve(problem, tf.MixedGalerkin(2), N, progress=False).fit.deviations


@pytest.mark.slow
@pytest.mark.parametrize(("case", "bias"), [
    ({"known": True}, 0.0), ({"known": False}, 0.0), ({"known": False, "coordinates": "joint"}, 0.0),
    ({"known": True, "missing": True}, 0.0), ({"known": True, "loss": "huber"}, 0.3),
    ({"known": False, "loss": "student"}, 0.3)])
def test_mean_and_spread(case, bias):
    """Constraints, wide priors and missing values are counted once each. What robust losses leave of a number that is
    found is not quite what squares leave: up to `bias`."""
    found = np.array([deviations(seed, **case) for seed in range(100)])
    assert abs(found.mean()) < 3 / np.sqrt(100) + bias and 0.75 < found.std() < 1.25


@pytest.mark.long
@pytest.mark.parametrize("dynamics", ["full", "none"])
def test_robust_losses_of_good_data_are_not_small(dynamics):
    """Places of three numbers each, of which Huber's loss counts a quarter less than squares do."""
    t, body, found = np.arange(1, 61) / 30, tf.PointMass(1.0, name="ball"), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        path = np.outer(t, [1.0, 0.5, 0.2]) + 0.01 * rng.standard_normal((60, 3))
        seen = tf.Marker("ball", times=t, values=path, sigma=0.01, loss="huber", name="camera")
        noise = {"noise": {"ball": 1e-6}} if dynamics == "full" else {"noise": 1e-6, "dynamics": "none"}
        sol = tf.solve(tf.Estimation(tf.System([body]), [seen], **noise), tf.MixedGalerkin(2),
                       *([60] if dynamics == "full" else []), progress=False)
        assert sol.fit.good, sol.fit.verdict
        found.append(sol.fit.deviations)
    assert abs(np.mean(found)) < 3 / np.sqrt(10) + 0.3


@pytest.mark.parametrize("length, time, mass", [(1e3, 1e3, 1e3), (1e-3, 1 / 3600, 1e-3)])
def test_degrees_of_freedom_in_other_units(length, time, mass):
    """In mm, g and ms one wide prior was lost among the digits of the others: 79 of 78."""
    def fit(length, time, mass):
        ball = tf.PointMass(2 * mass, dimension=1, name="ball")
        spring = tf.Spring(ball, stiffness=50 * mass / time**2, name="spring")
        t = np.linspace(0.05, 4, 80)
        seen = np.cos(5 * t) + 0.02 * np.random.default_rng(5).standard_normal(80)
        camera = tf.Marker("ball", axes="x", times=t * time, values=seen[:, None] * length, sigma=0.02 * length,
                           name="camera")
        unit = mass / time**2
        problem = tf.Estimation(tf.System([ball, spring]), camera, t_span=(0, 4 * time),
                                numbers={"k": ("spring.stiffness", tf.Prior(40 * unit, 30 * unit))})
        return tf.solve(problem, tf.MixedGalerkin(2), 80, progress=False).fit

    si, other = fit(1, 1, 1), fit(length, time, mass)
    assert abs(other.degrees_of_freedom - si.degrees_of_freedom) < 1e-6 and abs(si.degrees_of_freedom - 78) < 1e-3
    assert abs(other.chi2 - si.chi2) < 1e-6
