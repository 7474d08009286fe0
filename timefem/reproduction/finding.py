"""What a reproduced figure says."""

from dataclasses import asdict, dataclass, field
from typing import Any

from ..atomic_write import write_text
from .runner import PAPERS


@dataclass
class Check:
    """One number that is compared with the paper.

    Attributes
    ----------
    what : str
        With units.
    measured : float
    claimed : str
        The paper's number or words.
    verdict : {"agrees", "differs", "not checked"}
        The last one where the paper has no such number, or measures in another way.
    why : str
        It differs, or is not checked.
    """

    what: str
    measured: float
    claimed: str
    verdict: str
    why: str = ""


@dataclass
class Finding:
    """What a script found.

    Attributes
    ----------
    checks : list of Check
    data : dict
        Anything that `plot` needs.
    remark : str
        For the page: where the paper is wrong, or what was done otherwise.
    """

    checks: list = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    remark: str = ""

    def check(self, what, measured, claimed, agrees, why=""):
        """Add a number, the claim about it, and whether they agree: None where that is not checked.

        What the paper does "not give" is never checked. `why` they differ is reported where they do.
        """
        if agrees is None or claimed.startswith("not given"):
            verdict = "not checked"
        else:
            verdict, why = ("agrees", "") if agrees else ("differs", why)
        self.checks.append(Check(what, float(measured), claimed, verdict, why))

    @property
    def agrees(self):
        """Whether some checks agree, and none differs."""
        verdicts = {check.verdict for check in self.checks}
        return "agrees" in verdicts and "differs" not in verdicts

    @property
    def settled(self):
        """Whether there are checks, and each one that differs says why."""
        return bool(self.checks) and all(check.why for check in self.checks if check.verdict == "differs")

    def facts(self):
        """Plain data for JSON, without what is only drawn."""
        return {"agrees": self.agrees, "settled": self.settled, "remark": self.remark,
                "checks": [asdict(c) for c in self.checks]}


# ---- the page of all reproduced figures

def write_page(results, path, images):
    """Write a Markdown page: figure, claim, measured numbers, verdict.

    Parameters
    ----------
    results : dict
        From `run_scripts`.
    path : path-like
        File to write.
    images : str
        Folder of the images, relative to the page.
    """
    verdicts = [check["verdict"] for facts in results.values() for check in facts["checks"]]
    counts = ", ".join(f"{verdicts.count(verdict)} {word}" for verdict, word in (
        ("agrees", "agree"), ("differs", "differ"), ("not checked", "are not checked")))
    agree = sum(facts["agrees"] for facts in results.values())
    lines = ["# Reproduction", "",
             f"{len(results)} figures and tables of six papers, made by the scripts in `examples`; {agree} agree with "
             f"the paper in every number that is checked. Of {len(verdicts)} numbers {counts}, as the paper does not "
             "give them or measures in another way. Made by "
             "`timefem reproduce all --page docs/reports/reproduction.md`.", ""]
    last = None
    for key, facts in results.items():
        paper, name = key.split("/")
        if paper != last:
            lines += [f"## {PAPERS[paper]}", ""]
            last = paper
        if "error" in facts:
            lines += [f"### {name}", "", f"The script failed: {facts['error']}", ""]
            continue
        lines += [f"### {facts['title']}", "", f"![{facts['title']}]({images}/{paper}/{name}.png)", ""]
        if facts["claim"]:
            lines += [f"The paper: {facts['claim']}", ""]
        if facts["checks"]:
            lines += ["| | measured | paper | |", "| --- | --- | --- | --- |"]
            lines += [f"| {_cell(c['what'])} | {c['measured']:.4g} | {_cell(c['claimed'])} | "
                      f"{_verdict(c)} |" for c in facts["checks"]]
            lines += [""]
        if facts["remark"]:
            lines += [facts["remark"], ""]
    write_text(path, "\n".join(lines))


def _verdict(check):
    """Verdict, and why, in a cell."""
    verdict = f"**{check['verdict']}**" if check["verdict"] == "differs" else check["verdict"]
    return _cell(f"{verdict}: {check['why']}" if check["why"] else verdict)


def _cell(text):
    """A text in a table, where a bar would end the cell."""
    return text.replace("|", "\\|")
