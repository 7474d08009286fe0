"""Cases of optimal control."""

import numpy as np

from timefem import ControlTorque, Effort, EndState, OptimalControl, Pose, Revolute, RigidBody, System

from .table import define_problem


@define_problem("reorientation-effort", "Reorientation with least effort", "optimal", t_end=2.0, n_elements=100)
def reorientation_effort(t_end, **rotation):
    """A free body with the principal inertias 5, 26, 29 kg m^2 turns by 2.5 rad about (1, 2, 2)/3, from rest to rest,
    by the torques with the least integral of their squares."""
    body = RigidBody(12, (5, 26, 29), size=(5, 2, 1), name="body", **rotation)
    turned = np.append(np.cos(1.25), np.sin(1.25) * np.array([1, 2, 2]) / 3)
    end = EndState(orientation=turned, angular_velocity=(0, 0, 0))
    wheels = ControlTorque(body, name="wheels")
    return OptimalControl(System([body]), {body: Pose()}, {body: end}, (0.0, t_end), cost=Effort(wheels))


@define_problem("slew-time", "Slew in least time", "optimal", t_end=2.0, n_elements=50)
def slew_time(t_end, **rotation):
    """A body on a hinge, of 2 kg m^2 about it, turns by 1 rad, from rest to rest, in the least time, with a torque of
    4 N m at most; the time is sqrt(2) s, of which t_end is a guess."""
    body = RigidBody(1, (1, 2, 2), name="body", **rotation)
    end = EndState(orientation=(np.cos(0.5), 0, 0, np.sin(0.5)), angular_velocity=(0, 0, 0))
    motor = ControlTorque(body, [(0, 0, 1)], name="motor")
    hinge = Revolute(body, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    return OptimalControl(System([body, hinge]), {body: Pose()}, {body: end}, (0.0, t_end), actuators=motor,
                          free_time=True, end_cost=lambda end, parameters: parameters["duration"],
                          bounds={motor: (-4, 4), "duration": (0.1, 10)})
