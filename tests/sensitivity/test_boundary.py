"""Derivatives of boundary-value problems against central differences of solves."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import timefem as tf
from timefem.sensitivity.functionals import UnknownNumber
from timefem.sensitivity.names import derivatives, functionals_of, parameters_of_problem
from timefem.sensitivity.optimum_changes import Bound, Final

WORK = tf.Integral(lambda b, t: b[0].velocity[0]**2 + b[0].position[2])
SPEED = tf.EndValue(lambda b, t: b[0].velocity[0])
OF_TREE = tf.Integral(lambda b, t: b[0].v[0]**2 + b[0].q[1])
GRAVITY = (0, 0, -9.81)


def bar(mass=2.0, rotation="quaternion", length=1.0):
    body = tf.RigidBody(mass, (0.1, 0.12, 0.03), rotation=rotation, name="bar")
    hinge = tf.Revolute(body, point_a=(0, 0, 0.5 * length), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0),
                        name="hinge")
    return body, hinge


def between_angles(x, rotation="quaternion"):
    mass, length, stiffness, end = x
    body, hinge = bar(mass, rotation, length)
    spring = tf.JointSpring(hinge, stiffness=stiffness, name="spring")
    return tf.BoundaryValueProblem(tf.System([body, hinge, spring], gravity=GRAVITY), (0, 0.7), {hinge: 0.3},
                                   {hinge: end})


def between_poses(x, rotation="quaternion"):
    """Of all bodies: by elements that make the action stationary, with forces at the end as further unknowns."""
    mass, length, angle = x
    body, hinge = bar(mass, rotation, length)

    def pose(angle):
        turn = Rotation.from_euler("y", angle)
        return tf.Pose(turn.apply((0, 0, -0.5 * length)), turn.as_matrix())

    return tf.BoundaryValueProblem(tf.System([body, hinge], gravity=GRAVITY), (0, 0.7), {body: pose(0.3)},
                                   {body: pose(angle)})


def flight(x, rotation="quaternion"):
    mass, inertia, angle = x
    body = tf.RigidBody(mass, (inertia, 0.12, 0.1), rotation=rotation, name="box")
    spring = tf.Spring(body, None, point_a=(0.1, 0, 0), point_b=(0, 0, 2.0), stiffness=4.0, length=1.0, name="spring")
    end = tf.Pose((0.3, 0.1, 0.2), Rotation.from_rotvec(np.array([1, 2, 2]) / 3 * angle).as_matrix())
    return tf.BoundaryValueProblem(tf.System([body, spring], gravity=GRAVITY), (0, 0.8), {body: tf.Pose()}, {body: end})


def arm(x, _=None):
    mass, stiffness, end = x
    links = [tf.Link("ground"), tf.Link("upper", mass=mass, centre=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02)),
             tf.Link("fore", mass=1.0, centre=(0, 0, -0.3), inertia=(0.05, 0.05, 0.01))]
    joints = [tf.TreeJoint("shoulder", "ground", "upper", axis=(0, 1, 0)),
              tf.TreeJoint("elbow", "upper", "fore", axis=(0, 1, 0), position=(0, 0, -1.0), stiffness=stiffness,
                           damping=0.1)]
    tree = tf.Tree(links, joints, name="arm")
    start, end = {"shoulder": 0.2, "elbow": 0.1}, {"shoulder": end, "elbow": -0.2}
    return tf.BoundaryValueProblem(tf.System([tree], gravity=GRAVITY), (0, 0.6), {tree: start}, {tree: end})


def thrown(x, rotation="quaternion"):
    """A state at the start: places, and momenta by velocities, of which the mass is a factor."""
    mass, speed, spin = x
    body = tf.RigidBody(mass, (0.2, 0.12, 0.1), rotation=rotation, name="box")
    spring = tf.Spring(body, None, point_a=(0.1, 0, 0), point_b=(0, 0, 2.0), stiffness=4.0, length=1.0, name="spring")
    start = tf.EndState((0, 0, 0), (1, 0, 0, 0), velocity=(speed, 0, 1.0), angular_velocity=(0.3, spin, 0))
    return tf.BoundaryValueProblem(tf.System([body, spring], gravity=GRAVITY), (0, 0.8), {body: start})


def stiffness_found(x, rotation="quaternion"):
    """An unknown number for one condition more."""
    mass, end = x
    body, hinge = bar(mass, rotation)
    spring = tf.JointSpring(hinge, stiffness=3.0, name="spring")
    return tf.BoundaryValueProblem(
        tf.System([body, hinge, spring], gravity=GRAVITY), (0, 0.7), {hinge: 0.3}, {hinge: end},
        conditions=lambda start, end, c: [start.joint_rate("hinge") + 1.0], parameters={"k": "spring.stiffness"})


def time_found(x, rotation="quaternion"):
    mass, end = x
    body, hinge = bar(mass, rotation)
    spring = tf.JointSpring(hinge, stiffness=3.0, name="spring")
    return tf.BoundaryValueProblem(
        tf.System([body, hinge, spring], gravity=GRAVITY), (0, 0.3), {hinge: 0.3}, {hinge: end}, free_time=True,
        conditions=lambda start, end, c: [start.joint_rate("hinge")])


def steady(x, rotation="quaternion"):
    """Periodic, under a drive: the start is seen at the end."""
    mass, amplitude = x
    body, hinge = bar(mass, rotation)
    damper = tf.JointDamper(hinge, damping=0.3, name="damper")
    drive = tf.Torque(body, (0, amplitude, 0), time=tf.Sine(1.0, 1 / 1.7), name="drive")
    return tf.BoundaryValueProblem(tf.System([body, hinge, damper, drive], gravity=GRAVITY), (0, 1.7), periodic=True)


def solved(problem, element, n=12):
    sol = tf.solve(problem, element, n, progress=False)
    assert sol.success
    return sol


def check(build, x, parameters, functional, element, step=1e-3, rtol=1e-7):
    """Gradient, sensitivities and extrapolated central differences of solves; returns the first."""
    x = np.array(x, float)
    lin = tf.Linearization(solved(build(x), element))
    found = lin.gradient(functional, parameters)
    np.testing.assert_allclose(lin.sensitivities(functional, parameters)[0], found, rtol=1e-9,
                               atol=1e-11 * np.abs(found).max())
    true = []
    for i in range(len(x)):
        def at(shift, i=i):
            moved = x + shift * (np.arange(len(x)) == i) * (abs(x[i]) or 1.0) * step
            return tf.Linearization(solved(build(moved), element)).value(functional)[0]

        first, second = ((at(s) - at(-s)) / (2 * s * step * (abs(x[i]) or 1.0)) for s in (1.0, 0.5))
        true.append((4 * second - first) / 3)
    np.testing.assert_allclose(found, true, rtol=0, atol=rtol * np.abs(true).max())
    return found


MG, BG = tf.MixedGalerkin(2), tf.BubnovGalerkin(2)
CASES = {
    "angles": (between_angles, (2.0, 1.0, 3.0, -0.5), WORK, MG),
    "ends": (between_angles, (2.0, 1.0, 3.0, -0.5), SPEED, BG),
    "poses": (between_poses, (2.0, 1.0, -0.5), WORK, MG), "stationary": (between_poses, (2.0, 1.0, -0.5), WORK, BG),
    "flight": (flight, (2.0, 0.15, 1.1), WORK, MG), "stationary flight": (flight, (2.0, 0.15, 1.1), WORK, BG),
    "thrown": (thrown, (2.0, 0.5, 0.8), SPEED, MG), "number": (stiffness_found, (2.0, -0.2), WORK, MG),
    "time": (time_found, (2.0, 0.1), WORK, MG), "periodic": (steady, (2.0, 0.5), WORK, MG)}


@pytest.mark.long
@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
@pytest.mark.parametrize("case", CASES)
def test_families(case, rotation):
    """Numbers of parts, lengths that joints share, and what is prescribed."""
    build, x, functional, element = CASES[case]
    check(lambda y: build(y, rotation), x, tf.Family(lambda y: build(y, rotation), x), functional, element)


def test_numbers_and_targets_by_name():
    x = 2.0, 1.0, 3.0, -0.5
    parameters = [tf.Parameter("bar", "mass"), tf.Parameter("spring", "stiffness"), Final("hinge", "q")]
    lin = tf.Linearization(solved(between_angles(x), MG))
    found, every = lin.gradient(WORK, parameters), tf.Family(between_angles, x)
    np.testing.assert_allclose(found, tf.gradient(lin, WORK, every)[[0, 2, 3]], rtol=1e-9)
    assert lin.labels(parameters) == ["bar.mass", "spring.stiffness", "end: hinge.q[0]"]
    lin = tf.Linearization(solved(flight((2.0, 0.15, 1.1)), MG))
    by_place = lin.gradient(SPEED, [tf.Initial("box", "position", 0), Final("box", "position", 0)])
    np.testing.assert_allclose(by_place, tf.sensitivities(lin, SPEED, [
        tf.Initial("box", "position", 0), Final("box", "position", 0)])[0], rtol=1e-9)
    assert by_place[0] < 0 < by_place[1]


@pytest.mark.long
def test_trees():
    x, element = (2.0, 5.0, -0.4), tf.MixedGalerkin(2, form="lagrange")
    found = check(arm, x, tf.Family(arm, x), OF_TREE, element)
    named = [tf.Parameter("arm", "upper.mass"), tf.Parameter("arm", "elbow.stiffness")]
    np.testing.assert_allclose(tf.gradient(solved(arm(x), element), OF_TREE, named), found[:2], rtol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("build, name", [(stiffness_found, "k"), (time_found, "duration")])
def test_numbers_that_are_found(build, name):
    x = (2.0, -0.2) if name == "k" else (2.0, 0.1)
    check(build, x, tf.Family(build, x), UnknownNumber(name), MG)


def test_what_is_refused():
    sol = solved(between_angles((2.0, 1.0, 3.0, -0.5)), MG, 6)
    with pytest.raises(tf.InputError, match="a boundary-value problem has none"):
        tf.gradient(sol, WORK, Bound("hinge", "upper"))
    with pytest.raises(tf.InputError, match="use sensitivities"):
        tf.gradient(sol, tf.EndValue(lambda b, t: b[0].position), tf.Parameter("bar", "mass"))
    with pytest.raises(tf.InputError, match="is not an unknown number"):
        tf.gradient(sol, UnknownNumber("k"), tf.Parameter("bar", "mass"))
    with pytest.raises(tf.InputError, match="not that of the problem with its present value"):
        tf.gradient(sol, WORK, tf.Family(between_angles, (2.2, 1.0, 3.0, -0.5)))
    poses = solved(between_poses((2.0, 1.0, -0.5)), MG, 6)
    with pytest.raises(tf.InputError, match="violat"):
        tf.gradient(poses, WORK, tf.Parameter("hinge", "point_a", 2))


def test_derivatives_by_name_and_of_loaded_solutions(tmp_path):
    """The command line refused boundary-value problems; loaded solutions did not say what they lack."""
    problem = between_angles((2.0, 1.0, 3.0, 0.9))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    texts = ["start", "end:hinge.q", "spring.stiffness", "gravity[2]"]
    found = derivatives(sol, functionals_of(problem.system, ["integral:bar.position[2]"]),
                        parameters_of_problem(problem, texts))
    assert found["parameters"] == ["start: hinge.q[0]", "end: hinge.q[0]", "spring.stiffness", "gravity[2]"]
    height = tf.Integral(lambda b, t: b[0].position[2])
    parameters = [tf.Initial("hinge", "q"), Final("hinge", "q"), tf.Parameter("spring", "stiffness"),
                  tf.Parameter(problem.system, "gravity", 2)]
    right = tf.gradient(sol, height, parameters)
    np.testing.assert_allclose(found["functionals"]["integral:bar.position[2]"]["derivatives"], right, rtol=1e-12)
    with pytest.raises(tf.InputError, match=r"can be changed by a Family|not given"):
        parameters_of_problem(problem, ["end:bar.velocity"])
    path = tmp_path / "motion.h5"
    sol.save(path)
    for other in tf.load(path), pickle.loads(pickle.dumps(sol)):
        with pytest.raises(tf.InputError, match="guess=solution"):
            tf.gradient(other, height, parameters)
        again = tf.solve(problem, other.element, len(other.t) - 1, guess=other, progress=False)
        np.testing.assert_allclose(tf.gradient(again, height, parameters), right, rtol=1e-9)


def test_unknown_numbers_by_the_names_of_parts():
    found = []
    for part in "spring", None:
        system = between_angles((2.0, 1.0, 3.0, 0.9)).system
        problem = tf.BoundaryValueProblem(
            system, (0, 0.7), {"hinge": 0.3}, {"hinge": 0.9}, parameters={"k": (part or system["spring"], "stiffness")},
            conditions=lambda start, end, c: start.joint_rate("hinge") - 1.0)
        found.append(tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False).parameters["k"])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    with pytest.raises(tf.InputError, match="did you mean 'spring"):
        tf.BoundaryValueProblem(system, (0, 0.7), {"hinge": 0.3}, {"hinge": 0.9},
                                parameters={"k": ("sprung", "stiffness")})


@pytest.mark.long
@pytest.mark.parametrize("kind", ["boundary values", "optimum"])
def test_functionals_see_places_in_formulas_of_trees(kind):
    """Places of joints are in the formulas of a tree: functionals took them as they are, and a gradient by the length
    of a link was 0.04 for -0.20 without a warning."""
    def build(x, coordinates):
        a, b = (tf.RigidBody(m, np.array(j) / 100, name=name) for m, j, name in
                ((1.2, (5, 6, 2), "a"), (0.7, (3, 2.5, 1), "b")))
        hinge = tf.Revolute(a, point_a=(0, 0, 0.3), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
        elbow = tf.Revolute(a, b, point_a=(0, 0, -x[0]), point_b=(0, 0, 0.2), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
        system = tf.System([a, b, hinge, elbow], gravity=GRAVITY, coordinates=coordinates)
        start, end = {hinge: 0.4, elbow: -0.3}, {hinge: 0.6, elbow: -0.1}
        if kind == "boundary values":
            return tf.BoundaryValueProblem(system, (0, 0.4), start, end)
        motors = [tf.JointControl(joint) for joint in (hinge, elbow)]
        return tf.OptimalControl(system, start, end, (0, 0.4), [tf.Effort(one) for one in motors], actuators=motors)

    place, found = tf.Integral(lambda b, t: b[0].position[0], bodies=["b"]), []
    for coordinates in "bodies", "joint":
        sol = tf.solve(build([0.3], coordinates), tf.MixedGalerkin(2), 10, progress=False)
        by_length = tf.Family(lambda x, coordinates=coordinates: build(x, coordinates), [0.3])
        found += [tf.gradient(sol, place, by_length)[0], tf.sensitivities(sol, place, by_length)[0, 0]]
    assert abs(found[0]) > 0.1
    np.testing.assert_allclose(found, found[0], rtol=1e-4)
