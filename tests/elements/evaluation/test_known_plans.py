"""Plans of large models, of which a part is kept on disk."""

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.elements.evaluation import plan as plans


@pytest.mark.parametrize("name", ["four-bar", "bricard"])
def test_a_known_plan_is_the_same(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEFEM_CACHE_DIR", str(tmp_path))
    system, found = find_case(name).make().system, []
    for many in (10**9, 1, 1):  # all in memory, made and kept, read
        monkeypatch.setattr(plans, "MANY", many)
        plan = plans.ElementPlan(system, tf.MixedGalerkin(2))
        found.append((plan.arrays.entry_targets, plan.tangent_rows, plan.tangent_columns))
        if many == 1:
            monkeypatch.setattr(plans, "_blocks", None)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.dtype == b.dtype == np.int64
            np.testing.assert_array_equal(a, b)
