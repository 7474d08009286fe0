"""Forces of drives and of constraints along a motion that is known with an uncertainty: inverse dynamics of estimates.

At each frame `f(q, v, a, t) = d/dt T_v - T_q + V_q - Q = B u - G^T gamma` with forces Q that are known, controls u and
multipliers gamma of constraints, the least ones where they are not unique. To first order `[B, -G^T] d(u, gamma) = R_x
dx` with `R = f - B u + G^T gamma` and x = (q, v, a), so that their covariance follows from that of the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError, known_names
from ...mechanics.contacts.reacting import refuse_reaction_forces
from ...mechanics.forces.loads import Gravity
from ...mechanics.inversion.direct import constraints_of, largest_parts, place, quaternions
from ...mechanics.symbols import Symbols
from ...mechanics.system import coordinate_names
from ...records import frozen
from ..end import End
from .kinematic.geometry import Batched
from .options import DEFAULTS
from .prior import deviations_of

if TYPE_CHECKING:
    from ...mechanics.system import System


@frozen(eq=False)
class Loads:
    """Forces along a motion.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Frames [s].
    names : tuple of str
        Of controls: of the actuators, or of all coordinates.
    controls, controls_std : ndarray, shape (n, n_controls)
    controls_covariance : ndarray, shape (n, n_controls, n_controls)
    multipliers, multipliers_std : ndarray, shape (n, n_constraints)
        gamma of constraints, as in `Solution.multipliers`; the force of a constraint is `-Phi_q^T gamma`.
    """

    t: np.ndarray
    names: tuple[str, ...]
    controls: np.ndarray
    controls_covariance: np.ndarray
    multipliers: np.ndarray
    multipliers_std: np.ndarray

    @property
    def controls_std(self) -> np.ndarray:
        return deviations_of(self.controls_covariance)

    def of(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Values and standard deviations of a control, two arrays of shape (n,)."""
        if name not in self.names:
            raise InputError(f"no control {name!r}; there are {', '.join(self.names)}")
        i = self.names.index(name)
        return self.controls[:, i], self.controls_std[:, i]


def loads_along(system: System, t: np.ndarray, x: np.ndarray, covariances: Any) -> Loads:
    """The `Loads` at states x, shape (n, 3, n_q); `covariances(slopes)` gives `slopes Z slopes^T`.

    Raises
    ------
    InputError
        Where drives and constraints cannot give the motion; names the coordinates that nothing drives.
    """
    first, second, names = _functions(system)
    states = x.reshape(len(t), -1)
    force, drives, held = first(states, t)
    matrix = np.concatenate([drives, -held.swapaxes(1, 2)], axis=2)
    inverse = np.linalg.pinv(matrix, rcond=DEFAULTS.symmetric)
    found = (inverse @ force)[..., 0]
    left = force[..., 0] - (matrix @ found[..., None])[..., 0]
    worst = np.unravel_index(np.abs(left).argmax(), left.shape)
    if np.abs(left[worst]) > 1e-6 * np.abs(force).max():
        way = left[worst[0]] / np.abs(left[worst[0]]).max()
        raise InputError(f"the drives cannot give the motion at t = {t[worst[0]]:g} s: none acts along "
                         f"{largest_parts(way, coordinate_names(system))}; add an actuator, or leave actuators out "
                         "for forces on all coordinates")
    slopes = inverse @ second(states, t, found)[0]
    covariance = covariances(slopes)
    k = len(names)
    own = slice(k, k + system.n_constraints)
    return Loads(t, names, found[:, :k], covariance[:, :k, :k], found[:, own], deviations_of(covariance)[:, own])


def _functions(system):
    """`(x, t) -> f, B, G` and `(x, t, (u, gamma)) -> R_x`, and names of the controls."""
    refuse_reaction_forces(system, "inverse dynamics of a motion", "estimate with dynamics, or leave it out")
    n = system.n_q
    q, v, a = (ca.SX.sym(name, n) for name in "qva")
    t, force = ca.SX.sym("t"), ca.SX.zeros(n)
    controls, names = [], []
    for part in system.parts:
        if part.is_counter:
            continue
        places = [i for body in part.bodies for i in place(system, body)]
        own, columns = _of_part(part, q[places], v[places], a[places], t)
        force[places] += own
        if part.n_controls:
            drive = ca.SX.zeros(n, part.n_controls)
            drive[places, :] = columns
            controls.append(drive)
            label = system.label(part)
            names += [label] if part.n_controls == 1 else [f"{label}[{i}]" for i in range(part.n_controls)]
    if not controls:
        controls, names = [ca.SX.eye(n)], coordinate_names(system)
    lengths = [(ca.sumsqr(q[places.tolist()]) - 1) / 2 for places in quaternions(system)]
    rows = ca.vertcat(constraints_of(system, q, t), *lengths)
    drives, held = ca.horzcat(*controls), ca.jacobian(rows, q)
    unknown = ca.SX.sym("u", drives.shape[1] + rows.numel())
    u, gamma = ca.vertsplit(unknown, [0, drives.shape[1], unknown.numel()])
    x = ca.vertcat(q, v, a)
    rest = force - drives @ u + held.T @ gamma
    first = Batched([x, t], [ca.densify(force), drives, held])
    return first, Batched([x, t, unknown], [ca.jacobian(rest, x)]), tuple(names)


def _of_part(part, q, v, a, t):
    """What a part adds to f, and its columns of B, at symbols of its bodies."""
    s = Symbols(part)
    sizes = np.cumsum([0, *(body.n_q for body in part.bodies)]).tolist()
    local, rate, acceleration = (ca.SX.sym(name, sizes[-1]) for name in "qva")
    symbols = s.at(ca.vertsplit(local, sizes), s.p, ca.vertsplit(rate, sizes))
    kinetic = ca.SX(part.kinetic(symbols, ca.vertsplit(rate, sizes)))
    momentum = ca.gradient(kinetic, rate)
    potential = ca.SX(part.potential_energy(symbols))
    own = ca.jtimes(momentum, local, rate) + ca.jtimes(momentum, rate, acceleration) - ca.gradient(kinetic, local) + \
        ca.gradient(potential, local) - ca.SX(part.force(symbols))
    u = ca.SX.sym("u", part.n_controls)
    columns = ca.jacobian(ca.SX(part.control_force(symbols, u)), u) if part.n_controls else ca.SX(sizes[-1], 0)
    momenta = ca.vertcat(ca.SX(0, 1), *s.p)
    if ca.depends_on(ca.vertcat(own, ca.vec(ca.densify(columns))), momenta):
        raise InputError(f"{part!r} depends on momenta, which this inverse dynamics does not take")
    function = ca.Function("part", [local, rate, acceleration, s.t, s.parameters], [ca.densify(own), columns])
    return function(q, v, a, t, part.parameters)


# ---- A time of the motion as sensors see it: what formulas of an end tell, and accelerations and reactions

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
