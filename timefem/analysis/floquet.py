"""Floquet multipliers and Lyapunov exponents: what happens to small changes, by the tangents of the elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..display import Card, Summarized
from ..errors import InputError, named_arguments
from ..mechanics.contacts.rigid import refuse_events
from ..mechanics.values.equations_of_motion import EquationsOfMotion
from ..mechanics.values.measures import TINY
from ..mechanics.values.of_parts import kinetic_energy
from ..progress import progress as progress_bar
from ..progress import showing
from ..solution.drawing.plots import new_axes
from ..solution.solution import Solution
from ..sparse import balanced, eigen
from .nearby import carried, minimal_changes, piece, state_changes, state_gap
from .options import OPTIONS
from .reduction import Reduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..solution.solution import Solution
    from ..solvers.linear.base import LinearOptions
    from .reduction import Symmetry


@dataclass(eq=False, repr=False)
class Floquet(Summarized):
    """Stability of a periodic motion.

    The monodromy matrix is the exact derivative of the discrete motion over one period, in minimal coordinates: of a
    motion that conserves energy multipliers are 1 twice, and of one without a drive once.

    Attributes
    ----------
    solution : Solution
    monodromy : ndarray, shape (n, n)
    state_names : list of str
    period : float
        [s]
    """

    solution: Solution
    monodromy: np.ndarray
    state_names: list[str]
    period: float

    @cached_property
    def _spectrum(self):
        """Multipliers, and by how much each may be off."""
        matrix = balanced(self.monodromy)[0]
        size = np.linalg.norm(matrix, 2) if len(matrix) else 0.0
        values, errors, _ = eigen(matrix, size * np.eye(len(matrix)), OPTIONS.multiplier_rounding)
        order = np.lexsort((-values.imag, -np.round(np.abs(values), 12)))
        return values[order], np.minimum(errors, 1.0)[order]

    @property
    def multipliers(self) -> np.ndarray:
        """Eigenvalues of the monodromy matrix, shape (n,), the largest first."""
        return self._spectrum[0]

    @property
    def errors(self) -> np.ndarray:
        """By how much rounding may have moved each multiplier, shape (n,): by its condition number, which is large
        where multipliers meet, such as those of what is conserved at 1."""
        return self._spectrum[1]

    @property
    def exponents(self) -> np.ndarray:
        """log(multiplier) / period [1/s], shape (n,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.multipliers) / self.period

    @property
    def n_unstable(self) -> int:
        """Multipliers outside of the unit circle by more than their errors."""
        return int((self.growth() > self.neutral()).sum())

    @property
    def n_marginal(self) -> int:
        """Multipliers on the unit circle, as far as their errors tell."""
        return int((np.abs(self.growth()) <= self.neutral()).sum())

    @property
    def stable(self) -> bool:
        """Whether no multiplier lies outside of the unit circle; where some are `n_marginal`, to first order."""
        return not self.n_unstable

    # ---- what root loci ask of a family

    kernels = ()

    def neutral(self, kernels: Sequence[int] = ()) -> np.ndarray:
        """Of each multiplier the `growth` that is none, shape (n,)."""
        return np.maximum(OPTIONS.neutral_multiplier, self.errors)

    def roots(self, kernels: Sequence[int] = ()) -> np.ndarray:
        """The multipliers."""
        return self.multipliers

    def growth(self, kernels: Sequence[int] = ()) -> np.ndarray:
        """log |multiplier|, shape (n,)."""
        return np.log(np.maximum(np.abs(self.multipliers), 1e-300))

    def summary(self) -> Card:
        """As a table."""
        rows = [("multiplier", "absolute value", "exponent [1/s]")]
        rows += [(f"{m.real:.8g}" + (f" {m.imag:+.8g}i" if m.imag else ""), f"{abs(m):.8g}", f"{e.real:.6g}")
                 for m, e in zip(self.multipliers, self.exponents, strict=True)]
        facts = {"period": f"{self.period:g} s", "states": ", ".join(self.state_names), "unstable": self.n_unstable,
                 "marginal, to their errors": self.n_marginal}
        return Card("Floquet multipliers", facts, {"multipliers": rows})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Multipliers in the complex plane, with the unit circle."""
        ax = new_axes(ax)
        angle = np.linspace(0, 2 * np.pi, 200)
        ax.plot(np.cos(angle), np.sin(angle), color="0.6", linewidth=0.8)
        ax.plot(self.multipliers.real, self.multipliers.imag, "o")
        ax.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
        return ax


@named_arguments
def floquet(solution: Solution, *, linear: LinearOptions | str | None = None,
            modulo: Symmetry | None = None) -> Floquet:
    """Floquet multipliers of a solution over one period.

    Parameters
    ----------
    solution : Solution
        Of an initial-value problem, or `Periodic.solution`, that ends where it begins. Orientations may end with the
        other sign of the quaternion.
    linear : LinearOptions or str, optional
        Linear solver; default: the time-chain LU.
    modulo : Symmetry, optional
        Turns and shifts after which the motion counts as closed; multipliers are then those of the motion seen from
        the end, turned and shifted back.

    Returns
    -------
    Floquet

    Raises
    ------
    InputError
        When the motion does not close, or is not a solution of an initial-value problem; where feedback in discrete
        time holds forces beyond its end.
    """
    check_held(solution.system, float(solution.t[-1] - solution.t[0]))
    first, last, back = monodromy_ends(solution, modulo)
    gap = state_gap(last, first)
    if not (np.abs(gap) <= OPTIONS.closes * sizes_of_gaps(solution, first)).all():
        raise InputError(f"the motion is not periodic: after {solution.t[-1] - solution.t[0]:g} s states differ by "
                         f"{np.abs(gap).max():.2g}; find a periodic one with tf.periodic")
    return of_ends(solution, first, last, linear, back)


def sizes_of_gaps(solution, first, flows=None):
    """What gaps of minimal coordinates count by, shape (n,): displacements by the motion in the metric of the mass, the
    kinetic energy at most and the time of a radian; rates by that per time; states of first order by their values.

    Parameters
    ----------
    solution : Solution
    first : Reduction
        At its start.
    flows : dict, optional
        Place in the state -> size of it, where it is not that of this solution.
    """
    system, (t, z), (y, s) = solution.system, (solution.t, solution.z), first.chosen
    time, n = float(t[-1] - t[0]) / (2 * np.pi), system.n_q
    energy = kinetic_energy(system, t, z, system.velocity(t, z)).max()
    rest = OPTIONS.rest * np.abs(z[:, :n] / system.state_scale[:n]).max(initial=0.0)
    root = np.sqrt(np.maximum(np.diag(first.mass), 0))
    size = max(np.sqrt(2 * energy) * time, rest, TINY)
    size = size / np.where(root > 0, root, root.max(initial=0.0) or 1.0)
    size = np.concatenate([size[y], size[s] / time])
    for state, place in flows_among(first).items():
        size[state] = (flows or {}).get(place) or np.abs(z[:, place]).max() or 1.0
    return size


def flows_among(reduction):
    """Which minimal coordinates are states of first order, dict to their places in the state: each has a unit of its
    own, in which its size is that of its values."""
    places = dict(zip(reduction.chart.flows, reduction.at.flows.tolist(), strict=True))
    return {i: places[y] for i, y in enumerate(reduction.chosen[0]) if y in places}


def check_held(system, length):
    """InputError where forces of feedback in discrete time go on beyond the end of a period: they are no state here."""
    for part in system.parts:
        count = 0.0 if part.period is None else length / part.period
        if part.period is not None and (part.delay or abs(count - round(count)) > OPTIONS.closes):
            raise InputError(f"{system.label(part)} holds forces beyond the end of {length:g} s; take a whole number "
                             f"of its periods of {part.period:g} s, and no delay")


def monodromy_ends(solution, modulo=None):
    """`Reduction` at both ends of a solution, in the same coordinates, and the `WayBack` of the last one."""
    system, (t1, z1) = solution.system, solution.end
    first = Reduction(EquationsOfMotion.of_state(system, float(solution.t[0]), solution.z[0]), turning=False)
    last = Reduction(EquationsOfMotion.of_state(system, t1, z1), first.chosen, turning=False)
    if modulo is None:
        return first, last, None
    back = modulo.way_back(first, last, z1)
    return first, Reduction(EquationsOfMotion.of_state(system, t1, back(z1)), first.chosen, turning=False), back


def of_ends(solution, first, last, linear=None, back=None):
    """The `Floquet` between two ends; that of a motion that does not close is the derivative of its end."""
    carried_on = carried(solution, state_changes(first), linear)
    carried_on = carried_on if back is None else back.matrix @ carried_on
    return Floquet(solution, minimal_changes(last, carried_on), first.names, float(solution.t[-1] - solution.t[0]))


@dataclass(eq=False)
class Lyapunov:
    """Exponents of a motion.

    Attributes
    ----------
    exponents : ndarray, shape (n,)
        [1/s], the largest first: `log(growth) / time` over the whole motion.
    t, history : ndarray, shapes (n_pieces,), (n_pieces, n)
        Times [s], and the exponents up to there, in the order of the directions.
    """

    exponents: np.ndarray
    t: np.ndarray
    history: np.ndarray

    def __repr__(self):
        rows = [("number", "exponent [1/s]")]
        rows += [(i + 1, f"{x:.6g}") for i, x in enumerate(self.exponents)]
        return repr(Card(f"Lyapunov exponents up to t = {self.t[-1]:g} s", {}, {"exponents": rows}))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Exponents over the time up to which they are taken."""
        ax = new_axes(ax)
        ax.plot(self.t, self.history)
        ax.set(xlabel="time [s]", ylabel="exponent [1/s]")
        return ax


@named_arguments
def lyapunov(solution: Solution, n: int | None = None, *, every: int = OPTIONS.piece,
             linear: LinearOptions | str | None = None, progress: bool | None = None) -> Lyapunov:
    """Lyapunov exponents of a motion, by marching tangents along it with repeated orthogonalisation.

    Benettin's method, with the exact derivatives of the elements of the solution, on the motions that the constraints
    allow. Exponents of a finite time tend to those of the system as 1 / time.

    Parameters
    ----------
    solution : Solution
        Of an initial-value problem.
    n : int, optional
        How many, the largest ones; default: as many as the state has free components.
    every : int
        Elements after which tangents are made orthogonal.
    linear : LinearOptions or str, optional
        Linear solver; default: the time-chain LU.
    progress : bool, optional
        As for `solve`.

    Returns
    -------
    Lyapunov

    Raises
    ------
    InputError
        When the solution failed or is not one of an initial-value problem.
    """
    if isinstance(solution, Solution):
        refuse_events(solution.system, "tf.lyapunov")
    if type(solution) is not Solution or not solution.success:
        raise InputError("solution must be a Solution that succeeded")
    every = validate.integer("every", every, minimum=1)
    first, *_ = monodromy_ends(solution)
    scale = 1 / solution.system.state_scale[:, None]
    basis = scale * state_changes(first)
    most = basis.shape[1]
    n = most if n is None else validate.integer("n", n, minimum=1)
    if n > most:
        raise InputError(f"n = {n}, but the state has only {most} free components")
    # in general position, so that the first directions are not special ones
    basis, _ = np.linalg.qr(basis)
    basis = basis @ np.linalg.qr(np.random.default_rng(0).standard_normal((most, most)))[0][:, :n]
    total, times, history = np.zeros(n), [], []
    starts = range(0, len(solution.t) - 1, every)
    with showing(progress), progress_bar("Lyapunov exponents", len(starts)) as bar:
        for start in starts:
            part = piece(solution, start, min(start + every, len(solution.t) - 1))
            basis, r = np.linalg.qr(scale * carried(part, basis / scale, linear))
            total += np.log(np.maximum(np.abs(np.diag(r)), 1e-300))
            times.append(part.t[-1])
            history.append(total / (part.t[-1] - solution.t[0]))
            bar.advance()
    return Lyapunov(np.sort(history[-1])[::-1], np.array(times), np.array(history))
