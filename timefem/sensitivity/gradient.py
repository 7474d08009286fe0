"""Gradients and sensitivities of solutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, named_arguments
from ..problems.controls_marched import OptimalSolution
from ..problems.phases.problem import PhasedSolution
from .derivatives import Derivatives
from .linearization import BoundaryLinearization, Linearization
from .optimum import OptimumLinearization

if TYPE_CHECKING:
    from ..solution.solution import Solution
    from ..solvers.linear.base import LinearOptions
    from .functionals import Functional


@named_arguments
def gradient(solution: Solution | Linearization, functional: Functional, parameters: Any, *,
             linear: LinearOptions | str | None = None) -> np.ndarray:
    """Gradient of a functional of a solution, by one transposed solve (adjoint method).

    The exact derivative of the discrete solution: `dJ/dc - w . dR/dc` with `A^T w = dJ/dx`, R the residual and A its
    tangent. The cost hardly depends on the number of parameters.

    Parameters
    ----------
    solution : Solution or Linearization
        Of an initial-value problem, marched or solved all at once, or of a boundary-value problem. A
        `Linearization(solution)` keeps its factors for several gradients.
    functional : Functional
        `EndValue`, `Integral`, `Peak` or `Values` of one formula.
    parameters : Parameter, Initial, Family, or list of them
        Of boundary-value problems and optimal control also `Final`, of what is prescribed at the end.
    linear : LinearOptions or str, optional
        Linear solver of the tangent, such as `PETSc(method="substructuring")`, which shares it among the ranks under
        mpirun; default: the time-chain LU. A `Linearization` has its own.

    Returns
    -------
    ndarray, shape (n,)
        One entry per parameter, in the order given; arrays count as one parameter per entry.

    Raises
    ------
    InputError
        For solutions that failed, functionals with several values, unknown parameters (names those there are), and
        linear solvers without transposed solves.

    Notes
    -----
    Positions and velocities at the start stay as they are when a parameter changes, as far as the constraints allow
    (see `Initial`); the mesh stays. Of boundary-value problems what is prescribed at both ends stays; a parameter with
    other values of which bodies do not fit where they are prescribed to be takes a `Family` that moves them, too.
    """
    return _linearized(solution, linear).gradient(functional, parameters)


@named_arguments
def sensitivities(solution: Solution | Linearization, functional: Functional | Sequence[Functional], parameters: Any, *,
                  linear: LinearOptions | str | None = None) -> np.ndarray:
    """Derivatives of all values of a functional, by one solve per parameter (forward method).

    Parameters
    ----------
    solution, parameters
        As for `gradient`.
    functional : Functional, or list of them
        With any number of values.
    linear : LinearOptions or str, optional
        As for `gradient`; transposed solves are not needed.

    Returns
    -------
    ndarray, shape (m, n)
        Row i: derivatives of value i by all parameters.

    Raises
    ------
    InputError
        As `gradient`.
    """
    return _linearized(solution, linear).sensitivities(functional, parameters)


def _linearized(solution, linear):
    optimal = isinstance(solution, OptimalSolution | PhasedSolution | OptimumLinearization)
    if optimal and linear is not None:
        raise InputError("linear is given, but conditions of optimality have factors of their own; leave it out")
    if isinstance(solution, OptimalSolution | PhasedSolution):
        return OptimumLinearization(solution)
    if not isinstance(solution, Derivatives | OptimumLinearization | BoundaryLinearization):
        return Linearization(solution, linear)
    if linear is not None:
        raise InputError("linear is given, but the Linearization has its own: Linearization(solution, linear)")
    return solution

