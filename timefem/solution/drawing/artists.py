"""Scenes on matplotlib's axes in three dimensions; joints over time."""

import itertools

import numpy as np

from ...display import COLOURS, STYLES
from ...errors import InputError
from ..joint_motion import joint_fields
from ..options import DRAWING
from .plots import lines_over_time

WIDTHS = {"joint": dict(marker="o", markersize=4, linestyle=""), "rod": dict(linewidth=1.5),
          "spring": dict(linewidth=1.0), "damper": dict(linewidth=1.0, linestyle="--"), "rope": dict(linewidth=2.0),
          "force": dict(linewidth=2.0, color="tab:red")}


def axes3d(height, figure=None):
    """3D axes, square (mplot3d requires that) and as wide as the figure, which is made `height` times as high."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7.2, 7.2)) if figure is None else figure
    figure.set_layout_engine("none")
    width = figure.get_figwidth()
    figure.set_size_inches(width, width * height)
    ax = figure.add_axes((0, 0.5 - 0.5 / height, 1, 1 / height), projection="3d")
    ax.set_title(" ", y=0.5 + 0.5 * height - 0.015)
    return ax


def fit_axes(ax, points, view, labels=True):
    """Equal scales on the three axes, around the points, and as large as the axes allow."""
    from matplotlib.ticker import MaxNLocator
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.05 * (high - low).max() or 0.5  # a single point
    extent = high - low + 2 * pad
    if view.flat:  # the depth cannot be seen, but mplot3d scales by it
        across = int(np.abs(view.camera[2]).argmax())
        extent[across] = max(extent[across], 1e-3 * extent.max())
    ax.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad), zlim=(low[2] - pad, high[2] + pad))
    ax.set_box_aspect(extent, zoom=0.8)
    if view.flat:
        ax.set_proj_type("ortho")
    else:
        ax.set_proj_type("persp", focal_length=1.5)
    ax.view_init(elev=view.elevation, azim=view.azimuth, roll=0 if view.sign > 0 else 180, vertical_axis="xyz"[view.up])
    if not labels:
        ax.set_axis_off()  # the places on the page are not places in space
        across = projected(ax, points)[:, 0]
        ax.set_box_aspect(extent, zoom=0.8 * 0.17 / np.ptp(across))  # the axes are 0.18 wide after projection
        return
    for k, (axis, name) in enumerate(zip((ax.xaxis, ax.yaxis, ax.zaxis), "xyz", strict=True)):
        axis.set_major_locator(MaxNLocator(max(1, round(6 * extent[k] / extent.max())), min_n_ticks=1))
        axis.set_label_text(f"${name}$ [m]")
        beside = view.flat and k == view.up  # numbers that stand upright
        seen = [extent[j] for j in range(3) if j != k and not (view.flat and abs(view.camera[2][j]) > 0.5)]
        far = min(extent.max() / max(seen), DRAWING.most_pad)  # mplot3d shrinks pads with the scene across the axis
        axis.set_tick_params(pad=(26 if beside else 13) * far - DRAWING.tick_pad)
        axis.labelpad = (57 if beside else 34) * far - DRAWING.label_pad
        if view.flat:  # to the left and below
            axis.set_ticks_position("lower")
            axis.set_label_position("lower")
        if view.flat and abs(view.camera[2][k]) > 0.5:
            axis.set_ticklabels([])
            axis.set_label_text("")


def fill(ax, points, region):
    """Scale and shift 3D axes with all that is written on them so that they fill a region of the figure.

    Parameters
    ----------
    ax : Axes3D
    points : ndarray, shape (n, 3)
        What is drawn.
    region : (float, float, float, float)
        Left, bottom, width and height, in parts of the figure.
    """
    figure = ax.figure
    size, (left, bottom, *room) = figure.get_size_inches(), region
    side, middle = 1.15 * max(room * size) / size, np.array([left, bottom]) + np.array(room) / 2
    ax.patch.set_visible(False)  # larger than the region, so that nothing is cut
    aspect, zoom, centre = np.array(ax._box_aspect), 0.8, middle
    for _ in range(DRAWING.filling):
        ax.set_box_aspect(aspect, zoom=zoom)
        ax.set_position((*(centre - side / 2), *side))
        corners = extent(ax, points)
        zoom *= min(room / (corners[1] - corners[0]))
        centre = centre + middle - corners.mean(axis=0)
    ax.set_box_aspect(aspect, zoom=zoom)


def extent(ax, points):
    """Lower left and upper right corner of what is drawn on 3D axes, in parts of the figure, shape (2, 2)."""
    ax.apply_aspect()
    ax.M, renderer, with_axes = ax.get_proj(), ax.figure.canvas.get_renderer(), ax._axis3don
    if with_axes:
        points = list(itertools.product(ax.get_xlim(), ax.get_ylim(), ax.get_zlim()))
    corners = [ax.transData.transform(projected(ax, points))]
    found = [axis.get_tightbbox(renderer) for axis in (ax.xaxis, ax.yaxis, ax.zaxis) if with_axes]
    corners += [box.get_points() for box in found if box is not None]
    for text in ax.texts:  # about its place, or below it
        place = ax.transData.transform(projected(ax, [text.get_position_3d()]))
        size = text.get_window_extent(renderer).size / 2
        place = place - (0, size[1] * (text.get_va() == "top"))
        corners += [place - size, place + size]
    corners = ax.figure.transFigure.inverted().transform(np.concatenate(corners))
    return np.stack([corners.min(axis=0), corners.max(axis=0)])


def projected(ax, points):
    """Places on the page of points in space, shape (n, 2)."""
    x = np.column_stack([points, np.ones(len(points))]) @ ax.get_proj().T
    return x[:, :2] / x[:, 3:]


class Artists:
    """What is drawn of a scene on 3D axes; `show(n)` moves it to the time number n.

    Parameters
    ----------
    ax : Axes3D
    scene : Scene
    shade : float
        Opacity of faces.
    """

    def __init__(self, ax, scene, shade=0.35):
        self.ax, self.scene, self.shade = ax, scene, shade
        self.bodies = [self._body(body, colour) for body, colour in zip(scene.bodies, itertools.cycle(COLOURS),
                                                                        strict=False)]
        self.links = [ax.plot([], [], [], zorder=10, **{"color": "0.1"} | WIDTHS[link.kind])[0] for link in scene.links]
        colours = itertools.islice(itertools.cycle(COLOURS), len(scene.bodies), None)
        self.curves = [ax.add_collection3d(self._surface(curve, colour))
                       for curve, colour in zip(scene.curves, colours, strict=False)]
        self.show(0)

    def _body(self, body, colour):
        from matplotlib.colors import to_rgb
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        if body.faces:
            smooth = len(body.points) > DRAWING.smooth_corners
            faces = Poly3DCollection([body.points[list(f)] for f in body.faces], edgecolor="none" if smooth else "0.15",
                                     facecolor=(*to_rgb(colour), self.shade), linewidth=0.8)
            return self.ax.add_collection3d(faces)
        if body.shape == "sphere":
            return self.ax.plot([], [], [], "o", color=colour, markersize=8, alpha=min(1.0, 0.3 + self.shade))
        return [self.ax.plot([], [], [], style, color=colour, linewidth=1.8)[0] for style in STYLES[:3]]

    def _surface(self, curve, colour):
        from matplotlib.colors import to_rgb
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        return Poly3DCollection(curve.faces(0), facecolor=(*to_rgb(colour), self.shade), linewidth=0.3,
                                edgecolor=(*to_rgb(colour), min(1.0, 2 * self.shade)))

    def show(self, n, aside=0.0):
        """Move everything to the time number n, and to the side by a vector."""
        for body, artist in zip(self.scene.bodies, self.bodies, strict=True):
            if body.faces:
                corners = body.corners(n) + aside
                artist.set_verts([corners[list(face)] for face in body.faces])
            elif body.shape == "sphere":
                artist[0].set_data_3d(*(body.position[n] + aside)[:, None])
            else:
                for line, axis, size in zip(artist, body.rotation[n].T, body.size, strict=True):
                    x = body.position[n] + aside
                    line.set_data_3d(*np.stack([x, x + size / 2 * axis], axis=1))
        for curve, artist in zip(self.scene.curves, self.curves, strict=True):
            artist.set_verts(curve.faces(n) + aside)
        for link, line in zip(self.scene.links, self.links, strict=True):
            points = link.points[n] + aside
            if link.kind == "spring":
                points = coil(*points, DRAWING.spring_radius * self.scene.length)
            line.set_data_3d(*points.T)


def coil(a, b, radius):
    """Points of a drawn spring from a to b, shape (n, 3)."""
    along = b - a
    length = np.linalg.norm(along)
    if length <= 4 * radius:
        return np.stack([a, b])
    across = np.cross(along / length, np.eye(3)[np.abs(along).argmin()])
    across /= np.linalg.norm(across)
    third = np.cross(along / length, across)
    s = np.linspace(0, 1, 12 * DRAWING.spring_turns + 1)
    angle = 2 * np.pi * DRAWING.spring_turns * s
    round_it = radius * (np.outer(np.cos(angle), across) + np.outer(np.sin(angle), third))
    return np.concatenate([a[None], a + np.outer(0.1 + 0.8 * s, along) + round_it, b[None]])


# ---- Coordinates, rates and reactions of a joint over time

def plot_joint(solution, joint, times=None, ax=None):
    """A figure of one joint: coordinates, rates, force and torque on body a in axes of space.

    Parameters
    ----------
    solution : Solution
    joint : Part or str
    times : array_like, optional
        Default: the ends of the elements.
    ax : sequence of Axes, or Figure, optional
        As many axes as there are units, or a figure to draw them in.

    Returns
    -------
    matplotlib.figure.Figure
    """
    name = solution.joint(joint).name
    fields = joint_fields(solution, times, (name,))[name]
    by_unit = {}
    for quantity, (values, unit) in fields.items():
        parts = {quantity: values} if values.ndim == 1 else {f"{quantity} {a}": v for a, v in
                                                             zip("xyz", values.T, strict=True)}
        by_unit.setdefault(unit, {}).update(parts)
    t = solution.t if times is None else np.asarray(times, float)
    axes = _axes(ax, name, list(by_unit))
    for ax, (unit, lines) in zip(axes, by_unit.items(), strict=True):
        name_of = next(iter(lines)) if len(lines) == 1 else next(iter(lines)).rpartition(" ")[0]
        lines_over_time(ax, t, lines, f"{name_of} [{unit}]")
    axes[0].set_title(name)
    return axes[0].figure


def _axes(given, name, units):
    """Axes for each unit: those given, or new ones, in a figure that is given or new."""
    n = len(units)
    if given is None:
        import matplotlib.pyplot as plt

        given = plt.figure(figsize=(7, 2.4 * n), layout="constrained")
    axes = np.ravel(given.subplots(n, 1) if hasattr(given, "subplots") else given)
    if len(axes) != n:
        raise InputError(f"plot.joint: {name} needs {n} axes, one for each of {', '.join(units)}, or a figure; ax has "
                         f"{len(axes)}")
    return axes
