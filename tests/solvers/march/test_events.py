"""Where forces begin and end inside of elements."""

from dataclasses import replace

import numpy as np

import timefem as tf
from timefem.mechanics.values.forces import switching_of
from timefem.solvers.march import events


def test_long_motions_are_looked_at_in_pieces(monkeypatch):
    """Of which each has few states in memory: the elements are those of all at once."""
    ball = tf.PointMass(1.0, name="ball")
    floor = tf.PlaneContact(ball, points=[(0, 0, 0)], stiffness=1e4)
    problem = tf.InitialValueProblem(tf.System([ball, floor], gravity=(0, 0, -9.81)),
                                     {ball: tf.Pose((0, 0, 1.0))}, (0, 5.0))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 2000)
    crossings = events.Crossings(switching_of(problem.system), sol.element)
    given = sol.t[:-1], np.diff(sol.t), sol.nodal.state
    whole = crossings.between(*given)
    assert 5 < whole.sum() < 100
    for at_once in (1, 500):
        monkeypatch.setattr(events, "EVENTS", replace(events.EVENTS, at_once=at_once))
        np.testing.assert_array_equal(crossings.between(*given), whole)
