"""Types of the keywords that `solve` and what calls it pass on, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from ..types import FilePath, States, Vector

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack

    from ..assembly.mesh import TimeMesh
    from ..problems.boundary.problem import BoundaryValueProblem
    from ..problems.common.task import Driver
    from ..problems.estimation.problem import Estimation
    from ..problems.initial.checkpoint_option import Checkpoint
    from ..problems.initial.problem import InitialValueProblem
    from ..problems.inverse.problem import InverseDynamics
    from ..problems.optimal.problem import OptimalControl
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
