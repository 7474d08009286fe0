"""The mixed Galerkin method mG(k): a Petrov-Galerkin time element that can be marched."""

from dataclasses import dataclass

from .basis import LagrangeBasis
from .element import Space, TimeElement


@dataclass(frozen=True)
class MixedGalerkin(TimeElement):
    """mG(k), May & Betsch (14): state in P^k, continuous; tests and multipliers in P^(k-1), discontinuous.

    Order 2k at the nodes. Constraints that are at most quadratic hold at the nodes to round-off.

    Parameters
    ----------
    degree : int
        k, at least 1.
    n_points : int, optional
        Gauss points, at least k. The default 2k keeps the energy of quaternion bodies (polynomial mass matrix) and
        of director bodies; k keeps the angular momentum.
    nodes : {"equidistant", "lobatto"}
    """

    degree: int
    n_points: int | None = None
    nodes: str = "equidistant"

    name = "mg"

    def __post_init__(self):
        self._validate(minimum_points=self.degree if isinstance(self.degree, int) else 1)

    @property
    def order(self):
        """Order of convergence at the nodes."""
        return 2 * self.degree

    @property
    def trial(self):
        return {"state": Space(LagrangeBasis(self.degree, self.nodes), continuous=True),
                "multipliers": Space(LagrangeBasis(self.degree - 1, self.nodes), False, "multipliers")}

    @property
    def test(self):
        basis = LagrangeBasis(self.degree - 1, self.nodes)
        return {"state": Space(basis, continuous=False), "multipliers": Space(basis, False, "multipliers")}

    def density(self, s):
        return s.motion, s.constraint_rate
