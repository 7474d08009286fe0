"""The pilot of a march to a tolerance, which finds where elements are to be short, and the marches that follow it."""

from dataclasses import dataclass, replace

import numpy as np

from ... import interrupts
from ...assembly import Scaling, TimeMesh
from ...elements.evaluation.plan import ElementPlan
from ...errors import InputError
from ...status import Reason, Status
from ..linear.element.code import PAUSE, ROOM, TOO_SMALL
from .march import LoopArrays, Run, march
from .motion import Motion, enough, follow, relative_errors
from .pilot_loop import Estimate, PilotWork, adapt_elements

CHUNK = 1000


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
    """Marches of one problem (see `solve_adaptively` for the arguments)."""

    def __init__(self, system, element, t_span, z0, control, settings, scaling):
        self.system, self.element, self.t_span, self.z0, self.settings = system, element, t_span, z0, settings
        self.plan, self.options = ElementPlan(system, element), control.options
        self.scaling = Scaling.of(scaling, system, element, t_span[0], z0)
        self.loop = LoopArrays(self.plan, self.scaling)
        self.estimate = _estimate(self.plan, self.loop.record.core)
        self.multipliers = system.consistent_multipliers(t_span[0], z0)
        span = t_span[1] - t_span[0]
        kinks = system.kinks
        self.breaks = np.append(kinks[(kinks > t_span[0]) & (kinks < t_span[1])], t_span[1])
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
        follow(motion, march.nodes, np.vstack([self.z0, self.states(march)]))
        return motion

    def _march(self, density):
        plan, loop, settings = self.plan, self.loop.record, self.settings
        step, n_node, span = plan.columns.step, loop.n_node, self.t_span[1] - self.t_span[0]
        first = plan.first_element(TimeMesh(self.t_span), self.z0, self.multipliers)
        room = 2 * CHUNK
        x, nodes, lengths = np.zeros(n_node + room * step), np.zeros(room + 1), np.zeros(room)
        errors, nodes[0] = np.zeros(CHUNK), self.t_span[0]
        iterations = np.zeros(room, int)
        history = np.full(settings.max_iterations + 1, np.nan)
        control = np.array([min(self.most, max(self.least, self.options.first_pair * span)), 1.0])
        counts, e, code, reference = np.zeros(2, int), 0, PAUSE, self.scaling.size(self.z0)
        own, n_z = self.loop.begin(), len(self.estimate.right)
        pair = PilotWork(np.zeros(plan.columns.n_local), *np.zeros((3, n_z)))
        attempt = self.motion.replaced(speed=self.motion.speed.copy(), rate=self.motion.rate.copy())
        while code in (PAUSE, ROOM) and not (code == PAUSE and e and _asked()):
            before = e
            e, code = adapt_elements(
                loop, loop.step.one, own, pair, x, first, nodes, lengths, e, settings.tol_residual * reference,
                settings.tol_increment * reference, reference, settings.max_iterations, settings.line_search,
                iterations, history, errors, self.estimate, self.motion, attempt, self.breaks, density, self.least,
                self.most, control, counts, CHUNK)
            if code == PAUSE and nodes[e] - nodes[before] < self.options.crawl * (e - before) * span:
                code = TOO_SMALL
            if code == ROOM:
                arrays = x, nodes, lengths, iterations, errors
                x, nodes, lengths, iterations, errors = (np.append(a, np.zeros_like(a)) for a in arrays)
        status = Status.with_free_forces(nodes[np.flatnonzero(iterations[:e] < 0)])
        if code == TOO_SMALL:
            status = Status.failure(Reason.STEP_TOO_SMALL, e, nodes[e], history[np.isfinite(history)],
                                    f"an element of {control[0] / 2:.3g} s would be needed")
        if code == PAUSE:
            status = Status.failure(Reason.STOPPED, e, nodes[e], [])
        end = [] if status.success else [self.t_span[1]]
        return March(x[:n_node + max(e, 1) * step], np.append(nodes[:e + 1], end), e, status, np.abs(iterations[:e]),
                     counts, errors[:e // 2])

    def error(self, coarse, density):
        """Largest error of a pilot march at its nodes, from a march with its pairs joined; inf if that fails."""
        settings, duration, n = self.settings, self.t_span[1] - self.t_span[0], len(coarse.errors)
        if not settings.line_search:
            sizes, powers = self.loop.record.sizes, self.loop.record.size_powers
            small = enough(self.motion, density * duration / n, 1 / (sizes * (duration / n) ** powers),
                           self.estimate.state, duration) / self.scaling.size(self.z0)
            settings = replace(settings, tol_residual=1e300, tol_increment=max(settings.tol_increment, small))
        joined = self._march_on(TimeMesh(coarse.nodes[::2]), settings)
        if not joined.status.success:
            return np.inf
        z = self.states(joined)
        return self.relative(self.states(coarse)[1::2] - z, z).max() / (2**self.element.order - 1)

    def march_refined(self, coarse, counts, advance):
        """March with `counts` equal elements in place of each pair of a pilot march; `advance` is told per cent."""
        ends = coarse.nodes[::2]
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        nodes = np.append(np.repeat(ends[:-1], counts) + number * np.repeat(np.diff(ends) / counts, counts), ends[-1])
        short = np.flatnonzero(np.diff(nodes) < (1 - 1e-9) * self.least / 2)[:1]
        mesh = TimeMesh(nodes[:max(short[0], 1) + 1] if len(short) else nodes)

        def solved(n):
            advance(100 * n / counts.sum())
            return _asked()

        found = self._march_on(mesh, self.settings, solved)
        if found.status.success and len(short):
            e = found.n_solved = int(short[0])
            found.status = Status.failure(Reason.STEP_TOO_SMALL, e, nodes[e], [],
                                          f"an element of {nodes[e + 1] - nodes[e]:.3g} s would be needed")
            found.nodes = np.append(nodes[:e + 1], self.t_span[1])
        return found

    def _march_on(self, mesh, settings, advance=lambda n: _asked()):
        x, n_solved, status, iterations = march(self.plan, mesh, self.z0, self.multipliers, self.scaling, settings,
                                                Run(advance, loop=self.loop))
        return March(x, mesh.nodes, n_solved, status, iterations)

    def states(self, march):
        """States at the ends of the elements of a march, shape (n_elements, n_z)."""
        return self.plan.columns.unpack(march.x)[0][:, -1]

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
    right = fields["state"][-1]
    places = np.full(c.n_local, -1)
    places[core] = np.arange(len(core))
    nothing, state = np.zeros(0, int), places[right]
    if "error" in fields:
        return Estimate(fields["error"][0], nothing, nothing, np.zeros(0), False, right, state, 1.0,
                        element.embedded_order)
    levels = element.multiplier.components
    if levels != "multipliers" and plan.components[levels].size:
        raise InputError(f"{element!r} keeps constraints on configuration level only, for which its local error is not "
                         "known; use MixedGalerkin with form='hamilton' or form='energy', or give n_elements")
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
    return Estimate(nothing, targets, sources, factors, len(fields) == 2, right, state, 1 / (2**element.order - 1),
                    element.order)
