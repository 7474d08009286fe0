"""Nonholonomic constraints of one rigid body: rolling, knife edges, frames that do not twist."""

import casadi as ca
import numpy as np

from ... import validate
from ...errors import InputError
from ..bodies.rigid import RigidBodyBase
from ..part import Part
from .joint import across
from .nonholonomic import MovingFrame


class _OnBody(Part):
    """Constraint of one rigid body."""

    def __init__(self, body, name):
        self.name = name
        if not isinstance(body, RigidBodyBase):
            raise InputError(f"{self._title} must act on a RigidBody, not on {body!r}")
        self.bodies = (body,)

    def __repr__(self):
        return f"{self._title} of {self.bodies[0]!r}"

    @property
    def kind(self):
        return (type(self), self.bodies[0].kind)

    def _frame(self, s):
        return MovingFrame.of(self.bodies[0], s.q[0], s.velocity[0])


class _Rolling(_OnBody):
    """Rolling without slip on a plane at rest. The plane's point, its normal, two directions in it, and the radius are
    the first 13 parameters.

    The contact is a holonomic constraint, whose multiplier is the normal force of the plane [N]; the multipliers of
    the nonholonomic constraints are the friction [N] along the two directions of `directions`.
    """

    constraint_names = ("contact",)
    nonholonomic_names = ("rolling, first direction", "rolling, second direction")

    def __init__(self, body, radius, normal, point, name):
        super().__init__(body, name)
        self.radius = validate.real(f"{self._title}: radius", radius, positive=True)
        self.normal, unit = validate.direction(f"{self._title}: normal", normal)
        self.point = validate.array(f"{self._title}: point", point, (3,))
        self.directions = across(unit)
        self.own_parameters = np.concatenate([self.point, unit, *self.directions, [self.radius]])

    def _arm(self, s):
        """From the centre of mass to the point of contact, in space axes; and how high the centre is above it."""
        raise NotImplementedError

    def constraints(self, s):
        position, _ = self.bodies[0].frame(s.q[0])
        # the plane minus the body: the multiplier is the force of the plane
        return self._arm(s)[1] - ca.dot(s.own[3:6], position - s.own[:3])

    def velocity_form(self, s):
        velocity = self._frame(s).velocity_at(self._arm(s)[0])
        return -ca.vertcat(ca.dot(s.own[6:9], velocity), ca.dot(s.own[9:12], velocity))


class RollingSphere(_Rolling):
    """A sphere, with its centre in the centre of mass, that rolls on a plane.

    Parameters
    ----------
    body : RigidBody
    radius : float
        [m]
    normal, point : array_like, shape (3,)
        Of the plane, in space axes; the sphere is on the side of the normal.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    def __init__(self, body, *, radius, normal=(0, 0, 1), point=(0, 0, 0), name=None):
        super().__init__(body, radius, normal, point, name)

    def _arm(self, s):
        return -s.own[12] * s.own[3:6], s.own[12]


class RollingDisc(_Rolling):
    """A thin disc, with its centre in the centre of mass, that rolls with its edge on a plane, upright or tilted.

    It must not lie flat.

    Parameters
    ----------
    body : RigidBody
    radius : float
        [m]
    axis : array_like, shape (3,)
        Of the disc, in body axes.
    normal, point : array_like, shape (3,)
        Of the plane, in space axes; the disc is on the side of the normal.
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    def __init__(self, body, *, radius, axis=(0, 0, 1), normal=(0, 0, 1), point=(0, 0, 0), name=None):
        super().__init__(body, radius, normal, point, name)
        self.axis, unit = validate.direction(f"{self._title}: axis", axis)
        self.own_parameters = np.concatenate([self.own_parameters, unit])

    def _arm(self, s):
        normal, axis = s.own[3:6], self._frame(s).direction(s.own[13:])
        down = ca.dot(normal, axis) * axis - normal  # steepest descent in the plane of the disc
        length = ca.sqrt(ca.sumsqr(down))
        return s.own[12] / length * down, s.own[12] * length


class KnifeEdge(_OnBody):
    """A blade, skate or wheel: the velocity of a point of the body has no component along a direction of the body.

    Parameters
    ----------
    body : RigidBody
    point : array_like, shape (3,)
        In body axes from the centre of mass [m].
    across : array_like, shape (3,)
        The direction without velocity, in body axes. The multiplier is the force along it [N].
    name : str, optional

    Raises
    ------
    InputError
        For wrong bodies and numbers.
    """

    nonholonomic_names = ("velocity across the edge",)

    def __init__(self, body, *, point=(0, 0, 0), across=(0, 1, 0), name=None):
        super().__init__(body, name)
        self.point = validate.array(f"{self._title}: point", point, (3,))
        self.across, unit = validate.direction(f"{self._title}: across", across)
        self.own_parameters = np.concatenate([self.point, unit])

    def velocity_form(self, s):
        frame = self._frame(s)
        return -ca.dot(frame.direction(s.own[3:]), frame.velocity_at(frame.direction(s.own[:3])))


class NonTwisting(_OnBody):
    """The body does not turn about its third axis, Gebhardt & Romero (80): `(1 - a) d1'.d2 - a d2'.d1 = 0`.

    Its directors are then a non-twisting (Bishop) frame of the path of d3 on the sphere.

    Parameters
    ----------
    body : RigidBody
    a : float
        In [0, 1]; the constraint force acts on d1 (a = 0), on d2 (a = 1) or on both. On orthonormal directors all are
        the same constraint.
    name : str, optional

    Raises
    ------
    InputError
        For a body that is not rigid, or a outside of [0, 1].
    """

    nonholonomic_names = ("twist about d3",)

    def __init__(self, body, a=0.5, name=None):
        super().__init__(body, name)
        self.a = validate.real(f"{self._title}: a", a)
        if not 0 <= self.a <= 1:
            raise InputError(f"{self._title}: a must be between 0 and 1, not {self.a:g}")
        self.own_parameters = np.array([self.a])

    def velocity_form(self, s):
        _, rotation = self.bodies[0].frame(s.q[0])
        d1, d2 = rotation[:, 0], rotation[:, 1]
        d1_rate, d2_rate = (ca.jtimes(d, s.q[0], s.velocity[0]) for d in (d1, d2))
        return (1 - s.own[0]) * ca.dot(d1_rate, d2) - s.own[0] * ca.dot(d2_rate, d1)
