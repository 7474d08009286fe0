"""Parts of one kind taken together, for kernels that evaluate all of them."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .part import Part


@dataclass(frozen=True, eq=False)
class PartGroup:
    """All parts of one kind.

    Attributes
    ----------
    members : tuple of Part
        In the order of the system.
    part : Part
        The first of them, for its formulas.
    state_index : ndarray of int, shape (n_parts, 2 n_q_local)
        Where the local `(q, p)` stand in the system's `z = (q, p)`.
    multiplier_index : ndarray of int, shape (n_parts, 2 m_local)
        Where the local `(gamma, mu)` stand in the system's `lambda = (gamma, mu)`.
    nonholonomic_index : ndarray of int, shape (n_parts, n_local)
        Where the local nonholonomic constraints stand among those of the system.
    reaction_index : ndarray of int, shape (n_parts, n_seen)
        Where the constraints of `reactions_of` stand among those of the system.
    parameters : ndarray, shape (n_parts, n_parameters)
    """

    members: tuple
    state_index: np.ndarray
    multiplier_index: np.ndarray
    nonholonomic_index: np.ndarray
    reaction_index: np.ndarray
    parameters: np.ndarray

    @property
    def part(self) -> Part:
        return self.members[0]


def grouped(system, first=None):
    """The parts of a system by kind, list of `PartGroup`.

    Parameters
    ----------
    system : System
    first : System, optional
        Whose parts are the first ones of these, with all bodies, and of other kinds than the further ones: their groups
        are known.
    """
    n_known, known, places = 0, [], {}
    if first is not None and first.n_q == system.n_q and all(map(operator.is_, first.parts, system.parts)):
        n_known, shift = len(first.parts), system.n_constraints - first.n_constraints
        known = [replace(group, multiplier_index=group.multiplier_index + np.repeat(
            [0, shift], group.multiplier_index.shape[1] // 2)) for group in first.groups]
    stops = np.cumsum([0, *(len(part.constraint_names) for part in system.parts)]).tolist()
    constraint, rolling, every = stops[n_known], first.n_nonholonomic if n_known else 0, np.arange(system.n_q)
    own = {getattr(part, "part", part): np.arange(*span) for part, *span in
           zip(system.parts, stops, stops[1:], strict=False)}
    for part in system.parts[n_known:]:
        q = np.concatenate([np.zeros(0, int), *(every[system.coordinates(body)] for body in part.bodies)])
        g = np.arange(constraint, constraint + len(part.constraint_names))
        constraint += len(g)
        r = np.arange(rolling, rolling + len(part.nonholonomic_names))
        rolling += len(r)
        seen = np.concatenate([np.zeros(0, int), *(own[other] for other in part.reactions_of)])
        place = (part, np.concatenate([q, q + system.n_q]), np.concatenate([g, g + system.n_constraints]), r, seen)
        places.setdefault(part.kind, []).append(place)
    groups = known
    for same in places.values():
        members, *indices = zip(*same, strict=True)
        groups.append(PartGroup(members, *(np.array(index, dtype=int) for index in indices),
                                np.array([part.parameters for part in members])))
    return groups


def regrouped(groups, changed):
    """The groups with parts that stand for others of the same kinds, in the same places: `changed` from part to part.
    """
    found = []
    for group in groups:
        if not changed.keys().isdisjoint(group.members):
            members = tuple([changed.get(part, part) for part in group.members])
            group = PartGroup(members, group.state_index, group.multiplier_index, group.nonholonomic_index,
                              group.reaction_index, np.array([part.parameters for part in members]))
        found.append(group)
    return found


def seeing(part, kept):
    """The same part that sees only some of the constraints of its `reactions_of`; None: all."""
    if kept is None:
        return part
    found = part.same_part()
    vars(found)["kept_reactions"] = kept
    return found


def own_members(parts, members):
    """Members of parts as they are among the parts, where they may be on other bodies; a list."""
    given = {_place(part): part for part in parts if part.owner is not None}
    return [m if m.owner is None else given.get(_place(m), m) for m in members]


def _place(part):
    """By which a member is known again; with unknown numbers helpers are of other classes."""
    return None if part.helper else type(part), part.owner, part.place


def with_helpers(parts):
    """The members of parts, each helper once, where it is first needed; those that nothing needs are left out, and what
    a body brings along that is among the parts itself."""
    found, given = [], set(parts)
    for member in own_members(parts, [member for part in parts for member in part.members
                                      if not (part.is_body and member != part and member in given)]):
        if not (member.helper and member in found):
            found.append(member)
    needed = {body for part in found if not part.helper for body in part.bodies}
    return [part for part in found if not part.helper or needed.intersection(b for b in part.bodies if b.helper)]
