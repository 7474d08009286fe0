"""What contacts do, how those that are closed share their forces, and the system with these."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...mechanics.contacts import reacting
from ...mechanics.contacts.reacting import forces_seen
from ...mechanics.numbers.records import made_of
from .options import BARRIER, CONTACT, RANK

OPEN, CLOSED, SLIDES, STICKS, BEGINS, HELD = range(6)
ALONG_GIVEN = BEGINS, HELD  # to slide in space; at the limit of friction while it is kept from slipping
RUBS = SLIDES, *ALONG_GIVEN
IS_RUBBING = np.isin(range(6), RUBS)  # by mode
HOLDS = STICKS, HELD  # what is HELD does so across the direction in which others keep it from slipping


class Sharing:
    """How closed contacts whose rows depend on each other share their forces: with the least squares of friction, and
    of normal forces after it.

    Forces are `matrix` times those of the rows that are kept as constraints: with all rows `W = B W_kept` it is
    `S B (B^T S B)^-1`, S small where there is friction, the same in elements and at nodes, so that what slides has the
    same friction. Where normal forces of what slides would follow from friction of what sticks, they follow from the
    other normal forces alone, and directions of sticking that depend on normals have no force.

    Attributes
    ----------
    rows : ndarray of int
        Normal rows of what is closed, then those of what sticks, of the three of each contact.
    n_normal : int
    own : ndarray of int
        Those that are kept, in the same order.
    matrix : ndarray, shape (n_rows, n_own)
    free : ndarray, shape (n_rows, n_free)
        Orthonormal forces of what sticks that move nothing: friction may be shared otherwise by as much, see
        `within_limits`.
    """

    def __init__(self, rows, n_normal, own, matrix, free=None):
        self.rows, self.n_normal, self.own, self.matrix = rows, n_normal, own, matrix
        self.free = np.zeros((len(rows), 0)) if free is None else free
        self._key = tuple(rows.tolist()), tuple(own.tolist()), matrix.round(10).tobytes()

    def __eq__(self, other):
        return isinstance(other, Sharing) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    @cached_property
    def changes(self):
        """Contacts that `free` forces act at, and these, shape (n_contacts, 2, n_free)."""
        rows = np.flatnonzero(self.free.any(axis=1))
        which, at = np.unique(self.rows[rows] // 3, return_inverse=True)
        found = np.zeros((len(which), 2, self.free.shape[1]))
        found[at, self.rows[rows] % 3 - 1] = self.free[rows]
        return which, found

    def kept(self, c):
        """Which of the three rows of a contact are constraints, tuple of int."""
        return tuple(int(row) - 3 * c for row in self.own if row // 3 == c)


NOTHING_SHARED = Sharing(np.zeros(0, int), 0, np.zeros(0, int), np.zeros((0, 0)))


class Places(NamedTuple):
    """Of some modes: which contacts, and which of the three rows of each, do what.

    Attributes
    ----------
    rubs, loaded : ndarray of int, and of bool
        What slides by a normal force; whether by a given one.
    turns : ndarray of bool
        Whether it slides along its slip in space.
    slides : ndarray of int
        What slides by its own normal force, a multiplier.
    across, given : ndarray of int, shape (n, 2)
        Rows along the surface of `slides`, and of what slides by a given force.
    closed, slips, holds : ndarray of int
        What is pressed by its own force, slides and does not only begin to, and sticks or is held.
    hangs, leans : ndarray of bool
        Of what `holds`: by a given force; at the limit of friction.
    """

    rubs: np.ndarray
    loaded: np.ndarray
    turns: np.ndarray
    slides: np.ndarray
    across: np.ndarray
    given: np.ndarray
    closed: np.ndarray
    slips: np.ndarray
    holds: np.ndarray
    hangs: np.ndarray
    leans: np.ndarray

    @classmethod
    def of(cls, modes, contacts):
        persistent, along = contacts.persistent, np.array([1, 2])
        rubs, holds = np.flatnonzero(IS_RUBBING[modes]), np.flatnonzero(np.isin(modes, HOLDS))
        loaded = persistent[rubs]
        turns = ~np.isin(modes[rubs], ALONG_GIVEN) & (contacts.n_slip[rubs] == 2)
        slides, given = rubs[~loaded], rubs[loaded]
        return cls(rubs, loaded, turns, slides, 3 * slides[:, None] + along, 3 * given[:, None] + along,
                   np.flatnonzero((modes != OPEN) & ~persistent), np.flatnonzero(modes == SLIDES), holds,
                   persistent[holds], modes[holds] == HELD)


def without_contacts(system, further=(), sharing=NOTHING_SHARED):
    """The system without its rigid contacts, and with further parts, those that are closed among them; what counts
    turns for contacts stays, and so do forces that see contacts."""
    counted = [reacting.Bystander(part) for part in system.rigid_contacts if any(body.helper for body in part.bodies)]
    shares, own = _shares_of_normal_forces(system, sharing), {}
    for part in further:
        if isinstance(part, reacting.ClosedContact) and part.constraint_names:
            own.setdefault(part.contact, {})[part.row] = part
    parts = [_pressed(part, shares, own) for part in system.parts if not part.n_contacts]
    return made_of(system, [*parts, *counted, *further])


def _shares_of_normal_forces(system, sharing):
    """Rigid contact -> row -> list of (contact, row, share): of which multipliers its normal force is made."""
    rows = [(part, i) for part in system.rigid_contacts for i in range(part.n_contacts)]
    found, own = {}, np.flatnonzero(sharing.own % 3 == 0)
    for k, row in enumerate(sharing.rows[:sharing.n_normal]):
        part, i = rows[row // 3]
        found.setdefault(part, {})[i] = [(*rows[sharing.own[j] // 3], float(sharing.matrix[k, j])) for j in own
                                         if sharing.matrix[k, j]]
    return found


def _pressed(part, shares, own):
    """A part, as it sees normal forces of contacts that are closed."""
    contacts = [other for other in part.reactions_of if other.n_contacts]
    if not contacts:
        return part
    seen, found, first = [], [], 0
    for other in part.reactions_of:
        for i, terms in shares.get(other, {}).items():
            for contact, row, share in terms:
                one = own[contact][row]
                seen += [one] * (one not in seen)
                found.append((first + i, seen.index(one), share))
        first += len(forces_seen(other))
    return reacting.PressedForce(part, seen, found)


def shared(states, modes):
    """`Sharing` of the contacts in given modes, by the first state: rows of gaps come first."""
    modes = np.asarray(modes)
    if not (modes != OPEN).any():
        return NOTHING_SHARED
    normal, rows, vectors, size = _closed_rows(states, modes)
    if not len(rows):
        return NOTHING_SHARED
    _, kept = _independent(vectors[rows], size[rows // 3], len(normal))
    needed = (modes[rows // 3] != HELD) | (rows % 3 == 0)
    needed[kept] = True
    rows, kept = rows[needed], (np.cumsum(needed) - 1)[kept]
    size, vectors = size[rows // 3], vectors[rows]
    if len(kept) == len(rows):
        return Sharing(rows, len(normal), rows, np.eye(len(rows)))
    scale = 1 / np.where(size > 0, size, 1.0)
    found = np.linalg.lstsq((vectors[kept] * scale[kept, None]).T, (vectors * scale[:, None]).T, rcond=None)[0].T
    depends = found * size[:, None] * scale[kept]
    depends[np.abs(found) < RANK.independent] = 0.0
    push = np.where(np.arange(len(rows)) < len(normal), 1.0, RANK.friction)[:, None] * depends
    matrix = push @ np.linalg.inv(depends.T @ push)
    matrix[np.abs(matrix) < RANK.independent] = 0.0
    slides = IS_RUBBING[modes[normal // 3]]
    sticking = kept >= len(normal)
    if matrix[:len(normal)][np.ix_(slides, sticking)].any():  # what slides takes its normal force from those of gaps
        matrix = np.zeros_like(depends)
        wedged = depends[:, ~sticking].any(axis=1)
        first = np.arange(len(rows)) < len(normal)
        for which, own in ((first, ~sticking), (~first & ~wedged, sticking)):
            b = depends[np.ix_(which, own)]
            matrix[np.ix_(which, own)] = b @ np.linalg.inv(b.T @ b)
    return Sharing(rows, len(normal), rows[kept], matrix, _that_move_nothing(found, size, rows, len(normal), modes))


def _that_move_nothing(depends, size, rows, n_normal, modes):
    """Orthonormal forces of rows of what sticks, columns, without effect; `depends` of rows as long as one."""
    sticks = np.flatnonzero((np.arange(len(rows)) >= n_normal) & (modes[rows // 3] == STICKS) & (size > 0))
    base, values, _ = np.linalg.svd(depends[sticks])
    rank = int((values > RANK.independent).sum())
    free = np.zeros((len(rows), len(sticks) - rank))
    if free.size:
        free[sticks] = np.linalg.qr(base[:, rank:] / size[sticks, None])[0]
    return free


def within_limits(friction, limits, free):
    """Friction within its limits, by forces without effect; what is given where that is.

    Else this goes as far as the limits ask for it towards the least squares of friction over limits, by which what does
    not press holds nothing; where these are beyond a limit, too, towards the largest that the least of the margins
    `limits - |friction|` may be, all the way where they cannot be held.

    Parameters
    ----------
    friction : ndarray, shape (n, n_contacts, 2)
    limits : ndarray, shape (n, n_contacts)
    free : ndarray, shape (n_contacts, 2, n_free)

    Returns
    -------
    friction : ndarray, shape (n, n_contacts, 2)
    margins : ndarray, shape (n, n_contacts)
        Of the friction given, or of what it goes towards: negative where no sharing holds the limits.
    """
    limits, size = np.maximum(limits, 0.0), np.hypot(friction[..., 0], friction[..., 1])
    margins = limits - size
    beyond = np.flatnonzero((margins < 0).any(axis=1))
    if not len(beyond):
        return friction, margins
    scale = np.maximum(limits, size)[beyond].max(axis=1)
    given, limit = friction[beyond] / scale[:, None, None], limits[beyond] / scale[:, None]
    weight = 1 / np.sqrt(np.maximum(limit, np.finfo(float).eps)).repeat(2, axis=1)[..., None]
    x = -np.linalg.pinv(weight * free.reshape(-1, free.shape[2])) @ (weight * given.reshape(len(given), -1, 1))
    change, margin = _changed(given, limit, free, x[..., 0])
    left = (margin < -CONTACT.unsure).any(axis=1)
    if left.any():
        change[left], margin[left] = _changed(given[left], limit[left], free, _widest(given[left], limit[left], free))
    # where |given + share change| = limit, the nearer one of both
    a, b, c = (change**2).sum(axis=2), (given * change).sum(axis=2), (given**2).sum(axis=2) - limit**2
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    enters = np.divide(c, root - b, out=np.ones_like(c), where=root - b > np.maximum(c, 0.0))
    share = np.where(c > 0, enters, 0.0).max(axis=1)
    share = np.where((margin < 0).any(axis=1), 1.0, share)
    friction, margins = friction.copy(), margins.copy()
    friction[beyond] += (share * scale)[:, None, None] * change
    margins[beyond] = margin * scale[:, None]
    return friction, margins


def _changed(given, limit, free, x):
    """Change of friction by multiples x (n, n_free) of forces without effect, and its margins."""
    change = np.einsum("cij,nj->nci", free, x)
    return change, limit - np.hypot(*np.moveaxis(given + change, 2, 0))


def _widest(given, limit, free):
    """Multiples of forces without effect by which the least margin is largest: a linear problem on cones of second
    order, by Newton's method on its logarithmic barrier, all states at once."""
    n = free.shape[2]
    x = np.zeros((len(given), n + 1))  # forces without effect, and the least margin
    x[:, n] = (limit - np.hypot(given[..., 0], given[..., 1])).min(axis=1) - 1.0
    by_x = np.zeros((limit.shape[1], 3, n + 1))  # of limit less margin, and of friction
    by_x[:, 0, n], by_x[:, 1:, :n] = -1.0, free
    rows, shape = by_x.reshape(-1, n + 1), (len(given), -1, 3)
    flat = np.diag([2.0, -2.0, -2.0])
    for weight in BARRIER.weights:
        before = x.copy()
        for _ in range(BARRIER.iterations):
            own = np.concatenate([limit[..., None], given], axis=2) + (x @ rows.T).reshape(shape)
            along = np.hypot(own[..., 1], own[..., 2])
            inside = (own[..., 0] - along) * (own[..., 0] + along)
            slope = own @ flat / inside[..., None]
            gradient = -slope.reshape(len(given), -1) @ rows
            gradient[:, n] -= 1 / weight
            curved = slope[..., :, None] * slope[..., None, :] - flat / inside[..., None, None]
            hessian = rows.T @ (curved @ by_x).reshape(len(given), -1, n + 1)
            step = np.linalg.solve(hessian, -gradient[..., None])[..., 0]
            length = np.sqrt(np.maximum(-(step * gradient).sum(axis=1), 0.0))  # in the metric of the barrier
            x += step / np.where(length > BARRIER.near, 1 + length, 1.0)[:, None]
            if (length < BARRIER.found).all():
                break
    x += (x - before) / (BARRIER.weights[-2] / BARRIER.weights[-1] - 1)  # to none, as it is nearly linear in the weight
    return x[:, :n]


def resting(modes):
    """Modes in which slips have not begun yet."""
    return np.where(modes == BEGINS, STICKS, modes)


def held(states, modes, directions, slow):
    """Modes with HELD of contacts that would slide, by their forces, but for others that are closed or stick.

    They have no slip along `directions` (n_contacts, 2) whose sign could tell anything. `slow` are those without slip,
    bool (n_contacts,).
    """
    found = np.array(modes)
    if not (found != OPEN).any():
        return found
    rubbing = np.flatnonzero(IS_RUBBING[found] & slow)
    if not len(rubbing):
        return found
    normal, rows, vectors, size = _closed_rows(states, modes)
    basis, _ = _independent(vectors[rows], size[rows // 3], len(normal))
    for c in rubbing:
        along = directions[c] @ vectors[3 * c + 1:3 * c + 3]
        left = along - basis @ (along @ basis)
        if along.any() and np.linalg.norm(left) <= RANK.independent * size[c]:
            found[c] = HELD
    return found


def _closed_rows(states, modes):
    """Rows of gaps of what is closed, these and those of what sticks; of all rows vectors in the metric of M^-1, and of
    all contacts the longest of their three."""
    contacts = states.contacts
    normal = 3 * np.flatnonzero((modes != OPEN) & ~contacts.persistent)
    along = np.array([3 * k + 1 + j for what in HOLDS for k in np.flatnonzero(modes == what)
                      for j in range(contacts.n_slip[k])], int)
    rows = np.concatenate([normal, along])
    vectors = states.rooted
    return normal, rows, vectors, np.linalg.norm(vectors, axis=1).reshape(-1, 3).max(axis=1)


def _independent(vectors, size, n_normal):
    """Orthonormal basis of vectors, as columns, and which are independent, rows of gaps before others: one by one the
    first of those with nearly the most that is new, as the first ones may be feet that are almost on a line."""
    basis, triangle = np.linalg.qr(vectors.T)
    if len(triangle) == len(vectors) and (np.abs(np.diagonal(triangle)) > RANK.independent * size).all():
        return basis, np.arange(len(vectors))
    left, kept, basis = vectors / np.where(size > 0, size, 1.0)[:, None], [], np.zeros((0, vectors.shape[1]))
    for group in slice(n_normal), slice(n_normal, None):
        own = left[group]  # a view
        while (length := np.linalg.norm(own, axis=1)).max(initial=0.0) > RANK.independent:
            k = int((length >= RANK.nearly * length.max()).argmax())
            new = own[k] - basis.T @ (basis @ own[k])
            basis = np.vstack([basis, new := new / np.linalg.norm(new)])
            left -= np.outer(left @ new, new)
            own[k] = 0.0
            kept.append(k + (group.start or 0))
    return basis.T, np.array(sorted(kept), int)
