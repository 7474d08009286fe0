"""The benchmark bicycle of Meijaard, Papadopoulos, Ruina & Schwab, Proc. R. Soc. A 463 (2007), 1955-1982."""

import numpy as np

from timefem import Pose, Revolute, RigidBody, RollingDisc, System

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
