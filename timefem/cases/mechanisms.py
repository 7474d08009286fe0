"""Cases of several bodies."""

import casadi as ca
import numpy as np

from timefem import (
    Beam,
    Coordinates,
    FixedPoint,
    Force,
    GeneralizedSystem,
    Line,
    MassProperties,
    Pose,
    Prismatic,
    Ramp,
    Revolute,
    RigidBody,
    Section,
    Spherical,
    Spring,
    System,
    Torque,
    TrianglePulse,
    Universal,
    Weld,
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


@define_case("closed-chain-4", "Closed chain of four links", t_end=5.0, n_elements=2000, conserved_axes=(2,))
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


# ---- Mechanisms on hinges with published numbers: more hinge constraints than the motion needs, some are redundant

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


# ---- Cases given by formulas in generalized coordinates; parameters of the public code plkinon/metis

@define_case("mass-spring", "Two masses in redundant coordinates", t_end=10.0, n_elements=200, conserved_axes=())
def mass_spring():
    """Two masses in a row on nonlinear springs, in three coordinates with one constraint and a singular mass matrix
    (Kinon & Betsch, MUBO 2024, 5.1)."""
    m1, m2, k1, k2, gap = 2, 1, 1, 3, 1.1  # gap: rest length of the first spring and width of the first mass
    system = GeneralizedSystem(3, _two_masses, _two_springs, _attached, parameters=(m1, m2, k1, k2, gap),
                               names=["attached"], regularize=True, name="masses")
    return system, Coordinates(q=(0, gap, 0), v=(1, 1, -1))


def _two_masses(q, v, c):
    return c[0] / 2 * v[0] ** 2 + c[1] / 2 * (v[1] + v[2]) ** 2


def _two_springs(q, c):
    return c[2] / 4 * (q[0] ** 2 + q[0] ** 4) + c[3] / 4 * (q[2] ** 2 + q[2] ** 4)


def _attached(q, c):
    return q[1] - q[0] - c[4]


@define_case("spring-pendulum", "Nonlinear spring pendulum", t_end=1.0, n_elements=100, conserved_axes=())
def spring_pendulum():
    """A mass on a stiff nonlinear spring without gravity, in spherical coordinates (distance, polar angle, azimuth),
    so that the mass matrix varies (Kinon & Betsch, MUBO 2024, 5.2)."""
    mass, stiffness, length = 1, 300, 1  # [kg], E A [N], of the spring without load [m]
    system = GeneralizedSystem(3, _spherical, _stretch, parameters=(mass, stiffness, length), name="pendulum")
    return system, Coordinates(q=(1.05, np.pi / 2, 0), v=(0, 1, 1))


def _spherical(q, v, c):
    r, polar = q[0], q[1]
    return c[0] / 2 * (v[0] ** 2 + (r * v[1]) ** 2 + (r * ca.sin(polar) * v[2]) ** 2)


def _stretch(q, c):
    return c[1] / 2 * ((q[0] ** 2 - c[2] ** 2) / (2 * c[2] ** 2)) ** 2  # of the Green strain


# ---- Beams: the right-angle cantilever, a flying beam, a flexible pendulum

@define_case("right-angle-cantilever", "Right-angle cantilever beam", t_end=4.0, n_elements=400, conserved_axes=())
def right_angle_cantilever(rotation="quaternion", elements_space=5, degree_space=3):
    """Two beams of 10 m at a right angle, clamped at the first and pushed out of their plane at the elbow by a force
    that rises to 50 N in 1 s and falls to zero in another (Simo & Vu-Quoc; Zupan & Zupan, figures 7 to 9). In directors
    with consistent mass, which is singular: for elements that do without its inverse."""
    section = Section(EA=1e6, GA=1e6, GJ=1e3, EI=1e3, mass=1, inertia=(20, 10, 10))
    beam = Beam([Line((0, 0, 0), (10, 0, 0)), Line((10, 0, 0), (10, 10, 0))], section, elements_space, degree_space,
                rotation, "space", "lumped" if rotation == "quaternion" else "consistent",
                marks=[("elbow", 1), ("tip", 2)], name="cantilever")
    clamp = Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0), name="clamp")
    load = Force(beam.at(1), (0, 0, 1), time=TrianglePulse(0, 1, 2, 50), name="load")
    return System([beam, clamp, load]), {}


@define_case("flying-beam", "Free flexible beam, thrown", t_end=5.0, n_elements=200, conserved_axes=())
def flying_beam(rotation="quaternion", elements_space=10, degree_space=3):
    """A free straight beam of 10 m, thrown by a force and a moment at one end that last 5 s (Simo & Vu-Quoc, Hsiao)."""
    section = Section(EA=1e4, GA=1e4, GJ=500, EI=500, mass=1, inertia=(10, 10, 10))
    beam = Beam(Line((6, 0, 0), (0, 8, 0)), section, elements_space, degree_space, rotation, triads="space",
                marks=[("loaded end", 0), ("other end", 1)], name="beam")
    pulse = TrianglePulse(0, 2.5, 5, 200)
    system = System([beam, Force(beam.start, (0.1, 0, 0), time=pulse, name="force"),
                     Torque(beam.start, (0, -0.5, -1), time=pulse, frame="space", name="moment")])
    return system, {}


@define_case("flexible-pendulum", "Flexible pendulum", t_end=1.0, n_elements=100, conserved_axes=())
def flexible_pendulum(elements_space=10, degree_space=3):
    """A soft beam of 1 m, hinged at one end and let go from the horizontal."""
    section = Section(EA=1e4, GA=1e4, GJ=1, EI=1, mass=1, inertia=(2e-4, 1e-4, 1e-4))
    beam = Beam(1.0, section, elements_space, degree_space, marks=[("tip", 1)], name="beam")
    hinge = Spherical(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0), name="hinge")
    return System([beam, hinge], gravity=(0, -9.81, 0)), {}
