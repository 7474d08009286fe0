"""A system linearised at one state: matrices with named states, inputs and outputs; its natural modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..display import Card, Summarized
from ..elements.mixed_galerkin import MixedGalerkin
from ..errors import InputError, known_names
from ..records import frozen
from ..solution.solution import Solution
from ..sparse import ROUNDING, TINY, balanced, eigen, spectrum, split_zeros
from ..status import Status
from ..types import Vector
from .chart import components, moving
from .nearby import displaced
from .options import OPTIONS
from .reduction import Reduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class LinearModel(Summarized):
    """`xdot = A x + B u`, `y = C x + D u` for small x, u, y around a state.

    x are independent displacements of bodies, then their rates; of displacements of rigid bodies `position` [m] is
    that of the centre of mass and `rotation` [rad] a small turn about axes of space.

    Attributes
    ----------
    A, B, C, D : ndarray, shapes (n, n), (n, m), (l, n), (l, m)
    state_names, input_names, output_names, displacement_names : list of str
    system : System
        Without redundant constraints.
    t : float
        [s]
    z : ndarray, shape (n_z,)
        The state.
    multipliers : ndarray, shape (n_constraints + n_nonholonomic,)
        Of the constraints on configuration level, and of the nonholonomic ones, there.
    controls : ndarray, shape (n_controls,)
        Of all actuators at the state.
    frame : ndarray, shape (3,)
        Angular velocity of the frame in which the motion is steady [rad/s].
    displacements : ndarray, shape (n_displacements, n)
        Displacements of all bodies, by name in `displacement_names`, per unit of x.
    """

    reduction: Reduction
    z: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    input_names: list[str]
    output_names: list[str]

    def __post_init__(self):
        at = self.reduction.at
        self.A, self.state_names = self.reduction.a, self.reduction.names
        self.system, self.t, self.multipliers = at.system, at.t, at.multipliers
        self.controls = at.u
        self.frame, self.displacements = self.reduction.omega, self.reduction.displacements
        self.displacement_names = components(at.system)

    def __repr__(self):
        return (f"LinearModel({len(self.A)} states, {len(self.input_names)} inputs, {len(self.output_names)} outputs, "
                f"{'steady' if self.steady else 'not steady'})")

    @cached_property
    def steady(self) -> bool:
        """Whether the state is at rest, or moves so that the matrices stay as they are: straight, about axes of
        symmetry, or in a frame that turns. Only then eigenvalues are those of a motion.
        """
        return self.reduction.steady and self.reduction.stays()

    @property
    def mass(self) -> np.ndarray:
        """Mass matrix in the displacements of all bodies."""
        return self.reduction.mass

    @cached_property
    def _spectrum(self):
        return spectrum(self.A, self.reduction.terms)

    @cached_property
    def _known_roots(self):
        return {}  # by the structure that is given, or None

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of A [1/s], shape (n,), by size; those that are zero by structure last, as exact zeros."""
        return self._spectrum[0]

    @property
    def n_unstable(self) -> int:
        """Eigenvalues whose real part is positive, beyond what rounding may have made of it."""
        return len(self.growing)

    @property
    def growing(self) -> np.ndarray:
        """These eigenvalues [1/s], shape (n_unstable,)."""
        values, errors = self._roots(None)
        return values[values.real > errors]

    @property
    def kernels(self) -> Sequence[int]:
        """Dimensions of the kernels that make up the eigenvalue zero, see `split_zeros`."""
        return self._without_zeros()[1]

    def _without_zeros(self, kernels=None):
        """What `split_zeros` says of the balanced matrix, and the terms of the part without zeros."""
        matrix, scale = balanced(self.A)
        terms = self.reduction.terms * scale / scale[:, None]
        rest, sizes, basis, _ = split_zeros(matrix, kernels, terms)
        return rest, sizes, np.abs(basis.T) @ terms @ np.abs(basis)

    def roots(self, kernels: Sequence[int] | None = None) -> np.ndarray:
        """Eigenvalues without those that are zero by structure, of a structure that is given or found."""
        return self._roots(kernels)[0]

    def growth(self, kernels: Sequence[int] | None = None) -> np.ndarray:
        """Real parts of `roots`."""
        return self.roots(kernels).real

    def neutral(self, kernels: Sequence[int] | None = None) -> np.ndarray:
        """Growth of each of the `roots` that is none [1/s]: by how much rounding may have moved it."""
        return self._roots(kernels)[1]

    def _roots(self, kernels):
        """`roots` and `neutral`, which are asked for one after the other."""
        key = None if kernels is None else tuple(kernels)
        if key not in self._known_roots:
            rest, _, terms = self._without_zeros(kernels)
            self._known_roots[key] = eigen(rest, terms, ROUNDING)[:2]
        return self._known_roots[key]

    def modes(self) -> Modes:
        """Natural modes, as a `Modes`: a sequence that prints as a table."""
        return Modes(self, *self._spectrum)

    def frequency_response(self, frequencies: Vector) -> np.ndarray:
        """`G(i w) = C (i w - A)^-1 B + D` at frequencies w [rad/s], shape (n_frequencies, l, m), complex.

        Raises
        ------
        InputError
            For frequencies that are not numbers, and models without inputs or outputs.
        """
        w = validate.array("frequencies", np.atleast_1d(frequencies), (None,))
        for what, names in (("inputs", self.input_names), ("outputs", self.output_names)):
            if not names:
                raise validate.InputError(f"the model has no {what}; give linearize(..., {what}=...)")
        return np.array([self._response(1j * x * np.eye(len(self.A)) - self.A) for x in w])

    def _response(self, matrix):
        """`C x + D` with `matrix x = B` by scaled rows: a Schur form, which would serve all frequencies, loses slow
        motions beside fast ones."""
        rows = 1 / np.maximum(np.abs(matrix).max(axis=1, initial=0.0), TINY)[:, None]
        try:
            return self.C @ np.linalg.solve(rows * matrix, rows * self.B) + self.D
        except np.linalg.LinAlgError:
            return np.full(self.D.shape, np.inf)

    def plot_frequency_response(self, frequencies: Vector, output: int = 0, input: int = 0,
                                ax: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
        """Draw magnitude and phase [deg] over frequency [Hz].

        Parameters
        ----------
        frequencies : array_like, shape (n,)
            [rad/s]
        output, input : int
            Their numbers in `output_names` and `input_names`.
        ax : pair of Axes, optional

        Returns
        -------
        magnitude, phase : matplotlib.axes.Axes

        Raises
        ------
        InputError
            As `frequency_response`, and for numbers that are none of these.
        """
        values = self.frequency_response(frequencies)
        for what, number, names in (("output", output, self.output_names), ("input", input, self.input_names)):
            if validate.integer(what, number, minimum=0) >= len(names):
                raise validate.InputError(f"{what} must be at most {len(names) - 1}, the number of {names[-1]}, not "
                                          f"{number}")
        values = values[:, output, input]
        if ax is None:
            from matplotlib import pyplot as plt

            ax = plt.subplots(2, sharex=True)[1]
        above, below = ax
        hertz = np.asarray(frequencies) / (2 * np.pi)
        above.loglog(hertz, np.abs(values))
        above.set_ylabel("magnitude")
        above.set_title(f"{self.output_names[output]} by {self.input_names[input]}", fontsize="medium")
        below.semilogx(hertz, np.rad2deg(np.unwrap(np.angle(values))))
        below.set(xlabel="frequency [Hz]", ylabel="phase [deg]")
        return above, below

    def as_dict(self) -> dict[str, Any]:
        """Matrices and names, for JSON."""
        return {"A": self.A.tolist(), "B": self.B.tolist(), "C": self.C.tolist(), "D": self.D.tolist(),
                "states": self.state_names, "inputs": self.input_names, "outputs": self.output_names, "t": self.t,
                "steady": self.steady, "frame": self.frame.tolist(),
                "eigenvalues": [[float(x.real), float(x.imag)] for x in self.eigenvalues]}

    def summary(self) -> Card:
        """What there is, as a table."""
        rest = ", ..." * (len(self.state_names) > OPTIONS.listed_states)
        facts = {"states": ", ".join(self.state_names[:OPTIONS.listed_states]) + rest,
                 "inputs": ", ".join(self.input_names) or "none", "outputs": ", ".join(self.output_names) or "none",
                 "steady": "yes" if self.steady else "no: frozen at this instant", "unstable": self.n_unstable}
        return Card(f"linear model at t = {self.t:g} s", facts)


@frozen(eq=False)
class Mode:
    """Small motion `Re(shape exp(eigenvalue t))`.

    Attributes
    ----------
    eigenvalue : complex
        [1/s]
    shape : dict
        Name of a displacement -> its complex amplitude; the largest, in the metric of the mass, is real.
    shares : dict
        Name -> share of the kinetic energy.
    state : ndarray, shape (n,)
        In the states of the model.
    model : LinearModel
    """

    eigenvalue: complex
    shape: dict[str, complex]
    shares: dict[str, float]
    state: np.ndarray
    model: LinearModel

    @property
    def frequency(self) -> float:
        """Of the oscillation [Hz]; zero without one."""
        return abs(self.eigenvalue.imag) / (2 * np.pi)

    @property
    def natural_frequency(self) -> float:
        """|eigenvalue| / 2 pi [Hz]."""
        return abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damping(self) -> float:
        """Damping ratio -Re(eigenvalue) / |eigenvalue|; NaN of an eigenvalue that is zero."""
        return 0.0 - self.eigenvalue.real / abs(self.eigenvalue) if self.eigenvalue else float("nan")

    @property
    def moves(self) -> str:
        """What moves most, in words."""
        named = sorted(self.shares.items(), key=lambda x: -x[1])[:OPTIONS.named_displacements]
        return ", ".join(f"{name} {100 * share:.0f} %" for name, share in named
                         if share >= min(OPTIONS.least_share, named[0][1]))

    def __repr__(self):
        return f"Mode({self.eigenvalue:.6g}: {self.moves})"

    def motion(self, size: float = 0.1, periods: float = 1.0) -> Solution:
        """The mode as a `Solution`, without its growth, for pictures and films: `save`, `plot.viewer`.

        Parameters
        ----------
        size : float
            Largest displacement, in m or rad.
        periods : float
            How many of them; of a mode that does not oscillate, times 1 / |eigenvalue|.
        """
        return mode_motion(self, size, periods)


def _told(part, size):
    return 0.0 if abs(part) <= 1e-10 * size else part


MODE_HEADER = "eigenvalue [1/s]", "frequency [Hz]", "damping ratio", "what moves"


def mode_row(mode):
    """A mode for people, as texts: parts that are rounding beside others are zero."""
    value = mode.eigenvalue
    real, imaginary = (_told(x, abs(value)) for x in (value.real, value.imag))
    text = f"{real:.6g}" + (f" +- {abs(imaginary):.6g}i" if imaginary else "")
    return text, f"{mode.frequency:.6g}", f"{_told(mode.damping, 1.0):.4g}", mode.moves


class Modes(Summarized, Sequence):
    """The modes of a `LinearModel`, one for each pair of eigenvalues, by the size of the eigenvalue.

    Attributes
    ----------
    n_neutral : int
        Eigenvalues that are zero by structure: motions that nothing opposes. Those with a shape are the last modes.
    """

    def __init__(self, model: LinearModel, eigenvalues: np.ndarray, vectors: np.ndarray) -> None:
        self.model = model
        self._modes = []
        upper = (eigenvalues.imag >= 0) & np.isfinite(vectors).all(axis=0)
        vectors = vectors[:, upper]
        shapes, root = model.displacements @ vectors, np.sqrt(np.maximum(model.mass.diagonal(), 0))[:, None]
        weighted, energies = root * np.abs(shapes), np.abs(np.real(shapes.conj() * (model.mass @ shapes)))
        weighted = np.where(weighted.max(axis=0, initial=0.0) > 0, weighted, np.abs(shapes))
        names = model.displacement_names
        columns = vectors.T, shapes.T, weighted.T, energies.T
        for mu, x, shape, weights, energy in zip(eigenvalues[upper], *columns, strict=True):
            if not np.abs(shape).max(initial=0):
                continue
            phase = np.exp(-1j * np.angle(shape[weights.argmax()])) / np.abs(shape).max()
            total = energy.sum() or 1.0
            self._modes.append(Mode(complex(mu), dict(zip(names, phase * shape, strict=True)),
                                    dict(zip(names, (energy / total).tolist(), strict=True)), phase * x, model))
        self.n_neutral = int((eigenvalues == 0).sum())

    def __len__(self) -> int:
        return len(self._modes)

    def __getitem__(self, i: Any) -> Any:
        return self._modes[i]

    @property
    def frequencies(self) -> np.ndarray:
        """[Hz], shape (n,), of the modes that oscillate."""
        return np.array([m.frequency for m in self._modes if m.frequency])

    def find(self, name: str) -> Mode:
        """The mode in which a displacement has its largest share of the kinetic energy.

        Raises
        ------
        InputError
            When there is no such displacement.
        """
        if name not in self.model.displacement_names:
            raise InputError(f"no displacement {name!r}{known_names(name, self.model.displacement_names, 'there are')}")
        return max(self._modes, key=lambda m: m.shares[name])

    def summary(self) -> Card:
        """As a table: text where it is printed, HTML in a notebook."""
        least = self.model.growing.real.min(initial=np.inf)
        listed = [m for i, m in enumerate(self._modes) if i < OPTIONS.listed_modes or m.eigenvalue.real >= least]
        rows = [MODE_HEADER, *map(mode_row, listed)]
        facts = {"states": len(self.model.A), "unstable eigenvalues": self.model.n_unstable,
                 "eigenvalues zero by structure": self.n_neutral}
        if len(listed) < len(self):
            facts["listed"] = f"{len(listed)} of {len(self)} modes, the slowest and what grows; modes[i] is any of them"
        if not self.model.steady:
            facts["note"] = "the motion is not steady: these are eigenvalues of one instant, not of a motion"
        return Card(f"modes at t = {self.model.t:g} s", facts, {"modes": rows})

    def as_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [{"eigenvalue": [m.eigenvalue.real, m.eigenvalue.imag], "frequency": m.frequency,
                 "damping": None if not m.eigenvalue else m.damping,
                 "shape": {k: [v.real, v.imag] for k, v in m.shape.items()}, "shares": m.shares} for m in self._modes]


# ---- A mode as a motion that can be drawn

def mode_motion(mode, size, periods):
    """Bodies moved along a mode with finite turns, and put together again where joints would part: a `Solution`.

    Growth and decay are left out, and momenta, which pictures do not need, are zero.

    Parameters
    ----------
    mode : Mode
    size : float
        Largest displacement [m or rad].
    periods : float
        How many; of a mode that does not oscillate, times 1 / |eigenvalue|.
    """
    size, periods = (validate.real(*x, positive=True) for x in (("size", size), ("periods", periods)))
    rate = abs(mode.eigenvalue.imag) / (2 * np.pi) or abs(mode.eigenvalue) or 1.0
    t = np.linspace(0, periods / rate, max(2, round(OPTIONS.frames_of_mode * periods)) + 1)
    phase = 2 * np.pi * rate * t
    factors = np.exp(1j * phase) if mode.eigenvalue.imag else np.sin(phase)
    moves = size * np.real(factors[:, None] * np.array(list(mode.shape.values())))
    z = np.array([_state(mode.model, move) for move in moves])
    state = np.stack([z[:-1], z[1:]], axis=1)
    system = mode.model.system
    multipliers = np.zeros((len(state), 1, system.n_multipliers))
    return Solution(system, MixedGalerkin(1), t, z[0], state, multipliers, Status(True), {})


def _state(model, move):
    system = model.system
    states = displaced(system, model.t, model.z[:system.n_q], move, np.zeros(len(move)))
    z = np.concatenate([model.z[:system.n_q], np.zeros(system.n_q)])
    for body in moving(system):
        z[system.coordinates(body)] = states[body].q
    return z
