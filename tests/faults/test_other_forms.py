"""A part asked for in one form and held in another; tables, pictures and pickles of what is there."""

import csv
import pickle

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.solution.drawing.scene import make_scene

GRAVITY = (0, -9.81, 0)
PLANE = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}


def chain(n, coordinates="bodies", size=None):
    bars = [tf.RigidBody(1.0, (0.1, 0.02, 0.1), name=f"bar{i}", size=size) for i in range(n)]
    hinges = [tf.Revolute(bars[i], bars[i - 1] if i else None, point_a=(0, 0.5, 0),
                          point_b=(0, -0.5, 0) if i else (0, 0, 0), **PLANE, name=f"h{i}") for i in range(n)]
    return tf.System([*bars, *hinges], gravity=GRAVITY, coordinates=coordinates), bars, hinges


def solved(system, hinge, n=10, t_end=0.2):
    form = "lagrange" if system.n_constraints == 0 else "impulse"
    return tf.solve(tf.InitialValueProblem(system, {hinge: 0.3}, (0, t_end)), tf.MixedGalerkin(2, form=form), n,
                    progress=False)


@pytest.mark.long
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_data_frames(fault, n, coordinates):
    """A row per time, and as many numbers as there are."""
    pytest.importorskip("xarray")
    system, bars, hinges = chain(n, coordinates)
    sol = solved(system, hinges[0], 5)
    table = sol.to_xarray()
    frame = table.to_dataframe()
    fault(f"rows of {n} bars, {coordinates}", 6, len(frame))
    numbers = sum(v.size for v in table.data_vars.values())
    fault(f"numbers of {n} bars, {coordinates}", numbers, frame.size)
    column = frame["velocity bar0 x"]
    fault(f"a column of {n} bars, {coordinates}", sol.velocity(bars[0], sol.t)[:, 0], column.to_numpy())
    assert table.sel(time=0.0).to_dataframe().size > 0  # as xarray has it
    few = table[["position"]].isel(time=[0, 1]).to_dataframe()
    assert few.shape == (2, 3 * n) and few.index.name == "time"
    assert len(table[["energy"]].to_dataframe(dim_order=["time"])) == 6


@pytest.mark.long
def test_data_frames_of_runs(fault):
    pytest.importorskip("xarray")
    system, _, hinges = chain(1)
    problem = tf.InitialValueProblem(system, {hinges[0]: 0.3}, (0, 0.1))
    runs = tf.prepare(problem, tf.MixedGalerkin(1), 4).solve_many(parameters={"bar0.mass": [1.0, 2.0, 3.0]})
    frame = runs.to_xarray().to_dataframe()
    n = runs.times.shape[1]
    fault("rows of three runs", 3 * n, len(frame))
    fault("masses of three runs", np.repeat([1.0, 2.0, 3.0], n), frame["bar0.mass"].to_numpy())


@pytest.mark.parametrize("form", ["joint coordinates", "tree"])
def test_places_of_links(tmp_path, fault, form):
    """CSV, JSON and xarray of a tree have the places of its links, as of bodies."""
    bodies, _, hinges = chain(2)
    right = solved(bodies, hinges[0])
    if form == "tree":
        links = [tf.Link("ground"), *(tf.Link(f"bar{i}", 1.0, inertia=(0.1, 0.02, 0.1)) for i in range(2))]
        joints = [tf.TreeJoint("h0", "ground", "at0"), tf.TreeJoint("f0", "at0", "bar0", "fixed", (0, -0.5, 0)),
                  tf.TreeJoint("h1", "bar0", "at1", position=(0, -0.5, 0)),
                  tf.TreeJoint("f1", "at1", "bar1", "fixed", (0, -0.5, 0))]
        arm = tf.Tree([*links, tf.Link("at0"), tf.Link("at1")], joints, name="arm")
        sol = tf.solve(tf.InitialValueProblem(tf.System([arm], gravity=GRAVITY), {arm: {"h0": 0.3}}, (0, 0.2)),
                       tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)
    else:
        joint, _, hinges = chain(2, "joint")
        sol = solved(joint, hinges[0])
    name = "arm.bar1" if form == "tree" else "bar1"
    found, expected = sol.to_dict()["bodies"][name], right.to_dict()["bodies"]["bar1"]
    for quantity in ("position", "velocity", "rotation_matrix", "angular_velocity"):
        fault(f"{quantity} of a link, {form}, JSON", np.array(expected[quantity]), np.array(found[quantity]), rtol=0,
              atol=1e-6)
    sol.save(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as file:
        row = list(csv.DictReader(file))[-1]
    fault(f"x of a link, {form}, CSV", found["position"][-1][0], float(row[f"{name}.x [m]"]))
    pytest.importorskip("xarray")
    table = sol.to_xarray()
    fault(f"y of a link, {form}, xarray", found["position"][-1][1], float(table.position.sel(body=name, axis="y")[-1]))


@pytest.mark.parametrize("size", [None, (0.02, 1.0, 0.04)])
def test_pictures_of_plane_motions(fault, size):
    """In joint coordinates as with bodies: seen along the normal, and no rod between hinges of the ground."""
    scenes = {}
    for coordinates in ("bodies", "joint"):
        system, _, hinges = chain(2, coordinates, size)
        scenes[coordinates] = make_scene(solved(system, hinges[0]), [0, 0.1, 0.2])
    joint, bodies = scenes["joint"], scenes["bodies"]
    fault(f"view of a plane motion, size {size}", bodies.view, joint.view)
    fault(f"centres in a picture, size {size}", np.ravel([b.position for b in bodies.bodies]),
          np.ravel([b.position for b in joint.bodies]), rtol=0, atol=1e-6)
    domes = [tf.RigidBody(0.05, (1e-4, 1e-4, 1e-4), name=f"d{i}", size=(0.02, 0.1, 0.04)) for i in range(2)]
    hinges = [tf.Revolute(d, point_a=(0.01, -0.05, 0), point_b=(i * 0.05, 0, 0), **PLANE, name=f"h{i}")
              for i, d in enumerate(domes)]
    scene = make_scene(solved(tf.System([*domes, *hinges], gravity=GRAVITY, coordinates="joint"), hinges[0]), [0, 0.1])
    fault("rods between hinges of the ground", [], [link.name for link in scene.links if link.kind == "rod"])


def bar(*more):
    body = tf.RigidBody(1.0, (0.1, 0.02, 0.1), name="bar")
    hinge = tf.Revolute(body, point_a=(0, 0.5, 0), point_b=(0, 0, 0), **PLANE, name="hinge")
    return body, hinge


@pytest.mark.parametrize("where", ["in the system", "as actuators", "only in the cost"])
def test_actuators_of_joints_are_saved(tmp_path, fault, where):
    body, hinge = bar()
    motor = tf.JointControl(hinge, name="motor")
    system = tf.System([body, hinge, *[motor] * (where == "in the system")], gravity=GRAVITY, coordinates="joint")
    more = {"actuators": motor} if where == "as actuators" else {}
    problem = tf.OptimalControl(system, {hinge: 0.0}, {hinge: 1.0}, (0, 1), cost=tf.Effort(motor), **more)
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 5, progress=False)
    sol.save(tmp_path / "a.h5")
    again = tf.load(tmp_path / "a.h5")
    fault(f"motor {where}, saved and loaded", sol.controls(0.3, motor), again.controls(0.3))
    assert sol.success and sol.system.n_q == 1


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("output", [tf.JointOutput, lambda hinge: tf.PositionOutput(hinge.bodies[0], "x")])
def test_outputs_of_joints(tmp_path, fault, own, output):
    """Outputs of a hinge, or its body, as they were given and as they are here: the same motion, saved and loaded."""
    body, hinge = bar()
    motor = tf.JointControl(hinge, name="motor")
    system = tf.System([body, hinge, motor], gravity=GRAVITY, coordinates="joint")
    asked = output(hinge)
    asked = asked.on(system) if own else asked
    path = tf.Transfer(0, 1, 0, 0.4)
    inverse = tf.InverseDynamics(system, {asked: path}, {hinge: 0.0}, t_span=(0, 1))
    assert list(inverse.relative_degrees) == [asked]
    sol = tf.solve(inverse, tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)
    angle = 0.4 if output is tf.JointOutput else np.arcsin(0.8)
    fault(f"angle at the end, {'here' if own else 'as given'}", angle, float(sol.joint("hinge").angle(1.0)), rtol=1e-9)
    sol.save(tmp_path / "a.h5")
    np.testing.assert_array_equal(tf.load(tmp_path / "a.h5").z, sol.z)


def test_coordinates_of_bodies_are_not_those_of_links(fault):
    body, hinge = bar()
    system = tf.System([body, hinge, tf.JointControl(hinge)], gravity=GRAVITY, coordinates="joint")
    with pytest.raises(tf.InputError, match="coordinates that its body does not have here") as told:
        tf.InverseDynamics(system, {tf.CoordinateOutput(body, 0): 0.0}, {hinge: 0.0}, t_span=(0, 1))
    fault("q[0] of a body in joint coordinates", "refused", "refused" if told.value else "taken")


def with_lambdas():
    mass = tf.PointMass(1.0, name="mass")
    stiffness = 3.0
    parts = [mass, tf.NonlinearSpring(mass, None, point_b=(0, 0, 2), potential=lambda l: stiffness * (l - 1)**4),
             tf.Force(mass, lambda t: (ca.sin(t), 0, 1)), tf.FormulaForce(mass, lambda f, t, c: -f[0].velocity),
             tf.Constraint(mass, lambda f, t, c: ca.sumsqr(f[0].position) - 1, 1)]
    return tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {mass: tf.Pose((0, 0.6, 0.8))}, (0, 0.5))


def optimal():
    mass = tf.PointMass(1.0, name="mass")
    push = tf.ControlForce(mass, name="push")
    return tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: tf.Pose((0, 0, 1))}, (0, 1),
                             tf.Cost(lambda u, q, v, t: ca.sumsqr(u) + q[2]**2, push, mass))


def inverse():
    mass = tf.PointMass(1.0, name="mass")
    path = {tf.PositionOutput(mass, "x"): lambda t: 3 * t**2, tf.PositionOutput(mass, "y"): 0.0,
            tf.PositionOutput(mass, "z"): 0.0}
    return tf.InverseDynamics(tf.System([mass, tf.ControlForce(mass)]), path, {mass: tf.Pose()}, t_span=(0, 1))


def tree():
    arm = tf.Tree([tf.Link("base"), tf.Link("rod", mass=1, centre=(0.5, 0, 0), inertia=(0, 0.1, 0.1))],
                  [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0))], name="arm")
    push = tf.Force(arm.link("rod"), lambda t: (0, 0, ca.cos(t)))
    return tf.InitialValueProblem(tf.System([arm, push], gravity=(0, 0, -9.81)), {arm: {"hinge": 0.3}}, (0, 0.5))


def joints_with_several_coordinates():
    arm = tf.Tree([tf.Link("base"), *(tf.Link(name, mass=1, centre=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
                                      for name in "abc")],
                  [tf.TreeJoint("cross", "base", "a", "universal", axis=(0, 1, 0), across=(1, 0, 0)),
                   tf.TreeJoint("ball", "a", "b",
                   "spherical", position=(1, 0, 0)), tf.TreeJoint("slide", "b", "c", "planar")], name="arm")
    return tf.InitialValueProblem(tf.System([arm], gravity=(0, 0, -9.81)), {arm: {"cross": (0.3, 0.1)}}, (0, 0.5))


@pytest.mark.parametrize("problem", [with_lambdas, optimal, inverse, tree, joints_with_several_coordinates])
def test_pickles(fault, problem):
    """Problems with lambdas, their prepared solvers and solutions give the same numbers elsewhere."""
    is_tree = problem in (tree, joints_with_several_coordinates)
    element = tf.MixedGalerkin(2, form="lagrange") if is_tree else tf.MixedGalerkin(2)
    solver = tf.prepare(problem(), element, 4)
    right = solver.solve()
    for name, thing in (("problem", problem()), ("prepared solver", solver)):
        copy = pickle.loads(pickle.dumps(thing))
        found = copy.solve() if name == "prepared solver" else tf.solve(copy, element, 4, progress=False)
        fault(f"pickled {name}, {problem.__name__}", right.z[-1], found.z[-1], rtol=0, atol=1e-9)
    again = pickle.loads(pickle.dumps(right))
    fault(f"pickled solution, {problem.__name__}", right(0.3), again(0.3), rtol=0, atol=0)


def test_functions_that_stay(fault):
    """What cannot be stated elsewhere is refused by a remedy."""
    mass = tf.PointMass(1.0, name="mass")
    push = tf.ControlForce(mass)
    cost = [tf.Effort(push), lambda now, u: now.position("mass")[2]**2]
    problem = tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: tf.Pose((0, 0, 1))}, (0, 1), cost)
    with pytest.raises(tf.InputError, match="define it in a module, or give a text") as told:
        pickle.dumps(problem)
    fault("a cost that asks the motion, pickled", "refused", "refused" if told.value else "taken")


def spun(coordinates, closed):
    """A body on a cross that another hangs from, which slides on a rope; or whose end stays on a rod."""
    a, b, c = (tf.RigidBody(mass, (0.02, 0.021, 0.004), name=name) for name, mass in zip("abc", (1.0, 0.7, 0.3)))
    cross = tf.Universal(a, point_a=(0, 0, 0.2), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(0, 1, 0), name="cross")
    elbow = tf.Revolute(b, a, point_a=(0, 0, 0.15), point_b=(0, 0, -0.2), axis_a=(0.2, 1, 0.1), axis_b=(0.2, 1, 0.1),
                        name="elbow")
    rail = tf.Prismatic(c, b, point_a=(0, 0, 0.1), point_b=(0, 0, -0.2), axis_b=(0, 0, 1), name="rail")
    hold = tf.RigidDistance(c, None, point_b=(0, 0.5, -0.5), length=0.6, name="rod") if closed else \
        tf.SlackRope(c, None, point_b=(0.4, 0.2, 0), length=0.5, stiffness=100, name="rope")
    system = tf.System([a, b, c, cross, elbow, rail, hold], gravity=(0, 0, -9.81), coordinates=coordinates)
    start = tf.assemble(system, {cross: {"angle_b": 0.3, "angle_a": -0.2}, elbow: 0.4}) if closed else \
        {cross: {"angle_b": (0.3, 0.5), "angle_a": (-0.2, 1.0)}, elbow: (0.4, -1.0), rail: (0.01, 0.2)}
    return tf.solve(tf.InitialValueProblem(system, start, (0, 0.2)), tf.MixedGalerkin(2, form="energy"), 10,
                    progress=False)


@pytest.mark.parametrize("closed", [False, True])
def test_names_in_joint_coordinates_are_saved(tmp_path, fault, closed):
    """Bodies by the names that they were given, and their centres of mass, not the frames of links; also once more."""
    sol = spun("joint", closed)
    sol.save(tmp_path / "sol.h5")
    loaded = tf.load(tmp_path / "sol.h5")
    loaded.save(tmp_path / "again.h5")
    for name, other in (("loaded", loaded), ("again", tf.load(tmp_path / "again.h5"))):
        for body in "abc":
            fault(f"{name}: place of {body}", sol.position(body, 0.13), other.position(body, 0.13), rtol=0, atol=0)
        for joint in "cross", "elbow", "rail":
            fault(f"{name}: force of {joint}", sol.joint(joint).force(0.13), other.joint(joint).force(0.13), rtol=0,
                  atol=0)
        for what in sol, other:
            what.save(tmp_path / "table.csv")
            what.table = (tmp_path / "table.csv").read_text()
        fault(f"{name}: table", True, sol.table == other.table)
        heavier = other.system.with_numbers({"c.mass": 0.5})
        assert heavier["c"].body.link("c") is not None and heavier.find("b").address == sol.system.find("b").address
    height = tf.EndValue(lambda f, t: f[0].position[2], "b")
    fault("loaded: derivative", *(tf.gradient(what, height, [tf.Parameter("b", "mass")]) for what in (sol, loaded)),
          rtol=1e-12)
