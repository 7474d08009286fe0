"""Inverse dynamics: controls against analytic ones, independent solves and forward simulation; refusals."""


import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp
from scipy.interpolate import CubicSpline

import timefem as tf
from timefem.cases.inverse import elastic_arm, four_bar_lift, mass_chain, trolley_crane
from timefem.mechanics.forces.actuators import GeneralizedControl
from timefem.mechanics.time_functions import Constant

pytestmark = pytest.mark.long


def order(errors, sizes=2.0):
    return np.log(errors[-2] / errors[-1]) / np.log(sizes)


def errors_of(problem, answer, sol):
    """Largest errors of coordinates and of controls by the rows at the nodes, relative to the largest values."""
    q, u = answer(sol.t)
    found = problem.controls(sol.t, sol.z)
    return (np.abs(sol.z[:, :q.shape[1]] - q).max() / np.abs(q).max(), np.abs(found - u).max() / np.abs(u).max())


# ---- flat systems

@pytest.mark.parametrize("redundant", [False, True])
def test_trolley_crane(redundant):
    problem, answer = trolley_crane(redundant=redundant)
    assert list(problem.relative_degrees.values()) == [4, 4]
    assert problem.internal == 0
    sol = tf.solve(problem, tf.MixedGalerkin(4), 40)
    assert sol.success
    coordinates, controls = errors_of(problem, answer, sol)
    assert coordinates < 1e-8 and controls < 1e-8
    u = answer(sol.t)[1]
    assert np.abs(sol.controls(sol.t) - u).max() < 1e-4 * np.abs(u).max()


@pytest.mark.parametrize(("degree", "n_elements"), [(1, (160, 320)), (2, (40, 80)), (3, (40, 80))])
def test_order_is_that_of_the_element(degree, n_elements):
    problem, answer = trolley_crane(redundant=True)
    errors = [errors_of(problem, answer, tf.solve(problem, tf.MixedGalerkin(degree), n)) for n in n_elements]
    for quantity in zip(*errors, strict=True):
        assert order(quantity) == pytest.approx(2 * degree, abs=0.4)


@pytest.mark.parametrize(("n", "degree", "n_elements"), [(1, 4, 20), (2, 4, 20), (4, 6, 15), (8, 8, 10)])
@pytest.mark.parametrize("start_only", [False, True])
def test_chain_of_masses(n, degree, n_elements, start_only):
    problem, answer = mass_chain(n, lambda t: ca.sin(1.3 * t), start_only=start_only)
    assert list(problem.relative_degrees.values()) == [2 * n]
    sol = tf.solve(problem, tf.MixedGalerkin(degree, nodes="lobatto"), n_elements)
    assert sol.success
    coordinates, control = errors_of(problem, answer, sol)
    assert coordinates < 1e-8 and control < 1e-8


def test_errors_do_not_grow_with_the_time():
    largest = []
    for t_end in (5.0, 40.0):
        problem, answer = mass_chain(4, lambda t: ca.sin(0.7 * t), t_end)
        sol = tf.solve(problem, tf.MixedGalerkin(4, nodes="lobatto"), int(4 * t_end))
        largest.append(errors_of(problem, answer, sol)[1])
    assert largest[1] < 3 * largest[0] < 1e-7


def test_fully_actuated_rigid_body():
    body = tf.RigidBody(2.0, (1.0, 2.0, 3.0), name="body")
    drives = [tf.ControlForce(body), tf.ControlTorque(body)]
    places = {tf.PositionOutput(body, axis): (lambda t, a=a: a * ca.sin(t)) for axis, a in zip("xyz", (1, 2, 3))}
    angle = tf.Transfer(0, 2, 0, 1.5, 3)
    turns = {tf.FormulaOutput(lambda q, i=i: q[3 + i], body, f"e{i}"):
             ((lambda t: ca.sin(angle(t) / 2)) if i == 2 else 0.0) for i in (1, 2, 3)}
    problem = tf.InverseDynamics(tf.System([body]), places | turns, {body: tf.Pose()}, t_span=(0, 2), actuators=drives)
    assert problem.internal == 0 and set(problem.relative_degrees.values()) == {2}
    sol = tf.solve(problem, tf.MixedGalerkin(3), 20)
    u = problem.controls(sol.t, sol.z)
    t = ca.SX.sym("t")
    acceleration = ca.Function("a", [t], [ca.jacobian(ca.jacobian(angle(t), t), t)])
    torque = 2.0 * np.array([float(acceleration(x)) for x in sol.t])
    assert np.allclose(u[:, :3], -2 * np.outer(np.sin(sol.t), (1, 2, 3)), rtol=0, atol=1e-7)
    assert np.allclose(u[:, 3:], np.outer(torque, (0, 1, 0)), rtol=0, atol=1e-5)
    assert np.array_equal(sol.controls(0.5, drives[1]), sol.controls(0.5)[3:])


# ---- a closed loop

def test_load_moved_by_a_four_bar():
    problem, bars = four_bar_lift()
    height = problem.outputs[0]
    fine = tf.solve(problem, tf.MixedGalerkin(3), 20)
    u = problem.controls(fine.t, fine.z)[:, 0]
    errors = []
    for n in (10, 20):
        sol = tf.solve(problem, tf.MixedGalerkin(2), n)
        assert sol.errors()["configuration"] < 1e-12
        errors.append(np.abs(problem.controls(sol.t, sol.z)[:, 0] - u[::20 // n]).max())
        assert np.abs(height[0].evaluate(problem.system, sol.z) - height[1](sol.t)).max() < 1e-4
    assert order(errors) > 3.5 and errors[-1] < 1e-2
    # the work of the torque is what the energy gained: dW = u d(angle of the crank)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 80)
    turning = sol.angular_velocity(bars[0], sol.t, "space")[:, 0]
    power = CubicSpline(sol.t, problem.controls(sol.t, sol.z)[:, 0] * turning)
    assert power.integrate(0, 1) == pytest.approx(sol.energy()[-1] - sol.energy()[0], rel=1e-5)
    assert sol.energy.work()[-1] == pytest.approx(power.integrate(0, 1), rel=1e-6)
    assert sol.errors()["energy"] < 1e-8 * sol.energy.work()[-1]


def test_work_of_the_controls():
    problem, _ = trolley_crane(redundant=True)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40)
    assert sol.energy.work()[-1] == pytest.approx(100 * 9.81 * 3, rel=1e-6)  # the load is 3 m higher, and at rest
    assert sol.errors()["energy"] < 1e-9 * sol.energy.work()[-1]


# ---- not minimum phase

@pytest.fixture(scope="module")
def arm():
    problem = elastic_arm()
    return problem, tf.solve(problem, tf.MixedGalerkin(4), 120)


def test_elastic_arm_against_solve_bvp(arm):
    problem, sol = arm
    assert sol.success and problem.internal == 2 and problem.unstable == 1
    assert problem.internal_eigenvalues.real == pytest.approx([-600**0.5, 600**0.5])
    trajectory = problem.outputs[0][1]
    t = ca.SX.sym("t")
    y = trajectory(t)
    jets = ca.Function("y", [t], [ca.vertcat(ca.jacobian(y, t), ca.jacobian(ca.jacobian(y, t), t))])

    def rate(t, x):  # of the elbow, with the shoulder at y - elbow / 2
        speed, acceleration = np.array(jets.map(len(t))(t.reshape(1, -1)))
        c, s = np.cos(x[0]), np.sin(x[0])
        known = acceleration * (c / 2 + 1 / 3) + (speed - x[1] / 2)**2 * s / 2 + 50 * x[0]
        return np.array([x[1], known / (c / 4 - 1 / 6)])

    root = 600**0.5
    mesh = np.linspace(0, 4, 401)
    other = solve_bvp(rate, lambda a, b: np.array([a[1] - root * a[0], b[1] + root * b[0]]), mesh, np.zeros((2, 401)),
                      tol=1e-9, max_nodes=100000)
    assert other.success
    elbow = other.sol(sol.t)[0]
    assert np.abs(elbow).max() > 0.01
    assert np.abs(sol.z[:, 1] - elbow).max() < 1e-6 * np.abs(elbow).max()
    # the control acts before the trajectory starts at 1 s, and after it ends at 3 s
    u = problem.controls(sol.t, sol.z)[:, 0]
    assert np.abs(u[sol.t < 0.99]).max() > 1e-2 * np.abs(u).max()


def test_forward_simulation_with_the_controls(arm):
    problem, sol = arm
    u = problem.controls(sol.t, sol.z)[:, 0]
    push = CubicSpline(sol.t, u)

    def rate(t, z):  # Hamilton's equations with the force on the shoulder
        gradient, _, _ = problem.system.derivatives(t, z)
        return np.concatenate([gradient[2:], -gradient[:2] + [push(t), 0.0]])

    forward = solve_ivp(rate, (0, 4), sol.z[0], t_eval=sol.t, rtol=1e-8, atol=1e-10)
    assert np.abs(forward.y.T - sol.z).max() < 1e-4


def test_marching_the_elastic_arm_blows_up():
    problem = elastic_arm(start_only=True)
    for n in (80, 160):
        sol = tf.solve(problem, tf.MixedGalerkin(2), n)
        assert not sol.success and "modes of the internal dynamics grow" in sol.status.message
    # as far as a march comes, it grows like exp(24.5 t) once the end of the arm moves
    sizes = [np.abs(tf.solve(elastic_arm(t_end=t_end, start_only=True), tf.MixedGalerkin(3), 80).z[:, 1]).max()
             for t_end in (1.1, 1.2)]
    assert sizes[1] > 10 * sizes[0]


def test_order_of_the_elastic_arm(arm):
    problem, fine = arm
    errors = [np.abs(sol.z - fine.z[::120 // n]).max() for n, sol in
              ((n, tf.solve(problem, tf.MixedGalerkin(2), n)) for n in (40, 60))]
    assert order(errors, 1.5) == pytest.approx(4, abs=0.5)


def test_internal_dynamics_that_swing():
    """A mass at prescribed places with another one hanging on it by a spring: undamped internal dynamics."""
    system = tf.GeneralizedSystem(2, lambda q, v, c: ca.sumsqr(v) / 2, lambda q, c: 2 * (q[1] - q[0])**2)
    body = system.bodies[0]
    states = [{body: tf.Coordinates([0.0, 0.3], [0.0, 0.0])}, {body: tf.Coordinates([1.0, 1.0], [0.0, 0.0])}]
    problem = tf.InverseDynamics(system, {tf.CoordinateOutput(body, 0): tf.Transfer(0, 2, 0, 1, 3)}, *states, (0, 3),
                                 actuators=GeneralizedControl(body, [[1.0], [0.0]]))
    assert problem.internal == 2 and problem.unstable == 0  # all of its conditions are asked for at the start
    assert problem.internal_eigenvalues == pytest.approx([-2j, 2j]) or \
        problem.internal_eigenvalues == pytest.approx([2j, -2j])
    sol = tf.solve(problem, tf.MixedGalerkin(3), 30)
    assert sol.z[0] == pytest.approx([0, 0.3, 0, 0], abs=1e-7)
    place = tf.Transfer(0, 2, 0, 1, 3)
    other = solve_ivp(lambda t, x: [x[1], 4 * (float(place(t)) - x[0])], (0, 3), [0.3, 0], rtol=1e-9, atol=1e-11)
    assert sol.z[-1, 1] == pytest.approx(other.y[0, -1], abs=1e-7)


def test_control_that_jumps_where_the_trajectory_is_not_smooth():
    """Relative degree 4 and three continuous derivatives: nodes stand where the control jumps."""
    transfer = tf.Transfer(1.0, 3.0, 0.0, 1.0, 3)
    problem, answer = mass_chain(2, transfer, 5.0)
    sol = tf.solve(problem, tf.MixedGalerkin(4), 20)
    assert {1.0, 3.0} <= set(sol.t.tolist())
    inside = np.linspace(0.01, 4.99, 250)
    u = answer(inside)[1]
    assert np.abs(sol.controls(inside) - u).max() < 1e-3 * np.abs(u).max()
    assert np.abs(sol.z[:, :2] - answer(sol.t)[0]).max() < 1e-6


def test_table_for_relative_degree_two():
    times = np.linspace(0, 5, 51)
    problem, _ = mass_chain(1, tf.Table(times, np.sin(times), "cubic"), 5.0)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10)  # one element per entry all the same: the third derivative jumps
    assert len(sol.t) >= 48
    inside = (sol.t > 0.5) & (sol.t < 4.5)
    assert np.abs(problem.controls(sol.t, sol.z)[:, 0] + np.sin(sol.t))[inside].max() < 2e-3


def test_spline_through_a_table():
    times = np.linspace(0, 5, 21)
    problem, answer = mass_chain(2, tf.Spline(times, np.sin(times), 7), 5.0)
    sol = tf.solve(problem, tf.MixedGalerkin(3), 40)
    _, control = errors_of(problem, answer, sol)
    assert control < 1e-4
    exact = mass_chain(2, lambda t: ca.sin(t))[1](sol.t)[1]
    inside = (sol.t > 1) & (sol.t < 4)
    found = problem.controls(sol.t, sol.z)
    assert np.abs(found - exact)[inside].max() < 1e-2 * np.abs(exact).max()


# ---- refusals

def chain(n=2):
    system = tf.GeneralizedSystem(n, lambda q, v, c: ca.sumsqr(v) / 2, lambda q, c: 2 * ca.sumsqr(q[1:] - q[:-1]),
                                  name="chain")
    body = system.bodies[0]
    return system, body, {body: tf.Coordinates(np.zeros(n), np.zeros(n))}


def test_counts_that_do_not_match():
    system, body, start = chain()
    push = GeneralizedControl(body, np.eye(2), name="push")
    with pytest.raises(tf.InputError, match="1 outputs are prescribed, but there are 2 controls"):
        tf.InverseDynamics(system, {tf.CoordinateOutput(body, 1): 0.0}, start, actuators=push)
    with pytest.raises(tf.InputError, match="1 outputs are prescribed, but there are 0 controls"):
        tf.InverseDynamics(system, {tf.CoordinateOutput(body, 1): 0.0}, start)


@pytest.mark.parametrize(("matrix", "message"), [
    ([[1.0, 0.0], [0.0, 0.0]], "control 1 of push does nothing: its force is zero"),
    ([[1.0, 2.0], [1.0, 2.0]], "control 1 of push does nothing that joint forces and the controls before it")])
def test_controls_that_do_nothing(matrix, message):
    system, body, start = chain()
    outputs = {tf.CoordinateOutput(body, i): 0.0 for i in (0, 1)}
    with pytest.raises(tf.InputError, match=message):
        tf.InverseDynamics(system, outputs, start, actuators=GeneralizedControl(body, matrix, name="push"))


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_controls_beside_constraints_in_small_units(unit):
    """With lengths in um, turns that joints hold had effects 1e12 times that of the push, which "did nothing"."""
    body, crank = (tf.RigidBody(1.0, [0.1 * unit**2] * 3, name=name) for name in ("body", "crank"))
    rod = tf.RigidDistance(body, point_a=(0, 0.3 * unit, 0), point_b=(0, 2.3 * unit, 0), length=2 * unit)
    hinge = tf.Universal(crank, point_a=(0.2 * unit, 0, 0), point_b=(0.2 * unit, 0, 0), axis_a=(1, 0, 0),
                         axis_b=(0, 1, 0))
    far = tf.RigidDistance(body, crank, point_a=(0.3 * unit, 0, 0), point_b=(0, 0.3 * unit, 0), length=0.18**0.5 * unit)
    problem = tf.InverseDynamics(tf.System([body, rod, far, crank, hinge]), {
        tf.PositionOutput(body, (1, 0, 0)): lambda t: unit * t**2}, {},
        actuators=tf.ControlForce(body, [(1, 0, 0)], name="push"))
    assert problem.inversion.frequencies is not None


def test_control_against_a_joint():
    bar = tf.RigidBody(1.0, (1.0, 1.0, 1.0), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, -0.5, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    with pytest.raises(tf.InputError, match="control 0 of motor does nothing that joint forces"):
        tf.InverseDynamics(tf.System([bar, hinge]), {tf.PositionOutput(bar, "y"): 0.5}, {bar: tf.Pose((0, 0.5, 0))},
                           actuators=tf.ControlTorque(bar, [(0, 1, 0)], name="motor"))


def test_output_that_a_joint_holds():
    bar = tf.RigidBody(1.0, (1.0, 1.0, 1.0), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, -0.5, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    with pytest.raises(tf.InputError, match="do not determine the output 'bar x'"):
        tf.InverseDynamics(tf.System([bar, hinge]), {tf.PositionOutput(bar, "x"): 0.0}, {bar: tf.Pose((0, 0.5, 0))},
                           actuators=tf.ControlTorque(bar, [(1, 0, 0)]))


def test_output_that_no_control_moves():
    system = tf.GeneralizedSystem(2, lambda q, v, c: ca.sumsqr(v) / 2)
    body = system.bodies[0]
    with pytest.raises(tf.InputError, match="do not determine the output 'other'"):
        tf.InverseDynamics(system, {tf.CoordinateOutput(body, 1, "other"): 0.0},
                           {body: tf.Coordinates(np.zeros(2), np.zeros(2))},
                           actuators=GeneralizedControl(body, [[1.0], [0.0]]))


@pytest.mark.parametrize(("trajectory", "derivative"), [
    (tf.Table(np.linspace(0, 5, 11), np.sin(np.linspace(0, 5, 11)), "cubic"), "third derivative"),
    (tf.Ramp(1.0, 2.0, 0.0, 1.0), "first derivative at t = 1"),
    (tf.Ramp(1.0, 2.0, 0.0, 1.0, "smooth"), "third derivative at t = 1"),
    (lambda t: ca.if_else(t < 0.7, 0, (t - 0.7)**3), "third derivative at t = 0.7"),
    (tf.Step(2.0, 1.0), "value at t = 2")])
def test_trajectories_that_are_not_smooth(trajectory, derivative):
    system, body, start = chain()
    with pytest.raises(tf.InputError, match=f"the trajectory of last has a jump in its {derivative}") as error:
        tf.InverseDynamics(system, {tf.CoordinateOutput(body, 1, "last"): trajectory}, start, t_span=(0, 5),
                           actuators=GeneralizedControl(body, [[1.0], [0.0]]))
    assert "relative degree 4 needs it continuous" in str(error.value)
    if isinstance(trajectory, tf.Ramp):  # a control at the mass itself needs less
        smooth = trajectory.has_rate
        if smooth:
            tf.InverseDynamics(system, {tf.CoordinateOutput(body, 0, "first"): trajectory}, start, t_span=(0, 5),
                               actuators=GeneralizedControl(body, [[1.0], [0.0]]))


def test_a_motion_out_of_reach():
    problem, _ = four_bar_lift(rise=0.6)
    with pytest.raises(tf.InputError, match=r"no motion nearby fits the trajectory of load height.*out of reach"):
        tf.solve(problem, tf.MixedGalerkin(2), 20)


def test_other_input():
    problem, _ = mass_chain(1, Constant(0.0))
    with pytest.raises(tf.InputError, match="inverse dynamics takes MixedGalerkin"):
        tf.solve(problem, tf.BubnovGalerkin(2), 10)
    with pytest.raises(tf.InputError, match="window is given, but inverse dynamics does not use it"):
        tf.solve(problem, tf.MixedGalerkin(2), 10, window=3)
    with pytest.raises(tf.InputError, match="leave driver out"):
        tf.solve(problem, tf.MixedGalerkin(2), 10, driver="march")
    system, body, start = chain()
    with pytest.raises(tf.InputError, match="is not an output such as"):
        tf.InverseDynamics(system, {"x": 0.0}, start)
    with pytest.raises(tf.InputError, match="is not an Actuator"):
        tf.InverseDynamics(system, {}, start, actuators=body)


@pytest.mark.parametrize("backend", ["superlu"])
def test_backends_agree(backend):
    problem, _ = trolley_crane()
    one, other = (tf.solve(problem, tf.MixedGalerkin(3), 40, backend=b) for b in ("chain", backend))
    assert np.abs(one.z - other.z).max() < 1e-8
