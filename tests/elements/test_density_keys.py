"""What shares a kernel: elements and parts by their classes and fields, never by names."""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.elements.forms import LagrangeForm
from timefem.elements.one_step import OneStep
from timefem.validate.options import FORMS


@dataclass(frozen=True)
class Theta(OneStep):
    """The theta method for bodies with a constant mass matrix: q1 - q0 = h v_theta, p1 - p0 = h f(q_theta)."""

    theta: float = 0.5

    name = "theta"

    def density(self, s):
        q, p = ((1 - self.theta) * a + self.theta * b for a, b in ((s.q0, s.q1), (s.p0, s.p1)))
        balance = s.inertia((s.p0 - s.p1) * s.per_h) + s.load(q, s.velocity(q, p))
        return ca.vertcat(balance, s.inertia((s.q1 - s.q0) * s.per_h - s.velocity(q, p))), s.constraints(s.q1, s.t1)


def solved(element, mass):
    spring = tf.Spring(mass, stiffness=4.0)
    problem = tf.InitialValueProblem(tf.System([mass, spring]), {mass: tf.Pose((1, 0, 0))}, (0, 1))
    return tf.solve(problem, element, 10, progress=False).position(mass, 1.0)[0]


@pytest.mark.parametrize("theta", [0.5, 1.0, 0.75])
def test_fields_of_a_scheme_tell_kernels_apart(theta):
    q = np.array([1.0, 0.0])  # q'' = -4 q
    a = np.array([[0.0, 1.0], [-4.0, 0.0]]) / 10
    for _ in range(10):
        q = np.linalg.solve(np.eye(2) - theta * a, (np.eye(2) + (1 - theta) * a) @ q)
    np.testing.assert_allclose(solved(Theta(theta=theta), tf.PointMass(1.0)), q[0], rtol=1e-9)


def test_fields_that_are_not_hashable_are_refused_by_name():
    with pytest.raises(tf.InputError, match="Theta: fields must be hashable"):
        Theta(theta=[0.5]).density_key  # noqa: B018


def test_a_density_with_other_rows_than_its_tests_is_refused():
    class Short(Theta):
        def density(self, s):
            rows, constraints = super().density(s)
            return rows[1:], constraints

    class One(Theta):
        def density(self, s):
            return super().density(s)[:1]

    with pytest.raises(tf.InputError, match=r"gives 5 rows for state of .*, 6 expected"):
        solved(Short(), tf.PointMass(1.0))
    with pytest.raises(tf.InputError, match="gives 1 blocks of rows, 2 expected: one for each of state, multipliers"):
        solved(One(), tf.PointMass(1.0))


def test_a_form_that_does_not_know_of_lifts_refuses_them():
    class Plain(LagrangeForm):
        name, takes_lifts = "plain", False

    FORMS["plain"] = Plain
    try:
        with pytest.raises(tf.InputError, match="form='plain' does not take keep='all'; use form='hamilton' or"):
            tf.MixedGalerkin(2, form="plain", keep="all")
    finally:
        del FORMS["plain"]
    assert [tf.MixedGalerkin(1, form=form).takes_reactions for form in FORMS] == [True, False, False, True]


def test_a_form_that_is_registered_again_is_another_one():
    exact = np.cos(2.0)
    for damping in (0.0, 30.0, 0.0):
        class Damped(LagrangeForm):
            def density(self, element, s, damping=damping):
                first, *others = super().density(element, s)
                return [first, *others] if not damping else [first + s.inertia(damping * s.v), *others]

        FORMS["damped"] = Damped
        try:
            found = solved(tf.MixedGalerkin(2, form="damped"), tf.PointMass(1.0))
        finally:
            del FORMS["damped"]
        assert bool(abs(found - exact) < 1e-3) is (damping == 0.0)
