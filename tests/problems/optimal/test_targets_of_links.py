"""Ends asked of links and joints of trees: tools in places, and satellites that turn themselves by their arms."""

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2, form="lagrange")


def _arm(n=3):
    links = [tf.Link("base"), *(tf.Link(f"link{i}", 2.0 - 0.4 * i, (0.2, 0, 0), (0.01, 0.03, 0.03)) for i in range(n))]
    joints = [tf.TreeJoint(f"joint{i}", links[i].name, links[i + 1].name, position=(0.4 * (i > 0), 0, 0),
                           axis=(0, 1, 0) if i else (0, 0, 1)) for i in range(n)]
    return tf.Tree(links, joints, name="arm")


def test_tool_at_a_place():
    """The place of the tool is reached with the velocity asked for; what the end leaves out is free."""
    arm = _arm()
    tool, motors = arm.link("link2", (0.4, 0, 0)), tf.GeneralizedControl(arm, np.eye(3), name="motors")
    place = np.array([0.5, 0.4, -0.3])
    problem = tf.OptimalControl(tf.System([arm, motors]), {arm: {"joint1": 0.3, "joint2": 0.5}},
                                {tool: tf.EndState(position=place, velocity=(0, None, 0.2)), "arm.joint0":
                                 tf.EndState(v=[0.1])}, (0, 1), cost=tf.Effort(motors))
    assert problem.conditions.names[:3] == ["position of arm.link2"] * 3 and len(problem.conditions.names) == 6
    sol = tf.solve(problem, ELEMENT, 10, progress=False)
    np.testing.assert_allclose(sol.position(tool, 1.0), place, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.velocity(tool, 1.0)[[0, 2]], (0, 0.2), rtol=0, atol=1e-8)
    assert abs(sol.joint("joint0").rate(1.0) - 0.1) < 1e-9


def test_satellite_turns_by_its_arm():
    """Angular momentum stays zero, and the hull stands turned with the arm where it was."""
    links = [tf.Link("hull", 20, inertia=(2, 2, 2)), *(tf.Link(n, 3, (0.5, 0, 0), (0.01, 0.3, 0.3)) for n in "ab")]
    joints = [tf.TreeJoint("first", "hull", "a", position=(0.5, 0, 0)),
              tf.TreeJoint("second", "a", "b", position=(1, 0, 0))]
    ship = tf.Tree(links, joints, base="free", name="ship")
    motors = [tf.JointControl(ship.joint(name), name=f"motor {name}") for name in ("first", "second")]
    turned = tf.EndState(orientation=[np.cos(0.1), 0, 0, np.sin(0.1)])
    problem = tf.OptimalControl(tf.System([ship, *motors]), {ship: {"base": tf.Pose()}},
                                {ship: {"base": turned, "first": 0.0, "second": 0.0}}, (0, 5),
                                cost=[tf.Effort(motor) for motor in motors])
    sol = tf.solve(problem, ELEMENT, 20, progress=False)
    assert sol.success
    turn = sol.rotation_matrix("ship.hull", 5.0)
    assert abs(np.arctan2(turn[1, 0], turn[0, 0]) - 0.2) < 1e-9
    assert max(abs(sol.joint(name).angle(5.0)) for name in ("first", "second")) < 1e-9
    assert np.abs(sol.angular_momentum()).max() < 1e-10 and np.abs(sol.joint("first").angle()).max() > 0.1


def test_boundary_values_of_links():
    """Of a pendulum of three links that starts from given angles, by the place of its tool at a time."""
    arm = _arm()
    tool, system, start = arm.link("link2", (0.4, 0, 0)), tf.System([arm], gravity=(0, 0, -2)), np.array([0, 0.3, 0.5])
    place = np.array([0.7, 0.5, -0.6])
    problem = tf.BoundaryValueProblem(system, (0, 0.5), start={arm: tf.Coordinates(start)},
                                      end={tool: tf.EndState(position=place)})
    sol = tf.solve(problem, ELEMENT, 20, progress=False)
    assert sol.success and np.abs(sol.z[0, :3] - start).max() < 1e-10
    found = tf.InitialValueProblem(system, {arm: tf.CanonicalState(*np.split(sol.z[0], 2))}, (0, 0.5))
    march = tf.solve(found, ELEMENT, 20, progress=False)
    np.testing.assert_allclose(march.position(tool, 0.5), place, rtol=0, atol=1e-9)


def test_welds_stay_closed_as_they_are():
    """The state at the end follows from the start without opening a weld, which could close in other ways."""
    arm, load = _arm(2), tf.RigidBody(2.0, (0.01, 0.01, 0.01), name="load")
    weld = tf.Weld(load, arm.link("link1"), point_a=(0, 0, -0.1), point_b=(0.4, 0, 0), name="grip")
    motors = tf.GeneralizedControl(arm, np.eye(2), name="motors")
    system = tf.System([arm, load, weld, motors], gravity=(0, 0, -9.81))
    problem = tf.OptimalControl(system, system.state({"joint0": 0.0, "joint1": -1.2}),
                                {arm: {"joint0": 1.2, "joint1": -0.8}}, (0, 1), cost=tf.Effort(motors),
                                bounds={motors: (-150, 150)})
    last = problem.conditions.state[:system.n_q]
    turns = [body.rotation_matrix(last[system.coordinates(body)]) for body in (load, arm.link("link1"))]
    np.testing.assert_allclose(*turns, rtol=0, atol=1e-9)
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, progress=False)
    assert sol.success and sol.statistics["newton_iterations"]["max"] < 60


def test_wrong_targets():
    arm = _arm()
    for end, message in (({arm.link("link2"): tf.EndState(q=[0.0])}, "has no q; give position"),
                         ({arm: {"joint1": tf.EndState(position=(0, 0, 0))}}, "has no position; give q and v"),
                         ({arm: {"joint1": tf.EndState(q=[0, 1])}}, "q must have length 1"),
                         ({arm: {"elbow": tf.EndState(q=[0])}}, "must be one of 'joint0'")):
        with pytest.raises(tf.InputError, match=message):
            tf.OptimalControl(tf.System([arm]), {arm: {}}, end, (0, 1), cost=tf.Effort(tf.GeneralizedControl(
                arm, np.eye(3))))
