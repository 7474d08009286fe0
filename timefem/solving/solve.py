"""`solve`, `restart`, and `prepare` for many solves: problem and options, handed to the kind of the problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..elements.element import TimeElement
from ..errors import InputError, did_you_mean
from ..memory import Late
from ..problems.initial.drivers import Checkpoint
from ..problems.kinds import kind_of
from ..problems.task import Kept, Task, alone_with
from ..progress import showing
from ..solvers.nonlinear.program import is_for_inequalities, method_for_inequalities
from ..status import Reason
from .agreement import agree_on
from .keywords import translated

if TYPE_CHECKING:
    from ..assembly.mesh import TimeMesh
    from ..mechanics.system import System
    from ..problems.estimation.estimate import Estimate
    from ..problems.estimation.problem import Estimation
    from ..problems.phases.problem import PhasedSolution, Phases
    from ..problems.task import Driver
    from ..solution.ensemble import Ensemble
    from ..solution.solution import Solution
    from ..solvers.nonlinear.newton import Newton
    from ..types import FilePath, Vector
    from .keywords import Arguments, Changes, Others, Problem, Unpack

checkpoints = Late("timefem.problems.initial.checkpoint")
many_runs = Late(f"{__package__}.many_runs")
numbers = Late("timefem.mechanics.numbers.changes")


@overload
def solve(problem: Phases, element: TimeElement, n_elements: int | Sequence[int] | None = None,
          **others: Unpack[Arguments]) -> PhasedSolution: ...


@overload
def solve(problem: Estimation, element: TimeElement, n_elements: int | None = None,
          **others: Unpack[Arguments]) -> Estimate: ...


@overload
def solve(problem: Problem, element: TimeElement, n_elements: int | None = None,
          **others: Unpack[Arguments]) -> Solution: ...


def solve(problem: Any, element: TimeElement, n_elements: int | Sequence[int] | None = None, *, driver: Any = None,
          guess: Any = None, newton: Any = None, checkpoint: Any = None, progress: bool | None = None,
          **others: Any) -> Any:
    """Solve a problem with a time element.

    Parameters
    ----------
    problem : InitialValueProblem, BoundaryValueProblem, InverseDynamics, OptimalControl or Estimation
    element : TimeElement
        For instance `MixedGalerkin(degree=2)` or `BubnovGalerkin(degree=3)`.
    n_elements : int, or of phases a sequence of these
        Elements of equal length over the time span; or give `mesh` or `tolerance`. With loads or prescribed motions
        that are not smooth at some times (`system.kinks`) of nearly equal length, with nodes at these times: an
        element that contains a kink loses its order. The lengths stay equal where that would more than double the
        longest one, as for a table with more entries than elements.
    driver : March, Windows, Global, or one of "march", "windows", "global"; optional
        One element at a time (elements that can be marched; their default), blocks of elements, or all at once
        (default of the others, and the only one of problems that tie all elements together). Their options are their
        fields: `driver=tf.Windows(64, linear=tf.PETSc())`. Under mpirun a distributed linear solver shares out the
        elements of a window, or of the whole mesh, in contiguous slabs; each rank makes the guess.
    guess : {"march", "constant"}, callable, ndarray or Solution, optional
        "march" unless given. Where Newton starts in windows and global solves: a march by mG(2), the state at the
        start, a function `t -> z`, nodal states of shape (degree n_elements + 1, n_z) (global only), or another
        solution. Of optimal control: a `Guess`, controls as `{actuator: value}`, a solution of any kind of problem with
        the same bodies, or the last ones; default: straight on, with the controls that hold the motion at rest, and
        where that fails targets that move from the start to the end.
        Of boundary-value problems: "interpolation" (bodies move straight and turn steadily between the configurations
        at the ends; the default where one is given at the end), "march" (from a state at the start; the default
        otherwise, and where unknown numbers bring a throw back to where it began), or the last three. Newton's
        method has a line search there, and where it fails the loads that make the guess a motion are taken away step
        by step.
    newton : Newton, optional
        Tolerances, iterations, line search.
    checkpoint : Checkpoint or path, optional
        Of initial-value problems: a file that is written from time to time, from which a solve can be continued.
    progress : bool, optional
        Show a progress bar, or do not; default: a bar on a terminal, and in a file a line every ten seconds.
    **others
        See below.

    Other Parameters
    ----------------
    mesh : TimeMesh or array_like
        Ends of the elements, from the start to the end of the time span, instead of `n_elements`.
    tolerance : float or StepControl
        Largest estimated error of the nodal states relative to the size of the motion (`StepControl`), the same for
        all drivers and kinds of problems; unknown numbers, controls of inverse dynamics and the objective count too.
        The mesh is found, with nodes at kinks; where all elements are solved at once `n_elements` is the start.
    method : str or object, optional
        Of optimal control with inequalities: "interior-point" (the default), "ipopt" or "fatrop", or an object such as
        `InteriorPoint(tolerance=1e-8)`.
    strategies : sequence of str, optional
        Of optimal control: what is tried where the default guess leads to no solution, in this order; of "energy
        pumping", "march from the start", "held durations", "perturbation", "waving controls" (default: all of them).
        `Solution.attempts` tells what was tried.
    backend : str, optional
        The earlier form of fields of the driver and of `Checkpoint`, as are `petsc_options`, `window`, `gather`,
        `scaling`, `checkpoint_every` and `restart`.

    Returns
    -------
    Solution
        When the solve fails, `solution.status` says where and why, and the solution ends with the last good element.

    Raises
    ------
    InputError
        For input that cannot be used, before any work starts.
    MissingBackend
        When the packages of a linear solver are not installed.
    RankError
        On all ranks, when one rank of a distributed solve has an error that is not a failed solve.
    """
    task = task_of(problem, element, n_elements, driver, newton, progress, others | {"checkpoint": checkpoint})
    return Solver(task, once=True).solve(guess=guess)


def restart(path: FilePath, **arguments: Unpack[Arguments]) -> Solution:
    """Continue a solve from its checkpoint, on any number of ranks.

    Parameters
    ----------
    path : str or Path
        Written by `solve(..., checkpoint=path)`.
    **arguments
        Of `solve`, for instance `newton` and `checkpoint`, and of the driver `linear` and `gather`; problem, element,
        mesh, driver, window and scaling are those of the file.

    Returns
    -------
    Solution

    Raises
    ------
    InputError
        When the file is not a checkpoint, or its system has parts that no file can hold: then rebuild the problem and
        call `solve(..., checkpoint=Checkpoint(restart=path))`.
    """
    saved = checkpoints.Checkpoint(path)
    known = {"problem", "element", "n_elements", "mesh", "driver", "window", "scaling", "restart"} & set(arguments)
    if known:
        raise InputError(f"{' and '.join(sorted(known))}: restart takes this from the checkpoint")
    problem, element, mesh, settings = saved.restored()
    if isinstance(arguments.get("checkpoint"), Checkpoint):
        arguments["checkpoint"] = dataclasses.replace(arguments["checkpoint"], restart=path)
    else:
        arguments["restart"] = path
    return solve(problem, element, mesh=mesh, **settings, **arguments)


def prepare(problem: Problem, element: TimeElement, n_elements: int | None = None, *,
            driver: Driver | str | None = None, newton: Newton | None = None, progress: bool | None = None,
            **others: Unpack[Others]) -> Solver:
    """A solver of a problem, for many solves with other numbers.

    Everything that does not depend on numbers is made once: kernels, index maps, patterns, loops, conditions, memory of
    factors. Solves then change states, masses, loads, targets, bounds, weights, or the time span. Solutions of optimal
    control are looked at on halved elements until one succeeds: the others are to be quick.

    Parameters
    ----------
    problem, element, n_elements, driver, newton, progress, others
        As for `solve`; a checkpoint belongs to a single solve.

    Returns
    -------
    Solver

    Raises
    ------
    InputError
        For input that cannot be used, and for a checkpoint.

    Examples
    --------
    >>> import timefem as tf
    >>> body = tf.RigidBody(12, (5, 26, 29), name="box")
    >>> problem = tf.InitialValueProblem(tf.System([body]), {body: tf.Pose(angular_velocity=(0, 5, 1))}, (0, 1))
    >>> solver = tf.prepare(problem, tf.MixedGalerkin(2), 100)
    >>> heavier = solver.solve(parameters={"box.mass": 24})
    >>> faster = solver.solve(start={body: tf.Pose(angular_velocity=(0, 9, 1))})
    """
    for name in ("checkpoint", "checkpoint_every", "restart"):
        if others.get(name) is not None:
            raise InputError(f"{name} is given to prepare, but a checkpoint belongs to one solve: use timefem.solve")
    return Solver(task_of(problem, element, n_elements, driver, newton, progress, others), once=False)


def task_of(problem, element, n_elements, driver, newton, progress, others):
    """The checked `Task` of arguments of `solve`."""
    kind = kind_of(problem)
    if not isinstance(element, TimeElement):
        raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    element = _fitting(kind, problem, element)
    others = dict(others)
    mesh, tolerance = others.pop("mesh", None), others.pop("tolerance", None)
    default = kind.default_driver(element, tolerance is not None)
    if is_for_inequalities(others.get("method")) and not getattr(problem, "bounded", False):
        raise InputError(f"method={others['method']!r} is for inequalities, and the problem has none; leave it out")
    if isinstance(others.get("method"), str) and others.get("backend") is None and hasattr(problem, "bounded"):
        method_for_inequalities(others["method"])
    method = others.pop("method", None) if getattr(problem, "bounded", False) else None
    strategies = others.pop("strategies", None)
    if strategies is not None:
        kind.check_strategies(strategies)
    driver, checkpoint = translated(kind, default, driver, others.pop("checkpoint", None), others)
    return Task(problem, element, n_elements, mesh, tolerance, driver, None, newton, checkpoint, progress, method,
                strategies)


def _fitting(kind, problem, element):
    """The element, in the only form that fits where it cannot be taken as it is."""
    try:
        kind.check_element(problem, element)
    except InputError:
        fitting = element.fitting(problem.system) if hasattr(problem, "system") else element
        if fitting is element:
            raise
    else:
        return element
    kind.check_element(problem, fitting)
    return fitting


class Solver:
    """Solves one problem with many different numbers; made by `prepare`.

    Attributes
    ----------
    problem, element
        As prepared.
    task : Task
    kind : Kind
    """

    def __init__(self, task: Task, once: bool = False) -> None:
        self.task = dataclasses.replace(task, kept=Kept(once))
        self.kind = kind_of(task.problem)

    @property
    def problem(self) -> Any:
        return self.task.problem

    @property
    def element(self) -> TimeElement:
        return self.task.element

    @property
    def system(self) -> System:
        return self.task.problem.system

    def __repr__(self):
        task = self.task
        return f"Solver({task.problem!r}, {task.element!r}, {task.driver!r})"

    def solve(self, *, parameters: Mapping[Any, Any] | None = None, guess: Any = None,
              mesh: TimeMesh | Vector | None = None, warm: bool = True, **changes: Unpack[Changes]) -> Solution:
        """Solve with other numbers.

        All changes count from the problem as it was prepared, not from the last solve.

        Parameters
        ----------
        parameters : dict, optional
            Numbers of parts: name -> value. "PART.NAME" by the name of the part and of the argument of its
            constructor, with `[i]` for an entry and with what is inside of a function of time after a dot: "box.mass",
            "spring.point_a[2]", "load.time.amplitude", "effort.weights"; "gravity" or "gravity[2]"; or pairs
            (part, "mass"). Where bodies change, states that are given by velocities keep these.
        guess : optional
            As for `solve`.
        mesh : TimeMesh or array_like, optional
            Of the time span, instead of the one that was prepared; with as many elements nothing is rebuilt.
        warm : bool
            Without a guess, start from the last solution where all elements are solved at once, and from a guess of
            its own where that fails. Where a problem has several solutions, the one found may depend on the last one.
        **changes
            What the kind of problem can change, by the names of its arguments: `start` (of an initial-value problem
            that of `state`), `t_span`; `end` of the others; `bounds` of optimal control, `outputs` of inverse
            dynamics. Bodies and joints that are not named keep what was asked of them.

        Returns
        -------
        Solution
            Which later solves leave alone. Threads may share a solver, which works for one after the other;
            `solve_many` is what uses all cores.

        Raises
        ------
        InputError
            As for the problem itself; for names that are unknown, with the nearest one.
        """
        with self.alone():
            task = self.task
            problem = self._changed(parameters, changes)
            if problem is not task.problem:
                task = task.of(problem)
            if guess is not None or mesh is not None:
                task = dataclasses.replace(task, guess=guess, mesh=task.mesh if mesh is None else mesh,
                                           n_elements=task.n_elements if mesh is None else None)
            with showing(task.progress, self.kind.title.removeprefix("an ").removeprefix("a ")):
                return self._solved(task, warm)

    def update(self, *measurements: Any, window: float | None = None) -> Solution:
        """Go on with further measurements of an estimation problem, as they come in.

        Parameters
        ----------
        *measurements : Sensor
            Further values of sensors of the problem, by their names, at times after the last ones.
        window : float, optional
            Keep that many seconds [s]; what lies before becomes the prior of the start. Default: all.

        Returns
        -------
        Estimate
            Of the window; `statistics["seconds"]["total"]` tells what the update took.

        Raises
        ------
        InputError
            For problems of other kinds, sensors that are not in the problem, and times that do not follow.
        """
        with self.alone():
            if self._window is None:
                self._window = self.kind.window(self.task)
            return self._window.update(list(measurements), window)

    _window = None

    def alone(self) -> AbstractContextManager[None]:
        """Where no other thread works with what solves share; others wait for it."""
        problem = self.problem
        phases = [phase.kept for phase in getattr(problem, "phases", ()) if hasattr(phase, "kept")]
        return alone_with(self.task.kept, getattr(problem, "kept", None), *phases)

    def _solved(self, task, warm):
        kept, sol, guess = task.kept, None, task.guess
        agree_on(task)
        if kept.last is not None and warm and guess is None and self.kind.warms(task, kept.last):
            sol = self.kind.audited(task.near(kept.last))
        if sol is None or (not sol.success and sol.status.reason != Reason.STOPPED):
            sol = self.kind.audited(task)
        if sol.success and not kept.once and self.kind.warms(task, sol):
            kept.last = sol
        return sol

    def changed(self, *, parameters: Mapping[Any, Any] | None = None, **changes: Unpack[Changes]) -> Any:
        """The problem that `solve` solves with these arguments, for methods such as `InverseDynamics.controls`."""
        return self._changed(parameters, changes)

    def _changed(self, parameters, changes):
        changes = {name: value for name, value in changes.items() if value is not None}
        for name in changes:
            self._check_change(name)
        if parameters or changes:
            self._check_changes()
        if parameters:
            changes["system"] = self._with_numbers(parameters)
        problem = self.problem
        return problem.changed(**changes) if changes else problem

    def _check_changes(self):
        if not hasattr(self.problem, "changed"):
            raise InputError(f"a prepared solver of {self.kind.title} has no numbers to change; rebuild the problem")

    def _with_numbers(self, parameters):
        """The system with other numbers, which the formulas then have from here on."""
        with self.alone():
            freed, found = numbers.freed_with_numbers(self.system, parameters)
            if freed is not self.system:
                self.task = self.task.of(self.problem.changed(system=freed))
            return found

    def _check_change(self, name):
        kind = self.kind
        if name not in kind.changes:
            self._check_changes()
            known = (*kind.changes, "parameters", "guess", "mesh", "warm")
            raise InputError(f"{kind.title} has no {name!r} that a prepared solver could change"
                             + (did_you_mean(name, known) or f"; it has {', '.join(known)}"))

    def solve_many(self, starts: Sequence[Any] | np.ndarray | None = None,
                   parameters: Mapping[str, Sequence[float] | np.ndarray] | Sequence[Mapping[str, Any]] | None = None,
                   *, ends: Sequence[Any] | None = None, n_workers: int | None = None, every: int | None = None,
                   progress: bool | None = None) -> Ensemble:
        """Solve for many states and numbers, on all cores, and under mpirun on all ranks.

        Marches run in compiled loops in threads; other problems in processes. A run that fails does not end the
        others. Runs do not depend on each other: nothing starts from the solution of another run.

        Parameters
        ----------
        starts : sequence, optional
            Of what `solve` takes as `start`, or of states `(q, p)`, shape (n_runs, n_z), which is fastest.
        parameters : dict or sequence of dict, optional
            Name -> values, one for each run; or the `parameters` of each run.
        ends : sequence, optional
            Of what `solve` takes as `end`.
        n_workers : int, optional
            Threads or processes of each rank; default: the processors that this process may use, 1 under mpirun.
        every : int, optional
            Keep the states at each so many-th node; default: at the start and at the end only.
        progress : bool, optional
            Show a progress bar; default: when standard error is a terminal.

        Returns
        -------
        Ensemble
            On every rank, of all runs.

        Raises
        ------
        InputError
            When sequences differ in length, or a name is unknown. Numbers that cannot be used are data of their run.
        """
        cases = many_runs.Cases(starts, ends, parameters)
        self._check_changes()
        if cases.parameters:
            first = {name: values[0] for name, values in cases.parameters.items()}
            numbers.check_names(self.problem.system, first)
            self.system_of(cases[0])  # whose formulas are those of all
        for name, given in (("start", cases.starts), ("end", cases.ends)):
            if given is not None:
                self._check_change(name)
        return many_runs.solve_many(self, cases, n_workers=n_workers, every=every, progress=progress)

    def try_changed(self, case: Mapping[str, Any]) -> Any:
        """The problem of a case, or what is wrong with its numbers."""
        try:
            return self._changed(case.get("parameters"), {k: v for k, v in case.items() if k != "parameters"})
        except InputError as error:
            return str(error)

    def system_of(self, case: Mapping[str, Any]) -> System | None:
        """The system of a case; None where its numbers cannot be used."""
        try:
            return self._with_numbers(case["parameters"])
        except InputError:
            return None

    def fixed_mesh(self) -> TimeMesh | None:
        """The mesh of all solves, None where each finds its own."""
        task = self.task
        if task.tolerance is not None or task.mesh is not None:
            return None if task.mesh is None or task.tolerance is not None else task.mesh
        return self.kind.mesh(task)
