"""Options of the embedded solver, and which of its LUs is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import validate
from ....progress import progress
from ..base import LinearOptions
from ..dissection.lu import DissectionLU
from ..dissection.order import dissect
from ..embedded import EmbeddedSolver
from .lu import ChainLU

WIDE = 128  # unknowns of a block: below, dissection has not been faster
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
        narrow = np.diff(pattern.column_starts).max() < WIDE
        fronts = None
        if self.order == "dissection" or (self.order == "auto" and not narrow):
            with progress("ordering of the unknowns"):
                fronts = dissect(pattern)
        chain = None
        if self.order != "dissection" or fronts is None:  # tells more about a singular pattern
            chain = ChainLU(pattern.indptr, pattern.indices, pattern.column_starts, pattern.row_starts)
        if fronts is None or (chain and SLOWER * sum(f.work for f in fronts) >= chain.work):
            return EmbeddedSolver(pattern, chain, "time")
        return EmbeddedSolver(pattern, DissectionLU(pattern, fronts), "space and time")
