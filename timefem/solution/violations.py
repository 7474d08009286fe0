"""Do the constraints hold at states of a motion, those that were dropped as redundant, too?"""

import numpy as np

from ..mechanics.states.closing import side_of, whole
from ..mechanics.states.consistent_multipliers import RANK_TOLERANCE
from ..mechanics.values.at_start import at_start, constraint_sizes
from ..mechanics.values.evaluate import kept, quantities_at
from ..mechanics.values.measures import OF_LARGEST, TINY, largest_of
from ..mechanics.values.of_parts import finite_terms
from ..memory import Late
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
    return [part for part in map(whole, system.parts) if hasattr(part, "t_span") and hasattr(part, "right_side")]


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


def constraint_fault(system, t, z):
    """The reason of the first constraint of a motion, shape (n_nodes, n_z), that does not hold, or None.

    Motions that ended early have NaN for the rest.
    """
    if not system.n_constraints and system.complete is None:
        return None
    n = len(t) if np.isfinite(z[-1]).all() else int(np.argmax(~np.isfinite(z).all(axis=1)))
    fault = first_violated(system, t[:n], z[:n]) if n > 1 else None
    return None if fault is None else fault[4]
