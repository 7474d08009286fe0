"""What contacts do, how those that are closed share their forces, and the system with these."""

import numpy as np

from ...mechanics.contacts import closed
from ...mechanics.contacts.reacting import forces_seen

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
    """

    def __init__(self, rows, n_normal, own, matrix):
        self.rows, self.n_normal, self.own, self.matrix = rows, n_normal, own, matrix
        self._key = tuple(rows.tolist()), tuple(own.tolist()), matrix.round(10).tobytes()

    def __eq__(self, other):
        return isinstance(other, Sharing) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def kept(self, c):
        """Which of the three rows of a contact are constraints, tuple of int."""
        return tuple(int(row) - 3 * c for row in self.own if row // 3 == c)


NOTHING_SHARED = Sharing(np.zeros(0, int), 0, np.zeros(0, int), np.zeros((0, 0)))


def without_contacts(system, further=(), sharing=NOTHING_SHARED):
    """The system without its rigid contacts, and with further parts, those that are closed among them; what counts
    turns for contacts stays, and so do forces that see contacts."""
    counted = [closed.Bystander(part) for part in system.rigid_contacts if any(body.helper for body in part.bodies)]
    shares, own = _shares_of_normal_forces(system, sharing), {}
    for part in further:
        if isinstance(part, closed.ClosedContact) and part.constraint_names:
            own.setdefault(part.contact, {})[part.row] = part
    parts = [_pressed(part, shares, own) for part in system.parts if not part.n_contacts]
    return system.of_parts([*parts, *counted, *further])


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
    return closed.PressedForce(part, seen, found)
