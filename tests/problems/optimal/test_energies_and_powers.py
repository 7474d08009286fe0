"""Energies, powers and unknown numbers in running costs and limits."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT, STEP = tf.MixedGalerkin(2), 1e-3
COSTS = ["4 * now.kinetic_energy() + now.potential_energy('spring')", "now.energy()**2", "now.power('push')**2",
         "now.power('gravity') + 3 * now.parameters['m'] * now.rates('body')[0]**2",
         lambda now, u, k: now.power("spring")**2 + now.power("air")**2 + k * u[0]**2]


def slider(m, k, free, cost):
    """With a spring, a damper and weight; formulas have known numbers as such."""
    numbers = {"m": m, "k": k}

    def filled(text):
        for name in () if free else numbers:
            text = text.replace(f"now.parameters['{name}']", repr(numbers[name])).replace(
                f"parameters['{name}']", repr(numbers[name]))
        return text

    given = filled(cost) if isinstance(cost, str) else lambda now, u: cost(now, u, now.parameters["k"] if free else k)
    body = tf.PointMass(m, 1, name="body")
    parts = [body, tf.Spring(body, stiffness=k, name="spring"), tf.RayleighDissipation(body, linear=0.5, name="air"),
             tf.ControlForce(body, [(1, 0, 0)], name="push")]
    own = {"parameters": {"m": (body, "mass"), "k": (parts[1], "stiffness")},
           "bounds": {"m": (0.3, 5), "k": (0.5, 9)}} if free else {}
    return tf.OptimalControl(
        tf.System(parts, gravity=(-1, 0, 0)), {body: tf.Pose(velocity=(0.2, 0, 0))},
        {body: tf.EndState((1, 0, 0), velocity=(0.4, 0, 0))}, (0, 1), cost=[tf.Effort(parts[3]), given],
        end_cost=filled("3 / parameters['m'] + 2 / parameters['k'] + 0 * end.t"), **own)


@pytest.mark.parametrize("cost", COSTS, ids=["energies", "energy", "power", "weight", "function"])
def test_costs_with_unknown_numbers(cost):
    """The cost of known numbers is stationary at those found, and the same."""
    sol = tf.solve(slider(1.5, 2.0, True, cost), ELEMENT, 8)
    found = np.array([sol.parameters["m"], sol.parameters["k"]])
    assert sol.success and 0.35 < found[0] < 4.5 and 0.6 < found[1] < 8.5

    def value(x):
        return tf.solve(slider(*x.tolist(), False, cost), ELEMENT, 8).objective

    assert value(found) == pytest.approx(sol.objective, rel=1e-8)
    for change in np.diag(STEP * found):
        assert abs(value(found + change) - value(found - change)) < 2 * STEP * 1e-5 * sol.objective
    stated = sol.statistics["stated"]["cost"][-1]
    assert stated == (cost if isinstance(cost, str) else None)


def test_other_numbers_of_a_prepared_solver_reach_the_cost():
    cost = "now.kinetic_energy() + now.parameters['w'] * now.potential_energy()"

    def problem(m):
        body = tf.PointMass(m, 1, name="body")
        push = tf.ControlForce(body, [(1, 0, 0)], name="push")
        return tf.OptimalControl(tf.System([body, push], gravity=(-1, 0, 0)), {body: tf.Pose()},
                                 {body: tf.EndState((1, 0, 0))}, (0, 1), [tf.Effort(push), cost], parameters={"w": 1.3},
                                 bounds={"w": (1, 1.3)})

    changed = tf.prepare(problem(1.0), ELEMENT, 6).solve(parameters={"body.mass": 2.5})
    assert changed.objective == pytest.approx(tf.solve(problem(2.5), ELEMENT, 6).objective, rel=1e-9)


def hinged(kind):
    """A body that swings on an axis, driven: as a rigid body, and as a tree."""
    if kind == "tree":
        robot = tf.Tree([tf.Link("base"), tf.Link("rod", 2.0, (0, 0, -0.5), (0.4, 0.5, 0.6))],
                        [tf.TreeJoint("hinge", "base", "rod", axis=(0, 1, 0), damping=0.2, stiffness=1.0)], name="body")
        drive = tf.JointControl(joint=robot.joint("hinge"), name="drive")
        return tf.System([robot, drive], gravity=(0, 0, -9.81)), {robot: {"hinge": (0.0, 0.4)}}, {
            robot: {"hinge": (0.6, 0.2)}}, tf.MixedGalerkin(2, form="lagrange")
    body = tf.RigidBody(2.0, (0.4, 0.5, 0.6), name="body")
    hinge = tf.Revolute(body, point_a=(0, 0, 0.5), axis_a=(0, 1, 0), point_b=(0, 0, 0), axis_b=(0, 1, 0))
    drive = tf.ControlTorque(body, [(0, 1, 0)], name="drive")
    end = tf.EndState(orientation=(np.cos(0.3), 0, np.sin(0.3), 0), angular_velocity=(0, 0.2, 0))
    return tf.System([body, hinge, drive], gravity=(0, 0, -9.81)), {
        body: tf.Pose((0, 0, -0.5), velocity=(-0.2, 0, 0), angular_velocity=(0, 0.4, 0))}, {body: end}, ELEMENT


@pytest.mark.parametrize("kind", ["body", "tree"])
def test_work_is_the_change_of_energy(kind):
    """The integrals of all powers, by the derivative of the least cost by their weight, and in limits."""
    system, start, end, element = hinged(kind)
    powers = ["now.power('drive')", "now.power('gravity')", *["now.power('body')"] * (kind == "tree")]

    def solved(*costs, **options):
        return tf.solve(tf.OptimalControl(system, start, end, (0, 1), [tf.Effort(system["drive"]), *costs], **options),
                        element, 12)

    plain, weight = solved(), 1e-5
    work = [(solved(f"{weight} * {power}").objective - solved(f"-{weight} * {power}").objective) / (2 * weight)
            for power in powers]
    ends = np.array([0.0, 1.0])
    kinetic = np.diff(plain.energy(ends) - plain.system.potential(ends, plain.z[[0, -1]]))[0]
    assert sum(work) == pytest.approx(kinetic, abs=1e-4)
    tight = solved(limits=tf.Limit(powers, np.array(work) - 1e-3, np.array(work) + 1e-3, at="integral"))
    assert tight.success and tight.objective == pytest.approx(plain.objective, rel=1e-7)


def test_a_limit_of_power_and_energy():
    """A push of at most one watt, along a known motion: at that power it stays where it is reached."""
    body = tf.PointMass(1.0, 1, name="body")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    problem = tf.OptimalControl(
        tf.System([body, push]), {body: tf.Pose()}, {body: tf.EndState(velocity=(1.5, 0, 0))}, (0, 2),
        end_cost="end.t", free_time=True, bounds={push: (0, 2.0)},
        limits=[tf.Limit("now.power('push')", None, 1.0), tf.Limit("now.kinetic_energy()", 0.0, 2.0)])
    sol = tf.solve(problem, ELEMENT, 200)
    assert sol.success  # at 2 N to 0.5 m/s, then v^2 = 0.25 + 2 t
    assert sol.objective == pytest.approx(0.25 + (1.5**2 - 0.25) / 2, rel=2e-3)


def test_what_is_refused():
    body = tf.PointMass(1.0, name="body")
    push, held = tf.ControlForce(body, [(1, 0, 0)], name="push"), tf.PrescribedPosition(body, position=("t", 0, 0))
    for cost, words in (("now.p('body')[0]", "has no 'p'"), ("now.power('pusch')", "no part 'pusch'.*mean 'push'"),
                        (lambda now, u: now.p(body)[0], "not of momenta"),
                        ("now.parameters['duration']", "has no 'duration'")):
        with pytest.raises(tf.InputError, match=words):
            tf.OptimalControl(tf.System([body, push]), {body: tf.Pose()}, {}, (0, 1), [tf.Effort(push), cost])
    with pytest.raises(tf.InputError, match=r"that of constraints.*drive it by an actuator"):
        tf.OptimalControl(tf.System([body, push, held]), {body: tf.Pose(velocity=(1, 0, 0))}, {}, (0, 1),
                          [tf.Effort(push), "now.power('PrescribedPosition 1')"])
