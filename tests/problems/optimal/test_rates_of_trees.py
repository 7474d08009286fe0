"""Limits of joint rates of trees in the energy form: velocities of the nodes, not the inverse of the mass matrix."""

import numpy as np
import pytest

import timefem as tf
from timefem.problems.optimal.transcription.limit_rows import LimitRows

pytestmark = pytest.mark.long


def arm():
    """Three links that go from one posture to another at limited joint rates."""
    links = [tf.Link("base"), *(tf.Link(f"link {i}", 1.0, (0, 0, -0.25), (0.02, 0.02, 0.005)) for i in range(3))]
    joints = [tf.TreeJoint(f"joint {i}", links[i].name, links[i + 1].name, "revolute", axis=axis,
                           position=(0, 0, -0.5 * (i > 0))) for i, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0)))]
    tree = tf.Tree(links, joints, name="arm")
    motors = tf.GeneralizedControl(tree, np.eye(3), name="motors")
    end = {name: tf.EndState(q=[q], v=[0.0]) for name, q in zip(tree.joint_names, (-0.5, 0.6, 0.4), strict=True)}
    start = dict(zip(tree.joint_names, (0.5, 0.3, -0.4), strict=True))
    return tf.OptimalControl(tf.System([tree, motors], gravity=(0, 0, -9.81)), {tree: start}, {tree: end}, (0, 1.0),
                             tf.Effort(motors), bounds={motors: (-60, 60)},
                             limits=[tf.Limit("now.rates('arm')", -1.3, 1.3, name="speeds")])


def test_rates_by_velocities_of_nodes_and_by_momenta_agree(monkeypatch):
    element, sols = tf.MixedGalerkin(2, form="energy"), []
    for by_velocities in (True, False):
        monkeypatch.setattr(LimitRows, "_has_velocities", by_velocities)
        sols.append(tf.solve(arm(), element, 12, progress=False))
    assert all(sol.success for sol in sols)
    assert sols[0].objective == pytest.approx(sols[1].objective, rel=1e-8)
    rates = [np.abs(sol.rates(sol.t)).max() for sol in sols]
    assert rates == pytest.approx([1.3, 1.3], abs=1e-6)
