"""Thresholds of inverse dynamics, beside those of `StructureOptions`."""

from __future__ import annotations

from dataclasses import dataclass

from ...validate.records import Options, documented, option


@documented
@dataclass(frozen=True)
class InversionOptions(Options):
    """Thresholds of inverse dynamics, beside those of `StructureOptions`."""

    # ---- direct
    many_constraints: int = option(30, "constraints from which on these are not combined in symbols")
    singular_rows: float = option(1e-9, "smallest singular value, relative to the largest, of rows of unit length")
    iterations: int = option(50, "iterations of Newton's method at a time")
    left_over: float = option(1e-7, "forces that drives leave over, relative to all")

    # ---- inversion
    determined: float = option(
        1e-12, "least singular value, relative to the largest, of rows that settle forces and controls")
    hardly_determined: float = option(
        1e-3, "least singular value, relative to that at the start, near a singular position")

    # ---- servo constraint
    singular_columns: float = option(1e-8, "least singular value, relative to the largest, of columns of unit length")
    determines: float = option(
        1e-12, "least singular value, of rows and columns of unit size, with which outputs determine controls")


OPTIONS = InversionOptions()
