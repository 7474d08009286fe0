"""How optimal control in several phases is solved, and its entry in the table of kinds."""

import time
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ... import validate
from ...errors import InputError
from ...memory import Late
from ...parallel import own_world
from ...progress import progress
from ...solvers.equations.distributed import slab_ends
from ...solvers.equations.outcome import NodalValues, Outcome
from ...solvers.nonlinear.program import Answer, SlabProgram
from ...sparse import sparse_lu
from ...status import Attempt, Reason, Status
from ..initial.global_driver import Global
from ..kinds import FileFormat, Kind
from ..optimal.diagnosis.reach import check_reach
from ..optimal.errors import BoundedErrors
from ..optimal.files import ENTRIES, KEYS, couplings_from_file
from ..optimal.files import FILES as OF_ONE
from ..optimal.guesses.guess import BENDS, Guess, first_guess, from_solution
from ..optimal.kind import UNUSED, check_linear, method_of, solution_of
from ..optimal.options import OPTIONS as OF_OPTIMA
from ..optimal.statement.couplings import SameState
from ..optimal.strategies.mesh_sequence import optimality_plan
from ..optimal.strategies.restated_ends import solved_as_stated
from ..optimal.strategies.smoothing_path import needs_all_elements, solve_in_stages
from ..optimal.strategies.strategy import FIRST_GUESS
from ..optimal.transcription.equations import OptimalityEquations, OptimalitySlab
from ..optimal.transcription.nonlinear_program import OptimalProgram
from ..optimal.transcription.sequence_program import Closing, SequenceProgram
from ..optimal.transcription.sizes import has_contacts, scaling_of, with_objective
from ..refinement import OPTIONS, graded, halved
from ..statistics import OnDemand
from ..task import through_kinks
from .problem import PhasedSolution, Phases

# ---- what each rank has of phases in a row: the elements of a slab of all blocks, and those of its neighbours

class Share:
    """All of the phases, on one process.

    Parameters
    ----------
    equations : list of OptimalityEquations
        Of each phase.
    """

    comm, n_ranks = None, 1

    def __init__(self, equations):
        self._equations = equations

    @staticmethod
    def of(driver, equations, whole=False):
        """The share of this process: all where there is nothing to share, or each needs the `whole`."""
        comm = own_world() if driver.distributed and not whole else None
        n_blocks = sum(one.mesh.n_elements for one in equations)
        if comm is None or n_blocks <= max(OF_OPTIMA.coarse, comm.size):
            return Share(equations)
        return SharedPhases(equations, comm)

    def chains(self):
        """Number of a phase -> its equations, as far as this process has them."""
        return dict(enumerate(self._equations))

    def program(self, whole):
        """The program that is solved, of that of the `chains`."""
        return whole

    def all_unknowns(self, whole, program, answer):
        """Of each phase, by the answer of a method."""
        return whole.placed(answer.v, answer.multipliers)

    def n_unknowns(self, program):
        return program.n

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class SharedPhases(Share):
    """The share of one rank.

    Parameters
    ----------
    equations : list of OptimalityEquations
    comm : mpi4py communicator
    """

    def __init__(self, equations, comm):
        super().__init__(equations)
        self.comm, self.n_ranks = comm, comm.size
        self._starts = np.cumsum([0, *(one.mesh.n_elements for one in equations)]).tolist()
        self._own = slab_ends(self._starts[-1], comm.size)[comm.rank:comm.rank + 2]
        first, last = self._own[0] - 1, self._own[1] + 1  # with a block of each neighbour
        here = [max(first, start) < min(last, start + one.mesh.n_elements)
                for one, start in zip(equations, self._starts, strict=False)]
        self._comms = [comm.Split(int(has), comm.rank) for has in here]  # those that have some of a phase, and others
        self._chains = {k: self._slab(k) for k in np.flatnonzero(here).tolist()}

    def _slab(self, k):
        whole = self._equations[k]
        own = tuple(np.clip(np.subtract(self._own, self._starts[k]), 0, whole.mesh.n_elements).tolist())
        return OptimalitySlab((whole.problem, whole.plan, whole.mesh, whole.assembler.scaling), self._comms[k], own)

    def chains(self):
        return self._chains

    def program(self, whole):
        k = min(self._chains)
        before = max(self._own[0] - 1, self._starts[k])
        own = self._own[0] - before, self._own[1] - before
        return SlabProgram(whole, own, whole.outside, self._own[0], self.comm)

    def all_unknowns(self, whole, program, answer):
        found = whole.placed(*program.placed(answer.v, answer.multipliers))
        own = {k: chain.own_unknowns(x) for (k, chain), x in zip(self._chains.items(), found, strict=True)}
        return [np.concatenate(self.comm.allgather(own.get(k, np.zeros(0)))) for k in range(len(self._equations))]

    def n_unknowns(self, program):
        return sum(self.comm.allgather(program.n))

    def __exit__(self, *error):
        for comm in self._comms if error[0] is None else ():  # all ranks have to come here
            comm.Free()


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
    task = replace(task, guess=task.problem.guess if task.guess is None else task.guess, method=method_of(task))
    numbers = numbers if isinstance(numbers, list | tuple) else [numbers] * len(phases)
    meshes = [through_kinks(phase.t_span, number, phase.kinks)
              for phase, number in zip(phases, numbers, strict=True)]

    def solved(task):
        return solve_refined(task, meshes, solve_on) if task.tolerance is not None else \
            solve_on(task, meshes, task.guess)

    def stated(task, found):
        return list(zip(task.problem.phases, found, strict=True)), task.problem.tied_ends

    found = solved_as_stated(task, phases, solved, stated, _with_phases, task.problem.names)
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
    method = task.method
    check_linear(task.driver.linear, method)
    made, unreached = zip(*(_made(task, *one) for one in zip(phases, meshes, guesses, strict=True)), strict=True)
    _take_size_of_objective(made, phases)
    warm = all(hasattr(guess, "nodal") for guess in guesses)
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
    if not answer.status.success:
        answer.status.message = "; ".join(filter(None, (answer.status.message, *unreached)))
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
        "stated": OnDemand(lambda: task.problem.stated), "n_unknowns": share.n_unknowns(program),
        "attempts": [Attempt(FIRST_GUESS, "", answer.iterations, answer.status.outcome,
                             total if answer.status.success else None)._asdict()]})
    return solution.of_problem(task.problem)


def _take_size_of_objective(made, phases):
    """Take the costs of all phases over their common size."""
    scales = [equations.assembler.scaling for *_, equations, _ in made]
    if all(scale.name == "full" for scale in scales) and not any(map(has_contacts, phases)):
        size = sum(equations.size_of_objective(x) for *_, equations, x in made)
        for (*_, equations, _), phase, scale in zip(made, phases, scales, strict=True):
            equations.renew_for(phase, equations.mesh, with_objective(scale, size))


def _made(task, phase, mesh, guess):
    """Element, system, equations and unknowns to start from of one phase, and what no actuator moves there, in words.
    """
    plan = optimality_plan(phase, task.element)
    element, system = plan.element, plan.system
    scale = scaling_of(task.driver.scaling, phase, plan, mesh.nodes[0])
    equations = OptimalityEquations(phase, plan, mesh, scale, "chain")
    warm = hasattr(guess, "nodal")
    x = (from_solution if warm else first_guess)(phase, plan, mesh, guess)
    bent = partial(first_guess, phase, plan, mesh, Guess(bend=BENDS[0]))
    reach = check_reach(equations, x, bent)
    if reach.unmoved is not None and guess is None:
        x = bent()
    return (element, system, equations, x), reach.text


# ---- programs whose equations leave nothing to choose: Newton's method on the rows alone

scipy = Late("scipy")


def solve_square(program, tolerance, max_iterations, halvings=10, further=1e-4):
    """The `Answer` where there are as many equations as variables; None where not, where Newton's method does not find
    it, and where it is beyond bounds.

    Costates are those of the objective: `J^T y = -grad f`. Steps are halved until the next one, by the same factors,
    is shorter (Deuflhard's natural test, which no scale of rows changes), and rows fall to the share `further`
    of the tolerance as long as they can.
    """
    lower, upper = program.row_bounds
    if program.comm is not None or program.n != program.n_rows or not np.array_equal(lower, upper):
        return None
    places, v, history = program.jacobian_places, np.clip(program.start, *program.bounds), []
    rows = program.rows(v) - lower
    for iteration in range(max_iterations + 1):
        size = np.abs(rows).max(initial=0.0)
        history.append(float(size))
        stalled = size <= tolerance and len(history) > 1 and size > 0.1 * history[-2]
        if size <= further * tolerance or stalled:
            break
        if iteration == max_iterations or (factors := _factors(program, v, places)) is None:
            return None
        program.on_iteration(size)
        step, length = factors.solve(-rows), 1.0
        for _ in range(halvings):
            trial = v + length * step
            found = program.rows(trial) - lower
            next_step = np.linalg.norm(factors.solve(found)) if np.isfinite(found).all() else np.inf
            if next_step <= (1 - length / 4) * np.linalg.norm(step):
                break
            length /= 2
        else:
            if size > tolerance:
                return None
            break
        v, rows = trial, found
    if (v < program.bounds[0]).any() or (v > program.bounds[1]).any() or \
            (factors := _factors(program, v, places)) is None:
        return None
    y = factors.solve(-program.gradient(v), "T")
    return Answer(v, y, np.zeros(program.n), Status(True, residual_history=history), iteration)


def _factors(program, v, places):
    matrix = scipy.sparse.csc_array((program.jacobian(v), places), shape=(program.n_rows, program.n))
    try:
        return sparse_lu(matrix)
    except RuntimeError:  # singular
        return None


# ---- phases to a tolerance, each on a mesh of its own

NO_COST = 1e-10  # a sum of costs that is none


class PhaseErrors(BoundedErrors):
    """Of one phase, by the solution of all phases with all elements halved."""

    def finer(self, sol, mesh):
        fine = self.fine
        if not fine.success:
            return None
        numbers = [fine.parameters[name] for name in self.problem.unknown_names]
        return fine.nodal.state, fine.fields, numbers, fine.objective

    def errors_of_numbers(self, sol, objective, numbers):
        """Of the unknown numbers; the objective is that of all phases."""
        errors = super().errors_of_numbers(sol, objective, numbers)
        return {name: error for name, error in errors.items() if name != "objective"}


def solve_refined(task, meshes, solve_on):
    """Solve on finer and finer meshes until the estimated error is below a tolerance, or no longer falls.

    The error is the largest of the relative errors of states at nodes and unknown numbers of all phases, and of the sum
    of their costs. An error at a node may come from any phase: all of their elements share it, as if of one mesh.

    Parameters
    ----------
    task : Task
        With `tolerance`.
    meshes : list of TimeMesh
        To start from.
    solve_on : callable
        `solve_on(task, meshes, guess)` -> PhasedSolution.

    Returns
    -------
    PhasedSolution
        Of the last meshes; `statistics` has "tolerance", "estimated_error", and "meshes", the numbers of elements.
    """
    phases, element = task.problem.phases, task.element
    tolerance = validate.real("tolerance", task.tolerance, positive=True)
    if not element.costates_converge:
        raise InputError(f"tolerance is given, but the multipliers of {element!r}, which give its error, do not "
                         "converge; take MixedGalerkin, or give n_elements")
    estimates = [PhaseErrors(phase, element) for phase in phases]
    counts, guess, error, best, n_failures, n_stuck = [], task.guess, np.inf, np.inf, 0, 0

    def estimated(sol, meshes):
        """The error, that of the sum of costs, and the densities of elements of all phases."""
        fine, found = solve_on(task, [halved(mesh) for mesh in meshes], sol), []
        for estimate, own, better, mesh in zip(estimates, sol.phases, fine.phases, meshes, strict=True):
            estimate.fine = better
            found.append(estimate(own, mesh, OPTIONS.aim * tolerance))
        size = max(abs(sol.objective), NO_COST)
        of_cost = abs(fine.objective - sol.objective) / size / (1 - OF_OPTIMA.remaining)
        return float(np.max([*(one.error for one in found), of_cost])), of_cost, [one.density for one in found]

    with progress("mesh refinement", show=task.progress) as bar:
        while len(counts) < OPTIONS.most_meshes and n_failures < OPTIONS.most_failures:
            bar.note(f"{sum(mesh.n_elements for mesh in meshes)} elements")
            sol = solve_on(task, meshes, guess)
            counts.append([mesh.n_elements for mesh in meshes])
            if not sol.success:
                meshes, guess, n_failures = [halved(mesh) for mesh in meshes], task.guess, n_failures + 1
                continue
            guess, n_failures = sol, 0
            error, of_cost, densities = estimated(sol, meshes)
            n_stuck = 0 if error <= best / 2 else n_stuck + estimates[0].is_stuck(error)
            best = min(best, error)
            if error <= tolerance or n_stuck > OPTIONS.stagnation:
                break
            meshes = _finer(meshes, densities, error, OPTIONS.aim * tolerance, estimates)
        if sol.success and not error <= tolerance:
            sol, error = _or_of_equal_elements(sol, error, of_cost, counts, estimated,
                                               lambda meshes: solve_on(task, meshes, sol), phases)
    sol.statistics.update(tolerance=tolerance, estimated_error=error, meshes=counts)
    if sol.success and not error <= tolerance:
        sol.status = Status.failure(Reason.NOT_ACCURATE, 0, 0.0, [],
                                    f"the estimated error is {error:.2g} on {counts[-1]} elements")
    return sol


def _finer(meshes, densities, error, goal, estimates):
    if not error < OPTIONS.rough:
        return [halved(mesh) for mesh in meshes]
    shares = [density * mesh.lengths for density, mesh in zip(densities, meshes, strict=True)]
    every = np.concatenate(shares)
    n = max(estimates[0].elements_for(goal, error, every), OPTIONS.least_growth * len(every))
    return [graded(mesh, density, n * share.sum() / every.sum(), estimate.kinks)
            for mesh, density, share, estimate in zip(meshes, densities, shares, estimates, strict=True)]


def _or_of_equal_elements(sol, error, of_cost, counts, estimated, solve_on, phases):
    """Solution and error of that which is reported, or of as many equal elements of each phase: of the better cost."""
    even = [through_kinks(phase.t_span, n, phase.kinks) for phase, n in zip(phases, counts[-1], strict=True)]
    other = solve_on(even)
    if not other.success:
        return sol, error
    counts.append([mesh.n_elements for mesh in even])
    error_of_other, its_cost, _ = estimated(other, even)
    return (other, error_of_other) if its_cost < of_cost else (sol, error)


def check_file(document):
    if "link" in document.data["phases"][0]:
        raise document.error(("phases", 0, "link"), "the first phase follows no other one; leave it out")


def make_from_file(model):
    models, document = model.phases, model.document
    first, last = models[0], models[-1]

    def same(keys, bodies):
        """Of the last end, as far as constraints leave the first start open."""
        if not first.problem.free_start:
            raise document.error(keys, "the start is given as a whole; leave some of it free in problem.start")
        return SameState(last.problem, first.problem, bodies, keys[-1], closing=True)

    links = [_link(*pair) for pair in pairwise(models)]
    closing = document.data.get("couplings", {})
    tied = couplings_from_file(first, last, ("couplings",), closing, same)
    stated = [(name, ("couplings", name), entry) for name, entry in closing.items()]
    stated += [(name, ("phases", k, "link", name), entry) for k, one in enumerate(document.data["phases"])
               for name, entry in one.get("link", {}).items()]
    with model.naming((), (), stated):
        return Phases([one.problem for one in models], links, tied, model.phase_names)


def _link(before, after):
    """Couplings of a phase and the one before it; None where the state goes on as a whole."""
    def same(keys, bodies):
        return SameState(before.problem, after.problem, bodies, keys[-1])

    if "link" in after.document.data:
        return couplings_from_file(before, after, ("link",), after.document.data["link"], same)
    if [(body.name, body.n_q) for body in before.system.bodies] != [(b.name, b.n_q) for b in after.system.bodies]:
        raise after.document.error(("link",), "is missing: the phase has other bodies than the one before it; say what "
                                   'goes on, as in [phases.link.NAME] with type = "same" and bodies')
    return None


def guess_from_file(model):
    """One for each phase; None where none has any."""
    guesses = [OF_ONE.guess(one) for one in model.phases]
    return guesses if any(guess is not None for guess in guesses) else None


def file_facts(problem):
    return {"links": [[link.name for link in links] for links in problem.links],
            "couplings": [coupling.name for coupling in problem.couplings]}


FILES = FileFormat(make_from_file, keys=KEYS, needed=("phases",), entries=ENTRIES,
                   tables=("actuators", "outputs", "limits", "couplings", "phases", "guess"),
                   guess=guess_from_file, check=check_file, facts=file_facts)


# ---- optimal control in phases in the table of kinds

def no_estimate(problem, element):
    raise InputError("errors of given phases are not estimated; solve them with tolerance=")


PHASES = Kind("phases", Phases, "optimal control in phases", drivers=(Global,), solve=solve_phases,
              estimate=no_estimate, files=__name__, fits=Phases.check_element,
              unused=lambda problem: (UNUSED, "where phases are solved by an interior-point method"),
              smooth=lambda problem: not any(map(has_contacts, problem.phases)), one_motion=False)
