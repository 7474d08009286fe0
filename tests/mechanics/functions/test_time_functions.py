"""Functions of time: values in NumPy and in symbols, derivatives, kinks, plain data, and refused input."""

import math

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.kernels import compile_count
from timefem.mechanics.describe import build, describe
from timefem.mechanics.time_formulas import as_time_function, as_vector_function

T = np.array([-1.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0])
def smooth_step(x):
    x = np.clip(x, 0, 1)
    return 10 * x**3 - 15 * x**4 + 6 * x**5


CASES = {
    "constant": (tf.Constant(2.5), lambda t: np.full_like(t, 2.5), ()),
    "ramp": (tf.Ramp(0.5, 2, -1, 3), lambda t: np.interp(t, [0.5, 2], [-1, 3]), (0.5, 2)),
    "triangle": (tf.TrianglePulse(0, 0.5, 2, 100), lambda t: np.interp(t, [0, 0.5, 2], [0, 100, 0]), (0, 0.5, 2)),
    "step": (tf.Step(1, -4), lambda t: np.where(t >= 1, -4.0, 0.0), (1,)),
    "smooth": (tf.Ramp(1, 3, -1, 5, "smooth"), lambda t: smooth_step((t - 1) / 2) * 6 - 1, (1, 3)),
    "sine": (tf.Sine(2, 0.7, 0.3, -1), lambda t: -1 + 2 * np.sin(2 * np.pi * 0.7 * t + 0.3), ()),
    "table": (tf.Table([0, 0.5, 2, 4], [1, 3, -2, 0.5]), lambda t: np.interp(t, [0, 0.5, 2, 4], [1, 3, -2, 0.5]),
              (0, 0.5, 2, 4)),
    "cubic": (tf.Table([0, 1, 2, 4], [0, 1, 8, 64], "cubic"), lambda t: np.clip(t, 0, 4)**3, (0, 1, 2, 4)),
    "switch": (tf.Formula(lambda t: ca.if_else(t < 1, 0, (t - 1)**2)), lambda t: np.maximum(t - 1, 0)**2, (1,)),
    "clipped": (tf.Formula("max(0, 2*t - 1) + abs(t - 2)"), lambda t: np.maximum(0, 2 * t - 1) + np.abs(t - 2),
                (0.5, 2)),
    "formula": (tf.Formula(lambda t: ca.exp(-t) * t**2, kinks=[1]), lambda t: np.exp(-t) * t**2, (1,)),
}


@pytest.mark.parametrize("function, expected, kinks", CASES.values(), ids=CASES)
def test_values(function, expected, kinks):
    np.testing.assert_allclose(function(T), expected(T), rtol=0, atol=1e-13)
    assert function(T.reshape(2, 5)).shape == (2, 5) and function(0.3).shape == () and function(np.zeros(0)).size == 0
    assert function.kinks == kinks
    t, c = ca.SX.sym("t"), ca.SX.sym("c", len(function.parameters))
    values = ca.Function("f", [t, c], [function.formula(t, *ca.vertsplit(c))])
    np.testing.assert_allclose([float(values(v, function.parameters)) for v in T], expected(T), rtol=0, atol=1e-13)
    np.testing.assert_allclose(float(ca.Function("f", [t], [function(t)])(0.25)), function(0.25), rtol=0, atol=1e-14)


@pytest.mark.parametrize("function", [case[0] for case in CASES.values()], ids=CASES)
def test_time_derivative(function):
    """A time function can also drive a constraint, whose time derivative is taken."""
    t = ca.SX.sym("t")
    slope = ca.Function("f", [t], [ca.jacobian(ca.SX(function(t)), t)])
    for v in (0.3, 1.7, 3.1):
        assert float(slope(v)) == pytest.approx((function(v + 1e-6) - function(v - 1e-6)) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("t", [0, 0.5, 1, 2])
def test_motion_of_a_table_has_slopes_at_its_ends(t):
    """As a load it is constant beyond its ends; as a motion it goes on there, so that its rate does not jump."""
    table, symbol = tf.Table([0, 1, 2], [0, 0.5, 3], "cubic"), ca.SX.sym("t")  # t^2 - t / 2
    rate = ca.Function("f", [symbol], [ca.jacobian(table.motion(symbol, *table.parameters.tolist()), symbol)])
    assert float(rate(t)) == pytest.approx(2 * t - 0.5, abs=1e-13)


def test_value_objects():
    assert tf.Table([0, 1], [2, 3]) == tf.Table(np.array([0.0, 1.0]), (2, 3)) != tf.Table([0, 1], [2, 4])
    assert hash(tf.Sine(1, 2)) == hash(tf.Sine(1, 2))
    assert tf.Sine(1, 2).form == tf.Sine(3, 4).form != tf.Step(1, 2).form
    assert tf.Table([0, 1], [2, 3]).form != tf.Table([0, 1, 2], [2, 3, 4]).form
    with pytest.raises(AttributeError):
        tf.Sine(1, 2).amplitude = 3


def test_sample_of_a_function_of_numbers():
    table = tf.Table.sample(lambda t: np.interp(t, [0, 2], [1, 2]) ** 2, np.linspace(0, 2, 41))
    np.testing.assert_allclose(table(T), np.interp(T, [0, 2], [1, 2]) ** 2, rtol=0, atol=1e-12)


def test_numbers_and_callables():
    assert as_time_function("time", 3) == tf.Constant(3)
    assert as_time_function("time", lambda t: 1.0 + 0 * t)(2.0) == 1
    x, y, z = as_vector_function("value", lambda t: (t, 2 * t, ca.sin(t)))
    assert (x(2.0), y(2.0), z(2.0)) == (2, 4, np.sin(2))
    assert as_vector_function("value", [1, tf.Step(0, 1), ca.cos])[2](0.0) == 1


@pytest.mark.parametrize("make, message", [
    (lambda: tf.Constant(np.nan), "Constant: value must be finite"),
    (lambda: tf.Constant("x"), "value must be a number"),
    (lambda: tf.Ramp(1, 1, 0, 1), "Ramp: times must increase, not \\[1, 1\\]"),
    (lambda: tf.TrianglePulse(0, 2, 1, 5), "times must increase"),
    (lambda: tf.TrianglePulse(0, 1, 2, np.inf), "peak must be finite"),
    (lambda: tf.Sine(1, np.nan), "frequency must be finite"),
    (lambda: tf.Table([0, 1], [1, 2, 3]), "values must have shape"),
    (lambda: tf.Table([0, 1], [[1, 2], [3, 4]]), "values must have shape"),
    (lambda: tf.Table([0], [1]), "at least two times"),
    (lambda: tf.Table([0, 0], [1, 2]), "times must increase"),
    (lambda: tf.Table([0, np.nan], [1, 2]), "times must be finite"),
    (lambda: tf.Table([0, 1], [1, np.inf]), "values must be finite"),
    (lambda: tf.Table([0, 1], [1, 2], "step"), "kind must be one of"),
    (lambda: tf.Formula(3), "must be a function"),
    (lambda: tf.Formula(lambda t: (t, t)), "must return 1 value"),
    (lambda: tf.Formula(lambda t: math.sin(t)), "CasADi|casadi"),
    (lambda: tf.Formula(lambda t: ca.SX.sym("other")), "contains the symbols other"),
    (lambda: as_time_function("time", "x"), "unknown name 'x'"),
    (lambda: as_time_function("time", lambda: 1), r"time: .* of \(t\), not of \(\)"),
    (lambda: as_vector_function("value", [1, 2]), "three"), (lambda: as_vector_function("value", 5), "three"),
    (lambda: as_vector_function("value", tf.Sine(1, 1)), "three"),
    (lambda: as_vector_function("value", "abc"), "unknown name .abc."),
    (lambda: as_vector_function("value", lambda t: (t, t)), "must return 3 values"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


def test_plain_data_and_back():
    functions = [case[0] for case in CASES.values() if not isinstance(case[0], tf.Formula)]  # each is another one
    body = tf.RigidBody(1, [1, 1, 1])
    loads = [tf.Force(body, [1, f, f], time=f, point=[1, 2, 3], frame="body", name=str(i))
             for i, f in enumerate(functions)]
    system = tf.System([body, *loads])
    again = build(describe(system))
    for one, other in zip(system.parts, again.parts, strict=True):
        assert one.kind == other.kind and one.parameters.tobytes() == other.parameters.tobytes()
    damaged = describe(system)
    damaged["parts"][1]["time"] = {"function": "exec", "value": 3}
    with pytest.raises(tf.InputError, match="unknown function of time 'exec'"):
        build(damaged)
    again = build(describe(tf.System([body, tf.Torque(body, lambda t: [t, 0, t**2], time=ca.sin, name="motor")])))
    assert again["motor"].time(0.3) == ca.sin(0.3) and [f(0.3) for f in again["motor"].value] == [0.3, 0.0, 0.3**2]


def test_numbers_do_not_make_new_kernels():
    def batch(table, sine):
        body = tf.RigidBody(1, [1, 1, 1])
        return tf.ElementBatch(tf.System([body, tf.Force(body, [table, 2, sine])]), tf.MixedGalerkin(1))

    batch(tf.Table([0, 1, 2], [1, 2, 3]), tf.Sine(1, 2))
    before = compile_count()
    batch(tf.Table([0, 1, 5], [4, 5, 6]), tf.Sine(3, 4, 5, 6))
    assert compile_count() == before


def test_derivatives_of_a_cubic_table_at_its_entries():
    """Of a prescribed motion: the second one would be halved by minima and maxima."""
    from scipy.interpolate import CubicSpline

    table, t = tf.Table([0, 0.3, 1, 1.7, 2], [0, 1, 0.5, 2, 1], "cubic"), ca.SX.sym("t")
    value = table.motion(t, *table.parameters.tolist())
    rates = [value, ca.jacobian(value, t), ca.jacobian(ca.jacobian(value, t), t)]
    function, expected = ca.Function("f", [t], [ca.vertcat(*rates)]), CubicSpline(table.times, table.values)
    for at in (*table.times, 0.15, 1.2):
        np.testing.assert_allclose(np.array(function(at)).ravel(), [expected(at, k) for k in range(3)], rtol=1e-12,
                                   atol=1e-12)


@pytest.mark.parametrize("make", [
    lambda p: tf.FormulaForce([p], lambda f, t, c: [[ca.if_else(t < c[0], 1, -3), 0, 0]], parameters=[0.437]),
    lambda p: tf.FormulaForce([p], "[[1 if t < c[0] else -3, 0, 0]]", parameters=[0.437]),
    lambda p: tf.FormulaEnergy([p], lambda f, t, c: -f[0].q[0] * ca.if_else(2 * t < 2 * c[0], 1, -3),
                              parameters=[0.437]),
    lambda p: tf.Force(p, (1, 0, 0), time=lambda t: ca.if_else(t < 0.437, 1, -3))])
def test_nodes_where_formulas_of_parts_switch(make):
    """Thrown one way until t = 0.437 s, then the other way: exact, whatever the elements."""
    body = tf.PointMass(2.0, dimension=1, name="body")
    system = tf.System([body, make(body)])
    assert system.kinks.tolist() == pytest.approx([0.437])
    sol = tf.solve(tf.InitialValueProblem(system, {body: tf.Pose()}, (0, 1)), tf.MixedGalerkin(2), 10, progress=False)
    there, v, rest = 0.437**2 / 4, 0.437 / 2, 1 - 0.437
    assert sol.position("body", 1.0)[0] == pytest.approx(there + v * rest - 0.75 * rest**2, abs=1e-14)


def test_what_depends_on_a_state_is_no_time():
    body = tf.PointMass(2.0, dimension=1, name="body")
    push = tf.FormulaForce([body], lambda f, t, c: [[ca.if_else(f[0].q[0] < 0.2, 1, ca.fabs(ca.sin(t))), 0, 0]])
    assert not len(tf.System([body, push]).kinks)
