"""One end of the time span in symbols: what conditions by formulas are written in."""

import casadi as ca
import numpy as np

from ...errors import InputError
from ...mechanics.point_functions import pointwise, sees_velocities
from .end_state import body_velocity


class End:
    """One end of the time span in CasADi symbols, for conditions by formulas.

    Attributes
    ----------
    t : SX or float
        Time [s].
    z : SX, shape (n_z,)
        Coordinates and momenta of all bodies.
    """

    def __init__(self, system, t, z, numbers):
        self.system, self.t, self.z, self._numbers = system, t, z, numbers

    def q(self, body):
        """Coordinates of a body, SX (n_q,)."""
        return self.z[self.system.coordinates(self.system.find(body))]

    def p(self, body):
        """Momenta of a body, SX (n_q,)."""
        return self.z[self.system.n_q:][self.system.coordinates(self.system.find(body))]

    def rates(self, body):
        """Velocities qdot of the coordinates of a body, SX (n_q,)."""
        found = self.system.find(body)
        if found.carrier is not None:
            return self.rates(found.carrier)[found.places.tolist()]
        return body_velocity(found, self.q(body), self.p(body))

    def position(self, body):
        """Centre of mass in space, SX (3,)."""
        return self._frame(body)[0]

    def rotation_matrix(self, body):
        """Rotation matrix, body to space, SX (3, 3)."""
        return self._frame(body)[1]

    def velocity(self, body):
        """Velocity of the centre of mass in space, SX (3,)."""
        return ca.jtimes(self.position(body), self.q(body), self.rates(body))

    def angular_velocity(self, body, frame="body"):
        """Angular velocity in body or space axes, SX (3,)."""
        found = self.system.find(body)
        if not found.has_orientation:
            raise InputError(f"{self.system.label(found)} has no angular velocity: it is {found!r}")
        omega = found.angular_velocity_map(self.q(body)) @ self.rates(body)
        return self.rotation_matrix(body).T @ omega if frame == "body" else omega

    def energy(self):
        """Total energy H, SX scalar."""
        return sum(f(*a) for f, a in self._functions("hamiltonian"))

    def constraints(self):
        """Constraints on both levels and nonholonomic ones, SX (n_multipliers + n_nonholonomic,)."""
        both = [ca.vertsplit(f(*a)) for f, a in self._functions("theta")]
        rolling = [f(*a) for f, a in self._functions("velocity form")]
        halves = [row for half in (0, 1) for rows in both for row in rows[half * len(rows) // 2:][:len(rows) // 2]]
        return ca.vertcat(ca.SX(0, 1), *halves, *rolling)

    def gradient(self):
        """grad H - (Q, 0), SX (n_z,)."""
        total = ca.SX.zeros(self.system.n_z)
        for (function, arguments), place in zip(self._functions("derivatives"), self._places(), strict=True):
            for i, value in zip(place, ca.vertsplit(function(*arguments)[:len(place)]), strict=True):
                total[i] += value
        return total

    def _frame(self, body):
        found = self.system.find(body)
        if not found.has_position:
            raise InputError(f"{self.system.label(found)} has no place in space: it is {found!r}")
        return found.frame(self.q(body))

    def _places(self):
        n = self.system.n_q
        for part in self.system.parts:
            q = [i for body in part.bodies for i in np.arange(n)[self.system.coordinates(body)].tolist()]
            yield [*q, *(n + i for i in q)]

    def _functions(self, name):
        for part, place in zip(self.system.parts, self._places(), strict=True):
            numbers = ca.SX(part.parameters)
            for i, symbol in self._numbers.get(part, {}).items():
                numbers[i] = symbol
            function = pointwise(part).get(name)
            if function is not None:
                rates = map(self.rates, part.bodies) if sees_velocities(part) else ()
                yield function, (ca.vertcat(self.z[place], *rates), self.t, numbers)
