"""A time of the motion as sensors see it: what formulas of an end tell, and accelerations and reactions."""

import casadi as ca
import numpy as np

from ...argument_names import known_names
from ...errors import InputError
from ...mechanics.forces.gravity import Gravity
from ...mechanics.symbols import Symbols
from ..ends.end import End


class Moment(End):
    """A time of the motion in CasADi symbols, for measurements.

    Bodies, joints and actuators are given by themselves or by their names.

    Parameters
    ----------
    system : System
    t : SX or float
    z : SX, shape (n_z,)
        Coordinates and momenta.
    v, a : SX, shape (n_q,), optional
        Velocities and their rates, where they are given: velocities otherwise follow from momenta. Rates may be given
        by a function of nothing that works them out.
    numbers : dict, optional
        Part -> {place of a parameter: SX}, unknown numbers of parts.
    u : SX, optional
        Controls of all actuators.
    multipliers : SX, optional
        Of all constraints on both levels, as elements have them.
    """

    _methods = (*End._methods, "acceleration", "angular_acceleration", "reaction", "gravity")

    def __init__(self, system, t, z, *, v=None, a=None, numbers=None, u=None, multipliers=None):
        super().__init__(system, t, z, {} if numbers is None else numbers, u=u)
        self._v, self._a, self._multipliers = v, a, multipliers

    def angular_velocity(self, body, frame="body"):
        """Angular velocity in body or space axes, SX (3,)."""
        found = self.system.find(body)
        if self._v is None or not found.has_orientation:
            return super().angular_velocity(body, frame)
        omega = self._placed(found.angular_velocity_map(self.q(found)), [found]) @ self.rates(found)
        return self.rotation_matrix(found).T @ omega if frame == "body" else omega

    def accelerations(self, body):
        """Second rates of the coordinates of a body, SX (n_q,)."""
        found = self.system.find(body)
        if self._a is None:
            raise InputError(f"accelerations of {self.system.label(found)} are asked for where the motion has none")
        if callable(self._a):
            self._a = self._a()
        return self._a[np.arange(self.system.n_q)[self.system.coordinates(found)].tolist()]

    def acceleration(self, body, point=None):
        """Acceleration in space of the centre of mass, or of a point of the body, SX (3,)."""
        found = self.system.find(body)
        place, q, w = self.position(found, point), self.q(found), ca.SX.sym("w", self.q(found).numel())
        return self._rate_of(found, ca.jtimes(place, q, w), w)

    def angular_acceleration(self, body, frame="body"):
        """Rate of the angular velocity in space, in body or space axes, SX (3,)."""
        found = self.system.find(body)
        self.angular_velocity(found)  # or an error for what has none
        w = ca.SX.sym("w", self.q(found).numel())
        alpha = self._rate_of(found, self._placed(found.angular_velocity_map(self.q(found)), [found]) @ w, w)
        return self.rotation_matrix(found).T @ alpha if frame == "body" else alpha

    def _rate_of(self, body, value, w):
        """Rate of a formula of the coordinates of a body and its velocities w."""
        rate = ca.jtimes(value, self.q(body), w) + ca.jtimes(value, w, self.accelerations(body))
        return ca.substitute(rate, w, self.rates(body))

    def joint_deviation(self, joint, coordinate, target):
        """By how much a coordinate of a joint differs from a value, SX scalar; turns of an angle are not counted."""
        output = self._on_own_bodies(self._output(joint, coordinate))
        return self._placed(output.deviation(target, *map(self.q, output.bodies)), output.bodies)

    def reaction(self, joint, body=None):
        """Force [N] and torque [N m] that a joint exerts on a body, its first one unless given, SX (6,), in space axes;
        the torque is that about the centre of mass."""
        system = self.system
        labels = {system.label(part): part for part in system.parts if not part.is_body and part.constraint_names}
        found = system.here(joint)
        part = labels.get(found) if isinstance(found, str) else found
        if part not in labels.values():
            raise InputError(f"no joint {joint!r} with constraints in the system{known_names(joint, labels)}")
        if self._multipliers is None:
            raise InputError(f"the reaction of {system.label(part)} is asked for where the motion has no multipliers")
        asked = part.bodies[0] if body is None else system.find(body)
        if asked not in part.bodies:
            raise InputError(f"{system.label(part)} does not act on {system.label(asked)}")
        s, gamma = Symbols(part), self._multipliers[self._places_of_multipliers(part)]
        force = ca.gradient(ca.dot(gamma, part.constraints(s)), ca.vertcat(*s.q))
        q = [self.q(own) for own in part.bodies]
        force = -ca.substitute(force, ca.vertcat(*s.q, s.t, s.parameters),
                               ca.vertcat(*q, self.t, self._parameters(part, part.parameters)))
        stops = np.cumsum([0, *(own.n_q for own in part.bodies)]).tolist()
        i = part.bodies.index(asked)
        free = asked.null_space(q[i]).T @ force[stops[i]:stops[i + 1]]
        n = min(3, asked.dimension)
        return ca.vertcat(free[:n], ca.SX(3 - n, 1), free[3:6] if asked.has_orientation else ca.SX(3, 1))

    def _places_of_multipliers(self, part):
        for group in self.system.groups:
            if part in group.members:
                places = group.multiplier_index[group.members.index(part)]
                return places[:len(places) // 2].tolist()
        raise InputError(f"{self.system.label(part)} is not in the system")

    def gravity(self):
        """The gravitational acceleration of the system, DM (3,), zero without one."""
        found = next((part for part in self.system.parts if isinstance(part, Gravity)), None)
        return ca.DM.zeros(3) if found is None else ca.DM(found.acceleration)
