"""Memory for factors is used again once its owner is gone, and only then."""

import gc

import numpy as np
import pytest

from timefem.solvers.linear.time_chain import lu as memory


class Owner:
    pass


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(memory, "_kept", [])


def test_taken_again_after_its_owner():
    owner, other = Owner(), Owner()
    place = memory.borrow(owner, 1000).ctypes.data
    assert place % 64 == 0
    assert memory.borrow(other, 1000).ctypes.data != place  # still in use
    del owner
    gc.collect()
    assert memory.borrow(other, 100).ctypes.data != place  # far too large
    assert memory.borrow(other, 2000).ctypes.data != place  # too small
    assert memory.borrow(other, 600).ctypes.data == place
    assert memory.borrow(other, 600).ctypes.data != place


@pytest.mark.long
def test_not_more_is_kept_than_the_limit(monkeypatch):
    monkeypatch.setattr(memory, "MOST_KEPT", 20_000)
    monkeypatch.setattr(memory, "_kept", [])
    owners = [Owner() for _ in range(5)]
    for i, owner in enumerate(owners):
        memory.borrow(owner, 1000 + i)
    memory.borrow(owners[0], 3000)  # alone above the limit
    owners.clear()
    del owner
    gc.collect()
    assert 0 < sum(a.nbytes for a in memory._kept) <= 20_000
    assert all(np.shape(a) for a in memory._kept)
