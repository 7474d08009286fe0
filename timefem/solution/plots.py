"""Figures of a solution. Line styles differ as well as colours, so that they can be read in print."""

import itertools

import numpy as np

from .. import validate
from ..errors import InputError

STYLES = ("-", "--", ":", "-.")
COLOURS = ("#1f4e79", "#c55a11", "#2e7d32", "#6a1b9a")
FLOOR = 1e-17  # where exact zeros are drawn on a logarithmic axis
VIEW = {"elev": 22, "azim": -60}


def plot_energy(solution, ax=None):
    """Total energy at the element ends; with forces also the kinetic and the potential energy.

    Returns
    -------
    matplotlib.axes.Axes
    """
    energy = solution.energy()
    potential = solution.system.potential(solution.t, solution.z)
    lines = {"total": energy}
    if np.any(potential):
        lines |= {"kinetic": energy - potential, "potential": potential}
    ax = _lines(ax, solution.t, lines, "energy [J]")
    ax.set_title(f"largest change of the total energy: {np.abs(energy - energy[0]).max():.1e} J", fontsize="medium")
    return ax


def plot_momentum(solution, ax=None, kind="angular"):
    """Components of the angular momentum about the origin, or of the linear momentum, at the element ends.

    Parameters
    ----------
    solution : Solution
    ax : Axes, optional
    kind : {"angular", "linear"}

    Returns
    -------
    matplotlib.axes.Axes
    """
    validate.choice("kind", kind, ("angular", "linear"))
    values = getattr(solution, f"{kind}_momentum")()
    letter, unit = ("L", "kg m²/s") if kind == "angular" else ("p", "kg m/s")
    lines = {f"${letter}_{a}$": v for a, v in zip("xyz", values.T, strict=True)}
    ax = _lines(ax, solution.t, lines, f"{kind} momentum [{unit}]")
    change = np.abs(values - values[0]).max(axis=0)
    ax.set_title("largest change of x, y, z: " + ", ".join(f"{c:.1e}" for c in change) + f" {unit}", fontsize="medium")
    return ax


def plot_constraints(solution, ax=None):
    """Largest residual of the constraints on configuration and on velocity level at the element ends.

    The axis is logarithmic; values below `FLOOR`, exact zeros among them, are drawn at `FLOOR`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    levels = [np.abs(r).max(axis=-1, initial=0.0) for r in solution.constraints()]
    lines = {f"{name} level": np.maximum(r, FLOOR)
             for name, r in zip(("configuration", "velocity"), levels, strict=True)}
    ax = _lines(ax, solution.t, lines, "largest constraint residual [SI units]")
    ax.set_yscale("log")
    ax.set_ylim(FLOOR / 3, 10 * max(max(r.max() for r in lines.values()), 1e-13))
    if any(np.any(r < FLOOR) for r in levels):
        ax.axhline(FLOOR, color="0.7", linewidth=0.8, zorder=0)
        ax.annotate(f"zeros are drawn at {FLOOR:.0e}", (0.99, FLOOR), xycoords=("axes fraction", "data"),
                    xytext=(0, 3), textcoords="offset points", ha="right", fontsize="small", color="0.4")
    return ax


def plot_controls(solution, ax=None):
    """Controls of all actuators over time, of problems that determine them; they may jump between elements.

    Returns
    -------
    matplotlib.axes.Axes
    """
    inside = np.linspace(0.0, 1.0, 7)[1:-1]
    times = (solution.t[:-1, None] + np.diff(solution.t)[:, None] * inside).ravel()
    names = [f"{solution.system.label(part)} {i + 1}" for part in solution.system.parts
             for i in range(part.n_controls)]
    return _lines(ax, times, dict(zip(names, solution.controls(times).T, strict=True)), "controls [N, N m]")


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
    ax = _axes3d(min(1.0, 2.1 / len(times)) if spacing else 0.8) if ax is None else ax
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
    _frame(ax, everything, labels=not spacing)
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


def box_size(body):
    """Edge lengths (l, b, h) in body axes [m], shape (3,): `size`, or of the cuboid with the body's inertia.

    The cuboid has the Euler tensor E = tr(J)/2 - J, so that l_i = sqrt(12 E_ii / m); edges are at least 1 % of the
    longest, to be seen. Products of inertia do not show.
    """
    if body.size is not None:
        return body.size
    euler = np.trace(body.inertia) / 2 - np.diag(body.inertia)
    size = np.sqrt(12 * np.maximum(euler, 0) / body.mass)
    return np.maximum(size, 0.01 * size.max())


def box_faces(centre, rotation, size):
    """Corners of a box, shape (8, 3), and of its faces, (6, 4, 3)."""
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    corners = centre + (signs * size / 2) @ rotation.T
    return corners, corners[[[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]]]


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


def _axes(ax):
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    return ax


def _lines(ax, t, lines, ylabel):
    """Lines over time in the common style; the values are not shifted, and round-off does not fill the axis."""
    ax = _axes(ax)
    for (label, values), style, colour in zip(lines.items(), itertools.cycle(STYLES), itertools.cycle(COLOURS)):
        ax.plot(t, values, style, color=colour, label=label, linewidth=1.5, marker="o" if len(t) == 1 else None)
    if len(t) > 1:
        ax.set_xlim(t[0], t[-1])
    low, high = min(v.min() for v in lines.values()), max(v.max() for v in lines.values())
    size = max(abs(low), abs(high))
    if high - low < 1e-6 * size or size < 1e-12:
        # conserved: a drift of 1e-13 has to look like a straight line, next to zero for scale
        ax.set_ylim(*((min(0, 1.25 * low), max(0, 1.25 * high)) if size >= 1e-12 else (-1, 1)))
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("time [s]")
    ax.set_ylabel(ylabel)
    ax.grid(True, linewidth=0.5, color="0.85")
    ax.tick_params(direction="in", top=True, right=True)
    if len(lines) > 1:
        ax.legend(frameon=True, framealpha=0.9, edgecolor="0.8", fontsize="small")
    return ax


def _axes3d(height):
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


def _frame(ax, corners, labels):
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
