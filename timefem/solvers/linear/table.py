"""Linear solvers by their shorthands."""

from ... import validate
from ...errors import InputError
from ...validate.options import LINEAR_SOLVERS, said
from .base import LinearOptions


def linear_options(choice=None, *, method=None, options=None):
    """The options of a linear solver, of an object or a shorthand, whose packages are installed.

    Parameters
    ----------
    choice : LinearOptions or str, optional
        Or a shorthand: "chain" (unless given), "superlu", "petsc", "sksparse".
    method, options : optional
        Those of `PETSc`, for the shorthand "petsc".

    Raises
    ------
    InputError
        For an unknown name, or options of another solver.
    MissingBackend
        When its packages are not installed; says how to install them.
    """
    if isinstance(choice, type) and issubclass(choice, LinearOptions):
        raise InputError(f"backend must be an object, {choice.__name__}(), not the class itself")
    name = getattr(choice, "name", choice) or "chain"
    if not isinstance(choice, LinearOptions):
        validate.choice("backend", name, tuple(LINEAR_SOLVERS))
    for argument, given, verb in (("method", method, "is"), ("petsc_options", options, "are")):
        if given and choice != "petsc":
            raise InputError(f"{argument} {verb} given, but the backend is {name!r}: add {said('backend', 'petsc')}"
                             if name != "petsc" else f"{argument} {verb} given beside {choice!r}, which has its own")
    if not isinstance(choice, LinearOptions):
        choice = LINEAR_SOLVERS[name](*((options, method) if name == "petsc" else ()))
    choice.check()
    return choice
