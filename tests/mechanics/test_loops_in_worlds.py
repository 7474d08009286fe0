"""Plane loops of spatial joints, tilted in space: rows whose gradients are rounding there, in both coordinates."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import timefem as tf
from timefem.mechanics.values.evaluate import quantities_at

WORLDS = [np.eye(3), *Rotation.random(3, random_state=3).as_matrix(), np.diag([1.0, -1.0, -1.0])]
ELEMENT, END = tf.MixedGalerkin(4), 0.2


class Plane:
    """Bars between points of a plane of the world, in a unit of length."""

    def __init__(self, world, unit=1.0):
        self.world, self.unit, self.parts, self.start, self.ends = world, unit, [], {}, {}

    def at(self, point):
        return self.world @ np.array([*point, 0.0]) * self.unit

    def bar(self, name, first, last, mass=1.0):
        first, last = np.array(first, float), np.array(last, float)
        length, (x, y) = np.linalg.norm(last - first), last - first
        body = tf.RigidBody(mass, mass * self.unit**2 * np.array([0.02, length**2 / 12 + 0.01, length**2 / 12 + 0.02]),
                            name=name)
        turn = Rotation.from_matrix(self.world) * Rotation.from_euler("z", np.arctan2(y, x))
        self.start[body] = tf.Pose(self.at((first + last) / 2), turn.as_quat()[[3, 0, 1, 2]])
        self.ends[body] = {tuple(first): -length / 2, tuple(last): length / 2}
        self.parts.append(body)
        return body

    def hinge(self, name, point, a, b=None):
        point = tuple(map(float, point))

        def place(body):
            return self.at(point) if body is None else (self.ends[body][point] * self.unit, 0, 0)

        axis = self.world @ [0, 0, 1.0] if b is None else (0, 0, 1)
        bodies = (a,) if b is None else (a, b)
        joint = tf.Revolute(*bodies, point_a=place(a), point_b=place(b), axis_a=(0, 0, 1), axis_b=axis, name=name)
        self.parts.append(joint)
        return joint

    def system(self, coordinates):
        return tf.System(self.parts, gravity=self.world @ [0, -9.81 * self.unit, 0], coordinates=coordinates,
                         redundant="drop")


def apex(a, b, to_a, to_b):
    """Point above a and b at distances from them."""
    a, b = np.array(a, float), np.array(b, float)
    d = b - a
    along = (to_a**2 - to_b**2 + d @ d) / (2 * np.sqrt(d @ d))
    return a + (along * d + np.sqrt(to_a**2 - along**2) * np.array([-d[1], d[0]])) / np.sqrt(d @ d)


def four_bar(plane, ground=(1.1, 0.0)):
    tip = 0.5 * np.array([np.cos(1.0), np.sin(1.0)])
    top = apex(tip, ground, 1.2, 0.9)
    crank, coupler = plane.bar("crank", (0, 0), tip), plane.bar("coupler", tip, top, 2.0)
    rocker = plane.bar("rocker", ground, top, 1.5)
    drive = plane.hinge("drive", (0, 0), crank)
    plane.hinge("B", tip, crank, coupler)
    plane.hinge("C", top, coupler, rocker)
    plane.hinge("D", ground, rocker)
    return [crank, coupler, rocker], [drive]


def slider_crank(plane):
    tip = 0.5 * np.array([np.cos(0.7), np.sin(0.7)])
    pin = tip + [np.sqrt(1.1**2 - (tip[1] - 0.1)**2), 0.1 - tip[1]]
    crank, rod = plane.bar("crank", (0, 0), tip), plane.bar("rod", tip, pin, 2.0)
    block = plane.bar("block", pin - [0.1, 0], pin + [0.1, 0], 1.5)
    plane.ends[block][tuple(pin)] = 0.0
    drive = plane.hinge("drive", (0, 0), crank)
    plane.hinge("B", tip, crank, rod)
    plane.hinge("C", pin, rod, block)
    turn = Rotation.from_matrix(plane.world).as_quat()[[3, 0, 1, 2]]
    plane.parts.append(tf.Prismatic(block, point_a=(0, 0, 0), point_b=plane.at((0, 0.1)),
                                    axis_b=plane.world @ [1.0, 0, 0], orientation=turn, name="guide"))
    return [crank, rod, block], [drive]


def five_bar(plane):
    left, right = 0.6 * np.array([np.cos(2.0), np.sin(2.0)]), np.array([1.0, 0.0])
    right = right + 0.7 * np.array([np.cos(1.0), np.sin(1.0)])
    top = apex(left, right, 1.1, 1.0)
    bars = [plane.bar("a", (0, 0), left), plane.bar("b", left, top, 2.0), plane.bar("c", right, top, 1.5),
            plane.bar("d", (1, 0), right)]
    drives = [plane.hinge("drive", (0, 0), bars[0]), plane.hinge("other", (1, 0), bars[3])]
    plane.hinge("B", left, bars[0], bars[1])
    plane.hinge("C", top, bars[1], bars[2])
    plane.hinge("D", right, bars[2], bars[3])
    return bars, drives


def two_loops(plane):
    """A rocker of a four-bar drives another one."""
    bodies, drives = four_bar(plane)
    tip = next(point for point, side in plane.ends[bodies[2]].items() if side > 0)
    far = (2.6, 0.1)
    top = apex(tip, far, 1.3, 0.8)
    coupler, last = plane.bar("second coupler", tip, top), plane.bar("second rocker", far, top, 0.8)
    plane.hinge("E", tip, bodies[2], coupler)
    plane.hinge("F", top, coupler, last)
    plane.hinge("G", far, last)
    return [*bodies, coupler, last], drives


MECHANISMS = four_bar, slider_crank, five_bar, two_loops
OPEN = {four_bar: 2, slider_crank: 2, five_bar: 2, two_loops: 4}  # rows that close the loops in joint coordinates


def posed(make, world, coordinates, unit=1.0):
    plane = Plane(world, unit)
    bodies, drives = make(plane)
    return plane, bodies, drives, plane.system(coordinates)


def motion(make, world, coordinates, unit=1.0):
    plane, bodies, _, system = posed(make, world, coordinates, unit)
    problem = tf.InitialValueProblem(system, plane.start, (0, END))
    if coordinates == "joint":
        assert problem.system.n_constraints == OPEN[make]
    sol = tf.solve(problem, ELEMENT, 20, progress=False)
    assert sol.success
    return np.array([[world.T @ sol.position(body, t) / unit for body in bodies] for t in (END / 2, END)])


@pytest.mark.parametrize("axis", [(0, 0, 1), (-5.6e-17, 6.9e-18, 1), (6.9e-18, -5.6e-17, 1)])
def test_round_off_in_an_axis_chooses_no_frame(axis):
    """Numbers of a link were made in one frame, and their places in another: a link silently lost its weight."""
    tree = tf.Tree([tf.Link("ground"), tf.Link("bar", mass=2.0, centre=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.25))],
                   [tf.TreeJoint("hinge", "ground", "bar", axis=axis)], name="tree")
    system = tf.System([tree], gravity=(0, -9.81, 0))
    energy, = quantities_at(system, np.zeros(1), np.zeros((1, 2)), "potential energy")
    assert energy[0, 0] == pytest.approx(2.0 * 9.81 * 0.1, rel=1e-14)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("coordinates", ["bodies", "joint"])
def test_redundant_rows(coordinates, unit):
    """Three of five of the hinge that closes a plane loop, in any world and unit; tilts have no direction in joints."""
    for world in WORLDS:
        plane, _, _, system = posed(four_bar, world, coordinates, unit)
        problem = tf.InitialValueProblem(system, plane.start, (0, END))
        dropped = problem.system.dropped
        assert len(dropped) == 3 and {"D: first tilt of the axis", "D: second tilt of the axis"} < set(dropped)


@pytest.mark.long
@pytest.mark.parametrize("make", MECHANISMS)
def test_march(make):
    right = motion(make, WORLDS[0], "bodies")
    for world in WORLDS:
        np.testing.assert_allclose(motion(make, world, "joint"), right, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion(make, WORLDS[1], "bodies"), right, rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("unit", [1e-9, 1e6])
def test_march_in_units(unit):
    """Of length: rows of lengths and of angles have no common size."""
    right = motion(slider_crank, WORLDS[1], "bodies")
    for coordinates in "bodies", "joint":
        np.testing.assert_allclose(motion(slider_crank, WORLDS[1], coordinates, unit), right, rtol=0, atol=1e-9)


def everywhere(make, found, coordinates):
    """`found(plane, bodies, drives, coordinates)`, which is the same in all worlds."""
    values = []
    for world in WORLDS if coordinates == "joint" else WORLDS[:2]:
        plane = Plane(world)
        values.append(found(plane, *make(plane), coordinates))
    np.testing.assert_allclose(values, [values[0]] * len(values), rtol=0, atol=1e-9 * np.abs(values[0]).max())
    return values[0]


@pytest.mark.long
@pytest.mark.parametrize("make", MECHANISMS)
def test_equilibrium(make):
    def places(plane, bodies, drives, coordinates):
        plane.parts += [tf.Spring(body, None, stiffness=80.0, point_b=pose.position + plane.at((0.05, 0.1)))
                        for body, pose in plane.start.items()]
        system = plane.system(coordinates)
        rest = tf.equilibrium(system, plane.start)
        assert rest.success
        sol = tf.solve(tf.InitialValueProblem(system, rest.state, (0, 1e-3)), ELEMENT, 1, progress=False)
        return np.array([plane.world.T @ sol.position(body, 0.0) for body in bodies])

    found, right = (everywhere(make, places, coordinates) for coordinates in ("joint", "bodies"))
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("make", MECHANISMS)
def test_inverse_dynamics(make):
    def torques(plane, bodies, drives, coordinates):
        motors = [tf.JointControl(drive, name=f"motor of {drive.name}") for drive in drives]
        plane.parts += motors
        system = plane.system(coordinates)
        first = tf.solve(tf.InitialValueProblem(system, plane.start, (0, 1e-3)), ELEMENT, 1, progress=False)
        now = [first.joint(drive).angle(0.0) for drive in drives]
        outputs = {tf.JointOutput(drive): tf.Transfer(0, 1, angle, angle + 0.2) for drive, angle in zip(
            drives, now, strict=True)}
        sol = tf.solve(tf.InverseDynamics(system, outputs, plane.start, t_span=(0, 1)), ELEMENT, 10, progress=False)
        assert sol.success
        return sol.controls(np.array([0.0, 0.5, 1.0]))

    found, near = (everywhere(make, torques, coordinates) for coordinates in ("joint", "bodies"))
    np.testing.assert_allclose(near, found, rtol=0, atol=1e-3 * np.abs(found).max())  # of elements in bodies
