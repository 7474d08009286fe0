"""What the global method is for: each example of flexible bodies reaches its number, and has a picture."""

from pathlib import Path

import pytest

from timefem.reproduction import about, run_machine

pytestmark = pytest.mark.long

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "flexible").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    facts = run_machine(path, tmp_path)
    assert facts["agrees"], facts
    assert (tmp_path / f"{path.stem}.png").stat().st_size > 10_000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_short_and_say_what_they_show(path):
    assert len(path.read_text().splitlines()) < 90
    assert 30 < len(about(path)) < 250
