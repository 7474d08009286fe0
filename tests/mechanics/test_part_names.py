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


def test_nearest_names(system):
    """Wherever a part is named; all names where they are few, or none is near."""
    with pytest.raises(tf.InputError, match="'crnk' in the system; it has crank, 2nd rod; did you mean 'crank'"):
        system.find("crnk")
    with pytest.raises(tf.InputError, match=r"no body 'xyz' in the system; it has crank, 2nd rod$"):
        system.find("xyz")
    with pytest.raises(AttributeError, match="did you mean 'crank'"):
        system.body.cranc  # noqa: B018
    sol = tf.solve(tf.InitialValueProblem(system, {"2nd rod": tf.Pose(position=(0, 1, 0))}, (0, 0.01)),
                   tf.MixedGalerkin(1), 1, progress=False)
    with pytest.raises(tf.InputError, match=r"no joint 'pni' in the system; it has pin, .*; did you mean 'pin'"):
        sol.joint("pni")
    with pytest.raises(tf.InputError, match="did you mean 'crank'"):
        sol.position("cranky", 0.0)
    with pytest.raises(AttributeError, match="did you mean 'force'"):
        sol.joint("pin").forces()
    end = tf.EndValue(lambda bodies, t: bodies[0].position[0], "crank")
    with pytest.raises(tf.InputError, match=r"'crnk' is not in the system.*did you mean 'crank'"):
        tf.gradient(sol, end, [tf.Parameter("crnk", "mass")])
    with pytest.raises(tf.InputError, match=r"crank has no parameter 'mas'.*did you mean 'mass'"):
        tf.gradient(sol, end, [tf.Parameter("crank", "mas")])


def test_nearest_names_in_trees():
    links = [tf.Link("base"), tf.Link("upper", 1, inertia=(1, 1, 1)), tf.Link("lower", 1, inertia=(1, 1, 1))]
    joints = [tf.TreeJoint("shoulder", "base", "upper"), tf.TreeJoint("elbow", "upper", "lower")]
    tree = tf.Tree(links, joints, name="arm")
    with pytest.raises(tf.InputError, match="did you mean 'elbow'"):
        tree.joint("elbo")
    with pytest.raises(tf.InputError, match=r"no body 'arm.uper' in the system; it has arm; did you mean 'arm.upper'"):
        tf.System([tree]).find("arm.uper")


def test_many_names():
    """The nearest alone; without one the first names."""
    system = tf.System([tf.PointMass(1.0, name=f"bead {i}") for i in range(30)])
    with pytest.raises(tf.InputError, match="no body 'bed 7' in the system; did you mean 'bead 7'"):
        system.find("bed 7")
    with pytest.raises(tf.InputError, match=r"no body 'xyz' in the system; it has bead 0, .*, bead 23, \.\.\.$"):
        system.find("xyz")


def test_actuators_have_names_of_their_own():
    """Controls are asked for by name: of two alike only those of the first would be found."""
    mass = tf.PointMass(1.0, dimension=2, name="mass")
    pushes = [tf.ControlForce(mass, [axis], name="push") for axis in ((1, 0, 0), (0, 1, 0))]
    for parts, actuators in (([mass, *pushes], ()), ([mass], pushes)):
        with pytest.raises(tf.InputError, match="two actuators have the name 'push'"):
            tf.OptimalControl(tf.System(parts), {mass: tf.Pose()}, {mass: tf.EndState(position=(1, 1, None))}, (0, 1),
                              tf.Effort(pushes[0]), actuators=actuators)
