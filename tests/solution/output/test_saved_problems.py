"""Solutions of all cases, of every kind of problem, are the same when they are read again."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES
from timefem.models import load_model

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.kind != "phases"])
def test_round_trip(name, tmp_path):
    case = CASES[name]
    if case.kind == "initial":
        sol = tf.solve(case.make(t_end=3 * case.t_end / case.n_elements), tf.MixedGalerkin(2), 3, progress=False)
    elif case.path:
        sol = load_model(case.path).solve(progress=False)
    else:
        sol = tf.solve(case.make(), tf.MixedGalerkin(2), case.n_elements, progress=False)
    assert sol.success
    sol.save(tmp_path / "a.h5")
    again = tf.load(tmp_path / "a.h5")
    t = np.linspace(*sol.t[[0, -1]], 5)
    for values in (lambda s: s.t, lambda s: s(t), lambda s: s.multipliers(t), lambda s: s.energy()):
        assert np.array_equal(values(sol), values(again))
    assert again.fields.keys() == sol.fields.keys()
    assert all(np.array_equal(again.fields[f], sol.fields[f]) for f in sol.fields)
    assert (again.parameters, again.errors(), repr(again.element)) == (sol.parameters, sol.errors(), repr(sol.element))
    again.save(tmp_path / "b.h5")
    assert np.array_equal(tf.load(tmp_path / "b.h5").z, sol.z)


@pytest.mark.parametrize("matrix", [lambda q: ca.vertcat(ca.horzcat(1, ca.sin(q[1])), ca.horzcat(q[0] * q[1], 0)),
                                    lambda q, v: ca.vertcat(ca.horzcat(v[1], q[0]), ca.horzcat(0, ca.exp(v[0])))])
def test_controls_by_formulas_act_as_before(matrix, tmp_path):
    """The B of a file gives the same numbers, and can be saved again."""
    system = tf.GeneralizedSystem(2, lambda q, v, c: ca.sumsqr(v), name="body")
    body, = system.bodies
    control = tf.GeneralizedControl(body, matrix, 2, name="control")
    problem = tf.InitialValueProblem(tf.System([*system.parts, control]), {body: tf.Coordinates([0.1, 0.2])}, (0, 1))
    path = tmp_path / "a.h5"
    tf.solve(problem, tf.MixedGalerkin(2), 2, progress=False).save(path)
    for _ in range(2):
        read = tf.load(path)
        read.save(path)
    again, = (part for part in read.system.parts if part.n_controls)
    assert again.n_controls == 2 and again.takes_rates is control.takes_rates
    state = np.random.default_rng(0).normal(size=(1 + control.takes_rates, 2))
    before, after = (np.array(ca.DM(one.matrix_at(*map(ca.SX, state)))) for one in (control, again))
    assert before.shape == (2, 2) and np.array_equal(before, after)
