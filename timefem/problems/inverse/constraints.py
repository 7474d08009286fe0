"""Inverse dynamics with outputs as constraints, whose multipliers are the controls: conditions at the ends, guess.

Unknown at each node are q, p and the velocity u. Given at the start: p = T_v(q, u), the constraints and outputs and
their rates, and the stable part of the internal dynamics; at the end its unstable part.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...elements.extended import ControlledByMultipliers
from ...errors import InputError
from ...mechanics.part import Body
from ...mechanics.symbols import Symbols
from ...polynomials import CubicSpline
from ...records import frozen
from ...solvers.equations.ends import EndBlock
from ...validate.options import Options, documented, option
from ..static.equations import StaticEquations
from ..static.equilibrium import newton


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
