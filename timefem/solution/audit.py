"""After a solve: do the constraints hold, the dropped ones too, and does the mesh resolve the motion?

Newton's method converges on the discrete equations whatever the mesh. An element that is far too long for the motion
gives numbers without a complaint; what follows looks at the motion itself, and counts the turns of joints.
"""

from typing import NamedTuple

import numpy as np

from ..assembly import TimeMesh
from ..errors import UnderResolved, warn
from ..mechanics.parts import body_of
from ..mechanics.states.closing import warn_where_it_starts
from ..mechanics.system import coordinate_names
from ..mechanics.values.evaluate import kept
from ..mechanics.values.forces import switching_of
from ..mechanics.values.measures import LEAST, blocks_of, largest_squares
from ..mechanics.values.of_parts import coordinate_at, couples_inertia
from ..memory import Late
from ..solvers.march.events import missed_forces
from ..solvers.march.resolution import excess, is_polynomial, largest_sizes
from ..status import Reason, Status
from .motion_checks import (
    elements_that_do,
    estimated_error,
    first_violated,
    marching,
    measured_error,
    surely_resolves,
    violation,
)
from .options import OPTIONS


def audited(solution, cut=False, smooth=True):
    """What a solve of any kind found, looked at once more.

    With constraints that were dropped as redundant at the start the motion is right as long as they stay redundant;
    where they part from the others, the solve has failed.

    Parameters
    ----------
    solution : Solution, SlabSolution or PhasedSolution
    cut : bool
        What is left of a failed solve is the motion before the first constraint that does not hold; else the status
        alone tells of the failure.
    smooth : bool
        Whether motions are taken as smooth from element to element: not where velocities jump.

    Warns
    -----
    UnderResolved
        When a body turns too far in an element, forces begin or end where it does not look, or elements of a lower
        degree would miss most of the motion; names it, and the number of elements that would do. When energy is gained
        or lost. `OtherSide` when a joint stands half a turn away, unless all conditions are at the start.
    """
    has = vars(solution)  # to ask for what is not there makes words of that
    phases = has.get("phases", ())
    beside = np.max([largest_sizes(phase.system, phase.z) for phase in phases], axis=0, initial=0.0)
    for phase in phases:
        phase._beside = beside
        phase = audited(phase, smooth=smooth)
        if solution.success and not phase.success:
            solution.status = phase.status
    if "phases" in has or not (solution.success and solution.solves_equations):
        return solution
    if "comm" in has:
        return _audited_slab(solution)
    if len(solution.t) == 1:
        return solution
    fault = first_violated(solution.system, solution.t, solution.z)
    if fault is not None and cut:
        return solution._cut(fault[0], _failure(*fault))
    if fault is not None:
        solution.status = _failure(*fault)
        return solution
    lost = _lost_turns(solution)
    if lost is not None:
        solution.status = Status.failure(Reason.TURNS_NOT_COUNTED, *lost)
    if not cut:  # the start of a march has been looked at
        warn_where_it_starts(solution)
    for text in unresolved(solution, cut, smooth):
        warn(text, UnderResolved)
    return solution


def unresolved(solution, cut=False, smooth=True, counted=True):
    """Reports on what elements do not resolve of a motion: a body that turns too far, forces that begin or end where
    they do not look, rates and vibrations, energy that is gained or lost. `counted` marches parts of the motion on
    finer meshes to tell how many elements do. See `audited` for the rest."""
    system, element = solution.system, solution.element.stated
    motion = solution.t, solution.z, solution.nodal.state
    marched = cut and smooth and element.can_march
    text = sharp_bends(system, solution.z) if marched else unresolved_turns(system, element, *motion[:2])
    if text is None:
        text = missed_forces(system, element, *motion, lambda n: elements_that_do(
            *marching(system, element, solution.t[0], solution.z[0]), solution.t[[0, -1]], solution.z[0], n, n)
            if marched and counted else n)
    if text is None:
        if marched:
            text = _off(system, element, *motion, counted)
        else:
            text = (_fast_rates(solution) if smooth else None) or _missed(solution, turns=not smooth)
    return [found for found in (text, _lost_energy(solution)) if found is not None]


def surely_resolved(plan, system, t, x):
    """Whether `unresolved` surely has nothing to report of a smooth motion that was marched, with ends of elements t
    and all dofs x of a plan: by bounds that take a fraction of the time."""
    if plan.element.energy_drifts or system.composites or switching_of(system, steep=True) is not None:
        return False
    return surely_resolves(plan, system, t, x)


def _off(system, element, t, z, nodal, counted):
    """The report on a body whose motion, marched by elements of half the length, is another one; or None."""
    if estimated_error(system, element, t, z, nodal) <= OPTIONS.error_in_doubt:
        return None
    missed = measured_error(system, element, t, z, nodal, counted)
    if missed is None:
        return None
    more = f"take {missed.needed} elements or more" if missed.needed else "take far more elements"
    what = f"differ by {100 * missed.error:.2g} % of the amplitude" if np.isfinite(missed.error) else "cannot be solved"
    return (f"{system.label(body_of(system, missed.component))} moves too fast for {element!r}: up to t = "
            f"{t[missed.end]:.3g} elements of half the length {what}, "
            f"and the solution may be far off; {more}, or a higher degree")


def _lost_energy(solution):
    """The report on energy that the method gained or lost, where its equations do not keep it, or None: the part of
    what moves, is exchanged, and comes in by work."""
    system, element = solution.system, solution.element.stated
    if not element.energy_drifts or system.rigid_contacts or couples_inertia(system):
        return None
    potential, work = system.potential(solution.t, solution.z), solution.energy.work()
    kinetic = solution.energy() - potential
    wrong = np.abs(kinetic - kinetic[0] + potential - potential[0] - work)
    size = kinetic.max() + np.ptp(potential) + np.abs(work).max()
    worst = int(np.argmax(wrong))
    moved = np.abs(solution.z[:, :system.n_q]).max(axis=0) / np.ptp(solution.t)  # by rounding, of what is at rest
    rest = OPTIONS.energy_rounding**2 * (system.mass_scale @ moved**2) / 2
    if not wrong[worst] > max(OPTIONS.energy_missed * size, OPTIONS.energy_rounding * np.abs(potential).max(), rest):
        return None
    return (f"{wrong[worst]:.3g} J of the energy, of {size:.3g} J in motion, are gained or lost by {element!r} up to "
            f"t = {solution.t[worst]:.3g}, and the solution may be far off: it keeps the energy only as well as its "
            "elements resolve the motion; take more elements, or a higher degree")


def _audited_slab(solution):
    """A `SlabSolution`, failed on all ranks where a constraint does not hold on one of them."""
    own = first_violated(solution.system, solution.t, solution.z) if solution.success and len(solution.t) > 1 else None
    faults = [fault for fault in solution.comm.allgather(own and (own[1], solution.elements[0] + own[0], *own[2:]))
              if fault]
    if faults:
        time, n, *others = min(faults)
        solution.status = _failure(n, time, *others)
    return solution


def _failure(n, time, name, residual, what):
    """The status of what violates a constraint from element n on."""
    return Status.failure(what, n, time, [], violation(name, residual))


def _lost_turns(solution):
    """Element, time, residuals and message where an angle that a force counts has left its counter by half a turn."""
    system = solution.system
    for counter in (body for body in system.bodies if body.is_counter):
        angle = unwrapped(solution, counter.bound)
        counted = solution.z[:, system.coordinates(counter)][:, 0]
        wrong = np.flatnonzero(~(np.abs(angle - counted) < np.pi))
        if len(wrong):
            n = max(int(wrong[0]) - 1, 0)
            return n, float(solution.t[wrong[0]]), [], (
                f"the angle of {system.label(counter.owner)} leaves its count by "
                f"{abs(angle[wrong[0]] - counted[wrong[0]]):.3g} rad: {solution.element.name} does not count turns, "
                "MixedGalerkin does, or the elements are too long")
    return None


def _rate_bounds(systems, z):
    """Bounds of the rates at which bodies turn [rad/s], whatever their orientation, shape (n_systems, n_bodies)."""
    if not systems:
        return np.zeros((0, 0))
    numbers, places = kept(systems[0], _turning)
    squares = np.zeros((len(systems), len(numbers)))
    largest_squares(z, places, squares)
    return np.sqrt(squares) * [[system.bodies[i].rate_per_momentum for i in numbers] for system in systems]


def _turning(system):
    """Numbers of the bodies that turn, and first and last places of their momenta of rotation in the state."""
    numbers = [i for i, body in enumerate(system.bodies) if hasattr(body, "angular_velocity")]
    places = [system.coordinates(system.bodies[i]) for i in numbers]
    return numbers, system.n_q + np.array([(p.start + 3, p.stop) for p in places], np.int64).reshape(-1, 2)


def unresolved_turns(system, element, t, z):
    """The report on a motion, shape (n_nodes, n_z), where a body turns too far in an element, or a beam from
    node to node; else None."""
    lengths, worst, most = np.diff(t), (0.0, None), OPTIONS.fast_turn * max(element.degree, 1)
    bounds = _rate_bounds([system], np.ascontiguousarray(z)[None])[0] * lengths.max()
    for i in np.flatnonzero(bounds > most):
        body = system.bodies[kept(system, _turning)[0][i]]
        place = system.coordinates(body)
        rate = np.linalg.norm(body.angular_velocity(z[:, place], z[:, system.n_q:][:, place]), axis=-1)
        turn = float((np.maximum(rate[1:], rate[:-1]) * lengths).max())
        if worst[0] < turn < np.inf:  # iterates that diverge are no motion
            worst = turn, body
    if worst[0] <= most:
        return sharp_bends(system, z)
    n = int(np.ceil(len(lengths) * worst[0] / most))
    return (f"{system.label(worst[1])} turns by up to {worst[0]:.2g} rad in an element, which {element.stated!r} "
            f"does not resolve: the solution may be far off; take {n} elements or more, or a higher degree")


def turns_in_doubt(system, z):
    """Whether an angle that a force counts may leave its counter in a motion, shape (n_nodes, n_z): then `audited` is
    to look between the nodes."""
    for counter in (body for body in system.bodies if body.is_counter):
        angle, counted = coordinate_at(system, counter.bound, z)[0], z[:, system.coordinates(counter)][:, 0]
        steps = np.remainder(np.diff(angle) + np.pi, 2 * np.pi) - np.pi
        whole = angle[0] + 2 * np.pi * np.round((counted[0] - angle[0]) / (2 * np.pi))
        off = np.abs(whole + np.concatenate([[0.0], np.cumsum(steps)]) - counted)
        if not (off < np.pi).all() or not (np.abs(steps) < np.pi / 2).all():
            return True
    return False


def _fast_rates(solution):
    """The report on a joint, or a coordinate, that moves too fast for the elements: whose rates and momenta part within
    them; or None.

    Both are polynomials that agree in the mean of each element; they agree in between where it resolves the motion,
    whatever the forces do. What is solved all at once, optima above all, may use what elements do not see. Where tests
    reach over two elements this shows how much there is of a second root, of all bodies.
    """
    system, basis, lengths = solution.system, solution.element.state.basis, np.diff(solution.t)
    size, element = np.zeros(system.n_q), solution.element.stated
    for body in system.bodies:  # whose turns are looked at, or whose mass is constant
        if (body.has_position and element.can_march) or body.helper or body.first_order:
            size[system.coordinates(body)] = np.inf
    if basis.n_shapes < 2 or np.isinf(size).all():
        return None
    points = np.array([0.0, 0.5, 1.0])
    z = basis.values(points) @ solution.nodal.state
    rates = (basis.derivatives(points) @ solution.nodal.state)[..., :system.n_q] / lengths[:, None, None]
    times = (solution.t[:-1, None] + lengths[:, None] * points).ravel()
    told = system.velocity(times, z.reshape(-1, system.n_z)).reshape(rates.shape)
    size = np.maximum(size, np.sqrt(system.mass_scale) * np.abs(told).max(axis=(0, 1)))
    size = np.maximum(size, LEAST * size[np.isfinite(size)].max(initial=0.0))
    share = np.sqrt(system.mass_scale) * np.abs(rates - told).max(axis=1) / np.where(size > 0, size, 1.0)
    k, worst = np.unravel_index(np.argmax(share), share.shape)
    if not share[k, worst] > OPTIONS.rates_apart:
        return None
    more = int(np.ceil(len(lengths) * (10 * share[k, worst] / OPTIONS.rates_apart)**(1 / basis.degree)))
    return (f"{coordinate_names(system)[worst]} moves too fast for the elements: at t = {solution.t[k]:.6g} its "
            f"rate differs by {share[k, worst]:.2g} of the largest from what its momentum says, and the solution may "
            f"be far off; take {more} elements or more, a tolerance, or limits of its speed"
            + (element.remedy and f"; {element.remedy}"))


def _missed(solution, turns=False):
    """The report on the body of whose motion elements of a lower degree would miss most, when that is too much; or
    None. Of what was solved at once, as controls and what is estimated are not in the system.

    Of motions with impacts only `turns` are looked at, each element for itself: flights are exact however long.
    """
    system, element, t, nodal = solution.system, solution.element.stated, solution.t, solution.nodal.state
    if turns:
        if element.state.basis.degree == 1:
            return None
        blocks, rotates = blocks_of(system)
        nodal = np.where(np.tile(rotates[blocks] > 0, 2), nodal, 0.0)
    own, first = excess(system, element, t, solution.z, nodal, solution._beside)
    if not (own > 1.0).any():
        return None
    own[is_polynomial(element, t, nodal, own > 1.0)] = 0.0
    worst = int(np.argmax(own))
    if not own[worst] > 1.0:
        return None
    n = int(np.ceil((len(t) - 1) * 2 * own[worst]**(1 / element.state.basis.degree)))
    return (f"{system.label(body_of(system, worst))} moves too fast for {element!r} from t = {t[first]:.3g} on: "
            f"elements of a lower degree would miss most of it, and the solution may be far off; take {n} elements or "
            "more, or a higher degree")


# ---- Whether a motion stays near its constraints between the nodes, where elements ask for nothing
# Optimisers find motions that hold the constraints at all nodes, and go straight from one side of a joint to the
# other in one element, which costs nothing. No real motion is near these.

BETWEEN = np.arange(2, 7) / 8  # places between two nodes


class Jump(NamedTuple):
    """Where a motion leaves a constraint: element, time [s], name of the constraint."""

    element: int
    time: float
    name: str


def jump_of(solution):
    """The `Jump` of a solution, where it leaves a constraint most; None where it stays near all of them."""
    system, basis = solution.system.complete or solution.system, solution.element.state.basis
    m, n = system.n_constraints, system.n_q
    if not m or len(solution.t) == 1:
        return None
    points = basis.points if basis.n_shapes > 1 else np.array([0.0, 1.0])
    times = solution.t[:-1, None] + np.diff(solution.t)[:, None] * points
    z = solution.nodal.state if basis.n_shapes > 1 else solution(times)
    size = _ways(system, z[..., :n])
    steps = np.diff(z[..., :n], axis=1) / size
    element, place = np.nonzero((np.abs(steps) > OPTIONS.between_small).any(axis=2))
    if not len(element):
        return None
    first, last = times[element, place], times[element, place + 1]
    between = first[:, None] + (last - first)[:, None] * BETWEEN
    residuals = np.abs(system.constraints(between.ravel(), solution(between).reshape(between.size, -1))[:, :m])
    residuals, middle = residuals.reshape(*between.shape, m).max(axis=1), (first + last) / 2
    chosen = np.argsort(-residuals.max(axis=1))[:OPTIONS.between_places]
    residuals, element, place, middle = residuals[chosen], element[chosen], place[chosen], middle[chosen]
    gradients = np.array([[system.derivatives(times[e, j], z[e, j])[1][:m, :n].toarray() * size for j in (i, i + 1)]
                          for e, i in zip(element, place, strict=True)])
    lengths, gradients = np.linalg.norm(gradients, axis=3).min(axis=1), gradients[:, 0]
    largest = np.abs(gradients).max(axis=0)
    seen = largest > OPTIONS.between_seen * largest.max(axis=1, keepdims=True)
    ways = np.sqrt(np.einsum("ka,ia->ki", steps[element, place]**2, seen))
    first_order = lengths * ways
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(ways > OPTIONS.between_small, residuals / first_order, 0.0)
    k, i = np.unravel_index(np.argmax(np.nan_to_num(shares)), shares.shape)
    if shares[k, i] > OPTIONS.between_left:
        return Jump(int(element[k]), float(middle[k]), system.constraint_names[i])
    return None


def _ways(system, q):
    """How far each coordinate moves, or those of a place in space, or of a rotation, together; shape (n_q,)."""
    way = np.ptp(q, axis=(0, 1))
    for body in system.bodies:
        own = way[system.coordinates(body)]
        first = body.dimension if body.has_position else len(own)
        for group in (own[:first], own[first:]):
            group[:] = group.max(initial=0.0)
    return np.maximum(way, OPTIONS.between_noise * max(np.abs(q).max(), 1e-300))


# ---- Angles of joints along a solution, with their turns; and what neighbouring nodes of beams turn apart

_beams = Late("timefem.mechanics.composites.beam")  # most systems have none


def turn_table(solution, bound):
    """Times, and an angle there with its turns, close enough for turns to be reported; at the nodes among others.

    The increments are those that the rates predict, so that no turn is missed.
    """
    system = solution.system
    if len(solution.t) == 1:
        return solution.t, first_angle(solution, bound, coordinate_at(system, bound, solution.z)[0])
    rates = np.abs(coordinate_at(system, bound, solution.nodal.state)[1]).max(axis=1)
    n = np.maximum(2, np.ceil(rates * np.diff(solution.t) / OPTIONS.largest_turn)).astype(int)
    if n.sum() > OPTIONS.most_turn_points:
        n = np.full(len(n), max(2, OPTIONS.most_turn_points // len(n)))
    mesh, e = TimeMesh(solution.t), np.repeat(np.arange(len(n)), n)
    place = (np.arange(len(e)) - np.repeat(np.cumsum(n) - n, n)) / n[e]
    times = np.append(mesh.nodes[e] + mesh.lengths[e] * place, solution.t[-1])
    values, rate = coordinate_at(system, bound, solution(times))
    steps, expected = np.diff(values), np.diff(times) * (rate[1:] + rate[:-1]) / 2
    steps += 2 * np.pi * np.round((expected - steps) / (2 * np.pi))
    return times, first_angle(solution, bound, values[:1]) + np.concatenate([[0.0], np.cumsum(steps)])


def first_angle(solution, bound, value):
    """The angle at the start, with the turns that its counter starts with."""
    system = solution.system
    if "counter" in vars(bound) and bound.counter in system.bodies:
        start = solution.z[0][system.coordinates(bound.counter)]
        return value + 2 * np.pi * np.round((start - value) / (2 * np.pi))
    return value


def unwrapped(solution, bound, t=None, table=None):
    """An angle with its turns at times, the ends of the elements unless given; shape t.shape."""
    times, angles = turn_table(solution, bound) if table is None else table
    t = solution.t if t is None else np.asarray(t, float)
    value = coordinate_at(solution.system, bound, solution(t) if len(solution.t) > 1 else solution.z)[0]
    predicted = np.interp(t, times, angles)
    return value + 2 * np.pi * np.round((predicted - value) / (2 * np.pi))


def sharp_bends(system, z):
    """What is to be reported states, shape (n, >= n_q), in which neighbouring nodes of a beam turn too far apart for
    what is interpolated between them, or None. Quaternions turn by half of the angle, directors by all of it."""
    worst, sharpest, angle = 1.0, None, 0.0
    for beam in system.composites:
        bend = largest_bend(system, beam, z) if isinstance(beam, _beams.Beam) else 0.0
        share = bend / OPTIONS.sharp_bend * (2 if bend and beam.rotation == "directors" else 1)
        if share > worst:
            worst, sharpest, angle = share, beam, bend
    if sharpest is None:
        return None
    n = int(np.ceil(sharpest.n_elements * worst))
    return (f"{system.label(sharpest)} bends or twists by up to {angle:.2g} rad from node to node, which its elements "
            f"do not resolve: the solution may be far off; give it {n} elements or more, or a higher degree")


def largest_bend(system, beam, z):
    """Angle between the turns of neighbouring nodes from their rest, the largest in states of shape (n, >= n_q)."""
    least = 3.0
    for leg in beam.legs:
        last = None
        for i in leg:
            node = system.find(beam.nodes[i])
            turn = node.rotation_matrix(z[:, system.coordinates(node)]) @ beam.node_axes(i).T
            if last is not None:
                least = min(least, (turn * last).sum(axis=(-2, -1)).min())
            last = turn
    return float(np.arccos(np.clip((least - 1) / 2, -1, 1)))


def warn_of_bends(system, z):
    """Warn of `sharp_bends`, of any kind of solution."""
    text = sharp_bends(system, z)
    if text is not None:
        warn(text, UnderResolved)
