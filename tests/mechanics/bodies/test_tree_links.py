"""Joints, forces, outputs and files on links of trees, against the same systems in redundant coordinates."""

import numpy as np
import pytest

import timefem as tf

GRAVITY = (0, 0, -9.81)
LINKS = [tf.Link("base"), tf.Link("a", mass=2, centre=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01)),
         tf.Link("b", mass=1, centre=(0, 0.02, 0.2), inertia=(0.02, 0.02, 0.015)),
         tf.Link("c", mass=0.4, centre=(0, 0, 0.1), inertia=(0.002, 0.002, 0.001))]
JOINTS = [tf.TreeJoint("shoulder", "base", "a", axis=(0, 1, 0)),
          tf.TreeJoint("elbow", "a", "b", position=(0, 0, 0.6), axis=(0, 1, 0.2)),
          tf.TreeJoint("wrist", "b", "c", position=(0, 0, 0.4), axis=(1, 0, 0))]
STATE = {"shoulder": (0.3, 0.5), "elbow": (0.7, -1), "wrist": (-0.4, 2)}
CENTRE = {link.name: link.centre for link in LINKS}
ELEMENT = tf.MixedGalerkin(4, form="lagrange")


@pytest.fixture(scope="module")
def arm():
    return tf.Tree(LINKS, JOINTS, name="arm")


def forces(on, point):
    """Forces on bodies `on(name)` at places `point(name, place)` of links."""
    a, b, c = map(on, "abc")
    return [tf.Spring(c, None, point("c", (0, 0, 0.2)), (0.3, 0.2, 1.5), stiffness=80, length=0.2),
            tf.Damper(c, a, point("c", (0, 0, 0.2)), point("a", (0.1, 0, 0.2)), damping=3.0),
            tf.Force(b, (1, 2, 3), point=point("b", (0, 0.1, 0.2)), frame="body"), tf.Torque(a, (0.3, 0.1, -1)),
            tf.TorsionalSpring(b, a, (0, 1, 0), 2.0, turns=False)]


def redundant(tree, z0):
    """Rigid bodies of the links that move, their joints, and the state that belongs to that of the tree."""
    q, p = np.split(z0, 2)
    rates, bodies, state = tree.velocity(q, p), {}, {}
    for link in tree.links[1:]:
        body, frame = tf.RigidBody(link.mass, link.inertia, name=link.name), tree.link(link.name, link.centre)
        x, v = q[frame.dofs], rates[frame.dofs]
        state[body] = tf.Pose(frame.position(x), frame.rotation_matrix(x), frame.velocity(x, v),
                              frame.angular_velocity(x, v))
        bodies[link.name] = body
    joints = [tf.Revolute(bodies[j.child], bodies.get(j.parent), point_a=-CENTRE[j.child], axis_a=j.axis, axis_b=j.axis,
                          point_b=j.position - CENTRE[j.parent]) for j in tree.joints]
    return bodies, joints, state


@pytest.mark.long
def test_forces_on_links(arm):
    system = tf.System([arm, *forces(arm.link, lambda _, x: x)], gravity=GRAVITY)
    problem = tf.InitialValueProblem(system, {arm: STATE}, (0, 0.4))
    sol = tf.solve(problem, ELEMENT, 80, progress=False)
    bodies, joints, state = redundant(arm, problem.z0)
    parts = [*bodies.values(), *joints, *forces(bodies.get, lambda name, x: np.array(x) - CENTRE[name])]
    other = tf.solve(tf.InitialValueProblem(tf.System(parts, gravity=GRAVITY), state, (0, 0.4)), tf.MixedGalerkin(4),
                     80, progress=False)
    for name, body in bodies.items():
        link = arm.link(name, CENTRE[name])
        for quantity, atol in (("position", 1e-10), ("velocity", 1e-9), ("rotation_matrix", 1e-10),
                               ("angular_velocity", 1e-9)):
            np.testing.assert_allclose(getattr(sol, quantity)(link, 0.4), getattr(other, quantity)(body, 0.4), rtol=0,
                                       atol=atol, err_msg=f"{quantity} of {name}")
    balance = sol.energy() - sol.energy.work()
    np.testing.assert_allclose(balance, balance[0], rtol=0, atol=1e-8)


def test_links_by_name(arm):
    system = tf.System([arm], gravity=GRAVITY)
    sol = tf.solve(tf.InitialValueProblem(system, {arm: STATE}, (0, 0.1)), ELEMENT, 5, progress=False)
    assert system.find("arm.b") is arm.link("b") and system.label(arm.link("b")) == "arm.b"
    q = sol(0.1)[:3]
    np.testing.assert_allclose(sol.position("arm.c", 0.1), arm.link_pose("c", q)[0], rtol=0, atol=1e-15)
    place, turn = arm.link_pose("c", q)
    point = arm.link("c").point((0.1, 0.2, 0.3))
    np.testing.assert_allclose(sol.position(point, 0.1), place + turn @ (0.1, 0.2, 0.3), rtol=0, atol=1e-15)
    assert sol.coordinates("arm.elbow", 0.1) == pytest.approx(q[1:2], abs=0)
    step = 1e-4
    rate = (sol.position(point, 0.05 + step) - sol.position(point, 0.05 - step)) / (2 * step)
    np.testing.assert_allclose(sol.velocity(point, 0.05), rate, rtol=0, atol=1e-6)
    with pytest.raises(tf.InputError, match=r"no body 'arm\.d'"):
        sol.position("arm.d", 0.1)
    with pytest.raises(tf.InputError, match="link must be one of 'base', 'a', 'b', 'c', not 'd'"):
        arm.link("d")
    with pytest.raises(tf.InputError, match="must be a joint with an angle or a displacement"):
        tf.JointSpring(arm.link("a"), stiffness=1.0)
    with pytest.raises(tf.InputError, match="not in the system; add it"):
        tf.System([tf.PointMass(1.0), tf.Force(arm.link("a"), (0, 0, 1))])


def bar(name, parent, place, mass, length):
    joint = tf.TreeJoint(name.upper(), parent, name, position=place, axis=(0, 0, 1))
    return tf.Link(name, mass=mass, centre=(length / 2, 0, 0), inertia=(0.01, *[mass * length**2 / 12] * 2)), joint


@pytest.fixture(scope="module")
def four_bar():
    """A chain of two links and a third one, closed by a hinge."""
    made = [bar("crank", "ground", (0, 0, 0), 1.0, 1.0), bar("coupler", "crank", (1, 0, 0), 2.0, 2.0),
            bar("rocker", "ground", (2.5, 0, 0), 1.5, 1.5)]
    tree = tf.Tree([tf.Link("ground"), *(link for link, _ in made)], [joint for _, joint in made], name="linkage")
    hinge = tf.Revolute(tree.link("coupler"), tree.link("rocker"), point_a=(2, 0, 0), point_b=(1.5, 0, 0),
                        axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="hinge")
    system = tf.System([tree, hinge], gravity=(0, -9.81, 0), redundant="drop")
    state = tf.assemble(system, {tree: {"CRANK": (1.2, 3.0), "COUPLER": -1.0, "ROCKER": 1.8}})
    return tree, tf.InitialValueProblem(system, state, (0, 0.5))


@pytest.mark.long
@pytest.mark.parametrize("form", ["energy", "impulse"])
def test_closed_loop(four_bar, form):
    """Against one coordinate: the crank angle, with the others from the geometry of the triangle."""
    tree, problem = four_bar
    assert problem.system.n_constraints == 2 and len(problem.system.dropped) == 3
    sol = tf.solve(problem, tf.MixedGalerkin(3, form=form), 100, progress=False)
    assert sol.success
    q, p = np.split(sol.z, 2, axis=1)
    coupler, rocker = tree.link("coupler", (2, 0, 0)), tree.link("rocker", (1.5, 0, 0))
    gap = coupler.position(q[:, coupler.dofs]) - rocker.position(q[:, rocker.dofs])
    np.testing.assert_allclose(gap, 0, rtol=0, atol=2e-8)
    end, start = _crank_motion(q[0], tree.velocity(q[0], p[0])[0])
    assert start == pytest.approx(q[0, 2], abs=1e-9)
    assert q[-1, 0] == pytest.approx(end, abs=2e-7)


def _crank_motion(q0, rate):
    """Crank angle after 0.5 s by DOP853, from energy in one coordinate: 1/2 J(s) s'^2 + V(s)."""
    import scipy

    def angles(s):
        tip = np.array([np.cos(s), np.sin(s)])
        way = np.array([2.5, 0]) - tip
        d = np.hypot(*way)
        inner = np.arccos((d**2 + 2**2 - 1.5**2) / (4 * d))
        first = np.arctan2(way[1], way[0]) + inner
        end = tip + 2 * np.array([np.cos(first), np.sin(first)])
        return tip, first, np.arctan2(end[1], end[0] - 2.5)

    def whole(s):
        tip, first, last = angles(s)
        middle = tip + np.array([np.cos(first), np.sin(first)])
        place = np.array([*tip / 2, *middle, *(0.75 * np.array([np.cos(last), np.sin(last)]))])
        return place, np.array([s, first, last])

    def energies(s, h=1e-3):
        def rate_of(i):
            steps = [(whole(s + n * h)[i] - whole(s - n * h)[i]) / (2 * n * h) for n in (1, 2, 3)]
            return (15 * steps[0] - 6 * steps[1] + steps[2]) / 10
        place, turn = rate_of(0), rate_of(1)
        moving = np.repeat([1.0, 2.0, 1.5], 2) @ place**2 + np.array([1 / 12, 8 / 12, 1.5**3 / 12]) @ turn**2
        return moving, 9.81 * np.array([1.0, 2.0, 1.5]) @ whole(s)[0][1::2]

    def f(t, y, h=1e-3):
        inertia = energies(y[0])[0]
        slopes = [np.subtract(energies(y[0] + n * h), energies(y[0] - n * h)) / (2 * n * h) for n in (1, 2, 3)]
        by_j, by_v = (15 * slopes[0] - 6 * slopes[1] + slopes[2]) / 10
        return [y[1], -(by_j * y[1]**2 / 2 + by_v) / inertia]

    sol = scipy.integrate.solve_ivp(f, (0, 0.5), (q0[0], rate), method="DOP853", rtol=1e-9, atol=1e-10)
    return sol.y[0, -1], angles(q0[0])[2]


def test_saved(four_bar, tmp_path):
    tree, problem = four_bar
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), 20, progress=False)
    sol.save(tmp_path / "loop.h5")
    again = tf.load(tmp_path / "loop.h5")
    assert np.array_equal(again.z, sol.z) and again.system.n_constraints == 2
    np.testing.assert_array_equal(again.position("linkage.rocker", 0.3), sol.position("linkage.rocker", 0.3))
    np.testing.assert_array_equal(again.energy(), sol.energy())
    assert again.system.bodies[0].joints[1].name == tree.joints[1].name


def test_refused_forms(arm, four_bar):
    _, problem = four_bar
    with pytest.raises(tf.InputError, match="form='lagrange' takes no constraints"):
        tf.solve(problem, ELEMENT, 5, progress=False)
    with pytest.raises(tf.InputError, match="mass matrix that varies"):
        tf.solve(tf.InitialValueProblem(tf.System([arm]), {}, (0, 1)), tf.BubnovGalerkin(2), 5, progress=False)


def test_coordinates_of_a_link():
    """A link takes those that carry it; others would be read as them, silently."""
    pair = tf.Tree([tf.Link("rail"), tf.Link("a", 1.0, inertia=(1, 1, 1)), tf.Link("b", 1.0, inertia=(1, 1, 1))],
                   [tf.TreeJoint("x", "rail", "a", "prismatic", axis=(1, 0, 0)),
                    tf.TreeJoint("y", "rail", "b", "prismatic", axis=(0, 1, 0))], name="pair")
    assert pair.link("b").position([2.0]).tolist() == [0, 2, 0]
    with pytest.raises(tf.InputError, match=r"hangs at 1 coordinates of its tree, and q has shape \(2,\)"):
        pair.link("b").position([1.0, 2.0])
