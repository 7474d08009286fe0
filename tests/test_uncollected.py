"""Imports without searches for cycles: those that come later find what they should."""

import gc
import weakref

import pytest

from timefem.uncollected import uncollected


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


def test_what_others_have_set_stays():
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with uncollected():
            pass
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
