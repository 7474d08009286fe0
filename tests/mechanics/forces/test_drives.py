"""Springs, dampers, friction, stops, motors and feedback on coordinates of joints, against DOP853."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import timefem as tf

Z = (0, 0, 1)
M, L, G, J = 2.0, 1.0, 9.81, 0.3
INERTIA = J + M * L**2 / 4


def pendulum(parts):
    bar = tf.RigidBody(M, (0.35, 0.1, J), name="bar")
    hinge = tf.Revolute(bar, point_a=(0, L / 2, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="hinge")
    return tf.System([bar, hinge, *parts(hinge)], gravity=(0, -G, 0)), hinge


def smooth(t):
    s = min(t, 1.0)
    return 9 * (10 * s**3 - 15 * s**4 + 6 * s**5), 9 * 30 * (s**2 - 2 * s**3 + s**4)


def friction(t, x, v):
    return -(0.5 + 0.3 * np.exp(-(v / 0.2)**2)) * np.tanh(v / 0.3) - 0.1 * v


def stops(t, x, v):
    return (-300 * max(x - 0.3, 0) * (1 + max(0.2 * v, -1)) + 300 * max(-0.3 - x, 0) * (1 + max(-0.2 * v, -1)))


CASES = {  # parts on the hinge, their torque, elements of degree 3 over 2 s, and the error that is left
    "spring": (lambda h: [tf.JointSpring(h, stiffness=5, rest=0.7)], lambda t, x, v: -5 * (x - 0.7), 40, 1e-8),
    "damper": (lambda h: [tf.JointDamper(h, damping=0.7)], lambda t, x, v: -0.7 * v, 40, 1e-8),
    "force": (lambda h: [tf.JointForce(h, value=tf.Sine(3, 1))], lambda t, x, v: 3 * np.sin(2 * np.pi * t), 40, 1e-7),
    "friction": (lambda h: [tf.JointFriction(h, friction=0.5, friction_width=0.3, breakaway=0.8, stribeck=0.2,
                                             damping=0.1)], friction, 80, 1e-7),
    "stops": (lambda h: [tf.EndStop(h, lowest=-0.3, highest=0.3, stiffness=300, damping=0.2)], stops, 400, 2e-4),
    "motor without inertia": (lambda h: [tf.Motor(h, gear=-20, damping=1e-3, torque=tf.Sine(0.1, 0.5))],
                              lambda t, x, v: -2 * np.sin(np.pi * t) - 0.4 * v, 40, 1e-8),
    "pd over turns": (lambda h: [tf.PDControl(h, stiffness=30, damping=5, reference=tf.Ramp(0, 1, 0, 9, "smooth"))],
                      lambda t, x, v: 30 * (smooth(t)[0] - x) + 5 * (smooth(t)[1] - v), 80, 1e-6),
    "controller over turns": (lambda h: [tf.Controller([h], lambda x, v, t, c: c[0] * (8 * ca.sin(t) - x) - c[1] * v,
                                                       parameters=[30, 5])],
                              lambda t, x, v: 30 * (8 * np.sin(t) - x) - 5 * v, 60, 1e-7),
}


@pytest.mark.parametrize("parts, torque, n, atol", CASES.values(), ids=CASES)
def test_torques_on_a_pendulum(parts, torque, n, atol):
    """Angle with turns, torque of the drive and its power; the energy balance closes."""
    system, hinge = pendulum(parts)
    start = (0.4, 1.5) if parts is CASES["stops"][0] else (0.4, 0.0)
    sol = tf.solve(tf.InitialValueProblem(system, {hinge: start}, (0, 2)), tf.MixedGalerkin(3), n, progress=False)
    run = solve_ivp(lambda t, y: [y[1], (-M * G * L / 2 * np.sin(y[0]) + torque(t, *y)) / INERTIA], (0, 2), start,
                    "DOP853", sol.t, rtol=1e-11, atol=1e-11, max_step=0.01)
    motion = sol.joint(hinge)
    np.testing.assert_allclose(motion.angle(), run.y[0], rtol=0, atol=atol)
    expected = np.array([torque(t, *y) for t, y in zip(sol.t, run.y.T, strict=True)])
    np.testing.assert_allclose(motion.drive(), expected, rtol=0, atol=300 * atol)
    np.testing.assert_allclose(motion.power(), expected * run.y[1], rtol=0, atol=3000 * atol)
    assert np.abs(sol.energy.balance()).max() < (1e-4 if torque is stops else 1e-9)


def test_motor_with_a_rotor():
    """Its inertia counts by the square of the gear; the torque of the gear is what is left of that of the motor."""
    system, hinge = pendulum(lambda h: [tf.Motor(h, gear=20, rotor_inertia=1e-3, damping=1e-3, torque=tf.Sine(0.1, 0.5),
                                                 name="motor")])
    sol = tf.solve(tf.InitialValueProblem(system, {hinge: (0.4, 0.5)}, (0, 2)), tf.MixedGalerkin(3), 60, progress=False)

    def acceleration(t, x, v):
        return (2 * np.sin(np.pi * t) - 0.4 * v - M * G * L / 2 * np.sin(x)) / (INERTIA + 0.4)

    run = solve_ivp(lambda t, y: [y[1], acceleration(t, *y)], (0, 2), (0.4, 0.5), "DOP853", sol.t, rtol=1e-12,
                    atol=1e-12)
    motion = sol.joint(hinge)
    np.testing.assert_allclose(motion.angle(), run.y[0], rtol=0, atol=1e-9)
    left = INERTIA * acceleration(sol.t, *run.y) + M * G * L / 2 * np.sin(run.y[0])
    np.testing.assert_allclose(motion.drive(), left, rtol=0, atol=1e-7)
    assert "motor.gear: gear" in system.constraint_names and np.abs(sol.energy.balance()).max() < 1e-11


def test_springs_on_displacements():
    """A mass on a slide: harmonic; a stop and a spring on the second coordinate of a cylindrical joint."""
    for joint in ("prismatic", "cylindrical"):
        body = tf.RigidBody(M, (1, 1, 1))
        if joint == "prismatic":
            slide = tf.Prismatic(body, point_a=(0, 0, 0), point_b=(0, 0, 1), axis_b=Z)
            parts, state = [tf.JointSpring(slide, stiffness=18)], {slide: (0.3, 0)}
        else:
            slide = tf.Cylindrical(body, point_a=(0, 0, 0), point_b=(0, 0, 1), axis_a=Z, axis_b=Z)
            parts = [tf.JointSpring(slide, stiffness=18, coordinate="displacement")]
            state = {slide: {"angle": (0.0, 1.0), "displacement": 0.3}}
        sol = tf.solve(tf.InitialValueProblem(tf.System([body, slide, *parts]), state, (0, 2)), tf.MixedGalerkin(3), 20,
                       progress=False)
        np.testing.assert_allclose(sol.joint(slide).displacement(), 0.3 * np.cos(3 * sol.t), rtol=0, atol=1e-7)
        if joint == "cylindrical":
            np.testing.assert_allclose(sol.joint(slide).angle(), sol.t, rtol=0, atol=1e-10)


@pytest.mark.long
def test_computed_torque_of_a_double_pendulum():
    """M(x) (r'' + k_d e' + k_p e) + h: errors decay as e'' + k_d e' + k_p e = 0, whatever the motion."""
    bars = [tf.RigidBody(1.0, (0.1, 0.02, 0.1), name=n) for n in "ab"]
    shoulder = tf.Revolute(bars[0], point_a=(0, 0.5, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="shoulder")
    elbow = tf.Revolute(bars[1], bars[0], point_a=(0, 0.5, 0), point_b=(0, -0.5, 0), axis_a=Z, axis_b=Z, name="elbow")
    j = 0.1

    def law(x, v, t, c):
        a, b = 1.0 * ca.sin(t), 0.5 * ca.cos(2 * t)
        rates, wanted = ca.vertcat(ca.cos(t), -ca.sin(2 * t)), ca.vertcat(-ca.sin(t), -2 * ca.cos(2 * t))
        y = wanted + c[1] * (rates - v) + c[0] * (ca.vertcat(a, b) - x)
        cos, sin = ca.cos(x[1]), ca.sin(x[1])
        m22, m12 = j + 0.25, j + 0.25 + 0.5 * cos
        m11 = 2 * j + 0.5 + 1 + cos
        h = 0.5 * sin
        bias = ca.vertcat(-h * (2 * v[0] * v[1] + v[1]**2), h * v[0]**2)
        weight = G * ca.vertcat(1.5 * ca.sin(x[0]) + 0.5 * ca.sin(x[0] + x[1]), 0.5 * ca.sin(x[0] + x[1]))
        return ca.vertcat(m11 * y[0] + m12 * y[1], m12 * y[0] + m22 * y[1]) + bias + weight

    control = tf.Controller([shoulder, elbow], law, parameters=[16, 8], name="computed torque")
    system = tf.System([*bars, shoulder, elbow, control], gravity=(0, -G, 0))
    sol = tf.solve(tf.InitialValueProblem(system, {shoulder: (0.3, 1.0), elbow: (0.1, 0.0)}, (0, 2)),
                   tf.MixedGalerkin(3), 60, progress=False)
    t = sol.t
    decay = np.exp(-4 * t)
    np.testing.assert_allclose(sol.joint(shoulder).angle() - np.sin(t), 0.3 * (1 + 4 * t) * decay, rtol=0, atol=1e-6)
    np.testing.assert_allclose(sol.joint(elbow).angle() - 0.5 * np.cos(2 * t), -0.4 * (1 + 4 * t) * decay, rtol=0,
                               atol=1e-6)


def test_controller_of_actuators_by_outputs():
    """A thruster holds the height of a mass: a damped oscillation about the reference."""
    body = tf.RigidBody(M, (1, 1, 1), name="drone")
    thruster = tf.Thruster(body, direction=Z)
    hold = tf.Controller([thruster], lambda x, v, t, c: M * G + c[0] * (2 - x) - c[1] * v,
                         inputs=[tf.PositionOutput(body, "z")], parameters=[18, 4])
    system = tf.System([body, hold], gravity=(0, 0, -G))
    sol = tf.solve(tf.InitialValueProblem(system, {}, (0, 2)), tf.MixedGalerkin(3), 40, progress=False)
    w = np.sqrt(9 - 1)
    expected = 2 - np.exp(-sol.t) * 2 * (np.cos(w * sol.t) + np.sin(w * sol.t) / w)
    np.testing.assert_allclose(sol.position(body, sol.t)[:, 2], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("controller, speed", [(tf.Controller, 0.75), (tf.SampledController, 0.5625)])
def test_a_law_of_the_time_needs_no_inputs(controller, speed, tmp_path):
    body = tf.RigidBody(2.0, (1, 1, 1), name="body")
    push = controller([tf.Thruster(body, direction=(0, 0, 1))], "c[0] * t", parameters=[3.0],
                      **({"period": 0.25} if controller is tf.SampledController else {}))
    problem = tf.InitialValueProblem(tf.System([body, push]), {body: tf.Pose()}, (0, 1))
    sol = tf.solve(problem, tf.MixedGalerkin(2), 8, progress=False)
    sol.save(tmp_path / "a.h5")
    for found in (sol, tf.load(tmp_path / "a.h5")):
        np.testing.assert_allclose(found.velocity("body", 1.0), [0, 0, speed], rtol=0, atol=1e-12)


@pytest.mark.parametrize("make, message", [
    (lambda h, b: tf.EndStop(h, stiffness=1), "give lowest, highest or both"),
    (lambda h, b: tf.EndStop(h, lowest=2, highest=1, stiffness=1), "lowest must be below highest"),
    (lambda h, b: tf.JointFriction(h, friction=1, friction_width=0.1, breakaway=2), "belong together"),
    (lambda h, b: tf.Motor(h, gear=0), "gear must not be zero"),
    (lambda h, b: tf.Controller([b], lambda *x: 0), "drives: .*must be a joint"),
    (lambda h, b: tf.Controller([h], lambda x, v, t, c: (0, 0)), "must return 1 value"),
    (lambda h, b: tf.Controller([h], lambda x, v, t, c: 0, inputs=[b]), "inputs must be joints"),
    (lambda h, b: tf.Controller([tf.Thruster(b)], "x[0]"), "'x' has no entries"),
])
def test_wrong_arguments(make, message):
    system, hinge = pendulum(lambda h: [])
    with pytest.raises(tf.InputError, match=message):
        make(hinge, system.bodies[0])


@pytest.mark.parametrize("given", [lambda joint: joint, tf.JointOutput], ids=["joint", "output"])
@pytest.mark.parametrize("told", [True, False])
def test_a_controller_measures_joints_in_joint_coordinates(given, told):
    """Outputs of joints kept the bodies that trees stand for, and so did joints that the system does not have."""
    bar, fore = (tf.RigidBody(M, (0.35, 0.1, J), name=name) for name in ("bar", "fore"))
    hinge = tf.Revolute(bar, point_a=(0, L / 2, 0), point_b=(0, 0, 0), axis_a=Z, axis_b=Z, name="hinge")
    elbow = tf.Revolute(fore, bar, point_a=(0, L / 2, 0), point_b=(0, -L / 2, 0), axis_a=Z, axis_b=Z, name="elbow")
    twin = tf.Revolute(fore, bar, point_a=(0, L / 2, 0), point_b=(0, -L / 2, 0), axis_a=Z, axis_b=Z, name="twin")
    hold = tf.Controller([hinge], lambda x, v, t, c: -20 * (x[0] - 0.5) - 4 * v[0], [given(elbow if told else twin)])
    found = []
    for way in "bodies", "joint":
        system = tf.System([bar, fore, hinge, elbow, hold], gravity=(0, -G, 0), coordinates=way)
        fall = tf.InitialValueProblem(system, {hinge: 0.3, elbow: (-0.4, 0.2)}, (0, 0.3))
        found.append(tf.solve(fall, tf.MixedGalerkin(3), 10, progress=False).joint(elbow).angle(0.3))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)
