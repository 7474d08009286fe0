"""Options of `solve` as objects, their shorthands, and the earlier keywords."""

import dataclasses

import numpy as np
import pytest

import timefem as tf
from tests.example_systems import spinning_box
from timefem.problems.kinds import KINDS, kind_of

pytestmark = pytest.mark.long

ELEMENT, N = tf.MixedGalerkin(1), 12


def solved(**options):
    return tf.solve(spinning_box(), ELEMENT, N, progress=False, **options)


@pytest.mark.parametrize("new, shorthand, earlier", [
    ({"driver": tf.March(scaling="weights")}, {"driver": "march", "scaling": "weights"}, {"scaling": "weights"}),
    ({"driver": tf.Windows(5, linear=tf.SuperLU())}, {"driver": tf.Windows(5, "superlu")},
     {"driver": "windows", "window": 5, "backend": "superlu"}),
    ({"driver": tf.Global(tf.TimeChain(), scaling="reference")}, {"driver": tf.Global(scaling="reference")},
     {"driver": "global", "backend": "chain", "scaling": "reference"}),
    ({"driver": tf.Global(), "guess": "constant"}, {"driver": "global", "guess": "constant"},
     {"driver": "global", "backend": "chain", "guess": "constant"}),
], ids=lambda options: options.get("driver", "none") if isinstance(options.get("driver", ""), str) else "")
def test_objects_shorthands_and_earlier_keywords_are_one(new, shorthand, earlier):
    z = solved(**new).z
    assert np.array_equal(z, solved(**shorthand).z) and np.array_equal(z, solved(**earlier).z)


def test_statistics_name_what_was_chosen():
    statistics = solved(driver=tf.Windows(4, linear="superlu")).statistics
    assert (statistics["driver"], statistics["backend"]) == ("windows", "superlu")
    assert solved().statistics["backend"] is None


def test_checkpoints(tmp_path):
    path = tmp_path / "a.h5"
    first = solved(driver=tf.Windows(4), checkpoint=tf.Checkpoint(path, every=1))
    again = solved(driver=tf.Windows(4), checkpoint=tf.Checkpoint(restart=path))
    assert np.array_equal(first.z, again.z)
    other = tf.restart(path, checkpoint=tf.Checkpoint(tmp_path / "b.h5", every="5it"), linear="superlu")
    np.testing.assert_allclose(other.z, first.z, rtol=0, atol=1e-9)
    earlier = solved(driver="windows", window=4, checkpoint=tmp_path / "c.h5", checkpoint_every="5it", restart=path)
    assert np.array_equal(first.z, earlier.z)


@pytest.mark.parametrize("options, error, message", [
    ({"driver": tf.March(), "window": 3}, tf.InputError, "window is given, but driver='march' does not use it"),
    ({"driver": tf.Windows(3), "window": 4}, tf.InputError, r"give it there: tf.Windows\(window=...\)"),
    ({"driver": tf.Global(), "backend": "superlu"}, tf.InputError, r"give it there: tf.Global\(linear=...\)"),
    ({"driver": tf.Global}, tf.InputError, r"driver must be tf.March\(\), tf.Windows\(\)"),
    ({"driver": tf.Global(), "method": "chain"}, tf.InputError, r"give it there: tf.PETSc\(method=...\)"),
    ({"driver": "global", "gather": True}, tf.InputError, "distributed"),
    ({"checkpoint_every": "5it"}, tf.InputError, "without checkpoint"),
    ({"guess": "constant"}, tf.InputError, "driver='march' does not use it"),
    ({"drivr": "march"}, TypeError, "unexpected keyword argument 'drivr'"),
    ({"newton": 3}, tf.InputError, "newton must be a Newton"),
])
def test_what_cannot_be(options, error, message):
    with pytest.raises(error, match=message):
        solved(**options)


@pytest.mark.parametrize("make, message", [
    (lambda: tf.Windows(0), "window must be at least 1"), (lambda: tf.Windows("some"), "window"),
    (lambda: tf.March(scaling="some"), "scaling must be one of"),
    (lambda: tf.Global("lapack"), "backend must be one of"),
    (lambda: tf.Checkpoint(), "needs a path"), (lambda: tf.Checkpoint("a", every="1h"), "60s"),
    (lambda: tf.MixedGalerkin(13), "degree must be at most 12"), (lambda: tf.Newton(line_search=1), "line_search"),
])
def test_options_are_checked_where_they_are_made(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


def test_options_are_values():
    assert tf.Windows(4) == tf.Windows(window=4) != tf.Windows(5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        tf.March().scaling = "none"


def test_the_table_of_kinds():
    assert set(KINDS) == {"initial", "boundary", "inverse", "optimal", "phases", "estimation"}
    assert kind_of(spinning_box()).name == "initial"
    with pytest.raises(tf.InputError, match="OptimalControl, Phases or Estimation, not 3"):
        kind_of(3)
    assert KINDS["initial"].default_driver(ELEMENT) is tf.March
    assert KINDS["initial"].default_driver(tf.BubnovGalerkin(1)) is tf.Global
