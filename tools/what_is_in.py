"""What the tests hold that docs/what-is-in.md names: their first lines, below its table.

python tools/what_is_in.py [--check]
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "what-is-in.md"
HEAD = "## What the tests hold\n"


def modules(text):
    """Test modules named in the table, in order; those of folders in full."""
    for name in dict.fromkeys(re.findall(r"`(tests/[\w/.]+)`", text)):
        path = ROOT / name
        found = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        if not found or not found[0].exists():
            raise SystemExit(f"docs/what-is-in.md names {name}, where there are no tests")
        yield from found


def line(path):
    """Folder and name, and the first line of the docstring."""
    return f"- `{path.relative_to(ROOT)}`: {ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]}"


def page(text):
    above = text.split(HEAD)[0]
    return above + HEAD + "\n".join(["First lines of the test modules; made by `tools/what_is_in.py`.", "",
                                     *dict.fromkeys(map(line, modules(above)))]) + "\n"


if __name__ == "__main__":
    new = page(PAGE.read_text())
    if "--check" in sys.argv:
        sys.exit(new != PAGE.read_text())
    PAGE.write_text(new)
