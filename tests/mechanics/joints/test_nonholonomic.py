"""Nonholonomic constraints: rolling, knife edges, by formulas; exact solutions, and what does not change."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad

import timefem as tf
from timefem.cases import find_case
from timefem.elements import Space
from timefem.elements.components import components
from timefem.elements.energy_momentum import EML, NonTwistingEM
from timefem.elements.evaluation.elements_in_lanes import ElementBatch
from timefem.elements.evaluation.plan import point_kernel
from timefem.elements.rotation_schemes import DLA
from timefem.mechanics.describe import build, describe
from timefem.mechanics.joints.nonholonomic import (
    KnifeEdge,
    NonholonomicConstraint,
    NonTwisting,
    RollingDisc,
    RollingSphere,
)
from timefem.mechanics.states.assemble import assemble
from timefem.mechanics.states.consistent_multipliers import nonholonomic_multipliers
from timefem.mechanics.values.of_parts import has_power, nonholonomic_derivatives
from timefem.polynomials import LagrangeBasis

ROTATIONS = ["quaternion", "directors"]
GRAVITY = 9.81


# ---- problems with exact solutions

def sleigh_exact(t, mass=1.5, inertia=0.7, arm=0.4, v0=0.3, w0=2.0):
    """Chaplygin's sleigh: speed v of the edge and angular velocity w obey v' = a w^2, (J + m a^2) w' = -m a v w.

    So v = V tanh(s), w = W / cosh(s) with s = b (t - t0), the angle is elementary and the path two integrals. Returns
    the centre of mass, the angle, w and the force across the edge, m (w' a + v w).
    """
    whole = inertia + mass * arm**2
    energy = (mass * v0**2 + whole * w0**2) / 2
    top, spin = np.sqrt(2 * energy / mass), np.sqrt(2 * energy / whole)
    b = arm * spin**2 / top
    start = np.arctanh(v0 / top)
    angle = lambda t: 2 * spin / b * (np.arctan(np.tanh((b * t + start) / 2)) - np.arctan(np.tanh(start / 2)))
    speed = lambda t: top * np.tanh(b * t + start)
    x, y = (quad(lambda u, f=f: speed(u) * f(angle(u)), 0, t, epsabs=1e-13, epsrel=1e-13)[0]
            for f in (np.cos, np.sin))
    end, w = angle(t), spin / np.cosh(b * t + start)
    force = mass * speed(t) * w * (1 - arm**2 * mass / whole)
    return np.array([x + arm * np.cos(end), y + arm * np.sin(end), 0]), end, w, force


def steady_disc(rotation, mass=2.0, radius=0.5, thickness=0.2, tilt=1.1, turn=2.0):
    """A disc in a steady circle: problem, and its position and axis as functions of time, and the force of the plane.

    The spin about the axis follows from the balance of moments in the turning frame, which is linear in it.
    """
    across, along = mass * (3 * radius**2 + thickness**2) / 12, mass * radius**2 / 2
    c, s = np.cos(tilt), np.sin(tilt)
    orientation = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    up, axis, start = np.array([0, 0, 1.0]), orientation[:, 2], radius * np.array([-c, 0, s])
    inertia = orientation @ np.diag([across, across, along]) @ orientation.T

    def force(spin):
        return mass * (np.cross(turn * up, np.cross(turn * up + spin * axis, start)) + GRAVITY * up)

    def moments(spin):
        return (turn * np.cross(up, inertia @ (turn * up + spin * axis)) + np.cross(start, force(spin)))[1]

    spin = moments(0) / (moments(0) - moments(1))
    velocity = np.cross(turn * up + spin * axis, start)
    centre = start + np.cross(up, velocity) / turn
    coin = tf.RigidBody(mass, (across, across, along), rotation=rotation, name="coin")
    state = {coin: tf.Pose(start, orientation, velocity, turn * up + spin * axis, "space")}
    disc = RollingDisc(coin, radius=radius)
    problem = tf.InitialValueProblem(tf.System([coin, disc], gravity=(0, 0, -GRAVITY)), state, (0, 2))

    def turned(t, x):
        c, s = np.cos(turn * t), np.sin(turn * t)
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ x

    return problem, disc, lambda t: (centre + turned(t, start - centre), turned(t, axis), turned(t, force(spin)))


def turntable(turn=3.0, mass=1.3, radius=0.2):
    """A homogeneous ball on a turning table: its centre runs in a circle at 2/7 of the table's rate."""
    inertia = 0.4 * mass * radius**2
    ball = tf.RigidBody(mass, (inertia,) * 3, name="ball")

    def rolling(frames, t, c):
        v, x = frames[0].velocity_at(ca.vertcat(0, 0, -c[0])), frames[0].position
        return [v[0] + c[1] * x[1], v[1] - c[1] * x[0]]

    table = NonholonomicConstraint(ball, rolling, 2, parameters=(radius, turn), name="table")
    height = tf.Constraint(ball, lambda f, t, c: f[0].position[2] - c[0], 1, parameters=[radius])
    start, velocity = np.array([1, 0, radius]), np.array([0.2, 0.5, 0])
    slip = np.cross([0, 0, turn], start) - velocity  # = omega x (-radius e3)
    omega = np.array([slip[1] / radius, -slip[0] / radius, 0.3])
    problem = tf.InitialValueProblem(tf.System([ball, table, height]),
                                     {ball: tf.Pose(start, velocity=velocity, angular_velocity=omega, frame="space")},
                                     (0, 3))
    rate = 2 / 7 * turn
    centre = start + np.cross([0, 0, 1], velocity) / rate

    def exact(t):
        c, s = np.cos(rate * t), np.sin(rate * t)
        return centre + np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ (start - centre)

    return problem, exact


def test_a_sleigh_with_an_arm_as_a_tree():
    """Elements took the energy form of themselves for trees with joints that close loops, not for those that roll."""
    def moved(hull, arm, parts, start):
        system = tf.System([*parts, tf.KnifeEdge(hull, across=(0, 1, 0))])
        sol = tf.solve(tf.InitialValueProblem(system, start, (0, 0.5)), tf.MixedGalerkin(3), 10, progress=False)
        return np.append(sol.position(hull, 0.5), sol.position(arm, 0.5))

    ahead, swing = tf.Pose(velocity=(1, 0, 0)), (0.3, 2.0)
    links = [tf.Link("hull", 2.0, inertia=(0.1, 0.2, 0.3)), tf.Link("arm", 1.0, inertia=(0.1, 0.12, 0.15))]
    tree = tf.Tree(links, [tf.TreeJoint("hinge", "hull", "arm", position=(0.5, 0, 0))], base="free", name="tree")
    one = moved(tree.link("hull"), tree.link("arm"), [tree], {tree: {tree.base_joint: ahead, "hinge": swing}})
    hull, arm = tf.RigidBody(2.0, (0.1, 0.2, 0.3), name="hull"), tf.RigidBody(1.0, (0.1, 0.12, 0.15), name="arm")
    hinge = tf.Revolute(arm, hull, point_a=(0, 0, 0), point_b=(0.5, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    other = moved(hull, arm, [hull, arm, hinge], {hull: ahead, hinge: swing})
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_sleigh_reaches_the_exact_motion(rotation):
    problem = find_case("chaplygin-sleigh").make(rotation=rotation, t_end=2.0)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 80)
    centre, angle, spin, force = sleigh_exact(2.0)
    assert np.abs(sol.position("sleigh", 2.0) - centre).max() < 1e-10
    assert sol.angular_velocity("sleigh", 2.0)[2] == pytest.approx(spin, rel=0, abs=1e-10)
    matrix = sol.rotation_matrix("sleigh", 2.0)
    assert np.arctan2(matrix[1, 0], matrix[0, 0]) == pytest.approx(angle, rel=0, abs=1e-10)
    assert sol.field("nonholonomic", 2.0)[0] == pytest.approx(force, rel=0, abs=1e-5)  # the force across the edge
    assert np.abs(sol.energy() - sol.energy()[0]).max() < 1e-13
    assert np.abs(problem.system.nonholonomic(sol.t, sol.z)).max() < 1e-13
    assert np.abs(sol.constraints()).max() < 1e-13


@pytest.mark.parametrize("element, order", [
    (tf.MixedGalerkin(1), 2), (tf.MixedGalerkin(2), 4), (tf.MixedGalerkin(3), 6),
    (tf.MixedGalerkin(2, n_points=2), 4), (tf.BubnovGalerkin(1), 2), (tf.BubnovGalerkin(2), 2),
    (tf.BubnovGalerkin(3), 4), (tf.BubnovGalerkin(3, multipliers="continuous"), 4),
    (tf.BubnovGalerkin(2, drop="end"), 2), (NonTwistingEM(), 2), (DLA(), 2)], ids=repr)
def test_order(element, order):
    problem, centre = find_case("chaplygin-sleigh").make(t_end=2.0), sleigh_exact(2.0)[0]
    errors = [np.abs(tf.solve(problem, element, n).position("sleigh", 2.0) - centre).max() for n in (20, 40, 80)]
    assert errors[0] < (0.02 if order == 2 else 1e-5)
    assert -np.polyfit(np.log([20, 40, 80]), np.log(errors), 1)[0] == pytest.approx(order, abs=0.1)
    assert order == element.order


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_disc_rolls_in_a_circle(rotation):
    problem, disc, exact = steady_disc(rotation)
    start = exact(0)[2]
    # friction and normal force are the multipliers: those of the first instant, then along the motion
    friction = nonholonomic_multipliers(problem.system, 0, problem.z0)
    assert friction @ disc.directions + [0, 0, start[2]] == pytest.approx(start, rel=0, abs=1e-9)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 200)
    position, axis, force = exact(2.0)
    assert np.abs(sol.position("coin", 2.0) - position).max() < 1e-10
    assert np.abs(sol.rotation_matrix("coin", 2.0)[:, 2] - axis).max() < 1e-10
    assert sol.field("nonholonomic", 2.0)[:2] @ disc.directions + [0, 0, force[2]] == pytest.approx(force, abs=1e-5)
    contact = problem.system.constraint_names.index("RollingDisc 1: contact")
    assert sol.multipliers(2.0)[contact] == pytest.approx(force[2], abs=1e-5)
    assert np.abs(sol.energy() - sol.energy()[0]).max() < 1e-12
    assert not has_power(problem.system)


def test_ball_on_a_turntable():
    problem, exact = turntable()
    sol = tf.solve(problem, tf.MixedGalerkin(3), 200)
    assert np.abs(sol.position("ball", 3.0) - exact(3.0)).max() < 1e-8
    assert np.ptp(sol.energy()) > 1  # the table does work,
    assert np.abs(sol.energy.balance()).max() < 1e-12  # which is accounted for
    power = sol.energy.power(np.array([0.7]))["table"]
    assert power == pytest.approx((sol.energy(0.7 + 1e-4) - sol.energy(0.7 - 1e-4)) / 2e-4, rel=2e-3)
    for element in (tf.MixedGalerkin(3), tf.MixedGalerkin(2, keep="all"), NonTwistingEM()):
        sol = tf.solve(problem, element, 200)
        assert np.abs(sol.energy.balance()).max() < 1e-12
        work = sol.energy.work(by_part=True)
        assert list(work) == ["table"]
        assert work["table"] == pytest.approx(sol.energy() - sol.energy()[0], rel=0, abs=1e-11)


def test_sphere_rolls_straight():
    """A ball with any inertia rolls at constant speed while it turns about a principal axis."""
    ball = tf.RigidBody(2.0, (0.02, 0.03, 0.03), name="ball")
    system = tf.System([ball, RollingSphere(ball, radius=0.5, normal=(0, 0, 2), plane_point=(7, 7, 1))],
                       gravity=(0, 0, -GRAVITY))
    state = {ball: tf.Pose((0, 0, 1.5), velocity=(0.4, 0, 0), angular_velocity=(0, 0.8, 0))}
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, 5)), tf.MixedGalerkin(2), 50)
    assert np.abs(sol.position("ball", 5.0) - [2, 0, 1.5]).max() < 1e-8
    assert np.abs(sol.field("nonholonomic", np.linspace(0, 5, 11))).max() < 1e-6


# ---- what has to be equal

def test_integrable_constraint_is_the_holonomic_one():
    """x.xdot = 0 as a nonholonomic constraint gives the same steps as x.x = 1 as a holonomic one."""
    def problem(part):
        bead = tf.PointMass(1.3, name="bead")
        state = {bead: tf.Pose(position=(1, 0, 0), velocity=(0, 0.7, 0.2))}
        return tf.InitialValueProblem(tf.System([bead, part(bead)], gravity=(0, 0, -GRAVITY)), state, (0, 2))

    sphere = problem(lambda b: tf.Constraint(b, lambda f, t, c: (ca.sumsqr(f[0].position) - 1) / 2, 1))
    pfaffian = problem(lambda b: NonholonomicConstraint(b, lambda f, t, c: ca.dot(f[0].position, f[0].velocity), 1))
    element = tf.MixedGalerkin(2)
    a, b = tf.solve(sphere, element, 40), tf.solve(pfaffian, element, 40)
    assert np.abs(a.z - b.z).max() < 1e-12
    times = np.linspace(0, 2, 17)
    assert a.multipliers(times, kind="element") == pytest.approx(b.field("nonholonomic", times), rel=0, abs=1e-9)
    assert sphere.system.consistent_multipliers(0, sphere.z0)[0] == pytest.approx(
        nonholonomic_multipliers(pfaffian.system, 0, pfaffian.z0)[0], rel=0, abs=1e-12)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.MixedGalerkin(2, keep="all"),
                                     NonTwistingEM(), DLA()], ids=repr)
def test_marched_windowed_and_global_are_equal(element):
    problem, _, _ = steady_disc("quaternion")
    marched = tf.solve(problem, element, 60)
    for driver in ("windows", "global"):
        assert np.abs(tf.solve(problem, element, 60, driver=driver).z - marched.z).max() < 1e-9


def test_generalized_coordinates():
    """The sleigh in x, y and angle, with a constraint by formula."""
    def kinetic(q, v, c):
        return c[0] / 2 * (v[0] ** 2 + v[1] ** 2) + c[1] / 2 * v[2] ** 2

    body = tf.GeneralizedBody(3, kinetic, parameters=(1.5, 0.7), name="sleigh")

    def across(f, t, c):
        angle, rate = f[0].q[2], f[0].rate
        return ca.sin(angle) * rate[0] - ca.cos(angle) * rate[1] + c[0] * rate[2]

    system = tf.System([body, NonholonomicConstraint(body, across, 1, parameters=[0.4])])
    problem = tf.InitialValueProblem(system, {body: tf.Coordinates(q=(0.4, 0, 0), v=(0.3, 0.8, 2))}, (0, 2))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 80)
    centre, angle, _, _ = sleigh_exact(2.0)
    assert sol.coordinates(body, 2.0) == pytest.approx([*centre[:2], angle], rel=0, abs=1e-9)


def test_files_keep_everything(tmp_path):
    problem, _, _ = steady_disc("quaternion")
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20)
    sol.save(tmp_path / "disc.h5")
    again = tf.load(tmp_path / "disc.h5")
    assert np.array_equal(again.z, sol.z)
    assert np.array_equal(again.field("nonholonomic", sol.t), sol.field("nonholonomic", sol.t))


def test_description():
    body, other = tf.RigidBody(1.0, (1, 2, 2.5), name="a"), tf.RigidBody(2.0, (1, 2, 2.5), name="b")
    parts = [RollingDisc(body, radius=0.3, axis=(0, 1, 1), normal=(0, 1, 1), plane_point=(1, 2, 3), name="disc"),
             RollingSphere(other, radius=0.4), NonTwisting(body, 0.25),
             KnifeEdge(other, point=(1, 0, 0), across=(0, 2, 0))]
    system = tf.System([body, other, *parts])
    again = build(describe(system))
    assert again.nonholonomic_names == system.nonholonomic_names
    assert again.n_nonholonomic == 6 and again.n_constraints == system.n_constraints == 4
    z = np.random.default_rng(1).standard_normal((3, system.n_z))
    assert again.nonholonomic(0, z) == pytest.approx(system.nonholonomic(0, z), rel=0, abs=1e-14)


# ---- derivatives and what the elements see

def test_derivatives():
    problem, _ = turntable()
    body = tf.RigidBody(1.0, (1, 2, 2.5), rotation="directors", name="a")
    moving = NonholonomicConstraint(
        body, lambda f, t, c: ca.dot(f[0].velocity, f[0].direction([0, 1, 0])) - ca.sin(t), 1)
    for system in (problem.system, tf.System([body, NonTwisting(body, 0.3), moving, RollingDisc(body, radius=1)])):
        z, t, step = np.random.default_rng(2).standard_normal(system.n_z), 0.4, 1e-6
        matrix, jacobian, drift, rate = nonholonomic_derivatives(system, t, z)
        assert matrix @ system.velocity(t, z) + drift == pytest.approx(system.nonholonomic(t, z), rel=0, abs=1e-12)
        shifts = step * np.eye(system.n_z)
        differences = (system.nonholonomic(t, z + shifts) - system.nonholonomic(t, z - shifts)).T / (2 * step)
        assert jacobian.toarray() == pytest.approx(differences, rel=0, abs=1e-7)
        later, earlier = system.nonholonomic(t + step, z), system.nonholonomic(t - step, z)
        assert rate == pytest.approx((later - earlier) / (2 * step), rel=0, abs=1e-8)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.MixedGalerkin(2, keep="all"),
                                     tf.BubnovGalerkin(2), NonTwistingEM(), DLA()], ids=repr)
def test_tangent(element):
    problem, _, _ = steady_disc("quaternion")
    batch = ElementBatch(problem.system, element)
    x = np.random.default_rng(3).standard_normal(batch.n_columns) * 0.1
    for shape, dofs in enumerate(batch.columns.fields[0]):
        x[dofs] += problem.z0 + 0.01 * shape
    h, step = 0.1, 1e-6
    shifts = step * np.eye(batch.n_columns)
    tangent = batch.dense(batch(x[None], h)[1])[0]
    differences = (batch(x + shifts, h)[0] - batch(x - shifts, h)[0]).T / (2 * step)
    assert np.abs(tangent - differences).max() < 1e-7 * np.abs(tangent).max()


class WithoutField(tf.MixedGalerkin):
    """mG(k) as it is without a field for nonholonomic constraints."""

    @property
    def trial(self):
        basis = LagrangeBasis(self.degree - 1)
        return {"state": Space(LagrangeBasis(self.degree), True), "multipliers": Space(basis, False, "multipliers")}

    @property
    def test(self):
        basis = LagrangeBasis(self.degree - 1)
        return {"state": Space(basis, False), "multipliers": Space(basis, False, "multipliers")}

    slots = tf.TimeElement.slots
    test_slots = tf.TimeElement.test_slots
    nodal_values = tf.TimeElement.nodal_values
    form = "without"

    def density(self, s):
        return s.motion, s.constraint_rate


@pytest.mark.parametrize("name", ["spinning-box", "four-bar", "slider-crank", "mass-spring"])
def test_kernels_of_others_do_not_change(name):
    system = find_case(name).make().system
    kernels = []
    for element in (tf.MixedGalerkin(2), WithoutField(2)):
        spaces = [*element.trial.values(), *element.test.values()]
        found = components(system, [s.components for s in spaces])
        kernels.append([point_kernel(group.part, element, {name: c.places[i].shape[1] for name, c in found.items()})
                        for i, group in enumerate(system.groups)])
    for own, without in zip(*kernels, strict=True):
        assert own.kernel.function.serialize() == without.kernel.function.serialize()
        assert own.entries == without.entries


# ---- messages

def test_initial_velocity():
    body = tf.RigidBody(1.0, (1, 1, 1), name="skate")
    system = tf.System([body, KnifeEdge(body, name="edge")])
    state = {body: tf.Pose(velocity=(1, 0.5, 0), angular_velocity=(0, 0, 2))}
    with pytest.raises(tf.InputError, match=r"nonholonomic constraint 'edge: velocity across the edge' by 0.5"):
        tf.InitialValueProblem(system, state, (0, 1))
    problem = tf.InitialValueProblem(system, state, (0, 1), assemble=True)
    assert np.abs(system.nonholonomic(0, problem.z0)).max() < 1e-14
    mended = assemble(system, state)[body]
    assert body.velocity(mended.q, mended.p) == pytest.approx([1, 0, 0], rel=0, abs=1e-14)


def test_elements_that_refuse():
    system = find_case("chaplygin-sleigh").make().system
    with pytest.raises(tf.InputError, match=r"eml does not take nonholonomic constraints .'edge: velocity across"):
        EML().check(system)
    for element in (tf.MixedGalerkin(1), tf.BubnovGalerkin(1), NonTwistingEM(), DLA()):
        element.check(system)


def test_repeated_constraints():
    body = tf.RigidBody(1.0, (1, 1, 1), name="skate")
    system = tf.System([body, KnifeEdge(body), KnifeEdge(body)])
    with pytest.raises(tf.InputError, match=r"'KnifeEdge 2: velocity across.*' can be left out.*='drop'"):
        nonholonomic_multipliers(system, 0, tf.InitialValueProblem(system, {}, (0, 1)).z0)


def test_bad_input():
    body, bead = tf.RigidBody(1.0, (1, 1, 1)), tf.PointMass(1.0)
    with pytest.raises(tf.InputError, match="must be affine in the velocities"):
        NonholonomicConstraint(bead, lambda f, t, c: ca.sumsqr(f[0].velocity) - 1, 1)
    with pytest.raises(tf.InputError, match="does not depend on the velocities in 'second'; use a Constraint"):
        NonholonomicConstraint(bead, lambda f, t, c: [f[0].velocity[0], f[0].position[0]], 2, names=["first", "second"])
    with pytest.raises(tf.InputError, match="must return 1 value"):
        NonholonomicConstraint(bead, lambda f, t, c: f[0].velocity, 1)
    with pytest.raises(tf.InputError, match="contains the symbols foreign"):
        NonholonomicConstraint(bead, lambda f, t, c: f[0].velocity[0] + ca.SX.sym("foreign"), 1)
    with pytest.raises(tf.InputError, match="bodies must be a body or a list of bodies, not None"):
        NonholonomicConstraint(None, lambda f, t, c: 0, 1)
    with pytest.raises(tf.InputError, match="KnifeEdge must act on a RigidBody"):
        KnifeEdge(bead)
    with pytest.raises(tf.InputError, match="across has length zero"):
        KnifeEdge(body, across=(0, 0, 0))
    with pytest.raises(tf.InputError, match="a must be between 0 and 1, not 2"):
        NonTwisting(body, 2)
    with pytest.raises(tf.InputError, match="radius must be positive"):
        RollingSphere(body, radius=0)
    flat = tf.System([body, RollingDisc(body, radius=1, name="disc")])
    with pytest.raises(tf.InputError, match="disc is not finite at the initial state"):
        tf.InitialValueProblem(flat, {}, (0, 1))


# ---- in joint coordinates

def in_joint_coordinates(parts, start, t_end, n):
    system = tf.System(parts, gravity=(0, 0, -GRAVITY), coordinates="joint")
    assert system.n_nonholonomic and hasattr(system.bodies[0], "moving_joints")
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, t_end)), tf.MixedGalerkin(3, form="energy"), n,
                   progress=False)
    assert sol.success
    return sol


def test_a_ball_rolls_down_a_plane_in_joint_coordinates():
    slope, radius = 0.3, 0.15
    normal, down = np.array([np.sin(slope), 0, np.cos(slope)]), np.array([np.cos(slope), 0, -np.sin(slope)])
    ball = tf.RigidBody(2.0, (0.4 * 2.0 * radius**2,) * 3, name="ball")
    sol = in_joint_coordinates([ball, RollingSphere(ball, radius=radius, normal=normal)],
                               {ball: tf.Pose(radius * normal)}, 0.5, 20)
    way = 5 / 14 * GRAVITY * np.sin(slope) * sol.t**2
    assert np.allclose(sol.position(ball, sol.t), radius * normal + way[:, None] * down, rtol=0, atol=1e-9)
    assert np.abs(sol.energy.balance()).max() < 1e-9


def test_a_skate_on_a_slope_in_joint_coordinates():
    """A cycloid, x = k sin(w t)^2 / (2 w^2), y = k (2 w t - sin(2 w t)) / (4 w^2), k the pull down the slope."""
    spin, slope = 1.5, 0.4
    skate = tf.RigidBody(2.0, (0.3, 0.2, 0.4), name="skate")
    normal, down = np.array([np.sin(slope), 0, np.cos(slope)]), np.array([np.cos(slope), 0, -np.sin(slope)])
    plane = tf.Planar(skate, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=normal, name="plane")
    start = tf.Pose(orientation=np.column_stack([down, (0, 1, 0), normal]), angular_velocity=(0, 0, spin))
    sol = in_joint_coordinates([skate, plane, KnifeEdge(skate)], {skate: start}, 2.0, 60)
    pull, turned = GRAVITY * np.sin(slope), spin * sol.t
    x, y = pull * np.sin(turned)**2 / (2 * spin**2), pull * (2 * turned - np.sin(2 * turned)) / (4 * spin**2)
    assert np.allclose(sol.position(skate, sol.t), x[:, None] * down + y[:, None] * [0, 1, 0], rtol=0, atol=1e-8)
    carried = sol.joint(plane).force(sol.t)
    assert np.allclose(carried, 2.0 * GRAVITY * np.cos(slope) * normal, rtol=0, atol=1e-8)


@pytest.mark.long
def test_rolling_weighs_alike_in_any_unit_of_time():
    """Its rows and those of its rates weighed as rates both: searches in ms went another way than in s."""
    found = []
    for second in (1.0, 1e3):
        coin = tf.RigidBody(1.0, (0.02, 0.02, 0.04), name="coin")
        turn = tf.ControlTorque(coin, name="turn")
        system = tf.System([coin, tf.RollingDisc(coin, radius=0.3), turn], gravity=(0, 0, -9.81 / second**2))
        start = {coin: tf.Pose((0, 0, 0.3), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])}
        problem = tf.OptimalControl(
            system, start, t_span=(0, second), cost=tf.Effort(turn, second**3),
            end_cost=lambda end, _: 50 * ((end.position("coin")[0] - 0.4)**2 + (end.position("coin")[1] - 0.1)**2))
        with pytest.warns(tf.NotSolved):
            sol = tf.solve(problem, tf.MixedGalerkin(2), 4, newton=tf.Newton(max_iterations=5), progress=False)
        found.append(sol.status.residual_history)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-12)
