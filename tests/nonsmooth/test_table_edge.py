"""A box that slides over the edge of a table, tips there, and leaves it, against equations of motion by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf

pytestmark = pytest.mark.long
G, WIDTH, HEIGHT, MASS, START, SPEED = 9.81, 0.3, 0.2, 1.0, -0.25, 0.8
INERTIA = MASS / 12 * (WIDTH**2 + HEIGHT**2)


def axes(angle):
    """Along the bottom of the box, and across it upwards, in the plane."""
    return np.array([np.cos(angle), -np.sin(angle)]), np.array([np.sin(angle), np.cos(angle)])


def tipping(x, friction):
    """Accelerations of (place of the centre along the bottom from the edge, angle), and the force of the edge."""
    s, angle, speed, rate = x
    along, up = axes(angle)
    rub = -friction  # it slides on
    matrix = np.array([[MASS, MASS * HEIGHT / 2, -rub], [0, -MASS * s, -1], [0, INERTIA, rub * HEIGHT / 2 - s]])
    weight = np.array([0, -MASS * G])
    right = [MASS * s * rate**2 + weight @ along, MASS * (2 * speed + HEIGHT / 2 * rate) * rate + weight @ up, 0]
    return np.linalg.solve(matrix, right)


def by_hand(friction, end):
    """Times at which it tips and leaves, and its place in the plane at the end."""
    tips = -friction * HEIGHT / 2  # friction turns it, too
    slows, way = friction * G, tips - START
    first = way / SPEED if not friction else (SPEED - np.sqrt(SPEED**2 - 2 * slows * way)) / slows

    def leaves(t, x):
        return tipping(x, friction)[2]

    leaves.terminal, leaves.direction = True, -1
    found = solve_ivp(lambda t, x: [*x[2:], *tipping(x, friction)[:2]], (first, end),
                      [tips, 0, SPEED - slows * first, 0], events=leaves, method="DOP853", rtol=1e-12, atol=1e-14)
    last, (s, angle, speed, rate) = found.t[-1], found.y[:, -1]
    along, up = axes(angle)
    place = s * along + HEIGHT / 2 * up
    velocity = (speed + HEIGHT / 2 * rate) * along - s * rate * up
    return first, last, place + velocity * (end - last) - [0, G / 2 * (end - last) ** 2]


@pytest.mark.parametrize(("friction", "degree", "n", "form", "tolerance"), [
    (0.0, 1, 20, {"rotation": "quaternion"}, 1e-3), (0.0, 2, 20, {"rotation": "quaternion"}, 3e-5),
    (0.0, 2, 20, {"rotation": "directors"}, 3e-5), (0.0, 3, 20, {"rotation": "quaternion"}, 1e-7),
    (0.1, 2, 20, {"rotation": "quaternion"}, 1e-4)])
def test_a_box_tips_over_the_edge(friction, degree, n, form, tolerance):
    """Corners give way to edges, and these open before they come to their ends within the same element: what closes
    in vain before that hid it, and edges at their ends had no derivatives."""
    end, rotation = 0.9, form["rotation"]
    size = (WIDTH, WIDTH, HEIGHT)
    box = tf.RigidBody(MASS, (INERTIA, INERTIA, MASS / 6 * WIDTH**2), size=size, rotation=rotation, name="box")
    table = tf.RigidBody(1.0, (1, 1, 1), size=(1, 1, 0.1), rotation=rotation, name="table")
    fixed = tf.Weld(table, point_a=(0, 0, 0), point_b=(-0.5, 0, -0.05), name="fixed")
    contact = tf.BoxPairContact(box, table, friction=friction, name="contact")
    state = {box: tf.Pose((START, 0, HEIGHT / 2), velocity=(SPEED, 0, 0)), table: tf.Pose((-0.5, 0, -0.05))}
    system = tf.System([box, table, fixed, contact], gravity=(0, 0, -G))
    sol = tf.solve(tf.InitialValueProblem(system, state, (0, end)), tf.MixedGalerkin(degree), n, progress=False)
    assert sol.success and {event.kind for event in sol.events} == {"opens"}
    tips, leaves, place = by_hand(friction, end)
    times = [event.t for event in sol.events]
    assert min(abs(np.subtract(times, tips))) < tolerance and abs(times[-1] - leaves) < tolerance
    np.testing.assert_allclose(sol.position("box", end)[[0, 2]], place, rtol=0, atol=10 * tolerance)
