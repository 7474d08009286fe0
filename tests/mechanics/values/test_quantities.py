"""Every quantity of every kind of system: sums over its parts, derivatives by differences, one state and many, and
machine code."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.kernels.compile import default_backend
from timefem.mechanics.symbols import Symbols
from timefem.mechanics.values.evaluate import Matrix, evaluator, quantities_at, sees_solved_velocities
from timefem.mechanics.values.of_parts import (
    control_force,
    energies_of,
    kinetic_energy,
    nonholonomic_derivatives,
    not_finite,
)
from timefem.mechanics.values.quantities import QUANTITIES, sees_velocities


def loop_in_joint_coordinates():
    """Four bars in a loop, of which three are a tree, with a motor, a spring on a link, and a damper."""
    bars = [tf.RigidBody(1.0 + i, (0.1, 0.2, 0.3), name=f"bar {i}") for i in range(3)]
    axis = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    joints = [tf.Revolute(bars[0], None, point_a=(-0.5, 0, 0), point_b=(0, 0, 0), name="base", **axis),
              tf.Revolute(bars[1], bars[0], point_a=(-0.5, 0, 0), point_b=(0.5, 0, 0), **axis),
              tf.Revolute(bars[2], bars[1], point_a=(-0.5, 0, 0), point_b=(0.5, 0, 0), **axis)]
    parts = [*bars, *joints, tf.RigidDistance(bars[2], None, point_a=(0.5, 0, 0), point_b=(1, 0, 0), length=0.7),
             tf.JointControl(joints[0], name="motor"), tf.Spring(bars[2], None, stiffness=3.0, length=0.2)]
    return tf.System(parts, gravity=(0, -9.81, 0), coordinates="joint")


def rotor_with_livens_energy():
    """A generalized body, whose velocities follow from momenta, beside a damped and driven mass."""
    rotor = tf.GeneralizedBody(2, lambda q, v, c: c[0] * v[0]**2 / 2 + (1 + q[0]**2) * v[1]**2 / 2 + v[0] * v[1] / 9,
                               lambda q, c: ca.cos(q[0]) * q[1]**2, parameters=[2.0], name="rotor")
    mass = tf.PointMass(2.0, name="mass")
    return tf.System([rotor, mass, tf.Damper(mass, None, damping=0.3), tf.Spring(mass, None, stiffness=3.0, length=0.4),
                      tf.PrescribedPosition(mass, [tf.Sine(1.0, 0.3), 0, 0]), tf.ControlForce(mass, [(0, 0, 1)]),
                      tf.Force(mass, [1, 2, 3], time=tf.Sine(1.0, 0.5))])


SYSTEMS = {
    **{name: lambda name=name: find_case(name).make().system for name in (
        "heavy-top", "four-bar", "closed-chain-4", "rotation-ii", "rolling-disc", "crane-inverse", "quadrotor",
        "six-axis-arm")},
    "beam": lambda: find_case("flying-beam").make(elements_space=2).system,
    "loop": loop_in_joint_coordinates, "livens": rotor_with_livens_energy}
TIME, N = 0.3, 4


def states(system, seed=2):
    """States of any kind, velocities, multipliers and controls, (N, ...)."""
    rng, controls = np.random.default_rng(seed), sum(part.n_controls for part in system.parts)
    return rng.uniform(0.2, 1.2, (N, system.n_z)), {
        "v": rng.uniform(-1, 1, (N, system.n_q)), "rate": rng.uniform(-1, 1, (N, system.n_q)),
        "multipliers": rng.uniform(-1, 1, (N, system.n_multipliers)), "controls": rng.uniform(-1, 1, (N, controls))}


class PartByPart:
    """The sums over the parts, each by a formula of its own at one state, in plain CasADi."""

    def __init__(self, system, t, z, v=None):
        self.system, self.t, self.z = system, t, z
        self.v = system.velocity(t, z) if v is None else v

    def __call__(self, formula, of_parts=None):
        found = []
        for part in self.system.parts:
            s = Symbols(part)
            velocities = [ca.SX.sym("v", b.n_q) for b in part.bodies]
            if sees_velocities(part):
                s.velocity = velocities
            place = np.concatenate([np.zeros(0, int), *(
                np.arange(self.system.n_q)[self.system.coordinates(b)] for b in part.bodies)])
            arguments = [ca.vertcat(*s.q), ca.vertcat(*s.p), ca.vertcat(*velocities), s.t, s.parameters]
            function = ca.Function("f", arguments, [ca.SX(formula(part, s, velocities))])
            local = self.z[place], self.z[self.system.n_q:][place], self.v[place]
            found.append((place, np.array(function(*local, self.t, part.parameters)).ravel()))
        return found

    def sum(self, formula):
        return sum(value.sum() for _, value in self(formula))

    def vector(self, formula):
        out = np.zeros(self.system.n_q)
        for place, value in self(formula):
            np.add.at(out, place, value)
        return out

    def joined(self, formula):
        return np.concatenate([value for _, value in self(formula)])


def hamiltonian(part, s, v):
    if sees_velocities(part):
        return (ca.dot(s.p[0], v[0]) if part.is_body else 0) - part.kinetic(s, v) + part.potential_energy(s)
    return part.energy(s)


def equal(found, true):
    found, true = np.asarray(found), np.asarray(true)
    np.testing.assert_allclose(found, true, rtol=0, atol=1e-12 * np.abs(true).max(initial=1e-300))


@pytest.mark.parametrize("name", SYSTEMS)
def test_sums_over_the_parts(name):
    system = SYSTEMS[name]()
    z, given = states(system)
    v, m = given["v"], system.n_constraints
    for k in range(2):
        own, moving = PartByPart(system, TIME, z[k]), PartByPart(system, TIME, z[k], v[k])
        equal(system.hamiltonian(TIME, z)[k], own.sum(hamiltonian))
        equal(system.potential(TIME, z)[k], own.sum(lambda part, s, v: part.potential_energy(s)))
        equal(kinetic_energy(system, TIME, z, v)[k], moving.sum(lambda part, s, v: part.kinetic(s, v)))
        equal(system.momentum(TIME, z, v)[k], moving.vector(
            lambda part, s, v: ca.gradient(ca.SX(part.kinetic(s, v)), ca.vertcat(*v))))
        equal(system.mass_matrix(TIME, z[k]) @ v[k], system.momentum(TIME, z, v)[k])
        equal(system.constraints(TIME, z)[k][:m], own.joined(lambda part, s, v: part.constraints(s)))
        equal(system.constraints(TIME, z)[k][m:], own.joined(lambda part, s, v: part.velocity_constraints(s)))
        equal(system.nonholonomic(TIME, z)[k], own.joined(lambda part, s, v: part.velocity_form(s)))
        kinetic, potential = energies_of(system, system.parts[:2], TIME, z, v)
        equal(kinetic[k], sum(x.sum() for _, x in moving(lambda part, s, v: part.kinetic(s, v))[:2]))
        equal(potential[k], sum(x.sum() for _, x in own(lambda part, s, v: part.potential_energy(s))[:2]))
        equal(sum(value[k] for value in system.energy_by_part(TIME, z).values()), system.hamiltonian(TIME, z)[k])
    assert not_finite(system, TIME, z) == {}


@pytest.mark.parametrize("name", SYSTEMS)
def test_derivatives(name):
    system = SYSTEMS[name]()
    z, given = states(system)
    z, n, h = z[0], system.n_q, 1e-6
    gradient, jacobian, rate = system.derivatives(TIME, z)
    steps = h * np.eye(system.n_z)

    def slopes(f):
        return ((f(TIME, z + steps) - f(TIME, z - steps)) / (2 * h)).T

    size = 1 + abs(system.hamiltonian(TIME, z)) + np.abs(system.constraints(TIME, z)).max(initial=0)

    def close(found, true):
        bound = 1e-7 * (1 + np.abs(true).max(initial=0)) + 1e-15 / h * size  # rounding of the differences, too
        np.testing.assert_allclose(found, true, rtol=0, atol=bound)

    force = PartByPart(system, TIME, z).vector(lambda part, s, v: part.force(s))
    close(gradient + np.append(force, np.zeros(n)), slopes(system.hamiltonian))
    close(jacobian.toarray(), slopes(system.constraints))
    close(rate, (system.constraints(TIME + h, z) - system.constraints(TIME - h, z)) / (2 * h))
    matrix, form, drift, drift_rate = nonholonomic_derivatives(system, TIME, z)
    close(form.toarray(), slopes(system.nonholonomic))
    equal(matrix @ system.velocity(TIME, z) + drift, system.nonholonomic(TIME, z))
    close(drift_rate, (system.nonholonomic(TIME + h, z) - system.nonholonomic(TIME - h, z)) / (2 * h))
    if not sees_solved_velocities(system):
        close(system.velocity(TIME, z), slopes(system.hamiltonian)[n:])
    # the power is the rate of H along the motion with these multipliers, less what the constraints do
    weights = given["multipliers"][0]
    v = system.velocity(TIME, z)
    by_time = (system.hamiltonian(TIME + h, z) - system.hamiltonian(TIME - h, z)) / (2 * h)
    close(system.power(TIME, z, multipliers=weights), force @ v + by_time + weights @ rate)
    controls = given["controls"][0]
    by_controls = PartByPart(system, TIME, z)(lambda part, s, v: part.control_force(s, ca.SX(np.ones(part.n_controls))))
    if len(controls):
        total = np.zeros(n)
        for place, value in by_controls:
            np.add.at(total, place, value)
        equal(control_force(system, TIME, z, np.ones(len(controls))), total)


def numbers(values):
    return [value.dense() if isinstance(value, Matrix) else value for value in values]


@pytest.mark.parametrize("name", SYSTEMS)
def test_one_state_many_states_and_machine_code(name):
    system = SYSTEMS[name]()
    z, given = states(system)
    t = np.linspace(0, 1, N)
    quantities = [name for name in QUANTITIES if not (sees_solved_velocities(system) and name == "own momentum")]
    for some in (*((q,) for q in quantities), ("gradient", "jacobian", "rate", "constraints"), tuple(quantities)):
        evaluate = evaluator(system, *some)
        many = numbers(evaluate(system, t, z, **given))
        for k in range(N):
            one = numbers(evaluate(system, t[k:k + 1], z[k:k + 1], **{q: x[k:k + 1] for q, x in given.items()}))
            for a, b in zip(one, many, strict=True):
                np.testing.assert_array_equal(a[0], b[k])
        assert evaluate._tables is None  # four states are few
    if default_backend() == "llvm":
        evaluate._compile()  # of all of them
        for a, b in zip(numbers(evaluate(system, t, z, repeatable=False, **given)), many, strict=True):
            equal(a, b)


def test_other_numbers_by_the_same_evaluator():
    system = find_case("four-bar").make().system
    z, _ = states(system)
    heavier = system.with_numbers({f"{system.label(system.bodies[0])}.mass": 7.0})
    new = tf.System([*heavier.parts], redundant=system.redundant)
    assert evaluator(system, "energy") is evaluator(heavier, "energy") is not evaluator(new, "energy")
    for own, true in ((heavier, new), (system, system)):
        for some in (z, z[:1]):
            np.testing.assert_array_equal(own.hamiltonian(0.0, some), true.hamiltonian(0.0, some))
            repeated = quantities_at(own, np.zeros(len(some)), some, "energy", repeatable=False)[0][:, 0]
            np.testing.assert_allclose(repeated, own.hamiltonian(0.0, some), rtol=1e-13)
    assert abs(heavier.hamiltonian(0.0, z[0]) - system.hamiltonian(0.0, z[0])) > 1e-3


def test_what_is_not_finite_is_named():
    a, b = tf.PointMass(1.0, name="a"), tf.PointMass(1.0, name="b")
    system = tf.System([a, b, tf.Spring(a, b, stiffness=1.0, length=1.0, name="spring")])
    z = np.tile(np.arange(12.0), (3, 1))
    assert not_finite(system, [0.0, 1.0, 2.0], z) == {}
    z[1:, 3:6] = z[1:, :3]  # where the points meet its direction is not known
    assert list(not_finite(system, [0.0, 1.0, 2.0], z).items()) == [(system.parts[2], 1.0)]
