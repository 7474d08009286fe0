"""Model files move as the cases of the same name."""

from pathlib import Path

import numpy as np
import pytest

import timefem as tf
from timefem.cases import find_case
from timefem.models import load_model

FOLDER = Path(__file__).parents[2] / "examples" / "models"


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_model_files_are_the_cases(path):
    case = find_case(path.stem.replace("_", "-"))
    model = load_model(path, t_end=case.t_end / 10)
    expected = tf.solve(case.make(t_end=case.t_end / 10), tf.MixedGalerkin(3), 60)
    solution = model.solve(element=tf.MixedGalerkin(3), n_elements=60)
    assert len(solution.system.dropped) == len(expected.system.dropped)
    size = np.abs(expected.z).max()
    np.testing.assert_allclose(solution.z, expected.z, rtol=0, atol=1e-9 * size)
