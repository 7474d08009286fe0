"""What says that it converged is as accurate as it says: forces that act for less than an element among others."""

import warnings

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf

G = 9.81
HINGE = {"point_a": (0, 0, 0), "point_b": (0, 0, 0), "axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}


def dropped(stiffness, height, share, degree, tolerance):
    """Height of a ball at the end, found and in closed form: it falls, touches an elastic floor, and rises."""
    ball = tf.PointMass(1.0, name="ball")
    system = tf.System([ball, tf.PlaneContact(ball, stiffness=stiffness)], gravity=(0, 0, -G))
    w, v, fall = np.sqrt(stiffness), np.sqrt(2 * G * height), np.sqrt(2 * height / G)
    end = fall + 2 / w * (np.pi - np.arctan(v * w / G)) + share * fall
    sol = tf.solve(tf.InitialValueProblem(system, {ball: tf.Pose((0, 0, height))}, (0, end)), tf.MixedGalerkin(degree),
                   tolerance=tolerance, progress=False)
    assert sol.success, sol.status.message
    return sol.position(ball, end)[2], v * share * fall - G * (share * fall) ** 2 / 2


@pytest.mark.parametrize("stiffness, height, share, degree, tolerance", [
    (1.46037712e5, 1.671, 0.724, 1, 1e-5), (1e4, 1.0, 1.0, 1, 1e-6), (1e4, 1.0, 1.0, 2, 1e-6), (1e4, 1.0, 1.0, 3, 1e-6),
    (1e4, 1.0, 1.0, 4, 1e-6), (1e6, 1.0, 0.8, 2, 1e-9)])
def test_a_ball_does_not_fall_through_the_floor(fault, stiffness, height, share, degree, tolerance):
    found, right = dropped(stiffness, height, share, degree, tolerance)
    fault(f"ball on a floor of {stiffness:g} N/m, mG({degree})", right, found, rtol=0, atol=10 * tolerance * height)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_balls_at_random(fault, degree):
    rng = np.random.default_rng(0)
    off = []
    for _ in range(20):
        case = 10 ** rng.uniform(3, 6), rng.uniform(0.2, 3), rng.uniform(0.6, 1.0)
        found, right = dropped(*case, degree, 1e-5)
        off.append(abs(found - right) / case[1])
    fault(f"20 balls, mG({degree}), 1e-5", "at most 1e-4", max(off), met=max(off) <= 1e-4)


def end(system, state, time, degree, tolerance, coordinate):
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, time)), tf.MixedGalerkin(degree), tolerance=tolerance,
                   progress=False)
    assert sol.success, sol.status.message
    return sol.z[-1, coordinate], len(sol.t) - 1


def integrated(slope, start, time):
    return solve_ivp(slope, (0, time), start, rtol=1e-12, atol=1e-13, max_step=1e-3, method="DOP853").y[:, -1]


@pytest.mark.long
@pytest.mark.parametrize("tolerance", [1e-5, 1e-6, 1e-7])
def test_a_slack_rope_at_each_tolerance(fault, tolerance):
    """It was refused at 1e-6 and not at 1e-5 and 1e-7."""
    bob = tf.PointMass(1.0, name="bob")
    system = tf.System([bob, tf.SlackRope(bob, None, length=1.0, stiffness=2e4, damping=0.05)], gravity=(0, 0, -G))

    def slope(t, y):
        length = np.hypot(y[0], y[1])
        rate = (y[0] * y[2] + y[1] * y[3]) / length
        pull = 2e4 * max(length - 1, 0) * max(1 + 0.05 * rate, 0) / length
        return [y[2], y[3], -pull * y[0], -pull * y[1] - G]

    right = integrated(slope, [0.5, 0.2, 0, 0], 2.0)[1]
    found, _ = end(system, {bob: tf.Pose((0.5, 0, 0.2))}, 2.0, 2, tolerance, 2)
    fault(f"slack rope at {tolerance:g}", right, found, rtol=0, atol=10 * tolerance)


@pytest.mark.long
def test_stops_that_count_turns(fault):
    leaf = tf.RigidBody(1.0, (0.5, 0.5, 1.0), name="leaf")
    hinge = tf.Revolute(leaf, **HINGE, name="hinge")
    stop = tf.EndStop(hinge, lowest=-0.5, highest=0.5, stiffness=1e4, damping=0.1)
    sol = tf.solve(tf.InitialValueProblem(tf.System([leaf, hinge, stop]), {hinge: (0.0, 3.0)}, (0, 2.0)),
                   tf.MixedGalerkin(2), tolerance=1e-6, progress=False)

    def slope(t, y):
        above, below = max(y[0] - 0.5, 0), max(-0.5 - y[0], 0)
        return [y[1], 1e4 * (below * max(1 - 0.1 * y[1], 0) - above * max(1 + 0.1 * y[1], 0))]

    fault("door between stops", integrated(slope, [0.0, 3.0], 2.0)[0], sol.joint(hinge).angle(2.0), rtol=0, atol=1e-6)
    fault("its elements", "at most 1000", len(sol.t) - 1, met=sol.success and len(sol.t) <= 1001)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_counters_of_turns_need_not_be_accurate(fault, degree):
    """193 250 elements for 874, with mG(1)."""
    counts = []
    for turns in (False, True):
        leaf = tf.RigidBody(1.0, (0.5, 0.5, 1.0), name="leaf")
        hinge = tf.Revolute(leaf, **HINGE, name="hinge")
        system = tf.System([leaf, hinge, tf.JointSpring(hinge, stiffness=100.0, turns=turns)])
        sol = tf.solve(tf.InitialValueProblem(system, {hinge: (0.0, 3.0)}, (0, 0.6889)), tf.MixedGalerkin(degree),
                       tolerance=1e-2, progress=False)
        counts.append(len(sol.t) - 1)
        fault(f"door with turns={turns}, mG({degree})", 0.3 * np.sin(6.889), sol.joint(hinge).angle(0.6889), rtol=0,
              atol=1e-3)
    fault("elements with turns counted", counts[0], counts[1], rtol=0.01)


def test_formulas_that_switch(fault):
    """A potential with `fmax` and `fabs`."""
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2,
                                  lambda q, c: 50 * ca.fmax(q[0] - 1, 0)**2 + 3 * ca.fabs(q[0]))
    found, _ = end(system, tf.Coordinates([0.7], [2.0]), 5.0, 2, 1e-7, 0)
    hit = solve_ivp(lambda t, y: [y[1], -100 * max(y[0] - 1, 0) - 3 * np.sign(y[0])], (0, 5), [0.7, 2.0], rtol=1e-9,
                    atol=1e-11, max_step=1e-3).y[0, -1]
    fault("fmax and fabs in a potential", hit, found, rtol=0, atol=1e-5)


@pytest.mark.parametrize("pulse, area, middle", [
    (lambda f, t, c: 1e3 * ca.exp(-((t - 3.3) / 1e-3)**2), np.sqrt(np.pi), 3.3),
    (lambda f, t, c: ca.if_else(t < 3.3, 0, ca.if_else(t < 3.301, 1e3, 0)), 1.0, 3.3005),
    (lambda f, t, c: 2e3 * ca.fmax(1 - ca.fabs(t - 3.3) / 1e-3, 0), 2.0, 3.3)])
def test_narrow_pulses(fault, pulse, area, middle):
    body = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="body")
    system = tf.System([body, tf.FormulaForce(body, pulse)])
    found, _n = end(system, {body: tf.Coordinates([0.0], [0.1])}, 10.0, 2, 1e-6, 0)
    fault("pulse of a ten thousandth of the time", 1.0 + area * (10 - middle), found, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_many_bounces(fault):
    """79 contacts of 3 ms in 6 s, each with loss."""
    ball = tf.PointMass(1.0, name="ball")
    system = tf.System([ball, tf.PlaneContact(ball, stiffness=1e6, damping=0.2)], gravity=(0, 0, -G))
    found, _ = end(system, {ball: tf.Pose((0, 0, 1))}, 3.0, 3, 1e-6, 2)
    right = solve_ivp(lambda t, y: [y[1], max(1e6 * -y[0] * (1 - 0.2 * y[1]), 0) * (y[0] < 0) - G], (0, 3), [1.0, 0],
                      rtol=1e-10, atol=1e-12, max_step=1e-4, method="DOP853").y[0, -1]
    fault("many bounces", right, found, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n, told", [(60, True), (300, True), (400, True), (500, True), (800, True), (3000, False)])
def test_coarse_elements_at_a_contact(fault, n, told):
    """Errors of the height at the end are 0.99, 0.18, 0.17, 0.098, 0.03 and 0.0001 m, all of them converged."""
    ball = tf.PointMass(1.0, name="ball")
    system = tf.System([ball, tf.PlaneContact(ball, stiffness=1e5, damping=0.1, name="floor")], gravity=(0, 0, -G))
    fault(f"{n} elements at a floor are reported", told, names_it("floor", system, {ball: tf.Pose((0, 0, 1))}, 3.0, n))


@pytest.mark.parametrize("n, told", [(30, True), (2000, False)])
def test_coarse_elements_at_a_rope(fault, n, told):
    bob = tf.PointMass(1.0, name="bob")
    system = tf.System([bob, tf.SlackRope(bob, None, length=1.0, stiffness=2e4, name="rope")], gravity=(0, 0, -G))
    fault(f"{n} elements at a rope are reported", told, names_it("rope", system, {bob: tf.Pose((0.5, 0, 0.2))}, 1.0, n))


def names_it(name, system, state, time, n):
    """Whether a march warns, which names the part, or moves too fast for its elements anyway."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tf.solve(tf.InitialValueProblem(system, state, (0, time)), tf.MixedGalerkin(2), n, progress=False)
    texts = [str(w.message) for w in found if issubclass(w.category, tf.UnderResolved)]
    return any(name in text or "moves too fast" in text for text in texts)


def arm(n_links, time):
    """Least effort of a light arm between two poses: it turns far to put its inertia to use."""
    rng, shares = np.random.default_rng(0), 1 / np.arange(1, n_links + 1)
    links = [tf.Link("ground"), *(tf.Link(f"l{i}", mass=4 * x, centre=(0, 0.05 * (i % 2), 0.2),
                                          inertia=np.array([0.1, 0.1, 0.02]) * x**2) for i, x in enumerate(shares))]
    joints = [tf.TreeJoint(f"j{i}", links[i].name, links[i + 1].name, axis=(0, float(i > 0), float(i == 0)),
                           position=(0, 0, 0.4 * (i > 0))) for i in range(n_links)]
    tree = tf.Tree(links, joints, name="arm")
    motors = tf.GeneralizedControl(tree, np.eye(n_links), name="motors")
    ends = [{tree: {f"j{i}": x for i, x in enumerate(row)}} for row in rng.uniform(-1, 1, (2, n_links))]
    return tf.OptimalControl(tf.System([tree, motors], gravity=(0, 0, -G)), *ends, (0, time), tf.Effort(motors),
                             bounds={motors: (-50, 50)})


def wheel():
    """One that turns 12 times, which its angle resolves."""
    hub = tf.RigidBody(10.0, (2, 2, 2), name="hub")
    disc = tf.RigidBody(1.0, (0.05, 0.05, 0.01), name="disc")
    axle = tf.Revolute(disc, hub, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="axle")
    motor = tf.JointControl(axle, name="motor")
    end = {hub: tf.EndState(orientation=(np.cos(0.2), 0, 0, np.sin(0.2)), angular_velocity=(0, 0, 0))}
    return tf.OptimalControl(tf.System([hub, disc, axle], coordinates="joint"), {}, end, (0, 2.0), tf.Effort(motor))


@pytest.mark.long
@pytest.mark.parametrize("make, n, told", [
    (lambda: arm(3, 3.0), 8, True), (lambda: arm(4, 2.0), 8, True), (lambda: arm(3, 1.0), 8, True),
    (lambda: arm(3, 1.0), 64, False), (wheel, 6, False)])
def test_coarse_elements_of_optimal_control(fault, make, n, told):
    """Costs 6.0, 18.8 and 21.1 for 9.3, 56 and 22.5."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tf.solve(make(), tf.MixedGalerkin(2, form="lagrange"), n, progress=False)
    texts = [str(w.message) for w in found if issubclass(w.category, tf.UnderResolved)]
    fault(f"{n} elements of an arm, or a wheel, are reported", told, any("moves too fast" in text for text in texts))


def rolled(turns, n, rotation):
    """End of a cantilever of length 1 that a moment bends into a part of a circle, and warnings."""
    section = tf.Section(EA=1e4, GA=1e4, GJ=10.0, EI=10.0, mass=1.0, inertia=(1e-2, 1e-2, 1e-2))
    beam = tf.Beam(1.0, section, n, 2, rotation, name="beam")
    clamp = tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0))
    moment = tf.Torque(beam.end, (0, 0, 20 * np.pi * turns), tf.Ramp(0, 1, 0, 1), frame="body")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rest = tf.equilibrium(tf.System([beam, clamp, moment]), t=1.0, n_steps=16)
    assert rest.success
    return rest.position(beam.end)[:2], [str(warning.message) for warning in told
                                         if issubclass(warning.category, tf.UnderResolved)]


@pytest.mark.long
@pytest.mark.parametrize("turns, rotation, few, enough", [(0.5, "quaternion", 1, 3), (0.5, "directors", 2, 4),
                                                          (1.0, "quaternion", 2, 4)])
def test_a_beam_bent_further_than_its_elements_resolve(fault, turns, rotation, few, enough):
    """It was off by up to 12 per cent of its length silently."""
    angle = 2 * np.pi * turns
    right = np.array([np.sin(angle), 1 - np.cos(angle)]) / angle
    place, told = rolled(turns, few, rotation)
    fault(f"{turns:g} turns by {few}, {rotation}", "a warning", f"{np.abs(place - right).max():.2g} m off",
          met=len(told) == 1 and told[0].startswith("beam bends"))
    place, told = rolled(turns, enough, rotation)
    fault(f"{turns:g} turns by {enough}, {rotation}", right, place, rtol=0, atol=6e-3)
    fault("its warnings", [], told)
