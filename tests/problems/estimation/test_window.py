"""Estimates of live data: a window that moves."""

import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError

from .references import data, oscillator, pendulum, three_stars
from .test_uncertainty import TIMES, hinged


def part(problem, i, chosen):
    """Some of the values of a sensor."""
    return problem.measurements[i].of_times(np.isin(np.arange(len(problem.measurements[i].times)), chosen))


def until(problem, n):
    """The problem with its first n times."""
    other = problem.copied()
    other.measurements = [part(problem, i, range(n)) for i in range(len(problem.measurements))]
    other.nodes, other.t_span = other.measurements, (problem.t_span[0], float(problem.measurements[0].times[n - 1]))
    return other


@pytest.mark.parametrize(("make", "exact"), [(oscillator, 1e-12), (pendulum, 2e-2), (three_stars, 2e-2)])
def test_a_window_ends_as_the_whole(make, exact):
    """With what lies before as its prior a window gives the end of the whole motion: exactly where all is linear, and
    within a small part of a standard deviation where it is not."""
    problem = make()
    n = len(problem.measurements[0].times)
    whole = tf.solve(problem, tf.MixedGalerkin(2), 2 * n, progress=False)
    solver = tf.prepare(until(problem, n // 2), tf.MixedGalerkin(2), n, progress=False)
    step = problem.measurements[0].times[1] - problem.measurements[0].times[0]
    for j in range(n // 2, n):
        sol = solver.update(*(part(problem, i, [j]) for i in range(len(problem.measurements))), window=4.2 * step)
        assert sol.success
    assert sol.t[0] > whole.t[0] and abs(sol.t[-1] - whole.t[-1]) < 1e-12
    deviation = np.sqrt(np.diag(whole.state_covariance(-1 % len(whole.t))))
    off = np.abs(sol.z[-1] - whole.z[-1])
    assert np.all(off <= exact * np.maximum(deviation, 1e-9 * deviation.max()))
    found, right = sol.state_covariance(len(sol.t) - 1), whole.state_covariance(len(whole.t) - 1)
    np.testing.assert_allclose(found, right, rtol=0, atol=exact * right.max())


@pytest.mark.parametrize("sigma", [1e-2, 1e-5])
def test_sharp_readings_after_a_wide_prior(sigma):
    """What lies before a window is known as well as by the whole motion, however much narrower than the first prior."""
    mass, times = tf.PointMass(1.5, dimension=1, name="mass"), np.arange(1, 25) / 20
    system = tf.System([mass, tf.FormulaEnergy([mass], "10 * f[0].q[0]**2")])
    seen = 0.5 * np.cos(np.sqrt(20 / 1.5) * times) + sigma * np.random.default_rng(0).standard_normal(24)

    def problem(chosen, end):
        return tf.Estimation(system, [marker(chosen)], noise={"mass": 0.1 * sigma**2}, t_span=(0, end),
                             prior={"mass": tf.StatePrior(tf.Pose((0.4, 0, 0)))})

    def marker(chosen):
        return tf.Marker("mass", axes="x", times=times[chosen], values=seen[chosen], sigma=sigma, name="marker")

    whole = tf.solve(problem(slice(None), 1.2), tf.MixedGalerkin(3), 24, progress=False)
    solver = tf.prepare(problem(slice(10), 0.5), tf.MixedGalerkin(3), 10, progress=False)
    for j in range(10, 24):
        sol = solver.update(marker([j]), window=0.5)
    assert sol.success and sol.t[0] > 0.6
    np.testing.assert_allclose(sol.std("mass", 1.2), whole.std("mass", 1.2), rtol=1e-8)
    assert np.abs((sol.value("mass", 1.2) - whole.value("mass", 1.2)) / whole.std("mass", 1.2)).max() < 1e-6


@pytest.mark.long
def test_numbers_and_constraints_ride_along():
    """A rod on a hinge with a biased gyroscope: the bias found before a window stays known, constraints hold."""
    rng = np.random.default_rng(5)
    times = np.linspace(0.1, 2.0, 20)
    rates = 0.3 * np.cos(5 * times) + 0.05 + 0.02 * rng.standard_normal(20)
    angles = 1.5 + 0.06 * np.sin(5 * times) + 0.02 * rng.standard_normal(20)

    def sensors(chosen):
        return [tf.Gyroscope("rod", "y", times=times[chosen], values=rates[chosen], sigma=0.02,
                             bias=tf.Prior(0, 0.1), name="gyro"),
                tf.JointSensor("hinge", times=times[chosen], values=angles[chosen], sigma=0.02, name="encoder")]

    def problem(chosen, end):
        return tf.Estimation(hinged("bodies"), sensors(chosen), noise={"hinge": 0.02}, t_span=(0.0, end), prior={
            "hinge": tf.StatePrior((1.5, 0.3), q=0.1, v=0.3)})

    whole = tf.solve(problem(slice(None), 2.0), tf.MixedGalerkin(2), 20, progress=False)
    solver = tf.prepare(problem(slice(8), 0.8), tf.MixedGalerkin(2), 8, progress=False)
    for j in range(8, 20):
        sol = solver.update(*sensors([j]), window=0.5)
        assert sol.success and np.abs(sol.system.constraints(sol.t, sol.z)).max() < 1e-12
    assert len(sol.t) < 8
    deviation = whole.std("bias of gyro")[0]
    assert abs(sol.numbers[0] - whole.numbers[0]) < 0.05 * deviation
    np.testing.assert_allclose(sol.std("bias of gyro"), deviation, rtol=0.02)
    np.testing.assert_allclose(sol.value("hinge", 2.0), whole.value("hinge", 2.0), rtol=0,
                               atol=0.05 * whole.std("hinge", 2.0)[0])


def test_input_is_refused():
    problem = oscillator()
    solver = tf.prepare(until(problem, 4), tf.MixedGalerkin(2), 4, progress=False)
    with pytest.raises(InputError, match="must come after t = 2 s, not at 2 s"):
        solver.update(part(problem, 0, [3]))
    with pytest.raises(InputError, match="further values of sensors of the problem, place"):
        solver.update(tf.FormulaSensor("now.q('mass')[0]", times=[3.0], values=[0.0], sigma=1.0, name="other"))
    late = tf.FormulaSensor(lambda now: now.q("mass")[0], name="late", times=[0.4, 0.9, 1.4, 1.9], values=[0.0] * 4,
                            sigma=1.0, time_offset=tf.Prior(0, 0.01))
    other = tf.Estimation(problem.system, [late], noise={part: 1.0 for part in problem.system.parts if part.n_controls},
                          prior={"mass": tf.StatePrior(tf.Coordinates([0.0], [0.0]), q=1.0, v=1.0)}, t_span=(0.0, 2.0))
    solver = tf.prepare(other, tf.MixedGalerkin(2), 4, progress=False)
    with pytest.raises(InputError, match="late: a window that moves takes sensors whose clock is known"):
        solver.update(tf.FormulaSensor(lambda now: now.q("mass")[0], name="late", times=[2.4], values=[0.0], sigma=1.0),
                      window=0.6)
    with pytest.raises(InputError, match="update is of estimation"):
        tf.prepare(tf.InitialValueProblem(hinged("joint"), {"hinge": 0.3}, (0, 1)), tf.MixedGalerkin(2), 4).update()
    assert len(data("oscillator")["times"]) == 8 and len(TIMES) == 10
