"""The mixed Galerkin method mG(k): a Petrov-Galerkin time element that can be marched."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from .. import validate
from ..polynomials import LagrangeBasis
from .element import Space, TimeElement
from .nonholonomic_terms import nonholonomic_values


@dataclass(frozen=True)
class MixedGalerkin(TimeElement):
    """mG(k), May & Betsch (14): state in P^k, continuous; tests and multipliers in P^(k-1), discontinuous.

    Order 2k at the nodes. Constraints that are at most quadratic hold at the nodes to round-off.

    Nonholonomic constraints A qdot + a = 0 have two multipliers each, as the others have: for themselves, with the
    force -A^T gamma, and for their rate of change with qdot = dH/dp. So they take no energy and keep the order 2k.

    Parameters
    ----------
    degree : int
        k, at least 1.
    n_points : int, optional
        Gauss points, at least k. The default 2k keeps the energy of quaternion bodies (polynomial mass matrix) and
        of director bodies; k keeps the angular momentum.
    nodes : {"equidistant", "lobatto"}
    constraints : {"gradient", "discrete-gradient"}
        How constraints are differentiated: by their gradient, or by a discrete one (see `discrete_constraints`), with
        which all holonomic constraints that do not depend on the time hold at the nodes to round-off, of any degree and
        with any number of Gauss points. Both keep the energy when its own gradient is integrated exactly.
    """

    degree: int
    n_points: int | None = None
    nodes: str = "equidistant"
    constraints: str = "gradient"

    name = "mg"

    def __post_init__(self):
        validate.choice("constraints", self.constraints, ("gradient", "discrete-gradient"))
        self._validate(minimum_points=self.degree if isinstance(self.degree, int) else 1)

    @property
    def order(self):
        """Order of convergence at the nodes."""
        return 2 * self.degree

    @property
    def density_key(self):
        return type(self), self.constraints

    @property
    def _discrete(self):
        return self.constraints == "discrete-gradient"

    @property
    def _discontinuous(self):
        basis = LagrangeBasis(self.degree - 1, self.nodes)
        spaces = {"multipliers": Space(basis, False, "multipliers"),
                  "nonholonomic": Space(basis, False, "nonholonomic pairs")}
        if self._discrete:
            spaces["corrections"] = Space(LagrangeBasis(0), False, "multipliers")
        return spaces

    @property
    def trial(self):
        return {"state": Space(LagrangeBasis(self.degree, self.nodes), continuous=True)} | self._discontinuous

    @property
    def test(self):
        return {"state": Space(LagrangeBasis(self.degree - 1, self.nodes), continuous=False)} | self._discontinuous

    @property
    def slots(self):
        slots = (*super().slots, ("nonholonomic", "value"))
        if self._discrete:
            slots += (("corrections", "value"), ("state", "left"), ("state", "right"))
        return slots

    def nodal_values(self, system, times, state, multipliers):
        values = [state, multipliers, nonholonomic_values(self, system, times, state)]
        return values + [np.zeros((len(state), 1, system.n_multipliers))] * self._discrete

    def density(self, s):
        rows = s.motion, s.constraint_rate, ca.vertcat(s.form_of_rate, s.form_rate)
        return discrete_constraints(s, *rows) if self._discrete else rows


def discrete_constraints(s, motion, constraint_rate, form):
    """Rows with the discrete gradient `D Theta = grad Theta + kappa (qdot, 0)` in the place of `grad Theta`.

    kappa is constant over the element, one number per constraint, such that the integral of `D Theta zdot` by Gauss
    quadrature is the increment of Theta: the midpoint discrete gradient of Gonzalez carried over to elements of any
    degree (May & Betsch, end of Sect. 3.1, ask for such a derivative). It is of the size of the error of quadrature,
    h^(2k) at least; where nothing moves it is zero.
    """
    kappa, n = s.slots["corrections", "value"], s.z.numel() // 2
    if not kappa.numel():
        return motion, constraint_rate, form, ca.SX(0, 1)
    if ca.depends_on(s.constraints, s.t):
        raise validate.InputError("constraints='discrete-gradient' needs constraints that do not depend on the time; "
                                  f"{s.part!r} does; leave constraints out")
    at = ca.Function("theta", [s.z, s.parameters], [s.constraints])
    left, right = s.slots["state", "left"], s.slots["state", "right"]
    rate = s.rate[:n]
    square = ca.sumsqr(rate)
    still = 1e-14 * (ca.sumsqr((left + right)[:n]) / 4 + 1e-30) / s.h**2
    motion = motion - ca.vertcat(ca.dot(kappa, s.multipliers) * rate, ca.SX(n, 1))
    increment = (at(right, s.parameters) - at(left, s.parameters)) / s.h
    return (motion, constraint_rate + kappa * square, form, constraint_rate + kappa * (square + still) - increment)
