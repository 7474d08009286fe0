"""What a process takes into memory: modules when they are first used, without searches for cycles meanwhile, and stores
that forget what was not used of late."""

import contextlib
import gc
import sys
import threading
from collections.abc import MutableMapping
from importlib import import_module

__all__ = ["Late", "LateTable", "Recent", "tomllib", "uncollected"]


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


@contextlib.contextmanager
def uncollected():
    """Context in which Python does not look for cycles.

    Each time it goes through all that was imported: a tenth of the time of imports, and a sixth of that of compilation.
    What is there afterwards counts as old, as after a search; else the next one would come at once.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():  # nothing of others that would be thawed
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class Recent(dict):
    """A dict of what is made once and used again, of which those used last are kept.

    A process that solves many systems meets ever more kinds of parts, whose formulas would fill its memory.

    Parameters
    ----------
    most : int
        Values kept.
    """

    def __init__(self, most=200):
        super().__init__()
        self._most, self._lock = most, threading.Lock()

    def __getitem__(self, key):
        with self._lock:
            value = super().pop(key)
            super().__setitem__(key, value)  # the last one
        return value

    def __setitem__(self, key, value):
        with self._lock:
            self.pop(key, None)
            super().__setitem__(key, value)
            while len(self) > self._most:
                del self[next(iter(self))]

    def of(self, key, make):
        """The value of a key, made by ``make()``, which may ask for others, where there is none."""
        try:
            return self[key]
        except KeyError:
            value = self[key] = make()
            return value
