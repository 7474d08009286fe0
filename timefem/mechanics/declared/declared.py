"""Base of what declares its arguments: the constructor, what follows from them; arguments that are formulas."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from functools import cache, cached_property, partial, wraps
from inspect import Parameter, Signature, cleandoc
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import InputError, NamedArguments, OfInit, refuse_unknown
from ...records import Documentation
from ..formulas.formula import Same
from ..formulas.text import TextFormula, as_formula, text_of
from ..numbers.arguments import is_symbolic, joined, size
from ..symbols import n_reactions
from .values import REQUIRED, Field, Name, On

if TYPE_CHECKING:
    from ..time_functions import TimeFunction


class Declared(NamedArguments):
    """Has a constructor by its declared arguments, `fields`. `class Joint(Part, abstract=True)` is for subclasses only.

    Attributes
    ----------
    fields : dict
        Name -> `Field`: bodies first, those of the base classes before its own.
    keyword_only : bool or tuple of str
        Whether arguments other than bodies go by name only, or which of them do not.
    refuses_arms : bool
        Whether a point in the axes of a point mass has to be its place.
    free : tuple, optional
        Paths of numbers that are parameters whatever they are, be they zero; None where no number shapes formulas.
    key : object
        By which it is equal to itself with other numbers, hashable: made with it, and kept by `same_part`. A `copy` is
        another part.
    """

    fields = {}  # noqa: RUF012  each class has its own
    keyword_only = refuses_arms = False
    name = free = None
    coordinates, free_rotation = (), False  # of a joint: angles and displacements; whether it leaves all rotation free
    numbers_found = False  # whether `own_parameters` are no longer those of its arguments
    _made = _in_system = False  # whether arguments, and all else, stay as they are

    def __init_subclass__(cls, abstract=False, **options):
        super().__init_subclass__(**options)
        cls.abstract = abstract
        cls.fields = declared(cls)
        if cls.free is None and any(getattr(field, "vanishes", False) for field in cls.fields.values()):
            cls.free = ()
        if "kind" in vars(cls):
            cls.kind = _with_class(vars(cls)["kind"])
        if "__init__" in vars(cls):
            cls.__signature__ = OfInit()
        elif cls.fields:
            check_order(cls.fields, cls.keyword_only)
            cls.__signature__ = OfFields()
            if "__doc__" in vars(cls) and not cls.__name__.startswith("_"):
                cls.__doc__ = Documentation(documented, cls.__doc__)

    @property
    def whole(self) -> Declared:
        """Itself; of a joint without its redundant constraints the joint with all of them."""
        return self

    def __new__(cls, *arguments, **named):
        part = super().__new__(cls, *arguments, **named)
        vars(part)["key"] = object()
        return part

    def __eq__(self, other):
        return self is other or (isinstance(other, Declared) and self.key == other.key)

    def __hash__(self):
        return hash(self.key)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        if not self.fields and not arguments and not named:
            return
        try:
            values = self.__signature__.bind(*arguments, **named)
        except TypeError as error:
            refuse_unknown(f"{type(self).__name__}:", named, list(self.__signature__.parameters))
            by_name = [f"{name}=" for name, p in self.__signature__.parameters.items() if p.kind is p.KEYWORD_ONLY]
            more = f"; give {', '.join(by_name)} by name" if by_name and "positional" in str(error) else ""
            raise TypeError(f"{type(self).__name__}: {error}{more}") from None
        values.apply_defaults()
        values = values.arguments
        self.name = values["name"]
        bodies = [values[name] for name, field in self.fields.items() if field.is_body]
        if bodies:
            self.bodies = self._checked_bodies(bodies)
        given = {name: values[field.argument or name] for name, field in self.fields.items()
                 if name != "name" and not field.is_body}
        if is_symbolic(*given.values()):  # arguments alone, for formulas of them
            for name, value in given.items():
                field = self.fields[name]
                vars(self)[name] = field.of_symbols(value) if is_symbolic(value) else field.checked(self, value)
            return
        for name, value in given.items():
            field = self.fields[name]
            if value is None and field.required:
                raise InputError(f"{self._argument(field.argument or name)} is missing: {field.kind_of_value}")
            setattr(self, name, field.checked(self, value))
        self._complete()
        self.own_parameters = self.declared_numbers()
        self._fix_arrays(self.fields)
        vars(self)["_made"] = True

    # ---- numbers enter kernels, files and results once: whoever changes one later would solve with the old one

    def freeze(self) -> None:
        """Stay as it is from now on: attributes cannot be set, and arrays are read-only copies. Systems do so."""
        if not self._in_system:
            self._fix_arrays(vars(self))
            vars(self)["_in_system"] = True

    def _fix_arrays(self, names):
        own = vars(self)
        for name in names:
            value = own.get(name)
            if isinstance(value, np.ndarray) and (value.flags.writeable or not value.flags.owndata):
                own[name] = fixed = value.copy()
                fixed.setflags(write=False)

    def _refuse_change(self, name):
        if self._in_system or (self._made and name in self.fields and name != "name"):
            why = "it belongs to a system" if self._in_system else "its numbers are fixed"
            raise InputError(f"{self._title}: {name} cannot be changed once {why}; make a new {self.made_by} with the "
                             "new value, and a new System of the parts")

    def __setattr__(self, name, value):
        self._refuse_change(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self._refuse_change(name)
        super().__delattr__(name)

    def __copy__(self):
        other = object.__new__(type(self))
        vars(other).update(vars(self), _in_system=False, key=object())  # a new part, which may still be changed
        return other

    def same_part(self) -> Any:
        """A copy to be given other numbers, which is the same part: equal to this one."""
        other = copy(self)
        vars(other)["key"] = self.key
        return other

    def __setstate__(self, state):
        vars(self).update(state)
        self._fix_arrays(vars(self) if self._in_system else self.fields)

    # ---- what follows from the arguments

    def _checked_bodies(self, bodies):
        """The bodies that the constructor was given, without the ground."""
        return tuple(bodies)

    @property
    def given_bodies(self) -> tuple[Declared, ...]:
        """`bodies` without those that the part made itself."""
        return tuple(body for body in self.bodies if not body.helper)

    def _complete(self):
        """What else is to be checked or made, once the declared attributes are there."""

    def numbers(self, c: Any) -> dict[str, Any]:
        """Parameters of the formulas by name, as a formula of the arguments of the part and of what it refers to.

        Here those of the declared arguments, functions of time last; a part may add some, or state others.

        Parameters
        ----------
        c : object
            The part, or what has its attributes with other numbers or with expressions: `c.mass`, `c.joint.axis_a`,
            `c.body.mass`; for both hold the functions of `timefem.mechanics.numbers.arguments`.
        """
        if not self.fields:
            return {"own": c.own_parameters}
        given = sorted(self.fields.items(), key=lambda item: item[1].is_function)
        values = {name: field.numbers(getattr(c, name)) for name, field in given
                  if not field.is_body and getattr(self, name) is not None}
        return {name: value for name, value in values.items() if size(value)}

    def number(self, name: str, c: Any) -> Any:
        """What enters the formulas for one argument, see `numbers`."""
        return self.fields[name].numbers(getattr(c, name))

    def declared_numbers(self) -> np.ndarray:
        """All of `numbers` in one array: what `own_parameters` are unless a solver found others."""
        try:
            return joined(*self.numbers(self).values())
        except ZeroDivisionError:
            zero = [self._argument(field.argument or name) for name, field in self.fields.items()
                    if not field.is_body and isinstance(getattr(self, name), float) and getattr(self, name) == 0]
            raise InputError(f"{' or '.join(zero) or self._title} must not be 0: its numbers divide by it") from None

    @property
    def stated_numbers(self) -> np.ndarray:
        """`own_parameters` as files have them."""
        return self.own_parameters

    def with_own_parameters(self, numbers: np.ndarray) -> Any:
        """The same part with other `own_parameters`, which a solver found.

        Raises
        ------
        InputError
            When they are not as many.
        """
        if not self._fit(numbers):
            raise InputError(f"{self._title}: {len(numbers)} numbers do not fit")
        other = self.same_part()
        other.own_parameters, other.numbers_found = numbers, True
        return other

    def _fit(self, numbers):
        return numbers.shape == self.own_parameters.shape

    def named(self, own: ca.SX) -> SimpleNamespace:
        """Symbols of the `numbers` by name, from those of `own_parameters`."""
        sizes = {name: size(value) for name, value in self.numbers(self).items()}
        starts = np.cumsum([0, *sizes.values()]).tolist()
        return SimpleNamespace(**dict(zip(sizes, ca.vertsplit(own, starts), strict=True)))

    @property
    def changeable(self) -> Mapping[str, str]:
        """What `changed` takes: attributes by their names in the constructor."""
        return {field.argument or name: name for name, field in self.fields.items()
                if name != "name" and not field.is_body and field.in_files}

    def changed(self, values: Mapping[str, Any], free: Sequence[tuple[Any, ...]] | None = None) -> Any:
        """The same part with other values of attributes, checked as by its constructor, and other `free` numbers: those
        of terms that vanish become free, so that formulas keep them."""
        other = self.same_part()
        vanishing = [(name,) for name in values if getattr(self.fields[name], "vanishes", False) and self.has(name)]
        if free is not None or vanishing:
            other._set_free((*(self.free if free is None else free), *vanishing))
        for name in worked_out(type(self)) & vars(other).keys():
            del vars(other)[name]
        vars(other)["_made"] = False
        for name, value in values.items():
            setattr(other, name, self.fields[name].checked(other, value))
        other._complete()
        other.own_parameters, other.numbers_found = other.declared_numbers(), False
        other._fix_arrays(other.fields)
        vars(other)["_made"] = True
        return other

    def _set_free(self, free):
        vars(self)["free"] = free

    def is_shaped_by(self, path: Sequence[Any]) -> bool:
        """Whether an argument, or a number inside of it by further steps, shapes the formulas: they lack it as long as
        it is zero, or have it as a constant."""
        name, *steps = path
        return (name in self.fields and tuple(path) not in (self.free or ())
                and self.fields[name].shapes_at(getattr(self, name), steps))

    def has(self, name: str) -> bool:
        """Whether formulas have the term of an argument: it is not zero, or free."""
        return getattr(self, name) != 0 or (name,) in (self.free or ())

    @property
    def functions(self) -> tuple[TimeFunction, ...]:
        """The functions of time of the declared arguments, in the order of their numbers."""
        return tuple(f for name, field in self.fields.items() if field.is_function
                     for f in field.functions(getattr(self, name)))

    def values_at(self, name: str, t: ca.SX, c: Any, motion: bool = False) -> list[ca.SX]:
        """Values at the time `t` of the functions of an argument, list of SX; `c` as from `named`."""
        functions = self.fields[name].functions(getattr(self, name))
        starts = np.cumsum([0, *(len(f.parameters) for f in functions)]).tolist()
        numbers = ca.vertsplit(getattr(c, name, ca.SX(0, 1)), starts)
        return [(f.motion if motion else f.formula)(t, *ca.vertsplit(n))
                for f, n in zip(functions, numbers, strict=True)]

    @cached_property
    def kinks(self) -> tuple[float, ...]:
        return tuple(sorted({t for f in self.functions for t in f.kinks}))

    @property
    def kind(self) -> Hashable:
        """Hashable; equal for parts that share their formulas."""
        if not self.fields:
            raise InputError(f"{self._title}: a part that declares no arguments must state its kind")
        return (type(self), *self._form, *(body.kind for body in self.bodies if body is not self))

    @property
    def _form(self):
        """What tells formulas of one class apart, hashable."""
        return tuple(form for name, field in self.fields.items()
                     if (form := field.form_in(self, getattr(self, name) if not field.is_body else None)) is not None)

    @property
    def made_by(self) -> str:
        """What users write to make one: its class."""
        return type(self).__name__

    @property
    def _title(self):
        """Class and name, with which messages start."""
        return self.made_by + (f" {self.name!r}" if self.name else "")

    def _argument(self, name):
        """An argument, as messages call it."""
        return f"{self._title}: {name}"


def _with_class(stated):
    """The `kind` that a class states, a value or a property, with the class of the part: a subclass that inherits it
    has other formulas."""
    state = getattr(stated, "fget", None) or getattr(stated, "func", None) or (lambda part: stated)

    @wraps(state)
    def kind(self):
        return (type(self), state(self))

    return property(kind)


@cache
def worked_out(cls):
    """Names of cached properties."""
    return frozenset(name for name in dir(cls) if isinstance(getattr(cls, name, None), cached_property))


# ---- constructor and documentation of a part, from the arguments that it declares

SECTIONS = ("Raises\n---", "Notes\n---", "Examples\n---", "Attributes\n---")


def declared(cls):
    """The arguments of a class: those of its bases first, its own in the order in which they are written."""
    found = {}
    for base in reversed(cls.__mro__):
        own, members = own_fields(base), vars(base)
        for name in [name for name in found if name in own or (name in members and name != "name")]:
            del found[name]  # replaced by something else, or further on
        found |= own
    if found and not any(isinstance(field, Name) for field in found.values()):
        found["name"] = NAME
    bodies = {name: field for name, field in found.items() if field.is_body and not field.key}
    return bodies | {name: field for name, field in found.items() if name not in bodies}


@cache
def own_fields(cls):
    """The arguments that a class declares itself."""
    return {name: field for name, field in vars(cls).items() if isinstance(field, Field)}


NAME = Name()
NAME.name = "name"


def check_order(fields, keyword_only):
    """Refuse arguments that are needed after one with a default."""
    positional = [field for name, field in fields.items() if not goes_by_name(name, field, keyword_only)]
    late = [after.argument or after.name for before, after in pairwise(positional)
            if after.default is REQUIRED is not before.default]
    if late:
        raise TypeError(f"{late[0]} is needed, but is declared after an argument with a default; declare it before "
                        "that one, or with default=None, with which it is still required")


def goes_by_name(name, field, keyword_only):
    """Whether an argument goes by name only."""
    exempt = keyword_only if isinstance(keyword_only, tuple) else ()
    return bool(keyword_only) and not ((field.is_body and not field.key) or name in exempt)


class OfFields:
    """Signature of the constructor, made when the first part of the class is."""

    def __get__(self, instance, cls):
        owner = next(base for base in cls.__mro__ if "__signature__" in vars(base))
        kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
        owner.__signature__ = Signature([Parameter(
            field.argument or name, kinds[goes_by_name(name, field, owner.keyword_only)],
            default=Parameter.empty if field.default is REQUIRED else field.default)
            for name, field in owner.fields.items()])
        return owner.__signature__


def documented(text, cls):
    """The docstring of a class with a section of its parameters."""
    text = cleandoc(text)
    lines = ["Parameters", "----------"]
    for name, field in cls.fields.items():
        ground = field.is_body and field.ground
        optional = ", optional" * (not field.required)
        lines.append(f"{field.argument or name} : {field.kind_of_value}{optional}")
        said = field.help + f" [{field.unit}]" * bool(field.unit)
        if field.default is not REQUIRED and field.default is not None:
            said += ("; " if said else "") + f"default {field.default!r}"
        if ground:
            said += ("; " if said else "") + "None is the ground"
        lines += [f"    {said}."] if said and not said.endswith(".") else [f"    {said}"] if said else []
    places = [text.index(section) for section in SECTIONS if section in text]
    place = min(places, default=len(text))
    return f"{text[:place].rstrip()}\n\n" + "\n".join(lines) + ("\n\n" + text[place:] if places else "\n")


# ---- Arguments that are formulas, and what goes with them: any number of bodies, names

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
