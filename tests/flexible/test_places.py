"""Points between nodes, loads there and along beams, and what is reported along them."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
import scipy

import timefem as tf
from timefem.mechanics.bodies import rotations
from timefem.mechanics.bodies.states import Pose
from timefem.models import load_model

pytestmark = pytest.mark.long

THICK = tf.Section(EA=1e4, GA=8e3, GJ=1.5, EI=(1.0, 2.0), mass=1, inertia=(1.5, 1.2, 1.1))
LEGS = [tf.Line((0, 0, 0), (1, 0, 0)), tf.Line((1, 0, 0), (1, 1, 0.5))]
BOTH = pytest.mark.parametrize("rotation", ["quaternion", "directors"])


def clamp(node):
    return tf.Weld(node, point_a=(0, 0, 0), point_b=node.reference.position, orientation=node.reference.quaternion)


def frame(rotation="quaternion", triads="section", **options):
    return tf.Beam(LEGS, THICK, 2, 3, rotation, triads, name="frame", **options)


def bent(system, size=0.3):
    """A state with every node moved and turned at random, in motion."""
    rng, state = np.random.default_rng(1), []
    for body in system.bodies:
        rest = body.reference
        pose = Pose(rest.position + size * rng.normal(size=3), velocity=rng.normal(size=3))
        if body.has_orientation:
            turn = np.append(1, size * rng.normal(size=3))
            quaternion = rotations.product(turn / np.linalg.norm(turn), rest.quaternion)
            pose = Pose(pose.position, quaternion, pose.velocity, rng.normal(size=3))
        state.append(body.state(pose))
    return np.concatenate([np.concatenate(half) for half in zip(*state, strict=True)])


def resultants(beam, load, z):
    """Force and moment about the origin of a load, by the work that it does in rigid motions of space."""
    system = tf.System([beam])
    force = system.derivatives(0.0, z)[0] - tf.System([beam, load]).derivatives(0.0, z)[0]
    total, moment = np.zeros(3), np.zeros(3)
    for body in system.bodies:
        place = system.coordinates(body)
        total += force[place][:3]
        moment += np.cross(z[place][:3], force[place][:3])
        moment += body.turning(z[place])[0].T @ force[place] if body.has_orientation else 0
    return total, moment


@BOTH
@pytest.mark.parametrize("triads", ["section", "space"])
def test_loads_at_any_point_have_their_force_and_moment(rotation, triads):
    beam, value = frame(rotation, triads), np.array([0.3, -0.5, 0.7])
    z, place = bent(tf.System([beam])), beam.at(1.37)
    q = z[tf.System([beam]).coordinates(place)]
    symbol = ca.SX.sym("q", place.n_q)
    x, axes = (np.array(v).squeeze() for v in ca.Function("frame", [symbol], place.frame(symbol))(q))
    assert np.allclose(x, place.position(q), rtol=0, atol=1e-14)
    if rotation == "quaternion":  # directors are orthonormal at the nodes only
        assert np.allclose(axes, place.rotation_matrix(q), rtol=0, atol=1e-13)
    arm = axes @ (0.1, 0.2, -0.1)
    for load, force, moment in [(tf.Force(place, value), value, np.cross(x, value)),
                                (tf.Force(place, value, point=(0.1, 0.2, -0.1)), value, np.cross(x + arm, value)),
                                (tf.Force(place, value, frame="body"), axes @ value, np.cross(x, axes @ value)),
                                (tf.Torque(place, value), 0 * value, value),
                                (tf.Torque(place, value, frame="body"), 0 * value, axes @ value)]:
        found = resultants(beam, load, z)
        assert np.allclose(found[0], force, rtol=0, atol=1e-10)
        assert np.allclose(found[1], moment, rtol=0, atol=1e-10)


@BOTH
def test_loads_along_a_beam_are_those_of_many_points(rotation):
    beam, value = frame(rotation, "space"), np.array([0.3, -0.5, 0.7])
    system = tf.System([beam])
    z = bent(system)
    ends = np.array([0.2, 0.5, 0.9, 1.0, 1.5, 1.6])  # of the elements, of the load, and of its profile
    x, w = np.polynomial.legendre.leggauss(30)
    s = np.concatenate([(a + b) / 2 + (b - a) / 2 * x for a, b in pairwise(ends.tolist())])
    weight = np.concatenate([(b - a) / 2 * w for a, b in pairwise(ends.tolist())])
    weight *= np.where(s < 1, 1, np.sqrt(1.25)) * np.interp(s, (0.2, 0.9, 1.6), (1, 2, 0.5))
    force = np.array([beam.at(v).position(z[system.coordinates(beam.at(v))]) for v in s])
    found = resultants(beam, tf.LineForce(beam, value, span=(0.2, 1.6), profile=(1, 2, 0.5)), z)
    assert np.allclose(found[0], weight.sum() * value, rtol=0, atol=1e-10)
    assert np.allclose(found[1], weight @ np.cross(force, value), rtol=0, atol=1e-10)
    moment = resultants(beam, tf.LineTorque(beam, value, span=(0.2, 1.6), profile=(1, 2, 0.5)), z)
    assert np.allclose(moment[1], weight.sum() * value, rtol=0, atol=1e-10)
    rope = tf.Rope(2.0, tf.RopeSection(1.0, 1.0), 3, 2, name="rope")
    z = bent(tf.System([rope]))
    assert np.allclose(resultants(rope, tf.LineForce(rope, value), z)[0], 2 * value, rtol=0, atol=1e-13)


def shooting(load, force, place, bend=1.0, EA=1e4, GA=8e3):
    """Tip of a plane cantilever of length one under a follower load per length and a follower force across it.

    Integrated from the free end, where nothing is known but that nothing acts: follower loads turn with the beam.
    """
    def rhs(s, y):
        _, _, angle, nx, ny, moment = y
        c, sin = np.cos(angle), np.sin(angle)
        stretch, shear = 1 + (c * nx + sin * ny) / EA, (c * ny - sin * nx) / GA
        dx, dy = stretch * c - shear * sin, stretch * sin + shear * c
        return [dx, dy, moment / bend, load * sin, -load * c, -(dx * ny - dy * nx)]

    options = dict(method="DOP853", rtol=1e-13, atol=1e-15)
    y = scipy.integrate.solve_ivp(rhs, (1, place), np.zeros(6), **options).y[:, -1]
    y[3:5] += force * np.array([-np.sin(y[2]), np.cos(y[2])])
    x, y_, angle, *stress = scipy.integrate.solve_ivp(rhs, (place, 0), y, **options).y[:, -1]
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, s], [-s, c]])
    return turn @ (-x, -y_), -angle, np.append(turn @ stress[:2], stress[2])


@pytest.mark.parametrize("rotation, n_elements", [("quaternion", 8), ("directors", 8)])
def test_follower_loads_at_rest(rotation, n_elements):
    """Large turns under a follower load along the beam and a follower force between nodes."""
    place, load, force = 0.3125, 3.0, 5.0
    plane = tf.Section(EA=1e4, GA=8e3, GJ=1, EI=1, mass=1, inertia=(1.5, 1, 1))
    beam = tf.Beam(1.0, plane, n_elements, 5, rotation, name="beam")
    system = tf.System([beam, clamp(beam.start), tf.LineForce(beam, (0, load, 0), frame="section"),
                        tf.Force(beam.at(place), (0, force, 0), frame="body", time=tf.Ramp(0, 1, 0, 1))])
    found = tf.equilibrium(system, t=1.0, n_steps=4)
    tip, angle, stress = shooting(load, force, place)
    r = found.rotation_matrix(beam.end)
    # the bending moment has a kink within an element: the force lies between nodes
    assert found.success and angle > 0.5
    assert np.allclose(found.position(beam.end)[:2], tip, rtol=0, atol=1e-6)
    assert np.arctan2(r[1, 0], r[0, 0]) == pytest.approx(angle, abs=1e-6)
    start = found.along(beam, [0.0])
    assert np.allclose([*start.force[0, :2], start.moment[0, 2]], stress, rtol=0, atol=1e-4)


def test_section_forces_of_a_dead_load():
    """Up to the load the section forces are in balance with it, behind it there are none."""
    force, place = np.array([0.4, 0.9, -0.3]), 0.5
    beam = tf.Beam(1.0, tf.Section(EA=1e3, GA=1e3, GJ=1, EI=1, mass=1, inertia=(2, 1, 1)), 6, 5, name="beam")
    found = tf.equilibrium(tf.System([beam, clamp(beam.start), tf.Force(beam.at(place), force)]))
    a = found.along("beam", np.linspace(0, 1, 25))
    inside = a.s < place
    n, m = (np.einsum("nab,nb->na", a.rotation_matrix, v) for v in (a.force, a.moment))
    arm = found.position(beam.at(place)) - a.position
    assert np.allclose(n[inside], force, rtol=0, atol=1e-7)
    assert np.allclose(m[inside], np.cross(arm, force)[inside], rtol=0, atol=1e-7)
    assert np.abs(n[~inside]).max() <= 1e-9 and np.abs(m[~inside]).max() <= 1e-9
    assert np.allclose(a.strain * beam.section.stiffness, np.hstack([a.force, a.moment]), rtol=0, atol=1e-12)
    table = a.to_pandas()
    assert np.array_equal(table["M3 [N m]"], a.moment[:, 2]) and np.array_equal(table["x [m]"], a.position[:, 0])


def test_tension_of_a_hanging_rope():
    """Vertical rope under its weight: tension w (L - s), stretch by the closed form."""
    rope = tf.Rope(tf.Line((0, 0, 0), (0, 0, -2)), tf.RopeSection(50.0, 3.0), 4, 3, name="rope")
    found = tf.equilibrium(tf.System([rope, tf.PrescribedPosition(rope.start, (0, 0, 0))], gravity=(0, 0, -9.81)))
    a = found.along(rope, np.linspace(0, 1, 9))
    w, s = 3 * 9.81, 2 * np.linspace(0, 1, 9)
    # nodal weights stand for the distributed one; tension at element ends is that of the nodes that hang there
    assert np.allclose(a.position[::2, 2], -(s + w * (2 * s - s**2 / 2) / 50)[::2], rtol=0, atol=1e-12)
    assert np.abs(a.force[:, 2] + w * (2 - s)).max() <= 0.2 and np.abs(a.force[:, :2]).max() <= 1e-12
    assert a.moment is None and np.all(np.diff(a.strain) < 0)


@BOTH
def test_velocities_along_a_moving_beam(rotation):
    """Velocities and angular velocities by differences of what the solution tells at other times."""
    beam = frame(rotation, marks=[("eye", 0.4)])
    system = tf.System([beam, clamp(beam.start), tf.Force(beam.at(0.4), (0.5, 0.2, 1), name="push")],
                       gravity=(0, 0, -9.81))
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 0.1)), tf.MixedGalerkin(3), 10, progress=False)
    t, d, places = 0.0551, 1e-4, [0.0, 0.4, 1.0, 1.7]
    a = sol.along("frame", places, [t - d, t, t + d])
    assert sol.success and np.abs(a.velocity[1]).max() > 0.1
    assert np.allclose((a.position[2] - a.position[0]) / (2 * d), a.velocity[1], rtol=0, atol=1e-4)
    spin = (a.rotation_matrix[2] - a.rotation_matrix[0]) / (2 * d) @ np.swapaxes(a.rotation_matrix[1], -1, -2)
    spin = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    assert np.allclose(spin, a.angular_velocity[1], rtol=0, atol=1e-3)
    assert np.allclose(sol.velocity("eye", t), a.velocity[1, 1], rtol=0, atol=1e-12)
    assert np.allclose(sol.angular_velocity(beam.at(0.4), t, "space"), a.angular_velocity[1, 1], rtol=0, atol=1e-6)
    assert np.allclose(sol.rotation_matrix(beam.at(0.4), t), a.rotation_matrix[1, 1], rtol=0, atol=1e-14)
    dataset = sol.along("frame", places).to_xarray()
    assert dict(dataset.sizes) == {"time": 11, "s": 4, "axis": 3, "row": 3, "column": 3, "component": 6}
    energies, weight = sol.energy.of("frame"), [p for p in system.parts if type(p).__name__ == "Gravity"]
    total = energies.kinetic + energies.potential + sum(sol.energy.of(p).potential for p in weight)
    assert np.allclose(total, sol.energy(), rtol=0, atol=1e-12)
    assert sol.errors()["energy"] <= 1e-10


def test_free_beam_takes_the_impulse_of_loads_between_nodes():
    beam = tf.Beam(2.0, THICK, 2, 2, name="beam")
    push = tf.Force(beam.at(0.37), (0, 3, 1), time=tf.TrianglePulse(0, 0.1, 0.2, 2))
    wind = tf.LineForce(beam, (0, tf.Sine(0.3, 1), 0.2), span=(0.1, 0.7))
    problem = tf.InitialValueProblem(tf.System([beam, push, wind]), {}, (0, 0.4))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 20, progress=False)
    assert np.allclose(sol.linear_momentum(0.4) - wind_impulse(0.4), (0, 0.6, 0.2), rtol=0, atol=1e-6)
    assert np.abs(sol.energy.balance()).max() <= 1e-9
    together = tf.solve(problem, tf.MixedGalerkin(2), 20, driver="global", progress=False)
    assert np.abs(together.z - sol.z).max() <= 1e-9


def wind_impulse(t):
    """Of `Sine(0.3, 1)` and 0.2 over 1.2 m."""
    sine = tf.Sine(0.3, 1)
    x = np.linspace(0, t, 20001)
    return np.array([0, 1.2 * scipy.integrate.trapezoid(sine(x), x), 1.2 * 0.2 * t])


@pytest.mark.parametrize("element", [tf.EML(), tf.EMH(), tf.NullEML(), tf.MixedGalerkin(2, form="energy"),
                                     tf.MixedGalerkin(2, form="impulse")], ids=lambda e: f"{e.name}-{e.degree}")
def test_elements_take_points_of_beams(element):
    beam = tf.Beam(1.0, THICK, 1, 2, name="beam")
    parts = [beam, clamp(beam.start), tf.Force(beam.at(0.8), (0, 3, 0), frame="body"),
             tf.Spring(beam.at(0.3), stiffness=5.0, point_b=(0.3, 0.1, 0)),
             tf.LineForce(beam, (0, 0, 2), frame="section")]
    problem = tf.InitialValueProblem(tf.System(parts), {}, (0, 0.1))
    exact = tf.solve(problem, tf.MixedGalerkin(3), 20, progress=False)
    sol = tf.solve(problem, element, 200, progress=False)
    assert sol.success
    assert np.abs(sol.position("beam.at(0.8)", 0.1) - exact.position("beam.at(0.8)", 0.1)).max() <= 2e-5


def test_two_points_of_one_element():
    """A spring between points that share nodes: tangent against differences, drivers against each other."""
    beam = tf.Beam(1.0, THICK, 1, 3, name="beam")
    spring = tf.Spring(beam.at(0.2), beam.at(0.9), stiffness=40.0, length=0.5)
    problem = tf.InitialValueProblem(tf.System([beam, clamp(beam.start), spring]), {}, (0, 0.05))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 10, progress=False)
    assert sol.success and sol.errors()["energy"] <= 1e-12
    at_rest = tf.equilibrium(problem.system)
    assert at_rest.success and at_rest.iterations <= 8  # quadratic: the tangent is exact
    length = np.linalg.norm(at_rest.position("beam.at(0.2)") - at_rest.position("beam.at(0.9)"))
    assert length < 0.7


FILE = """
gravity = [0, 0, -9.81]
[time]
span = [0, 0.02]
n_elements = 4
[bodies.beam]
type = "beam"
curve = 1.0
n_elements = 2
section = {circle = {E = 2e9, nu = 0.3, density = 1200, radius = 0.01}}
marks = [["eye", 0.3]]
[joints.clamp]
type = "weld"
bodies = ["beam.node[0]"]
point_a = [0, 0, 0]
point_b = [0, 0, 0]
[forces.push]
type = "force"
body = "beam.at(0.8)"
value = [0, 1, {sine = {amplitude = 1, frequency = 3}}]
[forces.pull]
type = "force"
body = "eye"
value = [1, 0, 0]
[forces.wind]
type = "line_force"
body = "beam"
value = [0, 0, 2]
frame = "section"
span = [0.1, 0.9]
profile = [0, 1, 0]
"""


def test_files_and_models_have_points_and_loads_along(tmp_path, timefem):
    path = tmp_path / "beam.toml"
    path.write_text(FILE)
    model = load_model(path)
    sol = model.solve(progress=False)
    section = tf.Section.circle(2e9, 0.3, 1200, 0.01)
    beam = tf.Beam(1.0, section, 2, name="beam", marks=[("eye", 0.3)])
    parts = [beam, clamp(beam.start), tf.Force(beam.at(0.8), (0, 1, tf.Sine(1, 3))), tf.Force(beam.at(0.3), (1, 0, 0)),
             tf.LineForce(beam, (0, 0, 2), frame="section", span=(0.1, 0.9), profile=(0, 1, 0))]
    same = tf.solve(tf.InitialValueProblem(tf.System(parts, gravity=(0, 0, -9.81)), {}, (0, 0.02)),
                    tf.MixedGalerkin(1), 4, progress=False)
    element = sol.element
    same = same if element == same.element else tf.solve(
        tf.InitialValueProblem(same.system, {}, (0, 0.02)), element, 4, progress=False)
    assert np.abs(sol.z - same.z).max() <= 1e-14
    sol.save(tmp_path / "a.h5")
    again = tf.load(tmp_path / "a.h5")
    assert np.array_equal(again.position("eye", 0.02), sol.position("eye", 0.02))
    assert np.array_equal(again.along("beam").force, sol.along("beam").force)
    assert again.system["wind"].span.tolist() == [0.1, 0.9]
    assert timefem("check", path)[0] == 0
    path.write_text(FILE.replace("beam.at(0.8)", "beam.at(1.8)"))
    with pytest.raises(tf.InputError, match=r"beam.toml:19: forces.push.body: .*from 0 to 1, not 1.8"):
        load_model(path)


def test_bad_input():
    beam, rope = frame(), tf.Rope(1.0, tf.RopeSection(1.0, 1.0), 2, name="rope")
    with pytest.raises(tf.InputError, match=r"Beam 'frame': places are numbers from 0 to 2, not 2.1"):
        beam.at(2.1)
    with pytest.raises(tf.InputError, match="must act on a Beam or a Rope"):
        tf.LineForce(beam.start, (0, 0, 1))
    with pytest.raises(tf.InputError, match="a rope has no section axes"):
        tf.LineForce(rope, (0, 0, 1), frame="section")
    with pytest.raises(tf.InputError, match="a rope has no section axes"):
        tf.LineTorque(rope, (0, 0, 1))
    with pytest.raises(tf.InputError, match=r"span must be two places that increase, from 0 to 2, not \[1, 3\]"):
        tf.LineForce(beam, (0, 0, 1), span=(1, 3))
    with pytest.raises(tf.InputError, match="at least two factors"):
        tf.LineForce(beam, (0, 0, 1), profile=(1,))
    with pytest.raises(tf.InputError, match=r"must act on a rigid body, not on Rope\.at"):
        tf.Torque(rope.at(0.3), (0, 0, 1))
    with pytest.raises(tf.InputError, match="has no coordinates of its own; add"):
        tf.System([beam, beam.at(0.3)])
    with pytest.raises(tf.InputError, match="which is not in the system"):
        tf.System([beam, tf.Force(rope.at(0.3), (0, 0, 1))])
    with pytest.raises(tf.InputError, match="'mast' is not a beam or a rope of the system; it has frame"):
        tf.equilibrium(tf.System([beam, clamp(beam.start)])).along("mast")


def test_ends_by_their_names():
    beam = frame()
    system = tf.System([beam, clamp(beam.start)])
    assert system.find("frame.end") is beam.end and system.find("frame.start") is beam.start
    model = tf.linearize(tf.System([beam, clamp(beam.start), tf.ControlForce(beam.end, name="push")]),
                         outputs=["frame.end.position[1]"])
    assert len(model.C) == 1 and model.C.any()
