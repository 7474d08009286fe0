"""Derivatives with controllers in discrete time: what they hold follows from states of earlier times.

With the held forces h as numbers of the equations, `R(x, c, h) = 0` and `h = L(x, c)`, the law at the times at which
it is told. So `dx = dx_0 + X dh` with the motion dx_0 of held forces and `X = -R_x^-1 R_h`, and `(1 - L_x X) dh =
L_x dx_0 + L_c dc`, whose matrix is triangular in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from ..mechanics.symbols import Symbols
from .functionals import Evaluated, Values
from .parameters import Directions

if TYPE_CHECKING:
    from ..mechanics.forces.controllers import SampledController
    from .linearization import Linearization


class Told(Values):
    """What the law of a controller says at the times at which it is told, as far as it is held later."""

    def __init__(self, controller: SampledController, start: float) -> None:
        self.part = controller
        super().__init__(self._law, start + controller.period * np.arange(controller.n_held - 1), controller.bodies)

    def _law(self, views, t, own):
        s = Symbols(self.part)
        at = s.at([view.q for view in views], s.p, [view.v for view in views], t)
        at.own = own
        return self.part.told_in(at)


class SampledFeedback:
    """The held forces of all sampled controllers at a solution.

    Parameters
    ----------
    linearization : Linearization
    controllers : list of SampledController
    """

    def __init__(self, linearization: Linearization, controllers: list[SampledController]) -> None:
        lin = linearization
        self._told = [Evaluated(Told(c, lin.mesh.nodes[0]), lin.plan, lin.mesh, lin.x, lin.places)
                      for c in controllers]
        self._held = np.concatenate([lin.places.start[c] + c.places_of_held() for c in controllers])
        self._n = len(lin.x), lin.places.size
        n, system = len(self._held), lin.system
        entries = np.ones(n), (self._held, np.arange(n))
        units = scipy.sparse.csc_array(entries, shape=(lin.places.size, n))
        rest = [scipy.sparse.csc_array((rows, n)) for rows in (lin.places.size, system.n_q, system.n_q, system.n_z)]
        self._motion = lin.motion_of_equations(Directions(units, *rest, [""] * n))
        self._matrix = np.eye(n) - self._forward(self._motion, np.zeros((lin.places.size, n)))

    def _forward(self, dx, dc):
        return np.concatenate([told.forward(dx, dc) for told in self._told])

    def follow(self, dx: np.ndarray, dc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Changes of dofs and numbers, shapes (n_dofs, n), (n_numbers, n), from those with the held forces kept."""
        change = np.linalg.solve(self._matrix, self._forward(dx, dc))
        dc = dc.copy()
        dc[self._held] += change
        return dx + self._motion @ change, dc

    def back(self, by_x: np.ndarray, by_c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients by dofs and numbers with the held forces kept, from those of what follows, shapes (n_dofs,), ..."""
        by_told = np.linalg.solve(self._matrix.T, by_c[self._held] + self._motion.T @ by_x)
        by_x, by_c, first = by_x.copy(), by_c.copy(), 0
        by_c[self._held] = 0.0
        for told in self._told:
            x, c = told.backward(by_told[first:first + len(told.values)], *self._n)
            first += len(told.values)
            by_x += x
            by_c += c
        return by_x, by_c
