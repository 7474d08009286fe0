"""Controls of solutions, marched on a finer mesh."""

import pickle
import warnings

import numpy as np
import pytest

import timefem as tf
from timefem.cases import CASES
from timefem.problems.controls_marched import Replay


def push(**options):
    body = tf.PointMass(2.0, dimension=1, name="body")
    thrust = tf.ControlForce(body, [(1, 0, 0)], name="thrust")
    return tf.OptimalControl(tf.System([body, thrust]), {body: tf.Pose()}, {body: tf.EndState(
        position=(1, None, None), velocity=(0, None, None))}, (0, 2), tf.Effort(thrust), **options)


def swing(length=0.5, bound=None):
    links = [tf.Link("ground"), tf.Link("bar", mass=1.0, centre=(0, 0, -length), inertia=(0, 0.02, 0))]
    tree = tf.Tree(links, [tf.TreeJoint("pivot", "ground", "bar", axis=(0, 1, 0))], name="pendulum")
    motor = tf.GeneralizedControl(tree, np.eye(1), name="motor")
    return tf.OptimalControl(tf.System([tree, motor], gravity=(0, 0, -9.81)), {tree: {"pivot": 0.0}},
                             {tree: {"pivot": np.pi}}, (0, 2), tf.Effort(motor),
                             bounds={motor: (-bound, bound)} if bound else None)


@pytest.mark.parametrize("k", [1, 2])
def test_a_linear_motion_is_exact(k):
    """Nothing is between the nodes of a mass that is pushed by what its element can resolve."""
    problem = push()
    sol = tf.solve(problem, tf.MixedGalerkin(k, n_points=k + 1), 10, progress=False)
    found = tf.simulate(problem, sol)
    assert found.largest < (1e-12 if k == 2 else 2e-2) and found.objective == pytest.approx(sol.objective, rel=1e-12)
    np.testing.assert_array_equal(found.t, sol.t)
    np.testing.assert_allclose(found.z, sol.z, rtol=0, atol=1e-11)


@pytest.mark.long
@pytest.mark.parametrize("k, order", [(1, 2), (2, 4)])
def test_the_distance_falls_with_the_order_of_the_element(k, order):
    problem, found = swing(), []
    for n in (20, 40, 80):
        sol = tf.solve(problem, tf.MixedGalerkin(k, form="lagrange", n_points=k), n, progress=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tf.UnderResolved)
            found.append(tf.simulate(problem, sol).largest)
    slopes = np.log2(np.array(found[:-1]) / found[1:])
    assert slopes[-1] == pytest.approx(order, rel=0.15), (found, slopes)


def test_too_few_elements_are_told():
    problem = swing()
    sol = tf.solve(problem, tf.MixedGalerkin(1, form="lagrange"), 5, progress=False)
    with pytest.warns(tf.UnderResolved, match="do not resolve the motion: element"):
        found = tf.simulate(problem, sol)
    assert not found.resolved and found.reason and found.defects.argmax() in range(5)


@pytest.mark.parametrize("element", [tf.MixedGalerkin(2, n_points=2), tf.BubnovGalerkin(2),
                                     tf.BubnovGalerkin(1, drop="end")], ids=str)
def test_defects_are_a_step_of_the_equations_of_the_program(element):
    """Rows, columns and derivatives of the nonlinear program of the motion, for two blocks at once."""
    problem, n = CASES["cart-pole-limited"].make(), 10
    sol = tf.solve(problem, element, n, progress=False)
    replay = Replay(problem, sol, (0, 0.4))
    program, none = replay.program, np.zeros(replay.program.n)
    chain, matrix = replay.chain, np.zeros((program.n_rows, program.n))
    matrix[program.jacobian_places] = program.jacobian(none)
    controls = np.isin(program.primal, chain.columns_of("controls"))
    motion, made = np.arange(program.n_rows - chain.blocks[1].n_unknowns), none.copy()
    for k in range(n):
        rows = motion[program.joined[program.row_blocks[motion]] // 2 == k]
        columns = np.flatnonzero((program.joined[program.variable_blocks] // 2 == k) & ~controls)
        made[columns] = -np.linalg.solve(matrix[np.ix_(rows, columns)], program.rows(none)[rows])
    missed = np.abs((replay.states(made)[0] - replay.states(none)[0]) / replay.sizes).max(axis=1)[1::2]
    assert missed.max() > 1e-6
    np.testing.assert_allclose(replay.defects(), missed, rtol=1e-7, atol=1e-13)
    assert replay.objective == pytest.approx(chain.objective(replay.states(none)[1]), rel=1e-13)


def test_an_unstable_motion_is_told():
    """Upright for 4 s: e^(4 sqrt(g m l / J)) is 5e6, whatever the mesh."""
    links = [tf.Link("ground"), tf.Link("bar", mass=1.0, centre=(0, 0, 0.5), inertia=(0, 0.02, 0))]
    tree = tf.Tree(links, [tf.TreeJoint("pivot", "ground", "bar", axis=(0, 1, 0))], name="pole")
    motor = tf.GeneralizedControl(tree, np.eye(1), name="motor")
    problem = tf.OptimalControl(tf.System([tree, motor], gravity=(0, 0, -9.81)), {tree: {"pivot": 0.4}},
                                {tree: {"pivot": 0.0}}, (0, 4), tf.Effort(motor), bounds={motor: (-3, 3)})
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 80, progress=False)
    assert sol.success
    with pytest.warns(tf.UnderResolved, match="unstable"):
        found = tf.simulate(problem, sol)
    assert found.resolved and found.growth > 1e3 and found.distance[-1] > 1e2 * found.distance[40]


def test_found_numbers_and_times_are_marched(tmp_path):
    body = tf.PointMass(2.0, dimension=2, name="body")
    thrust = tf.ControlForce(body, [(1, 0, 0), (0, 1, 0)], name="thrust")
    spring = tf.Spring(body, None, stiffness=3.0, length=0.5, point_b=(0, -1, 0), name="spring")
    problem = tf.OptimalControl(
        tf.System([body, thrust, spring]), {body: tf.EndState(position=(0, 0, None), velocity=(None, 0, None))},
        {body: tf.EndState(position=(1, 0.5, None), velocity=(0, 0, None))}, (0, 2), tf.Effort(thrust),
        free_time=True, end_cost="end.t + end.parameters['k']", parameters={"k": (spring, "stiffness")},
        bounds={thrust: (-20, 20), "duration": (0.5, 5), "k": (1, 5)},
        limits=tf.Limit("now.velocity('body')[0]", -3, 3))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 40, progress=False)
    assert sol.success and tf.simulate(problem, sol).largest < 1e-3
    sol.save(tmp_path / "motion.h5")
    assert tf.simulate(problem, tf.load(tmp_path / "motion.h5")).largest < 1e-3


def test_constraints_and_quaternions():
    bar = tf.RigidBody(1.0, (0.08, 0.08, 0.01), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    motor = tf.ControlTorque(bar, [(0, 1, 0)], name="motor")
    end = tf.EndState(orientation=(np.cos(0.6), 0, np.sin(0.6), 0), angular_velocity=(0, 0, 0))
    problem = tf.OptimalControl(tf.System([bar, hinge], gravity=(0, 0, -9.81)), {bar: tf.Pose((0, 0, -0.5))},
                                {bar: end}, (0, 1.5), tf.Effort(motor))
    found = tf.simulate(problem, tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False))
    assert found.largest < 1e-3 and found.resolved and not found.reason


def test_what_cannot_be_simulated():
    problem = push()
    sol = tf.solve(problem, tf.MixedGalerkin(2), 4, progress=False)
    for finer in (1, 0, 2.5):
        with pytest.raises(tf.InputError, match="finer"):
            tf.simulate(problem, sol, finer=finer)
    march = tf.solve(tf.InitialValueProblem(problem.system, {problem.system.bodies[0]: tf.Pose()}, (0, 1)),
                     tf.MixedGalerkin(2), 4, progress=False)
    with pytest.raises(tf.InputError, match="with its controls"):
        tf.simulate(problem, march)


def test_solutions_simulate_themselves(tmp_path):
    sol = tf.solve(push(), tf.MixedGalerkin(2, n_points=3), 10, progress=False)
    assert sol.simulate().largest < 1e-12
    copied = pickle.loads(pickle.dumps(sol))
    np.testing.assert_array_equal(copied.z, sol.z)
    with pytest.raises(tf.InputError, match=r"timefem.simulate\(problem, solution\)"):
        copied.simulate()
    sol.save(tmp_path / "push.h5")
    assert tf.simulate(push(), tf.load(tmp_path / "push.h5")).largest < 1e-12


def hypersensitive(duration):
    """Rao and Mease; all is in layers of a few units of time at both ends: 1.3308068, however long the time."""
    control = tf.Control(name="u")
    state = tf.State("x", "-x[0]**3 + u[0]", controls=[control])
    return tf.OptimalControl(tf.System([state, control]), {state: 1.5}, {state: 1.0}, (0, duration),
                             "(now.q('x')[0]**2 + u[0]**2) / 2")


@pytest.mark.filterwarnings("ignore::timefem.errors.UnderResolved")
@pytest.mark.parametrize("n, cost, missed", [(100, 3.27, "the cost is 3.26"), (10, 30.2, "the cost is 30.1"),
                                             (400, 1.52, "the cost is 1.52")])
def test_a_mesh_that_sees_nothing_of_the_layers_is_no_success(n, cost, missed):
    sol = tf.solve(hypersensitive(1e4), tf.MixedGalerkin(2), n, progress=False)
    assert sol.statistics["objective"] == pytest.approx(cost, rel=2e-2)
    assert sol.status.reason == "not accurate" and missed in sol.status.message
    assert "or a tolerance, which places nodes" in sol.status.message


@pytest.mark.long
def test_a_tolerance_finds_the_layers():
    sol = tf.solve(hypersensitive(1e4), tf.MixedGalerkin(2), tolerance=1e-3, progress=False)
    assert sol.success and sol.objective == pytest.approx(1.3308068, rel=1e-5)
    assert len(sol.t) < 1000 and np.diff(sol.t).max() > 100 * np.diff(sol.t).min()


def test_less_is_a_warning():
    with pytest.warns(tf.UnderResolved, match="misses the motion that its controls make by 0.0[234]"):
        sol = tf.solve(hypersensitive(20), tf.MixedGalerkin(2), 13, progress=False)
    assert sol.success and sol.objective == pytest.approx(1.3308068, rel=0.05)


def signed():
    """`x' = 2 - sign(x)`, whose sign is a control of a linear program with a penalty of a thousand, as PSOPT states it:
    1.654. Controls between bounds that hold at all points of an element cannot jump within one."""
    control = tf.Control(3, name="u")
    state = tf.State("x", "2 - u[0]", controls=[control])
    product = "now.q('x')[0]**2 + 1e3 * (u[1] * (u[0] + 1) + u[2] * (1 - u[0]))"
    sign = tf.Limit("now.q('x')[0] + u[1] - u[2]", 0, 0, name="sign")
    return tf.OptimalControl(tf.System([state, control]), {state: -1.0}, {state: tf.EndState(q=[None])}, (0, 2),
                             product, bounds={control: ([-1, 0, 0], [1, 10, 10])}, limits=sign)


def test_an_element_that_costs_alone_is_a_warning():
    with pytest.warns(tf.UnderResolved, match="element 3, at t = 0.3, costs .* than 10 times as much as"):
        sol = tf.solve(signed(), tf.MixedGalerkin(2), 20, progress=False)
    assert sol.success and sol.objective > 5
