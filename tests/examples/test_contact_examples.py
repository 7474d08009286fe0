"""Examples of rigid contact: each runs, and its number is right."""

import importlib.util
from pathlib import Path

import matplotlib
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
