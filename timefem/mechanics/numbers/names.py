"""Names of the numbers that parts declare: "point_a[2]", "time.amplitude", "section.EI[0]", "upper.mass"."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError, did_you_mean, known_names
from ..bodies.tree.structure import named_numbers, spelt_out
from ..forces.loads import Gravity
from ..parts import named_parts, number_named
from .arguments import INERTIA, entries

GRAVITY = "gravity"
_GRAVITY = re.compile(r"gravity(\[\d+\])?")
_STEP = re.compile(r"\.?(\w+)|\[(\d+)(?:,\s*(\d+))?\]")
_INDEX = re.compile(r"(.+)\[(\d+)(?:,\s*(\d+))?\]")


class Named(NamedTuple):
    """A number of a part, or several that an index tells apart.

    Attributes
    ----------
    path : tuple
        The argument, and steps into it, see `timefem.mechanics.numbers.arguments.put`.
    keys : list
        Indices of the entries; [None] of a single number.
    """

    path: tuple
    keys: list

    def entry(self, part: Any, key: Any) -> tuple:
        """The entry of a `NumberMap`."""
        return (part, *self.path, *(() if key is None else (key,)))


def numbers_of(part: Any) -> dict[str, Named]:
    """Name -> `Named`, of all that a part declares."""
    found, fields = {}, part.fields
    for argument, attribute in part.changeable.items():
        if attribute not in fields or fields[attribute].varies:
            found |= _inside(argument, (attribute,), getattr(part, attribute), part)
    return found


def _inside(name, path, value, part):
    if isinstance(value, float | np.floating):
        return {name: Named(path, [None])}
    if isinstance(value, np.ndarray) or (isinstance(value, tuple) and value and isinstance(value[0], float)):
        keys = [steps[0] for steps in entries(path[-1], np.array(value))]
        if path == (INERTIA,) and part.is_shaped_by((INERTIA, (0, 1))):
            keys = [0, 1, 2]  # principal values
        return {name: Named(path, keys)} if keys else {}
    if isinstance(value, tuple):
        found = {}
        for i, one in enumerate(value):
            own = f"{name}[{i}]" if not hasattr(one, "varied") else one.name  # links and joints go by their names
            found |= _inside(own, (*path, i), one, part)
        return found
    if is_dataclass(value):
        found = {}
        for inner in dict.fromkeys(steps[0] if steps else "" for steps in entries(path[-1], value)):
            if not inner:  # constant in time
                return {name: Named(path, [None])}
            found |= _inside(f"{name}.{inner}", (*path, inner), getattr(value, inner), part)
        return found
    return {}


def entries_named(part: Any, name: str, index: Any, label: str) -> tuple[list[tuple], list[str]]:
    """Entries of a `NumberMap` of a name and an index, and their names.

    Raises
    ------
    InputError
        When there are none; names those there are.
    """
    known = numbers_of(part)
    match = _INDEX.fullmatch(str(name))
    if name not in known and index is None and match is not None and (match[1] in known or _below(known, match[1])):
        name, index = match[1], int(match[2]) if match[3] is None else (int(match[2]), int(match[3]))
    if name not in known and index is not None and f"{name}[{index}]" in known:
        name, index = f"{name}[{index}]", None
    chosen = [name] if name in known else _below(known, name)
    if not chosen or (name not in known and index is not None):
        raise InputError(f"{label} has no parameter {name!r}{f', index {index}' if index is not None else ''}"
                         + known_names(name, known))
    found, names = [], []
    for own in chosen:
        keys = known[own].keys
        if index is not None:
            place = (index, index) if (index, index) in keys else index  # a principal value
            if place not in keys:
                raise InputError(f"{label}: {own} has no entry {index!r}; it has {_shown(keys)}")
            keys = [place]
        found += [known[own].entry(part, key) for key in keys]
        names += [own if key is None else f"{own}[{key}]".replace("(", "").replace(")", "") for key in keys]
    return found, names


def _below(known, name):
    return [one for one in known if one.startswith((f"{name}[", f"{name}."))]


def _shown(keys):
    if keys == [None]:
        return "none, being a single number: leave index out"
    return ", ".join(map(str, keys[:8])) + f", ..., {keys[-1]}" * (len(keys) > 8)


# ---- names of numbers of a system, of parts and composite parts, and of actuators that controllers alone know

def resolve(system: Any, name: Any) -> list[tuple]:
    """What a name such as "rod.mass" or a pair (part, "mass") means: (part, argument, *steps into it), of "gravity"
    several.

    Raises
    ------
    InputError
        When there is no such number; with the nearest name, or those there are.
    """
    known = system.__dict__.setdefault("_numbers_meant", {})  # for many changes of the same
    if name not in known:
        known[name] = [(part, *_steps(system, part, path)) for part, path in _targets(system, name)]
    return known[name]


def names_of_numbers(system: Any) -> list[str]:
    """Names that `resolve` takes, without entries, in the order of the parts."""
    names = [f"{system.label(part)}.{name}" for part in (*system.parts, *system.composites) if part.owner is None
             for name in (named_numbers(part) if hasattr(part, "links") else _changeable(part))]
    return names + [GRAVITY] * any(isinstance(part, Gravity) for part in system.parts)


def driven_only(system: Any) -> list[Any]:
    """Actuators that controllers move, and that are not in the system."""
    return list(dict.fromkeys(drive for part in system.parts for drive in part.drives if drive not in system.parts))


def _changeable(part):
    return part.whole.changeable


def _targets(system, name):
    """Parts, and what of them, that a name means: one, but for gravity."""
    if isinstance(name, tuple) and len(name) == 2:
        drives = driven_only(system)
        part = drives[drives.index(name[0])] if name[0] in drives else system[name[0]]
        return [_spelt_out(*number_named(system, part, str(name[1])))]
    if not isinstance(name, str):
        raise InputError(f"parameters: {name!r} is neither a name such as 'rod.mass' nor a pair (part, 'mass')")
    if weights := _weights(system, name):
        return [(part, name.replace(GRAVITY, "acceleration")) for part in weights]
    label, parts = label_in(system, name)
    if label is None:
        parts = [label for label, part in parts.items() if part.owner is None]
        head = name.partition(".")[0].partition("[")[0]
        own = [known for known in names_of_numbers(system) if known.startswith(f"{head}.")]
        near = f"; of {head} there are {', '.join(own[:12])}" if own else (
            did_you_mean(name, names_of_numbers(system)) or did_you_mean(head, parts))
        raise InputError(f"parameters: {name!r} must name a part and a number of it, as in PART.NAME"
                         + (near or f"; there are {', '.join(parts[:12])}"))
    return [_spelt_out(*number_named(system, parts[label], name[len(label) + 1:]))]


def names_a_part(system: Any, name: str) -> bool:
    """Whether a name begins with that of a part, or is that of the weight: then it means a number there, or none."""
    return bool(_weights(system, name)) or label_in(system, name)[0] is not None


def _weights(system, name):
    return [part for part in system.parts if isinstance(part, Gravity)] if _GRAVITY.fullmatch(name) else []


def label_in(system: Any, name: str) -> tuple[str | None, dict[str, Any]]:
    """The label before a dot that a name begins with, None without one, and the parts by their labels."""
    parts = {drive.name: drive for drive in driven_only(system) if drive.name} | named_parts(system)
    return max((label for label in parts if name.startswith(label + ".")), key=len, default=None), parts


def _spelt_out(part, path):
    """A part, and what of it; numbers of links and joints of a tree go by their names."""
    return part, spelt_out(part, path) if hasattr(part, "links") else path


def _steps(system, part, path):
    """An attribute, and the steps into it: names of fields of functions of time, and indices."""
    steps, at = [], 0
    for match in _STEP.finditer(path):
        if match.start() != at:
            break
        word, first, second = match.groups()
        steps.append(word if word else int(first) if second is None else (int(first), int(second)))
        at = match.end()
    known = _changeable(part)
    if at != len(path) or not steps or steps[0] not in known:
        near = did_you_mean(str(steps[0] if steps else path), known)
        raise InputError(f"parameters: {system.label(part)} has no number {path!r}"
                         + (near or f"; it has {', '.join(known) or 'none'}"))
    return known[steps[0]], *steps[1:]
