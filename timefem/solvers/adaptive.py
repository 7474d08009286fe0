"""Step-size control: a march that chooses its own mesh, for a given accuracy."""

import time
from dataclasses import dataclass

import numpy as np

from ..assembly import Scaling, TimeMesh
from ..elements import ElementPlan
from ..errors import InputError
from ..progress import progress
from .job import Outcome, first_elements
from .march import LoopArrays, march
from .march_sparse import enlarged
from .status import Status

FIRST_PAIR = 1e-3  # of the time span; a length that is too large is found out soon
COARSEST = 1e-2  # sum of the local errors of the pilot, at most
IN_PROPORTION = 0.05  # error up to which errors are taken to be in proportion
LOOSER = 300  # sum of the local errors of the pilot, over the tolerance asked for
AIM = 0.4  # of the tolerance
CHUNK = 1000


def solve_adaptively(system, element, t_span, z0, control, settings, scaling="full", show=None):
    """Solve an initial-value problem on a mesh that is found on the way.

    The local error of two equal elements of order p is known from one of twice their length, or from the element's own
    estimate (a field "error"); a PI controller keeps it at a constant density in time. Which density gives the
    tolerance at the nodes is learnt from a pilot march with a looser one: its error, found by marching again with pairs
    of elements joined, tells how local errors grow; in between they are in proportion.

    Parameters
    ----------
    system, element, t_span, z0
        As of the problem; the element can be marched.
    control : StepControl
    settings : Newton
    scaling : str
    show : bool or None
        Show a progress bar.

    Returns
    -------
    mesh : TimeMesh
        Of the whole time span; after a failure it ends with one element that was not solved.
    outcome : Outcome
    statistics : dict
        "rejected": pairs tried again, for their error or since Newton's method failed; "estimated_error" of the
        solution, relative to the size of the motion; "pilot_elements".
    """
    begin = time.perf_counter()
    adaptive = _AdaptiveMarch(system, element, t_span, z0, control, settings, scaling)
    span, aim = t_span[1] - t_span[0], AIM * control.tolerance
    with progress("adaptive march", 100, show) as bar:
        density = min(LOOSER * control.tolerance, COARSEST) / span
        while True:
            pilot = adaptive.march(density, lambda n: None)
            error = adaptive.error_of(pilot) if pilot.status.success else np.inf
            if error <= max(IN_PROPORTION, control.tolerance) or density * span <= 1e-2 * control.tolerance:
                break
            density /= 10
        found = pilot
        if aim < error < np.inf:
            density *= (aim / error) ** (adaptive.estimate.order / element.order)
            found, error = adaptive.march(density, bar.advance), aim
    mesh = TimeMesh(found.nodes)
    values = first_elements(adaptive.plan.unpack(found.x), found.n_solved)
    outcome = Outcome(*values, found.status, found.iterations, adaptive.plan.rows.n_interior,
                      {"solve": time.perf_counter() - begin, "total": time.perf_counter() - begin})
    rejected = {"error": int(found.counts[0]), "newton": int(found.counts[1])}
    return mesh, outcome, {"rejected": rejected, "estimated_error": float(error), "pilot_elements": pilot.n_solved}


@dataclass
class _March:
    """One march: all dofs, nodes, and how it ended."""

    x: np.ndarray
    nodes: np.ndarray
    n_solved: int
    status: Status
    iterations: np.ndarray
    counts: np.ndarray


class _AdaptiveMarch:
    """What the marches of one problem share."""

    def __init__(self, system, element, t_span, z0, control, settings, scaling):
        from .adaptive_loop import Motion

        self.system, self.element, self.t_span, self.z0, self.settings = system, element, t_span, z0, settings
        self.plan = ElementPlan(system, element)
        self.scaling = Scaling.of(scaling, system, element, t_span[0], z0)
        self.loop = LoopArrays.of(self.plan, self.scaling)
        self.lu = self.loop.lu
        self.estimate = _estimate(self.plan)
        self.multipliers = system.consistent_multipliers(t_span[0], z0)
        span = t_span[1] - t_span[0]
        kinks = system.kinks
        self.breaks = np.append(kinks[(kinks > t_span[0]) & (kinks < t_span[1])], t_span[1])
        self.least = 2 * (1e-12 * span if control.min_step is None else control.min_step)
        self.least = max(self.least, 1e-14 * np.abs(t_span).max())
        self.most = 2 * (span / 20 if control.max_step is None else control.max_step)
        start = z0[system.n_q:].copy()
        blocks = _blocks(system)
        self.motion = Motion(np.sqrt(system.mass_scale), blocks, start, *np.zeros((2, blocks.max() + 1)))

    def march(self, density, advance):
        """March with a density of the local error in time [1/s]."""
        from .adaptive_loop import FAILED, FULL, PAUSE, ROOM, adapt_elements

        plan, loop, settings = self.plan, self.loop, self.settings
        step, n_node = plan.columns.step, loop.n_node
        first = plan.constant(TimeMesh(self.t_span), self.z0, self.multipliers)
        room = 2 * CHUNK
        x, nodes, lengths = np.zeros(n_node + room * step), np.zeros(room + 1), np.zeros(room)
        iterations, nodes[0] = np.zeros(room, int), self.t_span[0]
        history = np.full(settings.max_iterations + 1, np.nan)
        control = np.array([min(self.most, max(self.least, FIRST_PAIR * (self.t_span[1] - self.t_span[0]))), 1.0])
        counts, e, code, reference = np.zeros(2, int), 0, PAUSE, self.scaling.size(self.z0)
        while code in (PAUSE, ROOM, FULL):
            done = nodes[e]
            e, code = adapt_elements(
                loop.step, self.lu, loop.order, x, first, nodes, lengths, *loop.scales, n_node, *loop.fields, e,
                settings.tol_residual * reference, settings.tol_increment * reference, reference,
                settings.max_iterations, settings.line_search, iterations, history, self.estimate, self.motion,
                self.breaks, density, self.least, self.most, control, counts, CHUNK)
            advance(100 * (nodes[e] - done) / (self.t_span[1] - self.t_span[0]))
            if code == FULL:
                self.lu = enlarged(self.lu, 2 * len(self.lu.lower))
            if code == ROOM:
                arrays = x, nodes, lengths, iterations
                x, nodes, lengths, iterations = (np.append(a, np.zeros_like(a)) for a in arrays)
        status, stop = Status(True), e
        if code == FAILED:
            status = Status.failure("step too small", e, nodes[e], history[np.isfinite(history)],
                                    f"an element of {control[0] / 2:.3g} s would be needed")
            nodes[e + 1], stop = self.t_span[1], e + 1
        return _March(x[:n_node + max(e, 1) * step], nodes[:stop + 1].copy(), e, status, iterations[:e].copy(), counts)

    def error_of(self, pilot):
        """Largest error of a march at its nodes, from a march with pairs of its elements joined; inf if that fails."""
        from .adaptive_loop import relative_error

        mesh, span = TimeMesh(pilot.nodes[::2]), self.t_span[1] - self.t_span[0]
        x, _, status, _ = march(self.plan, mesh, self.z0, self.multipliers, self.scaling, self.settings)
        if not status.success:
            return np.inf
        states = [self.plan.columns.unpack(v)[0][:, -1] for v in (pilot.x, x)]
        errors = [relative_error(self.motion, a - b, b, span) for a, b in zip(states[0][1::2], states[1], strict=True)]
        return max(errors) / (2**self.element.order - 1)


def _blocks(system):
    """Number of the block of each coordinate: 0 for positions, 1 for what the mass tells apart from them."""
    parts = []
    for body in system.bodies:
        mass = body.mass_scale
        parts.append(np.where(np.arange(len(mass)) < 3, 0, 1) if len(mass) > 3 else np.zeros(len(mass), int))
    return np.concatenate(parts)


def _estimate(plan):
    """The `Estimate` of an element."""
    from .adaptive_loop import Estimate

    element, c = plan.element, plan.columns
    fields = dict(zip(element.trial, c.fields, strict=True))
    right = fields["state"][-1]
    nothing = np.zeros(0, int)
    if "error" in fields:
        return Estimate(fields["error"][0], nothing, nothing, np.zeros(0), False, right, 1.0, element.embedded_order)
    levels = element.multiplier.components
    if levels != "multipliers" and plan.components[levels].size:
        raise InputError(f"{element!r} keeps constraints on configuration level only, for which its local error is not "
                         "known; use MixedGalerkin, or give n_elements")
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
    return Estimate(nothing, targets, sources, factors, len(fields) == 2, right, 1 / (2**element.order - 1),
                    element.order)
