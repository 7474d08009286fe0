"""Cases with conditions at both ends of the time span."""

import numpy as np

from timefem import BoundaryValueProblem, EndState, Pose, RayleighDissipation, Revolute, RigidBody, System

from .single_bodies import GRAVITY, box_inertia
from .table import define_problem

HINGE = {"axis_a": (1, 0, 0), "axis_b": (1, 0, 0)}


def about_x(angle):
    """Rotation matrix of a turn about e1."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def hung_bar(angle):
    """Pose of the bar of 10 m along e2, held at one end, at an angle above the horizontal."""
    turn = about_x(angle)
    return Pose(turn @ [0, 5, 0], turn)


def pendulum(*further, **rotation):
    """The bar of the case physical-pendulum on a hinge, and the System with parts `make(bar)` besides."""
    size = (1.0, 10.0, 1.0)
    bar = RigidBody(100, box_inertia(100, size), size=size, name="pendulum", **rotation)
    hinge = Revolute(bar, point_a=(0, -5, 0), point_b=(0, 0, 0), name="hinge", **HINGE)
    return bar, System([bar, hinge, *(make(bar) for make in further)], gravity=GRAVITY)


@define_problem("pendulum-boundary", "Pendulum between two angles", "boundary", t_end=1.3, n_elements=40)
def pendulum_boundary(t_end, **rotation):
    """The physical pendulum, sent from 60 degrees below the horizontal so that it is 30 degrees above it at the end."""
    bar, system = pendulum(**rotation)
    return BoundaryValueProblem(system, (0.0, t_end), {bar: hung_bar(-np.pi / 3)}, {bar: hung_bar(np.pi / 6)})


@define_problem("reorientation", "Free body between two orientations", "boundary", t_end=2.0, n_elements=40)
def reorientation(t_end, **rotation):
    """A free body with the principal inertias 5, 26, 29 kg m^2 that turns by 2.5 rad about (1, 2, 2)/3, without
    torques."""
    body = RigidBody(12, (5, 26, 29), size=(5, 2, 1), name="body", **rotation)
    turned = np.append(np.cos(1.25), np.sin(1.25) * np.array([1, 2, 2]) / 3)
    return BoundaryValueProblem(System([body]), (0.0, t_end), {body: Pose()}, {body: Pose(orientation=turned)})


@define_problem("four-bar-boundary", "Four-bar between two poses", "boundary", t_end=1.0, n_elements=60)
def four_bar_boundary(t_end, **rotation):
    """A crank of 1 m, a coupler of 3 m and a rocker of 2.5 m under gravity, hinged to the ground 3 m apart, between
    two poses of the crank, 0.4 and 2.2 rad above the horizontal; a closed loop with redundant constraints."""
    lengths, ground = {"crank": 1.0, "coupler": 3.0, "rocker": 2.5}, 3.0
    bars = {name: RigidBody(l, box_inertia(l, (0.1, l, 0.1)), size=(0.1, l, 0.1), name=name, **rotation)
            for name, l in lengths.items()}
    crank, coupler, rocker = bars.values()
    low, high = ({bar: (0, side * lengths[name] / 2, 0) for name, bar in bars.items()} for side in (-1, 1))
    joints = [Revolute(crank, point_a=low[crank], point_b=(0, 0, 0), **HINGE),
              Revolute(crank, coupler, point_a=high[crank], point_b=low[coupler], **HINGE),
              Revolute(coupler, rocker, point_a=high[coupler], point_b=high[rocker], **HINGE),
              Revolute(rocker, point_a=low[rocker], point_b=(0, ground, 0), **HINGE)]

    def poses(turn):
        pin, post = np.array([np.cos(turn), np.sin(turn)]), np.array([ground, 0])
        way = np.linalg.norm(post - pin)
        along = (lengths["coupler"]**2 - lengths["rocker"]**2 + way**2) / (2 * way)
        u = (post - pin) / way
        top = pin + along * u + np.sqrt(lengths["coupler"]**2 - along**2) * np.array([-u[1], u[0]])
        found = {}
        for bar, a, b in ((crank, 0 * pin, pin), (coupler, pin, top), (rocker, post, top)):
            found[bar] = Pose((0, *(a + b) / 2), about_x(np.arctan2(*(b - a)[::-1])))
        return found

    system = System([*bars.values(), *joints], gravity=GRAVITY, redundant="drop")
    return BoundaryValueProblem(system, (0.0, t_end), poses(0.4), poses(2.2))


@define_problem("pendulum-periodic", "Periodic swing of a pendulum", "boundary", t_end=6.3, n_elements=60)
def pendulum_periodic(t_end, **rotation):
    """The physical pendulum from rest at 2 rad from hanging down and back; unknown are the period, of which t_end is a
    guess, and the resistance of the air, which turns out to be zero."""
    bar, system = pendulum(lambda bar: RayleighDissipation(bar, name="air"), **rotation)
    start = hung_bar(2.0 - np.pi / 2)
    rest = EndState(start.position, start.orientation, (0, 0, 0), (0, 0, 0))
    air = next(part for part in system.parts if part.name == "air")
    return BoundaryValueProblem(system, (0.0, t_end), {bar: rest}, periodic=True, free_time=True,
                                parameters={"resistance": (air, "linear")})
