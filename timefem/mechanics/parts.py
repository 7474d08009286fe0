"""Parts of a system by name and by kind: those of one kind taken together, for kernels that evaluate all of them, and
names of kinds that hold beyond a process."""

from __future__ import annotations

import functools
import operator
import re
import types
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..errors import InputError, known_names
from ..kernels.store import digest, sources
from ..memory import Late
from ..records import frozen
from .body_frame import BodyFrame, is_on_tree
from .formulas.formula import Same
from .formulas.text import TextFormula
from .part import Body, Part

if TYPE_CHECKING:
    from .declared.declared import Declared


@frozen(eq=False)
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
    own = {part.whole: np.arange(*span) for part, *span in
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


def _all_members(part, given):
    """The part, what it brings along, and what the members of a composite part bring along."""
    for member in part.members:
        if member is part:
            yield member
        elif not (part.is_body and member in given):
            yield from _all_members(member, given)


def with_helpers(parts):
    """The members of parts, each helper once, where it is first needed; those that nothing needs are left out, and what
    a body brings along that is among the parts itself."""
    found, given = [], set(parts)
    for member in own_members(parts, [member for part in parts for member in _all_members(part, given)]):
        if not (member.helper and member in found):
            found.append(member)
    needed = {body for part in found if not part.helper for body in part.bodies}
    return [part for part in found if not part.helper or needed.intersection(b for b in part.bodies if b.helper)]


places = Late(f"{__package__}.composites.place")


class Names:
    """Parts as attributes, for completion with the tab key: `system.body.crank`.

    What cannot stand in a name of Python becomes an underscore.

    Parameters
    ----------
    what : str
        "body", "joint" or "force", for messages.
    parts : dict
        Label -> Part.
    """

    def __init__(self, what: str, parts: Mapping[str, Any]) -> None:
        self._what = what
        self._parts = {re.sub(r"\W|^(?=\d)", "_", label): part for label, part in parts.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._parts:
            raise AttributeError(f"no {self._what} {name!r} in the system{known_names(name, self._parts)}")
        return self._parts[name]

    def __dir__(self):
        return list(self._parts)

    def __repr__(self):
        return f"{self._what}: {', '.join(self._parts) or 'none'}"


def body_of(system, component):
    """The body of a component of the coordinates, or of the state."""
    i = component % system.n_q
    return next(body for body in system.bodies if i < system.coordinates(body).stop)


def asked_by_name(part: Any, labels: Iterable[str]) -> str:
    """End of a message: that another part has the name of one that is not there, as in solutions from files."""
    name = getattr(part, "name", None)
    return f"; it has another {name!r}: use its name" if name in list(labels) else ""


class NamedParts:
    """Base of `System`, which has `parts`, `bodies`, `composites` and `stands_for`: its parts by name, as keys and as
    attributes."""

    def __getitem__(self, key: str | Declared) -> Any:
        """The body, joint or force of that name (see `label`), or the part that was given, or what stands for it here.

        Raises
        ------
        InputError
            When the system has none, or several of that name.
        """
        if not isinstance(key, str):
            return self._standing_in(key)
        parts = [(self.label(p), p) for p in (*self.parts, *self.composites)]
        replaced = replaced_names(self)
        return replaced[key] if key in replaced and key not in dict(parts) else _find_part(parts, key)

    def _standing_in(self, part):
        """The part itself with the numbers that it has here, or what stands for it."""
        if getattr(part, "elements", ()):  # a composite part, or one of which a member stands for that of another one
            first = self.stands_for.get(part.members[0], part.members[0])
            whole = next((own for own in self.composites if first in own.members or own == part), None)
            if whole is not None:
                return whole
        own = self.here(part)
        if own not in self._present and own not in self:
            raise InputError(f"{own!r} is not in the system")
        return own

    def _ipython_key_completions_(self):
        return [self.label(p) for p in self.parts]

    @property
    def _joints(self):
        return [p for p in self.parts if not p.is_body and (p.constraint_names or p.nonholonomic_names)]

    @property
    def _forces(self):
        joints = set(self._joints)
        return [p for p in self.parts if not p.is_body and p not in joints]

    @property
    def body(self) -> Names:
        """Bodies as attributes: `system.body.crank`."""
        return Names("body", self._names)

    @property
    def joint(self) -> Names:
        """Joints, and other parts with constraints, as attributes."""
        return Names("joint", {self.label(p): p for p in self._joints})

    @property
    def force(self) -> Names:
        """Springs, dampers and loads as attributes."""
        return Names("force", {self.label(p): p for p in self._forces})

    def label(self, part: Declared) -> str:
        """Name of a part for messages and files: its own, or its class and number."""
        if is_on_tree(part):
            part = self.here(part)
            return f"{self.label(part.body)}.{part.address[1]}"
        if part.name or part.owner is None:
            return part.name or self._numbered.get(part) or f"{type(part).__name__}, which is not in the system,"
        return f"{self.label(part.owner)}.{part.place}"

    @cached_property
    def _numbered(self):
        """Labels of unnamed parts: bodies are counted together, other parts by class."""
        count, labels = Counter(), {}
        for part in (*self.composites, *(part for part in self.parts if part.owner is None)):
            name = "body" if part.is_body else f"{type(part).__name__} "
            count[name] += 1
            labels[part] = f"{name}{count[name]}"
        return labels

    @cached_property
    def _names(self):
        return {self.label(b): b for b in self.bodies}

    def find(self, body: Body | str) -> Body:
        """The body itself, or the body of that name.

        Raises
        ------
        InputError
            When the system has no such body; names those it has.
        """
        own = self.here(body) if isinstance(body, BodyFrame | Part) else body
        if own in self:
            return own
        if isinstance(body, str) and body in self._names:
            return self._names[body]
        if isinstance(body, str):
            found = frame_named(self, body) or places.place_named(self.composites, body)
            if found is not None:
                return found
        frames = [f"{self.label(own)}.{name}" for own in self.bodies for name in own.frame_names]
        joints = [label for label in map(self.label, self._joints) if label != body]  # keys of states, as bodies are
        bodies = [self.label(b) for b in self.bodies if not b.helper]
        further = [*replaced_names(self), *frames, *joints]
        known = asked_by_name(body, [*bodies, *further]) or known_names(body, bodies, further=further)
        raise InputError(f"no body {body!r} in the system{known}")


def replaced_names(system: Any) -> dict[str, Any]:
    """Names of bodies and joints that have become links and joints of trees -> what stands for them."""
    return {old.name: own for old, own in system.stands_for.items() if old.name
            and is_on_tree(own) and not is_on_tree(old)}


def named_parts(system: Any) -> dict[str, Any]:
    """All parts and composite parts by their labels, and what stands for others by the names of these."""
    return replaced_names(system) | {system.label(part): part for part in (*system.parts, *system.composites)}


def _find_part(labels, name):
    """The part of that label; `labels` is a list of (label, part).

    Raises
    ------
    InputError
        When there is none, or several; names those there are.
    """
    found = [part for label, part in labels if label == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{len(found)} parts of the system have the name {name!r}; give each its own")
    raise InputError(f"no part {name!r} in the system{known_names(name, [label for label, _ in labels])}")


def frame_named(system, name):
    """The link or joint of a tree: by "tree.link", or the name of what it stands for; None where there is none."""
    if name in system._names:
        return None
    replaced = replaced_names(system)
    if name in replaced:
        return replaced[name]
    for body in system.bodies:
        start = f"{system.label(body)}."
        own = name.removeprefix(start)
        if name.startswith(start) and own in body.frame_names:
            return body.frame_at(body.frame_names[own], own)
    return None


def number_named(system, part, name):
    """The part that has a number, and what it is called there: of links and joints of trees, and of what these
    stand for, the tree and "fore.mass" for "mass"."""
    if isinstance(part, str):
        part = part if part in map(system.label, system.parts) else replaced_names(system).get(part, part)
    else:
        part = system.here(part)
    return (part.body, f"{part.address[1]}.{name}") if is_on_tree(part) else (part, name)


def is_joint(system, part):
    """Whether that is a joint or its name, and not a body."""
    if isinstance(part, str):
        return part not in system._names and part in map(system.label, system._joints)
    return isinstance(part, Part) and not part.is_body


# ---- Names of kinds of parts that hold beyond a process: by them what was made of their formulas is found on disk
# before any symbol is made

_FOLDERS = "kernels", "mechanics", "elements", "polynomials", "errors", "display"  # whose set is digested once
_LEAVES = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, type, types.FunctionType,
           types.MethodType, types.BuiltinFunctionType, functools.partial, Same, TextFormula, range, slice)
_MOST_OBJECTS = 2000


def lasting_name(what, part, form=None):
    """Digest of all that `what` is made of a kind of part depends on; None if that cannot be determined.

    It can for the parts and elements of timefem: their `kind` and `density_key`, together with the code of the package,
    and what formulas given by users state in symbols. It cannot for classes and functions of others, whose code is not
    known.

    Parameters
    ----------
    what : str
    part : Part
    form : TimeElement, optional
        Whose density it is.
    """
    folders, objects = set(_FOLDERS), [part] if form is None else [part, form]
    try:
        words = list(_words((part.kind, form and form.density_key), folders))
        _check(objects, folders)
    except (_Unknown, InputError, RuntimeError):  # formulas that fail are reported where they are used
        return None
    return digest(what, *words, sources(*sorted(folders)), ca.__version__)


class _Unknown(Exception):
    pass


def _words(key, folders):
    """Texts that tell a key from others."""
    if isinstance(key, tuple):
        yield from ("(", type(key).__qualname__)
        for item in key:
            yield from _words(item, folders)
        yield ")"
    elif isinstance(key, str | bool | int | float | None):
        yield from (type(key).__name__, repr(key))
    elif isinstance(key, Same):
        as_it_is = key.stated is None or isinstance(key.thing, TextFormula)
        yield from _words(key.thing if as_it_is else key.stated(), folders)
    elif isinstance(key, TextFormula):
        yield from ("text", key.text, *key.names)
    elif isinstance(key, ca.Function):
        yield from ("casadi", key.serialize())
    elif isinstance(key, type | types.FunctionType) and "<" not in key.__qualname__:
        _enter(key.__module__, folders)
        yield from (key.__module__, key.__qualname__)
    else:
        raise _Unknown


def _enter(module, folders):
    package, _, name = (module or "").partition(".")
    if package != "timefem":
        raise _Unknown
    folders.add(name.partition(".")[0])


def _check(objects, folders):
    """Go through all that the objects hold, for objects of classes that are not of timefem."""
    seen = set()
    while objects:
        thing = objects.pop()
        if isinstance(thing, _LEAVES) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if len(seen) > _MOST_OBJECTS:
            raise _Unknown
        if isinstance(thing, tuple | list | set | frozenset):
            objects += thing
        elif isinstance(thing, dict):
            objects += thing.values()
        elif type(thing).__module__.partition(".")[0] != "casadi":
            for kind in type(thing).__mro__[:-1]:
                if kind.__module__ not in ("abc", "typing"):
                    _enter(kind.__module__, folders)
            objects += vars(thing).values() if hasattr(thing, "__dict__") else ()
