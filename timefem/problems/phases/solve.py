"""Optimal control in several phases solved."""

import time
from functools import partial

import numpy as np

from ...assembly import Scaling, TimeMesh
from ...errors import InputError
from ...parallel import own_world
from ...progress import progress
from ...solvers.equations.distributed import slab_ends
from ...solvers.equations.outcome import Outcome
from ...solvers.nonlinear.methods import method_for_inequalities
from ...solvers.nonlinear.slab_program import RepeatedProgram
from ..optimal.controllability import check_reach
from ..optimal.equations import SLAB_WORK, OptimalityEquations
from ..optimal.guess import Guess, first_guess, from_solution
from ..optimal.mesh_sequence import BENDS, COARSE, optimality_plan, solve_in_turn
from ..optimal.nonlinear_program import OptimalProgram
from ..optimal.sequence_program import SequenceProgram
from ..optimal.solve import check_linear, solution_of
from ..refinement.loop import START
from .refinement import solve_refined
from .solution import PhasedSolution


def solve_phases(task):
    """Solve a problem in phases: a `Task` of `timefem.solve`, with `n_elements`, of each phase or a list, or a
    `tolerance`.

    `guess` is a `PhasedSolution`, or a list of what each phase takes as a guess.

    Returns
    -------
    PhasedSolution
    """
    if task.mesh is not None:
        raise InputError("phases take n_elements, the elements of each phase, or tolerance, not mesh")
    phases, numbers = task.problem.phases, task.n_elements or START
    numbers = numbers if isinstance(numbers, list | tuple) else [numbers] * len(phases)
    meshes = [TimeMesh.uniform(phase.t_span, number) for phase, number in zip(phases, numbers, strict=True)]
    if task.tolerance is not None:
        return solve_refined(task, meshes, solve_on)
    return solve_on(task, meshes, task.guess)


def solve_on(task, meshes, guess):
    """The `PhasedSolution` on a mesh of each phase."""
    phases, start = task.problem.phases, time.perf_counter()
    guesses = [None] * len(phases) if guess is None else guess
    if isinstance(guesses, str) or not hasattr(guesses, "__len__") or len(guesses) != len(phases):
        raise InputError(f"guess must be a PhasedSolution, or a list of {len(phases)} guesses, one for each phase, not "
                         f"{guess!r}")
    method = method_for_inequalities(task.method)
    check_linear(task.driver.linear, method)
    made = [_made(task, *one) for one in zip(phases, meshes, guesses, strict=True)]
    warm = all(hasattr(guess, "nodal_state") for guess in guesses)
    title = f"optimal control, {len(phases)} phases"
    with progress(title, method.max_iterations, task.progress, method.tolerance) as bar:
        programs = [OptimalProgram(equations, x, warm=warm) for *_, equations, x in made]
        whole = SequenceProgram(programs, task.problem.links, task.problem.couplings, bar.step,
                                task.problem.names)
        setup = time.perf_counter() - start
        shared = _shared(whole, task.driver)
        answer = solve_in_turn(method, shared or whole, task.problem.limits)
        found = shared.placed(answer.v, answer.multipliers) if shared else (answer.v, answer.multipliers)
    seconds = {"setup": setup, "assemble": sum(equations.seconds["assemble"] for *_, equations, _ in made),
               "total": time.perf_counter() - start}
    seconds["solve"] = seconds["total"] - setup - seconds["assemble"]
    solutions = []
    for (element, system, equations, _), x, phase in zip(made, whole.placed(*found), phases,
                                                         strict=True):
        outcome = Outcome(*equations.plan.unpack(equations.dofs(x)), answer.status, np.array([answer.iterations]),
                          equations.n_unknowns, seconds, n_ranks=shared.comm.size if shared else 1)
        own = element, system, outcome, equations.numbers(x), equations.objective(x)
        solutions.append(solution_of(phase, task.driver, method.name, equations.mesh, own))
    total = sum(sol.statistics["objective"] for sol in solutions)
    return PhasedSolution(solutions, total, answer.status, solutions[0].statistics | {
        "objective": total, "n_elements": sum(sol.statistics["n_elements"] for sol in solutions),
        "n_unknowns": whole.n})


def _shared(program, driver):
    """The program as one whose factors the ranks share; None where there is nothing to share."""
    comm, n_blocks = own_world() if driver.distributed else None, int(program.variable_blocks.max()) + 1
    if comm is None or n_blocks <= max(COARSE, comm.size):
        return None
    return RepeatedProgram(program, slab_ends(n_blocks, comm.size, SLAB_WORK), comm)


def _made(task, phase, mesh, guess):
    """Element, system, equations and unknowns to start from of one phase."""
    task.element.check(phase.system)
    plan = optimality_plan(phase, task.element)
    element, system = plan.element, plan.system
    scale = Scaling.of(task.driver.scaling, system, element, mesh.nodes[0], phase.z0)
    equations = OptimalityEquations(phase, plan, mesh, scale, "chain")
    warm = hasattr(guess, "nodal_state")
    x = (from_solution if warm else first_guess)(phase, plan, mesh, guess)
    bent = partial(first_guess, phase, plan, mesh, Guess(bend=BENDS[0]))
    if check_reach(equations, x, bent).unmoved is not None and guess is None:
        x = bent()
    return element, system, equations, x
