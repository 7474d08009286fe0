"""Optimal control in several phases solved."""

import time
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from ...elements.evaluation.nodal_values import NodalValues
from ...errors import InputError
from ...progress import progress
from ...solvers.equations.outcome import Outcome
from ..common.statistics import OnDemand
from ..common.task import through_kinks
from ..optimal.diagnosis.reach import check_reach
from ..optimal.guesses.guess import BENDS, Guess, first_guess, from_solution
from ..optimal.solve import check_linear, method_of, solution_of
from ..optimal.strategies.mesh_sequence import optimality_plan
from ..optimal.strategies.restated_ends import solved_as_stated
from ..optimal.strategies.smoothing_path import needs_all_elements, solve_in_stages
from ..optimal.transcription.equations import OptimalityEquations
from ..optimal.transcription.nonlinear_program import OptimalProgram
from ..optimal.transcription.sequence_program import Closing, SequenceProgram
from ..optimal.transcription.sizes import has_contacts, scaling_of, with_objective
from ..refinement.options import OPTIONS
from .refinement import solve_refined
from .share import Share
from .solution import PhasedSolution
from .square import solve_square


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
    phases, numbers = task.problem.phases, task.n_elements or OPTIONS.first_mesh
    if task.guess is None:
        task = replace(task, guess=task.problem.guess)
    numbers = numbers if isinstance(numbers, list | tuple) else [numbers] * len(phases)
    meshes = [through_kinks(phase.t_span, number, phase.kinks)
              for phase, number in zip(phases, numbers, strict=True)]

    def solved(task):
        return solve_refined(task, meshes, solve_on) if task.tolerance is not None else \
            solve_on(task, meshes, task.guess)

    def stated(task, found):
        return list(zip(task.problem.phases, found, strict=True)), task.problem.tied_ends

    found = solved_as_stated(task, phases, solved, stated, _with_phases)
    if task.problem.check is not None and found.success:
        task.problem.check(found)
    return found


def _with_phases(task, phases):
    other = copy(task.problem)
    other.phases = phases
    other.links = [[link.again(*phases[k:k + 2]) for link in links] for k, links in enumerate(task.problem.links)]
    other.couplings = [coupling.again(phases[-1], phases[0]) for coupling in task.problem.couplings]
    return replace(task, problem=other)


def solve_on(task, meshes, guess):
    """The `PhasedSolution` on a mesh of each phase."""
    phases, start = task.problem.phases, time.perf_counter()
    guesses = [None] * len(phases) if guess is None else guess
    if isinstance(guesses, str) or not hasattr(guesses, "__len__") or len(guesses) != len(phases):
        raise InputError(f"guess must be a PhasedSolution, or a list of {len(phases)} guesses, one for each phase, not "
                         f"{guess!r}")
    method = method_of(task)
    check_linear(task.driver.linear, method)
    made = [_made(task, *one) for one in zip(phases, meshes, guesses, strict=True)]
    _take_size_of_objective(made, phases)
    warm = all(hasattr(guess, "nodal_state") for guess in guesses)
    title = f"optimal control, {len(phases)} phases"
    alone = needs_all_elements(task.element, task.problem.limits) or task.element.elements_per_block > 1
    with progress(title, method.max_iterations, task.progress, method.tolerance) as bar, \
            Share.of(task.driver, [equations for *_, equations, _ in made], alone) as share:
        chains = share.chains()
        programs = [OptimalProgram(chain, chain.take(made[k][-1]), warm=warm) for k, chain in chains.items()]
        first, last = min(chains), max(chains)
        ends = phases[0].symbols_at(0), phases[-1].symbols_at(1)
        closing = Closing(task.problem.couplings, ends, share.comm, (first == 0, last == len(phases) - 1))
        whole = SequenceProgram(programs, task.problem.links[first:last], closing, bar.step,
                                task.problem.names[first:last + 1])
        program = share.program(whole)
        setup = time.perf_counter() - start
        answer = solve_square(program, method.tolerance, method.max_iterations) or solve_in_stages(
            method, program, task.problem.limits, task.element)
        found = share.all_unknowns(whole, program, answer)
    seconds = {"setup": setup, "assemble": sum(chain.seconds["assemble"] for chain in chains.values()),
               "total": time.perf_counter() - start}
    seconds["solve"] = seconds["total"] - setup - seconds["assemble"]
    solutions = []
    for (element, system, equations, _), x, phase in zip(made, found, phases, strict=True):
        values = NodalValues(*equations.plan.unpack(equations.dofs(x)))
        outcome = Outcome(values, answer.status, np.array([answer.iterations]), equations.n_unknowns, seconds,
                          n_ranks=share.n_ranks)
        own = element, system, outcome, equations.numbers(x), equations.objective(x)
        solutions.append(solution_of(phase, task.driver, method.name, equations.mesh, own))
    total = sum(sol.statistics["objective"] for sol in solutions)
    solution = PhasedSolution(solutions, total, answer.status, solutions[0].statistics | {
        "objective": total, "n_elements": sum(sol.statistics["n_elements"] for sol in solutions),
        "stated": OnDemand(lambda: task.problem.stated), "n_unknowns": share.n_unknowns(program)})
    return solution.of_problem(task.problem)


def _take_size_of_objective(made, phases):
    """Take the costs of all phases over their common size."""
    scales = [equations.assembler.scaling for *_, equations, _ in made]
    if all(scale.name == "full" for scale in scales) and not any(map(has_contacts, phases)):
        size = sum(equations.size_of_objective(x) for *_, equations, x in made)
        for (*_, equations, _), phase, scale in zip(made, phases, scales, strict=True):
            equations.renew_for(phase, equations.mesh, with_objective(scale, size))


def _made(task, phase, mesh, guess):
    """Element, system, equations and unknowns to start from of one phase."""
    plan = optimality_plan(phase, task.element)
    element, system = plan.element, plan.system
    scale = scaling_of(task.driver.scaling, phase, plan, mesh.nodes[0])
    equations = OptimalityEquations(phase, plan, mesh, scale, "chain")
    warm = hasattr(guess, "nodal_state")
    x = (from_solution if warm else first_guess)(phase, plan, mesh, guess)
    bent = partial(first_guess, phase, plan, mesh, Guess(bend=BENDS[0]))
    if check_reach(equations, x, bent).unmoved is not None and guess is None:
        x = bent()
    return element, system, equations, x
