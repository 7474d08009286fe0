"""Cases of inverse dynamics: which controls move a load as prescribed?"""

import numpy as np

from timefem import (
    ControlTorque,
    InverseDynamics,
    PointMass,
    Pose,
    PositionOutput,
    Revolute,
    RigidBody,
    Spherical,
    System,
    Transfer,
)

from .boundary import HINGE, about_x
from .inverse import elastic_arm, trolley_crane
from .single_bodies import GRAVITY, box_inertia
from .table import define_problem


@define_problem("crane-inverse", "Knuckle-boom crane", "inverse", t_end=4.0, n_elements=40)
def knuckle_boom(t_end, **rotation):
    """A boom of 6 m and a jib of 4 m in the plane of e2 and e3, with a load of 500 kg at the tip that goes from one
    place to another in 4 s, from rest to rest: the torques of the two motors, at the foot of the boom and between both.
    """
    boom = RigidBody(300, box_inertia(300, (0.3, 6, 0.3)), size=(0.3, 6, 0.3), name="boom", **rotation)
    jib = RigidBody(120, box_inertia(120, (0.2, 4, 0.2)), size=(0.2, 4, 0.2), name="jib", **rotation)
    load = PointMass(500, name="load")
    joints = [Revolute(boom, point_a=(0, -3, 0), point_b=(0, 0, 0), name="foot", **HINGE),
              Revolute(boom, jib, point_a=(0, 3, 0), point_b=(0, -2, 0), name="knuckle", **HINGE),
              Spherical(jib, load, point_a=(0, 2, 0), point_b=(0, 0, 0), name="hook")]
    motors = [ControlTorque(boom, [(1, 0, 0)], name="boom motor"),
              ControlTorque(jib, [(1, 0, 0)], reaction=boom, name="jib motor")]
    up, down = about_x(np.pi / 3), about_x(-np.pi / 6)
    knuckle = up @ [0, 6, 0]
    state = {boom: Pose(knuckle / 2, up), jib: Pose(knuckle + down @ [0, 2, 0], down),
             load: Pose(knuckle + down @ [0, 4, 0])}
    start = state[load].position
    outputs = {PositionOutput(load, "y"): Transfer(0.0, 4.0, start[1], start[1] - 2.0, smoothness=3),
               PositionOutput(load, "z"): Transfer(0.0, 4.0, start[2], start[2] + 1.5, smoothness=3)}
    return InverseDynamics(System([boom, jib, load, *joints], gravity=GRAVITY), outputs, state, None, (0.0, t_end),
                           actuators=motors)


@define_problem("trolley-crane", "Overhead trolley crane", "inverse", t_end=3.0, n_elements=60)
def crane(t_end):
    """A trolley that is pushed and a winch that pulls the rope bring a load of 100 kg from one place to another, from
    rest to rest; a flat system, whose controls need four derivatives of the path (Blajer & Kolodziejczyk)."""
    return trolley_crane(t_end=t_end)[0]


@define_problem("elastic-arm", "Arm with an elastic elbow", "inverse", t_end=4.0, n_elements=80)
def arm(t_end):
    """Two bars with a motor at the shoulder and a spring at the elbow, whose end is prescribed; not minimum phase, so
    that no march in time could find the torque (after Seifried)."""
    return elastic_arm(Transfer(t_end / 4, 3 * t_end / 4, 0.0, 1.0, 3), t_end)
