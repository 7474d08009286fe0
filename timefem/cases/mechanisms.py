"""Cases of several bodies."""

import numpy as np

from timefem import (
    FixedPoint,
    Force,
    MassProperties,
    Pose,
    Prismatic,
    Ramp,
    Revolute,
    RigidBody,
    Spherical,
    System,
    Torque,
    TrianglePulse,
    Universal,
)

from .single_bodies import GRAVITY, box_inertia
from .table import define_case


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


@define_case("slider-crank", "Slider-crank", t_end=1.0, n_elements=200, conserved_axes=())
def slider_crank(**rotation):
    """A crank of 0.3 m, turned from rest by a growing torque, drives a slider through a rod of 0.5 m, in the plane of
    e2 and e3 under gravity."""
    solids = {"crank": MassProperties.cylinder(0.02, 0.3, 7850), "rod": MassProperties.cylinder(0.02, 0.5, 7850),
              "slider": MassProperties.cuboid(0.1, 0.1, 0.05, 7850)}
    crank, rod, slider = (RigidBody(solid.mass, solid.inertia, name=name, **rotation)
                          for name, solid in solids.items())
    e1, e2, pin, origin = (1, 0, 0), (0, 1, 0), (0, 0, 0.25), (0, 0, 0)
    joints = [Revolute(crank, point_a=(0, 0, -0.15), point_b=origin, axis_a=e1, axis_b=e1, name="shaft"),
              Spherical(crank, rod, point_a=(0, 0, 0.15), point_b=np.negative(pin), name="crank_pin"),
              # one axis keeps the rod from turning about itself
              Universal(rod, slider, point_a=pin, point_b=origin, axis_a=e2, axis_b=e1, name="slider_pin"),
              Prismatic(slider, point_a=origin, point_b=origin, axis_b=e2, name="guide")]
    motor = Torque(crank, [Ramp(0, 1, 0, -40), 0, 0], name="motor")
    state = {crank: Pose(position=(0, 0, 0.15)), slider: Pose(position=(0, 0.4, 0)),
             rod: Pose(position=(0, 0.2, 0.15), orientation=[[1, 0, 0], [0, -0.6, 0.8], [0, -0.8, -0.6]])}
    return System([crank, rod, slider, *joints, motor], gravity=GRAVITY), state


@define_case("closed-chain-4", "Closed chain of four links", t_end=5.0, n_elements=1000, conserved_axes=(2,))
def closed_chain_4(**rotation):
    """Four bars of 1 m and 1 kg in a ring of spherical joints, hung from one of them and let go, slowly turning."""
    return ring(4, **rotation)


@define_case("closed-chain", "Closed chain of five links", t_end=10.0, n_elements=2000, conserved_axes=(2,))
def closed_chain(**rotation):
    """Five bars of 1 m and 1 kg in a ring of spherical joints, hung from one of them and let go, slowly turning."""
    return ring(5, **rotation)


@define_case("closed-chain-10", "Closed chain of ten links", t_end=5.0, n_elements=1000, conserved_axes=(2,))
def closed_chain_10(**rotation):
    """Ten bars of 1 m and 1 kg in a ring of spherical joints, hung from one of them and let go, slowly turning."""
    return ring(10, **rotation)


@define_case("closed-chain-100", "Closed chain of a hundred links", t_end=1.0, n_elements=100, conserved_axes=(2,))
def closed_chain_100(**rotation):
    """A hundred bars of 1 m and 1 kg in a ring of spherical joints, hung from one of them and let go, slowly
    turning."""
    return ring(100, **rotation)


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
