"""Parts stay as they are once they are in a system: what is solved is what is saved."""

from copy import copy, deepcopy

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.mechanics.describe import build, describe
from timefem.mechanics.numbers.names import names_of_numbers
from timefem.mechanics.part import Part
from timefem.mechanics.parts import grouped


def parts():
    body = tf.RigidBody(2.0, [1.0, 2.0, 2.5], name="arm")
    return body, tf.Spring(body, point_a=[0, 0, 1], stiffness=3.0, length=0.5, name="coil")


def test_attributes_of_parts_in_a_system():
    body, spring = parts()
    tf.System([body, spring])
    with pytest.raises(tf.InputError, match=r"Spring 'coil': stiffness cannot be changed once it belongs to a system; "
                                            r"make a new Spring with the new value, and a new System"):
        spring.stiffness = 100.0
    assert spring.stiffness == 3.0
    for name, value in {"own_parameters": np.zeros(2), "stifness": 1.0, "name": "other", "bodies": ()}.items():
        with pytest.raises(tf.InputError, match=f"{name} cannot be changed"):
            setattr(spring, name, value)
    with pytest.raises(tf.InputError, match="'arm': mass cannot be changed"):
        body.mass = 3.0
    with pytest.raises(tf.InputError, match="mass cannot be changed"):
        del body.mass


def test_arguments_are_settled_before_the_system_too():
    _, spring = parts()  # its formulas have their numbers from the constructor
    with pytest.raises(tf.InputError, match="stiffness cannot be changed once its numbers are fixed"):
        spring.stiffness = 100.0
    spring.name = "other"
    assert spring.name == "other"


@pytest.mark.parametrize("in_system", [False, True])
def test_arrays(in_system):
    body, spring = parts()
    if in_system:
        tf.System([body, spring])
    for array in (body.inertia, spring.point_a) + ((spring.own_parameters, body.own_parameters) if in_system else ()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


def test_arrays_of_own_parts_are_copies():
    class Pull(Part):
        kind = "Pull"

        def __init__(self, body, force):
            self.bodies, self.own_parameters = (body,), force

        def energy(self, s):
            return -s.own[0] * s.q[0][0]

    force, body = np.array([2.0]), tf.PointMass(1.0)
    system = tf.System([body, Pull(body, force)])
    force[0] = 7.0
    assert system.potential(0.0, np.array([1.0, 0, 0, 0, 0, 0])) == -2.0


def test_parts_of_composites():
    chain = tf.MassSpringChain(n=3, mass=1.0, stiffness=2.0, end=(0, 0, 1))
    tf.System([chain])
    with pytest.raises(tf.InputError, match="belongs to a system"):
        chain.stiffness = 1.0
    with pytest.raises(tf.InputError, match="belongs to a system"):
        chain.nodes[0].mass = 1.0


def test_same_parts_in_two_systems():
    body, spring = parts()
    one, two = (tf.System([body, spring], gravity=g) for g in ((0, 0, -9.81), (0, 0, 0)))
    z = np.arange(one.n_z) / 10
    assert two.potential(0.0, z) == pytest.approx(one.potential(0.0, z) - 2.0 * 9.81 * z[2], rel=0, abs=1e-12)
    assert describe(build(describe(two))) == describe(two)


def test_copies():
    body, spring = parts()
    system = tf.System([body, spring])
    other = spring.same_part()
    other.own_parameters = np.array([9.0, *spring.own_parameters[1:]])
    assert other.own_parameters[0] == 9.0 != spring.own_parameters[0]
    loose = copy(spring)
    loose.own_parameters = np.ones(len(spring.own_parameters))
    for same in (deepcopy(system)["coil"], deepcopy(system)["arm"]):
        with pytest.raises(tf.InputError, match="belongs to a system"):
            same.mass = same.stiffness = 1.0
        with pytest.raises(ValueError, match="read-only"):
            same.own_parameters[0] = 1.0


# ---- systems with other numbers have the parts of these numbers in the places of the system that they are made of

@pytest.mark.parametrize("case", ["spinning-box", "four-bar", "closed-chain-10", "crane-inverse"])
def test_places_of_parts(case):
    system = find_case(case).make().system
    masses = [name for name in names_of_numbers(system) if name.endswith((".mass", ".inertia", ".stiffness"))]
    name = masses[-1]
    part = system[name.rpartition(".")[0]]
    value = 1.1 * np.asarray(getattr(part, name.rpartition(".")[2]))
    other = system.with_numbers({name: value if value.ndim else float(value)})
    assert other.structure is system.structure and other.parts == system.parts
    assert any(own is not before for own, before in zip(other.parts, system.parts, strict=True))
    assert (other.n_z, other.n_multipliers, other.n_nonholonomic) == (
        system.n_z, system.n_multipliers, system.n_nonholonomic)
    for own, made, before in zip(other.groups, grouped(other), system.groups, strict=True):
        assert all(a is b for a, b in zip(own.members, made.members, strict=True))
        for array in ("state_index", "multiplier_index", "nonholonomic_index", "parameters"):
            np.testing.assert_array_equal(getattr(own, array), getattr(made, array))
        assert (own is before) == all(a is b for a, b in zip(own.members, before.members, strict=True))
    assert any(own is not before for own, before in zip(other.groups, system.groups, strict=True))
    again = system.with_numbers({name: 1.0 * np.asarray(getattr(part, name.rpartition(".")[2]))})
    for own, before in zip(again.groups, system.groups, strict=True):
        np.testing.assert_array_equal(own.parameters, before.parameters)
