"""Parts of a system by name."""

import pytest

import timefem as tf


@pytest.fixture
def system():
    crank, rod = tf.RigidBody(1, [1, 1, 1], name="crank"), tf.RigidBody(1, [1, 1, 1], name="2nd rod")
    hinge = tf.Spherical(crank, rod, point_a=(0, 1, 0), point_b=(0, 0, 0), name="pin")
    return tf.System([crank, rod, hinge, tf.Spherical(crank, point_a=(0, 0, 0), point_b=(0, 0, 0))],
                     gravity=(0, 0, -9.81))


def test_attributes(system):
    assert dir(system.body) == ["_2nd_rod", "crank"]
    assert system.body.crank is system.bodies[0] and system.body._2nd_rod is system.bodies[1]
    assert dir(system.joint) == ["Spherical_2", "pin"] and system.joint.pin.bodies == system.bodies
    assert dir(system.force) == ["Gravity_1", "Gravity_2"]
    assert repr(system.body) == "body: crank, _2nd_rod"
    with pytest.raises(AttributeError, match=r"no body 'wheel' in the system; it has crank, _2nd_rod"):
        system.body.wheel  # noqa: B018
    assert not hasattr(system.body, "__len__")
    assert repr(tf.System(tf.PointMass(1)).joint) == "joint: none"


def test_items(system):
    assert system["2nd rod"] is system.bodies[1] and system["pin"] is system.joint.pin
    assert system._ipython_key_completions_() == [system.label(part) for part in system.parts]
    with pytest.raises(tf.InputError, match="no part 'wheel' in the system; it has crank, 2nd rod, pin"):
        system["wheel"]
    twin = [tf.FixedPoint(b, (0, 0, 0), name="same") for b in system.bodies]
    with pytest.raises(tf.InputError, match="2 parts of the system have the name 'same'"):
        tf.System([*system.bodies, *twin])["same"]
