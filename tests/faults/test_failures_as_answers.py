"""What failed warns wherever a number of it is read, and is refused as a start."""

import warnings

import pytest

import timefem as tf


def refused(start):
    with pytest.raises(tf.InputError, match="failed"):
        start()
    return "refused"


def warned(read):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read()
    return [w.category.__name__ for w in found]


def test_an_equilibrium(fault):
    free = tf.PointMass(1.0, name="free")
    rest = tf.equilibrium(tf.System([free], gravity=(0, 0, -1)), {})
    assert not rest.success
    fault("place of a failed equilibrium", ["NotSolved"], warned(lambda: rest.q))
    fault("its coordinates", ["NotSolved"], warned(lambda: rest.position(free)))
    fault("a motion from it", "refused", refused(lambda: tf.InitialValueProblem(rest.system, rest.state, (0, 1))))


def test_a_slack_rope_is_found(fault):
    """It "hung" where the guess had it."""
    rope = tf.Rope(tf.Line((0, 0, 0), (2, 0, 0)), tf.RopeSection(500.0, 0.2), 8, 1, slack=True, name="rope")
    hold = [tf.PrescribedPosition(node, position=(x, 0, 0)) for node, x in ((rope.start, 0), (rope.end, 1.6))]
    guess = {n: tf.Pose((1.6 * s, 0, -0.3 * s * (1 - s))) for n, s in zip(rope.nodes, rope.places)}
    rest = tf.equilibrium(tf.System([rope, *hold], gravity=(0, 0, -9.81)), guess=guess)
    assert rest.success
    fault("lowest of a slack rope", -0.5405944192485558, min(rest.position(n)[2] for n in rope.nodes), rtol=1e-9)


def test_a_periodic_motion(fault):
    falls = tf.GeneralizedSystem(1, lambda q, v, c: v[0]**2 / 2, lambda q, c: q[0])
    orbit = tf.periodic(falls, tf.Coordinates([1.0]), 2.1, tf.MixedGalerkin(2), 20)
    assert not orbit.success
    fault("period of what falls", ["NotSolved"], warned(lambda: orbit.period))
    fault("a motion from it", "refused", refused(lambda: orbit.state))


def test_a_path(fault):
    """A load that no equilibrium carries."""
    bar = tf.GeneralizedBody(1, lambda q, v, c: v[0]**2 / 2, name="bar")
    load = tf.FormulaForce(bar, lambda f, t, c: t - f[0].q[0] + f[0].q[0]**2)
    path = tf.equilibrium_path(tf.System([bar, load]), 1.0, {bar: tf.Coordinates([0.0])}, progress=False, max_steps=20)
    assert not path.success and path.t.max() < 0.26
    fault("coordinates of a path that ends before its load", ["NotSolved"], warned(lambda: path.q))
