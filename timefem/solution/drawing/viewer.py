"""A motion as one HTML file, to be played, turned and zoomed in a browser, without a network."""

import html
import json
from pathlib import Path

import numpy as np
import scipy

from ...atomic_write import check_writable, write_text
from .options import OPTIONS
from .scene import make_scene

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
        To start with, as of `plot_snapshots`.
    traces : optional
        Whose paths are drawn, as of `plot_snapshots`.

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
    return [float(f"{value:.{OPTIONS.digits}g}") for value in np.ravel(values)]
