"""Names of densities that hold beyond a process: by them kernels are found on disk before any symbol is made."""

import functools
import types

import casadi as ca
import numpy as np

from ...kernels.store import digest, sources
from ...mechanics.formula import Same

_FOLDERS = "kernels", "mechanics", "elements", "polynomials"
_LEAVES = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, type, types.FunctionType,
           types.MethodType, types.BuiltinFunctionType, functools.partial, Same, range, slice)
_MOST_OBJECTS = 2000


def lasting_name(part, element):
    """Digest of all that the density of an element for a kind of part depends on; None if that cannot be told.

    It can for the parts and elements of timefem: their `kind` and `density_key`, together with the code of the package.
    It cannot for classes and functions of others, whose code is not known.
    """
    folders = set(_FOLDERS)
    try:
        words = list(_words((part.kind, element.density_key), folders))
        _check([part, element], folders)
    except _Unknown:
        return None
    return digest("density", *words, sources(*sorted(folders)), ca.__version__)


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
        yield from _words(key.thing, folders)
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
