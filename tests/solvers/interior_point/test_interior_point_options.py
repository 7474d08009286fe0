"""Thresholds of the interior-point method: all are read, can be changed, and are refused where they are no numbers."""

import ast
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.solvers import interior_point

FOLDER = Path(interior_point.__file__).parent


def thrust(options):
    """A mass from rest to rest in 1 s, with a bounded force."""
    mass = tf.PointMass(1.0, name="mass")
    push = tf.ControlForce(mass, directions=[(1, 0, 0)])
    problem = tf.OptimalControl(tf.System([mass]), {mass: tf.Pose()}, {mass: tf.Pose((1, 0, 0))}, (0, 1),
                                [tf.Effort(push)], bounds={push: (-5.5, 5.5)})
    return tf.solve(problem, tf.MixedGalerkin(1), 8, method=tf.InteriorPoint(options=options), progress=False)


def test_each_has_a_meaning_and_is_read():
    read = {node.attr for path in FOLDER.glob("*.py") if path.name != "options.py"
            for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    own = fields(tf.InteriorPointOptions)
    assert [f.name for f in own if f.name not in read or len(f.metadata["meaning"]) < 8] == []
    assert all(f"{f.name} : {f.type}, default {f.default:g}" in tf.InteriorPointOptions.__doc__ for f in own)


def test_they_change_the_way_and_not_the_answer():
    as_it_is, other = thrust({}), thrust(tf.InteriorPointOptions(mu_start=10.0, slowest_fall=0.5))
    assert as_it_is.success and other.success
    assert other.status.message == as_it_is.status.message
    np.testing.assert_allclose(other.z, as_it_is.z, rtol=0, atol=1e-7)
    limited = thrust({"acceptable": 1.0, "accepted_after": 1})
    assert "converged to 1 only" in limited.status.message


@pytest.mark.parametrize("options, error, words", [
    ({"mu_strat": 1.0}, TypeError, "did you mean 'mu_start'"), ({"mu_start": "much"}, tf.InputError, "mu_start"),
    ({"accepted_after": 2.5}, tf.InputError, "accepted_after"), ({"mu_start": np.nan}, tf.InputError, "mu_start"),
    (3.0, tf.InputError, "InteriorPointOptions or a dict")])
def test_what_is_no_option(options, error, words):
    with pytest.raises(error, match=words):
        tf.InteriorPoint(options=options)
