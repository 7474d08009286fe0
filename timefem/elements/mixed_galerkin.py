"""The mixed Galerkin method mG(k): a Petrov-Galerkin time element that can be marched."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..memory import Late
from ..polynomials import LagrangeBasis
from ..records import frozen
from ..validate.options import FORMS, check_fields, field
from .element import Space, TimeElement

if TYPE_CHECKING:
    import casadi as ca

    from ..mechanics.system import System
    from .kept import Kept

kept_by = Late(f"{__package__}.kept")  # imports SciPy


@frozen
class MixedGalerkin(TimeElement):
    """mG(k), May & Betsch (14): state in P^k, continuous; tests and multipliers in P^(k-1), discontinuous.

    Order 2k at the nodes. Constraints that are at most quadratic hold at the nodes to round-off.

    Nonholonomic constraints A qdot + a = 0 have two multipliers each, as the others have: for themselves, with the
    force -A^T gamma, and for their rate of change with qdot = dH/dp. So they take no energy and keep the order 2k.

    The forms other than Hamilton's start from Livens' principle, with the kinetic energy T(q, v) instead of H: the
    mass matrix may be singular, vary, and couple bodies.

    Parameters
    ----------
    degree : int
        k, at least 1.
    n_points : int, optional
        Gauss points, at least k. 2k by default for Hamilton's and the energy form, and where those have a polynomial
        mass matrix the energy of bodies is kept; k for the others, which makes them symplectic. k keeps the angular
        momentum. A constraint of degree d in the coordinates needs about k d / 2.
    nodes : {"equidistant", "lobatto"}
    form : {"hamilton", "lagrange", "impulse", "energy"}, optional
        Of the equations of motion; unless given Hamilton's, and of trees, which that does not take, Lagrange's, with
        constraints the energy form. "lagrange", without constraints: the discrete Euler-Lagrange equations, in the
        coordinates alone when marched. "impulse": symplectic with k points, also with constraints. "energy": keeps the
        energy where the mass matrix is constant, singular or not; the method of Hamilton's form where it is regular.
    keep : {"points", "all"}
        What the elements keep: what the Gauss points do, see `n_points`, or with k of them energy, momenta and
        constraints together, by lifted gradients (see `timefem.elements.gradients`): the energy of any formula without
        the time; constraints of any degree at the nodes, with their rates; every momentum that Poisson-commutes with
        the lifts of the parts (`Part.lift`, see `docs/theory/invariants.md`). Forces then see the rate of the shape
        functions for the velocity, so that the energy changes by their work in each element, to round-off. Livens'
        forms keep energies of position alone in this way.

    Raises
    ------
    InputError
        For numbers out of range, and options that contradict each other.
    """

    degree: int = field("degree")
    n_points: int | None = field("n_points", default=None)
    nodes: str = field("nodes")
    form: str | None = field("form", default=None)
    keep: str = field("keep")

    name = "mg"
    takes_outputs = costates_converge = keeps_factors = True
    _any_form = True  # whether none is given

    def __post_init__(self):
        check_fields(self)
        object.__setattr__(self, "_any_form", self.form is None)
        object.__setattr__(self, "form", self.form or "hamilton")
        if self.n_points is None and isinstance(self.degree, int):
            per_degree = 1 if self.lifted else self._form.most_points
            object.__setattr__(self, "n_points", per_degree * self.degree)
        self._validate(minimum_points=self.degree if isinstance(self.degree, int) else 1)
        if self.lifted and not self._form.takes_lifts:
            able = " or ".join(f"form={name!r}" for name, form in FORMS.items() if form.takes_lifts)
            raise InputError(f"form={self.form!r} does not take keep='all'; use {able}")
        if self.lifted and self.n_points != self.degree:
            raise InputError(f"keep='all' needs n_points = degree = {self.degree}, which integrate the work of what is "
                             f"kept; {self.n_points} are given")

    @cached_property
    def _form(self):
        return FORMS[self.form]()

    @property
    def lifted(self) -> bool:
        """Whether gradients are lifted ones."""
        return self.keep == "all"

    @property
    def one_kernel(self) -> bool:
        return self.lifted and self.form == "hamilton"

    @property
    def energy_drifts(self) -> bool:
        return self.form != "hamilton"

    @property
    def order(self) -> int:
        """Order of convergence at the nodes."""
        return 2 * self.degree

    @property
    def density_key(self) -> Hashable:
        by_degree = self.form != "hamilton" or self.lifted  # the density sees the nodes
        return type(self), type(self._form), self.keep, (self.degree, self.nodes) if by_degree else ()

    @property
    def symbols(self) -> type:
        return self._form.symbols

    @property
    def takes_ports(self) -> bool:
        return self._form.takes_ports

    @property
    def takes_reactions(self) -> bool:
        return self._form.takes_reactions

    @property
    def needs_inverse_mass(self) -> bool:
        return self._form.needs_inverse_mass

    @property
    def takes_coupled_inertia(self) -> bool:
        return self._form.takes_coupled_inertia

    @cached_property
    def trial(self) -> dict[str, Space]:
        return {"state": Space(LagrangeBasis(self.degree, self.nodes), continuous=True)} | self._form.trial(self)

    @property
    def test(self) -> dict[str, Space]:
        return self._form.test(self)

    @property
    def slots(self) -> tuple[tuple[str, Any], ...]:
        nodes = [("state", i) for i in range(self.degree + 1)] if self.lifted else []
        return tuple(dict.fromkeys((*self._form.slots(self), *nodes)))

    @property
    def test_slots(self) -> tuple[tuple[str, Any], ...]:
        return self._form.test_slots(self)

    @property
    def explicit(self) -> tuple[tuple[str, int, str, int], ...]:
        return self._form.explicit(self)

    def fitting(self, system: System) -> MixedGalerkin:
        """Of trees, whose mass matrix varies: Lagrange's form; with constraints, forces that see theirs or those of
        contacts, or `keep="all"` the energy form."""
        trees = any(body.velocity_by_solve for body in system.bodies)
        if not trees or not self._any_form:
            return self
        given = self.n_points != self._form.most_points * self.degree
        constrained = (system.n_constraints or system.n_nonholonomic
                       or any(part.reactions_of for part in system.parts))
        return replace(self, form="energy" if constrained or self.lifted else "lagrange",
                       n_points=self.n_points if given else None)

    def check(self, system: System) -> None:
        self._form.check(self, system)
        super().check(system)

    def kept(self, system: System) -> Kept:
        """What the element keeps of a system to round-off, and what not and why; of elements with `keep="all"`.

        Decided from the lifts of the parts: momenta whose Poisson brackets with them vanish, which are polynomials.

        Parameters
        ----------
        system : System

        Returns
        -------
        Kept

        Raises
        ------
        InputError
            For other elements and forms, which keep what `docs/theory/elements.md` says.
        """
        element = self.fitting(system)
        if not element.lifted or element.form not in ("hamilton", "energy"):
            raise InputError("kept(system) describes MixedGalerkin(k, keep='all') in Hamilton's and the energy form; "
                             "see docs/theory/elements.md for what the others keep")
        return kept_by.kept(element, system)

    def kept_multipliers(self, system: System) -> np.ndarray:
        return self._form.kept_multipliers(system)

    def nodal_values(self, system: System, times: np.ndarray, state: np.ndarray,
                     multipliers: np.ndarray) -> list[np.ndarray]:
        return self._form.nodal_values(self, system, times, state, multipliers)

    def density(self, s: Any) -> tuple[ca.SX, ...]:
        return self._form.density(self, s)
