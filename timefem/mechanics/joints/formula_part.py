"""What constraints given by a formula share, holonomic or not."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from typing import Any

from ... import validate
from ...errors import InputError
from ...types import UserFunction, Vector
from ..formula import Same
from ..part import Body, Part


class FormulaPart(Part):
    """`n` equations of one or more bodies, by `formula(frames, t, c)` with the parameters c."""

    table = "joints"

    def __init__(self, bodies: Body | Sequence[Body], formula: UserFunction, n: int, parameters: Vector | None,
                 name: str | None) -> None:
        self.name = name
        self.bodies = (bodies,) if isinstance(bodies, Body) else tuple(bodies) if isinstance(bodies, list | tuple) \
            else ()
        if not self.bodies or not all(isinstance(b, Body) for b in self.bodies):
            raise InputError(f"{self._title}: bodies must be a body or a list of bodies, not {bodies!r}")
        if len({id(b) for b in self.bodies}) < len(self.bodies):
            raise InputError(f"{self._title}: a body is given twice in bodies; give each one once")
        self.n, self.formula = validate.integer(f"{self._title}: n", n, minimum=1), formula
        self.own_parameters = self._checked(() if parameters is None else parameters)

    def _checked(self, parameters):
        return validate.array(f"{self._title}: parameters", parameters, (None,))

    changeable = {"parameters": "own_parameters"}  # noqa: RUF012

    def changed(self, values: Mapping[str, Any]) -> Any:
        other = copy(self)
        other.own_parameters = self._checked(values["own_parameters"])
        return other

    @property
    def _formula_title(self):
        return f"{self._title}: the formula"

    def __repr__(self):
        name = f", name={self.name!r}" * bool(self.name)
        return f"{type(self).__name__}({len(self.bodies)} bodies, {self.n} equations{name})"

    @property
    def kind(self) -> Hashable:
        return (type(self), Same(self.formula), self.n, len(self.own_parameters), *(b.kind for b in self.bodies))
