"""How a solution is written, printed and drawn; each of it is in a file of its own."""

from __future__ import annotations

import inspect
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..atomic_write import ending_of
from ..display import Summarized, printable
from ..errors import InputError, did_you_mean, earlier_name, refuse_unknown
from ..types import FilePath, Floats
from . import drawing, output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..display import Card
    from ..mechanics.body_frame import BodyFrame

WRITERS = {".html": lambda: drawing.page.save_html, ".gif": lambda: drawing.snapshots.animate,
           ".mp4": lambda: drawing.snapshots.animate, ".pvd": lambda: output.vtk.to_vtk,
           ".csv": lambda: output.tables.to_csv, ".json": lambda: output.tables.to_json}
HDF5 = ".h5", ".hdf5", ""
FIGURES = ".png", ".pdf", ".svg", ".jpg"
EARLIER = {f"plot_{name}": (f"plot.{name}", attrgetter(f"plot.{name}")) for name in (
    "energy", "momentum", "constraints", "controls", "phase", "joint", "snapshots")} | {
    "animate": ('save("film.gif") or plot.animation', lambda sol: partial(drawing.snapshots.animate, sol)),
    "to_csv": ('save("table.csv")', lambda sol: partial(output.tables.to_csv, sol)),
    "to_json": ('save("table.json") or to_dict', lambda sol: lambda path=None, times=None: sol.to_dict(
        times) if path is None else output.tables.to_json(sol, path, times)),
    "to_vtk": ('save("motion.pvd")', lambda sol: partial(output.vtk.to_vtk, sol)),
    "save_html": ('save("page.html") or plot.viewer', lambda sol: partial(drawing.page.save_html, sol)),
    "costates": ('field("costates", t)', lambda sol: partial(sol.field, "costates")),
    "momentum_drift": ("angular_momentum() less that at the start", lambda sol: lambda axes=(0, 1, 2): sol._change(
        lambda of: of.angular_momentum()[:, list(axes)]))} | {
    name: (to, attrgetter(to)) for name, to in (
        ("nodal_state", "nodal.state"), ("nodal_multipliers", "nodal.multipliers"), ("energies", "energy.of"),
        ("generalized_energy", "energy.generalized"), ("energy_balance", "energy.balance"), ("work", "energy.work"),
        ("power", "energy.power"))}


def checked_ending(path):
    """The ending of the name of a file that `save` writes, in small letters.

    Raises
    ------
    InputError
        For any other, with those there are.
    """
    ending = ending_of(path)
    if ending not in (*WRITERS, *HDF5):
        instead = ("plot().savefig does" if ending in FIGURES else
                   f"the ending says what is written: .h5 is all there is, others are {', '.join(WRITERS)}")
        raise InputError(f"cannot write {printable(path)}: save does not make {ending} files; {instead}")
    return ending


class Plots:
    """Pictures of a solution: `sol.plot()` is a page of all, `sol.plot.energy()` one of them."""

    def __init__(self, solution: Any) -> None:
        self._solution = solution

    def __call__(self, times: int | Floats = 6) -> Figure:
        """Draw the motion in space and what there is over time on one page, as `timefem plot` does; see
        `timefem.solution.drawing.page.plot_page`."""
        return drawing.page.plot_page(self._solution, times)

    def __repr__(self):
        return f"plot() of a page; {', '.join(f'plot.{name}()' for name in dir(type(self)) if name[0] != '_')}"

    def energy(self, ax: Axes | None = None, by_part: bool = False) -> Axes:
        """Energy over time; see `timefem.solution.drawing.plots.plot_energy`."""
        return drawing.plots.plot_energy(self._solution, ax, by_part)

    def momentum(self, ax: Axes | None = None, kind: str = "angular") -> Axes:
        """Angular or linear momentum over time; see `timefem.solution.drawing.plots.plot_momentum`."""
        return drawing.plots.plot_momentum(self._solution, ax, kind)

    def constraints(self, ax: Axes | None = None) -> Axes:
        """Largest constraint residuals over time; see `timefem.solution.drawing.plots.plot_constraints`."""
        return drawing.plots.plot_constraints(self._solution, ax)

    def controls(self, ax: Any = None) -> Any:
        """Controls over time; see `timefem.solution.drawing.plots.plot_controls`."""
        return drawing.plots.plot_controls(self._solution, ax)

    def phase(self, *what: Any, times: Floats | None = None, ax: Axes | None = None) -> Axes:
        """Rates over coordinates; see `timefem.solution.drawing.page.plot_phase`."""
        return drawing.page.plot_phase(self._solution, *what, times=times, ax=ax)

    def joint(self, joint: Any, times: Floats | None = None, ax: Any = None) -> Figure:
        """Coordinates, rates and reactions of a joint; see `timefem.solution.drawing.artists.plot_joint`."""
        return drawing.artists.plot_joint(self._solution, joint, times, ax)

    def animation(self, times: Floats | None = None, fps: float = 25, traces: Any = True, view: Any = None,
                  up: Any = None) -> Any:
        """The film that `save("film.gif")` writes; see `timefem.solution.drawing.snapshots.animate`."""
        return drawing.snapshots.animate(self._solution, None, times, fps, traces, view, up)

    def viewer(self, times: Floats | None = None, title: str | None = None, view: Any = None, up: Any = None,
               traces: Any = True) -> Any:
        """The page that `save("page.html")` writes, which a notebook shows below the cell; see
        `timefem.solution.drawing.page.save_html`."""
        return drawing.page.save_html(self._solution, None, times, title, view, up, traces)

    def snapshots(self, times: Floats, body: BodyFrame | str | None = None, ax: Any = None, **options: Any) -> Any:
        """Everything in space at chosen times; see `timefem.solution.drawing.snapshots.plot_snapshots`."""
        return drawing.snapshots.plot_snapshots(self._solution, times, body, ax, **options)


class Shown(Summarized):
    """Base of `Solution`: files, tables, plots, films and pages."""

    if not TYPE_CHECKING:  # to which every name would seem to be there
        def __getattr__(self, name):
            if name in EARLIER:
                return earlier_name(self, name, EARLIER, since="0.3")
            known = [known for known in dir(type(self)) if not known.startswith("_")]
            more = f"; it has {self.plot!r}" if name.startswith("plot") else did_you_mean(name, known)
            raise AttributeError(f"a {type(self).__name__} has no {name!r}{more}")

    @property
    def plot(self) -> Plots:
        """Pictures: `sol.plot()` is a page of all, `sol.plot.energy()`, `sol.plot.snapshots(times)` and others one."""
        return Plots(self)

    def save(self, path: FilePath, times: Floats | None = None, **options: Any) -> None:
        """Write to a file of the kind that the ending of its name says.

        `.csv`, `.json` for other programs, `.pvd` for ParaView, `.html` to be played in a browser, `.gif` and `.mp4`
        films; `.h5` is all there is, which `timefem.load(path)` reads.

        Parameters
        ----------
        path : str or Path
        times : array_like, shape (n,), optional
            Times inside the solution [s], but for .h5 files; default: as the functions below say.
        **options
            Of pages and films, such as `traces` and `fps`.

        Raises
        ------
        InputError
            For pictures, options that the kind of file does not have, and files that cannot be written.

        See Also
        --------
        timefem.solution.output.save.save, timefem.solution.output.tables.to_csv
        timefem.solution.output.tables.to_json, timefem.solution.output.vtk.to_vtk
        timefem.solution.drawing.page.save_html, timefem.solution.drawing.snapshots.animate
        """
        ending = checked_ending(path)
        write = WRITERS.get(ending, lambda: output.save.save)()
        options |= {} if times is None else {"times": times}
        refuse_unknown(f"save() of {ending or '.h5'} files", options, list(inspect.signature(write).parameters)[1:])
        write(self, path, **options)

    def to_dict(self, times: Floats | None = None) -> dict[str, Any]:
        """The data of `.json` files, in plain Python; see `timefem.solution.output.tables.to_dict`."""
        return output.tables.to_dict(self, times)

    def to_xarray(self, times: Floats | None = None) -> Any:
        """The same data as an xarray Dataset; see `timefem.solution.output.tables.to_xarray`."""
        return output.tables.to_xarray(self, times)

    def summary(self) -> Card:
        """Element, solver, errors and bodies as a table: text where it is printed, HTML in a notebook."""
        return output.tables.summarize(self)
