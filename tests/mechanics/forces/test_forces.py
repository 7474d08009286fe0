"""Forces: virtual work, element tangents, and motions that are known in closed form."""

import itertools

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, reference, slope
from timefem.kernels import compile_count
from timefem.mechanics.bodies.rotations import as_quaternion, matrix_from_quaternion
from timefem.mechanics.symbols import Symbols
from timefem.mechanics.values.of_parts import has_power
from timefem.solution.audit import unwrapped

PAIRS = list(itertools.product(ROTATIONS, (*ROTATIONS, None)))
A, B = np.array([0.3, -0.4, 0.2]), np.array([-0.5, 0.1, 0.6])
AXIS = np.array([2.0, -1.0, 2.0]) / 3
TURN = np.array([0.8, 0.36, 0.48, 0.0])  # a unit quaternion
POSE_A = tf.Pose([1, 2, 3], as_quaternion([0.1, 0.7, 0.1, 0.7]), [0.4, -0.2, 0.3], [0.5, 0.8, -1.1])
POSE_B = tf.Pose([-1, 0.5, 1], TURN, [-0.6, 0.1, 0.2], [-0.7, 0.3, 0.4])


def two(rotation_a, rotation_b):
    """Bodies a and b; b is None for the ground."""
    inertia = [[5, 0.3, 0], [0.3, 4, 0], [0, 0, 6]]
    return (tf.RigidBody(2, [2, 3, 4], rotation_a, name="a"),
            None if rotation_b is None else tf.RigidBody(3, inertia, rotation_b, name="b"))


def state(a, b, part):
    """The system and its state in the two poses."""
    system = tf.System([a, *([] if b is None else [b]), part])
    return system, tf.InitialValueProblem(system, {a: POSE_A} if b is None else {a: POSE_A, b: POSE_B}, (0, 1)).z0


class Motion:
    """Position, rotation, velocities of a body (None: the ground) at a pose moved on by the time `s`, in NumPy."""

    def __init__(self, pose, s=0.0):
        r = np.eye(3) if pose is None else matrix_from_quaternion(pose.quaternion)
        spin = np.zeros(3) if pose is None else pose.angular_velocity
        angle = np.linalg.norm(spin) * s
        axis = spin / np.linalg.norm(spin) if np.any(spin) else spin
        self.r = r @ matrix_from_quaternion(np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)]))
        self.omega = r @ spin
        self.v = np.zeros(3) if pose is None else pose.velocity
        self.x = np.zeros(3) if pose is None else pose.position + s * self.v

    def point(self, x):
        return self.x + self.r @ x

    def velocity(self, x):
        return self.v + np.cross(self.omega, self.r @ x)


def length(a, b):
    return np.linalg.norm(a.point(A) - b.point(B))


def twist(a, b, turn):
    """Angle of a relative to b about AXIS, by the Euler-Rodrigues vector."""
    q = as_quaternion(matrix_from_quaternion(turn).T @ b.r.T @ a.r)
    return 2 * np.arctan2(q[1:] @ AXIS, q[0])


def wrapped(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


POTENTIALS = {
    "spring": (lambda a, b: tf.Spring(a, b, A, B, 7), lambda a, b: 3.5 * length(a, b)**2),
    "spring with length": (lambda a, b: tf.Spring(a, b, A, B, 7, 0.8), lambda a, b: 3.5 * (length(a, b) - 0.8)**2),
    "nonlinear": (lambda a, b: tf.NonlinearSpring(a, b, A, B, lambda x, k: k * ca.exp(x) + x**3, [0.3]),
                  lambda a, b: 0.3 * np.exp(length(a, b)) + length(a, b)**3),
    "torsional": (lambda a, b: tf.TorsionalSpring(a, b, 3 * AXIS, 5, 0.4, TURN, turns=False),
                  lambda a, b: 2.5 * wrapped(twist(a, b, TURN) - 0.4)**2),
    "rotational": (lambda a, b: tf.RotationalSpring(a, b, 5, TURN),
                   lambda a, b: 2.5 * (3 - np.trace(matrix_from_quaternion(TURN).T @ b.r.T @ a.r))),
}


@pytest.mark.parametrize("rotations", PAIRS, ids=str)
@pytest.mark.parametrize("make, potential", POTENTIALS.values(), ids=POTENTIALS)
def test_potentials(make, potential, rotations):
    """The potential itself, and its gradient along the motion against differences."""
    a, b = two(*rotations)
    part = make(a, b)
    system, z0 = state(a, b, part)

    def v(s):
        return potential(Motion(POSE_A, s), Motion(None if b is None else POSE_B, s))

    assert system.potential(0, z0) == pytest.approx(v(0), rel=1e-13)
    bodies = tf.System(list(system.bodies))
    gradient = (system.derivatives(0, z0)[0] - bodies.derivatives(0, z0)[0])[:system.n_q]
    rate = (v(1e-5) - v(-1e-5)) / 2e-5
    assert gradient @ system.velocity(0, z0) == pytest.approx(rate, rel=1e-8, abs=1e-8)
    assert not has_power(system) and system.power(0, z0) == 0


def damper_power(a, b):
    line = a.point(A) - b.point(B)
    return -3 * ((a.velocity(A) - b.velocity(B)) @ line / np.linalg.norm(line))**2


VALUE = np.array([2.0, -3.0, 1.5])
TIME = 0.7
FACTOR = tf.Sine(2, 0.3, 0.1, 1)
DISSIPATIVE = {
    "damper": (lambda a, b: tf.Damper(a, b, A, B, 3), damper_power),
    "torsional damper": (lambda a, b: tf.TorsionalDamper(a, b, 2 * AXIS, 3),
                         lambda a, b: -3 * ((a.omega - b.omega) @ a.r @ AXIS)**2),
    "rayleigh": (lambda a, b: tf.RayleighDissipation(a, 2, 3), lambda a, b: -2 * a.v @ a.v - 3 * a.omega @ a.omega),
    "dead force": (lambda a, b: tf.Force(a, VALUE, A, FACTOR),
                   lambda a, b: FACTOR(TIME) * VALUE @ a.velocity(A)),
    "follower force": (lambda a, b: tf.Force(a, VALUE, A, FACTOR, "body"),
                       lambda a, b: FACTOR(TIME) * (a.r @ VALUE) @ a.velocity(A)),
    "torque in space": (lambda a, b: tf.Torque(a, VALUE, FACTOR), lambda a, b: FACTOR(TIME) * VALUE @ a.omega),
    "torque in the body": (lambda a, b: tf.Torque(a, [2, tf.Constant(-3), 1.5], FACTOR, "body"),
                           lambda a, b: FACTOR(TIME) * (a.r @ VALUE) @ a.omega),
    "formula": (lambda a, b: tf.Torque(a, lambda t: (t, 2 * t, -ca.cos(t))),
                lambda a, b: np.array([TIME, 2 * TIME, -np.cos(TIME)]) @ a.omega),
}


@pytest.mark.parametrize("rotations", PAIRS, ids=str)
@pytest.mark.parametrize("make, power", DISSIPATIVE.values(), ids=DISSIPATIVE)
def test_power(make, power, rotations):
    """Q.qdot = F.v_P + m.omega, for the velocities of the state."""
    a, b = two(*rotations)
    system, z0 = state(a, b, make(a, b))
    expected = power(Motion(POSE_A), Motion(None if b is None else POSE_B))
    assert has_power(system)
    assert system.power(TIME, z0) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(system.power([TIME, TIME], [z0, z0]), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("frame", ["space", "body"])
def test_virtual_work_of_any_virtual_displacement(rotation, frame):
    """Q . dq = F . dx_P + m . dtheta for the six rigid displacements, which are not those of the motion."""
    body, _ = two(rotation, None)
    for part, arm in ((tf.Force(body, VALUE, A, frame=frame), A), (tf.Torque(body, VALUE, frame=frame), None)):
        s = Symbols(part)
        q = body.state(POSE_A)[0]
        force = ca.Function("q", [s.q[0], s.t, s.parameters], [part.force(s)])(q, 0, part.parameters)
        value = matrix_from_quaternion(POSE_A.quaternion) @ VALUE if frame == "body" else VALUE
        for i in range(6):
            v, w = np.eye(6)[i, :3], np.eye(6)[i, 3:]
            r = matrix_from_quaternion(POSE_A.quaternion)
            pose = tf.Pose(POSE_A.position, POSE_A.quaternion, v, w, frame="space")
            system = tf.System([body])
            displacement = system.velocity(0, np.concatenate(body.state(pose)))
            work = value @ w if arm is None else value @ (v + np.cross(w, r @ arm))
            assert float(ca.dot(force, displacement)) == pytest.approx(work, abs=1e-13)


def everything(a, b):
    return [make(a, b) for make, _ in [*POTENTIALS.values(), *DISSIPATIVE.values()]]


@pytest.mark.long
@pytest.mark.parametrize("rotations", [("quaternion", "directors"), ("directors", "directors"),
                                       ("quaternion", "quaternion")], ids=str)
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.BubnovGalerkin(1)], ids=str)
def test_element_tangent(rotations, element):
    a, b = two(*rotations)
    system = tf.System([a, b, *everything(a, b)], gravity=[0, 1, -9.81])
    z0 = tf.InitialValueProblem(system, {a: POSE_A, b: POSE_B}, (0, 1)).z0
    batch = tf.ElementBatch(system, element)
    rng = np.random.default_rng(5)
    x = 0.01 * rng.normal(size=batch.n_columns)
    x[batch.columns.fields[0]] += z0
    t, h, step = 0.4, 0.1, 1e-5
    tangent = batch.dense(batch(x[None], h, t)[1])[0]
    moved = x + step * np.concatenate([np.eye(len(x)), -np.eye(len(x))])
    residual = batch(moved, h, t)[0]
    differences = ((residual[:len(x)] - residual[len(x):]) / (2 * step)).T
    np.testing.assert_allclose(tangent, differences, rtol=0, atol=1e-8 * np.abs(tangent).max())


def test_element_residual_depends_on_time():
    """The residual of mG(1) holds the integral of the force at the Gauss points of the element's own time."""
    body, _ = two("quaternion", None)
    f = tf.Sine(3, 0.4)
    system = tf.System([body, tf.Force(body, [f, 0, 0])])
    batch = tf.ElementBatch(system, tf.MixedGalerkin(1, 3))
    x = np.zeros((2, batch.n_columns))
    x[:, batch.columns.fields[0]] = np.concatenate(body.state(tf.Pose()))
    t, h = np.array([0.3, 1.7]), np.array([0.1, 0.2])
    xi, w = tf.gauss_legendre(3)
    impulse = [(hh * w * f(tt + hh * xi)).sum() for tt, hh in zip(t, h)]
    residual = batch(x, h, t)[0]
    np.testing.assert_allclose(residual[:, batch.rows.fields[0][0, 0]], impulse, rtol=0, atol=1e-15)


def test_loads_of_one_kind_share_a_kernel():
    def batch(k):
        a, b = two("quaternion", "quaternion")
        parts = [tf.Force(a, k * VALUE, k * A, tf.Sine(k, k)), tf.Force(b, VALUE, time=tf.Sine(1, k)),
                 tf.Torque(a, k * VALUE), tf.Spring(a, b, k * A, B, k, k), tf.NonlinearSpring(a, b, A, B, energy, [k]),
                 tf.TorsionalSpring(a, b, AXIS, k, k), tf.Damper(a, b, A, k * B, k)]
        return tf.ElementBatch(tf.System([a, b, *parts]), tf.MixedGalerkin(1))

    def energy(x, k):
        return k * x**4

    batch(1.0)
    before = compile_count()
    batch(2.0)
    assert compile_count() == before


# ---- motions in closed form

def run(parts, poses, t_end, element=None, n=40, **options):
    problem = tf.InitialValueProblem(tf.System(parts), poses, (0, t_end))
    solution = tf.solve(problem, element or tf.MixedGalerkin(3), n, progress=False, **options)
    assert solution.success
    return solution


TIMES = np.linspace(0, 2, 9)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_mass_on_a_spring(rotation):
    body = tf.RigidBody(2, [2, 3, 4], rotation)
    k, m = 18.0, 2.0
    sol = run([body, tf.Spring(body, None, stiffness=k, point_b=[0, 0, 1])],
              {body: tf.Pose([0.5, 0, 1], velocity=[0, 0.6, 0])}, 2)
    w = np.sqrt(k / m)
    exact = np.stack([0.5 * np.cos(w * TIMES), 0.6 / w * np.sin(w * TIMES), 1 + 0 * TIMES], axis=1)
    np.testing.assert_allclose(sol.position(body, TIMES), exact, rtol=0, atol=1e-9)
    assert sol.errors()["energy"] < 1e-12


@pytest.mark.parametrize("make", [lambda: tf.RigidBody(2, [2, 3, 4]), lambda: tf.RigidBody(2, [2, 3, 4], "directors"),
                                  lambda: tf.PointMass(2), lambda: tf.PointMass(2, 1)])
def test_damped_oscillator(make):
    body = make()
    k, m, c, l0 = 18.0, 2.0, 3.0, 1.5
    sol = run([body, tf.Spring(body, None, stiffness=k, length=l0), tf.Damper(body, None, damping=c)],
              {body: tf.Pose([2, 0, 0])}, 2)
    d, w = c / (2 * m), np.sqrt(k / m - (c / (2 * m))**2)
    exact = l0 + 0.5 * np.exp(-d * TIMES) * (np.cos(w * TIMES) + d / w * np.sin(w * TIMES))
    np.testing.assert_allclose(sol.position(body, TIMES)[:, 0], exact, rtol=0, atol=1e-9)
    assert sol.errors()["energy"] < 1e-12


@pytest.mark.parametrize("frame", ["space", "body"])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_constant_torque_about_a_principal_axis(rotation, frame):
    body = tf.RigidBody(2, [2, 3, 4], rotation)
    sol = run([body, tf.Torque(body, [0, 0, 6], frame=frame)], {}, 2, n=80)
    angle = 0.5 * 6 / 4 * TIMES**2
    r = sol.rotation_matrix(body, sol.t[::10])
    angle = 0.5 * 6 / 4 * sol.t[::10]**2
    np.testing.assert_allclose(r[:, 0, 0], np.cos(angle), rtol=0, atol=1e-9)
    np.testing.assert_allclose(r[:, 1, 0], np.sin(angle), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.angular_velocity(body, sol.t)[:, 2], 1.5 * sol.t, rtol=0, atol=1e-9)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_sinusoidal_force(rotation):
    body = tf.RigidBody(2, [2, 3, 4], rotation)
    sol = run([body, tf.Force(body, [0, 4, 0], time=tf.Sine(1, 0.5))], {}, 2)
    w = np.pi
    np.testing.assert_allclose(sol.position(body, TIMES)[:, 1], 2 * (TIMES / w - np.sin(w * TIMES) / w**2), rtol=0,
                               atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("rotations", PAIRS, ids=str)
def test_torsional_spring(rotations):
    """Two bodies about a common axis swing with the reduced inertia; the damper takes energy from the angle only."""
    a, b = two(*rotations)
    inertia = 4 if b is None else 4 * 6 / (4 + 6)
    bodies = [a] if b is None else [a, b]
    k, c, start = 9.0, 0.8, 1.2
    sol = run([*bodies, tf.TorsionalSpring(a, b, [0, 0, 2], k, rest=0.2), tf.TorsionalDamper(a, b, [0, 0, 1], c)],
              {a: tf.Pose(orientation=[np.cos(start / 2), 0, 0, np.sin(start / 2)])}, 2)
    d, w = c / (2 * inertia), np.sqrt(k / inertia - (c / (2 * inertia))**2)
    expected = 0.2 + 1.0 * np.exp(-d * sol.t) * (np.cos(w * sol.t) + d / w * np.sin(w * sol.t))
    r = sol.rotation_matrix(a, sol.t)
    if b is not None:
        r = np.swapaxes(sol.rotation_matrix(b, sol.t), 1, 2) @ r
    np.testing.assert_allclose(np.arctan2(r[:, 1, 0], r[:, 0, 0]), expected, rtol=0, atol=1e-8)
    assert sol.errors()["energy"] < 1e-10


@pytest.mark.long
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_torsional_spring_without_turns_wraps_half_a_turn_from_rest(rotation):
    """The angle is taken in (-pi, pi] from the rest angle, here 2.5 rad."""
    body = tf.RigidBody(2, [2, 3, 4], rotation)
    system = tf.System([body, tf.TorsionalSpring(body, None, [0, 0, 1], 2, rest=2.5, turns=False)])
    for angle, stretch in ((2.5, 0), (-3.0, 2 * np.pi - 5.5), (5.6, 3.1), (-0.6, -3.1), (5.7, 3.2 - 2 * np.pi)):
        q, p = body.state(tf.Pose(orientation=as_quaternion([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])))
        assert system.potential(0, np.concatenate([q, p])) == pytest.approx(stretch**2, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("element", [tf.MixedGalerkin(3), tf.MixedGalerkin(3, form="energy"), tf.BubnovGalerkin(3)],
                         ids=["mg", "energy", "bg"])
def test_torsional_spring_counts_turns(element):
    """A clock spring wound by 8 rad, harmonic all the way; `rest` of two turns is a preload."""
    body, k, w = tf.RigidBody(2, [2, 3, 4]), 9.0, 1.5
    for rest in (0.0, 4 * np.pi):
        spring = tf.TorsionalSpring(body, None, [0, 0, 1], k, rest=rest)
        start = {body: tf.Pose(angular_velocity=(0, 0, 12))}
        problem = tf.InitialValueProblem(tf.System([body, spring]), start, (0, 2))
        driver = {} if element.can_march else {"driver": "global"}
        sol = tf.solve(problem, element, 120, progress=False, **driver)
        expected = rest - rest * np.cos(w * sol.t) + 12 / w * np.sin(w * sol.t)
        np.testing.assert_allclose(unwrapped(sol, spring.bound), expected, rtol=0, atol=2e-4)
        assert sol.success and np.abs(expected).max() > 7
        if element == tf.MixedGalerkin(3):
            assert sol.errors()["energy"] < 1e-9


def test_turns_that_a_scheme_does_not_count_fail_the_solve():
    body = tf.RigidBody(2, [2, 3, 4])
    system = tf.System([body, tf.TorsionalSpring(body, None, [0, 0, 1], 9.0, name="clock")])
    for speed, success in ((1.0, True), (12.0, False)):
        problem = tf.InitialValueProblem(system, {body: tf.Pose(angular_velocity=(0, 0, speed))}, (0, 2))
        sol = tf.solve(problem, tf.EMH(), 100, progress=False)
        assert sol.success is success
    assert sol.status.reason == "turns not counted" and "angle of clock" in sol.status.message
    assert sol.status.time < 0.6


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_rayleigh_dissipation(rotation):
    """A body of equal principal inertias slows down exponentially."""
    body = tf.RigidBody(2, [3, 3, 3], rotation)
    v, omega = np.array([1, -2, 0.5]), np.array([0.3, 0.5, -1])
    sol = run([body, tf.RayleighDissipation(body, 1.5, 2.4)], {body: tf.Pose(velocity=v, angular_velocity=omega)}, 2)
    np.testing.assert_allclose(sol.velocity(body, sol.t), np.exp(-0.75 * sol.t)[:, None] * v, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sol.angular_velocity(body, sol.t), np.exp(-0.8 * sol.t)[:, None] * omega, rtol=0,
                               atol=1e-10)


def test_nonlinear_spring_pendulum():
    """A point mass on a nonlinear spring, against the 30-digit reference."""
    data = reference("spring_pendulum")
    mass = tf.PointMass(1)
    spring = tf.NonlinearSpring(mass, None, potential=lambda x, ea: ea / 2 * ((x**2 - 1) / 2)**2, parameters=[300])
    start = data["states"][0]
    sol = run([mass, spring], {mass: tf.Pose(start["x"], velocity=start["xdot"])}, 1, tf.MixedGalerkin(4), 100)
    for s in data["states"]:
        np.testing.assert_allclose(sol.position(mass, s["t"]), s["x"], rtol=0, atol=1e-9)


def body_torque(scale, direction, inertia):
    """Torque in body axes for the rotation vector scale(t) direction(t): J Omega' + Omega x J Omega.

    `direction` must not vanish, so that the angle is smooth where the rotation vector vanishes.
    """

    def torque(t):
        v = ca.vertcat(*direction(t))
        length = ca.norm_2(v)
        half = scale(t) * length / 2
        q = ca.vertcat(ca.cos(half), ca.sin(half) / length * v)
        rate = ca.jacobian(q, t)
        omega = 2 * (q[0] * rate[1:] - rate[0] * q[1:] - ca.cross(q[1:], rate[1:]))
        return ca.vertcat(*inertia) * ca.jacobian(omega, t) + ca.cross(omega, ca.vertcat(*inertia) * omega)

    return torque


TORQUES = {"prescribed_rotation_i": body_torque(lambda t: t, lambda t: (t, 0, 1 / 5), [5, 5, 1]),
           "prescribed_rotation_ii": body_torque(lambda t: 1, lambda t: (t + ca.sin(t), 0, ca.cos(t)), [5, 5, 1])}
TORQUE = TORQUES["prescribed_rotation_ii"]


@pytest.mark.parametrize("name, t_end, n", [("prescribed_rotation_i", 3, 240), ("prescribed_rotation_ii", 12, 400)])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_prescribed_rotation(name, t_end, n, rotation):
    """Zupan & Zupan: the torque as a formula of time gives back the rotation, with mG(3)."""
    data = reference(name)
    body = tf.RigidBody(1, [5, 5, 1], rotation)
    start = data["states"][0]
    sol = run([body, tf.Torque(body, TORQUES[name], frame="body")],
              {body: tf.Pose(orientation=start["q"], angular_velocity=start["Omega"])}, t_end, n=n)
    seen = 0
    for s in data["states"]:
        if s["t"] <= t_end:
            r = sol.rotation_matrix(body, s["t"])
            np.testing.assert_allclose(r, matrix_from_quaternion(np.array(s["q"])), rtol=0, atol=1e-8)
            np.testing.assert_allclose(sol.angular_velocity(body, s["t"]), s["Omega"], rtol=0, atol=1e-8)
            seen += 1
    assert seen >= 3
    assert sol.errors()["energy"] < 1e-9


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_closed_loop(rotation):
    """Four bars with spherical joints, driven by a triangular pulse of force and torque."""
    data = reference("closed_loop")
    c = data["parameters"]
    long_short = [[c["J_short"], c["J_long"], c["J_short"]], [c["J_long"], c["J_short"], c["J_short"]]]
    bars = [tf.RigidBody(c["m"], long_short[i % 2], rotation, name=f"bar{i + 1}") for i in range(4)]
    ends = [((0, 5, 0), (5, 0, 0)), ((-5, 0, 0), (0, 5, 0)), ((0, -5, 0), (-5, 0, 0)), ((5, 0, 0), (0, -5, 0))]
    joints = [tf.Spherical(bars[i], bars[(i + 1) % 4], point_a=x, point_b=y) for i, (x, y) in enumerate(ends)]
    pulse = tf.TrianglePulse(0, 0.5, 1, c["fm"])
    loads = [tf.Force(bars[0], [8, 0, 0], time=pulse), tf.Torque(bars[0], [6, 0, 0], time=pulse)]
    poses = {bar: tf.Pose(position) for bar, position in zip(bars, c["phi0"], strict=True)}
    sol = run([*bars, *joints, *loads], poses, 1, n=20)  # nodes at the kinks, loads[0].kinks
    assert loads[0].kinks == (0, 0.5, 1)
    end = next(s for s in data["states"] if s["t"] == 1)
    for bar, s in zip(bars, end["bodies"], strict=True):
        np.testing.assert_allclose(sol.position(bar, 1.0), s["phi"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(sol.rotation_matrix(bar, 1.0), matrix_from_quaternion(np.array(s["q"])), rtol=0,
                                   atol=1e-9)
    np.testing.assert_allclose(sol.linear_momentum(1.0), end["P"], rtol=0, atol=1e-9)
    assert sol.errors()["energy"] < 1e-9


def test_order_of_a_driven_body():
    errors = []
    for n in (10, 20, 40):
        body = tf.RigidBody(1, [5, 5, 1])
        data = reference("prescribed_rotation_ii")["states"]
        sol = run([body, tf.Torque(body, TORQUE, frame="body")],
                  {body: tf.Pose(orientation=data[0]["q"], angular_velocity=data[0]["Omega"])}, 1,
                  tf.MixedGalerkin(2), n)
        errors.append(np.abs(sol.rotation_matrix(body, 1.0) - matrix_from_quaternion(np.array(data[1]["q"]))).max())
    assert slope([1 / 10, 1 / 20, 1 / 40], errors) == pytest.approx(4, abs=0.3)
    assert errors[-1] < 1e-6


def test_drivers_agree():
    """A time-dependent load enters marched, windowed and global solves at the same times."""
    def problem():
        body = tf.RigidBody(1, [5, 5, 1])
        system = tf.System([body, tf.Torque(body, TORQUE), tf.Force(body, [1, 2, tf.Sine(1, 1)], A)])
        return tf.InitialValueProblem(system, {body: tf.Pose(angular_velocity=[1, 0, 1])}, (0.5, 1.5))

    march, windows, whole = (tf.solve(problem(), tf.MixedGalerkin(2), 20, driver=d, progress=False)
                             for d in ("march", "windows", "global"))
    np.testing.assert_allclose(windows.z, march.z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.z, march.z, rtol=0, atol=1e-9)


# ---- input

BODY, OTHER, POINT = tf.RigidBody(1, [1, 1, 1], name="b"), tf.RigidBody(1, [1, 1, 1]), tf.PointMass(1)


@pytest.mark.parametrize("make", [
    lambda k: tf.Spring(BODY, None, point_b=(1, 0, 0), length=0.3, stiffness=k),
    lambda k: tf.RotationalSpring(BODY, None, k),
    lambda k: tf.TorsionalSpring(BODY, stiffness=k, turns=False)])
def test_springs_without_stiffness(make):
    """As one end of a sweep: no force, and the same slope of energy by stiffness as elsewhere."""
    rng = np.random.default_rng(1)
    q, axis = np.append(rng.normal(size=3), np.zeros(4)), rng.normal(size=3)
    q[3:] = np.append(np.cos(0.4), np.sin(0.4) * axis / np.linalg.norm(axis))
    energy = [tf.System([BODY, make(k)]).potential(0.0, np.append(q, np.zeros(7))) for k in (0.0, 1.0, 2.0)]
    assert energy[0] == 0 and energy[1] > 0
    np.testing.assert_allclose(energy[2], 2 * energy[1], rtol=1e-14)


@pytest.mark.parametrize("make, message", [
    (lambda: tf.Spring(None, BODY, stiffness=1), "must act on a body, not on None; the ground is body_b=None"),
    (lambda: tf.Spring(BODY, BODY, stiffness=1), "two different bodies"),
    (lambda: tf.Spring(BODY, 3, stiffness=1), "must act on a body"),
    (lambda: tf.Spring(BODY), "stiffness is missing"),
    (lambda: tf.Spring(BODY, stiffness=-1), "stiffness must not be negative"),
    (lambda: tf.Spring(BODY, stiffness=np.nan), "stiffness must be finite"),
    (lambda: tf.Spring(BODY, stiffness=1, length=-1), "length must not be negative"),
    (lambda: tf.Spring(BODY, None, [1, 2], stiffness=1), "point_a must have shape"),
    (lambda: tf.Spring(BODY, None, point_b=[1, 2, np.inf], stiffness=1, name="s"), "'s': point_b must be finite"),
    (lambda: tf.NonlinearSpring(BODY), "potential is missing"),
    (lambda: tf.NonlinearSpring(BODY, potential=lambda x, k: k * x), r"of \(l\), not of \(x, k\)"),
    (lambda: tf.NonlinearSpring(BODY, potential=lambda x: x, parameters=[np.nan]), "parameters must be finite"),
    (lambda: tf.NonlinearSpring(BODY, potential=lambda x: (x, x)), "must return 1 value"),
    (lambda: tf.TorsionalSpring(BODY, axis=[0, 0, 0], stiffness=1), "axis has length zero"),
    (lambda: tf.TorsionalSpring(BODY, stiffness=1, orientation=[1, 1, 0, 0]), "orientation: .*length"),
    (lambda: tf.TorsionalSpring(BODY, stiffness=1, rest=np.inf), "rest must be finite"),
    (lambda: tf.TorsionalSpring(POINT, stiffness=1), "must act on a rigid body"),
    (lambda: tf.RotationalSpring(BODY, POINT, 1), "must act on a rigid body"),
    (lambda: tf.RotationalSpring(BODY, OTHER, -1), "stiffness must not be negative"),
    (lambda: tf.Damper(BODY, damping=-1), "damping must not be negative"),
    (lambda: tf.Damper(BODY), "damping is missing"),
    (lambda: tf.TorsionalDamper(BODY, BODY, damping=1), "two different bodies"),
    (lambda: tf.TorsionalDamper(BODY, axis=[0, 1], damping=1), "axis must have shape"),
    (lambda: tf.RayleighDissipation(BODY, -1), "linear must not be negative"),
    (lambda: tf.RayleighDissipation(BODY, 1, np.nan), "angular must be finite"),
    (lambda: tf.RayleighDissipation(POINT, 1, 2), "must act on a rigid body"),
    (lambda: tf.Force("b", [1, 2, 3]), "must act on a body"),
    (lambda: tf.Force(BODY, [1, 2]), "value must be three"),
    (lambda: tf.Force(BODY, [1, np.nan, 2]), "value must be finite"),
    (lambda: tf.Force(BODY, [1, 2, 3], [0, 0]), "point must have shape"),
    (lambda: tf.Force(BODY, [1, 2, 3], frame="world"), "frame must be one of"),
    (lambda: tf.Force(BODY, [1, 2, 3], time="later"), "time: a function of time: .* unknown name .later."),
    (lambda: tf.Force(BODY, [1, 2, 3], time=[1]), "time must be a number"),
    (lambda: tf.Force(BODY, [1, 2, 3], time=lambda t: (t, t)), "must return 1 value"),
    (lambda: tf.Torque(POINT, [1, 2, 3]), "must act on a rigid body"),
    (lambda: tf.Torque(BODY, lambda t: t), "must return 3 values"),
    (lambda: tf.System([BODY, tf.Spring(BODY, OTHER, stiffness=1)]), "not in the system"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


def test_point_masses():
    """Forces see point masses through their position, in one, two and three dimensions."""
    p, q = tf.PointMass(2, 2), tf.PointMass(1)
    sol = run([p, q, tf.Spring(p, q, stiffness=5), tf.Force(p, [2, 0, 7]), tf.RayleighDissipation(q, 0.5)],
              {q: tf.Pose([1, 1, 1])}, 1)
    assert sol.errors()["energy"] < 1e-12
    assert np.all(sol.position(p, 1.0)[2] == 0) and sol.position(p, 1.0)[0] > 0


def test_round_trip_of_parts(tmp_path):
    """Springs, dampers and loads from a file are the same parts, bit for bit."""
    a, b = two("quaternion", "directors")
    parts = [make(a, b) for name, (make, _) in {**POTENTIALS, **DISSIPATIVE}.items()
             if name not in ("nonlinear", "formula")]
    sol = run([a, b, *parts, tf.Spring(a, stiffness=1)], {a: POSE_A, b: POSE_B}, 0.1, tf.MixedGalerkin(1), 2)
    sol.save(tmp_path / "a.h5")
    again = tf.load(tmp_path / "a.h5")
    for one, other in zip(sol.system.parts, again.system.parts, strict=True):
        assert type(one) is type(other) and one.kind == other.kind and repr(one) == repr(other)
        assert one.parameters.tobytes() == other.parameters.tobytes()
    assert np.array_equal(sol.energy.work(), again.energy.work())
    a, b = two("quaternion", "directors")
    run([a, b, POTENTIALS["nonlinear"][0](a, b)], {a: POSE_A}, 0.1, n=1).save(tmp_path / "b.h5")  # by a function
    again, z = tf.load(tmp_path / "b.h5").system, np.random.default_rng(0).normal(size=sol.system.n_z)
    assert again.potential(0.0, z[:again.n_z]) != 0
