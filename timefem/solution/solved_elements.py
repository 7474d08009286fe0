"""The elements that a solution is made of."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..solvers.equations.outcome import NodalValues
from ..status import Attempted, Status

if TYPE_CHECKING:
    from ..elements.element import TimeElement
    from ..mechanics.system import System
    from ..solvers.nonsmooth.events import ContactEvent


@dataclass(eq=False, repr=False)
class _Made(Attempted):
    """By arrays."""

    system: System
    element: TimeElement
    t: np.ndarray
    z0: InitVar[np.ndarray]
    state: InitVar[np.ndarray]
    multipliers: InitVar[np.ndarray]
    status: Status
    statistics: dict[str, Any]
    fields: InitVar[dict[str, np.ndarray] | None] = None

    def __post_init__(self, z0, state, multipliers, fields):
        self.start, self.nodal = z0, NodalValues(state, multipliers, fields)


class SolvedElements(_Made):
    """Elements with their nodal values, which may be worked out when they are first asked for.

    Attributes
    ----------
    events : tuple of ContactEvent
        Of rigid contacts; none without such.
    solves_equations : bool
        Whether equations of motion hold in the elements; of motions fitted to measurements alone they do not.
    """

    events: tuple[ContactEvent, ...] = ()
    solves_equations = True

    @classmethod
    def of(cls, system: System, element: TimeElement, t: np.ndarray, z0: np.ndarray, values: NodalValues,
           status: Status, statistics: dict[str, Any]) -> SolvedElements:
        """The same made of `NodalValues`."""
        made = object.__new__(cls)
        made.__dict__.update(system=system, element=element, t=t, start=z0, nodal=values, status=status,
                             statistics=statistics)
        return made

    def _cut(self, n, status):
        """The same up to the end of n elements, with another status."""
        return self.of(self.system, self.element, self.t[:n + 1], self.start,
                       NodalValues(self.nodal.state[:n], self.nodal.multipliers[:n],
                                   {field: values[:n] for field, values in self.fields.items()}), status,
                       self.statistics)

    @property
    def fields(self) -> dict[str, np.ndarray]:
        """Nodal values of the further fields of the element by name, shape (n_elements, n_shapes, n_components)."""
        return self.nodal.others

    @cached_property
    def z(self) -> np.ndarray:
        """State at `t`, shape (n_elements + 1, n_z)."""
        return self.nodal.nodes(self.start)
