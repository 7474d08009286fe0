"""Imports without searches for cycles: those that come later find what they should."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import timefem
from timefem.memory import uncollected


class Ring:
    def __init__(self):
        self.itself = self


@pytest.fixture
def searches():
    found = []

    def note(phase, facts):
        found.append(phase)

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_no_search_inside_nor_at_once_behind(searches):
    with uncollected():
        kept = [[] for _ in range(100_000)]
    before, newest = len(searches), gc.get_count()[0]
    assert before == 0 and gc.isenabled() and newest < 1000
    assert not any(thing is kept for thing in gc.get_objects(generation=0))


def test_rings_are_found_later():
    with uncollected():
        ring = weakref.ref(Ring())
        assert ring() is not None
    gc.collect()
    assert ring() is None


FROZEN = """
import gc
from timefem.memory import uncollected

with uncollected():  # what is made once is there now
    pass
gc.freeze()
frozen = gc.get_freeze_count()
with uncollected():
    pass
assert frozen and gc.get_freeze_count() == frozen, (frozen, gc.get_freeze_count())
"""


def test_what_others_have_frozen_stays():
    """In a process of its own: where threads of others run, frozen objects may be given back meanwhile."""
    environment = os.environ | {"PYTHONPATH": str(Path(timefem.__file__).parents[1])}
    run = subprocess.run([sys.executable, "-c", FROZEN], capture_output=True, text=True, timeout=60, env=environment)
    assert run.returncode == 0, run.stderr


def test_what_others_have_switched_off_stays():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
