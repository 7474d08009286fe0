"""Mesh refinement on a comet that passes close to its sun: errors from the eccentric anomaly."""

import numpy as np
import pytest
from scipy.optimize import brentq

import timefem as tf
from timefem.problems.kinds import error_estimate
from timefem.problems.refinement import density_of, graded
from timefem.problems.targets import EndState
from timefem.solvers.march.motion import size_of_motion

pytestmark = pytest.mark.long

ECCENTRICITY, FROM, TO = 0.9, -2.5, 2.8
COMET = tf.PointMass(1.0, 2, name="comet")
SYSTEM = tf.System([COMET, tf.NonlinearSpring(COMET, potential=lambda l: -1 / l)])


def state(anomaly):
    e, w = ECCENTRICITY, np.sqrt(1 - ECCENTRICITY**2)
    c, s = np.cos(anomaly), np.sin(anomaly)
    return np.array([c - e, w * s, -s / (1 - e * c), w * c / (1 - e * c)])


def time(anomaly):
    return anomaly - ECCENTRICITY * np.sin(anomaly) - (FROM - ECCENTRICITY * np.sin(FROM))


def exact(t):
    return np.array([state(brentq(lambda a, x: time(a) - x, FROM - 0.1, TO + 0.1, (x,), xtol=1e-14)) for x in t])


def error(sol):
    z = exact(sol.t)
    return (np.abs(sol.z - z) / size_of_motion(SYSTEM, sol.t, z)).max()


def rough_guess(t):
    anomaly = np.linspace(FROM, TO, 400)
    table = np.array([state(a) for a in anomaly])
    return np.stack([np.interp(t, time(anomaly), c) for c in table.T], axis=-1) + 0.01


def problem(kind):
    first, last = state(FROM), state(TO)
    start = tf.Pose((*first[:2], 0), velocity=(*first[2:], 0))
    if kind == "initial":
        return tf.InitialValueProblem(SYSTEM, {COMET: start}, (0, time(TO))), {"driver": "global"}
    return (tf.BoundaryValueProblem(SYSTEM, (0, time(TO)), {COMET: start}, {COMET: tf.Pose((*last[:2], 0))}),
            {"guess": rough_guess})


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2), tf.MixedGalerkin(3)])
@pytest.mark.parametrize("kind", ["initial", "boundary"])
def test_tolerance_is_met_with_fewer_elements_than_a_uniform_mesh_has(kind, element, tolerance):
    asked, arguments = problem(kind)
    sol = tf.solve(asked, element, tolerance=tolerance, n_elements=20, **arguments)
    assert sol.success
    assert error(sol) <= 1.1 * tolerance
    assert sol.statistics["estimated_error"] == pytest.approx(error(sol), rel=0.15)
    lengths = np.diff(sol.t)
    assert lengths.max() > 5 * lengths.min()
    four_times = tf.solve(asked, element, 4 * len(lengths), guess=sol, driver="global")
    assert not four_times.success or error(four_times) > error(sol)


@pytest.mark.parametrize("element", [tf.BubnovGalerkin(3), tf.EML()])
def test_other_elements(element):
    asked, arguments = problem("initial")
    sol = tf.solve(asked, element, tolerance=1e-3, **arguments)
    assert sol.success and error(sol) <= 1.1e-3
    assert sol.statistics["estimated_error"] == pytest.approx(error(sol), rel=0.15)


def test_estimate_of_boundary_value_errors_is_close():
    box = tf.RigidBody(12, [5, 26, 29])
    turned = np.append(np.cos(1.25), np.sin(1.25) * np.array([1, 2, 2]) / 3)
    asked = tf.BoundaryValueProblem(tf.System([box]), (0, 2), {box: tf.Pose()}, {box: tf.Pose(orientation=turned)})
    fine = tf.solve(asked, tf.MixedGalerkin(4), 60)
    for element in (tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.BubnovGalerkin(3), tf.EML()):
        sol = tf.solve(asked, element, 20)
        size = size_of_motion(sol.system, sol.t, sol.z)
        true = (np.abs(sol.z - fine.z[::3]) / size).max()
        assert error_estimate(asked, element)(sol, tf.TimeMesh(sol.t), 1.0)[0] == pytest.approx(true, rel=0.2)


def test_free_time_and_kinks():
    mass = tf.PointMass(2.0, 1)
    load = tf.Force(mass, (1, 0, 0), time=tf.Ramp(0.3, 0.4, 0, 5))
    system = tf.System([mass, tf.Spring(mass, stiffness=40.0), load])
    start = EndState(position=(1, 0, 0), velocity=(0, 0, 0))
    asked = tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0))}, (0, 1))
    sol = tf.solve(asked, tf.MixedGalerkin(2), tolerance=1e-8, driver="global")
    assert sol.success and {0.3, 0.4} <= set(sol.t.tolist())
    asked = tf.BoundaryValueProblem(tf.System([mass, tf.Spring(mass, stiffness=8.0)]), (0, 0.5), {mass: start},
                                    {mass: tf.Pose((0, 0, 0))}, free_time=True)
    sol = tf.solve(asked, tf.MixedGalerkin(2), tolerance=1e-10)
    assert sol.success and sol.t[-1] == pytest.approx(np.pi / 4, rel=1e-9)


def test_unattainable_tolerance():
    mass = tf.PointMass(2.0, 1)
    system = tf.System([mass, tf.Spring(mass, stiffness=8.0)])
    asked = tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0))}, (0, 1))
    sol = tf.solve(asked, tf.MixedGalerkin(4), tolerance=1e-18, driver="global")
    assert not sol.success and sol.status.reason == "not accurate" and "estimated error" in sol.status.message


def test_graded_mesh_shares_the_errors_out():
    mesh = tf.TimeMesh.uniform((0, 1), 200)
    middles = (mesh.nodes[1:] + mesh.nodes[:-1]) / 2
    errors = (mesh.lengths * (0.2 + 20 * np.exp(-((middles - 0.5) / 0.1) ** 2))) ** 5
    new = graded(mesh, density_of(mesh, errors, 5), 100, through=(0.25,))
    assert abs(new.n_elements - 100) <= 2 and 0.25 in new.nodes
    middles = (new.nodes[1:] + new.nodes[:-1]) / 2
    own = new.lengths * (0.2 + 20 * np.exp(-((middles - 0.5) / 0.1) ** 2))
    assert own.max() < 2 * np.median(own)
