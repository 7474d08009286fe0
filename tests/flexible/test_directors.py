"""Director beams of thin sections: singular mass matrices, consistent and lumped."""

import numpy as np
import pytest

import timefem as tf
from tests.flexible.test_dynamics import deviations, reference
from timefem.cases import find_case
from timefem.mechanics.bodies.states import Pose

pytestmark = pytest.mark.long

THIN = tf.Section(EA=1e3, GA=8e2, GJ=1.5, EI=1.0, mass=2.0, inertia=(0.4, 0.1, 0.3))


def cantilever(mass="consistent", **options):
    legs = [tf.Line((0, 0, 0), (1, 0, 0)), tf.Line((1, 0, 0), (1, 1, 0))]
    beam = tf.Beam(legs, THIN, 1, 2, "directors", "space", mass, name="beam", marks=[("tip", 2)])
    clamp = tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0))
    return tf.System([beam, clamp], **options)


def test_consistent_mass_matrix():
    """Against the integral of the kinetic energy of the sections, by other quadrature; thin sections are singular."""
    system = cantilever()
    beam, rng = system.composites[0], np.random.default_rng(2)
    z = np.concatenate([*(body.state(body.reference)[0] for body in system.bodies), np.zeros(system.n_q)])
    matrix = system.mass_matrix(0.0, z).toarray()
    assert np.allclose(matrix, matrix.T, rtol=0, atol=1e-15)
    v = rng.normal(size=system.n_q)
    x, w = np.polynomial.legendre.leggauss(8)
    energy, euler = 0.0, sum(THIN.inertia) / 2 - np.array(THIN.inertia)
    for j in (0, 1):
        for point, weight in zip(j + (x + 1) / 2, w / 2, strict=True):
            place = beam.make_place(point, j, 0, point - j)
            nodes = v[system.coordinates(place)].reshape(-1, 4, 3)
            velocity, *rates = np.einsum("a,ank->nk", place.shapes, nodes)
            turn = np.eye(3) if j == 0 else np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
            turning = ((np.array(rates).T @ turn)**2).sum(axis=0)
            energy += weight * (THIN.mass * velocity @ velocity + euler @ turning) / 2
    assert v @ matrix @ v / 2 == pytest.approx(energy, abs=1e-13)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert np.sum(np.abs(eigenvalues) < 1e-13) > 0 and eigenvalues.min() > -1e-14
    lumped = cantilever("lumped").mass_matrix(0.0, z).toarray()
    assert np.abs(lumped - matrix).max() > 0.05 and np.allclose(lumped.sum(), matrix.sum(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_energy_is_kept(mass):
    problem = tf.InitialValueProblem(cantilever(mass, gravity=(0, 0, -9.81)), {}, (0, 0.4))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, progress=False)
    assert sol.success and sol.energy.of("beam").kinetic.max() > 1
    assert sol.errors()["energy"] <= 1e-11
    assert sol.errors()["configuration"] <= 1e-13 and sol.errors()["velocity"] <= 1e-11
    d = 1e-5
    rate = (sol.position("tip", 0.2 + d) - sol.position("tip", 0.2 - d)) / (2 * d)
    assert np.allclose(rate, sol.velocity("tip", 0.2), rtol=0, atol=1e-2) and np.abs(rate).max() > 0.5


def test_momenta_of_a_thrown_beam():
    """All nodes start as one rigid body; impulse form, whose momenta are exact with k points."""
    beam = tf.Beam(1.0, THIN, 2, 2, "directors", mass="consistent", name="beam")
    system, spin, speed = tf.System([beam]), np.array([0.3, 0.5, 2.0]), np.array([1.0, 0.2, 0.0])
    state = {node: Pose(node.reference.position, velocity=speed + np.cross(spin, node.reference.position),
                        angular_velocity=spin) for node in beam.nodes}
    problem = tf.InitialValueProblem(system, state, (0, 0.5))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="impulse"), 25, progress=False)
    inertia = np.diag([0.4, 0.1 + 2 / 12, 0.3 + 2 / 12])
    centre = np.array([0.5, 0, 0])
    momentum = 2 * (speed + np.cross(spin, centre))
    assert np.allclose(sol.linear_momentum(), momentum, rtol=0, atol=1e-12)
    assert np.allclose(sol.angular_momentum(), np.cross(centre, momentum) + inertia @ spin, rtol=0, atol=1e-11)
    assert np.allclose(sol.velocity(beam.start, 0.0), speed, rtol=0, atol=1e-12)
    assert np.allclose(sol.angular_velocity(beam.end, 0.0, "space"), spin, rtol=0, atol=1e-12)


def test_thin_rigid_body_moves_as_in_quaternions():
    solutions = []
    for rotation, element in (("quaternion", tf.MixedGalerkin(3)), ("directors", tf.MixedGalerkin(3, form="energy"))):
        body = tf.RigidBody(2.0, [0.2, 0.5, 0.3], rotation, name="plate")
        start = {body: Pose((1, 0, 0), velocity=(0, 1, 0.5), angular_velocity=(2, 0.1, 1))}
        system = tf.System([body, tf.Spring(body, stiffness=3.0, point_a=(0.1, 0.2, 0))], gravity=(0, 0, -1))
        solutions.append(tf.solve(tf.InitialValueProblem(system, start, (0, 1)), element, 40, progress=False))
    one, other = solutions
    assert np.abs(one.position("plate", 1.0) - other.position("plate", 1.0)).max() <= 1e-8
    assert np.abs(one.rotation_matrix("plate", 1.0) - other.rotation_matrix("plate", 1.0)).max() <= 1e-8
    assert np.abs(one.angular_velocity("plate", 1.0) - other.angular_velocity("plate", 1.0)).max() <= 1e-8
    assert np.abs(one.energy() - other.energy()).max() <= 1e-8


def test_cantilever_in_directors_is_the_reference_of_the_same_elements():
    """Five cubic elements of consistent, singular mass per leg, h = 0.02: what is left is the error in time."""
    problem = find_case("right-angle-cantilever").make(rotation="directors", t_end=1.0)
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="impulse"), 50, progress=False)
    assert sol.success and max(deviations(sol, reference("right_angle_5cubic_lobatto"))) <= 1e-6
    assert max(deviations(sol, reference("right_angle_space_time"))) <= 2e-5


@pytest.mark.slow
def test_cantilever_in_directors_up_to_5_seconds():
    problem = find_case("right-angle-cantilever").make(rotation="directors", t_end=5.0)
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 250, progress=False)
    assert max(deviations(sol, reference("right_angle_5cubic_lobatto"))) <= 2e-5
    at_nodes = sol.energy()[sol.t >= 2]
    assert np.ptp(at_nodes) <= 1e-11 * at_nodes[0]
    energy = sol.energy(np.linspace(2, 5, 16))
    assert np.ptp(energy) <= 1e-9 * energy[0] and energy[-1] == pytest.approx(114.880365, abs=1e-4)


def test_what_cannot_take_singular_mass_says_so():
    with pytest.raises(tf.InputError, match=r"singular Euler tensor .* mg needs its inverse; use rotation='quater"):
        tf.solve(tf.InitialValueProblem(cantilever("lumped"), {}, (0, 1)), tf.MixedGalerkin(2), 5)
    with pytest.raises(tf.InputError, match=r"mass='consistent' needs rotation='directors'"):
        tf.Beam(1.0, THIN, 2, mass="consistent", name="beam")
