"""Random scenes: nothing penetrates, no impact gains energy, work and energy agree, and what stops says why."""

import pytest

from tests.nonsmooth.random_scenes import outcome


@pytest.mark.parametrize("seed", [0, 2, 9, 14, 17, 23])
def test_some_scenes(seed):
    found = outcome(seed, 3)
    assert not found.fault, found
    assert not found.named, found


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_a_thousand_scenes(block):
    """With up to 20 bodies; some stop, by name."""
    found = [outcome(seed, 20) for seed in range(10 * block, 10 * block + 10)]
    assert not [one for one in found if one.fault], found
    assert sum(bool(one.named) for one in found) <= 3, found
