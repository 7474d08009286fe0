"""Point kernels state no value twice, and leave expressions with branches as they are."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation import point_kernel
from timefem.elements.evaluation.plan import ElementPlan


def both(x, values):
    """Functions of the values, before and after."""
    after = point_kernel._without_repetition(x, values)
    return [ca.Function("f", [x], [ca.cse(ca.densify(v))]) for v in (values, after)]


def test_symmetric_blocks_are_halved():
    x = ca.SX.sym("x", 6)
    hessian = ca.jacobian(ca.gradient(ca.sin(ca.sumsqr(x[:3])) * ca.dot(x[:3], x[3:])**3 / x[5], x), x)
    before, after = both(x, ca.vertcat(ca.vec(hessian), -ca.vec(hessian)))
    point = np.random.default_rng(1).normal(size=6)
    np.testing.assert_allclose(np.array(after(point)), np.array(before(point)), rtol=1e-12)
    assert after.n_instructions() < 0.85 * before.n_instructions()


@pytest.mark.parametrize("branch", [lambda a: ca.fmax(a, -1e3), ca.fabs, lambda a: ca.if_else(a > -1e3, a, 0)])
def test_branches_stay(branch):
    """Equal at all points that are looked at, and different elsewhere."""
    x = ca.SX.sym("x", 2)
    before, after = both(x, ca.vertcat(x[0], branch(x[0])))
    for value in (-2e3, 2.0):
        assert np.array_equal(np.array(after([value, 0])), np.array(before([value, 0])))


def test_what_is_not_finite_or_zero_stays():
    x = ca.SX.sym("x", 1)
    before, after = both(x, ca.vertcat(ca.sqrt(x - 2), ca.log(x - 2), 0, x - x * 1.0, ca.sqrt(x - 2) + 1))
    np.testing.assert_allclose(np.array(after(3.7)), np.array(before(3.7)), rtol=1e-14)


def test_kernels_of_a_mechanism_are_smaller(monkeypatch):
    problem = find_case("four-bar").make(t_end=0.1)
    sizes = []
    for without in (point_kernel._without_repetition, lambda inputs, values: values):
        monkeypatch.setattr(point_kernel, "_without_repetition", without)
        plan = ElementPlan(problem.system, tf.MixedGalerkin(2))
        sizes.append([point_kernel._density(group.part, plan.element, {
            name: c.places[i].shape[1] for name, c in plan.components.items()})[0] for i, group in
            enumerate(problem.system.groups)])
    rng = np.random.default_rng(0)
    for less, more in zip(*sizes, strict=True):
        x = rng.normal(size=less.nnz_in(0))
        true = np.array(more(x))
        np.testing.assert_allclose(np.array(less(x)), true, rtol=0, atol=1e-11 * (1 + np.nanmax(np.abs(true))))
    assert sum(f.n_instructions() for f in sizes[0]) < 0.85 * sum(f.n_instructions() for f in sizes[1])
