"""Types of the keywords that `solve` and what calls it pass on, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from ..errors import InputError, refuse_unknown
from ..problems.initial.drivers import Checkpoint, checkpoint_of, is_driver, named_driver
from ..solvers.linear.base import linear_options
from ..types import FilePath, States, Vector

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack

    from ..assembly.mesh import TimeMesh
    from ..problems.boundary.problem import BoundaryValueProblem
    from ..problems.estimation.problem import Estimation
    from ..problems.initial.drivers import Checkpoint
    from ..problems.initial.problem import InitialValueProblem
    from ..problems.inverse.problem import InverseDynamics
    from ..problems.optimal.problem import OptimalControl
    from ..problems.task import Driver
    from ..solvers.linear.base import LinearOptions
    from ..solvers.march.step_control import StepControl
    from ..solvers.nonlinear.newton import Newton

    Problem: TypeAlias = InitialValueProblem | BoundaryValueProblem | InverseDynamics | OptimalControl | Estimation


class Others(TypedDict, total=False):
    """`others` of `solve`, by their names."""

    mesh: TimeMesh | Vector | None
    tolerance: float | StepControl | None
    method: Any
    strategies: Sequence[str] | None
    backend: str | LinearOptions | None
    linear: str | LinearOptions | None
    petsc_options: Mapping[str, Any] | None
    window: int | str | None
    gather: bool | None
    scaling: str | None
    checkpoint_every: int | str | None
    restart: FilePath | None


class OfRun(Others, total=False):
    """Further arguments of `solve`, for functions that make the guess."""

    driver: Driver | str | None
    newton: Newton | None
    checkpoint: Checkpoint | FilePath | None


class Shown(TypedDict, total=False):
    """Whether progress is shown, of functions with many arguments."""

    progress: bool | None


class OfRunShown(OfRun, Shown, total=False):
    """Both."""


class OfSolve(OfRun, total=False):
    """Further arguments of `solve`, for functions that hand them on."""

    guess: Any


class OfSeveral(OfSolve, total=False):
    """The same, and what `solve_all` takes of optimal control."""

    processes: int | None


class OfSequences(TypedDict, total=False):
    """Further arguments of `contact_sequences`."""

    march_elements: int
    seed: int
    progress: bool | None
    start: States | Any
    end: States | Any
    duration: str
    bounds: Mapping[Any, Any] | None
    limits: Any


class Arguments(OfSolve, total=False):
    """All of `solve` that go by name only, and of `restart`."""

    progress: bool | None


class Changes(TypedDict, total=False):
    """`changes` of a prepared solver, by their names."""

    start: States | Any
    end: States | Any
    t_span: Sequence[float] | None
    bounds: Mapping[Any, Any] | None
    outputs: Mapping[Any, Any] | None


# ---- keywords of `solve` that now are fields of drivers and of `Checkpoint`: scripts that use them still run.
#
# `solve(..., driver="windows", window=8, backend="petsc")` is `solve(..., driver=tf.Windows(8, linear=tf.PETSc()))`.

LINEAR = {"backend": "tf.{driver}(linear=...)", "linear": "tf.{driver}(linear=...)", "method": "tf.PETSc(method=...)",
          "petsc_options": "tf.PETSc(options=...)"}
OWN = {name: "tf.{driver}" f"({name}=...)" for name in ("window", "gather", "scaling")}
CHECKPOINTS = {"checkpoint_every": "tf.Checkpoint(path, every=...)", "restart": "tf.Checkpoint(restart=...)"}
ARGUMENTS = ("n_elements", "driver", "guess", "newton", "checkpoint", "progress", "mesh", "tolerance", "method",
             "strategies")
NEW_FORM = {**LINEAR, **OWN, **CHECKPOINTS}


def translated(kind, default, driver, checkpoint, keywords):
    """The driver and the checkpoints that earlier keywords mean.

    Parameters
    ----------
    kind : Kind
    default : type
        Of the driver, where none is given.
    driver : Driver, str or None
    checkpoint : Checkpoint, path or None
    keywords : dict
        Those given, of `NEW_FORM`; None is as if it were not given.

    Returns
    -------
    driver : Driver
    checkpoint : Checkpoint or None

    Raises
    ------
    InputError
        For a keyword that the driver, or the kind of problem, does not use.
    TypeError
        For one that `solve` never had.
    """
    if "n_starts" in keywords:
        raise TypeError("solve() finds one solution; n_starts belongs to solve_all(), which finds several")
    refuse_unknown("solve()", [name for name in keywords if name not in NEW_FORM], (*ARGUMENTS, *NEW_FORM))
    given = {name: value for name, value in keywords.items() if value is not None}
    own = {name: value for name, value in given.items() if name not in CHECKPOINTS}
    return _driver(kind, default, driver, own), _checkpoint(kind, checkpoint, given)


def _driver(kind, default, driver, given):
    if is_driver(driver):
        kind.check_driver(driver)
        for name in given:
            _check_user(kind, type(driver), name)
            form = NEW_FORM[name].format(driver=type(driver).__name__)
            raise InputError(f"{name} is given beside driver={driver!r}; give it there: {form}")
        return driver
    cls = default if driver is None else named_driver(driver)
    if cls not in kind.drivers:
        kind.check_driver(cls())
    for name in given:
        _check_user(kind, cls, name)
    linear = {name: given.pop(name) for name in LINEAR if name in given}
    if linear:
        given["linear"] = linear_options(linear.get("linear", linear.get("backend")), method=linear.get("method"),
                                         options=linear.get("petsc_options"))
    return cls(**given)


def _check_user(kind, cls, name):
    """InputError for a keyword that a driver, or a kind of problem, has no use for."""
    field = "linear" if name in LINEAR else name
    if field not in cls.__dataclass_fields__ or (field == "gather" and not kind.checkpoints):
        user = f"driver={cls.name!r}" if len(kind.drivers) > 1 else kind.title
        raise InputError(f"{name} is given, but {user} does not use it")


def _checkpoint(kind, checkpoint, given):
    more = {name: given[name] for name in CHECKPOINTS if name in given}
    if not kind.checkpoints and (more or checkpoint is not None):
        raise InputError(f"{next(iter(more), 'checkpoint')} is given, but {kind.title} does not use it")
    if not more:
        return checkpoint_of(checkpoint)
    if isinstance(checkpoint, Checkpoint):
        name = next(iter(more))
        raise InputError(f"{name} is given beside checkpoint={checkpoint!r}; give it there: {NEW_FORM[name]}")
    if checkpoint is None and "checkpoint_every" in more:
        raise InputError("checkpoint_every is given without checkpoint")
    every = {"every": more["checkpoint_every"]} if "checkpoint_every" in more else {}
    return Checkpoint(checkpoint, restart=more.get("restart"), **every)
