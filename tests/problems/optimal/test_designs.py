"""Designs by unknown numbers that no example has: a suspension, a drone, forces on links of unknown places."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.problems.parameters import checked_parameters

pytestmark = pytest.mark.long

STEP = 1e-3  # relative, of differences


def stationary(cost, found):
    """Relative derivatives of a least cost by all numbers."""
    return [abs(cost(found * (1 + STEP * e)) - cost(found * (1 - STEP * e))) / (2 * STEP * cost(found))
            for e in np.eye(len(found))]


def test_suspension_without_controls():
    """Stiffness and damping for comfort over a bump, against collocation written in CasADi and IPOPT."""
    bump = "0.05 * exp(-((t - 0.5) / 0.2)**2)"
    body, wheel = (tf.PointMass(m, 1, name=name) for m, name in ((3.0, "body"), (0.4, "wheel")))
    spring = tf.Spring(body, wheel, stiffness=150.0, length=1.0, name="spring")
    damper = tf.Damper(body, wheel, damping=15.0, name="damper")
    tyre = tf.FormulaForce(wheel, f"[2000 * ({bump} - f[0].position[0]), 0, 0]", name="tyre")
    strut = ("now.parameters['k'] * (now.q('body')[0] - now.q('wheel')[0] - 1)"
             " + now.parameters['c'] * (now.rates('body')[0] - now.rates('wheel')[0])")
    problem = tf.OptimalControl(
        tf.System([body, wheel, spring, damper, tyre]), {body: tf.Pose((1, 0, 0)), wheel: tf.Pose()}, {}, (0, 2),
        cost=f"(({strut}) / 3)**2 + 3000 * (now.q('body')[0] - now.q('wheel')[0] - 1)**2",
        end_cost="60 / parameters['k']",  # what it gives way to a load
        parameters={"k": (spring, "stiffness"), "c": (damper, "damping")}, bounds={"k": (1, 1e4), "c": (1, 1e3)})
    sol = tf.solve(problem, tf.MixedGalerkin(4), 30)
    k, c, z, t = ca.SX.sym("k"), ca.SX.sym("c"), ca.SX.sym("z", 4), ca.SX.sym("t")
    road = 0.05 * ca.exp(-((t - 0.5) / 0.2)**2)
    force = k * (z[0] - z[1] - 1) + c * (z[2] - z[3])
    f = ca.Function("f", [z, t, k, c], [ca.vertcat(z[2:], -force / 3, (force + 2000 * (road - z[1])) / 0.4),
                                        (force / 3)**2 + 3000 * (z[0] - z[1] - 1)**2])
    points = [0, *ca.collocation_points(4, "legendre")]
    slopes, ends, weights = ca.collocation_coeff(points[1:])
    n, variables, rows, cost, x = 40, [], [], 60 / k, ca.SX([1, 0, 0, 0])
    for i in range(n):
        inner, after = ca.SX.sym("inner", 4, 4), ca.SX.sym("after", 4)
        every = ca.horzcat(x, inner)
        values = [f(inner[:, j], 2 / n * (i + points[j + 1]), k, c) for j in range(4)]
        rows += [2 / n * ca.horzcat(*(v[0] for v in values)) - every @ slopes, every @ ends - after]
        cost += 2 / n * sum(weights[j] * v[1] for j, v in enumerate(values))
        variables, x = [*variables, ca.vec(inner), after], after
    w, g = ca.vertcat(k, c, *variables), ca.vertcat(*map(ca.vec, rows))
    solver = ca.nlpsol("s", "ipopt", {"x": w, "f": cost, "g": g}, {"ipopt.print_level": 0, "print_time": 0})
    rest = np.tile([1.0, 0, 0, 0], 5 * n)
    known = solver(x0=np.append([150.0, 15.0], rest), lbg=0, ubg=0,
                   lbx=np.append([1.0, 1.0], np.full(len(rest), -np.inf)))
    assert sol.success and 2 < sol.parameters["k"] < 5e3 and 2 < sol.parameters["c"] < 5e2, sol.parameters
    assert [sol.parameters["k"], sol.parameters["c"]] == pytest.approx(np.array(known["x"])[:2, 0].tolist(), rel=1e-5)
    assert sol.objective == pytest.approx(float(known["f"]), rel=1e-6)


def drone(arm, motor, free):
    """Four rotors on arms, whose length and the mass of whose motors enter the inertia."""
    frame = tf.RigidBody(1 + 4 * motor, (0.01 + 2 * motor * arm**2, 0.01 + 2 * motor * arm**2,
                                         0.02 + 4 * motor * arm**2), name="frame")
    places = {"front": (1, 0), "left": (0, 1), "back": (-1, 0), "right": (0, -1)}
    rotors = [tf.Thruster(frame, point=(arm * x, arm * y, 0), drag=0.02 * (1 if x else -1), name=name)
              for name, (x, y) in places.items()]
    across = "0.01 + 2 * parameters['motor'] * parameters['arm']**2"
    own = {"parameters": {"arm": 0.2, "motor": 0.1}, "bounds": {"arm": (0.05, 1), "motor": (0.02, 0.5)}, "follows": {
        "frame.mass": "1 + 4 * parameters['motor']", "frame.inertia[0]": across, "frame.inertia[1]": across,
        "frame.inertia[2]": "0.02 + 4 * parameters['motor'] * parameters['arm']**2",
        **{f"{name}.point[{0 if x else 1}]": f"{x or y} * parameters['arm']" for name, (x, y) in places.items()}}}
    end = tf.EndState((1, 0.5, 0.3), (1, 0, 0, 0), (0, 0, 0), (0, 0, 0))
    return tf.OptimalControl(
        tf.System([frame, *rotors], gravity=(0, 0, -9.81)), {frame: tf.Pose()}, {frame: end}, (0, 1.5),
        cost=[tf.Effort(rotor) for rotor in rotors], end_cost=lambda end, parameters: 0.3 / (
            parameters["motor"] if free else motor) + 20 * (parameters["arm"] if free else arm), **own if free else {})


def test_a_drone_with_arms_of_unknown_length():
    element = tf.MixedGalerkin(2)
    sol = tf.solve(drone(0.2, 0.1, True), element, 12)
    found = np.array([sol.parameters["arm"], sol.parameters["motor"]])
    assert sol.success and 0.051 < found[0] < 0.9 and 0.025 < found[1] < 0.4
    assert sol.system["front"].point[0] == found[0] == -sol.system["back"].point[0]

    def cost(x):
        return tf.solve(drone(*x.tolist(), False), element, 12, guess=sol).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    assert max(stationary(cost, found)) < 1e-5 < 1e-3 < max(stationary(cost, 1.2 * found))


def pushed(length, free, parts_on, **options):
    """A double pendulum whose tip is pushed, with other parts on its links; the cost sees the tip, too."""
    robot = tf.Tree(
        [tf.Link("base"), tf.Link("one", 1.0, (0.2, 0, 0), (0.01, 0.03, 0.03)),
         tf.Link("two", 0.7, (0.2, 0, 0), (0.01, 0.03, 0.03)), tf.Link("tip", 0.2, inertia=(1e-4,) * 3)],
        [tf.TreeJoint("a", "base", "one", axis=(0, 1, 0), damping=0.1),
         tf.TreeJoint("b", "one", "two", position=(length, 0, 0), axis=(0, 1, 0), damping=0.1),
         tf.TreeJoint("c", "two", "tip", "fixed", position=(0.5, 0, 0))], name="robot")
    tip = robot.link("tip", (0.05, 0, 0.02))
    push = tf.ControlForce(tip, [(1, 0, 0), (0, 0, 1)], point=(0, 0, 0.01), name="push")
    own = {"parameters": {"l": (robot, "b.position[0]")}, "bounds": {"l": (0.2, 3)}} if free else {}
    return tf.OptimalControl(
        tf.System([robot, push, *parts_on(robot, tip)], gravity=(0, 0, -9.81)),
        {robot: {"a": (-0.3, 0.2), "b": 0.6}}, {robot: {"a": (0.4, 0.0), "b": (0.3, 0.0)}}, (0, 1),
        cost=[tf.Effort(push), "0.1 * now.power('push')**2 + sumsqr(now.velocity('robot.tip'))"],
        end_cost=lambda end, parameters: 60 * ((parameters["l"] if free else length) - 0.8)**2, **own, **options)


@pytest.mark.parametrize("parts_on", [
    lambda robot, tip: [], lambda robot, tip: [tf.Spring(tip, stiffness=20, length=0.2, point_b=(0.3, 0, 1.5))],
    lambda robot, tip: [tf.Damper(robot.link("two", (0.1, 0, 0)), damping=2, point_b=(0.3, 0, 1.5)),
                        tf.FormulaForce(tip, "[-0.3 * f[0].velocity[0], 0, 2 * f[0].position[2], 0, 0, 0]")]],
    ids=["push", "spring", "damper and formula"])
def test_what_acts_on_links_of_unknown_places(parts_on):
    element = tf.MixedGalerkin(2, form="lagrange")
    sol = tf.solve(pushed(0.4, True, parts_on), element, 10)
    found = np.array([sol.parameters["l"]])
    assert sol.success and 0.25 < found[0] < 2.5

    def cost(x):
        return tf.solve(pushed(float(x[0]), False, parts_on), element, 10, guess=sol).objective

    assert cost(found) == pytest.approx(sol.objective, rel=1e-9)
    assert stationary(cost, found)[0] < 1e-5 < 1e-3 < stationary(cost, 1.2 * found)[0]


def test_outputs_of_links_of_unknown_places_in_limits():
    """The height of the tip, by an `Output` that is made for the tree as it was given."""
    robot = tf.Tree([tf.Link("base"), tf.Link("rod", 1.0, (0.2, 0, 0), (0.01, 0.03, 0.03)),
                     tf.Link("tip", 0.2, inertia=(1e-4,) * 3)],
                    [tf.TreeJoint("a", "base", "rod", axis=(0, 1, 0)),
                     tf.TreeJoint("b", "rod", "tip", "fixed", position=(0.4, 0, 0))], name="robot")
    drive = tf.JointControl(joint=robot.joint("a"), name="drive")
    problem = tf.OptimalControl(
        tf.System([robot, drive], gravity=(0, 0, -9.81)), {robot: {"a": -0.3}}, {robot: {"a": (0.6, 0.0)}}, (0, 1),
        tf.Effort(drive), parameters={"l": (robot, "b.position[0]")}, bounds={"l": (0.2, 1.5)},
        end_cost="500 * (parameters['l'] - 1)**2",
        limits=tf.Limit(tf.PositionOutput(robot.link("tip"), (0, 0, 1)), -0.5, None))
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 10)
    assert sol.success and sol.position("robot.tip", sol.t)[:, 2].min() == pytest.approx(-0.5, abs=1e-6)
    assert sol.parameters["l"] == pytest.approx(0.5 / np.sin(0.6), rel=1e-6)


def test_which_numbers_can_be_unknown():
    """Of all kinds of parts."""
    a, b = tf.RigidBody(1.0, (1, 1.2, 1.4), name="a"), tf.RigidBody(2.0, np.diag([2, 2.2, 2.4]) + 0.1, name="b")
    d, point = tf.RigidBody(1.0, (1, 1.2, 1.4), "directors", name="d"), tf.PointMass(1.0, name="point")
    hinge = tf.Revolute(a, b, point_a=(0.1, 0, 0), axis_a=(0, 0, 1), point_b=(0.3, 0, 0), axis_b=(0, 0, 1),
                        name="hinge")
    system = tf.System([
        a, b, d, point, hinge, tf.Spring(a, b, stiffness=3, length=0.5, point_a=(1, 0, 0), name="spring"),
        tf.Damper(a, point, damping=0.3, point_a=(0, 0, 1), name="damper"),
        tf.TorsionalDamper(d, damping=0.1, axis=(1, 2, 3), name="disc"),
        tf.Force(d, [tf.Sine(2.0, 1.5, 0.1, 0.2), 1.0, 0.0], point=(0.1, 0.2, 0.3), name="load"),
        tf.Motor(joint=hinge, gear=3.0, name="motor"),
        tf.JointSpring(joint=hinge, stiffness=1.0, rest=0.1, name="coil"),
        tf.NonlinearSpring(a, d, potential="c[0] * (l - 1)**4", parameters=[2.0], point_b=(2, 0, 0), name="stiff"),
        tf.RigidDistance(d, None, point_b=(3, 0, 0), length=3.0, name="rod"),
        tf.Thruster(d, point=(0.1, 0, 0), drag=0.02, name="rotor")], gravity=(0, 0, -9.81))
    names = ["a.mass", "a.inertia[1]", "a.inertia[0,2]", "b.inertia[0,1]", "b.mass", "d.inertia[0]",
             "d.inertia[2]", "point.mass", "spring.stiffness", "spring.length", "spring.point_a[2]",
             "damper.damping", "disc.axis[1]",
             "load.value[0].amplitude", "load.value[1]", "load.point[0]", "coil.stiffness", "coil.rest", "motor.gear",
             "motor.torque", "hinge.point_a[0]", "stiff.parameters[0]", "rod.length", "rotor.point[1]", "rotor.drag",
             "gravity[2]", "gravity[0]", "hinge.axis_a[0]"]
    _, numbers = checked_parameters(system, {name: name for name in names})
    assert len(numbers) == len(names) and all(numbers.of(name) for name in names)
    assert {part.name for part in numbers.of("b.mass")} >= {"b"} and len(numbers.of("b.mass")) >= 2  # and its weight
    assert {part.name for part in numbers.of("hinge.axis_a[0]")} >= {"hinge", "coil", "motor"}
    for name, words in (("motor.rotor_inertia", "shapes the formulas"), ("a.size", "no number 'size'")):
        with pytest.raises(tf.InputError, match=words):
            checked_parameters(system, {"x": name})
