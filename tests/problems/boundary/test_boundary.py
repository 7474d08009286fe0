"""Boundary-value problems: pendulum against elliptic functions, free body, closed loop, counts, homotopy."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import timefem as tf
from tests.example_systems import PENDULUM_INERTIA, ROTATIONS, slope
from timefem.assembly import TimeMesh
from timefem.problems.boundary.solver import BoundarySolver
from timefem.problems.targets import EndState

pytestmark = pytest.mark.long

G = 9.81
FREQUENCY = np.sqrt(100 * G * 5 / (PENDULUM_INERTIA[0] + 100 * 5**2))  # of small swings
ELEMENTS = [tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.MixedGalerkin(3), tf.EML(),
            *(tf.BubnovGalerkin(k, multipliers) for k in (1, 2, 3) for multipliers in ("continuous", "discontinuous"))]


def pendulum(rotation="quaternion", joint="hinge", extra=lambda body: []):
    body = tf.RigidBody(100, PENDULUM_INERTIA, rotation, name="pendulum")
    hinge = tf.Revolute(body, point_a=(0, -5, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    joint = hinge if joint == "hinge" else tf.FixedPoint(body, (0, -5, 0))
    return body, tf.System([body, joint, *extra(body)], gravity=(0, 0, -G))


def pose(angle, about_z=0.0):
    """At an angle from hanging down, then turned about the vertical."""
    a, b = angle - np.pi / 2, about_z
    tilt = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    turn = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    return tf.Pose(turn @ tilt @ (0, 5, 0), turn @ tilt)


def at_rest(angle):
    q = pose(angle)
    return EndState(q.position, q.quaternion, (0, 0, 0), (0, 0, 0))


def angle_of(position):
    return np.arctan2(position[..., 1], -position[..., 2])


def swing(amplitude, t):
    """Angle of a pendulum that is let go at t = 0."""
    m = np.sin(amplitude / 2) ** 2
    return 2 * np.arcsin(np.sqrt(m) * ellipj(FREQUENCY * t + ellipk(m), m)[0])


def free_body(rotation="quaternion"):
    box = tf.RigidBody(12, [5, 26, 29], rotation, name="box")
    turned = np.append(np.cos(1.25), np.sin(1.25) * np.array([1, 2, 2]) / 3)
    return box, tf.BoundaryValueProblem(tf.System([box]), (0, 2), {box: tf.Pose()}, {box: tf.Pose(orientation=turned)})


def marched(sol, element, n):
    n_q, system = sol.system.n_q, sol.system
    state = {b: tf.CanonicalState(sol.z[0][:n_q][system.coordinates(b)], sol.z[0][n_q:][system.coordinates(b)])
             for b in system.bodies}
    return tf.solve(tf.InitialValueProblem(system, state, (sol.t[0], sol.t[-1])), element, n)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_pendulum_from_rest_to_an_angle_in_given_time(rotation):
    body, system = pendulum(rotation)
    problem = tf.BoundaryValueProblem(system, (0, 1.3), {body: EndState(angular_velocity=(0, 0, 0))}, {body: pose(0.3)},
                                      near={body: pose(1.0)})
    sol = tf.solve(problem, tf.MixedGalerkin(4), 40)
    start = brentq(lambda a: swing(a, 1.3) - 0.3, 0.1, 3.1)
    assert sol.success
    t = np.linspace(0, 1.3, 9)
    assert np.abs(angle_of(sol.position(body, sol.t)) - swing(start, sol.t)).max() < 1e-9
    assert np.abs(angle_of(sol.position(body, t)) - swing(start, t)).max() < 1e-7  # inside of elements


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_free_final_time(rotation):
    body, system = pendulum(rotation)
    problem = tf.BoundaryValueProblem(
        system, (0, 1.0), {body: at_rest(2.0)}, free_time=True,
        conditions=lambda start, end, c: ca.atan2(end.position(body)[1], -end.position(body)[2]) - 0.3)
    sol = tf.solve(problem, tf.MixedGalerkin(4), 40)
    exact = brentq(lambda t: swing(2.0, t) - 0.3, 0.1, ellipk(np.sin(1.0) ** 2) / FREQUENCY)
    assert sol.success and sol.t[-1] == pytest.approx(exact, rel=0, abs=1e-9)
    assert sol.parameters["duration"] == pytest.approx(exact, rel=0, abs=1e-9)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_periodic_motion_with_free_period(rotation):
    air = []
    body, system = pendulum(rotation, extra=lambda b: air or air.append(tf.RayleighDissipation(b, name="air")) or air)
    problem = tf.BoundaryValueProblem(system, (0, 6.3), {body: at_rest(2.0)}, periodic=True, free_time=True,
                                      parameters={"damping": (air[0], "linear")})
    sol = tf.solve(problem, tf.MixedGalerkin(4), 60)
    assert sol.success
    assert sol.parameters["duration"] == pytest.approx(4 * ellipk(np.sin(1.0) ** 2) / FREQUENCY, rel=0, abs=1e-9)
    assert abs(sol.parameters["damping"]) < 1e-10
    assert np.abs(sol.z[-1] - sol.z[0]).max() < 1e-9 * np.abs(sol.z).max()


@pytest.mark.parametrize(("turns", "least"), [(0, 2), pytest.param(1, 4, marks=pytest.mark.slow)])
def test_several_solutions_of_a_free_body_between_two_orientations(turns, least):
    box, problem = free_body()
    found = tf.solve_all(problem, tf.MixedGalerkin(4), 40, turns=turns)
    assert len(found) >= least
    wanted = problem.end[box].orientation
    for sol in found:
        end = marched(sol, tf.MixedGalerkin(4), 160).quaternion(box, 2.0)
        assert min(np.abs(end - wanted).max(), np.abs(end + wanted).max()) < 1e-9
    starts = np.array([sol.angular_velocity(box, 0.0) for sol in found])
    gaps = np.linalg.norm(starts[:, None] - starts[None], axis=-1)
    assert gaps[~np.eye(len(found), dtype=bool)].min() > 0.1


def four_bar(rotation):
    lengths, ground = {"crank": 1.0, "coupler": 3.0, "rocker": 2.5}, 3.0
    bars = {name: tf.RigidBody(l, np.array([l**2 + .01, .02, l**2 + .01]) * l / 12, rotation, name=name)
            for name, l in lengths.items()}
    axis = {"axis_a": (1, 0, 0), "axis_b": (1, 0, 0)}

    def tip(name, side):
        return 0, side * lengths[name] / 2, 0

    crank, coupler, rocker = bars.values()
    joints = [tf.Revolute(crank, point_a=tip("crank", -1), point_b=(0, 0, 0), **axis),
              tf.Revolute(crank, coupler, point_a=tip("crank", 1), point_b=tip("coupler", -1), **axis),
              tf.Revolute(coupler, rocker, point_a=tip("coupler", 1), point_b=tip("rocker", 1), **axis),
              tf.Revolute(rocker, point_a=tip("rocker", -1), point_b=(0, ground, 0), **axis)]

    def poses(turn):
        b, d = np.array([np.cos(turn), np.sin(turn)]), np.array([ground, 0])
        r = np.linalg.norm(d - b)
        along = (lengths["coupler"]**2 - lengths["rocker"]**2 + r**2) / (2 * r)
        u = (d - b) / r
        c = b + along * u + np.sqrt(lengths["coupler"]**2 - along**2) * np.array([-u[1], u[0]])
        out = {}
        for name, p, q in (("crank", 0 * b, b), ("coupler", b, c), ("rocker", d, c)):
            angle = np.arctan2(*(q - p)[::-1])
            out[bars[name]] = tf.Pose([0, *(p + q) / 2], [np.cos(angle / 2), np.sin(angle / 2), 0, 0])
        return out

    return tf.System([*bars.values(), *joints], gravity=(0, 0, -G), redundant="drop"), poses


@pytest.mark.parametrize("rotation", ["quaternion", pytest.param("directors", marks=pytest.mark.slow)])
def test_closed_loop_between_two_poses(rotation):
    system, poses = four_bar(rotation)
    problem = tf.BoundaryValueProblem(system, (0, 1), poses(0.4), poses(2.2))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 60)
    assert sol.success
    again = marched(sol, tf.MixedGalerkin(3), 120)
    assert max(np.abs(again.position(b, 1.0) - p.position).max() for b, p in poses(2.2).items()) < 1e-6
    crank = system.bodies[0]  # the crank alone settles the pose
    alone = tf.BoundaryValueProblem(system, (0, 1), {crank: poses(0.4)[crank]}, {crank: poses(2.2)[crank]},
                                    near=poses(1.2))
    assert np.abs(tf.solve(alone, tf.MixedGalerkin(3), 60).z - sol.z).max() < 1e-8


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda e: f"{e.name}{e.degree}{getattr(e, 'multipliers', '')[:4]}")
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_orders(rotation, element):
    body, system = pendulum(rotation, "point")
    problem = tf.BoundaryValueProblem(system, (0, 1.5), {body: pose(np.pi / 2)}, {body: pose(0.37, 0.4)})
    exact = tf.solve(problem, tf.MixedGalerkin(4), 80)
    n, sizes = system.n_q, (8, 16, 32) if element.degree > 1 else (16, 32, 64)
    errors = [np.abs(tf.solve(problem, element, k).z[0] - exact.z[0])[n:].max() for k in sizes]
    order = element.order
    assert slope(1 / np.array(sizes), errors) > order - 0.15
    assert errors[-1] < 0.01 * np.abs(exact.z[0][n:]).max()


@pytest.mark.parametrize("element", [tf.BubnovGalerkin(1), tf.BubnovGalerkin(3)])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_bubnov_galerkin_tangent_is_symmetric(rotation, element):
    import scipy.sparse as sp

    body, system = pendulum(rotation, "point")
    problem = tf.BoundaryValueProblem(system, (0, 1.5), {body: pose(np.pi / 2)}, {body: pose(0.37, 0.4)})
    solver, mesh = BoundarySolver(problem, element), tf.TimeMesh.uniform((0, 1.5), 8)
    x = solver.from_solution(tf.solve(problem, tf.MixedGalerkin(2), 8), mesh)
    x += 1e-2 * np.random.default_rng(1).normal(size=x.shape)
    chain = solver.form.equations(mesh, x)
    chain.evaluate(x)
    tangent = sp.csr_array((chain.data, chain.pattern.indices, chain.pattern.indptr)).toarray()
    assert np.abs(tangent - tangent.T).max() < 1e-13 * np.abs(tangent).max()
    assert np.linalg.matrix_rank(tangent) == len(tangent)


def unknown_stiffness():
    """A mass on a spring whose stiffness takes it from rest to a place in given time."""
    mass = tf.PointMass(2.0, 1)
    spring = tf.Spring(mass, stiffness=5.0)
    start = EndState(position=(1, 0, 0), velocity=(0, 0, 0))
    return tf.BoundaryValueProblem(tf.System([mass, spring]), (0, 1), {mass: start}, {mass: tf.Pose((0.2, 0, 0))},
                                   parameters={"k": (spring, "stiffness")})


def test_unknown_parameters():
    sol = tf.solve(unknown_stiffness(), tf.MixedGalerkin(4), 20)
    assert sol.parameters["k"] == pytest.approx(2 * np.arccos(0.2) ** 2, rel=1e-9)
    assert sol.system.parts[1].stiffness == sol.parameters["k"]
    assert np.ptp(sol.energy()) < 1e-9  # with the stiffness found
    body, system = pendulum(extra=lambda b: [tf.Torque(b, (1.0, 0, 0), name="motor")])
    motor = next(p for p in system.parts if p.name == "motor")
    problem = tf.BoundaryValueProblem(system, (0, 1.3), {body: at_rest(0.3)}, {body: pose(1.5)},
                                      parameters={"torque": (motor, "value[0]")})
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40)
    assert np.abs(marched(sol, tf.MixedGalerkin(3), 160).position(body, 1.3) - pose(1.5).position).max() < 1e-6


@pytest.mark.parametrize("element", [tf.MixedGalerkin(4), tf.EML()], ids=["mG", "EML"])
@pytest.mark.parametrize("speed", [0.0, 0.7])
def test_unknown_mass(element, speed):
    """The mass that takes an oscillator to a place in given time, from rest or not."""
    mass = tf.PointMass(2.0, 1)
    spring = tf.Spring(mass, stiffness=5.0)
    start = EndState(position=(1, 0, 0), velocity=(speed, 0, 0))
    problem = tf.BoundaryValueProblem(tf.System([mass, spring]), (0, 1), {mass: start}, {mass: tf.Pose((0.2, 0, 0))},
                                      parameters={"m": (mass, "mass")})
    sol = tf.solve(problem, element, 20 if isinstance(element, tf.MixedGalerkin) else 200)
    w = np.sqrt(5 / sol.parameters["m"])
    error = abs(np.cos(w) + speed / w * np.sin(w) - 0.2)
    assert sol.success and error < (1e-10 if isinstance(element, tf.MixedGalerkin) else 1e-4)
    assert sol.velocity(mass, 0.0)[0] == pytest.approx(speed, abs=1e-10) and np.ptp(sol.energy()) < 1e-9
    assert sol.system.bodies[0].mass == sol.parameters["m"]


@pytest.mark.parametrize("guess", [1.0, 8.0, 12.0])
def test_numbers_that_bring_a_throw_back(guess):
    """Along the straight way from a place to itself a spring has no effect."""
    mass = tf.PointMass(1.0, 1, name="mass")
    thrown = EndState(position=(0, None, None), velocity=(1, None, None))
    back = {mass: EndState(position=(0, None, None))}
    problem = tf.BoundaryValueProblem(tf.System([mass, tf.Spring(mass, stiffness=guess, name="spring")]), (0, 1),
                                      {mass: thrown}, back, parameters={"k": "spring.stiffness"})
    assert tf.solve(problem, tf.MixedGalerkin(3), 20).parameters["k"] == pytest.approx(np.pi**2, rel=1e-9)
    falling = tf.System([mass, tf.Force(mass, (-guess, 0, 0), name="weight")])
    problem = tf.BoundaryValueProblem(falling, (0, 1), {mass: thrown}, back, parameters={"g": "weight.value[0]"})
    assert tf.solve(problem, tf.MixedGalerkin(2), 10).parameters["g"] == pytest.approx(-2, rel=1e-12)
    problem = tf.BoundaryValueProblem(falling, (0, 3 / guess), {mass: thrown}, back, free_time=True)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10)
    assert sol.success and sol.t[-1] == pytest.approx(2 / guess, rel=1e-9)


def test_backends_agree():
    _, problem = free_body()
    chain, superlu = (tf.solve(problem, tf.MixedGalerkin(2), 30, backend=b) for b in ("chain", "superlu"))
    assert np.abs(chain.z - superlu.z).max() < 1e-9


def test_continuation_in_the_interval_and_a_parameter():
    body, system = pendulum()
    values, start = {}, {body: pose(2.0)}
    for name, make, ends in (
            ("interval", lambda T: tf.BoundaryValueProblem(system, (0, T), start, {body: pose(0.3)}), (1, 2)),
            ("pose", lambda a: tf.BoundaryValueProblem(system, (0, 1), start, {body: pose(a)}), (1.5, 0.3))):
        sol = tf.continuation(make, tf.MixedGalerkin(3), 30, *ends)
        assert sol.success and sol.statistics["continuation"][-1] == ends[1]
        direct = tf.solve(make(ends[1]), tf.MixedGalerkin(3), 30, guess=sol)
        assert np.abs(direct.z - sol.z).max() < 1e-8
        values[name] = sol.statistics["continuation"]
    assert len(values["interval"]) >= 3


def test_unreachable_ends_say_how_far_it_came():
    body, system = pendulum()
    rest = at_rest(0.5)

    def make(angle):
        return tf.BoundaryValueProblem(
            system, (0, 1), {body: rest}, free_time=True,
            conditions=lambda a, e, c: ca.atan2(e.position(body)[1], -e.position(body)[2]) - angle)

    sol = tf.solve(make(2.8), tf.MixedGalerkin(2), 20)
    assert not sol.success and sol.status.reason == "not reached"
    assert "of the way" in sol.status.message and "\n" not in sol.status.message and len(sol.t) == 1
    sol = tf.continuation(make, tf.MixedGalerkin(3), 20, 0.2, -0.6)  # it swings to -0.5 and no further
    assert not sol.success and sol.status.reason == "not reached" and "got as far as" in sol.status.message
    assert -0.5 <= sol.statistics["continuation"][-1] < -0.45


def test_continuation_says_why_a_problem_on_its_way_is_refused():
    body, system = pendulum()

    def make(angle):
        if angle > 0.5:
            raise tf.InputError("no such angle")
        return tf.BoundaryValueProblem(system, (0, 0.5), {body: pose(-0.1)}, {body: pose(angle)})

    sol = tf.continuation(make, tf.MixedGalerkin(2), 10, 0.2, 0.6)
    assert not sol.success and sol.status.message.count("at 0.5") and "no such angle" in sol.status.message
    with pytest.raises(tf.InputError, match=r"make\(0.2\) must be a BoundaryValueProblem, not None"):
        tf.continuation(lambda angle: None, tf.MixedGalerkin(2), 10, 0.2, 0.6)


def test_save_and_load(tmp_path):
    sol = tf.solve(unknown_stiffness(), tf.MixedGalerkin(2), 10)
    sol.save(tmp_path / "a.h5")
    again = tf.load(tmp_path / "a.h5")
    assert again.parameters == sol.parameters and np.array_equal(again.z, sol.z)
    assert again.system.parts[1].stiffness == sol.parameters["k"]


BODY, SYSTEM = pendulum()
MOTOR = tf.Torque(BODY, (1.0, 0, 0))
DRIVEN = tf.System([*SYSTEM.parts, MOTOR])


@pytest.mark.parametrize(("system", "arguments", "words"), [
    (SYSTEM, {"start": {BODY: at_rest(1.0)}, "end": {BODY: pose(0.3)}}, "2 independent conditions are needed.*3 are"),
    (SYSTEM, {"start": {BODY: pose(1.0)}}, "but 1 are given: position of pendulum at the start .1.; add 1"),
    (SYSTEM, {}, "0 are given: none; add 2"),
    (SYSTEM, {"start": {BODY: pose(1.0)}, "end": {BODY: tf.Pose((0, 3, 0))}}, "cannot be assembled"),
    (SYSTEM, {"start": {BODY: pose(1.0)}, "end": {BODY: pose(0.3)}, "free_time": True}, "3 independent.*duration"),
    (SYSTEM, {"start": {BODY: 3}}, "must be given as Pose or EndState"),
    (SYSTEM, {"start": 3}, "start must be a dict"),
    (SYSTEM, {"conditions": lambda a, b, c: [a.q(BODY)[0]]}, "0 are given"),
    (SYSTEM, {"conditions": lambda a, b, c: [a.q(BODY)[0] - 3]}, "stays violated"),
    (SYSTEM, {"conditions": lambda a, b: []}, r"must be a function of \(start, end, parameters\), not of \(a, b\)"),
    (SYSTEM, {"parameters": {"k": (MOTOR, "value[0]")}}, "of the system, its number"),
    (DRIVEN, {"parameters": {"k": (MOTOR, "size")}}, "has no number 'size'; it has"),
    (DRIVEN, {"parameters": {"k": (BODY, "size")}}, "has no number 'size'"),
    (DRIVEN, {"parameters": [1]}, "parameters must be a dict"),
])
def test_bad_input(system, arguments, words):
    with pytest.raises(tf.InputError, match=words) as error:
        tf.BoundaryValueProblem(system, (0, 1), **arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"driver": "march", "n_elements": 4}, "leave driver out"), ({}, "give either n_elements or mesh"),
    ({"n_elements": 4, "window": 3}, "window is given"), ({"n_elements": 0}, "at least 1"),
    ({"n_elements": 4, "guess": "mg1"}, "guess must be one of"), ({"n_elements": 4, "guess": np.zeros(3)}, "guess"),
    ({"tolerance": -1.0}, "tolerance must be positive")])
def test_bad_arguments_of_solve(arguments, words):
    with pytest.raises(tf.InputError, match=words):
        tf.solve(free_body()[1], tf.MixedGalerkin(2), **arguments)


@pytest.mark.parametrize("guessed", [0.7, 2.0, 4.0])
def test_free_time_stays_positive(guessed):
    """A quarter of a hardening oscillator's period, which Newton's method would leave for a negative duration."""
    bead, size = tf.PointMass(1.0, dimension=1, name="bead"), 1.5
    spring = tf.FormulaForce(bead, "[-f[0].position[0] - f[0].position[0]**3, 0, 0]", name="spring")
    start = EndState(position=(size, 0, 0), velocity=(0, 0, 0))
    problem = tf.BoundaryValueProblem(tf.System([bead, spring]), (0, guessed), start={bead: start},
                                      end={bead: EndState(position=(0, 0, 0))}, free_time=True)
    sol = tf.solve(problem, tf.MixedGalerkin(4), 40, progress=False)
    assert sol.success and sol.t[-1] > 0
    quarter = ellipk(size**2 / 2 / (1 + size**2)) / np.sqrt(1 + size**2)
    turns = (sol.t[-1] / quarter - 1) / 2  # another passage of the same place is a solution as well
    assert abs(turns - round(turns)) < 1e-5


@pytest.mark.parametrize("second", [1e3, 60.0])
def test_rows_weigh_alike_in_any_unit_of_time(second):
    """Those of coordinates and of momenta weighed by the unit: a search ended at another motion in ms than in s."""
    found = []
    for unit in (1.0, second):
        body = tf.RigidBody(2.0, (0.1, 0.2, 0.25), name="body")
        parts = [body, tf.Spherical(body, point_a=(0, 0, 0.5), point_b=(0, 0, 0)),
                 tf.Spring(body, point_a=(0, 0, -0.5), point_b=(2, 0, 0), stiffness=30.0 / unit**2)]
        start, end = (tf.Pose(-0.5 * turn.as_matrix()[:, 2], turn.as_matrix()) for turn in
                      (Rotation.from_rotvec(way) for way in ((0.1, 0.2, 0.3), (0.8, -0.5, 0.9))))
        problem = tf.BoundaryValueProblem(tf.System(parts, gravity=(0, 0, -9.81 / unit**2)), (0, 0.6 * unit),
                                          {body: start}, {body: end})
        solver, mesh = BoundarySolver(problem, tf.MixedGalerkin(2)), TimeMesh(np.linspace(0, 0.6 * unit, 13))
        x = solver.from_guess(mesh, "interpolation")
        equations = solver.form.equations(mesh, x)
        residual = equations.evaluate(equations.take(x))
        step = equations.linear_step(residual)
        found.append([unit * v for v in (residual, step, solver.form.reference(x))])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9 * np.abs(one).max())
