"""Cases with constraints on velocities alone."""

import numpy as np

from timefem import (
    KnifeEdge,
    NonTwisting,
    Planar,
    Pose,
    Revolute,
    RigidBody,
    RollingDisc,
    System,
    Torque,
    TrianglePulse,
)

from .single_bodies import GRAVITY
from .table import define_case

INERTIA = ((3, -1 / 7, 0), (-1 / 7, 4, 0), (0, 0, 5))  # of the paper, "non-physical" [kg m^2]
PULSE = TrianglePulse(0.0, 0.5, 1.0, 1.0)


def non_twisting(angular_velocity, torque=None, a=0.5, rotation="directors", **options):
    """A body whose third axis it does not turn about, under a torque in body axes that grows and vanishes in the first
    second: System and state. `a` as for `NonTwisting`."""
    body = RigidBody(1, INERTIA, rotation=rotation, name="frame", **options)
    loads = [] if torque is None else [Torque(body, (*torque, 0), time=PULSE, frame="body")]
    return System([body, NonTwisting(body, a), *loads]), {body: Pose(angular_velocity=(*angular_velocity, 0))}


@define_case("nontwisting-1", "Non-twisting frame, free", t_end=5.0, n_elements=1000, conserved_axes=())
def nontwisting_1(**rotation):
    """A body that does not turn about its third axis, free: its first two angular momenta in body axes are constant
    (Gebhardt & Romero 6.1)."""
    return non_twisting((6, -18), **rotation)


@define_case("nontwisting-2", "Non-twisting frame, loaded from rest", t_end=5.0, n_elements=5000, conserved_axes=())
def nontwisting_2(**rotation):
    """A body that does not turn about its third axis, brought into fast rotation by a pulse of torque (Gebhardt &
    Romero 6.2; with the printed loads it turns by 2 rad in their step of 0.005 s)."""
    return non_twisting((0, 0), (-2472.5, -1075), **rotation)


@define_case("nontwisting-3", "Non-twisting frame, loaded in motion", t_end=5.0, n_elements=5000, conserved_axes=())
def nontwisting_3(**rotation):
    """A body that does not turn about its third axis, in motion, and loaded by a pulse of torque about another axis
    (Gebhardt & Romero 6.3)."""
    return non_twisting((1.5, 4.5), (-1236.25, -537.5), **rotation)


@define_case("chaplygin-sleigh", "Chaplygin sleigh", t_end=4.0, n_elements=100, conserved_axes=())
def chaplygin_sleigh(**rotation):
    """A body of 1.5 kg that slides on a plane without friction, on a knife edge 0.4 m behind its centre of mass: it
    turns until it runs straight ahead."""
    arm, speed, spin = 0.4, 0.3, 2.0
    body = RigidBody(1.5, (0.7, 0.7, 0.7), name="sleigh", **rotation)
    edge = KnifeEdge(body, point=(-arm, 0, 0), across=(0, 1, 0), name="edge")
    origin, up = (0, 0, 0), (0, 0, 1)
    plane = Planar(body, point_a=origin, point_b=origin, axis_a=up, axis_b=up, name="plane")
    state = Pose(position=(arm, 0, 0), velocity=(speed, arm * spin, 0), angular_velocity=(0, 0, spin))
    return System([body, plane, edge]), {body: state}


@define_case("rolling-disc", "Rolling disc", t_end=2.0, n_elements=200, conserved_axes=())
def rolling_disc(**rotation):
    """A coin of 2 kg, 0.5 m radius and 0.2 m thickness that rolls on the mid-line of its edge, tilted, nearly in a
    steady circle."""
    mass, radius, thickness, tilt, turn = 2.0, 0.5, 0.2, 1.1, 2.0
    across, along = mass * (3 * radius**2 + thickness**2) / 12, mass * radius**2 / 2
    coin = RigidBody(mass, (across, across, along), name="coin", **rotation)
    c, s = np.cos(tilt), np.sin(tilt)
    orientation = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    axis = orientation[:, 2]
    centre = radius * np.array([-c, 0, s])  # above the point of contact
    spin = np.array([0, 0, turn]) - 4.2 * axis
    state = Pose(position=centre, orientation=orientation, velocity=np.cross(spin, centre), angular_velocity=spin,
                 frame="space")
    return System([coin, RollingDisc(coin, radius=radius)], gravity=GRAVITY), {coin: state}


# ---- The benchmark bicycle of Meijaard, Papadopoulos, Ruina & Schwab, Proc. R. Soc. A 463 (2007), 1955-1982

TILT, WHEELBASE, TRAIL = np.pi / 10, 1.02, 0.08
RADII = {"rear": 0.3, "front": 0.35}


def bicycle(rotation="quaternion"):
    """The bicycle, and its state upright at a speed.

    x is forward, y to the right, z down, as in the paper; the wheels roll on the plane z = 0.

    Returns
    -------
    system : System
        Bodies "rear", "frame", "fork", "front".
    riding : callable
        `riding(speed)` -> dict of `Pose`, speed in m/s.
    """
    rear = RigidBody(2, (0.0603, 0.12, 0.0603), rotation, name="rear")
    frame = RigidBody(85, [[9.2, 0, 2.4], [0, 11, 0], [2.4, 0, 2.8]], rotation, name="frame")
    fork = RigidBody(4, [[0.05892, 0, -0.00756], [0, 0.06, 0], [-0.00756, 0, 0.00708]], rotation, name="fork")
    front = RigidBody(3, (0.1405, 0.28, 0.1405), rotation, name="front")
    places = {rear: (0, 0, -0.3), frame: (0.3, 0, -0.9), fork: (0.9, 0, -0.7), front: (WHEELBASE, 0, -0.35)}
    places = {body: np.array(place) for body, place in places.items()}

    def hinge(a, b, place, axis, name):
        return Revolute(a, b, point_a=place - places[a], point_b=place - places[b], axis_a=axis, axis_b=axis, name=name)

    steering = (np.sin(TILT), 0, np.cos(TILT))
    joints = [hinge(rear, frame, places[rear], (0, 1, 0), "rear axle"),
              hinge(fork, frame, np.array([WHEELBASE + TRAIL, 0, 0]), steering, "steering"),
              hinge(front, fork, places[front], (0, 1, 0), "front axle")]
    wheels = [RollingDisc(body, radius=RADII[body.name], normal=(0, 0, -1), axis=(0, 1, 0), name=f"{body.name} wheel")
              for body in (rear, front)]

    def riding(speed):
        return {body: Pose(place, velocity=(speed, 0, 0),
                           angular_velocity=(0, -speed / RADII[body.name] if body.name in RADII else 0, 0))
                for body, place in places.items()}

    return System([*places, *joints, *wheels], gravity=(0, 0, 9.81)), riding
