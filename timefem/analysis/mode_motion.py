"""A mode as a motion that can be drawn."""

import numpy as np

from .. import validate
from ..elements.mixed_galerkin import MixedGalerkin
from ..solution.solution import Solution
from ..status import Status
from .chart import moving
from .nearby import assembled, displaced
from .options import OPTIONS


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
    system, states, first = model.system, {}, 0
    for body in moving(system):
        n = 6 if body.has_orientation else body.n_q
        own, first = move[first:first + n], first + n
        still = np.zeros(3 if body.has_orientation else n)
        states[body] = displaced(body, model.z[system.coordinates(body)], own, still)
    states = assembled(system, states, model.t)
    z = np.concatenate([model.z[:system.n_q], np.zeros(system.n_q)])
    for body in moving(system):
        z[system.coordinates(body)] = states[body].q
    return z
