"""Time that is free to be found, in all forms of the equations of motion: the least time of a slew is known."""

import numpy as np
import pytest

import timefem as tf


@pytest.mark.parametrize("form", ["lagrange", "energy"])
def test_least_time_of_a_slew(form):
    """A wheel of 2 kg m^2 turns by 1 rad from rest to rest with 4 N m at most, in sqrt(2) s."""
    wheel = tf.Tree([tf.Link("base"), tf.Link("wheel", mass=1, inertia=(1, 1, 2))],
                    [tf.TreeJoint("axle", "base", "wheel")])
    motor = tf.GeneralizedControl(wheel, [[1.0]])
    problem = tf.OptimalControl(tf.System([wheel]), {wheel: tf.Coordinates([0.0])}, {wheel: tf.Coordinates([1.0])},
                                (0, 2), actuators=motor, free_time=True,
                                end_cost=lambda end, parameters: parameters["duration"],
                                bounds={motor: (-4, 4), "duration": (0.1, 10)})
    sol = tf.solve(problem, tf.MixedGalerkin(2, form=form), 20, progress=False)
    assert sol.success and sol.parameters["duration"] == pytest.approx(np.sqrt(2), abs=1e-6)
