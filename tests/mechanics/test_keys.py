"""A part is equal to itself with other numbers, and to nothing else; what a system tells of it has the system's own
numbers."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.describe import build, describe


def chain():
    rod = tf.RigidBody(1.0, (0.1, 0.2, 0.3), name="rod")
    pin = tf.Revolute(rod, point_a=(0, 0.5, 0), point_b=(0, 0.5, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="pin")
    spring = tf.JointSpring(pin, stiffness=3.0, name="spring")
    return tf.System([rod, pin, spring], gravity=(0, -9.81, 0))


def arm():
    links = [tf.Link("base"), tf.Link("upper", 1.0, inertia=(0.1, 0.2, 0.3)),
             tf.Link("fore", 2.0, inertia=(0.1, 0.2, 0.3))]
    joints = [tf.TreeJoint("shoulder", "base", "upper", axis=(0, 0, 1)),
              tf.TreeJoint("elbow", "upper", "fore", position=(1, 0, 0), axis=(0, 0, 1))]
    return tf.Tree(links, joints, name="arm")


def test_changed_parts_are_equal():
    rod = tf.RigidBody(1.0, (0.1, 0.2, 0.3))
    other = rod.changed({"mass": 2.0})
    assert other == rod and hash(other) == hash(rod) and other is not rod
    assert (rod.mass, other.mass) == (1.0, 2.0)
    assert {rod: "it"}[other] == "it" and {rod, other} == {rod}


@pytest.mark.parametrize("again", [copy, deepcopy, lambda part: pickle.loads(pickle.dumps(part)),
                                   lambda part: tf.RigidBody(part.mass, part.inertia)])
def test_other_copies_are_others(again):
    rod = tf.RigidBody(1.0, (0.1, 0.2, 0.3))
    assert again(rod) != rod and again(rod) != again(rod)


def test_one_pickle_keeps_keys():
    system = chain()
    other = system.with_numbers({"rod.mass": 2.0})
    pair = pickle.loads(pickle.dumps((system, other)))
    assert pair[0].parts == pair[1].parts and not set(pair[0].parts) & set(system.parts)
    assert [s.body.rod.mass for s in pair] == [1.0, 2.0]
    spring = pair[1]["spring"]
    assert spring.joint in pair[0].parts and spring.bodies[0] is pair[1].body.rod


def test_a_part_is_not_equal_to_other_things():
    rod = tf.PointMass(1.0, name="rod")
    assert rod != "rod" and rod != rod.key and rod not in ["rod", 1.0, None]


def test_links_of_changed_trees():
    tree = arm()
    other = tree.changed({"joints": tree.joints})
    assert other.link("fore") == tree.link("fore") != tree.link("upper")
    assert other.joint("elbow") == tree.joint("elbow") != tree.joint("shoulder")
    assert tree.link("fore").point((1, 0, 0)) != tree.link("fore")


def test_members_of_composite_parts():
    def springs(**own):
        return tf.MassSpringChain(3, 1.0, 10.0, (1, 0, 0), name="row", **own)

    row = springs()
    system = tf.System([row])
    other = system.with_numbers({"row.stiffness": 20.0})
    assert other.parts == system.parts and other.composites == system.composites == (row,)
    assert springs().nodes[0] != row.nodes[0] and row.nodes[0] != row.nodes[1]
    assert other[row].stiffness == 20.0 and other.composites[0].stiffness == 20.0
    assert build(describe(other)).composites[0].stiffness == 20.0


def test_a_system_tells_its_own_numbers():
    """Of a part with the numbers of another system, also where nothing tells that one stands for the other."""
    system = chain()
    rod, pin = system.body.rod, system["pin"]
    changed = system.with_numbers({"rod.mass": 4.0})
    alone = tf.System(changed.parts)  # knows nothing of the first rod
    z = np.concatenate([rod.state(tf.Pose())[0], np.arange(7.0)])
    for other in (changed, alone):
        assert other[rod].mass == other.find(rod).mass == other.here(rod).mass == 4.0
        assert other.coordinates(rod) == other.coordinates(other.body.rod)
        twice = other.with_numbers({(rod, "inertia[0, 0]"): 0.25})
        assert twice.body.rod.mass == 4.0 and twice.body.rod.inertia[0, 0] == 0.25
        assert twice[pin] in other.parts
    assert system[changed.body.rod].mass == 1.0
    heavy = tf.PositionOutput(changed.body.rod, "x").on(system)
    assert heavy.bodies[0] is rod
    np.testing.assert_array_equal(rod.velocity(*system.local_state(changed.body.rod, z)),
                                  4 * changed.body.rod.velocity(*system.local_state(rod, z)))


def test_links_have_the_rates_of_the_system():
    tree = arm()
    system = tf.System([tree])
    other = tf.System([system.with_numbers({"arm.fore.mass": 7.0}).bodies[0]])
    z = np.array([0.3, 0.4, 1.0, 2.0])
    wanted = other.local_state(other.bodies[0].link("fore"), z)[1]
    np.testing.assert_array_equal(other.local_state(tree.link("fore"), z)[1], wanted)
    assert np.abs(system.local_state(tree.link("fore"), z)[1] - wanted).max() > 0.1


def test_a_part_with_two_sets_of_numbers_is_given_twice():
    rod = tf.RigidBody(1.0, (0.1, 0.2, 0.3), name="rod")
    with pytest.raises(tf.InputError, match="given twice"):
        tf.System([rod, rod.changed({"mass": 2.0})])


def test_solvers_of_changed_systems():
    """A prepared solver, a changed one and a new system agree, whichever rod the state names."""
    system = chain()
    rod = system.body.rod

    def problem(of):
        return tf.InitialValueProblem(of, {rod: tf.Pose()}, (0, 0.2))

    solver = tf.prepare(problem(system), tf.MixedGalerkin(1), 4)
    first = solver.solve(parameters={"rod.inertia[2]": 0.25, "spring.stiffness": 1.0})
    other = system.with_numbers({"rod.inertia[2]": 0.25, "spring.stiffness": 1.0})
    for made in (other, tf.System(other.parts)):
        again = tf.solve(problem(made), tf.MixedGalerkin(1), 4, progress=False)
        np.testing.assert_allclose(again(0.2), first(0.2), rtol=0, atol=1e-13)
