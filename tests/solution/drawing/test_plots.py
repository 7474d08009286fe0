"""Plots contain what they should, drawn with Agg."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import timefem as tf
from tests.example_systems import pendulum, spinning_box
from timefem.mechanics.shapes import SHAPES
from timefem.solution.drawing.artists import extent
from timefem.solution.drawing.scene import make_scene
from timefem.solution.drawing.snapshots import Snapshots
from timefem.solution.options import DRAWING

pytestmark = pytest.mark.long

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
    ax = box.plot.energy()
    assert np.array_equal(lines(ax)["total"].get_ydata(), box.energy())
    assert list(lines(ax)) == ["total"]  # without forces the kinetic energy is the total
    data = lines(swing.plot.energy())
    assert np.array_equal(data["total"].get_xdata(), swing.t)
    potential = 100 * 9.81 * swing.position("pendulum", swing.t)[:, 2]
    np.testing.assert_allclose(data["potential"].get_ydata(), potential, rtol=0, atol=1e-9)
    np.testing.assert_allclose(data["kinetic"].get_ydata() + potential, swing.energy(), rtol=0, atol=1e-9)
    assert len({line.get_linestyle() for line in data.values()}) == 3  # distinguished in print


def test_round_off_does_not_fill_the_axis(box):
    ax = box.plot.energy()
    assert np.ptp(ax.get_ylim()) > 0.1 * box.energy()[0]
    assert not ax.yaxis.get_major_formatter().get_useOffset()
    ax = box.plot.momentum(kind="linear")  # exact zeros
    assert ax.get_ylim() == (-1, 1)


def test_momentum(box, swing):
    data = lines(box.plot.momentum())
    assert np.array_equal([line.get_ydata() for line in data.values()], box.angular_momentum().T)
    data = lines(swing.plot.momentum(kind="linear"))
    assert np.array_equal([line.get_ydata() for line in data.values()], swing.linear_momentum().T)
    with pytest.raises(tf.InputError, match="kind"):
        swing.plot.momentum(kind="spin")


def test_constraints(swing):
    ax = swing.plot.constraints()
    assert ax.get_yscale() == "log"
    for level, residual in zip(("configuration", "velocity"), swing.constraints(), strict=True):
        drawn = lines(ax)[f"{level} level"].get_ydata()
        assert np.array_equal(drawn, np.maximum(np.abs(residual).max(axis=1), DRAWING.floor))
        assert ax.get_ylim()[0] < drawn.min() and drawn.max() < ax.get_ylim()[1]
    assert any("zeros" in text.get_text() for text in ax.texts)


@pytest.mark.parametrize("name", ["energy", "momentum", "constraints"])
def test_axes(swing, name):
    _, ax = plt.subplots()
    assert getattr(swing.plot, name)(ax=ax) is ax
    assert "[" in ax.get_xlabel() and "[" in ax.get_ylabel()  # units
    start = tf.Solution(swing.system, swing.element, swing.t[:1], swing.z[0], swing.nodal.state[:0],
                        swing.nodal.multipliers[:0], swing.status, {})
    getattr(start.plot, name)().figure.canvas.draw()  # no element was solved


@pytest.mark.parametrize("name", ["energy", "momentum", "constraints", "phase", "snapshots"])
def test_earlier_names_of_plots(swing, name):
    """They draw the same, and warn of the line that has them."""
    arguments = [[0, 0.4]] if name == "snapshots" else ["pendulum.position[2]"] if name == "phase" else []
    says = rf"Solution\.plot_{name} is deprecated .*; use plot\.{name}$"
    with pytest.warns(DeprecationWarning, match=says) as warned:
        earlier = getattr(swing, f"plot_{name}")(*arguments)
    assert warned[0].filename == __file__
    now = getattr(swing.plot, name)(*arguments)
    assert earlier.get_lines()
    for a, b in zip(earlier.get_lines(), now.get_lines(), strict=True):
        assert np.array_equal(a.get_xydata(), b.get_xydata())
    with pytest.raises(AttributeError, match=r"no 'plot_energies'; it has plot\(\) of a page; .*plot\.energy\(\)"):
        _ = swing.plot_energies


def test_snapshots_of_a_moving_body(swing):
    times = [0, 0.4, 1.0]
    swing = tf.solve(pendulum(t_end=1.0, size=(1, 10, 1)), tf.MixedGalerkin(1), 10, progress=False)
    ax = swing.plot.snapshots(times)
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
    assert "0.4" in ax.figure.get_suptitle()
    path = np.array(ax.get_lines()[0].get_data_3d()).T
    assert all(np.abs(path - x).max(axis=1).min() == 0 for x in swing.position("pendulum", swing.t))


def test_snapshots_of_a_body_in_place(box):
    ax = box.plot.snapshots([0, 0.5, 1.0])
    centres = [corners.mean(axis=0) for corners in boxes(ax)]
    gaps = np.linalg.norm(np.diff(centres, axis=0), axis=1)
    assert gaps.min() > np.linalg.norm([5, 2, 1])  # side by side, clear of each other
    assert "side by side" in ax.figure.get_suptitle()
    ax = box.plot.snapshots([0, 0.5, 1.0], body="box", spacing=0)
    np.testing.assert_allclose([c.mean(axis=0) for c in boxes(ax)], np.zeros((3, 3)), rtol=0, atol=1e-8)
    assert len(boxes(box.plot.snapshots(0.3, box.system.bodies[0]))) == 1


def test_snapshots_of_several_bodies():
    bodies = [tf.RigidBody(1, [1, 1, 1]), tf.RigidBody(2, [1, 2, 2], "directors")]
    problem = tf.InitialValueProblem(tf.System(bodies), {bodies[1]: tf.Pose([3, 0, 0], velocity=[0, 1, 0])}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False)
    ax = plt.figure().add_subplot(projection="3d")
    assert sol.plot.snapshots([0, 1], ax=ax) is ax
    assert len(boxes(ax)) == 4
    assert len(boxes(sol.plot.snapshots([0, 1], body=["body2"]))) == 2
    with pytest.raises(tf.InputError, match="body7"):
        sol.plot.snapshots([0, 1], body="body7")
    for times in ([], [0, 2]):
        with pytest.raises(tf.InputError, match="time"):
            sol.plot.snapshots(times)
    bob = tf.PointMass(1, name="bob")
    sol = tf.solve(tf.InitialValueProblem(tf.System([bob]), {}, (0, 1)), tf.MixedGalerkin(1), 2, progress=False)
    for body in ("bob", None):
        places = [line.get_data_3d() for line in sol.plot.snapshots([0, 1], body).get_lines()]
        assert len(places) == 2 and not np.any(places)


@pytest.mark.parametrize(("gravity", "up", "axes"), [((0, -9.81, 0), 1, (0, 1)), ((0, 0, -9.81), 2, (0, 2)),
                                                     ((0, 9.81, 0), 1, (0, -2)), ((-9.81, 0, 0), 0, (1, 0))])
def test_what_moves_in_a_plane_is_seen_from_its_normal(gravity, up, axes):
    """Axes of space to the right and up on the page; -2 is y, pointing down."""
    falls = np.sign(gravity)
    aside = np.eye(3)[axes[0]]
    ball = tf.PointMass(1.0, name="ball")
    problem = tf.InitialValueProblem(tf.System([ball], gravity=gravity), {ball: tf.Pose(velocity=aside)}, (0, 1))
    scene = make_scene(tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False))
    right, upwards, front = scene.view.camera
    assert scene.view.flat and scene.view.up == up
    np.testing.assert_allclose(right, aside, rtol=0, atol=1e-15)
    np.testing.assert_allclose(upwards, -falls, rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.cross(right, upwards), front, rtol=0, atol=1e-15)


def test_views_that_are_asked_for(swing):
    for view, right, up in (("xy", 0, 1), ("yz", 1, 2), ("zx", 2, 0), ("yx", 1, 0)):
        camera = make_scene(swing, [0.0], view).view.camera
        np.testing.assert_allclose(camera[:2], np.eye(3)[[right, up]], rtol=0, atol=1e-15)
    assert make_scene(swing, [0.0], (10, 20), "-x").view[1:] == (-1, 10, 20)
    for wrong in ({"view": "xx"}, {"view": "front"}, {"view": (1, 2, 3)}, {"up": "w"}, {"view": "xy", "up": "z"}):
        with pytest.raises(tf.InputError, match=r"view|up"):
            swing.plot.snapshots([0.0], **wrong)


@pytest.mark.parametrize("size", [(1, 2, 3), (1, 1, 4), (2, 1, 2), (1, 3, 3), (2, 2, 2)])
@pytest.mark.parametrize(("name", "part"), [("box", 1.0), ("cylinder", np.pi / 4), ("ellipsoid", np.pi / 6)])
def test_shapes_are_closed_and_fill_their_box(name, part, size):
    shape = SHAPES[name](size)
    corners = [shape.points[list(face)] for face in shape.faces]
    volume = sum(np.linalg.det([f[0], f[i], f[i + 1]]) for f in corners for i in range(1, len(f) - 1)) / 6
    assert 0.88 * part <= volume / np.prod(size) <= part * (1 + 1e-12)  # faces point outwards
    np.testing.assert_allclose(np.ptp(shape.points, axis=0), size, rtol=0, atol=1e-12)
    edges = [(f[i], f[(i + 1) % len(f)]) for f in shape.faces for i in range(len(f))]
    assert len(set(edges)) == len(edges) and {(b, a) for a, b in edges} == set(edges)


def test_wheels_and_ropes_are_drawn():
    wheel = tf.RigidBody(1, [0.1, 0.2, 0.1], size=(0.5, 0.1, 0.5), shape="cylinder", name="wheel")
    rope = tf.Rope(tf.Line((0, 0, 2), (1, 0, 2)), tf.RopeSection(EA=100.0, mass=0.1), n_elements=3, name="rope")
    hinge = tf.Revolute(wheel, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    parts = [wheel, rope, hinge, tf.PrescribedPosition(rope.start, position=(0, 0, 2))]
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {}, (0, 0.1))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 10, progress=False)
    scene = make_scene(sol, [0, 0.1])
    assert [(b.name, b.shape) for b in scene.bodies] == [("wheel", "cylinder")]
    assert ("rope", (2, 4, 3)) in [(link.kind, link.points.shape) for link in scene.links]
    ends = next(link for link in scene.links if link.kind == "rope").points[:, [0, -1]]
    np.testing.assert_allclose(ends[1, 1], sol.position(rope.end, 0.1), rtol=0, atol=1e-14)
    ax = sol.plot.snapshots([0, 0.1])
    assert len(boxes(ax)) == 2 and sum(len(line.get_data_3d()[0]) == 4 for line in ax.get_lines()) == 2


def test_energy_by_part(swing):
    energies = swing.system.energy_by_part(swing.t, swing.z)
    assert list(energies) == ["pendulum", "gravity"]
    np.testing.assert_allclose(sum(energies.values()), swing.energy(), rtol=0, atol=1e-12 * swing.energy().max())
    data = lines(swing.plot.energy(by_part=True))
    assert list(data) == ["total", "pendulum", "gravity"]
    assert np.array_equal(data["gravity"].get_ydata(), energies["gravity"])


def test_controls_of_each_unit_have_an_axis():
    body = tf.RigidBody(1, [1, 1, 1], name="body")
    force, torque = tf.ControlForce(body, name="force"), tf.ControlTorque(body, name="torque")
    end = tf.EndState((1, 0, 0), (0.8, 0, 0, 0.6), (0, 0, 0), (0, 0, 0))
    problem = tf.OptimalControl(tf.System([body, force, torque]), {body: tf.Pose()}, {body: end}, (0, 1),
                                cost=[tf.Effort(force), tf.Effort(torque)])
    sol = tf.solve(problem, tf.MixedGalerkin(1), 4, progress=False)
    axes = sol.plot.controls().figure.axes
    assert [ax.get_ylabel() for ax in axes] == ["controls [N]", "controls [N m]"]
    assert [len(ax.get_lines()) for ax in axes] == [3, 3]
    assert [text.get_text() for text in axes[1].get_legend().get_texts()][::3] == ["force 1 [N]", "torque 1 [N m]"]
    styles = {(line.get_linestyle(), line.get_color()) for ax in axes for line in ax.get_lines()}
    assert len(styles) == 6


def test_box_size():
    np.testing.assert_allclose(tf.RigidBody(12, [5, 26, 29]).drawn_size, [5, 2, 1], rtol=1e-14)
    assert tf.RigidBody(12, [5, 26, 29], size=(1, 1, 4)).drawn_size.tolist() == [1, 1, 4]
    assert tf.RigidBody(3, [1, 2, 3]).drawn_size.min() > 0  # a plate can be seen, too


def test_title_of_the_energy_of_a_damped_motion():
    mass = tf.PointMass(2.0, name="m")
    system = tf.System([mass, tf.Spring(mass, stiffness=50.0), tf.RayleighDissipation(mass, linear=1.0)])
    problem = tf.InitialValueProblem(system, {mass: tf.Pose(position=(1, 0, 0))}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40, progress=False)
    title = sol.plot.energy().get_title()
    assert title.startswith("largest change of the total energy less the work done: ")
    assert float(title.split()[-2]) < 1e-6 < abs(np.ptp(sol.energy()))


def test_bounds_of_controls_are_drawn(tmp_path):
    body = tf.PointMass(1.0, dimension=2, name="body")
    pull = tf.ControlForce(body, ((1, 0, 0), (0, 1, 0)), name="pull")
    end = tf.EndState(position=(1, 1, 0), velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 1), cost=tf.Effort(pull),
                                bounds={pull: ([-5, None], [5, 7])})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 6, progress=False)
    sol.save(tmp_path / "sol.h5")
    for one in (sol, tf.load(tmp_path / "sol.h5")):
        ax = one.plot.controls()
        levels = sorted(line.get_ydata()[0] for line in ax.get_lines() if line.get_label().startswith("_"))
        assert levels == [-5, 5, 7] and ax.get_ylim()[0] < -5 and ax.get_ylim()[1] > 7
    free = tf.solve(problem.changed(bounds={pull: (None, None)}), tf.MixedGalerkin(2), 6, progress=False)
    assert not [line for line in free.plot.controls().get_lines() if line.get_label().startswith("_")]


def test_phase_portraits(swing):
    ax = swing.plot.phase("pendulum.position[2]", times=swing.t)
    (line,) = lines(ax).values()
    assert np.array_equal(line.get_xdata(), swing.position("pendulum", swing.t)[:, 2])
    assert np.array_equal(line.get_ydata(), swing.velocity("pendulum", swing.t)[:, 2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pendulum.position[2] [m]", "rate [m/s]")
    bar = tf.RigidBody(1.0, (0.1, 0.1, 0.01), name="bar")
    axis = dict(axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    hinge = tf.Revolute(bar, None, point_a=(0, 0, 0.5), point_b=(0, 0, 0), **axis, name="hinge")
    system = tf.System([bar, hinge], gravity=(0, 0, -9.81))
    start = {bar: tf.Pose((0, 0, -0.5), velocity=(-0.5, 0, 0), angular_velocity=(0, 1, 0))}
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 1)), tf.MixedGalerkin(2), 20, progress=False)
    ax = sol.plot.phase()  # the joint
    x, rate = lines(ax)["hinge"].get_data()
    assert len(x) == 81 and np.array_equal(rate, sol.joint("hinge").rate(np.linspace(0, 1, 81)))
    energy = 0.35 * rate**2 / 2 - 9.81 * 0.5 * np.cos(x)
    np.testing.assert_allclose(energy, energy[0], rtol=0, atol=1e-4)
    for wrong, message in (("hing", "no joint 'hing'"), ("bar.position[3]", "3 components"),
                           ("hinge.slide", "no coordinate 'slide'")):
        with pytest.raises(tf.InputError, match=message):
            sol.plot.phase(wrong)
    with pytest.raises(tf.InputError, match="one by one"):
        sol.plot.phase("hinge", "bar.position[0]")


def test_page_is_filled(box, swing):
    """The picture in space takes the room that there is, in one direction at least, and nothing is cut."""
    for sol, n in ((box, 3), (swing, 3)):
        figure = sol.plot([0, 0.5, 1.0])
        figure.canvas.draw()
        space = [ax for ax in figure.axes if hasattr(ax, "get_zlim")]
        others = [ax for ax in figure.axes if ax not in space]
        assert len(space) == 1 and len(others) >= n
        picture = Snapshots(sol, [0, 0.5, 1.0])
        drawn = matplotlib.transforms.Bbox(extent(space[0], picture.everything))
        boxes = [ax.get_tightbbox().transformed(figure.transFigure.inverted()) for ax in others]
        beside = min(b.x0 for b in boxes) > 0.4
        room = (min(b.x0 for b in boxes), 1.0) if beside else (1.0, 1 - max(b.y1 for b in boxes))
        assert max(drawn.width / room[0], drawn.height / room[1]) > 0.75
        assert all(0 <= b.x0 and b.x1 <= 1 and 0 <= b.y0 and b.y1 <= 1 for b in [drawn, *boxes])
        assert not any(drawn.overlaps(b) for b in boxes)


def test_energies_of_many_parts_are_summed(swing):
    masses = [tf.PointMass(1.0, name=f"m{i}") for i in range(12)]
    start = {m: tf.Pose(velocity=(i, 0, 0)) for i, m in enumerate(masses)}
    system = tf.System(masses, gravity=(-9.81, 0, 0))
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 1)), tf.MixedGalerkin(1), 4, progress=False)
    drawn = lines(sol.plot.energy(by_part=True))
    assert len(drawn) == 9 and "6 others" in drawn
    total = drawn.pop("total").get_ydata()
    np.testing.assert_allclose(sum(line.get_ydata() for line in drawn.values()), total, rtol=1e-12, atol=0)
