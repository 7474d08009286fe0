"""Methods for inequalities by name. Another method is a file like `ipopt` and an entry here."""

from ...errors import InputError
from .fatrop import Fatrop
from .interior_point import InteriorPoint
from .ipopt import Ipopt

METHODS = {method.name: method for method in (InteriorPoint, Ipopt, Fatrop)}
DEFAULT = "interior-point"


def is_for_inequalities(method):
    """Whether a name, or an object, is a method for inequalities."""
    return isinstance(method, tuple(METHODS.values())) or (isinstance(method, str) and method in METHODS)


def method_for_inequalities(method=None):
    """The method that is meant by an object or a name; the default for None.

    Raises
    ------
    InputError
        Lists the names.
    """
    if method is None:
        method = DEFAULT
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    if isinstance(method, tuple(METHODS.values())):
        return method
    names = ", ".join(f"{name!r} or {cls.__name__}(...)" for name, cls in METHODS.items())
    raise InputError(f"method={method!r} is no method for inequalities; take {names}")
