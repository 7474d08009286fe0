"""`timefem plot`: figures, films and data of a saved solution."""

import os
from typing import Annotated

import numpy as np
import typer

from .. import validate
from ..atomic_write import save_figure
from ..display import printable
from ..solution.drawing.joints import plot_joint
from ..solution.drawing.page import plot_page
from ..solution.output.load import load
from .output import check_output, export


def plot(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file that `timefem run -o` wrote.")],
    output: Annotated[str | None, typer.Option("-o", "--output", help="The figure; default: PATH with .png. With the "
                                               "ending .html (to be played in a browser), .gif, .mp4, .pvd (ParaView), "
                                               ".csv or .json the motion.")] = None,
    times: Annotated[str | None, typer.Option(help="Times of the snapshots, or of the motion [s], as in 0,0.5,1; "
                                              "default: six snapshots.")] = None,
    joint: Annotated[str | None, typer.Option(help="Name of a joint: its coordinates, rates and forces in the place "
                                              "of the figure of the whole motion.")] = None,
):
    """Draw energy, momentum, constraints, controls and snapshots of a saved solution, or write its motion."""
    import matplotlib

    output = output or os.path.splitext(path)[0] + ".png"
    sol = load(path)
    check_output(output, path)
    times = None if times is None else np.array([validate.real("times", _number(t)) for t in times.split(",")])
    matplotlib.use("Agg")
    if joint is not None:
        save_figure(plot_joint(sol, joint, times), output, dpi=150)
        return print(printable(output))
    if export(sol, output, times):
        return print(printable(output))
    save_figure(plot_page(sol, 6 if times is None else times), output, dpi=150)
    print(printable(output))


def _number(text):
    """The number that a text is; the text where it is none."""
    try:
        return float(text)
    except ValueError:
        return text
