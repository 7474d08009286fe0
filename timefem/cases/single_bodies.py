"""Single bodies: free ones, pendulums, tops; rotations in closed form by their torque (Zupan & Zupan 2017, IV.A)."""

from math import factorial

import casadi as ca
import numpy as np

from timefem import FixedPoint, InitialValueProblem, Part, Pose, RigidBody, System, Torque

from .table import define_case

GRAVITY = (0.0, 0.0, -9.81)


def box_inertia(mass, size):
    """Principal inertia of a homogeneous box with edges (l, b, h) along the body axes [kg m^2]."""
    l, b, h = size
    return mass / 12 * np.array([b**2 + h**2, l**2 + h**2, l**2 + b**2])


@define_case("spinning-box", "Free spinning box", t_end=5.0, n_elements=200)
def spinning_box(**rotation):
    """A free box of 12 kg, 5 x 2 x 1 m, spun near its unstable middle axis (May & Betsch)."""
    size = (5.0, 2.0, 1.0)
    box = RigidBody(mass=12, inertia=box_inertia(12, size), size=size, name="box", **rotation)
    return System([box]), {box: Pose(angular_velocity=(0, 5, 1))}


@define_case("free-body", "Free rigid body", t_end=1.0, n_elements=200)
def free_body(**rotation):
    """A free body with the principal inertias 6, 8, 3 kg m^2, in fast rotation."""
    body = RigidBody(mass=1, inertia=(6, 8, 3), name="body", **rotation)
    return System([body]), {body: Pose(angular_velocity=(10, 20, 20))}


@define_case("physical-pendulum", "Physical pendulum", t_end=5.0, n_elements=100, conserved_axes=(2,))
def physical_pendulum(**rotation):
    """A bar of 10 x 1 x 1 m and density 10 kg/m^3, held at one end and let go from the horizontal (May & Betsch)."""
    size = (1.0, 10.0, 1.0)  # the long axis is e2
    mass = 10 * np.prod(size)
    bar = RigidBody(mass=mass, inertia=box_inertia(mass, size), size=size, name="pendulum", **rotation)
    return System([bar, FixedPoint(bar, point=(0, -5, 0))], gravity=GRAVITY), {bar: Pose(position=(0, 5, 0))}


@define_case("heavy-top", "Heavy top in steady precession", t_end=1.0, n_elements=500, conserved_axes=(2,))
def heavy_top(**rotation):
    """A cone of density 2700 kg/m^3, 0.1 m high, 0.05 m base radius, spun on its tip at an angle of 60 degrees."""
    return top(tilt=np.pi / 3, precession=10.0, spin=135.6, **rotation)


@define_case("nutating-top", "Heavy top in deep nutation", t_end=3.0, n_elements=2000, conserved_axes=(2,))
def nutating_top(**rotation):
    """The cone of heavy-top, slow in spin, thrown up from the horizontal so that it almost comes to rest upright, falls
    through and comes up again: nutation in turns slow and fast."""
    return top(tilt=np.pi / 2, precession=0.588, spin=5.0, nutation=-15.18, **rotation)


def top(tilt, precession, spin, nutation=0.0, **rotation):
    """A cone on its tip: System and state; angle to the vertical [rad] and rates of Euler's angles [rad/s]."""
    height, radius = 0.1, 0.05
    mass = 2700 * np.pi * radius**2 * height / 3
    across, along = 3 / 20 * radius**2 + 3 / 80 * height**2, 3 / 10 * radius**2
    arm = np.array([0, 0, 3 / 4 * height])  # from the tip to the centre of mass
    top = RigidBody(mass=mass, inertia=mass * np.array([across, across, along]), name="top", **rotation)
    c, s = np.cos(tilt), np.sin(tilt)
    r = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    angular_velocity = np.array([nutation, precession * s, spin + precession * c])  # in body axes
    state = Pose(position=r @ arm, orientation=r, velocity=r @ np.cross(angular_velocity, arm),
                 angular_velocity=angular_velocity)
    return System([top, FixedPoint(top, point=-arm)], gravity=GRAVITY), {top: state}


INERTIA = (5.0, 5.0, 1.0)


def rotation_i(t):
    """Rotation vector of load case (i), in CasADi symbols [rad]."""
    return t**2, 0, t / 5


def rotation_ii(t):
    """Rotation vector of load case (ii), in CasADi symbols [rad]."""
    return t + ca.sin(t), 0, ca.cos(t)


@define_case("rotation-i", "Prescribed rotation, growing torque", t_end=5 * np.pi, n_elements=2000, conserved_axes=())
def prescribed_rotation_i(**rotation):
    """A body turned by the torque, in space axes, that makes its rotation vector (t^2, 0, t/5) (Zupan & Zupan, load
    case i)."""
    return _turned(rotation_i, torque_i, rotation)


@define_case("rotation-ii", "Prescribed rotation, harmonic", t_end=5 * np.pi, n_elements=400, conserved_axes=())
def prescribed_rotation_ii(**rotation):
    """A body turned by the torque, in space axes, that makes its rotation vector (t + sin t, 0, cos t) (Zupan & Zupan,
    load case ii)."""
    return _turned(rotation_ii, torque_ii, rotation)


def torque_i(t):
    """Torque of load case (i) in space axes [N m]."""
    return _motion(rotation_i, t)[2]


def torque_ii(t):
    """Torque of load case (ii) in space axes [N m]."""
    return _motion(rotation_ii, t)[2]


def _turned(vector, torque, rotation):
    body = RigidBody(mass=1, inertia=INERTIA, name="body", **rotation)
    t = ca.SX.sym("t")
    q, angular_velocity, _ = ca.Function("motion", [t], _motion(vector, t))(0)
    state = Pose(orientation=np.array(q).ravel(), angular_velocity=np.array(angular_velocity).ravel())
    return System([body, Torque(body, torque, name="torque")]), {body: state}


def _motion(vector, time):
    """Quaternion, angular velocity in body axes, torque in space axes at `time` of a motion by a rotation vector."""
    t, conjugate = ca.SX.sym("t"), ca.DM([1, -1, -1, -1])
    q = exponential(ca.vertcat(*vector(t)) / 2)
    w = 2 * product(conjugate * q, ca.jacobian(q, t))[1:]
    momentum = ca.DM(INERTIA) * w
    torque = ca.vertcat(0, ca.jacobian(momentum, t) + ca.cross(w, momentum))
    values = q, w, product(product(q, torque), conjugate * q)[1:]
    return [ca.substitute(value, t, time) for value in values]


def exponential(u):
    """Unit quaternion of the rotation vector 2 u, SX (4,); where u is small by series."""
    square = ca.sumsqr(u)
    small = square < 1e-2
    angle = ca.sqrt(ca.if_else(small, 1, square))
    cosine, sine = (sum((-square) ** n / factorial(2 * n + first) for n in range(6)) for first in (0, 1))
    return ca.vertcat(ca.if_else(small, cosine, ca.cos(angle)), ca.if_else(small, sine, ca.sin(angle) / angle) * u)


def product(a, b):
    """Of quaternions, SX (4,)."""
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]))


# ---- The heavy top of the papers on one-step schemes: a pure rotation about its tip
# The case "heavy-top" is the same top, free in space with its tip held by a joint. One-step schemes do not give the
# same numbers for both.

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
