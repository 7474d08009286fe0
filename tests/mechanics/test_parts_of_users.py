"""Parts of classes that the package does not know: with other numbers, in joint coordinates, by coordinates."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.mechanics.composites.composite import Composite
from timefem.mechanics.declared import Integer, Real
from timefem.mechanics.forces.between import PointForce

REST = {"atol": 0.0, "rtol": 1e-9}


class HardeningSpring(PointForce):
    stiffness = Real("k", "N/m", above=0, default=None)
    hardening = Real("k3", "N/m^3", 0.0, least=0)

    def energy(self, s):
        c, square = self.named(s.own), self._square(s)
        return c.stiffness / 2 * square + c.hardening / 4 * square**2


class Masses(Composite):
    """Masses in a row with springs to the ground, all by numbers."""

    n = Integer("number of masses", least=1, most=9)
    mass = Real("of each", "kg", above=0)
    stiffness = Real("k", "N/m", above=0)

    def make_nodes(self):
        return [tf.PointMass(self.mass * (i + 1)) for i in range(self.n)]

    def make_elements(self):
        return [tf.Spring(node, stiffness=self.stiffness) for node in self.nodes]

    def reference(self, i):
        return tf.Pose((i + 1, 0, 0))


def test_a_composite_with_other_numbers():
    def end(system):
        return tf.solve(tf.InitialValueProblem(system, {}, (0, 0.5)), tf.MixedGalerkin(2), 8, progress=False).z[-1]

    system = tf.System([Masses(n=2, mass=1.0, stiffness=3.0, name="row")])
    anew = tf.System([Masses(n=2, mass=1.5, stiffness=5.0, name="row")])
    np.testing.assert_array_equal(end(system.with_numbers({"row.mass": 1.5, "row.stiffness": 5.0})), end(anew))


def test_a_force_acts_in_joint_coordinates():
    rod = tf.RigidBody(1.0, [0.1, 0.1, 0.01], name="rod")
    hinge = tf.Revolute(rod, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    spring = HardeningSpring(rod, point_a=(0, 0, -0.5), point_b=(1, 0, -0.5), stiffness=4.0, hardening=10.0)
    places = []
    for coordinates in ("bodies", "joint"):
        system = tf.System([rod, hinge, spring], gravity=(0, 0, -9.81), coordinates=coordinates)
        problem = tf.InitialValueProblem(system, {rod: tf.Pose((0, 0, -0.5))}, (0, 0.7))
        places.append(tf.solve(problem, tf.MixedGalerkin(4), 30, progress=False).position(rod, 0.7))
    np.testing.assert_allclose(places[0], places[1], atol=1e-10, rtol=0)


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_bodies_start_by_coordinates(rotation):
    body, ball = tf.RigidBody(2.0, [0.1, 0.2, 0.25], rotation=rotation, name="body"), tf.PointMass(3.0, name="ball")
    system = tf.System([body, ball])
    poses = {body: tf.Pose((1, 2, 3), (0.5, 0.5, 0.5, 0.5), (1, 0, 2), (0.3, -0.2, 0.5)),
             ball: tf.Pose((4, 5, 6), velocity=(1, 2, 3))}
    start = tf.InitialValueProblem(system, poses, (0, 1)).z0
    q, v = start[:system.n_q], system.velocity(0.0, start)
    given = {b: tf.Coordinates(q[system.coordinates(b)], v[system.coordinates(b)]) for b in (body, ball)}
    np.testing.assert_allclose(tf.InitialValueProblem(system, given, (0, 1)).z0, start, atol=1e-14, rtol=0)


def test_a_mass_that_burns_starts_by_coordinates():
    rocket = tf.VariableMass(10.0, dimension=2, name="rocket")
    start = tf.InitialValueProblem(tf.System([rocket]), {rocket: tf.Coordinates((1, 2, 8), (3, 4, 0))}, (0, 1)).z0
    np.testing.assert_allclose(start, [1, 2, 8, 24, 32, 0], **REST)
    for coordinates, message in (((1, 2, -8), "mass must be positive, not -8"), ((1, 2), "length 3, not 2")):
        with pytest.raises(tf.InputError, match=message):
            tf.InitialValueProblem(tf.System([rocket]), {rocket: tf.Coordinates(coordinates)}, (0, 1))


@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_the_rate_of_a_state_sees_a_link(coordinates):
    """A motor with inductance drives a pendulum; the same by a solver of ordinary differential equations."""
    rod = tf.RigidBody(1.0, [1 / 12, 1 / 12, 1e-3], name="rod")
    hinge = tf.Revolute(rod, point_a=(0, 0, 0.5), point_b=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 1, 0), name="hinge")
    current = tf.State("current", "(c[0] - c[1] * x[0] - c[2] * f[0].angular_velocity[1]) / c[3]", bodies=[rod],
                       parameters=[6.0, 1.0, 0.2, 0.02])
    torque = tf.FormulaForce([rod, current], "[[0, 0, 0, 0, 0.2 * f[1].q[0], 0], 0]", name="torque")
    system = tf.System([rod, hinge, current, torque], gravity=(0, 0, -9.81), coordinates=coordinates)
    problem = tf.InitialValueProblem(system, {rod: tf.Pose((0, 0, -0.5)), current: 0.0}, (0, 0.5))
    sol = tf.solve(problem, tf.MixedGalerkin(3), 24, progress=False)
    exact = solve_ivp(lambda t, y: [y[1], 3 * (0.2 * y[2] - 0.5 * 9.81 * np.sin(y[0])), (6 - y[2] - 0.2 * y[1]) / 0.02],
                      (0, 0.5), [0, 0, 0], method="Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    found = [*sol.position(rod, 0.5)[[0, 2]], sol.coordinates("current", 0.5)[0]]
    np.testing.assert_allclose(found, [-0.5 * np.sin(exact[0]), -0.5 * np.cos(exact[0]), exact[2]], atol=1e-7, rtol=0)


def test_ends_are_met_by_coordinates():
    mass = tf.PointMass(2.0, dimension=1, name="mass")
    push = tf.ControlForce(mass, [(1, 0, 0)], name="push")
    ends = {"pose": (tf.Pose((1, 0, 0), velocity=(0.5, 0, 0)),), "coordinates": (tf.Coordinates([1.0], [0.5]),)}
    costs = {how: tf.solve(tf.OptimalControl(tf.System([mass, push]), {mass: tf.Pose()}, {mass: end}, (0, 1),
                                             tf.Effort(push)), tf.MixedGalerkin(2), 4, progress=False).objective
             for how, (end,) in ends.items()}
    assert costs["coordinates"] == pytest.approx(costs["pose"], rel=1e-12)
