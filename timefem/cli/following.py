"""Continuation on the command line: a solution followed from an easier problem to the one that is meant."""

from .. import validate
from ..errors import InputError
from ..solving.several import continuation
from .kinds import NAMES


def follower(case, follow, rotation, t_end, tolerance):
    """A function with the arguments of `timefem.solve` that follows a solution; None when that is not asked for.

    Parameters
    ----------
    case : Case
        With the attribute `model` when it is that of a model file, whose table `[continuation]` counts too.
    follow : str or None
        "KEY=START".
    rotation, t_end, tolerance
        Options of `timefem run`.

    Raises
    ------
    InputError
        For what is no number of the problem, and for other problems than boundary-value problems.
    """
    model = getattr(case, "model", None)
    table = {} if model is None else model.document.data.get("continuation", {})
    if follow is None and not table:
        return None
    if case.kind != "boundary":
        raise InputError(f"--follow is not used: {case.name} is {NAMES[case.kind]}; leave it out")
    if tolerance is not None:
        raise InputError("--tolerance is not used with a continuation, whose meshes are given; leave one of them out")
    key, start, steps = table.get("vary"), table.get("start"), {}
    if follow is None:
        steps = {name: table[name] for name in ("first_step", "least_step") if name in table}
    else:
        key, _, number = follow.partition("=")
        try:
            start = validate.real("--follow", float(number))
        except ValueError:
            raise InputError(f"--follow must be KEY=START, such as t_end=0.5, not {follow!r}") from None
    if model is None and key != "t_end":
        raise InputError(f"--follow: of a case t_end can be varied, not {key!r}; of a model file any number")
    if model is None:
        end = case.t_end if t_end is None else t_end

        def make(value):
            return case.make(rotation=rotation, t_end=value)
    else:
        key = "time.span[1]" if key == "t_end" else key
        end = model.document.number(key)

        def make(value):
            return model.changed({key: value}).problem

    def followed(problem, element, n_elements, *, guess=None, newton=None, scaling="full", backend=None,
                 petsc_options=None, progress=None, **_):
        return continuation(make, element, n_elements, start, end, guess=guess, newton=newton, scaling=scaling,
                            backend=backend, petsc_options=petsc_options, progress=progress, **steps)

    return followed
