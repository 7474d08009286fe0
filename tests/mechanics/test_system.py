"""Systems: numbers, names, kernels by kind, bodies that move on their own."""

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum
from timefem.kernels import compile_count
from timefem.mechanics.values import of_parts, quantities
from timefem.memory import Recent


def bodies(n, rotation="quaternion"):
    return [tf.RigidBody(1 + i, [2, 3, 4], rotation) for i in range(n)]


def test_numbers_and_names():
    system = pendulum().system
    assert (system.n_q, system.n_z, system.n_constraints, system.n_multipliers) == (7, 14, 4, 8)
    assert system.constraint_names == ["pendulum: unit length of the quaternion", "support: fixed point, x",
                                       "support: fixed point, y", "support: fixed point, z"]


def test_mixed_rotations_in_one_system():
    a, b = tf.RigidBody(12, [5, 26, 29], "quaternion"), tf.RigidBody(12, [5, 26, 29], "directors")
    system = tf.System([a, b], gravity=[0, 0, -9.81])
    pose = tf.Pose(angular_velocity=[0, 5, 1])
    solution = tf.solve(tf.InitialValueProblem(system, {a: pose, b: pose}, (0, 1)), tf.MixedGalerkin(4), 60)
    np.testing.assert_allclose(solution.rotation_matrix(a, 1.0), solution.rotation_matrix(b, 1.0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.position(a, 1.0), [0, 0, -9.81 / 2], rtol=0, atol=1e-11)


def test_bodies_of_one_kind_share_a_kernel():
    element = tf.MixedGalerkin(1)
    tf.ElementBatch(tf.System(bodies(1)), element)
    before = compile_count()
    tf.ElementBatch(tf.System(bodies(5)), element)
    assert compile_count() == before


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_uncoupled_bodies_move_as_each_on_its_own(rotation):
    two = bodies(2, rotation)
    poses = {two[0]: tf.Pose(angular_velocity=[1, 2, 3]), two[1]: tf.Pose(angular_velocity=[-2, 0.5, 1])}
    together = tf.solve(tf.InitialValueProblem(tf.System(two), poses, (0, 1)), tf.BubnovGalerkin(2), 20)
    for body in two:
        alone = tf.solve(tf.InitialValueProblem(tf.System([body]), {body: poses[body]}, (0, 1)),
                         tf.BubnovGalerkin(2), 20)
        np.testing.assert_allclose(together.rotation_matrix(body, 1.0), alone.rotation_matrix(body, 1.0),
                                   rtol=0, atol=1e-11)


def test_bad_systems():
    body, other = bodies(2)
    for make, message in [
            (lambda: tf.System([]), "at least one body"), (lambda: tf.System([body, body]), "given twice"),
            (lambda: tf.System([body, 3]), "not a body, joint or force"),
            (lambda: tf.System([body, tf.FixedPoint(other, [0, 0, 0])]), "not in the system"),
            (lambda: tf.System([body], gravity=[0, 0]), "gravity must have shape"),
            (lambda: tf.FixedPoint(3, [0, 0, 0]), "must be a RigidBody"),
            (lambda: tf.FixedPoint(body, [0, 0]), "point must have shape"),
            (lambda: tf.System([tf.RigidBody(1, [1, 1, 1], name="a"), tf.RigidBody(1, [1, 1, 1], name="a")]), "'a'")]:
        with pytest.raises(tf.InputError, match=message):
            make()


def test_redundant_constraints_are_refused():
    body = bodies(1)[0]
    twice = [tf.FixedPoint(body, [0, 0, 1], at=[0, 0, 1]) for _ in range(2)]
    system = tf.System([body, *twice])
    problem = tf.InitialValueProblem(system, {}, (0, 1))
    with pytest.raises(tf.InputError, match="redundant"):
        tf.solve(problem, tf.MixedGalerkin(1), 10)


def test_formulas_are_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(quantities, "_FORMULAS", Recent(5))
    for i in range(20):
        body = tf.PointMass(1.0)
        system = tf.System([body, tf.Force(body, [1, 0, 0], time=tf.Formula(lambda t, i=i: i * t))])
        gradient, *_ = system.derivatives(2.0, np.zeros(6))
        assert gradient[0] == -2.0 * i
    assert len(quantities._FORMULAS) == 5


def test_coordinates_that_count_turns_are_no_degrees_of_freedom():
    bar = tf.RigidBody(1, (0.1, 0.01, 0.1), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0.4, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    ship = tf.Tree([tf.Link("hull", mass=2, inertia=(1, 1, 1))], [], name="ship", base="free")
    facts = tf.System([bar, hinge, tf.JointSpring(hinge, stiffness=1.0), ship]).summary().facts
    assert facts["bodies"] == 2 and facts["coordinates"] == 7 + 1 + 7
    assert facts["degrees of freedom, unless constraints repeat each other"] == 1 + 6


def test_earlier_names_of_methods():
    """They give what the functions give, and warn of the line that has them."""
    problem = pendulum()
    system, z = problem.system, problem.z0
    body, v = system.bodies[0], system.velocity(0.0, z)
    with pytest.warns(DeprecationWarning, match=r"System\.\w+ is deprecated .*; use ") as warned:
        assert system.own(body) is system[body] is system["pendulum"]
        assert system.replaced == {} and system.couples_inertia is False and system.has_inverse_mass is True
        assert system.of_parts(system.parts).parts == system.extended(system.parts).parts == system.parts
        assert system.kinetic_energy(0.0, z, v) == of_parts.kinetic_energy(system, 0.0, z, v)
        assert system.generalized_energy(0.0, z, v) == pytest.approx(system.hamiltonian(0.0, z))
        assert np.array_equal(system.control_force(0.0, z, []), np.zeros(7))
        assert system.momentum_level.tolist() == [True, *[False] * (system.n_constraints - 1)]
        assert system.consistent_nonholonomic(0.0, z).shape == (0,)
    assert len(warned) == 11 and {warning.filename for warning in warned} == {__file__}
    with pytest.raises(AttributeError, match="a System has no 'mass'"):
        _ = system.mass
    with pytest.raises(tf.InputError, match="is not in the system"):
        system[tf.PointMass(1.0, name="other")]
