"""Estimation without dynamics: unknown lengths of parts, with and without loops, and windows that move."""

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model

from .test_kinematic import SIGMA, closed_chain, markers, measured_arm, points, solve

LENGTH = 0.97, 0.05  # mean and standard deviation of the prior


def chain(t, q, places, held, length=None):
    """An arm of four links seen by markers, whose second joint sits somewhere along the first link."""
    links = [tf.Link("ground"), *(tf.Link(f"link{i}", mass=1, centre=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
                                  for i in range(4))]
    joints = [tf.TreeJoint(f"joint{i}", links[i].name, links[i + 1].name, axis=(0, 0, 1),
                           position=((0, length or 1, 1, 1)[i], 0, 0)) for i in range(4)]
    tree = tf.Tree(links, joints, name="arm")
    parts = [tf.Constraint(tree.link("link3"), lambda f, t, c: f[0].point([1, 0, 0])[:2] - c, 2,
                           parameters=places[-1, 0, :2], name="tip")] if held else []
    numbers = None if length else {"length": ("arm.joints[1].position[0]", tf.Prior(*LENGTH))}
    return tf.Estimation(tf.System([tree, *parts]), markers(tree, t, places[:, :, :] + NOISE[:, :len(t)], 0.003),
                         noise=50.0, dynamics="none", prior={tree: dict(zip(tree.joint_names, q[0], strict=True))},
                         numbers=numbers)


NOISE = 0.003 * np.random.default_rng(6).standard_normal((4, 20, 3))


@pytest.mark.long
@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("k", [2, 3])
def test_a_length_has_the_least_cost_and_its_curvature(held, k):
    """Fits with given lengths: the cost is least at the one that is found, and its curvature is the information."""
    tree, _, t, q = closed_chain(20)
    places, tol = points(tree, q), tf.Newton(tol_increment=1e-9)
    sol = tf.solve(chain(t, q, places, held), tf.MixedGalerkin(k), progress=False, newton=tol)
    length, std, costs = sol.parameters["length"], sol.std("length")[0], []
    for x in (length - std, length, length + std):
        fixed = tf.solve(chain(t, q, places, held, x), tf.MixedGalerkin(k), progress=False, newton=tol)
        costs.append(fixed.statistics["objective"] + ((x - LENGTH[0]) / LENGTH[1])**2 / 2)
    assert abs(length - 1) < 4 * std < 0.02
    assert abs(costs[2] - costs[0]) / 2 < 0.01 and costs[0] - 2 * costs[1] + costs[2] == pytest.approx(1, rel=0.01)
    assert sol.statistics["objective"] == pytest.approx(costs[1], rel=1e-9)
    np.testing.assert_allclose(sol.q, fixed.q, rtol=0, atol=0.02)
    assert np.abs(sol.system.constraints(sol.t, sol.z)).max(initial=0.0) < 1e-12  # of the length that was found
    assert np.all(sol.std("joint2") >= fixed.std("joint2") * (1 - 1e-6))


@pytest.mark.long
def test_draws_and_outputs_know_the_length():
    """Draws have the spread that is reported, also of points that depend on the length, and each closes the loop."""
    tree, _, t, q = closed_chain(12)
    sol = tf.solve(chain(t, q, points(tree, q), True), tf.MixedGalerkin(2), progress=False)
    smoother, rng = sol._found.smoother, np.random.default_rng(2)
    drawn = [smoother.draw(sol._found.x, sol._found.c, rng) for _ in range(400)]
    np.testing.assert_allclose(np.std([c[0] for _, c in drawn]), sol.std("length")[0], rtol=0.15)
    tips = [c[0] * np.cos(x[5, 0, 0]) + np.cos(x[5, 0, 0] + x[5, 0, 1]) for x, c in drawn]
    told = sol.std(lambda now: now.position("arm.link1", (1, 0, 0))[0], t[5])[0]
    np.testing.assert_allclose(np.std(tips), told, rtol=0.15)
    x, c = drawn[0]
    assert np.abs(smoother._tangents(smoother.closed(x, c), np.arange(12), c, True).gap).max() < 1e-12


def test_sizes_follow():
    """One unknown size moves a joint and a marker."""
    tree, t, _, places = measured_arm(2, 21)
    skin = tf.FormulaSensor(lambda now: now.position("arm.link0", now.parameters["size"] * np.array([0.5, 0, 0]))[:2],
                            n=2, times=t, values=places[0, :, :2] / 2, sigma=0.003, name="skin")
    sol = solve(tf.System([tree]), [*markers(tree, t, places)[1:], skin], 5.0, numbers={"size": tf.Prior(0.9, 0.2)},
                follows={"arm.joints[1].position[0]": "parameters['size']"})
    assert sol.success and abs(sol.parameters["size"] - 1) < 4 * sol.std("size")[0] < 0.05


def some(sensors, rows):
    return [s.of_times(np.isin(np.arange(len(s.times)), rows)) for s in sensors]


def windows(system, sensors, noise, k, first=8, window=0.45, **others):
    """The last window and the whole motion."""
    def problem(rows):
        return tf.Estimation(system, some(sensors, rows), noise=noise, dynamics="none", **others)

    n, tol = len(sensors[0].times), tf.Newton(tol_increment=1e-9)
    whole = tf.solve(problem(range(n)), tf.MixedGalerkin(k), progress=False, newton=tol)
    solver = tf.prepare(problem(range(first)), tf.MixedGalerkin(k), progress=False, newton=tol)
    for j in range(first, n):
        sol = solver.update(*some(sensors, [j]), window=window)
        assert sol.success
    assert sol.t[-1] - sol.t[0] < window + 1e-9 < whole.t[-1] - whole.t[0]
    return sol, whole


@pytest.mark.parametrize("k", [2, 3])
def test_windows_are_exact_where_all_is_linear(k):
    rng, t = np.random.default_rng(0), np.linspace(0, 1, 21)
    place, point = np.stack([np.sin(t), np.cos(t), t], axis=1), tf.PointMass(1.0, name="point")
    sensors = [tf.Marker(point, times=t, values=place + 0.01 * rng.standard_normal((21, 3)), sigma=0.01, name="one",
                         bias=tf.Prior(0, 0.1)),
               tf.Marker(point, times=t, values=place + 0.3 + 0.02 * rng.standard_normal((21, 3)), sigma=0.02,
                         name="two")]
    sol, whole = windows(tf.System([point]), sensors, 20.0, k)
    np.testing.assert_allclose(sol._found.x[-1], whole._found.x[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(sol.numbers, whole.numbers, rtol=0, atol=1e-11)
    right = whole.state_covariance(-1)
    np.testing.assert_allclose(sol.state_covariance(-1), right, rtol=0, atol=1e-11 * right.max())
    np.testing.assert_allclose(sol.std("bias of one"), whole.std("bias of one"), rtol=1e-10)
    assert abs(sol.fit.deviations) < 3.5


@pytest.mark.parametrize("dynamics", ["none", "full"])
def test_a_sensor_may_be_silent_for_longer_than_a_window(dynamics):
    """A marker is hidden and comes back: its bias is remembered, and all is as with all data at once."""
    rng, t = np.random.default_rng(0), np.linspace(0, 1, 21)
    place, point = np.stack([np.sin(t), np.cos(t), t], axis=1), tf.PointMass(1.0, name="point")
    seen = {"one": [*range(7), *range(15, 21)], "two": list(range(21))}
    values = {"one": place + 0.05 + 0.01 * rng.standard_normal((21, 3)), "two": place + 0.02 * rng.standard_normal(
        (21, 3))}

    def sensors(rows):
        chosen = {name: [i for i in own if i in rows] for name, own in seen.items()}
        return [tf.Marker(point, times=t[own], values=values[name][own], sigma={"one": 0.01, "two": 0.02}[name],
                          name=name, bias=tf.Prior(0, 0.1) if name == "one" else None)
                for name, own in chosen.items() if own]

    def problem(rows):
        if dynamics == "none":
            return tf.Estimation(tf.System([point]), sensors(rows), dynamics="none", noise=20.0)
        return tf.Estimation(tf.System([point]), sensors(rows), noise={point: 20.0}, t_span=(0, t[max(rows)]),
                             prior={point: tf.StatePrior(tf.Pose((0, 1, 0)), q=0.1, v=2.0)})

    n = (20,) if dynamics == "full" else ()
    whole = tf.solve(problem(range(21)), tf.MixedGalerkin(2), *n, progress=False)
    solver = tf.prepare(problem(range(6)), tf.MixedGalerkin(2), *(5,) * len(n), progress=False)
    silent = 0
    for j in range(6, 21):
        sol = solver.update(*sensors([j]), window=0.2)
        silent += len(sol.problem.measurements) == 1
        assert sol.success and sol.t[-1] == pytest.approx(t[j])
    assert silent > 2 and [s.title for s in sol.problem.measurements] == ["two", "one"]
    place, right = "now.position('point')", whole.t[-1]
    np.testing.assert_allclose(sol.value(place, right), whole.value(place, right), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.std(place, right), whole.std(place, right), rtol=1e-7)
    np.testing.assert_allclose(sol.numbers, whole.numbers, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.std("bias of one"), whole.std("bias of one"), rtol=1e-7)


@pytest.mark.long
def test_windows_with_a_loop_and_a_length():
    tree, _, t, q = closed_chain(20)
    problem = chain(t, q, points(tree, q), True)
    sol, whole = windows(problem.system, problem.measurements, 50.0, 2, numbers=problem.numbers,
                         prior={problem.system.bodies[0]: dict(zip(tree.joint_names, q[0], strict=True))}, window=0.3)
    deviation = whole.std("joint2")[-1, 0]
    assert np.abs(sol.q[-1] - whole.q[-1]).max() < 0.05 * deviation
    np.testing.assert_allclose(sol.std("joint2")[-1], deviation, rtol=1e-2)
    np.testing.assert_allclose(sol.std("length"), whole.std("length"), rtol=1e-2)
    assert np.abs(sol.system.constraints(sol.t, sol.z)).max() < 1e-12


def test_windows_refuse():
    tree, t, _, places = measured_arm(2, 9)
    sensors = [tf.Marker(tree.link(link), (1.0, 0, 0), axes="xy", times=t, values=own[:, :2], sigma=SIGMA)
               for link, own in zip(("link0", "link0"), places, strict=True)]
    problem = tf.Estimation(tf.System([tree]), some(sensors, range(6)) + some(markers(tree, t, places), range(6))[1:],
                            noise=5.0, dynamics="none")
    with pytest.raises(tf.InputError, match=r"two are called 'marker on arm\.link0': give each a name"):
        tf.prepare(problem, tf.MixedGalerkin(2), progress=False).update(*some(sensors[:1], [6]))


MODEL = """
time = {span = [0, 2]}
solver = {element = "mg", degree = 2}
noise = {all = 5.0}

[bodies.arm]
type = "tree"
links = [{name = "ground"}, {name = "link0", mass = 1, centre = [0.5, 0, 0], inertia = [0.1, 0.1, 0.1]},
         {name = "link1", mass = 1, centre = [0.5, 0, 0], inertia = [0.1, 0.1, 0.1]}]
joints = [{name = "joint0", parent = "ground", child = "link0"},
          {name = "joint1", parent = "link0", child = "link1", position = [1, 0, 0]}]

[problem]
kind = "estimation"
dynamics = "none"
data = "seen.trc"
limits = {joint1 = {lower = -1.0}}
parameters = {length = {part = "arm", number = "joints[1].position[0]", mean = 0.9, sigma = 0.1}}

[measurements.A]
type = "marker"
body = "arm.link0"
point = [1, 0, 0]
axes = "xy"
columns = ["A_x", "A_y"]
sigma = 0.01

[measurements.B]
type = "marker"
body = "arm.link1"
point = [1, 0, 0]
axes = "xy"
columns = ["B_x", "B_y"]
sigma = 0.01
"""


@pytest.mark.long
def test_model_files(tmp_path, timefem):
    """As by Python, from paths of markers; elements are refused, since frames are what was measured."""
    tree, t, _, places = measured_arm(2, 21)
    rows = ["\t".join([str(i + 1), f"{t[i]:.9g}", *(f"{x:.12g}" for x in places[:, i].ravel())]) for i in range(len(t))]
    head = ["PathFileType\t4\t(X/Y/Z)\tseen.trc", "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
            f"10\t10\t{len(t)}\t2\tm", "Frame#\tTime\tA\t\t\tB\t\t", "\t\tX1\tY1\tZ1\tX2\tY2\tZ2"]
    (tmp_path / "seen.trc").write_text("\n".join([*head, *rows]) + "\n")
    (tmp_path / "model.toml").write_text(MODEL)
    own = load_model(tmp_path / "model.toml").solve(progress=False)
    sol = solve(tf.System([tree]), markers(tree, t, places), 5.0, tol=2e-3, limits={"joint1": (-1.0, None)},
                numbers={"length": ("arm.joints[1].position[0]", tf.Prior(0.9, 0.1))})
    np.testing.assert_allclose(own.q, sol.q, rtol=0, atol=1e-6)
    np.testing.assert_allclose(own.std("length"), sol.std("length"), rtol=1e-6)
    status, out, err = timefem("estimate", tmp_path / "model.toml")
    assert status == 0 and "found: length" in out, err
    (tmp_path / "bad.toml").write_text(MODEL.replace("span = [0, 2]", "span = [0, 2], n_elements = 20"))
    with pytest.raises(tf.InputError, match=r"bad\.toml:2: time.n_elements: is not used: without dynamics the frames"):
        load_model(tmp_path / "bad.toml")
    with pytest.raises(tf.InputError, match="leave out n_elements and mesh"):
        tf.solve(own.problem, tf.MixedGalerkin(2), 20)
