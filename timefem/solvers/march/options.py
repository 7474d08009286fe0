"""Thresholds of marches that choose their own steps."""

from __future__ import annotations

from dataclasses import dataclass

from ...validate.records import Options, documented, option


@documented
@dataclass(frozen=True)
class MarchOptions(Options):
    """Thresholds of a march to a tolerance, see `StepControl`.

    A pilot march finds where elements have to be short; marches on its meshes find how many are needed.
    """

    # ---- the pilot
    first_pair: float = option(1e-3, "first pair of elements, of the time span",
                               "one that is too long is found out soon")
    coarsest: float = option(1e-3, "sum of the local errors of the pilot, at most")
    looser: float = option(1e4, "sum of the local errors of the pilot, over the tolerance asked for, at most")
    in_proportion: float = option(0.1, "error up to which errors are taken to be in proportion")
    early: float = option(1e-2, "share of the time span up to which what moves may be less than round-off")
    first_look: int = option(50, "equal elements that may tell the size of a motion beforehand")
    looks: int = option(3, "numbers of elements that are tried for this, each four times the one before")
    crawl: float = option(1e-8, "mean length of the elements of a chunk, of the time span, below which a march would "
                                "never come to the end")

    # ---- meshes
    aim: float = option(0.4, "share of the tolerance that a mesh aims at")
    most_meshes: int = option(4, "meshes that are tried")
    most_count: float = option(1e7, "elements in place of a pair, at most")
    stalled: float = option(0.5, "what is left of the difference of two meshes on finer ones, from which on they do "
                                 "not converge")
    abrupt: float = option(1e-3, "share of a difference that is there one pair earlier, at most, where one place is "
                                 "to blame")
