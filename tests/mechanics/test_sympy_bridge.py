"""Models of sympy.physics.mechanics, against systems by hand and an independent integrator."""

import sys

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf

sympy = pytest.importorskip("sympy")
mechanics = pytest.importorskip("sympy.physics.mechanics")

Q1, Q2, U1, U2 = mechanics.dynamicsymbols("q1 q2 u1 u2")
M1, M2, L1, L2, G = SYMBOLS = sympy.symbols("m1 m2 l1 l2 g")
X = mechanics.dynamicsymbols("x")
T = mechanics.dynamicsymbols._t
NUMBERS = (1.5, 0.7, 1.1, 0.6, 9.81)
START = tf.Coordinates([1.0, -0.5], [0.2, 1.0])


def double_pendulum(speeds=None):
    """Energies of SymPy's particles, with speeds of their own or with the derivatives of the angles."""
    rates = speeds or [Q1.diff(), Q2.diff()]
    space = mechanics.ReferenceFrame("N")
    frames = [space.orientnew(name, "Axis", [q, space.z]) for name, q in (("A", Q1), ("B", Q2))]
    for frame, rate in zip(frames, rates, strict=True):
        frame.set_ang_vel(space, rate * space.z)
    origin = mechanics.Point("O")
    origin.set_vel(space, 0)
    first = origin.locatenew("P", L1 * frames[0].x)
    second = first.locatenew("R", L2 * frames[1].x)
    first.v2pt_theory(origin, space, frames[0])
    second.v2pt_theory(first, space, frames[1])
    particles = [mechanics.Particle("a", first, M1), mechanics.Particle("b", second, M2)]
    for particle in particles:
        particle.potential_energy = -particle.mass * G * particle.point.pos_from(origin).dot(space.x)
    return tf.from_sympy([Q1, Q2], speeds, mechanics.kinetic_energy(space, *particles),
                         mechanics.potential_energy(*particles), parameters=dict(zip(SYMBOLS, NUMBERS, strict=True)))


def by_hand():
    def kinetic(q, v, c):
        return ((c[0] + c[1]) * (c[2] * v[0]) ** 2 + c[1] * (c[3] * v[1]) ** 2) / 2 \
            + c[1] * c[2] * c[3] * ca.cos(q[0] - q[1]) * v[0] * v[1]

    def potential(q, c):
        return -c[4] * ((c[0] + c[1]) * c[2] * ca.cos(q[0]) + c[1] * c[3] * ca.cos(q[1]))

    return tf.GeneralizedSystem(2, kinetic, potential, parameters=NUMBERS)


def integrated(t):
    """Angles and angular velocities at `t` by DOP853, from equations of motion written down independently."""
    m1, m2, l1, l2, g = NUMBERS

    def rate(_, y):
        a, b, va, vb = y
        c, s = m2 * l1 * l2 * np.cos(a - b), m2 * l1 * l2 * np.sin(a - b)
        force = [-s * vb**2 - g * (m1 + m2) * l1 * np.sin(a), s * va**2 - g * m2 * l2 * np.sin(b)]
        return [va, vb, *np.linalg.solve([[(m1 + m2) * l1**2, c], [c, m2 * l2**2]], force)]

    return solve_ivp(rate, (0, t), [*START.q, *START.v], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("speeds", [None, [U1, U2]])
def test_double_pendulum(speeds):
    a, b = (tf.solve(tf.InitialValueProblem(s, START, (0, 2)), tf.MixedGalerkin(4), 200)
            for s in (double_pendulum(speeds), by_hand()))
    np.testing.assert_allclose(a.z, b.z, rtol=0, atol=1e-12)
    end = np.concatenate([a.coordinates(None, 2.0), a.velocity(None, 2.0)])
    np.testing.assert_allclose(end, integrated(2.0), rtol=0, atol=1e-8)
    assert a.errors()["energy"] < 1e-12


def test_rigid_body_and_holonomic_constraint():
    """A pendulum of SymPy's RigidBody in (x, y, angle), its support as constraints, against the angle alone."""
    x, y, angle = coordinates = mechanics.dynamicsymbols("x y phi")
    mass, inertia, length, g = sympy.symbols("m J l g")
    space = mechanics.ReferenceFrame("N")
    frame = space.orientnew("B", "Axis", [angle, space.z])
    origin = mechanics.Point("O")
    origin.set_vel(space, 0)
    centre = origin.locatenew("C", x * space.x + y * space.y)
    centre.set_vel(space, x.diff() * space.x + y.diff() * space.y)
    body = mechanics.RigidBody("b", centre, frame, mass, (mechanics.inertia(frame, 0, 0, inertia), centre))
    support = sympy.Matrix([x - length * sympy.sin(angle), y + length * sympy.cos(angle)])
    numbers = {mass: 2, inertia: 0.3, length: 0.5, g: 9.81}
    a = tf.from_sympy(coordinates, None, body.kinetic_energy(space), mass * g * y, support, numbers, names=["x", "y"])
    assert a.constraint_names == ["body1: x", "body1: y"]
    b = tf.from_sympy([angle], None, (inertia + mass * length**2) * angle.diff()**2 / 2,
                      -mass * g * length * sympy.cos(angle), parameters=numbers)
    start = tf.Coordinates([0.5 * np.sin(1), -0.5 * np.cos(1), 1])
    a = tf.solve(tf.InitialValueProblem(a, start, (0, 1)), tf.MixedGalerkin(4), 100)
    b = tf.solve(tf.InitialValueProblem(b, tf.Coordinates([1.0]), (0, 1)), tf.MixedGalerkin(4), 100)
    np.testing.assert_allclose(a.z[:, 2], b.z[:, 0], rtol=0, atol=1e-11)


def test_time_and_equation():
    """The time in potential and constraint, and an equation in place of an expression."""
    y = mechanics.dynamicsymbols("y")
    system = tf.from_sympy([X, y], None, (X.diff()**2 + y.diff()**2) / 2, -X * sympy.cos(T),
                           [sympy.Eq(y, sympy.sin(T))])
    solution = tf.solve(tf.InitialValueProblem(system, tf.Coordinates([0, 0], [0, 1]), (0, 1)), tf.MixedGalerkin(4), 20)
    np.testing.assert_allclose(solution.coordinates(None, 1.0), [1 - np.cos(1), np.sin(1)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("expression", [
    sympy.sin(X) * sympy.cos(X) + sympy.tan(X) / 3, sympy.exp(-X) * sympy.log(X), sympy.sqrt(X) ** 3 + X**-2 + X**-0.3,
    1 / sympy.sqrt(X) + X ** sympy.pi, sympy.atan2(X, 2) + sympy.asin(X) + sympy.acos(X) + sympy.atan(X),
    sympy.sinh(X) + sympy.cosh(X) + sympy.tanh(X), sympy.asinh(X) + sympy.acosh(X + 1) + sympy.atanh(X),
    sympy.Abs(X - 1, evaluate=False) + sympy.Max(X, 0.2, X**2) + sympy.Min(X, 3), sympy.erf(X) + sympy.sign(X),
    sympy.Rational(1, 3) * X + sympy.E + sympy.GoldenRatio, X**X, (2 * X) ** sympy.Rational(2, 3)])
def test_functions(expression):
    """Each function of CasADi means what SymPy means by it."""
    system = tf.from_sympy([X], None, X.diff()**2 / 2, expression)
    expected = complex(expression.subs(X, sympy.Float("0.7", 30)).evalf(20))
    assert system.potential(0, [0.7, 0]) == pytest.approx(expected.real, rel=1e-14)


def test_equal_expressions_share_kernels():
    mass, k = sympy.symbols("m k")
    a, b = (tf.from_sympy([X], None, mass * X.diff()**2 / 2, k * X**2 / 2, parameters={mass: m, k: 3}) for m in (1, 2))
    assert [g.part.kind for g in a.groups] == [g.part.kind for g in b.groups]
    assert a.hamiltonian(0, [1, 1]) == 2 and b.hamiltonian(0, [1, 1]) == 1.75


def make(kinetic=X.diff()**2, potential=0, coordinates=(X,), speeds=None, **options):
    return tf.from_sympy(coordinates, speeds, kinetic, potential, **options)


@pytest.mark.parametrize("call, message", [
    (lambda: make(potential=G * X), "potential contains g, which is none of its coordinates, velocities and param"),
    (lambda: make(potential=Q1), r"potential contains q1\(t\)"),
    (lambda: make(potential=X.diff()), r"potential contains Derivative\(x\(t\), t\)"),
    (lambda: make(X.diff(T, 2) ** 2), r"kinetic contains Derivative\(x\(t\), \(t, 2\)\)"),
    (lambda: make(T * X.diff() ** 2), "kinetic contains t, "),
    (lambda: make(potential=sympy.gamma(X)), "potential contains gamma, which has no counterpart in CasADi"),
    (lambda: make(potential=sympy.Piecewise((X, X > 0), (0, True))), "potential contains Piecewise"),
    (lambda: make(potential=sympy.I * X), "potential contains ImaginaryUnit"),
    (lambda: make(potential=sympy.oo), "potential contains oo; all numbers must be finite"),
    (lambda: make(potential=sympy.Matrix([X])), "potential must be a scalar SymPy expression"),
    (lambda: make(potential=object()), "potential must be a SymPy expression"),
    (lambda: make(X.diff() ** 3), "kinetic must be quadratic"), (lambda: make(X**2), "kinetic must be quadratic"),
    (lambda: make(coordinates=[sympy.Symbol("x")]), "coordinates must be dynamicsymbols"),
    (lambda: make(coordinates=X), "coordinates must be a list"), (lambda: make(coordinates=[]), "must not be empty"),
    (lambda: make(coordinates=[X, X]), "coordinates must differ"),
    (lambda: make(speeds=[U1, U2]), "1 coordinates need as many speeds, not 2"),
    (lambda: make(parameters={G: np.nan}), "parameter g must be finite"),
    (lambda: make(parameters={"g": 1}), "parameters must be a dict from symbol to number"),
    (lambda: make(parameters=[1]), "parameters must be a dict"), (lambda: make(constraints=X), "constraints must be a"),
    (lambda: make(constraints=[G]), "constraints contains g"),
    (lambda: make(constraints=["x +"]), "constraints must be a SymPy"),
])
def test_bad_input(call, message):
    with pytest.raises(tf.InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_without_sympy(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(tf.MissingBackend, match=r"from_sympy needs sympy, .*timefem\[sympy\]"):
        make()
