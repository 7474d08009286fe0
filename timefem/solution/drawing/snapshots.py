"""Everything in space at chosen times, in one picture, or as a film."""

import itertools
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy

from ... import validate
from ...atomic_write import as_path, check_writable, ending_of, replacing
from ...display import COLOURS, STYLES
from ...errors import InputError, MissingBackend
from ...mechanics.shapes import box
from ..options import DRAWING
from .artists import Artists, axes3d, fill, fit_axes
from .scene import make_scene, traces_of

PARTS = 0.25, 0.5, 0.75, 1.0  # of the way from the centre of a body to its outline, and along rods


def plot_snapshots(solution, times, body=None, ax=None, spacing=None, view=None, up=None, traces=True):
    """Bodies, joints, rods, springs and ropes in space at chosen times, as in May & Betsch, Figs. 2 and 9.

    Rigid bodies without a size are boxes with their inertia; beams have the shape of their section.

    Parameters
    ----------
    solution : Solution
    times : array_like, shape (n,)
        Times inside the solution [s].
    body : Body, Beam, Rope, str or sequence of them, optional
        Only these; default: everything.
    ax : Axes3D or Figure, optional
        A figure is filled, and made as high as it has to be.
    spacing : float, optional
        Distance [m] by which each snapshot is moved to the side of the one before. Default: 0 when a body moves
        along, else so far that the boxes do not cover each other.
    view : str or (float, float), optional
        "xz" and the like, axes to the right and up; or elevation and azimuth [degrees]. Default: a motion in a plane
        from its normal, others from above.
    up : str, optional
        "x", "y", "z", "-x", "-y" or "-z"; default: against gravity, z without.
    traces : bool, or a point, or a sequence of points
        Whose paths are drawn. True: the centres of mass; False: none. Points are bodies, `beam.at(s)`, `rope.end`,
        `tree.link(name, point)`, their names, or pairs of one of them and a point in its axes [m].

    Returns
    -------
    mpl_toolkits.mplot3d.axes3d.Axes3D
        With one `Poly3DCollection` per body and time.
    """
    picture = Snapshots(solution, times, body, spacing, view, up, traces)
    whole = ax is None or hasattr(ax, "add_axes")  # nothing, or a figure
    if not whole and not hasattr(ax, "get_proj"):
        raise InputError("plot.snapshots draws in space: ax must be a figure, or axes with projection='3d', as from "
                         "figure.add_subplot(projection='3d'); plane motions, too, which it shows from their normal")
    ax = axes3d(picture.height, ax) if whole else ax
    picture.draw(ax)
    if whole:
        ax.set_title("")
        ax.figure.suptitle(picture.title, fontsize="medium", wrap=True, y=0.985, va="top")
        fill(ax, picture.everything, (0.02, 0.02, 0.96, 0.96 - DRAWING.snapshot_title / ax.figure.get_figheight()))
    else:
        ax.set_title(picture.title, fontsize="medium", wrap=True)
    return ax


class Snapshots:
    """What `plot.snapshots` draws, and how much room it needs.

    Attributes
    ----------
    shape : float
        Height over width on the page.
    height : float
        Of a figure, over its width.
    title : str
    """

    def __init__(self, solution, times, body=None, spacing=None, view=None, up=None, traces=True):
        times = validate.array("times", np.atleast_1d(times), (None,))
        if not len(times):
            raise InputError("times: give at least one time")
        scene = _chosen(make_scene(solution, times, view, up, False), solution.system, body)
        whole = _chosen(make_scene(solution, np.union1d(solution.t, times), view, up, False), solution.system, body)
        traces = traces_of(solution, traces, whole.times, whole.bodies)
        outlines = [np.concatenate([b.outline(n) for b in scene.bodies] + [link.points[n] for link in scene.links]
                                   + [c.surface(n).reshape(-1, 3) for c in scene.curves]) for n in range(len(times))]
        size = max(np.ptp(x, axis=0).max() for x in outlines) or 1.0
        paths = [b.position for b in whole.bodies]
        moving = [_moves(x, size) for x in paths]
        if spacing is None:
            reach = np.ptp(np.concatenate(paths), axis=0).max() + max(np.linalg.norm(b.size) for b in whole.bodies) \
                if paths else 0.0
            spacing = 0.0 if any(moving) or len(times) == 1 else 1.15 * reach
        else:
            spacing = validate.real("spacing", spacing)
        self.times, self.scene, self.spacing = times, scene, spacing
        self.aside = spacing * scene.view.camera[0]
        self.outlines = [x + n * self.aside for n, x in enumerate(outlines)]
        self.paths = [(x, colour) for x, colour in zip(traces, itertools.cycle(COLOURS), strict=False)
                      if _moves(x, size) and not spacing]
        drawn = np.concatenate([*self.outlines, *(x for x, _ in self.paths)])
        inside = [_inside(scene, n) for n in range(len(times))]
        self.names = places_of_names(self.outlines, inside, scene.view, bool(spacing)) if len(times) > 1 else []
        self.everything = np.concatenate([drawn, *(x[None] for x in self.names if x is not None)])
        across, high, _ = scene.view.camera @ self.everything.T
        self.shape = float(np.ptp(high) / np.ptp(across)) if np.ptp(across) else 1.0
        self.height = float(np.clip(self.shape + (0.12 if spacing else 0.25), 0.2, 0.95))
        self.title = "$t$ = " + ", ".join(f"{t:.4g}" for t in times) + " s" + ", side by side" * bool(spacing)

    def draw(self, ax):
        """On axes in three dimensions."""
        scene, times = self.scene, self.times
        fit_axes(ax, self.everything, scene.view, labels=not self.spacing)
        for x, colour in self.paths:
            ax.plot(*x.T, linestyle="--", linewidth=1.0, color=colour)
        for n in range(len(times)):
            Artists(ax, scene, 0.12 + 0.28 * (n + 1) / len(times)).show(n, n * self.aside)  # later is darker
            _body_axes(ax, scene, n, n * self.aside)
        for t, place in zip(times, self.names, strict=False):
            if place is not None:
                name_time(ax, t, place, bool(self.spacing))


def _inside(scene, n):
    """Points all over bodies, links and surfaces at the time number n, shape (k, 3)."""
    found = [b.position[n] + part * (b.outline(n) - b.position[n]) for b in scene.bodies for part in PARTS]
    for link in scene.links:
        a, b = link.points[n][:-1], link.points[n][1:]
        found += [a + part * (b - a) for part in PARTS] + [link.points[n]]
    return np.concatenate(found + [c.surface(n).reshape(-1, 3) for c in scene.curves])


def _moves(x, size):
    return np.ptp(x, axis=0).max() > 1e-6 * size


def _chosen(scene, system, body):
    """The scene with some bodies only, and with boxes for bodies of unknown shape."""
    bodies = scene.bodies
    links = scene.links
    curves = scene.curves
    if body is not None:
        given = body if isinstance(body, list | tuple) else [body]
        beams = [c for c in system.composites if c in given or system.label(c) in given]
        asked = [system.label(system.find(b)) for b in given if b not in beams and b not in map(system.label, beams)]
        curves = [c for c in curves if c.beam in beams]
        bodies = [b for b in bodies if b.name in asked or b.name.rpartition(".")[0] in asked]
        drawn = {name for b in bodies for name in (b.name, b.name.rpartition(".")[0])}
        if missing := [name for name in asked if name not in drawn]:
            raise InputError(f"{missing[0]} cannot be drawn: it has no place in space of its own; leave it out of body")
        links = [link for link in links if link.name in map(system.label, beams)]
    boxes = [box(b.size) if b.shape == "axes" else None for b in bodies]
    bodies = [b if s is None else replace(b, shape="box", points=s.points, faces=s.faces)
              for b, s in zip(bodies, boxes, strict=True)]
    return replace(scene, bodies=bodies, links=links, curves=curves)


def _body_axes(ax, scene, n, aside):
    """Axes of a box that is alone, as in the papers; their names at the first time."""
    if len(scene.bodies) > 1 or scene.links or scene.curves:
        return
    for body in scene.bodies:
        if body.shape != "box":
            continue
        centre, rotation, size = body.position[n] + aside, body.rotation[n], body.size
        for i, (axis, style) in enumerate(zip(rotation.T, STYLES, strict=False)):
            if abs(axis @ scene.view.camera[2]) > 0.999:
                continue  # towards the viewer
            tip = centre + (size[i] / 2 + 0.15 * size.max()) * axis
            ax.plot(*np.stack([centre, tip], axis=1), linestyle=style, color="0.45", linewidth=0.8)
            if n == 0:
                ax.text(*(centre + (size[i] / 2 + 0.22 * size.max()) * axis), f"$d_{i + 1}$", fontsize="x-small",
                        color="0.35", ha="center", va="center")


AROUND = np.stack([np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6)], axis=1)


def places_of_names(outlines, inside, view, beside):
    """Place of the time of each snapshot, list of arrays (3,); None where there is no room.

    Of snapshots side by side in a row below; of others where no other snapshot is near, that is `inside`, points all
    over each of them, arrays (n, 3).
    """
    page = view.camera[:2]
    everything = np.concatenate(outlines)
    extent = np.ptp(everything @ page.T, axis=0).max() or 1.0
    if beside:
        low = (everything @ page[1]).min() - 0.015 * extent
        return [x.mean(axis=0) + (low - x.mean(axis=0) @ page[1]) * page[1] for x in outlines]
    flat, found, taken = [x @ page.T / extent for x in inside], [], np.zeros((0, 2))
    for n, x in enumerate(outlines):
        near = np.linspace(0, len(x) - 1, min(len(x), DRAWING.time_points)).astype(int)
        steps = DRAWING.time_aside * np.tile(AROUND, (len(near), 1))
        places = np.repeat(x[near] @ page.T / extent, len(AROUND), axis=0) + steps
        others = np.concatenate([*flat[:n], *flat[n + 1:], taken])
        room = scipy.spatial.cKDTree(others).query(places)[0]
        room[scipy.spatial.cKDTree(flat[n]).query(places)[0] < DRAWING.time_own] = -1.0  # upon its own snapshot
        best = int(np.argmax(room))
        if room[best] < DRAWING.time_others:
            found.append(None)
            continue
        taken = np.concatenate([taken, places[best:best + 1] + [[-0.03, 0], [0, 0], [0.03, 0]]])  # names are wide
        found.append(np.repeat(x[near], len(AROUND), axis=0)[best] + extent * steps[best] @ page)
    return found


def name_time(ax, t, place, below):
    """Write a time at its place, or below it."""
    ax.text(*place, f"{t:.4g} s", ha="center", va="top" if below else "center", fontsize="small", zorder=10,
            bbox=dict(boxstyle="round,pad=0.1", facecolor="white", edgecolor="none", alpha=0.7))


# ---- Films of a motion in three dimensions, by matplotlib

WRITERS = {".gif": "pillow", ".mp4": "ffmpeg"}


def animate(solution, path=None, times=None, fps=DRAWING.frames_per_second, traces=True, view=None, up=None):
    """A film of the bodies, joints, rods, springs and ropes of a solution.

    Bodies with a `size` have their `shape` in it, other rigid bodies are their three axes, point masses are balls.
    Beams have that of their section; joints are black dots; rods, springs, dampers and ropes are lines.

    Parameters
    ----------
    solution : Solution
    path : str or Path, optional
        File to write: `.gif`, or `.mp4`, which needs the program ffmpeg. Left out: nothing is written.
    times : array_like, shape (n_frames,), optional
        Increasing [s]. Default: at equal distances, so that the film runs as fast as the motion, but lasts 2 to 10 s.
    fps : float
        Frames per second of the film.
    traces : bool, or a point, or a sequence of points
        Whose paths are drawn, as of `plot.snapshots`.
    view, up : optional
        As of `plot.snapshots`.

    Returns
    -------
    matplotlib.animation.FuncAnimation or None
        Without a path, for instance for `IPython.display.HTML(animation.to_jshtml())`.

    Raises
    ------
    InputError
        For an ending that is not known, or a path that cannot be written; see also `make_scene`.
    MissingBackend
        When ffmpeg is not installed.
    """
    from matplotlib import animation
    from matplotlib import pyplot as plt

    fps = validate.real("fps", fps, positive=True)
    writer = None if path is None else _writer(as_path(path), animation)
    scene = make_scene(solution, film_times(solution, fps) if times is None else times, view, up, traces)
    ax = axes3d(0.8)
    film_of = Film(ax, scene)
    film = animation.FuncAnimation(ax.figure, film_of.show, len(scene.times), interval=1000 / fps, blit=False)
    if path is None:
        return film
    try:
        # the writers look at the ending of the name
        with replacing(path) as temporary, TemporaryDirectory() as folder:
            file = Path(folder) / f"film{ending_of(path)}"
            film.save(file, writer=animation.writers[writer](fps=fps), dpi=80)
            shutil.copyfile(file, temporary)
    finally:
        plt.close(ax.figure)
    return None


def film_times(solution, fps):
    """Times of the frames of a film that runs as fast as the motion, but for 2 to 10 s."""
    seconds = np.clip(solution.t[-1] - solution.t[0], 2.0, 10.0)
    return np.linspace(solution.t[0], solution.t[-1], max(2, round(seconds * fps)))


def _writer(path, animation):
    ending = ending_of(path)
    if ending not in WRITERS:
        raise InputError(f"cannot write {path}: the name of a film must end in {' or '.join(WRITERS)}; for a page that "
                         "can be turned and zoomed end in .html")
    writer = WRITERS[ending]
    if not animation.writers.is_available(writer):
        raise MissingBackend(f"{ending[1:]} films need {writer}, which is not installed; install it, or write a "
                             ".gif")
    check_writable(path)
    return writer


class Film(Artists):
    """A scene with its clock and the paths of points."""

    def __init__(self, ax, scene):
        corners = np.array(list(itertools.product(*zip(scene.low, scene.high, strict=True))))
        fit_axes(ax, corners, scene.view)
        self.traces = [ax.plot([], [], [], "--", linewidth=1.0, color=colour)[0]
                       for _, colour in zip(scene.traces, itertools.cycle(COLOURS), strict=False)]
        self.clock = ax.figure.text(0.03, 0.95, "", fontsize="medium", va="top")
        super().__init__(ax, scene)

    def show(self, n, aside=0.0):
        super().show(n, aside)
        for path, line in zip(self.scene.traces, self.traces, strict=True):
            line.set_data_3d(*path[:n + 1].T)
        self.clock.set_text(f"$t$ = {self.scene.times[n]:.3f} s")
        return [*self.traces, *self.links, self.clock]
