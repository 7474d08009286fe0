"""Motions that pass positions where the controls do not move the outputs."""

import warnings

import pytest

import timefem as tf

pytestmark = pytest.mark.long


def pulled_by_a_spring(aside):
    """A load that a spring pulls along x, and whose other end is moved aside: in the end the spring is across."""
    hand, load = tf.PointMass(1.0, name="hand"), tf.PointMass(0.6, name="load")
    parts = [hand, load, tf.ControlForce(hand), tf.Spring(hand, load, stiffness=80, length=0.5),
             tf.Damper(hand, load, damping=0.5)]
    path = {tf.PositionOutput(load, "x"): tf.Transfer(0.2, 1.2, 0.5, 1.2, 6),
            tf.PositionOutput(hand, "y"): tf.Transfer(0.2, 1.2, 0, aside, 6), tf.PositionOutput(hand, "z"): 0.0}
    return tf.InverseDynamics(tf.System(parts), path, {hand: tf.Pose(), load: tf.Pose((0.5, 0, 0))},
                              {hand: tf.Pose((0.7, aside, 0)), load: tf.Pose((1.2, aside, 0))}, (0, 1.5))


def test_singular_positions_are_told_of():
    """The controls at the end were 3e5 N, and 2e8 N on a finer mesh, silently."""
    with pytest.warns(tf.UnderResolved, match="passes a singular position near t = 1.4"):
        tf.solve(pulled_by_a_spring(0.5), tf.MixedGalerkin(3), 40, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.solve(pulled_by_a_spring(0.05), tf.MixedGalerkin(3), 40, progress=False).success
