"""Data that are not as they should be: outliers, swapped markers, a reversed axis, a clock that is off, degrees."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.problems.estimation.dynamic import search
from timefem.problems.estimation.noise import Huber
from timefem.problems.estimation.prior import Prior
from timefem.problems.estimation.problem import Estimation
from timefem.problems.estimation.sensors import FormulaSensor, Gyroscope, Marker
from timefem.problems.estimation.start_prior import StatePrior
from timefem.status import Reason, Status

TIMES, SIGMA = np.linspace(0.1, 4.0, 40), 0.02


def rod():
    return tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: -9.81 * ca.cos(q[0]), name="rod")


def angles(times):
    """A swing, by the equations of motion."""
    system = rod()
    problem = tf.InitialValueProblem(system, tf.Coordinates([1.0], [0.3]), (0.0, 5.0))
    return tf.solve(problem, tf.MixedGalerkin(4), 100, progress=False)(times)[:, 0]


def estimated(values, **more):
    own = {"name": "angle", "times": TIMES, "values": values, "sigma": SIGMA} | more
    sensor = FormulaSensor(lambda now: now.q("rod")[0], **own)
    problem = Estimation(rod(), [sensor], noise={"rod": 0.01}, t_span=(0.0, 4.0), prior={
        "rod": StatePrior(tf.Coordinates([0.9], [0.0]), q=0.3, v=1.0)})
    return tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False), sensor


def noisy(seed=0):
    return angles(TIMES) + SIGMA * np.random.default_rng(seed).standard_normal(len(TIMES))


OUTLIERS = [3, 11, 20, 33]


def with_outliers():
    values = noisy()
    values[OUTLIERS] += np.array([12, -15, 18, -10]) * SIGMA
    return values


@pytest.mark.parametrize("loss", ["huber", pytest.param("student", marks=pytest.mark.long),
                                  pytest.param(Huber(1.0), marks=pytest.mark.long)])
def test_outliers_count_little(loss):
    """A tenth of outliers of 10 to 18 sigma: robust losses stay at the smoother of the clean data, and name them."""
    clean, _ = estimated(noisy())
    squares, _ = estimated(with_outliers())
    robust, sensor = estimated(with_outliers(), loss=loss)

    def distance(sol):
        return np.sqrt(np.mean((sol.z - clean.z)**2))

    assert distance(robust) < 0.35 * distance(squares)
    named = {round(t, 6) for _, t, _ in robust.fit.outliers}
    assert named == {round(TIMES[i], 6) for i in OUTLIERS}
    weights = robust.weights(sensor)
    assert weights[OUTLIERS].max() < 0.25 and np.delete(weights, OUTLIERS).min() > 0.35
    costs, i = [], OUTLIERS[0]
    for change in (-0.01, 0.01):  # the slope of the least cost by a value is that of the loss
        values = with_outliers()
        values[i] += change * SIGMA
        costs.append(estimated(values, loss=loss)[0].statistics["objective"])
    residual = robust.residuals(sensor)[i].item() / SIGMA
    np.testing.assert_allclose((costs[1] - costs[0]) / 0.02, weights[i] * residual, rtol=1e-4)
    assert "angle at t = " in robust.fit.verdict and not robust.fit.suspicions


def test_squares_with_outliers_are_not_silent():
    sol, _ = estimated(with_outliers())
    assert not sol.fit.good and "residuals are larger than errors explain" in sol.fit.verdict
    assert estimated(noisy())[0].fit.good


@pytest.mark.long
def test_units_in_degrees_are_told():
    sol, _ = estimated(np.degrees(noisy()), sigma=np.degrees(SIGMA))
    assert not (sol.success and sol.fit.good)
    assert "angle look like degrees" in (sol.fit.verdict if sol.success else sol.status.message)


@pytest.mark.long
def test_a_clock_that_is_off():
    """Late by 37 ms: named as a misfit, and found where its offset is unknown."""
    times = np.linspace(0.2, 3.8, 40)
    values = angles(times + 0.037) + SIGMA / 4 * np.random.default_rng(1).standard_normal(40)
    other = np.linspace(0.15, 3.9, 30)
    right = FormulaSensor(lambda now: now.q("rod")[0], name="camera", times=other, sigma=SIGMA / 4,
                          values=angles(other) + SIGMA / 4 * np.random.default_rng(2).standard_normal(30))
    found = {}
    for name, offset in (("none", None), ("unknown", Prior(0.0, 0.05))):
        late = FormulaSensor(lambda now: now.q("rod")[0], name="encoder", times=times, values=values, sigma=SIGMA / 4,
                             time_offset=offset)
        problem = Estimation(rod(), [right, late], noise={"rod": 0.01}, t_span=(0.0, 4.0), prior={
            "rod": StatePrior(tf.Coordinates([0.9], [0.0]), q=0.3, v=1.0)})
        found[name] = tf.solve(problem, tf.MixedGalerkin(3), 80, progress=False)
    assert not found["none"].fit.good and "the clock of encoder looks off by" in found["none"].fit.verdict
    sol = found["unknown"]
    assert sol.fit.good, sol.fit.verdict
    offset, deviation = sol.parameters["time_offset of encoder"], sol.std("time_offset of encoder")[0]
    assert abs(offset - 0.037) < 3 * deviation and 0 < deviation < 1e-3


def tumbling():
    """A box that turns freely, seen by two markers and a gyroscope; the truth, its times and the sensors' values."""
    box = tf.RigidBody(1.0, (0.2, 0.3, 0.1), name="box")
    points = np.array([[0.3, 0, 0], [0, 0.3, 0.1]])
    start = {box: tf.Pose((0, 0, 0), angular_velocity=(0.5, 1.5, -0.4))}
    truth = tf.solve(tf.InitialValueProblem(tf.System([box]), start, (0.0, 2.0)), tf.MixedGalerkin(3), 40,
                     progress=False)
    times, rng = np.linspace(0.1, 2.0, 20), np.random.default_rng(3)
    z = truth(times)
    turns = np.array([np.array(ca.evalf(box.frame(ca.DM(x[:7]))[1])) for x in z])
    places = [x[:, :3] + turns @ point + 0.005 * rng.standard_normal((20, 3)) for x, point in
              zip([z, z], points, strict=True)]
    rates = np.array([box.angular_velocity(x[:7], x[7:]) for x in z]) + 0.02 * rng.standard_normal((20, 3))
    return box, points, times, places, rates


def of_tumbling(places, rates, box, points, times):
    sensors = [Marker("box", point, times=times, values=own, sigma=0.005, name=f"marker {i + 1}")
               for i, (point, own) in enumerate(zip(points, places, strict=True))]
    sensors.append(Gyroscope("box", times=times, values=rates, sigma=0.02, name="gyro"))
    problem = Estimation(tf.System([box]), sensors, noise={"box": (1e-4, 1e-5)}, t_span=(0.0, 2.0), prior={
        "box": StatePrior(tf.Pose(), position=0.05, orientation=0.2, velocity=0.1, angular_velocity=1.5)})
    return tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)


@pytest.mark.long
def test_swapped_markers_and_a_reversed_axis():
    box, points, times, places, rates = tumbling()
    good = of_tumbling(places, rates, box, points, times)
    assert good.success and good.fit.good, good.fit.verdict
    swapped = [p.copy() for p in places]
    swapped[0][8:], swapped[1][8:] = places[1][8:], places[0][8:]
    sol = of_tumbling(swapped, rates, box, points, times)
    assert not (sol.success and sol.fit.good)
    assert "marker 1 and marker 2 look swapped" in (sol.fit.verdict if sol.success else sol.status.message)
    sol = of_tumbling(places, rates * [1, -1, 1], box, points, times)
    assert not (sol.success and sol.fit.good)
    told = sol.fit.verdict if sol.success else sol.status.message
    assert "the sign of gyro, component y, looks reversed" in told


@pytest.mark.long
@pytest.mark.parametrize("order, told", [((1, 0, 3, 2, 4), ["0 and 1", "2 and 3"]), ((1, 2, 0, 3, 4), ["0, 1 and 2"])])
def test_markers_exchanged_among_several(order, told):
    box, _, times, places, _ = tumbling()
    points = np.array([[0.3, 0, 0], [0, 0.3, 0.1], [-0.2, 0.1, 0], [0.1, -0.25, 0.2], [0, 0, -0.3]])
    seen = [places[0] + point for point in points]  # it only moves
    sensors = [Marker("box", point, times=times, values=seen[k], sigma=0.005, name=f"{i}")
               for i, (point, k) in enumerate(zip(points, order, strict=True))]
    sol = tf.solve(Estimation(tf.System([box]), sensors, noise={"box": (10.0, 10.0)}, dynamics="none"),
                   tf.MixedGalerkin(2), progress=False)
    found = sol.fit.verdict if sol.success else sol.status.message
    assert all(f"{names} look swapped" in found for names in told) and "clock" not in found and "sign" not in found


@pytest.mark.long
def test_an_encoder_in_degrees_is_told():
    """Its angles are compared without counting turns."""
    bar = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="bar")
    hinge = tf.Revolute(bar, point_a=(-0.3, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    t = np.linspace(0.05, 2, 40)
    angle = 1.2 * np.sin(3 * t)
    places = 0.6 * np.stack([np.cos(angle), np.sin(angle), 0 * t], axis=1)
    places += 0.003 * np.random.default_rng(0).standard_normal(places.shape)
    encoder = tf.JointSensor("hinge", times=t, values=np.degrees(angle), sigma=0.01, name="encoder")
    marker = Marker("bar", (0.3, 0, 0), times=t, values=places, sigma=0.003, name="marker")
    problem = Estimation(tf.System([bar, hinge]), [marker, encoder], noise={"hinge": 5.0}, t_span=(0.0, 2.0),
                         prior={"hinge": StatePrior((0, 3.6), q=0.2, v=2.0)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    assert "values of encoder look like degrees" in (sol.fit.verdict if sol.success else sol.status.message)


@pytest.mark.long
def test_a_search_that_degrees_lead_astray_names_them():
    box, points, times, places, rates = tumbling()
    sol = of_tumbling(places, np.degrees(rates), box, points, times)
    assert "values of gyro look like degrees" in (sol.fit.verdict if sol.success else sol.status.message)


@pytest.mark.long
def test_noise_that_is_too_small_is_told():
    """Not the sensor is named, whose residuals are small, but the unknown force."""
    rod = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="rod")
    hinge = tf.Revolute(rod, point_a=(-0.3, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    times = np.linspace(0.05, 1, 20)
    encoder = tf.JointSensor("hinge", times=times, values=0.5 * np.sin(6 * times), sigma=0.02, name="encoder")
    sol = tf.solve(tf.Estimation(tf.System([rod, hinge]), [encoder], noise={"hinge": 0.05}, t_span=(0, 1), prior={
        "hinge": tf.StatePrior((0.0, 3.0), q=0.1, v=0.3)}), tf.MixedGalerkin(2), 20, progress=False)
    assert sol.fit.deviations > 3 and max(own.ratio for own in sol.fit.sensors) < 1.5
    assert "most by the unknown force of hinge" in sol.fit.verdict and "encoder" not in sol.fit.verdict


@pytest.mark.long
@pytest.mark.parametrize("kind, density, deviation", [("rate", 5.0, 2.0), ("gyro", 5.0, 2.0), ("gyro", 500.0, 200.0),
                                                      ("rate", 0.01, 2.0)])
def test_a_rate_in_degrees_beside_one_marker(kind, density, deviation):
    """Not the marker is named, whose residuals are larger, but what the motion without it makes of it."""
    rng, t = np.random.default_rng(0), np.linspace(0.05, 2, 40)
    bar = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="bar")
    hinge = tf.Revolute(bar, point_a=(-0.3, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    angle, rate = 1.2 * np.sin(3 * t), 3.6 * np.cos(3 * t) + 0.01 * rng.standard_normal(40)
    places = 0.6 * np.stack([np.cos(angle), np.sin(angle), 0 * t], axis=1) + 0.003 * rng.standard_normal((40, 3))
    own = {"times": t, "sigma": 0.01, "name": "tacho"}
    tacho = tf.JointSensor("hinge", rate=True, values=np.degrees(rate), **own) if kind == "rate" else \
        Gyroscope("bar", axes="z", values=np.degrees(rate)[:, None], **own)
    marker = Marker("bar", (0.3, 0, 0), times=t, values=places, sigma=0.003, name="marker")
    problem = Estimation(tf.System([bar, hinge]), [marker, tacho], noise={"hinge": density}, t_span=(0.0, 2.0),
                         prior={"hinge": StatePrior((0, 3.6), q=0.2, v=deviation)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    told = sol.fit.verdict if sol.success else sol.status.message
    assert "values of tacho look like degrees" in told and "values of marker" not in told


def test_a_search_that_gets_lost_tells_what_is_not_known(monkeypatch):
    def lost(program, kkt, v, **_):
        return v, Status.failure(Reason.NOT_CONVERGED, 0, 0.0, []), 1

    def nowhere(damped, near):
        return Status.failure(Reason.NOT_CONVERGED, 0, 0.0, [1.0]), 1

    monkeypatch.setattr(search, "gauss_newton", lost)
    monkeypatch.setattr(search.Damped, "search", nowhere)
    sensor = FormulaSensor(lambda now: now.q("rod")[0], name="angle", times=TIMES, values=noisy(), sigma=SIGMA)
    problem = Estimation(rod(), [sensor], noise={"rod": 0.01}, prior={"rod": StatePrior(tf.Coordinates([0.9]), q=0.3)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    assert sol.status.reason == "not converged" and "give the prior of v of rod, which" in sol.status.message


def test_sensors_with_the_same_name():
    body, times = tf.PointMass(1.0, dimension=1, name="body"), np.arange(1, 5) / 10
    cameras = [tf.Marker("body", axes="x", times=times, values=offset + np.zeros((4, 1)), sigma=0.01,
                         bias=tf.Prior(0, 0.5), name="camera") for offset in (0.0, 0.3)]
    with pytest.raises(tf.InputError, match="2 of them are called camera"):
        tf.Estimation(tf.System([body]), cameras, t_span=(0, 1), prior={body: tf.StatePrior(tf.Pose(), q=0.1, v=1.0)})
