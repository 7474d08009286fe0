"""Figures of the papers, reproduced by the scripts in `examples/<paper>`.

A script has a docstring (what the figure shows, then a paragraph that starts with "Claim:"), `main(quick=False)` that
returns a `Finding`, and `plot(finding, figure)` that draws it.
"""

import argparse
import importlib.util
import json
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from timefem import InputError, SolveError

from .atomic_write import save_figure, write_text
from .progress import counted, progress
from .validate import choice

__all__ = ["Check", "Finding", "PAPERS", "find_scripts", "run_scripts", "script", "write_page"]


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


def find_machines(name="all"):
    """Scripts of the gallery, dict name -> path, in the order of their names.

    Raises
    ------
    InputError
        For a machine that there is not, or when the examples are not installed.
    """
    home = next((h / "gallery" for h in HOMES if (h / "gallery").is_dir()), None)
    if home is None:
        raise InputError("the machines of the gallery are scripts in the folder examples of the source, which pip does "
                         "not install: run this in a source tree; docs/gallery.md has the pictures and numbers of all")
    found = {path.stem.replace("_", "-"): path for path in sorted(home.glob("*.py"))}
    return found if name == "all" else {choice("machine", name, tuple(found)): found[name]}


def about(path):
    """Title and first paragraph of a script, without importing it."""
    return Path(path).read_text(encoding="utf-8").split('"""')[1].strip().split("\n\n")[0].replace("\n", " ")


def run_machine(path, folder=None):
    """Run one script.

    A script has `main()`, which returns a dict with `what` was measured, the `number`, what is `expected` within
    `tolerance`, and what else `draw(result)` needs for its figure.

    Returns
    -------
    dict
        "what", "number", "expected", "tolerance", "agrees", "seconds", "figure".
    """
    plt, start, module = pyplot(), time.perf_counter(), load_script(Path(path))
    result = module.main()
    if not result["solution"].success:
        raise SolveError(f"{Path(path).stem}: {result['solution'].status.message}")
    facts = {name: result[name] for name in ("what", "number", "expected", "tolerance")}
    facts["agrees"] = bool(abs(result["number"] - result["expected"]) <= result["tolerance"])
    facts["seconds"], facts["figure"] = time.perf_counter() - start, None
    if folder is not None:
        image = Path(folder) / f"{Path(path).stem}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        figure = module.draw(result)
        save_figure(figure, image, dpi=120)
        facts["figure"] = str(image)
        plt.close(figure)
    return facts


def run_machines(machines, folder=None):
    """Facts of several machines by name, see `run_machine`."""
    return {name: run_machine(machines[name], folder) for name in counted("gallery", list(machines))}


def run_as_script(path):
    """What a script of the gallery does when it is run: prints its number and writes its figure."""
    parser = argparse.ArgumentParser(description=about(path))
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the figure")
    facts = run_machine(path, parser.parse_args().output)
    print(f"{facts['what']}: {facts['number']:.10g}, expected {facts['expected']:.10g} within "
          f"{facts['tolerance']:.1g}: {'agrees' if facts['agrees'] else 'DOES NOT AGREE'} ({facts['seconds']:.1f} s)")
    print(facts["figure"])


PAPERS = {
    "may-betsch-2025": "May & Betsch (2025)",
    "kinon-betsch-2024": "Kinon & Betsch (2024)",
    "betsch-siebert-2009": "Betsch & Siebert (2009)",
    "zupan-2017": "Zupan & Zupan (2017)",
    "gebhardt-romero-2020": "Gebhardt & Romero (2020)",
    "kinon-morandin-schulze-2025": "Kinon, Morandin & Schulze (2025)",
}
FIGURE = re.compile(r'"""(?:Fig\. (\d+)|Numbers):')
HOMES = (Path(__file__).parents[1] / "examples", Path(sys.prefix) / "share" / "timefem" / "examples")


def find_scripts(paper="all", figure="all"):
    """Scripts of a paper's figures in order: list of (paper, figure, path).

    Parameters
    ----------
    paper : str
        A name in `PAPERS`, the beginning of one, or "all".
    figure : str
        Such as "fig8", or "all". The first line of a script tells its number, `Fig. 8: ...`, or that it is about none,
        `Numbers: ...`.

    Raises
    ------
    InputError
        For a paper or figure that there is not; names those there are.
    """
    begun = [name for name in PAPERS if name.startswith(paper)]
    papers = PAPERS if paper == "all" else begun if len(begun) == 1 else [choice("paper", paper, (*PAPERS, "all"))]
    home = next((h for h in HOMES if (h / "may_betsch_2025").is_dir()), None)
    if home is None:
        raise InputError("the scripts of the figures (folder examples) are not installed; run this from a source tree")
    found = [(name, figure_name(path), path) for name in papers
             for _, path in sorted(_numbered(home / name.replace("-", "_")))]
    if figure != "all":
        chosen = [f for f in found if f[1] == figure]
        if not chosen:
            raise InputError(f"no figure {figure!r} of {paper}; there are {', '.join(f for _, f, _ in found)}")
        found = chosen
    return found


def _numbered(folder):
    """Number and path of each script of a figure in a folder."""
    for path in folder.glob("*.py"):
        number = FIGURE.match(path.read_text(encoding="utf-8"))
        if number:
            yield int(number[1] or 0), path


def figure_name(path):
    """Such as "fig8", of a script; "numbers" of one that is about no figure."""
    number = FIGURE.match(Path(path).read_text(encoding="utf-8"))[1]
    return f"fig{number}" if number else "numbers"


def load_script(path):
    """The module of a script, imported from its file; `common` of its folder can be imported by it."""
    name = f"timefem_figure_{path.parent.name}_{path.stem}"
    sys.modules.pop("common", None)  # of another paper
    sys.path[:] = [str(path.parent), *(p for p in sys.path if Path(p).parent != path.parent.parent)]
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pyplot():
    """`matplotlib.pyplot`, drawing into files only."""
    import matplotlib

    matplotlib.use("Agg", force=True)
    import matplotlib.pyplot as plt
    return plt


def run_script(path, quick=False, folder=None):
    """Run one script.

    Parameters
    ----------
    path : Path
    quick : bool
        Fewer or shorter runs, same statements.
    folder : Path, optional
        Where to write the figure, as PNG with the name of the figure.

    Returns
    -------
    dict
        Facts of the finding, "seconds", "figure" (path or None), "title" and "claim".
    """
    plt, start, module = pyplot(), time.perf_counter(), load_script(Path(path))
    title, claim = _read(module.__doc__)
    finding = module.main(quick=quick)
    image = None
    if folder is not None:
        image = Path(folder) / f"{figure_name(path)}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        with plt.rc_context(STYLE):
            figure = plt.figure(figsize=(7.5, 4.5), layout="constrained")
            module.plot(finding, figure)
            save_figure(figure, image, dpi=120)
            plt.close(figure)
    return {**finding.facts(), "seconds": time.perf_counter() - start, "figure": image and str(image), "title": title,
            "claim": claim}


STYLE = {"axes.grid": True, "grid.alpha": 0.3, "legend.fontsize": "small", "axes.titlesize": "medium"}


def _read(text):
    """First line and claim of a docstring."""
    paragraphs = [" ".join(p.split()) for p in text.strip().split("\n\n")]
    claim = next((p.removeprefix("Claim:").strip() for p in paragraphs if p.startswith("Claim:")), "")
    return paragraphs[0], claim


def run_scripts(scripts, quick=False, folder=None, processes=2, show=None, again=False):
    """Run scripts in parallel processes; results of earlier runs in the folder are taken again unless `again`.

    Parameters
    ----------
    scripts : list of (str, str, Path)
        From `find_scripts`.
    quick, folder
        As in `run_script`; every paper has a subfolder.
    processes : int
    show : bool, optional
        Progress bar.
    again : bool
        Run also what was run already, by the same script with the same setting.

    Returns
    -------
    dict
        "paper/figure" -> facts as from `run_script`; a script that failed has "error".
    """
    results, waiting = {}, []
    for paper, name, path in scripts:
        sub = None if folder is None else Path(folder) / paper
        known = None if sub is None or again else _known(sub / f"{name}.json", path, quick)
        if known:
            results[f"{paper}/{name}"] = known
        else:
            waiting.append((paper, name, path, sub))
    with progress("figures", len(scripts), show) as bar, ProcessPoolExecutor(processes) as pool:
        bar.advance(len(results))
        jobs = {pool.submit(run_script, path, quick, sub): (paper, name, path, sub)
                for paper, name, path, sub in waiting}
        for job in as_completed(jobs):
            paper, name, path, sub = jobs[job]
            try:
                facts = job.result()
            except Exception as error:
                facts = {"agrees": False, "settled": False, "error": f"{type(error).__name__}: {error}", "checks": [],
                         "remark": ""}
            else:
                if sub is not None:
                    stamp = {"quick": quick, "script": path.stat().st_mtime}
                    write_text(sub / f"{name}.json", json.dumps(facts | stamp, indent=1))
            results[f"{paper}/{name}"] = facts
            bar.advance(1)
            bar.note(f"{paper} {name}")
    return {f"{paper}/{name}": results[f"{paper}/{name}"] for paper, name, _ in scripts}


def _known(file, path, quick):
    """What an earlier run wrote, if the script has not changed since."""
    try:
        facts = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    same = facts.get("quick") == quick and facts.get("script") == path.stat().st_mtime
    return facts if same and Path(facts["figure"]).exists() else None


def script(file):
    """Command line of one script: `python box_snapshots.py [--quick] [--output DIR]`; prints what was found."""
    file = Path(file)
    parser = argparse.ArgumentParser(description=_read(load_script(file).__doc__)[0])
    parser.add_argument("--quick", action="store_true", help="fewer or shorter runs")
    parser.add_argument("--output", type=Path, default=Path("figures") / file.parent.name, help="folder for the figure")
    arguments = parser.parse_args()
    facts = run_script(file, arguments.quick, arguments.output)
    for check in facts["checks"]:
        print(f"{check['what']}: {check['measured']:.4g} (paper: {check['claimed']}) "
              f"{check['verdict'].upper() if check['verdict'] == 'differs' else check['verdict']}"
              f"{': ' * bool(check['why'])}{check['why']}")
    print(facts["remark"], facts["figure"], sep="\n" if facts["remark"] else "")
