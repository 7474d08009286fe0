"""Elements say their orders and refuse wrong arguments by name."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timefem as tf
from timefem.elements.extended import Controlled, Optimality


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


# ---- time that is free to be found, in all forms of the equations of motion: the least time of a slew is known

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


@pytest.mark.parametrize("drop", ["start", "end"])
def test_elements_with_costates_drop_constraints_where_theirs_do(drop):
    element = Optimality(Controlled(tf.BubnovGalerkin(2, drop=drop)))
    assert element.drop == drop and Controlled(tf.MixedGalerkin(2)).drop is None
