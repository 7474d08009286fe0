"""Every drive and part on a tree: the motion of the redundant system, sensitivities, model files, saved solutions."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import timefem as tf
from timefem.mechanics.numbers.changes import extended
from timefem.sensitivity import Linearization

GRAVITY, Y, Z, SPAN, N = (0, 0, -9.81), (0, 1, 0), (0, 0, 1), (0, 0.1), 10
STATE = {"s": (0.3, 1.0), "e": (0.5, -1.0)}
LAW = lambda x, v, t, c: -c[0] * (x - 0.1) - c[1] * v
SWIRL = lambda f, t, c: c[0] * ca.cross(f[0].velocity, ca.SX([0, 1, 0]))
PUSH = lambda f, t, c, u: c[0] * f[0].velocity * u[0]


def tree():
    """Two links about the y axis, whose frames stand where the joints are."""
    links = [tf.Link("base"), tf.Link("a", mass=2.0, centre=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01)),
             tf.Link("b", mass=1.0, centre=(0, 0, 0.2), inertia=(0.02, 0.02, 0.015))]
    joints = [tf.TreeJoint("s", "base", "a", axis=Y), tf.TreeJoint("e", "a", "b", position=(0, 0, 0.6), axis=Y)]
    return tf.Tree(links, joints, name="arm")


# each part from joints by name, and bodies by name whose points count from their centres of mass
PARTS = {
    "joint_spring": lambda j, b: tf.JointSpring(j("e"), stiffness=5, rest=0.1, name="x"),
    "joint_damper": lambda j, b: tf.JointDamper(j("e"), damping=0.2, name="x"),
    "joint_force": lambda j, b: tf.JointForce(j("e"), value=tf.Sine(1, 2), name="x"),
    "joint_friction": lambda j, b: tf.JointFriction(j("e"), friction=0.3, friction_width=0.5, breakaway=0.4,
                                                    stribeck=1.0, name="x"),
    "end_stop": lambda j, b: tf.EndStop(j("e"), lowest=-0.5, highest=0.48, stiffness=500, damping=0.2, name="x"),
    "motor": lambda j, b: tf.Motor(j("s"), gear=20, damping=1e-3, torque=tf.Sine(0.1, 2), name="x"),
    "rotor": lambda j, b: tf.Motor(j("s"), gear=20, rotor_inertia=1e-3, damping=1e-3, torque=tf.Sine(0.1, 2),
                                   name="x"),
    "pd_control": lambda j, b: tf.PDControl(j("e"), stiffness=20, damping=1, reference=tf.Sine(0.2, 1), name="x"),
    "prescribed_joint": lambda j, b: tf.PrescribedJoint(j("e"), value=tf.Polynomial((0.5, -1.0, 0.3)), name="x"),
    "controller": lambda j, b: tf.Controller([j("e")], LAW, parameters=[3.0, 0.5], name="x"),
    "sampled": lambda j, b: tf.SampledController([j("e")], LAW, 0.02, delay=0.01, parameters=[3.0, 0.5], name="x"),
    "formula_force": lambda j, b: tf.FormulaForce(b("b"), SWIRL, parameters=[3.0], name="x"),
    "spring": lambda j, b: tf.Spring(b("b"), b("a"), (0, 0, 0.2), (0.2, 0, 0), stiffness=30, name="x"),
    "damper": lambda j, b: tf.Damper(b("b"), None, (0, 0, 0.2), (1, 0, 0), damping=3, name="x"),
    "slack_rope": lambda j, b: tf.SlackRope(b("b"), None, (0, 0, 0.2), (1, 0, 0), length=0.9, stiffness=300, name="x"),
    "drag": lambda j, b: tf.Drag(b("b"), coefficient=0.5, point=(0, 0, 0.2), name="x"),
    "force": lambda j, b: tf.Force(b("b"), value=(1, 2, 3), time=tf.Sine(1, 2), frame="body", name="x"),
    "plane_contact": lambda j, b: tf.PlaneContact(b("b"), points=[(0, 0, 0.2)], radius=0.05, stiffness=1e3, damping=0.1,
                                                  friction=0.2, friction_width=0.05, plane_point=(0, 0, 0.9), name="x"),
    "box_contact": lambda j, b: tf.BoxContact(b("b"), size=(0.1, 0.1, 0.1), stiffness=1e3, damping=0.1,
                                              plane_point=(0, 0, 0.7), name="x"),
    "tyre": lambda j, b: tf.Tyre(b("b"), radius=0.3, stiffness=100, longitudinal=0.5, lateral=0.5,
                                 plane_point=(0, 0, 0.45), name="x"),
}
DRIVES = {  # with one control
    "joint_control": lambda j, b: tf.JointControl(j("e"), name="x"),
    "length_control": lambda j, b: tf.LengthControl(b("b"), b("a"), (0, 0, 0.1), (0.2, 0, 0), name="x"),
    "control_force": lambda j, b: tf.ControlForce(b("b"), [(1, 0, 0)], (0, 0, 0.1), "body", b("a"), name="x"),
    "control_torque": lambda j, b: tf.ControlTorque(b("b"), [(0, 1, 0)], reaction=b("a"), name="x"),
    "thruster": lambda j, b: tf.Thruster(b("b"), (1, 0, 0), (0, 0, 0.1), drag=0.1, name="x"),
    "motor": lambda j, b: tf.Motor(j("e"), gear=2, name="x"),
    "rotor": lambda j, b: tf.Motor(j("e"), gear=2, rotor_inertia=1e-2, name="x"),
    "formula_force": lambda j, b: tf.FormulaForce(b("b"), PUSH, parameters=[3.0], n_controls=1, name="x"),
}
KINKED = {"end_stop": 1e-4, "plane_contact": 1e-4, "slack_rope": 1e-5, "box_contact": 1e-3, "tyre": 1e-4}


def on_tree(make):
    arm = tree()
    part = make(arm.joint, lambda name: arm.link(name, {"a": (0, 0, 0.3), "b": (0, 0, 0.2)}[name]))
    system = tf.System([arm, part], gravity=GRAVITY)
    return tf.InitialValueProblem(system, {arm: STATE}, SPAN), part


def on_bodies(make):
    a, b = tf.RigidBody(2.0, (0.05, 0.05, 0.01), name="a"), tf.RigidBody(1.0, (0.02, 0.02, 0.015), name="b")
    s = tf.Revolute(a, point_a=(0, 0, -0.3), point_b=(0, 0, 0), axis_a=Y, axis_b=Y, direction_a=Z, direction_b=Z,
                    name="s")
    e = tf.Revolute(b, a, point_a=(0, 0, -0.2), point_b=(0, 0, 0.3), axis_a=Y, axis_b=Y, direction_a=Z, direction_b=Z,
                    name="e")
    part = make({"s": s, "e": e}.get, {"a": a, "b": b}.get)
    system = tf.System([a, b, s, e, part], gravity=GRAVITY)
    return tf.InitialValueProblem(system, {s: STATE["s"], e: STATE["e"]}, SPAN), part


def form_of(system):
    return "energy" if system.n_constraints else "lagrange"


def marched(problem, degree=2, n=N):
    return tf.solve(problem, tf.MixedGalerkin(degree, form=form_of(problem.system)), n, progress=False)


@pytest.mark.long
@pytest.mark.parametrize("name", PARTS)
def test_motion_is_that_of_bodies(name):
    """In joint coordinates and in redundant ones, with reactions of the joints that drive and hold."""
    (problem, _), (other, _) = on_tree(PARTS[name]), on_bodies(PARTS[name])
    sol = marched(problem, 3, 40)
    same = tf.solve(other, tf.MixedGalerkin(3), 40, progress=False)
    atol = KINKED.get(name, 1e-9)
    for joint in "se":
        np.testing.assert_allclose(sol.joint(joint).angle(0.1), same.joint(joint).angle(0.1), rtol=0, atol=atol)
        np.testing.assert_allclose(sol.joint(joint).rate(0.1), same.joint(joint).rate(0.1), rtol=0, atol=100 * atol)
    free = marched(on_tree(lambda j, b: tf.JointDamper(j("s"), damping=0))[0], 3, 40)
    assert abs(sol.joint("e").angle(0.1) - free.joint("e").angle(0.1)) > 1e-5  # it acts


@pytest.mark.long
@pytest.mark.parametrize("name", DRIVES)
def test_controls_are_those_of_bodies(name):
    """Generalized forces of a control along the joints, by the work of unit rates; and a drive in a controller."""
    law = lambda x, v, t, c: 2.0 + x[0]
    (problem, drive), (other, same) = on_tree(DRIVES[name]), on_bodies(DRIVES[name])
    assert problem.system[drive].n_controls == 1
    if name == "rotor":
        return  # a drive with a rotor of its own is not one of controllers
    arm = problem.system.bodies[0]
    led = tf.Controller([drive], law, inputs=[arm.joint("e")])
    sol = marched(tf.InitialValueProblem(extended(problem.system, [led]), {arm: STATE}, SPAN), 3, 20)
    joint = other.system["e"]
    led = tf.Controller([same], law, inputs=[joint])
    there = tf.solve(tf.InitialValueProblem(extended(other.system, [led]), {other.system["s"]: STATE["s"],
                                                                           joint: STATE["e"]}, SPAN),
                     tf.MixedGalerkin(3), 20, progress=False)
    for which in "se":
        np.testing.assert_allclose(sol.joint(which).angle(0.1), there.joint(which).angle(0.1), rtol=0, atol=1e-8)


NUMBERS = {"joint_spring": "stiffness", "joint_damper": "damping", "joint_force": "value.amplitude",
           "joint_friction": "breakaway", "end_stop": "highest", "motor": "gear", "rotor": "damping",
           "pd_control": "reference.frequency", "prescribed_joint": None, "controller": "parameters[0]",
           "formula_force": "parameters[0]", "spring": "stiffness", "damper": "damping", "slack_rope": "length",
           "drag": "coefficient", "force": "time.amplitude", "plane_contact": "friction", "box_contact": "stiffness",
           "tyre": "radius"}


@pytest.mark.long
@pytest.mark.parametrize("name", NUMBERS)
def test_sensitivities(name):
    """By a number of the part, and by the mass of a link, against prepared solvers with other numbers."""
    problem, _ = on_tree(PARTS[name])
    sol, element = marched(problem), tf.MixedGalerkin(2, form=form_of(problem.system))
    solver = tf.prepare(problem, element, N, progress=False)
    end = tf.EndValue(lambda f, t: f[0].v[0], "arm")
    for path in ("arm.b.mass", f"x.{NUMBERS[name]}")[:1 + (NUMBERS[name] is not None)]:
        label, _, number = path.partition(".")
        number, _, index = number.partition("[")
        found = tf.gradient(sol, end, [tf.Parameter(label, number, int(index[:-1]) if index else None)])[0]
        at = 1.0 if label == "arm" else sol.system["x"]
        for step in number.split(".") if label == "x" else ():
            at = getattr(at, "law_parameters" if step == "parameters" and hasattr(at, "law_parameters") else
                         "own_parameters" if step == "parameters" else step)
        at = float(np.ravel(at)[0])
        h, values = 1e-4 * at, []
        for sign in (1, -1):
            moved = solver.solve(parameters={path: at + sign * h})
            q, p = np.split(moved.z[-1], 2)
            values.append(moved.system.bodies[0].velocity(q, p)[0])
        expected = (values[0] - values[1]) / (2 * h)
        np.testing.assert_allclose(found, expected, rtol=2e-4 if name in KINKED else 1e-6, atol=1e-9, err_msg=path)
        assert abs(found) > 1e-6


@pytest.mark.long
@pytest.mark.parametrize("where", ["tree", "bodies"])
@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_derivatives_through_samplers(where, delay):
    """What is held follows from the states at which it is reported: by gains and masses, against other solutions."""
    make = lambda c, k: tf.SampledController([c("e")], LAW, 0.02, delay=delay, parameters=[3.0, 0.5], name="x")
    problem, _ = (on_tree if where == "tree" else on_bodies)(make)
    element = tf.MixedGalerkin(2, form="lagrange" if where == "tree" else "hamilton")
    solver = tf.prepare(problem, element, N, progress=False)
    end = tf.EndValue(*{"tree": (lambda f, t: f[0].v[0], "arm"), "bodies": (lambda f, t: f[0].velocity[0], "a")}[where])
    body, mass = ("arm", "b.mass") if where == "tree" else ("b", "mass")
    wanted = [tf.Parameter("x", "parameters", 1), tf.Parameter(body, mass)]
    at = Linearization(solver.solve())
    found, h = at.gradient(end, wanted), 1e-4
    np.testing.assert_allclose(at.sensitivities(end, wanted)[0], found, rtol=1e-9)
    for change, name, value in zip(found, ("x.parameters[1]", f"{body}.{mass}"), (0.5, 1.0), strict=True):
        ends = [Linearization(solver.solve(parameters={name: value + s * h})).value(end)[0] for s in (1, -1)]
        np.testing.assert_allclose(change, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)
        assert abs(change) > 1e-3


@pytest.mark.long
def test_counters_of_turns_rest_from_piece_to_piece():
    """Round-off in their momenta does not grow where a march begins anew."""
    problem, _ = on_bodies(PARTS["sampled"])
    sol = tf.solve(problem, tf.MixedGalerkin(2, form="energy"), N, progress=False)
    ends = sol.system.velocity(sol.t[1:], sol.z[1:])
    np.testing.assert_allclose(sol.fields["velocity"][:, -1], ends, rtol=0, atol=1e-11)


@pytest.mark.long
@pytest.mark.parametrize("where", ["tree", "bodies"])
def test_derivatives_by_gear_and_rotor(where):
    """Both enter what the rotor is in the system, and its state at the start."""
    def solved(gear, inertia):
        make = lambda j, b: tf.Motor(j("s"), gear=gear, rotor_inertia=inertia, torque=tf.Sine(0.1, 2), name="x")
        return Linearization(marched((on_tree if where == "tree" else on_bodies)(make)[0]))

    at = solved(20.0, 1e-3)
    end = tf.EndValue(*{"tree": (lambda f, t: f[0].v[0], "arm"), "bodies": (lambda f, t: f[0].velocity[0], "a")}[where])
    wanted = [tf.Parameter("x", "gear"), tf.Parameter("x", "rotor_inertia")]
    found = at.gradient(end, wanted)
    np.testing.assert_allclose(at.sensitivities(end, wanted)[0], found, rtol=1e-8)
    assert at.labels(wanted) == ["x.gear", "x.rotor_inertia"]
    for i, h in enumerate((1e-3, 1e-6)):
        ends = [solved(20.0 + s * h * (i == 0), 1e-3 + s * h * (i == 1)).value(end)[0] for s in (1, -1)]
        np.testing.assert_allclose(found[i], (ends[0] - ends[1]) / (2 * h), rtol=1e-6)
        assert abs(found[i]) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize("form", ["lagrange", "impulse"])
def test_rotors_are_armatures(form):
    """A rotor behind a gear is the armature J gear^2 of its joint; nothing holds it by a constraint."""
    problem, motor = on_tree(PARTS["rotor"])
    arm = next(b for b in motor.bodies).body
    sol = tf.solve(problem, tf.MixedGalerkin(2, form=form), N, progress=False)
    joints = [replace(j, armature=0.4) if j.name == "s" else j for j in arm.joints]
    heavy = tf.Tree(arm.links, joints, name="arm")
    parts = [heavy, PARTS["motor"](heavy.joint, heavy.link)]
    same = tf.solve(tf.InitialValueProblem(tf.System(parts, gravity=GRAVITY), {heavy: STATE}, SPAN), sol.element, N,
                    progress=False)
    np.testing.assert_allclose(sol.z, same.z, rtol=0, atol=1e-13)
    assert problem.system.n_constraints == 0 and problem.system.n_q == 2
    assert sol.joint(arm.joint("e")).angle(0.1) == sol.joint("e").angle(0.1)  # names of the tree that was given
    np.testing.assert_array_equal(sol.position(arm.link("b", (0, 0, 0.1)), 0.1), sol.position(
        sol.system.bodies[0].link("b", (0, 0, 0.1)), 0.1))
    solver = tf.prepare(problem, sol.element, N, progress=False)
    again = solver.solve(parameters={"x.rotor_inertia": 2 * motor.rotor_inertia, "x.gear": motor.gear})
    joints = [replace(j, armature=0.8) if j.name == "s" else j for j in arm.joints]
    heavier = tf.Tree(arm.links, joints, name="arm")
    parts = [heavier, PARTS["motor"](heavier.joint, heavier.link)]
    same = tf.solve(tf.InitialValueProblem(tf.System(parts, gravity=GRAVITY), {heavier: STATE}, SPAN), sol.element, N,
                    progress=False)
    np.testing.assert_allclose(again.z, same.z, rtol=0, atol=1e-12)
