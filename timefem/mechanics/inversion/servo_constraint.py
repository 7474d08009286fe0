"""Outputs that are kept on trajectories as constraints, by the forces of actuators instead of reactions.

So large systems, and those without an inverse of the mass matrix, are taken as they are: no output is differentiated
in symbols. `M a + G^T gamma - B u = f`, `G a = ...`, `Y a = ...` with `Y = dy/dq` must determine a, gamma and u: each
output moves with the controls at once, by its second derivative, as where inertia couples the nodes of beams and ropes.
"""

import casadi as ca
import numpy as np
import scipy

from ...errors import InputError
from ..forces.actuators import control_name
from ..formulas.formula import Same
from ..part import Part
from ..symbols import Symbols
from ..system import System
from ..values.equations_of_motion import EquationsOfMotion
from .direct import largest_parts
from .inversion import OPTIONS


class ServoConstraint(Part):
    """The constraint `y(q) - y_d(t) = 0`, kept by one control of an actuator, its multiplier.

    Parameters
    ----------
    output : Output
    trajectory : TimeFunction
    actuator : Actuator
    component : int
        Number of the control.
    """

    def __init__(self, output, trajectory, actuator, component):
        self.output, self.trajectory, self.actuator, self.component = output, trajectory, actuator, component
        self.bodies = tuple(dict.fromkeys((*output.bodies, *actuator.bodies)))
        self.own_parameters, self.kinks = actuator.own_parameters, trajectory.kinks
        self.constraint_names = (repr(output),)

    def __repr__(self):
        return f"prescribed {self.output!r}"

    @property
    def kind(self):
        return (type(self), Same(self.output), Same(self.trajectory), Same(self.actuator), self.component)

    def _local(self, values, bodies):
        """Those of the values, one per body of the part, that belong to some of them."""
        return [values[self.bodies.index(body)] for body in bodies]

    def constraints(self, s):
        return ca.SX(self.output.deviation(self.trajectory(s.t), *self._local(s.q, self.output.bodies)))

    def constraint_force(self, s, w):
        actuator, acted = self.actuator, self.actuator.bodies
        own = Symbols(actuator).at(self._local(s.q, acted), self._local(s.p, acted), s._velocity and
                                   self._local(s.velocity, acted), s.t)
        own.own, own.bodies = s.own, self._local(s.bodies, acted)
        force = ca.SX(actuator.control_force(own, ca.vertcat(*(w if i == self.component else 0
                                                               for i in range(actuator.n_controls)))))
        pieces = dict(zip(acted, ca.vertsplit(force, np.cumsum([0, *(b.n_q for b in acted)]).tolist()), strict=True))
        return -ca.vertcat(*(pieces.get(b, ca.SX(b.n_q, 1)) for b in self.bodies))


class ServoInversion:
    """The system whose outputs are constraints; offers what `Inversion` does.

    Parameters
    ----------
    system : System
    outputs : list of (Output, TimeFunction)
        As many as controls.

    Attributes
    ----------
    system : System
        With a `ServoConstraint` for each output, after all other parts.
    """

    direct, by_constraints = False, True

    def __init__(self, system, outputs):
        places = [(a, i) for a in system.parts for i in range(a.n_controls)]
        self.outputs, self.n_forces, n = outputs, system.n_constraints, len(outputs)
        self._free = system
        self.system = System([*system.parts, *(ServoConstraint(*pair, *place)
                                               for pair, place in zip(outputs, places, strict=True))])
        self.relative_degrees, self.n_hidden = [2] * n, [2] * n

    def check(self, t, z):
        """Refuse states at which the controls do not determine the second derivatives of the outputs.

        Raises
        ------
        InputError
            Names the output, the time, and the combination of controls that moves none.
        """
        system = self._free
        at, n = EquationsOfMotion.of_state(system, t, z), len(self.outputs)
        rows = self.system.derivatives(t, z)[1].toarray()[self.n_forces:self.n_forces + n, :system.n_q]
        rows, columns = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300), at.by_controls()
        moved = rows @ columns
        moved[np.abs(moved) <= OPTIONS.singular_columns * (np.abs(rows) @ np.abs(columns))] = 0.0  # terms that cancel
        moved = moved / np.maximum(np.linalg.norm(moved, axis=0), 1e-300)
        u, s, v = np.linalg.svd(moved)
        if not s[-1] > OPTIONS.singular_columns * s[0]:
            output = self.outputs[int(np.argmax(np.abs(u[:, -1])))][0]
            way = v[-1] / np.abs(v[-1]).max()
            shown = largest_parts(way, [f"of {control_name(system, i)}" for i in range(n)])
            raise InputError(f"the controls do not determine {output!r} by its second derivative at t = {t:g}: {shown} "
                             f"moves no output there; choose drives that move it, or other outputs{self._instead()}")

    def _instead(self):
        trees = any(hasattr(body, "by_joint") for body in self._free.bodies)
        return "; of an arm with elastic joints, bodies and joints in place of a tree" if trees else ""

    def variation(self, t, z):
        """`EquationsOfMotion` of the servo system at a state.

        Raises
        ------
        InputError
            When the controls do not determine the outputs by their second derivatives.
        """
        try:
            return EquationsOfMotion.of_state(self.system, t, z)
        except InputError as error:
            raise InputError(f"the controls do not determine the outputs by their second derivatives ({error}); choose "
                             "actuators that move them, mass='gauss' or 'consistent' for all beams and ropes between, "
                             "and bodies and joints in place of a tree for an arm that has elastic joints") from None

    def forces(self, t, z):
        """Joint forces and controls (gamma, u) of a state."""
        return self.variation(t, z).multipliers

    def manifold(self, t, z):
        """Constraints of the system and deviations of the outputs, with rows of zeros for their rates, which a state at
        rest keeps, and their Jacobian."""
        n, m, k = self.system.n_q, self.n_forces, len(self.outputs)
        at_rest = np.concatenate([z[:n], np.zeros(n)])
        value, jacobian = self.system.constraints(t, at_rest), self.system.derivatives(t, at_rest)[1].toarray()
        rows = np.concatenate([np.arange(m), 2 * m + 2 * np.arange(k)])
        values, by_state = np.zeros(2 * (m + k)), np.zeros((2 * (m + k), 2 * n))
        values[rows], by_state[rows, :n] = value[:m + k], jacobian[:m + k, :n]
        return values, by_state

    def internal_rates(self, t, z, scale):
        """As that of `Inversion`, with x = P^T (dq, dv) instead of states: momenta need not determine velocities.
        """
        at, n = self.variation(t, z), self.system.n_q
        size = 1 / scale[:n]
        gradient = at.gradient / size
        gradient = gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
        tangent = scipy.linalg.null_space(gradient, rcond=1e-9)
        moves, none = tangent / size[:, None], np.zeros_like(tangent)
        by_q, by_v = (tangent.T @ (size[:, None] * at.tangent(*pair)[0]) for pair in ((moves, none), (none, moves)))
        pace = np.sqrt(max(np.linalg.norm(by_q, 2), np.linalg.norm(by_v, 2)**2, 1e-300))  # balances q and v
        matrix = np.block([[np.zeros((len(by_q),) * 2), pace * np.eye(len(by_q))], [by_q / pace, by_v]])
        weighted = tangent * size[:, None]
        return np.block([[weighted, none], [none, weighted / pace]]), matrix
