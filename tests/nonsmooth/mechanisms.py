"""Mechanisms with clearance and intermittent contact, with numbers of others or closed forms."""

import casadi as ca
import numpy as np

import timefem as tf

G = 9.81


def slider_crank(t_end=4e-3, n=40, rotation="quaternion"):
    """Crank, rod, and a slider with 1 mm of play between two guides.

    Flores, Leine & Glocker (2010), "Modeling and analysis of planar rigid multibody systems with translational
    clearance joints based on the non-smooth dynamics approach", table 1; bodies in the plane (x, y).
    """
    l1, l2, a, b, play = 0.153, 0.306, 0.05, 0.025, 0.001
    crank, rod, slider = (tf.RigidBody(m, (j, j, j), rotation, name=name) for m, j, name in (
        (0.038, 7.4e-5, "crank"), (0.038, 5.9e-4, "rod"), (0.076, 2.7e-6, "slider")))
    axis = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}
    parts = [crank, rod, slider,
             tf.Revolute(crank, None, point_a=(-l1 / 2, 0, 0), point_b=(0, 0, 0), **axis, name="shaft"),
             tf.Revolute(crank, rod, point_a=(l1 / 2, 0, 0), point_b=(-l2 / 2, 0, 0), **axis, name="pin"),
             tf.Revolute(rod, slider, point_a=(l2 / 2, 0, 0), point_b=(0, 0, 0), **axis, name="piston")]
    law = {"restitution": 0.4, "friction": 0.01}
    for side, name in ((1, "upper"), (-1, "lower")):
        corners = [(x, side * b, 0) for x in (-a, a)]
        parts.append(tf.PlaneContact(slider, normal=(0, -side, 0), plane_point=(0, side * (b + play), 0),
                                     points=corners, **law, name=name))
    spin, turn = 150.0, -75.0
    v = spin * l1
    state = {crank: tf.Pose((l1 / 2, 0, 0), velocity=(0, v / 2, 0), angular_velocity=(0, 0, spin)),
             rod: tf.Pose((l1 + l2 / 2, 0, 0), velocity=(0, v + turn * l2 / 2, 0), angular_velocity=(0, 0, turn)),
             slider: tf.Pose((l1 + l2, 0, 0), velocity=(0, v + turn * l2, 0))}
    problem = tf.InitialValueProblem(tf.System(parts, gravity=(0, -G, 0), redundant="drop"), state, (0, t_end))
    return crank, rod, tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)


def woodpecker(t_end=0.3, n=600):
    """A sleeve with play on a pole, and a bird on a spring: falls by jamming, sliding and pecking.

    Coordinates are the height of the sleeve and both angles, small; numbers of Glocker (1995), which start on the
    limit cycle.
    """
    r_0, r_m, h_m, l_m, l_g, h_s, l_s = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    m_m, m_s, j_m, j_s, stiffness, friction = 0.0003, 0.0045, 5e-9, 7e-7, 0.0056, 0.3
    mass = np.array([[m_m + m_s, m_s * l_m, m_s * l_g], [m_s * l_m, j_m + m_s * l_m**2, m_s * l_m * l_g],
                     [m_s * l_g, m_s * l_m * l_g, j_s + m_s * l_g**2]])
    weight = G * np.array([m_m + m_s, m_s * l_m, m_s * l_g])
    toy = tf.GeneralizedBody(3, lambda q, v, c: v.T @ ca.DM(mass) @ v / 2, name="toy")
    spring = np.array([0, 1, -1])
    force = tf.FormulaForce(toy, lambda f, t, c: -ca.DM(weight) - stiffness * ca.dot(spring, f[0].q) * ca.DM(spring))

    def slip(f, t, c):
        return f[0].rate[0] + r_m * f[0].rate[1]

    parts = [toy, force,
             tf.FormulaContact(toy, formula=lambda f, t, c: l_m + l_g - l_s - r_0 - h_s * f[0].q[2], restitution=0.5,
                               friction=friction, n_slip=1, name="beak",
                               slip=lambda f, t, c: f[0].rate[0] + l_m * f[0].rate[1] + (l_g - l_s) * f[0].rate[2]),
             tf.FormulaContact(toy, formula=lambda f, t, c: r_m - r_0 + h_m * f[0].q[1], friction=friction, n_slip=1,
                               slip=slip, name="lower edge"),
             tf.FormulaContact(toy, formula=lambda f, t, c: r_m - r_0 - h_m * f[0].q[1], friction=friction, n_slip=1,
                               slip=slip, name="upper edge")]
    angle = -(r_m - r_0) / h_m
    start = tf.Coordinates([0, angle, -0.2788], [-0.3411, 0, -7.4583])
    problem = tf.InitialValueProblem(tf.System(parts), {toy: start}, (0, t_end))
    return tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)


GENEVA = {"radius": 0.05, "distance": 0.05 * np.sqrt(2), "spin": 10.0, "play": 1e-6, "inertia": 2e-4}


def geneva(n=80):
    """The wheel of a Geneva drive with four slots while a pin, which turns evenly, is in one of them."""
    r, d, spin, play, inertia = GENEVA.values()
    wheel = tf.RigidBody(0.3, (inertia,) * 3, "quaternion", name="wheel")
    axle = tf.Revolute(wheel, None, point_a=(0, 0, 0), point_b=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, 1))

    def across(frames, t):
        """Of the pin from the middle of the slot, which is along the x-axis of the wheel."""
        angle = spin * t - np.pi / 4
        pin = ca.vertcat(d - r * ca.cos(angle), r * ca.sin(angle), 0)
        return frames[0].direction((0, 1, 0)).T @ pin

    walls = [tf.FormulaContact(wheel, formula=lambda f, t, c, side=side: play + side * across(f, t), name=name)
             for side, name in ((1, "front"), (-1, "rear"))]
    start = tf.Pose((0, 0, 0), (np.cos(np.pi / 8), 0, 0, -np.sin(np.pi / 8)))
    problem = tf.InitialValueProblem(tf.System([wheel, axle, *walls]), {wheel: start}, (0, np.pi / 2 / spin),
                                     assemble=True)
    return wheel, tf.solve(problem, tf.MixedGalerkin(2), n, progress=False)
