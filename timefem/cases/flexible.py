"""Beams: the right-angle cantilever, a flying beam, a flexible pendulum."""

from timefem import Beam, Force, Line, Section, Spherical, System, Torque, TrianglePulse, Weld

from .table import define_case


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
