"""Every code block of the documentation runs; links lead somewhere; the site builds without a warning."""

import json
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

import timefem
from tests.docs.blocks import DOCS, ROOT, blocks, marks, pages, quiet, run_page
from timefem.solvers.linear import LINEAR_SOLVERS

pytestmark = pytest.mark.long

CODE = [page for page in pages() if any(language in ("python", "sh", "") for language, _, _ in blocks(page))]


@pytest.mark.parametrize("page", [pytest.param(p, marks=marks(p)) for p in CODE])
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quiet()
    known = dict(LINEAR_SOLVERS)
    try:
        assert run_page(page)
    finally:  # pages may enter solvers of their own
        LINEAR_SOLVERS.clear()
        LINEAR_SOLVERS.update(known)
        plt.close("all")


def test_pages_are_in_the_navigation():
    known = (ROOT / "mkdocs.yml").read_text()
    assert [page for page in pages() if page not in known] == []


@pytest.mark.parametrize("page", pages())
def test_links_and_images(page):
    text = re.sub(r"^(`{3,}).*?^\1$", "", (DOCS / page).read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert ((DOCS / page).parent / target).exists(), target


def test_images_are_small():
    assert sum(path.stat().st_size for path in (DOCS / "images").rglob("*") if path.is_file()) < 3e6


def test_reference_is_complete():
    text = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    assert [name for name in timefem.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_reference_is_current():
    """The pages are as the docstrings make them."""
    run = subprocess.run([sys.executable, ROOT / "tools" / "reference.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, f"run tools/reference.py: {run.stdout}{run.stderr}"


def test_claims_name_tests_that_hold_them():
    """docs/what-is-in.md lists the tests that its table names as they are; each row names some, or a benchmark."""
    run = subprocess.run([sys.executable, ROOT / "tools" / "what_is_in.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, f"run tools/what_is_in.py: {run.stderr}"
    rows = [row for row in (DOCS / "what-is-in.md").read_text().split("\n") if row.startswith("| ")][2:]
    assert len(rows) == 30 and [row for row in rows if not re.search(r"`(tests|benchmarks)[^|]*\|$", row)] == []


def test_site(tmp_path):
    pytest.importorskip("mkdocs")
    (tmp_path / "0.0.9").mkdir()
    (tmp_path / "0.0.9" / "index.html").write_text("an earlier version")
    run = subprocess.run([sys.executable, ROOT / "tools" / "build_docs.py", tmp_path], capture_output=True, text=True,
                         timeout=300)
    assert run.returncode == 0, run.stderr
    menu = json.loads((tmp_path / "versions.json").read_text())
    assert [entry["version"] for entry in menu] == [timefem.__version__, "0.0.9"] and menu[0]["aliases"] == ["latest"]
    assert f"url={timefem.__version__}/index.html" in (tmp_path / "index.html").read_text()
    site = tmp_path / timefem.__version__
    assert '"provider": "mike"' in (site / "index.html").read_text()
    assert "<math" in (site / "theory" / "mechanics.html").read_text()
    reference = (site / "reference" / "problems.html").read_text()
    assert "n_elements" in reference and "Elements of equal length over the time span" in reference
