"""Forces of drives and of constraints along a motion that is known with an uncertainty: inverse dynamics of estimates.

At each frame `f(q, v, a, t) = d/dt T_v - T_q + V_q - Q = B u - G^T gamma` with forces Q that are known, controls u and
multipliers gamma of constraints, the least ones where they are not unique. To first order `[B, -G^T] d(u, gamma) = R_x
dx` with `R = f - B u + G^T gamma` and x = (q, v, a), so that their covariance follows from that of the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from ...mechanics.contacts.reacting import refuse_reaction_forces
from ...mechanics.inversion.direct import constraints_of, coordinate_names, largest_parts, place, quaternions
from ...mechanics.symbols import Symbols
from .kinematic.geometry import Batched
from .options import DEFAULTS
from .prior import deviations_of

if TYPE_CHECKING:
    from ...mechanics.system import System


@dataclass(frozen=True, eq=False)
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
