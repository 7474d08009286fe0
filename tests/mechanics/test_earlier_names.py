"""Earlier names of arguments still work, in code and in files, and are told in one line."""

import numpy as np
import pytest

import timefem as tf
from timefem.models import load_model

MODEL = """
time = {span = [0, 1], n_elements = 10}
[bodies.bead]
type = "point"
mass = 1
position = [0, 0, 2]
[forces.spring]
type = "spring"
bodies = ["bead"]
stiffness = 4
%s = 1.5
"""


def test_in_code():
    bodies = [tf.RigidBody(1.0, (1, 1, 1), name=n) for n in "pq"]
    points = {"point_a": (0, 0, 0), "point_b": (0, 0, 0)}
    with pytest.warns(FutureWarning, match=r"Spherical: a is now called body_a"):
        ball = tf.Spherical(a=bodies[0], b=bodies[1], **points)
    assert ball.body_a is bodies[0] and ball.body_b is bodies[1]
    with pytest.warns(FutureWarning, match=r"Spring: rest_length is now called length"):
        spring = tf.Spring(*bodies, point_a=(1, 0, 0), stiffness=2, rest_length=0.5)
    assert spring.length == 0.5
    with pytest.warns(FutureWarning, match="rest_length is now called length"):
        assert spring.rest_length == 0.5
    system = tf.System([*bodies, spring])
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 1)), tf.MixedGalerkin(1), 10, progress=False)
    end = tf.EndValue(lambda f, t: f[0].position[0], "p")
    with pytest.warns(FutureWarning):
        old = tf.gradient(sol, end, [tf.Parameter(spring, "rest_length")])
    np.testing.assert_array_equal(old, tf.gradient(sol, end, [tf.Parameter(spring, "length")]))
    with pytest.raises(TypeError, match="did you mean 'length'"):
        tf.Spring(*bodies, stiffness=2, lenght=1)


def test_in_files(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(MODEL % "length")
    new = load_model(path).problem.system["spring"]
    path.write_text(MODEL % "rest_length")
    with pytest.warns(FutureWarning, match="rest_length is now called length"):
        old = load_model(path).problem.system["spring"]
    assert old.length == new.length == 1.5
