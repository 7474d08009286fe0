"""What a form of the equations of motion gives to a Galerkin element."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...mechanics.values.of_parts import consistent_velocity
from ...polynomials import LagrangeBasis
from ..element import Space
from .symbols import LivensSymbols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mechanics.system import System
    from ..element import TimeElement


class Form(ABC):
    """Spaces, tests and rows of a form. Where a method takes an `element`, it is the Galerkin element it is asked for.

    Attributes
    ----------
    name : str
        What `MixedGalerkin(form=...)` calls it.
    symbols : callable
        Makes the argument of `density`.
    needs_inverse_mass, takes_coupled_inertia, takes_ports : bool
        As for `TimeElement`.
    takes_reactions : bool
        As for `TimeElement`: the density has `s.rubbed` or the like.
    takes_lifts : bool
        Whether the density takes lifted gradients with `keep="all"`, which is refused otherwise.
    most_points : int
        Gauss points per degree, by default.
    """

    symbols = LivensSymbols
    needs_inverse_mass, takes_coupled_inertia, takes_ports = False, True, False
    takes_reactions = takes_lifts = False
    most_points = 1

    @abstractmethod
    def trial(self, element: TimeElement) -> dict[str, Space]:
        """Trial spaces without that of the state."""

    @abstractmethod
    def test(self, element: TimeElement) -> dict[str, Space]:
        """Test spaces by field."""

    @abstractmethod
    def slots(self, element: TimeElement) -> tuple[tuple[str, Any], ...]:
        """As `TimeElement.slots`."""

    def test_slots(self, element: TimeElement) -> tuple[tuple[str, Any], ...]:
        """As `TimeElement.test_slots`."""
        return tuple((name, "value") for name in self.test(element))

    def explicit(self, element: TimeElement) -> tuple[tuple[str, int, str, int], ...]:
        """As `TimeElement.explicit`."""
        return ()

    @abstractmethod
    def density(self, element: TimeElement, s: Any) -> Sequence[Any]:
        """Rows of one part per test slot, in the symbols `s`."""

    @abstractmethod
    def nodal_values(self, element: TimeElement, system: System, times: np.ndarray, state: np.ndarray,
                     multipliers: np.ndarray) -> list[np.ndarray]:
        """As `TimeElement.nodal_values`."""

    def kept_multipliers(self, system: System) -> np.ndarray:
        """As `TimeElement.kept_multipliers`."""
        return np.ones(system.n_multipliers, bool)

    def check(self, element: TimeElement, system: System) -> None:
        """Refuse systems that the form cannot take."""
        if system.n_nonholonomic:
            raise InputError(f"form={self.name!r} does not take nonholonomic constraints "
                             f"('{system.nonholonomic_names[0]}'); use form='hamilton', or 'energy', also of trees")


def at_nodes(name, element, components="coordinates"):
    """Tests of rows that stand for each node but the first: one constant per node."""
    return {f"{name} {i}": Space(LagrangeBasis(0), False, components) for i in nodes(element)}


def momenta_rows(element, s):
    """Rows `p = T_v(q, u)` at each node but the first."""
    for i in nodes(element):
        q, p = s.node(i)
        yield (s.inertia(p) - s.momentum(q, s.slots["velocity", i])) / s.h


def nodes(element):
    """Numbers of the nodes of an element but the first."""
    return range(1, element.degree + 1)


def velocities(system, times, state):
    """Velocities of states: those of the momenta, that hold the constraints; shapes (...), (..., n_z) -> (..., n_q)."""
    if not system.couples_inertia:
        return system.velocity(times, state)
    shape = state.shape[:-1]
    found = [consistent_velocity(system, t, z) for t, z in
             zip(np.broadcast_to(times, shape).ravel(), state.reshape(-1, system.n_z), strict=True)]
    return np.array(found).reshape(*shape, system.n_q)
