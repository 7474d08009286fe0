"""A light body beside a heavy or fast one is solved as if it were alone."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.assembly import Scaling
from timefem.cases import find_case

pytestmark = pytest.mark.long

T_END = 4.0
CASES = {"alike": (1.0, 1.0, 1.0), "fast": (1e-6, 1e12, 1e3), "heavy": (1e-3, 1e6, 10.0)}


def problem(name, swinging=False):
    """A light mass on a spring, and a heavy one beside it that flies, or swings on a spring of its own."""
    mass, heavy_mass, speed = CASES[name]
    light, heavy = tf.PointMass(mass, name="light"), tf.PointMass(heavy_mass, name="heavy")
    parts = [light, heavy, tf.Spring(light, stiffness=10 * mass, length=0.5)]
    if swinging:
        parts.append(tf.Spring(heavy, stiffness=heavy_mass))
    states = {light: tf.Pose(position=[1, 0, 0], velocity=[0, 1, 0]),
              heavy: tf.Pose(position=[0, 5, 0], velocity=[speed, 0, 0])}
    return tf.InitialValueProblem(tf.System(parts), states, (0, T_END)), mass


@cache
def truth():
    def rate(_, y):
        return np.concatenate([y[3:], -10 * (1 - 0.5 / np.linalg.norm(y[:3])) * y[:3]])
    return solve_ivp(rate, (0, T_END), [1, 0, 0, 0, 1, 0], method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]


def error(sol, mass):
    z = sol.z[-1]
    return np.abs(np.concatenate([z[:3], z[6:9] / mass]) - truth()).max()


@pytest.mark.parametrize("swinging", [False, True])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("driver", [tf.March(), tf.Windows(50), tf.Global()])
def test_number_of_elements(name, driver, swinging):
    p, mass = problem(name, swinging)
    sol = tf.solve(p, tf.MixedGalerkin(4), 200, driver=driver, progress=False)
    assert sol.success
    assert error(sol, mass) < 2e-12


@pytest.mark.parametrize("driver", [tf.March(), tf.Global()])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
@pytest.mark.parametrize("name", CASES)
def test_tolerance(name, tolerance, driver):
    p, mass = problem(name)
    sol = tf.solve(p, tf.MixedGalerkin(3), tolerance=tolerance, driver=driver, progress=False)
    assert sol.statistics["estimated_error"] <= tolerance
    # relative to the motion of the light body, whose speeds are up to 2 m/s and places within 1 m
    assert error(sol, mass) < 5 * tolerance
    alone, _ = problem("alike")
    assert len(sol.t) <= 1.1 * len(tf.solve(alone, tf.MixedGalerkin(3), tolerance=tolerance, driver=driver,
                                            progress=False).t)


def test_rotation_of_a_small_body_far_away():
    """A satellite of 1 kg m^2 at the height of an orbit: its rotation is held to its own size."""
    body = tf.RigidBody(1000.0, [1.0, 2.0, 2.5])
    omega = np.array([0.3, 2.0, 0.1])
    p = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(position=[7e6, 0, 0], velocity=[0, 7.5e3, 0],
                                                                 angular_velocity=omega)}, (0, T_END))
    near = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=omega)}, (0, T_END))
    far, here = (tf.solve(x, tf.MixedGalerkin(3), 100, progress=False).z[-1] for x in (p, near))
    assert np.abs(far[3:7] - here[3:7]).max() < 1e-12
    assert np.abs(far[10:] - here[10:]).max() < 1e-11


def test_usual_systems_have_one_measure():
    for mass in (1.0, 1e2):  # the ratio of the masses, weighted: up to 10
        bodies = tf.RigidBody(1.0, [0.1, 0.1, 0.1]), tf.RigidBody(mass, [mass] * 3)
        system = tf.System(list(bodies))
        z = tf.InitialValueProblem(system, {b: tf.Pose(position=[0, 0, 1], velocity=[1, 0, 0]) for b in bodies},
                                   (0, 1)).z0
        assert Scaling.of("full", system, tf.MixedGalerkin(2), 0.0, z).emphasis is None


def test_nodes_of_a_beam_have_the_measure_of_the_beam():
    """One of them is clamped at the origin, and hardly has a size of its own."""
    problem = find_case("right-angle-cantilever").make(elements_space=2)
    assert np.abs(problem.z0[:3]).max() == 0
    assert Scaling.of("full", problem.system, tf.MixedGalerkin(2), 0.0, problem.z0).emphasis is None


def test_light_body_on_a_heavy_one_is_not_refused():
    """Coupled by constraints, where round-off of the heavy body reaches the light one."""
    heavy, light = tf.RigidBody(1e9, [1e9, 1e9, 1.5e9], name="heavy"), tf.RigidBody(1e-3, [1e-7, 1e-7, 1e-7])
    hinge = tf.Revolute(heavy, light, point_a=[1000.0, 0, 0], point_b=[0, 0, -0.1],
                        axis_a=[0, 1, 0], axis_b=[0, 1, 0])
    system = tf.System([heavy, light, hinge], gravity=[0, 0, -9.81])
    p = tf.InitialValueProblem(system, {heavy: tf.Pose(velocity=[300.0, 0, 0]),
                                        light: tf.Pose(position=[1000.0, 0, 0.1], velocity=[300.0, 0, 0])}, (0, 1))
    sol = tf.solve(p, tf.MixedGalerkin(2), 200, progress=False)
    assert sol.success


def test_a_body_that_flies_without_turning():
    """Blocks without any motion have a size all the same."""
    body = tf.RigidBody(1.0, [1.0, 2.0, 2.5])
    p = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(velocity=[1e3, 0, 0])}, (0, 1))
    for driver in (tf.March(), tf.Global()):
        sol = tf.solve(p, tf.MixedGalerkin(2), tolerance=1e-8, driver=driver, progress=False)
        assert sol.success
        assert np.abs(sol.z[-1, :7] - [1e3, 0, 0, 1, 0, 0, 0]).max() < 1e-9
