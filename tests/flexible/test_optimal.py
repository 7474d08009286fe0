"""Optimal control of beams: what no actuator moves and is met anyway, and guesses that do not strain them."""

import warnings

import numpy as np
import pytest

import timefem as tf
from timefem.assembly import TimeMesh
from timefem.problems.optimal.guesses.paths import Way, path

pytestmark = pytest.mark.long

AXIS = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
SECTION = tf.Section(EA=500, GA=500, GJ=20, EI=20, mass=1, inertia=(0.08, 0.04, 0.04))


def arm(angles, **options):
    """Beams of 1 m one after the other, each on a joint."""
    turns = np.cumsum(angles)
    knots = np.cumsum([np.zeros(3), *((np.cos(a), np.sin(a), 0) for a in turns)], axis=0)
    links = [tf.Beam(tf.Line(*knots[i:i + 2]), SECTION, 1, 2, name=f"link {i}", **options) for i in range(len(turns))]
    places = [None, *(link.end for link in links[:-1])]
    joints = [tf.Revolute(link.start, *([end] if end else []), point_a=(0, 0, 0), point_b=(0, 0, 0), **AXIS,
                          name=f"joint {i}") for i, (link, end) in enumerate(zip(links, places, strict=True))]
    return [*links, *joints], joints, {node.name: node.reference for link in links for node in link.nodes}


def problem(first, last, t_end=1.5, **options):
    parts, joints, start = arm(first, **options)
    motors = [tf.JointControl(joint, name=f"motor {i}") for i, joint in enumerate(joints)]
    return tf.OptimalControl(tf.System(parts), start, arm(last, **options)[2], (0, t_end),
                             cost=[tf.Effort(motor) for motor in motors])


@pytest.mark.parametrize("options, form", [({}, "hamilton"), ({"rotation": "directors"}, "energy")])
def test_a_flexible_link_from_rest_to_rest(options, form):
    """Nothing moves it out of its plane, where it stays by itself: no refusal, no warning, and it comes to rest."""
    asked, element = problem([0.0], [0.5], **options), tf.MixedGalerkin(1, form=form)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*actuator|.*does nothing")
        sol = tf.solve(asked, element, 30, progress=False)
    assert sol.success, sol.status.message
    assert sol.statistics["newton_iterations"]["max"] <= 10
    # across the plane 3 nodes have 9 degrees of freedom, of which the axle takes 3
    assert asked.held.shape == (26, 12)
    tip = sol.position("link 0.node[2]", asked.t_span[1])
    np.testing.assert_allclose(tip, [np.cos(0.5), np.sin(0.5), 0], rtol=0, atol=1e-9)
    assert np.abs(sol.z[-1][asked.system.n_q:]).max() < 1e-9
    again = tf.solve(asked, element, 30, guess=sol, progress=False)
    assert again.success and again.objective == pytest.approx(sol.objective, rel=1e-9)


def test_two_flexible_links_solved_again():
    """What is kept of the first solve, its guess as well, has the conditions that no actuator moves."""
    asked, mesh = problem([0.0, 0.5], [0.3, 0.7]), TimeMesh.uniform((0, 1.5), 20)
    first = tf.solve(asked, tf.MixedGalerkin(1), mesh=mesh, progress=False)
    assert first.success, first.status.message
    assert first.statistics["newton_iterations"]["max"] <= 35
    asked.held = None  # as a best motion that leaves them does
    again = tf.solve(asked, tf.MixedGalerkin(1), mesh=mesh, progress=False)
    np.testing.assert_array_equal(again.nodal.state, first.nodal.state)
    assert again.statistics["newton_iterations"] == first.statistics["newton_iterations"]


def test_guesses_turn_beams_without_strain():
    asked = problem([0.0, 0.5], [1.2, 1.0])
    system = asked.system
    way = Way(system, asked.z0, asked.conditions.state, asked.t_span, np.zeros((2, system.n_q)))
    mesh = TimeMesh.uniform(asked.t_span, 16)
    z = path(way, mesh.points(tf.LagrangeBasis(1, "equidistant")))[:, 0]
    assert np.abs(system.constraints(0.0, z)[:, :system.n_constraints]).max() < 1e-9
    z[:, system.n_q:] = 0
    assert np.abs(system.hamiltonian(0.0, z)).max() < 1e-12  # of strains


def test_ropes_turn_as_wholes_in_guesses():
    """A quarter turn of a rope: straight ways of its nodes would shorten it by 30 %."""
    rope = tf.Rope(tf.Line((0, 0, 0), (0, 0, -1)), tf.RopeSection(100, 1), 4, name="rope")
    system = tf.System([rope])
    first, last = (np.concatenate([*places, np.zeros(15)]) for places in (
        [node.reference.position for node in rope.nodes], [(s, 0, 0) for s in np.linspace(0, 1, 5)]))
    z = path(Way(system, first, last, (0, 1), np.zeros((2, system.n_q))), np.linspace(0, 1, 9)[None])[0]
    lengths = np.linalg.norm(np.diff(z[:, :15].reshape(9, 5, 3), axis=1), axis=2)
    np.testing.assert_allclose(lengths, 0.25, rtol=1e-3, atol=0)


def test_torques_do_not_carry_a_beam_away():
    beam = tf.Beam(1.0, SECTION, 1, 2, name="beam")
    wheel = tf.ControlTorque(beam.end, name="wheel")
    end = {node.name: tf.Pose(node.reference.position + [1, 0, 0]) for node in beam.nodes}
    with pytest.raises(tf.InputError, match="no actuator moves the centre of mass along x"):
        tf.OptimalControl(tf.System([beam]), {}, end, (0, 1), cost=tf.Effort(wheel))


def carried_by_a_rope(mass=1.0, length=1.0, second=1.0):
    """A crab, a link of a tree, carries a body on a rope; with so many of its units in a kg, a metre and a second."""
    force = mass * length / second**2
    tree = tf.Tree([tf.Link("ground"), tf.Link("crab", 3.0 * mass, (0, 0, 0), np.full(3, mass * length**2))],
                   [tf.TreeJoint("rail", "ground", "crab", "prismatic", axis=(1, 0, 0))], name="crane")
    section = tf.RopeSection(200.0 * force, 0.1 * mass / length, 0.1 * second)
    rope = tf.Rope(tf.Line((0, 0, 0), (0, 0, -length)), section, 2, 1, name="rope")
    load = tf.RigidBody(mass, mass * length**2 * np.array([0.02, 0.03, 0.04]), name="load")
    drive = tf.JointControl(tree.joint("rail"), name="drive")
    hooks = [tf.Spherical(tree.link("crab"), rope.start, point_a=(0, 0, 0), point_b=(0, 0, 0)),
             tf.Spherical(load, rope.end, point_a=(0, 0, 0.2 * length), point_b=(0, 0, 0))]
    system = tf.System([tree, rope, load, drive, *hooks], gravity=(0, 0, -9.81 * length / second**2))
    start, end = {load: tf.Pose((0, 0, -1.2 * length))}, {tree: {"rail": 0.5 * length}}
    return tf.OptimalControl(system, start, end, (0, second), cost=tf.Effort(drive, 1 / force**2 / second))


@pytest.mark.filterwarnings("ignore::timefem.UnderResolved")
@pytest.mark.parametrize("units", [{"mass": 1e3}, {"length": 1e3}, {"second": 1e3}])
def test_searches_take_the_same_way_in_any_units(units):
    """Their first guess was closed by least squares of lengths and angles, and rows of velocities weighed by the unit
    of time: in mm and in ms a system of a rope and a tree came to another minimum than in SI, or to none."""
    found = [tf.solve(carried_by_a_rope(**given), tf.MixedGalerkin(2), 4, progress=False) for given in ({}, units)]
    assert all(sol.success for sol in found)
    one, other = (np.array(sol.status.residual_history) for sol in found)
    np.testing.assert_allclose(other[:-1], one[:-1], rtol=1e-6)
    np.testing.assert_allclose(found[1].objective, found[0].objective, rtol=1e-9)
