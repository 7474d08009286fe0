"""Elements say their orders and refuse wrong arguments by name."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timefem as tf


@pytest.mark.parametrize("make, message", [
    (lambda: tf.MixedGalerkin(0), "degree must be at least 1"),
    (lambda: tf.MixedGalerkin(1.5), "degree"),
    (lambda: tf.MixedGalerkin(1, 0), "n_points must be at least 1"),
    (lambda: tf.MixedGalerkin(3, 2), "singular; at least 3"),
    (lambda: tf.BubnovGalerkin(3, n_points=2), "singular; at least 3"),
    (lambda: tf.MixedGalerkin(1, nodes="chebyshev"), "nodes"),
    (lambda: tf.BubnovGalerkin(0), "degree must be at least 1"),
    (lambda: tf.BubnovGalerkin(1, "none"), "multipliers"),
    (lambda: tf.BubnovGalerkin(1, drop="middle"), "drop"),
    (lambda: tf.BubnovGalerkin(1, "continuous", drop="end"), "discontinuous"),
])
def test_bad_input(make, message):
    with pytest.raises(tf.InputError, match=message):
        make()


def test_value_objects():
    assert tf.MixedGalerkin(2) == tf.MixedGalerkin(2, 4) != tf.MixedGalerkin(2, 3)
    assert hash(tf.BubnovGalerkin(2)) == hash(tf.BubnovGalerkin(2, "discontinuous"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        tf.MixedGalerkin(2).degree = 3


@settings(derandomize=True, max_examples=60, deadline=None)
@given(degree=st.one_of(st.integers(-3, 30), st.floats(), st.none(), st.text(max_size=3)),
       n_points=st.one_of(st.none(), st.integers(-3, 70), st.floats(), st.text(max_size=3)),
       multipliers=st.one_of(st.sampled_from(["continuous", "discontinuous"]), st.text(max_size=3)),
       drop=st.one_of(st.sampled_from(["start", "end"]), st.none()))
def test_either_a_valid_element_or_an_input_error(degree, n_points, multipliers, drop):
    for make in (lambda: tf.MixedGalerkin(degree, n_points),
                 lambda: tf.BubnovGalerkin(degree, multipliers, n_points, drop)):
        try:
            element = make()
        except tf.InputError as error:
            assert "\n" not in str(error)
        else:
            assert element.degree >= 1 and element.n_points >= element.degree


@pytest.mark.parametrize("element, order", [(tf.MixedGalerkin(3), 6), (tf.BubnovGalerkin(1), 2),
                                            (tf.BubnovGalerkin(2), 2), (tf.BubnovGalerkin(3), 4)])
def test_declared_orders(element, order):
    assert element.order == order
