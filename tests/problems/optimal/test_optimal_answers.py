"""Optimal control against known answers, in several elements, rotations and backends."""

import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError
from timefem.problems.optimal.transcription.equations import TangentParts

pytestmark = pytest.mark.long

AXIS, ANGLE = np.array([1, 2, 2]) / 3, 2.5
TURNED = np.array([np.cos(ANGLE / 2), *(np.sin(ANGLE / 2) * AXIS)])
REORIENTATION = 2738.682727  # minimum effort, found by direct collocation to ten digits


def reorientation(rotation="quaternion", **options):
    body = tf.RigidBody(mass=12, inertia=[5, 26, 29], rotation=rotation, name="satellite")
    wheels = tf.ControlTorque(body, name="wheels")
    end = {body: tf.EndState(orientation=TURNED, angular_velocity=(0, 0, 0))}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 2), cost=tf.Effort(wheels), **options)


def slider(mass=2.0, distance=3.0, t_end=1.5, **options):
    """A mass on a line, rest to rest: minimum effort is 6 m^2 d^2 / T^3, the control linear in time."""
    body = tf.PointMass(mass, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    end = {body: tf.EndState(position=[distance, None, None], velocity=[0, None, None])}
    cost = options.pop("cost", None) or (lambda push: [tf.Effort(push)])
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, t_end), cost=cost(push), actuators=push,
                             **options), push


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_reorientation(rotation):
    sol = tf.solve(reorientation(rotation), tf.MixedGalerkin(3), 60)
    assert sol.success and sol.objective == pytest.approx(REORIENTATION, rel=1e-9)
    r = sol.rotation_matrix("satellite", 2.0)
    expected = tf.RigidBody(1, [1, 1, 1]).rotation_matrix(np.concatenate([np.zeros(3), TURNED]))
    np.testing.assert_allclose(r, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sol.angular_velocity("satellite", 2.0), 0, atol=1e-9)


@pytest.mark.parametrize("degree, order", [(1, 2), (2, 4), (3, 6)])
def test_order_of_the_objective(degree, order):
    n = np.array({1: (40, 80, 160), 2: (20, 40, 80), 3: (10, 20, 40)}[degree])
    errors = [abs(tf.solve(reorientation(), tf.MixedGalerkin(degree), int(m)).objective - 2738.6827273) for m in n]
    assert -np.polyfit(np.log(n), np.log(errors), 1)[0] == pytest.approx(order, abs=0.5)
    assert errors[-1] < {1: 1.0, 2: 2e-4, 3: 5e-6}[degree]


def test_bubnov_galerkin_and_backends_agree():
    reference = tf.solve(reorientation(), tf.BubnovGalerkin(2), 40)
    assert reference.success and reference.objective == pytest.approx(REORIENTATION, rel=2e-2)
    other = tf.solve(reorientation(), tf.BubnovGalerkin(2), 40, backend="superlu")
    assert other.objective == pytest.approx(reference.objective, rel=1e-10)


@pytest.mark.parametrize("degree, n", [(1, 2), (2, 1), (3, 1)])
def test_few_elements(degree, n):
    """As many controls as conditions leave one solution, which is the minimum."""
    for element in (tf.BubnovGalerkin(degree), tf.MixedGalerkin(max(degree, 2))):
        assert tf.solve(slider()[0], element, n, progress=False).success


def test_conditions_that_hold_need_no_controls():
    """A ball that moves in the plane x = y: of six conditions two follow from the others, and four controls are enough
    on one element."""
    body = tf.PointMass(1.0, name="ball")
    push = tf.ControlForce(body, [(1, 1, 0), (0, 0, 1)], name="push")

    def to(x, y, z):
        end = tf.EndState(position=(x, y, z), velocity=(0, 0, 0))
        return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, {body: end}, (0, 1), tf.Effort(push))

    sol = tf.solve(to(1, 1, 2), tf.MixedGalerkin(2), 1, progress=False)
    assert sol.success and sol.objective == pytest.approx(6 * (1 + 4), rel=1e-9)
    np.testing.assert_allclose(sol.z[-1], [1, 1, 2, 0, 0, 0], rtol=0, atol=1e-9)
    with pytest.raises(InputError, match="no actuator moves the centre of mass along"):
        tf.solve(to(1, 2, 2), tf.MixedGalerkin(2), 1, progress=False)


def test_found_controls_drive_the_body_there():
    sol = tf.solve(reorientation(), tf.MixedGalerkin(3), 100)
    body = tf.RigidBody(mass=12, inertia=[5, 26, 29], name="satellite")
    times = np.linspace(0, 2, 801)
    torques = [tf.Table(times, u, kind="cubic") for u in sol.controls(times).T]
    system = tf.System([body, tf.Torque(body, torques, frame="body")])
    problem = tf.InitialValueProblem(system, {body: tf.Pose()}, (0, 2))
    driven = tf.solve(problem, tf.MixedGalerkin(3), 200)
    np.testing.assert_allclose(driven.quaternion(body, 2.0), TURNED, rtol=0, atol=1e-6)


def test_a_slider_has_the_known_control_and_costates():
    problem, push = slider()
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20)
    m, d, t_end = 2.0, 3.0, 1.5
    assert sol.objective == pytest.approx(6 * m**2 * d**2 / t_end**3, rel=1e-10)
    t = np.linspace(0, t_end, 7)
    expected = 6 * m * d / t_end**2 * (1 - 2 * t / t_end)
    np.testing.assert_allclose(sol.controls(t, push)[:, 0], expected, rtol=0, atol=1e-9)
    # stationarity of the controls: u + costate of the balance of momentum = 0
    np.testing.assert_allclose(sol.field("costates", t)[:, 0], -expected, rtol=0, atol=1e-8)


def test_costates_are_the_gradient_of_the_cost():
    """A constant push that is not controlled changes the cost by the integral of the costate."""
    def cost(push):
        body = tf.PointMass(2.0, dimension=1, name="slider")
        drive = tf.ControlForce(body, [(1, 0, 0)])
        end = {body: tf.EndState(position=[3, None, None], velocity=[0, None, None])}
        problem = tf.OptimalControl(tf.System([body, tf.Force(body, (push, 0, 0))]), {body: tf.Pose()}, end, (0, 1.5),
                                    cost=tf.Effort(drive))
        return tf.solve(problem, tf.MixedGalerkin(2), 20)

    sol = cost(0.0)
    x, w = tf.gauss_legendre(4)
    t = (np.arange(20)[:, None] + x).ravel() * 1.5 / 20
    by_costates = (sol.field("costates", t)[:, 0].reshape(20, 4) @ w).sum() * 1.5 / 20
    by_differences = (cost(1.0).objective - cost(-1.0).objective) / 2
    assert by_costates == pytest.approx(by_differences, rel=0, abs=1e-6)


def test_free_final_time():
    """Cost weight * T + effort: 18 m^2 d^2 / T^4 = weight."""
    weight = 5.0
    problem, _ = slider(free_time=True,
                        cost=lambda push: [tf.Effort(push), tf.Cost(lambda u, q, v, t: weight, name="time")])
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20)
    t_end = (18 * 4 * 9 / weight) ** 0.25
    assert sol.success and sol.t[-1] == pytest.approx(t_end, rel=1e-9)
    assert sol.parameters["duration"] == pytest.approx(t_end, rel=1e-9)


def test_minimum_time_with_bounds():
    """Bang-bang: T = 2 sqrt(m d / u_max)."""
    body = tf.PointMass(2.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    end = {body: tf.EndState(position=[3, None, None], velocity=[0, None, None])}
    problem = tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, end, (0, 3.0), actuators=push, free_time=True,
                                cost=tf.Cost(lambda u, q, v, t: 1.0, name="time"), bounds={push: (-4, 4)})
    sol = tf.solve(problem, tf.MixedGalerkin(1), 40)
    assert sol.success, sol.status
    assert sol.t[-1] == pytest.approx(2 * np.sqrt(2 * 3 / 4), rel=1e-3)
    u = sol.controls(np.linspace(0, sol.t[-1], 101))[:, 0]
    assert np.abs(u).max() <= 4 * (1 + 1e-6) and u[10] == pytest.approx(4, rel=1e-3)


def swing_up(n=60, bound=12.0):
    """Pendulum with a weak motor at its hinge, from hanging to standing."""
    bar = tf.RigidBody(1, [1 / 12, 0.01, 1 / 12], name="bar", size=(0.1, 1, 0.1))
    hinge = tf.Revolute(bar, point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    motor = tf.ControlTorque(bar, [(1, 0, 0)], name="motor")

    def state(angle):  # from hanging
        c, s = np.cos(angle / 2 + np.pi / 4), np.sin(angle / 2 + np.pi / 4)
        r = tf.RigidBody(1, [1, 1, 1]).rotation_matrix(np.array([0, 0, 0, c, s, 0, 0]))
        return tf.Pose(position=-r @ (0, 0.5, 0), orientation=(c, s, 0, 0))

    problem = tf.OptimalControl(
        tf.System([bar, hinge], gravity=(0, 0, -9.81)), {bar: state(0.0)}, {bar: state(np.pi)}, (0, 3),
        cost=tf.Effort(motor), bounds={motor: (-bound, bound)} if bound else None)
    return tf.solve(problem, tf.MixedGalerkin(2), n)


def test_swing_up_of_a_jointed_bar():
    free = swing_up(bound=None)
    assert free.success, free.status
    largest = np.abs(free.controls(free.t)).max()
    bounded = swing_up(bound=0.8 * largest)
    assert bounded.success, bounded.status
    assert np.abs(bounded.controls(bounded.t)).max() <= 0.8 * largest * (1 + 1e-6)
    assert bounded.objective > free.objective * (1 + 1e-6)
    for sol in (free, bounded):
        assert np.abs(sol.constraints()[0]).max() < 1e-8


def test_path_inequality():
    problem, _ = slider(path=lambda now, u: now.velocity("slider")[0] - 2.5)
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20)
    assert sol.success, sol.status
    assert sol.velocity("slider", sol.t)[:, 0].max() <= 2.5 + 1e-6 and sol.objective > 6 * 4 * 9 / 1.5**3


def test_bad_input():
    body = tf.RigidBody(mass=12, inertia=[5, 26, 29], name="satellite")
    wheels = tf.ControlTorque(body, name="wheels")
    system, start = tf.System([body]), {body: tf.Pose()}
    with pytest.raises(InputError, match="the cost is missing"):
        tf.OptimalControl(system, start, {}, (0, 1), actuators=wheels)
    with pytest.raises(InputError, match="nothing to control"):
        tf.OptimalControl(system, start, {}, (0, 1), end_cost=lambda end, parameters: end.t)
    with pytest.raises(InputError, match="no actuator moves"):  # torques do not move the centre of mass
        tf.solve(tf.OptimalControl(system, start, {body: tf.Pose(position=(1, 0, 0))}, (0, 1), cost=tf.Effort(wheels)),
                 tf.MixedGalerkin(1), 10)
    idle = tf.ControlTorque(body, [(0, 0, 0)], name="idle")
    with pytest.raises(InputError, match="control 0 of idle does nothing"):
        tf.solve(tf.OptimalControl(system, start, {}, (0, 1), cost=tf.Effort(idle)), tf.MixedGalerkin(1), 10)
    with pytest.raises(InputError, match="lower one must be below"):
        tf.OptimalControl(system, start, {}, (0, 1), cost=tf.Effort(wheels), bounds={wheels: (1, -1)})
    with pytest.raises(InputError, match="checkpoint is given, but optimal control"):
        tf.solve(reorientation(), tf.MixedGalerkin(1), 10, checkpoint="x.h5")
    with pytest.raises(InputError, match="use more elements"):
        tf.solve(reorientation(), tf.MixedGalerkin(1), 1)


def test_tangent_is_symmetric_and_right():
    from timefem.assembly import Scaling, TimeMesh
    from timefem.elements.evaluation.plan import ElementPlan
    from timefem.problems.optimal.guesses.guess import first_guess
    from timefem.problems.optimal.strategies.mesh_sequence import optimality_element
    from timefem.problems.optimal.transcription.equations import OptimalityEquations

    problem = reorientation()
    for element in (tf.MixedGalerkin(2), tf.BubnovGalerkin(1)):
        optimality, system = optimality_element(problem, element)
        plan, mesh = ElementPlan(system, optimality), TimeMesh.uniform((0, 2), 3)
        chain = OptimalityEquations(problem, plan, mesh, Scaling.of("full", system, optimality, 0, problem.z0))
        x = first_guess(problem, plan, mesh, None)
        x += 0.1 * np.random.default_rng(0).normal(size=len(x))
        chain.evaluate(x)
        every = np.arange(chain.n_unknowns)
        tangent = TangentParts(chain).dense(every, every)
        assert np.abs(tangent - tangent.T).max() < 1e-12 * np.abs(tangent).max()
        steps = 1e-6 * np.eye(chain.n_unknowns)
        differences = [(chain.evaluate(chain.moved(x, s, 1)) - chain.evaluate(chain.moved(x, s, -1))) / 2e-6
                       for s in steps]
        np.testing.assert_allclose(tangent, np.transpose(differences), rtol=0, atol=1e-7 * np.abs(tangent).max())
