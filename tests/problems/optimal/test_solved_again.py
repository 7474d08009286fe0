"""A problem that is solved again keeps its plan, equations and program; the inertia of its tangent."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling, TimeMesh
from timefem.cases import CASES
from timefem.problems.optimal.guesses.guess import first_guess
from timefem.problems.optimal.guesses.paths import Way, between
from timefem.problems.optimal.strategies import mesh_sequence
from timefem.problems.optimal.strategies.mesh_sequence import optimality_plan
from timefem.problems.optimal.transcription.equations import OptimalityEquations, TangentParts
from timefem.status import Reason, Status

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2, n_points=2)


def test_solved_again():
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push, load = tf.ControlForce(body, [(1, 0, 0)], name="push"), tf.Force(body, (0.5, 0, 0), name="load")
    problem = tf.OptimalControl(tf.System([body, load]), {body: tf.Pose()}, {body: tf.EndState(
        position=[1, None, None], velocity=[0, None, None])}, (0, 1), tf.Effort(push), bounds={push: (-50, 50)})
    first = tf.solve(problem, ELEMENT, 8)
    plan = optimality_plan(problem, ELEMENT)
    again = tf.solve(problem, ELEMENT, 8)
    assert optimality_plan(problem, ELEMENT) is plan and again.objective == first.objective
    assert first.objective == pytest.approx(6 + 0.125, rel=1e-6)  # of u = 6 - 12 t less the load
    assert tf.solve(problem, ELEMENT, 16).objective == pytest.approx(first.objective, rel=1e-7)
    with pytest.raises(ValueError, match="read-only"):  # which is why plans can be kept
        load.own_parameters[0] = 0.25


def held_below(limit=0.15):
    body = tf.PointMass(1.0, dimension=1, name="mass")
    end = tf.EndState(position=[0, None, None], velocity=[-1, None, None])
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose(velocity=(1, 0, 0))}, {body: end}, (0, 1),
                             cost=tf.Effort(tf.ControlForce(body, [(1, 0, 0)], name="push")),
                             limits=tf.Limit(lambda now, u: now.q(body)[0], upper=limit, name="position"))


def test_what_is_kept_changes_nothing():
    """Equations, program and guess of one solve serve the next; other meshes and elements in between do no harm."""
    problem, fresh = held_below(), tf.solve(held_below(), ELEMENT, 12)
    uneven = np.linspace(0, 1, 13)**1.1
    runs = [(ELEMENT, {"n_elements": 12}), (ELEMENT, {"n_elements": 20}), (ELEMENT, {"mesh": uneven}),
            (tf.MixedGalerkin(1, n_points=1), {"n_elements": 12}), (ELEMENT, {"n_elements": 12})]
    sols = [tf.solve(problem, element, **how) for element, how in runs]
    for sol, (element, how) in zip(sols, runs, strict=True):
        alone = tf.solve(held_below(), element, **how)
        np.testing.assert_array_equal(sol.nodal.state, alone.nodal.state)
        np.testing.assert_array_equal(sol.fields["controls"], alone.fields["controls"])
        assert sol.statistics["newton_iterations"] == alone.statistics["newton_iterations"]
    np.testing.assert_array_equal(sols[0].nodal.state, sols[-1].nodal.state)
    np.testing.assert_array_equal(sols[-1].nodal.state, fresh.nodal.state)


def test_prepared_with_other_bounds_and_back():
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: tf.EndState(
        position=[1, None, None], velocity=[0, None, None])}, (0, 1), tf.Effort(push), bounds={push: (-5.5, 5.5)})
    solver = tf.prepare(problem, ELEMENT, 12)
    first, tight, heavy = (solver.solve(warm=False, **changes) for changes in (
        {}, {"bounds": {push: (-5, 5)}}, {"parameters": {"slider.mass": 1.1}}))
    again = solver.solve(warm=False)
    assert first.objective < tight.objective < heavy.objective
    np.testing.assert_array_equal(again.nodal.state, first.nodal.state)
    assert np.abs(tight.fields["controls"]).max() <= 5 + 1e-6


@pytest.mark.parametrize("end", [
    tf.EndState(orientation=(0.6, 0, 0.8, 0), angular_velocity=(0, 0.1, 0)),
    tf.EndState(orientation=(0.6, 0, 0.8, 0), angular_velocity=(0, 0.1, 0), frame="space"),
    tf.EndState(orientation=(0.6, 0, 0.8, 0), angular_velocity=(None, 0, 0)),
    tf.EndState(angular_velocity=(0.2, 0, 0.1))])
def test_prepared_with_another_end(end):
    """Formulas of conditions that differ in numbers only are made once, and the others anew."""
    problem, elements = turned_body(), 12
    body, = problem.system.bodies
    solver = tf.prepare(problem, ELEMENT, elements)
    solver.solve()
    found = solver.solve(end={body: end}, warm=False)
    own = {"orientation", "angular_velocity"}
    given = {name: getattr(end, name) for name in own if getattr(end, name) is not None}
    alone = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: tf.EndState(frame=end.frame, **given)},
                              (0, 2), cost=tf.Effort(tf.ControlTorque(body)))
    changed = problem.changed(end={body: end})
    same = end.frame == "body" and len(given) == 2 and np.isfinite(end.angular_velocity).all()
    assert (changed.conditions.formulas is problem.conditions.formulas) == same
    for z in np.random.default_rng(0).normal(size=(3, 14)):
        np.testing.assert_array_equal(changed.conditions.values(z, []), alone.conditions.values(z, []))
    expected = tf.solve(alone, ELEMENT, elements)
    np.testing.assert_allclose(found.z, expected.z, rtol=0, atol=1e-9 * np.abs(expected.z).max())
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)


def turned_body(inertia=(5, 26, 29)):
    body = tf.RigidBody(12, inertia, name="box")
    end = {body: tf.EndState(orientation=(0.5, 0.5, 0.5, 0.5), angular_velocity=(0, 0, 0))}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 2), cost=tf.Effort(tf.ControlTorque(body)))


def test_excess_is_that_of_the_eigenvalues():
    problem = turned_body()
    plan, mesh = optimality_plan(problem, ELEMENT), TimeMesh.uniform((0, 2), 4)
    equations = OptimalityEquations(problem, plan, mesh, Scaling.of("full", plan.system, plan.element, 0, problem.z0))
    x, rng, found = first_guess(problem, plan, mesh, None), np.random.default_rng(2), set()
    for size in (0.0, 30.0, 300.0, 600.0, 1e3):  # of the costates, which curve the Lagrangian
        equations.evaluate(equations.moved(x, size * equations.dual * rng.standard_normal(len(equations.dual)), 1.0))
        every = np.arange(equations.n_unknowns)
        values = np.linalg.eigvalsh(TangentParts(equations).dense(every, every))
        assert np.abs(values).min() > 1e-7  # far above the regularisation
        assert equations.excess() == np.sum(values < 0) - np.sum(equations.dual)
        found.add(equations.excess())
    assert 0 in found and max(found) > 2


def test_way_of_a_body_at_many_times():
    """Coordinates and momenta of a steady turn, as of poses one by one."""
    problem = turned_body([[5, 0.1, 0.2], [0.1, 26, 0.3], [0.2, 0.3, 29]])
    body = problem.system.bodies[0]
    first, last = tf.Pose((0, 0, 1), (0.5, 0.5, -0.5, 0.5)), tf.Pose((1, 2, 3), (0.6, 0, 0.8, 0))
    ends = (np.concatenate(body.state(pose)) for pose in (first, last))
    t = np.linspace(0, 2, 9)
    z = between(Way(problem.system, *ends, (0, 2.0), np.zeros((2, 7))), t[None])[0]
    np.testing.assert_allclose(z[[0, -1], 3:7], [first.quaternion, last.quaternion], rtol=0, atol=1e-12)
    h = 1e-5
    around = between(Way(problem.system, *(np.concatenate(body.state(p)) for p in (first, last)), (0, 2.0),
                         np.zeros((2, 7))), (t[1:-1, None] + [-h, h]).T)
    v = (around[1] - around[0])[:, :7] / (2 * h)
    np.testing.assert_allclose(z[1:-1, 7:], problem.system.momentum(t[1:-1], z[1:-1], v), rtol=0, atol=1e-6)


def test_many_elements_take_as_many_iterations():
    """From one mesh to a finer one; a regularisation of the rows that did not fall with their number took 60 in all."""
    sol = tf.solve(CASES["cart-pole-limited"].make(), ELEMENT, 10_000)
    assert sol.success and sol.objective == pytest.approx(59.1914766, rel=1e-8)
    assert sol.statistics["newton_iterations"]["max"] <= 53


def test_programs_of_many_elements_go_with_their_solve(monkeypatch):
    """Without a round of the collector, for which programs of 10^4 elements wait long: 1.2 GB of them, now 0.5."""
    made, gathered = [], gc.isenabled()
    make = mesh_sequence.OptimalProgram
    monkeypatch.setattr(mesh_sequence, "OPTIONS", dataclasses.replace(mesh_sequence.OPTIONS, kept_numbers=1))
    monkeypatch.setattr(mesh_sequence, "OptimalProgram", lambda *given: made.append(make(*given)) or made[-1])
    gc.disable()
    try:
        sol = tf.solve(held_below(), ELEMENT, 200, progress=False)
        made = [weakref.ref(program) for program in made]
        assert sol.success and len(made) == 2 and all(program() is None for program in made)
    finally:
        if gathered:
            gc.enable()


def test_a_start_that_is_found_on_a_coarse_mesh_is_kept(monkeypatch):
    """A car in a valley started cold on each mesh, and was in its goal after 201.8 s for 102.4 on some."""
    near, solve = [], mesh_sequence.OneMesh.__call__

    def fails_at_first(self, level, x, **options):
        equations, x, status = solve(self, level, x, **options)
        near.append(options.get("near", False))
        return equations, x, status if near[1:] else Status.failure(Reason.NOT_CONVERGED, None, None, [])

    monkeypatch.setattr(mesh_sequence.OneMesh, "__call__", fails_at_first)
    sol = tf.solve(held_below(), ELEMENT, 200, progress=False)
    assert sol.success and near == [False, False, True] and len(sol.attempts) == 2
