"""The examples of inverse dynamics run, and their numbers are right."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.long


def example(name):
    import matplotlib

    matplotlib.use("Agg")
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_crane_inverse(tmp_path):
    module = example("crane_inverse")
    result = module.main()
    assert result["relative_degrees"] == {"load x": 4, "load z": 4}
    assert result["errors"]["coordinates"] < 1e-9 and result["errors"]["controls"] < 1e-9
    module.plot(result, tmp_path / "crane.png")
    assert (tmp_path / "crane.png").stat().st_size > 10000


def test_two_link_elastic(tmp_path):
    module = example("two_link_elastic")
    result = module.main()
    assert np.abs(result["end"] - result["prescribed"]).max() < 1e-5
    assert np.abs(result["elbow"]).max() == pytest.approx(0.0306, abs=1e-4)
    assert result["marches"][1.2] > 10 * result["marches"][1.1] and result["marches"][1.4] == np.inf
    module.plot(result, tmp_path / "arm.png")
    assert (tmp_path / "arm.png").stat().st_size > 10000
