"""What is imported when it is first used: a process needs little of all that could be asked for."""

import sys
from collections.abc import MutableMapping
from importlib import import_module

__all__ = ["Late", "LateTable", "tomllib"]


class Late:
    """A module that is imported when something of it is first used.

    Parameters
    ----------
    name : str
        Absolute.
    """

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


tomllib = Late("tomllib" if sys.version_info >= (3, 11) else "tomli")


class LateTable(MutableMapping):
    """Name -> object, imported when it is asked for.

    Parameters
    ----------
    package : str
        From which the places count.
    places : dict
        Name -> where it is defined, ``".module.Name"``; None of what was entered later.
    """

    def __init__(self, package, places):
        self._package, self.places, self._found = package, dict(places), {}

    def __getitem__(self, name):
        if name not in self._found:
            module, _, attribute = self.places[name].rpartition(".")
            self._found[name] = getattr(import_module(module, self._package), attribute)
        return self._found[name]

    def __setitem__(self, name, value):
        self.places.setdefault(name, None)
        self._found[name] = value

    def __delitem__(self, name):
        del self.places[name]
        self._found.pop(name, None)

    def __contains__(self, name):  # without an import
        return name in self.places

    def __iter__(self):
        return iter(self.places)

    def __len__(self):
        return len(self.places)
