"""Parts of a system by name, for completion with the tab key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..argument_names import known_names
from ..errors import InputError


class Names:
    """Parts as attributes: `system.body.crank`. What cannot stand in a name of Python becomes an underscore.

    Parameters
    ----------
    what : str
        "body", "joint" or "force", for messages.
    parts : dict
        Label -> Part.
    """

    def __init__(self, what: str, parts: Mapping[str, Any]) -> None:
        self._what = what
        self._parts = {re.sub(r"\W|^(?=\d)", "_", label): part for label, part in parts.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._parts:
            raise AttributeError(f"no {self._what} {name!r} in the system{known_names(name, self._parts)}")
        return self._parts[name]

    def __dir__(self):
        return list(self._parts)

    def __repr__(self):
        return f"{self._what}: {', '.join(self._parts) or 'none'}"


def body_of(system, component):
    """The body of a component of the coordinates, or of the state."""
    i = component % system.n_q
    return next(body for body in system.bodies if i < system.coordinates(body).stop)


def find_part(labels, name):
    """The part of that label; `labels` is a list of (label, part).

    Raises
    ------
    InputError
        When there is none, or several; names those there are.
    """
    found = [part for label, part in labels if label == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{len(found)} parts of the system have the name {name!r}; give each its own")
    raise InputError(f"no part {name!r} in the system{known_names(name, [label for label, _ in labels])}")
