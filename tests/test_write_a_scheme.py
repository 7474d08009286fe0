"""The code of the guide on schemes runs."""

from pathlib import Path

import timefem
from timefem.elements.one_step import OneStep

GUIDE = Path(timefem.__file__).parents[1] / "docs" / "how-to" / "write-a-scheme.md"


def test_the_worked_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves a solution
    blocks = [block.split("```")[0] for block in GUIDE.read_text().split("```python\n")[1:]]
    names = {"__name__": "guide"}
    exec("\n".join(blocks), names)
    assert issubclass(names["Trapezoidal"], OneStep)
    assert names["solution"].success and len(blocks) == 4


def test_the_guide_names_what_there_is():
    from timefem.elements import TimeElement
    from timefem.elements.one_step import StepSymbols

    text = GUIDE.read_text()
    for name in ("midpoint_force", "load", "force", "constraints", "velocity_constraints", "velocity", "moved",
                 "projected", "spread", "inertia"):
        assert f"s.{name}(" in text and hasattr(StepSymbols, name)
    for name in ("constraints_of", "needs_inverse_mass", "check", "density_key", "extra", "has_velocity"):
        assert f"`{name}" in text and (hasattr(OneStep, name) or hasattr(TimeElement, name))
