"""Power and work of the parts of a motion, and efforts of port systems along it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..assembly import TimeMesh
from ..errors import InputError
from ..mechanics.powers import powers
from ..polynomials import LagrangeBasis, gauss_legendre
from ..types import Floats

if TYPE_CHECKING:
    from ..mechanics.part import Part


def efforts_and_rates(sol, e, xi):
    """Rates of the shape functions at places of elements, and of port systems efforts: as the element sees them.

    Parameters
    ----------
    sol : Solution
    e, xi : ndarray, shape (n,)
        Numbers of elements, and reference coordinates in them.

    Returns
    -------
    ndarray, shape (n, n_q)
    """
    basis, h, n_q = sol.element.state.basis, np.diff(sol.t)[e], sol.system.n_q
    nodal = sol.nodal_state[e][..., :n_q]
    rate = np.einsum("gi,gia->ga", basis.derivatives(xi), nodal) / h[:, None]
    for body in sol.system.bodies:
        if body.is_port:
            place = sol.system.coordinates(body)
            rate[:, place] = _efforts(sol.element, body, nodal[..., place], xi)
    return rate


def _efforts(element, body, nodal, xi):
    """Efforts of a port system at places of elements with nodal states (n, n_shapes, n_x): (n, n_x)."""
    basis = element.state.basis
    if not element.lifted:
        return body.velocity(np.einsum("gi,gia->ga", basis.values(xi), nodal), None)
    k = element.degree  # their projection on polynomials of degree k - 1
    x, w = gauss_legendre(2 * k + 6)
    own, through = LagrangeBasis(k - 1, "gauss"), gauss_legendre(k)[1]
    values = body.velocity(np.einsum("mi,gia->gma", basis.values(x), nodal), None)
    at_points = np.einsum("m,mj,gma->gja", w, own.values(x), values) / through[:, None]
    return np.einsum("gj,gja->ga", own.values(xi), at_points)


class Works:
    """Base of `Invariants`."""

    def powers(self, t: Floats | None = None) -> dict[str, np.ndarray]:
        """Power of each part that does work besides a potential [W], dict name -> shape of `t`.

        Forces, controls, dampers, energies and constraints that depend on the time; of a `PortSystem` its sources less
        what it dissipates. The velocities are those that the element shows to forces, and so are efforts.

        Parameters
        ----------
        t : array_like, optional
            Times inside the solution [s]; default: the middles of the elements.
        """
        t = (self.t[1:] + self.t[:-1]) / 2 if t is None else np.asarray(t, float)
        e, xi = TimeMesh(self.t).locate(t.ravel())
        return {name: value.reshape(t.shape) for name, value in self._powers(e, xi).items()}

    def power(self, part: Part | str, t: Floats | None = None) -> np.ndarray:
        """Power of a part [W], see `powers`.

        Raises
        ------
        InputError
            Where the part does no work besides a potential; names those that do.
        """
        found, name = self.powers(t), part if isinstance(part, str) else self.system.label(self.system.own(part))
        if name not in found:
            raise InputError(f"{name!r} has no power; those that have: {', '.join(found) or 'none'}")
        return found[name]

    def works(self) -> dict[str, np.ndarray]:
        """Work of each part with a power since the start [J], at the ends of the elements: dict name -> (n + 1,).

        By the quadrature of the element: with `MixedGalerkin(k, keep="all")` their sum is the change of the energy to
        round-off, in each element. `work` integrates with more points, so that loads which the element does not resolve
        show there.
        """
        n = len(self.t) - 1
        x, w = gauss_legendre(self.element.n_points)
        e, xi = np.repeat(np.arange(n), len(x)), np.tile(x, n)
        return {name: np.concatenate([[0.0], np.cumsum(np.diff(self.t) * (value.reshape(n, -1) @ w))])
                for name, value in self._powers(e, xi).items()}

    def _powers(self, e, xi):
        h, basis = np.diff(self.t)[e], self.element.state.basis
        z = np.einsum("gi,gia->ga", basis.values(xi), self.nodal_state[e])
        multipliers = np.einsum("gi,gia->ga", self.element.multiplier.basis.values(xi), self.nodal_multipliers[e])
        controls = None
        if "controls" in self.fields:
            shapes = self.element.trial["controls"].basis.values(xi)
            controls = np.einsum("gi,gia->ga", shapes, self.fields["controls"][e])
        t = self.t[e] + h * xi
        rate, seen = efforts_and_rates(self, e, xi), None
        if not self.element.lifted:
            seen = self.system.velocity(t, z)
            for place in (self.system.coordinates(body) for body in self.system.bodies if body.is_port):
                seen[:, place] = rate[:, place]
        found = powers(self.system, t, z, rate, multipliers, controls, seen)
        return {self.system.label(part): value for part, value in found.items()}
