"""Scaling of unknowns and rows. What the condition number of a tangent is depends on it, so it has a name.

"none": weights as written in May & Betsch (14), (24). "reference": rows of constraints divided by h, as by weights on
the reference element. "weights": unknowns h lambda, and rows of algebraic constraints divided by h (mG(k) has none: its
constraints are differentiated). "full": also coordinates and momenta weighted with the mass, and constraints brought to
unit gradient.
"""

from dataclasses import dataclass, replace

import numpy as np

from .. import validate
from ..mechanics.values.at_start import at_start
from ..mechanics.values.of_parts import constraints_in_momenta, nonholonomic_derivatives

SCALINGS = ("full", "weights", "reference", "none")
POWERS = {"none": (0, 0), "reference": (0, -1)}  # of h for multipliers and constraints; of others -1, of the element
ONE, NONE = np.ones(1), np.zeros(0)


@dataclass(eq=False)
class Scaling:
    """Sizes of unknowns and weights of rows.

    Attributes
    ----------
    name : str
    state : ndarray, shape (n_z,)
        Size of `(q, p)`, and weight of the equations of motion.
    multipliers : ndarray, shape (n_multipliers,)
        Size of `(gamma, mu)`, and weight of the constraints, before powers of h.
    nonholonomic : ndarray, shape (2 n_nonholonomic,)
        The same of nonholonomic constraints and of their rates.
    multiplier_power, constraint_power : int
        Powers of h in the size of the multipliers and the weight of the constraints.
    emphasis : ndarray, shape (n_z,), or None
        Factors by which changes of the state of bodies count that are light beside others, see `measure`; None when
        all count alike.
    reference : float
        `size` of the state that it was made at.
    lifts : (float, float)
        Of optimal control: how much larger coordinates, and what goes with momenta, are than those of an energy of one
        in a time of one; equations in these are as much larger, and costates as much smaller.
    objective : float
        Its size, by which costates are larger, and equations of its gradient smaller.
    controls, constants : ndarray, or None
        Sizes of controls and of unknown constants; one unless given.
    """

    name: str
    state: np.ndarray
    multipliers: np.ndarray
    nonholonomic: np.ndarray
    multiplier_power: int
    constraint_power: int
    emphasis: np.ndarray | None = None
    reference: float = 1.0
    unit: float = 1.0  # size of what has none of its own
    lifts: tuple[float, float] = (1.0, 1.0)
    objective: float = 1.0
    controls: np.ndarray | None = None
    constants: np.ndarray | None = None

    @classmethod
    def of(cls, name, system, element, t, z):
        """The scaling called `name`, for a system at a typical state `z`."""
        validate.choice("scaling", name, SCALINGS)
        here = at_start(system, t, z)
        nonholonomic = np.ones(2 * system.n_nonholonomic) if system.n_nonholonomic else NONE
        if name == "full":
            state = system.state_scale
            multipliers = here.unit.copy()
            if not element.needs_inverse_mass:  # its rates of constraints are in velocities
                gamma, mu = np.split(multipliers, 2)
                np.copyto(mu, gamma, where=constraints_in_momenta(system))
            if system.n_nonholonomic:
                matrix, jacobian, _, _ = nonholonomic_derivatives(system, t, z)
                nonholonomic = np.concatenate([_unit_gradient(matrix, state), _unit_gradient(jacobian, state)])
        else:
            state, multipliers = np.ones(system.n_z), np.ones(system.n_multipliers)
        powers = POWERS.get(name) or (-1, element.constraint_row_power)
        scaling = cls(name, state, multipliers, nonholonomic, *powers,
                      None if here.emphasis is None else np.tile(here.emphasis, 2))
        scaling.reference = here.reference if name == "full" else scaling.size(z)
        return scaling

    def values(self):
        """All sizes one after the other, and a one first."""
        return np.concatenate(self.parts())

    def parts(self):
        """What `values` joins."""
        return ONE, self.state, self.multipliers, self.nonholonomic

    def same_as(self, other):
        """Whether all sizes, weights and powers are the same."""
        return self.name == other.name and self.unit == other.unit and (
            self.multiplier_power, self.constraint_power) == (other.multiplier_power, other.constraint_power) and all(
            a is b or np.array_equal(a, b) for a, b in (
                (self.state, other.state), (self.multipliers, other.multipliers),
                (self.nonholonomic, other.nonholonomic), (self.emphasis, other.emphasis),
                ((*self.lifts, self.objective), (*other.lifts, other.objective)), (self.controls, other.controls),
                (self.constants, other.constants)))

    def places(self):
        """The scaling with places in `values` for sizes."""
        sizes = self.state, self.multipliers, self.nonholonomic
        ends = np.cumsum([1, *map(len, sizes)])
        return replace(self, unit=0.0, **dict(zip(("state", "multipliers", "nonholonomic"),
                                        [np.arange(*ends[i:i + 2]) for i in range(3)], strict=True)))

    def size(self, z):
        """Size of a scaled state, by which tolerances are multiplied; 1 for a zero state."""
        return float(np.abs(z / self.state).max()) or 1.0

    def columns(self, numbering, lengths):
        """Sizes of all unknowns of a chain of elements, in time order."""
        return _along(numbering, lengths, *self.local(numbering, self.multiplier_power, self.constraint_power))

    def rows(self, numbering, lengths):
        """Weights of all rows of a chain of elements, in time order."""
        return _along(numbering, lengths, *self.local(numbering, self.constraint_power, self.multiplier_power, True))

    def emphasis_of(self, numbering):
        """`emphasis` of the dofs of one element, or None."""
        if self.emphasis is None:
            return None
        factors = np.ones(numbering.n_local)
        for field, space in zip(numbering.fields, numbering.spaces, strict=True):
            if space.components in ("state", "coordinates") and not space.dual:
                factors[field] = self.emphasis[:field.shape[-1]]
        return factors

    def states_of(self, numbering):
        """1 for the dofs of one element that are coordinates or momenta, 0 for others."""
        return numbering.states.astype(float)

    def local(self, numbering, power, dual_power=0, rows=False):
        """Sizes of the dofs of one element of length 1, and the power of its length that they carry.

        `dual_power` is for fields of costates, which belong to rows, and for rows that belong to unknowns.
        """
        size, exponent = np.full(numbering.n_local, self.unit), np.zeros(numbering.n_local, int)
        factors = np.ones(numbering.n_local)
        n, m = len(self.state) // 2, len(self.multipliers) // 2
        sizes = {"state": self.state, "coordinates": self.state[:n], "multipliers": self.multipliers,
                 "constraints": self.multipliers[:m], "impulses": self.multipliers[:m],
                 "nonholonomic pairs": self.nonholonomic,
                 "nonholonomic": self.nonholonomic[:len(self.nonholonomic) // 2]}
        for field, space in zip(numbering.fields, numbering.spaces, strict=True):
            costate = space.dual is not rows  # or an equation, whose tests are costates
            if self.objective != 1 and costate is not rows:
                factors[field] = 1 / self.objective if rows else self.objective
            if space.components == "controls" and self.controls is not None:
                size[field] = self.controls
                continue
            if hasattr(space.components, "shared") and self.constants is not None:  # the unknown constants
                size[field] = 1 / self.constants if costate else self.constants
                continue
            size[field] = sizes.get(space.components, self.unit)
            if self.lifts != (1, 1) and isinstance(space.components, str):
                lift = self._lifts_of(space, field.shape[-1], costate)
                size[field] *= 1 / lift if costate else lift
            if space.components in ("multipliers", "constraints", "joints", "nonholonomic", "nonholonomic pairs"):
                exponent[field] = dual_power if space.dual else power
        return size if self.objective == 1 else size * factors, exponent


    def _lifts_of(self, space, n, costate):
        """Of the components of a field, or of the equations that its costates belong to, shape (n,)."""
        places, momenta = self.lifts
        if space.of_paths:
            return places
        halves = {"state": (momenta, places) if costate else (places, momenta),  # of costates of q: of momenta
                  "multipliers": (places, momenta) if costate else (momenta, places)}
        halves["nonholonomic pairs"] = halves["multipliers"]
        return np.repeat(halves.get(space.components, (momenta, momenta)), [n // 2, n - n // 2])


def _unit_gradient(jacobian, state):
    """What brings the rows of a Jacobian to a largest entry of one, in scaled states: by momenta, where there are any,
    as rates change with coordinates in another unit of time."""
    jacobian, n = jacobian.tocoo(), len(state) // 2
    gradient = np.zeros((2, jacobian.shape[0]))
    level, sizes = np.minimum(jacobian.col // n, 1), np.abs(jacobian.data) * state[jacobian.col]
    np.maximum.at(gradient, (level, jacobian.row), sizes)
    beside, largest = gradient
    largest = np.where(largest > 0, largest, beside)
    return 1 / np.where(largest > 0, largest, 1.0)


def _along(numbering, lengths, size, exponent):
    n, values = numbering.n_node, np.empty(numbering.n_node + len(lengths) * (len(size) - numbering.n_node))

    def fill(out, part, lengths):
        out[:] = size[part]
        for power in set(exponent[part].tolist()) - {0}:
            own = exponent[part] == power
            out[:, own] = size[part][own] * lengths[:, None] ** float(power)
        return out

    fill(values[None, :n], slice(n), lengths[:1])
    elements = fill(values[n:].reshape(len(lengths), -1), slice(n, None), lengths)
    right = elements[:-1, elements.shape[1] - n:]
    right += fill(np.empty_like(right), slice(n), lengths[1:])
    right /= 2  # the mean where two elements meet
    return values
