"""Cases of several bodies."""

import numpy as np

from ..mechanics import FixedPoint, Force, Pose, Revolute, RigidBody, Spherical, System, Torque, TrianglePulse
from .cases import GRAVITY, box_inertia, define_case


@define_case("four-bar", "Closed loop of four bars", t_end=2.0, n_elements=200, conserved_axes=())
def four_bar(**rotation):
    """Four bars of 10 m and 10 kg, joined to a square by spherical joints, free in space, pushed and twisted by a pulse
    on the first bar (Kinon & Betsch 5.5)."""
    inertia = 1.6666666666666667, 84.16666666666667  # about the long axis, across it
    centres = np.array([[5, 0, 0], [0, 5, 0], [-5, 0, 0], [0, -5, 0]], float)
    bars = []
    for i, _ in enumerate(centres):
        across_e2 = i % 2 == 0  # bars 1 and 3 lie along e2
        principal = (inertia[1], inertia[0], inertia[1]) if across_e2 else (inertia[0], inertia[1], inertia[1])
        size = (1, 10, 1) if across_e2 else (10, 1, 1)
        bars.append(RigidBody(10, principal, size=size, name=f"bar{i + 1}", **rotation))
    ends = [((0, 5, 0), (5, 0, 0)), ((-5, 0, 0), (0, 5, 0)), ((0, -5, 0), (-5, 0, 0)), ((5, 0, 0), (0, -5, 0))]
    joints = [Spherical(bars[i], bars[(i + 1) % 4], point_a=a, point_b=b) for i, (a, b) in enumerate(ends)]
    pulse = TrianglePulse(0.0, 0.5, 1.0, 100.0)
    loads = [Force(bars[0], (8, 0, 0), time=pulse), Torque(bars[0], (6, 0, 0), time=pulse)]
    return System([*bars, *joints, *loads]), {bar: Pose(position=c) for bar, c in zip(bars, centres, strict=True)}


@define_case("double-pendulum", "Double pendulum of bars", t_end=5.0, n_elements=500, conserved_axes=())
def double_pendulum(**rotation):
    """Two bars of 1 m and 1 kg, hinged to the ground and to each other about e1, let go from the horizontal."""
    size = (0.1, 1.0, 0.1)
    bars = [RigidBody(1, box_inertia(1, size), size=size, name=f"bar{i + 1}", **rotation) for i in range(2)]
    hinge = dict(axis_a=(1, 0, 0), axis_b=(1, 0, 0))
    joints = [Revolute(bars[0], point_a=(0, -0.5, 0), point_b=(0, 0, 0), **hinge),
              Revolute(bars[0], bars[1], point_a=(0, 0.5, 0), point_b=(0, -0.5, 0), **hinge)]
    return System([*bars, *joints], gravity=GRAVITY), {bars[0]: Pose(position=(0, 0.5, 0)),
                                                       bars[1]: Pose(position=(0, 1.5, 0))}


@define_case("closed-chain", "Closed chain of five links", t_end=10.0, n_elements=2000, conserved_axes=(2,))
def closed_chain(**rotation):
    """Five bars of 1 m and 1 kg in a ring of spherical joints, hung from one of them and let go, slightly twisted."""
    return ring(5, **rotation)


def ring(n, **rotation):
    """A ring of n bars joined by spherical joints and hung from the ground at the first one: System and state."""
    size = (0.1, 1.0, 0.1)
    bars = [RigidBody(1, box_inertia(1, size), size=size, name=f"bar{i + 1}", **rotation) for i in range(n)]
    turns = 2 * np.pi * np.arange(n) / n
    corners = np.zeros((n + 1, 3))
    state = {}
    for i, (bar, turn) in enumerate(zip(bars, turns, strict=True)):
        direction = np.array([0, np.cos(turn), -np.sin(turn)])
        corners[i + 1] = corners[i] + direction
        spin = np.array([0, 0, 0.5])  # the whole ring starts to turn about the vertical
        centre = corners[i] + direction / 2
        state[bar] = Pose(position=centre, orientation=(np.cos(turn / 2), -np.sin(turn / 2), 0, 0),
                          velocity=np.cross(spin, centre), angular_velocity=spin, frame="space")
    joints = [Spherical(bars[i], bars[(i + 1) % n], point_a=(0, 0.5, 0), point_b=(0, -0.5, 0)) for i in range(n)]
    return System([*bars, *joints, FixedPoint(bars[0], point=(0, -0.5, 0))], gravity=GRAVITY), state
