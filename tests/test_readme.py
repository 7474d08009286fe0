"""The first script of the README runs."""

import importlib.util
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_first_script():
    script = re.search(r"```python\n(.*?)```", README.read_text(), re.S).group(1)
    if not importlib.util.find_spec("petsc4py"):
        script = script.replace('backend="petsc"', 'backend="chain"')
    names = {}
    exec(script, names)
    assert names["sol"].success and names["sol"].errors()["energy"] < 1e-3
