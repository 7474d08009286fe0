"""The heavy top of the papers on one-step schemes: a pure rotation about its tip.

The case "heavy-top" is the same top, free in space with its tip held by a joint. One-step schemes do not give the same
numbers for both.
"""

import casadi as ca
import numpy as np

from timefem import InitialValueProblem, Part, Pose, RigidBody, System

HEIGHT, RADIUS, DENSITY, GRAVITATION = 0.1, 0.05, 2700, 9.81  # [m, m, kg/m^3, m/s^2]
ARM = 3 / 4 * HEIGHT  # from the tip to the centre of mass [m]
TILT, PRECESSION = np.pi / 3, 10.0  # [rad, rad/s]


class TipWeight(Part):
    """Weight of a body that turns about the origin, V = m g R^T e3 . arm.

    Parameters
    ----------
    body : RigidBody
        With the inertia about the origin.
    moment : array_like, shape (3,)
        m g times the centre of mass in body axes [N m].
    """

    def __init__(self, body, moment):
        self.bodies, self.own_parameters = (body,), np.array(moment, float)

    @property
    def kind(self):
        return "tip weight", self.bodies[0].kind

    def energy(self, s):
        _, rotation = self.bodies[0].frame(s.q[0])
        return ca.dot(s.own, rotation[2, :].T)


def top_on_tip(rotation="quaternion", t_end=1.0, **options):
    """Steady precession of the cone of Betsch & Siebert, 5.2, and Kinon & Betsch, 5.4, as an initial-value problem.

    The parallel-axis term belongs to J1 = J2, as in the older paper; the newer one prints it with J3.
    """
    mass = DENSITY * np.pi * RADIUS**2 * HEIGHT / 3
    along = 3 / 10 * mass * RADIUS**2
    across = 3 / 80 * mass * (4 * RADIUS**2 + HEIGHT**2) + mass * ARM**2
    spin = mass * GRAVITATION * ARM / (along * PRECESSION) + (across - along) / along * PRECESSION * np.cos(TILT)
    body = RigidBody(1, (across, across, along), rotation, name="top", **options)
    weight = TipWeight(body, (0, 0, mass * GRAVITATION * ARM))
    c, s = np.cos(TILT), np.sin(TILT)
    state = Pose(orientation=np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
                 angular_velocity=(0, PRECESSION * s, spin + PRECESSION * c))
    return InitialValueProblem(System([body, weight]), {body: state}, (0.0, t_end))


def mass_centre(solution, t=None):
    """Centre of mass [m] of a solution, at times or at the ends of the elements, shape (..., 3)."""
    return ARM * solution.rotation_matrix("top", solution.t if t is None else t)[..., 2]


def exact_mass_centre(t):
    """Centre of mass of the steady precession [m], shape t.shape + (3,)."""
    t = np.asarray(t, float)
    c, s = np.cos(TILT), np.sin(TILT)
    return ARM * np.stack([s * np.sin(PRECESSION * t), -s * np.cos(PRECESSION * t), np.full(t.shape, c)], axis=-1)


def cone(rotation, n=40):
    """Surface of the top for drawing, arrays x, y, z of shape (3, n) [m]: tip, rim, middle of the base."""
    angle = np.linspace(0, 2 * np.pi, n)
    radius, height = np.array([[0], [RADIUS], [0]]), np.array([[0], [HEIGHT], [HEIGHT]])
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), height + 0 * angle])
    return np.einsum("ab,bij->aij", rotation, points)
