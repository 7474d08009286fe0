"""How initial-value problems are solved, and their entry in the table of kinds."""

import dataclasses

import numpy as np

from ...assembly import Scaling, TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...errors import InputError
from ...mechanics.states.consistent_multipliers import repeating
from ...mechanics.values.of_parts import not_finite
from ...memory import Late
from ...parallel import own_world
from ...polynomials import gauss_legendre
from ...solution.motion_checks import other_roots
from ...solution.slab_solution import SlabSolution
from ...solution.solution import Solution
from ...solvers.equations.elements import ElementEquations
from ...solvers.march.step_control import StepControl
from ...solvers.march.to_tolerance import solve_adaptively
from ...solvers.nonlinear.newton import Newton
from ...status import Reason
from ...validate import check_memory
from ...validate.options import said
from ..kinds import FileFormat, Kind
from ..refinement import HigherOrderErrors, solve_refined
from ..statistics import solve_statistics
from .drivers import DRIVERS, run_driver
from .problem import InitialValueProblem

contact = Late(f"{__package__}.contact")
in_discrete_time = Late(f"{__package__}.march_driver")


def solve_initial(task):
    """Solve an initial-value problem: a `Task` of `timefem.solve`."""
    contacts, in_samples = task.problem.system.rigid_contacts, bool(task.problem.system.sampled_parts)
    if task.tolerance is not None:
        return _solve_to_tolerance(task)
    if in_samples and not contacts:
        return _solve_sampled(task)
    if task.mesh is None and not task.driver.distributed:  # before a mesh of that size is made
        n_bytes = 2 * 8 * task.n_elements * task.problem.system.n_z
        check_memory(f"the solution on {task.n_elements} elements", n_bytes)
    samples = in_discrete_time.Samples(task) if in_samples else None
    mesh = mesh_of(task) if samples is None else samples.mesh
    driver, system, z0 = task.driver, task.problem.system, task.problem.z0
    driver.check(task.element, task.guess)
    if task.checkpoint is not None:
        task.checkpoint.check()
    if contacts:
        return _completed(contact.march_with_contacts(task, mesh, samples), mesh, task.checkpoint)
    outcome = run_driver(task, mesh)
    mesh = outcome.mesh or mesh
    statistics = solve_statistics(driver, _backend(driver), mesh, outcome)
    first = outcome.first or 0
    t = mesh.nodes[first:first + outcome.n_solved + 1]
    if outcome.first is not None:
        state, multipliers, others = outcome.values.arrays
        return SlabSolution(system, task.element, t, state[0, 0] if len(state) else z0, state, multipliers,
                            outcome.status, statistics, fields=others, comm=own_world(), origin=(mesh.nodes[0], z0))
    solution = Solution.of(system, task.element, t, z0, outcome.values, outcome.status, statistics)
    return _completed(solution, mesh, task.checkpoint)


def _completed(solution, mesh, checkpoint=None):
    """The solution with what is to be said of a failure."""
    if solution.status.reason == Reason.STOPPED and checkpoint is not None and checkpoint.path:
        solution.status.message = f"{solution.status.message} ({checkpoint.path})"
    elif solution.status.reason == Reason.STOPPED:
        solution.status.message = _stopped(solution)
    elif not solution.success:
        solution.status.message += _told_of(solution, mesh)
    return solution


def _stopped(solution):
    return f"stopped at t = {solution.end[0]:g} by a signal; what was solved is kept"


def _solve_sampled(task):
    """A march from one change of the forces of a sampled controller to the next."""
    problem = task.problem
    outcome, system, mesh = in_discrete_time.run_sampled(task)
    statistics = solve_statistics(task.driver, _backend(task.driver), mesh, outcome)
    solution = Solution.of(system, task.element, mesh.nodes[:outcome.n_solved + 1], problem.z0, outcome.values,
                           outcome.status, statistics)
    return _completed(solution, mesh, task.checkpoint)


def mesh_of(task):
    """The mesh of a `Task` without a tolerance."""
    if task.mesh is not None:
        return task.mesh
    return task.kept.mesh(task.problem.t_span, task.n_elements, task.problem.system.kinks, _mesh_through_kinks)


def _solve_to_tolerance(task):
    """A march that finds its steps; on meshes found one after the other a global solve, or a march in which forces
    change at times of their own: with contacts, or sampled controllers."""
    if task.driver.name == "global":
        for name, value in (("checkpoint", task.checkpoint), ("gather", task.driver.gather)):
            if value is not None:
                raise InputError(f"{name} is given, but a global solve to a tolerance does not use it")
        return solve_refined(task, lambda element, mesh, last: solve_initial(task.on(element, mesh, last)),
                             InitialErrors)
    system = task.problem.system
    if (system.rigid_contacts or system.sampled_parts) and task.driver.name == "march":
        if system.sampled_parts:
            task = dataclasses.replace(task, mesh=in_discrete_time.Samples(task).mesh, n_elements=None)
        return solve_refined(task, lambda element, mesh, last: solve_initial(task.on(element, mesh)),
                             contact.MarchErrors)
    for name in ("n_elements", "mesh", "guess", "checkpoint"):
        if getattr(task, name) is not None:
            raise InputError(f"{name} is given, but a march to a tolerance does not use it")
    if task.driver.name != "march":
        raise InputError(f"driver is given as {task.driver.name!r}, but only march and global find a mesh for "
                         "a tolerance")
    if not task.element.can_march:
        raise InputError(f"{task.element!r} couples its elements and cannot be marched to a tolerance; give "
                         f"n_elements, or {said('driver', 'global')}")
    return _march_to_tolerance(task)


def _march_to_tolerance(task):
    problem, element, tolerance = task.problem, task.element, task.tolerance
    control = tolerance if isinstance(tolerance, StepControl) else StepControl(tolerance)
    mesh, outcome, found = solve_adaptively(problem, element, control, task.newton or Newton(), task.driver.scaling,
                                            task.progress, other_roots(problem.system))
    statistics = solve_statistics(task.driver, _backend(task.driver), mesh, outcome, tolerance=control.tolerance,
                                  **found)
    solution = Solution.of(problem.system, element, mesh.nodes[:outcome.n_solved + 1], problem.z0, outcome.values,
                           outcome.status, statistics)
    if solution.status.reason == Reason.STOPPED:
        solution.status.message = f"{_stopped(solution)}, to a looser tolerance perhaps"
    elif not solution.success:
        solution.status.message += _told_of(solution, mesh)
    return solution


def _backend(driver):
    return None if driver.linear is None else driver.linear.name


def _mesh_through_kinks(t_span, n_elements, kinks):
    """Nearly uniform, with nodes at the kinks of the system; uniform when that would need far longer elements."""
    uniform = TimeMesh.uniform(t_span, n_elements)
    if not len(kinks):
        return uniform
    try:
        mesh = TimeMesh.uniform(t_span, n_elements, through=kinks)
    except InputError:  # more kinks than elements
        return uniform
    return mesh if mesh.lengths.max() <= (2 + 1e-9) * uniform.lengths.max() else uniform  # not by rounding


def _told_of(solution, mesh):
    """What is to be said of a failure besides where it is."""
    system, element, nodes = solution.system, solution.element, mesh.nodes
    following = nodes[nodes > solution.t[-1]][:1]
    found = repeating(system, solution.t, solution.z, *following)
    return _not_finite(solution, mesh) + found + (f"; {element.remedy}" if element.remedy else "")


def _not_finite(solution, mesh):
    """For the message of a failed solve: a part that is NaN or infinite at a later time, from the last good state."""
    system, end = solution.system, solution.t[-1]
    if end >= mesh.nodes[-1]:  # all are solved, but not well enough
        return ""
    rest = TimeMesh(np.append(end, mesh.nodes[mesh.nodes > end]))  # elements may have ended on events
    times = (rest.nodes[:-1, None] + rest.lengths[:, None] * gauss_legendre(solution.element.n_points)[0]).ravel()
    found = not_finite(system, times, np.broadcast_to(solution.z[-1], (len(times), system.n_z)))
    return "".join(f"; {system.label(part)} is not finite at t = {t:g}" for part, t in list(found.items())[:1])


class InitialErrors(HigherOrderErrors):
    """Of initial-value problems solved globally."""

    def prepare(self):
        self.plan = ElementPlan(self.problem.system, self.better)

    def assembled(self, sol, mesh):
        x = self.plan.columns.pack(*self.transferred(sol, mesh).values())
        scale = Scaling.of("full", self.problem.system, self.better, mesh.nodes[0], sol.z[0])
        return ElementEquations(self.plan, mesh, scale), x

    def dofs(self, equations, x):
        return x


FILES = FileFormat(make=lambda model: model.start, tables=("sensitivity",))


def warms(task, solution):
    """Where all elements are solved at once, over the same time."""
    return task.driver.name == "global" and task.tolerance is None and \
        tuple(solution.t[[0, -1]]) == tuple(task.problem.t_span)


def check_contacts(problem, element):
    """Refuse elements that cannot march with rigid contact."""
    if problem.system.rigid_contacts:
        contact.check_contacts(problem, element)


INITIAL = Kind(
    "initial", InitialValueProblem, "an initial-value problem",
    drivers=(DRIVERS["march"], DRIVERS["global"], DRIVERS["windows"]), solve=solve_initial, estimate=InitialErrors,
    guesses=("march", "constant"), checkpoints=True, causal=True,
    has_derivatives=True, changes=("start", "t_span"), mesh=mesh_of,
    warms=warms, fits=check_contacts, usual=True,
    studies=("conservation", "convergence", "preconditioners"), files=__name__,
)
