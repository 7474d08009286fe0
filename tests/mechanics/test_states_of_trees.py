"""States and targets of trees by their joints, and of bodies relative to their links."""

import numpy as np
import pytest

import timefem as tf

DOWN, ELEMENT = (0, 0, -9.81), tf.MixedGalerkin(2, form="lagrange")


@pytest.fixture
def arm():
    links = [tf.Link("base"), tf.Link("upper", 3.0, (0, 0, 0.2), (0.05, 0.05, 0.01)),
             tf.Link("fore", 1.5, (0, 0, 0.15), (0.02, 0.02, 0.004))]
    joints = [tf.TreeJoint("shoulder", "base", "upper", axis=(0, 1, 0)),
              tf.TreeJoint("elbow", "upper", "fore", position=(0, 0, 0.4), axis=(0, 1, 0))]
    return tf.Tree(links, joints, name="arm")


def test_bodies_stand_relative_to_links(arm):
    """Also while the links move: a body welded to a link begins with its velocity."""
    hand = tf.RigidBody(0.5, (0.01, 0.02, 0.03), name="hand")
    weld = tf.Weld(hand, arm.link("fore"), point_a=(0, 0, 0), point_b=(0, 0, 0.3))
    start = {arm: {"shoulder": (0.3, 1.0), "elbow": (-0.7, 2.0)},
             hand: tf.Pose((0, 0, 0.3), relative_to=arm.link("fore"))}
    problem = tf.InitialValueProblem(tf.System([arm, hand, weld], gravity=DOWN), start, (0, 0.1))
    system, z = problem.system, problem.z0[None]
    link = arm.link("fore", (0, 0, 0.3))
    for what in ("position", "velocity"):
        found, expected = (getattr(b, what)(*system.local_state(b, z)[:1 + (what == "velocity")]) for b in (hand, link))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    assert np.linalg.norm(hand.velocity(*system.local_state(hand, z))) > 1


@pytest.mark.parametrize("kind", ["optimal", "boundary"])
def test_targets_by_joints(arm, kind):
    start, end = {"shoulder": -0.2, "elbow": 0.5}, {"shoulder": 0.3, "elbow": 0.2}
    if kind == "optimal":
        motors = tf.GeneralizedControl(arm, np.eye(2), name="motors")
        system = tf.System([arm, motors], gravity=DOWN)
        problem = tf.OptimalControl(system, {arm: start}, {arm: end}, (0, 1), cost=tf.Effort(motors))
    else:
        problem = tf.BoundaryValueProblem(tf.System([arm]), (0, 0.5), start={arm: start}, end={arm: end})
    sol = tf.solve(problem, ELEMENT, 10, progress=False)
    assert sol.success
    for name in start:
        motion = sol.joint(name)
        np.testing.assert_allclose(motion.angle(sol.t[[0, -1]]), [start[name], end[name]], rtol=0, atol=1e-9)
    with pytest.raises(tf.InputError, match="elbo"):
        tf.BoundaryValueProblem(tf.System([arm]), (0, 1), start={arm: start}, end={arm: {"elbo": 0.1}})


def _crank(coordinates):
    names = ("crank", "rod", "piston")
    crank, rod, piston = (tf.RigidBody(m, (0.001, i, i), name=n) for m, i, n in zip((1, 1.5, 0.8), (0.01, 0.05, 0.001),
                                                                                    names, strict=True))
    z = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    joints = [tf.Revolute(crank, point_a=(-0.1, 0, 0), point_b=(0, 0, 0), **z, name="main"),
              tf.Revolute(rod, crank, point_a=(-0.3, 0, 0), point_b=(0.1, 0, 0), **z, name="big"),
              tf.Revolute(piston, rod, point_a=(0, 0, 0), point_b=(0.3, 0, 0), **z, name="small"),
              tf.Prismatic(piston, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_b=(1, 0, 0), name="slide")]
    return tf.System([crank, rod, piston, *joints], redundant="drop", coordinates=coordinates)


def test_loops_are_completed_around_what_is_given():
    """Angle and rate of the crank stay, and the joints of the tree close the loop as bodies do."""
    system = _crank("joint")
    problem = tf.InitialValueProblem(system, {"main": (0.4, 2.0)}, (0, 1))
    tree = problem.system.bodies[0]
    q, p = problem.z0[:3], problem.z0[3:]
    states = {name: tree.joint_states(q, p)[name] for name in ("main", "big")}
    np.testing.assert_allclose(states["main"], (0.4, 2.0), rtol=0, atol=1e-11)
    sine = np.sin(0.4) / 3
    slope = -2 * np.cos(0.4) / 3 / np.sqrt(1 - sine**2)
    np.testing.assert_allclose(states["big"], (-np.arcsin(sine) - 0.4, slope - 2), rtol=0, atol=1e-11)
    with pytest.raises(tf.InputError, match="cannot be assembled"):
        tf.InitialValueProblem(system, {"main": 0.4, "big": 0.1}, (0, 1))
    alone = tf.InitialValueProblem(tf.System([tree]), tf.Coordinates([0.4, 0, 0]), (0, 1))  # of the only body
    assert alone.z0[0] == 0.4
    moved = tf.InitialValueProblem(system, {"main": 0.4, "big": -0.5}, (0, 1), assemble=True)
    assert np.abs(moved.system.constraints(0, moved.z0)).max() < 1e-11 and 1e-3 < abs(moved.z0[0] - 0.4) < 0.05


@pytest.mark.parametrize("crank", np.linspace(-3, 3, 13))
def test_closing_a_loop_does_not_turn_joints_round(crank):
    """Springs on joints count turns: angles that close a loop are those within half a turn."""
    links = [tf.Link("base"), *(tf.Link(n, 1.0, (c, 0, 0), (0.001, 0.02, 0.02))
                                for n, c in (("a", 0.1), ("b", 0.3), ("c", 0.25)))]
    joints = [tf.TreeJoint("ja", "base", "a"), tf.TreeJoint("jb", "a", "b", position=(0.2, 0, 0)),
              tf.TreeJoint("jc", "base", "c", position=(0.6, 0, 0))]
    bars = tf.Tree(links, joints, name="bars")
    axes = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    loop = tf.Revolute(bars.link("b"), bars.link("c"), point_a=(0.6, 0, 0), point_b=(0.5, 0, 0), **axes)
    system = tf.System([bars, loop], redundant="drop")
    crank = crank or 0.05  # at zero the bars lie over each other, where the loop has no direction
    q = system.state({"ja": crank})[bars].q
    assert q[0] == pytest.approx(crank, abs=1e-12) and np.abs(q).max() < np.pi
    with pytest.raises(tf.InputError, match="cannot be kept alone"):
        tf.assemble(system, {"ja": crank}, fix=[bars.joint("ja")])
