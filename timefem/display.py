"""Short tables about an object, as text and as HTML for notebooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .memory import Late

STYLES = ("-", "--", ":", "-.")  # of lines in figures
COLOURS = ("#1f4e79", "#c55a11", "#2e7d32", "#6a1b9a", "#00838f", "#ad1457", "#5d4037", "#455a64")
html = Late("html")  # its table of entities takes longer than a small module


def printable(text):
    """A text, such as the name of a part or a file, with control characters spelt out: terminals would obey them."""
    text = str(text)
    return text if text.isprintable() else "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def counted(n, noun, several=None):
    """A number and what it counts: 1 body, 2 bodies; `several` where the plural is no regular one."""
    several = several or (noun[:-1] + "ies" if noun.endswith("y") else noun + "s")
    return f"{n} {noun if n == 1 else several}"


def digits(value, *compared):
    """A number or an array for messages, as 1, 0.3 or [0.1, -2]: twelve digits, all beside a near one of `compared`."""
    if getattr(value, "ndim", 0) or isinstance(value, list | tuple):
        return f"[{', '.join(digits(x, *compared) for x in value)}]"
    value, short = float(value), f"{value:.12g}"
    alike = any(float(other) != value and f"{other:.12g}" == short for other in compared)
    return repr(value).removesuffix(".0") if alike else short


@dataclass
class Card:
    """A title, facts, and tables.

    Attributes
    ----------
    title : str
    facts : dict
        What -> value, as texts or numbers.
    tables : dict
        Title -> list of rows, the first of which is the header.
    """

    title: str
    facts: dict[str, Any]
    tables: dict[str, Any] = field(default_factory=dict)

    def __repr__(self):
        lines = [printable(self.title), *_aligned([(f"  {what}", value) for what, value in self.facts.items()])]
        for title, rows in self.tables.items():
            lines += [f"  {title}", *_aligned([(f"    {row[0]}", *row[1:]) for row in rows])]
        return "\n".join(lines)

    def _repr_html_(self):
        facts = "".join(f"<tr>{_cell('th', what)}{_cell('td', value)}</tr>" for what, value in self.facts.items())
        parts = [f"<strong>{html.escape(self.title)}</strong>", f"<table>{facts}</table>"]
        for title, (header, *rows) in self.tables.items():
            head = "".join(_cell("th", value) for value in header)
            body = "".join(f"<tr>{''.join(_cell('td', value) for value in row)}</tr>" for row in rows)
            caption = f'<caption style="text-align: left">{html.escape(title)}</caption>'
            parts.append(f"<table>{caption}<tr>{head}</tr>{body}</table>")
        return "<div>" + "".join(parts) + "</div>"


class Summarized:
    """Base of what has a `summary()`, a `Card`: that is what is printed of it, and shown in notebooks."""

    def __repr__(self):
        return repr(self.summary())

    def _repr_html_(self):
        return self.summary()._repr_html_()


def _aligned(rows):
    """Lines with columns of equal width."""
    rows = [[printable(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cell(tag, value):
    return f'<{tag} style="text-align: left">{html.escape(str(value))}</{tag}>'
