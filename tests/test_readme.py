"""The README is short, its example prints what it says, and its links lead somewhere."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text()


def test_example_prints_its_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script, shown = (re.search(rf"```{language}\n(.*?)```", TEXT, re.S).group(1) for language in ("python", "text"))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(script, {})
    assert printed.getvalue() == shown
    assert (tmp_path / "fall.html").stat().st_size > 10_000


def test_short_with_one_picture():
    assert len(TEXT.encode()) <= 5000 and len(re.findall(r"!\[", TEXT)) == 1
    assert len(re.findall(r"^\| [A-Za-z].* \| .* \|$", TEXT, re.M)) == 10


def test_links():
    assert [target for target in re.findall(r"\]\(([^)#]+)", TEXT) if not (README.parent / target).exists()] == []
