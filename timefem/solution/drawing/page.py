"""One page about a solution: the motion in space, and what there is over time; and a page that plays the motion."""

import html
import itertools
import json
import re
from pathlib import Path

import numpy as np
import scipy

from ...atomic_write import check_writable, write_text
from ...display import COLOURS, STYLES
from ...errors import InputError
from ..joint_motion import joint_motion
from ..options import DRAWING
from .artists import fill
from .plots import new_axes
from .scene import make_scene
from .snapshots import Snapshots

# ---- phase portraits: rates over coordinates

COMPONENT = re.compile(r"(.+)\.(position|q)\[(\d+)\]")


def plot_phase(solution, *what, times=None, ax=None):
    """Rates over coordinates, from the start, which is a dot, to the end.

    Parameters
    ----------
    solution : Solution
    *what : Part or str
        Joints, as objects or by name, "JOINT.COORDINATE" where they have several, joints of trees;
        "BODY.position[0]" of a centre of mass; "BODY.q[0]", a generalized coordinate. Default: all joints with
        coordinates, else all generalized coordinates, else the positions of point masses; those of one unit.
    times : array_like, shape (n,), optional
        Default: several in each element.
    ax : Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        For names that are unknown, or coordinates of several units.
    """
    if times is None:
        n = min(DRAWING.phase_per_element * (len(solution.t) - 1), DRAWING.phase_points) + 1
        times = np.linspace(solution.t[0], solution.t[-1], n)
    curves = [curve for name in what for curve in _curves(solution, name, times)] or _default(solution, times)
    units = list(dict.fromkeys(unit for *_, unit in curves))
    if len(units) > 1:
        if what:
            raise InputError(f"a phase portrait has one unit, but these have {' and '.join(units)}; draw them one by "
                             "one")
        curves = [curve for curve in curves if curve[-1] == units[0]]
    ax = new_axes(ax, (4.8, 4.0))
    looks = zip(itertools.cycle(STYLES), itertools.cycle(COLOURS), strict=False)
    for (name, x, rate, _), (style, colour) in zip(curves, looks, strict=False):
        ax.plot(x, rate, style, color=colour, linewidth=1.5, label=name)
        ax.plot(x[:1], rate[:1], "o", color=colour, markersize=4)
    unit = f" [{units[0]}]" if units[0] else ""
    ax.set_xlabel((curves[0][0] if len(curves) == 1 else "coordinate") + unit)
    ax.set_ylabel("rate" + (f" [{units[0]}/s]" if units[0] else ""))
    ax.grid(True, linewidth=0.5, color="0.85")
    ax.tick_params(direction="in", top=True, right=True)
    if len(curves) > 1:
        ax.legend(frameon=True, framealpha=0.9, edgecolor="0.8", fontsize="small")
    return ax


def has_phase(solution):
    """Whether a phase portrait can be drawn without saying what."""
    return bool(_candidates(solution.system))


def _candidates(system):
    """Names that are drawn unless others are asked for."""
    parts = (system.complete or system).parts
    joints = [system.label(p) for p in parts if not p.is_body and p.constraint_names and p.whole.coordinates]
    joints += [name for body in system.bodies for name in getattr(body, "joint_names", ())
               if body.joint(name).coordinates]
    bodies = [body for body in system.bodies if not body.helper and not body.has_orientation]
    general = [f"{system.label(b)}.q[{i}]" for b in bodies if not b.has_position and not hasattr(b, "joint_states")
               for i in range(b.n_q)]
    return joints or general or [f"{system.label(b)}.position[{i}]" for b in bodies if b.has_position
                                 for i in range(b.n_q)]


def _default(solution, times):
    curves = [curve for name in _candidates(solution.system) for curve in _curves(solution, name, times)]
    still = 1e-9 * max([np.abs(x).max() for _, x, *_ in curves], default=0.0)
    curves = [curve for curve in curves if np.ptp(curve[1]) > still] or curves
    if not curves:
        raise InputError("no coordinates to draw: name some, as 'BODY.position[0]'")
    return curves


def _curves(solution, name, times):
    """(name, coordinate, rate, unit) of what a name stands for."""
    system, found = solution.system, COMPONENT.fullmatch(name) if isinstance(name, str) else None
    if found:
        body, quantity, i = system.find(found[1]), found[2], int(found[3])
        x = solution.position(body, times) if quantity == "position" else solution.coordinates(body, times)
        rate = solution.velocity(body, times) if quantity == "position" or body.has_position else \
            solution.rates(times)[..., system.coordinates(body)]
        if i >= x.shape[-1]:
            raise InputError(f"{name!r}: {found[1]} has {x.shape[-1]} components, counted from 0")
        return [(name, x[:, i], rate[:, i], "m" if quantity == "position" else "")]
    joint, coordinate = name, None
    if isinstance(name, str) and "." in name and name not in _candidates(system):
        joint, _, coordinate = name.rpartition(".")
    motion = joint_motion(solution, joint)
    if not motion.coordinates:
        raise InputError(f"{motion.name} has no coordinates; draw 'BODY.position[0]' instead")
    if coordinate is not None and coordinate not in motion.coordinates:
        raise InputError(f"{motion.name} has no coordinate {coordinate!r}, but {', '.join(motion.coordinates)}")
    asked = motion.coordinates if coordinate is None else (coordinate,)
    units = {c.name: c.unit for c in motion.joint.coordinates}
    return [(motion.name if len(motion.coordinates) == 1 else f"{motion.name}.{c}", motion.coordinate(times, c),
             motion.rate(times, c), units[c]) for c in asked]


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
    figure = plt.figure(figsize=(DRAWING.page_width, height))
    left = DRAWING.picture_width / DRAWING.page_width if beside else 0.0
    figure.set_layout_engine("constrained", rect=(left, 0, 1 - left, 1 if beside else below / height),
                             w_pad=DRAWING.margin, h_pad=DRAWING.margin)
    rows = [[plot] for plot in plots] if beside else _rows(plots)
    grid = figure.add_gridspec(len(rows), 1)
    for row, spec in zip(rows, grid, strict=True):
        for plot, place in zip(row, spec.subgridspec(1, len(row)), strict=True):
            plot(figure.add_subplot(place))
    if picture is not None:
        bottom, wide = (0.0, left) if beside else (below / height, 1.0)
        ax = figure.add_axes((0, bottom, wide, 1 - bottom), projection="3d")
        picture.draw(ax)
        figure.text(wide / 2, 1 - DRAWING.margin / height, picture.title, ha="center", va="top")
        x, y = DRAWING.margin / DRAWING.page_width, DRAWING.margin / height
        fill(ax, picture.everything, (x, bottom + y, wide - 2 * x, 1 - bottom - 2 * y - DRAWING.title_height / height))
    return figure


def _plots(solution):
    """Functions of axes that draw one plot each."""
    system = solution.system
    plots = [solution.plot.energy]
    if len(system.energy_by_part(solution.t[:1], solution.z[:1])) > 2:
        plots.append(lambda ax: solution.plot.energy(ax, by_part=True).set_title("energy by part", fontsize="medium"))
    plots.append(solution.plot.momentum)
    if system.n_constraints:
        plots.append(solution.plot.constraints)
    if len(solution.t) > 1:
        plots += [solution.plot.controls] * ("controls" in solution.fields)
        plots += [lambda ax: solution.plot.phase(ax=ax)] * has_phase(solution)
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
    below = DRAWING.row_height * len(_rows(range(n)))
    if picture is None:
        return False, below, below
    room, shape = DRAWING.title_height + 2 * DRAWING.margin, picture.shape
    high = min(DRAWING.page_width * shape, DRAWING.picture_height)
    tall = max(DRAWING.picture_width * shape + room, 0.85 * DRAWING.row_height * n)
    beside = min(1.0, DRAWING.picture_width * shape / (tall - room)) if tall <= DRAWING.page_width else 0.0
    filled = high / (DRAWING.page_width * shape), beside
    if picture.spacing or filled[0] >= filled[1]:
        return False, below + high + room, below
    return True, tall, 0.0


def _rows(plots):
    """Plots in rows of nearly equal length."""
    n = -(-len(plots) // DRAWING.plots_in_a_row)
    return [list(part) for part in np.array_split(np.array(plots, object), n)]


# ---- A motion as one HTML file, to be played, turned and zoomed in a browser, without a network

TEMPLATE = Path(__file__).with_name("viewer.html")


class Page:
    """A page as `text`, which a notebook shows below the cell, also where it serves no files."""

    def __init__(self, text):
        self.text = text

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self.text)}" width="100%" height="520" style="border: 0"></iframe>'


def save_html(solution, path=None, times=None, title=None, view=None, up=None, traces=True):
    """Write a page that shows the motion in three dimensions, or return it for a notebook; a browser is all it needs.

    Bodies with a `size` have their `shape` in it, other rigid bodies are their three axes, point masses are balls.
    Beams have that of their section; joints are black dots; rods, springs, dampers and ropes are lines. Between the
    times positions are interpolated.

    Parameters
    ----------
    solution : Solution
    path : str or Path, optional
    times : array_like, shape (n_times,), optional
        Increasing, inside the solution [s]; default: 200 at equal distances.
    title : str, optional
        Default: the names of the bodies.
    view, up : optional
        To start with, as of `plot.snapshots`.
    traces : optional
        Whose paths are drawn, as of `plot.snapshots`.

    Returns
    -------
    Page or None
        Without a path the page, which a notebook shows when it comes last in a cell.

    Raises
    ------
    InputError
        When the path cannot be written; see also `make_scene`.
    """
    if path is None:
        return Page(viewer_page(solution, times, title, view, up, traces))
    check_writable(path)
    write_text(path, viewer_page(solution, times, title, view, up, traces))
    return None


def viewer_page(solution, times=None, title=None, view=None, up=None, traces=True):
    """The page of `save_html` as text."""
    scene = make_scene(solution, times, view, up, traces)
    names = [drawn.name for drawn in (*scene.bodies, *scene.curves)]
    title = ", ".join(names[:4]) + ", ..." * (len(names) > 4) if title is None else str(title)
    data = scene_data(scene)
    page = TEMPLATE.read_text(encoding="utf-8").replace("@TITLE@", html.escape(title))
    return page.replace("@SCENE@", data)


def scene_data(scene):
    """What the page shows, as JSON that may stand in a script: "</script>" in a name would end it."""
    return json.dumps(_plain(scene), separators=(",", ":")).replace("<", "\\u003c")


def _plain(scene):
    bodies = [{"name": b.name, "shape": b.shape, "size": _numbers(b.size), "points": _numbers(b.points),
               "faces": b.faces, "x": _numbers(b.position), "q": _numbers(quaternions(b.rotation))}
              for b in scene.bodies]
    links = [{"name": link.name, "kind": link.kind, "n": link.points.shape[1], "x": _numbers(link.points)}
             for link in scene.links]
    curves = [{"name": c.name, "n": c.centre.shape[1], "outline": _numbers(c.outline), "x": _numbers(c.centre),
               "q": _numbers(_quaternions_along(c.rotation))} for c in scene.curves]
    return {"t": _numbers(scene.times), "low": _numbers(scene.low), "high": _numbers(scene.high), "bodies": bodies,
            "links": links, "curves": curves, "traces": [_numbers(x) for x in scene.traces],
            "view": scene.view._asdict()}


def quaternions(rotation):
    """Unit quaternions, scalar first, of rotation matrices (n, 3, 3), with signs that do not jump."""
    q = np.roll(scipy.spatial.transform.Rotation.from_matrix(rotation).as_quat(), 1, axis=1)
    turns = np.where(np.sum(q[1:] * q[:-1], axis=1) < 0, -1.0, 1.0)
    return q * np.concatenate([[1.0], np.cumprod(turns)])[:, None]


def _quaternions_along(rotation):
    """Of rotation matrices (n_times, n_stations, 3, 3), with signs that do not jump in time."""
    return np.stack([quaternions(r) for r in np.swapaxes(rotation, 0, 1)], axis=1)


def _numbers(values):
    return [float(f"{value:.{DRAWING.digits}g}") for value in np.ravel(values)]
