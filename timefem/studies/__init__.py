"""Studies of methods: condition numbers, rank of the multiplier space, quotients of precision."""

from .bodies import unit_body
from .conditioning import Conditioning, conditioning
from .figure import plot_conditioning
from .precision import QuotientOfPrecision, quotient_of_precision
from .rank import MultiplierRank, multiplier_rank

__all__ = ["Conditioning", "MultiplierRank", "QuotientOfPrecision", "conditioning", "multiplier_rank",
           "plot_conditioning", "quotient_of_precision", "unit_body"]
