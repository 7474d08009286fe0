"""Every code block of the documentation runs; links lead somewhere; the site builds without a warning."""

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


def test_site(tmp_path):
    pytest.importorskip("mkdocs")
    run = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
                         cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "<math" in (tmp_path / "site" / "theory" / "mechanics.html").read_text()
    reference = (tmp_path / "site" / "reference" / "problems.html").read_text()
    assert "n_elements" in reference and "Elements of equal length over the time span" in reference
