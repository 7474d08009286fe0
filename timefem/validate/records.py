"""Records of options: thresholds of a part of the package, each with its default, its meaning and how it was found."""

from __future__ import annotations

import textwrap
from dataclasses import field, fields
from math import inf
from typing import Any, TypeVar

from ..errors import NamedArguments
from . import integer, real

Record = TypeVar("Record", bound=type)


class Options(NamedArguments):
    """Base of records of options: frozen dataclasses whose fields are numbers, made by `option`."""

    def __post_init__(self) -> None:
        for own in fields(self):  # type: ignore[arg-type]
            name, value = f"{type(self).__name__}: {own.name}", getattr(self, own.name)
            if own.type in ("int", int):
                integer(name, value, minimum=0)
            else:
                real(name, value, largest=inf)

    @classmethod
    def of(cls, given: Any) -> Any:
        """The record itself, or one with some of its numbers from a dict, as it stands in files."""
        return cls(**given) if isinstance(given, dict) else given


def option(default: float, meaning: str, measured: str = "") -> Any:
    """A number of `Options`: its default, what it is with its unit, and what was seen with others."""
    return field(default=default, metadata={"meaning": meaning, "measured": measured})


def documented(cls: Record) -> Record:
    """A decorator: the numbers with their meaning in the docstring."""
    rows = []
    for own in fields(cls):
        about = (own.metadata["meaning"], own.metadata["measured"])
        text = textwrap.wrap(" ".join(f"{said[:1].upper()}{said[1:]}." for said in about if said), 112)
        rows += [f"{own.name} : {own.type}, default {own.default:g}", *(f"    {line}" for line in text)]
    cls.__doc__ = "\n".join([(cls.__doc__ or "").rstrip(), "", *(f"    {row}" for row in (
        "Parameters", "----------", *rows))]) + "\n"
    return cls
