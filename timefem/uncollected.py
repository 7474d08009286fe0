"""Memory: imports and compilation without searches for cycles, and stores that forget what was not used of late."""

import contextlib
import gc
import threading

__all__ = ["Recent", "uncollected"]


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
