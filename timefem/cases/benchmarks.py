"""Mechanisms on hinges with published numbers: more hinge constraints than the motion needs, some are redundant."""

import numpy as np

from timefem import Pose, Revolute, RigidBody, Spring, System, Torque

from .single_bodies import box_inertia
from .table import define_case

VERTICAL = (0, 0, 1)


@define_case("andrews-squeezer", "Andrews' squeezing mechanism", t_end=0.03, n_elements=400, conserved_axes=())
def andrews_squeezer(**rotation):
    """Seven bodies on ten parallel hinges with a spring, driven by a constant torque from rest: Andrews' squeezing
    mechanism in three dimensions, with nine redundant constraints (Schiehlen 1990; Hairer & Wanner, Solving Ordinary
    Differential Equations II, VII.7; Test Set for IVP Solvers, problem andrews)."""
    a, b, c = (-0.06934, -0.00227, 0), (-0.03635, 0.03273, 0), (0.014, 0.072, 0)  # fixed points
    crank, link = 0.007, 0.028
    beta, theta, gamma = -0.0617138900142764496, 0.0, 0.455279819163070380
    phi, delta, omega, epsilon = 0.222668390165885885, 0.487364979543842550, -0.222668390165885885, 1.23054744454982119
    # mass, inertia about the centre of mass, angle, origin of the body axes in space, centre of mass in body axes;
    # bodies 2, 3, 4 and 6 meet in one point
    origin2 = crank * direction(beta)
    meet = origin2 - link * direction(beta + theta)
    table = [
        (0.04325, 2.194e-6, beta, (0, 0, 0), (0.00092, 0, 0)),
        (0.00365, 4.410e-7, beta + theta, origin2, (-0.0115, 0, 0)),
        (0.02373, 5.255e-6, gamma, b, (0.01043, -0.01874, 0)),
        (0.00706, 5.667e-7, phi + delta, meet, (0, 0.01421, 0)),
        (0.07050, 1.169e-5, delta, a, (0.02308, 0.00916, 0)),
        (0.00706, 5.667e-7, omega + epsilon, meet, (-0.01421, 0, 0)),
        (0.05498, 1.912e-5, epsilon, a, (-0.01228, -0.00449, 0)),
    ]
    bodies, state, centres = [], {}, []
    for i, (mass, inertia, angle, origin, centre) in enumerate(table):
        # a planar motion knows the inertia about e3 only
        body = RigidBody(mass, (inertia,) * 3, name=f"body{i + 1}", **rotation)
        turn = np.column_stack([direction(angle), direction(angle + np.pi / 2), VERTICAL])
        state[body] = Pose(position=np.add(origin, turn @ centre), orientation=turn)
        bodies.append(body)
        centres.append(np.array(centre))

    def point(i, place):
        """A place in the axes of body i, seen from its centre of mass; i = 0 is the ground."""
        return np.array(place) - centres[i - 1] if i else place

    def hinge(i, j, at_i, at_j):
        return Revolute(bodies[i - 1], bodies[j - 1] if j else None, point_a=point(i, at_i), point_b=point(j, at_j),
                        axis_a=VERTICAL, axis_b=VERTICAL, name=f"hinge {i}-{j}")

    zero, end3 = (0, 0, 0), (0, -0.035, 0)
    hinges = [hinge(1, 0, zero, zero), hinge(2, 1, zero, (crank, 0, 0)), hinge(3, 0, zero, b),
              hinge(2, 3, (-link, 0, 0), end3), hinge(4, 3, zero, end3), hinge(6, 3, zero, end3),
              hinge(5, 0, zero, a), hinge(4, 5, (0, 0.02, 0), (0.04, 0, 0)), hinge(7, 0, zero, a),
              hinge(6, 7, (-0.02, 0, 0), (0, -0.04, 0))]
    loads = [Spring(bodies[2], point_a=point(3, (0.02, -0.018, 0)), point_b=c, stiffness=4530, length=0.07785),
             Torque(bodies[0], (0, 0, 0.033))]
    return System([*bodies, *hinges, *loads], redundant="drop"), state


def direction(angle):
    """Unit vector in the plane of e1 and e2."""
    return np.array([np.cos(angle), np.sin(angle), 0])


@define_case("bricard", "Bricard's mechanism", t_end=10.0, n_elements=1000, conserved_axes=())
def bricard(**rotation):
    """Five bars of 1 m and 1 kg on six hinges along edges of a cube, let go under gravity along -e2: a motion that only
    exists for these lengths and angles, with one redundant constraint (benchmark A04 of the IFToMM library of
    multibody problems; Gonzalez, Dopico, Lugris & Cuadrado 2006)."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    bars, state, joints = [], {}, []
    for i in range(5):
        centre, size = (corners[i] + corners[i + 1]) / 2, np.maximum(abs(corners[i + 1] - corners[i]), 0.1)
        bars.append(RigidBody(1, box_inertia(1, size), size=size, name=f"bar{i + 1}", **rotation))
        state[bars[i]] = Pose(position=centre)
    for i, (corner, axis) in enumerate(zip(corners, axes, strict=True)):
        # the body axes are parallel to those of space at the start
        a, b = (bars[i], bars[i - 1] if i else None) if i < 5 else (bars[4], None)
        place = corner - (state[b].position if b else 0)
        joints.append(Revolute(a, b, point_a=corner - state[a].position, point_b=place, axis_a=axis, axis_b=axis,
                               name=f"hinge{i}"))
    return System([*bars, *joints], gravity=(0, -9.81, 0), redundant="drop"), state
