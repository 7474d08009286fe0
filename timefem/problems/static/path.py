"""`equilibrium_path`: equilibria followed along the load, past limit points, with the loads at which they are critical.

Pseudo-arc length (Keller 1977): unknowns (x, t), a step along the tangent of the curve, Newton's method in the plane
across it, by the tangent bordered with the derivative by the load and the plane: at a limit point it is regular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ... import validate
from ...display import digits
from ...errors import InputError, named_arguments
from ...mechanics.composites.along import along
from ...mechanics.states.closing import warn_of_other_side
from ...mechanics.system import System
from ...progress import progress as progress_bar
from ...solution.audit import warn_of_bends
from ...status import Answer, Reason, Status
from ...types import Floats, States
from .equations import OPTIONS, bordered, solve
from .equilibrium import dropped_fault, from_guess, newton, rest_coordinates, starting, undetermined, without_redundant

if TYPE_CHECKING:
    from ...mechanics.body_frame import BodyFrame
    from ...mechanics.composites.along import Along
    from ...mechanics.composites.mesh import CurveMesh


@dataclass(eq=False)
class StaticPath(Answer):
    """Equilibria along the load.

    Attributes
    ----------
    system : System
    t : ndarray, shape (n,)
        Load parameter: the time at which loads are taken [s]. It turns back at limit points.
    q, multipliers : ndarray, shapes (n, n_q), (n, n_constraints)
    n_unstable : ndarray of int, shape (n,)
        Directions in which the energy falls: 0 is stable.
    critical : list of dict
        Points where the tangent is singular: "t", "q", "mode" (n_q,), and "kind", "limit" or "bifurcation".
    status : Status
    """

    system: System
    t: np.ndarray
    q: np.ndarray
    multipliers: np.ndarray
    n_unstable: np.ndarray
    critical: list[dict[str, Any]]
    status: Status

    numbers = frozenset({"q", "multipliers", "position", "along"})

    def __repr__(self):
        found = ", ".join(f"{point['kind']} at {point['t']:.6g}" for point in self.critical) or "no critical point"
        return f"StaticPath({self.system!r}, {len(self.t)} points from t={self.t[0]:g} to {self.t[-1]:g}, {found}, " \
               f"{self.status.message})"

    def position(self, body: BodyFrame | str) -> np.ndarray:
        """Positions of a body or node along the path [m], shape (n, 3)."""
        body = self.system.find(body)
        return body.position(vars(self)["q"][:, self.system.coordinates(body)])

    def along(self, beam: CurveMesh | str, s: Floats | None = None) -> Along:
        """As `Equilibrium.along`, for all points of the path: arrays of shape (n_points, n, ...)."""
        return along(self.system, beam, s, (self.t, vars(self)["q"], None))


@named_arguments
def equilibrium_path(system: System, t_end: float, guess: States | None = None, *, start: float = 0.0,
                     n_steps: int = 20, max_steps: int = OPTIONS.path_steps,
                     progress: bool | None = None) -> StaticPath:
    """Follow equilibria `R(x, t) = 0` from the load of `start` until t reaches `t_end`, past limit points.

    Parameters
    ----------
    system : System
    t_end : float
        Where to stop; the path may go back and forth before it. Loads are functions of this time.
    guess : dict, optional
        As for `equilibrium`, near the equilibrium at `start`.
    start : float
    n_steps : int
        Steps to `t_end` if the path were straight; lengths follow the effort of Newton's method.
    max_steps : int
    progress : bool, optional

    Returns
    -------
    StaticPath
        With `status` "not reached" where the path ended earlier.

    Raises
    ------
    InputError
        For input that cannot be used, such as a `t_end` that is `start`, and loads that do not change with the time.
    """
    t_end, start = validate.real("t_end", t_end), validate.real("start", start)
    if t_end == start:
        raise InputError(f"t_end must differ from start, {digits(start)}")
    n_steps = validate.integer("n_steps", n_steps, minimum=1)
    system, q = without_redundant(system, rest_coordinates(system, guess, start), start)
    equations, x = starting(system, q, start)
    first = from_guess(equations, x, start)
    if not first.success:
        raise InputError(f"there is no equilibrium at the start of the path: {first.status.message}")
    with progress_bar("equilibrium path", 100, progress) as bar:
        follower = _Follower(equations, t_end - start, first.q)
        path = follower.follow(np.concatenate([first.q, first.multipliers]), start, t_end, n_steps, max_steps, bar)
    fault = dropped_fault(system, path.t, vars(path)["q"])
    if fault is not None:
        path.status = fault
    return path


class _Follower:
    """Steps along the curve of equilibria; points are y = (x, t)."""

    def __init__(self, equations, span, q):
        self.equations, self.span = equations, span
        n = equations.n
        self.weight = np.zeros(n + 1)  # the curve is measured in displacements and load, not in multipliers
        self.weight[:equations.n_q] = 1 / max(1, equations.n_q) / equations.sizes(q)**2
        self.weight[list(equations.counters)] = 0.0
        self.weight[-1] = 1 / span**2

    def matrix(self, y):
        """The matrix at a point."""
        return self.equations.held(self.equations.evaluate(y[:-1], y[-1])[1], y[:-1])

    def direction(self, y, last):
        """Unit tangent of the curve at a point, towards that of `last`, and the matrix there."""
        _, tangent, by_time = self.equations.evaluate(y[:-1], y[-1])
        tangent = self.equations.held(tangent, y[:-1])
        try:
            v = np.append(-solve(self.equations, tangent, by_time), 1.0)
        except RuntimeError:
            found = undetermined(self.equations, tangent, y[:-1], y[-1])
            raise InputError(f"at the load of t = {y[-1]:g} {found}") from None
        v /= np.sqrt(self.weight @ v**2)
        ahead = self.weight @ (v * last)
        return (v if ahead >= 0 else -v), tangent

    def corrected(self, y, direction):
        """The equilibrium in the plane through y across `direction`, and iterations; None where there is none."""
        n, base, change, loaded = self.equations.n_q, y.copy(), np.inf, np.inf
        for iteration in range(OPTIONS.path_iterations):
            residual, tangent, by_time = self.equations.evaluate(y[:-1], y[-1])
            fine = self.equations.error(residual, tangent, y[:-1]) <= OPTIONS.tolerance
            # where the tangent vanishes, at a limit point, so do the forces that rounding is measured against
            if change <= OPTIONS.increment and (fine or loaded <= OPTIONS.increment):
                return y, iteration
            across = self.weight * direction
            try:
                step = -bordered(self.equations, self.equations.held(tangent, y[:-1]), by_time, across,
                                 np.append(residual, across @ (y - base)))
            except RuntimeError:
                return None
            y = np.append(self.equations.counted((y + step)[:-1]), y[-1] + step[-1])
            change = np.abs(step[:n]).max() / max(1e-300, np.abs(y[:n]).max())
            loaded = abs(step[-1] / self.span)
            if not np.isfinite(y).all():
                return None
        return None

    def smallest(self, y, scale=None):
        """Eigenvalue of the tangent next to zero, with its sign, its vector, and the scale: that of the point, unless
        given. By its own scale an entry of the diagonal that passes zero is 1, and then -1."""
        matrix, own = self.equations.symmetric_part(self.matrix(y))
        scale = own if scale is None else scale
        values, vectors = scipy.linalg.eigh(matrix * np.outer(scale / own, scale / own))
        at = int(np.abs(values).argmin())
        return values[at], scale * vectors[:, at], scale

    def follow(self, x, t, t_end, n_steps, max_steps, bar):
        y = np.append(x, t)
        direction = np.zeros_like(y)
        direction[-1] = self.span
        direction, tangent = self.direction(y, direction)
        if not np.abs(self.equations.evaluate(x, t)[2]).max() > 0:
            raise InputError(f"no load changes with the time at t = {t:g}; give loads a Ramp as their time function")
        points, unstable, critical = [y], [self.equations.n_unstable(tangent)], []
        step = least = abs(self.span) / n_steps / abs(direction[-1])
        least *= 1e-6
        while len(points) <= max_steps:
            ahead = y + step * direction
            found = self.corrected(ahead, direction)
            if found is None or np.sqrt(self.weight @ (found[0] - ahead) ** 2) > OPTIONS.path_distance * step:
                last = self.at_end(y, ahead, t_end)  # beyond which the load may be the same for ever
                if last is not None and np.sqrt(self.weight @ (last - ahead) ** 2) <= OPTIONS.path_distance * step:
                    points.append(last)
                    unstable.append(self.equations.n_unstable(self.matrix(last)))
                    return self.path(points, unstable, critical)
                step /= 2
                if step < least and self.loads_end(y, direction, t_end):
                    return self.path(points, unstable, critical, self.no_load(y, t_end))
                if step < least:
                    return self.path(points, unstable, critical, f"no equilibrium was found beyond t = {y[-1]:g}")
                continue
            new, iterations = found
            forward, tangent = self.direction(new, direction)
            n = self.equations.n_unstable(tangent)
            last = self.at_end(y, new, t_end)
            if last is not None:
                points.append(last)
                n = self.equations.n_unstable(self.matrix(last))
                if n != unstable[-1]:
                    critical.append(self.critical(y, new, unstable[-1], direction, forward))
                unstable.append(n)
                return self.path(points, unstable, critical)
            if n != unstable[-1]:
                critical.append(self.critical(y, new, unstable[-1], direction, forward))
            y, direction = new, forward
            points.append(y)
            unstable.append(n)
            if not direction[:-1].any() and direction[-1] * (t_end - y[-1]) < 0:
                return self.path(points, unstable, critical, self.no_load(y, t_end))
            bar.advance(round(np.clip(100 * (y[-1] - t) / self.span, bar.done, 100)) - bar.done)
            step *= 1.5 if iterations <= 3 else 0.7 if iterations > 6 else 1.0
        return self.path(points, unstable, critical, f"{max_steps} steps were not enough; t = {y[-1]:g} was reached")

    def loads_end(self, y, direction, t_end):
        """Whether the way leads back to where no load changes: the curve has a corner there, and no step goes on."""
        beyond = y[-1] + np.copysign(OPTIONS.path_beyond * self.span, direction[-1])
        return (beyond - y[-1]) * (t_end - y[-1]) < 0 and not self.equations.evaluate(y[:-1], beyond)[2].any()

    @staticmethod
    def no_load(y, t_end):
        return (f"the path leads away from t = {t_end:g}, and from t = {y[-1]:.4g} on no load changes: a Ramp stays at "
                "its ends; of loads that turn back past zero let time=tf.Polynomial([0, 1])")

    def at_end(self, y, ahead, t_end):
        """The equilibrium at t_end where the way from y to the point ahead passes it; None where there is none."""
        if (ahead[-1] - t_end) * (y[-1] - t_end) > 0:
            return None
        last = newton(self.equations, (y + (t_end - y[-1]) / (ahead[-1] - y[-1]) * (ahead - y))[:-1], t_end)
        return np.append(np.append(last.q, last.multipliers), t_end) if last.success else None

    def critical(self, y, new, before, direction, forward):
        """The point of a step where the tangent is singular: bisection on the count, then secants on the eigenvalue
        (Illinois), in planes across the chord; tangents of the curve may touch it once more."""
        step = np.sqrt(self.weight @ (new - y) ** 2)
        low, high, chord = 0.0, step, (new - y) / step

        def at(s):
            found = self.corrected(y + s * chord, chord)
            return None if found is None else found[0]

        for _ in range(OPTIONS.path_bisections):
            middle = (low + high) / 2
            point = at(middle)
            if point is None:
                break
            if self.equations.n_unstable(self.matrix(point)) == before:
                low = middle
            else:
                high = middle
            if high - low <= 1e-4 * step:
                break
        scale = self.smallest(y)[2]
        ends = [(v, self.smallest(at(v), scale)[0]) for v in (low, high)]
        for _ in range(40):  # secants that stay between a negative and a positive eigenvalue
            (low, below), (high, above) = ends
            if below * above >= 0 or abs(high - low) < 1e-13 * step:
                break
            new = high - above * (high - low) / (above - below)
            point = at(new)
            if point is None:
                break
            value = self.smallest(point, scale)[0]
            kept = ends[1] if value * above < 0 else (low, below / 2)  # half of it: else one end would stay for ever
            ends = [kept, (new, value)]
        point = at(ends[1][0])
        vector = self.smallest(point, scale)[1]
        n = self.equations.n_q
        turns = direction[-1] * forward[-1] < 0
        return {"t": float(point[-1]), "q": point[:n], "mode": vector[:n] / np.abs(vector[:n]).max(),
                "kind": "limit" if turns else "bifurcation"}

    def path(self, points, unstable, critical, failure=None):
        y, n = np.array(points), self.equations.n_q
        status = Status(True) if failure is None else Status(False, Reason.NOT_REACHED, f"not reached: {failure}")
        warn_of_other_side(self.equations.system, y[0, -1], y[0, :n],
                           "start from a guess that is closer, or turn its axes")
        warn_of_bends(self.equations.system, y[:, :n])
        return StaticPath(self.equations.system, y[:, -1], y[:, :n], y[:, n:-1], np.array(unstable), critical, status)
