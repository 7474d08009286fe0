"""What happens at nodes of a march with rigid contact."""

from __future__ import annotations

from dataclasses import asdict, field

import numpy as np

from ...records import frozen

IMPACT, OPENS, SLIPS, STICKS, TOUCHES, RESTS, JAM = "impact", "opens", "slips", "sticks", "touches", "rests", "jam"
FALLBACK, FALLBACK_BEGINS, FALLBACK_ENDS = "fallback", "fallback begins", "fallback ends"
CLOSES, BEGINNING, LEAVES = "closes", "beginning", "leaves"
# what vanishes at nodes whose times follow from the motion
LOCATED = CLOSES, TOUCHES, OPENS, SLIPS, STICKS, BEGINNING, LEAVES


@frozen(eq=False)
class ContactEvent:
    """One event.

    Attributes
    ----------
    t : float
        [s]
    node : int
        Of the solution, `sol.t[node]`.
    kind : str
        "impact", "opens", "slips" (from sticking, or back), "sticks", "touches" (and goes on), "rests" (what
        bounced stays closed: it became too slow), "jam" (an impulse without an impact), "fallback begins", "fallback
        ends", and "fallback" for each such element that begins at the node, with all its impulses.
    contacts : tuple of str
        Names of the contacts.
    impulses : ndarray, shape (n_contacts, 3)
        [N s], normal first, then along the surface.
    statuses : tuple of str
        What the contacts do in an impact: "separates", "sticks", "slides"; after it in other events.
    energy : float
        Change of the energy [J].
    share : float
        Of the restitutions: 1, less where contacts jam or energy would grow.
    distance : float
        To another outcome, relative to speeds and impulses: where it is near zero, derivatives do not exist.
    """

    t: float
    node: int
    kind: str
    contacts: tuple[str, ...]
    impulses: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    statuses: tuple[str, ...] = ()
    energy: float = 0.0
    share: float = 1.0
    distance: float = np.inf

    def __eq__(self, other):
        return isinstance(other, ContactEvent) and self.as_dict() == other.as_dict()

    def __hash__(self):
        return hash((self.t, self.kind, self.contacts))

    def as_dict(self) -> dict:
        """For files: numbers, texts and lists."""
        found = asdict(self)
        found["impulses"] = self.impulses.tolist()
        found["distance"] = self.distance if np.isfinite(self.distance) else None
        return found

    @classmethod
    def from_dict(cls, data: dict) -> ContactEvent:
        """The event of `as_dict`."""
        given = dict(data)
        given["contacts"], given["statuses"] = tuple(data["contacts"]), tuple(data["statuses"])
        given["impulses"] = np.reshape(np.array(data["impulses"], float), (-1, 3))
        given["distance"] = np.inf if data["distance"] is None else data["distance"]
        return cls(**given)


class Stuck(Exception):
    """The march cannot go on."""

    def __init__(self, reason, detail, history=()):
        super().__init__(detail)
        self.reason, self.detail, self.history = reason, detail, history


class AtOnce(Exception):
    """An event is where the march is."""

    def __init__(self, kind, contact):
        super().__init__(kind)
        self.kind, self.contact = kind, contact


def some(names):
    """The first of some names, in words."""
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
