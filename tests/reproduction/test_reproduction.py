"""The reproduction of the papers' figures, on small scripts; the real ones run in `make test-slow`."""

import json
from pathlib import Path

import pytest

from timefem import InputError, reproduction
from timefem.reproduction import PAPERS, Finding, find_scripts, run_scripts, write_page

pytestmark = pytest.mark.long

GOOD = '''"""Fig. 2: a line.

Claim: it is straight.
"""
from timefem.reproduction import Finding


def main(quick=False):
    finding = Finding(data={"x": [1, 2]}, remark="Drawn with a ruler.")
    finding.check("slope", 1.0 if quick else 2.0, "1", quick)
    return finding


def plot(finding, figure):
    figure.subplots().plot(finding.data["x"])
'''


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "examples" / "may_betsch_2025"
    folder.mkdir(parents=True)
    (folder / "line.py").write_text(GOOD)
    (folder / "curve.py").write_text(GOOD.replace("Fig. 2", "Fig. 10").replace(
        "    finding =", "    raise ValueError('no')\n    finding ="))
    (folder / "common.py").write_text('"""What the figures share."""')
    monkeypatch.setattr(reproduction, "HOMES", (tmp_path / "examples",))
    return folder


def test_scripts_are_found_in_order(home):
    assert [name for _, name, _ in find_scripts()] == ["fig2", "fig10"]
    assert [path.name for _, _, path in find_scripts("may-betsch-2025", "fig10")] == ["curve.py"]
    with pytest.raises(InputError, match=r"no figure 'fig3' of may-betsch-2025; there are fig2, fig10"):
        find_scripts("may-betsch-2025", "fig3")
    with pytest.raises(InputError, match="zupan-2017"):
        find_scripts("newton-1687")


def test_results_figures_and_failures(home, tmp_path):
    results = run_scripts(find_scripts(), quick=True, folder=tmp_path / "out", show=False)
    good, bad = results["may-betsch-2025/fig2"], results["may-betsch-2025/fig10"]
    assert good["agrees"] and good["claim"] == "it is straight." and good["checks"][0]["measured"] == 1.0
    assert Path(good["figure"]).stat().st_size > 5000
    assert bad["error"] == "ValueError: no" and not bad["agrees"]

    page = tmp_path / "page.md"
    write_page(results, page, "out")
    text = page.read_text()
    assert "2 figures" in text and "1 agree" in text and "![Fig. 2: a line.](out/may-betsch-2025/fig2.png)" in text
    assert "Drawn with a ruler." in text and "The script failed: ValueError: no" in text


def test_earlier_results_are_taken_again(home, tmp_path):
    scripts = find_scripts("may-betsch-2025", "fig2")
    run_scripts(scripts, quick=True, folder=tmp_path, show=False)
    file = tmp_path / "may-betsch-2025" / "fig2.json"
    facts = json.loads(file.read_text())
    file.write_text(json.dumps(facts | {"remark": "from the file"}))
    assert run_scripts(scripts, quick=True, folder=tmp_path, show=False)[
        "may-betsch-2025/fig2"]["remark"] == "from the file"
    for again in ({"again": True}, {"quick": False}):
        options = {"quick": True, "folder": tmp_path, "show": False} | again
        assert run_scripts(scripts, **options)["may-betsch-2025/fig2"]["remark"] == "Drawn with a ruler."


def test_a_finding_without_checks_does_not_agree():
    assert not Finding().agrees and not Finding().settled


def test_verdicts_are_three():
    finding = Finding()
    finding.check("slope", 1.0, "1", True, "never told")
    finding.check("error", 0.1, "not given", True)
    assert finding.agrees and finding.settled
    finding.check("scaled", 2.0, "2", None, "by a scaling of its own")
    assert [c.verdict for c in finding.checks] == ["agrees", "not checked", "not checked"] and finding.agrees
    finding.check("time", 0.7, "0.5", False)
    assert not finding.agrees and not finding.settled
    finding.checks[-1].why = "compiled"
    assert not finding.agrees and finding.settled
    assert [c["why"] for c in finding.facts()["checks"]] == ["", "", "by a scaling of its own", "compiled"]


@pytest.mark.slow
def test_all_figures_agree(tmp_path):
    results = run_scripts(find_scripts(), quick=True, folder=tmp_path, show=False)
    assert {key.split("/")[0] for key in results} == set(PAPERS)
    assert [key for key, facts in results.items() if not facts["settled"]] == []
