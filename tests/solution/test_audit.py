"""Solutions of the discrete equations that are wrong all the same are reported: open constraints, coarse meshes."""

import re
import warnings
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
import scipy

import timefem as tf
from timefem.assembly import TimeMesh
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.errors import UnderResolved
from timefem.solution.audit import surely_resolved, unresolved, unresolved_turns
from timefem.solution.motion_checks import first_violated
from timefem.solution.options import OPTIONS
from timefem.solvers.march.resolution import FAR, excess


def two_rods():
    """A point at (1, 0, 0) on rods to (0, 0, 0) and (-1, 0, 0), which repeat each other at the start only."""
    point = tf.PointMass(1.0, name="point")
    rods = [tf.RigidDistance(point, point_b=at, length=length, name=name)
            for name, at, length in (("inner", (0, 0, 0), 1.0), ("outer", (-1, 0, 0), 2.0))]
    system = tf.System([point, *rods], [0, -9.81, 0], redundant="drop")
    return tf.InitialValueProblem(system, {point: tf.Pose([1, 0, 0])}, (0, 1))


def two_motions():
    """A point that is to be at t and at t + t^3."""
    point = tf.PointMass(1.0, name="point")
    given = [tf.PrescribedPosition(point, [tf.Polynomial([0, *more]), 0, 0], name=name)
             for name, more in (("first", [1.0]), ("second", [1.0, 0, 1.0]))]
    system = tf.System([point, *given], redundant="drop")
    return tf.InitialValueProblem(system, {point: tf.Pose(velocity=[1, 0, 0])}, (0, 1))


@pytest.mark.parametrize("make, name", [(two_rods, "outer"), (two_motions, "second")])
def test_dropped_constraints_are_watched(make, name):
    sol = tf.solve(make(), tf.MixedGalerkin(2), 50, progress=False)
    assert not sol.success and sol.status.reason == "constraints not redundant"
    assert name in sol.status.message and 0 < sol.status.time < 0.5 and len(sol.t) < 25
    assert sol.errors()["configuration"] < 1e-5  # of the complete system, before that time


def test_a_prescribed_motion_that_the_mesh_does_not_resolve():
    body = tf.RigidBody(1, [1, 1, 1], name="rotor")
    hinge = tf.Revolute(body, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_a=[0, 0, 1], axis_b=[0, 0, 1])
    system = tf.System([body, hinge,
                        tf.PrescribedAngle(body, angle=tf.Polynomial([0, 62.8]), axis_b=[0, 0, 1],
                                           direction_a=[1, 0, 0], direction_b=[1, 0, 0], name="drive")])
    problem = tf.InitialValueProblem(system, {body: tf.Pose(angular_velocity=[0, 0, 62.8])}, (0, 1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    assert not sol.success or any(w.category is UnderResolved for w in told)


def test_a_body_that_turns_too_far_in_an_element():
    body = tf.RigidBody(1, [1, 2, 3], name="rotor")
    problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=[0, 0, 1000])}, (0, 0.1))
    for n in (10, 34):
        with pytest.warns(UnderResolved, match=r"rotor moves too fast for.*take \d+ elements or more") as told:
            tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
        more = int(re.search(r"take (\d+) elements", str(told[0].message))[1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert 100 < more < 300 and tf.solve(problem, tf.MixedGalerkin(2), more, progress=False).success


@pytest.mark.parametrize("degree, n, told", [
    (1, 60, True), (1, 1000, True), (1, 3000, False), (2, 20, True), (2, 60, True), (2, 150, False), (3, 30, True),
    (3, 60, False), (4, 15, True), (4, 30, False)])
def test_errors_of_marches_are_estimated(degree, n, told):
    """A weight that goes round for 60 rad: told where it is off by a hundredth, silent where it is by a 400th."""
    weight = tf.PointMass(1.0, name="weight")
    system = tf.System([weight, tf.Spring(weight, point_b=(0, 0, 0), stiffness=1.0, length=0.0)])
    start = tf.Pose((1, 0, 0), velocity=(0, 1, 0))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sol = tf.solve(tf.InitialValueProblem(system, {weight: start}, (0, 60)), tf.MixedGalerkin(degree), n,
                       progress=False)
    off = np.abs(sol.z[-1, :2] - (np.cos(60), np.sin(60))).max()
    assert off > 0.01 if told else off < 0.01 / 4
    texts = [str(w.message) for w in found if w.category is UnderResolved]
    assert any("elements of half the length differ" in text for text in texts) == told


@pytest.mark.parametrize("eccentricity, orbits, degree, n, warned", [
    (0.8, 1, 3, 20, True), (0.8, 1, 3, 30, True), (0.8, 5, 3, 250, True), (0.95, 1, 3, 250, True),
    (0.8, 1, 2, 80, True), (0.95, 1, 1, 60, True), (0.8, 5, 1, 100, True), (0.8, 1, 3, 120, False),
    (0.8, 5, 3, 700, False)])
def test_errors_of_short_encounters_are_estimated(eccentricity, orbits, degree, n, warned):
    """A comet is fast in few elements only, and what these miss of its momentum leads it astray: they were averaged
    with the others, also where those that fail are halved, or those of half the length are not to be solved."""
    comet = tf.PointMass(1.0, 2, name="comet")
    sun = tf.FormulaEnergy(comet, "-c[0] / sqrt(f[0].position[0]**2 + f[0].position[1]**2)", parameters=[4 * np.pi**2])
    speed = 2 * np.pi * np.sqrt((1 - eccentricity) / (1 + eccentricity))
    start = {comet: tf.Pose((1 + eccentricity, 0, 0), velocity=(0, speed, 0))}
    problem = tf.InitialValueProblem(tf.System([comet, sun]), start, (0, orbits))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sol = tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False)
    off = np.abs(sol.z[-1, :2] - (1 + eccentricity, 0)).max()
    assert off > 0.02 if warned else off < 0.01 / 4
    texts = [str(w.message) for w in found if w.category is UnderResolved]
    assert any("comet moves too fast" in text and "elements of half the length" in text for text in texts) == warned


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.MixedGalerkin(3), tf.EML()], ids=str)
def test_a_top_at_a_tenth_of_a_radian_per_element_is_silent(element):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        top = find_case("heavy-top").make(t_end=0.1)
        body = top.system.bodies[0]
        place = top.system.coordinates(body)
        rate = np.linalg.norm(body.angular_velocity(top.z0[place], top.z0[top.system.n_q:][place]))
        assert tf.solve(top, element, int(np.ceil(rate)), progress=False).success  # times 0.1 s over 0.1 rad


@pytest.mark.parametrize("rotation, n", [("quaternion", 10), ("quaternion", 30), ("directors", 20), ("directors", 40)])
@pytest.mark.parametrize("driver", [None, tf.Global()], ids=str)
def test_a_drive_of_many_turns_is_held_to_a_radian(rotation, n, driver):
    """It was off by a sixth of a radian of 22, or by half a turn, where its formula vanishes, too: with success."""
    body = tf.RigidBody(1, [1, 1, 1], name="rotor", rotation=rotation)
    hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    system = tf.System([body, hinge, tf.PrescribedJoint(hinge, value="2 * t + 20 * t**6", name="drive")])

    def solved(n):
        sol = tf.solve(tf.InitialValueProblem(system, {hinge: (0.0, 2.0)}, (0, 1)), tf.MixedGalerkin(2), n,
                       driver=driver, progress=False)
        turn = body.rotation_matrix(sol.z[:, system.coordinates(body)])
        off = np.arctan2(turn[:, 1, 0], turn[:, 0, 0]) - 2 * sol.t - 20 * sol.t**6
        return sol, np.abs(np.remainder(off + np.pi, 2 * np.pi) - np.pi).max()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sol, off = solved(n)
    assert off < 0.05
    assert sol.success or "drive: coordinate" in sol.status.message
    assert sol.success == (driver is None or (rotation == "quaternion" and n == 30))  # a march halves its elements
    sol, off = solved(160)
    assert sol.success and off < 1e-5


@pytest.mark.parametrize("rotation, degree, turn", [
    ("directors", 2, 1.3), ("directors", 2, 1.8), ("directors", 3, 1.5), ("directors", 3, 2.8), ("quaternion", 2, 1.8),
    ("quaternion", 2, 2.8), ("quaternion", 3, 2.2)])
def test_a_march_that_turns_a_drive_over_halves_its_elements(rotation, degree, turn):
    """The formula of a drive vanishes half a turn away, too, where Newton's method came to in fast elements."""
    body = tf.RigidBody(1, [0.1, 0.02, 0.1], name="rotor", rotation=rotation)
    hinge = tf.Revolute(body, point_a=(0, -0.5, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    swing = 6 * np.pi
    drive = tf.PrescribedJoint(hinge, value=tf.Sine(swing, 1.0), name="drive")
    problem = tf.InitialValueProblem(tf.System([body, hinge, drive]), {hinge: (0.0, 2 * np.pi * swing)}, (0, 1))
    n, element = int(np.ceil(2 * np.pi * swing / turn)), tf.MixedGalerkin(degree)
    kept = tf.solve(problem, element, n, driver=tf.March(keep_mesh=True))
    assert kept.status.reason == "constraints violated" and "drive" in kept.status.message
    sol = tf.solve(problem, element, n)
    assert sol.success and "elements were halved" in sol.status.message
    off = sol.joint(hinge).angle() - swing * np.sin(2 * np.pi * sol.t)
    assert np.abs(np.remainder(off + np.pi, 2 * np.pi) - np.pi).max() < 2e-3


@pytest.mark.parametrize("turns, tolerance", [(3, 1e-3), (10, 1e-3), (3, 1e-2)])
def test_a_march_to_a_tolerance_that_turns_a_drive_over(turns, tolerance):
    """Pilots of elements of more than a radian came to the other root, with which finer meshes did not agree."""
    body = tf.RigidBody(1, [0.1, 0.02, 0.1], name="rotor", rotation="directors")
    hinge = tf.Revolute(body, point_a=(0, -0.5, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    drive = tf.PrescribedJoint(hinge, value=tf.Sine(2 * np.pi * turns, 1.0), name="drive")
    problem = tf.InitialValueProblem(tf.System([body, hinge, drive]), {hinge: (0.0, 4 * np.pi**2 * turns)}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(3), tolerance=tolerance)
    off = sol.joint(hinge).angle() - 2 * np.pi * turns * np.sin(2 * np.pi * sol.t)
    assert sol.success and np.abs(np.remainder(off + np.pi, 2 * np.pi) - np.pi).max() < tolerance


def test_what_stays_redundant_is_no_fault():
    body = tf.RigidBody(2.0, [3, 2, 4], name="door")
    hinges = [tf.Revolute(body, point_a=[-0.5, 0, z], point_b=[0, 0, z], axis_a=[0, 0, 1], axis_b=[0, 0, 1], name=name)
              for name, z in (("upper", 0.8), ("lower", -0.8))]
    system = tf.System([body, *hinges], [0, 0, -9.81], redundant="drop")
    state = {body: tf.Pose([0.5, 0, 0], velocity=[0, 1.0, 0], angular_velocity=[0, 0, 2.0])}
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 3)), tf.MixedGalerkin(2), 100, progress=False)
    assert sol.success and len(sol.system.dropped) == 5
    assert sol.errors()["configuration"] < 1e-9
    assert np.abs(sol.system.complete.constraints(sol.t, sol.z)).max() < 1e-8


# ---- what elements of a lower degree would miss

def weight_between_springs(rate=200.0):
    """A weight that vibrates along e1, and where it is: linear, as it lies on the line of two springs under tension."""
    weight = tf.PointMass(2.0, name="weight")
    springs = [tf.Spring(weight, point_b=[x, 0, 0], stiffness=rate**2, length=0.0) for x in (-1.0, 1.0)]
    problem = tf.InitialValueProblem(tf.System([weight, *springs]), {weight: tf.Pose([0.3, 0, 0])}, (0, 1))
    return problem, lambda sol: sol.position(weight, 1.0)[0] / 0.3, np.cos(rate)


def shaken_weight(rate=170.0):
    """A weight that a fast force shakes."""
    weight = tf.PointMass(2.0, name="weight")
    force = tf.Force(weight, value=[tf.Sine(1e4, rate / (2 * np.pi)), 0, 0])
    start = {weight: tf.Pose(velocity=[-5e3 / rate, 0, 0])}
    problem = tf.InitialValueProblem(tf.System([weight, force]), start, (0, 1))
    return problem, lambda sol: sol.velocity(weight, 1.0)[0] / (5e3 / rate), -np.cos(rate)


def light_rider(rate=150.0):
    """A light coordinate that vibrates on a heavy one, which moves slowly."""
    system = tf.GeneralizedSystem(
        2, lambda q, v, c: (1000 * v[0]**2 + 0.01 * v[1]**2) / 2,
        lambda q, c: (1000 * q[0]**2 + 0.01 * rate**2 * (q[1] - q[0])**2) / 2, name="rider")
    problem = tf.InitialValueProblem(system, tf.Coordinates([1.0, 1.2], [0.0, 0.0]), (0, 1))
    return problem, lambda sol: (sol.z[-1, 1] - sol.z[-1, 0]) / 0.2, np.cos(rate)


@pytest.mark.parametrize("make, element, n", [
    (weight_between_springs, tf.MixedGalerkin(1), 20), (weight_between_springs, tf.MixedGalerkin(3), 10),
    (shaken_weight, tf.MixedGalerkin(2), 10), (light_rider, tf.MixedGalerkin(2), 25),
    (weight_between_springs, tf.MPL(), 20)])
def test_what_is_missed_is_told_with_elements_that_do(make, element, n):
    problem, found, exact = make()
    with pytest.warns(UnderResolved, match="moves too fast") as told:
        sol = tf.solve(problem, element, n, progress=False)
    message = str(told[0].message)
    assert ("rider" if make is light_rider else "weight") in message and len(told) == 1
    off = abs(found(sol) - exact)
    more = int(re.search(r"take (\d+) elements", message)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = tf.solve(problem, element, more, progress=False)
    assert off > 0.25 and abs(found(better) - exact) < 0.35
    assert more < 20_000


def comet(eccentricity, orbits=1):
    """Around the sun from its aphelion: what it misses in the perihelion leads it astray behind."""
    body = tf.PointMass(1.0, name="comet")
    pull = tf.NonlinearSpring(body, potential=lambda distance: -1 / distance)
    speed = np.sqrt((1 - eccentricity) / (1 + eccentricity))
    start = {body: tf.Pose((1 + eccentricity, 0, 0), velocity=(0, speed, 0))}
    return tf.InitialValueProblem(tf.System([body, pull]), start, (0, 2 * np.pi * orbits))


def dropped_ball(stiffness):
    ball = tf.PointMass(1.0, name="ball")
    system = tf.System([ball, tf.PlaneContact(ball, stiffness=stiffness, name="floor")], (0, 0, -9.81))
    return tf.InitialValueProblem(system, {ball: tf.Pose((0, 0, 1.0))}, (0, 3))


@pytest.mark.long
@pytest.mark.parametrize("make, degree, n", [
    ((comet, 0.5), 2, 10), ((comet, 0.8), 1, 20), ((comet, 0.8, 3), 2, 30), ((comet, 0.9), 2, 40),
    ((comet, 0.9), 3, 10), ((comet, 0.95), 3, 40), ((comet, 0.99), 3, 20), ((dropped_ball, 1e3), 1, 10),
    ((dropped_ball, 1e3), 2, 10), ((dropped_ball, 1e4), 1, 30), ((dropped_ball, 1e4), 2, 30)])
def test_elements_that_are_asked_for_do_behind_encounters(make, degree, n):
    problem = make[0](*make[1:])
    with pytest.warns(UnderResolved) as told:
        tf.solve(problem, tf.MixedGalerkin(degree), n)
    more = int(re.search(r"take (\d+) elements", str(told[0].message))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tf.solve(problem, tf.MixedGalerkin(degree), more)
    exact = tf.solve(problem, tf.MixedGalerkin(4), tolerance=1e-9)
    assert np.abs(found.z[-1] - exact.z[-1])[:3].max() < 0.01 * np.ptp(exact.z[:, :3], axis=0).max() / 2


@pytest.mark.parametrize("case", ["free-body", "heavy-top", "mass-spring", "double-pendulum", "flying-beam",
                                  "closed-chain-10"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_what_is_resolved_is_not_warned_of(case, degree):
    case = find_case(case)
    n, t_end = max(case.n_elements // 5, 20) * (6 if degree == 1 else 1), case.t_end / 5
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnderResolved)
        assert tf.solve(case.make(t_end=t_end), tf.MixedGalerkin(degree), n, progress=False).success


def test_rest_is_not_warned_of():
    """Rounding, and a body at rest beside one that moves fast."""
    bodies = [tf.RigidBody(1.0, [1, 1, 1], name=name) for name in ("still", "fast")]
    system = tf.System([*bodies, tf.Spring(bodies[0], point_b=[0, 0, 1], stiffness=1e6, length=1.0)])
    states = {bodies[0]: tf.Pose(), bodies[1]: tf.Pose([5, 0, 0], velocity=[100, 0, 0], angular_velocity=[0, 1, 0])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.solve(tf.InitialValueProblem(system, states, (0, 5)), tf.MixedGalerkin(2), 20, progress=False)


@pytest.mark.parametrize("nodes", ["equidistant", "lobatto"])
def test_excess_of_vibrations(nodes):
    """A vibration of `FAR` rad per element and degree, whatever the nodes of the element, is at the limit."""
    problem, *_ = weight_between_springs(rate=1.0)
    for degree in (1, 2, 3, 4):
        element = tf.MixedGalerkin(degree, nodes=nodes)
        length = FAR * degree
        t = length * np.arange(41.0)
        at = t[:-1, None] + length * np.asarray(element.state.basis.points, float)
        nodal = np.zeros((40, degree + 1, 6))
        nodal[..., 0], nodal[..., 3] = np.cos(at), -np.sin(at)
        z = np.concatenate([nodal[:1, 0], nodal[:, -1]])
        found, first = excess(problem.system, element, t, z, nodal)
        np.testing.assert_allclose(found[[0, 3]], 1.0, rtol=0.05, atol=0)
        assert first < 40 if max(found) > 1 else first == 40


@pytest.mark.long
def test_a_beam_whose_clamped_end_trembles():
    problem = find_case("right-angle-cantilever").make(t_end=5, elements_space=3, degree_space=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.solve(problem, tf.MixedGalerkin(2), 100).success


def test_solved_at_once():
    box = tf.RigidBody(12, (5, 26, 29), name="box")
    angle = 3.0
    end = tf.Pose(orientation=[np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
    problem = tf.BoundaryValueProblem(tf.System([box]), (0, 2), {box: tf.Pose()}, {box: end})
    with pytest.warns(UnderResolved, match="'?box'? turns by up to 1.7 rad"):
        tf.solve(problem, tf.MixedGalerkin(1), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.solve(problem, tf.MixedGalerkin(1), 10).success


def test_constraints_of_what_is_solved_at_once(monkeypatch):
    problem = find_case("pendulum-boundary").make()
    assert tf.solve(problem, tf.MixedGalerkin(2), 40).success
    monkeypatch.setattr("timefem.solution.motion_checks.OPTIONS", replace(OPTIONS, violated=0.0))
    solution = tf.solve(problem, tf.MixedGalerkin(2), 40)
    assert not solution.success and solution.status.reason == "constraints violated"
    assert "is violated by" in solution.status.message and solution.status.time is not None


# ---- functions of arrays

@pytest.fixture(scope="module")
def two_boxes():
    bodies = [tf.RigidBody(1, (1, 2, 3), name=name) for name in "ab"]
    start = {body: tf.Pose(angular_velocity=(0, 1, 2)) for body in bodies}
    return tf.solve(tf.InitialValueProblem(tf.System(bodies), start, (0, 9)), tf.MixedGalerkin(1), 700, progress=False)


def test_constraints_at_many_nodes_of_many_bodies(two_boxes):
    """First by CasADi's machine, later by machine code, the same violations are found."""
    system, t = two_boxes.system, two_boxes.t
    for _ in range(3):
        assert first_violated(system, t, two_boxes.z) is None
        for node in (0, 255, 256, 700):
            off = two_boxes.z.copy()
            off[node, 10:14] *= 1.1
            element, time, name, residual, reason = first_violated(system, t, off)
            assert (element, time, name) == (max(node - 1, 0), t[node], system.constraint_names[1])
            assert abs(residual - abs(system.constraints(t[node], off[node])[1])) < 1e-12
            assert reason == "constraints violated"
            off[node, 10:14] = np.nan
            assert first_violated(system, t, off)[1] == t[node]


def test_turns_too_far(two_boxes):
    system, t, z = two_boxes.system, two_boxes.t, two_boxes.z
    fast = z.copy()
    fast[300:, 18:21] *= 1e3  # momenta of rotation of the first body
    assert unresolved_turns(system, two_boxes.element, t, z) is None
    assert unresolved_turns(system, two_boxes.element, t, fast).startswith("a turns by up to")
    fast[300:, system.n_q:] *= 1e160
    with np.errstate(over="ignore", invalid="ignore"):
        assert unresolved_turns(system, two_boxes.element, t, fast) is None  # what diverges is no motion


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_what_is_surely_resolved_has_nothing_to_report(degree):
    """Vibrations and turns of all rates: the bounds clear those that are slow, and none that is to be reported."""
    rng, cleared, reported = np.random.default_rng(degree), 0, 0
    for _ in range(40):
        body = tf.RigidBody(1, (1, 2, 3), name="a")
        held = tf.Spring(body, None, stiffness=10 ** rng.uniform(0, 5), name="spring", length=0.5)
        start = {body: tf.Pose(rng.normal(size=3), angular_velocity=rng.normal(size=3) * 10 ** rng.uniform(-2, 2))}
        problem = tf.InitialValueProblem(tf.System([body, held]), start, (0, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sol = tf.solve(problem, tf.MixedGalerkin(degree), 300 if degree == 1 else 30,
                           driver=tf.March(keep_mesh=True), progress=False)
        if not sol.success:
            continue
        plan = ElementPlan(sol.system, sol.element)
        x = plan.pack(TimeMesh(sol.t), sol.nodal.state, sol.nodal.multipliers)
        surely = surely_resolved(plan, sol.system, sol.t, x)
        texts = unresolved(sol, cut=True, counted=False)
        assert not (surely and texts)
        cleared, reported = cleared + surely, reported + bool(texts)
    assert cleared > 5 and reported > 5


# ---- energy that a method does not keep by its equations

def slider(stiffness, coordinates, **further):
    """A mass that slides along a turning rod, on a spring with the energy of the fourth power of its length."""
    rod = tf.RigidBody(1.0, (0.05, 0.4, 0.4), name="rod")
    bead = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="bead")
    parts = [tf.Revolute(rod, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1)),
             tf.Prismatic(rod, bead, axis_b=(1, 0, 0), point_a=(0, 0, 0), point_b=(0, 0, 0)),
             tf.NonlinearSpring(rod, bead, potential=lambda length: stiffness * length**4)]
    spin = np.array([0, 0, 1.0])
    state = {rod: tf.Pose(angular_velocity=spin),
             bead: tf.Pose((3, 0, 0), velocity=np.cross(spin, (3, 0, 0)), angular_velocity=spin)}
    return tf.InitialValueProblem(tf.System([rod, bead, *parts], coordinates=coordinates, **further), state, (0, 0.25))


def test_rounding_of_what_is_at_rest_is_no_energy():
    links = [tf.Link("base", mass=1.0, inertia=(0.1, 0.2, 0.3)),
             tf.Link("arm", mass=1.0, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))]
    tree = tf.Tree(links, [tf.TreeJoint("hinge", "base", "arm", axis=(0, 1, 0), position=(0.2, 0, 0), stiffness=5.0)],
                   base="free")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = tf.solve(tf.InitialValueProblem(tf.System([tree]), {tree: {"hinge": 0.0}}, (0, 1)),
                       tf.MixedGalerkin(3, form="lagrange"), 40, progress=False)
    assert sol.success and np.abs(sol.energy()).max() < 1e-30


@pytest.mark.long
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2, keep="all"), tf.MixedGalerkin(2), tf.MixedGalerkin(1)],
                         ids=str)
def test_energy_that_is_gained_or_lost_is_told(element):
    def told(n, coordinates="joint"):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert tf.solve(slider(500.0, coordinates), element, n, progress=False).success
        return any("of the energy" in str(w.message) for w in found)

    assert told(16) and not told(400)
    assert not told(16, "bodies")  # where the mass matrix is constant, or lifted
    kept = tf.MixedGalerkin(2, keep="all").kept(slider(500.0, "joint").system)
    assert not kept.energy and kept.drifting == ("tree",)
    assert "to h^4: the mass matrix varies of tree" in str(kept.summary())
    assert tf.MixedGalerkin(2, keep="all").kept(slider(500.0, "bodies").system).energy


# ---- what is solved all at once is looked at alike

def vibration_between_ends(n, optimal):
    """A weight between springs that is to be at places at both ends, 10 rad per element, or half a rad."""
    weight, springs = (parts := weight_between_springs()[0].system.parts)[0], parts[1:]
    there, span = {weight: tf.EndState(position=(0.1, 0, 0))}, (0, 1)
    if not optimal:
        return tf.solve(tf.BoundaryValueProblem(tf.System([weight, *springs]), span, {weight: tf.Pose([0.3, 0, 0])},
                                                there), tf.MixedGalerkin(2), n, progress=False)
    push = tf.ControlForce(weight, name="push")
    return tf.solve(tf.OptimalControl(tf.System([weight, *springs, push]), {weight: tf.Pose([0.3, 0, 0])}, there, span,
                                      tf.Effort(push)), tf.MixedGalerkin(2), n, progress=False)


@pytest.mark.long
@pytest.mark.parametrize("optimal", [False, True])
def test_vibrations_between_ends_are_told(optimal):
    """Of the controls the effort was 9 times too large without a warning."""
    with pytest.warns(UnderResolved, match=r"weight moves too fast for MixedGalerkin\(degree=2"):
        vibration_between_ends(20, optimal)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vibration_between_ends(400, optimal).success


@pytest.mark.long
@pytest.mark.parametrize("n, told", [(20, True), (1500, False)])
def test_contacts_of_optimal_control_are_told(n, told):
    """A ball that falls on an elastic floor while it is pushed sideways; by 20 elements it is off by 14 mm."""
    ball = tf.PointMass(1.0, name="ball")
    floor, push = tf.PlaneContact(ball, stiffness=1e4, name="floor"), tf.ControlForce(ball, name="push")
    free = tf.InitialValueProblem(tf.System([ball, floor], gravity=(0, 0, -9.81)), {ball: tf.Pose((0, 0, 1))}, (0, 1.2))
    guess = tf.solve(free, tf.MixedGalerkin(2), 2000, progress=False)
    problem = tf.OptimalControl(tf.System([ball, push, floor], gravity=(0, 0, -9.81)), {ball: tf.Pose((0, 0, 1))},
                                {ball: tf.EndState(position=(1.0, 0, None), velocity=(0, 0, None))}, (0, 1.2),
                                tf.Effort(push), bounds={push: ((-10, -1e-3, -1e-3), (10, 1e-3, 1e-3))})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert tf.solve(problem, tf.MixedGalerkin(2), n, guess=lambda t: guess(t), progress=False).success
    assert any(str(w.message).startswith("floor begins or ends between") for w in found) == told


@pytest.mark.parametrize("degree, n", [(1, 1), (1, 2), (2, 1), (2, 3)])
def test_polynomials_that_elements_follow_are_not_warned_of(degree, n):
    """A throw, which comes back to where it started."""
    ball = tf.PointMass(1.0, name="ball")
    start = {ball: tf.Pose(velocity=(0, 0, 5))}
    problem = tf.InitialValueProblem(tf.System([ball], gravity=(0, 0, -10)), start, (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert abs(tf.solve(problem, tf.MixedGalerkin(degree), n, progress=False).z[-1, 2]) < 1e-9


# ---- elements whose tests reach over two elements have a second root

def decay(element, n, damping=1.0, stiffness=4.0):
    """A damped oscillator over 16 s: its solution, and the largest error of its place."""
    weight = tf.PointMass(1.0, name="weight")
    spring = tf.Spring(weight, point_b=(-10, 0, 0), stiffness=stiffness, length=10.0)
    system = tf.System([weight, spring, tf.Damper(weight, point_b=(-10, 0, 0), damping=damping)])
    sol = tf.solve(tf.InitialValueProblem(system, {weight: tf.Pose((1, 0, 0))}, (0, 16)), element, n, progress=False)
    rate = np.emath.sqrt(damping**2 / 4 - stiffness)
    exact = np.exp(-damping * sol.t / 2) * (np.cosh(rate * sol.t) + damping / 2 / rate * np.sinh(rate * sol.t))
    return sol, np.abs(sol.z[:, 0] - exact.real).max()


@pytest.mark.long
@pytest.mark.parametrize("degree, n, off", [(1, 64, 0.3), (2, 32, 0.07)])
def test_a_second_root_that_grows_is_told(degree, n, off):
    element = tf.BubnovGalerkin(degree, multipliers="discontinuous", drop="end")
    with pytest.warns(UnderResolved, match=r"its rate differs by .* second root grows as exp\(a t / .*drop='start'"):
        assert decay(element, n)[1] > off
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        errors = [decay(element, n)[1] for n in (10 * n, 20 * n, 40 * n)]
    assert decay(tf.BubnovGalerkin(degree, multipliers="discontinuous"), n)[1] < off / 100
    np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 2, rtol=0, atol=0.2)
    assert errors[-1] < 0.01


def test_constraints_whose_terms_are_zero_at_the_start():
    """A differential, all of whose angles are zero: what is violated by rounding is held by the size of later terms."""
    links = [tf.Link(name, mass=1, inertia=(moment,) * 3)
             for name, moment in (("case", 0.5), ("left", 0.2), ("right", 0.3))]
    joints = [tf.TreeJoint(f"{link.name} axle", "base", link.name, axis=(0, 0, 1)) for link in links]
    tree = tf.Tree([tf.Link("base"), *links], joints, name="differential")
    axles = [tree.joint(joint.name) for joint in joints]
    gears = tf.Constraint(axles, "2 * f[0].q[0] - f[1].q[0] - f[2].q[0]", 1, name="gears")
    brakes = [tf.JointDamper(axle, damping=d) for axle, d in zip(axles[1:], (0.4, 0.1), strict=True)]
    problem = tf.InitialValueProblem(tf.System([tree, gears, tf.JointForce(axles[0], value=3.0), *brakes]), {}, (0, 2))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 80, progress=False)
    assert sol.success
    # of left and right alone: M w' + D w = (1.5, 1.5), from rest
    mass, damping = np.array([[0.2, 0], [0, 0.3]]) + 0.5 / 4, np.diag([0.4, 0.1])
    at_last = np.linalg.solve(damping, [1.5, 1.5])
    rates = at_last - scipy.linalg.expm(-2 * np.linalg.solve(mass, damping)) @ at_last
    np.testing.assert_allclose([sol.joint(axle).rate(2.0) for axle in axles[1:]], rates, rtol=1e-8)


def test_kinks_of_states_are_told_by_what_these_change():
    """States have no momenta: their share was that of 1e-300."""
    control = tf.Control(name="u")
    state = tf.State("x", "if_else(x[0] < 0.53, 1, 5) + u[0]", controls=[control])
    problem = tf.OptimalControl(tf.System([state, control]), {state: 0.0}, {state: 2.0}, (0, 1), "u[0]**2")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tf.solve(problem, tf.MixedGalerkin(2), 5, progress=False)
    (text,) = (str(w.message) for w in found if "begins or ends" in str(w.message))
    share = float(text.split("changes of ")[1].split(" ")[0])
    assert "of the range of x are missed" in text and 0.008 < share < 1


LAWS = {"tanh": ca.tanh, "atan": lambda x: 2 / np.pi * ca.atan(x), "root": lambda x: x / ca.sqrt(1 + x**2),
        "power": lambda x: x * (x**2 + 1) ** -0.5, "hypot": lambda x: x / ca.hypot(1, x),
        "atan2": lambda x: ca.atan2(x, 1) * 2 / np.pi, "logistic": lambda x: 2 / (1 + ca.exp(-x / 9)) - 1,
        "exponentials": lambda x: (ca.exp(x / 9) - ca.exp(-x / 9)) / (ca.exp(x / 9) + ca.exp(-x / 9)),
        "modulus": lambda x: x / (1 + ca.fabs(x)), "clamp": lambda x: ca.fmax(-1, ca.fmin(1, x)),
        "fourth root": lambda x: x / (1 + x**4) ** 0.25}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("n, told", [(10, True), (40, False)])
def test_regularised_friction_that_reverses_between_gauss_points_is_told(law, n, told):
    """A mass on a spring that comes to rest: 0.9 per cent off on 10 elements, 2e-5 on 40."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    spring = tf.Spring(mass, None, point_b=(-1, 0, 0), stiffness=40.0, length=1.0)
    rub = tf.FormulaForce(mass, lambda f, t, c: -c[0] * law(f[0].velocity / c[1]), parameters=[3.0, 1e-3], name="rub")
    problem = tf.InitialValueProblem(tf.System([mass, spring, rub]), {mass: tf.Pose((1, 0, 0))}, (0, 1.2))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
    assert any(str(w.message).startswith(("rub reverses between", "rub begins or ends between"))
               for w in found) == told
