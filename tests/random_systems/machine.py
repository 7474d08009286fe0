"""Runs relations on random systems, and makes the smallest system that still fails one into a script."""

import inspect
import re
import warnings
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

import timefem as tf

from . import relations
from .draft import drawn, without

wide = partial(drawn, wide=True)

SCRIPT = '''"""{relation} does not hold ({name}: off by {error:.1e} of the size) on seed {seed}."""
from numpy import array
import tests.random_systems.relations as relations
from tests.random_systems.machine import failures_of

draft = {draft!r}
print(failures_of("{relation}", {seed}, draft))
'''


def failures_of(relation, seed, draft=None, folder=None):
    """What does not hold: list of (name, error by the size); of the wide draft of a seed, or another one in its
    place.

    Nothing where a solve told that its elements do not resolve the motion: then Newton's method has several roots.
    """
    function, found = relations.RELATIONS[relation], []
    given = wide if draft is None else lambda seed, **options: draft
    further = {"folder": folder or Path()} if "folder" in inspect.signature(function).parameters else {}
    with warnings.catch_warnings(record=True) as told, mock.patch.dict(function.__globals__, drawn=given):
        warnings.simplefilter("always")
        try:
            for name, value, right, tolerance in function(seed, **further):
                value, right = np.asarray(value), np.asarray(right)
                size = max(np.abs(right).max(initial=0), 1e-3)
                error = np.abs(value - right).max(initial=0) / size if value.shape == right.shape else np.inf
                if not error <= tolerance:
                    found.append((name, float(error)))
        except relations.Fails as error:  # of one of two ways alone
            return [(f"fails: {error}", np.inf)] if _marches(given(seed)) else []
        except tf.InputError as error:  # a rod at a dead point of what it joins, no system to begin from
            if "redundant at the initial state" not in str(error):
                raise
    return [] if any(map(_has_other_roots, told)) else found


def _has_other_roots(warning):
    """Whether a warning is of elements that miss a motion, not only some per cent of it, alike in all relations."""
    off = re.search(r"differ by (\S+) % of the amplitude", str(warning.message))
    return issubclass(warning.category, tf.UnderResolved) and not (off and float(off[1]) < 50)


def _marches(draft):
    try:
        relations.motion(relations.built(draft))
    except (relations.Fails, tf.InputError):
        return False
    return True


def smallest(relation, seed, folder=None):
    """The smallest draft on which a relation fails that fails on a seed, by leaving out parts one after the other."""
    draft = wide(seed, conservative=relation == "back_again")
    while True:
        for what in ("bodies", "extras", "forces", "joints"):
            tried = [without(draft, what, i) for i in range(1 if what == "bodies" else len(draft[what]))]
            less = next((d for d in tried if d and _fails(relation, seed, d, folder)), None)
            if less is not None:
                draft = less
                break
        else:
            return draft


def _fails(relation, seed, draft, folder):
    try:
        return bool(failures_of(relation, seed, draft, folder))
    except Exception:  # another fault of the smaller system
        return False


def check(relation, seed, folder=None):
    """Raise AssertionError with a script of the smallest system where a relation does not hold."""
    found = failures_of(relation, seed, folder=folder)
    if found:
        name, error = found[0]
        raise AssertionError("\n" + SCRIPT.format(relation=relation, name=name, error=error, seed=seed,
                                                  draft=smallest(relation, seed, folder)))
