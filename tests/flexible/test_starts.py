"""Starts by coordinates of joints of mechanisms with beams in loops: in closed form, beams as they are at rest."""

import numpy as np
import pytest

import timefem as tf

Z, HERE = (0, 0, 1), (0, 0, 0)


def slider_crank(rotation, coordinates, angle, rate):
    """A crank of 0.15 m, a rod of 0.3 m that bends, and a slider on x."""
    crank = tf.RigidBody(0.2, (1e-4, 1e-3, 1e-3), name="crank", rotation=rotation)
    rod = tf.Beam(tf.Line((0.15, 0, 0), (0.45, 0, 0)), tf.Section.circle(E=2e9, nu=0.3, density=7800, radius=0.003), 2,
                  degree=3, name="rod", rotation=rotation, marks=[("end", 1)])
    slider = tf.RigidBody(0.05, (1e-5, 1e-5, 1e-5), name="slider", rotation=rotation)
    axes = {"axis_a": Z, "axis_b": Z}
    drive = tf.Revolute(crank, None, point_a=(-0.075, 0, 0), point_b=HERE, **axes, name="drive")
    joints = [drive, tf.Revolute(rod.start, crank, point_a=HERE, point_b=(0.075, 0, 0), **axes, name="pin"),
              tf.Revolute(rod.end, slider, point_a=HERE, point_b=HERE, **axes, name="wrist"),
              tf.Prismatic(slider, None, point_a=HERE, point_b=HERE, axis_b=(1, 0, 0), name="guide"),
              tf.PrescribedJoint(drive, value=tf.Formula(f"{angle} + {rate} * t"))]
    return tf.System([crank, rod, slider, *joints], coordinates=coordinates, redundant="drop")


@pytest.mark.parametrize("angle", [0.0, 0.7])
@pytest.mark.parametrize("rotation, coordinates", [("quaternion", "bodies"), ("directors", "bodies"),
                                                   ("quaternion", "joint")])
def test_slider_crank_with_a_rod_that_bends(rotation, coordinates, angle):
    """Joints that a beam connects close a loop: they are where it leaves them, and the rod is not strained."""
    system, rate = slider_crank(rotation, coordinates, angle, 20.0), 20.0
    sol = tf.solve(tf.InitialValueProblem(system, system.state({"drive": (angle, rate)}), (0, 0.002)),
                   tf.MixedGalerkin(2, form="energy"), 1, progress=False)
    assert sol.success
    high = 0.15 * np.sin(angle)
    x = 0.15 * np.cos(angle) + np.sqrt(0.3**2 - high**2)
    v = -rate * high * (1 + 0.15 * np.cos(angle) / np.sqrt(0.3**2 - high**2))
    np.testing.assert_allclose(sol.position("end", 0.0), (x, 0, 0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(sol.velocity("slider", 0.0), (v, 0, 0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.angular_velocity("end", 0.0),
                               (0, 0, -rate * 0.15 * np.cos(angle) / np.sqrt(0.3**2 - high**2)), rtol=0, atol=1e-7)
    inside = sol.along("rod", [0.1, 0.5, 0.9], 0.0)
    assert np.abs(inside.force).max() < 1e-5 and np.abs(inside.moment).max() < 1e-9  # EA is 57 kN, EI 0.13 N m^2


def test_joints_that_bend_a_beam():
    """Where both ends are given, the beam cannot stay as it is; it is closed as near to that as it may be."""
    beam = tf.Beam(1.0, tf.Section.circle(E=2e9, nu=0.3, density=1200, radius=0.01), 2, name="beam")
    left, right = (tf.Revolute(end, None, point_a=HERE, point_b=at, axis_a=Z, axis_b=Z, name=name)
                   for end, at, name in ((beam.start, HERE, "left"), (beam.end, (1, 0, 0), "right")))
    system = tf.System([beam, left, right], redundant="drop")
    state = system.state({left: 0.2, right: -0.2})
    rest = tf.equilibrium(tf.System([beam, left, right, tf.PrescribedJoint(left, value=tf.Constant(0.2)),
                                     tf.PrescribedJoint(right, value=tf.Constant(-0.2))], redundant="drop"), state)
    assert rest.success
    assert abs(rest.joint("right").angle() + 0.2) < 1e-12 and abs(rest.joint("left").angle() - 0.2) < 1e-12
