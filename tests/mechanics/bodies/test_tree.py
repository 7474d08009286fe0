"""Trees in joint coordinates, against equations of motion in the axes of space, and against Pinocchio."""

import numpy as np
import pytest
import scipy

import timefem as tf
from tests.example_robots import ARM, GRAVITY, JOINTS, START, SpaceAxes

ELEMENT = tf.MixedGalerkin(3, form="lagrange")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("robots") / "six.urdf"
    path.write_text(ARM)
    return tf.read_urdf(path)


@pytest.fixture(scope="module")
def undamped(robot):
    joints = [tf.TreeJoint(**{**vars(joint), "damping": 0.0}) for joint in robot.tree.joints]
    return tf.Tree(robot.tree.links, joints)


def samples(n=5):
    rng = np.random.default_rng(1)
    return rng.uniform(-2, 2, (n, len(JOINTS))), rng.uniform(-2, 2, (n, len(JOINTS)))


def problem_of(tree, t_end=0.5):
    return tf.InitialValueProblem(tf.System([tree], gravity=GRAVITY), {tree: START}, (0, t_end))


def reference(robot_text, t_end):
    q, v = np.transpose([np.append(START[name], 0.0)[:2] for name in JOINTS])
    return scipy.integrate.solve_ivp(SpaceAxes(robot_text, JOINTS).rate, (0, t_end), np.concatenate([q, v]),
                                     method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]


def test_joints_are_in_order(robot):
    assert robot.tree.joint_names == JOINTS
    assert robot.tree.mass == pytest.approx(14.45)


def test_mass_matrix_and_energy(robot):
    space, system = SpaceAxes(ARM, JOINTS), tf.System([robot.tree], gravity=GRAVITY)
    q, v = samples()
    base = -4 * GRAVITY @ (0.1, 0, 0.3)  # the weight of the base does not move, and is not counted
    for x, rate, mass in zip(q, v, robot.tree.mass_matrix(q), strict=True):
        expected, _, energy = space.equations(x, rate)
        np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(robot.tree.velocity(x, expected @ rate), rate, rtol=0, atol=1e-11)
        z = np.concatenate([x, expected @ rate])
        assert system.hamiltonian(0.0, z) == pytest.approx(energy - base, rel=1e-12)
        np.testing.assert_allclose(system.velocity(0.0, z), rate, rtol=0, atol=1e-11)


def test_hamilton_equations(robot):
    """pdot from -dH/dq and damping, and from Newton and Euler: d/dt (M v) = M a + Mdot v."""
    space, system = SpaceAxes(ARM, JOINTS), tf.System([robot.tree], gravity=GRAVITY)
    for x, v in zip(*samples(3), strict=True):
        mass, bias, _ = space.equations(x, v)
        resisted = space.G.T @ (space.damping * (space.G @ v))
        h = 1e-5
        mass_rate = (robot.tree.mass_matrix(x + h * v) - robot.tree.mass_matrix(x - h * v)) / (2 * h)
        gradient = system.derivatives(0.0, np.concatenate([x, mass @ v]))[0]
        np.testing.assert_allclose(-gradient[:6], -bias - resisted + mass_rate @ v, rtol=0, atol=1e-7)


def test_link_poses(robot):
    space = SpaceAxes(ARM, JOINTS)
    for x in samples(2)[0]:
        states = space.links_at(space.G @ x + space.b, np.zeros(len(space.b)))
        for link, (rotation, place, *_) in states.items():
            found = robot.tree.link_pose(link, x)
            np.testing.assert_allclose(found[0], place, rtol=0, atol=1e-14)
            np.testing.assert_allclose(found[1], rotation, rtol=0, atol=1e-14)


@pytest.mark.long
def test_motion(robot):
    """Over 1 s; the joints turn by more than 2 rad."""
    sol = tf.solve(problem_of(robot.tree, 1.0), ELEMENT, 400, progress=False)
    q, p = np.split(sol.z[-1], 2)
    found = np.concatenate([q, robot.tree.velocity(q, p)])
    np.testing.assert_allclose(found, reference(ARM, 1.0), rtol=0, atol=1e-9)
    states = robot.tree.joint_states(q, p)
    assert states["follow"][0] == pytest.approx(-1.5 * q[5] + 0.1, abs=1e-15)
    assert states["follow"][1] == pytest.approx(-1.5 * states["grip"][1], abs=1e-14)
    loss = sol.energy() - sol.energy.work()
    np.testing.assert_allclose(loss, loss[0], rtol=0, atol=1e-6)
    assert sol.energy()[-1] < sol.energy()[0] - 1  # dampers take energy


@pytest.mark.long
@pytest.mark.parametrize("degree", [1, 2])
def test_order(undamped, degree):
    problem = problem_of(undamped, 0.4)
    exact = tf.solve(problem, ELEMENT, 160, progress=False).z[-1]
    meshes = np.array([20, 40, 80]) * (2 if degree == 1 else 1)
    errors = [np.abs(tf.solve(problem, tf.MixedGalerkin(degree, form="lagrange"), int(n), progress=False).z[-1]
                     - exact).max() for n in meshes]
    slope = -np.polyfit(np.log(meshes), np.log(errors), 1)[0]
    assert 2 * degree - 0.3 < slope < 2 * degree + 0.4
    assert errors[-1] < (1e-3, 2e-6)[degree - 1]


def test_energy_without_damping(undamped):
    """The form is symplectic: where the mass varies energy is kept to the order of the element, O(h^6)."""
    problem, drift = problem_of(undamped), []
    for n in (50, 100, 200):
        energy = tf.solve(problem, ELEMENT, n, progress=False).energy()
        drift.append(np.abs(energy - energy[0]).max())
    assert 5 < np.log2(drift[0] / drift[1]) < 7.5 and drift[2] < 1e-9


def test_angles_are_not_wrapped():
    wheel = tf.Tree([tf.Link("base"), tf.Link("wheel", mass=2, inertia=(1, 1, 0.5))],
                    [tf.TreeJoint("axle", "base", "wheel")])
    problem = tf.InitialValueProblem(tf.System([wheel]), {wheel: {"axle": (0.5, 40.0)}}, (0, 1))
    q, p = np.split(tf.solve(problem, ELEMENT, 5, progress=False).z[-1], 2)
    assert q[0] == pytest.approx(40.5, abs=1e-12) and p[0] == pytest.approx(20, abs=1e-12)


def test_coulomb_friction():
    """A sliding block: v decays by f / m while fast beside the width."""
    rail = [tf.Link("rail"), tf.Link("block", mass=2)], [tf.TreeJoint("slide", "rail", "block", "prismatic",
                                                                       axis=(1, 0, 0), friction=3.0)]
    block = tf.Tree(*rail, friction_width=1e-3)
    problem = tf.InitialValueProblem(tf.System([block]), {block: {"slide": (0.0, 4.0)}}, (0, 1))
    sol = tf.solve(problem, ELEMENT, 10, progress=False)
    assert sol.z[-1, 1] / 2 == pytest.approx(4 - 1.5, abs=1e-12)
    with pytest.raises(tf.InputError, match="'slide' has Coulomb friction, which needs a friction_width"):
        tf.Tree(*rail)


def test_equal_trees_share_kernels(robot):
    again = tf.Tree(robot.tree.links, robot.tree.joints)
    assert again.kind == robot.tree.kind and again is not robot.tree


def test_the_form_that_fits_is_taken(robot):
    found, same = (tf.solve(problem_of(robot.tree), element, 10, progress=False)
                   for element in (tf.MixedGalerkin(2), tf.MixedGalerkin(2, form="lagrange")))
    assert found.element == same.element and np.array_equal(found.z, same.z)
    with pytest.raises(tf.InputError, match=r"six has a mass matrix that varies .*form='lagrange'"):
        tf.solve(problem_of(robot.tree), tf.EMH(), 10, progress=False)


LINKS = [tf.Link("a"), tf.Link("b", 1.0, (1, 0, 0)), tf.Link("c", 1.0, (1, 0, 0))]
AB, BC = tf.TreeJoint("1", "a", "b"), tf.TreeJoint("2", "b", "c", axis=(0, 1, 0))
BAD = {
    "loop": (LINKS, [AB, BC, tf.TreeJoint("3", "c", "b")], "child of two joints, '1' and '3'"),
    "circle": (LINKS, [AB, tf.TreeJoint("2", "c", "c")], "'2' is in a loop"),
    "no base": (LINKS[:2], [AB, tf.TreeJoint("2", "b", "a")], "no link is the base"),
    "two bases": (LINKS, [AB], "'a', 'c' hang on no joint"),
    "unknown": (LINKS, [AB, tf.TreeJoint("2", "b", "d")], "the link 'd', which does not exist"),
    "twice": (LINKS, [AB, tf.TreeJoint("1", "b", "c")], "two joints have the name '1'"),
    "nothing moves": (LINKS[:2], [tf.TreeJoint("1", "a", "b", "fixed")], "no joint moves"),
    "no mass": ([LINKS[0], tf.Link("b")], [AB], "'1' moves no mass"),
    "mimic": (LINKS, [AB, tf.TreeJoint("2", "b", "c", mimic=("3", 1, 0))], "mimics '3', which is not a joint"),
    "mimic circle": (LINKS, [AB, tf.TreeJoint("2", "b", "c", mimic=("2", 1, 0))], "in a circle"),
    "no link": (["a"], [AB], "must be a sequence of Link"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_trees(case):
    links, joints, message = BAD[case]
    with pytest.raises(tf.InputError, match=message):
        tf.Tree(links, joints)


def test_bad_links_and_states():
    for arguments, message in (({"mass": -1}, "not be negative"), ({"inertia": (1, -1, 1)}, "semidefinite"),
                               ({"inertia": np.arange(9).reshape(3, 3)}, "symmetric")):
        with pytest.raises(tf.InputError, match=message):
            tf.Link("b", **arguments)
    tree = tf.Tree(LINKS, [AB, tf.TreeJoint("2", "b", "c", axis=(0, 1, 0), mimic=("1", 2, 0))])
    for state, message in (({"3": 1}, "must be one of '1'"), ({"2": 1}, "mimics '1'"),
                           ({"1": (1, 2, 3)}, "1 more for its rate"), (tf.Coordinates([1, 2]), "length 1"),
                           (tf.Pose(), "dict from joint")):
        with pytest.raises(tf.InputError, match=message):
            tree.state(state)


@pytest.mark.slow
def test_pinocchio(robot):
    """Mass matrix and bias forces; mimic joints as joints of their own, by projection."""
    pinocchio = pytest.importorskip("pinocchio")
    model, space = pinocchio.buildModelFromUrdf(robot.path), SpaceAxes(ARM, JOINTS)
    data = model.createData()
    order = [model.joints[model.getJointId(name)] for name in space.place]
    for x, v in zip(*samples(), strict=True):
        angles, rates, q, qdot = space.G @ x + space.b, space.G @ v, np.zeros(model.nq), np.zeros(model.nv)
        for joint, angle, rate in zip(order, angles, rates, strict=True):
            q[joint.idx_q:joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
            qdot[joint.idx_v] = rate
        rows = [joint.idx_v for joint in order]
        full = np.triu(pinocchio.crba(model, data, q))
        full = (full + np.triu(full, 1).T)[np.ix_(rows, rows)]
        bias = pinocchio.rnea(model, data, q, qdot, np.zeros(model.nv))[rows]
        np.testing.assert_allclose(robot.tree.mass_matrix(x), space.G.T @ full @ space.G, rtol=0, atol=1e-13)
        np.testing.assert_allclose(space.equations(x, v)[1], space.G.T @ bias, rtol=0, atol=1e-11)
