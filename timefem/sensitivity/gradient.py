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
from .names import functionals_of, parameters_of, parameters_of_problem
from .optimum import OptimumLinearization

if TYPE_CHECKING:
    from ..solution.solution import Solution
    from ..solvers.linear.base import LinearOptions
    from .functionals import Functional


@named_arguments
def gradient(solution: Solution | Linearization, functional: Functional | str, parameters: Any, *,
             linear: LinearOptions | str | None = None) -> np.ndarray:
    """Gradient of a functional of a solution, by one transposed solve (adjoint method).

    The exact derivative of the discrete solution: `dJ/dc - w . dR/dc` with `A^T w = dJ/dx`, R the residual and A its
    tangent. The cost hardly depends on the number of parameters.

    Parameters
    ----------
    solution : Solution or Linearization
        Of an initial-value problem, marched or solved all at once, or of a boundary-value problem. A
        `Linearization(solution)` keeps its factors for several gradients.
    functional : Functional or str
        `EndValue`, `Integral`, `Peak` or `Values` of one formula; or its name, "end:BODY.position[0]",
        "integral:..." or "peak:...:SHARPNESS", as on the command line and in model files.
    parameters : Parameter, Initial, Family, str, or list of them
        Of boundary-value problems and optimal control also `Final`, of what is prescribed at the end. Names are
        "PART.NUMBER", "gravity[2]", "start:BODY.velocity[0]", and "end:BODY.position" of what is prescribed there.
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
    at = _linearized(solution, linear)
    functionals = _functionals(at, functional)
    if len(functionals) != 1:
        raise InputError(f"a gradient needs a functional with one value, not {len(functionals)}; use "
                         "sensitivities, or one component")
    return at.gradient(functionals[0], _parameters(at, parameters))


@named_arguments
def sensitivities(solution: Solution | Linearization, functional: Functional | str | Sequence[Functional | str],
                  parameters: Any, *, linear: LinearOptions | str | None = None) -> np.ndarray:
    """Derivatives of all values of a functional, by one solve per parameter (forward method).

    Parameters
    ----------
    solution, parameters
        As for `gradient`.
    functional : Functional or str, or list of them
        With any number of values; names as for `gradient`, without an index for all components.
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
    at = _linearized(solution, linear)
    return at.sensitivities(_functionals(at, functional), _parameters(at, parameters))


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



def _functionals(at, given):
    """Functionals, those given by name too."""
    found = []
    for one in given if type(given) in (list, tuple) else [given]:
        found += functionals_of(_system(at, one), [one]).values() if isinstance(one, str) else [one]
    return found


def _parameters(at, given):
    """Parameters, those given by name too."""
    if not isinstance(given, str) and not (type(given) in (list, tuple) and any(isinstance(one, str) for one in given)):
        return given
    found = []
    for one in [given] if isinstance(given, str) else given:
        if not isinstance(one, str):
            found.append(one)
        elif isinstance(at, Derivatives):
            found += parameters_of(at.system, at.start.z, [one])
        else:
            _system(at, one)
            found += parameters_of_problem(at.problem, [one])
    return found


def _system(at, name):
    system = getattr(at, "system", None) or getattr(at.problem, "system", None)
    if system is None:
        raise InputError(f"{name!r}: names are those of one system, and phases have their own; give a functional, or "
                         "a parameter, or InPhase(phase, ...) of it")
    return system
