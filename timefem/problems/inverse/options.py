"""Thresholds of inverse dynamics."""

from __future__ import annotations

from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class InverseOptions(Options):
    """Thresholds of inverse dynamics."""

    # ---- direct
    most_halved: int = option(12, "times that a step from one time to the next is halved")

    # ---- few times
    guess_elements: int = option(200, "elements on which the guess is made")

    # ---- problem
    passed: int = option(40, "equilibria on the way to that at the end")
    neutral: float = option(1e-6, "growth up to this over the whole time counts as stable")


OPTIONS = InverseOptions()
