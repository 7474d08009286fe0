"""Studies of methods: condition numbers, rank of the multiplier space."""

from .bodies import unit_body
from .conditioning import Conditioning, conditioning
from .figure import plot_conditioning
from .rank import MultiplierRank, multiplier_rank

__all__ = ["Conditioning", "MultiplierRank", "conditioning", "multiplier_rank", "plot_conditioning", "unit_body"]
