"""Standard deviations: the same in all coordinates, of any output, and true: intervals hold what they should."""

import numpy as np
import pytest
import scipy

import timefem as tf
from timefem.errors import InputError

from .references import data, dense_covariance, oscillator, pendulum, three_stars
from .test_oscillator import step

TIMES = np.linspace(0.1, 1.0, 10)


def hinged(kind):
    """A rod on a hinge, in quaternions, directors, or the angle."""
    rotation = "directors" if kind == "directors" else "quaternion"
    rod = tf.RigidBody(1.0, (0.01, 0.03, 0.03), name="rod", rotation=rotation)
    hinge = tf.Revolute(rod, point_a=(-0.3, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    return tf.System([rod, hinge], gravity=(0, 0, -9.81), coordinates="joint" if kind == "joint" else "bodies")


def estimated(kind, n, degree=4):
    start = tf.InitialValueProblem(hinged("joint"), {"hinge": (0.5, 0.3)}, (0.0, 1.0))
    truth = tf.solve(start, tf.MixedGalerkin(4), 20, progress=False)
    rng = np.random.default_rng(4)
    angle = truth(TIMES)[:, 0]
    tip = np.column_stack([np.cos(angle), 0 * angle, -np.sin(angle)]) * 0.6
    angles, places = angle[::2] + 0.05 * rng.standard_normal(5), tip[:, [0, 2]] + 0.02 * rng.standard_normal((10, 2))
    sensors = [tf.JointSensor("hinge", times=TIMES[::2], values=angles, sigma=0.05),
               tf.Marker("rod", (0.3, 0, 0), "xz", times=TIMES, values=places, sigma=0.02),
               tf.Gyroscope("rod", times=TIMES, values=0.1 * rng.standard_normal((10, 3)) + np.outer(
                   np.gradient(angle, TIMES), [0, 1, 0]), sigma=0.1, bias=tf.Prior(0.0, 0.2), name="gyro")]
    problem = tf.Estimation(hinged(kind), sensors, noise={"hinge": 0.02}, t_span=(0.0, 1.0), prior={
        "hinge": tf.StatePrior((0.4, 0.0), q=0.3, v=1.0)})
    sol = tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False)
    assert sol.success
    return sol


@pytest.mark.long
def test_the_same_in_all_coordinates():
    """Redundant coordinates, directors and the joint coordinate have the same posterior."""
    found = {kind: estimated(kind, n) for kind, n in (("bodies", 20), ("directors", 20), ("joint", 20))}
    at = [0.0, 0.5, 1.0]
    rate = "now.joint_rate('hinge')"
    for what in ("hinge", rate):
        right, deviation = found["joint"].value(what, at), found["joint"].std(what, at)
        for kind in ("bodies", "directors"):
            np.testing.assert_allclose(found[kind].value(what, at), right, rtol=0, atol=1e-8)
            np.testing.assert_allclose(found[kind].std(what, at), deviation, rtol=0, atol=1e-8)
    for kind in ("bodies", "directors"):
        np.testing.assert_allclose(found[kind].numbers, found["joint"].numbers, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found[kind].std("bias of gyro"), found["joint"].std("bias of gyro"), rtol=0,
                                   atol=1e-8)


def test_what_can_be_asked():
    """Of a hinge's angle by all ways, at nodes and between them; of a turn about the axis of the hinge it is the same.
    """
    sol = estimated("bodies", 10, 2)
    t = [0.2, 0.6]
    angle = sol.std("hinge", t)[:, 0]
    body = sol.std("rod", t)
    assert body.shape == (2, 12)
    np.testing.assert_allclose(body[:, 4], angle, rtol=1e-9)  # about y
    np.testing.assert_allclose(body[:, [3, 5, 1, 7]], 0, rtol=0, atol=1e-8)  # what the hinge does not allow
    place = sol.std(tf.PositionOutput(sol.problem.system["rod"], "x"), t)[:, 0]
    np.testing.assert_allclose(place, 0.3 * np.abs(np.sin(sol.value("hinge", t)[:, 0])) * angle, rtol=1e-9)
    lower, upper = sol.interval("hinge", t)
    np.testing.assert_allclose((upper - lower)[:, 0], 2 * 1.959963984540054 * angle, rtol=1e-9)
    assert sol.std("now.energy()", 0.5).shape == (1,) and sol.std("now.reaction('hinge')", 0.45).shape == (6,)
    motor = next(part for part in sol.problem.system.parts if part.n_controls)
    assert sol.std(motor, 0.5)[0] > 0
    with pytest.raises(InputError, match="inside of the solution"):
        sol.std("hinge", 1.5)
    with pytest.raises(InputError, match="'hin'"):
        sol.std("hin", 0.5)


@pytest.mark.long
def test_draws_have_the_covariance():
    sol = tf.solve(oscillator(), tf.MixedGalerkin(2), 8, progress=False)
    draws = sol.draws(4000, seed=1)
    found = np.cov(draws[:, 4].T)
    np.testing.assert_allclose(found, sol.state_covariance(4), rtol=0, atol=5 * sol.state_covariance(4).max() / 60)


@pytest.mark.long
def test_what_nothing_determines_is_named():
    """A body that sees stars: attitude and spin are found without a prior, its place is not."""
    problem = three_stars()
    body = problem.measurements[0].body
    free = tf.Estimation(tf.System([tf.RigidBody(1.0, (0.6, 0.8, 0.3), name=body)]), problem.measurements,
                         noise={body: (None, 4e-4)}, prior={body: tf.StatePrior(tf.Pose(
                             orientation=(0.997, 0.05, -0.05, 0.03) / np.linalg.norm((0.997, 0.05, -0.05, 0.03)),
                             angular_velocity=(0.05, 1.6, 9.0)))}, t_span=(0.0, 3.0))
    sol = tf.solve(free, tf.MixedGalerkin(2), 24, progress=False)
    assert sol.success
    told = "; ".join(sol.fit.undetermined)
    assert "position of body" in told and "velocity of body" in told and "angular" not in told
    assert "orientation" not in told and not sol.fit.good and "StatePrior" in told
    assert abs(sol.fit.degrees_of_freedom - 102) < 0.1


def test_what_one_star_leaves_open():
    """A turn about it, named by its axis."""
    star, times = np.array([0.6, 0.0, 0.8]), TIMES
    seen = tf.DirectionSensor("body", star, times=times, values=np.tile(star, (10, 1)), sigma=0.01)
    problem = tf.Estimation(tf.System([tf.RigidBody(1.0, (1, 1, 1), name="body")]), [seen], t_span=(0, 1))
    told = tf.solve(problem, tf.MixedGalerkin(1), 10, progress=False).fit.undetermined
    assert any("orientation of body at the start, turns about (0.6, 0, 0.8) in space: give a" in x for x in told)
    assert any("position of body at the start: give a" in x for x in told)


def drawn(rng, d, phi, root, n):
    """Measurements and states of an oscillator drawn from its prior and noise."""
    z = rng.multivariate_normal(d["prior_mean"], d["prior_covariance"])
    states = [z]
    for _ in range(n):
        z = phi @ z + root @ rng.standard_normal(2)
        states.append(z)
    states = np.array(states)
    at = [round(t * n / 4.0) for t in d["times"]]
    return states, states[at, 0] + np.sqrt(d["R"]) * rng.standard_normal(len(at))


@pytest.mark.slow
def test_coverage_and_chi2():
    """500 seeds: 95 % intervals hold 95 +- 2 %; the sums of squares are chi^2."""
    d, n, inside, squares = data("oscillator"), 8, [], []
    w2, damping = d["omega"]**2, 2 * d["zeta"] * d["omega"]
    phi, q = step(np.array([[0, 1], [-w2, -damping]]), np.array([[0.0], [1.0]]), np.array([[d["Q"]]]), 2, 4.0 / n)
    root = np.linalg.cholesky(q)
    for seed in range(500):
        states, values = drawn(np.random.default_rng(seed), d, phi, root, n)
        sol = tf.solve(oscillator(d | {"measurements": values.tolist()}), tf.MixedGalerkin(2), n, progress=False)
        deviations = np.array([np.sqrt(np.diag(sol.state_covariance(i))) for i in range(n + 1)])
        inside.append((np.abs(sol.z - states) < 1.959964 * deviations).mean())
        squares.append(sol.fit.chi2)
    assert abs(np.mean(inside) - 0.95) < 0.02
    assert abs(np.mean(squares) - 8) < 3 * np.sqrt(2 * 8 / 500)
    assert abs(np.var(squares) - 16) < 3 * 16 * np.sqrt(2 / 500) * 1.7


@pytest.mark.slow
def test_coverage_of_a_pendulum():
    """Nonlinear: 200 seeds of white noise in fine steps."""
    d, inside, squares = data("pendulum"), [], []
    fine = 400
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.multivariate_normal(d["prior_mean"], d["prior_covariance"])
        h, states = 2.0 / fine, [x]
        for _ in range(fine):  # leapfrog with a kick of the noise
            v = x[1] - h / 2 * 9.81 * np.sin(x[0]) + np.sqrt(d["Q"] * h) * rng.standard_normal()
            angle = x[0] + h * v
            x = np.array([angle, v - h / 2 * 9.81 * np.sin(angle)])
            states.append(x)
        states = np.array(states)[::fine // 10]
        values = states[1:, 0] + np.sqrt(d["R"]) * rng.standard_normal(10)
        sol = tf.solve(pendulum(d | {"measurements": values.tolist()}), tf.MixedGalerkin(2), 20, progress=False)
        deviations = np.array([np.sqrt(np.diag(sol.state_covariance(2 * i))) for i in range(11)])
        inside.append((np.abs(sol.z[::2] - states) < 1.959964 * deviations).mean())
        squares.append(sol.fit.chi2)
    assert abs(np.mean(inside) - 0.95) < 0.02
    assert abs(np.mean(squares) - 10) < 3 * np.sqrt(2 * 10 / 200)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_wide_priors_of_fast_tumbling_bodies_come_in(seed):
    """Nothing is known of attitude and spin, some 5 rad/s: a march from the guess leads nowhere, windows that grow do.
    """
    rng = np.random.default_rng(seed)
    turn, spin = rng.standard_normal(4), 3 * rng.standard_normal(3)
    body = tf.RigidBody(1.0, (0.6, 0.8, 0.3), name="body")
    start = {body: tf.Pose(orientation=turn / np.linalg.norm(turn), angular_velocity=spin)}
    truth = tf.solve(tf.InitialValueProblem(tf.System([body]), start, (0.0, 3.0)), tf.MixedGalerkin(3), 60,
                     progress=False)
    times = np.arange(1, 13) / 4
    turns = truth.rotation_matrix("body", times)
    stars = [tf.DirectionSensor("body", star, times=times, sigma=0.01, name=f"star {i}",
                                values=turns.transpose(0, 2, 1) @ star + 0.01 * rng.standard_normal((12, 3)))
             for i, star in enumerate(np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0.28, 0.96]]))]
    problem = tf.Estimation(tf.System([body]), stars, noise={"body": (None, 4e-4)}, t_span=(0.0, 3.0), prior={
        "body": tf.StatePrior(tf.Pose(), position=1e-3, velocity=1e-3)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 24, progress=False)
    assert sol.success and sol.fit.good, sol.fit.verdict
    right = truth.angular_velocity("body", [3.0], frame="body")[0]
    assert np.all(np.abs(sol.value("body", 3.0)[9:] - right) < 4 * sol.std("body", 3.0)[9:])


@pytest.mark.long
def test_wide_priors_cost_no_digits():
    """A pendulum on a slide of which the slide alone is measured, without any prior: the same as by the dense inverse.
    """
    slide, bob = tf.RigidBody(1.0, (1, 1, 1), name="slide"), tf.RigidBody(0.5, (0.01, 0.01, 0.01), name="bob")
    rail = tf.Prismatic(slide, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="rail")
    pin = tf.Revolute(bob, slide, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                      name="pin")
    system = tf.System([slide, bob, rail, pin], gravity=(0, 0, -9.81), coordinates="joint")
    start = tf.InitialValueProblem(system, {"rail": (0.0, 0.3), "pin": (0.5, 0.0)}, (0, 2))
    truth, times = tf.solve(start, tf.MixedGalerkin(3), 60, progress=False), np.linspace(0.1, 2, 20)
    values = truth.joint("rail").coordinate(times) + 0.002 * np.random.default_rng(1).standard_normal(20)
    prior = {"rail": tf.StatePrior(0.0), "pin": tf.StatePrior(0.4)}
    problem = tf.Estimation(system, [tf.JointSensor("rail", times=times, values=values, sigma=0.002)], t_span=(0, 2),
                            noise={"rail": 0.01, "pin": 1e-4}, prior=prior)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success and not sol.fit.undetermined
    columns, dense = sol._found.chain.columns_of("state"), dense_covariance(sol)
    for i, own in ((0, columns[0, 0]), (10, columns[9, -1]), (20, columns[19, -1])):
        right = dense[np.ix_(own, own)]
        np.testing.assert_allclose(sol.state_covariance(i), right, rtol=0, atol=1e-5 * right.max())
    assert np.all(sol.std("pin") > 1e-3)


@pytest.mark.long
def test_inertial_sensors_with_biases():
    """A body with a gyroscope and an accelerometer off its centre, both biased, seen by satellites and a magnetometer:
    the biases are found within their standard deviations."""
    body = tf.RigidBody(1.5, (0.02, 0.02, 0.03), name="drone")
    system = tf.System([body, tf.Force(body, (0, 0, 1), time=1.5 * 9.81, name="lift")], gravity=(0, 0, -9.81))
    start = {body: tf.Pose((0, 0, 1), velocity=(1, 0, 0), angular_velocity=(0.8, 0.5, 0.9))}
    truth = tf.solve(tf.InitialValueProblem(system, start, (0, 1)), tf.MixedGalerkin(3), 100, progress=False)
    rng, arm, h = np.random.default_rng(6), np.array([0.1, 0.0, 0.05]), 1e-3
    fast, slow = np.arange(1, 40) / 40, np.arange(1, 10) / 10
    place = [truth.position("drone", fast + k * h) + truth.rotation_matrix("drone", fast + k * h) @ arm for k in
             (-1, 0, 1)]
    turns = truth.rotation_matrix("drone", fast)
    force = np.einsum("tji,tj->ti", turns, (place[0] - 2 * place[1] + place[2]) / h**2 + [0, 0, 9.81])
    biases = {"acc": np.array([0.1, -0.2, 0.05]), "gyro": np.array([0.02, -0.01, 0.03])}
    field = np.array([20.0, 0, -40])
    sensors = [
        tf.Accelerometer("drone", arm, times=fast, values=force + biases["acc"] + 0.05 * rng.standard_normal((39, 3)),
                         sigma=0.05, bias=tf.Prior(0, 0.5), name="acc"),
        tf.Gyroscope("drone", times=fast, sigma=0.01, bias=tf.Prior(0, 0.1), name="gyro", values=biases["gyro"] +
                     truth.angular_velocity("drone", fast) + 0.01 * rng.standard_normal((39, 3))),
        tf.Marker("drone", times=slow, sigma=0.02, values=truth.position("drone", slow) + 0.02 * rng.standard_normal(
            (9, 3)), name="satellites"),
        tf.DirectionSensor("drone", field, times=slow, sigma=0.5, name="magnetometer", values=truth.rotation_matrix(
            "drone", slow).transpose(0, 2, 1) @ field + 0.5 * rng.standard_normal((9, 3)))]
    problem = tf.Estimation(system, sensors, noise={"drone": (1e-4, 1e-6)}, t_span=(0, 1), prior={
        "drone": tf.StatePrior(tf.Pose((0, 0, 1)), position=0.5, orientation=0.3, velocity=2, angular_velocity=1)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    assert sol.success and sol.fit.deviations < 3, sol.fit.verdict
    for name, right in biases.items():
        assert np.all(np.abs(sol.parameters[f"bias of {name}"] - right) < 3.5 * sol.std(f"bias of {name}"))
    assert sol.std("bias of gyro").max() < 0.03 and sol.std("bias of acc").max() < 0.3


@pytest.mark.long
def test_a_beam_seen_by_markers_comes_in():
    """Markers see no torsion: full Gauss-Newton steps go round in circles, damped ones end. They began at the
    guess and were 100, most of them refused, where corrections by one set of factors did not come back from the end of
    full steps."""
    section = tf.Section.rectangle(E=2e8, nu=0.3, density=1200, width=0.02, height=0.02)
    beam = tf.Beam(1.0, section, 1, name="arm")
    clamp = tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0), name="clamp")
    system, times = tf.System([beam, clamp], gravity=(0, 0, -9.81)), np.arange(1, 21) / 40
    truth = tf.solve(tf.InitialValueProblem(system, {}, (0, 0.5)), tf.MixedGalerkin(2), 80, progress=False)
    rng, nodes = np.random.default_rng(0), [body.name for body in system.bodies]
    seen = [tf.Marker(name, (0, 0, 0), times=times, sigma=0.001, name=f"marker on {name}",
                      values=truth.position(name, times) + 0.001 * rng.standard_normal((20, 3))) for name in nodes[1:]]
    prior = {name: tf.StatePrior(position=0.1, orientation=0.1, velocity=0.5, angular_velocity=5.0) for name in nodes}
    sol = tf.solve(tf.Estimation(system, seen, t_span=(0, 0.5), prior=prior), tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success and sol.fit.good, sol.fit.verdict if sol.success else sol.status.message
    off = (sol.position(nodes[-1], times) - truth.position(nodes[-1], times)) / sol.std(nodes[-1], times)[:, :3]
    assert 0.5 < np.sqrt(np.mean(off**2)) < 1.3
    assert np.abs(sol.system.constraints(sol.t, sol.z)).max() < 1e-12


@pytest.mark.parametrize(("sigma", "wide"), [(1e-2, 1e2), (1e-2, 1e6), (1e-6, 1e2), (1e-7, None)])
def test_priors_that_say_nothing(sigma, wide):
    """Start and stiffness of an oscillator by its places: as by least squares of the closed form, however wide priors
    are and however sharp readings."""
    mass, times = tf.PointMass(1.5, dimension=1, name="mass"), np.arange(1, 41) / 20
    spring = tf.FormulaEnergy([mass], "c[0] / 2 * f[0].q[0]**2", parameters=[18.0], name="spring")

    def motion(k, x, v):
        w = np.sqrt(k / 1.5)
        return x * np.cos(w * times) + v / w * np.sin(w * times)

    seen = motion(20.0, 0.5, 0.0) + sigma * np.random.default_rng(0).standard_normal(40)
    problem = tf.Estimation(
        tf.System([mass, spring]), [tf.Marker("mass", axes="x", times=times, values=seen, sigma=sigma)], t_span=(0, 2),
        prior={"mass": tf.StatePrior(tf.Pose((0.4, 0, 0)), q=wide, v=wide)},
        numbers={"k": ("spring.parameters[0]", tf.Prior(18, wide or 1e3))})
    sol = tf.solve(problem, tf.MixedGalerkin(5), 80, progress=False)
    best = scipy.optimize.least_squares(lambda n: (motion(*n) - seen) / sigma, [20, 0.5, 0.0], x_scale=[20, 1, 1],
                                        xtol=1e-15, ftol=1e-15, gtol=1e-15)
    std = np.sqrt(np.linalg.inv(best.jac.T @ best.jac).diagonal())
    found = np.append(sol.parameters["k"], sol.value("mass", 0.0))
    assert sol.success and np.abs((found - best.x) / std).max() < 1e-4
    # beside priors a million wide rounding is 1e-8 to 3e-6, by the sizes of the unknowns
    np.testing.assert_allclose(np.append(sol.std("k"), sol.std("mass", 0.0)), std, rtol=1e-6 if wide != 1e6 else 1e-5)


def test_prior_of_a_body_on_a_ball():
    """A ball has no coordinate to give: the prior is that of its body, also where that is a link of a tree."""
    times, found = np.linspace(0.1, 0.5, 5), []
    for coordinates in ("bodies", "joint"):
        body = tf.RigidBody(1.5, (0.02, 0.03, 0.04), name="body")
        ball = tf.Spherical(body, point_a=(0, 0, 0.2), point_b=(0, 0, 0), name="ball")
        system = tf.System([body, ball], gravity=(0, 0, -9.81), coordinates=coordinates)
        gyro = tf.Gyroscope("body", times=times, values=np.outer(times, [0.1, -0.2, 0.3]), sigma=0.02)
        for given, message in ((tf.StatePrior(tf.Pose(), q=0.5), "coordinates, and a prior is of one"),
                               (tf.StatePrior(tf.Pose(), orientation=0.5), "give that of a body that it moves")):
            with pytest.raises(InputError, match=message):
                tf.Estimation(system, [gyro], t_span=(0, 0.5), prior={"ball": given})
        prior = tf.StatePrior(tf.Pose((0, 0, -0.2)), orientation=0.2, angular_velocity=0.5)
        sol = tf.solve(tf.Estimation(system, [gyro], t_span=(0, 0.5), prior={"body": prior}),
                       tf.MixedGalerkin(3, form="lagrange" if coordinates == "joint" else "hamilton"), 10,
                       progress=False)
        assert sol.success
        found.append(np.concatenate([sol.std("body", 0.5)[3:6], sol.rotation_matrix("body", 0.5).ravel()]))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)
