"""Estimates of norms draw random columns: the same ones each time, and nobody else's numbers change."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.studies import conditioning

pytestmark = pytest.mark.long


def test_estimated_conditions_are_the_same_each_time():
    problem, found = find_case("physical-pendulum").make(t_end=0.5), []
    for seed in range(3):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        found.append(conditioning(problem, tf.MixedGalerkin(2), [40], scaling="reference", norm=1).condition[0])
        assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert found[0] == found[1] == found[2]
