"""Ends and starts of bodies whose coordinates are not their places: a point mass in cylindrical coordinates."""

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.declared import Real
from timefem.mechanics.part import Body

START, END = np.array([1.0, 0.3, 0.2]), np.array([0.2, 1.1, 0.5])


class Cylindrical(Body):
    """A point mass: `q = (r, phi, z)`."""

    mass = Real("mass", "kg", above=0)
    n_q, has_position = 3, True

    def numbers(self, c):
        return {"mass": c.mass}

    @property
    def mass_scale(self):
        return np.full(3, self.mass)

    def kinetic_energy(self, q, p, c):
        return (p[0] ** 2 + (p[1] / q[0]) ** 2 + p[2] ** 2) / (2 * c[0])

    def kinetic_of_velocity(self, q, v, c):
        return c[0] * (v[0] ** 2 + (q[0] * v[1]) ** 2 + v[2] ** 2) / 2

    def frame(self, q):
        return ca.vertcat(q[0] * ca.cos(q[1]), q[0] * ca.sin(q[1]), q[2]), ca.SX.eye(3)

    def position(self, q):
        r, angle, z = np.moveaxis(np.asarray(q, float), -1, 0)
        return np.stack([r * np.cos(angle), r * np.sin(angle), z], -1)

    def velocity(self, q, p):
        (r, angle, _), (along, turning, up) = (np.moveaxis(np.asarray(x, float), -1, 0) for x in (q, p))
        across, cos, sin = turning / r, np.cos(angle), np.sin(angle)
        return np.stack([along * cos - across * sin, along * sin + across * cos, up], -1) / self.mass

    def state(self, pose):
        (x, y, z), (u, v, w) = pose.position, pose.velocity
        r, angle = np.hypot(x, y), np.arctan2(y, x)
        along, across = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
        return np.array([r, angle, z]), self.mass * np.array([along, r * across, w])


def both(*more):
    for cls in (Cylindrical, tf.PointMass):
        body = cls(2.0, name="b")
        spring = tf.Spring(body, point_b=(0.2, 0, 0), stiffness=3.0, length=0.5)
        parts = [tf.ControlForce(body, np.eye(3), name="f")] if "control" in more else [spring]
        yield body, tf.System([body, *parts], gravity=(0, 0, -9.81))


@pytest.mark.parametrize(("start", "end"), [
    (tf.EndState(position=START), tf.EndState(position=END)), (tf.Pose(START), tf.Pose(END)),
    (tf.EndState(position=START, velocity=(-1, 1.4, 3.6)), None)])
def test_boundary_values_in_space_are_those_of_a_point_mass(start, end):
    ends = []
    for body, system in both():
        problem = tf.BoundaryValueProblem(system, (0, 0.6), start={body: start}, end=end and {body: end})
        solution = tf.solve(problem, tf.MixedGalerkin(3), 12, progress=False)
        assert solution.success
        ends.append([f(body, t) for t in (0, 0.6) for f in (solution.position, solution.velocity)])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6, rtol=0)
    np.testing.assert_allclose(ends[0][0], START, atol=1e-12, rtol=0)


@pytest.mark.long
def test_optimal_control_between_places_is_that_of_a_point_mass():
    costs = []
    for body, system in both("control"):
        for start, end in ((tf.Pose(START), tf.Pose(END)), (tf.EndState(START, velocity=(0, 0, 0)), tf.EndState(END))):
            problem = tf.OptimalControl(system, {body: start}, {body: end}, (0, 1), "u[0]**2 + u[1]**2 + u[2]**2")
            solution = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
            np.testing.assert_allclose(solution.position(body, [0.0, 1.0]), [START, END], atol=1e-9, rtol=0)
            costs.append(solution.objective)
    np.testing.assert_allclose(costs[:2], costs[2:], rtol=1e-4)


def test_what_does_not_settle_coordinates_is_refused():
    body, system = next(both())
    for end, text in ((tf.EndState(position=(0.2, None, None)), "position .* given as a whole.*end.position"),
                      (tf.EndState(velocity=(1, 0, 0)), "position and velocity are given as a whole"),
                      (tf.EndState(position=END, q=(1, 0, 0)), "give these alone, or q and v"),
                      (tf.EndState(q=(1, 0)), "q must have length 3"),
                      (tf.EndState(position=END, orientation=(1, 0, 0, 0)), "has no orientation")):
        with pytest.raises(tf.InputError, match=text):
            tf.BoundaryValueProblem(system, (0, 0.6), start={body: tf.EndState(q=START)}, end={body: end})


def test_sensitivities_are_to_its_own_coordinates():
    """d/dq by the chain rule from those of the point mass to its position: dx/dphi = (-y, x, 0)."""
    end = tf.EndValue(lambda bodies, t: bodies[0].position[1])
    found = []
    for body, system in both():
        motion = tf.solve(tf.InitialValueProblem(system, {body: tf.Pose(START)}, (0, 0.6)), tf.MixedGalerkin(4), 12,
                          progress=False)
        found.append(motion)
    with pytest.raises(tf.InputError, match=r"no 'position' at the start.*q.*v"):
        tf.gradient(found[0], end, tf.Initial("b", "position", 0))
    by_angle = tf.gradient(found[0], end, tf.Initial("b", "q", 1))[0]
    by_place = tf.gradient(found[1], end, tf.Initial("b", "position"))
    # at rest: the velocity stays zero when the angle changes
    np.testing.assert_allclose(by_angle, by_place @ (-START[1], START[0], 0), rtol=1e-7)


def test_bodies_of_the_package_begin_with_their_place():
    rotations = [tf.RigidBody(1.0, [1, 1, 1], rotation=rotation) for rotation in ("quaternion", "directors")]
    points = [tf.PointMass(1.0, dimension=n) for n in (1, 2, 3)]
    assert all(body.begins_with_position for body in (*rotations, *points))
    assert not Cylindrical(1.0).begins_with_position
