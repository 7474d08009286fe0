"""One page about a solution: the motion in space, and what there is over time."""

import numpy as np

from ...errors import InputError
from .artists import fill
from .options import OPTIONS
from .phase import has_phase
from .snapshots import Snapshots


def plot_page(solution, times=6):
    """A page with snapshots, energy, also by part, momenta, constraints, controls and a phase portrait.

    Parameters
    ----------
    solution : Solution
    times : int or array_like
        Of the snapshots, inside the solution [s], or how many.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        When a time lies outside of the solution.
    """
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 9.0}):
        return _page(plt, solution, times)


def _page(plt, solution, times):
    if np.ndim(times) == 0:
        times = np.linspace(solution.t[0], solution.t[-1], times) if len(solution.t) > 1 else solution.t
    plots, picture = _plots(solution), _picture(solution, times)
    beside, height, below = _layout(picture, len(plots))
    figure = plt.figure(figsize=(OPTIONS.page_width, height))
    left = OPTIONS.picture_width / OPTIONS.page_width if beside else 0.0
    figure.set_layout_engine("constrained", rect=(left, 0, 1 - left, 1 if beside else below / height),
                             w_pad=OPTIONS.margin, h_pad=OPTIONS.margin)
    rows = [[plot] for plot in plots] if beside else _rows(plots)
    grid = figure.add_gridspec(len(rows), 1)
    for row, spec in zip(rows, grid, strict=True):
        for plot, place in zip(row, spec.subgridspec(1, len(row)), strict=True):
            plot(figure.add_subplot(place))
    if picture is not None:
        bottom, wide = (0.0, left) if beside else (below / height, 1.0)
        ax = figure.add_axes((0, bottom, wide, 1 - bottom), projection="3d")
        picture.draw(ax)
        figure.text(wide / 2, 1 - OPTIONS.margin / height, picture.title, ha="center", va="top")
        x, y = OPTIONS.margin / OPTIONS.page_width, OPTIONS.margin / height
        fill(ax, picture.everything, (x, bottom + y, wide - 2 * x, 1 - bottom - 2 * y - OPTIONS.title_height / height))
    return figure


def _plots(solution):
    """Functions of axes that draw one plot each."""
    system = solution.system
    plots = [solution.plot_energy]
    if len(system.energy_by_part(solution.t[:1], solution.z[:1])) > 2:
        plots.append(lambda ax: solution.plot_energy(ax, by_part=True).set_title("energy by part", fontsize="medium"))
    plots.append(solution.plot_momentum)
    if system.n_constraints:
        plots.append(solution.plot_constraints)
    if len(solution.t) > 1:
        plots += [solution.plot_controls] * ("controls" in solution.fields)
        plots += [lambda ax: solution.plot_phase(ax=ax)] * has_phase(solution)
    return plots


def _picture(solution, times):
    try:
        return Snapshots(solution, times)
    except InputError as error:
        if "nothing to draw" not in str(error):
            raise
        return None


def _layout(picture, n):
    """Whether the picture is beside n plots, the height of the page, and that of the plots below [in]."""
    below = OPTIONS.row_height * len(_rows(range(n)))
    if picture is None:
        return False, below, below
    room, shape = OPTIONS.title_height + 2 * OPTIONS.margin, picture.shape
    high = min(OPTIONS.page_width * shape, OPTIONS.picture_height)
    tall = max(OPTIONS.picture_width * shape + room, 0.85 * OPTIONS.row_height * n)
    beside = min(1.0, OPTIONS.picture_width * shape / (tall - room)) if tall <= OPTIONS.page_width else 0.0
    filled = high / (OPTIONS.page_width * shape), beside
    if picture.spacing or filled[0] >= filled[1]:
        return False, below + high + room, below
    return True, tall, 0.0


def _rows(plots):
    """Plots in rows of nearly equal length."""
    n = -(-len(plots) // OPTIONS.plots_in_a_row)
    return [list(part) for part in np.array_split(np.array(plots, object), n)]
