"""Cases with constraints on velocities alone."""

import numpy as np

from timefem import KnifeEdge, NonTwisting, Planar, Pose, RigidBody, RollingDisc, System, Torque, TrianglePulse

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
