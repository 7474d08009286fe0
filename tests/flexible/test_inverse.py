"""Inverse dynamics through bars and ropes: closed forms, and marches of the controls that were found."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import slope

pytestmark = pytest.mark.long

PATH = tf.Transfer(1.0, 3.0, 1.0, 1.2, 6)


def bar_problem(n, degree, mass="gauss", **options):
    bar = tf.Rope(1.0, tf.RopeSection(1.0, 1.0), n, degree, mass=mass, dimension=1, name="bar")
    push = tf.ControlForce(bar.start, [(1, 0, 0)], name="push")
    return tf.InverseDynamics(tf.System([bar]), {tf.PositionOutput(bar.end, "x"): PATH}, {}, {}, (0, 4),
                              actuators=push, **options), bar


def force_errors(n, degree, n_elements, mass="gauss", form="energy"):
    """Of the mean force of each element, against the closed form by waves."""
    problem, _ = bar_problem(n, degree, mass)
    sol = tf.solve(problem, tf.MixedGalerkin(degree, form=form), n_elements, progress=False)
    assert sol.success, sol.status.message
    h, (x, w) = np.diff(sol.t), tf.gauss_legendre(degree)
    mean = sum(b * sol.controls(sol.t[:-1] + a * h)[:, 0] for a, b in zip(x, w, strict=True))
    ahead, behind = (PATH(sol.t[1:] + s) - PATH(sol.t[:-1] + s) for s in (1, -1))
    return np.abs(mean - (ahead - behind) / (2 * h)).max()


def test_force_on_a_bar_is_the_closed_form_of_waves():
    """`f = EA/(2c) (y'(t + L/c) - y'(t - L/c))`; where steps are those of the waves what is left is quadrature."""
    errors = [force_errors(n, 1, 4 * n) for n in (5, 10, 20)]
    assert slope([5, 10, 20], errors) == pytest.approx(-4, abs=0.3) and errors[-1] <= 1e-7
    assert force_errors(10, 2, 40) <= 1e-10 and force_errors(10, 3, 40) <= 1e-11
    assert force_errors(20, 1, 50) <= 1e-2  # steps of 1.6 waves


def test_impulse_form_finds_the_same_force():
    assert force_errors(10, 3, 40, form="impulse") <= 1e-8


def test_consistent_mass_is_unstable_under_refinement():
    assert force_errors(10, 1, 40) < 1e-5 and force_errors(10, 1, 40, "consistent") > 1.0


def test_what_is_known_of_the_bar():
    problem, _ = bar_problem(10, 1)
    assert problem.internal == 20 and problem.unstable == 10
    assert np.abs(problem.internal_eigenvalues.real) == pytest.approx(20, rel=0.4)  # 2 c / h, a Jordan block
    assert problem.start[0] == pytest.approx(0, abs=1e-12) and problem.end[0] == pytest.approx(0.2, abs=1e-12)


def test_mass_of_p_points_leaves_one_motion_without_mass():
    for degree in (1, 2, 3):
        mass = {}
        for kind in ("lumped", "consistent", "gauss"):
            rope = tf.Rope(2.0, tf.RopeSection(1.0, 3.0), 4, degree, mass=kind, dimension=2)
            system = tf.System([rope])
            mass[kind] = system.mass_matrix(0.0, np.zeros(system.n_z)).toarray()
            assert mass[kind][::2, ::2].sum() == pytest.approx(6.0, rel=1e-13)
        smallest = {kind: np.linalg.eigvalsh(m[::2, ::2]) for kind, m in mass.items()}
        assert abs(smallest["gauss"][0]) < 1e-14 and smallest["gauss"][1] > 1e-3 and smallest["consistent"][0] > 1e-3


def rope_problem(n=10, stiffness=200):
    rope = tf.Rope(tf.Line((0, 0, 0), (0, 0, -2)), tf.RopeSection(stiffness, 0.5), n, mass="gauss", name="rope")
    load = tf.PointMass(2.0, name="load")
    hook = tf.Spherical(load, rope.end, point_a=(0, 0, 0), point_b=(0, 0, 0))
    path = {tf.PositionOutput(load, a): tf.Transfer(0.75, 2.25, v, v + d, 5)
            for a, v, d in (("x", 0, 1.5), ("y", 0, 0.8), ("z", -2, 0.5))}
    return tf.InverseDynamics(tf.System([rope, load, hook], gravity=(0, 0, -9.81)), path, {load: tf.Pose((0, 0, -2))},
                              {}, (0, 3), actuators=tf.ControlForce(rope.start)), path


@pytest.mark.slow
def test_load_on_a_rope_arrives_in_a_march_of_the_force():
    """Twenty elements at once; the march has lumped masses and another element."""
    problem, path = rope_problem(20)
    sol = tf.solve(problem, tf.MixedGalerkin(1, form="energy"), 300, progress=False)
    assert sol.success
    wanted = np.array([trajectory(sol.t) for trajectory in path.values()]).T
    assert np.abs(sol.position("load", sol.t) - wanted).max() < 1e-7
    t = (sol.t[1:] + sol.t[:-1]) / 2
    force = sol.controls(t)[[0, *range(300), -1]]
    assert force[[0, -1], 2] == pytest.approx(9.81 * 3, rel=1e-6)
    rope = tf.Rope(tf.Line((0, 0, 0), (0, 0, -2)), tf.RopeSection(200, 0.5), 20, name="rope")
    load = tf.PointMass(2.0, name="load")
    parts = [rope, load, tf.Spherical(load, rope.end, point_a=(0, 0, 0), point_b=(0, 0, 0)),
             tf.Force(rope.start, [tf.Table([0, *t, 3], f) for f in force.T])]
    start = {node: tf.Pose(sol.position(f"rope.node[{i}]", 0.0)) for i, node in enumerate(rope.nodes)}
    march = tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)),
                                   start | {load: tf.Pose(sol.position("load", 0.0))}, (0, 3))
    found = tf.solve(march, tf.MixedGalerkin(2), 300, progress=False)
    assert np.abs(found.position("load", found.t) - wanted).max() < 5e-3


def test_a_hanging_rope_starts_without_tension():
    """Statics of what is singular at rest: a straight rope, held by the force that is to be found."""
    problem, _ = rope_problem()
    load = problem.system["load"]
    assert problem.start[problem.system.coordinates(load)] == pytest.approx([0, 0, -2], abs=1e-10)
    top = problem.system.coordinates(problem.system["rope.node[0]"])
    hand = problem.start[top]
    stretch = 2 * (2 * 9.81 + 0.5 * 0.5 * 9.81 * 2) / 200  # of the load and half the rope's weight
    assert hand == pytest.approx([0, 0, stretch], abs=1e-9)
    assert problem.end[top] == pytest.approx([1.5, 0.8, 0.5 + stretch], abs=1e-9)


def test_saved_with_the_controls_that_were_multipliers(tmp_path):
    problem, _ = bar_problem(4, 1)
    sol = tf.solve(problem, tf.MixedGalerkin(1, form="energy"), 16, progress=False)
    sol.save(tmp_path / "bar.h5")
    read = tf.load(tmp_path / "bar.h5")
    t = np.linspace(0.05, 3.95, 9)
    assert read.success and np.abs(sol.controls(t)).max() > 0.1
    assert np.array_equal(read.controls(t), sol.controls(t))
    assert np.array_equal(read(t), sol(t))
    np.testing.assert_array_equal(read.along("bar").force, sol.along("bar").force)
    assert np.isfinite(read.energy()).all() and read.energy()[-1] < 1e-6


def test_refusals():
    problem, bar = bar_problem(3, 1)
    with pytest.raises(tf.InputError, match=r"couples the inertia of its bodies.*form='energy'"):
        tf.solve(problem, tf.MixedGalerkin(2), 10)
    push = tf.ControlForce(bar.start, [(1, 0, 0)])
    with pytest.raises(tf.InputError, match="moves at the start"):
        tf.InverseDynamics(tf.System([bar]), {tf.PositionOutput(bar.end, "x"): lambda t: 1 + t}, {}, {}, (0, 4),
                           actuators=push)
    with pytest.raises(tf.InputError, match="leaves the first 2 axes"):
        tf.equilibrium(tf.System([tf.Rope(tf.Line((0, 0, 0), (0, 0, 1)), tf.RopeSection(1, 1), 2, dimension=2)]))
