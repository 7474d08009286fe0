"""Names of kinds of parts that hold beyond a process: by them what was made of their formulas is found on disk before
any symbol is made."""

import functools
import types

import casadi as ca
import numpy as np

from ..errors import InputError
from ..kernels.store import digest, sources
from .formulas.formula import Same
from .formulas.text import TextFormula

_FOLDERS = "kernels", "mechanics", "elements", "polynomials", "argument_names", "display"  # whose set is digested once
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
