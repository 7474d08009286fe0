"""Plots contain what they should, drawn with Agg."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from timefem.solution.drawing.boxes import box_size
from timefem.solution.drawing.plots import FLOOR

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_and_not_shown(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: pytest.fail("plt.show was called"))
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def box():
    return tf.solve(spinning_box(t_end=1.0, size=(5, 2, 1)), tf.MixedGalerkin(3), 20, progress=False)


@pytest.fixture(scope="module")
def swing():
    return tf.solve(pendulum(t_end=1.0), tf.MixedGalerkin(1), 10, progress=False)


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}


def boxes(ax):
    """Centres of the drawn boxes."""
    ax.figure.canvas.draw()
    drawn = [c for c in ax.collections if isinstance(c, Poly3DCollection)]
    return [np.unique(np.round(np.reshape(c._faces, (-1, 3)), 9), axis=0) for c in drawn]


def test_energy(box, swing):
    ax = box.plot_energy()
    assert np.array_equal(lines(ax)["total"].get_ydata(), box.energy())
    assert list(lines(ax)) == ["total"]  # without forces the kinetic energy is the total
    data = lines(swing.plot_energy())
    assert np.array_equal(data["total"].get_xdata(), swing.t)
    potential = 100 * 9.81 * swing.position("pendulum", swing.t)[:, 2]
    np.testing.assert_allclose(data["potential"].get_ydata(), potential, rtol=0, atol=1e-9)
    np.testing.assert_allclose(data["kinetic"].get_ydata() + potential, swing.energy(), rtol=0, atol=1e-9)
    assert len({line.get_linestyle() for line in data.values()}) == 3  # told apart in print


def test_round_off_does_not_fill_the_axis(box):
    ax = box.plot_energy()
    assert np.ptp(ax.get_ylim()) > 0.1 * box.energy()[0]
    assert not ax.yaxis.get_major_formatter().get_useOffset()
    ax = box.plot_momentum(kind="linear")  # exact zeros
    assert ax.get_ylim() == (-1, 1)


def test_momentum(box, swing):
    data = lines(box.plot_momentum())
    assert np.array_equal([line.get_ydata() for line in data.values()], box.angular_momentum().T)
    data = lines(swing.plot_momentum(kind="linear"))
    assert np.array_equal([line.get_ydata() for line in data.values()], swing.linear_momentum().T)
    with pytest.raises(tf.InputError, match="kind"):
        swing.plot_momentum(kind="spin")


def test_constraints(swing):
    ax = swing.plot_constraints()
    assert ax.get_yscale() == "log"
    for level, residual in zip(("configuration", "velocity"), swing.constraints(), strict=True):
        drawn = lines(ax)[f"{level} level"].get_ydata()
        assert np.array_equal(drawn, np.maximum(np.abs(residual).max(axis=1), FLOOR))
        assert ax.get_ylim()[0] < drawn.min() and drawn.max() < ax.get_ylim()[1]
    assert any("zeros" in text.get_text() for text in ax.texts)


@pytest.mark.parametrize("name", ["plot_energy", "plot_momentum", "plot_constraints"])
def test_axes(swing, name):
    _, ax = plt.subplots()
    assert getattr(swing, name)(ax=ax) is ax
    assert "[" in ax.get_xlabel() and "[" in ax.get_ylabel()  # units
    start = tf.Solution(swing.system, swing.element, swing.t[:1], swing.z[0], swing.nodal_state[:0],
                        swing.nodal_multipliers[:0], swing.status, {})
    getattr(start, name)().figure.canvas.draw()  # no element was solved


def test_snapshots_of_a_moving_body(swing):
    times = [0, 0.4, 1.0]
    swing.system.bodies[0].size = np.array([1.0, 10.0, 1.0])
    ax = swing.plot_snapshots(times)
    drawn = boxes(ax)
    assert len(drawn) == 3
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, 8).T
    for t, corners in zip(times, drawn, strict=True):
        r, x = swing.rotation_matrix("pendulum", t), swing.position("pendulum", t)
        expected = x + signs * [0.5, 5.0, 0.5] @ r.T
        assert len(corners) == 8
        assert all(np.abs(corners - c).max(axis=1).min() < 1e-8 for c in expected)
    # equal scales
    spans = np.ptp([ax.get_xlim3d(), ax.get_ylim3d(), ax.get_zlim3d()], axis=1)
    aspect = np.asarray(ax._box_aspect)
    np.testing.assert_allclose(aspect / aspect.max(), spans / spans.max(), rtol=1e-12)
    assert "0.4" in ax.get_title()
    path = np.array(ax.get_lines()[0].get_data_3d()).T
    assert all(np.abs(path - x).max(axis=1).min() == 0 for x in swing.position("pendulum", swing.t))


def test_snapshots_of_a_body_in_place(box):
    ax = box.plot_snapshots([0, 0.5, 1.0])
    centres = [corners.mean(axis=0) for corners in boxes(ax)]
    gaps = np.linalg.norm(np.diff(centres, axis=0), axis=1)
    assert gaps.min() > np.linalg.norm([5, 2, 1])  # side by side, clear of each other
    assert "side by side" in ax.get_title()
    ax = box.plot_snapshots([0, 0.5, 1.0], body="box", spacing=0)
    np.testing.assert_allclose([c.mean(axis=0) for c in boxes(ax)], np.zeros((3, 3)), rtol=0, atol=1e-8)
    assert len(boxes(box.plot_snapshots(0.3, box.system.bodies[0]))) == 1


def test_snapshots_of_several_bodies():
    bodies = [tf.RigidBody(1, [1, 1, 1]), tf.RigidBody(2, [1, 2, 2], "directors")]
    problem = tf.InitialValueProblem(tf.System(bodies), {bodies[1]: tf.Pose([3, 0, 0], velocity=[0, 1, 0])}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False)
    ax = plt.figure().add_subplot(projection="3d")
    assert sol.plot_snapshots([0, 1], ax=ax) is ax
    assert len(boxes(ax)) == 4
    assert len(boxes(sol.plot_snapshots([0, 1], body=["body2"]))) == 2
    with pytest.raises(tf.InputError, match="body7"):
        sol.plot_snapshots([0, 1], body="body7")
    for times in ([], [0, 2]):
        with pytest.raises(tf.InputError, match="time"):
            sol.plot_snapshots(times)
    bob = tf.PointMass(1, name="bob")
    sol = tf.solve(tf.InitialValueProblem(tf.System([bob]), {}, (0, 1)), tf.MixedGalerkin(1), 2, progress=False)
    for body in ("bob", None):
        with pytest.raises(tf.InputError, match="drawn as a box"):
            sol.plot_snapshots([0, 1], body)


def test_box_size():
    np.testing.assert_allclose(box_size(tf.RigidBody(12, [5, 26, 29])), [5, 2, 1], rtol=1e-14)
    assert box_size(tf.RigidBody(12, [5, 26, 29], size=(1, 1, 4))).tolist() == [1, 1, 4]
    assert box_size(tf.RigidBody(3, [1, 2, 3])).min() > 0  # a plate can be seen, too


def test_title_of_the_energy_of_a_damped_motion():
    mass = tf.PointMass(2.0, name="m")
    system = tf.System([mass, tf.Spring(mass, stiffness=50.0), tf.RayleighDissipation(mass, linear=1.0)])
    problem = tf.InitialValueProblem(system, {mass: tf.Pose(position=(1, 0, 0))}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    title = sol.plot_energy().get_title()
    assert title.startswith("largest change of the total energy but for work: ")
    assert float(title.split()[-2]) < 1e-6 < abs(np.ptp(sol.energy()))
