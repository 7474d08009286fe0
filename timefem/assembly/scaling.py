"""Scaling of unknowns and rows. What the condition number of a tangent is depends on it, so it has a name.

"none": weights as written in May & Betsch (14), (24). "weights": unknowns h lambda, and rows of algebraic constraints
divided by h. "full": also coordinates and momenta weighted with the mass, and constraints brought to unit gradient.
"""

from dataclasses import dataclass

import numpy as np

from .. import validate

SCALINGS = ("full", "weights", "none")


@dataclass(frozen=True, eq=False)
class Scaling:
    """Sizes of unknowns and weights of rows.

    Attributes
    ----------
    name : str
    state : ndarray, shape (n_z,)
        Size of `(q, p)`, and weight of the equations of motion.
    multipliers : ndarray, shape (n_multipliers,)
        Size of `(gamma, mu)`, and weight of the constraints, before powers of h.
    multiplier_power, constraint_power : int
        Powers of h in the size of the multipliers and the weight of the constraints.
    """

    name: str
    state: np.ndarray
    multipliers: np.ndarray
    multiplier_power: int
    constraint_power: int

    @classmethod
    def of(cls, name, system, element, t, z):
        """The scaling called `name`, for a system at a typical state `z`."""
        validate.choice("scaling", name, SCALINGS)
        state, multipliers = np.ones(system.n_z), np.ones(system.n_multipliers)
        if name == "full":
            root = np.sqrt(system.mass_scale)
            state = np.concatenate([1 / root, root])
            gradient = np.abs(system.derivatives(t, z)[1] * state).max(axis=1, initial=0)
            multipliers = 1 / np.where(gradient > 0, gradient, 1.0)
        powers = (0, 0) if name == "none" else (-1, element.constraint_row_power)
        return cls(name, state, multipliers, *powers)

    def size(self, z):
        """Size of a scaled state, by which tolerances are multiplied; 1 for a zero state."""
        return float(np.abs(z / self.state).max()) or 1.0

    def columns(self, numbering, lengths):
        """Sizes of all unknowns of a chain of elements, in time order."""
        return self._along(numbering, lengths, self.multiplier_power)

    def rows(self, numbering, lengths):
        """Weights of all rows of a chain of elements, in time order."""
        return self._along(numbering, lengths, self.constraint_power)

    def _along(self, numbering, lengths, power):
        total, count = np.zeros((2, numbering.n_node + len(lengths) * numbering.step))
        start = numbering.step * np.arange(len(lengths))[:, None]
        for field, size, p in zip(numbering.fields, (self.state, self.multipliers), (0, power), strict=True):
            for shape in field:  # within one shape function no place occurs twice
                total[shape + start] += size * lengths[:, None] ** float(p)
                count[shape + start] += 1
        return total / count  # the mean where two elements meet
