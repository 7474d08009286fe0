"""Options of the embedded solver, and which of its LUs is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import validate
from ....progress import progress
from ..base import LinearOptions
from ..dissection.lu import DissectionLU
from ..dissection.order import dissect, work_of_piece
from ..embedded import EmbeddedSolver
from .lu import ChainLU

WIDE = 128  # unknowns of a block: below, dissection has not been faster
PIECE = 64  # blocks that tell the work by dissection, a little low: 1 ms each to order
SLOWER = 1.5  # a multiplication by dissection, in those of the time chain; 1.3 to 2.2 were measured


@dataclass(frozen=True)
class TimeChain(LinearOptions):
    """The embedded sparse LU; needs nothing.

    Parameters
    ----------
    order : {"auto", "time", "dissection"}
        "time": blocks of elements one after the other, pivots across neighbouring blocks; the work grows with the cube
        of the unknowns of an element. "dissection": nested dissection of space and time, for long beams and chains of
        bodies. "auto": in time, unless elements are wide and the estimated work is less by dissection. The report says
        which was taken (`statistics["ordering"]`).

    Raises
    ------
    InputError
        For another order.
    """

    name = "chain"

    order: str = "auto"

    def __post_init__(self):
        validate.choice("order", self.order, ("auto", "time", "dissection"))

    def make(self, pattern: Any) -> Any:
        chain = None
        if self.order != "dissection":
            chain = _chain(pattern)
            if self.order == "time" or not _pays(pattern, chain.work):
                return EmbeddedSolver(pattern, chain, "time")
        with progress("ordering of the unknowns"):
            fronts = dissect(pattern)
        if fronts is None or (chain and SLOWER * sum(f.work for f in fronts) >= chain.work):
            return EmbeddedSolver(pattern, chain or _chain(pattern), "time")  # tells more about a singular pattern
        return EmbeddedSolver(pattern, DissectionLU(pattern, fronts), "space and time")


def _chain(pattern):
    return ChainLU(pattern.indptr, pattern.indices, pattern.column_starts, pattern.row_starts)


def _pays(pattern, work):
    """Whether dissection may take less than the `work` in time order, by that on a piece of a long pattern."""
    n_blocks = len(pattern.column_starts) - 1
    if np.diff(pattern.column_starts).max() < WIDE:
        return False
    return n_blocks < 2 * PIECE or SLOWER * work_of_piece(pattern, PIECE) * n_blocks / PIECE < work
