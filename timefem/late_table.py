"""Tables of names whose entries are imported when they are asked for: a process needs one of them."""

from collections.abc import MutableMapping
from importlib import import_module

__all__ = ["LateTable"]


class LateTable(MutableMapping):
    """Name -> object.

    Parameters
    ----------
    package : str
        From which the places count.
    places : dict
        Name -> where it is defined, ``".module.Name"``.
    """

    def __init__(self, package, places):
        self._package, self._places, self._found = package, dict(places), {}

    def __getitem__(self, name):
        if name not in self._found:
            module, _, attribute = self._places[name].rpartition(".")
            self._found[name] = getattr(import_module(module, self._package), attribute)
        return self._found[name]

    def __setitem__(self, name, value):
        self._places.setdefault(name, None)
        self._found[name] = value

    def __delitem__(self, name):
        del self._places[name]
        self._found.pop(name, None)

    def __contains__(self, name):  # without an import
        return name in self._places

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)
