"""Entries of model files: functions of time, references to bodies, and errors that name the entry."""

import os
import re
from contextlib import contextmanager

from ..errors import InputError
from .document import suggest
from .schema import FUNCTIONS


@contextmanager
def naming(document, keys, entry, others=()):
    """Give errors the file, the line and the key: of the entry, or of what in it the message names first.

    Other entries, given as (title, keys, entry), are meant where the message begins with their title.
    """
    try:
        yield
    except InputError as error:
        if str(error).startswith(f"{document.path}:"):  # named already
            raise
        keys, entry = next((other[1:] for other in others if re.match(rf"{re.escape(other[0])}[:\[]", str(error))),
                           (keys, entry))
        words = re.findall(r"\w+", str(error))
        named = [word for word in words if word in entry and word not in ("type", "body", "bodies", *keys)]
        raise document.error((*keys, *named[:1]), str(error)) from None


def value_of(document, keys, value):
    """A value of a file, with functions of time in place of their tables."""
    if isinstance(value, list):
        return [value_of(document, (*keys, i), v) for i, v in enumerate(value)]
    if not isinstance(value, dict):
        return value
    (kind, arguments), = value.items()
    with naming(document, (*keys, kind), arguments):
        return FUNCTIONS[kind](**arguments)


def bounds_of(document, keys, value):
    """Bounds of a file as `value_of` has them, None where they are free."""
    if isinstance(value, list):
        return [bounds_of(document, (*keys, i), v) for i, v in enumerate(value)]
    return None if value == "free" else value_of(document, keys, value)


def beside(document, keys, name):
    """Path of a file in the folder of the model file, or below."""
    folder = os.path.realpath(os.path.dirname(document.path) or ".")
    path = os.path.join(os.path.dirname(document.path), name)
    if os.path.isabs(name) or not os.path.realpath(path).startswith(os.path.join(folder, "")):
        raise document.error(keys, f"must lie in the folder of this file or below, not {name!r}")
    return path


def find(document, keys, name, known, what="body"):
    """What has that name in a file."""
    if name not in known:
        raise document.error(keys, f"there is no {what} {name!r}; {suggest(name, known)}")
    return known[name]
