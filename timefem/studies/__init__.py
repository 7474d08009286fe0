"""Studies of methods: convergence, conservation, condition numbers, rank of multipliers, quotients of precision,
iterations of preconditioners."""

from timefem import Conditioning, MultiplierRank, conditioning, multiplier_rank

from .common import table, unit_body, write_csv
from .conservation import Conservation, Drift, conservation, plot_conservation
from .convergence import Convergence, convergence, plot_convergence
from .precision import (
    Preconditioning,
    QuotientOfPrecision,
    plot_conditioning,
    preconditioners,
    quotient_of_precision,
)

__all__ = ["Conditioning", "Conservation", "Convergence", "Drift", "MultiplierRank", "Preconditioning",
           "QuotientOfPrecision", "conditioning", "conservation", "convergence", "multiplier_rank",
           "plot_conditioning", "plot_conservation", "plot_convergence", "preconditioners", "quotient_of_precision",
           "table", "unit_body", "write_csv"]
