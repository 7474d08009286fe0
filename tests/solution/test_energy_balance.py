"""Work of loads and dampers, and the balance of the energy."""

import itertools

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from tests.example_systems import ROTATIONS, pendulum, slope, spinning_box
from timefem.mechanics.values.of_parts import has_power

pytestmark = pytest.mark.long

POSE = tf.Pose([0.2, -0.1, 0.4], velocity=[1, 0, -0.5], angular_velocity=[1, 2, 3])


def driven(rotation, t_end=1.0):
    """Everything that does work, besides a spring and gravity."""
    body = tf.RigidBody(2, [2, 3, 4], rotation, name="body")
    parts = [tf.Spring(body, None, [0, 1, 0], [0, 0, 3], 4, 1), tf.Damper(body, None, [1, 0, 0], [0, 0, 5], 0.3),
             tf.RayleighDissipation(body, 0.1, 0.2), tf.TorsionalDamper(body, None, [0, 1, 0], 0.3),
             tf.Force(body, [1, 2, tf.Sine(30, 0.5)], [0.1, 0.2, 0.3], frame="body"),
             tf.Force(body, [3, 0, 0], [0, 0, 1], time=ca.cos), tf.Torque(body, lambda t: (t, t**2, 4))]
    return tf.InitialValueProblem(tf.System([body, *parts], gravity=[0, 0, -9.81]), {body: POSE}, (0, t_end))


def solve(problem, element, n):
    solution = tf.solve(problem, element, n, progress=False)
    assert solution.success
    return solution


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("element, n", [(tf.MixedGalerkin(2), 200), (tf.MixedGalerkin(3), 60),
                                        (tf.MixedGalerkin(4), 30), (tf.MixedGalerkin(3, 3), 60)], ids=str)
def test_balance_of_a_driven_and_damped_body(rotation, element, n):
    sol = solve(driven(rotation), element, n)
    exchanged = np.abs(sol.energy.work()).max()
    assert exchanged > 1
    assert np.abs(sol.energy() - sol.energy()[0]).max() > 1
    assert np.abs(sol.energy.balance()).max() < 1e-9 * exchanged
    assert sol.errors()["energy"] == np.abs(sol.energy.balance()).max()


@pytest.mark.parametrize("element, sizes, order", [
    (tf.MixedGalerkin(1), (10, 20, 40), 2), (tf.MixedGalerkin(2, 2), (10, 20, 40), 4),
    (tf.BubnovGalerkin(1), (40, 80, 160), 2), (tf.BubnovGalerkin(3), (10, 20, 40), 4)], ids=str)
def test_balance_converges(element, sizes, order):
    """At least with the order of the element; and work converges to the value of a much finer solution."""
    fine = solve(driven("quaternion"), tf.MixedGalerkin(4), 60)
    balance, work = [], []
    for n in sizes:
        sol = solve(driven("quaternion"), element, n)
        balance.append(np.abs(sol.energy.balance()).max())
        work.append(abs(sol.energy.work()[-1] - fine.energy.work()[-1]))
    h = 1 / np.array(sizes)
    assert slope(h, balance) > order - 0.3
    assert slope(h, work) == pytest.approx(order, abs=0.4)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_work_in_closed_form(rotation):
    """Force 4 sin(pi t) on mass 2 from rest; resistance 1.5 v on a mass that coasts."""
    body, other = tf.RigidBody(2, [2, 3, 4], rotation), tf.RigidBody(2, [2, 3, 4], rotation)
    system = tf.System([body, other, tf.Force(body, [4, 0, 0], time=tf.Sine(1, 0.5)),
                        tf.RayleighDissipation(other, 1.5)])
    sol = solve(tf.InitialValueProblem(system, {other: tf.Pose(velocity=[0, 3, 0])}, (0, 2)), tf.MixedGalerkin(3), 40)
    v = 2 * (1 - np.cos(np.pi * sol.t)) / np.pi
    np.testing.assert_allclose(sol.energy.work(), v**2 - 9 * (1 - np.exp(-1.5 * sol.t)), rtol=0, atol=1e-9)


def test_work_at_times():
    sol = solve(driven("quaternion"), tf.MixedGalerkin(3), 60)
    np.testing.assert_allclose(sol.energy.work(sol.t), sol.energy.work(), rtol=0, atol=1e-12)
    times = np.array([[0.013, 0.5], [0.777, 0.999]])
    assert sol.energy.work(times).shape == (2, 2) and sol.energy.work(0.3).shape == ()
    np.testing.assert_allclose((sol.energy.work(times + 1e-6) - sol.energy.work(times - 1e-6)) / 2e-6,
                               sol.system.power(times, sol(times)), rtol=0, atol=1e-4)
    assert np.abs(sol.energy.balance(times)).max() < 1e-4  # inside of elements the state has order k + 1
    with pytest.raises(tf.InputError, match="time"):
        sol.energy.work(1.5)


def test_load_with_kinks():
    """Nodes at the kinks keep the accuracy; a mesh that misses them shows in the balance."""
    body = tf.RigidBody(2, [2, 3, 4])
    force = tf.Force(body, [4, 0, 1], [0.1, 0.2, 0], time=tf.TrianglePulse(0.1, 0.35, 0.7, 30))
    problem = tf.InitialValueProblem(tf.System([body, force]), {body: POSE}, (0, 1))
    kinks = [0, *force.kinks, 1]
    mesh = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in itertools.pairwise(kinks)]))
    good = tf.solve(problem, tf.MixedGalerkin(3), mesh=mesh, progress=False)
    assert good.errors()["energy"] < 1e-10
    np.testing.assert_allclose(good.linear_momentum(1.0), [2 + 36, 0, -1 + 9], rtol=0, atol=1e-11)
    missed = tf.solve(problem, tf.MixedGalerkin(3), mesh=np.linspace(0, 1, 8), progress=False)
    assert missed.errors()["energy"] > 1e-4


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_prescribed_motion(rotation):
    """The work of a constraint that depends on time: a pendulum whose support is shaken."""
    body = tf.RigidBody(2, [2, 3, 4], rotation)
    shaken = tf.PrescribedPosition(body, lambda t: (0.2 * (1 - ca.cos(5 * t)), 0, 0), point=[0, -1, 0])
    system = tf.System([body, shaken], gravity=[0, 0, -9.81])
    problem = tf.InitialValueProblem(system, {body: tf.Pose([0, 1, 0])}, (0, 1))
    sol = solve(problem, tf.MixedGalerkin(3), 20)
    assert has_power(problem.system)
    assert np.abs(sol.energy() - sol.energy()[0]).max() > 0.1
    assert sol.errors()["energy"] < 1e-12


def test_potential_that_depends_on_time():
    """A part may state H(z, t): its partial time derivative is power."""

    class Moving(tf.mechanics.Part):
        def __init__(self, body):
            self.bodies = (body,)

        @property
        def kind(self):
            return ("moving spring", self.bodies[0].kind)

        def energy(self, s):
            return 5 * (s.q[0][0] - ca.sin(3 * s.t))**2

    mass = tf.PointMass(1)
    sol = solve(tf.InitialValueProblem(tf.System([mass, Moving(mass)]), {}, (0, 2)), tf.MixedGalerkin(3), 60)
    assert np.abs(sol.energy() - sol.energy()[0]).max() > 0.1
    assert sol.errors()["energy"] < 1e-9


@pytest.mark.parametrize("problem", [lambda: spinning_box(t_end=0.5), lambda: pendulum("directors", 0.5)])
def test_nothing_changes_without_loads(problem, monkeypatch):
    sol = solve(problem(), tf.MixedGalerkin(2), 10)
    monkeypatch.setattr(tf.Solution, "_element_work", None)  # not even called
    assert not has_power(sol.system)
    assert np.array_equal(sol.energy.work(), np.zeros(11)) and np.array_equal(sol.energy.work([0.1, 0.2]), [0, 0])
    assert sol.errors()["energy"] == np.abs(sol.energy() - sol.energy()[0]).max()
    assert np.array_equal(sol.energy.balance([0.2, 0.3]), sol.energy([0.2, 0.3]) - sol.energy()[0])


def test_solution_without_elements():
    """A solve that fails at once has done no work."""
    sol = tf.solve(driven("quaternion", 1e6), tf.MixedGalerkin(1), 2, progress=False)
    assert not sol.success and len(sol.t) == 1
    assert sol.energy.work().tolist() == [0] and sol.errors()["energy"] == 0
