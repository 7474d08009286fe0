"""Equations and limits of controls and states hold where the dynamics see the controls, and in between."""

import warnings

import numpy as np
import pytest

import timefem as tf


def window(bound, mesh, element=None):
    """x'' = u from 0 to 1 at rest in 1 s, least int u^2, x at most `bound`."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    u = tf.ControlForce(mass, [(1, 0, 0)], name="u")
    problem = tf.OptimalControl(tf.System([mass, u]), {mass: tf.Pose()},
                                {mass: tf.EndState(position=(1, None, None), velocity=(0, None, None))}, (0, 1),
                                tf.Effort(u, 2.0), limits=[tf.Limit("now.position('mass')[0]", None, bound)])
    return tf.solve(problem, element or tf.MixedGalerkin(2, n_points=2), mesh, progress=False)


TABLE = [0, 0.4 - 1e-6, 0.4, 0.6, 0.6 + 1e-6, 1]


@pytest.mark.parametrize("n", [23, 37, 40])
def test_window_of_a_bound(fault, n):
    """Exact: cubics through x(0.6) = 0.35."""
    sol = window(tf.Table(TABLE, [10, 10, 0.35, 0.35, 10, 10]), n)
    fault(f"window of a limit, {n} elements", 31.271702, sol.objective, rtol=1e-6)


def test_window_of_controls(fault):
    """Controls with timed bounds: none from 0.4 s to 0.6 s; of the cubic that needs u = 0 there."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    u = tf.ControlForce(mass, [(1, 0, 0)], name="u")
    open_, shut = tf.Table(TABLE, [50, 50, 0, 0, 50, 50]), tf.Table(TABLE, [-50, -50, 0, 0, -50, -50])
    found = [tf.solve(tf.OptimalControl(tf.System([mass, u]), {mass: tf.Pose()}, {mass: tf.EndState(
        position=(1, None, None), velocity=(0, None, None))}, (0, 1), tf.Effort(u, 2.0), bounds={u: (shut, open_)}),
        tf.MixedGalerkin(2, n_points=2), n, progress=False).objective for n in (23, 37)]
    # u = a + b t outside of the window, int u = 0, int (1 - t) u = 1
    t = np.array([[0, 0.4], [0.6, 1.0]])
    powers = [np.sum(np.diff(t**(k + 1), axis=1)) / (k + 1) for k in range(3)]
    gram = np.array([[powers[0], powers[1]], [powers[1], powers[2]]])
    effect = np.array([[1, 0], [1, -1]]) @ gram
    a = np.linalg.solve(effect, [0, 1])
    fault("window of a control, 23 and 37 elements", [a @ gram @ a] * 2, found, rtol=1e-4)


def test_window_of_a_phase(fault):
    """The same in a phase of its own, which is linked with one that stands still."""
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    u = tf.ControlForce(mass, [(1, 0, 0)], name="u")
    system = tf.System([mass, u])
    rest = {mass: tf.EndState(position=(1, None, None), velocity=(0, None, None))}
    limit = tf.Limit("now.position('mass')[0]", None, tf.Table(TABLE, [10, 10, 0.35, 0.35, 10, 10]))
    first = tf.OptimalControl(system, {mass: tf.Pose()}, rest, (0, 1), tf.Effort(u, 2.0), limits=[limit])
    second = tf.OptimalControl(system, {mass: tf.EndState()}, rest, (0, 1), tf.Effort(u, 2.0))
    sol = tf.solve(tf.Phases([first, second]), tf.MixedGalerkin(2, n_points=2), [23, 4], progress=False)
    fault("window of a limit of a phase", 31.271702, sol.objective, rtol=1e-6)


MINUS = (-1, 0, 0, 0)


@pytest.mark.parametrize("inertia", [(5, 26, 29), (26, 5, 29), (29, 26, 5)])
def test_full_turn(fault, inertia):
    """About the axis of least inertia, from rest to rest: 6 (J angle)^2 / T^3."""
    body = tf.RigidBody(12, inertia, name="satellite")
    end = tf.EndState(orientation=MINUS, angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 2),
                                tf.Effort(tf.ControlTorque(body, name="wheels")))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 30, progress=False)
    fault(f"full turn, inertia {inertia}", 6 * (5 * 2 * np.pi)**2 / 8, sol.objective, rtol=1e-3)


def flip(guess=None, limits=()):
    copter = tf.RigidBody(1.0, (0.01, 0.01, 0.02), name="copter")
    rotors = [tf.Thruster(copter, point=p, drag=s * 0.02, name=f"rotor {i}") for i, (p, s) in
              enumerate((((0.17, 0, 0), 1), ((0, 0.17, 0), -1), ((-0.17, 0, 0), 1), ((0, -0.17, 0), -1)))]
    end = tf.EndState(position=(0, 0, 0), orientation=MINUS, velocity=(0, 0, 0), angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([copter, *rotors], gravity=(0, 0, -9.81)), {copter: tf.Pose()}, {copter: end},
                                (0, 1.2), actuators=rotors, free_time=True, end_cost=lambda end, p: p["duration"],
                                bounds={**{r: (0, 6) for r in rotors}, "duration": (0.2, 4)}, limits=limits)
    return tf.solve(problem, tf.MixedGalerkin(2), 30, guess=guess, progress=False)


@pytest.mark.long
def test_flip_of_a_quadrotor(fault):
    sol = flip()
    fault("flip in least time", 0.62955, sol.objective, rtol=1e-5)
    fault("flip: orientation at the end", MINUS, sol.z[-1, 3:7], atol=1e-9)


@pytest.mark.long
def test_flips_that_are_none_are_told(fault):
    still = tf.Guess(np.tile([0, 0, 0, 1.0] + [0] * 10, (2, 1)))
    with pytest.warns(UserWarning, match="orientation of copter at the end is met by the negative of the quaternion"):
        flip(still)
    turned = tf.Limit("now.q('copter')[3]", None, -0.9, at="end", name="turned")
    sol = flip(still, turned)
    fault("a quaternion that goes through zero", "no success", sol.status.reason, met=not sol.success)


def tied_power(way):
    """Least int p^2 of the power p = u x', x'' = u, from 0 to 2 at speeds of one, in 1 s."""
    body = tf.PointMass(1.0, dimension=1, name="body")
    u = tf.ControlForce(body, [(1, 0, 0)], name="u")
    parts, start, actuators, limits = [body, u], {body: tf.Pose(velocity=(1, 0, 0))}, [u], []
    if way == "direct":
        cost = "(now.control('u')[0] * now.velocity('body')[0])**2"
    else:
        slack = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="slack")
        p = tf.GeneralizedControl(slack, [[0.0]], name="p")
        parts, start, actuators = [*parts, slack, p], {**start, slack: tf.Coordinates([0.0])}, [u, p]
        cost = "now.control('p')[0]**2"
        limits = [tf.Limit("now.control('p')[0] - now.control('u')[0] * now.velocity('body')[0]", 0, 0, name="power")]
    return tf.OptimalControl(tf.System(parts), start, {body: tf.EndState(position=(2, None, None),
                             velocity=(1, None, None))}, (0, 1), cost, actuators=actuators, limits=limits)


@pytest.mark.long
@pytest.mark.parametrize("k, slope", [(1, 2), (2, 4), (3, 6)])
def test_equations_of_controls_and_states_keep_the_order(fault, k, slope):
    found = [tf.solve(tied_power("equation"), tf.MixedGalerkin(k, n_points=k), n, progress=False).objective
             for n in (6, 12, 24)]
    direct = tf.solve(tied_power("direct"), tf.MixedGalerkin(k, n_points=k), 24, progress=False).objective
    fault(f"power by an equation, mG({k})", direct, found[-1], rtol=1e-7)
    slopes = np.diff(-np.log2(np.abs(np.array(found) - 29.6059354)))
    fault(f"order of power by an equation, mG({k})", slope, slopes[-1], rtol=0.25)


@pytest.mark.parametrize("bound", [None, 50])
def test_brachistochrone_by_a_force_without_power(fault, bound):
    bead = tf.PointMass(1.0, dimension=2, name="bead")
    wire = tf.ControlForce(bead, [(1, 0, 0), (0, 1, 0)], name="wire")
    bounds = {"duration": (0.1, 10)} | ({wire: (-bound, bound)} if bound else {})
    problem = tf.OptimalControl(tf.System([bead, wire], gravity=(0, -9.80665, 0)), {bead: tf.Pose((0, 10, 0))},
                                {bead: tf.EndState(position=(10, 5, None))}, (0, 2), actuators=wire, free_time=True,
                                end_cost="end.t", bounds=bounds,
                                limits=tf.Limit("dot(u, now.velocity('bead')[0:2])", 0, 0))
    sol = tf.solve(problem, tf.MixedGalerkin(2, n_points=2), 20, progress=False)
    fault(f"force without power, bounds {bound}", 1.8016031, sol.objective, rtol=2e-6)


def test_limits_between_nodes_hold_or_are_told(fault):
    """The highest hop from a crouch at 0.5 m: the exact height, or a warning. It went below that between the nodes, and
    1.2 % too high."""
    body, foot = tf.PointMass(5.0, dimension=1, name="body"), tf.PointMass(1.0, dimension=1, name="foot")
    leg, weight = tf.ControlForce(body, [(1, 0, 0)], name="leg"), tf.Force(body, (-49.05, 0, 0))
    lock = tf.Constraint([body, foot], lambda f, t, c: f[0].q[0] - f[1].q[0] - 1, 1, name="locked leg")
    flight = tf.System([body, foot, lock, weight, tf.Force(foot, (-9.81, 0, 0))])
    rise = tf.OptimalControl(flight, {body: tf.EndState(), foot: tf.EndState()},
                             {body: tf.EndState(velocity=(0, None, None))}, (0, 0.3), free_time=True,
                             end_cost="-end.q('foot')[0]", bounds={"duration": (0.01, 2)})
    push = tf.OptimalControl(tf.System([body, weight]), {body: tf.Pose((0.5, 0, 0))},
                             {body: tf.EndState(position=(1, None, None))}, (0, 0.3), tf.Effort(leg, 1e-9),
                             actuators=leg, free_time=True, bounds={leg: (0, 150.0), "duration": (0.02, 2)},
                             limits=tf.Limit("now.q('body')[0]", 0.5, None, name="crouch"))
    link = [tf.Coupling("after.q('body')[0] - before.q('body')[0]"),
            tf.Coupling("6 * after.rates('body')[0] - 5 * before.rates('body')[0]")]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sol = tf.solve(tf.Phases([push, rise], [link]), tf.MixedGalerkin(2, n_points=2), [20, 10], progress=False)
    exact = (5 / 6) ** 2 * 2 * (150 - 49.05) / 5 * 0.5 / 2 / 9.81
    warned = any("crouch is exceeded by" in str(w.message) for w in told)
    fault("height of a hop", exact, -sol.objective, met=warned or abs(-sol.objective - exact) < 1e-4)
