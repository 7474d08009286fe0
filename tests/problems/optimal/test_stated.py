"""What problems ask for, written as text and read again."""

import json
import pickle

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.problems.optimal.statement.limits import coupled

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2, n_points=2)


def system():
    mass = tf.PointMass(2.0, dimension=2, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0), (0, 1, 0)], name="push")
    spring = tf.Spring(mass, point_b=(0, -1, 0), stiffness=4.0, length=1.0, name="spring")
    return tf.System([mass, push, spring]), mass, push, spring


def problem(cost, end_cost, limits, couplings, **options):
    whole, mass, push, spring = system()
    end = tf.EndState(position=[1, 1, None], velocity=[0, 0, None])
    start = tf.EndState(position=[0, 0, None])
    return tf.OptimalControl(whole, {mass: start}, {mass: end}, (0, 1.5), cost, actuators=push, end_cost=end_cost,
                             free_time=True, bounds={"duration": (0.5, 4), "k": (1, 9)},
                             parameters={"k": (spring, "stiffness")}, limits=limits, couplings=couplings, **options)


def by_functions():
    return problem(
        [lambda now, u: ca.sumsqr(u) / 2 + now.velocity("mass")[1]**2],
        lambda end, parameters: 3 * parameters["duration"] + parameters["k"]**2 / 9,
        [tf.Limit(lambda now, u: [now.rates("mass")[0], u[1] * now.t], [-1, None], [lambda t: 1 + 0.1 * t, 8.0]),
         tf.Limit(lambda now, u: ca.norm_2(now.position("mass") - ca.DM([0.5, 0.6, 0])), 0.2, name="around"),
         tf.Limit(lambda now, u: now.parameters["k"] * ca.sumsqr(u), upper=200, at="integral", name="use")],
        [tf.Coupling(lambda start, end: start.rates("mass")[1] - end.t / 10, -0.2, 0.3, name="slow")])


def test_texts_state_the_same_problem():
    """Read again they have the same solution."""
    one = by_functions()
    said = one.stated
    assert said["limits"][0]["lower"] == [-1.0, None] and said["limits"][2]["at"] == "integral"
    assert all(isinstance(text, str) for text in [*said["cost"], said["end_cost"]])
    limits = [tf.Limit(**entry) for entry in said["limits"]]
    two = problem(said["cost"], said["end_cost"], limits, [tf.Coupling(**entry) for entry in said["couplings"]])
    found = [tf.solve(p, ELEMENT, 8, progress=False) for p in (one, two)]
    assert all(sol.success for sol in found)
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-9)
    np.testing.assert_allclose(found[0].z, found[1].z, rtol=0, atol=1e-7)
    assert two.stated["limits"] == said["limits"]  # texts are reported as they are given


def test_contacts_state_themselves():
    pair = tf.Complementary(lambda now, u: now.q("mass")[0], "u[0]", at="element-end", eps=1e-6, name="stop")
    rub = tf.CoulombFriction("now.rates('mass')[1]", lambda now, u: u[1], lambda now, u: 0.5 * u[0])
    entries = problem("sumsqr(u)", None, [pair, rub], []).stated["limits"]
    assert entries[0] == {"type": "complementary", "a": "now.z[0]", "b": "u[0]", "eps": 1e-6, "first": 1.0,
                          "name": "stop", "at": "element-end", "march": False}
    assert entries[1]["velocity"] == "now.rates('mass')[1]" and entries[1]["bound"] == "(0.5 * u[0])"


def test_solutions_are_saved_with_what_was_asked(tmp_path):
    sol = tf.solve(by_functions(), ELEMENT, 4, progress=False)
    sol.save(tmp_path / "a.h5")
    assert tf.load(tmp_path / "a.h5").statistics["stated"] == sol.statistics["stated"]


def test_texts_are_written_when_they_are_asked_for():
    asked = by_functions()
    sol = tf.solve(asked, ELEMENT, 4, progress=False)
    assert "stated" not in vars(asked)
    copied = pickle.loads(pickle.dumps(sol.statistics["stated"]))
    assert type(copied) is dict and copied == sol.statistics["stated"] and copied == asked.stated


def test_efforts_and_formulas_that_cannot_be_written():
    whole, mass, push, _ = system()
    effort = tf.OptimalControl(whole, {mass: tf.Pose()}, {}, (0, 1), tf.Effort(push, [2.0, 3.0]))
    again = tf.OptimalControl(whole, {mass: tf.Pose()}, {}, (0, 1), effort.stated["cost"], actuators=push)
    u = np.array([3.0, 4.0])
    values = []
    for p in (effort, again):
        x = ca.SX.sym("u", 2)
        part, s = p.system.parts[-1], type("S", (), {"own": ca.DM([2.0, 3.0]), "q": [], "velocity": [], "t": 0.0})()
        values.append(float(ca.Function("f", [x], [ca.SX(part.cost(s, x))])(u)))
    assert values == [33.0, 33.0]
    odd = tf.Limit(lambda now, u: ca.erfinv(u[0]), upper=1)
    said = tf.OptimalControl(whole, {mass: tf.Pose()}, {}, (0, 1), tf.Effort(push), limits=odd).stated
    assert said["limits"][0]["formula"] is None


def test_links_of_phases():
    whole, mass, push, _ = system()

    def phase(start):
        return tf.OptimalControl(whole, {mass: start}, {}, (0, 1), tf.Effort(push))

    link = tf.Coupling(lambda before, after: after.q("mass") + before.q("mass"), name="mirrored")
    phases = tf.Phases([phase(tf.Pose()), phase(tf.EndState())], [link])
    entry, = phases.stated["links"][0]
    assert entry["formula"] == "[(after.z[0] + before.z[0]), (after.z[1] + before.z[1])]"
    assert len(phases.stated["phases"]) == 2 and phases.stated["couplings"] == []
    entry, = coupled(*phases.phases, [tf.Coupling("after.t - before.t")], ("before", "after"), (1, 0))
    assert entry["formula"] == "after.t - before.t"


def test_a_solution_as_json(tmp_path):
    """What is stated is found out when it is looked at, which a file of JSON could not hold."""
    ball = tf.PointMass(1.0, name="ball")
    end = {ball: tf.EndState((1, 0, 0), velocity=(0, 0, 0))}
    problem = tf.OptimalControl(tf.System([ball]), {ball: tf.Pose()}, end,
                                (0, 1), tf.Effort(tf.ControlForce(ball, name="u")))
    sol = tf.solve(problem, tf.MixedGalerkin(1), 10, progress=False)
    sol.save(tmp_path / "ball.json")
    found = json.loads((tmp_path / "ball.json").read_text())["statistics"]["stated"]
    assert found == json.loads(json.dumps(dict(sol.statistics["stated"])))
