"""States of first order in linear models, periodic motions and exponents: against matrices by hand, and SciPy."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import timefem as tf

ELEMENT = tf.MixedGalerkin(3)
LAGGED = np.array([[0, 1, 0], [-25, 0, -5], [1, 0, -3.0]])  # of place, rate, lag


def lagged():
    """A mass on a spring, pushed by what follows its place with a lag."""
    mass = tf.PointMass(2.0, 1, name="mass")
    lag = tf.State("lag", "-3 * x[0] + f[0].position[0]", bodies=[mass])
    return tf.System([mass, lag, tf.Spring(mass, None, stiffness=50.0), tf.ControlForce(mass, [(1, 0, 0)], name="push"),
                      tf.FormulaForce([mass, lag], "[[-10 * f[1].q[0], 0, 0], 0]")])


def sorted_roots(values):
    return np.sort_complex(np.asarray(values, complex))


def test_linear_model():
    model = tf.linearize(lagged(), {"mass": tf.Pose(), "lag": 0.0}, outputs=["lag.q[0]", "mass.acceleration[0]"])
    assert model.steady and model.state_names == ["mass.position[0]", "lag.q[0]", "rate of mass.position[0]"]
    np.testing.assert_allclose(sorted_roots(model.eigenvalues), sorted_roots(np.linalg.eigvals(LAGGED)), rtol=1e-12)
    for w, gain in zip((1.0, 5.0), model.frequency_response([1.0, 5.0])[:, :, 0], strict=True):
        x = np.linalg.solve(1j * w * np.eye(3) - LAGGED, [0, 0.5, 0])
        np.testing.assert_allclose(gain, [x[2], -w**2 * x[0]], rtol=1e-11)


def test_what_drives_a_state_by_controls():
    drive, way = tf.Control(name="drive"), 0.3
    lag = tf.State("lag", "(u[0] - x[0]) / c[0]", controls=[drive], parameters=[0.2])
    model = tf.linearize(tf.System([lag, drive]), {lag: way}, controls=[way], outputs=["lag.q[0]"])
    assert model.steady and model.A.item() == pytest.approx(-5) and model.B.item() == pytest.approx(5)
    assert not tf.linearize(tf.System([lag, drive]), {lag: way}).steady  # it moves, by itself


def test_circuit():
    """A coil and a capacitor as a port system: eigenvalues of x' = (J - R) H x."""
    circuit = tf.PortSystem(2, "x[0]**2 / (2 * c[0]) + x[1]**2 / (2 * c[1])", lambda x, w, t, c: ca.vertcat(
        -c[2] * w[0] - w[1], w[0]), parameters=[0.1, 0.02, 0.5], name="circuit")
    system = tf.System([circuit])
    matrix = np.array([[-0.5, -1], [1, 0]]) @ np.diag([10, 50])
    model = tf.linearize(system, {circuit: [0.0, 0.0]})
    np.testing.assert_allclose(sorted_roots(model.eigenvalues), sorted_roots(np.linalg.eigvals(matrix)), rtol=1e-12)
    moving = tf.linearize(system, {circuit: [0.3, 0.1]})  # the same matrices everywhere
    np.testing.assert_allclose(moving.A, model.A, rtol=1e-12)
    problem = tf.InitialValueProblem(system, {circuit: [0.3, 0.1]}, (0, 1))
    found = tf.lyapunov(tf.solve(problem, ELEMENT, 100, progress=False)).exponents
    np.testing.assert_allclose(found.sum(), np.trace(matrix), rtol=1e-6)


def test_motor_with_a_coil():
    """Twice 0.3 N m/A between a coil and a wheel on a spring: where it rests, and its roots there."""
    wheel = tf.PointMass(2.0, 1, name="wheel")
    coil = tf.PortSystem(1, "x[0]**2 / (2 * c[0])", "-c[1] * w[0] + c[2]", parameters=[0.1, 2.0, 12.0], name="coil")
    joined = tf.FormulaForce([wheel, coil], "[[0.3 * f[1].rate[0], 0, 0], -0.3 * f[0].velocity[0]]", name="joined")
    system = tf.System([wheel, coil, joined, tf.Spring(wheel, None, stiffness=8.0)])
    rest = tf.equilibrium(system, {coil: [0.5]})
    assert rest.success and rest.position(wheel)[0] == pytest.approx(0.3 * 6 / 8)
    matrix = np.array([[0, 1, 0], [-4, 0, 0.3 / 2 / 0.1], [0, -0.3, -20]])
    model = tf.linearize(system, rest)
    assert model.steady
    np.testing.assert_allclose(sorted_roots(model.eigenvalues), sorted_roots(np.linalg.eigvals(matrix)), rtol=1e-11)


def test_masses_that_change():
    """A tank that empties to a rest of its mass, on a spring; and the roots of both."""
    tank = tf.VariableMass(1.5, name="tank")
    push = tf.FormulaForce(tank, "[-8 * f[0].position[0], -8 * f[0].position[1], -8 * f[0].position[2], "
                                 "-0.2 * (f[0].q[3] - 1.5)]")
    model = tf.linearize(tf.System([tank, push]), {tank: tf.Pose()})
    assert model.steady and "tank.q[3]" in model.state_names and "rate of tank.q[3]" not in model.state_names
    np.testing.assert_allclose(np.abs(model.eigenvalues), [0.2] + 6 * [np.sqrt(8 / 1.5)], rtol=1e-9)


def test_driven_periodic_motion():
    mass, lag = tf.PointMass(1.0, 1, name="mass"), tf.State("lag", "-2 * x[0] + sin(2 * pi * t)")
    force = tf.FormulaForce([mass, lag], "[[f[1].q[0] - 9 * f[0].position[0] - 0.5 * f[0].velocity[0], 0, 0], 0]")
    found = tf.periodic(tf.System([mass, lag, force]), {mass: tf.Pose(), lag: 0.0}, 1.0, ELEMENT, 40)
    matrix = np.array([[0, 1, 0], [-9, -0.5, 1], [0, 0, -2.0]])
    start = (-1j * np.linalg.solve(2j * np.pi * np.eye(3) - matrix, [0, 0, 1])).real
    assert found.success and found.iterations <= 3
    np.testing.assert_allclose(found.solution.z[0], [start[0], start[2], start[1], 0.0], rtol=0, atol=1e-10)
    expected = np.linalg.eigvals(expm(matrix))
    np.testing.assert_allclose(sorted_roots(found.multipliers), sorted_roots(expected), atol=1e-9)


@pytest.mark.parametrize("rate", ["0.01 - x[0]", "-x[0]"])
def test_states_that_come_to_rest(rate):
    """Beside a mass that is driven, from far: they are measured by where they set out from, and close."""
    mass, leak = tf.PointMass(1.0, 1, name="mass"), tf.State("leak", rate)
    force = tf.FormulaForce(mass, "[sin(2 * pi * t) - 4 * f[0].position[0] - 0.5 * f[0].velocity[0], 0, 0]")
    found = tf.periodic(tf.System([mass, force, leak]), {mass: tf.Pose(), leak: 3.0}, 1.0, ELEMENT, 20)
    assert found.success and found.iterations <= 3
    expected = np.append(np.linalg.eigvals(expm(np.array([[0, 1], [-4, -0.5]]))), np.exp(-1))
    np.testing.assert_allclose(sorted_roots(found.multipliers), sorted_roots(expected), atol=1e-5)


def test_large_efforts_hide_no_gap():
    """Of a mass that does not come back, beside a store whose effort is 1e10 of its unit."""
    mass, store = tf.PointMass(1.0, 1, name="mass"), tf.PortSystem(1, "1e10 * x[0]**2 / 2", "1 - x[0]", name="store")
    force = tf.FormulaForce(mass, "[-f[0].velocity[0], 0, 0]")
    problem = tf.InitialValueProblem(tf.System([mass, force, store]), {
        mass: tf.Pose(velocity=(1, 0, 0)), store: [1.0]}, (0, 1.0))
    with pytest.raises(tf.InputError, match=r"not periodic: after 1 s states differ by 0\.63"):
        tf.floquet(tf.solve(problem, ELEMENT, 10, progress=False))


def test_van_der_pol():
    """Without any inertia, and with a mass whose damping lags behind: periods of limit cycles, multipliers."""
    both = tf.State("both", "[x[1], (1 - x[0]**2) * x[1] - x[0]]", 2)
    found = tf.periodic(tf.System([both]), {both: [2.0, 0.0]}, 6.6, ELEMENT, 100)
    assert found.period == pytest.approx(6.6632868593231, abs=1e-7)  # of SciPy, and the literature
    np.testing.assert_allclose(found.multipliers, [1, 8.5969506e-4], rtol=0, atol=1e-8)

    mass = tf.PointMass(1.0, 1, name="mass")
    lag = tf.State("lag", "(f[0].velocity[0] - x[0]) / c[0]", bodies=[mass], parameters=[0.05])
    force = tf.FormulaForce([mass, lag], "[[(1 - f[0].position[0]**2) * f[1].q[0] - f[0].position[0], 0, 0], 0]")
    found = tf.periodic(tf.System([mass, lag, force]), {mass: tf.Pose((2, 0, 0)), lag: 0.0}, 6.6, ELEMENT, 150)

    def rate(t, y):
        return y[1], (1 - y[0]**2) * y[2] - y[0], (y[1] - y[2]) / 0.05

    def top(t, y):
        return y[1]

    top.direction = -1
    sol = solve_ivp(rate, (0, 70), [2, 0, 0], rtol=1e-11, atol=1e-12, events=top)
    assert found.success and found.period == pytest.approx(np.diff(sol.t_events[0])[-1], abs=1e-7)


def test_exponents():
    """As many as there are states; their sum is the trace."""
    problem = tf.InitialValueProblem(lagged(), {"mass": tf.Pose((1, 0, 0)), "lag": 0.2}, (0, 10))
    found = tf.lyapunov(tf.solve(problem, ELEMENT, 200, progress=False), every=10).exponents
    assert len(found) == 3 and found.sum() == pytest.approx(-3, abs=1e-6)
    assert found[-1] == pytest.approx(np.linalg.eigvals(LAGGED).real.min(), abs=0.1)


def test_force_on_a_mass_that_leaks():
    """A rope that is wound up, with a bucket that leaks: what is in the bucket needs the force m a, whatever leaks."""
    bucket = tf.VariableMass(2.0, name="bucket")
    rope = tf.Constraint(bucket, "norm(f[0].position) - (1 - c[0] * t)", 1, parameters=[0.3], name="rope")
    leak = tf.FormulaForce(bucket, "[0, 0, 0, -0.5]")
    start = {bucket: tf.Pose((np.sin(0.8), 0, -np.cos(0.8)), velocity=(-0.3 * np.sin(0.8), 0, 0.3 * np.cos(0.8)))}
    system = tf.System([bucket, rope, leak], gravity=(0, 0, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, start, (0, 1)), ELEMENT, 100, progress=False)
    for t in (0.0, 0.5, 1.0):
        swung = solve_ivp(lambda t, y: (y[1], (0.6 * y[1] - 9.81 * np.sin(y[0])) / (1 - 0.3 * t)), (0, t), [0.8, 0],
                          rtol=1e-11, atol=1e-12).y[:, -1]
        pull = (2 - 0.5 * t) * (9.81 * np.cos(swung[0]) + (1 - 0.3 * t) * swung[1]**2)
        assert sol.multipliers(t)[0] == pytest.approx(pull, abs=1e-7)


def test_derivative_by_the_mass_at_the_start():
    rocket = tf.VariableMass(10.0, dimension=1, name="rocket")
    engine = tf.FormulaForce(rocket, "[c[1], 0, 0, -c[1] / c[0]]", parameters=[2000.0, 100.0])
    speed = tf.EndValue(lambda bodies, t: bodies[0].velocity[0], rocket)
    for start, expected in ((tf.Pose(), 2000 / 10 - 2000 / 5), (tf.Coordinates([0.0, 12.0], [0.0, 0.0]), 0.0)):
        problem = tf.InitialValueProblem(tf.System([rocket, engine]), {rocket: start}, (0, 100))
        sol = tf.solve(problem, ELEMENT, 40, progress=False)
        assert tf.gradient(sol, speed, [tf.Parameter(rocket, "mass")])[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_a_search_of_rest_begins_with_states_at_zero(coordinates):
    """That of a state was asked for, where poses of bodies may be left out: `x = u / c` at rest."""
    bob = tf.RigidBody(1.0, [0.02, 0.02, 0.02], name="bob")
    hinge = tf.Revolute(bob, axis_a=(0, 0, 1), axis_b=(0, 0, 1), point_a=(0, 0.3, 0), point_b=(0, 0, 0), name="hinge")
    current = tf.State("current", "2 - 5 * x[0] - f[0].angular_velocity[2]", bodies=[bob])
    torque = tf.FormulaForce([bob, current], ["[0, 0, 0, 0, 0, 3 * f[1].q[0]]", "0"], name="torque")
    system = tf.System([bob, hinge, current, torque], gravity=(0, -9.81, 0), coordinates=coordinates)
    for guess in (None, {hinge: 0.1}, {"current": 0.2, "hinge": 0.1}):
        rest = tf.equilibrium(system, guess)
        assert rest.status.success and abs(rest.state[system["current"]].q[0] - 0.4) < 1e-12
