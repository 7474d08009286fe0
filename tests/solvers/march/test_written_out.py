"""Marches of small systems whose elements are evaluated and eliminated by kernels of their own."""

import gc
import weakref

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling
from timefem.elements.evaluation.plan import ElementPlan
from timefem.kernels.compile import default_backend
from timefem.solvers.linear.element.unrolled import NOT_UNROLLED, factor_unrolled, solve_unrolled
from timefem.solvers.march import march
from timefem.solvers.march.march import LoopArrays

pytestmark = pytest.mark.skipif(default_backend() != "llvm", reason="kernels are not compiled")


def box():
    body = tf.RigidBody(12, [5, 26, 29])
    return tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=[0, 5, 1])}, (0, 4))


def masses():
    """Two masses and a spring between them, which is no polynomial."""
    a, b = tf.PointMass(1.0), tf.PointMass(2.0)
    system = tf.System([a, b, tf.Spring(a, b, stiffness=40.0, length=1.0)], gravity=(0, 0, -9.81))
    return tf.InitialValueProblem(system, {a: tf.Pose((0, 0, 0)), b: tf.Pose((1, 0, 0), velocity=(0, 1, 0))}, (0, 2))


def rod():
    """A mass at a rod: one condition, two multipliers."""
    mass = tf.PointMass(1.0)
    system = tf.System([mass, tf.RigidDistance(mass, None, length=1.0)], gravity=(0, 0, -9.81))
    return tf.InitialValueProblem(system, {mass: tf.Pose((1, 0, 0), velocity=(0, 1, 0))}, (0, 2))


def loop_of(problem, element):
    scaling = Scaling.of("full", problem.system, element, 0, problem.z0)
    return LoopArrays(ElementPlan(problem.system, element), scaling)


def marched(problem, element, mesh):
    """All states, and iterations."""
    plan, scaling = (ElementPlan(problem.system, element),
                     Scaling.of("full", problem.system, element, 0, problem.z0))
    multipliers = np.zeros(problem.system.n_multipliers)
    x, _, status, iterations = march.march(plan, mesh, problem.z0, multipliers, scaling, tf.Newton())
    assert status.success
    return plan.columns.unpack(x)[0], iterations


# whose elements are eliminated, and evaluated, by kernels of their own: system, degree, and points
WRITTEN = (box, 1), (masses, 1), (masses, 2), (rod, 1)
WHOLE = (box, 1, 2), (box, 1, 4), (masses, 1, 2), (masses, 1, 4), (masses, 2, 4), (rod, 1, 2), (rod, 1, 4)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(1), tf.MixedGalerkin(1, 4), tf.MixedGalerkin(2)], ids=repr)
@pytest.mark.parametrize("make", [box, masses, rod])
def test_same_motion(make, element, monkeypatch):
    problem = make()
    record = loop_of(problem, element).record
    assert bool(record.unrolled.factor) is ((make, element.degree) in WRITTEN)
    assert bool(record.whole.both) is ((make, element.degree, element.n_points) in WHOLE)
    mesh = tf.TimeMesh.uniform(problem.t_span, 400)
    found, iterations = marched(problem, element, mesh)
    monkeypatch.setattr(march, "unrolled", lambda *_: NOT_UNROLLED)
    wanted, by_fronts = marched(problem, element, mesh)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())
    assert abs(iterations.mean() - by_fronts.mean()) < 0.5  # old or new factors by turns


def test_long_elements_are_left_to_fronts(monkeypatch):
    """Their pivots are far from those of short ones."""
    problem = box()
    loop = loop_of(problem, tf.MixedGalerkin(1))
    plan, numbers, n = loop.record.unrolled, loop.work.numbers, loop.record.unrolled.n
    rng = np.random.default_rng(0)
    numbers[:n], numbers[n:n + plan.n_entries] = rng.normal(size=n), 10 * rng.normal(size=plan.n_entries)
    assert not factor_unrolled(plan, numbers)
    mesh = tf.TimeMesh(np.concatenate([np.linspace(0, 1, 41), np.linspace(1.4, 4, 7)]))  # turns by 2 rad in an element
    found, _ = marched(problem, tf.MixedGalerkin(1), mesh)
    monkeypatch.setattr(march, "unrolled", lambda *_: NOT_UNROLLED)
    wanted, _ = marched(problem, tf.MixedGalerkin(1), mesh)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def test_solution_of_the_linear_equations():
    problem, element = box(), tf.MixedGalerkin(1)
    plan = ElementPlan(problem.system, element)
    batch = tf.ElementBatch(problem.system, element)
    loop = LoopArrays(plan, Scaling.of("full", problem.system, element, 0, problem.z0))
    rng, n = np.random.default_rng(3), loop.record.unrolled.n
    columns = plan.columns
    x = np.concatenate([problem.z0, [0.1, 0.2], problem.z0 + 0.01 * rng.normal(size=14)])
    assert len(x) == columns.n_local
    _, tangent = batch(x[None], 0.01, 0.0)
    dense = batch.dense(tangent)[0][:, columns.n_node:]
    chosen = plan.tangent_columns >= columns.n_node
    numbers, right = loop.work.numbers, rng.normal(size=n)
    numbers[:n] = right
    numbers[n:n + chosen.sum()] = dense[plan.tangent_rows[chosen], plan.tangent_columns[chosen] - columns.n_node]
    assert factor_unrolled(loop.record.unrolled, numbers)
    found, wanted = np.zeros(n), np.linalg.solve(dense, right)
    solve_unrolled(loop.record.unrolled, numbers, found)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.linalg.cond(dense) * np.abs(wanted).max())


def test_plans_are_forgotten():
    """Their kernels are kept for the next system of the kind, but not the plan and its system."""
    problem = masses()
    plan = ElementPlan(problem.system, tf.MixedGalerkin(1))
    loop = LoopArrays(plan, Scaling.of("full", problem.system, plan.element, 0, problem.z0))
    assert loop.record.whole.both
    known = weakref.ref(plan)
    del plan, loop
    gc.collect()
    assert known() is None


def test_one_number():
    """Of a part beside one without numbers: a vector of one is a row to CasADi as well."""
    state, mass = tf.State("x", "[x[1], -4 * x[0]]", n=2), tf.PointMass(1.0, dimension=1, name="mass")
    problem = tf.InitialValueProblem(tf.System([state, mass]), {state: [1, 0], mass: tf.Pose(velocity=(1, 0, 0))},
                                     (0, 2))
    element = tf.MixedGalerkin(2)
    assert loop_of(problem, element).record.whole.both
    sol = tf.solve(problem, element, 100, progress=False)
    np.testing.assert_allclose(sol.z[-1, :3], [np.cos(4), -2 * np.sin(4), 2], rtol=0, atol=1e-6)
