"""Numba, imported where a loop is compiled and nowhere else: it takes longer than most of what a process does."""

import functools

from ...memory import Late

__all__ = ["cgutils", "compiling", "errors", "intrinsic", "ir", "record_type", "types"]


cgutils, errors, ir, types = map(Late, ("numba.core.cgutils", "numba.core.errors", "llvmlite.ir", "numba.core.types"))
_templates = Late("numba.core.typing.templates")
compiling, record_type = Late(f"{__package__}.compiling"), Late(f"{__package__}.record_type")


class intrinsic:
    """Decorator as ``numba.extending.intrinsic``: an operation in compiled loops."""

    def __init__(self, definition):
        functools.update_wrapper(self, definition)
        self._definition = definition

    @functools.cached_property
    def _numba_type_(self):
        return types.Function(_templates.make_intrinsic_template(self, self._definition, self.__name__))
