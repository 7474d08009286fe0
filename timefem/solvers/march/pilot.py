"""The pilot of a march to a tolerance, which finds where elements are to be short, and the marches that follow it."""

from dataclasses import dataclass, replace

import numpy as np

from ... import interrupts
from ...assembly import Scaling, TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...errors import InputError
from ...mechanics.values.forces import sharp_times, switching_of
from ...status import Reason, Status
from ..linear.element.fronts import DONE, PAUSE, ROOM, TOO_SMALL
from .events import EVENTS, Crossings
from .march import LoopArrays, Run, march
from .motion import Motion, follow, relative_errors, set_sizes
from .pilot_loop import ENOUGH, Estimate, PilotArrays, adapt_elements


@dataclass
class March:
    """One march: all dofs, nodes, and how it ended."""

    x: np.ndarray
    nodes: np.ndarray
    n_solved: int
    status: Status
    iterations: np.ndarray
    counts: np.ndarray = None
    errors: np.ndarray = None  # of pairs, that they add


class Pilot:
    """Marches of one problem (see `solve_adaptively` for the arguments).

    `sized` is the loop whose increments are measured by the motion, so that meshes are the same in all units.
    """

    def __init__(self, problem, element, control, settings, scaling, look):
        system, t_span, z0, self.look = problem.system, problem.t_span, problem.z0, look
        self.system, self.element, self.t_span, self.z0, self.settings = system, element, t_span, z0, settings
        self.plan, self.options = ElementPlan(system, element), control.options
        self.scaling = Scaling.of(scaling, system, element, t_span[0], z0)
        self.loop = LoopArrays(self.plan, self.scaling)
        self.estimate = _estimate(self.plan, self.loop.record.core)
        self.sized = self.loop.measured() if len(self.estimate.components) else self.loop
        self.multipliers = system.consistent_multipliers(t_span[0], z0)
        span = t_span[1] - t_span[0]
        kinks = system.kinks
        kinks = np.union1d(kinks, sharp_times(system, t_span))
        self.kinks = np.append(kinks[(kinks > t_span[0]) & (kinks < t_span[1])], t_span[1])
        switching = switching_of(system)
        self.crossings = None if switching is None else Crossings(switching, element)
        self.least = 2 * (1e-12 * span if control.min_step is None else control.min_step)
        self.least = max(self.least, 1e-14 * np.abs(t_span).max())
        self.most = 2 * (span / 20 if control.max_step is None else control.max_step)
        self.motion = Motion.of(system, z0)

    def march(self, density):
        """March by pairs, with a density of the local error in time [1/s]."""
        found = self._march(density)
        early = found.nodes[found.n_solved] - self.t_span[0] < self.options.early * (self.t_span[1] - self.t_span[0])
        if found.status.reason == Reason.STEP_TOO_SMALL and early and self._look_ahead():
            found = self._march(density)
            if found.status.success:
                self.motion = self._motion_along(found)
        return found

    def _look_ahead(self):
        """Take the size of the motion from equal elements; whether there are some that tell it.

        What moves at first may be less than round-off, as of beams under loads that rise from zero.
        """
        for look in range(self.options.looks):
            n = self.options.first_look * 4**look
            rough = self._march_on(TimeMesh(np.linspace(*self.t_span, n + 1)), self.settings)
            if rough.status.success:
                self.motion = self._motion_along(rough)
                return True
        return False

    def _motion_along(self, march):
        motion = Motion.of(self.system, self.z0)
        states = self.states(march)
        follow(motion, march.nodes, np.vstack([self.z0, states]), states)
        return motion

    def _march(self, density):
        run, span = PilotRun(self, density), self.t_span[1] - self.t_span[0]
        while run.code == PAUSE and not (run.e and _asked()):
            before = run.e
            run.advance()
            short = self.options.crawl * (run.e - before) * span
            if run.code == PAUSE and run.nodes[run.e] - run.nodes[before] < short:
                run.code = TOO_SMALL
        e, nodes, history = run.e, run.nodes, run.march.history
        status = Status.with_free_forces(nodes[np.flatnonzero(run.march.iterations[:e] < 0)])
        if run.code == TOO_SMALL:
            status = Status.failure(Reason.STEP_TOO_SMALL, e, nodes[e], history[np.isfinite(history)],
                                    f"an element of {run.control[0] / 2:.3g} s would be needed")
        if run.code == PAUSE:
            status = Status.failure(Reason.STOPPED, e, nodes[e], [])
        end = [] if status.success else [self.t_span[1]]
        return March(run.x[:run.n_node + max(e, 1) * run.step], np.append(nodes[:e + 1], end), e, status,
                     np.abs(run.march.iterations[:e]), run.counts, run.errors[:e // 2])

    def error(self, coarse, density):
        """Largest error of a pilot march at its nodes, from a march with its pairs joined; inf if that fails."""
        settings, duration, n = self.settings, self.t_span[1] - self.t_span[0], len(coarse.errors)
        loop, scaling, components = self.loop, self.scaling, self.estimate.components
        if not settings.line_search:
            small = settings.tol_increment
            if len(components):
                loop, scaling, record = self.sized, replace(scaling, reference=1.0), self.sized.record
                if set_sizes(self.motion, components, self.z0, duration / n, duration, record.sizes, record.emphasis):
                    small = max(small, ENOUGH * np.sqrt(density * duration / n))
            settings = replace(settings, tol_residual=1e300, tol_increment=small)
        joined = self._march_on(TimeMesh(coarse.nodes[::2]), settings, loop=loop, scaling=scaling)
        if not joined.status.success:
            return np.inf
        z = self.states(joined)
        return self.relative(self.states(coarse)[1::2] - z, z).max() / (2**self.element.order - 1)

    def march_refined(self, ends, counts, events, advance):
        """March with `counts` equal elements between `ends`; `advance` is given per cent.

        Parameters
        ----------
        ends : ndarray, shape (n_pairs + 1,)
        counts : ndarray of int, shape (n_pairs,)
        events : list of (int, int)
            As of `events`: these ends are moved to where the switching functions vanish along this march, and what
            follows with them.

        Returns
        -------
        March, ndarray
            And the ends, shape (n_pairs + 1,).
        """
        ends, first = ends.copy(), np.concatenate([[0], np.cumsum(counts)])
        number = np.arange(counts.sum()) - np.repeat(first[:-1], counts)

        def nodes():
            steps = np.diff(ends) / counts
            return np.append(np.repeat(ends[:-1], counts) + number * np.repeat(steps, counts), ends[-1])

        def solved(n):
            advance(100 * n / counts.sum())
            return _asked()

        whole = nodes()
        short = np.flatnonzero(np.diff(whole) < (1 - 1e-9) * self.least / 2)[:1]
        if len(short):
            e = max(int(short[0]), 1)
            found = self._march_on(TimeMesh(whole[:e + 1]), self.settings, solved)
            if found.status.success:
                e = found.n_solved = int(short[0])
                found.status = Status.failure(Reason.STEP_TOO_SMALL, e, whole[e], [],
                                              f"an element of {whole[e + 1] - whole[e]:.3g} s would be needed")
                found.nodes = np.append(whole[:e + 1], self.t_span[1])
            return found, ends
        x, start, iterations = None, 0, []
        for end, j in [*events, (len(counts), None)]:
            for _ in range(EVENTS.most_locations):
                mesh = TimeMesh(nodes()[:first[end] + 1])
                if x is None:
                    x = np.zeros(self.plan.columns.n_node + counts.sum() * self.plan.columns.step)
                _, n, status, own = march(self.plan, mesh, self.z0, self.multipliers, self.scaling, self.settings,
                                          Run(solved, loop=self.loop, x=x, start=start))
                iterations[start:] = own
                if not status.success or j is None:
                    break
                last = first[end] - 1
                nodal = self.plan.columns.unpack(x[last * self.plan.columns.step:][:self.plan.columns.n_local])[0]
                now = self.crossings.near_end(mesh.nodes[last:last + 1], mesh.lengths[last:], nodal, j)
                moved = self._moved(ends, end, now)
                if moved is None:
                    break
                ends, start = moved, first[end - 1]
            start = first[end]
            if not status.success:
                break
        if not status.success:
            x = x[:self.plan.columns.n_node + max(n, 1) * self.plan.columns.step]
        return March(x, nodes(), n, status, np.array(iterations)), ends

    def _moved(self, ends, k, time):
        """Ends of pairs with that of number k at another time, and those that follow as far from it; None where it is
        there already, or too far away for the same event."""
        shift, span = time - ends[k], self.t_span[1] - self.t_span[0]
        if not EVENTS.exact * span < abs(shift) < EVENTS.most_shift * (ends[k] - ends[k - 1]):
            return None
        stop = self.kinks[np.searchsorted(self.kinks, ends[k])]
        last = int(np.searchsorted(ends, stop))
        moved = ends.copy()
        moved[k:last] += shift
        if not moved[last - 1] < stop:
            moved[k:last] = time + (ends[k:last] - ends[k]) * (stop - time) / (stop - ends[k])
        return moved

    def _march_on(self, mesh, settings, advance=lambda n: _asked(), loop=None, scaling=None):
        x, n_solved, status, iterations = march(self.plan, mesh, self.z0, self.multipliers, scaling or self.scaling,
                                                settings, Run(advance, loop=loop or self.loop))
        return March(x, mesh.nodes, n_solved, status, iterations)

    def states(self, march):
        """States at the ends of the elements of a march, shape (n_elements, n_z)."""
        return self.plan.columns.unpack(march.x)[0][:, -1]

    def strays(self, march):
        """Whether a march found another solution than the one that is meant."""
        return self.look is not None and self.look(march.nodes, np.vstack([self.z0, self.states(march)])) is not None

    def states_at(self, march, t):
        """States at times, shape (n, n_z)."""
        e, xi = TimeMesh(march.nodes).locate(t)
        nodal = self.plan.columns.unpack(march.x)[0]
        return np.einsum("pi,pia->pa", self.element.state.basis.values(xi), nodal[e])

    def events(self, march):
        """Ends of pairs of a march at which switching functions vanish: list of (number of the end, function)."""
        if self.crossings is None:
            return []
        nodal, n = self.plan.columns.unpack(march.x)[0], march.n_solved
        ends, found = march.nodes[:n + 1:2], {}
        for j, times in enumerate(self.crossings.all(march.nodes[:n], np.diff(march.nodes[:n + 1]), nodal)):
            for time in times:
                k = int(np.abs(ends - time).argmin())
                if 0 < k < len(ends) - 1 and abs(time - ends[k]) <= EVENTS.near * (ends[k + 1] - ends[k - 1]) \
                        and not np.isin(ends[k], self.kinks):
                    found.setdefault(k, j)
        return sorted(found.items())

    def relative(self, errors, z):
        """Errors of states z, relative to the size of the motion, shape (n,)."""
        out = np.empty(len(z))
        relative_errors(self.motion, *map(np.ascontiguousarray, (errors, z)), self.t_span[1] - self.t_span[0], out)
        return out


def _asked():
    """Whether a signal asks to stop; it is answered."""
    if interrupts.asked():
        interrupts.answer()
    return interrupts.asked() is not None


def _estimate(plan, core):
    """The `Estimate` of an element."""
    element, c = plan.element, plan.columns
    fields = dict(zip(element.trial, c.fields, strict=True))
    right, nothing, components = fields["state"][-1], np.zeros(0, int), np.full(c.n_local, -1)
    components[fields["state"]] = np.arange(len(right))
    if "velocity" in fields:
        components[fields["velocity"]] = len(right) + np.arange(len(right) // 2)
    components = components[core] if (components[core] >= 0).any() else nothing
    if "error" in fields:
        return Estimate(fields["error"][0], nothing, nothing, np.zeros(0), False, right, components, 1.0,
                        element.embedded_order)
    levels = element.multiplier.components
    if levels != "multipliers" and plan.components[levels].size:
        raise InputError(f"{element!r} has no multipliers for positions and velocities together, without which its "
                         "local error is not known for constraints; use MixedGalerkin with form='hamilton' or "
                         "form='energy', or give n_elements")
    targets, sources, factors = [], [], []
    for dofs, space in zip(c.fields, c.spaces, strict=True):
        points = space.basis.points
        for j, xi in enumerate(points):
            # a node in the middle belongs to both elements
            halves = [(half, 2 * xi - half) for half in (0, 1) if 0 <= 2 * xi - half <= 1]
            for half, at in halves:
                values = space.basis.values(np.array([at]))[0] / len(halves)
                for i, value in enumerate(values):
                    if value:
                        targets.append(dofs[j])
                        sources.append(dofs[i] + half * c.step)
                        factors.append(np.full(len(dofs[j]), value))
    targets, sources, factors = (np.concatenate(v) for v in (targets, sources, factors))
    return Estimate(nothing, targets, sources, factors, len(fields) == 2, right, components,
                    1 / (2**element.order - 1), element.order)


# ---- one march of the pilot, in runs of pairs, which ends pairs where forces begin and end

CHUNK = 1000  # pairs between two looks at signals


class PilotRun:
    """The arrays of a pilot march, and how far it has come; see `adapt_elements`.

    Parameters
    ----------
    pilot : Pilot
    density : float
        Of the local error in time [1/s].
    """

    def __init__(self, pilot, density):
        plan, self.pilot, self.density = pilot.plan, pilot, density
        self.step, self.n_node = plan.columns.step, pilot.loop.record.n_node
        self.span = pilot.t_span[1] - pilot.t_span[0]
        self.first = plan.first_element(TimeMesh(pilot.t_span), pilot.z0, pilot.multipliers)
        self.reference, room = pilot.scaling.size(pilot.z0), 2 * CHUNK
        pilot.sized.begin()
        self.march = pilot.sized.march(np.zeros(self.n_node + room * self.step), np.zeros(room + 1), np.zeros(room),
                                       pilot.settings, self.reference, False)
        if len(pilot.estimate.components):
            self.march.tolerances[1] = pilot.settings.tol_increment
        self.nodes[0], self.errors, self._tolerances = pilot.t_span[0], np.zeros(CHUNK), self.march.tolerances.copy()
        self.shortest = max(pilot.least, pilot.options.first_pair * self.span)
        self.control = np.array([min(pilot.most, self.shortest), 1.0])
        self.counts, self.e, self.code = np.zeros(2, int), 0, PAUSE
        self.work = np.zeros(plan.columns.n_local), *np.zeros((3, len(pilot.estimate.right)))
        motion = pilot.motion
        self.attempt = motion.replaced(speed=motion.speed.copy(), rate=motion.rate.copy())
        self.breaks, self._pairs = pilot.kinks, CHUNK if pilot.crossings is None else EVENTS.few

    @property
    def x(self):
        """Dofs in time order."""
        return self.march.x

    @property
    def nodes(self):
        """Ends of the elements."""
        return self.march.t

    def advance(self):
        """Go on by some pairs, to the next event at most."""
        saved = self._state()
        self._solve(self._pairs)
        if self.pilot.crossings is None:
            return
        found = self._first_event(saved[0])
        if found is None:
            self._pairs = min(2 * self._pairs, CHUNK)
            return
        element, function, time = found
        pairs = (element - saved[0]) // 2
        self._restore(saved)
        if pairs:
            self._solve(pairs)
        self._end_at(function, time)
        self._pairs = EVENTS.few

    def _end_at(self, j, time):
        """End the next pair where the switching function j vanishes, near that time, and begin anew there."""
        breaks, saved, close, off = self.breaks, self._state(), EVENTS.close * self.span, np.inf
        for _ in range(EVENTS.most_locations):
            place = np.searchsorted(breaks, time)
            self.breaks = np.insert(breaks, place, time) if breaks[place] - time > close else breaks
            self._solve(1)
            if self.code not in (PAUSE, DONE) or abs(self.nodes[self.e] - time) > close:
                break  # Newton's method or the error ask for a shorter pair
            now = self.pilot.crossings.near_end(*self._elements(self.e - 2, self.e), j)
            if not abs(now - time) <= 0.1 * (time - self.nodes[saved[0]]):
                break  # what was found from too long an element is no event
            off, before = abs(now - time), off
            if off <= EVENTS.exact * self.span or (off <= close and off >= 0.1 * before):  # no nearer, by rounding
                break
            time = now
            if not saved[1] < time:
                break
            self._restore(saved)
        self.control[:] = min(self.control[0], self.shortest), 1.0

    def _first_event(self, start):
        """Element, switching function and time of the first event from element `start` on, or None.

        None in short pairs, whose errors tell what forces do, and near the ends of pairs.
        """
        for e, j, time in self.pilot.crossings.inside(*self._elements(start, self.e)):
            pair = start + e - e % 2
            low, high = self.nodes[pair], self.nodes[pair + 2]
            if high - low > EVENTS.short * self.span and EVENTS.near * (high - low) < min(time - low, high - time):
                return pair, j, time
        return None

    def _elements(self, first, last):
        """Times, lengths and nodal states of elements."""
        columns = self.pilot.plan.columns
        x = self.x[first * self.step:self.n_node + last * self.step]
        return self.nodes[first:last], self.march.h[first:last], columns.unpack(x)[0]

    def _state(self):
        motion = self.pilot.motion
        return (self.e, self.nodes[self.e], self.control.copy(), self.counts.copy(), motion.speed.copy(),
                motion.rate.copy())

    def _restore(self, saved):
        self.e, _, self.control[:], self.counts[:], self.pilot.motion.speed[:], self.pilot.motion.rate[:] = saved

    def _solve(self, n_pairs):
        pilot, stop = self.pilot, self.e + 2 * n_pairs
        while True:
            arrays = PilotArrays(self.first, self._tolerances, self.reference, self.errors, pilot.estimate,
                                 pilot.motion, self.attempt, self.breaks, self.density, pilot.least, pilot.most,
                                 self.control, self.counts, *self.work)
            self.e, self.code = adapt_elements(self.march, arrays, self.e, (stop - self.e) // 2)
            if self.code != ROOM:
                return
            room = {name: np.append(values, np.zeros_like(values)) for name in ("x", "t", "h", "iterations")
                    for values in (getattr(self.march, name),)}
            self.march, self.errors = self.march.replaced(**room), np.append(self.errors, np.zeros_like(self.errors))
