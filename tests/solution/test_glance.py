"""The quick look at a motion lets nothing pass that the audit behind it would not."""

import numpy as np
import pytest

import timefem as tf
from timefem.elements.evaluation.nodal_values import NodalValues
from timefem.solution import audit
from timefem.solution.glance import Along, Limits, constraints_held, resolved
from timefem.solvers.march.resolution import differences, excess


def solved(element, n, speed):
    body = tf.RigidBody(12, (5, 26, 29), name="box")
    problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=(0, speed, 1))}, (0, 1))
    return tf.solve(problem, element, n, driver=tf.March(keep_mesh=True), progress=False)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.MixedGalerkin(3)])
@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
def test_passes_only_what_the_audit_passes(element):
    passed = []
    for n in (6, 10, 20, 40):
        for speed in (0.5, 3.0, 12.0):
            sol = solved(element, n, speed)
            if not sol.success:
                continue
            wrong = (audit._violated(sol) is not None or audit._warn_of_turns(sol)
                     or excess(sol.system, element, sol.t, sol.z, sol.nodal_state)[0].max() > 1)
            quick = audit._at_a_glance(sol)
            assert not (quick and wrong), (n, speed)
            passed.append((quick, wrong))
    assert (True, False) in passed and not all(quick for quick, _ in passed)


def test_each_fault_is_seen():
    sol = solved(tf.MixedGalerkin(2), 40, 1.0)
    system, m = sol.system, sol.system.n_multipliers
    difference, factor = differences(sol.element)
    limits = Limits(1e-7 * system.state_scale, factor, difference, 1.5)
    for values in (sol.values, NodalValues(sol.nodal_state, sol.nodal_multipliers)):  # by all dofs, and by arrays
        assert resolved(system, sol.t, values.chain(), limits)
        assert not resolved(system, sol.t, values.chain(), limits._replace(turn=0.02))
        assert not resolved(system, sol.t, values.chain(), limits._replace(factor=1e-6))
    stretched = sol.z.copy()
    assert held(system, sol.t, stretched, np.full(m, 1e-6))
    stretched[17, 3:7] *= 1.01
    assert not held(system, sol.t, stretched, np.full(m, 1e-6))
    stretched[17, 3:7] = np.nan
    assert not held(system, sol.t, stretched, np.full(m, 1e-6))
    lost = sol.nodal_state.copy()
    lost[17, 1, 3:7] += 10.0
    assert not resolved(system, sol.t, NodalValues(lost, sol.nodal_multipliers).chain(), limits)


def held(system, t, z, bounds):
    return constraints_held(system, t, z.ravel(), z.shape[1], bounds, 1.0)


def test_constraints_at_many_nodes_of_many_bodies():
    """More nodes than are looked at at once, several parts of a kind, and another system of the same structure."""
    bodies = [tf.RigidBody(1, (1, 2, 3), name=name) for name in "ab"]
    start = {body: tf.Pose(angular_velocity=(0, 1, 2)) for body in bodies}
    problem = tf.InitialValueProblem(tf.System(bodies), start, (0, 9))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 700, progress=False)
    bounds = np.full(problem.system.n_multipliers, 1e-9)
    assert held(problem.system, sol.t, sol.z, bounds)
    for node in (0, 255, 256, 700):
        off = sol.z.copy()
        off[node, 10:14] *= 1.001
        assert not held(problem.system, sol.t, off, bounds)
        assert held(problem.system, sol.t, off, np.array([1e-9, 1e-2, 1e-9, 1e-9]))


def test_constraints_of_second_degree_are_sums_of_products():
    """Unit quaternions and directors, beside a joint whose numbers may change: both ways see the same faults."""
    bodies = [tf.RigidBody(1, (1, 2, 3), name=name, rotation="directors") for name in "ab"]
    system = tf.System([*bodies, tf.RigidBody(1, (1, 2, 3), name="c"), tf.RigidDistance(*bodies, length=2.0)])
    z = tf.InitialValueProblem(system, {bodies[1]: tf.Pose((2, 0, 0))}, (0, 1)).z0
    along, n = Along(system), 5
    assert along._polynomials and along._others
    rng, t, m = np.random.default_rng(0), np.arange(n), system.n_multipliers
    for k in range(40):
        states, size = np.tile(z, (n, 1)), 10.0 ** -rng.integers(1, 5)
        states[rng.integers(n), rng.integers(system.n_q)] += size
        for most in 10.0 ** np.arange(-6.0, 0):
            wrong = max(np.abs(system.constraints(0.0, state)[:system.n_constraints]).max() for state in states)
            found = along.held(t, states.ravel(), system.n_z, np.ones(m), most, system.groups)
            assert found == (wrong <= most), (k, most)
