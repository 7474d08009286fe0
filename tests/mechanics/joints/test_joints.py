"""Joints: kinematics at random configurations, and motions against each other and against formulas."""

import math
from functools import cached_property

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import assert_tangent_is_derivative, pendulum, reference
from timefem.kernels import compile_count
from timefem.mechanics.bodies import rotations
from timefem.mechanics.describe import build, describe

INERTIA = [5.0, 6.0, 7.5]
PAIRS = ("qq", "dd", "qd", "dq", "q-", "d-")  # quaternion, directors, ground
ROTATION = {"q": "quaternion", "d": "directors"}


def random_rotation(rng):
    q = rng.normal(size=4)
    return rotations.matrix_from_quaternion(q / np.linalg.norm(q))


def axis_rotation(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return rotations.matrix_from_quaternion(np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis]))


def gradient(system, z):
    """Jacobian of all constraints (Phi, Psi), dense."""
    jacobian = system.derivatives(0, z)[1]
    return jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian


class Pair:
    """Two bodies (or a body and the ground) at random poses, and a joint whose points and axes fit them."""

    def __init__(self, kinds, make, seed=1):
        self.rng = rng = np.random.default_rng(seed)
        self.a = tf.RigidBody(12, INERTIA, ROTATION[kinds[0]], name="a")
        self.b = None if kinds[1] == "-" else tf.RigidBody(7, INERTIA[::-1], ROTATION[kinds[1]], name="b")
        self.ra, self.rotation_a = rng.normal(size=3), random_rotation(rng)
        self.rb, self.rotation_b = (np.zeros(3), np.eye(3)) if self.b is None else (rng.normal(size=3),
                                                                                   random_rotation(rng))
        self.point_a, self.axis_a = rng.normal(size=3), rng.normal(size=3)
        self.x = self.ra + self.rotation_a @ self.point_a  # in space
        self.n = self.rotation_a @ self.axis_a
        self.joint = make(self)
        bodies = [self.a] if self.b is None else [self.a, self.b]
        self.system = tf.System([*bodies, self.joint])
        self.poses = {self.a: tf.Pose(self.ra, self.rotation_a)}
        if self.b is not None:
            self.poses[self.b] = tf.Pose(self.rb, self.rotation_b)

    @cached_property
    def z(self):
        """Coordinates of the poses, and no velocities."""
        return tf.InitialValueProblem(self.system, self.poses, (0, 1)).z0

    def in_b(self, x):
        return self.rotation_b.T @ (x - self.rb)

    def points(self, shift=0.0):
        """Points that are apart by `shift` in space."""
        return {"point_a": self.point_a, "point_b": self.in_b(self.x + shift)}

    def axes(self):
        return {"axis_a": self.axis_a, "axis_b": 3 * self.rotation_b.T @ self.n}

    def turn(self):
        return {"orientation": self.rotation_b.T @ self.rotation_a}

    def along(self):
        return 0.7 * self.n

    def normal(self):
        return np.cross(self.n, [0.3, -1, 0.2])

    def moving(self):
        """Velocities of the coordinates, random but such as the constraints admit."""
        n, m = self.system.n_q, self.system.n_constraints
        z = self.z.copy()
        z[n:] = 50 * self.rng.normal(size=n)
        rows = gradient(self.system, z)[m:, n:]
        z[n:] -= np.linalg.pinv(rows) @ self.system.constraints(0, z)[m:]
        return self.system.derivatives(0, z)[0][n:]

    @property
    def rows(self):
        """The joint's constraints among those of the system (the bodies come first)."""
        n = len(self.joint.constraint_names)
        return np.arange(self.system.n_constraints - n, self.system.n_constraints)


def universal(p, **options):
    return tf.Universal(p.a, p.b, **p.points(), axis_a=p.axis_a, axis_b=p.rotation_b.T @ p.normal(), **options)


def driven(p, rate=0.0):
    """Prescribed angle, from directions across an axis, at whatever angle the bodies stand."""
    u, v, axis = random_rotation(p.rng).T  # in b
    d = p.rotation_a.T @ p.rotation_b @ (u * np.cos(0.4) + v * np.sin(0.4) + 0.3 * axis)
    return tf.PrescribedAngle(p.a, p.b, angle=lambda t: 0.4 + rate * t, axis_b=2 * axis, direction_a=d, direction_b=u)


# degrees of freedom that the joint removes, and the joint
JOINTS = {
    "spherical": (3, lambda p: tf.Spherical(p.a, p.b, **p.points())),
    "spherical, invariant": (3, lambda p: tf.Spherical(p.a, p.b, **p.points(), invariant=True)),
    "revolute": (5, lambda p: tf.Revolute(p.a, p.b, **p.points(), **p.axes())),
    "revolute, invariant": (5, lambda p: tf.Revolute(p.a, p.b, **p.points(), **p.axes(), invariant=True)),
    "universal": (4, universal),
    "universal, invariant": (4, lambda p: universal(p, invariant=True)),
    "cylindrical": (4, lambda p: tf.Cylindrical(p.a, p.b, **p.points(p.along()), **p.axes())),
    "prismatic": (5, lambda p: tf.Prismatic(p.a, p.b, **p.points(p.along()), axis_b=p.rotation_b.T @ p.n, **p.turn())),
    "planar": (3, lambda p: tf.Planar(p.a, p.b, **p.points(p.normal()), **p.axes())),
    "weld": (6, lambda p: tf.Weld(p.a, p.b, **p.points(), **p.turn())),
    "weld, invariant": (6, lambda p: tf.Weld(p.a, p.b, **p.points(), **p.turn(), invariant=True)),
    "distance": (1, lambda p: tf.RigidDistance(p.a, p.b, **p.points(p.along()), length=np.linalg.norm(p.along()))),
    "prescribed angle": (1, driven),
}
INVARIANT = [name for name in JOINTS if name not in ("spherical", "revolute", "universal", "weld")]
everywhere = pytest.mark.parametrize("kinds", PAIRS)
every_joint = pytest.mark.parametrize("name", JOINTS)


@everywhere
@every_joint
def test_rank_is_the_degrees_of_freedom_removed(name, kinds):
    removed, make = JOINTS[name]
    pair = Pair(kinds, make)
    n, m = pair.system.n_q, pair.system.n_constraints
    jacobian = gradient(pair.system, pair.z)
    assert len(pair.rows) == removed
    for block in (jacobian[:m, :n], jacobian[m:, n:]):  # both levels, together with the constraints of the bodies
        block = block / np.linalg.norm(block, axis=1)[:, None]
        assert np.linalg.svd(block, compute_uv=False)[-1] > 1e-3


@everywhere
@every_joint
def test_velocity_constraint_is_the_time_derivative(name, kinds):
    pair = Pair(kinds, JOINTS[name][1])
    n, m = pair.system.n_q, pair.system.n_constraints
    z = pair.z.copy()
    z[n:] = pair.rng.normal(size=n)  # any velocities
    rate = np.concatenate([pair.system.derivatives(0, z)[0][n:], np.zeros(n)])
    step = 1e-5
    ahead, behind = (pair.system.constraints(0, z + s * rate)[pair.rows] for s in (step, -step))
    np.testing.assert_allclose(pair.system.constraints(0, z)[m + pair.rows], (ahead - behind) / (2 * step), rtol=0,
                               atol=1e-7)


@everywhere
@every_joint
def test_constraint_forces_do_no_work(name, kinds):
    removed, make = JOINTS[name]
    pair = Pair(kinds, make)
    velocity = pair.moving()
    jacobian = gradient(pair.system, pair.z)[pair.rows, :pair.system.n_q]
    assert np.linalg.norm(velocity) > 0.1 or (removed == 6 and kinds[1] == "-")  # welded to the ground
    np.testing.assert_allclose(jacobian @ velocity, 0, rtol=0, atol=1e-12)


def moved(system, z, turn, shift):
    """The state of the system after a rigid motion of the whole."""
    z, n = z.copy(), system.n_q
    for body in system.bodies:
        part = system.coordinates(body)
        for values, by in ((z[:n], shift), (z[n:], 0)):
            v = values[part]
            if body.rotation == "quaternion":
                a, b = rotations.quaternion_from_matrix(turn), v[3:]
                rest = np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:]
                                       + np.cross(a[1:], b[1:])])
            else:
                rest = (v[3:].reshape(3, 3) @ turn.T).ravel()
            values[part] = np.concatenate([turn @ v[:3] + by, rest])
    return z


@pytest.mark.parametrize("kinds", ["qq", "dd", "qd", "dq"])
@every_joint
def test_invariance_under_rigid_motions(name, kinds):
    """At any state, also off the constraints: what momentum needs at the quadrature points."""
    pair = Pair(kinds, JOINTS[name][1])
    z = pair.rng.normal(size=pair.system.n_z)
    change = (pair.system.constraints(0, moved(pair.system, z, random_rotation(pair.rng), pair.rng.normal(size=3)))
              - pair.system.constraints(0, z))
    if name in INVARIANT:
        np.testing.assert_allclose(change, 0, rtol=0, atol=2e-11 * np.abs(z).max()**6)
    else:
        assert np.abs(change).max() > 0.1


@pytest.mark.parametrize("kinds", ["qq", "dd", "qd", "dq"])
@every_joint
def test_action_is_reaction(name, kinds):
    """Forces and moments of the joint on both bodies add up to nothing, where the constraints hold."""
    pair = Pair(kinds, JOINTS[name][1])
    jacobian = gradient(pair.system, pair.z)[pair.rows, :pair.system.n_q]
    n, step = pair.system.n_q, 1e-6
    for axis in np.eye(3):
        for turn, shift in ((lambda s, e=axis: axis_rotation(e, s), 0 * axis), (lambda s: np.eye(3), axis)):
            rate = (moved(pair.system, pair.z, turn(step), step * shift)
                    - moved(pair.system, pair.z, turn(-step), -step * shift))[:n] / (2 * step)
            np.testing.assert_allclose(jacobian @ rate, 0, rtol=0, atol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("kinds", ["qd", "d-"])  # one kernel each, which takes most of the time of these tests
@every_joint
def test_element_tangent_against_differences(name, kinds):
    batch = tf.ElementBatch(Pair(kinds, JOINTS[name][1]).system, tf.MixedGalerkin(1))
    assert_tangent_is_derivative(batch, 0.1, step=1e-5, atol=2e-7)


@pytest.mark.parametrize("kinds", ["qd", "d-"])
@pytest.mark.parametrize("name", [name for name in JOINTS if name != "prescribed angle"])
def test_files_keep_joints(name, kinds):
    system = Pair(kinds, JOINTS[name][1]).system
    again = build(describe(system))
    assert again.constraint_names == system.constraint_names
    assert again.parts[-1].kind == system.parts[-1].kind
    np.testing.assert_array_equal(again.parts[-1].parameters, system.parts[-1].parameters)


# ---- motions


def double_pendulum(kinds, joint, t_end=0.5, **options):
    """Two bars of length 2 along -e3, hung at the origin and at the end of the first."""
    a, b = (tf.RigidBody(m, [1, 1.2, 0.3], ROTATION[k], name=name) for m, k, name in zip((3, 2), kinds, "ab"))
    up, down = np.array([0, 0, 1.0]), np.array([0, 0, -1.0])
    axes = {"axis_a": [1, 0, 0], "axis_b": [1, 0, 0]} if joint is tf.Revolute else {}
    system = tf.System([a, b, joint(a, point_a=up, point_b=[0, 0, 0], **axes, **options),
                        joint(b, a, point_a=up, point_b=down, **axes, **options)], gravity=[0, 0, -9.81])
    if joint is tf.Revolute:
        ra, rb = axis_rotation([1, 0, 0], 1.2), axis_rotation([1, 0, 0], -0.4)
        wa, wb = np.array([2.0, 0, 0]), np.array([-3.0, 0, 0])
    else:
        ra, rb = axis_rotation([1, 0.3, 0], 1.2), axis_rotation([-0.2, 1, 0], 0.7)
        wa, wb = np.array([2.0, 0.5, 1.0]), np.array([-1.0, 2.0, -2.0])
    xa, va = ra @ down, ra @ np.cross(wa, down)
    poses = {a: tf.Pose(xa, ra, va, wa), b: tf.Pose(2 * xa + rb @ down, rb, 2 * va + rb @ np.cross(wb, down), wb)}
    return tf.InitialValueProblem(system, poses, (0, t_end))


@pytest.mark.long
@pytest.mark.parametrize("joint", [tf.Revolute, tf.Spherical])
def test_double_pendulum_in_both_rotations(joint):
    cases = [("dd", {}), ("qq", {}), ("qd", {}), ("dq", {"invariant": True})]
    solutions = [tf.solve(double_pendulum(kinds, joint, **options), tf.MixedGalerkin(4), 50)
                 for kinds, options in cases]
    for solution in solutions:
        assert solution.success
        errors = solution.errors()
        assert errors["configuration"] < 1e-10 and errors["velocity"] < 1e-10 and errors["energy"] < 1e-9
    for body in "ab":
        for solution in solutions[1:]:
            np.testing.assert_allclose(solution.position(body, 0.5), solutions[0].position(body, 0.5), rtol=0,
                                       atol=1e-9)
            np.testing.assert_allclose(solution.rotation_matrix(body, 0.5),
                                       solutions[0].rotation_matrix(body, 0.5), rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("joint", [tf.Revolute, tf.Spherical])
@pytest.mark.parametrize("kinds", ["dd", "qd"])
def test_constraints_at_the_nodes(kinds, joint, degree):
    """They hold to round-off also on a coarse mesh: in quaternions with 3k points, by their polynomial degree."""
    element = tf.MixedGalerkin(degree, n_points=(3 if "q" in kinds else 1) * degree)
    for invariant in (False, True):
        solution = tf.solve(double_pendulum(kinds, joint, 1.0, invariant=invariant), element, 20)
        assert solution.success
        assert max(solution.errors()["configuration"], solution.errors()["velocity"]) < 1e-11


def closed_loop(kinds, invariant, state=None, t_span=(0, 2)):
    """The four bars of `reference/closed_loop.json`: all turning about the same axis, or from a reference state."""
    data = reference("closed_loop")["parameters"]
    long, short = data["J_long"], data["J_short"]
    inertia = [[short, long, short], [long, short, short]]
    bars = [tf.RigidBody(data["m"], inertia[i % 2], ROTATION[kinds[i % 2]], name=f"bar{i + 1}") for i in range(4)]
    ends = [((0, 5, 0), (5, 0, 0)), ((-5, 0, 0), (0, 5, 0)), ((0, -5, 0), (-5, 0, 0)), ((5, 0, 0), (0, -5, 0))]
    joints = [tf.Spherical(bars[i], bars[(i + 1) % 4], point_a=xa, point_b=xb, invariant=invariant)
              for i, (xa, xb) in enumerate(ends)]
    if state is None:
        omega = np.array([0.5, -0.8, 0.3])
        poses = {bar: tf.Pose(x, velocity=np.cross(omega, x), angular_velocity=omega)
                 for bar, x in zip(bars, data["phi0"])}
    else:
        poses = {bar: tf.Pose(s["phi"], s["q"], s["v"], s["Omega"]) for bar, s in zip(bars, state["bodies"])}
    return tf.InitialValueProblem(tf.System([*bars, *joints]), poses, t_span)


@pytest.mark.long
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("kinds", ["qq", "qd", "dd"])
def test_invariant_joints_conserve_angular_momentum(kinds, degree):
    def drift(invariant):
        solution = tf.solve(closed_loop(kinds, invariant), tf.MixedGalerkin(degree, n_points=degree), 20 // degree)
        assert solution.success
        return solution.errors()["angular_momentum"] / np.linalg.norm(solution.angular_momentum(0.0))

    assert drift(True) < 1e-11
    if "q" in kinds:  # the vector form is linear in directors, and then exact as well
        assert drift(False) > 1e-8


@pytest.mark.parametrize("invariant", [False, True])
@pytest.mark.parametrize("kinds", ["qd", *(pytest.param(kinds, marks=pytest.mark.long) for kinds in ("qq", "dd"))])
def test_closed_loop_against_the_reference(kinds, invariant):
    """From t = 1 s, after the load has ended, to t = 2 s."""
    _, start, end = reference("closed_loop")["states"][:3]
    problem = closed_loop(kinds, invariant, start, (1, 2))
    solution = tf.solve(problem, tf.MixedGalerkin(4), 20)
    assert solution.energy()[-1] == pytest.approx(end["E"], rel=1e-12)
    for bar, expected in zip(problem.system.bodies, end["bodies"]):
        np.testing.assert_allclose(solution.position(bar, 2.0), expected["phi"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(solution.rotation_matrix(bar, 2.0),
                                   rotations.matrix_from_quaternion(np.array(expected["q"])), rtol=0, atol=1e-10)


def test_spherical_joint_to_ground_is_a_fixed_point():
    """The same motion and the same multipliers: the force of the ground on the body."""
    given = pendulum("directors", 0.5)
    body = tf.RigidBody(100, given.system.bodies[0].inertia, "directors", name="pendulum")
    system = tf.System([body, tf.Spherical(body, point_a=[0, -5, 0], point_b=[0, 0, 0])], gravity=[0, 0, -9.81])
    problem = tf.InitialValueProblem(system, {body: tf.Pose([0, 5, 0])}, (0, 0.5))
    one, two = (tf.solve(p, tf.MixedGalerkin(2), 10) for p in (given, problem))
    np.testing.assert_allclose(one.z, two.z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.nodal.multipliers, two.nodal.multipliers, rtol=0, atol=1e-7)
    np.testing.assert_allclose(system.consistent_multipliers(0, problem.z0)[6:9], [0, 0, 247.0588235], rtol=0, atol=0.1)


@pytest.mark.parametrize("kinds", ["q-", "d-"])
def test_revolute_to_ground_in_plane_motion(kinds):
    """A pendulum that moves in a plane anyway does not feel the hinge."""
    body = tf.RigidBody(3, [1, 1.2, 0.3], ROTATION[kinds[0]])
    joints = [tf.Spherical(body, point_a=[0, 1, 0], point_b=[0, 0, 0]),
              tf.Revolute(body, point_a=[0, 1, 0], point_b=[0, 0, 0], axis_a=[-2, 0, 0], axis_b=[1, 0, 0])]
    ends = []
    for joint in joints:
        system = tf.System([body, joint], gravity=[0, 0, -9.81])
        problem = tf.InitialValueProblem(system, {body: tf.Pose([0, -1, 0])}, (0, 1))
        ends.append(tf.solve(problem, tf.MixedGalerkin(3), 20).z[-1])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kinds", ["dd", "qd"])
@pytest.mark.parametrize("invariant", [False, True])
def test_welded_bodies_move_as_one(kinds, invariant):
    """Two cuboids welded together against one body with the mass properties of their sum."""
    first = tf.MassProperties.cuboid(1, 2, 3, 1)
    turn, place = axis_rotation([1, 2, -1], 0.8), np.array([1.0, 0.5, -0.3])
    whole = first + first.rotated(turn).shifted(place)
    a, b = (tf.RigidBody(first.mass, first.inertia, ROTATION[k], name=n) for k, n in zip(kinds, "ab"))
    one = tf.RigidBody(whole.mass, whole.inertia, "directors")
    weld = tf.Weld(b, a, point_a=turn.T @ (-place / 2), point_b=place / 2, orientation=turn, invariant=invariant)
    omega = np.array([1.0, -2, 1.5])
    poses = {a: tf.Pose(-whole.centre, velocity=np.cross(omega, -whole.centre), angular_velocity=omega),
             b: tf.Pose(place - whole.centre, turn, np.cross(omega, place - whole.centre), omega, frame="space")}
    welded = tf.solve(tf.InitialValueProblem(tf.System([a, b, weld]), poses, (0, 1)), tf.MixedGalerkin(4), 25)
    alone = tf.solve(tf.InitialValueProblem(tf.System([one]), {one: tf.Pose(angular_velocity=omega)}, (0, 1)),
                     tf.MixedGalerkin(4), 25)
    r = alone.rotation_matrix(one, 1.0)
    np.testing.assert_allclose(welded.rotation_matrix(a, 1.0), r, rtol=0, atol=1e-9)
    np.testing.assert_allclose(welded.position(b, 1.0), r @ (place - whole.centre), rtol=0, atol=1e-9)


SLOPE = np.array([0.6, 0.0, -0.8])  # a slope down along x


@pytest.mark.parametrize("kinds", ["q-", "d-"])
@pytest.mark.parametrize("joint", ["prismatic", "cylindrical", "planar"])
def test_sliding_down_a_slope(joint, kinds):
    """Constant acceleration along the slope; the spin about a free axis, a principal one, goes on."""
    body = tf.RigidBody(3, INERTIA, ROTATION[kinds[0]])
    normal, side = np.array([0.8, 0, 0.6]), np.array([0, 1.0, 0])
    turn = np.stack([SLOPE, side, np.cross(SLOPE, side)], axis=1)
    velocity, omega = np.zeros(3), np.zeros(3)
    points = {"point_a": [0, 0, 0], "point_b": [0, 0, 0]}
    if joint == "prismatic":
        part = tf.Prismatic(body, **points, axis_b=SLOPE, orientation=turn)
    elif joint == "cylindrical":
        part, omega = tf.Cylindrical(body, **points, axis_a=[1, 0, 0], axis_b=SLOPE), np.array([3.0, 0, 0])
    else:
        part = tf.Planar(body, **points, axis_a=[0, 0, 1], axis_b=normal)
        velocity, omega = 2 * side, np.array([0, 0, 3.0])
    problem = tf.InitialValueProblem(tf.System([body, part], gravity=[0, 0, -10]),
                                     {body: tf.Pose([0, 0, 0], turn, velocity, omega)}, (0, 1))
    solution = tf.solve(problem, tf.MixedGalerkin(4), 20)
    np.testing.assert_allclose(solution.position(body, 1.0), 4 * SLOPE + velocity, rtol=0, atol=1e-10)
    expected = turn @ (axis_rotation(omega, 3.0) if omega.any() else np.eye(3))
    np.testing.assert_allclose(solution.rotation_matrix(body, 1.0), expected, rtol=0, atol=1e-9)


def test_conical_pendulum():
    """A point mass on a rod at 60 degrees circles with omega^2 = g / (l cos 60)."""
    bob, length, angle = tf.PointMass(2), 1.5, np.pi / 3
    omega = np.sqrt(9.81 / (length * np.cos(angle)))
    radius, height = length * np.sin(angle), -length * np.cos(angle)
    system = tf.System([bob, tf.RigidDistance(bob, length=length)], gravity=[0, 0, -9.81])
    pose = tf.Pose([radius, 0, height], velocity=[0, radius * omega, 0])
    problem = tf.InitialValueProblem(system, {bob: pose}, (0, 2))
    solution = tf.solve(problem, tf.MixedGalerkin(4), 40)
    place = [radius * np.cos(2 * omega), radius * np.sin(2 * omega), height]
    np.testing.assert_allclose(solution.position(bob, 2.0), place, rtol=0, atol=1e-10)
    tension = 2 * 9.81 / np.cos(angle)  # the multiplier times the length: positive pulls
    np.testing.assert_allclose(solution.multipliers(1.0)[0] * length, tension, rtol=0, atol=1e-6)


def test_point_mass_on_a_body_in_the_plane():
    """Point masses in the plane at a distance from each other keep momentum and energy."""
    a, b = tf.PointMass(2, 2), tf.PointMass(3, 2)
    system = tf.System([a, b, tf.RigidDistance(a, b, length=2)])
    problem = tf.InitialValueProblem(system, {a: tf.Pose([1, 0, 0], velocity=[0, 3, 0]),
                                              b: tf.Pose([-1, 0, 0], velocity=[0, -1, 0])}, (0, 2))
    errors = tf.solve(problem, tf.MixedGalerkin(2, 2), 30).errors()
    assert max(errors.values()) < 1e-11


# ---- rheonomic constraints


@pytest.mark.parametrize("kinds", ["q-", "d-"])
def test_prescribed_angle(kinds):
    """A driven rotor: its angle, beyond one turn, and the torque J alpha of the drive."""
    rotor = tf.RigidBody(2, INERTIA, ROTATION[kinds[0]], name="rotor")
    axis = np.array([0, 0, 1.0])
    hinge = tf.Revolute(rotor, point_a=[0, 0, 0], point_b=[0, 0, 0], axis_a=axis, axis_b=axis)
    drive = tf.PrescribedAngle(rotor, angle=lambda t: 0.3 + t + 2 * t**2, axis_b=axis, direction_a=[1, 0, 0],
                               direction_b=[1, 0, 0], name="drive")
    system = tf.System([rotor, hinge, drive])
    pose = tf.Pose(orientation=axis_rotation(axis, 0.3), angular_velocity=axis)
    problem = tf.InitialValueProblem(system, {rotor: pose}, (0, 2))
    assert system.consistent_multipliers(0, problem.z0)[system.n_constraints - 1] == pytest.approx(7.5 * 4, rel=1e-12)
    solution = tf.solve(problem, tf.MixedGalerkin(3), 60)
    t = np.array([0.5, 1.0, 2.0])
    expected = np.array([axis_rotation(axis, 0.3 + s + 2 * s**2) for s in t])
    np.testing.assert_allclose(solution.rotation_matrix(rotor, t), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.angular_velocity(rotor, t)[:, 2], 1 + 4 * t, rtol=0, atol=1e-7)


def test_prescribed_angle_between_free_bodies():
    """A reaction wheel: the bodies turn against each other in the ratio of their inertias."""
    a, b = tf.RigidBody(1, [1, 1, 1.5]), tf.RigidBody(1, [2, 2, 3.5], "directors")
    axis, origin = [0, 0, 1], [0, 0, 0]
    parts = [tf.Revolute(a, b, point_a=origin, point_b=origin, axis_a=axis, axis_b=axis, invariant=True),
             tf.PrescribedAngle(a, b, angle=lambda t: 1 - ca.cos(3 * t), axis_b=axis, direction_a=[0, 2, 0],
                                direction_b=[0, 1, 0])]
    solution = tf.solve(tf.InitialValueProblem(tf.System([a, b, *parts]), {}, (0, 1)), tf.MixedGalerkin(3, 3), 40)
    angle = 1 - np.cos(3.0)
    assert solution.errors()["angular_momentum"] < 1e-12
    for body, share in ((a, 3.5 / 5), (b, -1.5 / 5)):
        np.testing.assert_allclose(solution.rotation_matrix(body, 1.0), axis_rotation(axis, angle * share), rtol=0,
                                   atol=1e-8)


@pytest.mark.parametrize("make", [lambda: tf.PointMass(2), lambda: tf.RigidBody(2, INERTIA),
                                  lambda: tf.RigidBody(2, INERTIA, "directors")])
def test_prescribed_position(make):
    """The body goes where it is sent, and the multiplier is the force m (a - g)."""
    body = make()
    drive = tf.PrescribedPosition(body, lambda t: (ca.sin(2 * t), 0.5 * t**2, 1))
    system = tf.System([body, drive], gravity=[0, 0, -9.81])
    problem = tf.InitialValueProblem(system, {body: tf.Pose([0, 0, 1], velocity=[2, 0, 0])}, (0, 1))
    gamma = system.consistent_multipliers(0, problem.z0)[:system.n_constraints][-3:]
    np.testing.assert_allclose(gamma, [0, 2, 2 * 9.81], rtol=0, atol=1e-12)
    solution = tf.solve(problem, tf.MixedGalerkin(2), 20)
    np.testing.assert_allclose(solution.position(body, 1.0), [np.sin(2), 0.5, 1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.velocity(body, 1.0), [2 * np.cos(2), 1, 0], rtol=0, atol=1e-10)


def rod_with_time(p):
    """The distance as a formula of time."""
    return tf.Constraint([p.a, p.b], lambda f, t, c: ca.norm_2(f[0].point(c[:3]) - f[1].position) - c[3] * ca.exp(t), 1,
                         [1, 2, 3, np.linalg.norm(p.ra + p.rotation_a @ [1, 2, 3] - p.rb)])


@pytest.mark.parametrize("make", [lambda p: driven(p, 1.5), rod_with_time])
@pytest.mark.parametrize("kinds", ["qq", "dd", "qd"])
def test_moving_constraints(kinds, make):
    """Velocity level against differences of Phi(q(t), t), and the element tangent at a time other than zero."""
    system = Pair(kinds, make).system
    n, m, step = system.n_q, system.n_constraints, 1e-5
    z = np.random.default_rng(2).normal(size=system.n_z)
    rate = np.concatenate([system.derivatives(0.4, z)[0][n:], np.zeros(n)])
    ahead, behind = (system.constraints(0.4 + s, z + s * rate)[m - 1] for s in (step, -step))
    np.testing.assert_allclose(system.constraints(0.4, z)[-1], (ahead - behind) / (2 * step), rtol=0, atol=1e-6)

    assert_tangent_is_derivative(tf.ElementBatch(system, tf.MixedGalerkin(1)), 0.1, 0.4, step=step, atol=2e-7)


def test_velocity_level_of_a_prescribed_position():
    body = tf.RigidBody(2, INERTIA)
    drive = tf.PrescribedPosition(body, lambda t: (ca.sin(2 * t), ca.exp(t), t), point=[0.3, -0.2, 0.5])
    system = tf.System([body, drive])
    z = np.random.default_rng(2).normal(size=system.n_z)
    n, step = system.n_q, 1e-5
    rate = np.concatenate([system.derivatives(0.4, z)[0][n:], np.zeros(n)])
    ahead, behind = (system.constraints(0.4 + s, z + s * rate)[1:4] for s in (step, -step))
    np.testing.assert_allclose(system.constraints(0.4, z)[5:], (ahead - behind) / (2 * step), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kinds", ["qq", "qd"])
def test_cardan_shaft(kinds):
    """A driven shaft, a universal joint and a second shaft at 0.5 rad: all motion is given by geometry."""
    a, b = (tf.RigidBody(1, INERTIA, ROTATION[k], name=n) for k, n in zip(kinds, "ab"))
    z, axis = np.array([0, 0, 1.0]), np.array([np.sin(0.5), 0, np.cos(0.5)])
    tilt = axis_rotation([0, 1, 0], 0.5)  # second shaft: its e3 stands along `axis`
    origin = [0, 0, 0]

    def bearing(frames, t, c):
        """The axis of b has no components across the given one."""
        return ca.reshape(c, 3, 2).T @ frames[0].direction(ca.DM([0, 0, 1]))

    parts = [tf.Revolute(a, point_a=origin, point_b=origin, axis_a=z, axis_b=z),
             tf.PrescribedAngle(a, angle=lambda t: 2 * t, axis_b=z, direction_a=[1, 0, 0], direction_b=[1, 0, 0]),
             tf.Universal(a, b, point_a=origin, point_b=origin, axis_a=[1, 0, 0], axis_b=[0, 1, 0]),
             tf.Constraint(b, bearing, 2, parameters=tilt[:, :2].T.ravel(), names=["tilt 1", "tilt 2"])]
    # the arms stay at right angles, and each at right angles to its shaft; where the arm of a is e1, the second
    # shaft is the faster one by 1 / cos(0.5)
    arm = lambda t: np.cross(axis, [np.cos(2 * t), np.sin(2 * t), 0])
    poses = {a: tf.Pose(angular_velocity=2 * z), b: tf.Pose(orientation=tilt, angular_velocity=2 / np.cos(0.5) * z)}
    solution = tf.solve(tf.InitialValueProblem(tf.System([a, b, *parts]), poses, (0, 1)), tf.MixedGalerkin(4), 40)
    for t in (0.25, 0.5, 1.0):
        expected = arm(t) / np.linalg.norm(arm(t))
        np.testing.assert_allclose(solution.rotation_matrix(b, t)[:, 1], expected, rtol=0, atol=1e-8)


# ---- constraints given by a formula


def test_constraint_equals_the_joint():
    """The distance joint written as a formula."""
    def distance(frames, t, c):
        r = frames[1].point(c[3:6]) - frames[0].point(c[:3])
        return (ca.sumsqr(r) - c[6] ** 2) / 2

    pair = Pair("qd", JOINTS["distance"][1])
    joint = pair.joint
    same = tf.Constraint([pair.a, pair.b], distance, 1, [*joint.point_a, *joint.point_b, joint.length])
    system = tf.System([pair.a, pair.b, same])
    z = np.random.default_rng(0).normal(size=system.n_z)
    np.testing.assert_allclose(system.constraints(0, z), pair.system.constraints(0, z), rtol=1e-13)


def test_moving_constraint():
    """A bead on a straight wire that turns with omega: r'' = omega^2 r, so that r = cosh(omega t)."""
    bead = tf.PointMass(1.0, 2)
    wire = tf.Constraint(bead, lambda f, t, c: ca.sin(c * t) * f[0].q[0] - ca.cos(c * t) * f[0].q[1], 1, parameters=[2])
    problem = tf.InitialValueProblem(tf.System([bead, wire]), {bead: tf.Pose([1, 0, 0], velocity=[0, 2, 0])}, (0, 1))
    solution = tf.solve(problem, tf.MixedGalerkin(4), 20)
    expected = np.cosh(2) * np.array([np.cos(2), np.sin(2), 0])
    np.testing.assert_allclose(solution.position(bead, 1.0), expected, rtol=0, atol=1e-9)


def test_each_formula_has_its_own_kernel():
    """Also when functions die, and a new one takes the place of an old one in memory."""
    bead = tf.PointMass(1.0)
    for i in range(20):
        wall = tf.Constraint(bead, lambda f, t, c, i=i: f[0].q[0] - i, 1)
        assert tf.System([bead, wall]).constraints(0, np.zeros(6))[0] == -i
    for i in range(20):
        move = tf.PrescribedPosition(bead, lambda t, i=i: (i, 0, 0))
        assert tf.System([bead, move]).constraints(0, np.zeros(6))[0] == i


def test_one_formula_shares_its_kernel():
    plane = lambda f, t, c: ca.dot(c, f[0].q)
    beads = [tf.PointMass(1.0) for _ in range(5)]
    element = tf.MixedGalerkin(1)
    tf.ElementBatch(tf.System([beads[0], tf.Constraint(beads[0], plane, 1, [1, 2, 3])]), element)
    before = compile_count()
    walls = [tf.Constraint(bead, plane, 1, [1, 2, i]) for i, bead in enumerate(beads)]
    tf.ElementBatch(tf.System([*beads, *walls]), element)
    assert compile_count() == before


# ---- input


A, B, BEAD, FLAT = (tf.RigidBody(1, [1, 1, 1]), tf.RigidBody(1, [1, 1, 1], "directors"), tf.PointMass(1),
                    tf.PointMass(1, 2))
O, X, Z = [0, 0, 0], [1, 0, 0], [0, 0, 1]
AT = {"point_a": O, "point_b": O}
t_foreign = ca.SX.sym("t")


def fails(*_):
    raise ValueError("no way")


@pytest.mark.parametrize("make, message", [
    (lambda: tf.Spherical(A, A, **AT, name="knee"), "Spherical 'knee': a body cannot be joined to itself; .*ground"),
    (lambda: tf.Spherical(A, 3, **AT), "Spherical: body_b must be a RigidBody or PointMass, not 3; the ground"),
    (lambda: tf.Spherical(None, A, **AT), "a must be a RigidBody or PointMass, not None; the ground is body_b=None"),
    (lambda: tf.Spherical(A, B, point_a=[0, 0], point_b=O), r"Spherical: point_a must have shape \(3,\)"),
    (lambda: tf.Spherical(A, B, point_a=O, point_b=[0, 0, np.nan]), "point_b must be finite"),
    (lambda: tf.Spherical(A, B, point_a="here", point_b=O), "point_a must be an array of numbers"),
    (lambda: tf.Spherical(A, B, **AT, invariant="yes"), "invariant must be True or False"),
    (lambda: tf.Spherical(A, FLAT, **AT), "b must be a RigidBody or a PointMass with dimension=3"),
    (lambda: tf.Spherical(A, BEAD, point_a=O, point_b=X), "point_b must be zero, because body b is a point mass"),
    (lambda: tf.Spherical(BEAD, A, **AT, invariant=True), "invariant=True needs the axes of a; swap a and b"),
    (lambda: tf.Revolute(A, BEAD, **AT, axis_a=Z, axis_b=Z), "b must be a RigidBody, because a point mass has no axes"),
    (lambda: tf.Revolute(A, B, **AT, axis_a=O, axis_b=Z), "Revolute: axis_a has length zero; give a direction"),
    (lambda: tf.Revolute(A, B, **AT, axis_a=Z, axis_b=[0, np.inf, 0]), "axis_b must be finite"),
    (lambda: tf.Universal(A, B, **AT, axis_a=Z, axis_b=O), "Universal: axis_b has length zero"),
    (lambda: tf.Cylindrical(A, B, **AT, axis_a=O, axis_b=Z), "Cylindrical: axis_a has length zero"),
    (lambda: tf.Planar(A, B, **AT, axis_a=Z, axis_b=5), "Planar: axis_b must have shape"),
    (lambda: tf.Prismatic(A, B, **AT, axis_b=Z, orientation=[1, 1, 0, 0]), "Prismatic: orientation: .* length 1.414"),
    (lambda: tf.Weld(A, B, **AT, orientation=np.diag([1, 1, -1])), "Weld: orientation: the matrix is not a rotation"),
    (lambda: tf.Weld(A, B, **AT, orientation=[np.nan, 0, 0, 0]), "Weld: orientation must be finite"),
    (lambda: tf.RigidDistance(A, B, **AT, length=0), "length must be positive, not 0; .* Spherical"),
    (lambda: tf.RigidDistance(A, B, **AT, length=np.nan), "RigidDistance: length must be finite"),
    (lambda: tf.RigidDistance(A, B, **AT, length="far"), "length must be a number"),
    (lambda: tf.PrescribedPosition(A, [0, 1]), "position must be three numbers or functions of time"),
    (lambda: tf.PrescribedPosition(A, lambda t: (t, t)), r"position: .* must return 3 values, not shape \(2, 1\)"),
    (lambda: tf.PrescribedPosition(A, [0, 0, tf.Ramp(0, 1, 0, 1)]), r"rate of a Ramp jumps.*kind='smooth'"),
    (lambda: tf.PrescribedPosition(A, lambda t: (math.sin(t), 0, 0)), "finite values; write it with casadi.sin"),
    (lambda: tf.PrescribedPosition(A, lambda t, s: (t, 0, 0)), r"position: .* of \(t\), not of \(t, s\)"),
    (lambda: tf.PrescribedPosition(A, lambda t: (t_foreign, 0, 0)), "contains the symbols t, which are not"),
    (lambda: tf.PrescribedPosition(A, lambda t: (np.nan, 0, 0)), "must return finite values"),
    (lambda: tf.PrescribedAngle(A, angle="fast", axis_b=Z, direction_a=X, direction_b=X), "unknown name .fast."),
    (lambda: tf.PrescribedAngle(A, angle=tf.Step(0, 1), axis_b=Z, direction_a=X, direction_b=X), "rate of a Step"),
    (lambda: tf.PrescribedAngle(A, angle=tf.Table([0, 1], [0, 1]), axis_b=Z, direction_a=X, direction_b=X), "cubic"),
    (lambda: tf.PrescribedAngle(A, angle=fails, axis_b=Z, direction_a=X, direction_b=X), "angle: .* failed .*no way"),
    (lambda: tf.PrescribedAngle(A, angle=lambda t: t, axis_b=Z, direction_a=X, direction_b=[1, 0, 1]),
     "direction_b must be at right angles to axis_b, but is at 45 degrees"),
    (lambda: tf.Constraint([A, 3], fails, 1), "bodies must be a body or a list of bodies"),
    (lambda: tf.Constraint([], fails, 1), "bodies must be"), (lambda: tf.Constraint([A, A], fails, 1), "given twice"),
    (lambda: tf.Constraint(A, 3, 1), "formula must be a function"),
    (lambda: tf.Constraint(A, fails, 1, name="mine"), "Constraint 'mine': the formula failed .*no way"),
    (lambda: tf.Constraint(A, lambda f, t, c: f[0].position, 2), r"must return 2 values, not shape \(3, 1\)"),
    (lambda: tf.Constraint(A, lambda f, t, c: [f[0].q[0], t], 2), "not depend on the coordinates in 'constraint 2'"),
    (lambda: tf.Constraint(A, lambda f, t, c: f[0].q[0] - t_foreign, 1), "contains the symbols t"),
    (lambda: tf.Constraint(A, lambda f, t, c: f[0].q[0], 0), "n must be at least 1"),
    (lambda: tf.Constraint(A, lambda f, t, c: f[0].q[0], 1, [np.nan]), "parameters must be finite"),
    (lambda: tf.Constraint(A, lambda f, t, c: f[0].q[0], 1, names=["x", "y"]), "names must be a list of 1"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_violated_joints_are_named():
    system = tf.System([A, B, tf.Spherical(A, B, point_a=X, point_b=O, name="elbow")])
    with pytest.raises(tf.InputError, match="'elbow: gap, x' on configuration level by 1"):
        tf.InitialValueProblem(system, {}, (0, 1))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_axes_of_any_length(size):
    def joint(x):
        return tf.Revolute(A, B, point_a=O, point_b=O, axis_a=np.multiply(x, [3, 4, 0]), axis_b=np.multiply(x, Z))

    np.testing.assert_allclose(joint(size).own_parameters, joint(1).own_parameters, rtol=0, atol=1e-15)


def test_functions_of_time_are_saved():
    """Motions by value objects are plain data; their numbers are parameters, so that they share kernels."""
    def system(amplitude):
        sine, table = tf.Sine(amplitude, 1), tf.Table([0, 1, 2], [0, amplitude, 0], "cubic")
        return tf.System([BEAD, A, tf.PrescribedPosition(BEAD, [sine, 0, table], name="drive"),
                          tf.PrescribedAngle(A, angle=tf.Ramp(0, 1, 0, amplitude, "smooth"), axis_b=Z, direction_a=X,
                                             direction_b=X)])

    first, second = system(1.0), system(2.0)
    again = build(describe(first))
    for one, two, three in zip(first.parts, second.parts, again.parts, strict=True):
        assert one.kind == two.kind == three.kind
        np.testing.assert_array_equal(one.parameters, three.parameters)
        assert one.kinks == three.kinks
    assert first.kinks.tolist() == [0, 1, 2]
    z = np.random.default_rng(0).standard_normal(first.n_z)
    np.testing.assert_array_equal(first.constraints(0.3, z), again.constraints(0.3, z))
    assert np.abs(first.constraints(0.3, z) - second.constraints(0.3, z)).max() > 0.1


def test_functions_are_saved_as_text():
    system = tf.System([BEAD, tf.PrescribedPosition(BEAD, lambda t: (t, 0, ca.sin(t)), name="drive")])
    again, z = build(describe(system)), np.arange(6.0)
    np.testing.assert_array_equal(again.constraints(0.7, z), system.constraints(0.7, z))
    assert again["drive"].position[2].text == "[t, 0.0, sin(t)]"
