"""Continuation on the command line: a solution followed from an easier problem to the one that is meant."""

from .. import validate
from ..errors import InputError
from ..late import Late

many_solutions = Late("timefem.solving.many_solutions")


def follower(found, follow, options):
    """A function with the arguments of `timefem.solve` that follows a solution; None when that is not asked for.

    Parameters
    ----------
    found : Chosen
        With a model, whose table `[continuation]` counts too, or without.
    follow : str or None
        "KEY=START".
    options : dict
        Those given, of `timefem run`.

    Raises
    ------
    InputError
        For what is no number of the problem, and for other problems than boundary-value problems.
    """
    model, case = found.model, found.case
    table = {} if model is None else model.document.data.get("continuation", {})
    if follow is None and not table:
        return None
    if found.kind.name != "boundary":
        raise InputError(f"--follow is not used: {case.name} is {found.kind.title}; leave it out")
    if "tolerance" in found.arguments:
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
        end = options.get("t_end", case.t_end)

        def make(value):
            return case.make(rotation=options.get("rotation"), t_end=value)
    else:
        key = "time.span[1]" if key == "t_end" else key
        end = model.document.number(key)

        def make(value):
            return model.changed({key: value}).problem

    def followed(problem, element, n_elements, **arguments):
        return many_solutions.continuation(make, element, n_elements, start, end, **steps, **arguments)

    return followed
