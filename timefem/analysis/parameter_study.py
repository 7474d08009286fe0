"""Eigenvalues, or Floquet multipliers, along a parameter: root loci and critical values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from .. import validate
from ..display import Card, Summarized
from ..errors import InputError, named_arguments
from ..progress import progress as progress_bar
from ..progress import showing
from ..records import frozen
from ..solution.drawing.plots import new_axes
from ..types import Vector
from .options import OPTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@frozen
class CriticalValue:
    """Where the number of unstable roots changes.

    Attributes
    ----------
    value : float
        Of the parameter.
    root : complex
        The eigenvalue [1/s] or Floquet multiplier there, with positive imaginary part.
    before, after : int
        Numbers of unstable roots.
    """

    value: float
    root: complex
    before: int
    after: int

    @property
    def kind(self) -> str:
        """"divergence" of a real root, "oscillation" of a pair (Hopf bifurcation); "period doubling" of a Floquet
        multiplier -1."""
        if abs(self.root.imag) > 1e-6 * abs(self.root):
            return "oscillation"
        return "period doubling" if self.root.real < -0.5 else "divergence"

    def __float__(self):
        return self.value


@dataclass(eq=False, repr=False)
class RootLocus(Summarized):
    """Roots along a parameter.

    Attributes
    ----------
    values : ndarray, shape (n_values,)
    roots : ndarray, shape (n_values, n)
        Eigenvalues [1/s], or Floquet multipliers, each column followed along the parameter; without those that are
        zero by structure at all values.
    n_unstable : ndarray of int, shape (n_values,)
    family : callable
    """

    values: np.ndarray
    roots: np.ndarray
    n_unstable: np.ndarray
    family: Callable
    kernels: Any = None

    def critical_values(self) -> list[CriticalValue]:
        """The values between the samples where the number of unstable roots changes: list of `CriticalValue`."""
        found = []
        for i in np.flatnonzero(np.diff(self.n_unstable)):
            found.append(_refined(self.family, self.kernels, *self.values[[i, i + 1]], *self.n_unstable[[i, i + 1]]))
        return found

    def summary(self) -> Card:
        """As a table."""
        rows = [("value", "unstable", "roots")]
        shown = np.unique(np.linspace(0, len(self.values) - 1, OPTIONS.listed_values).astype(int))
        for i in shown:
            texts = [f"{r.real:.4g}" + (f" +- {r.imag:.4g}i" if r.imag else "") for r in self.roots[i] if r.imag >= 0]
            rows.append((f"{self.values[i]:.6g}", int(self.n_unstable[i]), "; ".join(texts[:OPTIONS.listed_values])))
        return Card("roots along a parameter", {"values": len(self.values)}, {"roots": rows})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Real parts over the parameter in full lines, imaginary parts dashed; of multipliers the absolute value."""
        ax = new_axes(ax)
        maps = _of_map(self.family(self.values[0]))
        for column in self.roots.T:
            colour = ax.plot(self.values, np.abs(column) if maps else column.real)[0].get_color()
            if not maps and np.any(column.imag > 0):
                ax.plot(self.values, np.where(column.imag > 0, column.imag, np.nan), "--", color=colour)
        ax.axhline(float(maps), color="0.3", linewidth=0.8)
        ax.set(xlabel="parameter", ylabel="|multiplier|" if maps else "real part, dashed: imaginary part [1/s]")
        return ax


@named_arguments
def root_locus(family: Callable[[float], Any], values: Vector, *, progress: bool | None = None) -> RootLocus:
    """Roots of a family of linear models or periodic motions at values of its parameter.

    Parameters
    ----------
    family : callable
        `family(value)` -> `LinearModel` or `Floquet`.
    values : array_like, shape (n_values,)
        Increasing; of a spacing in which roots can be followed.
    progress : bool, optional
        As for `solve`; also of the solves of the family that do not say themselves.

    Returns
    -------
    RootLocus

    Raises
    ------
    InputError
        When the family returns something else, or changes its number of states.
    """
    values = validate.array("values", values, (None,))
    if len(values) < 2 or np.any(np.diff(values) <= 0):
        raise InputError("values must be at least two, and increase")
    if not callable(family):
        raise InputError(f"family must be a function value -> LinearModel or Floquet, not {family!r}")
    models = []
    title = "roots along a parameter"
    with showing(progress, title), progress_bar(title, len(values)) as bar:
        for value in values:
            models.append(family(float(value)))
            if not hasattr(models[-1], "roots"):
                raise InputError(f"family must return a LinearModel or a Floquet, as from linearize, not "
                                 f"{models[-1]!r}")
            bar.advance()
    kernels = Counter(tuple(model.kernels) for model in models).most_common(1)[0][0]
    found = [model.roots(kernels) for model in models]
    if len({len(roots) for roots in found}) > 1:
        raise InputError("the number of states changes along the parameter")
    counts = np.array([np.count_nonzero(m.growth(kernels) > m.neutral(kernels)) for m in models])
    return RootLocus(values, _followed(np.array(found)), counts, family, kernels)


@named_arguments
def critical_values(family: Callable[[float], Any], span: tuple[float, float],
                    n_samples: int = 33, *, progress: bool | None = None) -> list[CriticalValue]:
    """Values of a parameter at which stability changes: where an eigenvalue crosses the imaginary axis, or a Floquet
    multiplier the unit circle.

    Between two samples whose numbers of unstable roots differ, the interval is halved, and then the growth of the
    root that changes is followed to its zero. Roots that are zero by structure (the place of a vehicle on the road)
    are left out exactly, so that a real root that passes zero among them is found to round-off.

    Parameters
    ----------
    family : callable
        `family(value)` -> `LinearModel` or `Floquet`.
    span : (float, float)
        Of the parameter.
    n_samples : int
        Two changes between neighbours that cancel are not seen.
    progress : bool, optional
        As for `root_locus`.

    Returns
    -------
    list of CriticalValue

    Raises
    ------
    InputError
        When the span does not go forward, or the family returns something else or changes its number of states.

    Examples
    --------
    >>> import timefem as tf
    >>> def follower(k):
    ...     mass = tf.PointMass(1.0, dimension=1, name="mass")
    ...     return tf.linearize(tf.System([mass, tf.Damper(mass, None, (0, 0, 0), (-1, 0, 0), k)]), {})
    """
    low, high = validate.array("span", span, (2,)).tolist()
    n_samples = validate.integer("n_samples", n_samples, minimum=2)
    if not low < high:
        raise InputError("span must go forward")
    with showing(progress, "critical values"):
        return root_locus(family, np.linspace(low, high, n_samples)).critical_values()


def _of_map(model):
    return hasattr(model, "multipliers") and hasattr(model, "period")


def _followed(roots):
    """Each root beside its successor: the assignment with the least sum of distances to where it was heading."""
    out = roots.copy()
    for i in range(1, len(out)):
        expected = out[i - 1] if i == 1 else 2 * out[i - 1] - out[i - 2]
        _, order = scipy.optimize.linear_sum_assignment(np.abs(expected[:, None] - roots[i][None]))
        out[i] = roots[i][order]
    return out


def _refined(family, kernels, low, high, before, after):
    """The critical value in an interval, by halving on the count, then by the growth of the root that changes."""
    outer, span, met = (low, high), high - low, {}

    def at(value):
        """Roots, their growth, and what of it is none."""
        if value not in met:
            model = family(value)
            met[value] = model.roots(kernels), model.growth(kernels), model.neutral(kernels)
        return met[value]

    def unstable(value):
        _, growth, none = at(value)
        return np.count_nonzero(growth > none)

    def halved(low, high):
        middle = (low + high) / 2
        return (middle, high) if unstable(middle) == before else (low, middle)

    while high - low > OPTIONS.narrow * span:
        low, high = halved(low, high)
    after, pair = unstable(high), _changing(at(low), at(high))
    seen = {low: pair[0], high: pair[1]}  # the root, followed

    def grown(value):
        a, b = sorted(seen, key=lambda x: abs(x - value))[:2]
        target = seen[a] + (value - a) / (b - a) * (seen[b] - seen[a])
        roots, growth, none = at(value)
        place = np.abs(roots - target).argmin()
        seen[value] = roots[place]
        return growth[place], none[place]

    # the count changes where growth is more than rounding: it may begin before that
    calm, other, limit = (low, high, outer[0]) if after > before else (high, low, outer[1])
    step, (growth, none) = calm - other, grown(calm)
    while growth >= -none and calm != limit:
        calm, step = min(max(calm + step, outer[0]), outer[1]), 2 * step
        growth, none = grown(calm)
    if growth < -none and grown(other)[0] > 0:
        value = scipy.optimize.brentq(lambda x: grown(x)[0], calm, other, xtol=1e-15 * max(abs(low), abs(high)),
                                      rtol=1e-15)
    else:  # a root that meets another one on the boundary: its growth has no slope there
        while high - low > OPTIONS.narrowest * span and low < (low + high) / 2 < high:
            low, high = halved(low, high)
        value = (low + high) / 2
    grown(value)
    root, size = complex(seen[value]), max(abs(pair[0]), abs(pair[1]))
    imag = abs(root.imag) if abs(root.imag) > 1e-6 * size else 0.0  # of roots that meet at zero
    return CriticalValue(float(value), complex(root.real, imag), int(before), int(after))


def _changing(first, last):
    """The root whose growth changes its sign in a short interval, of roots, growth and what is none at both ends."""
    (roots, growth, _), (others, *_) = first, last
    _, order = scipy.optimize.linear_sum_assignment(np.abs(roots[:, None] - others[None]))
    before, after = (np.sign(np.where(np.abs(growth) > none, growth, 0)) for _, growth, none in (first, last))
    places = np.flatnonzero(before != after[order])
    place = places[np.abs(growth[places]).argmin()] if len(places) else np.abs(growth).argmin()
    pair = roots[place], others[order][place]
    return pair if pair[0].imag >= 0 else tuple(np.conj(pair))
