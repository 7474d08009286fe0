"""Noise levels by maximum likelihood, and input of estimation problems that is refused."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import timefem as tf
from timefem.errors import InputError

from .references import data, oscillator
from .test_oscillator import smoother, step
from .test_uncertainty import drawn, hinged


@pytest.mark.long
def test_most_likely_noise_of_an_oscillator():
    """The same as by the Kalman filter's likelihood of the same elements, with its curvature."""
    d = data("oscillator") | {"times": np.arange(1, 33) / 8.0}
    w2, damping = d["omega"]**2, 2 * d["zeta"] * d["omega"]
    phi, q = step(np.array([[0, 1], [-w2, -damping]]), np.array([[0.0], [1.0]]), np.array([[d["Q"]]]), 1, 4.0 / 32)
    u, s, _ = np.linalg.svd(q)
    _, values = drawn(np.random.default_rng(2), d, phi, u * np.sqrt(s), 32)
    d |= {"measurements": values.tolist(), "times": d["times"].tolist()}

    def cost(x):
        return -smoother(d | {"Q": d["Q"] * np.exp(x[0]), "R": d["R"] * np.exp(x[1])}, 1, 32)[2]

    right = minimize(cost, np.zeros(2), method="BFGS", options={"gtol": 1e-7})
    found = tf.most_likely_noise(oscillator(d), tf.MixedGalerkin(1), 32)
    np.testing.assert_allclose([found.factors["mass"], found.factors["place"]], np.exp(right.x), rtol=1e-4)
    assert abs(found.log_evidence + right.fun) < 1e-8
    h = 1e-2
    curvature = np.array([[(cost(right.x + a + b) - cost(right.x + a - b) - cost(right.x - a + b) + cost(
        right.x - a - b)) / (4 * h**2) for a in h * np.eye(2)] for b in h * np.eye(2)])
    np.testing.assert_allclose(list(found.std.values()), np.sqrt(np.diag(np.linalg.inv(curvature))), rtol=0.05)
    sol = tf.solve(found.problem, tf.MixedGalerkin(1), 32, progress=False)
    assert abs(sol.log_evidence - found.log_evidence) < 1e-8
    with pytest.raises(InputError, match=r"'plaze' is neither a key of noise nor a measurement.*did you mean 'place'"):
        tf.most_likely_noise(oscillator(d), tf.MixedGalerkin(1), 32, vary=["plaze"])


def sensor(**more):
    own = {"times": [0.1, 0.2], "values": [0.0, 0.1], "sigma": 0.1, "name": "encoder"}
    return tf.JointSensor("hinge", **(own | more))


PRIOR = {"hinge": tf.StatePrior((0.4, 0.0), q=0.3, v=1.0)}


@pytest.mark.parametrize(("changes", "words"), [
    ({"measurements": []}, "there are none"),
    ({"measurements": [sensor(times=[0.1, 1.2])]}, "encoder: t = 1.2 s is outside of the time span, 0 to 1 s; drop it"),
    ({"measurements": [tf.Marker("rob", times=[0.1], values=[[0, 0, 0]], sigma=1.0, name="camera")]},
     "camera: no body 'rob' in the system.*did you mean 'rod'"),
    ({"noise": {"hing": 1.0}}, "noise: no body, joint or actuator 'hing'"),
    ({"noise": {"hinge": -1.0}}, "noise of hinge: spectral densities must be positive, not -1"),
    ({"noise": {"rod": 1.0}}, "noise of rod: give a pair, the spectral density of the force and that of the torque"),
    ({"prior": {"rod": tf.StatePrior(q=1.0)}}, "prior of rod: it has no q; give standard deviations of position"),
    ({"prior": {"rot": tf.StatePrior()}}, "no body 'rot'"),
    ({"numbers": {"m": ("rod.mass", 1.0)}}, "must end with the Prior"),
    ({"numbers": {"m": ("rod.mas", tf.Prior(1.0, 0.1))}}, "mas"),
    ({"t_span": (1.0, 0.0)}, "t_span"),
    ({"loss": "cauchy"}, "loss must be"),
])
def test_bad_problems_are_named(changes, words):
    given = {"measurements": [sensor()], "noise": {"hinge": 0.1}, "prior": PRIOR, "t_span": (0.0, 1.0)} | changes
    with pytest.raises(InputError, match=words) as error:
        tf.Estimation(hinged("bodies"), given.pop("measurements"), **given)
    assert "\n" not in str(error.value)


def test_elements_that_do_not_fit_are_refused():
    problem = tf.Estimation(hinged("bodies"), [sensor()], noise={"hinge": 0.1}, prior=PRIOR, t_span=(0.0, 1.0))
    with pytest.raises(InputError, match="MixedGalerkin"):
        tf.solve(problem, tf.BubnovGalerkin(2), 4, progress=False)
    with pytest.raises(InputError, match="tolerance"):
        tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-3, progress=False)


def test_noise_is_no_motion_that_elements_miss():
    """Unknown forces that are rough leave velocities rough, however short the elements."""
    rng, times = np.random.default_rng(3), np.linspace(0.02, 2, 100)
    arm = tf.Tree([tf.Link("base"), tf.Link("rod", mass=1.0, centre=(0, 0, 0.5), inertia=(0.1, 0.1, 0.01))],
                  [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0))], name="arm")
    seen = tf.JointSensor(arm.joint("hinge"), times=times, values=rng.standard_normal(100) / 10, sigma=0.01)
    problem = tf.Estimation(tf.System([arm]), [seen], noise={arm.joint("hinge"): 50.0}, t_span=(0, 2),
                            prior={"hinge": tf.StatePrior((0.0, 0.0), q=1.0, v=5.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.UnderResolved)
        assert tf.solve(problem, tf.MixedGalerkin(2), 100, progress=False).success
