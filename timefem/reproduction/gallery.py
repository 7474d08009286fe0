"""Machines of the gallery: scripts that end in a number, which is checked, and a picture."""

import argparse
import time
from pathlib import Path

from timefem import InputError, SolveError

from ..atomic_write import save_figure
from ..progress import counted
from ..validate import choice
from .runner import HOMES, load_script, pyplot


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
