"""Optimal control: conditions at the end, unknown numbers, the search for a minimum, bounds, and what is refused."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.assembly import Scaling, TimeMesh
from timefem.elements.evaluation.plan import ElementPlan
from timefem.errors import InputError
from timefem.problems.optimal.guesses.guess import first_guess
from timefem.problems.optimal.strategies.mesh_sequence import optimality_element
from timefem.problems.optimal.transcription.equations import OptimalityEquations
from timefem.problems.optimal.transcription.nonlinear_program import OptimalProgram

pytestmark = pytest.mark.long

M, D, T = 2.0, 3.0, 1.5


def slider(end, t_end=T, **options):
    """A mass on a line, pushed."""
    body = tf.PointMass(M, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    load = tf.Force(body, (0.0, 0, 0), name="load")
    make = options.pop("make", lambda body, push, load: {})
    options = {"cost": tf.Effort(push), **options, **make(body, push, load)}
    return tf.OptimalControl(tf.System([body, load]), {body: tf.Pose()}, {body: end} if end else {}, (0, t_end),
                             actuators=push, **options)


def turn(angle=2.5, axis=(1, 2, 2), rotation="quaternion", **options):
    axis = np.array(axis) / np.linalg.norm(axis)
    body = tf.RigidBody(mass=12, inertia=[5, 26, 29], rotation=rotation, name="body")
    end = tf.EndState(orientation=[np.cos(angle / 2), *(np.sin(angle / 2) * axis)], angular_velocity=(0, 0, 0))
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 2),
                             cost=tf.Effort(tf.ControlTorque(body)), **options)


def pendulum(rotation="quaternion", t_end=2.0, length=1.0, **options):
    """A bar that hangs from a hinge with a motor, to be put upright."""
    bar = tf.RigidBody(1, [length**2 / 12, 2e-3, length**2 / 12], rotation=rotation, name="bar")
    hinge = tf.Revolute(bar, point_a=(0, length / 2, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    axes = options.pop("axes", [(1, 0, 0)])
    motor = tf.ControlTorque(bar, axes, name="motor")
    c = np.sqrt(0.5)
    hanging = tf.Pose(position=(0, 0, -length / 2), orientation=(c, c, 0, 0))
    standing = tf.Pose(position=(0, 0, length / 2), orientation=(c, -c, 0, 0))
    return tf.OptimalControl(tf.System([bar, hinge], gravity=(0, 0, -9.81)), {bar: hanging}, {bar: standing},
                             (0, t_end), cost=tf.Effort(motor), **options)


# ---- conditions at the end


def test_conditions_are_reduced_to_what_a_hinge_leaves_open():
    for rotation, rows in (("quaternion", 13), ("directors", 18)):
        conditions = pendulum(rotation).conditions
        assert len(conditions.names) == rows and conditions.freedom == 2 and len(conditions.combinations) == 2


def test_a_free_velocity_at_the_end():
    """Position only: the least effort is 3/2 m^2 d^2 / T^3, with no force at the end."""
    sol = tf.solve(slider(tf.EndState(position=[D, None, None])), tf.MixedGalerkin(2), 10)
    assert sol.objective == pytest.approx(1.5 * M**2 * D**2 / T**3, rel=1e-10)
    assert abs(sol.controls(T)[0]) < 1e-9


def test_end_cost_instead_of_conditions():
    """A penalty w/2 (x - d)^2: the position is computed as d / (1 + 3 m^2 / (w T^3))."""
    w = 7.0
    sol = tf.solve(slider(None, end_cost=lambda end, parameters: w / 2 * (end.position("slider")[0] - D)**2),
                   tf.MixedGalerkin(2), 10)
    assert sol.position("slider", T)[0] == pytest.approx(D / (1 + 3 * M**2 / (w * T**3)), rel=1e-10)


def test_conditions_by_formula():
    """Energy at the end asked for, from rest: least effort is m^2 v^2 / (2 T) with a constant force."""
    sol = tf.solve(slider(None, end_conditions=lambda end, parameters: end.energy() - M * 2.0**2 / 2),
                   tf.MixedGalerkin(2), 10, guess=lambda t: np.stack([t**2, 2 * M * t], axis=1))
    assert sol.objective == pytest.approx((M * 2.0)**2 / (2 * T), rel=1e-9)


def test_spin_up_about_one_axis():
    """Only the angular velocity is asked for: the torque is constant, the orientation free."""
    body = tf.RigidBody(2, [5, 26, 29], name="body")
    torque = tf.ControlTorque(body)
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: tf.EndState(angular_velocity=(0, 0, 1))},
                                (0, 2), cost=tf.Effort(torque))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20)
    assert sol.objective == pytest.approx(29**2 / (2 * 2), rel=1e-6)
    np.testing.assert_allclose(sol.controls(1.0, torque), [0, 0, 29 / 2], rtol=0, atol=1e-3)


# ---- elements


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_one_step_schemes(rotation):
    """EML and its null-space form have the same solutions, of second order."""
    objectives = [tf.solve(turn(rotation=rotation), tf.NullEML(), n).objective for n in (50, 100)]
    errors = np.abs(np.array(objectives) - 2738.682727)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1) and errors[1] < 3
    if rotation == "quaternion":
        eml = tf.solve(turn(rotation=rotation), tf.EML(), 50)
        assert eml.objective == pytest.approx(objectives[0], rel=1e-10)


def test_a_mesh_sequence_ends_where_the_fine_mesh_does():
    sequence = tf.solve(turn(), tf.MixedGalerkin(2), 200)
    assert sequence.statistics["newton_iterations"]["max"] < 15
    warm = tf.solve(turn(), tf.MixedGalerkin(2), 200, guess=tf.solve(turn(), tf.MixedGalerkin(3), 37))
    assert warm.success and warm.statistics["newton_iterations"]["max"] <= 4
    np.testing.assert_allclose(warm.z, sequence.z, rtol=0, atol=1e-8)


def test_continuous_multipliers_are_refused():
    with pytest.raises(InputError, match="multipliers='discontinuous'"):
        tf.solve(turn(), tf.BubnovGalerkin(1, multipliers="continuous"), 10)


# ---- unknown numbers


def test_an_unknown_force():
    """A constant force f that costs f^2 T / 2 and a push share the work: f = T l / 2 with l = 12 m d / (7 T^3)."""
    problem = slider(tf.EndState(position=[D, None, None]), make=lambda body, push, load: {
        "parameters": {"f": (load, "value[0]")},
        "end_cost": lambda end, parameters: parameters["f"]**2 * T / 2})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10)
    slope = 12 * M * D / (7 * T**3)
    assert sol.success and sol.parameters["f"] == pytest.approx(slope * T / 2, rel=1e-9)
    assert sol.objective == pytest.approx(slope * M * D / 2, rel=1e-9)
    bounded = tf.solve(slider(tf.EndState(position=[D, None, None]), make=lambda body, push, load: {
        "parameters": {"f": (load, "value[0]")}, "bounds": {"f": (None, 0.5)},
        "end_cost": lambda end, parameters: parameters["f"]**2 * T / 2}), tf.MixedGalerkin(2), 10)
    assert bounded.parameters["f"] == pytest.approx(0.5, rel=1e-6) and bounded.objective > sol.objective


def test_free_time_that_does_not_start_at_zero():
    """A condition on the duration makes it what it asks for, wherever the clock starts."""
    body = tf.PointMass(M, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)])
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()},
                                {body: tf.EndState(position=[D, None, None], velocity=[0, None, None])}, (1.0, 2.0),
                                cost=tf.Effort(push), free_time=True,
                                end_conditions=lambda end, parameters: end.t - (1 + T))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10)
    assert sol.t[0] == 1 and sol.t[-1] == pytest.approx(1 + T, rel=1e-12)
    assert sol.objective == pytest.approx(6 * M**2 * D**2 / T**3, rel=1e-10)


# ---- the search for a minimum


def test_the_minimum_is_below_the_saddle_point():
    """In 2 s the bar is better swung back first; straight up is stationary, too, and no minimum of this mesh."""
    sol = tf.solve(pendulum("directors"), tf.MixedGalerkin(2), 40)
    assert sol.success and sol.objective == pytest.approx(4.456773, rel=1e-6)
    again = tf.solve(pendulum("quaternion"), tf.MixedGalerkin(2), 40, guess=lambda t: _like(sol, t))
    assert again.success and again.objective == pytest.approx(sol.objective, rel=1e-3)


def _like(sol, t):
    """The states of a solution in directors, in quaternions."""
    body = pendulum().system.bodies[0]
    angle = np.unwrap(2 * np.arctan2(sol.rotation_matrix("bar", t)[:, 2, 1], sol.rotation_matrix("bar", t)[:, 1, 1])
                      / 2)
    states = []
    for time, a in zip(t, angle, strict=True):
        q, p = body.state(tf.Pose(sol.position("bar", time), (np.cos(a / 2), np.sin(a / 2), 0, 0),
                                  sol.velocity("bar", time), sol.angular_velocity("bar", time)))
        states.append(np.concatenate([q, p]))
    return np.array(states)


def test_a_saddle_point_is_left():
    """Towards the quarter turn either way costs the same; the guess in the middle is stationary, but no minimum."""
    body = tf.PointMass(1.0, dimension=2, name="ball")
    push = tf.ControlForce(body, [(1, 0, 0), (0, 1, 0)])
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {}, (0, 1), cost=tf.Effort(push, 0.1),
                                end_cost=lambda end, _: (end.q("ball")[0]**2 - 1)**2 + end.q("ball")[1]**2)
    sol = tf.solve(problem, tf.MixedGalerkin(1), 10)
    assert sol.success and abs(sol.position("ball", 1.0)[0]) > 0.5 and sol.objective < 0.9


# ---- bounds and path inequalities


@pytest.mark.parametrize("element", [tf.MixedGalerkin(3), tf.BubnovGalerkin(2)])
def test_derivatives_of_the_program(element):
    problem = slider(tf.EndState(position=[D, None, None]), free_time=True, make=lambda body, push, load: {
        "bounds": {push: (-4, 4)}, "parameters": {"f": (load, "value[0]")},
        "path": lambda now, u: [now.velocity("slider")[0]**2 * u[0] * (1 + now.t) - 2, u[0]**2 * now.q("slider")[0]]})
    optimality, system = optimality_element(problem, element)
    plan, mesh = ElementPlan(system, optimality), TimeMesh.uniform((0, T), 4)
    chain = OptimalityEquations(problem, plan, mesh, Scaling.of("full", system, optimality, 0, problem.z0))
    nlp = OptimalProgram(chain, first_guess(problem, plan, mesh, None))
    rng = np.random.default_rng(1)
    v, w = rng.standard_normal(nlp.n), rng.standard_normal(nlp.n_rows)

    def differences(f):
        return np.array([(f(v + 1e-6 * e) - f(v - 1e-6 * e)) / 2e-6 for e in np.eye(nlp.n)]).T

    def jacobian(v):
        return _dense(nlp.jacobian_places, nlp.jacobian(v), nlp.n_rows, nlp.n)

    np.testing.assert_allclose(nlp.gradient(v), differences(nlp.objective), rtol=0, atol=1e-7)
    np.testing.assert_allclose(jacobian(v), differences(nlp.rows), rtol=0, atol=1e-6)
    for factor in (1.0, 0.3, 0.0):
        upper = _dense(nlp.hessian_places, nlp.hessian(v, factor, w), nlp.n, nlp.n)
        expected = differences(lambda v, f=factor: f * nlp.gradient(v) + jacobian(v).T @ w)
        np.testing.assert_allclose(upper + np.triu(upper, 1).T, expected, rtol=0, atol=1e-6)
        nlp.expect(v, factor, w)  # values are the same when derivatives with multipliers are at hand
        f, gradient, rows, entries = nlp.objective(v), nlp.gradient(v), nlp.rows(v), jacobian(v)
        np.testing.assert_allclose(gradient, differences(nlp.objective), rtol=0, atol=1e-7)
        assert f == nlp.objective(v) and np.array_equal(rows, nlp.rows(v)) and np.array_equal(entries, jacobian(v))
    blocks = nlp.row_blocks[nlp.jacobian_places[0]] - nlp.variable_blocks[nlp.jacobian_places[1]]
    assert set(blocks) <= {-1, 0, 1}


def _dense(places, values, *shape):
    matrix = np.zeros(shape)
    matrix[places] = values
    assert len(values) == len(set(zip(*(p.tolist() for p in places), strict=True)))  # no place comes twice
    return matrix


def test_bounds_that_do_not_bind_change_nothing():
    free = tf.solve(turn(), tf.MixedGalerkin(1), 30)
    bounded = turn()
    bounded = turn(bounds={"duration": (1, 3)}, free_time=True, end_conditions=lambda end, _: end.t - 2)
    sol = tf.solve(bounded, tf.MixedGalerkin(1), 30)
    assert sol.statistics["backend"] == "interior-point" and sol.objective == pytest.approx(free.objective, rel=1e-7)


def test_what_cannot_be_done_is_said():
    """1 N for 1.5 s does not move 2 kg by 3 m from rest to rest."""
    problem = slider(tf.EndState(position=[D, None, None], velocity=[0, None, None]),
                     make=lambda body, push, load: {"bounds": {push: (-1, 1)}})
    sol = tf.solve(problem, tf.MixedGalerkin(1), 10)
    assert not sol.success and sol.status.reason == "infeasible" and "loosen bounds" in sol.status.message


def crane(rope=2.0, trolley=10.0, load=5.0):
    """A trolley with a load on a rope, both at rest, to be moved by 3 m with no swing left."""
    def kinetic(q, v, c):
        swing = ca.vertcat(v[0] + rope * ca.cos(q[1]) * v[1], rope * ca.sin(q[1]) * v[1])
        return (trolley * v[0]**2 + load * ca.sumsqr(swing)) / 2

    system = tf.GeneralizedSystem(2, kinetic, lambda q, c: -load * 9.81 * rope * ca.cos(q[1]), name="crane")
    body = system.bodies[0]
    drive = tf.GeneralizedControl(body, [[1.0], [0.0]], name="drive")
    return system, body, drive


def test_crane_transfer_without_residual_swing():
    system, body, drive = crane()
    problem = tf.OptimalControl(system, {body: tf.Coordinates([0, 0])}, {body: tf.EndState(q=(3, 0), v=(0, 0))},
                                (0, 2.5), cost=tf.Effort(drive, 0.01), bounds={drive: (-80, 80)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 60)
    assert sol.success, sol.status
    u = sol.controls(np.linspace(0, 2.5, 301))
    assert 79.9 < np.abs(u).max() <= 80 * (1 + 1e-6)
    assert np.abs(sol.coordinates(body, sol.t)[:, 1]).max() > 0.1
    after = tf.InitialValueProblem(system, {body: tf.CanonicalState(*np.split(sol.z[-1], 2))}, (0, 5))
    rest = tf.solve(after, tf.MixedGalerkin(2), 100)
    np.testing.assert_allclose(rest.coordinates(body, rest.t), [[3, 0]] * 101, rtol=0, atol=1e-8)


def test_slew_in_least_time():
    """Bang-bang about a hinge: T = 2 sqrt(J angle / u_max)."""
    body = tf.RigidBody(1, [2, 2, 2], name="body")
    motor = tf.ControlTorque(body, [(0, 0, 1)], name="motor")
    end = tf.EndState(orientation=(np.cos(0.5), 0, 0, np.sin(0.5)), angular_velocity=(0, 0, 0))
    hinge = tf.Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    problem = tf.OptimalControl(tf.System([body, hinge]), {body: tf.Pose()}, {body: end}, (0, 2), actuators=motor,
                                free_time=True, end_cost=lambda end, parameters: parameters["duration"],
                                bounds={motor: (-4, 4), "duration": (0.1, 10)})
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40)
    assert sol.success and sol.objective == pytest.approx(np.sqrt(2), rel=1e-6)
    assert sol.controls(0.1)[0] == pytest.approx(4, rel=1e-3)


# ---- bad input


@pytest.mark.parametrize("options, message", [
    ({"cost": 3}, "cost: 3 is not a Cost"),
    ({"actuators": "push"}, "actuators: 'push' is not an Actuator"),
    ({"bounds": {"mass": (0, 1)}}, "neither an actuator of the problem nor the name"),
    ({"bounds": {"duration": (0, 1)}}, "give free_time=True"),
    ({"parameters": {"duration": 1}}, "the name 'duration' cannot be used"),
    ({"parameters": {"k": "one"}}, "must name a part"),
    ({"end_cost": 5}, "end_cost must be a function"),
    ({"path": lambda now, u: ca.SX.sym("stranger")}, "contains the symbols stranger"),
    ({"end_conditions": lambda end, _: [end.q("body")[0] - 1, end.q("body")[0] - 2]}, "stays violated"),
    ({"free_time": 1}, "free_time must be True or False"),
])
def test_bad_arguments(options, message):
    body = tf.RigidBody(1, [1, 1, 1], name="body")
    options = {"cost": tf.Effort(tf.ControlForce(body)), **options}
    with pytest.raises(InputError, match=message):
        tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {}, (0, 1), **options)


@pytest.mark.parametrize("end, message", [
    (3, "must be given as Pose or EndState"),
    (tf.EndState(q=[1.0]), "has no q"),
    (tf.Coordinates([1.0]), "must have length 7, not 1"),
    (tf.CanonicalState([1.0], [0.0]), "must have length 7"),
])
def test_bad_ends(end, message):
    body = tf.RigidBody(1, [1, 1, 1], name="body")
    with pytest.raises(InputError, match=message):
        tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 1),
                          cost=tf.Effort(tf.ControlForce(body)))


def test_controls_without_cost_or_effect():
    with pytest.raises(InputError, match="no cost depends on the controls of push"):
        slider(None, cost=tf.Cost(lambda u, q, v, t: 1.0))
    with pytest.raises(InputError, match="control 1 of motor does nothing"):
        tf.solve(pendulum(axes=[(1, 0, 0), (0, 1, 0)]), tf.MixedGalerkin(1), 20)


def test_an_end_off_the_hinge_is_refused():
    bar = tf.RigidBody(1, [1, 1, 1], name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 1, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0), name="hinge")
    with pytest.raises(InputError, match="no state at the end satisfies"):
        tf.OptimalControl(tf.System([bar, hinge]), {bar: tf.Pose(position=(0, -1, 0))},
                          {bar: tf.Pose(position=(0, -2, 0))}, (0, 1),
                          cost=tf.Effort(tf.ControlTorque(bar, [(1, 0, 0)])))


def test_arguments_of_solve():
    for options, message in (({"driver": "march"}, "leave driver out"), ({"guess": "nearby"}, "guess must be"),
                             ({"mesh": [0, 1]}, "mesh covers")):
        with pytest.raises(InputError, match=message):
            tf.solve(turn(), tf.MixedGalerkin(1), None if "mesh" in options else 10, **options)
    with pytest.raises(InputError, match="its own linear solver"):
        tf.solve(turn(path=lambda now, u: u[0] - 100), tf.MixedGalerkin(1), 10, backend="superlu")
