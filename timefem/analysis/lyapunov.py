"""Lyapunov exponents: how fast neighbouring motions part, by the tangents of the elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import validate
from ..argument_names import named_arguments
from ..display import Card
from ..errors import InputError
from ..mechanics.contacts.rigid import refuse_events
from ..progress import progress
from ..solution.drawing.plots import new_axes
from ..solution.solution import Solution
from .floquet import monodromy_ends
from .nearby import carried, piece, state_changes
from .options import OPTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..solvers.linear.base import LinearOptions


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
             linear: LinearOptions | str | None = None) -> Lyapunov:
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
    with progress("Lyapunov exponents", len(starts)) as bar:
        for start in starts:
            part = piece(solution, start, min(start + every, len(solution.t) - 1))
            basis, r = np.linalg.qr(scale * carried(part, basis / scale, linear))
            total += np.log(np.maximum(np.abs(np.diag(r)), 1e-300))
            times.append(part.t[-1])
            history.append(total / (part.t[-1] - solution.t[0]))
            bar.advance()
    return Lyapunov(np.sort(history[-1])[::-1], np.array(times), np.array(history))
