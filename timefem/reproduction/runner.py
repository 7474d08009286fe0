"""Find the scripts of the papers' figures, run them in parallel processes, keep what they found."""

import argparse
import importlib.util
import json
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from timefem import InputError

from ..atomic_write import save_figure, write_text
from ..progress import progress
from ..validate import choice

PAPERS = {
    "may-betsch-2025": "May & Betsch (2025)",
    "kinon-betsch-2024": "Kinon & Betsch (2024)",
    "betsch-siebert-2009": "Betsch & Siebert (2009)",
    "zupan-2017": "Zupan & Zupan (2017)",
    "gebhardt-romero-2020": "Gebhardt & Romero (2020)",
    "kinon-morandin-schulze-2025": "Kinon, Morandin & Schulze (2025)",
}
FIGURE = re.compile(r'"""(?:Fig\. (\d+)|Numbers):')
HOMES = (Path(__file__).parents[2] / "examples", Path(sys.prefix) / "share" / "timefem" / "examples")


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
