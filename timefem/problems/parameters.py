"""Unknown numbers of a problem: checked, and substituted for the numbers of parts."""

from functools import partial
from numbers import Real
from operator import itemgetter

from .. import validate
from ..elements.part_numbers import Carrier
from ..errors import InputError
from ..mechanics.body_frame import BodyFrame
from ..mechanics.composites.composite import Composite
from ..mechanics.formulas.formula import call
from ..mechanics.formulas.text import as_formula
from ..mechanics.numbers.changes import with_free_numbers
from ..mechanics.numbers.map import UnknownNumbers, present_value, with_constants, with_duration
from ..mechanics.numbers.names import names_a_part
from ..mechanics.numbers.records import with_records
from ..mechanics.part import Part
from ..mechanics.parts import number_named


def checked_parameters(system, parameters, follows=None, refused=()):
    """Unknown numbers of a problem, and its system with trees whose formulas take them.

    Parameters
    ----------
    system : System
    parameters : dict
        Name -> (body, joint or force of the system, its number), or a text "PART.NUMBER"; or the guess of the number of
        a part that the name is, "PART.NUMBER" itself, or of one that formulas have alone.
    follows : dict, optional
        (part, its number), or such a text -> formula of the dict of the unknown numbers.
    refused : tuple of class
        Parts whose numbers cannot be asked for.

    Returns
    -------
    system : System
    numbers : UnknownNumbers

    Raises
    ------
    InputError
        For names, parts and numbers that do not fit.
    """
    for what, given in (("parameters", parameters), ("follows", follows or {})):
        if not isinstance(given, dict):
            raise InputError(f"{what} must be a dict, from names to (part, number) or from these to formulas, not "
                             f"{given!r}")
    guesses, entries, alone = {}, {}, set()
    for name, entry in parameters.items():
        if not isinstance(name, str) or name == "duration":
            raise InputError(f"parameters: the name {name!r} cannot be used; give another text")
        if isinstance(entry, Real) and not isinstance(entry, bool):
            guesses[name] = validate.real(f"parameters[{name!r}]", entry)
            if not names_a_part(system, name):
                alone.add(name)
                continue
            entry = name
            present_value(system, entry)
        else:
            entry = _entry(system, f"parameters[{name!r}]", entry, refused)
            guesses[name] = present_value(system, entry)
        if entry in entries:
            raise InputError(f"parameters: {name} and another one are the same number, {entry!r}")
        entries[entry] = itemgetter(name)
    for entry, formula in (follows or {}).items():
        entry = _entry(system, "follows", entry, refused)
        present_value(system, entry)
        if entry in entries:
            raise InputError(f"follows: {entry!r} is unknown itself; leave it out of parameters, or of follows")
        title = f"follows: {entry if isinstance(entry, str) else entry[-1]}"
        entries[entry] = partial(call, title, as_formula("follows", formula, ["parameters"]), 1)
    system = with_free_numbers(system, entries)
    entries = {entry if isinstance(entry, str) else (system[entry[0]], entry[1]): formula
               for entry, formula in entries.items()}
    numbers = UnknownNumbers(system, guesses, entries)
    for name in parameters:
        if name not in alone and not numbers.of(name):
            raise InputError(f"parameters: {name} does not enter the motion, and cannot be found")
    return system, numbers


def _entry(system, title, entry, refused):
    """A number of a part as `UnknownNumbers` takes it."""
    entry = _text_of(entry)
    if isinstance(entry, str):
        return entry
    part = entry[0] if isinstance(entry, tuple | list) and len(entry) == 2 else None
    part, name = number_named(system, *entry) if isinstance(part, Part | BodyFrame | Composite) else (None, None)
    if part is None or not (part in system.parts or part in system.composites) or isinstance(part, refused):
        raise InputError(f"{title} must be (body, joint or force of the system, its number), such as (spring, "
                         f"'stiffness') or (body, 'mass'), not {entry!r}")
    return part, name if isinstance(name, int) else str(name)


def _text_of(entry):
    """A pair of names as one text; all else as it is."""
    named = isinstance(entry, tuple | list) and len(entry) == 2 and all(isinstance(one, str) for one in entry)
    return ".".join(entry) if named else entry


def own_parts(system, parameters):
    """Unknown numbers of the parts that stand for those given, in a system with other numbers."""
    return {name: _own(system, entry) for name, entry in (parameters or {}).items()}


def own_entries(system, follows):
    """The same of those that follow by formulas."""
    return {_own(system, entry): formula for entry, formula in (follows or {}).items()}


def _own(system, entry):
    entry = _text_of(entry)
    return (system[entry[0]], entry[1]) if isinstance(entry, tuple | list) else entry


def of_bodies(numbers):
    """Which of the unknown numbers are those of bodies, list of bool."""
    return [any(part.is_body for part in numbers.of(name)) for name in numbers]


def parts_with_unknowns(system, numbers, n, length=None):
    """The parts, those with unknown numbers taking them from n constants, and the `Carrier` of these.

    With a free time, for which `length` [s] is that of the mesh, the first constant is its share of that.
    """
    lead = int(length is not None)
    changed = with_records(system.parts, {part: with_constants(part, tuple(lead + i for i in seen), following)
                                          for part, (seen, following) in numbers.following.items()})
    found = [changed.get(part, part) for part in system.parts]
    if length is not None:
        found = [with_duration(part, length) for part in found]
    return [*found, Carrier(n)]
