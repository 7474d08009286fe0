"""Joint rates of trees in limits and at the end: velocities of nodes or momenta, not the inverse of the mass matrix."""

import numpy as np
import pytest

import timefem as tf
from timefem.problems.optimal.transcription.limit_rows import LimitRows

pytestmark = pytest.mark.long


def arm(rates=(0.0, 0.0, 0.0), limits=None):
    """Three links that go from one posture to another, at limited joint rates unless told otherwise."""
    links = [tf.Link("base"), *(tf.Link(f"link {i}", 1.0, (0, 0, -0.25), (0.02, 0.02, 0.005)) for i in range(3))]
    joints = [tf.TreeJoint(f"joint {i}", links[i].name, links[i + 1].name, "revolute", axis=axis,
                           position=(0, 0, -0.5 * (i > 0))) for i, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0)))]
    tree = tf.Tree(links, joints, name="arm")
    motors = tf.GeneralizedControl(tree, np.eye(3), name="motors")
    end = {name: tf.EndState(q=[q], v=None if v is None else [v])
           for name, q, v in zip(tree.joint_names, (-0.5, 0.6, 0.4), rates, strict=True)}
    start = dict(zip(tree.joint_names, (0.5, 0.3, -0.4), strict=True))
    return tf.OptimalControl(tf.System([tree, motors], gravity=(0, 0, -9.81)), {tree: start}, {tree: end}, (0, 1.0),
                             tf.Effort(motors), bounds={motors: (-60, 60)},
                             limits=[tf.Limit("now.rates('arm')", -1.3, 1.3, name="speeds")] if limits is None else [])


def test_rates_by_velocities_of_nodes_and_by_momenta_agree(monkeypatch):
    element, sols = tf.MixedGalerkin(2, form="energy"), []
    for by_velocities in (True, False):
        monkeypatch.setattr(LimitRows, "_has_velocities", by_velocities)
        sols.append(tf.solve(arm(), element, 12, progress=False))
    assert all(sol.success for sol in sols)
    assert sols[0].objective == pytest.approx(sols[1].objective, rel=1e-8)
    rates = [np.abs(sol.rates(sol.t)).max() for sol in sols]
    assert rates == pytest.approx([1.3, 1.3], abs=1e-6)


def test_rates_of_all_joints_at_the_end_are_momenta():
    """As where only some joints are asked for, whose rates take that inverse, and the third is by a condition."""
    wanted, element = (0.7, -0.4, 0.5), tf.MixedGalerkin(2, form="lagrange")
    whole, part = arm(wanted, ()), arm((0.7, -0.4, None), ())
    part = tf.OptimalControl(part.system, part._given["start"], part._given["end"], (0, 1.0), actuators=part.actuators,
                             end_conditions=lambda end, _: end.rates("arm")[2] - 0.5, bounds=part._given["bounds"])
    sols = [tf.solve(problem, element, 12, progress=False) for problem in (whole, part)]
    assert all(sol.success for sol in sols)
    assert sols[0].objective == pytest.approx(sols[1].objective, rel=1e-9)
    for sol in sols:
        np.testing.assert_allclose(sol.rates(1.0), wanted, rtol=0, atol=1e-8)
    sizes = [problem.conditions.formulas.function.n_instructions() for problem in (whole, part)]
    assert sizes[0] < 0.6 * sizes[1]
    assert whole.conditions.names[:4:3] == part.conditions.names[:4:3] == [
        "coordinates of arm.joint 0", "velocities of arm.joint 1"]


def test_rates_of_a_part_of_a_tree_at_the_end():
    """Some free, in any order of joints: as with rates of the tree as a whole."""
    problem = arm((None, 0.3, -0.2), ())
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 12, progress=False)
    assert sol.success
    np.testing.assert_allclose(sol.rates(1.0)[1:], (0.3, -0.2), rtol=0, atol=1e-8)
