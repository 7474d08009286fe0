"""What it takes to add a joint: one new file, and one line in the public interface."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import timefem

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-joint.md"
STUB = Path(timefem.__file__).with_suffix(".pyi")
SCRIPT = """
import json, sys
import lazy_loader
folder, stub = sys.argv[1:]
import timefem.mechanics.joints as joints
joints.__path__.append(folder)  # as if the new file stood there
getattr_, _, names = lazy_loader.attach_stub("timefem", stub)
import numpy as np
import timefem as tf
from timefem.mechanics.describe import build, describe
from timefem.models import load_model
from timefem.models.schema import schema

Slot = getattr_("Slot")
assert "Slot" in names and Slot.__module__ == "timefem.mechanics.joints.slot"
model = load_model(folder + "/model.toml")
part = model.system["guide"]
assert type(part) is Slot and part.axis_b.tolist() == [0, 2, 0]
sol = model.solve(progress=False)
assert abs(sol.position("bead", 1.0) - [0, 0.5, 0]).max() < 1e-12
sol.save(folder + "/slot.h5")
again = tf.load(folder + "/slot.h5").system["guide"]
assert type(again) is Slot and np.array_equal(again.own_parameters, part.own_parameters)
assert build(describe(model.system)).constraint_names == model.system.constraint_names
entry = schema()["$defs"]["slot"]
assert set(entry["properties"]) == {"type", "bodies", "point_a", "point_b", "axis_b"}
assert entry["required"] == ["bodies"]
text = Slot.__doc__
assert "axis_b : array_like, shape (3,), optional" in text and "of the line, in b" in text
for wrong, message in (({"axis_b": (0, 0, 0)}, "Slot: axis_b has length zero"),
                       ({"point_a": (1, 0, 0)}, "point_a must be zero, because body a is a point mass")):
    try:
        Slot(tf.PointMass(1.0), **wrong)
    except tf.InputError as error:
        assert message in str(error), error
    else:
        raise AssertionError(wrong)
print("all of it")
"""
MODEL = """
[time]
span = [0, 1]
n_elements = 4
[bodies.bead]
type = "point"
mass = 2
velocity = [0, 0.5, 0]
[joints.guide]
type = "slot"
bodies = ["bead"]
axis_b = [0, 2, 0]
"""


@pytest.mark.long
def test_a_joint_is_one_file_and_one_line(tmp_path):
    """The file of the guide and its line give a public class, model files, schema, saving, checks, documentation."""
    page = PAGE.read_text()
    source = re.search(r'```python title="slot.py"\n(.*?)```', page, re.S)[1]
    line = re.search(r"`(from \.mechanics\.joints\.slot import .*?)`", page)[1]
    (tmp_path / "slot.py").write_text(source)
    (tmp_path / "model.toml").write_text(MODEL)
    (tmp_path / "stub.pyi").write_text(f"{STUB.read_text()}\n{line}\n")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(tmp_path / "stub.pyi")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=STUB.parents[1])
    assert done.stdout == "all of it\n", done.stderr
    assert len(source.splitlines()) < 30
