"""Natural modes: frequency, damping, and what moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..argument_names import known_names
from ..display import Card, Summarized
from ..errors import InputError
from .mode_motion import mode_motion

if TYPE_CHECKING:
    from ..solution.solution import Solution
    from .linear_model import LinearModel

NAMED, LEAST = 3, 0.05  # displacements that are named, and their least share of the kinetic energy


@dataclass(frozen=True, eq=False)
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
        return -self.eigenvalue.real / abs(self.eigenvalue) if self.eigenvalue else float("nan")

    @property
    def moves(self) -> str:
        """What moves most, in words."""
        named = sorted(self.shares.items(), key=lambda x: -x[1])[:NAMED]
        return ", ".join(f"{name} {100 * share:.0f} %" for name, share in named if share >= min(LEAST, named[0][1]))

    def __repr__(self):
        return f"Mode({self.eigenvalue:.6g}: {self.moves})"

    def motion(self, size: float = 0.1, periods: float = 1.0) -> Solution:
        """The mode as a `Solution`, without its growth, for pictures and films: `animate`, `save_html`.

        Parameters
        ----------
        size : float
            Largest displacement, in m or rad.
        periods : float
            How many of them; of a mode that does not oscillate, times 1 / |eigenvalue|.
        """
        return mode_motion(self, size, periods)


def eigenvalue_text(value):
    """An eigenvalue, or a pair, for people: parts that are rounding beside the other are zero."""
    small = 1e-10 * abs(value)
    real, imaginary = (x if abs(x) > small else 0.0 for x in (value.real, value.imag))
    return f"{real:.6g}" + (f" +- {abs(imaginary):.6g}i" if imaginary else "")


class Modes(Summarized, Sequence):
    """The modes of a `LinearModel`, one for each pair of eigenvalues, by the size of the eigenvalue.

    Attributes
    ----------
    n_neutral : int
        Eigenvalues that are zero by structure: motions that nothing opposes. Those with a shape are the last modes.
    """

    def __init__(self, model: LinearModel, eigenvalues: np.ndarray, vectors: np.ndarray) -> None:
        self.model = model
        root = model.mass
        self._modes = []
        for mu, x in zip(eigenvalues, vectors.T, strict=True):
            if mu.imag < 0 or not np.isfinite(x).all():
                continue
            shape = model.displacements @ x
            energy = np.real(shape.conj() * (root @ shape))
            if not np.abs(shape).max(initial=0):
                continue
            weighted = np.sqrt(np.maximum(root.diagonal(), 0)) * np.abs(shape)
            lead = int(weighted.argmax()) if weighted.max() else int(np.abs(shape).argmax())
            phase = np.exp(-1j * np.angle(shape[lead])) / np.abs(shape).max()
            total = np.abs(energy).sum() or 1.0
            names = model.displacement_names
            self._modes.append(Mode(complex(mu), dict(zip(names, phase * shape, strict=True)),
                                    dict(zip(names, (np.abs(energy) / total).tolist(), strict=True)), phase * x, model))
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
        """The mode in which a displacement has its largest share of the kinetic energy."""
        if name not in self.model.displacement_names:
            raise InputError(f"no displacement {name!r}{known_names(name, self.model.displacement_names, 'there are')}")
        return max(self._modes, key=lambda m: m.shares[name])

    def summary(self) -> Card:
        """As a table: text where it is printed, HTML in a notebook."""
        rows = [("eigenvalue [1/s]", "frequency [Hz]", "damping ratio", "what moves")]
        rows += [(eigenvalue_text(m.eigenvalue), f"{m.frequency:.6g}", f"{m.damping:.4g}", m.moves)
                 for m in self._modes]
        facts = {"states": len(self.model.A), "unstable eigenvalues": self.model.n_unstable,
                 "eigenvalues zero by structure": self.n_neutral}
        if not self.model.steady:
            facts["note"] = "the motion is not steady: these are eigenvalues of one instant, not of a motion"
        return Card(f"modes at t = {self.model.t:g} s", facts, {"modes": rows})

    def as_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [{"eigenvalue": [m.eigenvalue.real, m.eigenvalue.imag], "frequency": m.frequency,
                 "damping": None if not m.eigenvalue else m.damping,
                 "shape": {k: [v.real, v.imag] for k, v in m.shape.items()}, "shares": m.shares} for m in self._modes]
