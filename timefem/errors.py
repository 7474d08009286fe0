"""Errors that timefem raises on purpose: each names the offending thing and the remedy, such as the nearest name."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from .memory import Late

PACKAGE = str(Path(__file__).parent) + os.sep  # not folders whose names begin alike


class InputError(ValueError):
    """A value that cannot be used; the message names it and says what would be right."""


class MissingBackend(RuntimeError):
    """A named backend that is not installed; the message says how to install it."""


class SolveError(RuntimeError):
    """A solve that cannot go on; the message says where."""


class SingularMatrix(SolveError):
    """A matrix without an inverse to working precision; the message says where."""


class RankError(RuntimeError):
    """An error on one rank of a parallel run, raised on all of them; the message names the rank and its elements."""


class IllConditioned(UserWarning):
    """A solve that may lose more digits than it should; the message says how many, where, and what would help."""


class NotSolved(UserWarning):
    """Numbers of a solve that failed are read."""


class UnderResolved(UserWarning):
    """A mesh that is too coarse for the motion; the message names the body and how many elements would do.

    In optimal control also a limit that the motion passes between the points where it is to hold, and a contact whose
    force drives the motion; in inverse dynamics a singular position that it passes.
    """


class Unstable(UserWarning):
    """An equilibrium that the least push leaves; the message says in how many directions, and what falls."""


class ActiveSetChange(UserWarning):
    """A limit is just reached, without a multiplier, where derivatives of an optimum jump; the message names it."""


class StartFollows(UserWarning):
    """A state at the start that holds constraints with the present numbers only, in derivatives by these."""


class SuspectUnits(UserWarning):
    """Numbers that would fit each other with a factor of 1000; the message says which."""


class OpenJoint(UserWarning):
    """Curves of a beam or rope that nearly meet, but do not; the message says which, and how far apart."""


class OtherSide(UserWarning):
    """A joint that stands half a turn away from where it is meant to be, which its constraints allow; the message names
    it."""


class Undetermined(UserWarning):
    """Forces of joints that rigid bodies leave open, because constraints repeat others; the message says along which
    direction, and with what they are shared."""


class NotAsked(UserWarning):
    """What is given although the problem does not use it; the message says what, and how to have it used."""


class NotDifferentiable(UserWarning):
    """Derivatives of a motion near or at events where it has none: grazing, changes of status, simultaneous impacts.

    The message says where, and how far away. In optimal control also costs with kinks by controls, such as `abs(u)`:
    the message says what to write instead; and costs that jump along the motion.
    """


class WriteError(OSError):
    """A file that could not be written, for instance to a full disk; the message says why and what is kept."""


def needed(package, who):
    """A package that is not always installed.

    Raises
    ------
    MissingBackend
        Says who needs it, and how to get it.
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingBackend(f"{who} needs {package}, which is not installed: pip install {package}") from None


_warned_of = ContextVar("what warnings are of", default="")


@contextmanager
def warnings_of(name: str) -> Iterator[None]:
    """Let warnings inside begin with a name, such as that of a phase, where it is not empty."""
    token = _warned_of.set(f"{name}: " if name else "")
    try:
        yield
    finally:
        _warned_of.reset(token)


def warn(text, category=UserWarning):
    """Warn of the line of the user: the innermost one outside of the package."""
    text = _warned_of.get() + text
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def deprecated(what: str, since: str, instead: str) -> None:
    """Warn of the line of the user that a name, an argument or a value goes with the next minor version.

    Called where it is still taken, for as long as `since` is the version at hand; a test fails from the next minor
    version on until both are gone.

    Parameters
    ----------
    what : str
        As the user writes it, such as ``"MixedGalerkin(points=)"``.
    since : str
        Version that warns first, such as ``"0.2"``.
    instead : str
        What to write, such as ``"n_points="``.
    """
    major, minor = map(int, since.split(".")[:2])
    warn(f"{what} is deprecated since timefem {major}.{minor} and will be removed in {major}.{minor + 1}; use "
         f"{instead}",
         DeprecationWarning)


def earlier_name(thing: Any, name: str, names: Mapping[str, tuple[str, Callable[[Any], Any]]], since: str) -> Any:
    """What an attribute that a release had under another name is now, with a warning; for `__getattr__`.

    Parameters
    ----------
    thing : object
    name : str
        One of `names`.
    names : dict
        Earlier name -> what to write, and the function of the thing that gives what the name stood for.
    since : str
        As of `deprecated`.
    """
    instead, find = names[name]
    deprecated(f"{type(thing).__name__}.{name}", since=since, instead=instead)
    return find(thing)


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
    known = [p.name for p in signature.values() if p.kind is not p.VAR_KEYWORD]
    for p in signature.values():
        if p.kind is p.VAR_KEYWORD:  # **arguments: Unpack[Names]
            known += function.__globals__[p.annotation[len("Unpack["):-1]].__annotations__
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
