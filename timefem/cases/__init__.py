"""Standard problems with known answers, by name."""

from ..uncollected import uncollected

with uncollected():
    from . import (  # noqa: F401  enter their cases
        benchmarks,
        boundary,
        control,
        cranes,
        files,
        flexible,
        formulas,
        inequalities,
        mechanisms,
        nonholonomic,
        rotations,
        walking,
    )
    from .cases import CASES, Case, find_case

__all__ = ["CASES", "Case", "find_case"]
