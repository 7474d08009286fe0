"""Arguments that are formulas, and what goes with them: any number of bodies, names."""

from __future__ import annotations

from functools import partial

import casadi as ca

from ...errors import InputError
from ..formulas.formula import Same
from ..formulas.text import TextFormula, as_formula, text_of
from ..symbols import n_reactions
from .field import REQUIRED, Field, On


class Formula(Field):
    """A function in CasADi symbols, or a formula as text in the `arguments` named; files hold the text.

    The part has a method `traced(name)`: what the formula returns, and a dict from the names that a text has for its
    symbols to these.
    """

    kind_of_value, schema_type = "callable, str or list of str", "formula"
    given_as, kept_as = "UserFunction | str | Sequence[Any]", "Any"

    def __init__(self, help="", *arguments, default=REQUIRED, optional=False, argument=None):
        super().__init__(help, default=default, optional=optional)
        self.arguments, self.argument = arguments, argument

    def check(self, title, value):
        return as_formula(title, value, self.arguments)

    def form_in(self, part, value):
        if value is None:
            return None
        bodies = tuple((body.n_q, body.has_position, body.has_orientation) for body in part.bodies)
        n_controls = sum(actuator.n_controls for actuator in part.controls)
        return Same(value, partial(_stated, part, self.name), (
            bodies, len(part.own_parameters), n_controls,
            n_reactions(part)))

    def stored(self, part, value):
        """The formula as text, or None; InputError where it has no such form."""
        if value is None:
            return None
        if isinstance(value, TextFormula):
            return value.text
        return text_of(f"{part._title}: {self.name}", *part.traced(self.name))


class SeveralBodies(On):
    """Any number of bodies, at least one."""

    several = True
    given_as, kept_as = "BodyFrame | Sequence[BodyFrame]", "tuple[BodyFrame, ...]"
    kind_of_value, schema_type = "Body or sequence of Body", "several_bodies"

    def __get__(self, part, owner):
        return self if part is None else ()


class Texts(Field):
    """A list of texts, or None."""

    kind_of_value, schema_type = "sequence of str", "names"
    given_as, kept_as = "Sequence[str]", "tuple[str, ...] | None"

    def __init__(self, help=""):
        super().__init__(help, default=None, optional=True)

    def check(self, title, value):
        if not isinstance(value, list | tuple) or not all(isinstance(x, str) for x in value):
            raise InputError(f"{title} must be a list of texts, not {value!r}")
        return tuple(value)


def _stated(part, name):
    """What the formula of a part returns, casadi.Function."""
    values, symbols = part.traced(name)
    values = [ca.vertcat(*value) if isinstance(value, list) else value for value in (
        values if isinstance(values, list) else [values])]
    return ca.Function(name, list(symbols.values()), values)
