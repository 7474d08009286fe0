"""Tables of systems whose bodies are not rigid bodies."""

import csv

import numpy as np
import pytest

import timefem as tf

pytestmark = pytest.mark.long


def test_point_mass_and_generalized_coordinates(tmp_path):
    ball = tf.PointMass(2.0, name="ball")
    thrown = tf.solve(tf.InitialValueProblem(tf.System([ball], gravity=[0, 0, -9.81]),
                                             {ball: tf.Pose(velocity=[1, 0, 2])}, (0, 1)), tf.MixedGalerkin(1), 4)
    assert set(thrown.to_json()["bodies"]["ball"]) == {"position", "velocity"}
    system = tf.GeneralizedSystem(1, lambda q, v, c: v[0] ** 2 / 2, lambda q, c: 2 * q[0] ** 2, name="oscillator")
    solution = tf.solve(tf.InitialValueProblem(system, tf.Coordinates([1.0]), (0, 1)), tf.MixedGalerkin(4), 10)
    data = solution.to_json()
    body, = data["bodies"].values()
    np.testing.assert_allclose(np.ravel(body["coordinates"]), np.cos(2 * solution.t), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.ravel(body["rates"]), -2 * np.sin(2 * solution.t), rtol=0, atol=1e-9)
    assert "angular_momentum" not in data["system"]
    solution.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        header = next(csv.reader(file))
    assert any(name.endswith(".q1 [SI]") for name in header) and any(name.endswith(".qdot1 [SI]") for name in header)
