"""Examples of rigid contact: each runs, and its number is right."""

import importlib.util
from pathlib import Path

import matplotlib
import numpy as np
import pytest

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples" / "contact"


@pytest.mark.parametrize("name", ["billiard", "capstan", "cradle", "rattleback"])
def test_numbers_and_figures(name, tmp_path):
    matplotlib.use("Agg")
    spec = importlib.util.spec_from_file_location(f"contact_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = module.main(**({"n_elements": 400} if name == "rattleback" else {}))
    assert result["number"] == pytest.approx(result["expected"], abs=result["tolerance"])
    module.draw(result).savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 8000


def test_impact_oscillator():
    spec = importlib.util.spec_from_file_location("impact_oscillator", EXAMPLES / "impact_oscillator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (start, hit, multipliers), found = module.closed_form(), module.periodic(60)
    np.testing.assert_allclose(found.solution.z[0], start, rtol=0, atol=1e-10)
    assert found.solution.events[0].t == pytest.approx(hit, abs=1e-10) and found.iterations <= 4
    np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(multipliers), rtol=0, atol=1e-9)
