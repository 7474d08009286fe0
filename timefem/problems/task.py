"""A problem, and how it is to be solved: what `solve` hands to the kind of the problem, and what solves one after the
other share; what a driver offers, and what it is asked to do."""

from __future__ import annotations

import dataclasses
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import interrupts, validate
from ..assembly import Scaling, TimeMesh
from ..elements.element import TimeElement
from ..elements.evaluation.plan import ElementPlan
from ..errors import InputError, NamedArguments
from ..records import frozen
from ..solvers.equations.outcome import Outcome, ValuesOfDofs
from ..solvers.linear.base import linear_options
from ..solvers.nonlinear.newton import Newton
from ..validate.options import check_fields
from . import statistics

if TYPE_CHECKING:
    from ..assembly.mesh import TimeMesh
    from ..elements.element import TimeElement
    from ..mechanics.system import System

CLOSE = 1e-12


# ---- what solves one after the other share

class _Lock:
    """A lock that its thread may take again; copies, and what is sent to other processes, have their own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self):
        return _Lock, ()


class Kept:
    """Plans, loops and equations of earlier solves of problems that differ in numbers only.

    Parameters
    ----------
    once : bool
        There is one solve only: what is large is not kept beyond its use.

    Attributes
    ----------
    last : Solution or None
        The last one that succeeded, to start from.
    lock
        Of whoever works with what is kept, see `alone_with`.
    """

    def __init__(self, once: bool = True) -> None:
        self.once, self.last, self.lock = once, None, _Lock()
        self._things: dict[Hashable, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_things": {}}  # which hold machine code, and are rebuilt

    def plan(self, system: System, element: TimeElement) -> Any:
        """The `ElementPlan` of a system, which has the numbers of that from now on."""
        plan = self._things.get(("plan", element))
        if plan is None or not plan.take(system):
            plan = self._things["plan", element] = ElementPlan(system, element)
        return plan

    def mesh(self, t_span: Sequence[float], n_elements: int, kinks: Sequence[float],
             make: Callable[[Sequence[float], int, Sequence[float]], TimeMesh]) -> TimeMesh:
        """The mesh `make(t_span, n_elements, kinks)`."""
        asked = tuple(t_span), n_elements, tuple(kinks)
        known, mesh = self._things.get("mesh", (None, None))
        if known != asked:
            mesh = make(t_span, n_elements, kinks)
            self._things["mesh"] = asked, mesh
        return mesh

    def thing(self, key: Hashable, of: Any, make: Callable[[], Any],
              renew: Callable[[Any], Any] = lambda thing: True) -> Any:
        """What `make()` made for this key and object; rebuilt where there is none, or `renew(thing)` is False."""
        known, thing = self._things.get(key, (None, None))
        if known is not of or renew(thing) is False:
            thing = make()
            self.put(key, of, thing)
        return thing

    def lend(self, key: Hashable, of: Any) -> Any:
        """What is kept for this key and object, which others do not get before it is `put` back; None without it."""
        known, thing = self._things.pop(key, (None, None))
        return thing if known is of else None

    def put(self, key: Hashable, of: Any, thing: Any) -> None:
        """Keep a thing for this key and object."""
        if not self.once:
            self._things[key] = of, thing


@contextmanager
def alone_with(*shared: Kept | None) -> Iterator[None]:
    """Where this thread is the only one that works with what is kept; others wait."""
    with ExitStack() as stack:
        for kept in sorted({kept for kept in shared if kept is not None}, key=id):  # all threads in one order
            stack.enter_context(kept.lock)
        yield


# ---- a problem, and how it is to be solved

def checked_mesh(mesh, t_span):
    """The mesh as a `TimeMesh`; InputError when it does not cover the time span."""
    mesh = mesh if isinstance(mesh, TimeMesh) else TimeMesh(mesh)
    (a, b), (t0, t1) = mesh.nodes[[0, -1]].tolist(), t_span
    if abs(a - t0) > CLOSE * (1 + abs(t0)) or abs(b - t1) > CLOSE * (1 + abs(t1)):
        raise InputError(f"mesh covers [{mesh.nodes[0]:g}, {mesh.nodes[-1]:g}], but the time span of the problem is "
                         f"[{t_span[0]:g}, {t_span[1]:g}]")
    return mesh


@frozen
class Task:
    """Arguments of `timefem.solve`, see there; checked when it is made.

    Attributes
    ----------
    problem, element, guess, newton, checkpoint, progress
    n_elements : int or sequence of int
        Of phases also one number for each.
    mesh : TimeMesh or None
    tolerance : float, StepControl or None
    driver : March, Windows or Global
    method : optional
        For inequalities, see `timefem.solvers.nonlinear.program`.
    strategies : sequence of str, optional
        Of optimal control, see `timefem.problems.optimal.strategies.strategy`.
    kept : Kept
        Of earlier solves.
    """

    problem: Any
    element: TimeElement
    n_elements: Any = None
    mesh: TimeMesh | None = None
    tolerance: Any = None
    driver: Any = None
    guess: Any = None
    newton: Newton | None = None
    checkpoint: Any = None
    progress: bool | None = None
    method: Any = None
    strategies: Any = None
    kept: Kept = dataclasses.field(default_factory=Kept)

    def __post_init__(self):
        if self.newton is not None and not isinstance(self.newton, Newton):
            raise InputError(f"newton must be a Newton(...), not {self.newton!r}")
        if self.mesh is None and self.n_elements is None and getattr(self.problem, "own_mesh", None) is not None:
            object.__setattr__(self, "mesh", self.problem.own_mesh)
        if self.tolerance is None and (self.mesh is None) == (self.n_elements is None):
            raise InputError("give either n_elements or mesh, or tolerance")
        if self.mesh is not None and self.n_elements is not None:
            raise InputError("give n_elements or mesh to start from, not both")
        if self.n_elements is not None:
            self._check_numbers()
        if self.mesh is not None:
            object.__setattr__(self, "mesh", checked_mesh(self.mesh, self.problem.t_span))

    def _check_numbers(self):
        """Of elements: one, or one for each phase."""
        given, phases = self.n_elements, getattr(self.problem, "phases", None)
        several = phases is not None and isinstance(given, list | tuple)
        if several and len(given) != len(phases):
            raise InputError(f"n_elements must be one number, or one for each of {len(phases)} phases, not {given!r}")
        for number in given if several else [given]:
            validate.integer("n_elements", number, minimum=1)

    def of(self, problem):
        """The task for the same problem with other numbers."""
        if self.mesh is not None:  # may not fit the time span
            return dataclasses.replace(self, problem=problem)
        return self._with(problem=problem)

    def near(self, solution):
        """The task with a solution as its guess."""
        return self._with(guess=solution)

    def _with(self, **changes):
        """With what needs no checks."""
        other = object.__new__(Task)
        other.__dict__.update(self.__dict__, **changes)
        return other

    def on(self, element, mesh, guess=None):
        """The task with an element, on a mesh: `guess`, if any, instead of its own."""
        return dataclasses.replace(self, element=element, mesh=mesh, n_elements=None, tolerance=None,
                                   guess=self.guess if guess is None else guess)

    def near_the_start(self, work_out):
        """`work_out(system, t_span, z0)`, where the state at the start is known; else None."""
        z0 = getattr(self.problem, "z0", None)
        return None if z0 is None else work_out(self.problem.system, self.problem.t_span, z0)

    def mesh_through(self, kinks, kept=None):
        """The mesh that is given, or elements of nearly equal length with nodes at kinks inside of the time span; it is
        kept with other things that solves share; those of a task that is solved once in the `kept` of its problem."""
        if self.mesh is not None:
            return self.mesh
        kept = kept if kept is not None and self.kept.once else self.kept
        return kept.mesh(self.problem.t_span, self.n_elements, kinks, through_kinks)


def through_kinks(t_span, n_elements, kinks):
    """A `TimeMesh` of nearly equal elements, with nodes at kinks inside of the time span."""
    inside = sorted({t for t in kinks if t_span[0] < t < t_span[1]})
    return TimeMesh.uniform(t_span, max(n_elements, len(inside) + 1), through=inside)


# ---- What a driver offers

@dataclass(frozen=True)
class Driver(NamedArguments, ABC):
    """How a chain of elements is solved; a frozen dataclass whose fields are its options.

    Attributes
    ----------
    name : str
        Its shorthand.
    """

    name: ClassVar[str]

    def __post_init__(self):
        check_fields(self)

    @classmethod
    def takes(cls, element: TimeElement) -> bool:
        """Whether it can solve an element of that kind."""
        return True

    def check(self, element: TimeElement, guess: Any) -> None:
        """InputError for an element, or a guess, that it cannot take."""

    def identity(self) -> dict[str, Any]:
        """Options that a checkpoint must share, by name."""
        return {"driver": self.name, "scaling": self.scaling}

    linear = None  # solver of systems of more than one element

    @property
    def distributed(self) -> bool:
        """Whether ranks share the work."""
        return self.linear is not None and self.linear.distributed

    @abstractmethod
    def solve(self, job: DriverInput) -> Outcome:
        """Solve the elements of a `DriverInput`; returns an `Outcome`."""


def check_linear(driver):
    """Put the linear solver of a driver in place of its shorthand, and check `gather`."""
    object.__setattr__(driver, "linear", linear_options(driver.linear))
    if driver.gather is not None and not driver.linear.distributed:
        raise InputError("gather is given, but only windows and global solves with linear=tf.PETSc() are distributed")


DEFAULT = Newton()


@dataclass
class DriverInput:
    """What a driver is asked to do.

    Attributes
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    z0 : ndarray, shape (n_z,)
        State at the start.
    driver : Driver
    guess, settings, show
        `guess`, `newton` and `progress` of `timefem.solve`.
    comm : mpi4py communicator or None
        Of the ranks that share the work.
    gather : bool
        Whether every rank gets all nodal values.
    recorder : Recorder or None
        Writes checkpoints.
    saved : Checkpoint or None
        To go on from.
    where : str
        What this rank works on, in words, for messages.
    kept : Kept
        Of earlier solves.
    scale : Scaling
        Of unknowns and rows at the state at the start.
    """

    plan: ElementPlan
    mesh: TimeMesh
    z0: np.ndarray
    driver: object
    guess: object = "march"
    settings: Newton = DEFAULT
    show: bool | None = None
    comm: object = None
    gather: bool = True
    recorder: object = None
    saved: object = None
    where: str = ""
    kept: Kept = field(default_factory=Kept)

    def __post_init__(self):
        self.scale = Scaling.of(self.driver.scaling, self.plan.system, self.plan.element, self.mesh.nodes[0], self.z0)

    @property
    def reference(self):
        """Size of the scaled state, by which tolerances are multiplied."""
        return self.scale.reference

    def visit(self, steps, what):
        """Write a checkpoint if one is due; whether to stop. `what()` gives the arguments of `Recorder.write`."""
        statistics.show(self, what)
        if self.recorder is not None:
            return self.recorder.visit(steps, what)
        stop = interrupts.asked() is not None
        if self.comm is not None and interrupts.active():
            stop = any(self.comm.allgather(stop))
        if stop:
            interrupts.answer()
        return stop

    def nothing(self):
        """Nodal values of no element."""
        multipliers = np.zeros(self.plan.system.n_multipliers)
        return ValuesOfDofs(self.plan, self.plan.first_element(self.mesh, self.z0, multipliers), 0)
