"""Parameters of all parts of a system as formulas of the numbers that parts declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError
from .arguments import Arguments, is_symbolic, number_at, own_parameters, put, symmetric
from .changes import sees

if TYPE_CHECKING:
    from ..part import Part
    from ..system import System

NONE: Mapping = MappingProxyType({})
Entry = tuple  # a part or composite part, one of its arguments, and steps into that, see `put`


class NumberMap:
    """From arguments of the parts of a system, and of what they refer to, to the parameters of their formulas.

    An entry is (part, argument, *steps into it), see `timefem.mechanics.numbers.arguments.put`.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._records = {part: part for part in (*system.parts, *system.composites)}

    def values(self, given: Mapping[Entry, float]) -> dict[Part, np.ndarray]:
        """Own parameters of the parts that see some entries, with other numbers of these, unchecked."""
        changed = self._with_members(self._changed(given))
        return {part: own_parameters(part, self._arguments(part, changed, symbolic=False))
                for part in self.seeing(changed)}

    def expressions(self, unknown: Mapping[Entry, ca.SX], own: Mapping[Part, Mapping[int, ca.SX]] = NONE,
                    names: Mapping[str, ca.SX] = NONE) -> dict[Part, ca.SX]:
        """Own parameters of the parts that follow from unknown numbers.

        Parameters
        ----------
        unknown : dict
            Entry -> expression.
        own : dict
            Part -> place in its own parameters -> expression, of numbers that are meant by their place.
        names : dict
            Name -> expression, of numbers that costs have by name.

        Returns
        -------
        dict
            Part -> SX (n_own,), of parts of which some depend on these.

        Raises
        ------
        InputError
            For numbers that shape the formulas.
        """
        for part, *path in unknown:
            if part.owner is not None or part.helper:
                raise InputError(f"{self.system.label(part)} and what belongs to it are made together; their numbers "
                                 "cannot be unknown")
            if part.is_shaped_by(path):
                raise InputError(f"{self.system.label(part)}: {spoken(part, path)} shapes the formulas where it is "
                                 f"{number_at(part, *path):g}; start from another value")
        given = self._with_members(self._changed(unknown)) | {
            part: {"own_parameters": _with_entries(part.own_parameters, places)} for part, places in own.items()}
        named = {part: {i: names[s] for i, s in enumerate(part.sources) if isinstance(s, str) and s in names}
                 for part in self.system.parts if part.sources} if names else {}
        symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(ca.vertcat(ca.SX(0, 1), *unknown.values(), *names.values(), *(
            x for places in own.values() for x in places.values()))))
        found, seeing = {}, self.seeing(given)
        if any(named.values()):
            seen = {*seeing, *(part for part, places in named.items() if places)}
            seeing = [part for part in self.system.parts if part in seen]
        for part in seeing:
            parameters = ca.SX(own_parameters(part, self._arguments(part, given)))
            for place, x in named.get(part, NONE).items():
                parameters[place] = x
            if ca.depends_on(parameters, symbols):
                found[part] = parameters
        return found

    def rotations(self, unknown: Mapping[Entry, ca.SX]) -> list[tuple[Part, ca.SX]]:
        """Rotation matrices of which entries are unknown, with the parts that have them."""
        found = []
        for part, values in self._changed(unknown).items():
            rows = values.get("joints", ())
            turned = [values.get("orientation"), *(getattr(row, "orientation", None) for row in rows)]
            found += [(part, x) for x in turned if isinstance(x, ca.SX) and x.shape == (3, 3)]
        return found

    def jacobian(self, entries: Iterable[Entry]) -> dict[Part, np.ndarray]:
        """Derivatives of own parameters by entries, part -> (n_own, n_entries); of parts of which some are not zero."""
        entries = list(entries)
        x = ca.SX.sym("x", len(entries))
        found = self.expressions(dict(zip(entries, ca.vertsplit(x), strict=True)))
        at = [number_at(*entry) for entry in entries]
        return {part: _at_numbers(ca.jacobian(own, x), x, at) for part, own in found.items()}

    def seeing(self, changed: Iterable[Any]) -> list[Part]:
        """Parts whose parameters are formulas of arguments of some parts."""
        return [self.system.parts[i] for i in sorted({i for part in changed for i in self._seen_by.get(part, ())})]

    @cached_property
    def _seen_by(self):
        """Part, joint or composite part -> numbers of the parts whose parameters are formulas of its arguments."""
        found: dict[Any, list] = {}
        for i, part in enumerate(self.system.parts):
            for other in set(map(self._present, sees(part))):
                found.setdefault(other, []).append(i)
        return found

    def _present(self, part):
        """The part as it is in the system."""
        return self._records[part] if part in self._records else self.system.here(part)

    def _arguments(self, part, given, symbolic=True):
        part = self._present(part)
        return Arguments(part, given.get(part, {}), lambda other: self._arguments(other, given, symbolic), symbolic)

    @staticmethod
    def _changed(given):
        """Part -> attribute -> value with some entries replaced."""
        found: dict[Any, dict] = {}
        for (part, name, *steps), x in given.items():
            values = found.setdefault(part, {})
            values[name] = put(values.get(name, getattr(part, name)), symmetric(name, steps), x)
        return found

    def _with_members(self, given):
        """The same with members of composite parts, and those of their attributes that are numbers."""
        found = dict(given)
        for composite in [part for part in given if part in self.system.composites]:
            try:
                made = composite.made_of(given[composite])
            except RuntimeError:  # of CasADi, for a decision by an expression
                raise InputError(f"{self.system.label(composite)}: {', '.join(given[composite])} shape its formulas, "
                                 "and cannot be unknown") from None
            for member, other in zip(composite.members, made, strict=True):
                found[member] = {name: value for name, value in vars(other).items() if name != "own_parameters" and (
                    is_symbolic(value) or isinstance(value, float | np.ndarray) or getattr(
                        member.fields.get(name), "varies", False))}
                self._keep_given(self.system.here(member), found[member])
        return found

    def _keep_given(self, member, values):
        """Numbers that were given for a member of a composite part stay, whatever that makes of it."""
        for name, steps, *_ in vars(member).get("given_numbers", ()):
            if not steps:
                values[name] = getattr(member, name)
            elif len(steps) == 1 and isinstance(steps[0], int | tuple) and name in values:
                number = number_at(member, name, *steps)
                values[name] = put(values[name], symmetric(name, steps), number)
            elif name in values:
                raise InputError(f"{self.system.label(member)}: {spoken(member, (name, *steps))} was given by itself, "
                                 "so that numbers of the composite part cannot be unknown; rebuild the part")


def spoken(part, path):
    """An argument and steps into it, as names of numbers are written."""
    text, value = "", part
    for step in path:
        value = getattr(value, step) if isinstance(step, str) else value[step]
        if isinstance(step, str):
            text += f".{step}"
        elif hasattr(value, "varied"):  # a link or joint of a tree
            text = f".{value.name}"
        else:
            text += f"[{step}]".replace("(", "").replace(")", "")
    return text[1:]


def _with_entries(values, places):
    found = ca.SX(values)
    for place, x in places.items():
        found[place] = x
    return found


def _at_numbers(matrix, x, at):
    """A sparse matrix of expressions of x there, as an array."""
    out = np.zeros(matrix.shape)
    out[matrix.sparsity().get_triplet()] = ca.Function("entries", [x], [matrix.nz[:]])(at).full().ravel()
    return out
