"""Loops that close far from the poses that were drawn say so, and how far; those that are drawn nearly right do not."""

import warnings

import numpy as np
import pytest

import timefem as tf

Z = (0, 0, 1)
PLACES = (0, 0), (0, 0.5), (1, 0.8), (1.2, 0)


def turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])


def closed(off, coordinates, unit=1.0, shift=0.0):
    """A four-bar linkage, whose last bar is drawn turned by `off`, and all of it shifted."""
    a, b, c, d = (unit * np.array([*place, 0.0]) for place in PLACES)
    bars, poses, halves = [], {}, []
    for i, (p, q) in enumerate(((a, b), (b, c), (d, c))):
        bar, half = tf.RigidBody(1.0, unit**2 * np.array([0.01, 0.1, 0.1]), name=f"bar {i}"), np.linalg.norm(q - p) / 2
        r = turned(np.arctan2(q[1] - p[1], q[0] - p[0]) + (off if i == 2 else 0.0))
        poses[bar] = tf.Pose(p + r @ [half, 0, 0] + unit * shift * np.eye(3)[0], r)
        bars.append(bar)
        halves.append(np.array([half, 0, 0]))
    ends = ("A", 0, -1, None, a), ("B", 1, -1, 0, halves[0]), ("D", 2, -1, None, d), ("C", 2, 1, 1, halves[1])
    joints = [tf.Revolute(bars[i], None if j is None else bars[j], point_a=side * halves[i], point_b=point, axis_a=Z,
                          axis_b=Z, name=name) for name, i, side, j, point in ends]
    system = tf.System([*bars, *joints], redundant="drop", coordinates=coordinates)
    return tf.InitialValueProblem(system, poses, (0, 1), assemble=True)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_what_is_drawn_nearly_right(coordinates):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        closed(0.0, coordinates)
        closed(0.4, coordinates)


@pytest.mark.parametrize("unit", [1.0, 1e3])
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
@pytest.mark.parametrize("off", [1.2, 1.6])
def test_a_far_drawing_is_told(off, coordinates, unit):
    with pytest.warns(UserWarning, match="joints close far from the given poses: '.*' turned by .* rad; 'C: gap, "):
        closed(off, coordinates, unit)


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_a_body_that_is_drawn_elsewhere(unit):
    with pytest.warns(UserWarning, match="'bar .' moved by .* of the size of what is drawn"):
        closed(0.0, "bodies", unit, shift=-4.0)


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_a_loop_that_zero_angles_do_not_close(coordinates):
    """One joint does not settle which of two ways is meant: the order of the joints would, and a warning says so."""
    lengths, bars, joints = (0.3, 1.0, 0.6), [], []
    for name, length in zip(("crank", "coupler", "rocker"), lengths, strict=True):
        bars.append(tf.RigidBody(1.0, (0.001, length**2 / 12, length**2 / 12), name=name))
    ends = ("A", 0, -0.15, None, 0.0), ("B", 1, -0.5, 0, 0.15), ("C", 2, -0.3, 1, 0.5), ("D", 2, 0.3, None, 1.0)
    for name, i, x, j, y in ends:
        joints.append(tf.Revolute(bars[i], None if j is None else bars[j], point_a=(x, 0, 0), point_b=(y, 0, 0),
                                  axis_a=Z, axis_b=Z, name=name))
    system = tf.System([*bars, *joints], redundant="drop", coordinates=coordinates)
    with pytest.warns(UserWarning, match="joints close far from the pose with zero for those that are not given"):
        found = tf.InitialValueProblem(system, {"A": 1.0}, (0, 1))
    angle = tf.solve(found, tf.MixedGalerkin(1), 1, progress=False).joint("B").angle(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = tf.InitialValueProblem(system, {"A": 1.0, "B": angle}, (0, 1))
    np.testing.assert_allclose(again.z0[:system.n_q], found.z0[:system.n_q], rtol=0, atol=1e-9)
