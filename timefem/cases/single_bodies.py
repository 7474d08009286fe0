"""Single bodies: free ones, pendulums and tops."""

import numpy as np

from timefem import FixedPoint, Pose, RigidBody, System

from .table import define_case

GRAVITY = (0.0, 0.0, -9.81)


def box_inertia(mass, size):
    """Principal inertia of a homogeneous box with edges (l, b, h) along the body axes [kg m^2]."""
    l, b, h = size
    return mass / 12 * np.array([b**2 + h**2, l**2 + h**2, l**2 + b**2])


@define_case("spinning-box", "Free spinning box", t_end=5.0, n_elements=200)
def spinning_box(**rotation):
    """A free box of 12 kg, 5 x 2 x 1 m, spun near its unstable middle axis (May & Betsch)."""
    size = (5.0, 2.0, 1.0)
    box = RigidBody(mass=12, inertia=box_inertia(12, size), size=size, name="box", **rotation)
    return System([box]), {box: Pose(angular_velocity=(0, 5, 1))}


@define_case("free-body", "Free rigid body", t_end=1.0, n_elements=200)
def free_body(**rotation):
    """A free body with the principal inertias 6, 8, 3 kg m^2, in fast rotation."""
    body = RigidBody(mass=1, inertia=(6, 8, 3), name="body", **rotation)
    return System([body]), {body: Pose(angular_velocity=(10, 20, 20))}


@define_case("physical-pendulum", "Physical pendulum", t_end=5.0, n_elements=100, conserved_axes=(2,))
def physical_pendulum(**rotation):
    """A bar of 10 x 1 x 1 m and density 10 kg/m^3, held at one end and let go from the horizontal (May & Betsch)."""
    size = (1.0, 10.0, 1.0)  # the long axis is e2
    mass = 10 * np.prod(size)
    bar = RigidBody(mass=mass, inertia=box_inertia(mass, size), size=size, name="pendulum", **rotation)
    return System([bar, FixedPoint(bar, point=(0, -5, 0))], gravity=GRAVITY), {bar: Pose(position=(0, 5, 0))}


@define_case("heavy-top", "Heavy top in steady precession", t_end=1.0, n_elements=500, conserved_axes=(2,))
def heavy_top(**rotation):
    """A cone of density 2700 kg/m^3, 0.1 m high, 0.05 m base radius, spun on its tip at an angle of 60 degrees."""
    return top(tilt=np.pi / 3, precession=10.0, spin=135.6, **rotation)


@define_case("nutating-top", "Heavy top in deep nutation", t_end=3.0, n_elements=2000, conserved_axes=(2,))
def nutating_top(**rotation):
    """The cone of heavy-top, slow in spin, thrown up from the horizontal so that it almost comes to rest upright, falls
    through and comes up again: nutation in turns slow and fast."""
    return top(tilt=np.pi / 2, precession=0.588, spin=5.0, nutation=-15.18, **rotation)


def top(tilt, precession, spin, nutation=0.0, **rotation):
    """A cone on its tip: System and state; angle to the vertical [rad] and rates of Euler's angles [rad/s]."""
    height, radius = 0.1, 0.05
    mass = 2700 * np.pi * radius**2 * height / 3
    across, along = 3 / 20 * radius**2 + 3 / 80 * height**2, 3 / 10 * radius**2
    arm = np.array([0, 0, 3 / 4 * height])  # from the tip to the centre of mass
    top = RigidBody(mass=mass, inertia=mass * np.array([across, across, along]), name="top", **rotation)
    c, s = np.cos(tilt), np.sin(tilt)
    r = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    angular_velocity = np.array([nutation, precession * s, spin + precession * c])  # in body axes
    state = Pose(position=r @ arm, orientation=r, velocity=r @ np.cross(angular_velocity, arm),
                 angular_velocity=angular_velocity)
    return System([top, FixedPoint(top, point=-arm)], gravity=GRAVITY), {top: state}
