"""Estimation without dynamics, inverse kinematics of whole motions: against SciPy, and in other coordinates."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
import scipy

import timefem as tf
from timefem.problems.estimation.kinematic.block_chain import BlockChain, NotPositive
from timefem.problems.estimation.kinematic.geometry import Geometry, Tangents
from timefem.problems.estimation.prior import Prior
from timefem.problems.estimation.problem import Estimation
from timefem.problems.estimation.sensors import FormulaSensor, Gyroscope, JointSensor, Marker

SIGMA = 0.01


def arm(n):
    links = [tf.Link("ground")]
    links += [tf.Link(f"link{i}", mass=1, centre=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)) for i in range(n)]
    joints = [tf.TreeJoint(f"joint{i}", links[i].name, links[i + 1].name, axis=(0, 0, 1),
                           position=(float(i > 0), 0, 0)) for i in range(n)]
    return tf.Tree(links, joints, name="arm")


def points(tree, q, point=(1.0, 0.0, 0.0)):
    """Places of a point of each moving link, shape (n_links, n, 3)."""
    poses = [[tree.link_pose(link.name, x) for x in q] for link in tree.links[1:]]
    return np.array([[place + turn @ point for place, turn in own] for own in poses])


def markers(tree, t, places, sigma=SIGMA, **others):
    return [Marker(tree.link(link.name), (1.0, 0, 0), axes="xy", times=t, values=own[:, :2], sigma=sigma,
                      name=f"on {link.name}", **others) for link, own in zip(tree.links[1:], places, strict=True)]


def measured_arm(n=3, frames=21, seed=1):
    tree, rng = arm(n), np.random.default_rng(seed)
    t = np.linspace(0, 2, frames)
    q = np.stack([0.5 * np.sin(2 * t + k) for k in range(n)], axis=1)
    places = points(tree, q)
    return tree, t, q, places + SIGMA * rng.standard_normal(places.shape)


def solve(system, sensors, noise, k=2, tol=1e-9, **others):
    problem = Estimation(system, sensors, noise=noise, dynamics="none", **others)
    return tf.solve(problem, tf.MixedGalerkin(k), progress=False, newton=tf.Newton(tol_increment=tol))


def covariance_of_step(h, k):
    if k == 2:
        return np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
    return np.array([[h**5 / 20, h**4 / 8, h**3 / 6], [h**4 / 8, h**3 / 3, h**2 / 2], [h**3 / 6, h**2 / 2, h]])


@pytest.mark.parametrize("levels, n_dense", [(1, 6), (2, 1), (3, 0)])
def test_chain_of_blocks(levels, n_dense):
    rng, n, b = np.random.default_rng(0), 5, 6
    chain, whole = BlockChain(n, b, levels, n_dense), np.zeros((n * b, n * b))
    for blocks in (chain.diagonal, chain.coupling, chain.apart):
        blocks[:] = rng.standard_normal(blocks.shape)
    chain.diagonal[:] = chain.diagonal @ chain.diagonal.swapaxes(1, 2) + 4 * b * np.eye(b)
    for i in range(n):
        whole[i * b:, i * b:][:b, :b] = chain.diagonal[i]
        if i < n - 1:
            whole[i * b:, (i + 1) * b:][:b, :b] = chain.coupled(i)
            whole[(i + 1) * b:, i * b:][:b, :b] = chain.coupled(i).T
    right = rng.standard_normal((n, b, 2))
    forwards = chain.factor(right)
    assert chain.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-13)
    np.testing.assert_allclose(chain.substituted(forwards).reshape(-1, 2), np.linalg.solve(whole, right.reshape(-1, 2)),
                               rtol=0, atol=1e-13)
    inverse = np.linalg.inv(whole)
    own, beside = chain.inverse_blocks(coupled=True)
    for i in range(n):
        np.testing.assert_allclose(own[i], inverse[i * b:, i * b:][:b, :b], rtol=0, atol=1e-13)
        if i < n - 1:
            np.testing.assert_allclose(beside[i], inverse[(i + 1) * b:, i * b:][:b, :b], rtol=0, atol=1e-13)


def test_chain_that_is_singular():
    chain = BlockChain(3, 2)
    chain.diagonal[:] = [[[1, 0], [0, 2]], [[2, 0], [0, 2]], [[1, 0], [0, 2]]]
    chain.coupling[:] = [[-1, 0], [0, 0]]  # differences of the first unknowns alone
    with pytest.raises(NotPositive) as found:
        chain.factor()
    assert found.value.index == 2
    np.testing.assert_allclose(np.abs(found.value.direction), [1, 0], rtol=0, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("k", [2, 3])
def test_least_squares_by_scipy(k):
    """Means and covariances of an open chain are those of SciPy on the same data."""
    tree, t, q, places = measured_arm()
    noise = {2: 5.0, 3: 50.0}[k]
    sol = solve(tf.System([tree]), markers(tree, t, places), noise, k)
    n, frames = tree.n_q, len(t)
    whiten = [np.linalg.inv(np.linalg.cholesky(noise * covariance_of_step(h, k))) for h in np.diff(t)]
    ahead = [np.array([[h**(j - i) / (1, 1, 2)[j - i] if j >= i else 0 for j in range(k)] for i in range(k)])
             for h in np.diff(t)]

    def residuals(unknowns):
        x = unknowns.reshape(frames, k, n)
        angle = np.cumsum(x[:, 0], axis=1)
        tips = np.stack([np.cumsum(np.cos(angle), axis=1), np.cumsum(np.sin(angle), axis=1)])
        misfit = (places[:, :, :2].transpose(2, 1, 0) - tips) / SIGMA
        steps = [w @ (b - a @ x0) for w, a, x0, b in zip(whiten, ahead, x[:-1], x[1:], strict=True)]
        return np.concatenate([misfit.ravel(), np.ravel(steps)])

    def jacobian(unknowns):
        return np.stack([residuals(unknowns + 1e-30j * e).imag / 1e-30 for e in np.eye(unknowns.size)], axis=1)

    states = [sol.q, sol.rates, *([sol.accelerations] if k > 2 else [])]
    own = np.stack(states, axis=1).ravel()
    right = scipy.optimize.least_squares(residuals, own + 0.01, jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    scale = np.abs(right.x).max()
    np.testing.assert_allclose(own, right.x, rtol=0, atol=1e-8 * scale)
    inverse = np.linalg.inv(jacobian(right.x).T @ jacobian(right.x))
    for i in (0, frames // 2, frames - 1):
        block = inverse[k * n * i:, k * n * i:][:k * n, :k * n]
        np.testing.assert_allclose(sol.state_covariance(i), block, rtol=0, atol=1e-7 * np.abs(block).max())
    assert np.abs(sol.q - q).max() < 5 * SIGMA


@pytest.mark.parametrize("k, bound", [(2, (0.03, 0.01)), (3, (0.25, 0.1))])
def test_point_on_a_circle(k, bound):
    """In the plane with a constraint, 0.4 rad per frame: the posterior is that of the angle."""
    rng, t = np.random.default_rng(3), np.linspace(0, 3, 31)
    angle = 4 * t + 0.3 * np.sin(3 * t)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.02 * rng.standard_normal((31, 2))
    noise = {2: 20.0, 3: 400.0}[k]
    point = tf.PointMass(1.0, name="point")
    circle = tf.Constraint(point, lambda f, t, c: ca.vertcat((ca.sumsqr(f[0].q[:2]) - 1) / 2, f[0].q[2]), 2)
    plane = solve(tf.System([point, circle]), Marker(point, axes="xy", times=t, values=places, sigma=0.02), noise, k,
                  prior={point: tf.Pose(position=(1, 0, 0))})
    tree = arm(1)
    hinge = solve(tf.System([tree]), markers(tree, t, places[None], 0.02), noise, k)
    q, v = plane.q, plane.rates
    off = np.unwrap(np.arctan2(q[:, 1], q[:, 0])) - hinge.q[:, 0], q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0] - \
        hinge.rates[:, 0]
    rate = hinge.std(lambda now: now.joint_rate(tree.joint("joint0")))[:, 0]
    assert np.abs(off[0] / hinge.std(tree.joint("joint0"))[:, 0]).max() < bound[0]
    assert np.abs(off[1] / rate).max() < bound[0] and np.sqrt(np.mean((off[1] / rate)**2)) < bound[1]
    speed = plane.std(lambda now: now.q(point)[0] * now.rates(point)[1] - now.q(point)[1] * now.rates(point)[0])
    np.testing.assert_allclose(speed[:, 0], rate, rtol=0.02, atol=0)
    assert np.abs(np.linalg.norm(q[:, :2], axis=1) - 1).max() < 1e-14
    assert np.abs((q[:, :2] * v[:, :2]).sum(axis=1)).max() < 1e-12


def tumbling_points(t, corners):
    """Places of points of a body that moves and turns, shape (n, n_points, 3)."""
    turns = scipy.spatial.transform.Rotation.from_rotvec(np.stack([np.sin(t), 2 * t, 0.5 * np.cos(2 * t)], axis=1))
    place = np.stack([np.cos(t), t, np.sin(2 * t)], axis=1)
    return place[:, None] + np.einsum("nab,kb->nka", turns.as_matrix(), corners)


@pytest.mark.parametrize("k", [2, 3])
def test_quaternions_and_directors(k):
    """A free body that turns by more than half a turn: the same motion and the same covariance."""
    rng, t = np.random.default_rng(4), np.linspace(0, 2.5, 26)
    corners = np.array([[0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3], [-0.2, -0.2, 0.1]])
    places = tumbling_points(t, corners) + 0.005 * rng.standard_normal((26, 4, 3))
    found = []
    for rotation in ("quaternion", "directors"):
        body = tf.RigidBody(2.0, (0.3, 0.4, 0.5), rotation=rotation, name="body")
        sensors = [Marker(body, corner, times=t, values=places[:, i], sigma=0.005)
                   for i, corner in enumerate(corners)]
        sol = solve(tf.System([body]), sensors, {body: (20.0, 60.0)}, k)
        assert sol.success
        found.append([sol.value(lambda now, b=body: ca.vertcat(now.position(b), ca.vec(now.rotation_matrix(b)),
                                                                  now.angular_velocity(b))),
                      sol.std(lambda now, b=body: ca.vertcat(now.position(b, (0.3, 0, 0)), now.angular_velocity(b)))])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-7, atol=0)


def test_joint_and_redundant_coordinates():
    """A body that turns about an axis through its centre of mass: the angle, and seven coordinates with six rows."""
    rng, t = np.random.default_rng(5), np.linspace(0, 2, 41)
    angle = 0.4 * np.sin(3 * t)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1) + SIGMA * rng.standard_normal((41, 2))
    tree = arm(1)
    hinge = solve(tf.System([tree]), markers(tree, t, places[None]), 30.0)
    turned = []
    for rotation in ("quaternion", "directors"):
        body = tf.RigidBody(2.0, (0.3, 0.4, 0.5), rotation=rotation, name="body")
        joint = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                            name="hinge")
        sensor = Marker(body, (1.0, 0, 0), axes="xy", times=t, values=places, sigma=SIGMA)
        sol = solve(tf.System([body, joint]), sensor, {body: (1.0, 30.0)})
        turned.append([sol.value("hinge")[:, 0], sol.std("hinge")[:, 0],
                       sol.value(lambda now, b=body: now.angular_velocity(b))[:, 2]])
    for angle, std, rate in turned:
        np.testing.assert_allclose(angle, hinge.q[:, 0], rtol=0, atol=1e-8)
        np.testing.assert_allclose(rate, hinge.rates[:, 0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(std, hinge.std(tree.joint("joint0"))[:, 0], rtol=1e-7, atol=0)


def closed_chain(frames=30):
    """An arm of four links whose tip is held, with a path that its joints follow."""
    tree = arm(4)
    start = np.array([0.9, -0.7, -0.6, -0.5])
    tip = np.array(points(tree, start[None])[-1, 0])
    held = tf.Constraint(tree.link("link3"), lambda f, t, c: f[0].point([1, 0, 0])[:2] - c, 2, parameters=tip[:2],
                         name="tip")
    system = tf.System([tree, held])
    geometry, t = Geometry(system, 2), np.linspace(0, 1, frames)
    q = start + 0.3 * np.stack([np.sin(3 * t), np.cos(2 * t) - 1, np.sin(t), 0 * t], axis=1)
    for _ in range(8):
        x = np.stack([q, 0 * q], axis=1)
        q = q.copy()
        q[:, geometry.touched] += Tangents(geometry, np.ones(geometry.n_increments), x, t).shift[:, 0]
    return tree, system, t, q


def test_loops_hold():
    tree, system, t, q = closed_chain()
    places = points(tree, q)
    places = places + SIGMA * np.random.default_rng(6).standard_normal(places.shape)
    sol = solve(system, markers(tree, t, places), 50.0, prior={tree: dict(zip(tree.joint_names, q[0], strict=True))})
    assert sol.success
    assert np.abs(system.constraints(sol.t, sol.z)).max() < 1e-12
    assert np.abs(sol.q - q).max() < 5 * SIGMA
    whole, jacobian = sol.state_covariance(10)[:4, :4], system.derivatives(sol.t[10], sol.z[10])[1].toarray()[:2, :4]
    assert np.abs(jacobian @ whole).max() < 1e-9 * np.abs(whole).max()  # nothing along the normals
    open_arm = solve(tf.System([tree]), markers(tree, t, places), 50.0)
    assert np.all(sol.std("joint3") < open_arm.std("joint3"))  # what is held is known better


def test_redundant_constraints_and_velocities():
    """Rows that repeat others, and rates that are measured, change nothing but what they should."""
    tree, system, t, q = closed_chain()
    places = points(tree, q)
    twice = tf.System([*system.parts, tf.Constraint(tree.link("link3"), lambda f, t, c: f[0].point([1, 0, 0])[:1] - c,
                                                    1, parameters=places[-1, 0, :1], name="again")],
                      redundant="drop")
    prior = {tree: dict(zip(tree.joint_names, q[0], strict=True))}
    sensors = markers(tree, t, places)
    one, other = solve(system, sensors, 50.0, prior=prior), solve(twice, sensors, 50.0, prior=prior)
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-9)
    gyro = Gyroscope(tree.link("link1"), times=t, values=np.tile([0, 0, 0.5], (len(t), 1)), sigma=1e-4,
                        bias=Prior(np.zeros(3), 1.0), name="gyro")
    rates = one.value(lambda now: now.angular_velocity(tree.link("link1")))
    gyro.values[:, 2] = rates[:, 2] + 0.25
    with_gyro = solve(system, [*sensors, gyro], 50.0, prior=prior)
    assert with_gyro.numbers[2] == pytest.approx(0.25, abs=1e-3)
    assert with_gyro.number_covariance[2, 2] ** 0.5 < 0.05


@pytest.mark.long
def test_coverage_of_intervals():
    """95 % intervals of angles and rates of an arm hold 95 % of the time; the motion is a draw of the prior."""
    tree, frames, noise = arm(2), 25, 20.0
    t, system = np.linspace(0, 1, frames), tf.System([arm(2)])
    tree = system.bodies[0]
    inside = [[], []]
    squares = []
    for seed in range(60):
        rng = np.random.default_rng(100 + seed)
        x = np.zeros((frames, 2, 2))
        x[0] = rng.standard_normal((2, 2)) * 0.5
        for i, h in enumerate(np.diff(t)):
            root = np.linalg.cholesky(noise * covariance_of_step(h, 2))
            x[i + 1] = [[1, h], [0, 1]] @ x[i] + root @ rng.standard_normal((2, 2))
        places = points(tree, x[:, 0])
        sol = solve(system, markers(tree, t, places + 0.02 * rng.standard_normal(places.shape), 0.02), noise)
        deviations = np.sqrt([np.diag(sol.state_covariance(i)) for i in range(0, frames, 4)])
        inside[0].append(np.abs(sol.q - x[:, 0])[::4] < 1.96 * deviations[:, :2])
        inside[1].append(np.abs(sol.rates - x[:, 1])[::4] < 1.96 * deviations[:, 2:])
        squares.append(2 * sol.statistics["objective"])
    assert 0.93 < np.mean(inside[0]) < 0.97 and 0.93 < np.mean(inside[1]) < 0.97
    right = 4 * frames - 4  # numbers measured, less the start, which has no prior
    assert abs(np.mean(squares) - right) < 3 * np.sqrt(2 * right / 60)


@pytest.mark.long
def test_robust_losses_and_swapped_markers():
    tree, t, q, places = measured_arm(4, 40)
    swapped = places.copy()
    swapped[[1, 2]] = swapped[[2, 1]]
    sol = solve(tf.System([tree]), markers(tree, t, swapped, loss="student"), 5.0, tol=1e-4)
    assert any("on link1" in told and "on link2" in told and "swapped" in told for told in sol.fit.suspicions)
    assert not sol.fit.good
    jumps = places.copy()
    rng = np.random.default_rng(7)
    hit = [(i, j) for i in range(4) for j in range(40) if rng.random() < 0.05]
    for i, j in hit:
        jumps[i, j] += rng.choice([-0.3, 0.3], 3)
    squares = solve(tf.System([tree]), markers(tree, t, jumps), 5.0)
    huber = solve(tf.System([tree]), markers(tree, t, jumps), 5.0, tol=1e-4, loss="huber")  # of all
    assert huber.success and np.abs(huber.q - q).max() < 0.5 * np.abs(squares.q - q).max()
    named = {(int(name[-1]), round(time * 39 / 2)) for name, time, _ in huber.fit.outliers}
    assert huber.weights(huber.problem.measurements[0]).min() < 0.2
    assert set(hit) <= named and len(named) <= len(hit) + 3  # what is beside them may be drawn along
    costs, (i, j) = [], hit[0]
    for change in (-1e-4, 1e-4):  # the slope of the least cost by a value is that of the loss
        moved = jumps.copy()
        moved[i, j, 0] += change
        again = solve(tf.System([tree]), markers(tree, t, moved), 5.0, tol=1e-4, loss="huber")
        costs.append(again.statistics["objective"])
    sensor = huber.problem.measurements[i]
    slope = huber.weights(sensor)[j] * huber.residuals(sensor)[j, 0] / SIGMA**2
    np.testing.assert_allclose((costs[1] - costs[0]) / 2e-4, slope, rtol=1e-2)


def test_degrees():
    """What one sensor says wrongly is judged by the motion of the others."""
    tree, t, q, places = measured_arm(3, 41)
    encoder = JointSensor(tree.joint("joint1"), times=t, values=np.degrees(q[:, 1]), sigma=0.01, name="encoder")
    sol = solve(tf.System([tree]), [*markers(tree, t, places), encoder], 5.0)
    assert "encoder look like degrees" in sol.fit.verdict


@pytest.mark.long
def test_draws_and_times():
    """Draws have the covariance that is reported, and hold the constraints; a motion is known at its frames."""
    tree, system, t, q = closed_chain(12)
    places = points(tree, q)
    prior = {tree: dict(zip(tree.joint_names, q[0], strict=True))}
    sol = solve(system, markers(tree, t, places), 50.0, prior=prior)
    draws = sol.draws(400, seed=3)
    assert np.abs(system.constraints(np.tile(t, 400), draws.reshape(-1, draws.shape[2]))).max() < 1e-12
    spread, told = draws[:, :, :4].std(axis=0), np.concatenate([sol.std(name) for name in tree.joint_names], axis=1)
    np.testing.assert_allclose(spread, told, rtol=0.2, atol=0)
    np.testing.assert_allclose(sol.value("joint1", t[[7, 2]])[:, 0], q[[7, 2], 1], rtol=0, atol=0.01)
    lower, upper = sol.interval("joint1")
    np.testing.assert_allclose(upper - lower, 2 * 1.959964 * sol.std("joint1"), rtol=1e-6)
    with pytest.raises(tf.InputError, match="known at its frames alone"):
        sol.value("joint1", [0.05])
    assert sol.fit.degrees_of_freedom == 2 * 4 * 12 - 2 * 2 and "chi2" in sol.fit.verdict


def test_missing_and_other_times():
    """Gaps are bridged, and sensors may have times of their own."""
    tree, t, q, places = measured_arm(2, 41)
    sensors = markers(tree, t, places)
    gap = places[1].copy()
    gap[10:16] = np.nan
    some = [sensors[0], Marker(tree.link("link1"), (1.0, 0, 0), axes="xy", times=t, values=gap[:, :2], sigma=SIGMA,
                                  missing="skip")]
    sol = solve(tf.System([tree]), some, 5.0)
    deviations = sol.std("joint1")[:, 0]
    assert deviations[13] > 3 * deviations[5] and np.all(np.abs(sol.q - q)[13] < 4 * deviations[13])
    other = Marker(tree.link("link1"), (1.0, 0, 0), axes="xy", times=t[:-1] + 0.02,
                      values=points(tree, np.stack([0.5 * np.sin(2 * (t[:-1] + 0.02) + k) for k in range(2)], 1))[
                          1, :, :2], sigma=SIGMA)
    sol = solve(tf.System([tree]), [sensors[0], other], 5.0)
    assert len(sol.t) == 81 and np.abs(sol.q[::2] - q).max() < 5 * SIGMA


def test_unknown_points_of_markers():
    """Where markers sit on the skin is found with the motion."""
    tree, t, _, places = measured_arm(2, 41)
    sensors = markers(tree, t, places)
    shifted = points(tree, np.stack([0.5 * np.sin(2 * t + k) for k in range(2)], axis=1), (0.45, 0.1, 0.0))[0]
    skin = Marker(tree.link("link0"), Prior((0.5, 0.0, 0.0), (0.2, 0.2, 0.2)), axes="xy", times=t,
                     values=shifted[:, :2], sigma=SIGMA, name="skin")
    sol = solve(tf.System([tree]), [*sensors, skin], 5.0)
    np.testing.assert_allclose(sol.numbers, [0.45, 0.1, 0.0], rtol=0, atol=0.01)
    assert np.all(np.sqrt(np.diag(sol.number_covariance))[:2] < 0.005)
    assert np.sqrt(sol.number_covariance[2, 2]) == pytest.approx(0.2)  # along the axis nothing is seen


def test_whole_turns():
    """A wheel of five turns is computed as a path, not as angles between -pi and pi."""
    tree, t = arm(1), np.linspace(0, 1, 81)
    q = 10 * np.pi * t[:, None]
    sol = solve(tf.System([tree]), markers(tree, t, points(tree, q)), 100.0)
    np.testing.assert_allclose(sol.q, q, rtol=0, atol=1e-2)


def test_springs_that_count_turns():
    """Springs on angles bring counters, which follow the joint over whole turns, and change nothing."""
    t, rng = np.linspace(0, 2, 81), np.random.default_rng(8)
    angle = 8 * t
    places = 0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.003 * rng.standard_normal((81, 2))
    found = []
    for wound in (False, True):
        body = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="body")
        hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1),
                            name="hinge")
        spring = tf.JointSpring(hinge, stiffness=3.0, rest=0.5)
        system = tf.System([body, hinge, *([spring] if wound else [])])
        sensor = Marker(body, (0.5, 0, 0), axes="xy", times=t, values=places, sigma=0.003)
        sol = solve(system, sensor, {"body": (50.0, 50.0)}, prior={"hinge": (0.0, 8.0)})
        assert sol.success
        found.append((np.unwrap(sol.value("hinge")[:, 0]), sol.std("hinge")[:, 0]))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-6)
    counter = next(b for b in sol.system.bodies if b.is_counter)
    np.testing.assert_allclose(sol.q[:, sol.system.coordinates(counter)][:, 0], found[1][0], rtol=0, atol=1e-9)


def test_limits_of_joints():
    """A knee that cannot bend over: the angle rests at its limit, as SciPy's bounded least squares have it."""
    tree, t, _, places = measured_arm(2, 21)
    system, sensors = tf.System([tree]), markers(tree, t, places)
    sol = solve(system, sensors, 5.0, limits={"joint1": (-0.2, None), "joint0": (None, 0.4)})
    assert sol.success and sol.q[:, 1].min() > -0.2 and sol.q[:, 0].max() < 0.4
    assert (sol.q[:, 1] < -0.2 + 1e-4).sum() > 3 and (sol.q[:, 0] > 0.4 - 1e-4).sum() > 3
    whiten = np.linalg.inv(np.linalg.cholesky(5.0 * covariance_of_step(0.1, 2)))

    def residuals(unknowns):
        x = unknowns.reshape(21, 2, 2)
        angle = np.cumsum(x[:, 0], axis=1)
        tips = np.stack([np.cumsum(np.cos(angle), axis=1), np.cumsum(np.sin(angle), axis=1)])
        misfit = (places[:, :, :2].transpose(2, 1, 0) - tips) / SIGMA
        steps = [whiten @ (b - [[1, 0.1], [0, 1]] @ a) for a, b in pairwise(x)]
        return np.concatenate([misfit.ravel(), np.ravel(steps)])

    def jacobian(unknowns):
        return np.stack([residuals(unknowns + 1e-30j * e).imag / 1e-30 for e in np.eye(unknowns.size)], axis=1)

    low, high = np.full((21, 2, 2), -np.inf), np.full((21, 2, 2), np.inf)
    low[:, 0, 1], high[:, 0, 0] = -0.2, 0.4
    own = np.stack([sol.q, sol.rates], axis=1)
    right = scipy.optimize.least_squares(residuals, own.ravel(), jacobian, bounds=(low.ravel(), high.ravel()),
                                         xtol=1e-14, ftol=1e-14, gtol=1e-12)
    np.testing.assert_allclose(own.ravel(), right.x, rtol=0, atol=1e-5)
    free = solve(system, sensors, 5.0)
    tree, held, t, q = closed_chain()
    prior = {tree: dict(zip(tree.joint_names, q[0], strict=True))}
    bent = solve(held, markers(tree, t, points(tree, q)), 50.0, prior=prior, limits={"joint3": (None, -0.48)})
    assert bent.success and bent.q[:, 3].max() < -0.48 < q[:, 3].max()
    assert np.abs(held.constraints(bent.t, bent.z)).max() < 1e-12
    wide = solve(system, sensors, 5.0, limits={"joint1": (-3, 3)})
    np.testing.assert_allclose(wide.q, free.q, rtol=0, atol=1e-8)
    with pytest.raises(tf.InputError, match="undetermined"):  # limits alone tell of no place
        solve(system, sensors[:1], 5.0, limits={"joint1": (-1, 1)})
    with pytest.raises(tf.InputError, match="limits hold with dynamics='none' alone"):
        Estimation(system, sensors, limits={"joint1": (-1, 1)})
    with pytest.raises(tf.InputError, match="'knee' is not a joint of a tree"):
        solve(system, sensors, 5.0, limits={"knee": (0, 1)})
    with pytest.raises(tf.InputError, match="the lower one, 1, must be below"):
        solve(system, sensors, 5.0, limits={"joint0": (1, 0)})


def test_bad_input():
    tree, t, _, places = measured_arm()
    system, sensors = tf.System([tree]), markers(tree, t, places)
    with pytest.raises(tf.InputError, match="needs noise, a spectral density"):
        Estimation(system, sensors, dynamics="none")
    with pytest.raises(tf.InputError, match="dynamics must be one of"):
        Estimation(system, sensors, dynamics="kinematic", noise=1.0)
    with pytest.raises(tf.InputError, match=r"MixedGalerkin\(2\), by which accelerations are noise"):
        solve(system, sensors, 1.0, 1)
    with pytest.raises(tf.InputError, match="noise: spectral densities must be positive"):
        solve(system, sensors, -1.0)
    with pytest.raises(tf.InputError, match="noise: none is given for joint1"):
        solve(system, sensors, {"joint0": 1.0, "joint2": 2.0})
    with pytest.raises(tf.InputError, match="undetermined; measure it, give a prior"):
        solve(system, sensors[:2], 1.0)
    with pytest.raises(tf.InputError, match="depends on masses"):
        solve(system, [*sensors, FormulaSensor(lambda now: now.p(tree)[0], times=t, values=0 * t, sigma=1.0)], 1.0)
    with pytest.raises(tf.InputError, match=r"accelerations are noise with MixedGalerkin\(2\)"):
        print(solve(system, sensors, 1.0).accelerations)


@pytest.mark.parametrize("k, noise", [(2, 20.0), (3, 2000.0)])
def test_a_time_offset_has_the_least_cost_and_its_curvature(k, noise):
    """Against fits of known time offsets beside it; frames of the sensor that is late are its own."""
    tree, t, rng = arm(1), np.linspace(0, 2, 41), np.random.default_rng(0)
    late = t[2:-4]
    path = lambda t: np.sin(2 * t) + 0.3 * np.cos(5 * t)
    values = [path(own) + SIGMA * rng.standard_normal(len(own)) for own in (t, late + 0.037)]

    def fitted(offset):
        sensors = [JointSensor("joint0", times=t, values=values[0], sigma=SIGMA, name="known"),
                   JointSensor("joint0", times=late, values=values[1], sigma=SIGMA, name="late", time_offset=offset)]
        return solve(tf.System([tree]), sensors, noise, k, 1e-7)

    sol = fitted(Prior(0.0, 0.05))
    found, std = sol.parameters["time_offset of late"], sol.std("time_offset of late")[0]
    assert sol.success and len(sol.t) == 41 + 35 and abs(found - 0.037) < 3 * std
    near = found + std * np.array([-0.5, 0, 0.5])
    costs = [fitted(float(c)).statistics["objective"] + c**2 / 2 / 0.05**2 for c in near]
    assert costs[1] == pytest.approx(sol.statistics["objective"], rel=1e-10)
    assert abs(costs[2] - costs[0]) < 1e-3  # the derivative in standard deviations
    assert 4 * (costs[2] - 2 * costs[1] + costs[0]) == pytest.approx(1.0, abs=0.02)
    assert sol.residuals(sol.problem.measurements[1]).std() < 1.5 * SIGMA


def test_a_gyroscope_that_is_late():
    """A body in space that turns, seen by three markers, with a gyroscope 23 ms behind them."""
    body, t, rng = tf.RigidBody(1.0, (0.2, 0.3, 0.1), name="box"), np.linspace(0, 2, 61), np.random.default_rng(2)
    start = {body: tf.Pose((0, 0, 0), angular_velocity=(0.5, 1.5, -0.4))}
    truth = tf.solve(tf.InitialValueProblem(tf.System([body]), start, (0.0, 2.1)), tf.MixedGalerkin(3), 30,
                     progress=False)
    corners = np.array([[0.3, 0, 0], [0, 0.3, 0.1], [-0.2, 0, 0.3]])
    sensors = [Marker("box", x, times=t, sigma=0.003, name=f"marker {i}", values=truth.position("box", t)
                      + truth.rotation_matrix("box", t) @ x + 0.003 * rng.standard_normal((61, 3)))
               for i, x in enumerate(corners)]
    late = t[1:-2]
    rates = truth.angular_velocity("box", late + 0.023, frame="body") + 0.005 * rng.standard_normal((58, 3))
    sensors.append(Gyroscope("box", times=late, values=rates, sigma=0.005, name="gyro", time_offset=Prior(0.0, 0.1)))
    sol = solve(tf.System([body]), sensors, {"box": (0.5, 0.5)}, 3, 2e-3)
    found, std = sol.parameters["time_offset of gyro"], sol.std("time_offset of gyro")[0]
    assert sol.success and abs(found - 0.023) < 3 * std and std < 5e-3
    assert np.abs(np.linalg.norm(sol.q[:, 3:], axis=1) - 1).max() < 1e-12
