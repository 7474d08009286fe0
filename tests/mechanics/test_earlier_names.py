"""Earlier names of arguments still work, in code and in files, and are told in one line."""

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.other_numbers import with_other_numbers
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


def test_every_earlier_name():
    """One word for one thing: rest, orientation, plane_point, friction, friction_width, damping."""
    wheel = tf.RigidBody(1.0, (1, 1, 1), name="wheel")
    hinge = tf.Revolute(wheel, axis_a=(0, 1, 0), axis_b=(0, 1, 0), point_a=(0, 0, 0), point_b=(0, 0, 0))
    turned = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    made = [(tf.JointFriction, (hinge,), {"coulomb": 2.0, "width": 0.1, "viscous": 0.3},
             {"friction": 2.0, "friction_width": 0.1, "damping": 0.3}),
            (tf.TorsionalSpring, (wheel,), {"rest_angle": 0.2, "reference": turned, "stiffness": 1.0},
             {"rest": 0.2, "orientation": turned, "stiffness": 1.0}),
            (tf.RotationalSpring, (wheel,), {"reference": turned, "stiffness": 1.0},
             {"orientation": turned, "stiffness": 1.0}),
            (tf.RollingSphere, (wheel,), {"point": (0, 0, 1), "radius": 1.0},
             {"plane_point": (0, 0, 1), "radius": 1.0}),
            (tf.RollingDisc, (wheel,), {"point": (0, 0, 1), "radius": 1.0},
             {"plane_point": (0, 0, 1), "radius": 1.0})]
    for cls, bodies, old, new in made:
        with pytest.warns(FutureWarning) as told:
            part = cls(*bodies, **old)
        assert len(told) == len(set(old) - set(new))
        np.testing.assert_array_equal(part.own_parameters, cls(*bodies, **new).own_parameters)
        for earlier, name in zip(old, new, strict=True):
            if earlier != name:
                with pytest.warns(FutureWarning, match=f"{cls.__name__}: {earlier} is now called {name}"):
                    np.testing.assert_array_equal(getattr(part, earlier), getattr(part, name))


def test_numbers_of_a_system():
    wheel = tf.RigidBody(1.0, (1, 1, 1), name="wheel")
    system = tf.System([wheel, tf.Spring(wheel, stiffness=1.0, length=0.2, name="coil")])
    with pytest.warns(FutureWarning, match="rest_length is now called length"):
        other = with_other_numbers(system, {"coil.rest_length": 0.3})
    assert other["coil"].length == 0.3
