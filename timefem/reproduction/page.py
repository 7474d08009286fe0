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
    agree = sum(facts["agrees"] for facts in results.values())
    lines = ["# Reproduction", "",
             f"{len(results)} figures of five papers, made by the scripts in `examples`; {agree} agree with the paper "
             "in every number that is checked. Where a statement of a paper cannot hold as printed, the check is "
             "against what can, and a remark says so. Made by `timefem reproduce all --page docs/reproduction.md`.", ""]
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
                      f"{'agrees' if c['agrees'] else '**does not agree**'} |" for c in facts["checks"]]
            lines += [""]
        if facts["remark"]:
            lines += [facts["remark"], ""]
    write_text(path, "\n".join(lines))


def _cell(text):
    """A text in a table, where a bar would end the cell."""
    return text.replace("|", "\\|")
