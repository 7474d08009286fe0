"""Films of a motion in three dimensions, by matplotlib."""

import itertools
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ... import validate
from ...atomic_write import as_path, check_writable, replacing
from ...display import COLOURS
from ...errors import InputError, MissingBackend
from .artists import Artists, axes3d, fit_axes
from .options import OPTIONS
from .scene import make_scene

WRITERS = {".gif": "pillow", ".mp4": "ffmpeg"}


def animate(solution, path=None, times=None, fps=OPTIONS.frames_per_second, traces=True, view=None, up=None):
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
        Whose paths are drawn, as of `plot_snapshots`.
    view, up : optional
        As of `plot_snapshots`.

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
            file = Path(folder) / f"film{as_path(path).suffix}"
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
    if path.suffix not in WRITERS:
        raise InputError(f"cannot write {path}: the name of a film must end in {' or '.join(WRITERS)}; for a page that "
                         "can be turned and zoomed use save_html")
    writer = WRITERS[path.suffix]
    if not animation.writers.is_available(writer):
        raise MissingBackend(f"{path.suffix[1:]} films need {writer}, which is not installed; install it, or write a "
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
