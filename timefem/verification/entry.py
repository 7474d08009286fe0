"""An entry of the atlas: a motion, somebody else's numbers for it, and how near ours are."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from .. import validate
from ..atomic_write import write_text

ENTRIES = {}


@dataclass(frozen=True)
class Entry:
    """A motion that somebody else has solved.

    Attributes
    ----------
    name, title : str
    source : str
        Whose numbers.
    tolerance : float
        Of the difference, relative to the largest number of each quantity: what the source is good for, or more.
    compute : callable
        Gives quantity -> (their numbers, our numbers), arrays of one shape.
    minutes : bool
        Whether it takes more than a few seconds.
    remark : str
        What is to be known of their numbers.
    """

    name: str
    title: str
    source: str
    tolerance: float
    compute: Callable
    minutes: bool = False
    remark: str = ""

    @property
    def command(self):
        return f"timefem verify {self.name}"


@dataclass
class Outcome:
    """What came of an entry.

    Attributes
    ----------
    name, title, source, command : str
    tolerance, difference : float
        The largest difference, relative to the largest number of its quantity.
    agrees : bool
    seconds : float
    worst : str
        Quantity with the largest difference.
    theirs, ours : float
        The two numbers that are furthest apart.
    n_numbers : int
    remark : str
        What is to be known of their numbers.
    """

    name: str
    title: str
    source: str
    command: str
    tolerance: float
    difference: float = np.inf
    agrees: bool = False
    seconds: float = 0.0
    worst: str = ""
    theirs: float = np.nan
    ours: float = np.nan
    n_numbers: int = 0
    remark: str = ""

    def as_dict(self):
        """Plain data."""
        return asdict(self)


def entry(name, title, source, tolerance, **further):
    """Decorator: a function that computes an entry of the atlas (see `Entry`)."""
    def add(compute):
        ENTRIES[name] = Entry(name, title, source, tolerance, compute, **further)
        return compute

    return add


def find_entries(name="all"):
    """The entries of that name, of a group (`test-set`), or all."""
    if name == "all":
        return list(ENTRIES.values())
    of_group = [e for key, e in ENTRIES.items() if key.startswith(f"{name}-")]
    return of_group or [ENTRIES[validate.choice("entry", name, (*ENTRIES, "all"))]]


def run_entry(entry):
    """Compute an entry, and compare: `Outcome`."""
    start = time.perf_counter()
    compared = entry.compute()
    out = Outcome(entry.name, entry.title, entry.source, entry.command, entry.tolerance, 0.0,
                  remark=entry.remark)
    out.seconds = time.perf_counter() - start
    for quantity, (theirs, ours) in compared.items():
        theirs, ours = np.atleast_1d(theirs).astype(float), np.atleast_1d(ours).astype(float)
        if theirs.shape != ours.shape:
            raise ValueError(f"{entry.name}: {quantity} has {theirs.shape} and {ours.shape} numbers")
        difference = np.abs(ours - theirs) / (np.abs(theirs).max(initial=0.0) or 1.0)
        place = np.unravel_index(np.argmax(np.where(np.isfinite(difference), difference, np.inf)), difference.shape)
        out.n_numbers += theirs.size
        if not difference[place] <= out.difference or not out.worst:  # also when it is not a number
            out.difference, out.worst = float(difference[place]), quantity
            out.theirs, out.ours = float(theirs[place]), float(ours[place])
    out.agrees = bool(out.difference <= entry.tolerance)
    return out


# ---- the page of the atlas

HEAD = """# Verification

Motions that others have solved, with their numbers and ours. Our own references and conserved quantities are in the
tests; here the truth comes from outside: published solutions, closed forms, other programs, and equations of motion
stated a second time on their own. Differences are relative to the largest number of each quantity. Made by
`timefem verify --page docs/reports/verification.md`; each entry is a test."""


def write_page(outcomes, path):
    """Write a Markdown page of the outcomes of entries."""
    agree = sum(o.agrees for o in outcomes)
    lines = [HEAD, "", f"{agree} of {len(outcomes)} entries agree.", ""]
    for o in outcomes:
        lines += [f"## {o.name}", "", f"{o.title[:1].upper()}{o.title[1:]}.", "", f"- Whose numbers: {o.source}",
                  f"- Numbers compared: {o.n_numbers}",
                  f"- Largest difference: {o.difference:.2g}, in {o.worst}: theirs {o.theirs:.15g}, ours {o.ours:.15g}"
                  f" ({'agrees' if o.agrees else '**does not agree**'} to {o.tolerance:g})",
                  *([f"- {o.remark}"] if o.remark else []),
                  f"- Time: {o.seconds:.1f} s", f"- Command: `{o.command}`", ""]
    write_text(path, "\n".join(lines))
