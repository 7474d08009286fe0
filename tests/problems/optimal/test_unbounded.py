"""Costs without a least value, and bounds by the names of actuators."""

import re

import pytest

import timefem as tf

pytestmark = pytest.mark.long

ELEMENT = tf.MixedGalerkin(2)


def slider(cost=None, end=1.0, **options):
    body = tf.PointMass(1.0, dimension=1, name="slider")
    push = tf.ControlForce(body, [(1, 0, 0)], name="push")
    target = {} if end is None else {body: tf.EndState(position=[end, None, None], velocity=[0, None, None])}
    options = {key: value(push) if callable(value) else value for key, value in options.items()}
    return tf.OptimalControl(tf.System([body]), {body: tf.Pose()}, target, (0, 1), cost or tf.Effort(push),
                             actuators=push, **options)


@pytest.mark.parametrize("method", ["interior-point", "ipopt"])
def test_a_cost_without_a_least_value_with_limits(method):
    speed = tf.Limit("now.velocity('slider')[0]", -5, None)
    solution = tf.solve(slider("now.control('push') - 3 * now.q('slider')[0]", None, limits=speed), ELEMENT, 10,
                        method=method)
    assert not solution.success and solution.status.reason == "unbounded"
    assert "bounds of controls" in solution.status.message


def test_a_cost_without_a_least_value_without_limits():
    solution = tf.solve(slider("-now.control('push')**2"), ELEMENT, 10)
    assert solution.status.reason == "unbounded" and solution.statistics["newton_iterations"]["max"] < 200


def test_bounds_and_rates_by_names_of_actuators():
    by_name = slider(bounds={"push": (-5, 5)}, rates={"push": (-30, 30)})
    by_part = slider(bounds=lambda push: {push: (-5, 5)}, rates=lambda push: {push: (-30, 30)})
    found, same = (tf.solve(problem, ELEMENT, 20) for problem in (by_name, by_part))
    assert found.success and abs(found.objective - same.objective) < 1e-9
    assert re.search(rf"objective +{found.objective:.9g}", str(found.summary()))
    solver = tf.prepare(by_part, ELEMENT, 20)
    narrow = solver.solve(bounds={"push": (-4.5, 4.5)})
    assert narrow.objective > found.objective + 1e-4
    assert abs(tf.prepare(by_name, ELEMENT, 20).solve(bounds={"push": (-4.5, 4.5)}).objective - narrow.objective) < 1e-7
    with pytest.raises(tf.InputError, match=r"rates: 'pusch' is neither an actuator .*did you mean 'push'"):
        slider(rates={"pusch": (-1, 1)})


def test_a_method_that_there_is_not():
    with pytest.raises(tf.InputError, match="method='ipotp' is not a method for inequalities; take 'interior-point'"):
        tf.solve(slider(), ELEMENT, 10, method="ipotp")
