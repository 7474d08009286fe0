"""How a solution is written, printed and drawn; each of it is in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..atomic_write import check_ending
from ..display import Summarized
from ..errors import did_you_mean
from ..types import FilePath, Floats
from . import drawing, output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..display import Card
    from ..mechanics.body_frame import BodyFrame


class Shown(Summarized):
    """Base of `Solution`: files, tables, plots, films and pages."""

    if not TYPE_CHECKING:  # to which every name would seem to be there
        def __getattr__(self, name):
            known = [known for known in dir(type(self)) if not known.startswith("_")]
            plots = [known for known in known if known.startswith("plot_")]
            more = f"; it has {', '.join(plots)}" if name.startswith("plot") else did_you_mean(name, known)
            raise AttributeError(f"a {type(self).__name__} has no {name!r}{more}")

    def save(self, path: FilePath) -> None:
        """Write to an HDF5 file, to be read with `timefem.load(path)`; see `timefem.solution.output.save.save`."""
        check_ending(path, "save")
        output.save.save(self, path)

    def to_csv(self, path: FilePath, times: Floats | None = None) -> None:
        """Write a table with one row per time; see `timefem.solution.output.tables.to_csv`."""
        check_ending(path, "to_csv")
        output.tables.to_csv(self, path, times)

    def to_json(self, path: FilePath | None = None, times: Floats | None = None) -> dict[str, Any] | None:
        """Write the same data as JSON, or return it as a dict; see `timefem.solution.output.tables.to_json`."""
        if path is not None:
            check_ending(path, "to_json")
        return output.tables.to_json(self, path, times)

    def to_vtk(self, path: FilePath, times: Floats | None = None) -> None:
        """Write the motion for ParaView; see `timefem.solution.output.vtk.to_vtk`."""
        output.vtk.to_vtk(self, path, times)

    def to_xarray(self, times: Floats | None = None) -> Any:
        """The same data as an xarray Dataset; see `timefem.solution.output.tables.to_xarray`."""
        return output.tables.to_xarray(self, times)

    def summary(self) -> Card:
        """Element, solver, errors and bodies as a table: text where it is printed, HTML in a notebook."""
        return output.tables.summarize(self)

    def save_html(self, path: FilePath | None = None, times: Floats | None = None, title: str | None = None,
                  view: Any = None, up: Any = None, traces: Any = True) -> Any:
        """Write a page that plays the motion in a browser, or return it, for notebooks; see
        `timefem.solution.drawing.page.save_html`."""
        if path is not None:
            check_ending(path, "save_html")
        return drawing.page.save_html(self, path, times, title, view, up, traces)

    def animate(self, path: FilePath | None = None, times: Floats | None = None, fps: float = 25, traces: Any = True,
                view: Any = None, up: Any = None) -> Any:
        """A film of the motion, .gif or .mp4; see `timefem.solution.drawing.snapshots.animate`."""
        return drawing.snapshots.animate(self, path, times, fps, traces, view, up)

    def plot(self, times: int | Floats = 6) -> Figure:
        """Draw the motion in space and what there is over time on one page, as `timefem plot` does; see
        `timefem.solution.drawing.page.plot_page`."""
        return drawing.page.plot_page(self, times)

    def plot_energy(self, ax: Axes | None = None, by_part: bool = False) -> Axes:
        """Energy over time; see `timefem.solution.drawing.plots.plot_energy`."""
        return drawing.plots.plot_energy(self, ax, by_part)

    def plot_momentum(self, ax: Axes | None = None, kind: str = "angular") -> Axes:
        """Angular or linear momentum over time; see `timefem.solution.drawing.plots.plot_momentum`."""
        return drawing.plots.plot_momentum(self, ax, kind)

    def plot_constraints(self, ax: Axes | None = None) -> Axes:
        """Largest constraint residuals over time; see `timefem.solution.drawing.plots.plot_constraints`."""
        return drawing.plots.plot_constraints(self, ax)

    def plot_controls(self, ax: Any = None) -> Any:
        """Controls over time; see `timefem.solution.drawing.plots.plot_controls`."""
        return drawing.plots.plot_controls(self, ax)

    def plot_phase(self, *what: Any, times: Floats | None = None, ax: Axes | None = None) -> Axes:
        """Rates over coordinates; see `timefem.solution.drawing.page.plot_phase`."""
        return drawing.page.plot_phase(self, *what, times=times, ax=ax)

    def plot_joint(self, joint: Any, times: Floats | None = None, ax: Any = None) -> Figure:
        """Coordinates, rates and reactions of a joint; see `timefem.solution.drawing.artists.plot_joint`."""
        return drawing.artists.plot_joint(self, joint, times, ax)

    def plot_snapshots(self, times: Floats, body: BodyFrame | str | None = None, ax: Any = None, **options: Any) -> Any:
        """Everything in space at chosen times; see `timefem.solution.drawing.snapshots.plot_snapshots`."""
        return drawing.snapshots.plot_snapshots(self, times, body, ax, **options)
