"""Whether a motion is right: do the constraints hold at its states, those that were dropped as redundant, too; and how
far is one off that was marched, by what its own polynomials show, and where that leaves doubts by elements of half the
length?

All is relative to the amplitude of the body, as in `solvers.march.resolution`, and so is what counts as rest. What is
reported is an error of coordinates; of momenta, which may belong to vibrations that hardly move what they are of, only
that they are missed at all. In doubt are errors of either: what an encounter that is over in few elements does to the
momenta, such as a bounce or a perihelion, carries the coordinates away as long as the motion goes on.
"""

import math
from typing import NamedTuple

import numpy as np

from ..assembly import Scaling, TimeMesh
from ..elements.evaluation.plan import ElementPlan
from ..mechanics.states.closing import side_of
from ..mechanics.states.consistent_multipliers import RANK_TOLERANCE
from ..mechanics.values.at_start import at_start, constraint_sizes
from ..mechanics.values.evaluate import kept, quantities_at
from ..mechanics.values.forces import switching_of
from ..mechanics.values.measures import OF_LARGEST, TINY, largest_of
from ..mechanics.values.of_parts import finite_terms
from ..memory import Late
from ..solvers.march.events import missed_forces
from ..solvers.march.march import Run, march
from ..solvers.march.resolution import amplitudes, at_rest, differences, excess, find_ranges, largest_sizes
from ..solvers.nonlinear.newton import Newton
from ..status import Reason
from .options import OPTIONS

scipy = Late("scipy")


def first_violated(system, t, z):
    """Element, time, name, residual and reason of the first constraint at states that does not hold; or None.

    Times and states have shapes (n,), (n, n_z).
    """
    faults = _position_violated(system, t, z), turned_over(system, t, z), _slip(system, t, z)
    found = [fault for fault in faults if fault is not None]
    return min(found, key=lambda fault: fault[1], default=None)


def violation(name, residual):
    """What a status says of a constraint that does not hold."""
    return f"'{name}' is violated by {residual:.3g}"


def _slip(system, t, z):
    """The same of nonholonomic constraints that were dropped; those kept hold by the equations."""
    if system.complete is None or system.n_nonholonomic == system.complete.n_nonholonomic:
        return None
    own, system = system.kept, system.complete
    m, light, v, found = system.n_constraints, system.mass_scale**-0.5, system.velocity(t, z), []
    gradient = at_start(system, t[0], z[0]).gradient
    speed = max(largest_of(z[0], gradient, system.state_scale)[1], np.abs(v / light).max())
    for rows in (slice(first, first + OPTIONS.audit_piece) for first in range(0, len(t), OPTIONS.audit_piece)):
        jacobian, rate, form, drift = quantities_at(system, t[rows], z[rows], "jacobian", "rate", "form matrix",
                                                    "drift", repeatable=False)
        still = np.zeros_like(v[rows])
        of_positions = _terms(jacobian, np.hstack([v[rows], still]), np.hstack([still + light, still]) * speed, rate)
        found.append(np.concatenate([of_positions[..., :m], _terms(form, v[rows], still + light * speed, drift)], -1))
    off, size = np.concatenate(found, axis=1)
    off /= size.max(axis=0)
    dropped = np.setdiff1d(np.arange(m, m + system.n_nonholonomic), own)
    bound = max(OPTIONS.dropped_held, OPTIONS.dropped_more * off[:, own].max(initial=0.0))
    slips = np.argwhere(~(off[:, dropped] <= min(OPTIONS.violated, bound)))
    if not len(slips):
        return None
    node, i = slips[0]
    name, residual = system.nonholonomic_names[dropped[i] - m], off[node, dropped[i]] * size[:, dropped[i]].max()
    return max(node - 1, 0), t[node], name, residual, Reason.CONSTRAINTS_NOT_REDUNDANT


def _terms(matrix, x, largest, more):
    """Values `matrix x + more` and the size of their terms, shape (2, n, n_rows)."""
    sizes = matrix._replace(data=np.abs(matrix.data)).times(np.abs(x) + OF_LARGEST * largest) + np.abs(more)
    return np.stack([np.abs(matrix.times(x) + more), np.maximum(sizes, TINY)])


def _position_violated(system, t, z):
    own, system = system.kept, system.complete or system
    m = system.n_constraints
    if not m:
        return None
    size, bound, dropped = at_start(system, t[0], z[0]).size[:m].copy(), np.full(m, OPTIONS.violated), np.zeros(m, bool)
    least, turning = min(OPTIONS.violated, OPTIONS.dropped_held), None
    if own is not None:
        dropped[np.setdiff1d(np.arange(m), own)] = True
    for first in range(0, len(t), OPTIONS.audit_piece):
        rows = slice(first, first + OPTIONS.audit_piece)
        residuals = np.abs(quantities_at(system, t[rows], z[rows], "positions", repeatable=False)[0])
        if (residuals <= least * size).all():  # whatever sizes grow to
            continue
        turning = by_radian(system, t[0], z[0]) if turning is None else turning
        size = np.maximum(size, constraint_sizes(system, t[0], z[0])[:m])
        if dropped.any():
            terms = finite_terms(system, t[rows], z[rows], "constraint terms")
            size = np.maximum(size, terms[:, :m].max(axis=0))  # may be none at the start
        size = np.minimum(size, turning)
        if dropped.any():
            # elements that hold the constraints in the mean only leave as much of those that repeat each other
            left = (residuals / size)[:, ~dropped].max(initial=0.0)
            bound[dropped] = min(OPTIONS.violated, max(OPTIONS.dropped_held, OPTIONS.dropped_more * left))
        while not (fine := residuals <= bound * size).all():
            node, i = np.argwhere(~fine)[0]
            larger = constraint_sizes(system, t[first + node], z[first + node])[:m]
            larger = np.minimum(np.maximum(size, larger), turning)
            if residuals[node, i] <= bound[i] * larger[i]:  # terms that were zero at the start, as of gears, have grown
                size = larger
                continue
            what = Reason.CONSTRAINTS_NOT_REDUNDANT if dropped[i] else Reason.CONSTRAINTS_VIOLATED
            return max(first + node - 1, 0), t[first + node], system.constraint_names[i], residuals[node, i], what
    return None


def by_radian(system, t, z):
    """What turning bodies by one radian changes constraints by at a state, shape (m,), of those that see no places: an
    angle of many turns is none the more right for a tenth of a turn. Infinite of others, and where they turn by no more
    than rounding, as rows across a plane do in joint coordinates.
    """
    n, m, q = system.n_q, system.n_constraints, z[:system.n_q]
    weights, lengths = np.zeros(n), {}
    for body in system.bodies:
        own = np.arange(n)[system.coordinates(body)]
        if body.is_counter:
            weights[own] = 1.0
        elif body.has_orientation and body.has_position:
            weights[own[3:]] = 1 / 4 if len(own) == 7 else 1.0  # quaternions turn by half of it, and have a length
            lengths |= {i: own[3] for i in own[3:]} if len(own) == 7 else {}
        for joint in getattr(body, "moving", ()):
            units = [unit for _, unit in joint.motion.told]
            weights[own[joint.places][:len(units)]] = [unit == "rad" for unit in units]
    gradient = scipy.sparse.csr_array(at_start(system, t, z).jacobian[:m, :n])
    least = RANK_TOLERANCE * finite_terms(system, np.array([t]), z[None], "constraint terms")[0, :m]
    squares = gradient.multiply(gradient).tocsr()
    size = squares @ weights
    if lengths:
        places = np.array(list(lengths))
        along = gradient @ scipy.sparse.csr_array((q[places], (places, list(lengths.values()))), shape=(n, n))
        size += along.multiply(along).sum(axis=1) * (1 - 1 / 4)
    return np.where((squares @ (weights == 0) == 0) & (np.sqrt(size) > least), np.sqrt(size), np.inf)


def turning_drives(system):
    """Parts that prescribe an angle, whose formulas vanish half a turn away, too."""
    return kept(system, _turning_drives)


def _turning_drives(system):
    return [joint for part in system.parts if hasattr(joint := part.whole, "right_side")]


def turned_over(system, t, z):
    """What `first_violated` has of drives whose angle has come to half a turn from what they prescribe, where their
    formulas vanish, too; bodies that turn slowly from node to node do not."""
    found = []
    for drive in turning_drives(system):
        places = np.concatenate([np.arange(system.n_q)[system.coordinates(body)] for body in drive.bodies])
        rates = np.abs(z[:, system.n_q + places]).max(axis=0) / system.mass_scale[places]  # of whole turns, too
        steps = np.abs(np.diff(z[:, places], axis=0)).max(axis=0, initial=0.0)
        if np.maximum(steps, rates * np.diff(t).max(initial=0.0)).max() > OPTIONS.largest_turn / 2:
            over = np.flatnonzero(np.diff(side_of(system, drive, t, z[:, :system.n_q])))
            if len(over):
                name = f"{system.label(drive)}: {drive.constraint_names[0]}"
                found.append((int(over[0]), t[over[0] + 1], name, np.pi, Reason.CONSTRAINTS_VIOLATED))
    return min(found, key=lambda fault: fault[1], default=None)


def other_roots(system):
    """What marches look for in a system: `look(t, z)` as of `Run`; None where there is nothing."""
    if not turning_drives(system):
        return None

    def look(t, z):
        fault = turned_over(system, t, z)
        return fault and (fault[0], violation(*fault[2:4]))
    return look


def constraint_fault(system, t, z):
    """The reason of the first constraint of a motion, shape (n_nodes, n_z), that does not hold, or None.

    Motions that ended early have NaN for the rest.
    """
    if not system.n_constraints and system.complete is None:
        return None
    n = len(t) if np.isfinite(z[-1]).all() else int(np.argmax(~np.isfinite(z).all(axis=1)))
    fault = first_violated(system, t[:n], z[:n]) if n > 1 else None
    return None if fault is None else fault[4]


def surely_resolves(plan, system, t, x):
    """Whether `estimated_error` surely has nothing in doubt in a motion with ends of elements t and all dofs x of a
    plan: by the amplitude of each component, in a fraction of the time."""
    (difference, _), found = differences(plan.element), np.zeros((4, system.n_z))
    find_ranges(x, plan.columns.first, plan.columns.step, t, difference, found)
    low, high, *squares = found
    size = np.maximum((high - low) / 2, at_rest(system, largest_sizes(system, found[:2])))
    return bool((_phase_errors(plan.element, squares, len(t) - 1, size) <= OPTIONS.error_in_doubt).all())


def _phase_errors(element, squares, n, amplitudes):
    """Errors of components over those that are to be reported, of n elements in all, estimated from sums as of
    `find_ranges` and amplitudes.

    The change of the highest divided difference from element to element over that difference is the turn x per element
    of the vibration that it shows, and the difference over x^m / m! the amplitude; where that would be more than all of
    the motion, x is more. Elements of order p miss x^(p + 1) / C of its phase each; at most they miss all of it.
    """
    order = getattr(element, "order", 2)
    constant = math.gamma(order + 1) * math.gamma(order + 2) / math.gamma(order / 2 + 1) ** 2  # 12, 720, 100800, ...
    power = max(element.state.basis.degree, 2)
    own, changes = np.sqrt(2 * np.array(squares) / n)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sized = math.factorial(power) * own / amplitudes
        turn = np.maximum(np.where(own > 0, changes / own, 0.0), sized ** (1 / power))
        error = np.where(turn > 0, sized / turn**power * np.minimum(n * turn ** (order + 1) / constant, 2.0), 0.0)
    return error / OPTIONS.error_shown


def _shown(n_z):
    """Errors of the components of a state, over their amplitudes, that are to be reported."""
    return np.repeat([OPTIONS.error_shown, OPTIONS.momenta_shown], n_z // 2)


def estimated_error(system, element, t, z, nodal):
    """The error of a motion over the one that is to be reported, as its own polynomials show it; float.

    For what is marched. Arguments as of `excess`. The estimate takes what it sees for vibrations that go on: what is
    damped, driven or free only for a while is off by less. `measured_error` looks closer.
    """
    (difference, _), found = differences(element), np.zeros((4, z.shape[1]))
    n_shapes, n_z = nodal.shape[1:]
    places = np.arange(n_shapes * n_z).reshape(n_shapes, n_z)
    find_ranges(np.ascontiguousarray(nodal).reshape(-1), places, n_shapes * n_z, t, difference, found)
    return float(_phase_errors(element, found[2:], len(t) - 1, amplitudes(system, t, z)).max(initial=0.0))


class Missed(NamedTuple):
    """How far a motion is off: at the end of which element first by more than is to be reported, which component of the
    state, by what part of the amplitude of its body, infinite where elements of half the length cannot be solved; and
    how many elements of the whole motion do, or None."""

    end: int
    component: int
    error: float
    needed: int | None


def measured_error(system, element, t, z, nodal, counted=True):
    """Where a motion that was marched differs too far from one by elements of half the length, a `Missed`; None where
    it does nowhere. They are marched up to there, or to where they cannot be solved. `counted`: tries how many elements
    do where the first ones miss all."""
    nodes = np.sort(np.concatenate([t, (t[1:] + t[:-1]) / 2]))
    mesh, (plan, marched), n = TimeMesh(nodes), marching(system, element, t[0], z[0]), len(t) - 1
    x = np.zeros(plan.columns.n_node + mesh.n_elements * plan.columns.step)
    size, solved, found = amplitudes(system, t, nodal.reshape(-1, system.n_z)), 0, []
    shown = _shown(system.n_z)

    def compare(new):
        nonlocal solved
        first, solved = solved // 2, solved + new
        ends = 2 * np.arange(first, solved // 2) + 1
        error = np.abs(x[ends[:, None] * plan.columns.step + plan.columns.first[-1]] - z[first + 1:solved // 2 + 1])
        off = np.flatnonzero((error / size > shown).any(axis=1))
        if len(off):
            found.append((first + 1 + int(off[0]), error[off[0]] / size))
        return bool(found)

    _, done, status, _ = marched(mesh, Run(compare, x=x))
    if found:
        end, error = found[0]
    elif status.success:
        return None
    else:
        end, moved = done // 2, np.abs(np.diff(z[done // 2:done // 2 + 2], axis=0)[0]) / size
        error = np.where(moved == moved.max(), np.inf, 0.0)
    worst, order, needed = int((error / shown).argmax()), getattr(element, "order", 2), None
    if error[worst] <= OPTIONS.momenta_shown:  # else nothing tells by how much it is off
        wrong = error[worst] / shown[worst] * n / end / (1 - 0.5**order)
        needed = int(np.ceil(n * (wrong / OPTIONS.error_in_doubt) ** (1 / order)))
    if counted:
        needed = elements_that_do(plan, marched, t[[0, -1]], z[0], needed or 2 * n, needed)
    return Missed(end, worst, float(error[worst]), needed)


def marching(system, element, t, z):
    """The `ElementPlan` of marches from a state, and what makes one: `march` of a mesh and a `Run`."""
    plan, scaling = ElementPlan(system, element), Scaling.of("full", system, element, t, z)
    multipliers, newton = system.consistent_multipliers(t, z), Newton()
    return plan, lambda mesh, *run: march(plan, mesh, z, multipliers, scaling, newton, *run)


def elements_that_do(plan, marched, t_span, z0, n, estimate):
    """How many elements resolve the whole of a motion, n or more; None where it would take too many to know, or the
    `estimate` where not even n are tried. Arguments after those of `marching`.

    It is marched on meshes twice as fine as the one before, until vibrations are resolved and what two meshes differ by
    is not to be reported; it falls by the order from there. Errors that grow on the way, as beyond an encounter, show
    nowhere before. The order is one where forces begin or end, anywhere in an element.
    """
    system, before = plan.system, None
    order = getattr(plan.element, "order", 2) if switching_of(system, steep=True) is None else 1
    most = OPTIONS.error_most / plan.columns.step
    if 2 * n > most:
        return estimate
    while n <= most:
        mesh, found = TimeMesh.uniform(t_span, n), None
        x, _, status, _ = marched(mesh)
        if status.success:
            nodal = plan.columns.unpack(x)[0]
            found = mesh.nodes, np.concatenate([z0[None], nodal[:, -1]]), nodal
            if before is not None:
                t, z, _ = found
                off = (np.abs(z[::2] - before[1]) / amplitudes(system, t, z) / _shown(system.n_z)).max()
                if (off <= 1.0 and excess(system, plan.element, *found)[0].max() <= 1.0
                        and missed_forces(system, plan.element, *before) is None):
                    return int(np.ceil(n / 2 * max(off / OPTIONS.error_in_doubt, 1.0) ** (1 / order)))
        n, before = 2 * n, found
    return None
