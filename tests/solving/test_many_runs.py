"""Ensembles: every run as if it were alone."""

import csv
import json
import warnings

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling
from timefem.solving.agreement import OPTIONS

pytestmark = pytest.mark.long


def box(speed=(0, 5, 1)):
    body = tf.RigidBody(12, (5, 26, 29), name="box")
    return tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=speed)}, (0, 0.5))


def states(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([box(rng.uniform(-4, 4, 3)).z0 for _ in range(n)])


@pytest.mark.parametrize("n_workers", [1, 3])
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.EML()], ids=lambda e: e.name)
def test_states(element, n_workers):
    z = states(40)
    solver = tf.prepare(box(), element, 20)
    found = solver.solve_many(z, n_workers=n_workers, every=5)
    assert found.success.all() and found.z.shape == (40, 5, 14) and found.times[3].tolist() == [0, 0.125, 0.25, 0.375,
                                                                                               0.5]
    for i in (0, 17, 39):
        alone = solver.solve(start=z[i])
        np.testing.assert_allclose(found.z[i], alone.z[::5], rtol=0, atol=1e-11)
    np.testing.assert_array_equal(found.solution(17).z, solver.solve(start=z[17]).z)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.EML(), tf.MixedGalerkin(2, form="energy")], ids=str)
def test_parameters(element):
    solver = tf.prepare(box(), element, 10)
    found = solver.solve_many(parameters={"box.mass": [1.0, 2.0, -1.0], "box.inertia[1]": [25.0, 27.0, 26.0]})
    assert found.success.tolist() == [True, True, False]
    assert found.reasons[2].startswith("input: ") and "positive" in found.reasons[2] and np.isnan(found.z[2]).all()
    for i, (mass, inertia) in enumerate(((1.0, 25.0), (2.0, 27.0))):
        body = tf.RigidBody(mass, (5, inertia, 29), name="box")
        problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=(0, 5, 1))}, (0, 0.5))
        np.testing.assert_allclose(found.z[i, -1], tf.solve(problem, element, 10).z[-1], rtol=0, atol=1e-11)
    omega = found.quantity("box", "angular_velocity")
    np.testing.assert_allclose(omega[:2, 0], [(0, 5, 1)] * 2, rtol=0, atol=1e-12)
    same = solver.solve_many(parameters=[{"box.mass": 1.0, "box.inertia[1]": 25.0}])
    np.testing.assert_array_equal(same.z[0], found.z[0])


def test_runs_know_nothing_of_those_before():
    masses = np.array([1.0, 30.0, 2.0, 0.5])
    solver = tf.prepare(box(), tf.MixedGalerkin(1), 100)
    there, back = (solver.solve_many(parameters={"box.mass": m}, n_workers=1).z for m in (masses, masses[::-1]))
    np.testing.assert_array_equal(there, back[::-1])


def test_failures_belong_to_their_run():
    z = states(6)
    z[2, 3] = 1.2  # no unit quaternion
    z[4, 7:] *= 400  # turns far too fast for the mesh
    found = tf.prepare(box(), tf.MixedGalerkin(2), 5, driver=tf.March(keep_mesh=True)).solve_many(z)
    assert found.success[[0, 1, 3, 5]].all() and not found.success[[2, 4]].any()
    assert "unit length" in found.messages[2] and found.reasons[4] in ("not converged", "constraints violated")
    assert np.isfinite(found.z[[0, 1, 3, 5]]).all() and np.isnan(found.z[[2, 4], -1]).all()
    assert "4" in str(found.summary().facts["converged"])


def test_a_first_run_that_cannot_be_is_data():
    """Of numbers inside of functions of time as well."""
    bead = tf.PointMass(1.0, name="bead")
    push = tf.Force(bead, (0, 0, 1), time=tf.Sine(1.0, 1.0), name="push")
    problem = tf.InitialValueProblem(tf.System([bead, push]), {bead: tf.Pose()}, (0, 1))
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 4)
    found = solver.solve_many(parameters={"push.time.amplitude": [1e200, 1.0]}, progress=False)
    assert found.success.tolist() == [False, True] and "amplitude must be" in found.messages[0]
    with pytest.raises(tf.InputError, match=r"a Sine has no number 'amplitud'; .*did you mean 'amplitude'"):
        solver.solve_many(parameters={"push.time.amplitud": [1.0, 2.0]}, progress=False)


def test_failed_runs_warn():
    body = tf.RigidBody(1.0, (1, 2, 3), name="body")
    problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose()}, (0, 1))
    solver = tf.prepare(problem, tf.MixedGalerkin(1), 2, progress=False)
    with pytest.warns(tf.NotSolved, match=r"1 of 3 runs failed.*run 1: input: RigidBody 'body': mass must be finite"):
        found = solver.solve_many(parameters={"body.mass": [1.0, np.nan, 2.0]}, n_workers=1, progress=False)
    assert found.success.tolist() == [True, False, True]


def test_runs_that_fail_are_halved():
    z = states(4)
    z[1, 7:] *= 25
    solver = tf.prepare(box(), tf.MixedGalerkin(2), 5)
    found, alone = solver.solve_many(z), solver.solve(start=z[1])
    assert found.success.all() and "halved" in alone.status.message and list(found.messages) == [1]
    assert found.messages[1].startswith(f"{alone.status.message}; box moves too fast for")
    np.testing.assert_allclose(found.z[1, -1], alone.z[-1], rtol=0, atol=1e-6)  # momenta are thousands


def test_other_problems_in_processes():
    def problem(x):
        body = tf.PointMass(1.0, dimension=1, name="bead")
        system = tf.System([body, tf.Spring(body, None, stiffness=2.0)])
        return tf.BoundaryValueProblem(system, (0, 1), {body: tf.EndState(position=(0, None, None))},
                                       {body: tf.EndState(position=(x, None, None))})

    ends = [{"bead": tf.EndState(position=(x, None, None))} for x in np.linspace(0.5, 2, 12)]
    found = tf.prepare(problem(1.0), tf.MixedGalerkin(2), 6).solve_many(ends=ends, n_workers=2)
    assert found.success.all()
    # x = c sin(w t)
    w = np.sqrt(2)
    np.testing.assert_allclose(found.z[:, 0, 1], np.linspace(0.5, 2, 12) * w / np.sin(w), rtol=1e-4, atol=0)
    np.testing.assert_allclose(found.z[:, -1, 0], np.linspace(0.5, 2, 12), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_numbers_that_cannot_be_used_in_processes(n_workers):
    """They are data of their run in problems that are solved all at once, too."""
    bead = tf.PointMass(1.0, dimension=1, name="bead")
    system = tf.System([bead, tf.Spring(bead, None, stiffness=2.0, name="spring")])
    problem = tf.BoundaryValueProblem(system, (0, 1), {bead: tf.EndState(position=(0, None, None))},
                                      {bead: tf.EndState(position=(1, None, None))})
    stiffness = [2.0, -1.0, np.nan, *np.linspace(1, 3, 9)]
    found = tf.prepare(problem, tf.MixedGalerkin(2), 4).solve_many(parameters={"spring.stiffness": stiffness},
                                                                   n_workers=n_workers)
    assert found.success.tolist() == [True, False, False] + [True] * 9
    assert found.reasons[1].startswith("input: ") and "must not be negative" in found.messages[1]
    assert np.isnan(found.z[1:3]).all() and np.isfinite(found.z[3:]).all()


def test_phases_have_no_numbers_to_change():
    ball = tf.PointMass(1.0, dimension=1, name="ball")
    fan = tf.ControlForce(ball, [(1, 0, 0)], name="fan")
    there = {ball: tf.EndState(position=[1, None, None])}
    phase = tf.OptimalControl(tf.System([ball]), {ball: tf.Pose()}, there, (0, 1), tf.Effort(fan))
    solver = tf.prepare(tf.Phases([phase, phase], [[]]), tf.MixedGalerkin(1), 2)
    for change in (lambda: solver.solve_many(parameters={"ball.mass": [1.0, 2.0]}), lambda: solver.solve(start={})):
        with pytest.raises(tf.InputError, match="rebuild the problem"):
            change()


def links():
    links = [tf.Link("base"), *(tf.Link(name, 1.0, (0.2, 0, 0), (0.001, 0.02, 0.02)) for name in "ab")]
    joints = [tf.TreeJoint("ja", "base", "a"), tf.TreeJoint("jb", "a", "b", position=(0.4, 0, 0))]
    arm = tf.Tree(links, joints, name="arm")
    problem = tf.InitialValueProblem(tf.System([arm], gravity=(0, -9.81, 0)), {"ja": (0.2, 1.0)}, (0, 0.3))
    return problem, "arm.a.mass", ("arm.b", "position", "velocity", "angular_velocity"), ("arm.jb", "rates"), "lagrange"


def coupled_nodes():
    section = tf.Section.circle(2e6, 0.3, 1000, 0.03)
    beam = tf.Beam(1.0, section, 1, 1, rotation="directors", mass="consistent", name="beam")
    pin = tf.Spherical(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0))
    problem = tf.InitialValueProblem(tf.System([beam, pin], gravity=(0, 0, -9.81)), {}, (0, 0.01))
    return problem, "gravity[2]", ("beam.node[1]", "position", "velocity", "angular_velocity"), "energy"


@pytest.mark.parametrize("make", [links, coupled_nodes])
def test_quantities_are_those_of_solutions(make):
    """Of links and joints of trees, whose rates are not those of their momenta, and of nodes that share inertia."""
    problem, number, *quantities, form = make()
    solver = tf.prepare(problem, tf.MixedGalerkin(2, form=form), 10)
    values = np.array([2.0, 3.0])
    found = solver.solve_many(parameters={number: values})
    again = solver.solve_many(np.array([problem.z0]))
    for ensemble, run, alone in ((found, 1, solver.solve(parameters={number: 3.0})), (again, 0, solver.solve())):
        for body, *names in quantities:
            for name in names:
                wanted = alone.joint("jb").rate() if name == "rates" else getattr(alone, name)(body, alone.t)
                values = ensemble.quantity(body, name)[run]
                np.testing.assert_allclose(np.squeeze(values), wanted[[0, -1]], rtol=0, atol=1e-9)


def test_kinks_of_loads_are_nodes_of_each_run():
    body = tf.PointMass(1.0, name="bead")
    push = tf.Force(body, (1, 0, 0), time=tf.Table((0, 0.3, 0.6, 1), (0, 1, -1, 2)), name="push")
    problem = tf.InitialValueProblem(tf.System([body, push]), {body: tf.Pose()}, (0, 1))
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 10)
    middle = [0.3, 0.37, 0.55]
    found = solver.solve_many(parameters={"push.time.times[1]": middle}, every=1)
    for i, t in enumerate(middle):
        alone = solver.solve(parameters={"push.time.times[1]": t})
        assert np.isclose(found.times[i], t, rtol=0, atol=1e-12).any()
        np.testing.assert_allclose(found.z[i], alone.z, rtol=0, atol=1e-14)
    assert found.success.all() and not found.messages


@pytest.mark.parametrize("name, values", [("push.time.times[1]", [0.9, 0.3]), ("push.time.values[1]", [np.nan, 2.0]),
                                          ("tree.arm.inertia[0]", [-1.0, 0.02])])
def test_numbers_of_the_first_run_that_cannot_be_used_are_its_own(name, values):
    tree = tf.Tree([tf.Link("base"), tf.Link("arm", 1.0, (0.2, 0, 0), (0.01, 0.02, 0.02))],
                   [tf.TreeJoint("hinge", "base", "arm", axis=(0, 1, 0))], name="tree")
    push = tf.Force(tree.link("arm"), (1, 0, 0), time=tf.Table((0, 0.3, 0.6, 1), (0, 1, -1, 2)), name="push")
    problem = tf.InitialValueProblem(tf.System([tree, push]), {tree: {"hinge": 0.1}}, (0, 0.5))
    found = tf.prepare(problem, tf.EML(), 4).solve_many(parameters={name: values})
    assert found.success.tolist() == [False, True] and found.reasons[0].startswith("input: ")


def test_xarray_and_csv(tmp_path):
    pytest.importorskip("xarray")
    found = tf.prepare(box(), tf.MixedGalerkin(1), 4).solve_many(parameters={"box.mass": [1.0, -2.0, 3.0]})
    data = found.to_xarray()
    assert data.sizes["run"] == 3 and data["box position"].attrs["units"] == "m"
    assert data["success"].values.tolist() == [True, False, True] and data["box.mass"].values.tolist() == [1, -2, 3]
    found.to_csv(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["success"] for row in rows] == ["1", "0", "1"] and rows[1]["box.x [m]"] == ""
    np.testing.assert_array_equal(float(rows[2]["box.Omega2 [rad/s]"]),
                                  found.quantity("box", "angular_velocity")[2, -1, 1])


@pytest.mark.parametrize("arguments, words", [
    ({}, "no runs"),
    ({"parameters": {"box.mass": []}}, "is empty"),
    ({"starts": np.zeros((2, 3))}, r"must have shape \(n_runs, 14\)"),
    ({"starts": states(2), "parameters": {"box.mass": [1, 2, 3]}}, "2 starts, 3 parameters"),
    ({"parameters": {"box.mas": [1, 2]}}, "did you mean 'mass'"),
    ({"parameters": [{"box.mass": 1}, {}]}, "missing in some"),
    ({"starts": 3}, "must be a sequence"),
    ({"ends": [{}]}, "could change"),
    ({"starts": states(2), "n_workers": 0}, "n_workers"),
    ({"starts": states(2), "every": 0}, "every"),
])
def test_wrong_input_is_refused(arguments, words):
    with pytest.raises(tf.InputError, match=words):
        tf.prepare(box(), tf.MixedGalerkin(1), 4).solve_many(**arguments)


def test_runs_of_optimal_control_that_fail_have_no_cost():
    """The others have theirs: 0.75 times the square of the mass, up to where 2 N do not bring it there."""
    body = tf.PointMass(1.0, dimension=2, name="body")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose((0, 0, 0))},
                                {body: tf.EndState(position=[1, None, None], velocity=[0, None, None])}, (0, 2),
                                tf.Effort(push), bounds={push: (-2, 2)})
    with pytest.warns(tf.NotSolved, match="1 of 3 runs failed"):
        found = tf.prepare(problem, tf.MixedGalerkin(2), 10).solve_many(parameters={"body.mass": [1.0, 1.2, 4.0]})
    assert found.success.tolist() == [True, True, False] and found.reasons[2] == "infeasible"
    np.testing.assert_allclose(found.values["objective"], [0.75, 0.75 * 1.44, np.nan], rtol=1e-9)


def test_sweeps_of_optimal_control_tell_the_cost(timefem):
    status, out, _ = timefem("sweep", "quadrotor", "--n-elements", 10, "--parameter", "frame.mass=1,1.1")
    assert status == 0 and "objective" in out


def test_long_sweeps_are_told_in_short(timefem):
    status, out, _ = timefem("sweep", "spinning-box", "--n-elements", 2, "--t-end", 0.1, "--parameter",
                             "box.mass=-1:9:101")
    assert status == 1 and "each with --csv" in out and len(out.splitlines()) < 12
    assert [line.split()[3] for line in out.splitlines() if "converged" in line] == ["90"] and "not -1 " in out


def test_sweep(timefem, tmp_path):
    status, out, _ = timefem("sweep", "spinning-box", "--n-elements", 5, "--t-end", 0.1, "--parameter",
                             "box.mass=1:2:3", "--parameter", "box.inertia[0]=5,6", "--csv", tmp_path / "a.csv",
                             "--json")
    assert status == 0
    facts = json.loads(out)
    assert facts["runs"] == 6 and facts["converged"] == 6
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(float(r["box.mass"]), float(r["box.inertia[0]"])) for r in rows] == [
        (m, i) for m in (1, 1.5, 2) for i in (5, 6)]


@pytest.mark.parametrize("arguments, words", [
    (("--parameter", "box.mas=1:2:3"), "did you mean 'mass'"),
    (("--parameter", "box.mass"), "NAME=FIRST:LAST:NUMBER"),
    (("--parameter", "box.mass=1:2:x"), "NAME=FIRST:LAST:NUMBER"),
    ((), "--parameter"),
])
def test_sweep_refuses(timefem, arguments, words):
    status, _, err = timefem("sweep", "spinning-box", *arguments)
    assert status == 2 and words in err


@pytest.mark.parametrize("n_workers", [1, 2])
def test_more_runs_than_are_taken_at_once(n_workers):
    z = states(5 * OPTIONS.runs_of_a_thread + 3)
    found = tf.prepare(box(), tf.MixedGalerkin(1), 4).solve_many(z, n_workers=n_workers)
    assert found.success.all()
    np.testing.assert_array_equal(found.z[:, 0], z)  # each in its place
    for i in (0, 2 * OPTIONS.runs_of_a_thread, 5 * OPTIONS.runs_of_a_thread + 2):
        np.testing.assert_allclose(found.z[i, -1], found.solution(i).z[-1], rtol=0, atol=1e-11)


def test_light_bodies_in_some_runs_only():
    """Runs in which bodies count apart, and runs in which they do not, are those of single solves."""
    heavy, light = (tf.RigidBody(m, (m, 2 * m, 3 * m), name=name) for m, name in ((10.0, "heavy"), (0.01, "light")))
    problem = tf.InitialValueProblem(tf.System([heavy, light]), {heavy: tf.Pose(angular_velocity=(0, 1, 2))}, (0, 1))
    solver = tf.prepare(problem, tf.MixedGalerkin(2), 30, progress=False)
    starts = [{heavy: tf.Pose((5, 0, 0), velocity=(fast, 0, 0), angular_velocity=(0, slow, 1)),
               light: tf.Pose((3, 0, 0), angular_velocity=(1, slow, 0))}
              for fast, slow in ((500, 1), (0, 1), (300, 2), (0, 2))]
    emphases = [Scaling.of("full", problem.system, solver.element, 0.0, problem.changed(start=s).z0).emphasis
                for s in starts]
    assert {e is None for e in emphases} == {True, False}
    ensemble = solver.solve_many(starts, every=1, progress=False)
    assert ensemble.success.all()
    for i, start in enumerate(starts):
        sol = solver.solve(start=start)
        np.testing.assert_allclose(ensemble.z[i], sol.z, rtol=0, atol=1e-11 * np.abs(sol.z).max())
        assert ensemble.values["iterations"][i] == pytest.approx(
            30 * sol.statistics["newton_iterations"]["mean"], abs=0.5)


def test_warnings_are_data_of_their_runs():
    """One warning, however many runs turn too far in an element, in compiled loops and of runs that are halved."""
    body = tf.RigidBody(1, (1, 2, 3), name="box")
    problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose()}, (0, 1))
    starts = [{body: tf.Pose(angular_velocity=(0, rate, 0.1))} for rate in (1.0, 30.0, 40.0, 2.0)]
    solver = tf.prepare(problem, tf.MixedGalerkin(1), 16)
    for given in (starts, np.array([solver.problem.changed(start=start).z0 for start in starts])):
        with pytest.warns(tf.UnderResolved, match="2 of 4 runs, .* run 1: box moves") as heard:
            found = solver.solve_many(given)
        assert found.success.all() and sorted(found.messages) == [1, 2]
        assert all("take" in text and "elements or more" in text for text in found.messages.values())
        assert len(heard) == 1


def swinging(degree):
    """A point on a spring, of whose vibration elements see the less the stiffer it is."""
    point = tf.PointMass(1.0, name="point")
    spring = tf.Spring(point, None, stiffness=10.0, length=0.5, name="spring")
    problem = tf.InitialValueProblem(tf.System([point, spring]), {point: tf.Pose((1, 0, 0))}, (0, 1))
    return tf.prepare(problem, tf.MixedGalerkin(degree), 20), "spring.stiffness", [1.0, 2e4, 2.0, 9e4]


def stopped(_):
    """A ball that meets a stiff floor between the points where elements look."""
    ball = tf.PointMass(1.0, name="ball")
    floor = tf.PlaneContact(ball, stiffness=1e5, name="floor")
    problem = tf.InitialValueProblem(tf.System([ball, floor], (0, 0, -10.0)), {ball: tf.Pose((0, 0, 1))}, (0, 0.6))
    return tf.prepare(problem, tf.MixedGalerkin(2), 13), "floor.stiffness", [10.0, 1e4, 11.0, 2e4]


def whipped(_):
    """Two links in Livens' form, which keeps the energy only as well as it resolves the motion."""
    links = [tf.Link(name, mass=1.0, centre=(0, 0, 0.5), inertia=(0.08, 0.08, 0.01)) for name in ("upper", "fore")]
    joints = [tf.TreeJoint("shoulder", "base", "upper", axis=(0, 1, 0)),
              tf.TreeJoint("elbow", "upper", "fore", position=(0, 0, 1), axis=(0, 1, 0))]
    arm = tf.Tree([tf.Link("base"), *links], joints, name="arm")
    problem = tf.InitialValueProblem(tf.System([arm], (0, 0, -9.81)), {arm: {"shoulder": 0.3, "elbow": 0.5}}, (0, 1))
    return tf.prepare(problem, tf.MixedGalerkin(1, form="lagrange"), 15), "gravity[2]", [-1.0, -300.0, -1.5, -500.0]


@pytest.mark.parametrize("make, degree, told", [
    (swinging, 1, "moves too fast"), (swinging, 2, "moves too fast"), (swinging, 3, "moves too fast"),
    (stopped, 2, "begins or ends between"), (whipped, 1, "of the energy")])
def test_what_elements_do_not_resolve_is_reported_as_of_a_run_alone(make, degree, told):
    solver, name, values = make(degree)
    with pytest.warns(tf.UnderResolved, match=told):
        found = solver.solve_many(parameters={name: values}, progress=False)
    assert found.success.all() and sorted(found.messages) == [1, 3]
    for i, value in enumerate(values):
        with warnings.catch_warnings(record=True) as alone:
            warnings.simplefilter("always")
            solver.solve(parameters={name: value})
        texts = [str(one.message).partition("; take")[0] for one in alone]
        assert bool(texts) == (i in found.messages) and all(text in found.messages[i] for text in texts)


def test_turns_that_are_not_counted():
    """What a single solve calls a failure is none of a success in an ensemble."""
    axes = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    bar = tf.RigidBody(1.0, (0.1, 0.01, 0.1), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0.4, 0), point_b=(0, 0, 0), name="hinge", **axes)
    system = tf.System([bar, hinge, tf.JointSpring(hinge, stiffness=0.5)], gravity=(0, -9.81, 0))
    solver = tf.prepare(tf.InitialValueProblem(system, {hinge: 0.0}, (0, 1)), tf.EML(), 100)
    found = solver.solve_many([{hinge: (0.0, 9.0)}, {hinge: (0.0, 1.0)}], every=10)
    assert found.reasons == ["turns not counted", "converged"] and "does not count turns" in found.messages[0]
    assert solver.solve(start={hinge: (0.0, 9.0)}).status.reason == "turns not counted"
    counted = tf.prepare(solver.problem, tf.MixedGalerkin(2), 100).solve_many([{hinge: (0.0, 9.0)}])
    assert counted.success.all() and not counted.messages
