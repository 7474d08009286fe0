"""Tolerances in the user's units: the same problem in other units has the same answer."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf

UNITS = {"SI": (1.0, 1.0, 1.0), "mg, mm, ms": (1e6, 1e3, 1e3), "Gg, km, h": (1e-6, 1e-3, 1 / 3600)}


def least_time(M, L, T):
    body = tf.PointMass(2.0 * M, dimension=1, name="body")
    thrust = tf.ControlForce(body, ((1, 0, 0),), name="thrust")
    force = 3.0 * M * L / T**2
    problem = tf.OptimalControl(tf.System([body, thrust]), {body: tf.Pose()},
                                {body: tf.EndState(position=(5 * L, None, None), velocity=(0, None, None))}, (0, 4 * T),
                                end_cost="end.t", free_time=True, actuators=[thrust],
                                bounds={thrust: (-force, force), "duration": (0.1 * T, 40 * T)},
                                limits=[tf.Limit("now.velocity('body')[0]", None, 2.0 * L / T)])
    return problem, 20, T


def slew(M, L, T):
    body = tf.RigidBody(10.0 * M, np.array([2.0, 3.0, 4.0]) * M * L**2, name="body")
    wheels = tf.ControlTorque(body, name="wheels")
    torque = 1.5 * M * L**2 / T**2
    end = tf.EndState(orientation=(np.cos(0.6), np.sin(0.6) * 0.6, np.sin(0.6) * 0.8, 0), angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 5 * T), tf.Effort(wheels),
                                bounds={wheels: (-torque, torque)},
                                limits=[tf.Limit("now.angular_velocity('body')[1]", None, 0.24 / T)])
    return problem, 12, (M * L**2 / T**2)**2 * T


def cart_pole(M, L, T):
    g = 9.81 * L / T**2

    def kinetic(q, v, c):
        return (1.3 * v[0]**2 + 0.3 * 0.25 * (L * v[1])**2) * M / 2 + 0.3 * 0.5 * M * L * v[0] * v[1] * ca.cos(q[1])

    system = tf.GeneralizedSystem(2, kinetic, lambda q, c: -0.3 * M * g * 0.5 * L * ca.cos(q[1]),
                                  mass_scale=[M, M * L**2])
    force = tf.GeneralizedControl(system.bodies[0], [[1], [0]], name="force")
    f = 20 * M * L / T**2
    problem = tf.OptimalControl(system, tf.Coordinates([0, 0]), {system.bodies[0]: tf.Coordinates([L, np.pi], [0, 0])},
                                (0, 2 * T), cost=tf.Effort(force), bounds={force: (-0.6 * f, 0.6 * f)})
    return problem, 30, (M * L / T**2)**2 * T


def pendulum(M, L, T):
    bar = tf.RigidBody(1.0 * M, np.array([0.08, 0.08, 0.01]) * M * L**2, name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0, 0.5 * L), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    motor = tf.ControlTorque(bar, ((0, 1, 0),), name="motor")
    end = tf.EndState(orientation=(np.cos(0.6), 0, np.sin(0.6), 0), angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([bar, hinge], gravity=(0, 0, -9.81 * L / T**2)),
                                {bar: tf.Pose((0, 0, -0.5 * L))}, {bar: end}, (0, 1.5 * T), tf.Effort(motor))
    return problem, 12, (M * L**2 / T**2)**2 * T


def fuel(M, L, T):
    body = tf.PointMass(2.0 * M, dimension=2, name="body")
    thrust = tf.ControlForce(body, ((1, 0, 0), (0, 1, 0)), name="thrust")
    f = M * L / T**2
    problem = tf.OptimalControl(tf.System([body, thrust]), {body: tf.Pose()},
                                {body: tf.EndState(position=(5 * L, L, None), velocity=(0, 0, None))}, (0, 4 * T),
                                end_cost="end.t", free_time=True, actuators=[thrust],
                                bounds={thrust: (-6 * f, 6 * f), "duration": (0.1 * T, 40 * T)},
                                limits=[tf.Limit("sumsqr(u)", None, 30 * f**2 * T, at="integral", name="fuel")])
    return problem, 20, T


def spring(M, L, T):
    body = tf.PointMass(2.0 * M, dimension=1, name="body")
    s = tf.Spring(body, None, stiffness=3.0 * M / T**2, length=0.0, name="spring")
    push = tf.ControlForce(body, ((1, 0, 0),), name="push")
    problem = tf.OptimalControl(tf.System([body, s]), {body: tf.Pose((L, 0, 0))},
                                {body: tf.EndState(position=(-L, None, None), velocity=(0, None, None))}, (0, 2 * T),
                                tf.Effort(push), parameters={"k": (s, "stiffness")},
                                bounds={"k": (1.0 * M / T**2, 4.5 * M / T**2)})
    return problem, 12, (M * L / T**2)**2 * T


def window(M, L, T):
    mass = tf.PointMass(1.0 * M, dimension=1, name="mass")
    u = tf.ControlForce(mass, [(1, 0, 0)], name="u")
    problem = tf.OptimalControl(tf.System([mass, u]), {mass: tf.Pose()},
                                {mass: tf.EndState(position=(L, None, None), velocity=(0, None, None))}, (0, T),
                                tf.Effort(u, 2.0), limits=[tf.Limit("now.position('mass')[0]", None, tf.Table(
                                    np.array([0, 0.4 - 1e-6, 0.4, 0.6, 0.6 + 1e-6, 1]) * T,
                                    np.array([10, 10, 0.35, 0.35, 10, 10]) * L))])
    return problem, 20, (M * L / T**2)**2 * T


CASES = least_time, slew, cart_pole, pendulum, fuel, spring, window


@pytest.mark.long
@pytest.mark.parametrize("make", CASES)
def test_units_of_optimal_control(fault, make):
    found = []
    for units in UNITS.values():
        problem, n, unit = make(*units)
        found.append(tf.solve(problem, tf.MixedGalerkin(2, n_points=2), n, progress=False).objective / unit)
    rtol = 2e-8 if make is window else 1e-9  # elements of a millionth of the time
    fault(f"{make.__name__} in SI, {', '.join(list(UNITS)[1:])}", found[:1] * 3, found, rtol=rtol)


PUSHES = {"car": (1e3, 100.0, 5e3, 10.0), "bee, 0.1 g": (1e-4, 1e-3, 1e-6, 0.6), "fly, 1 mg": (1e-6, 0.1, 1e-8, 5.0),
          "bacterium": (1e-15, 1e-5, 1e-18, 0.2), "ship": (1e8, 1e5, 1e7, 2e3)}


@pytest.mark.parametrize("name", PUSHES)
def test_pushes(fault, name):
    """Least time from rest to rest: 2 sqrt(L M / F), by forces within their bounds."""
    mass, length, force, guess = PUSHES[name]
    body = tf.PointMass(mass, dimension=1, name="body")
    thrust = tf.ControlForce(body, ((1, 0, 0),), name="thrust")
    problem = tf.OptimalControl(tf.System([body, thrust]), {body: tf.Pose()},
                                {body: tf.EndState(position=(length, None, None), velocity=(0, None, None))},
                                (0, guess), end_cost="end.t", free_time=True, actuators=[thrust],
                                bounds={thrust: (-force, force), "duration": (guess / 100, 100 * guess)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    fault(f"least time of a {name}", 2 * np.sqrt(length * mass / force), sol.objective, rtol=1e-7)
    largest = np.abs(sol.fields["controls"]).max() / force
    fault(f"force of a {name} over its bound", "at most 1", largest, met=largest <= 1)


@pytest.mark.long
def test_small_satellite(fault):
    inertia, torque, angle = 2e-3, 2e-6, np.pi / 2
    cube = tf.RigidBody(1.0, (inertia,) * 3, name="cube")
    axis = tf.Revolute(cube, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="axis")
    wheel = tf.ControlTorque(cube, ((0, 0, 1),), name="wheel")
    turned = tf.EndState(orientation=(np.cos(angle / 2), 0, 0, np.sin(angle / 2)), angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([cube, axis, wheel]), {cube: tf.Pose()}, {cube: turned}, (0, 60.0),
                                end_cost="end.t", free_time=True, actuators=[wheel],
                                bounds={wheel: (-torque, torque), "duration": (1, 1000)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    fault("a small satellite in least time", 2 * np.sqrt(angle * inertia / torque), sol.objective, rtol=1e-6)


@pytest.mark.parametrize("mass, speed", [(1.0, 99.0), (1.0, 101.0), (1000.0, 10.0), (1e6, 300.0), (1e-6, 1e7)])
def test_fast_starts(fault, mass, speed):
    """Braked in 5 s, at least effort (m v)^2 / (2 T)."""
    car = tf.PointMass(mass, dimension=1, name="car")
    force = tf.ControlForce(car, [(1, 0, 0)], name="force")
    problem = tf.OptimalControl(tf.System([car, force]), {car: tf.Pose(velocity=(speed, 0, 0))},
                                {car: tf.EndState(velocity=(0, None, None))}, (0, 5), tf.Effort(force))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    fault(f"{mass:g} kg brakes from {speed:g} m/s", (mass * speed)**2 / 10, sol.objective)


@pytest.mark.long
def test_fast_spin(fault):
    """A rotor of a turbine, spun up about its axis in space."""
    rotor = tf.RigidBody(5e4, (2e5, 2e5, 3e5), name="rotor")
    shaft = tf.Revolute(rotor, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="shaft")
    torque = tf.ControlTorque(rotor, ((0, 0, 1),), name="torque")
    problem = tf.OptimalControl(tf.System([rotor, shaft, torque]), {rotor: tf.Pose()},
                                {rotor: tf.EndState(angular_velocity=(None, None, 3.0))}, (0, 1), tf.Effort(torque))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    fault("a rotor of 50 t, spun up", (3e5 * 3)**2 / 2, sol.objective, rtol=1e-4)


def test_far_targets(fault):
    """Least effort over 4e8 m with the rest at both ends."""
    ship = tf.PointMass(2e4, name="ship")
    thrust = tf.ControlForce(ship, name="thrust")
    place, time = np.array([3.8e8, 1e7, -2e6]), 3e5
    problem = tf.OptimalControl(tf.System([ship, thrust]), {ship: tf.Pose()},
                                {ship: tf.EndState(position=place, velocity=(0, 0, 0))}, (0, time), tf.Effort(thrust))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    fault("over 4e8 m", 6 * (2e4)**2 * place @ place / time**3, sol.objective)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_states_of_first_order_to_a_tolerance(size):
    """They have no momenta, and were measured by what rests: a hundred times the elements, or no end, by their unit."""
    state, mass = tf.State("x", "[x[1], -400 * x[0]]", n=2), tf.PointMass(1.0, dimension=1, name="mass")
    problem = tf.InitialValueProblem(tf.System([state, mass]), {state: [size, 0], mass: tf.Pose(velocity=(1, 0, 0))},
                                     (0, 3))
    sol = tf.solve(problem, tf.MixedGalerkin(2), tolerance=1e-3, progress=False)
    assert sol.success and 100 < len(sol.t) < 400
    assert sol.z[-1, :2] == pytest.approx([size * np.cos(60), -20 * size * np.sin(60)], rel=0, abs=0.02 * size)
