"""The global Bubnov-Galerkin method: test and trial functions from the same spaces."""

from dataclasses import dataclass

from ..errors import InputError
from ..polynomials import LagrangeBasis
from ..validate.options import field
from .element import Space, TimeElement
from .nonholonomic_terms import nonholonomic_values


@dataclass(frozen=True)
class BubnovGalerkin(TimeElement):
    """Bubnov-Galerkin element, May & Betsch (24): the residual is the gradient of the discrete action.

    Orders 2, 2, 4 for k = 1, 2, 3. Which tests and multipliers are left out to make the system of an initial-value
    problem square is not spelled out in the paper: with `drop="start"` the tests of the first node, and, with
    continuous multipliers, the multipliers there, which take their consistent value.

    Nonholonomic constraints, which no action leads to, enter as `A dH/dp + a = 0` with discontinuous multipliers of
    degree k - 1.

    Parameters
    ----------
    degree : int
        k, at least 1.
    multipliers : {"continuous", "discontinuous"}
        P^k continuous, or P^(k-1) discontinuous.
    n_points : int, optional
        Gauss points, at least k; default 2k.
    drop : {"start", "end"}
        Tests left out in initial-value problems. "end" (discontinuous multipliers only) is not strictly Bubnov, but
        has smaller errors and stays stable over long times.
    nodes : {"equidistant", "lobatto"}
    """

    degree: int = field("degree")
    multipliers: str = field("multipliers")
    n_points: int | None = field("n_points", default=None)
    drop: str = field("drop")
    nodes: str = field("nodes")

    name = "bg"
    is_variational = True
    constraint_row_power = -1

    def __post_init__(self):
        self._validate(minimum_points=self.degree if isinstance(self.degree, int) else 1)
        if self.drop == "end" and self.multipliers == "continuous":
            raise InputError("drop='end' needs multipliers='discontinuous': with continuous multipliers "
                             "the system would lose rank")

    @property
    def order(self):
        """Order of convergence at the nodes (measured for k = 1, 2, 3)."""
        return 2 * ((self.degree + 1) // 2)

    @property
    def trial(self):
        continuous = self.multipliers == "continuous"
        multipliers = LagrangeBasis(self.degree - (not continuous), self.nodes)
        return {"state": Space(LagrangeBasis(self.degree, self.nodes), continuous=True),
                "multipliers": Space(multipliers, continuous, "multipliers"),
                "nonholonomic": Space(LagrangeBasis(self.degree - 1, self.nodes), False, "nonholonomic")}

    test = trial
    slots = (*TimeElement.slots, ("nonholonomic", "value"))

    def nodal_values(self, system, times, state, multipliers):
        return [state, multipliers, nonholonomic_values(self, system, times, state)]

    def density(self, s):
        return s.motion, -s.constraints, -s.form  # the sign makes the tangent symmetric
