"""Formulas of optimal control given as text, against the same as functions of CasADi symbols."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.errors import InputError
from timefem.mechanics.formulas.text import TextFormula

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2, n_points=2)


def cart_and_arm(**options):
    """A slider with a hinge that carries a bar, pushed and turned."""
    links = [tf.Link("ground"), tf.Link("cart", 2.0, inertia=(0.1, 0.1, 0.1)),
             tf.Link("bar", 1.0, centre=(0.3, 0, 0), inertia=(0.02, 0.05, 0.05))]
    joints = [tf.TreeJoint("rail", "ground", "cart", kind="prismatic", axis=(1, 0, 0)),
              tf.TreeJoint("hinge", "cart", "bar", axis=(0, 0, 1))]
    arm = tf.Tree(links, joints, name="arm")
    push, turn = (tf.JointControl(arm.joint(name), name=f"of {name}") for name in ("rail", "hinge"))
    given = {"cost": [tf.Effort(push), tf.Effort(turn)], "actuators": [push, turn]} | options
    return tf.OptimalControl(tf.System([arm]), {arm: {}}, {arm: {"rail": 1.0, "hinge": 1.5}}, (0, 1), **given)


def solved(problem, n=8):
    sol = tf.solve(problem, tf.MixedGalerkin(2, n_points=2, form="lagrange"), n, progress=False)
    assert sol.success, sol.status.message
    return sol


def value(problem, text):
    """A formula of text and its symbols, for comparisons of numbers."""
    z, u, t, c = (ca.SX.sym(*x) for x in (("z", problem.system.n_z), ("u", problem.n_controls), ("t",), ("c", 0)))
    now = problem.now(z, t, c, u)
    formula = TextFormula(text, ["now", "u"]) if isinstance(text, str) else text
    return np.array(ca.Function("f", [z, u, t], [ca.SX(formula(now, u))])(0.1 * np.arange(1, 1 + z.numel()),
                                                                         [3.0, 4.0], 0.7)).ravel()


@pytest.mark.parametrize("text, function", [
    ("now.t * now.z[1]", lambda now, u: now.t * now.z[1]),
    ("now.q('arm')[1] + now.rates('arm')[0]", lambda now, u: now.q("arm")[1] + now.rates("arm")[0]),
    ("now.position('arm.bar')", lambda now, u: now.position("arm.bar")),
    ("now.position('arm.bar', [0.6, 0, 0])[:2]",
     lambda now, u: ca.vertcat(now.q("arm")[0] + 0.6 * ca.cos(now.q("arm")[1]), 0.6 * ca.sin(now.q("arm")[1]))),
    ("now.velocity('arm.bar', [0.6, 0, 0])[1]", lambda now, u: 0.6 * ca.cos(now.q("arm")[1]) * now.rates("arm")[1]),
    ("now.angular_velocity('arm.bar', 'space')[2]", lambda now, u: now.rates("arm")[1]),
    ("now.rotation_matrix('arm.bar')[0, 0]", lambda now, u: ca.cos(now.q("arm")[1])),
    ("now.joint('hinge') - now.joint('rail', 'displacement')", lambda now, u: now.q("arm")[1] - now.q("arm")[0]),
    ("now.joint_rate('arm.hinge')", lambda now, u: now.rates("arm")[1]),
    ("now.control('of hinge') - 2 * u[0]", lambda now, u: u[1] - 2 * u[0]),
    ("now.energy()", lambda now, u: now.energy()),
])
def test_words_of_formulas(text, function):
    problem = cart_and_arm()
    np.testing.assert_allclose(value(problem, text), value(problem, function), rtol=1e-13, atol=1e-14)


def test_texts_solve_as_functions_do():
    texts = {"cost": ["0.5 * sumsqr(u)", "now.joint_rate('hinge')**2 / 2"], "end_cost": "end.joint('rail')**2",
             "limits": [tf.Limit("now.joint_rate('rail')", None, "1.3 + t / 10"),
                        tf.Limit("now.control('of rail')**2", upper=125, at="integral")]}
    functions = {"cost": [lambda now, u: ca.dot(u, u) / 2, lambda now, u: now.rates("arm")[1]**2 / 2],
                 "end_cost": lambda end, parameters: end.q("arm")[0]**2,
                 "limits": [tf.Limit(lambda now, u: now.rates("arm")[0], None, lambda t: 1.3 + t / 10),
                            tf.Limit(lambda now, u: u[0]**2, upper=125, at="integral")]}
    found = [solved(cart_and_arm(**given)) for given in (texts, functions)]
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-9)
    rates = found[0].joint("rail").rate(found[0].t)
    assert (rates - found[0].t / 10).max() == pytest.approx(1.3, abs=1e-6)


def test_costs_of_formulas_share_their_kernels():
    """Of texts and of functions that say the same."""
    one, two = (cart_and_arm(cost=cost).system.parts[-1] for cost in (
        "sumsqr(u) + now.joint_rate('hinge')**2", lambda now, u: ca.sumsqr(u) + now.joint_rate("hinge")**2))
    assert one.kind == two.kind and len(one.bodies) == 1


def mass_problem(**options):
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    end = tf.EndState(position=[1, None, None], velocity=[0, None, None])
    given = {"cost": tf.Effort(push)} | {name: {push: pair} for name, pair in options.items()}
    return tf.OptimalControl(tf.System([mass, push]), {mass: tf.Pose()}, {mass: end}, (0, 3), **given)


def test_bounds_of_controls_that_depend_on_time():
    sol = tf.solve(mass_problem(bounds=("-0.8 + t / 8", lambda t: 0.8 - t / 8)), ELEMENT, 30, progress=False)
    u = sol.controls(sol.t)[:, 0]
    assert sol.success and u[-1] == pytest.approx(-0.425, abs=1e-6)  # -2/3 without bounds, and an objective of 2/9
    assert (np.abs(u) - 0.8 + sol.t / 8).max() < 1e-6 and sol.objective > 0.2223 + 1e-3


def test_bounds_of_rates_that_depend_on_time():
    slow = mass_problem(rates=(-0.5, 0.5))
    same = mass_problem(rates=("-0.5", ["0.5"]))
    one, two = (tf.solve(problem, ELEMENT, 30, progress=False) for problem in (slow, same))
    assert one.success and one.objective == pytest.approx(two.objective, rel=1e-9)
    faster = tf.solve(mass_problem(rates=("-0.4 - t / 10", "0.3 + t / 10")), ELEMENT, 30, progress=False)
    rates = np.diff(faster.controls(faster.t)[:, 0]) / np.diff(faster.t)
    middle = (faster.t[1:] + faster.t[:-1]) / 2
    assert faster.success and np.all(rates > -0.4 - middle / 10 - 1e-6) and rates.min() < -0.4
    assert np.all(rates < 0.3 + middle / 10 + 1e-6)


def test_a_bound_of_one_expression_and_equal_bounds():
    """Of two expressions one has two functions of time, which are the same: an equation."""
    limit = tf.Limit(["u[0]", "now.t"], ["1 - t", None], ["1 - t", 5.0])
    rows, lower, upper = limit.rows(*_now())
    assert rows.numel() == 2 and lower.tolist() == [0, -np.inf] and upper.tolist() == [0, 5]


def _now():
    u, t = ca.SX.sym("u"), ca.SX.sym("t")
    return type("Now", (), {"t": t, "_fields": ("t",), "_methods": ()})(), u


def test_couplings_as_text():
    mass = tf.PointMass(1.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    start = tf.EndState(position=[0, None, None])
    ties = [tf.Coupling("end.q('mass') - start.q('mass') - 1"), tf.Coupling("end.rates('mass') - start.rates('mass')")]
    sol = tf.solve(tf.OptimalControl(tf.System([mass]), {mass: start}, {}, (0, 2), tf.Effort(push), couplings=ties),
                   ELEMENT, 10, progress=False)
    assert abs(sol.objective) < 1e-9 and sol.z[0, 1] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("text, message", [
    ("now.velocity('arn.bar')", "limit: formula: .*no body 'arn.bar' in the system.*did you mean 'arm.bar'"),
    ("now.velocity", r"now.velocity' is a function, .*write now.velocity\(\.\.\.\)"),
    ("now.velocity()", "cannot be evaluated: .*missing"),
    ("now.velocity('arm.bar', [1, 2])", "has three numbers, not 2"),
    ("now.joint('elbow')", "no joint 'elbow' with a coordinate in the system; it has rail, hinge"),
    ("now.control('hinge')", "no actuator 'hinge' in the system; it has of rail, of hinge"),
    ("now.parameters['k']", "'now.parameters' has no 'k'; known are none"),
    ("now.joint('rail') + ", "cannot be read"),
    ("now.system", "'now' has no 'system'; it has t, z"),
    ("now.__class__", "'now' has no '__class__'"),
    ("now['arm']", "'now' is not a vector"),
    ("sin('arm')", "'arm' is not a number"),
    ("state.q('arm')", "unknown name 'state'; it has now, u"),
])
def test_bad_texts(text, message):
    with pytest.raises(InputError, match=message):
        cart_and_arm(limits=tf.Limit(text, 0))


@pytest.mark.parametrize("options, message", [
    ({"cost": "end.t"}, "cost: .*unknown name 'end'; it has now, u"),
    ({"cost": "now.p('mass')[0]"}, "'now' has no 'p'; it has t, parameters, q, rates"),
    ({"cost": lambda now, u: now.p("mass")[0]}, "cost: integrands are formulas of coordinates, velocities"),
    ({"cost": "now.z[0]"}, "cost: .*'now' has no 'z'"),
    ({"cost": 3.0}, "cost: 3.0 is not a Cost"),
    ({"cost": "u[0]**2 <= 3"}, "cost: .* is a comparison, .*write what is to be minimised; a condition is a Limit"),
    ({"end_cost": "end.q('arm')[0] > 1"}, "end_cost: .* is a comparison, .*a condition is a Limit"),
    ({"end_cost": "now.t"}, "end_cost: .*unknown name 'now'; it has end, parameters"),
    ({"end_cost": "end.control('of rail')"}, "used at an end"),
    ({"end_conditions": "end.joint('rail') - parameters['m']"}, "end_conditions: .*has no 'm'"),
    ({"couplings": tf.Coupling("after.t - before.t")}, "coupling: the formula is written in start and end, not"),
])
def test_bad_texts_of_problems(options, message):
    with pytest.raises(InputError, match=message):
        cart_and_arm(**options)
