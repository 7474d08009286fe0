"""Bodies as boxes in space at chosen times."""

import itertools

import numpy as np

from ... import validate
from ...errors import InputError
from .boxes import box_faces, box_size
from .plots import COLOURS, STYLES

VIEW = {"elev": 22, "azim": -60}


def plot_snapshots(solution, times, body=None, ax=None, spacing=None):
    """Bodies as boxes in space at chosen times, as in May & Betsch, Figs. 2 and 9.

    Parameters
    ----------
    solution : Solution
    times : array_like, shape (n,)
        Times inside the solution [s].
    body : Body, str or sequence of them, optional
        Default: all bodies with a rotation.
    ax : Axes3D, optional
    spacing : float, optional
        Distance [m] by which each snapshot is moved to the side of the one before. Default: 0 when a body moves
        along, else so far that the boxes do not cover each other.

    Returns
    -------
    mpl_toolkits.mplot3d.axes3d.Axes3D
        With one `Poly3DCollection` per body and time.
    """
    times = validate.array("times", np.atleast_1d(times), (None,))
    if not len(times):
        raise InputError("times: give at least one time")
    bodies = _drawn_bodies(solution.system, body)
    sizes = [box_size(b) for b in bodies]
    path = [solution.position(b, np.union1d(solution.t, times)) for b in bodies]
    moving = [np.ptp(x, axis=0).max() > 1e-6 * size.max() for x, size in zip(path, sizes, strict=True)]
    if spacing is None:
        reach = np.ptp(np.concatenate(path), axis=0).max() + max(np.linalg.norm(s) for s in sizes)
        spacing = 0.0 if any(moving) or len(times) == 1 else 1.15 * reach
    else:
        spacing = validate.real("spacing", spacing)
    ax = axes3d(min(1.0, 2.1 / len(times)) if spacing else 0.8) if ax is None else ax
    azimuth = np.radians(VIEW["azim"])
    aside = spacing * np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])  # to the right on the page

    corners = []
    for b, size, x, moves, colour in zip(bodies, sizes, path, moving, itertools.cycle(COLOURS)):
        if moves and not spacing:
            ax.plot(*x.T, linestyle="--", linewidth=1.0, color=colour)
        for n, t in enumerate(times):
            centre, rotation = solution.position(b, t) + n * aside, solution.rotation_matrix(b, t)
            shade = 0.12 + 0.28 * (n + 1) / len(times)  # later is darker
            corners.append(_box(ax, centre, rotation, size, colour, shade, named=n == 0))
    everything = np.concatenate(corners)
    fit_axes(ax, everything, labels=not spacing)
    length = np.ptp(everything, axis=0).max()
    for n, t in enumerate(times if len(times) > 1 else []):
        if spacing:  # in one row below the boxes
            place = np.append(path[0][0][:2] + n * aside[:2], everything[:, 2].min() - 0.015 * length)
        else:  # at the outermost corner of the first body
            centre = corners[n].mean(axis=0)
            corner = max(corners[n], key=lambda c: np.linalg.norm(c - everything.mean(axis=0)))
            place = corner + 0.08 * length * (corner - centre) / np.linalg.norm(corner - centre)
        ax.text(*place, f"{t:g} s", ha="center", va="top" if spacing else "center", fontsize="small", zorder=10)
    ax.title.set(text="$t$ = " + ", ".join(f"{t:g}" for t in times) + " s" + (", side by side" if spacing else ""),
                 fontsize="medium", wrap=True)
    return ax


def _drawn_bodies(system, body):
    if body is None:
        bodies = [b for b in system.bodies if hasattr(b, "rotation_matrix") and hasattr(b, "inertia")]
    else:
        bodies = [system.find(b) for b in (body if isinstance(body, list | tuple) else [body])]
    if not bodies:
        raise InputError("no body of the system can be drawn as a box")
    for b in bodies:
        if not (hasattr(b, "rotation_matrix") and hasattr(b, "inertia")):
            raise InputError(f"{system.label(b)} cannot be drawn as a box: it is {b!r}; leave it out of body")
    return bodies


def axes3d(height):
    """3D axes, square (mplot3d wants that) and as wide as the figure, which is `height` times as high."""
    import matplotlib.pyplot as plt

    width = 7.2
    figure = plt.figure(figsize=(width, width * height))
    ax = figure.add_axes((0, 0.5 - 0.5 / height, 1, 1 / height), projection="3d")
    ax.set_title(" ", y=0.5 + 0.5 * height - 0.015)
    return ax


def _box(ax, centre, rotation, size, colour, shade, named):
    """One box with its body axes, shape (8, 3) of its corners."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    corners, faces = box_faces(centre, rotation, size)
    ax.add_collection3d(Poly3DCollection(faces, facecolor=(*to_rgb(colour), shade), edgecolor="0.15",
                                         linewidth=0.8))
    for i, (axis, style) in enumerate(zip(rotation.T, STYLES, strict=False)):
        tip = centre + (size[i] / 2 + 0.15 * size.max()) * axis
        ax.plot(*np.stack([centre, tip], axis=1), linestyle=style, color="0.45", linewidth=0.8)
        if named:
            ax.text(*(centre + (size[i] / 2 + 0.22 * size.max()) * axis), f"$d_{i + 1}$", fontsize="x-small",
                    color="0.35", ha="center", va="center")
    return corners


def fit_axes(ax, corners, labels):
    """Equal scales on the three axes, around the corners, and as large as the axes allow."""
    from matplotlib.ticker import MaxNLocator
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    low, high = corners.min(axis=0), corners.max(axis=0)
    pad = 0.05 * (high - low).max()
    extent = high - low + 2 * pad
    ax.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad), zlim=(low[2] - pad, high[2] + pad))
    ax.set_box_aspect(extent, zoom=0.8)
    ax.set_proj_type("persp", focal_length=1.5)
    ax.view_init(**VIEW)
    if labels:
        for axis, name, length in zip((ax.xaxis, ax.yaxis, ax.zaxis), "xyz", extent, strict=True):
            axis.set_major_locator(MaxNLocator(max(1, round(6 * length / extent.max())), min_n_ticks=1))
            axis.set_label_text(f"${name}$ [m]")
            axis.labelpad = 8
    else:
        ax.set_axis_off()  # the places on the page are not places in space
        across = proj_transform(*corners.T, ax.get_proj())[0]
        ax.set_box_aspect(extent, zoom=0.8 * 0.17 / np.ptp(across))  # the axes are 0.18 wide after projection
