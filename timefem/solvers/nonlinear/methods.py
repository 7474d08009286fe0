"""Methods for inequalities by name."""

from dataclasses import replace

from ...errors import InputError
from ...validate.options import METHODS

DEFAULT = "interior-point"


def is_for_inequalities(method):
    """Whether a name, or an object, is a method for inequalities."""
    name = method if isinstance(method, str) else getattr(method, "name", None)
    return isinstance(name, str) and name in METHODS and (name is method or isinstance(method, METHODS[name]))


def method_for_inequalities(method=None):
    """The method that is meant by an object or a name; the default for None.

    Raises
    ------
    InputError
        Lists the names.
    """
    if method is None:
        method = DEFAULT
    if is_for_inequalities(method):
        return METHODS[method]() if isinstance(method, str) else method
    names = ", ".join(f"{name!r} or {cls.__name__}(...)" for name, cls in METHODS.items())
    raise InputError(f"method={method!r} is not a method for inequalities; take {names}")


def after(method, iterations):
    """The method with what these iterations leave of its own."""
    return replace(method, max_iterations=max(1, method.max_iterations - iterations))
