"""Results of studies as tables and as comma-separated values."""

from __future__ import annotations

import csv
import math
from typing import Any, TextIO

from rich.table import Table

from timefem import InputError


def _rows(studies, form="rows"):
    studies = studies if isinstance(studies, list | tuple) else [studies]
    rows = [row for study in studies for row in getattr(study, form)()]
    if not rows:
        raise InputError("there is nothing to write: no study has rows")
    return rows


def table(studies: Any, title: str | None = None) -> Any:
    """A table for the terminal, of one study or of several of a kind.

    Parameters
    ----------
    studies : Convergence, Conservation, or a list of them
    title : str, optional

    Returns
    -------
    rich.table.Table
        Columns that are empty or the same everywhere are left out, the latter named in the title.
    """
    rows = _rows(studies, "cells")
    shown = [name for name in rows[0] if any(_text(row[name]) for row in rows)]
    same = [name for name in shown if len(rows) > 1 and len({_text(row[name]) for row in rows}) == 1
            and isinstance(rows[0][name], str | int)]
    facts = [f"{_words(name)} {rows[0][name]}" for name in same]
    out = Table(title=": ".join(filter(None, (title, ", ".join(facts)))) or None, title_justify="left")
    columns = [name for name in shown if name not in same]
    for name in columns:
        out.add_column(_words(name), justify="left" if isinstance(rows[0][name], str) else "right")
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before.get("method") != row.get("method"):
            out.add_section()
        out.add_row(*(_text(row[name]) for name in columns))
    return out


def write_csv(studies: Any, file: TextIO) -> None:
    """Comma-separated values of one study or of several of a kind, to an open file."""
    rows = _rows(studies)
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _words(name):
    return name.replace("_", " ")


def _text(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3g}"
    return str(value)
