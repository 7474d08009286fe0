"""The page of all reproduced figures."""

from ..atomic_write import write_text
from .runner import PAPERS


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
