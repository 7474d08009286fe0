"""Derivatives by numbers of links and joints of a tree, against differences."""

import numpy as np
import pytest

import timefem as tf
from timefem.sensitivity.names import derivatives, functionals_of, parameters_of

pytestmark = pytest.mark.long

GRAVITY = (0, 0, -9.81)
NUMBERS = {"a.mass": 2.0, "b.mass": 1.0, "b.centre[1]": 0.02, "b.inertia[0,0]": 0.02, "shoulder.damping": 0.3,
           "elbow.stiffness": 4.0, "elbow.rest": 0.2, "elbow.friction": 0.1, "elbow.armature": 0.05}


def tree(values=NUMBERS):
    v = NUMBERS | values
    links = [tf.Link("base"), tf.Link("a", mass=v["a.mass"], centre=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01)),
             tf.Link("b", mass=v["b.mass"], centre=(0, v["b.centre[1]"], 0.2),
                     inertia=(v["b.inertia[0,0]"], 0.02, 0.015))]
    joints = [tf.TreeJoint("shoulder", "base", "a", axis=(0, 1, 0), damping=v["shoulder.damping"]),
              tf.TreeJoint("elbow", "a", "b", position=(0, 0, 0.6), axis=(0.6, 0.8, 0), friction=v["elbow.friction"],
                           stiffness=v["elbow.stiffness"], rest=v["elbow.rest"], armature=v["elbow.armature"])]
    return tf.Tree(links, joints, friction_width=0.5, name="arm")


def problem_of(values=NUMBERS):
    arm = tree(values)
    system = tf.System([arm, tf.Spring(arm.link("b", (0, 0, 0.4)), None, point_b=(0.5, 0, 0.5), stiffness=5)],
                       gravity=GRAVITY)
    return tf.InitialValueProblem(system, {arm: {"shoulder": (0.3, 1.0), "elbow": (0.5, -1.0)}}, (0, 0.4))


def solved(values=NUMBERS):
    return tf.solve(problem_of(values), tf.MixedGalerkin(2, form="lagrange"), 10, progress=False)


@pytest.fixture(scope="module")
def solution():
    return solved()


def given(name):
    name, _, index = name.rstrip("]").partition("[")
    index = tuple(map(int, index.split(","))) if "," in index else int(index) if index else None
    return name, index


@pytest.mark.parametrize("method", ["adjoint", "forward"])
def test_by_numbers_of_links_and_joints(solution, method):
    """Angles at the end, by two methods; velocities at the start are kept, and momenta follow."""
    end = tf.EndValue(lambda f, t: f[0].q, "arm")
    arm = solution.system.bodies[0]
    parameters = [tf.Parameter(arm, *given(name)) for name in NUMBERS]
    if method == "forward":
        found = tf.sensitivities(solution, end, parameters)
    else:
        found = np.array([tf.gradient(solution, tf.EndValue(lambda f, t, i=i: f[0].q[i], "arm"), parameters)
                          for i in range(2)])
    for column, (name, at) in zip(np.reshape(found, (2, -1)).T, NUMBERS.items(), strict=True):
        h = 1e-3 * at
        ends = [solved({name: at + sign * h}).z[-1][:2] for sign in (1, -1)]
        wide = [solved({name: at + 2 * sign * h}).z[-1][:2] for sign in (1, -1)]
        expected = (8 * (ends[0] - ends[1]) - (wide[0] - wide[1])) / (12 * h)
        np.testing.assert_allclose(column, expected, rtol=1e-7, atol=1e-9, err_msg=name)
        assert np.abs(column).max() > 1e-5


def test_prepared_solvers_take_other_masses(solution):
    changed = tf.prepare(problem_of(), tf.MixedGalerkin(2, form="lagrange"), 10, progress=False).solve(
        parameters={"arm.b.mass": 1.3, "arm.elbow.stiffness": 5.0, "arm.b.inertia[0,0]": 0.03})
    again = solved({"b.mass": 1.3, "elbow.stiffness": 5.0, "b.inertia[0,0]": 0.03})
    np.testing.assert_allclose(changed.z, again.z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(changed.joint("elbow").force(), again.joint("elbow").force(), rtol=0, atol=1e-9)
    assert changed.system.bodies[0].kind == solution.system.bodies[0].kind


def test_faults(solution):
    arm, end = solution.system.bodies[0], tf.EndValue(lambda f, t: f[0].q[0], "arm")
    for name, message in (("b.colour", "it has .*b.mass, b.centre, b.inertia"), ("mass", "such as base.mass")):
        with pytest.raises(tf.InputError, match=message):
            tf.gradient(solution, end, [tf.Parameter(arm, name)])


LOOP = {"a.mass": 2.0, "b.inertia[1,1]": 0.02, "shoulder.damping": 0.3, "rod.length": 0.5, "rod.point_b[0]": 0.6,
        "rod.point_a[2]": 0.3}


def closed(values, start):
    """The arm with a rod from its last link to space; the start satisfies the constraint by the smallest change."""
    v = LOOP | values
    links = [tf.Link("base"), tf.Link("a", mass=v["a.mass"], centre=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01)),
             tf.Link("b", mass=1.0, centre=(0, 0.02, 0.2), inertia=(0.02, v["b.inertia[1,1]"], 0.015))]
    joints = [tf.TreeJoint("shoulder", "base", "a", axis=(0, 1, 0), damping=v["shoulder.damping"]),
              tf.TreeJoint("elbow", "a", "b", "spherical", position=(0, 0, 0.6))]
    arm = tf.Tree(links, joints, name="arm")
    rod = tf.RigidDistance(arm.link("b"), None, point_a=(0, 0, v["rod.point_a[2]"]),
                           point_b=(v["rod.point_b[0]"], 0, 0.1), length=v["rod.length"], name="rod")
    system = tf.System([arm, rod], gravity=GRAVITY)
    if start is None:
        pose = tf.Pose(orientation=(np.cos(0.45), 0, np.sin(0.45), 0), angular_velocity=(0.3, -1, 2))
        found = tf.assemble(system, {arm: {"shoulder": (0.3, 0.5), "elbow": pose}})[arm]
        start = tf.Coordinates(found.q, arm.velocity(found.q, found.p))
    return tf.InitialValueProblem(system, {arm: start}, (0, 0.2), assemble=True), start


@pytest.mark.long
@pytest.mark.parametrize("element", [tf.MixedGalerkin(2, form="energy"), tf.MixedGalerkin(1, form="impulse"), tf.EML()],
                         ids=["energy", "impulse", "eml"])
def test_closed_loops(element):
    """Masses, damping and lengths of a tree with a loop; coordinates and rates at the end."""
    _, start = closed({}, None)

    def ends(values):
        sol = tf.solve(closed(values, start)[0], element, 8, progress=False)
        arm = sol.system.bodies[0]
        q, p = np.split(sol.z[-1], 2)
        return sol, np.concatenate([q, arm.velocity(q, p)])

    sol, _ = ends({})
    state = [tf.EndValue(lambda f, t: f[0].q, "arm"), tf.EndValue(lambda f, t: f[0].v, "arm")]
    parameters = [tf.Parameter(name.split(".")[0] if name.startswith("rod") else "arm",
                               *given(name.removeprefix("rod."))) for name in LOOP]
    found = tf.sensitivities(sol, state, parameters)
    back = tf.gradient(sol, tf.EndValue(lambda f, t: f[0].v[0], "arm"), parameters)
    np.testing.assert_allclose(back, found[sol.system.n_q], rtol=1e-9, atol=1e-12)
    for column, (name, at) in zip(found.T, LOOP.items(), strict=True):
        h = 1e-3 * at
        near, far = ([ends({name: at + s * k * h})[1] for s in (1, -1)] for k in (1, 2))
        expected = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * h)
        np.testing.assert_allclose(column, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max(), err_msg=name)
        assert np.abs(column).max() > 1e-4


@pytest.mark.parametrize("name, part", [
    ("value.amplitude", lambda x: tf.JointForce(x, value=tf.Sine(1.0, 2.0, 0.3, 0.1), name="f")),
    ("value.offset", lambda x: tf.JointForce(x, value=tf.Sine(1.0, 2.0, 0.3, 0.1), name="f")),
    ("torque.frequency", lambda x: tf.Motor(x, gear=5, damping=0.1, torque=tf.Sine(1.0, 2.0), name="f")),
    ("reference.amplitude", lambda x: tf.PDControl(x, stiffness=9, damping=1, reference=tf.Sine(0.5, 2), name="f")),
    ("feedforward", lambda x: tf.PDControl(x, stiffness=9, damping=1, feedforward=0.5, name="f"))])
def test_functions_of_time(name, part):
    """Numbers in functions of time of what acts on joints, beside prepared solvers with other numbers."""
    arm = tree()
    problem = tf.InitialValueProblem(tf.System([arm, part(arm.joint("elbow"))], gravity=GRAVITY),
                                     {arm: {"shoulder": (0.3, 1.0)}}, (0, 0.4))
    element = tf.MixedGalerkin(2, form="lagrange")
    sol = tf.solve(problem, element, 8, progress=False)
    found = tf.gradient(sol, tf.EndValue(lambda f, t: f[0].q[1], "arm"), [tf.Parameter("f", name)])[0]
    solver, at, h = tf.prepare(problem, element, 8, progress=False), sol.system["f"], 1e-4
    for step in name.split("."):
        at = getattr(at, step)
    at = getattr(at, "value", at)
    ends = [solver.solve(parameters={f"f.{name}": at + s * h}).z[-1][1] for s in (1, -1)]
    assert abs(found) > 1e-3
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


def test_formulas_of_links_and_joints():
    """Place, velocity and spin of a tip, and angle and rate of a joint, by a mass, against differences."""
    def solved(mass):
        links = [tf.Link("base"), tf.Link("upper", 3.0, (0, 0, 0.2), (0.05, 0.05, 0.01)),
                 tf.Link("fore", mass, (0, 0, 0.15), (0.02, 0.02, 0.004))]
        arm = tf.Tree(links, [tf.TreeJoint("shoulder", "base", "upper", axis=(0, 1, 0)),
                              tf.TreeJoint("elbow", "upper", "fore", position=(0, 0, 0.4), axis=(0, 1, 0))], name="arm")
        problem = tf.InitialValueProblem(tf.System([arm], gravity=(0, 0, -9.81)),
                                         {arm: {"shoulder": 0.7, "elbow": 0.5}}, (0, 0.3))
        sol = tf.solve(problem, tf.MixedGalerkin(2, form="lagrange"), 20, progress=False)
        tip, joint = arm.link("fore", (0, 0, 0.3)), sol.joint("elbow")
        return arm, tip, sol, np.array([sol.position(tip, 0.3)[0], sol.velocity(tip, 0.3)[2], joint.angle(0.3),
                                        joint.rate(0.3)])

    arm, tip, sol, _ = solved(1.5)
    end = tf.EndValue(lambda seen, t: [seen[0].position[0], seen[0].velocity[2], seen[1].q[0], seen[1].v[0]],
                      [tip, arm.joint("elbow")])
    found = tf.sensitivities(sol, end, [tf.Parameter(arm, "fore.mass")]).ravel()
    differences = (solved(1.501)[-1] - solved(1.499)[-1]) / 0.002
    np.testing.assert_allclose(found, differences, rtol=0, atol=1e-5)
    assert np.abs(found).min() > 1e-4


def test_links_and_joints_in_texts(solution):
    """Names as text mean what the parts themselves do, also places of joints and what is zero in the tree."""
    system, z = solution.system, solution.z[0]
    arm = system["arm"]
    functionals = functionals_of(system, ["end:arm.b.position[2]", "end:arm.elbow.v[0]", "end:arm.q[1]"])
    texts = ["arm.b.mass", "arm.b.inertia[1]", "arm.elbow.position[0]", "start:arm.elbow.q", "start:arm.q[1]"]
    parameters = [tf.Parameter(arm.link("b"), "mass"), tf.Parameter(arm, "b.inertia", (1, 1)),
                  tf.Parameter(arm.joint("elbow"), "position", 0), tf.Initial(arm.joint("elbow"), "q"),
                  tf.Initial(arm, "q", 1)]
    found = derivatives(solution, functionals, parameters_of(system, z, texts))
    for (name, f), of in zip(found["functionals"].items(), functionals.values(), strict=True):
        np.testing.assert_allclose(f["derivatives"], tf.gradient(solution, of, parameters), rtol=1e-10, err_msg=name)
        assert f["derivatives"][3] == pytest.approx(f["derivatives"][4], rel=1e-12)
    assert found["functionals"]["end:arm.b.position[2]"]["value"] == \
        pytest.approx(solution.position("arm.b", solution.t[-1])[2])


@pytest.mark.parametrize(("text", "fault"), [
    ("start:arm.b.position", "arm.b hangs on joints; give changes of these"),
    ("start:arm.bb.q", "must name a body .* did you mean 'arm.b'?"), ("start:arm.elbow.x", "arm.elbow has no 'x'")])
def test_starts_in_texts_that_are_none(solution, text, fault):
    with pytest.raises(tf.InputError, match=fault):
        parameters_of(solution.system, solution.z[0], [text])


def tilted_arm(x):
    tilt, centre, place = x
    links = [tf.Link("ground"), tf.Link("a", mass=1.0, centre=(0.3, 0, 0), inertia=(0.01, 0.05, 0.05)),
             tf.Link("b", mass=0.7, centre=(centre, 0, 0.1), inertia=(0.01, 0.03, 0.03))]
    joints = [tf.TreeJoint("ja", "ground", "a", axis=(0, 1, 0)),
              tf.TreeJoint("jb", "a", "b", axis=(np.sin(tilt), np.cos(tilt), 0), position=(place, 0, 0))]
    arm = tf.Tree(links, joints, name="arm")
    spring = tf.Spring(arm.link("b"), point_a=(0.4, 0, 0), point_b=(0, 0, 1), stiffness=20, length=0.4)
    return tf.InitialValueProblem(tf.System([arm, spring], gravity=(0, 0, -9.81)), {arm: {"ja": 0.3, "jb": 0.5}},
                                  (0, 0.6))


def skew_body(x):
    first, second = x
    body = tf.RigidBody(1.0, [[0.1, first, 0], [first, 0.2, second], [0, second, 0.25]], name="arm")
    system = tf.System([body, tf.Spherical(body, point_a=(0.1, 0.2, 0.3), point_b=(0, 0, 0))], gravity=(0, 0, -9.81))
    return tf.InitialValueProblem(system, {body: tf.Pose((-0.1, -0.2, -0.3))}, (0, 0.6))


@pytest.mark.parametrize(("problem", "x"), [
    (tilted_arm, (0.4, 0.0, 0.5)), (tilted_arm, (0.3, 0.2, 0.6)), (skew_body, (0.0, 0.0)), (skew_body, (0.01, 0.0))])
def test_numbers_of_a_family_need_not_be_in_the_formulas(problem, x):
    """Axes and places of joints, zeros of centres and inertias: what changes with the values is let free."""
    def height(x):
        return marched(x).position(body, 0.6)[2]

    def marched(x):
        return tf.solve(problem(x), tf.MixedGalerkin(2), 20, progress=False)

    body, x = "arm.b" if problem is tilted_arm else "arm", np.array(x)
    steps = 1e-4 * np.eye(len(x))
    differences = [(8 * (height(x + h) - height(x - h)) - height(x + 2 * h) + height(x - 2 * h)) / 12e-4 for h in steps]
    found = tf.gradient(marched(x), tf.EndValue(lambda bodies, t: bodies[0].position[2], bodies=[body]),
                        tf.Family(problem, x))
    np.testing.assert_allclose(found, differences, rtol=2e-7, atol=1e-8)
    assert np.abs(found).min() > 1e-4
