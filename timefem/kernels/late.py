"""Numba, imported where a loop is compiled and nowhere else: it takes longer than most of what a process does."""

import functools
import importlib

__all__ = ["cgutils", "compiling", "errors", "intrinsic", "ir", "record_type", "types"]


class _Late:
    """A module that is imported when something of it is first used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


cgutils, errors, ir, types = map(_Late, ("numba.core.cgutils", "numba.core.errors", "llvmlite.ir", "numba.core.types"))
_templates = _Late("numba.core.typing.templates")
compiling, record_type = _Late(f"{__package__}.compiling"), _Late(f"{__package__}.record_type")


class intrinsic:
    """Decorator as ``numba.extending.intrinsic``: an operation in compiled loops."""

    def __init__(self, definition):
        functools.update_wrapper(self, definition)
        self._definition = definition

    @functools.cached_property
    def _numba_type_(self):
        return types.Function(_templates.make_intrinsic_template(self, self._definition, self.__name__))
