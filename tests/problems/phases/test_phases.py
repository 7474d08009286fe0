"""Optimal control in phases: impacts, states that go on, both ends of a cycle, and what is refused."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError

ELEMENT = tf.MixedGalerkin(2, n_points=2)
METHODS = "interior-point", "ipopt", "fatrop"
G = 9.81


def ball(start, end, **options):
    """A ball of 1 kg that moves up and down, pushed at a cost, for a time that is free."""
    body = tf.PointMass(1.0, dimension=1, name="ball")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    system = tf.System([body, tf.Force(body, (-G, 0, 0))])
    return tf.OptimalControl(system, {body: start}, {body: end}, (0, 0.5), cost=tf.Effort(push), free_time=True,
                             bounds={"duration": (0.01, 5)}, **options)


def state(x=None, v=None):
    return tf.EndState(position=[x, None, None], velocity=[v, None, None])


def bounce(e=0.8):
    return tf.Coupling(lambda before, after: after.rates("ball")[0] + e * before.rates("ball")[0], name="bounce")


def solved(phases, n=10, **options):
    sol = tf.solve(phases, ELEMENT, n, progress=False, **options)
    assert sol.success, sol.status.message
    return sol


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_that_bounces(method):
    """From 1 m to the floor, with 0.8 of the speed up again, to 0.64 m; no force is needed."""
    sol = solved(tf.Phases([ball(tf.Pose((1, 0, 0)), state(0)), ball(state(0), state(v=0))], [bounce()]), method=method)
    v = np.sqrt(2 * G)
    np.testing.assert_allclose(sol.durations, [v / G, 0.8 * v / G], rtol=0, atol=1e-7)
    np.testing.assert_allclose(sol[1].z[-1], [0.64, 0], rtol=0, atol=1e-7)
    assert abs(sol.objective) < 1e-9 and len(sol) == 2 and sol.starts[1] == pytest.approx(v / G, abs=1e-7)
    [attempt] = sol.attempts
    assert attempt.name == "first guess" and attempt.outcome == "solved"


@pytest.mark.parametrize("method", METHODS)
def test_a_cycle(method):
    """The ball is to come back to where it falls from, at least 1 m high: the force is found for both phases."""
    back = tf.Coupling(lambda start, end: end.q("ball")[0] - start.q("ball")[0], name="back")
    high = tf.Coupling(lambda start, end: start.q("ball")[0], 1.0, None, name="high")
    sol = solved(tf.Phases([ball(state(v=0), state(0)), ball(state(0), state(v=0))], [bounce()], [back, high]),
                 method=method)
    assert sol[0].z[0, 0] == pytest.approx(1, abs=1e-6) and sol[1].z[-1, 0] == pytest.approx(1, abs=1e-6)
    assert sol.objective == pytest.approx(1.57311077, rel=1e-6)  # of all methods, and in three phases below


def test_a_state_that_goes_on():
    """A phase cut in two changes nothing, and a solution is a guess for the next one."""
    up = [ball(state(0), state(0.3)), ball(tf.EndState(), state(1, 0))]
    phases = tf.Phases([ball(tf.Pose((1, 0, 0)), state(0)), *up], [bounce(), None])
    sol = solved(phases)
    assert sol.objective == pytest.approx(1.57311077, rel=1e-6)
    np.testing.assert_allclose(sol[1].z[-1], sol[2].z[0], rtol=0, atol=1e-9)
    again = solved(phases, guess=sol)
    assert again.statistics["newton_iterations"]["max"] < 0.7 * sol.statistics["newton_iterations"]["max"]
    assert again.objective == pytest.approx(sol.objective, rel=1e-9)


def test_phases_of_rigid_bodies():
    """A free body turns in two phases with different costs; the state goes on, unit quaternion and all."""
    def turn(start, end, weight):
        body = tf.RigidBody(1.0, (1.0, 2.0, 3.0), name="body")
        torque = tf.ControlTorque(body, name="torque")
        return tf.OptimalControl(tf.System([body]), {body: start}, {body: end}, (0, 1.0),
                                 cost=tf.Effort(torque, weight))
    half = np.radians(40)
    end = tf.EndState(orientation=(np.cos(half), np.sin(half), 0, 0), angular_velocity=(0, 0, 0))
    cheap = solved(tf.Phases([turn(tf.Pose(), tf.EndState(), 1.0), turn(tf.EndState(), end, 1.0)]), 8)
    body = tf.RigidBody(1.0, (1.0, 2.0, 3.0), name="body")
    torque = tf.ControlTorque(body, name="torque")
    whole = tf.solve(tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 2.0),
                                       cost=tf.Effort(torque)), ELEMENT, 16)
    assert cheap.objective == pytest.approx(whole.objective, rel=1e-6)
    dear = solved(tf.Phases([turn(tf.Pose(), tf.EndState(), 1.0), turn(tf.EndState(), end, 5.0)]), 8)
    assert cheap.objective < dear.objective < 5 * cheap.objective
    assert dear[0].objective > cheap[0].objective


def hopper(stands, start, end, shortest=0.05, **options):
    """A body of 4 kg and a foot of 1 kg with a force in the leg between them; the foot stands, or both fly."""
    names = ["body"] if stands else ["body", "foot"]
    masses = {name: tf.PointMass(4.0 if name == "body" else 1.0, dimension=1, name=name) for name in names}
    up = tf.ControlForce(masses["body"], [(1, 0, 0)], name="leg")
    actuators, options["bounds"] = [up], {up: (-200, 200), "duration": (shortest, 2)}
    cost = [tf.Effort(up, 1e-3)]
    length = tf.Limit(lambda now, u: now.q("body")[0] - (0 if stands else now.q("foot")[0]), 0.5, 1.0, name="length")
    options["limits"] = [length]
    if stands:  # the ground only pushes: force of the leg and weight of the foot
        options["limits"].append(tf.Limit(lambda now, u: u[0] + G, 0.0, name="ground"))
    else:
        down = tf.ControlForce(masses["foot"], [(-1, 0, 0)], name="reaction")
        actuators.append(down)
        options["limits"].append(tf.Limit(lambda now, u: u[0] - u[1], 0.0, 0.0, name="action and reaction"))
        cost.append(tf.Effort(down, 1e-3))
    system = tf.System(list(masses.values()), gravity=(-G, 0, 0))
    return tf.OptimalControl(system, {masses[name]: start[name] for name in names},
                             {masses[name]: end[name] for name in names if name in end}, (0, 0.4), cost,
                             actuators=actuators, free_time=True, **options)


def hopping_leg():
    """Stance and flight in a cycle."""
    free = {"body": tf.EndState(), "foot": state(0, 0)}
    stance = hopper(True, {"body": tf.EndState()}, {})
    flight = hopper(False, free, {"foot": state(0)}, 0.3)
    take_off = tf.Coupling(lambda before, after: ca.vertcat(after.q("body") - before.q("body"),
                                                            after.rates("body") - before.rates("body")))
    again = tf.Coupling(lambda start, end: ca.vertcat(start.q("body") - end.q("body"),
                                                      start.rates("body") - end.rates("body")))
    return tf.Phases([stance, flight], [take_off], again)


def test_a_hopping_leg():
    """Stance and flight have systems of different sizes; the foot loses its speed at the touchdown, in a cycle with a
    hop of 0.3 s at least. The centre of mass flies on a parabola, and IPOPT finds the same."""
    found = [solved(hopping_leg(), 16, method=m) for m in ("interior-point", "ipopt")]
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-6)
    sol = found[0]
    assert sol.durations[1] == pytest.approx(0.3, abs=1e-6)
    t = sol[1].t - sol[1].t[0]
    centre = (4 * sol[1].position("body", sol[1].t)[:, 0] + sol[1].position("foot", sol[1].t)[:, 0]) / 5
    speed = (4 * sol[1].velocity("body", sol[1].t)[0, 0] + sol[1].velocity("foot", sol[1].t)[0, 0]) / 5
    np.testing.assert_allclose(centre, centre[0] + speed * t - G * t**2 / 2, rtol=0, atol=1e-8)
    assert sol[1].position("foot", sol[1].t)[:, 0].max() > 0.01
    assert sol[0].controls(sol[0].t).min() >= -G - 1e-6


@pytest.mark.long
def test_heights_that_cost_nothing_are_those_in_the_middle_of_limits():
    """A cycle of hops costs the same at any height that the leg can have; the barrier has one of them, which the last
    steps find from anywhere: states were up to 6e-3 apart before."""
    first = solved(hopping_leg(), 16)
    others = [solved(hopping_leg(), 16, guess=first), solved(hopping_leg(), 16, guess=[tf.Guess(bend=0.1)] * 2)]
    for other in others:
        for one, two in zip(first.phases, other.phases, strict=True):
            np.testing.assert_allclose(one.z, two.z, rtol=0, atol=2e-7)


@pytest.mark.long
def test_phases_to_a_tolerance():
    """A ball in air that resists with the square of the speed bounces and is fanned up to 0.9 m."""
    def flight(start, end):
        body = tf.PointMass(1.0, dimension=1, name="ball")
        fan = tf.ControlForce(body, [(1, 0, 0)], name="fan")
        air = tf.FormulaForce(body, lambda f, t, c: -c[0] * f[0].velocity**3, parameters=[0.2], name="air")
        return tf.OptimalControl(tf.System([body, tf.Force(body, (-G, 0, 0)), air]), {body: start}, {body: end},
                                 (0, 0.5), tf.Effort(fan), free_time=True, bounds={"duration": (0.01, 5)})

    phases = tf.Phases([flight(tf.Pose((1, 0, 0)), state(0)), flight(state(0), state(0.9, 0))], [bounce()])
    exact = tf.solve(phases, tf.MixedGalerkin(3, n_points=3), 60, progress=False)
    for tolerance in (1e-3, 1e-6):
        sol = tf.solve(phases, tf.MixedGalerkin(1), tolerance=tolerance, n_elements=4, progress=False)
        assert sol.success and sol.statistics["estimated_error"] <= tolerance
        assert abs(sol.objective / exact.objective - 1) < tolerance
        assert np.abs(sol.durations / exact.durations - 1).max() < 2 * tolerance
    assert len(sol.statistics["meshes"]) > 1


def test_what_cannot_hold_is_named():
    """1 m up with 0.1 of the speed, and no force."""
    weak = ball(state(0), state(1, 0), limits=tf.Limit(lambda now, u: u[0], -0.1, 0.1, name="push"))
    fall = ball(tf.Pose((1, 0, 0)), state(0), limits=tf.Limit(lambda now, u: u[0], -0.1, 0.1))
    sol = tf.solve(tf.Phases([fall, weak], [bounce(0.1)]), ELEMENT, 6, progress=False)
    assert not sol.success and sol.status.reason == "not found" and "stays violated by" in sol.status.message


@pytest.mark.parametrize("make, message", [
    (lambda: tf.Phases([]), "phases must be a list"),
    (lambda: tf.Phases([3]), r"phases\[0\] must be an OptimalControl"),
    (lambda: tf.Phases([ball(tf.Pose(), state(0)), ball(tf.Pose(), state(0))]), "given as a whole"),
    (lambda: tf.Phases([ball(tf.Pose(), state(0)), ball(state(), state(0))], []), "links must have 1 entries"),
    (lambda: tf.Phases([ball(tf.Pose(), state(0)), ball(state(), state(0))], [3]), r"links\[0\]: 3 is not a Coupling"),
    (lambda: tf.Phases([ball(state(), state(0), periodic=True)]), "couplings of both ends of a phase are not taken"),
    (lambda: tf.solve(tf.Phases([ball(tf.Pose(), state(0))]), ELEMENT, mesh=[0, 0.2, 0.5]), "not mesh"),
    (lambda: tf.solve(tf.Phases([ball(tf.Pose(), state(0))]), tf.BubnovGalerkin(2), tolerance=1e-3), "do not converge"),
    (lambda: tf.solve(tf.Phases([ball(tf.Pose(), state(0))]), ELEMENT, 3, guess=[None, None]), "a list of 1 guesses"),
])
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_velocities_go_on_where_a_mass_is_dropped():
    """What is dropped leaves with its velocity, so that a body that glides needs no force."""
    def phase(mass, start, end, **unknown):
        body = tf.PointMass(mass, dimension=1, name="b")
        force = tf.ControlForce(body, [(1, 0, 0)], name="F")
        unknown = {name: (body, "mass") for name in unknown}
        return tf.OptimalControl(tf.System([body, force]), {body: start}, {body: state(end)}, (0, 1), tf.Effort(force),
                                 parameters=unknown, bounds={name: (1.0, 2.0) for name in unknown})

    first, later = phase(1.5, tf.Pose(velocity=(1, 0, 0)), 1), phase(1.0, tf.EndState(), 2)
    for after in (later, phase(1.0, tf.EndState(), 2, m=True)):
        sol = solved(tf.Phases([first, after]))
        assert sol.objective == pytest.approx(0, abs=1e-12)
        assert sol[0].velocity("b", 1.0)[0] == pytest.approx(1) and sol[1].velocity("b", 0.0)[0] == pytest.approx(1)
    ends = (first.system, np.array([1, 1.5])), (later.system, np.array([1, 1.5]))
    apart = tf.Phases([first, later]).links[0][0].missed(*ends)
    assert apart > 0.1  # the heavier body is faster there
    same = tf.Phases([first, phase(1.5, tf.EndState(), 2)]).links[0][0]
    assert same.missed(*[(first.system, np.array([1, 1.5]))] * 2) == 0


def turning(start, end, rest):
    wheel = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name="wheel")
    o, z = (0, 0, 0), (0, 0, 1)
    hinge = tf.Revolute(wheel, point_a=o, point_b=o, axis_a=z, axis_b=z, name="hinge")
    spring, motor = tf.TorsionalSpring(wheel, None, stiffness=0.02, rest=rest, name="spring"), tf.Motor(
        hinge, gear=5.0, rotor_inertia=1e-3)
    return tf.OptimalControl(tf.System([wheel, hinge, spring, motor]), {wheel: start}, end and {wheel: end}, (0, 1),
                             tf.Effort(motor))


def turned(angle):
    return tf.Pose(orientation=(np.cos(angle / 2), 0, 0, np.sin(angle / 2)))


@pytest.mark.long
@pytest.mark.parametrize("by_hand", [False, True])
def test_turns_go_on_over_phases(by_hand):
    """At a start that is free turns are counted from the angle there on, in later phases from the phase before."""
    link = tf.Coupling(lambda before, after: ca.vertcat(*(
        getattr(after, what)("hinge") - getattr(before, what)("hinge") for what in ("joint", "joint_rate"))))
    first = turning(tf.EndState(orientation=turned(-2.5).quaternion), None, 3.0)
    phases = tf.Phases([first, turning(tf.EndState(), turned(-2.0), -1.0)], [[link]] if by_hand else None)
    assert [one.name for one in phases.links[0]][1:] == ["turns go on"] * by_hand
    sol = solved(phases)
    counters = [one.z[:, one.system.coordinates(b)][:, 0] for one in sol.phases for b in one.system.bodies
                if b.is_counter]
    assert len(counters) == 2
    assert counters[0][0] == pytest.approx(2 * np.pi - 2.5, abs=1e-9)
    assert counters[1][0] == pytest.approx(counters[0][-1], abs=1e-9)


def test_warnings_name_their_phase():
    """Of a sign that jumps within an element of the second phase: no element of that costs as much beside it."""
    def phase(start, t_span):
        control = tf.Control(3, name="u")
        state = tf.State("x", "2 - u[0]", controls=[control])
        cost = "now.q('x')[0]**2 + 1e3 * (u[1] * (u[0] + 1) + u[2] * (1 - u[0]))"
        sign = tf.Limit("now.q('x')[0] + u[1] - u[2]", 0, 0, name="sign")
        return tf.OptimalControl(tf.System([state, control]), {state: start}, {state: tf.EndState(q=[None])}, t_span,
                                 cost, bounds={control: ([-1, 0, 0], [1, 10, 10])}, limits=sign)

    phases = tf.Phases([phase(-1.0, (0, 0.2)), phase(tf.EndState(q=[None]), (0.2, 2))], names=["down", "up"])
    with pytest.warns(tf.UnderResolved, match="up: element 1, at t = ") as told:
        tf.solve(phases, tf.MixedGalerkin(2), [2, 19], progress=False)
    assert not any(str(one.message).startswith("down") for one in told)


def test_a_start_is_guessed_where_links_hold():
    """A half of the mass and 1 m, between bounds, are left behind; a guess of its own stays as it is."""
    def phase(start, t_span):
        push = tf.Control(name="u")
        state = tf.State("x", ["u[0]", "2 * t", "3"], controls=[push])
        return tf.OptimalControl(tf.System([state, push]), {state: start}, {state: tf.EndState(q=[0, None, None])},
                                 t_span, "u[0]**2")

    free, links = tf.EndState(q=[None] * 3), [
        tf.Coupling("after.q('x')[1] - before.q('x')[1]", 1, 2), tf.Coupling("2 * after.q('x')[2] - before.q('x')[2]"),
        tf.Coupling("after.q('x')[0] - before.q('x')[0]")]
    made = tf.Phases([phase([1, 4, 2], (0, 2)), phase(free, (2, 3))], [links]).phases
    np.testing.assert_allclose([made[0].conditions.state[:3], made[1].z0[:3]], [[0, 8, 8], [0, 9, 4]], rtol=0,
                               atol=1e-12)
    np.testing.assert_allclose(made[1].conditions.state[:3], [0, 14, 7], rtol=0, atol=1e-12)
    own = phase(free, (2, 3)).guessed_near({"x": [5, 5, 5]})
    np.testing.assert_allclose(tf.Phases([phase([1, 4, 2], (0, 2)), own], [links]).phases[1].z0[:3], 5)


def test_phases_that_nothing_links():
    """An empty list of links leaves neighbours apart: a phase that may start anywhere costs nothing."""
    body = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    system = tf.System([body, push])
    phases = [tf.OptimalControl(system, {body: start}, {body: state(2, 0)}, (0, 1), cost=tf.Effort(push))
              for start in (tf.Pose(), state())]
    sol = solved(tf.Phases(phases, [[]]))
    np.testing.assert_allclose([phase.objective for phase in sol], [24, 0], rtol=0, atol=1e-9)  # 6 m^2 x^2 / T^3
