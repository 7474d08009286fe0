"""Parts without an end of their own follow the body that they hang on."""

import numpy as np
import pytest

import timefem as tf

L, OFF, TIME = 4.0, 0.6, 15.0


def turned(angle):
    return np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])


def section(**others):
    return tf.Section(EA=2e3, GA=2e3, GJ=60, EI=(165.0, 165.0), mass=2.0, inertia=(1.0, 0.5, 0.5), **others)


def satellite(sides=(1, -1), tip=False, rotation="quaternion"):
    """Parts, hub, axle and panels of a hub with soft panels."""
    hub = tf.RigidBody(200.0, (60, 60, 60), name="hub")
    axle = tf.Revolute(hub, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1), name="axle")
    parts, panels = [hub, axle], []
    for s in sides:
        panel = tf.Beam(tf.Line((0, s * OFF, 0), (0, s * (OFF + L), 0)), section(), 1, 2, triads="space",
                        name=f"panel {s}", rotation=rotation)
        parts += [panel, tf.Weld(panel.start, hub, point_a=(0, 0, 0), point_b=(0, s * OFF, 0))]
        panels.append(panel)
        if tip:
            mass = tf.RigidBody(1.0, (0.1, 0.1, 0.1), name=f"tip {s}")
            parts += [mass, tf.Weld(mass, panel.end, point_a=(0, -0.1 * s, 0), point_b=(0, 0, 0))]
    return parts, hub, axle, panels


@pytest.mark.long
@pytest.mark.parametrize("angle", [np.deg2rad(30), np.deg2rad(170)])
@pytest.mark.parametrize("options", [{}, {"tip": True}, {"sides": (1,)}, {"rotation": "directors"}])
def test_panels_turn_with_their_hub(fault, options, angle):
    parts, hub, axle, _ = satellite(**options)
    end = {hub: tf.EndState(orientation=turned(angle), angular_velocity=(0, 0, 0))}
    start = {body: tf.Pose(position=(0, int(body.name[4:]) * (OFF + L + 0.1), 0)) for body in parts
             if (getattr(body, "name", None) or "").startswith("tip")}
    problem = tf.OptimalControl(tf.System(parts), start, end, (0, TIME), cost=[tf.Effort(tf.JointControl(axle))])
    system, n = problem.system, 0.0
    r = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    for body in system.bodies:
        place = system.coordinates(body)
        n = max(n, np.abs(problem.conditions.state[place][:3] - r @ problem.z0[place][:3]).max())
    fault(f"panels of a hub turned by {angle:.2g}, {options}", 0.0, n, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_a_slew_of_soft_panels_without_a_guess(fault):
    parts, hub, axle, panels = satellite()
    angle = np.deg2rad(30)
    x = -np.sin(angle) * (OFF + L)
    end = {hub: tf.EndState(orientation=turned(angle), angular_velocity=(0, 0, 0)),
           panels[0].end: tf.EndState(position=(x, None, None), velocity=(0, None, None))}
    motor = tf.JointControl(axle, name="motor")
    sol = tf.solve(tf.OptimalControl(tf.System(parts), {}, end, (0, TIME), cost=[tf.Effort(motor)]),
                   tf.MixedGalerkin(2), 60, progress=False)
    fault("slew of a hub with soft panels", 15.353766638583014, sol.objective, rtol=1e-6)
    n = int(sol.statistics["newton_iterations"]["max"])
    fault("its iterations", "at most 10", n, met=n <= 10)
