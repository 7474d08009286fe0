"""Names that are not known: what is nearest."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .errors import InputError
from .late import Late

difflib = Late("difflib")
timefem = Late("timefem")

OF_CLASS = {"System", "Solution", "InitialValueProblem", "OptimalControl", "Estimation", "Port"}
FEW = 8  # names that a message lists beside the nearest one
MANY = 24  # names that a message lists at most
Function = TypeVar("Function", bound=Callable[..., Any])


def nearest_name(name: Any, names: Iterable[str]) -> str | None:
    """The nearest of some names, small and capital letters alike; None where none is near."""
    names = {str(known).lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), names, 1) if isinstance(name, str) else ()
    return names[close[0]] if close else None


def did_you_mean(name: Any, names: Iterable[str]) -> str:
    """End of a message: the nearest of some names, if any is near."""
    close = nearest_name(name, [known for known in names if not str(known).startswith("_")])
    return "" if close is None else f"; did you mean {close!r}?"


def known_names(name: Any, names: Iterable[str], lead: str = "it has", further: Iterable[str] = ()) -> str:
    """End of a message: the nearest name, also of `further` ones; and all names where they are few, or none is near."""
    names = list(names)
    near = did_you_mean(name, [*names, *further])
    if near and len(names) > FEW:
        return near
    return f"; {lead} {', '.join(names[:MANY]) or 'none'}{', ...' * (len(names) > MANY)}{near}"


def refuse_unknown(title, given, known):
    """Raise TypeError for the first given name that is not known, with the nearest, or with those there are."""
    for name in given:
        if name not in known:
            near = did_you_mean(name, known) or f"; it takes {', '.join(known)}"
            raise TypeError(f"{title} got an unexpected keyword argument {name!r}{near}")


class OfInit:
    """Signature of a class by its `__init__`, for help and completion."""

    def __get__(self, instance, cls):
        if instance is not None:
            return None
        if cls.__init__ is object.__init__:
            return inspect.Signature()
        signature = inspect.signature(cls.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


class NamedArguments:
    """Base of classes whose constructors tell the nearest name when they are given one that they do not know."""

    __signature__ = OfInit()

    def __new__(cls, *arguments, **named):
        if named and (known := _names(cls.__init__)) is not None:
            refuse_unknown(f"{cls.__name__}()", named, known)
        return super().__new__(cls)


@functools.lru_cache(256)
def _names(constructor):
    """Names of arguments but the first; None where it takes any. Kept, since it takes longer than most constructors."""
    known = inspect.signature(constructor).parameters
    return None if any(p.kind is p.VAR_KEYWORD for p in known.values()) else list(known)[1:]


def check_class(name: str, value: Any, cls: str) -> None:
    """Refuse an argument that is not of a public class, by the name of that."""
    if not isinstance(value, getattr(timefem, cls)):
        raise InputError(f"{name} must be {'an' if cls[0] in 'AEIOU' else 'a'} {cls}, not {value!r}")


def named_arguments(function: Function) -> Function:
    """The same for a function, as a decorator; what its annotation says is `OF_CLASS` is that, or InputError."""
    signature = inspect.signature(function).parameters
    known = list(signature)
    classes = {name: getattr(p.annotation, "__name__", p.annotation) for name, p in signature.items()}
    classes = [(i, name, cls) for i, (name, cls) in enumerate(classes.items()) if cls in OF_CLASS]

    @functools.wraps(function)
    def checked(*arguments, **named):
        refuse_unknown(f"{function.__qualname__}()", named, known)
        for i, name, cls in classes:
            if i < len(arguments) or name in named:
                check_class(name, arguments[i] if i < len(arguments) else named[name], cls)
        return function(*arguments, **named)
    return checked
