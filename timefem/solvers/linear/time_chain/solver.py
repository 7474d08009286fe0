"""Options of the embedded solver, and which of its LUs is taken."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import validate
from ....errors import InputError
from ....progress import progress
from ..base import LinearOptions, LinearSolver
from ..dissection import DissectionLU, dissect, work_of_piece
from .condensed_lu import CondensedLU
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
        which was taken (`statistics["ordering"]`). In time, some 10^4 elements and more between conditions at both
        ends are taken in groups, whose tangents and factors are rebuilt on the way back of a solve.
    memory : str or float, optional
        For the factors, such as "4 GB", or a number of bytes. Where they do not fit, parts of the dissection are
        factored one after the other, and again on the way back of a solve: at most twice the time.

    Raises
    ------
    InputError
        For another order, or a memory that is not one. A solve raises it where the memory is too small, and says how
        much is needed.
    """

    name = "chain"

    order: str = "auto"
    memory: str | float | None = None

    def __post_init__(self):
        validate.choice("order", self.order, ("auto", "time", "dissection"))
        bytes_of(self.memory)
        if self.memory is not None and self.order == "time":
            raise InputError("memory is bounded by dissection: leave out order='time'")

    def make(self, pattern: Any) -> Any:
        if self.order != "dissection" and self.memory is None and np.diff(pattern.column_starts).max() < WIDE:
            return EmbeddedSolver(pattern, CondensedLU(pattern), "time")
        chain, most = None, np.inf if self.memory is None else bytes_of(self.memory) / 8
        if self.order != "dissection":
            chain = _chain(pattern)
            if self.order == "time" or (chain.expected_fill <= most and not _pays(pattern, chain.work)):
                return EmbeddedSolver(pattern, chain, "time")
        with progress("ordering of the unknowns"):
            fronts = dissect(pattern)
        if fronts is None or (chain and chain.expected_fill <= most
                              and SLOWER * sum(f.work for f in fronts) >= chain.work):
            return EmbeddedSolver(pattern, chain or _chain(pattern), "time")  # tells more about a singular pattern
        return EmbeddedSolver(pattern, DissectionLU(pattern, fronts, most), "space and time")


def bytes_of(memory):
    """Bytes of a text such as "4 GB", or of a number; None stays."""
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kMGT]?)B\s*", memory)
        if not found:
            raise InputError(f"memory must be like '4 GB', or a number of bytes, not {memory!r}")
        memory = float(found[1]) * 1000.0 ** " kMGT".index(found[2] or " ")
    return None if memory is None else validate.real("memory", memory, positive=True)


def _chain(pattern):
    return ChainLU(pattern.indptr, pattern.indices, pattern.column_starts, pattern.row_starts)


def _pays(pattern, work):
    """Whether dissection may take less than the `work` in time order, by that on a piece of a long pattern."""
    n_blocks = len(pattern.column_starts) - 1
    if np.diff(pattern.column_starts).max() < WIDE:
        return False
    return n_blocks < 2 * PIECE or SLOWER * work_of_piece(pattern, PIECE) * n_blocks / PIECE < work


# ---- the embedded LUs as linear solvers

class EmbeddedSolver(LinearSolver):
    """A sparse LU of timefem.

    Parameters
    ----------
    pattern
        As in `LinearOptions.make`.
    lu : ChainLU or DissectionLU
    ordering : str
        In which order it eliminates.
    """

    name = "chain"
    needs_numbers_only = True

    def __init__(self, pattern, lu, ordering):
        super().__init__(pattern)
        self._lu, self.ordering = lu, ordering

    def _factor(self, matrix):
        self._lu.factor(matrix.data, math.isfinite(self._norms[False]))

    def solve(self, b):
        return self._lu.solve(b)

    def solve_transposed(self, b):
        return self._lu.solve_transposed(b)

    @property
    def factor_size(self):
        return self._lu.fill
