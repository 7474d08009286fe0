"""Inverse dynamics: conditions at the ends, the guess, and the global solve."""

import time
from dataclasses import replace

import casadi as ca
import numpy as np

from ...assembly import Scaling
from ...elements.augmented.controlled import Servo, ServoPart
from ...elements.evaluation.nodal_values import NodalValues
from ...errors import InputError
from ...mechanics.system import System
from ...parallel import own_world
from ...polynomials import CubicSpline
from ...progress import progress
from ...solvers.equations.ends import EndBlock, Ends
from ...solvers.equations.make import make_equations
from ...solvers.equations.outcome import Outcome
from ...solvers.nonlinear.homotopy import newton_with_homotopy
from ...solvers.nonlinear.newton import Newton, newton
from ..common.kept import Kept
from . import constraints
from .constraints import few_times


def solve_inverse(task, mesh):
    """Solve the `InverseDynamics` problem of a `Task` on a mesh.

    Returns
    -------
    element : TimeElement
        With controls, whose fields the outcome has.
    outcome : Outcome
    """
    start, problem, element, driver = time.perf_counter(), task.problem, task.element, task.driver
    check_element(problem, element)
    plan = inverse_plan(problem, element, task.kept)
    make_guess = constraints.first_guess if problem.inversion.by_constraints else first_guess
    values = make_guess(problem, plan, mesh, task.guess)
    comm = own_world() if driver.distributed else None
    equations = inverse_equations(problem, plan, mesh, driver, comm, task.kept)
    x = plan.columns.pack(*values)
    reference = equations.assembler.scaling.size(values[0]) if driver.scaling != "full" else \
        float(np.abs(values[0] / problem.scale).max()) or 1.0
    setup = time.perf_counter() - start
    settings = task.newton or Newton(line_search=True)
    goal = settings.tol_residual * reference
    with progress("inverse dynamics", settings.max_iterations, task.progress, goal) as bar:
        if problem.inversion.by_constraints:
            x, status, n = newton_with_homotopy(equations, equations.take(x), settings, reference, bar.iteration, True)
        else:
            x, status = newton(equations, equations.take(x), settings, reference, bar.iteration)
            n = len(status.residual_history) - 1
    x = equations.gather(x)
    servo, state, multipliers, others = plan.element, *plan.unpack(x)
    if problem.inversion.by_constraints:
        servo, multipliers, others = constraints.as_controls(problem, servo, multipliers, others)
    if not status.success:  # no element of a global solve is good before all are
        state, multipliers, others = state[:0], multipliers[:0], {k: v[:0] for k, v in others.items()}
    seconds = {"setup": setup, **equations.seconds, "total": time.perf_counter() - start}
    return servo, Outcome(NodalValues(state, multipliers, others), status, np.array([n]), equations.n_unknowns, seconds,
                          n_ranks=equations.comm.size if equations.comm else 1, backward_error=equations.backward_error,
                          ordering=equations.linear.ordering, per_rank=equations.per_rank)


def check_element(problem, element):
    """Refuse elements that the way of the problem does not take."""
    forms = ("energy", "impulse") if problem.inversion.by_constraints else ("hamilton",)
    if not element.takes_outputs:
        raise InputError(f"inverse dynamics takes MixedGalerkin elements, not {element!r}")
    if element.form not in forms:
        why = "inertia couples its bodies" if problem.inversion.by_constraints else \
            "its rows are stated with Hamilton's equations"
        raise InputError(f"inverse dynamics takes MixedGalerkin with form={forms[0]!r}, for {why}; "
                         f"form={element.form!r} is given")
    element.check(problem.system)


def inverse_plan(problem, element, kept):
    """Plan of the element with controls, of the system with the rows that determine them; of the element itself where
    controls are multipliers."""
    if problem.inversion.by_constraints:
        return kept.plan(problem.inversion.system, element)
    return kept.plan(System([*problem.system.parts, ServoPart(problem.inversion, problem.kinks)]), Servo(element))


def inverse_equations(problem, plan, mesh, driver, comm=None, kept=None):
    """The equations of a problem, for a plan by `inverse_plan`, on a mesh, shared among the ranks of `comm`."""
    scale = Scaling.of(driver.scaling, plan.system, plan.element, mesh.nodes[0], problem.start)
    if driver.scaling == "full":
        scale = replace(scale, lifts=(problem.unit_of_time, 1.0))
        if not problem.inversion.by_constraints:
            scale = replace(scale, controls=problem.inversion.per_control / problem.unit_of_time)
    make_blocks = constraints.end_blocks if problem.inversion.by_constraints else end_blocks
    ends = Ends.unrestricted(plan, make_blocks(problem, plan))
    return (kept or Kept()).thing(("equations", mesh.n_elements), plan,
                                  lambda: make_equations(plan, mesh, scale, ends, driver.linear, comm),
                                  lambda equations: equations.renew(mesh, scale, ends))


def end_blocks(problem, plan):
    """Conditions at the start and at the end.

    At the start: the constraints. Of the n hidden constraints of an output (its deviation and derivatives of that) the
    lower half at the start and the lower half at the end, as for interpolation by Hermite; and those of the internal
    dynamics. Without a state at the end everything is asked for at the start.
    """
    blocks = []
    for first in (True, False):
        node, t = ca.SX.sym("node", plan.columns.n_node), problem.t_span[0 if first else 1]
        z = node[plan.columns.first[0].tolist()]
        rows = [problem.inversion.theta(z, t)[0]] if first else []
        for hidden, n in zip(problem.inversion.hidden, problem.inversion.n_hidden, strict=True):
            n_end = n // 2 if problem.has_end else 0
            rows.append(hidden(z, t)[0][:n - n_end if first else n_end])
        conditions = problem.conditions[0 if first else 1]
        if len(conditions):
            rows.append(ca.DM(conditions) @ (z - (problem.start if first else problem.end)))
        rows = [_of_unit_size(problem, ca.vertcat(ca.SX(0, 1), *rows), z, problem.start if first else problem.end)]
        blocks.append(EndBlock(node, ca.SX(0, 1), ca.vertcat(ca.SX(0, 1), *rows)))
    return blocks


def _of_unit_size(problem, rows, z, at):
    """Rows with gradients of length one in states of their sizes."""
    gradient = np.array(ca.Function("gradient", [z], [ca.densify(ca.jacobian(rows, z))])(at)) * problem.scale
    return rows / np.linalg.norm(gradient, axis=1)


def first_guess(problem, plan, mesh, guess):
    """Nodal values of all fields: states fitted to the trajectories, and forces and controls that belong to them."""
    element, inversion = plan.element, problem.inversion
    times, points = mesh.points(element.state.basis), mesh.points(element.multiplier.basis)
    if guess is None:
        guess = fitted_motion(problem, mesh)
    elif not callable(guess):
        raise InputError(f"guess must be a function t -> z or a Solution, not {guess!r}")
    state = np.asarray(guess(times.ravel()), float).reshape(*times.shape, problem.system.n_z)
    if not np.all(np.isfinite(state)):
        raise InputError("guess must be finite")
    some = few_times(mesh)
    forces = np.array([inversion.forces(t, z) for t, z in zip(some, np.asarray(guess(some), float), strict=True)])
    forces = np.stack([np.interp(points, some, f) for f in forces.T], axis=-1)
    m = inversion.n_forces
    multipliers = np.concatenate([forces[..., :m], np.zeros_like(forces[..., :m])], axis=-1)
    values = element.nodal_values(plan.system, times, state, multipliers)
    values[list(element.trial).index("controls")] = forces[..., m:]
    return values


def fitted_motion(problem, mesh):
    """The way from start to end, moved to where the trajectories require it: a function of the time."""
    t0, t1 = problem.t_span
    times = few_times(mesh)
    x = (times - t0) / (t1 - t0)
    way = problem.start + (x**2 * (3 - 2 * x))[:, None] * (problem.end - problem.start)
    out, offset = np.empty_like(way), np.zeros(problem.system.n_z)
    for i, t in enumerate(times):
        out[i] = problem.fitted(t, way[i] + offset)
        offset = out[i] - way[i]
    return CubicSpline(times, out)
