"""Beams and ropes at rest: orders, closed forms, published and converged states, critical loads."""

import json
import warnings
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import fsolve

import timefem as tf
from tests.example_systems import slope
from timefem.errors import OpenJoint
from timefem.mechanics.composites.beam import Beam, Rope
from timefem.mechanics.composites.section import Curve, Line, RopeSection, Section
from timefem.mechanics.part import Part
from timefem.problems.static import equilibrium, equilibrium_path
from timefem.problems.static.equations import n_negative

pytestmark = pytest.mark.long

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "beams" / "beam_statics.json").read_text())
STRING = json.loads((Path(__file__).parents[1] / "data" / "beams" / "string.json").read_text())


def section(EA, EI, GA=None, GJ=None):
    return Section(EA=EA, GA=EA if GA is None else GA, GJ=EI if GJ is None else GJ, EI=EI, mass=1, inertia=(2, 1, 1))


def clamp(node):
    return tf.Weld(node, point_a=(0, 0, 0), point_b=node.reference.position, orientation=node.reference.quaternion)


def ramp(value):
    return tf.Ramp(0, 1, 0, value)


def roll_up(n_elements, degree, kind=Beam):
    """Error of the tip of a beam that a moment bends to a circle."""
    beam = kind(1.0, section(1e4, 1.0), n_elements, degree)
    moment = tf.Torque(beam.end, (0, 0, 1), time=ramp(2 * np.pi))
    found = equilibrium(tf.System([beam, clamp(beam.start), moment]), t=1.0, n_steps=10)
    assert found.success
    return np.abs(found.position(beam.end)).max()


@pytest.mark.parametrize("degree, errors", [(1, (0.049, 0.0127, 3.2e-3)), (2, (2.0e-4, 1.2e-5, 7.7e-7)),
                                            (3, (2.9e-7, 4.5e-9, 7.1e-11))])
def test_roll_up_orders(degree, errors):
    n = (8, 16, 32)
    measured = [roll_up(i, degree) for i in n]
    assert np.all(np.array(measured) <= 1.05 * np.array(errors))
    assert slope(1 / np.array(n), measured) == pytest.approx(2 * degree, abs=0.15)


class Locking(Beam):
    """A beam with one Gauss point too many."""

    @property
    def n_strain_points(self):
        return self.degree + 1


@pytest.mark.parametrize("degree, n_elements, factor", [(1, 16, 10), (2, 8, 10), (3, 8, 10)])
def test_one_more_point_locks(degree, n_elements, factor):
    assert roll_up(n_elements, degree, Locking) >= factor * roll_up(n_elements, degree)


def test_geradin_cantilever():
    """Geradin & Cardona: EA = 4.8e8 N, GA = 3.231e8 N, EI = 9.346e6 N m^2, 5 m, 600 kN across its tip."""
    beam = Beam(5.0, section(4.8e8, 9.346e6, GA=3.231e8), 8, 3)
    force = tf.Force(beam.end, (0, 0, -1), time=ramp(6e5))
    found = equilibrium(tf.System([beam, clamp(beam.start), force]), t=1.0, n_steps=4)
    known = REFERENCE["geradin"]
    assert np.allclose(found.position(beam.end) - (5, 0, 0), known["tip_u"], rtol=0, atol=1e-7)
    r = found.rotation_matrix(beam.end)
    assert np.arctan2(-r[2, 0], r[0, 0]) == pytest.approx(known["angle"], abs=1e-8)


class Centrifugal(Part):
    """Potential of the mass of an element of a beam that turns about z, `-w/2 rho A Omega^2 |x|^2` at a point."""

    def __init__(self, place, weight):
        self.bodies, self.own_parameters = (place,), np.array([weight])

    @property
    def kind(self):
        return Centrifugal, self.bodies[0].kind

    def energy(self, s):
        return -s.own[0] / 2 * ca.sumsqr(self.bodies[0].frame(s.q[0])[0])


@pytest.mark.parametrize("rotation", ["quaternion", "directors"])
def test_extension_of_a_spinning_beam(rotation):
    """`tan(k L)/k - L` with k^2 = rho A Omega^2 / EA, by axial stretch at the points of the consistent mass."""
    length, n, degree, speed = 10.0, 4, 3, 6.0
    beam = Beam(length, Section(EA=2.8e7, GA=1e7, GJ=1.4e4, EI=1.4e4, mass=1.2, inertia=(12e-4, 7e-4, 6e-4)), n, degree,
                rotation)
    x, w = np.polynomial.legendre.leggauss(degree + 1)
    points = [Centrifugal(beam.at(float(e + (1 + xi) / 2) / n), 1.2 * speed**2 * wi / 2 * length / n)
              for e in range(n) for xi, wi in zip(x, w, strict=True)]
    found = equilibrium(tf.System([beam, clamp(beam.start), *points]))
    assert found.success
    extension = found.position(beam.end)[0] - length
    k = np.sqrt(1.2 * speed**2 / 2.8e7)
    assert extension == pytest.approx(np.tan(k * length) / k - length, abs=1e-12)
    assert extension == pytest.approx(REFERENCE["spin_extension"], abs=1e-12)


def test_bend_of_45_degrees():
    radius = 100.0
    arc = Curve(lambda u: np.stack([radius * np.sin(u), radius * (1 - np.cos(u)), 0 * u], axis=1), np.pi / 4)
    beam = Beam(arc, section(1e7, 1e7 / 12, GA=5e6), 8, 5)
    force = tf.Force(beam.end, (0, 0, 1), time=ramp(600))
    found = equilibrium(tf.System([beam, clamp(beam.start), force]), t=1.0, n_steps=10)
    u = found.position(beam.end) - beam.end.reference.position
    # the reference has the axes x and y of the plane exchanged
    assert np.allclose(u[[1, 0, 2]], REFERENCE["bend45"]["tip_u"], rtol=0, atol=1e-7)


@pytest.mark.parametrize("load", [0, 1, 2])
def test_elastica_with_stretch_is_the_closed_form(load):
    known, EA = REFERENCE["elastica"], 1e4
    lam = known["lam"][load]
    beam = Beam(1.0, section(EA, 1.0), 12, 5)
    found = equilibrium(tf.System([beam, clamp(beam.start), tf.Force(beam.end, (0, 1, 0), time=ramp(lam))]),
                        t=1.0, n_steps=8)
    assert found.position(beam.end) == pytest.approx([known["x"][load], known["y"][load] + lam / EA, 0], abs=1e-7)
    r = found.rotation_matrix(beam.end)
    assert np.arctan2(r[1, 0], r[0, 0]) == pytest.approx(known["theta"][load], abs=1e-7)


@pytest.mark.parametrize("sign", [1, -1])
def test_buckling_of_the_right_angle_frame(sign):
    E, nu, b, h, length = 71240, 0.31, 0.6, 30.0, 240.0
    G = E / 2 / (1 + nu)
    plane = Section(EA=E * b * h, GA=G * b * h, GJ=G * h * b**3 / 3, EI=(E * h * b**3 / 12, E * b * h**3 / 12), mass=1,
                    inertia=(2, 1, 1))
    legs = [Line((0, 0, 0), (length, 0, 0), axis=(0, 1, 0)), Line((length, 0, 0), (length, -length, 0), axis=(1, 0, 0))]
    frame = Beam(legs, plane, 5, 3, triads="space")
    load = tf.Force(frame.end, (1, 0, 0), time=tf.Ramp(0, 2, 0, 2 * sign))
    path = equilibrium_path(tf.System([frame, clamp(frame.start), load]), 1.3, n_steps=10,
                            progress=False)
    assert path.success and path.n_unstable[0] == 0 and path.n_unstable[-1] == 1
    (point,) = path.critical
    assert point["kind"] == "bifurcation"
    # six digits; pulled, the eigenvalue falls by 1.5e-9 of the stiffest where the load grows by one: rounding of 1e-6
    assert sign * point["t"] == pytest.approx(REFERENCE["right_angle_frame"]["P"][sign < 0],
                                              abs=5e-7 if sign > 0 else 2e-6)
    if sign > 0:
        assert point["t"] == pytest.approx(1.087517911, abs=1e-7)  # of 8 x p4
    assert np.abs(point["mode"][2::7]).max() > 10 * np.abs(point["mode"][1::7]).max()  # out of the plane


def test_path_passes_limit_points():
    """Two shallow rods that snap through: load against height of the apex in closed form."""
    a, h = 1.0, 0.2
    strut = RopeSection(100.0, 1.0)
    roof = Rope([Line((-a, 0, 0), (0, 0, h)), Line((0, 0, h), (a, 0, 0))], strut, 1, 1, strain="green")
    apex = roof.at(1)
    system = tf.System([roof, *(tf.PrescribedPosition(node, node.reference.position)
                                for node in (roof.start, roof.end)),
                        tf.Constraint(apex, lambda f, t, c: f[0].position[1], 1),
                        tf.Force(apex, (0, 0, -1), time=tf.Ramp(-10, 10, -10.0, 10.0))])
    path = equilibrium_path(system, 0.6, n_steps=20, progress=False)
    z, length = path.position(apex)[:, 2], np.hypot(a, h)
    force = 2 * 100.0 * (h**2 - z**2) / (2 * length**2) * z / length  # of both rods, by Green's strain
    assert path.success and np.allclose(path.t, force, rtol=0, atol=1e-9)
    limits = [c for c in path.critical if c["kind"] == "limit"]
    peak = h / np.sqrt(3)
    assert sorted(abs(c["t"]) for c in limits) == pytest.approx(
        [100.0 * (h**2 - peak**2) * peak / length**3] * 2, rel=1e-6)


@pytest.mark.parametrize("degree, errors", [(1, (4.7e-2, 1.1e-2, 2.7e-3)), (2, (9.8e-4, 5.8e-5, 4.6e-6)),
                                            (3, (7.7e-5, 2.5e-6, 8.1e-8))])
def test_catenary(degree, errors):
    known = STRING["catenary"]
    EA, w, length, span = (known[name] for name in ("EA", "w", "L", "a"))
    H = known["H"]
    for n, error in zip((8, 16, 32), errors, strict=True):
        rope = Rope(length, RopeSection(EA, w / 9.81), n, degree)
        s = rope.along * length
        V = w * (s - length / 2)
        x = H * s / EA + H / w * (np.arcsinh(V / H) - np.arcsinh(V[0] / H))
        y = (V**2 - V[0]**2) / (2 * EA * w) + H / w * (np.sqrt(1 + V**2 / H**2) - np.sqrt(1 + V[0]**2 / H**2))
        system = tf.System([rope, tf.PrescribedPosition(rope.start, (0, 0, 0)),
                            tf.PrescribedPosition(rope.end, (span, 0, 0))], gravity=(0, -9.81, 0))
        guess = {node: tf.Pose(position=(u, 1.1 * v, 0)) for node, u, v in zip(rope.nodes, x, y, strict=True)}
        found = equilibrium(system, guess)
        assert found.success
        q = found.q.reshape(-1, 3)
        assert np.abs(q - np.stack([x, y, 0 * x], axis=1)).max() <= 1.1 * error
    assert -y.min() == pytest.approx(known["sag"], abs=1e-10)


def test_what_cannot_carry_its_load_says_so():
    rope = Rope(1.0, RopeSection(1.0, 1.0), 2, 1, name="rope")
    with pytest.raises(tf.InputError, match="leaves rope free; hold it by a joint"):
        equilibrium_path(tf.System([rope, tf.Force(rope.end, (1, 0, 0), time=ramp(1.0))]), 1.0)
    free = equilibrium(tf.System([Beam(1.0, section(1.0, 1.0), 1, 1, name="beam")], gravity=(0, 0, -9.81)))
    assert not free.success and "leaves beam free" in free.status.message
    beam = Beam(1.0, section(1e4, 1.0), 1, 1)
    bent = equilibrium(tf.System([beam, clamp(beam.start), tf.Torque(beam.end, (0, 0, 1), time=ramp(50.0))]),
                       t=1.0, n_steps=4)
    assert bent.success or 0 < bent.t < 1  # the last load that is carried is kept


@pytest.mark.parametrize("shift", [(0, 0, 0), (30.0, -20.0, 10.0)])
def test_a_tensegrity_that_floats_rests(shift):
    """Three struts, nine tight cables, nothing that holds the whole: it comes to rest near the guess."""
    twist, height = np.deg2rad(150), 1.5
    angles = 2 * np.pi * np.arange(3) / 3
    feet = np.array([(np.cos(a), np.sin(a), z) for by, z in ((0.0, 0.0), (twist, height)) for a in angles + by])
    ends = [tf.PointMass(1.0, name=f"end {i}") for i in range(6)]
    pairs = [(i, (i + 1) % 3) for i in range(3)] + [(3 + i, 3 + (i + 1) % 3) for i in range(3)]
    slant = [(3 + i, (i + 1) % 3) for i in range(3)]

    def length(i, j):
        return float(np.linalg.norm(feet[i] - feet[j]))

    struts = [tf.RigidDistance(ends[i], ends[3 + i], length=length(i, 3 + i)) for i in range(3)]
    stiffness, stretch = 1000.0, 0.1
    cables = [tf.Spring(ends[i], ends[j], stiffness=stiffness, length=(1 - stretch) * length(i, j))
              for i, j in (*pairs, *slant)]
    system = tf.System([*ends, *struts, *cables])
    near = feet + np.asarray(shift) + 0.02 * np.random.default_rng(0).standard_normal(feet.shape)
    found = equilibrium(system, {end: tf.Pose(tuple(place)) for end, place in zip(ends, near, strict=True)})
    assert found.success and found.n_unstable == 0
    places = found.q.reshape(6, 3)
    forces = np.zeros_like(places)
    for i, j in (*pairs, *slant):
        way = places[j] - places[i]
        pull = stiffness * (1 - (1 - stretch) * length(i, j) / np.linalg.norm(way)) * way
        forces[i] += pull
        forces[j] -= pull
    for i in range(3):  # what cables leave at each end the strut there carries, along itself
        along = (places[3 + i] - places[i]) / np.linalg.norm(places[3 + i] - places[i])
        for end in (i, 3 + i):
            assert np.linalg.norm(np.cross(along, forces[end])) <= 1e-8 * stiffness
    np.testing.assert_allclose(places.mean(axis=0), near.mean(axis=0), rtol=0, atol=1e-3)


def test_a_clamp_across_a_beam_is_named():
    """A quarter of a circle whose start points along y, in a clamp for one along x."""
    circle = tf.Curve(lambda u: np.stack([np.cos(u), np.sin(u), 0 * u], axis=1) / 2, np.pi / 2)
    arc = Beam(circle, tf.Section.circle(E=2e9, nu=0.3, density=1200, radius=0.01), 8)
    clamp = tf.Weld(arc.start, point_a=(0, 0, 0), point_b=(0.5, 0, 0), name="clamp")
    found = equilibrium(tf.System([arc, clamp], gravity=(0, 0, -9.81)))
    assert not found.success and "'clamp: turn about d3' is violated by 1" in found.status.message
    fitting = tf.Weld(arc.start, point_a=(0, 0, 0), point_b=(0.5, 0, 0), orientation=arc.axes[0][0])
    assert equilibrium(tf.System([arc, fitting], gravity=(0, 0, -9.81))).success


def test_springs_count_turns():
    """M = k x, over several turns; an equilibrium that was not found is none to linearize around."""
    bar = tf.RigidBody(0.5, (1e-3, 0.01, 0.01), name="bar")
    hinge = tf.Revolute(bar, point_a=(-0.1, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    load = tf.Torque(bar, (0, 0, 20.0), time=tf.Ramp(0, 1, 0, 1))
    for spring in (tf.JointSpring(hinge, stiffness=1.0), tf.TorsionalSpring(bar, axis=(0, 0, 1), stiffness=1.0)):
        system = tf.System([bar, hinge, spring, load])
        rest = equilibrium(system, t=1.0, n_steps=20)
        assert rest.success and rest.n_unstable == 0
        np.testing.assert_allclose(rest.q[-1], 20.0, rtol=1e-12)
        path = equilibrium_path(system, 1.0)
        assert path.status.success
        np.testing.assert_allclose(path.q[:, -1], 20.0 * path.t, rtol=0, atol=1e-9)
    lost = equilibrium(tf.System([bar, hinge, load]), t=1.0)
    with pytest.raises(tf.InputError, match="was not found"):
        tf.modes(lost.system, lost)
    with pytest.raises(tf.InputError, match="belongs to another system"):
        tf.modes(system, lost)


def test_free_beams_are_named_where_newton_diverges():
    """A beam of several elements runs away before its tangent is singular; so does the part behind a gap."""
    free = equilibrium(tf.System([Beam(1.0, section(1e4, 1.0), 4, name="beam")], gravity=(0, 0, -9.81)))
    assert not free.success and "nothing holds beam," in free.status.message
    lines = [tf.Line((0, 0, 0), (1, 0, 0)), tf.Line((1.001, 0, 0), (2, 0, 0)), tf.Line((2, 0, 0), (2, 1, 0))]
    with pytest.warns(OpenJoint, match="curves 0 and 1 do not meet: their ends are 0.001 m apart"):
        gapped = Beam(lines, section(1e4, 1.0), 2, name="frame")
    assert gapped.pieces == [{0}, {1, 2}]
    found = equilibrium(tf.System([gapped, clamp(gapped.start)], gravity=(0, 0, -9.81)))
    node = int(found.status.message.split("frame.node[")[1].split("]")[0])
    assert not found.success and node in gapped.legs[1] + gapped.legs[2]
    assert "converged" in repr(found) and len(repr(found)) < 500
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Beam([lines[1], lines[2]], section(1e4, 1.0), 2)


def truss(time, n_steps=40):
    """The truss of von Mises: two springs, and a load that pushes their joint through."""
    joint = tf.PointMass(1.0, dimension=2, name="joint")
    springs = [tf.Spring(joint, None, point_b=(x, 0, 0), stiffness=1000, length=np.hypot(1, 0.3)) for x in (-1, 1)]
    system = tf.System([joint, *springs, tf.Force(joint, (0, -1, 0), time=time)])
    return tf.equilibrium_path(system, 40.0, {joint: tf.Pose((0, 0.3, 0))}, n_steps=n_steps, progress=False)


def test_limit_points_of_the_truss():
    """P = 2 k y (L / l - 1) with l^2 = 1 + y^2 is stationary where l^3 = L."""
    length = np.hypot(1, 0.3)
    y = np.sqrt(length ** (2 / 3) - 1)
    load = 2000 * y * (length ** (2 / 3) - 1)
    path = truss(tf.Polynomial([0, 1]))
    assert path.success and [c["kind"] for c in path.critical] == ["limit", "limit"]
    assert "limit at " in repr(path)
    np.testing.assert_allclose([c["t"] for c in path.critical], [load, -load], rtol=1e-11, atol=0)
    np.testing.assert_allclose([c["q"][1] for c in path.critical], [y, -y], rtol=1e-6, atol=0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_steps", [40, 100])
def test_a_path_where_no_load_changes_ends(n_steps):
    """The load of a Ramp does not go below zero, where the truss would have to be pulled."""
    path = truss(tf.Ramp(0, 100, 0, 100), n_steps)
    assert not path.success and "no load changes" in path.status.message and len(path.t) < 50
    (point,) = path.critical
    assert point["kind"] == "limit" and abs(point["t"] - 9.9499169577446) < 1e-9


def test_limit_points_of_a_truss():
    """Two springs, a flat gable, that snap through: both limit loads by their closed form, to round-off."""
    wide, high, k = 1.0, 0.3, 100.0
    rest = np.hypot(wide, high)
    top = tf.PointMass(1.0, name="top")
    springs = [tf.Spring(top, None, point_b=(side * wide, 0, 0), stiffness=k, length=rest) for side in (-1, 1)]
    guide = tf.Constraint(top, "f[0].position[1]", 1)
    push = tf.Force(top, (0, 0, -1), time=tf.Ramp(-1000, 1000, -1000, 1000))
    path = tf.equilibrium_path(tf.System([top, *springs, guide, push]), 8.0, {top: tf.Pose((0, 0, high))},
                               progress=False)
    length = (rest * wide**2)**(1 / 3)  # at which (rest / length - 1) z is largest
    limit = 2 * k * (rest / length - 1) * np.sqrt(length**2 - wide**2)
    assert path.success and [point["kind"] for point in path.critical] == ["limit", "limit"]
    np.testing.assert_allclose([point["t"] for point in path.critical], [limit, -limit], rtol=1e-9)
    np.testing.assert_allclose([point["q"][2] for point in path.critical],
                               [np.sqrt(length**2 - wide**2), -np.sqrt(length**2 - wide**2)], rtol=1e-9)


@pytest.mark.parametrize(("degree", "slack", "error"), [(1, True, 3e-4), (2, True, 3e-7), (3, False, 2e-8)])
def test_a_rope_hangs_between_supports(degree, slack, error):
    """Longer than its supports are apart, from the straight line in which it was made: the elastic catenary."""
    ea, length, span, rise = 50.0, 2.0, 1.5, 0.4
    rope = Rope(Line((0, 0, 0), (length, 0, 0)), RopeSection(EA=ea, mass=1.0), 24 // degree, degree, slack=slack,
                name="rope")
    ends = [tf.Constraint(rope.start, "f[0].position", 3),
            tf.Constraint(rope.end, "f[0].position - c", 3, parameters=[span, 0, rise])]
    rest = equilibrium(tf.System([rope, *ends], gravity=(0, 0, -1.0)))
    assert rest.success and rest.n_unstable == 0

    def gaps(pull):  # Irvine's closed form
        h, v = pull
        rest = v - length
        return (h * length / ea + h * (np.arcsinh(v / h) - np.arcsinh(rest / h)) - span,
                (length**2 / 2 - v * length) / ea - np.hypot(h, v) + np.hypot(h, rest) - rise)

    h, v = fsolve(gaps, [0.5, 0.8], xtol=1e-14)
    np.testing.assert_allclose(rest.multipliers[:3], [h, 0, -v], rtol=0, atol=error)


@pytest.mark.parametrize("n_steps", [1, 5])
def test_skew_bending_by_a_load_that_does_not_change(n_steps):
    """The Princeton beam at 45 degrees, 13.345 N: as by a load that grows, held by its clamp."""
    load, turn = np.array([0, 0, -13.345]), np.sqrt(0.5)
    section = tf.Section.rectangle(E=71.7e9, nu=0.31, density=2800, width=3.2024e-3, height=12.377e-3)

    def rest(time, **how):
        line = tf.Line((0, 0, 0), (0.508, 0, 0), axis=(0, turn, turn))
        beam = tf.Beam(line, section, 6, triads="space", name="beam")
        clamp = tf.Weld(beam.start, point_a=(0, 0, 0), point_b=(0, 0, 0), name="clamp")
        found = tf.equilibrium(tf.System([beam, clamp, tf.Force(beam.end, load, time=time)]), **how)
        assert found.success and found.n_unstable == 0
        return found, found.position(beam.end)

    found, tip = rest(1.0, n_steps=n_steps)
    _, grown = rest(tf.Ramp(0, 1, 0, 1), t=1.0, n_steps=5)
    assert found.t == 0 and np.abs(tip - grown).max() < 1e-9
    assert np.abs(found.joint("clamp").torque() + np.cross(tip, load)).max() < 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_unstable_directions_are_counted_by_pivots(seed):
    """As many as negative eigenvalues less those of constraints: of indefinite, singular and coupled matrices."""
    rng = np.random.default_rng(seed)
    n, m = 40, 12
    k = scipy.sparse.diags_array([rng.standard_normal(n - abs(i)) for i in (-2, -1, 0, 1, 2)], offsets=range(-2, 3))
    g = scipy.sparse.random_array((m, n), density=0.1, rng=rng) + scipy.sparse.eye_array(m, n, k=5 * (seed % 3))
    k = k + k.T if seed % 2 else k @ k.T - 3 * g.T @ g  # the second is unstable only without its constraints
    matrix = scipy.sparse.block_array([[k, g.T], [g, None]], format="csc")
    negative = (np.linalg.eigvalsh(matrix.toarray()) < 0).sum()
    assert n_negative(matrix, n) == negative
    assert negative > m if seed % 2 else negative == m


def test_a_beam_of_many_elements_hangs_in_seconds():
    """600 nodes: no dense matrix of all unknowns is formed."""
    arm = Beam(1.0, tf.Section.circle(E=2e9, nu=0.3, density=1200, radius=0.01), 200, 3)
    found = equilibrium(tf.System([arm, clamp(arm.start)], gravity=(0, 0, -9.81)))
    coarse = Beam(1.0, tf.Section.circle(E=2e9, nu=0.3, density=1200, radius=0.01), 20, 3)
    other = equilibrium(tf.System([coarse, clamp(coarse.start)], gravity=(0, 0, -9.81)))
    assert found.success and found.n_unstable == 0
    np.testing.assert_allclose(found.position(arm.end), other.position(coarse.end), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_guess_of_rounding_is_one_of_zero(kind):
    """Steps were measured by the coordinates of the guess, of 1e-17: what hangs on springs fell without end."""
    links = [tf.Link("base"), *(tf.Link(name, mass=1.5, centre=(0.3, 0, 0), inertia=(0.1, 0.2, 0.2)) for name in "ab")]
    joints = [tf.TreeJoint(f"joint {b}", a, b, kind=kind, axis=(0, 1, 0)) for a, b in (("base", "a"), ("a", "b"))]
    tree = tf.Tree(links, joints, name="tree")
    springs = [tf.JointSpring(tree.joint(f"joint {name}"), stiffness=k) for name, k in (("a", 1e4), ("b", 3.0))]
    system = tf.System([tree, *springs], gravity=(0, 9.81, -9.81))
    rest = tf.equilibrium(system, {tree: {"joint a": 0.0, "joint b": 0.0}})
    assert rest.success and np.abs(rest.q).min() > 1e-4
    for guess in (1e-17, -1e-16, 1e-300, 1e-12):
        found = tf.equilibrium(system, {tree: {"joint a": guess, "joint b": -guess}})
        np.testing.assert_allclose(found.q, rest.q, rtol=1e-9)


def test_curves_through_points():
    """A spline through 21 points of a circle is the circle to its order, and two points are a line."""
    u = np.linspace(0, np.pi / 2, 21)
    circle = tf.Curve(np.stack([np.cos(u), np.sin(u), 0 * u], axis=1), np.pi / 2)
    np.testing.assert_allclose(circle.length, np.pi / 2, rtol=1e-6)
    x, axes = circle.at(np.linspace(0, circle.length, 7))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose((axes[:, :, 0] * x).sum(axis=1), 0, atol=1e-4)
    assert tf.Curve([(0, 0, 0), (3, 4, 0)], 1.0).length == pytest.approx(5)
    with pytest.raises(tf.InputError, match="a function, or two points or more"):
        tf.Curve([(0, 0, 0)], 1.0)


@pytest.mark.parametrize("inertia", [1e-1, 1e-9])
def test_columns_of_thin_sections_fall_as_well(inertia):
    """Rounding of turns of thin sections hid that a column above Euler's load falls: no warning."""
    section = Section(EA=1e6, GA=1e7, GJ=1, EI=1, mass=1, inertia=(2 * inertia, inertia, inertia))
    column = Beam(1.0, section, 4)
    with pytest.warns(tf.errors.Unstable, match="unstable in 2 directions"):
        equilibrium(tf.System([column, clamp(column.start), tf.Force(column.end, (-3.0, 0, 0))]))
