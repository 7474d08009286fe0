"""How inverse dynamics is solved, and its entry in the table of kinds and in model files."""

import time
from dataclasses import replace

import casadi as ca
import numpy as np

from ...assembly import Scaling
from ...elements.extended import Controlled, Servo, ServoPart
from ...errors import InputError, UnderResolved, warn
from ...mechanics.bodies.states import Pose
from ...mechanics.body_frame import is_on_tree
from ...mechanics.parts import is_joint
from ...mechanics.states.assemble import assemble
from ...mechanics.system import System
from ...parallel import own_world
from ...polynomials import CubicSpline
from ...progress import progress
from ...solution.solution import Solution
from ...solvers.equations.distributed import make_equations
from ...solvers.equations.ends import EndBlock, Ends
from ...solvers.equations.outcome import NodalValues, Outcome
from ...solvers.nonlinear.newton import Newton, newton, newton_with_homotopy
from ...status import Reason, Status
from ..initial.drivers import run_driver
from ..initial.global_driver import Global
from ..initial.march_driver import March
from ..kinds import FileFormat, Kind, check_guess, solution_guess
from ..refinement import HigherOrderErrors, size_of_controls, solve_refined
from ..statistics import largest_controls, solve_statistics
from ..task import Kept
from . import constraints
from .constraints import OPTIONS, as_controls, few_times
from .problem import InverseDynamics


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


# ---- inverse dynamics solved

def solve_inverse_dynamics(task):
    """Solve a problem of inverse dynamics: a `Task` of `timefem.solve`.

    Returns
    -------
    Solution
        With the field "controls", and `statistics` "internal_eigenvalues" of the internal dynamics at the start.
    """
    problem, guess = task.problem, task.guess
    if problem.inversion.direct:
        return follow(task)
    if problem.marched is not None:
        return march(task)
    if isinstance(guess, str | list) or not (guess is None or callable(guess)):
        raise InputError(f"guess must be a function t -> z or a Solution, not {guess!r}")
    if isinstance(guess, Solution) and not guess.success:
        raise InputError(f"the guess is a solution that failed: {guess.status.message}")
    if task.tolerance is not None:
        return solve_refined(task, lambda element, mesh, last: _solve_on(task.on(element, mesh, last)), InverseErrors)
    return _solve_on(task.on(task.element, task.mesh_through((*problem.system.kinks, *problem.kinks))))


def march(task):
    """The `Solution` of a motion that its start settles, with outputs as constraints."""
    problem = task.problem
    if task.tolerance is not None or task.guess is not None:
        raise InputError("the motion goes on from its start, element by element: leave tolerance and guess out, and "
                         "give n_elements")
    check_element(problem, task.element)
    mesh = task.mesh_through((*problem.system.kinks, *problem.kinks))
    outcome = run_driver(replace(task, problem=problem.marched, mesh=mesh, n_elements=None,
                                 driver=March(keep_mesh=True), newton=None), mesh)
    if not outcome.status.success:
        state = outcome.state[-1, -1] if outcome.n_solved else problem.start
        try:
            problem.inversion.check(outcome.status.time, state)
        except InputError as error:
            outcome.status.message += f"; {error}"
    servo, multipliers, others = as_controls(problem, task.element, *outcome.values.arrays[1:])
    n = outcome.n_solved
    statistics = solve_statistics(task.driver, None, mesh, outcome, internal_eigenvalues=[])
    return Solution(problem.system, servo, mesh.nodes[:n + 1], problem.start, outcome.state, multipliers,
                    outcome.status, statistics, others)


def _solve_on(task):
    problem, mesh = task.problem, task.mesh
    servo, outcome = solve_inverse(task, mesh)
    n = outcome.n_solved
    eigenvalues = [[float(v.real), float(v.imag)] for v in problem.internal_eigenvalues]
    statistics = solve_statistics(task.driver, task.driver.linear.name, mesh, outcome,
                                  internal_eigenvalues=eigenvalues)
    if not outcome.status.success and problem.unstable and not problem.has_end:
        outcome.status.message += (f"; {problem.unstable} of {problem.internal} modes of the internal dynamics grow "
                                   "from the start on: give the state at the end, too")
    z0 = outcome.state[0, 0] if n else problem.start
    found = Solution.of(problem.system, servo, mesh.nodes[:n + 1], z0, outcome.values, outcome.status, statistics)
    if found.success and not problem.inversion.by_constraints:
        _warn_of_singular_positions(problem, found)
    return found


def _warn_of_singular_positions(problem, found):
    at = problem.inversion.first_singular(found.t, found.z)
    if at is not None:
        warn(f"the motion passes a singular position near t = {found.t[at]:g}, where the controls do not move "
             "all outputs at once: controls and motion are not to be trusted from there on, nor before it "
             "where the end counts; change the trajectories or the outputs", UnderResolved)


# ---- estimated errors of inverse dynamics

class InverseErrors(HigherOrderErrors):
    """Of inverse dynamics, with the controls by the rows at the nodes, relative to the largest of their actuator."""

    rough_guess = False

    def prepare(self):
        self.kinks = (*self.kinks, *self.problem.kinks)
        self.plan = inverse_plan(self.problem, self.better, Kept())

    def assembled(self, sol, mesh):
        x = self.plan.columns.pack(*self.transferred(sol, mesh).values())
        return inverse_equations(self.problem, self.plan, mesh, Global()), x

    def errors(self, sol, mesh, before, after):
        if self.problem.inversion.by_constraints:
            return super().errors(sol, mesh, before, after)
        u, better = (self.problem.controls(mesh.nodes, np.concatenate([v["state"][:1, 0], v["state"][:, -1]]))
                     for v in (before, after))
        errors = super().errors(sol, mesh, before, after)
        return errors | {"controls": float(np.abs((better - u) / size_of_controls(self.problem.system, u)).max())}


# ---- motions and controls where outputs settle the coordinates, time by time

def follow(task):
    """The `Solution` of a problem with a `DirectInversion`, with the field "controls"."""
    problem, element, start = task.problem, Controlled(task.element), time.perf_counter()
    task.element.check(problem.system)
    if task.tolerance is not None:
        raise InputError("tolerance is given, but the motion follows from the outputs at each time, without an error "
                         "of a mesh; give n_elements")
    if task.guess is not None:
        raise InputError("guess is given, but the motion follows from the outputs and the start; leave it out")
    inversion, n = problem.inversion, problem.system.n_q
    mesh = task.mesh_through((*problem.system.kinks, *problem.kinks))
    states, points = mesh.points(element.state.basis), mesh.points(element.trial["controls"].basis)
    moving = mesh.points(element.trial["velocity"].basis) if "velocity" in element.trial else np.zeros((0, 0))
    times, inverse = np.unique(np.concatenate([states.ravel(), points.ravel(), moving.ravel()]), return_inverse=True)
    m = inversion.n_forces
    z, rates = np.zeros((len(times), 2 * n)), np.zeros((len(times), n))
    u = np.zeros((len(times), m + sum(p.n_controls for p in problem.system.parts)))
    before, status, done = (problem.t_span[0], inversion.start(problem.start[:n]), None), Status(True), len(times)
    for i, t in enumerate(times):
        try:
            x = _reached(inversion, before, t)
            q, v, a = x[:, :n]
            z[i], rates[i], u[i] = inversion.state(t, q, v), v, inversion.forces(t, q, v, a)
        except InputError as error:
            e = max(int(np.searchsorted(mesh.nodes, t, "right")) - 1, 0)
            status, done = Status.failure(Reason.NOT_CONVERGED, e, t, [], detail=str(error)), i
            break
        before = t, x[0], x[1]
    solved = int((states[:, -1] <= times[done - 1]).sum()) if done else 0
    place = inverse.ravel()
    nodal = z[place[:states.size]].reshape(*states.shape, -1)[:solved]
    used = place[states.size:states.size + points.size]
    forces, controls = np.split(u[used].reshape(*points.shape, -1)[:solved], [m], axis=2)
    others = {"controls": controls}
    if moving.size:
        others["velocity"] = rates[place[states.size + points.size:]].reshape(*moving.shape, -1)[:solved]
    multipliers = np.concatenate([forces, np.zeros_like(forces)], axis=2)
    seconds = {"setup": 0.0, "assemble": 0.0, "solve": 0.0, "total": time.perf_counter() - start}
    n_unknowns = inversion.start(z[0, :n]).size
    outcome = Outcome(NodalValues(nodal, multipliers, others), status, np.zeros(0, int), n_unknowns, seconds)
    statistics = solve_statistics(task.driver, None, mesh, outcome, internal_eigenvalues=[])
    return Solution.of(problem.system, element, mesh.nodes[:solved + 1], problem.start, outcome.values, status,
                       statistics)


def _reached(inversion, before, t, depth=0):
    """Unknowns and their derivatives at the time t from those before: (time, unknowns, rates or None)."""
    t0, x, rate = before
    try:
        guess = x if rate is None else x + (t - t0) * rate
        return inversion.at(t, guess)
    except InputError:
        if depth == OPTIONS.most_halved or t == t0:
            raise
        middle = (t0 + t) / 2
        half = _reached(inversion, before, middle, depth + 1)
        return _reached(inversion, (middle, half[0], half[1]), t, depth + 1)


def make_from_file(model):
    data, bodies, outputs = model.document.data, model.names.bodies, {}
    for name, entry in data["outputs"].items():
        if "trajectory" in entry:  # others are measured only
            trajectory = model.value_of(("outputs", name, "trajectory"), entry["trajectory"])
            outputs[model.names.outputs[name]] = trajectory
    end = model.end_states("end", Pose) or None
    given = {joint.body.name for joint in end or () if is_on_tree(joint)} | {*(end or ())}
    for name in bodies if end and not any(is_joint(model.system, key) for key in end) else ():
        if name not in given:
            raise model.document.error(("problem", "end"), f"the body {name!r} is missing: give the states of all "
                                       "bodies, or of none")
    with model.naming(("outputs",), data["outputs"]):
        if end and model.assemble:
            end = assemble(model.system, end, model.t_span[1])
        return InverseDynamics(model.system, outputs, model.stated_start, end, model.t_span)


def file_facts(problem):
    return {"relative_degrees": {repr(output): r for output, r in problem.relative_degrees.items()},
            "internal": problem.internal, "unstable": problem.unstable}


FILES = FileFormat(make_from_file, keys=("end",), tables=("actuators", "outputs", "guess"),
                   needed=("actuators", "outputs"), check=check_guess, guess=solution_guess, facts=file_facts)


# ---- inverse dynamics in the table of kinds

def report_facts(problem, sol):
    """Largest deviation of each output, largest controls, and the internal dynamics."""
    kept = {repr(output): float(np.abs(deviations(output, trajectory, sol)).max())
            for output, trajectory in problem.outputs}
    return {"outputs": kept, "controls": largest_controls(sol), "internal_dynamics": problem.internal,
            "unstable": problem.unstable}


def deviations(output, trajectory, sol):
    """By how much an output misses its trajectory at the ends of the elements, shape (n,)."""
    q = [ca.SX.sym("q", body.n_q) for body in output.bodies]
    target = ca.SX.sym("target")
    function = ca.Function("deviation", [target, *q], [ca.SX(output.deviation(target, *q))])
    places = [sol.z[:, sol.system.coordinates(body)].T for body in output.bodies]
    return np.array(function.map(len(sol.t))(np.reshape(trajectory(sol.t), (1, -1)), *places)).ravel()


INVERSE = Kind(
    "inverse", InverseDynamics, "inverse dynamics", drivers=(Global,), solve=solve_inverse_dynamics,
    estimate=InverseErrors, newton={"line_search": True}, facts=report_facts, elements=("mg",),
    changes=("start", "end", "t_span", "outputs"),
    files=__name__,
)
