"""Inverse dynamics with outputs as constraints, whose multipliers are the controls: the constraints, by forces of
actuators instead of reactions, conditions at the ends, and a guess."""

from __future__ import annotations

import casadi as ca
import numpy as np
import scipy

from ...elements.extended import ControlledByMultipliers
from ...errors import InputError
from ...mechanics.forces.actuators import control_name
from ...mechanics.formulas.formula import Same
from ...mechanics.inversion.direct import largest_parts
from ...mechanics.inversion.inversion import OPTIONS as INVERSION
from ...mechanics.part import Body, Part
from ...mechanics.symbols import Symbols
from ...mechanics.system import System
from ...mechanics.values.equations_of_motion import EquationsOfMotion
from ...polynomials import CubicSpline
from ...records import frozen
from ...solvers.equations.ends import EndBlock
from ...validate.options import Options, documented, option
from ..static.equations import StaticEquations
from ..static.equilibrium import newton


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
        moved[np.abs(moved) <= INVERSION.singular_columns * (np.abs(rows) @ np.abs(columns))] = 0.0  # terms that cancel
        moved = moved / np.maximum(np.linalg.norm(moved, axis=0), 1e-300)
        u, s, v = np.linalg.svd(moved)
        if not s[-1] > INVERSION.singular_columns * s[0]:
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


@documented
@frozen
class InverseOptions(Options):
    """Thresholds of inverse dynamics."""

    # ---- direct
    most_halved: int = option(12, "times that a step from one time to the next is halved")

    # ---- few times
    guess_elements: int = option(200, "elements on which the guess is made")

    # ---- problem
    passed: int = option(40, "equilibria on the way to that at the end")
    neutral: float = option(1e-6, "growth up to this over the whole time counts as stable")


OPTIONS = InverseOptions()


def as_controls(problem, element, multipliers, others):
    """Element, multipliers of the joints and further fields, with the controls as one of them."""
    m, k = problem.inversion.n_forces, len(problem.outputs)
    controls = multipliers[..., m:m + k]
    joints = np.concatenate([multipliers[..., :m], multipliers[..., m + k:2 * m + k]], axis=-1)
    others = {name: values for name, values in others.items() if name == "velocity"}
    return ControlledByMultipliers(element), joints, others | {"controls": controls}


def end_blocks(problem, plan):
    """Conditions at the start and at the end."""
    system, blocks = problem.inversion.system, []
    fields = dict(zip(plan.element.trial, plan.columns.fields, strict=True))
    n, places = system.n_q, [fields[name][0].tolist() for name in ("state", "velocity")]
    for first in (True, False):
        node = ca.SX.sym("node", plan.columns.n_node)
        z, u = node[places[0]], node[places[1]]
        rows = _consistent(system, problem.t_span[0], z[:n], z[n:], u) if first else []
        conditions = problem.conditions[0 if first else 1]
        if len(conditions):
            at_rest = np.append((problem.start if first else problem.end)[:n], np.zeros(n))
            rows.append(ca.DM(conditions) @ (ca.vertcat(z[:n], u) - at_rest))
        blocks.append(EndBlock(node, ca.SX(0, 1), ca.vertcat(ca.SX(0, 1), *rows)))
    return blocks


def _consistent(system, t, q, p, u):
    """Rows `p = T_v(q, u)`, constraints and their rates, at one time."""
    momenta, phis, rates, every = ca.SX(system.n_q, 1), [], [], np.arange(system.n_q)
    for part in system.parts:
        s = Symbols(part)
        v = [ca.SX.sym("v", b.n_q) for b in part.bodies]
        at, both = s.at(s.q, s.p, v), (ca.vertcat(ca.SX(0, 1), *s.q), ca.vertcat(ca.SX(0, 1), *v))
        phi = ca.SX(part.constraints(at))
        rows = [ca.gradient(ca.SX(part.kinetic(at, v)), both[1]), phi,
                ca.jtimes(phi, both[0], both[1]) + ca.jacobian(phi, s.t)]
        index = np.concatenate([np.zeros(0, int), *(every[system.coordinates(b)] for b in part.bodies)]).tolist()
        if not isinstance(part, Body) and not part.couples_inertia and not part.constraint_names:
            continue
        own = ca.Function("part", [*both, s.t, s.parameters], rows)(q[index], u[index], t, part.parameters)
        for i, place in enumerate(index):
            momenta[place] += own[0][i]
        phis.append(own[1])
        rates.append(own[2])
    return [p - momenta, *phis, *rates]


def first_guess(problem, plan, mesh, guess):
    """Nodal values of all fields: those of equilibria at each time, unless a guess is given."""
    element, system = plan.element, plan.system
    times, points = mesh.points(element.state.basis), mesh.points(element.multiplier.basis)
    some = few_times(mesh)
    if guess is None:
        q, forces = held_at_rest(problem, some)
    elif callable(guess):
        q, forces = np.asarray(guess(some), float)[:, :system.n_q], np.zeros((len(some), system.n_constraints))
    else:
        raise InputError(f"guess must be a function t -> z or a Solution, not {guess!r}")
    if not np.all(np.isfinite(q)):
        raise InputError("guess must be finite")
    way = CubicSpline(some, q, np.zeros((2, system.n_q)))
    q, v = way(times.ravel()), way(times.ravel(), 1)
    p = system.momentum(times.ravel(), np.hstack([q, np.zeros_like(q)]), v)
    state = np.hstack([q, p]).reshape(*times.shape, -1)
    gamma = np.stack([np.interp(points, some, f) for f in forces.T], axis=-1)
    multipliers = np.concatenate([gamma, np.zeros_like(gamma)], axis=-1)
    return element.nodal_values(system, times, state, multipliers)


# ---- times at which guesses of inverse dynamics are made

def few_times(mesh):
    """Ends of the elements and their middles, of a coarser mesh where there are very many."""
    n = min(mesh.n_elements, OPTIONS.guess_elements)
    nodes = np.interp(np.linspace(0, 1, n + 1), np.linspace(0, 1, len(mesh.nodes)), mesh.nodes)
    return np.sort(np.concatenate([nodes, (nodes[1:] + nodes[:-1]) / 2]))


# ---- Systems held at rest by controls that keep the outputs where they are to be

def held_at_rest(problem, times):
    """Coordinates and forces of equilibria with the outputs where they are to be, shapes (n, n_q), (n, n_forces)."""
    equations, n = StaticEquations(problem.inversion.system), problem.system.n_q
    x, found = np.append(problem.start[:n], problem.inversion.forces(times[0], problem.start)), []
    for t in times:
        rest = newton(equations, x, t)
        x = np.append(rest.q, rest.multipliers) if rest.success else x
        found.append(x)
    return np.split(np.array(found), [n], axis=1)


def at_rest(problem, t, z, where):
    """The equilibrium near a state, with the outputs on their trajectories and held by the controls.

    Raises
    ------
    InputError
        When there is none near, or an output moves; names it, and the end `where`.
    """
    servo, n = problem.inversion.system, problem.system.n_q
    z = np.append(problem.fitted(t, z, where)[:n], np.zeros(n))
    moving = np.flatnonzero(servo.derivatives(t, z)[2][problem.inversion.n_forces:servo.n_constraints])
    if len(moving):
        raise InputError(f"the trajectory of {problem.outputs[moving[0]][0]!r} moves at the {where}; outputs that are "
                         "kept as constraints begin and end at rest: let the time span begin earlier, or end later")
    found = newton(StaticEquations(servo), np.append(z[:n], problem.inversion.forces(t, z)), t)
    if not found.success:
        raise InputError(f"no equilibrium was found at the {where} that the controls hold: {found.status.message}")
    return np.append(found.q, np.zeros(n))
